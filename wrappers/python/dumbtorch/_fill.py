"""fill_diagonal_, made of views, and copy_ of a number."""

from __future__ import annotations

from . import _ops, _types
from ._complaints import need
from ._numpy import is_number
from ._runtime import is_plain


def fill_diagonal_(x, fill_value, wrap: bool):
    need("fill_diagonal_", "input:tensor fill_value:scalar wrap:bool", x, fill_value, wrap)
    if x.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if x.ndim > 2:
        if len(set(x.shape)) > 1:
            raise RuntimeError("all dimensions of input must be of equal length")
        place = _ops.tensor_storage_offset(x)
        _ops.fill_(_ops.as_strided(x, (x.shape[0],), (sum(x.stride()),), place), fill_value)
        return x
    rows, columns = x.shape
    for first in range(0, rows if wrap else min(rows, 1), columns + 1):
        _ops.fill_(_ops.diagonal(x[first : first + columns]), fill_value)
    return x


def copy_(input, other, non_blocking=False):
    """In place: the elements of a tensor, or a number."""
    if is_plain(other):
        other = other.item() if is_number(other) else other
        dtype = _types.float64 if isinstance(other, float) else None
        other = _ops.full((), other, dtype=dtype, device=input.device)
    return _ops.copy_(input, other, non_blocking)
