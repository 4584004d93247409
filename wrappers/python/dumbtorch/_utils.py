"""Tensors in one line of memory, as programs that add up gradients themselves send them."""

from __future__ import annotations

from . import _ops

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
