"""What is known of derivatives that are constants in one of the libraries."""

from __future__ import annotations

import math
import re

import torch
from torch.autograd.graph import Node

from .case import (
    SECOND_TIME,
    UNUSED,
    Case,
    documented,
    graph_of,
    has_node,
    is_derivative,
    is_named,
    share_memory,
)
from .elements import only_theirs_is_nan


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    less = c.aspect == "requires_grad" and c.difference.ours == "False" and is_derivative(c)
    return less and any(has_node(x, "PreluKernel") for x in c.used)


# The zeros, which an infinite slope behind them makes NaN.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    return only_theirs_is_nan(c) and is_derivative(c) and any(map(has_low_power, c.used))


def is_of_zeros(described: str) -> bool:
    return re.search("[1-9]", re.sub(r"\S+ ", "", described, count=1)) is None


def has_low_power(x: object) -> bool:
    """Whether its graph in PyTorch has a power of 0, such as the second derivative of a square is made of."""
    powers = (
        [n for n in graph_of(x) if n.name() == "PowBackward0"]
        if isinstance(x, torch.Tensor)
        else []
    )
    return any(n._saved_exponent <= 0 for n in powers)


# Nor does that of a convolution of volumes lead to the input, of which it is the derivative.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    lost = [n for n, _ in c.forgotten]
    asked = c.asked or set()
    ours = any(asked & before_volumes(n) for n in lost)
    return len(lost) > 0 and len(asked) > 0 and not ours and c.only_theirs_raises(SECOND_TIME)


def before_volumes(node: Node) -> set[Node]:
    """The graph behind a node, but not from derivatives of convolutions of volumes on to their inputs."""
    found, waiting = set(), [node]
    while waiting:
        n = waiting.pop()
        found.add(n)
        own = n.name() == "ConvolutionBackwardBackward0" and len(n._input_metadata[0].shape) == 5
        edges = [
            m for i, (m, _) in enumerate(n.next_functions) if m is not None and not (own and i == 1)
        ]
        waiting += [m for m in edges if m not in found]
    return found


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    about_graph = c.aspect in ("requires_grad", "is_leaf", "grad_fn")
    about_graph = about_graph or c.only_ours_raises(f"{UNUSED}|not require grad")
    zeros = isinstance(c.theirs, torch.Tensor) and not c.theirs.any()
    lost = c.difference.theirs == "None" and is_of_zeros(c.difference.ours)
    lost = lost or (c.difference.ours == "None" and zeros)
    about_graph = about_graph or (c.aspect == "type" and lost)
    fewer = c.aspect == "length" and int(c.difference.ours) < int(c.difference.theirs)  # by a hook
    about_graph = about_graph or fewer
    about = [*c.used, c.theirs]
    return about_graph and is_derivative(c) and any(map(has_low_power, about))


# What PyTorch went back through to zeros has forgotten what it kept.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    went = re.findall(r".*\b(?:grad|backward)\(.*", c.history)[:-1]
    zeros = [x for x in c.named("\n".join(went)) if has_low_power(x) or may_lack_factors(c, x)]
    nodes = {n for x in zeros for n in graph_of(x)}
    again = len(c.forgotten) > 0 and all(n in nodes for n, _ in c.forgotten)
    return again and c.only_theirs_raises(SECOND_TIME)


def may_lack_factors(c: Case, x: torch.Tensor) -> bool:
    """Whether so many derivatives have been made of a product in its graph that none of the factors is left."""
    orders = c.history.count("create_graph=True")
    products = (n for n in graph_of(x) if is_named(n, ("Prod",)))
    shapes = ([m._input_metadata[0].shape for m in (n, n.next_functions[0][0])] for n in products)
    return any(math.prod(of) <= orders * math.prod(made) for made, of in shapes)


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    about_graph = c.aspect in ("requires_grad", "is_leaf", "grad_fn")
    less = about_graph and c.difference.ours == "False" and is_derivative(c)
    pieces = (
        "Relu",
        "RreluWithNoise",
        "LeakyRelu",
        "Threshold",
        "Hardtanh",
        "Hardshrink",
        "Softshrink",
    )
    return less and any(has_node(x, pieces) for x in c.used)


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    product = any(has_node(x, "Prod") for x in c.used)
    return product and c.aspect == "requires_grad" and is_derivative(c)


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    linear = c.derives("Convolution", "NativeBatchNorm", "NativeGroupNorm")
    zeros = is_of_zeros(c.difference.ours)
    none = c.aspect == "type" and c.difference.theirs == "None"
    outside = (
        c.aspect == "requires_grad" and c.difference.ours == "True" and c.derives("Convolution")
    )
    return linear and ((zeros and none) or outside or c.only_theirs_raises(UNUSED))


# Zeros of whole numbers and signs in place, of a view: what PyTorch writes them into is a part of the graph.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    whole = r"\b(div|divide)_\(.*rounding_mode=|//=|floor_divide_|\b(ceil|fix|floor|round|sgn|sign|trunc)_\("
    zeros = isinstance(c.theirs, torch.Tensor) and not c.theirs.any()
    less = c.aspect == "requires_grad" and c.difference.ours == "False"
    return (
        bool(re.search(whole, c.history))
        and zeros
        and less
        and c.derives("torch::autograd::CopySlices")
    )


# By the bias, where what was convolved came to require grad afterwards.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    less = c.aspect == "requires_grad" and c.difference.ours == "False" and c.theirs.dim() == 1
    operands = re.findall(r"conv\w*\((.*)\)", c.history)
    later = any(x is y for x in c.flagged for y in c.named(" ".join(operands)))
    return less and later and is_derivative(c) and c.derives("Convolution")


# The nearest elements.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    none = c.aspect == "type" and c.difference.theirs == "None"
    none = none or c.only_theirs_raises(f"{UNUSED}|does not require grad")
    none = none or (c.aspect == "requires_grad" and c.difference.ours == "True")
    return none and (c.passes("scaled_dot_product_attention") or c.derives("GridSampler"))


# What was added are zeros, to a gradient that was there.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    calls = r"(?:grid_sample|conv\w*)\((x\d+, x\d+)"
    operands = c.named(" ".join(re.findall(calls, c.history)))
    again = c.aspect == "version" and "create_graph=True" in c.history
    return again and any(x.grad is not None and share_memory(c.theirs, x.grad) for x in operands)


# A GPU composes the attention of float64.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    less = c.aspect == "requires_grad" and c.difference.ours == "False" and c.device != "cpu"
    return less and c.derives("ScaledDotProductFlashAttentionForCpu")


# By the weight of a constant that is normalised.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    more = c.aspect == "requires_grad" and c.difference.ours == "True"
    return more and (c.passes("rms_norm") or c.passes_layer("RMSNorm"))


# How many elements differ.
@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    less = c.aspect == "requires_grad" and c.difference.ours == "False" and is_derivative(c)
    counts = re.search(r"[cp]dist\(.*, (p=)?(0|0\.0|False)\b", c.history) is not None
    return less and counts and any(has_node(x, ("Pdist", "Cdist")) for x in c.used)


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    more = c.aspect == "requires_grad" and c.difference.ours == "True" and is_derivative(c)
    norms = ("NativeBatchNorm", "NativeGroupNorm")
    return more and c.theirs.dim() == 1 and any(has_node(x, norms) for x in c.used)
