"""PyTorch's inner helpers that programs call: tensors in one line of memory, as those that add up gradients
themselves send them, and the size of an element."""

from __future__ import annotations

from . import _ops
from ._types import dtype as _dtype

__all__: list[str] = []


def _flatten_dense_tensors(tensors):
    """The elements of tensors, one after another."""
    return _ops.cat([x.flatten() for x in tensors])


def _unflatten_dense_tensors(flat, tensors) -> tuple:
    """The parts of such a line, of the shapes of those tensors, which look into its memory."""
    parts, end = [], 0
    for x in tensors:
        begin, end = end, end + x.numel()
        parts.append(flat[begin:end].view(x.shape))
    return tuple(parts)


def _element_size(dtype) -> int:
    """The bytes of an element."""
    if not isinstance(dtype, _dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize
