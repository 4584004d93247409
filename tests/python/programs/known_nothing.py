"""What is known of calls that have nothing to compute."""

from __future__ import annotations

import re

import torch

from .case import Case, documented, graph_of, is_derivative


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_ours_raises("Expected input with at least one class")


# The gradient there is a tensor that others see, such as the input.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = c.aspect in ("version", "is_leaf") and c.theirs.numel() == 0
    return none and is_derivative(c) and re.search(r"\bcum(min|max)\(", c.history) is not None


# An input without channels.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    convolves = c.aspect == "shape" and re.search(r"[cC]onv\dd\(", c.called) is not None
    return convolves and "0" in re.findall(r"\d+", c.difference.theirs)


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"adaptive_\w+_pool\dd_backward\(\): Expected .* being empty")


# What is transposed to nothing.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_ours_raises(
        r"conv_transpose\dd: Given input size per channel: .*Output size is too small"
    )


def leads_through_nothing(x: torch.Tensor) -> bool:
    """Whether its graph has a result of no elements, or a write of which PyTorch does not show what was written."""
    nodes = graph_of(x)
    sizes = (m.shape for n in nodes for m in getattr(n, "_input_metadata", ()))
    return any(0 in s for s in sizes) or any("CopySlices" in n.name() for n in nodes)


# Through what was written: of no elements.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = any(x.numel() == 0 for x in c.tensors.values())
    none = none or re.search(r"\[.*(0:0|\[False\]).*\] \S?= ", c.history) is not None
    none = none and any(map(leads_through_nothing, c.derived))
    zeros = not re.search("[1-9]", re.sub(r"\S+ ", "", c.difference.ours, count=1))
    less = c.aspect == "requires_grad"
    less = less or (c.aspect == "type" and c.difference.theirs == "None" and zeros)
    return none and less and is_derivative(c)


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_ours_raises(
        "^IndexError: (synchronize: )?(index_add_?|nll_loss): index .* is out of bounds"
    )


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
    none = "instance_norm(" in c.statement and any(x.numel() == 0 for x in c.used)
    sentence = "leaf Variable that requires grad|doesn't match the broadcast shape"
    return none and c.only_theirs_raises(sentence)


# Of a dimension that is not there.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    differences = "n=0" in c.statement and c.only_ours_raises("^IndexError: diff: Dimension out")
    return differences or c.only_ours_raises("^IndexError: cum(min|max): Dimension out of range")


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    of_nothing = "inner(" in c.statement and any(x.numel() == 0 for x in c.used)
    taken = of_nothing and c.only_theirs_raises("\"dot\" not implemented for 'Bool'")
    return taken or c.only_ours_raises("(inner|tensordot): .* not implemented for 'Bool'")


# The mean of no losses, and targets that nobody reads.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = "margin_loss(" in c.statement and any(x.numel() == 0 for x in c.used)
    refused = c.only_ours_raises("margin_loss: (expected scalar type Long|.* not implemented for)")
    return none and (c.aspect == "values" or refused)
