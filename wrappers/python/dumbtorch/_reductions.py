"""Reductions whose PyTorch signature is several signatures; see _overloads.py."""

from __future__ import annotations

from . import _ops
from ._complaints import MISSING
from ._out import need_pair_along
from ._signatures import by_own_names
from ._tensor_type import TensorBase, into


def max(input=MISSING, other=None, keepdim=False, *, dim=None, out=None, **names):
    """max(input), max(input, dim, keepdim) and max(input, other)."""
    if names:
        input, other, dim, keepdim = by_own_names(
            max, names, input=input, other=other, dim=dim, keepdim=keepdim
        )
    if out is not None:
        need_pair_along("max", out, other, dim)
        return into(out, max, input, other, keepdim, dim=dim)
    return _extreme(_ops.max, _ops.max_dim, _ops.maximum, input, other, dim, keepdim)


def min(input=MISSING, other=None, keepdim=False, *, dim=None, out=None, **names):
    """min(input), min(input, dim, keepdim) and min(input, other)."""
    if names:
        input, other, dim, keepdim = by_own_names(
            min, names, input=input, other=other, dim=dim, keepdim=keepdim
        )
    if out is not None:
        need_pair_along("min", out, other, dim)
        return into(out, min, input, other, keepdim, dim=dim)
    return _extreme(_ops.min, _ops.min_dim, _ops.minimum, input, other, dim, keepdim)


def _extreme(whole, along, of_two, x, other, dim, keepdim):
    """`other` is whatever came second: a tensor to compare with, or the dimension."""
    is_pair = isinstance(other, TensorBase)
    is_twice = dim is not None and other is not None
    if dim is None and not is_pair:
        dim = other
    if is_twice or (dim is None and keepdim):
        raise TypeError(f"{whole.__name__}() takes dim and keepdim, another tensor, or neither")
    return of_two(x, other) if is_pair else whole(x) if dim is None else along(x, dim, keepdim)


def median(input=MISSING, dim=None, keepdim=False, *, out=None, **names):
    """median(input) and median(input, dim, keepdim)."""
    if names:
        input, dim, keepdim = by_own_names(median, names, input=input, dim=dim, keepdim=keepdim)
    if out is not None:
        need_pair_along("median", out, dim)
        return into(out, median, input, dim, keepdim)
    return _middle(_ops.median, _ops.median_dim, input, dim, keepdim)


def nanmedian(input=MISSING, dim=None, keepdim=False, *, out=None, **names):
    """nanmedian(input) and nanmedian(input, dim, keepdim)."""
    if names:
        input, dim, keepdim = by_own_names(nanmedian, names, input=input, dim=dim, keepdim=keepdim)
    if out is not None:
        need_pair_along("nanmedian", out, dim)
        return into(out, nanmedian, input, dim, keepdim)
    return _middle(_ops.nanmedian, _ops.nanmedian_dim, input, dim, keepdim)


def _middle(whole, along, x, dim, keepdim):
    if dim is None and keepdim:
        raise TypeError(f'{whole.__name__}() missing 1 required positional arguments: "dim"')
    return whole(x) if dim is None else along(x, dim, keepdim)


def var(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """var(input, dim, *, correction, keepdim), and the older `unbiased`."""
    if names:
        input, dim, keepdim = by_own_names(var, names, input=input, dim=dim, keepdim=keepdim)
    dim, options = _spread(dim, unbiased, correction, keepdim)
    return _ops.var(input, dim, **options, out=out)


def std(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """std(input, dim, *, correction, keepdim), and the older `unbiased`."""
    if names:
        input, dim, keepdim = by_own_names(std, names, input=input, dim=dim, keepdim=keepdim)
    dim, options = _spread(dim, unbiased, correction, keepdim)
    return _ops.std(input, dim, **options, out=out)


def var_mean(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """var_mean(input, dim, *, correction, keepdim), and the older `unbiased`."""
    if names:
        input, dim, keepdim = by_own_names(var_mean, names, input=input, dim=dim, keepdim=keepdim)
    dim, options = _spread(dim, unbiased, correction, keepdim)
    return _ops.var_mean(input, dim, **options, out=out)


def std_mean(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """std_mean(input, dim, *, correction, keepdim), and the older `unbiased`."""
    if names:
        input, dim, keepdim = by_own_names(std_mean, names, input=input, dim=dim, keepdim=keepdim)
    dim, options = _spread(dim, unbiased, correction, keepdim)
    return _ops.std_mean(input, dim, **options, out=out)


def _spread(dim, unbiased, correction, keepdim):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not isinstance(unbiased, (bool, type(None))):
        raise TypeError(f"argument 'unbiased' must be bool, not {type(unbiased).__name__}")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, {"correction": correction, "keepdim": keepdim}


def norm(input=MISSING, p="fro", dim=None, keepdim=False, dtype=None, *, out=None, **names):
    """Vector norm; "fro" is the 2-norm, of at most two dimensions if they are named."""
    if names:
        input, dim, keepdim = by_own_names(norm, names, input=input, dim=dim, keepdim=keepdim)
    from . import linalg  # which needs tensors

    if p == "fro" and isinstance(dim, (list, tuple)) and len(dim) > 2:
        dims = " ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dims}")
    if p == "nuc":
        dim = (0, 1) if dim is None else dim
        return linalg.matrix_norm(input, p, dim, keepdim, dtype=dtype, out=out)
    order = linalg._order_of(p)
    return _ops.norm(input, 2 if order is None else order, dim, keepdim, dtype=dtype, out=out)


METHODS = {f.__name__: f for f in (max, min, median, nanmedian, var, std, norm)}
FUNCTIONS = METHODS | {f.__name__: f for f in (var_mean, std_mean)}
