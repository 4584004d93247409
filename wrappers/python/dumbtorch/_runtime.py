"""What the generated functions in `_ops.py` stand on: errors, conversions, callbacks.

Handles are plain integers here, but for those of tensors (see capi/generate/python_native.py).
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import warnings
from collections.abc import Iterable
from operator import index

from . import _enums
from ._native import ffi, lib
from ._numpy import is_number
from ._tensor_type import (
    Callback,
    TensorBase,
    drop_quietly,
    int_list,
    on_collection,
    plain_ints,
    read_operand,
    read_scalar,
    wrap,
)
from ._types import device, layout, strided

NULL = ffi.NULL
ffi_new = ffi.new
unpack = ffi.unpack
INT64_16 = ffi.typeof("int64_t[16]")
INT64_ARRAY = ffi.typeof("int64_t[]")
FLOAT64_16 = ffi.typeof("double[16]")
FLOAT64_ARRAY = ffi.typeof("double[]")
SCALAR_OUT = ffi.typeof("py_scalar *")

_FLOAT = _enums.SCALAR_KIND["float"]
_INT = _enums.SCALAR_KIND["int"]

# ---- errors


class OutOfMemoryError(RuntimeError, MemoryError):
    """Memory ran out. A RuntimeError as PyTorch's, and a MemoryError as Python's."""

    __module__ = "dumbtorch"


class AcceleratorError(RuntimeError):
    """What a GPU's driver has reported."""

    __module__ = "dumbtorch"


class CancelledError(RuntimeError):
    """A progress function has asked to stop."""


class LinAlgError(RuntimeError):
    """A matrix is singular or not positive-definite, or an algorithm did not converge."""

    __module__ = "dumbtorch._C"


class GradcheckError(RuntimeError):
    """A gradient is not what finite differences say."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # PyTorch's name for it
_STATUS = {number: name for name, number in _enums.STATUS.items()}
_EXCEPTIONS = {
    "type_error": TypeError,
    "value_error": ValueError,
    "index_error": IndexError,
    "runtime_error": RuntimeError,
    "not_implemented": NotImplementedError,
    "out_of_memory": OutOfMemoryError,
    "io": OSError,
    "cancelled": CancelledError,
    "linalg_error": LinAlgError,
    "gradcheck_error": GradcheckError,
    "assertion_error": AssertionError,
    "handle": TypeError,
}


def make_error(code: int, message: str) -> BaseException:
    """The exception for a call that has failed. The message begins with the function's name in C: Python's takes its
    place, once."""
    name, found, sentence = message.partition(": ")
    if found:
        name = _enums.FUNCTIONS.get(name, name)
        is_named = sentence.removeprefix("torch.").startswith(name)
        message = sentence if is_named else f"{name}: {sentence}"
    kind = _EXCEPTIONS.get(_STATUS.get(code), RuntimeError)
    return (AcceleratorError if kind is RuntimeError and "CUDA error" in message else kind)(message)


# ---- numbers and operands

_NUMBER = (int, float)
SEQUENCE = (list, tuple)


def is_index(x) -> bool:
    """Whether it stands for an integer; a bool does not, and a tensor only where it holds one."""
    if isinstance(x, TensorBase):
        return x.numel() == 1 and not x.is_floating_point()
    return hasattr(x, "__index__") and x.__class__ is not bool


def is_plain(x) -> bool:
    """Whether it is a number, and no tensor."""
    return isinstance(x, _NUMBER) or is_number(x)


def is_scalar(x) -> bool:
    """Whether it stands for a number: a tensor does that is one, and has no gradient."""
    if isinstance(x, TensorBase):
        return not x.ndim and not x.requires_grad
    return is_plain(x)


def general_scalar(x) -> tuple[int, int, float]:
    """read_scalar of what is no number of Python's."""
    if isinstance(x, TensorBase) and not is_scalar(x):
        raise TypeError("no number")  # PyTorch's sentence: see complain
    if isinstance(x, TensorBase) or is_number(x):
        return read_scalar(x.item())
    raise TypeError(f"expected a number, not {x.__class__.__name__}")


def general_operand(x) -> tuple[int, int, int, float]:
    """read_operand of what is neither a tensor nor a number of Python's."""
    if isinstance(x, TensorBase):  # a batch, which has no handle
        return x._h, 0, 0, 0.0
    return 0, *general_scalar(x)


def bits_of_uint64(n: int) -> int:
    """The int64 of an unsigned integer's bits."""
    if _INT64_MIN <= n <= _INT64_MAX:
        return n
    if n < 0 or n >> 64:
        raise OverflowError("int too big to convert")
    return n - (1 << 64)


def number_like(number, other):
    """A 0-d tensor for a number, which promotes with another operand as the number would."""
    from ._creation import tensor

    number = number.item() if is_number(number) else number
    wrapped = bits_of_uint64(number) if type(number) is int else number
    if not isinstance(other, TensorBase):
        return tensor(number)
    kind = other.dtype
    if kind.is_floating_point and not isinstance(number, bool):
        return tensor(number, dtype=kind)
    is_alike = type(number) is int and kind.name != "bool"
    return tensor(wrapped).to(kind) if is_alike else tensor(number)  # what does not fit wraps


def read_scalar_or_none(x) -> tuple[int, int, float]:
    return (0, 0, 0.0) if x is None else read_scalar(x)


def read_operand_or_none(x) -> tuple[int, int, int, float]:
    return (0, 0, 0, 0.0) if x is None else read_operand(x)


def scalar_from(out) -> bool | int | float:
    if out.kind == _FLOAT:
        return out.f
    return out.i if out.kind == _INT else out.i != 0


_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


# ---- lists


def read_sizes(args: tuple, given) -> tuple | list:
    """The list behind `f(2, 3)`, `f((2, 3))` and `f(size=(2, 3))`."""
    if given is None:
        if not args:
            raise TypeError("missing a required argument: the list of sizes")
        if plain_ints(args):
            return args
    elif args:
        raise TypeError("the list of sizes is given twice")
    return shape_list(given_sizes(args, given))


def given_sizes(args: tuple, given):
    if given is not None:
        return given
    return args[0] if len(args) == 1 and not is_index(args[0]) else args


def shape_list(x) -> tuple | list:
    """A list of integers, of which the first is no bool, as in PyTorch."""
    if plain_ints(x):
        return x
    if not isinstance(x, SEQUENCE):
        raise TypeError("expected a list or tuple of ints")
    if not is_index(x[0]):
        raise TypeError("expected ints")
    return [index(i) for i in x]


def general_ints(x, count: int) -> tuple | list:
    """int_list of what is neither a plain integer nor a tuple of them."""
    return (index(x),) * count if count and is_index(x) else shape_list(x)


def int_tuple(x, count: int) -> tuple:
    """int_list for layers, which take all that can be gone through."""
    return tuple(int_list(tuple(x) if isinstance(x, Iterable) else x, count))


def reduction_of(size_average: bool | None, reduce: bool | None, warns: bool = True) -> str:
    """The `reduction` that these two older arguments of losses mean, with PyTorch's warning."""
    means = size_average is None or size_average
    joins = reduce is None or reduce
    word = ("mean" if means else "sum") if joins else "none"
    if warns:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.",
            stacklevel=3,
        )
    return word


def placed(x, where: layout | None, pin_memory: bool):
    """A new tensor as its maker was told to lay it: strided, the only layout; perhaps in page-locked memory."""
    if where is not None and not isinstance(where, layout):
        raise TypeError(f"argument 'layout' must be torch.layout, not {type(where).__name__}")
    if where is not None and where is not strided:
        raise NotImplementedError(f"layout {where}: all tensors are strided")
    if pin_memory is False or pin_memory is None:
        return x
    if pin_memory is not True:
        raise TypeError(f"argument 'pin_memory' must be bool, not {type(pin_memory).__name__}")
    from . import _ops

    pinned = _ops.tensor_pin_memory(_ops.detach(x))
    return _ops.tensor_requires_grad_(pinned, x.requires_grad)


def optional_ints(x, count: int):
    if x is None:
        return NULL, -1
    x = int_list(x, count)
    return x, len(x)


def optional_floats(x, count: int):
    """As optional_ints, with real numbers."""
    if x is None:
        return NULL, -1
    if count and is_plain(x):
        return (x,) * count, count
    if not isinstance(x, SEQUENCE):
        raise TypeError("expected a list or tuple of floats")
    return x, len(x)


def handle_list(tensors) -> list[int]:
    return [t._h for t in _held(tensors)]


def optional_handle_list(tensors) -> list[int]:
    return [0 if t is None else t._h for t in _held(tensors)]


def _held(tensors):
    """A generator, or a tensor's rows, would be gone before the library looks at the handles."""
    if not isinstance(tensors, SEQUENCE):
        raise TypeError("expected a list or tuple of tensors")
    return tensors


def take_numbers(out, count: int) -> tuple:
    return tuple(unpack(out, count)) if count else ()


def give_list(tensors) -> int:
    """A new tensor list for the library."""
    handles = optional_handle_list(tensors)
    return lib.py_tensor_list_new(handles, len(handles))


def borrow(handle: int):
    """A Tensor for a handle that belongs to the library."""
    return wrap(lib.py_alias(handle))


def borrow_list(handles, n: int) -> tuple:
    return tuple([borrow(handles[i]) if handles[i] else None for i in range(n)])


def give_optional(tensor) -> int:
    """The handle that a hook gives back, 0 for None."""
    if tensor is not None and not isinstance(tensor, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(tensor).__name__}'")
    return 0 if tensor is None else lib.py_alias(tensor._h)


# ---- text


def take_bytes(handle: int) -> bytes:
    try:
        data = ffi_new("const char **")
        n = lib.py_bytes_data(handle, data)
        return ffi.unpack(data[0], n) if n else b""
    finally:
        lib.py_bytes_release(handle)


def take_text(handle: int) -> str:
    return take_bytes(handle).decode()


def take_texts(handle: int) -> list[str]:
    try:
        n = lib.py_string_list_len(handle)
        return [ffi.string(lib.py_string_list_get(handle, i)).decode() for i in range(n)]
    finally:
        lib.py_string_list_release(handle)


def c_string(text: str) -> bytes:
    """Text for C."""
    return _without_null(text.encode())


def c_path(path) -> bytes:
    """A file's name for C, of whatever bytes."""
    return _without_null(os.fsencode(path))


def _without_null(data: bytes) -> bytes:
    """A NUL character would end it early."""
    if b"\0" in data:
        raise ValueError("embedded null character")
    return data


def c_strings(texts) -> list:
    return [ffi_new("char[]", c_string(s)) for s in texts]


# ---- devices: (type, index), or both packed into one number, the type in the upper half

_DEVICES = {number: name for name, number in _enums.DEVICE_TYPE.items()}
_INDEX_BITS = 32
_INDEX_MASK = (1 << _INDEX_BITS) - 1
_CURRENT = -1  # the index that means whichever CUDA device is current


def device_parts(d) -> tuple[int, int]:
    if d is None:
        return 0, 0
    if not isinstance(d, device):
        d = device(d)
    index = _CURRENT if d.index is None and d.type == "cuda" else d.index or 0
    return _enums.DEVICE_TYPE[d.type], index


@functools.cache
def device_at(packed: int) -> device:
    name, index = _DEVICES[packed >> _INDEX_BITS], packed & _INDEX_MASK
    return device(name, None if name == "cpu" or index == _CURRENT & _INDEX_MASK else index)


# ---- what the library keeps: functions it will call, memory it looks at

CALLBACKS: dict[int, object] = {}
_ids = itertools.count(1)


def keep(x) -> int:
    """The number under which an object lives until the library drops it."""
    if x is None:
        return 0
    if not callable(x):
        raise TypeError("expected a function")
    return keep_alive(x)


def keep_alive(x) -> int:
    number = next(_ids)
    CALLBACKS[number] = x
    return number


def _drop(number: int) -> None:
    kept = CALLBACKS.pop(number, None)
    if isinstance(kept, Callback):
        kept.drop()


ffi.def_extern("py_on_drop")(functools.partial(drop_quietly, _drop))
gc.callbacks.append(on_collection)


# ---- results


class Handle:
    """An object of the library that is not a tensor."""

    __slots__ = ("_h", "__weakref__")
    _release = None

    @classmethod
    def own(cls, handle: int):
        self = object.__new__(cls)
        self._h = handle
        return self

    @classmethod
    def take(cls, other: Handle):
        """What other owned, as an object of this class: for subclasses that construct themselves."""
        self = cls.own(other._h)
        other._h = 0
        return self

    def __reduce_ex__(self, protocol):
        """Two objects must not own one handle: a class that can be copied says how."""
        raise TypeError(f"cannot copy or pickle '{type(self).__name__}' object")

    def __del__(self):
        handle = getattr(self, "_h", 0)
        if handle:
            self._release(handle)
