"""What is known of memory: the order in which elements lie in it, and of several that share one place."""

from __future__ import annotations

import re

import torch

from .case import Case, documented, share_memory
from .elements import numbers_of
from .exact import result_of
from .tensors import strides


# The strides of a copy, as numbers.
@documented("**`torch.vmap`**")
def _(c: Case) -> bool:
    of = c.named(" ".join(re.findall(r"= (x\d+)\.stride\(", c.statement)))
    mapped = c.named(" ".join(re.findall(r"^ *(x\d+) = t\.vmap\(", c.history, re.M)))
    return c.aspect == "values" and any(x is y for x in of for y in mapped)


@documented("**Memory order**")
def _(c: Case) -> bool:
    return (
        c.aspect == "strides"
        and re.search(r"nonzero|argwhere|logsigmoid|LogSigmoid|rrelu|RReLU", c.called) is not None
    )


@documented("**Memory order**")
def _(c: Case) -> bool:
    calls = r"rsub\(|reduction='none'|\b(ldexp|nextafter)\("
    return c.aspect == "strides" and re.search(calls, c.statement) is not None and is_of_another(c)


# Of images whose channels lie last.
@documented("**Memory order**")
def _(c: Case) -> bool:
    images = "stack(" in c.statement and any(x.dim() == 4 for x in c.used)
    return c.aspect == "strides" and images and is_of_another(c)


def is_of_another(c: Case) -> bool:
    """Whether it is made of what does not lie row-major, be it by strides of dimensions of size 1."""
    return any(x is not c.theirs and x.stride() != torch.empty(x.shape).stride() for x in c.used)


@documented("**Memory order**")
def _(c: Case) -> bool:
    nothing = ".stride()" in c.statement and any(x.numel() == 0 for x in c.used)
    return c.aspect == "values" and nothing


@documented("**Memory order**")
def _(c: Case) -> bool:
    made = "nonzero|argwhere" + ("" if c.device == "cpu" else "|scaled_dot_product_attention")
    found = c.named(" ".join(re.findall(rf"(x\d+) = .*(?:{made})\(", c.history)))
    found_of = c.aspect == "values" and any(x is y for x in c.used for y in found)
    return ".stride()" in c.statement and found_of


# What was made of it, which has its strides where they are no matter of the order.
@documented("**Memory order**")
def _(c: Case) -> bool:
    if ".stride()" not in c.statement or c.aspect != "values":
        return False
    row_major = re.sub(r"\bt\.(argwhere|nonzero)\(", r"\1(", c.history)
    row_major = re.sub(r"\b(x\d+)\.(argwhere|nonzero)\(", r"\2(\1, ", row_major)
    theirs = result_of(row_major, c.difference.place, argwhere=argwhere, nonzero=nonzero)
    return row_major != c.history and c.difference.ours == str(theirs)


def argwhere(x: torch.Tensor) -> torch.Tensor:
    return torch.argwhere(x).clone(memory_format=torch.contiguous_format)


def nonzero(x: torch.Tensor, as_tuple: bool = False):
    return argwhere(x).unbind(1) if as_tuple else argwhere(x)


@documented("**Memory order**")
def _(c: Case) -> bool:
    steps = c.aspect == "values" and ".stride()" in c.statement
    return steps and c.uses_returned_gradient


# Where one of its dimensions has size 1, it may not be seen that channels lie last.
@documented("**Memory order**")
def _(c: Case) -> bool:
    images = [x for x in c.used if x.dim() == 4 and 1 in x.shape]
    returned = any(share_memory(x, g) for x in images for g in c.returned)
    return c.aspect == "strides" and returned


# What a product has, what an index of tensors chooses, or what takes several steps here or there.
SIZE_1 = (
    r"matmul\(|@|solve_triangular\(|\bconv1d\(|x\d+\[[^\]]*(?:x\d+|\[)|\b(?:angle|bernoulli|deg2rad|entr"
    r"|hardtanh|isclose|isfinite|isin|isinf|isneginf|isposinf|log_ndtr|normal|pow|rad2deg|relu6)\("
)


@documented("**Memory order**")
def _(c: Case) -> bool:
    if ".stride()" not in c.statement or not re.search(SIZE_1, c.history):
        return False
    if c.aspect != "values":
        return False
    steps = re.findall(r"\bn\d+", c.statement)  # one for each dimension
    if c.difference.place not in steps:
        return False
    d = steps.index(c.difference.place)
    return any(x.dim() == len(steps) and x.shape[d] == 1 for x in c.used)


# Of convolutions in groups.
@documented("**Memory order**")
def _(c: Case) -> bool:
    grouped = re.search(r"conv\dd\(.*groups=[2-9]", c.called) is not None
    return c.aspect == "strides" and grouped and is_of_another(c)


# Where factors have dimensions of size 1, which are left away before they are multiplied; a product has such, too.
@documented("**Memory order**")
def _(c: Case) -> bool:
    factors = [x for x in c.used if x is not c.theirs]
    ones = len(factors) > 2 or any(1 in x.shape for x in factors)
    return c.aspect == "strides" and "einsum(" in c.statement and ones


# Of what an index of tensors gives, too.
@documented("**Memory order**")
def _(c: Case) -> bool:
    chosen = re.search(r"^\w+ = x\d+\[.*(?:x\d|\[|True|False).*\]$", c.statement) is not None
    return c.aspect == "strides" and chosen


# Of convolutions, maxima, norms and interpolations of volumes, and what joins, pads or moves them: ours is row-major.
@documented("**Memory order**")
def _(c: Case) -> bool:
    calls = r"(conv(_transpose)?|Conv(Transpose)?|max_pool|MaxPool|BatchNorm)3d(_with_indices)?\("
    moves = r"cat|concat|concatenate|[hvd]stack|pad|\w+Pad3d|roll|group_norm|GroupNorm|channel_shuffle|ChannelShuffle"
    names = rf"{calls}|\b(batch_norm|interpolate|Upsample|{moves})\("
    volumes = re.search(names, c.called) is not None
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


def is_written(c: Case, name: str) -> bool:
    """Whether a statement writes what has that name: an assignment or a call in place."""
    target = rf"^ *{name}(?:\[.*\] \S{{0,2}}= | \S{{1,2}}= )"
    in_place = rf"\b{name}\.(?!requires_grad_)\w+_\(|_\({name}\b|\({name}\b.*inplace=True"
    return re.search(f"{target}|{in_place}", c.history, re.M) is not None


def windows(c: Case) -> list[str]:
    """Names of tensors in which an element has several places, and of what is a view of them."""
    found = re.findall(r"^ *(x\d+) = .*(?:as_strided|\bunfold)\(", c.history, re.M)
    # Whether it has, nobody may ask PyTorch of one that was made under no_grad and then written.
    found = [n for n in found if n not in c.tensors or repeats(c.tensors[n])]
    for made, of in re.findall(r"^ *(x\d+) = (.*)", c.history, re.M):
        if any(is_view_of(c, made, n) for n in re.findall(r"\bx\d+", of) if n in found):
            found.append(made)
    return found


def is_view_of(c: Case, made: str, of: str) -> bool:
    both = made in c.tensors and of in c.tensors
    return both and share_memory(c.tensors[made], c.tensors[of])


# Memory of which an element has several places in a tensor.
@documented("**Expanded memory**")
def _(c: Case) -> bool:
    overlaps = re.search(r"as_strided|\bunfold\(", c.history) is not None
    counted = any(x._version and repeats(x) for x in c.used)
    named = set(re.findall(r"\bx\d+", c.statement)).intersection(windows(c))
    return c.aspect == "values" and overlaps and (counted or any(is_written(c, n) for n in named))


# Windows of it were written, each element once for each of them, and the gradient goes back through that.
@documented("**Expanded memory**")
def _(c: Case) -> bool:
    through = c.aspect == "values" and c.derives("torch::autograd::CopySlices")
    return through and any(is_written(c, n) for n in windows(c))
