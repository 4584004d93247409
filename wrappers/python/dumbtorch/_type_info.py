"""What dtypes hold, and in which dtype they meet: finfo, iinfo, promote_types, can_cast; and what types
are called."""

from __future__ import annotations

import math

from . import _ops
from ._complaints import need, need_tensor
from ._tensor_type import TensorBase
from ._types import DTYPE, bfloat16, bool_, casts, dtype, float16, float32, float64, int64

# Bits of the fraction; a sign and the exponent take the others.
_FRACTION = {float16: 10, bfloat16: 7, float32: 23, float64: 52}


def _checked(function: str, type, name: str = "type", position: int = 1) -> dtype:
    if type in DTYPE or isinstance(type, dtype):
        return DTYPE.value(DTYPE[type])
    kind = type.__class__.__name__
    place = f"argument '{name}' (position {position})"
    raise TypeError(f"{function}(): {place} must be torch.dtype, not {kind}")


class finfo:
    """The numbers that a floating-point dtype holds; the default dtype's if none is named."""

    __module__ = "dumbtorch"

    __slots__ = ("bits", "eps", "max", "min", "tiny", "resolution", "_kind")

    def __init__(self, type=None):
        kind = _ops.get_default_dtype() if type is None else _checked("finfo", type)
        if not kind.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        fraction = _FRACTION[kind]
        self._kind, self.bits = kind, 8 * kind.itemsize
        largest_exponent = 2 ** (self.bits - fraction - 2) - 1
        self.eps = 2.0**-fraction
        self.max = (2 - self.eps) * 2.0**largest_exponent
        self.min = -self.max
        self.tiny = 2.0 ** (1 - largest_exponent)
        self.resolution = float(f"1e-{int(fraction * math.log10(2))}")

    @property
    def smallest_normal(self) -> float:
        return self.tiny

    @property
    def dtype(self) -> str:
        return self._kind.name

    def __eq__(self, other):
        return self._kind is other._kind if isinstance(other, finfo) else NotImplemented

    def __hash__(self):
        return hash(self._kind)

    def __repr__(self):
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        numbers = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({numbers}, dtype={self.dtype})"


class iinfo:
    """The numbers that an integer dtype holds."""

    __module__ = "dumbtorch"

    __slots__ = ("bits", "max", "min", "_kind")

    def __init__(self, type):
        kind = _checked("iinfo", type)
        if kind is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if kind.is_floating_point:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        self._kind, self.bits = kind, 8 * kind.itemsize
        self.max = 2 ** (self.bits - kind.is_signed) - 1
        self.min = -self.max - 1 if kind.is_signed else 0

    @property
    def dtype(self) -> str:
        return self._kind.name

    def __eq__(self, other):
        return self._kind is other._kind if isinstance(other, iinfo) else NotImplemented

    def __hash__(self):
        return hash(self._kind)

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def promote_types(type1, type2) -> dtype:
    """The dtype in which tensors of two dtypes meet."""
    kinds = _checked("promote_types", type1, "type1"), _checked("promote_types", type2, "type2", 2)
    one, other = (_ops.empty((0,), dtype=kind, device="cpu") for kind in kinds)
    return _ops.cat([one, other]).dtype


def result_type(tensor=None, other=None, *, scalar=None, scalar1=None, scalar2=None) -> dtype:
    """The dtype of an operation on two tensors or numbers: tensors with dimensions decide first, then
    those without, then numbers."""
    given = [x for x in (tensor, other, scalar, scalar1, scalar2) if x is not None]
    if len(given) != 2:
        raise TypeError(f"result_type() takes two tensors or numbers, not {len(given)}")
    need("result_type", "tensor:operand other:operand", *given)
    if not any(isinstance(x, TensorBase) for x in given):
        return promote_types(*map(_dtype_of_number, given))
    one, other = map(_small, given)
    if not isinstance(one, TensorBase):
        one, other = other, one
    return _ops.add(one, other).dtype


def _dtype_of_number(number) -> dtype:
    if isinstance(number, float):
        return _ops.get_default_dtype()
    return bool_ if isinstance(number, bool) else int64


def _small(x):
    """What promotes as x does, and holds next to nothing."""
    if not isinstance(x, TensorBase):
        return x
    return _ops.zeros((0,) if x.ndim else (), dtype=x.dtype, device="cpu")


def can_cast(from_, to) -> bool:
    """Whether PyTorch converts one dtype to another by itself, as it does for what an operation in
    place writes: to the same category (bool, integer, floating) or a higher one."""
    return casts(_checked("can_cast", from_, "from_"), _checked("can_cast", to, "to", 2))


def is_floating_point(input) -> bool:
    """Whether a tensor's dtype is a floating-point one."""
    return need_tensor("is_floating_point", input).dtype.is_floating_point


def is_complex(input) -> bool:
    """Whether a tensor's dtype is a complex one: there are none."""
    return need_tensor("is_complex", input).dtype.is_complex


def is_signed(input) -> bool:
    """Whether a tensor's dtype holds negative numbers."""
    return need_tensor("is_signed", input).dtype.is_signed


def is_nonzero(input) -> bool:
    """Whether the only element of a tensor is not 0."""
    return bool(need_tensor("is_nonzero", input))


def is_same_size(input, other) -> bool:
    """Whether two tensors have one shape."""
    need("is_same_size", "input:tensor other:tensor", input, other)
    return input.shape == other.shape


def typename(obj) -> str:
    """The name of an object's type, with its module: "torch.FloatTensor" of tensors."""
    if isinstance(obj, TensorBase):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)  # methods of C types have none, or None
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"
