"""Parameter: a tensor that a module trains."""

from __future__ import annotations

from .. import _missing, _ops
from .._native import lib
from .._tensor import Tensor
from .._tensor_type import adopt

__getattr__ = _missing.getattr_of(__name__)


class Parameter(Tensor):
    """A leaf tensor that a Module registers when it becomes an attribute."""

    def __new__(cls, data=None, requires_grad=True):
        data = _ops.empty((0,)) if data is None else _ops.detach(data)
        out = adopt(cls, lib.py_alias(data._h))
        if requires_grad:
            _ops.tensor_requires_grad_(out)
        return out

    def __init__(self, *args, **kwargs):
        pass  # __new__ has done it; this only takes its arguments, or those of a subclass's

    def __deepcopy__(self, memo):
        """A copy of the elements, without the gradient and attributes."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(_ops.clone(_ops.detach(self)), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor):
    """A tensor that a Module registers as a buffer when it becomes an attribute."""

    def __new__(cls, data=None, *, persistent=True):
        data = _ops.empty((0,)) if data is None else _ops.detach(data)
        out = adopt(cls, lib.py_alias(data._h))
        out.persistent = persistent
        return out

    def __init__(self, *args, **kwargs):
        pass  # as above


def is_lazy(tensor) -> bool:
    """Whether it is a parameter or buffer that is not made yet."""
    return isinstance(tensor, UninitializedTensorMixin)


class UninitializedTensorMixin:
    """What a lazy module has until the first call: a tensor without a size."""

    def __new__(cls, requires_grad=None, device=None, dtype=None, **kwargs):
        made = super().__new__(cls, _ops.empty((0,), device=device, dtype=dtype), **kwargs)
        if requires_grad is not None:
            made.requires_grad = requires_grad
        return made

    def __init__(self, requires_grad=None, device=None, dtype=None, **kwargs):
        pass  # as above

    def materialize(self, shape, device=None, dtype=None) -> None:
        """Becomes a tensor of this size, with arbitrary contents."""
        dtype, device = dtype or self.dtype, device or self.device
        self.__class__ = self.cls_to_become
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        self.data = _ops.empty(sizes, device=device, dtype=dtype)

    def share_memory_(self):
        """There is none yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
            "the parameters before calling `module.share_memory()`."
        )

    @property
    def shape(self):
        """There is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def detach(self):
        """Itself: there is nothing to share."""
        return self

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, str(self.device), self.dtype)

    def __repr__(self):
        return f"<{type(self).__name__}>"


def _refusing(name: str):
    def method(self, *args, **kwargs):
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}. This error happens when you are "
            "using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    method.__doc__ = "Refused: there are no elements yet."
    return method


def _refuse_operators() -> None:
    both = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
    binary = [prefix + name for name in both.split() for prefix in ("", "r", "i")]
    others = "eq ne lt le gt ge neg pos abs invert getitem setitem len iter bool int float"
    for name in (*binary, *others.split()):
        setattr(UninitializedTensorMixin, f"__{name}__", _refusing(f"__{name}__"))


# What says nothing about elements, or makes another such parameter.
_ALLOWED = (
    "size copy_ is_complex is_floating_point half bfloat16 float double char short int long cuda cpu to get_device "
    "as_subclass"
)


def _refuse_methods() -> None:
    for name in dir(Tensor):
        own = (
            name.startswith("_")
            or name in _ALLOWED.split()
            or name in vars(UninitializedTensorMixin)
        )
        if not own and callable(getattr(Tensor, name, None)):  # None: it says why it is missing
            setattr(UninitializedTensorMixin, name, _refusing(name))


_refuse_operators()
_refuse_methods()


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose size is not known yet."""

    cls_to_become = Parameter


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose size is not known yet."""

    cls_to_become = Buffer
