"""What is known of that which ops keep for their gradients here, and not in PyTorch."""

from __future__ import annotations

import dataclasses
import re

import torch
from torch.autograd.graph import Node

from .case import (
    CHANGED,
    SECOND_TIME,
    Case,
    documented,
    graph_behind,
    graph_of,
    is_derivative,
    names_changed,
    share_memory,
)
from .exact import converted, is_result_of
from .kept import KEPT_BY_PYTORCH_ALONE
from .known_memory import is_written
from .known_saved import KEEPS, earlier_derivatives, is_kept_by_pytorch_alone, reported


# A result in place that is computed apart, or that PyTorch alone keeps, into a view, whose node PyTorch hides behind
# that of its base.
@documented(KEEPS)
def _(c: Case) -> bool:
    apart, theirs = "cumprod|index_reduce|scatter_reduce", "copysign|ldexp|pow|sgn"
    calls = rf"\b(x\d+)\.(?:{apart}|{theirs})_\(|\b(?:elu|leaky_relu)_\((x\d+)"
    written = c.named(str(re.findall(calls, c.history)))
    changed = any(names_changed(c.difference.theirs, x) for x in written)
    first = "; expected version 0" in c.difference.theirs  # that is an operand of before
    hidden = c.derives("torch::autograd::CopySlices")
    return changed and not first and hidden and c.only_theirs_raises(CHANGED)


# The index of what was written into a view, whose node is hidden likewise.
@documented(KEEPS)
def _(c: Case) -> bool:
    writes = re.findall(r".*(?:\] = |\bindex_put_\().*", c.history)
    indices = [x for x in c.named(str(writes)) if x._version and not x.is_floating_point()]
    changed = any(names_changed(c.difference.theirs, x) for x in indices)
    hidden = c.derives("torch::autograd::CopySlices")
    return changed and hidden and c.only_theirs_raises(CHANGED)


# What was detached in place and is kept here alone, for a gradient with a graph.
@documented(KEEPS)
def _(c: Case) -> bool:
    return ".detach_()" in c.history and c.only_ours_raises("has been detached in-place")


# A vector of addr that came to require grad later: ours is a view of it.
@documented(KEEPS)
def _(c: Case) -> bool:
    less = (c.aspect, c.difference.ours) in (("requires_grad", "False"), ("type", "None"))
    given = c.named("\n".join(re.findall(r".*\baddr_?\(.*", c.history)))
    return less and any(x is y for x in c.flagged for y in given)


# What these keep and PyTorch's do not: operands, and the result of attention.
KEEP_MORE = r"scaled_dot_product_attention\(|cross_entropy\(|CrossEntropyLoss\(|matmul\(|@"


@documented(KEEPS)
def _(c: Case) -> bool:
    if not c.only_ours_raises(CHANGED):
        return False
    calls = [s for s in c.history.split("\n") if re.search(KEEP_MORE, s)]
    operands = c.named("\n".join(calls))
    turned = [x.mT for x in operands if x.dim() > 1]
    turned += [x.unsqueeze(0) for x in operands if x.dim() == 1]  # the logits of one row
    kept = [x for x in operands + turned if names_changed(c.difference.ours, x)]
    # Of images cross_entropy keeps the matrix of their positions.
    kept += [x for x in operands if x._version and x.dim() > 2 and c.derives("LogSoftmax")]
    # Attention on a GPU keeps its operands themselves, in float64 in another shape, as the
    # derivative with a graph does; a CPU's of PyTorch may keep scaled ones.
    attention = c.named("\n".join(s for s in calls if "scaled_dot_product_attention(" in s))
    reshaped = c.device != "cpu" or "create_graph=True" in c.history
    kept += [x for x in attention if x._version and reshaped]
    forgotten = set(re.findall(r"\bx\d+", "\n".join(calls))) - c.tensors.keys()
    products = c.derives("LogSoftmax", "Mm", "Bmm", "Mv")
    return products and (len(kept) > 0 or len(forgotten) > 0)


# Targets of positions in another order: PyTorch keeps a copy.
@documented(KEEPS)
def _(c: Case) -> bool:
    if not c.only_ours_raises(CHANGED):
        return False
    calls = [s for s in c.history.split("\n") if re.search(r"nll_loss\(|NLLLoss\(", s)]
    copied = [x for x in c.named("\n".join(calls)) if x.dim() > 1 and not x.is_contiguous()]
    return any(x._version and names_changed(c.difference.ours, x) for x in copied)


# Steps of these are written in another way: a factor that was written stands in one of ours alone, or of PyTorch's.
@documented(KEEPS)
def _(c: Case) -> bool:
    made = re.search(r"\b(atan2|addcdiv)_?\(", c.history) is not None
    second = made and "create_graph=True" in c.history
    steps = {(n.name(), what) for n, what in reported(c)}
    theirs = c.only_theirs_raises(CHANGED) and steps == {("DivBackward0", "other")}
    return second and (theirs or c.only_ours_raises(CHANGED))


# What arrives at the derivative of atanh PyTorch multiplies by 1 first.
@documented(KEEPS)
def _(c: Case) -> bool:
    made = re.search(r"\b(arc|a)tanh_?\(", c.history) is not None
    derivatives = re.findall(r".*\bgrad\(.*create_graph=True.*", c.history)
    arrived = [x for x in c.named("\n".join(derivatives)) if x._version]
    written = any(names_changed(c.difference.ours, x) for x in arrived)
    return made and written and c.only_ours_raises(CHANGED)


# An operand of attention, or a cell's weight, that came to require grad later: PyTorch keeps views of it, which do not.
@documented(KEEPS)
def _(c: Case) -> bool:
    more = c.aspect == "type" and c.difference.theirs == "None" and is_derivative(c)
    calls = r"(?:scaled_dot_product_attention|(?:gru|lstm|rnn_relu|rnn_tanh)_cell)\((.*)\)"
    operands = re.findall(calls, c.history)
    of = c.tensors.get(c.difference.place.removesuffix(".grad"))
    return more and any(x is of for x in c.flagged) and any(x is of for x in c.named(str(operands)))


# With a graph these are computed once more, from their inputs, and need nothing of the nodes that made their results.
@documented(KEEPS)
def _(c: Case) -> bool:
    layers = re.findall(r"^ *(m\d+) = t\.nn\.(?:LSTM|GRU|RNN|RMSNorm)\(", c.history, re.M)
    inner = nodes_within(
        c,
        "|".join(
            [
                *layers,
                "lstm",
                "gru",
                "rnn_tanh",
                "rnn_relu",
                "linear_cross_entropy",
                "rms_norm",
                "scaled_dot_product_attention",
            ]
        ),
    )
    again = len(c.forgotten) > 0 and "create_graph=True" in c.history
    known = all(n in inner or is_kept_by_pytorch_alone(c, n, what) for n, what in c.forgotten)
    return again and known and c.only_theirs_raises(SECOND_TIME)


def nodes_within(c: Case, functions: str) -> set[Node]:
    """What lies between the results and the operands of calls of these functions."""
    nodes: set[Node] = set()
    for made, of in re.findall(rf"^(.*?) = (.*\b(?:{functions})\(.*)", c.history, re.M):
        before = {n for x in c.named(of) for n in graph_of(x)}
        nodes |= {n for x in c.named(made) for n in graph_of(x)} - before
    return nodes


# With a graph these are computed once more, from their inputs.
@documented("**Recurrent networks**")
def _(c: Case) -> bool:
    again = "create_graph=True" in c.statement and c.only_ours_raises(CHANGED)
    return again and c.passes_layer("(?:LSTM|GRU|RNN)")


# A batch that comes first, be it in memory alone, PyTorch turns, and keeps a copy of.
@documented(KEEPS)
def _(c: Case) -> bool:
    attend = r"^ *(m\d+) = .*\b(?:MultiheadAttention|Transformer\w*)\((.*)"
    layers = dict(re.findall(attend, c.history, re.M))
    if not layers or not c.only_ours_raises(CHANGED):
        return False
    rows = []
    for call in re.finditer(rf"\b({'|'.join(layers)})[(,](.*)", c.history):
        first = "batch_first=True" in layers[call[1]]
        later = [x.detach() for x in written_after(c, call) if x.dim() == 3]
        rows += [x.flatten(0, 1) for x in later if first or not x.is_contiguous()]
    return any(names_changed(c.difference.ours, x) for x in rows)


def written_after(c: Case, call: re.Match) -> list[torch.Tensor]:
    """The operands of a call in the history into whose memory a later statement writes, or may write through a view
    that PyTorch lets nobody look at."""
    since = dataclasses.replace(c, history=c.history[call.end() :])
    written = {n for n in re.findall(r"\bx\d+", since.history) if is_written(since, n)}
    hidden = not written <= c.tensors.keys()
    writes = [c.tensors[n] for n in written & c.tensors.keys()]
    within = [x for x in c.named(call[0]) if any(share_memory(x, w) for w in writes)]
    return within or [x for x in c.named(call[0]) if hidden and x._version]


# What PyTorch's keeps for the gradient of its weight alone is the normalised input.
@documented(KEEPS)
def _(c: Case) -> bool:
    inputs = c.named("\n".join(re.findall(r".*\b(?:rms_norm|m\d+)\(.*", c.history)))
    written = any(names_changed(c.difference.ours, x) for x in inputs)
    passes = c.passes("rms_norm") or c.passes_layer("RMSNorm")
    return written and c.only_ours_raises(CHANGED) and passes


# A bound without dimensions beside a number, which PyTorch takes for one.
@documented("**More is taken**")
def _(c: Case) -> bool:
    bounds = c.named("\n".join(re.findall(r".*\bcl(?:amp|ip)_?\(.*", c.history)))
    written = any(x.dim() == 0 and names_changed(c.difference.ours, x) for x in bounds)
    return written and c.only_ours_raises(CHANGED)


# Batches that lie in another order are copied, so that they are matrices side by side.
@documented(KEEPS)
def _(c: Case) -> bool:
    factors = c.named("\n".join(re.findall(r"\baddbmm_?\((.*)\)", c.history)))
    apart = [x for x in factors if x._version and x.dim() == 3 and not x.is_contiguous()]
    written = any(names_changed(c.difference.theirs, x) for x in apart)
    return written and c.only_theirs_raises(CHANGED)


# PyTorch's product does not notice that a factor was written.
@documented(KEEPS)
def _(c: Case) -> bool:
    return "kron(" in c.history and c.derives("UnsafeView") and c.only_ours_raises(CHANGED)


# PyTorch's keeps a row-major copy of its input.
@documented(KEEPS)
def _(c: Case) -> bool:
    layers = re.findall(r"^ *(m\d+) = t\.nn\.LSTM\(", c.history, re.M)
    apart = any(x._version and not x.is_contiguous() for x in c.tensors.values())
    runs = "|".join([*layers, r"t\.lstm"])
    return apart and c.only_ours_raises(CHANGED) and c.passes(f"(?:{runs})")


# An input with another margin at its end than at its beginning, of which PyTorch keeps a padded copy.
@documented(KEEPS)
def _(c: Case) -> bool:
    nodes = {n for x in c.derived for n in graph_of(x) if n.name() == "ConvolutionBackward0"}
    padded = "'same'" in c.history and any(map(pads_unequally, nodes))
    return padded and c.only_ours_raises(CHANGED)


def pads_unequally(convolution: Node) -> bool:
    """Whether 'same' is an odd number of elements along a dimension. The input is read for the weight's gradient."""
    weight = convolution.next_functions[1][0]
    if weight is None:
        return False
    kernel = weight._input_metadata[0].shape[2:]
    return any(d * (k - 1) % 2 for k, d in zip(kernel, convolution._saved_dilation, strict=True))


@documented(KEEPS)
def _(c: Case) -> bool:
    # DivBackward1 is a division by a number of PyTorch's own, such as mean's derivative makes.
    steps = (
        "Upsample",
        "Lerp",
        "Pow",
        "DivBackward1",
        "MulBackward1",
        "RoundBackward1",
        "SoftMarginLossBackwardB",
        "Deg2Rad",
        "Rad2Deg",
        # Derivatives that are nodes of PyTorch's own, and products of several here.
        "SigmoidBackwardB",
        "TanhBackwardB",
        "LogSigmoidBackwardB",
        "SoftplusBackwardB",
        "EluBackwardB",
        "GeluBackwardB",
        "SiluBackwardB",
        "MishBackwardB",
        "HardswishBackwardB",
    )
    if not c.only_ours_raises(SECOND_TIME):
        return False
    went = {n for earlier in earlier_derivatives(c) for x in earlier.derived for n in graph_of(x)}
    nodes = {n for x in c.derived for n in graph_of(x) if n.name().startswith(steps)}
    nodes = nodes if ".detach_()" in c.history else nodes & went  # or it is forgotten which went
    return any(c.asked is None or not c.asked.isdisjoint(graph_behind(n)) for n in nodes)


# What arrives at a sum of exponentials.
@documented(KEEPS)
def _(c: Case) -> bool:
    again = "create_graph=True" in c.history and "logcumsumexp(" in c.history
    written = [x for x in c.returned if x._version]
    named = any(names_changed(c.difference.ours, x) for x in written)
    return again and named and c.only_ours_raises(CHANGED)


# The derivative of renorm shares its norms, and that of bilinear a product.
@documented(KEEPS)
def _(c: Case) -> bool:
    again = "create_graph=True" in c.history and c.derives("Renorm", "Trilinear")
    return again and c.only_ours_raises(SECOND_TIME)


# The index of a number, and what a norm of channels, which is one op here, keeps of its steps.
@documented(KEEPS)
def _(c: Case) -> bool:
    if not c.only_theirs_raises(CHANGED):
        return False
    others = [(n, what) for n, what in reported(c) if not is_kept_by_pytorch_alone(c, n, what)]
    number = {(n.name(), what) for n, what in others} == {("ScatterBackward0", "index")}
    number = number and "Tensor []]" in c.difference.theirs
    channels = re.search(r"local_response_norm\(|LocalResponseNorm\(", c.history) is not None
    steps = {n.name() for n, _ in others} <= {"DivBackward0", "MulBackward0", "PowBackward0"}
    return number or (channels and steps and "create_graph=True" in c.history)


# Of a copy in the dtype that is asked for, which is all that a gradient is made of.
@documented(KEEPS)
def _(c: Case) -> bool:
    program = c.history
    for dtype in set(re.findall(r"\b(?:cum)?prod\(.*\bdtype=(t\.\w+)", program)):
        products = rf"\b(cum)?prod\(.*\bdtype={re.escape(dtype)}"
        case = dataclasses.replace(c, history=program)
        program = converted(case, products, torch.is_floating_point, f"to({dtype})")
    return is_derivative(c) and is_result_of(c, program)


# The same result as a factor in the derivative of such an op, where ours has none.
@documented(KEEPS)
def _(c: Case) -> bool:
    others = [k for k in reported(c) if not is_kept_by_pytorch_alone(c, *k)]
    results = bool(others) and all(is_result_kept_alone(*k) for k in others)
    return results and "create_graph=True" in c.history and c.only_theirs_raises(CHANGED)


def is_result_kept_alone(node: Node, what: str) -> bool:
    """Whether a product keeps a result from which PyTorch alone computes a gradient."""
    if node.name() != "MulBackward0" or what not in ("self", "other"):
        return False
    made = node.next_functions[("self", "other").index(what)][0]
    return made is not None and KEPT_BY_PYTORCH_ALONE.get(made.name()) == "result"
