"""default_collate makes one batch of a list of items, default_convert tensors of one item, pin_memory a batch that
a GPU reads by itself."""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy
from functools import partial

from ... import _ops
from ..._creation import as_tensor, tensor
from ..._tensor import Tensor
from ..._tensor_type import TensorBase
from ..._types import float64

_WANTED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch):
    """Stacks tensors, arrays and numbers; goes into tuples, lists and dictionaries; leaves text."""
    return collate(batch, collate_fn_map=_usual)


def collate(batch, *, collate_fn_map=None):
    """Goes into tuples, lists and dictionaries. What is in them is put together by the map's function of its
    type, or of a tuple of types: f(batch, collate_fn_map=map)."""
    first = batch[0]
    own = _function_of(first, collate_fn_map) if collate_fn_map is not None else None
    if own is not None:
        return own(batch, collate_fn_map=collate_fn_map)
    inner = partial(collate, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: inner([item[key] for item in batch]) for key in first})
    if isinstance(first, Sequence):
        return _collate_sequences(batch, inner)
    raise TypeError(_WANTED.format(type(first)))


def _function_of(item, functions: dict):
    functions = _with_numpy() if functions is _usual else functions
    if type(item) in functions:
        return functions[type(item)]
    return next((functions[kind] for kind in functions if isinstance(item, kind)), None)


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stacks tensors."""
    return _ops.stack(list(batch))


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Stacks arrays."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_WANTED.format(batch[0].dtype))
    return _ops.stack([as_tensor(a) for a in batch])


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """A tensor of NumPy's numbers."""
    return as_tensor(sys.modules["numpy"].array(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    """A tensor of float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """A tensor of integers, or of bools."""
    return tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """The texts."""
    return batch


# `default_collate_fn_map`, to which a program may add types of its own.
_usual: dict = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
_of_numpy: dict = {}  # what of NumPy's was added to it


def _with_numpy() -> dict:
    """The usual functions, those of NumPy's types first once there may be any: NumPy is not imported for them."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and not _of_numpy:
        _of_numpy[numpy.ndarray] = collate_numpy_array_fn
        _of_numpy[numpy.bool_, numpy.number, numpy.object_] = collate_numpy_scalar_fn
        before = dict(_usual)
        _usual.clear()
        _usual.update(_of_numpy | before)
    return _usual


def __getattr__(name: str):
    if name == "default_collate_fn_map":
        return _with_numpy()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _collate_sequences(batch, inner):
    first = batch[0]
    if hasattr(first, "_fields"):
        return type(first)(*map(inner, zip(*batch, strict=False)))
    if any(len(item) != len(first) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [inner(column) for column in zip(*batch, strict=True)]
    return columns if isinstance(first, tuple) else _like_sequence(first, columns)


def _like_mapping(first, parts: dict):
    """The parts in a mapping of the first one's type, with what it has besides; a dictionary if that cannot be."""
    try:
        if isinstance(first, MutableMapping):
            out = copy(first)
            out.update(parts)
            return out
        return type(first)(parts)
    except TypeError:
        return parts


def _like_sequence(first, parts: list):
    """The parts in a sequence of the first one's type, with what it has besides; a list if that cannot be."""
    try:
        if isinstance(first, MutableSequence):
            out = copy(first)
            for i, part in enumerate(parts):
                out[i] = part
            return out
        return type(first)(parts)
    except TypeError:
        return parts


def default_convert(data):
    """Makes tensors of arrays, inside of tuples, lists and dictionaries too."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, (numpy.ndarray, numpy.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    return data if isinstance(data, TensorBase) else _each(default_convert, data)


def pin_memory(item):
    """A batch in memory that the driver knows; of other objects, what their pin_memory() gives."""
    if hasattr(item, "pin_memory"):
        return item.pin_memory()
    if isinstance(item, tuple) and not hasattr(item, "_fields"):
        return type(item)(map(pin_memory, item))
    return _each(pin_memory, item)


def _each(function, item):
    """A container with function(part) for each part; anything else as it is."""
    if isinstance(item, Mapping):
        return _like_mapping(item, {key: function(value) for key, value in item.items()})
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return type(item)(*map(function, item))
    if isinstance(item, tuple):
        return [function(part) for part in item]
    if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
        return _like_sequence(item, [function(part) for part in item])
    return item
