"""What is known of the order in which elements lie in memory."""

from __future__ import annotations

import re

import torch

from .case import Case, documented, share_memory
from .elements import numbers_of
from .tensors import strides


# The strides of a copy, as numbers.
@documented("**`torch.vmap`**")
def _(c: Case) -> bool:
    of = c.named(" ".join(re.findall(r"= (x\d+)\.stride\(", c.statement)))
    mapped = c.named(" ".join(re.findall(r"^(x\d+) = t\.vmap\(", c.history, re.M)))
    return c.aspect == "values" and any(x is y for x in of for y in mapped)


@documented("**Memory order**")
def _(c: Case) -> bool:
    return (
        c.aspect == "strides"
        and re.search(r"nonzero|argwhere|logsigmoid|LogSigmoid|rrelu|RReLU", c.called) is not None
    )


@documented("**Memory order**")
def _(c: Case) -> bool:
    loss = re.search(r"rsub\(|stack\(|reduction='none'", c.statement)
    return c.aspect == "strides" and loss is not None


@documented("**Memory order**")
def _(c: Case) -> bool:
    return c.aspect == "strides" and re.search(r"\b(ldexp|nextafter)\(", c.statement) is not None


@documented("**Memory order**")
def _(c: Case) -> bool:
    return ".stride()" in c.statement and any(x.numel() == 0 for x in c.used)


@documented("**Memory order**")
def _(c: Case) -> bool:
    return ".storage_offset()" in c.statement and "deepcopy(" in c.history


@documented("**Memory order**")
def _(c: Case) -> bool:
    made = r"(x\d+) = .*(?:nonzero|argwhere|scaled_dot_product_attention)\("
    found = c.named(" ".join(re.findall(made, c.history)))
    return ".stride()" in c.statement and any(x is y for x in c.used for y in found)


@documented("**Memory order**")
def _(c: Case) -> bool:
    return ".stride()" in c.statement and c.uses_returned_gradient


# Where one of its dimensions has size 1, it may not be seen that channels lie last.
@documented("**Memory order**")
def _(c: Case) -> bool:
    images = [x for x in c.used if x.dim() == 4 and 1 in x.shape]
    returned = any(share_memory(x, g) for x in images for g in c.returned)
    return c.aspect == "strides" and returned


# What a product has, what an index of tensors chooses, or what takes several steps here or there.
SIZE_1 = (
    r"matmul\(|@|solve_triangular\(|attention\(|\bconv1d\(|x\d+\[[^\]]*(?:x\d+|\[)|\b(?:angle|bernoulli|deg2rad|entr"
    r"|hardtanh|isclose|isfinite|isin|isinf|isneginf|isposinf|log_ndtr|normal|pow|rad2deg|relu6)\("
)


@documented("**Memory order**")
def _(c: Case) -> bool:
    if ".stride()" not in c.statement or not re.search(SIZE_1, c.history):
        return False
    steps = re.findall(r"\bn\d+", c.statement)  # one for each dimension
    d = steps.index(c.difference.place)
    return any(x.dim() == len(steps) and x.shape[d] == 1 for x in c.used)


# Of convolutions in groups.
@documented("**Memory order**")
def _(c: Case) -> bool:
    return c.aspect == "strides" and re.search(r"conv\dd\(.*groups=[2-9]", c.called) is not None


# Where factors have dimensions of size 1, which are left away before they are multiplied; a product has such, too.
@documented("**Memory order**")
def _(c: Case) -> bool:
    factors = [x for x in c.used if x is not c.theirs]
    ones = len(factors) > 2 or any(1 in x.shape for x in factors)
    return c.aspect == "strides" and "einsum(" in c.statement and ones


# Of what an index of tensors gives, too.
@documented("**Memory order**")
def _(c: Case) -> bool:
    return c.aspect == "strides" and re.search(r"^\w+ = x\d+\[.*\]$", c.statement) is not None


# Of convolutions, maxima, norms and interpolations of volumes: ours is row-major.
@documented("**Memory order**")
def _(c: Case) -> bool:
    calls = r"(conv(_transpose)?|Conv(Transpose)?|max_pool|MaxPool|BatchNorm)3d(_with_indices)?\("
    volumes = re.search(rf"{calls}|\b(batch_norm|interpolate|Upsample)\(", c.called) is not None
    if c.aspect != "strides" or not volumes or not isinstance(c.theirs, torch.Tensor):
        return False
    theirs = c.theirs.detach()
    theirs = theirs if theirs.dim() == 5 else theirs.unsqueeze(0)
    if theirs.dim() != 5:
        return False
    last = theirs.is_contiguous(memory_format=torch.channels_last_3d)
    return last and c.difference.ours == str(strides(c.theirs.detach().contiguous()))


@documented("**Memory order**")
def _(c: Case) -> bool:
    padded = re.search(r"[cC]onv_?[tT]ranspose[12]d\(.*output_padding=", c.called) is not None
    return c.aspect == "strides" and padded


def repeats(x: torch.Tensor) -> bool:
    extent = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))
    return x.numel() > 0 and (
        torch.arange(extent).as_strided(x.shape, x.stride()).unique().numel() < x.numel()
    )


# Of means of whole images, where a dimension has size 1.
@documented("**Memory order**")
def _(c: Case) -> bool:
    pools = re.search(r"adaptive_avg_pool2d\(|AdaptiveAvgPool2d\(", c.called) is not None
    if c.aspect != "strides" or not pools:
        return False
    both = zip(c.theirs.shape, *(numbers_of(s) for s in (c.difference.ours, c.difference.theirs)))
    return all(n == 1 or ours == theirs for n, ours, theirs in both)
