"""The old constructors: FloatTensor, LongTensor and their kin, Tensor(...), x.new(...)."""

from __future__ import annotations

from . import _ops
from ._tensor import Tensor
from ._tensor_type import TensorBase
from ._types import DTYPE, Size, device, dtype
from ._warning import warn_once
from .storage import UntypedStorage, is_count, memory_of


def construct(wanted: dtype | None, where, data: tuple, named: dict):
    """FloatTensor(2, 3) is uninitialised, FloatTensor([1, 2]) holds data, FloatTensor(x) is a view of x. `named` may
    have a device, and the data or the size. Without a dtype, as of Tensor, x may have any."""
    from ._creation import tensor

    kind = wanted or _ops.get_default_dtype()
    device_given = named.pop("device", None)
    where = _device_of(where, device_given)
    if not data and "size" in named:
        data = (Size(named.pop("size")),)
    elif not data and "data" in named:
        data = (named.pop("data"),)
    if named:
        raise TypeError(f"new() got an unexpected keyword argument '{next(iter(named))}'")
    if len(data) != 1 or isinstance(data[0], Size) or is_count(data[0]):
        sizes = data[0] if data and isinstance(data[0], Size) else data or (0,)
        return _ops.empty(sizes, dtype=kind, device=where)
    (values,) = data
    if hasattr(values, "_elements"):
        values = _elements_of(values, kind)
    if isinstance(values, TensorBase):
        if device_given is not None:
            raise RuntimeError(
                "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported. "
                "Use torch.tensor(...) or torch.as_tensor(...) instead."
            )
        if wanted is not None and values.dtype is not wanted:
            raise TypeError(f"expected a tensor of dtype {wanted} (got {values.dtype})")
        return _ops.to(_ops.view_as(values, values), where)
    if isinstance(values, float) or not hasattr(values, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(values).__name__})")
    return tensor(values, dtype=kind, device=where)


def _elements_of(storage, kind: dtype):
    if storage.dtype is not kind and not isinstance(storage, UntypedStorage):
        raise RuntimeError(
            f"Expected a Storage of type {kind.word} or an UntypedStorage, but got type {storage.dtype.word} for "
            "argument 1 'storage'"
        )
    return memory_of(storage, _ops.empty((0,), dtype=kind), 0, None, None)


def _device_of(kind, given):
    """The device that is given to a constructor of tensors on devices of one kind."""
    if given is None:
        return kind
    if device(given).type != device(kind).type:
        raise RuntimeError(
            f"legacy constructor expects device type: {device(kind).type} but device type: "
            f"{device(given).type} was passed"
        )
    return given


class tensortype(type):
    """The type of FloatTensor and its kin: their instances are tensors of one dtype on one kind of
    device."""

    def __call__(cls, *data, **named):
        return construct(cls.dtype, cls._device_type, data, named)

    def __instancecheck__(cls, x) -> bool:
        return (
            isinstance(x, TensorBase) and x.dtype is cls.dtype and x.device.type == cls._device_type
        )

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _typed(kind: dtype, device_type: str) -> tensortype:
    where = "torch" if device_type == "cpu" else f"torch.{device_type}"
    members = {
        "__doc__": f"Tensors of {kind} on the {device_type}.",
        "__module__": where,
        "dtype": kind,
        "_device_type": device_type,
        "is_cuda": device_type == "cuda",
    }
    return tensortype(f"{kind.word}Tensor", (), members)


TYPES = {
    device_type: {
        f"{kind.word}Tensor": _typed(kind, device_type) for kind in DTYPE.objects.values()
    }
    for device_type in ("cpu", "cuda")
}
_BY_NAME = {str(t)[8:-2]: t for types in TYPES.values() for t in types.values()}


def _named(name: str) -> tensortype:
    if name == "torch.Tensor":
        name = f"torch.{_ops.get_default_dtype().word}Tensor"
    if name not in _BY_NAME:
        raise ValueError(f"invalid type: '{name}'")
    return _BY_NAME[name]


def type_name(x: Tensor) -> str:
    """x.type(): "torch.FloatTensor"."""
    where = "torch" if x.device.type == "cpu" else f"torch.{x.device.type}"
    return f"{where}.{x.dtype.word}Tensor"


def convert(x: Tensor, kind, non_blocking: bool) -> Tensor:
    """x.type(kind): a dtype, one of the types above, or its name."""
    if isinstance(kind, str):
        kind = _named(kind)
    if kind is Tensor:
        kind = _ops.get_default_dtype()
    if isinstance(kind, tensortype):
        where = x.device if x.device.type == kind._device_type else device(kind._device_type)
        return _ops.to(x, where, kind.dtype, non_blocking)
    return _ops.to(x, None, kind, non_blocking)


def set_default_tensor_type(t) -> None:
    """Sets the dtype and the device of new tensors by a type's name, or by the type."""
    if isinstance(t, str):
        t = _named(t)
    if not isinstance(t, tensortype):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    if not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    warn_once(
        "default type",
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
    )
    _ops.set_default_dtype(t.dtype)
    _ops.set_default_device(t._device_type)
