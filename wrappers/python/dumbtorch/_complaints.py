"""PyTorch's sentences about arguments that do not fit."""

from __future__ import annotations

import os

from ._runtime import SEQUENCE, Handle, is_index, is_scalar
from ._tensor_type import TensorBase
from ._types import DTYPE, MEMORY_FORMAT, device

# What wrong arguments raise on the way to C; `complain` says which argument it was.
BAD_ARGUMENTS = (AttributeError, TypeError, ValueError, OverflowError)

_HEAP_TYPE = 1 << 9  # of a type's flags: a class statement made it


class _Missing:
    """Stands for an argument that was not given, where Python's signature cannot require it."""

    def __repr__(self):
        return "MISSING"


MISSING = _Missing()


def is_device(x) -> bool:
    return isinstance(x, (device, str, int)) and not isinstance(x, bool)


_EXPECTED = {
    "tensor": ("Tensor", lambda v: isinstance(v, TensorBase)),
    "tensor[]": (
        "tuple of Tensors",
        lambda v: isinstance(v, SEQUENCE) and all(isinstance(t, TensorBase) for t in v),
    ),
    "operand": ("Tensor or number", lambda v: isinstance(v, TensorBase) or is_scalar(v)),
    "scalar": ("Number", is_scalar),
    "i64": ("int", is_index),
    "f64": ("float", is_scalar),
    "bool": ("bool", lambda v: isinstance(v, bool)),
    "str": ("str", lambda v: isinstance(v, str)),
    "enum": ("str", lambda v: isinstance(v, str)),
    "dtype": ("torch.dtype", lambda v: v in DTYPE),
    "memory_format": ("torch.memory_format", lambda v: v in MEMORY_FORMAT),
    "device": ("torch.device", is_device),
    "path": ("str, bytes or os.PathLike", lambda v: isinstance(v, (str, bytes, os.PathLike))),
    "tensor?[]": (
        "tuple of Tensors",
        lambda v: (
            isinstance(v, SEQUENCE) and all(t is None or isinstance(t, TensorBase) for t in v)
        ),
    ),
    "i64[]": ("tuple of ints", lambda v: isinstance(v, SEQUENCE) and all(map(is_index, v))),
    "f64[]": ("tuple of floats", lambda v: isinstance(v, SEQUENCE) and all(map(is_scalar, v))),
    "bool[]": ("tuple of bools", lambda v: all(isinstance(x, int) for x in v)),
    "str[]": ("tuple of strs", lambda v: all(isinstance(s, str) for s in v)),
    "callback": ("a function", callable),
    "handle": ("an object of dumbtorch", lambda v: isinstance(v, Handle)),
}


def _fits(kind: str, value) -> bool:
    if kind.endswith("?") and value is None:
        return True
    kind = kind.rstrip("?")
    if kind.endswith("[1]") and _fits(kind[:-3], value):
        return True
    kind = kind.replace("[1]", "[]")
    _, good = _EXPECTED.get(kind, ("", lambda v: True))
    try:
        return good(value)
    except TypeError:
        return False


class StandIn:
    """What may be given for a tensor though the library knows no handle of it: `called` makes the call."""

    __slots__ = ()


def otherwise(error: Exception, function, name: str, kinds: str, *values):
    """What a call gives that could not be passed on: that of a stand-in among its values, else what `complain` says."""
    for value in values:
        for x in value if isinstance(value, SEQUENCE) else (value,):
            if issubclass(type(x), StandIn):
                words = [word.partition(":")[0] for word in kinds.split()]
                return type(x).called(function, dict(zip(words, values, strict=True)))
    try:
        raise complain(error, name, kinds, *values) from None
    finally:
        del error  # its traceback has this frame, which would keep it, and all that a hook that raised has used


def complain(error: Exception, function: str, kinds: str, *values) -> Exception:
    """PyTorch's sentence about the first argument that does not fit; the error itself if all do. One of the library's,
    which has taken the arguments, goes on as it is.

    kinds: "input:tensor dim:i64[]?", one word for each value. One number may stand for those of a list [1].
    """
    if hasattr(error, "_of_library"):
        try:
            raise error
        finally:
            del error
    left_out = [
        w.partition(":")[0] for w, v in zip(kinds.split(), values, strict=True) if v is MISSING
    ]
    if left_out:
        return missing(function, left_out)
    if isinstance(error, OverflowError):
        return _overflow(function, kinds, values)
    for position, (word, value) in enumerate(zip(kinds.split(), values, strict=True), 1):
        name, _, kind = word.partition(":")
        if not _fits(kind, value):
            if kind.startswith("enum") and isinstance(error, ValueError):
                break  # it was looked up, and lists the names that there are
            place = f"argument '{name}' (position {position})"
            return TypeError(f"{function}(): {place} must be {_wanted(kind, value)}")
    return error


def need(function: str, kinds: str, *values) -> None:
    """Refuses what is not of its kind, for a function that looks at its arguments before the library does."""
    error = complain(_GOOD, function, kinds, *values)
    if error is not _GOOD:
        raise error


_GOOD = TypeError()


def need_tensor(function: str, input):
    """The input, for what does not give it to the library."""
    if not isinstance(input, TensorBase):
        place = "argument 'input' (position 1)"
        raise TypeError(f"{function}(): {place} must be Tensor, not {_type_name(input)}")
    return input


def missing(function: str, names: list) -> TypeError:
    """PyTorch's sentence, whose plural is the other way round."""
    words = "arguments" if len(names) == 1 else "argument"
    listed = ", ".join(f'"{name}"' for name in names)
    return TypeError(f"{function}() missing {len(names)} required positional {words}: {listed}")


def _overflow(function: str, kinds: str, values: tuple) -> Exception:
    """An integer beyond 64 bits: one to compute with, or one that says where or how many."""
    for word, value in zip(kinds.split(), values, strict=True):
        kind = word.partition(":")[2].rstrip("?")
        if kind in ("scalar", "operand") and _is_beyond(value):
            return OverflowError(f"{function}(): int too big to convert")
        if kind.startswith("i64["):
            for i, n in enumerate(value if isinstance(value, SEQUENCE) else (), 1):
                if _is_beyond(n):
                    place = f"argument '{word.partition(':')[0]}' failed to unpack the object at pos {i}"
                    return TypeError(
                        f'{function}(): {place} with error "Overflow when unpacking long long"'
                    )
    return ValueError(f"{function}(): Overflow when unpacking long long")


def _is_beyond(n) -> bool:
    return isinstance(n, int) and not -(1 << 63) <= n < 1 << 63


_PUBLIC_HOMES = (__package__, f"{__package__}._C")  # of classes that are of C in PyTorch


def _type_name(value) -> str:
    """The name that PyTorch has for the type: Python's for its own and those of classes, others with their module."""
    cls, module = type(value), type(value).__module__
    if module in _PUBLIC_HOMES and not issubclass(cls, TensorBase):
        return f"{module.replace(__package__, 'torch')}.{cls.__name__}"
    is_class = cls.__flags__ & _HEAP_TYPE
    return cls.__name__ if is_class or module == "builtins" else f"{module}.{cls.__name__}"


def _wanted(kind: str, value) -> str:
    """ "int, not str", "tuple of ints, but found element of type str at pos 1"."""
    expected, _ = _EXPECTED[kind.rstrip("?").replace("[1]", "[]")]
    if "[" in kind and isinstance(value, SEQUENCE):
        one = kind.partition("[")[0]
        for i, entry in enumerate(value):
            if not _fits(one, entry):
                return f"{expected}, but found element of type {_type_name(entry)} at pos {i}"
    return f"{expected}, not {_type_name(value)}"
