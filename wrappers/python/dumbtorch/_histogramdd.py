"""histogramdd: how many points lie in bins of several dimensions."""

from __future__ import annotations

import math

from . import _ops
from ._complaints import need
from ._named_results import result_type
from ._out import need_tuple
from ._tensor_type import TensorBase, into
from ._types import bool_, float32, float64, int64
from .autograd.function import Function

Histogram = result_type("histogramdd", "hist bin_edges")


def histogramdd(input, bins, range=None, weight=None, density=False, *, out=None):
    """How many of the points that input's last dimension holds lie in each bin: (hist, bin_edges).

    bins: so many of equal width, for all dimensions or each, or each dimension's edges in rising order.
    """
    kinds = "input:tensor weight:tensor? density:bool"
    need("histogramdd", kinds, input, weight, density)
    if out is not None:
        need_tuple("histogramdd", out, 2)
        need_tuple("histogramdd", out[1], input.shape[-1])
        hist, edges = histogramdd(input, bins, range=range, weight=weight, density=density)
        into((out[0], *out[1]), lambda: (hist, *edges))
        return Histogram(out)
    _check_input(input, weight)
    bins = [bins] * input.shape[-1] if isinstance(bins, int) else list(bins)
    if len(bins) != input.shape[-1]:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    given = any(isinstance(b, TensorBase) for b in bins)
    if given:
        for d, edges in enumerate(bins):
            _check_edges(edges, input, d)
    hist, *edges = _Histogram.apply((bins, given, range, density), input, weight, *bins)
    return Histogram((hist, tuple(bins if given else edges)))


class _Histogram(Function):
    """What is counted requires a gradient where the input does, and has none."""

    @staticmethod
    def forward(ctx, settings, input, weight, *_):
        bins, given, bounds, density = settings
        points = input.flatten(0, -2)
        edges = bins if given else _equal_bins(points, bins, bounds)
        hist = _counts(points, edges, weight)
        if density:
            hist = hist / hist.sum()
            for d, e in enumerate(edges):
                hist = hist / e.diff().reshape(-1, *(1,) * (len(edges) - 1 - d))
        return (hist,) if given else (hist, *edges)

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError("derivative for aten::histogramdd is not implemented")


def _check_input(input, weight) -> None:
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if input.dtype not in (float32, float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input.dtype.word}'")
    if weight is None:
        return
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({input.dtype.word.lower()}), and weight({weight.dtype.word.lower()})"
        )
    if weight.shape != input.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(input.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


def _check_edges(edges, input, d: int) -> None:
    if edges.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{input.dtype.word.lower()} and bins for dimension {d} with dtype {edges.dtype.word.lower()}"
        )
    if edges.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} dimensions in the bins "
            f"tensor for dimension {d}"
        )
    _check_count(edges.numel() - 1, d)


def _check_count(bins: int, d: int) -> None:
    if bins < 1:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {d}")


def _equal_bins(points, bins: list, bounds) -> list:
    for d, count in enumerate(bins):
        _check_count(count, d)
    n = len(bins)
    if bounds is not None and len(bounds) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got "
            f"{len(bounds)}"
        )
    if bounds is not None:
        ends = list(zip(bounds[::2], bounds[1::2], strict=True))
    elif points.numel():
        ends = list(zip(points.amin(0).tolist(), points.amax(0).tolist(), strict=True))
    else:
        ends = [(0.0, 1.0)] * n
    for d, (low, high) in enumerate(ends):
        if not (math.isfinite(low) and math.isfinite(high)):
            message = f"dimension {d}'s range [{low:g}, {high:g}] is not finite"
            raise RuntimeError(f"torch.histogramdd: {message}")
        if low > high:
            message = (
                f"min should not exceed max, but got min {low:g} max {high:g} for dimension {d}"
            )
            raise RuntimeError(f"torch.histogramdd: {message}")
    wide = [(low, high) if low < high else (low - 0.5, high + 0.5) for low, high in ends]
    place = {"dtype": points.dtype, "device": points.device}
    return [_ops.linspace(*e, count + 1, **place) for e, count in zip(wide, bins, strict=True)]


def _counts(points, edges: list, weight):
    """What lies in each bin. The last bin of a dimension has its end in it, too."""
    if not edges:  # no bin is of no dimensions
        return _ops.zeros((), dtype=points.dtype, device=points.device)
    shape = [e.numel() - 1 for e in edges]
    bin_of = _ops.zeros(points.shape[0], dtype=int64, device=points.device)
    inside = _ops.ones_like(bin_of, dtype=bool_)
    for x, e, count in zip(points.unbind(1), edges, shape, strict=True):
        place = _ops.searchsorted(e, _ops.contiguous(x), right=True) - 1
        bin_of = bin_of * count + place.clamp(0, count - 1)
        inside = inside & (x >= e[0]) & (x <= e[-1])
    weights = _ops.ones_like(bin_of, dtype=points.dtype) if weight is None else weight.reshape(-1)
    hist = _ops.zeros(math.prod(shape), dtype=points.dtype, device=points.device)
    return hist.index_add(0, bin_of, _ops.where(inside, weights, 0)).reshape(shape)
