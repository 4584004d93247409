"""Reductions whose PyTorch signature is several signatures; see _overloads.py."""

from __future__ import annotations

from . import _ops
from ._complaints import MISSING, missing
from ._out import need_pair_along
from ._signatures import by_own_names
from ._tensor_type import TensorBase, into


def max(input=MISSING, other=None, keepdim=False, *, dim=None, out=None, **names):
    """max(input), max(input, dim, keepdim) and max(input, other)."""
    by = (_ops.max, _ops.max_dim, _ops.maximum)
    return _extreme(max, by, input, other, keepdim, dim, out, names)


def min(input=MISSING, other=None, keepdim=False, *, dim=None, out=None, **names):
    """min(input), min(input, dim, keepdim) and min(input, other)."""
    by = (_ops.min, _ops.min_dim, _ops.minimum)
    return _extreme(min, by, input, other, keepdim, dim, out, names)


def _extreme(function, by, input, other, keepdim, dim, out, names):
    """`other` is whatever came second: a tensor to compare with, or the dimension."""
    if names:
        input, other, dim, keepdim = by_own_names(
            function, names, input=input, other=other, dim=dim, keepdim=keepdim
        )
    if out is not None:
        need_pair_along(function.__name__, out, other, dim)
        return into(out, function, input, other, keepdim, dim=dim)
    whole, along, of_two = by
    is_pair = isinstance(other, TensorBase)
    is_twice = dim is not None and other is not None
    if dim is None and not is_pair:
        dim = other
    if is_twice or (dim is None and keepdim):
        raise TypeError(f"{function.__name__}() takes dim and keepdim, another tensor, or neither")
    return of_two(input, other) if is_pair else _reduced(whole, along, input, dim, keepdim)


def median(input=MISSING, dim=None, keepdim=False, *, out=None, **names):
    """median(input) and median(input, dim, keepdim)."""
    return _middle(median, (_ops.median, _ops.median_dim), input, dim, keepdim, out, names)


def nanmedian(input=MISSING, dim=None, keepdim=False, *, out=None, **names):
    """nanmedian(input) and nanmedian(input, dim, keepdim)."""
    return _middle(nanmedian, (_ops.nanmedian, _ops.nanmedian_dim), input, dim, keepdim, out, names)


def _middle(function, by, input, dim, keepdim, out, names):
    if names:
        input, dim, keepdim = by_own_names(function, names, input=input, dim=dim, keepdim=keepdim)
    if out is not None:
        need_pair_along(function.__name__, out, dim)
        return into(out, function, input, dim, keepdim)
    if dim is None and keepdim:
        raise missing(function.__name__, ["dim"])
    return _reduced(*by, input, dim, keepdim)


def _reduced(whole, along, input, dim, keepdim):
    return whole(input) if dim is None else along(input, dim, keepdim)


def var(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """var(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.var, input, dim, unbiased, keepdim, correction, out, names)


def std(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """std(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.std, input, dim, unbiased, keepdim, correction, out, names)


def var_mean(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """var_mean(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.var_mean, input, dim, unbiased, keepdim, correction, out, names)


def std_mean(
    input=MISSING, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, **names
):
    """std_mean(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.std_mean, input, dim, unbiased, keepdim, correction, out, names)


def _spread(function, input, dim, unbiased, keepdim, correction, out, names):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not isinstance(unbiased, (bool, type(None))):
        raise TypeError(f"argument 'unbiased' must be bool, not {type(unbiased).__name__}")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return function(input, dim, correction=correction, keepdim=keepdim, out=out, **names)


def norm(input=MISSING, p="fro", dim=None, keepdim=False, out=None, dtype=None, **names):
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


def _norm_method(input, p="fro", dim=None, keepdim=False, dtype=None, **names):
    """norm, which has no `out` as a method."""
    return norm(input, p, dim, keepdim, dtype=dtype, **names)


def nuclear_norm(input=MISSING, dim=(-2, -1), keepdim=False, *, out=None, **names):
    """nuclear_norm(input, dim, keepdim), and nuclear_norm(input, keepdim) of the last two dimensions."""
    if isinstance(dim, bool) and keepdim is False:
        dim, keepdim = (-2, -1), dim
    return _ops.nuclear_norm(input, dim, keepdim, out=out, **names)


METHODS = {f.__name__: f for f in (max, min, median, nanmedian, var, std)}
FUNCTIONS = METHODS | {f.__name__: f for f in (var_mean, std_mean, norm, nuclear_norm)}
METHODS["norm"] = _norm_method
