"""Reductions whose PyTorch signature is several signatures; see _overloads.py."""

from __future__ import annotations

from . import _ops
from ._complaints import MISSING, missing, need, need_tensor
from ._out import need_pair_along
from ._signatures import by_own_names
from ._tensor_type import TensorBase, into


def max(
    input=MISSING, other=MISSING, keepdim=MISSING, *, dim=MISSING, out=None, **names
):  # fmt: skip
    """max(input), max(input, dim, keepdim) and max(input, other)."""
    by = (_ops.max, _ops.max_dim, _ops.maximum)
    return _extreme(max, by, input, other, keepdim, dim, out, names)


def min(
    input=MISSING, other=MISSING, keepdim=MISSING, *, dim=MISSING, out=None, **names
):  # fmt: skip
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
        need_pair_along(function.__name__, out, *(x for x in (other, dim) if x is not MISSING))
        return into(out, function, input, other, keepdim, dim=dim)
    whole, along, of_two = by
    if dim is MISSING and keepdim is MISSING and isinstance(other, TensorBase):
        return of_two(input, other)
    if dim is MISSING:
        dim = other
    elif other is not MISSING:
        dim = None
    if dim is None or (dim is MISSING and keepdim is not MISSING):
        raise TypeError(f"{function.__name__}() takes dim and keepdim, another tensor, or neither")
    return _reduced(whole, along, input, dim, keepdim)


def median(input=MISSING, dim=MISSING, keepdim=MISSING, *, out=None, **names):
    """median(input) and median(input, dim, keepdim)."""
    return _middle(median, (_ops.median, _ops.median_dim), input, dim, keepdim, out, names)


def nanmedian(input=MISSING, dim=MISSING, keepdim=MISSING, *, out=None, **names):
    """nanmedian(input) and nanmedian(input, dim, keepdim)."""
    return _middle(nanmedian, (_ops.nanmedian, _ops.nanmedian_dim), input, dim, keepdim, out, names)


def _middle(function, by, input, dim, keepdim, out, names):
    if names:
        input, dim, keepdim = by_own_names(function, names, input=input, dim=dim, keepdim=keepdim)
    if out is not None:
        need_pair_along(function.__name__, out, *(() if dim is MISSING else (dim,)))
        return into(out, function, input, dim, keepdim)
    if dim is MISSING and keepdim is not MISSING:
        raise missing(function.__name__, ["dim"])
    return _reduced(*by, input, dim, keepdim)


def _reduced(whole, along, input, dim, keepdim):
    if dim is MISSING:
        return whole(input)
    return along(input, dim, False if keepdim is MISSING else keepdim)


def var(
    input=MISSING, dim=MISSING, unbiased=MISSING, keepdim=False, *, correction=MISSING, out=None, **names,
):  # fmt: skip
    """var(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.var, input, dim, unbiased, keepdim, correction, out, names)


def std(
    input=MISSING, dim=MISSING, unbiased=MISSING, keepdim=False, *, correction=MISSING, out=None, **names,
):  # fmt: skip
    """std(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.std, input, dim, unbiased, keepdim, correction, out, names)


def var_mean(
    input=MISSING, dim=MISSING, unbiased=MISSING, keepdim=False, *, correction=MISSING, out=None, **names,
):  # fmt: skip
    """var_mean(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.var_mean, input, dim, unbiased, keepdim, correction, out, names)


def std_mean(
    input=MISSING, dim=MISSING, unbiased=MISSING, keepdim=False, *, correction=MISSING, out=None, **names,
):  # fmt: skip
    """std_mean(input, dim, *, correction, keepdim), and the older `unbiased`."""
    return _spread(_ops.std_mean, input, dim, unbiased, keepdim, correction, out, names)


def _spread(function, input, dim, unbiased, keepdim, correction, out, names):
    if isinstance(dim, bool):
        if unbiased is not MISSING:
            raise TypeError(f"{function.__name__}() takes unbiased once")
        dim, unbiased = MISSING, dim
    if unbiased is not MISSING:
        need(function.__name__, "unbiased:bool", unbiased)
        if correction is not MISSING:
            raise TypeError(f"{function.__name__}() takes unbiased or correction, not both")
        if dim is MISSING and keepdim:
            raise missing(function.__name__, ["dim"])
        correction = int(unbiased)
    dim = None if dim is MISSING else dim
    correction = None if correction is MISSING else correction
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
        if dim is None:
            dim = tuple(range(need_tensor("norm", input).ndim))
        elif dim.__class__ is int:
            dim = (dim,)  # which is refused as any other than two are
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
