"""What is known of layers that normalise."""

from __future__ import annotations

import math
import re
from unittest import mock

import torch
from torch.autograd.graph import Node

from .case import CHANGED, Case, documented, graph_of, names_changed
from .elements import all_that_differ
from .exact import is_result_of, may_be_rounding
from .known_saved import KEEPS, reported
from .tensors import largest


# What is left of gradients that cancel: those of two elements do but for what eps makes of them, and those of squares.
@documented("**Rounding**")
def _(c: Case) -> bool:
    pairs = any(normalises_pairs(n) for x in c.derived for n in graph_of(x))
    again = "create_graph=True" in c.history and c.derives("NativeGroupNorm", "NativeLayerNorm")
    return c.aspect == "values" and (pairs or again) and may_be_rounding(c)


def normalises_pairs(node: Node) -> bool:
    if node.name() == "NativeLayerNormBackward0":
        return math.prod(node._saved_normalized_shape) == 2
    if node.name() != "NativeBatchNormBackward0":
        return False
    batch, _, *positions = node._input_metadata[0].shape
    return math.prod([batch, *positions]) == 2


# The running variance of large equal elements: PyTorch squares what rounding leaves of their distance from the mean.
@documented("**Rounding**")
def _(c: Case) -> bool:
    instances = re.search(r"\binstance_norm\(", c.statement) is not None
    if c.aspect != "values" or not (instances or c.difference.place.endswith("running_var")):
        return False
    left = torch.finfo(c.theirs.dtype).eps * max(largest(x) for x in c.used if x is not c.theirs)
    return all_that_differ(
        c, lambda ours, theirs: (ours.abs() <= 1) & (theirs.abs() <= 100 * left**2)
    )


# In evaluation PyTorch multiplies the mean by the weight, too.
@documented("**`batch_norm`** of infinities")
def _(c: Case) -> bool:
    weights = [x for x in c.used if x.dim() == 1 and not x.isfinite().all()]
    normalises = re.search(r"\bbatch_norm\(|BatchNorm", c.called) is not None
    return normalises and len(weights) > 0 and all_that_differ(c, lambda _, theirs: theirs.isnan())


@documented("**`batch_norm`** of infinities")
def _(c: Case) -> bool:
    running = c.aspect == "values" and "running_" in c.difference.place
    return running and "nan" in c.difference.ours and "inf" in c.difference.theirs


# A row-major copy is kept of what lies in another order.
@documented(KEEPS)
def _(c: Case) -> bool:
    layers = re.findall(r"^ *(m\d+) = .*\bRMSNorm\(", c.history, re.M)
    calls = "|".join([*layers, "rms_norm"])
    given = c.named("\n".join(re.findall(rf".*\b(?:{calls})\(.*", c.history)))
    apart = [x for x in given if x._version and not x.is_contiguous()]
    written = any(names_changed(c.difference.theirs, x) for x in apart)
    steps = {n.name() for n, _ in reported(c)}
    known = steps and steps <= {"PowBackward0", "MulBackward0"}
    return bool(known) and written and c.only_theirs_raises(CHANGED)


# PyTorch normalises a row-major copy, and keeps that.
@documented(KEEPS)
def _(c: Case) -> bool:
    apart = [x for x in c.tensors.values() if x._version and not x.is_contiguous()]
    written = any(names_changed(c.difference.ours, x) for x in apart)
    return written and c.only_ours_raises(CHANGED) and c.derives("NativeGroupNorm")


# Its third derivative: ours is that of what it is made of.
@documented("**Third derivatives** of `batch_norm`")
def _(c: Case) -> bool:
    twice = c.derives("NativeLayerNorm", "NativeBatchNorm")
    twice = twice and c.history.count("create_graph=True") > 1
    if c.aspect != "values" or not (twice or c.derives("NativeBatchNormBackwardBackward")):
        return False
    with (
        mock.patch.object(torch.nn.functional, "batch_norm", batch_norm_by_steps),
        mock.patch.object(torch.nn.functional, "instance_norm", instance_norm_by_steps),
        mock.patch.object(torch.nn.functional, "layer_norm", layer_norm_by_steps),
        mock.patch.object(torch, "layer_norm", layer_norm_by_steps),
    ):
        return is_result_of(c, c.history + "\npass")


# Its backward in evaluation reads what its statistics have become.
@documented("`batch_norm` counts its running statistics as changed")
def _(c: Case) -> bool:
    if c.aspect != "values" or not c.derives("NativeBatchNorm"):
        return False
    with mock.patch.object(torch.nn.functional, "batch_norm", batch_norm_by_copies):
        return is_result_of(c, c.history + "\npass")


def batch_norm_by_copies(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    statistics = [running_mean, running_var]
    if not training:
        statistics = [x.clone() for x in statistics]
    return torch.batch_norm(input, weight, bias, *statistics, training, momentum, eps, False)


def batch_norm_by_steps(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    if not training:
        return torch.batch_norm(
            input, weight, bias, running_mean, running_var, False, momentum, eps, False
        )
    dims = [0, *range(2, input.dim())]
    y = by_steps(input, dims, weight, bias, eps)
    torch.batch_norm(
        input.detach(), None, None, running_mean, running_var, True, momentum, eps, False
    )
    return y


def instance_norm_by_steps(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    if not use_input_stats:
        return torch.instance_norm(
            input, weight, bias, running_mean, running_var, False, momentum, eps, False
        )
    return by_steps(input, list(range(2, input.dim())), weight, bias, eps)


def layer_norm_by_steps(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    y = by_steps(input, list(range(-len(normalized_shape), 0)), None, None, eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def by_steps(input, dims: list[int], weight, bias, eps: float) -> torch.Tensor:
    centered = input - input.mean(dims, keepdim=True)
    y = centered / (centered.square().mean(dims, keepdim=True) + eps).sqrt()
    sizes = [1, -1] + [1] * (input.dim() - 2)
    y = y if weight is None else y * weight.reshape(sizes)
    return y if bias is None else y + bias.reshape(sizes)
