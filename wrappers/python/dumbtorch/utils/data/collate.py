"""default_collate makes one batch of a list of items, default_convert tensors of one item, pin_memory a batch that
a GPU reads by itself."""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from copy import copy

from ... import _ops
from ..._creation import as_tensor, tensor
from ..._tensor_type import TensorBase
from ..._types import float64

_WANTED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch):
    """Stacks tensors, arrays and numbers; goes into tuples, lists and dictionaries; leaves text."""
    first = batch[0]
    numpy = sys.modules.get("numpy")
    if isinstance(first, TensorBase):
        return _ops.stack(list(batch))
    if numpy is not None and isinstance(first, numpy.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(_WANTED.format(first.dtype))
        return _ops.stack([as_tensor(a) for a in batch])
    if isinstance(first, (str, bytes)):  # NumPy's too
        return batch
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if numpy is not None and isinstance(first, numpy.generic):
        return as_tensor(numpy.array(batch))
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, Mapping):
        parts = {key: default_collate([item[key] for item in batch]) for key in first}
        return _like_mapping(first, parts)
    if isinstance(first, Sequence):
        return _collate_sequences(batch)
    raise TypeError(_WANTED.format(type(first)))


def _collate_sequences(batch):
    first = batch[0]
    if hasattr(first, "_fields"):
        return type(first)(*map(default_collate, zip(*batch, strict=False)))
    if any(len(item) != len(first) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(column) for column in zip(*batch, strict=True)]
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


def default_convert(item):
    """Makes tensors of arrays, inside of tuples, lists and dictionaries too."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(item, (numpy.ndarray, numpy.generic)):
        return item if item.dtype.kind in "SUO" else as_tensor(item)
    return item if isinstance(item, TensorBase) else _each(default_convert, item)


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
