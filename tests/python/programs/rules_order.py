"""Arguments of the ops that order and count elements, and of affine_grid."""

from __future__ import annotations

import torch

from .arguments import first, rule
from .leaves import FLOATS
from .program import Program
from .tensors import dtype_name, largest


def is_distinct(x: torch.Tensor) -> bool:
    """Of equal elements PyTorch chooses any, and rounding does of what nothing else tells apart."""
    values = (x.detach().double() if x.is_floating_point() else x).unique()
    finite = values[values.isfinite()]
    apart = 1e-4 * max(1.0, largest(finite)) if x.is_floating_point() else 0
    return (
        values.numel() == x.numel() and not (x != x).any() and bool((finite.diff() > apart).all())
    )


@rule("sort.input", "argsort.input", "topk.input", "kthvalue.input", "median_dim.input", "nanmedian_dim.input",
      "mode.input", "msort.input", "quantile.input", "nanquantile.input")  # fmt: skip
def _(p, given):
    return p.tensor(is_distinct)


@rule("topk.k", "kthvalue.k")
def _(p, given):
    x = first(given)
    return str(p.rng.randint(1, min(x.shape[-1], 3) or 1) if x.dim() else 1)


# Rows that hold NaN are in no order.
@rule("unique.input")
def _(p, given):
    return p.tensor(lambda x: not (x != x).any())


# In no order else.
@rule("topk.sorted", "unique.sorted")
def _(p, given):
    return "True"


# Among huge ones the edges of bins are rounding.
@rule("histc.input", "histogram.input")
def _(p, given):
    return p.tensor(lambda x: x.is_floating_point() and bool((x.abs() < 1e6).all()))


@rule("histc.min")
def _(p, given):
    return p.choose("0", "-1", "-2.5")


@rule("histc.max")
def _(p, given):
    return p.choose("0", "1", "3")


@rule("histogram.range")
def _(p, given):
    return p.choose("(-1.0, 2.0)", "(0.0, 0.5)", "(1.0, 1.0)")


@rule("histogram.weight", "bincount.weights")
def _(p, given):
    return p.tensor(shape=tuple(first(given).shape), dtype=dtype_name(first(given)))


@rule("bincount.input")
def _(p, given):
    return p.new((p.rng.choice(p.sizes),), p.choose("int64", "int32", "uint8"), "5")


@rule("affine_grid.theta")
def _(p, given):
    dims = p.choose(2, 2, 3)
    return p.tensor(shape=(p.choose(1, 2), dims, dims + 1), dtype=p.choose(*FLOATS))


@rule("affine_grid.size")
def _(p: Program, given):
    theta = first(given)
    sizes = [p.choose(1, 2, 3) for _ in range(theta.shape[-1] - 1)]
    return str((theta.shape[0], p.choose(1, 2), *sizes))
