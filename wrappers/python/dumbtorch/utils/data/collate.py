"""default_collate makes one batch of a list of items, default_convert tensors of one item."""

from __future__ import annotations

import sys

from ... import _ops
from ..._creation import as_tensor, tensor
from ..._tensor_type import TensorBase
from ..._types import float64


def default_collate(batch: list):
    """Stacks tensors, arrays and numbers; goes into tuples, lists and dictionaries; leaves text."""
    first = batch[0]
    numpy = sys.modules.get("numpy")
    if isinstance(first, TensorBase):
        return _ops.stack(batch)
    if numpy is not None and isinstance(first, numpy.ndarray):
        return _ops.stack([as_tensor(a) for a in batch])
    if numpy is not None and isinstance(first, numpy.generic):
        return as_tensor(numpy.stack(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        return _collate_sequences(batch)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{type(first)}"
    )


def _collate_sequences(batch: list):
    first = batch[0]
    if any(len(item) != len(first) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(list(column)) for column in zip(*batch, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else columns


def default_convert(item):
    """Makes tensors of arrays, inside of tuples, lists and dictionaries too."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(item, (numpy.ndarray, numpy.generic)):
        return item if item.dtype.kind in "SUO" else as_tensor(item)
    if isinstance(item, dict):
        return {key: default_convert(value) for key, value in item.items()}
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return type(item)(*map(default_convert, item))
    if isinstance(item, (tuple, list)):
        return list(map(default_convert, item))
    return item
