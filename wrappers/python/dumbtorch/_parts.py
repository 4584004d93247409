"""unsafe_split and its kin: parts in a tensor's memory that count as tensors of their own."""

from __future__ import annotations

from . import _ops
from ._complaints import need
from .autograd.function import Function


class _Parts(Function):
    @staticmethod
    def forward(ctx, input, split):
        parts = split(input)
        ctx.dim = next((d for d, n in enumerate(input.shape) if parts[0].shape[d] != n), 0)
        return tuple(part.data for part in parts)

    @staticmethod
    def backward(ctx, *grads):
        return _ops.cat(grads, ctx.dim), None


def unsafe_split(input, split_size, dim=0, *, axis=None) -> tuple:
    """split, into what counts as no views: parts may be written where nobody looks at the whole afterwards."""
    need("unsafe_split", "input:tensor split_size:i64", input, split_size)
    return _Parts.apply(input, lambda x: x.split(split_size, dim, axis=axis))


def unsafe_chunk(input, chunks, dim=0, *, axis=None) -> tuple:
    """chunk, into what counts as no views: parts may be written where nobody looks at the whole afterwards."""
    need("unsafe_chunk", "input:tensor chunks:i64", input, chunks)
    return _Parts.apply(input, lambda x: x.chunk(chunks, dim if axis is None else axis))


def unsafe_split_with_sizes(input, split_sizes, dim=0, *, axis=None) -> tuple:
    """split into these sizes, into what counts as no views."""
    need("unsafe_split_with_sizes", "input:tensor split_sizes:i64[]", input, split_sizes)
    return _Parts.apply(input, lambda x: x.split(list(split_sizes), dim, axis=axis))
