"""What is known of calls that have nothing to compute."""

from __future__ import annotations

import re

import torch

from .case import SECOND_TIME, Case, documented, graph_of, is_derivative, keeps
from .elements import all_that_differ

# A call in place.
WRITES = r"(?<!requires_grad)(?<=\w)_\(|inplace=True"


def is_of_nothing(c: Case, calls: str) -> bool:
    """Whether the statement is one of these calls, and names a tensor of no elements."""
    called = re.search(rf"\b(?:{calls})\(", c.called) is not None
    return called and any(x.numel() == 0 for x in c.used)


# The gradient there is a tensor that others see, such as the input.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = c.aspect in ("version", "is_leaf") and c.theirs.numel() == 0
    return none and is_derivative(c) and re.search(r"\bcum(min|max)\(", c.history) is not None


# An input without channels.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    convolves = re.search(r"[cC]onv(\d)d\(", c.called)
    if c.aspect != "shape" or convolves is None:
        return False
    ours, theirs = (
        [int(n) for n in re.findall(r"\d+", text)]
        for text in (c.difference.ours, c.difference.theirs)
    )
    channels = -1 - int(convolves[1])
    ours[channels] = 0
    return ours == theirs and any(
        x.shape[channels:][:1] == (0,) for x in c.used if x is not c.theirs
    )


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"adaptive_\w+_pool\dd_backward\(\): Expected .* being empty")


# What is transposed to nothing.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    refused = c.only_ours_raises(
        r"conv_transpose\dd: Given input size per channel: .*Output size is too small"
    )
    made = c.named(c.statement.partition(" = ")[0])
    transposes = re.search(r"conv_transpose\dd\(|ConvTranspose\dd\(", c.called) is not None
    return refused and transposes and any(x.numel() == 0 for x in made)


def leads_through_nothing(c: Case, x: torch.Tensor) -> bool:
    """Whether its graph has a result of no elements, or one that PyTorch does not show, since it was written to."""
    nodes = graph_of(x)
    sizes = (m.shape for n in nodes for m in getattr(n, "_input_metadata", ()))
    hidden = any("CopySlices" in n.name() for n in nodes)
    return any(0 in s for s in sizes) or (
        hidden and any(writes_nothing(c, s) for s in c.history.split("\n"))
    )


def writes_nothing(c: Case, statement: str) -> bool:
    """Whether it writes a tensor or a part of it, and one of those that it names has no elements."""
    part = re.match(r" *x\d+(\[.*\]) \S{0,2}= | *x\d+ \S{1,2}= ", statement)
    writes = part is not None or re.search(WRITES, statement) is not None
    nothing = any(x.numel() == 0 for x in c.named(statement))
    no_index = part is not None and re.search(r"0:0|\[False\]", part[1] or "") is not None
    return writes and (nothing or no_index)


# Through what was written: of no elements.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = any(leads_through_nothing(c, x) for x in c.derived)
    zeros = not re.search("[1-9]", re.sub(r"\S+ ", "", c.difference.ours, count=1))
    less = c.aspect == "requires_grad"
    less = less or (c.aspect == "type" and c.difference.theirs == "None" and zeros)
    return none and less and is_derivative(c)


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    refused = c.only_ours_raises("^IndexError: (synchronize: )?index_add_?: index .* out of bounds")
    hidden = c.difference.ours.endswith("with size 0")  # a view at which nobody may look
    return refused and (hidden or is_of_nothing(c, "index_add_?"))


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.aspect == "shape" and is_of_nothing(c, "addmv") and 0 not in c.theirs.shape


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    refused = r"batch_norm: expected at least 2D input|conv\dd: expected scalar type|fractional_\w+: .*\[1, 0,"
    calls = r"batch_norm|conv\dd|fractional_max_pool\dd"
    return c.only_ours_raises(refused) and is_of_nothing(c, calls)


# What is looked at of a transposed convolution, though there is nothing to compute.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    sentences = (
        "output padding must be smaller than either stride|expected scalar type .* but found"
    )
    return c.only_ours_raises(sentences) and is_of_nothing(c, r"conv_transpose\dd")


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    refused = c.only_ours_raises("\"histogramdd\" not implemented for '(Half|BFloat16)'")
    return refused and is_of_nothing(c, "histogram")


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"select\(\): index .* out of range for tensor of size \[.*\b0\b")


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = any(x.numel() == 0 for x in c.used)
    return none and c.only_ours_raises("^RuntimeError: bilinear: .*weight must be 3-dimensional")


# PyTorch writes the statistics nevertheless.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = is_of_nothing(c, r"instance_norm|InstanceNorm\dd")
    sentence = "leaf Variable that requires grad|doesn't match the broadcast shape"
    return none and c.only_theirs_raises(f"{sentence}|shape '.*' is invalid for input of size")


# Parameters that take no part in anything: PyTorch divides 0 by 0.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    norms = [n for x in c.derived for n in graph_of(x) if n.name() == "NativeGroupNormBackward0"]
    of_nothing = any(0 in n._input_metadata[0].shape for n in norms)
    return of_nothing and all_that_differ(c, lambda ours, theirs: (ours == 0) & theirs.isnan())


# Of matrices without elements PyTorch's is outside the graph.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    more = c.aspect == "requires_grad" and c.difference.ours == "True" and is_derivative(c)
    nodes = {n for x in c.derived for n in graph_of(x) if n.name() == "LinalgDetBackward0"}
    return more and any(keeps(n, lambda x: x.numel() == 0) for n in nodes)


# What is asked for is not behind it in PyTorch.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = len(c.derived) > 0 and all(x.numel() == 0 for x in c.derived)
    behind = {n for x in c.derived for n in graph_of(x)}
    apart = c.asked is not None and behind.isdisjoint(c.asked)
    return none and apart and c.only_ours_raises(SECOND_TIME)


# Of nothing, nothing is kept: what PyTorch has forgotten is hidden behind a write.
@documented("**What an op keeps**")
def _(c: Case) -> bool:
    none = len(c.derived) > 0 and all(x.numel() == 0 for x in c.derived)
    hidden = c.derives("torch::autograd::CopySlices")
    return none and hidden and c.only_theirs_raises(SECOND_TIME)


# PyTorch gives its input back.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    shuffles = "pixel_(?:un)?shuffle|channel_shuffle|Pixel(?:Unshuffle|Shuffle)|ChannelShuffle"
    backward = c.only_theirs_raises(
        r"Function (Pixel|Channel)\w+ returned an invalid gradient|channels in must be positive.*:0$"
    )
    if c.aspect != "shape" or not is_of_nothing(c, shuffles):
        return backward
    return any(x is not c.theirs and x.shape == c.theirs.shape for x in c.used)


# They are what was in the memory.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    statistics = c.aspect == "values" and "running_" in c.difference.place
    return statistics and is_of_nothing(c, r"InstanceNorm\dd")


# Of a dimension that is not there.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    undone = re.search(r"\bdiff\((?:.*\bn=|x\d+, )?0\b(?!\.)", c.statement) is not None
    undone = undone or is_of_nothing(c, "cummin|cummax")
    return undone and c.only_ours_raises(
        "^IndexError: (diff|cummin|cummax): Dimension out of range"
    )


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    of_nothing = is_of_nothing(c, "inner")
    taken = of_nothing and c.only_theirs_raises("\"dot\" not implemented for 'Bool'")
    bools = [x for x in c.used if x.dtype is torch.bool]
    apart = is_of_nothing(c, "inner|tensordot") or any(not x.is_contiguous() for x in bools)
    called = len(bools) > 0 and re.search(r"\b(inner|tensordot)\(", c.statement) is not None
    refused = c.only_ours_raises("(inner|tensordot): .* not implemented for 'Bool'")
    return taken or (refused and called and apart)


# The mean of no losses, and targets that nobody reads.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = "margin_loss(" in c.statement and any(x.numel() == 0 for x in c.used)
    refused = c.only_ours_raises("margin_loss: (expected scalar type Long|.* not implemented for)")
    return none and (c.aspect == "values" or refused)


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    """Lines without classes: PyTorch's images of them have no width."""
    return c.only_theirs_raises(r"^RuntimeError: size mismatch \(got input: \[\d+, 0, 0, 0\]")


# PyTorch divides by how many elements there are.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    steps = re.search(r"\b(o\d+)\.step\(", c.statement)
    made = steps and re.search(rf"^ *{steps[1]} = .*\bAdafactor\(", c.history, re.M)
    return bool(made) and c.only_theirs_raises("ZeroDivisionError: float division by zero")
