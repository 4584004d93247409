"""What is known of single functions at their edges."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from unittest import mock

import torch
from torch.autograd.graph import Node

from .case import (
    CHANGED,
    Case,
    documented,
    graph_of,
    is_derivative,
    keeps,
    share_memory,
)
from .elements import (
    all_that_differ,
    differing,
    numbers_of,
    only_the_infinite_differs,
    only_theirs_is_nan,
    same,
)
from .exact import converted, is_result_of, is_unsigned, made_of, may_overflow
from .tensors import largest


# PyTorch multiplies the exponential before it divides.
@documented("What overflows on the way")
def _(c: Case) -> bool:
    def overflows(ours, theirs):
        return (ours.isfinite() & theirs.isinf()) | (~ours.isnan() & theirs.isnan())

    return c.derives("SoftMarginLoss", "Hypot", "Atan2") and all_that_differ(c, overflows)


# 0 divided by the square of a divisor, which vanishes.
@documented("What overflows on the way")
def _(c: Case) -> bool:
    vanish = any(bool(((x != 0) & (x * x == 0)).any()) for x in c.floats)
    return vanish and c.derives("Addcdiv") and only_theirs_is_nan(c)


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    undefined = c.only_theirs_raises("Expected a proper Tensor but got None")
    return undefined and c.derives("Dist", "NativeLayerNorm")


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("INTERNAL ASSERT FAILED|please report an enhancement request")


@documented("**Integers** never require a gradient")
def _(c: Case) -> bool:
    if c.aspect != "requires_grad" or not isinstance(c.theirs, torch.Tensor):
        return False
    return c.theirs.requires_grad and not c.theirs.is_floating_point()


@documented("**Integers** never require a gradient")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Autograd not support dtype: (Bool|Long|Int|Short|Char|Byte)")


# Rows that hold an infinity, or a NaN.
@documented("**Ignored rows** of `cross_entropy`")
def _(c: Case) -> bool:
    losses = [n for x in c.derived for n in graph_of(x) if n.name().startswith("NllLoss")]
    # The index is shown without its sign.
    ignores = any(n._saved_ignore_index != 2**64 - 100 for n in losses)
    ignores = ignores or any(keeps(n, ignored_by_default) for n in losses)
    return ignores and only_theirs_is_nan(c) and may_overflow(c)


def ignored_by_default(target: torch.Tensor) -> bool:
    return not target.is_floating_point() and bool((target == -100).any())


@documented("`batch_norm` counts its running statistics as changed")
def _(c: Case) -> bool:
    norms = c.aspect == "version" and "batch_norm(" in c.statement
    return norms and any(x.dim() == 1 and share_memory(x, c.theirs) for x in c.used)


@documented("`batch_norm` counts its running statistics as changed")
def _(c: Case) -> bool:
    nothing = "instance_norm(" in c.statement and any(x.numel() == 0 for x in c.used)
    return c.aspect == "version" and nothing


# Of the least and the largest, of which what takes no part counts as one.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    calls = reductions_behind(c, "(?:index|scatter)_reduce", "am(?:ax|in)")
    return any("False" in call for call in calls) and is_result_of_begun(c)


# By a source that is longer than the index: PyTorch gives what nobody read the gradient of what was.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    pairs = [c.named(s)[-2:] for s in reductions_behind(c, "scatter_reduce", "am(?:ax|in)|prod")]
    longer = any(len(p) == 2 and p[0].shape != p[1].shape for p in pairs)
    refused = c.only_theirs_raises(r"The size of tensor a \(\d+\) must match") and is_derivative(c)
    return longer and (refused or is_result_of_begun(c))


# Of a product that begins with 1 PyTorch's curve is divided by what was there, and then multiplied by 0.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return "'prod'" in c.history and only_theirs_is_nan(c) and is_result_of_begun(c)


def is_result_of_begun(c: Case) -> bool:
    """Whether ours is what PyTorch gives if what is left out is overwritten first by what changes nothing, and of a
    source there is what the index reads."""
    with contextlib.ExitStack() as patches:
        for name, fill in FILLS.items():
            begun = that_is_begun(getattr(torch.Tensor, name), getattr(torch.Tensor, fill))
            for owner in (torch, torch.Tensor):
                if hasattr(owner, name):
                    patches.enter_context(mock.patch.object(owner, name, begun))
        return is_result_of(c, c.history + "\npass")


FILLS = {
    "scatter_reduce": "scatter",
    "scatter_reduce_": "scatter_",
    "index_reduce": "index_fill",
    "index_reduce_": "index_fill_",
}

BEGINNINGS = {"prod": 1, "amax": -math.inf, "amin": math.inf}


def that_is_begun(reduce: Callable, fill: Callable) -> Callable:
    def reduced(input, dim, index, source, reduce_to, include_self=True):
        if fill.__name__.startswith("scatter"):
            source = source[tuple(slice(n) for n in index.shape)]
        if include_self or reduce_to not in BEGINNINGS:
            return reduce(input, dim, index, source, reduce_to, include_self=include_self)
        start = fill(input, dim, index, BEGINNINGS[reduce_to])
        return reduce(start, dim, index, source, reduce_to)

    return reduced


def reductions_behind(c: Case, names: str, to: str) -> list[str]:
    """The calls that reduce to such, if the statement goes back through one."""
    if not c.derives("IndexReduce", "ScatterReduce", "torch::autograd::CopySlices", "AsStrided"):
        return []
    return re.findall(rf".*{names}_?\(.*'(?:{to})'.*", c.history)


# By the weight of integers: their difference, which wraps around.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return c.derives("Lerp") and is_result_of(c, converted(c, r"\blerp_?\(", is_unsigned, "long()"))


# Where the gradient of what was scattered into comes from the wrong memory.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    by_index = re.sub(
        r"t\.as_strided_scatter\(|(x\d+)\.as_strided_scatter\(",
        lambda call: f"scattered({call[1]}, " if call[1] else "scattered(",
        c.history,
    )
    # It can be gone back through again; what stands in its place keeps indices.
    run = torch.autograd._engine_run_backward

    def keeping(roots, gradients, _, *others, **named):
        return run(roots, gradients, True, *others, **named)

    with mock.patch.object(torch.autograd, "_engine_run_backward", keeping):
        return c.derives("AsStridedScatter") and is_result_of(c, by_index, scattered=scattered)


def scattered(input, src, size, stride, storage_offset=None):
    """as_strided_scatter by an index, whose gradient is right."""
    extent = 1 + sum((n - 1) * s for n, s in zip(input.shape, input.stride()))
    own = torch.arange(extent).as_strided(input.shape, input.stride()).flatten()
    first = input.storage_offset()
    start = first if storage_offset is None else storage_offset
    before = max(0, first - start)  # of its memory, where it is a part of other
    own = own + before
    places = torch.arange(start - first + before + extent + input.numel()).as_strided(size, stride)
    places = (places + start - first + before).flatten()
    memory = input.new_zeros(before + extent).index_put((own,), input.flatten())
    memory = memory.index_put((places,), src.flatten().to(input.dtype))
    return memory[own].reshape(input.shape)


# It reaches beyond the gradient's memory, which is as large as the input.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    beyond = c.only_theirs_raises("setStorage: .* are out of bounds for storage")
    return beyond and c.derives("AsStridedScatter")


# Of matrices, and channels, that lie in another order.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    calls = r"kron\(|matrix_exp\(|local_response_norm\(|LocalResponseNorm\("
    # Where its dimensions have size 1, strides may say another order although it is row-major, too.
    apart = any(x.stride() != torch.empty(x.shape).stride() for x in c.used)
    apart = apart and re.search(calls, c.called) is not None
    return apart and c.only_theirs_raises("view size is not compatible")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return "take_along_dim(" in c.statement and c.only_theirs_raises("view size is not compatible")


# What is left of a dimension repeats itself more than once: PyTorch reads what nobody has written.
@documented("**Circular padding**")
def _(c: Case) -> bool:
    cut = re.search(r"\bpad\(.*-\d", c.statement) is not None
    return cut and c.only_ours_raises("^RuntimeError: pad: Padding value causes wrapping around")


# The mean of truth values.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    means = re.search(r"scatter_reduce_?\(.*'mean'", c.statement) is not None
    return means and c.aspect == "values" and c.theirs.dtype is torch.bool


@documented("**`interpolate`**")
def _(c: Case) -> bool:
    resized = re.search(r"interpolate\(|Upsample\(", c.called) is not None
    if not resized or is_derivative(c) or not only_the_infinite_differs(c):
        return False
    given = (x for x in c.used if x is not c.theirs)
    kept = any(n == m for x in given for n, m in zip(x.shape[2:], c.theirs.shape[2:]))
    return kept and may_overflow(c)


# Its gradient, where one that is infinite arrives, of sizes that are there.
@documented("**`interpolate`**")
def _(c: Case) -> bool:
    nodes = [n for x in c.derived for n in graph_of(x) if n.name().startswith("Upsample")]
    kept = any(map(keeps_a_size, nodes)) and only_the_infinite_differs(c)
    return kept and may_overflow(c, r"_?upsample_\w+_backward")


def keeps_a_size(upsampling: Node) -> bool:
    made = upsampling._input_metadata[0].shape[2:]
    of = getattr(upsampling, "_saved_self_sym_sizes", None)
    return any(n == m for n, m in zip(made, of[2:] if of else upsampling._saved_output_size))


# The weights of an element at an edge are one.
@documented("**`interpolate`**")
def _(c: Case) -> bool:
    weighs = "bicubic" in c.called or c.derives("UpsampleBicubic")
    return weighs and all_that_differ(c, lambda ours, theirs: ours.isinf() & theirs.isnan())


# Of a weight that is 0.
@documented("**`interpolate`**")
def _(c: Case) -> bool:
    called = re.search(r"(interpolate|Upsample)\(.*linear", c.called) is not None
    infinite = any(bool(x.isinf().any()) for x in c.used if x is not c.theirs)
    return called and infinite and not is_derivative(c) and only_theirs_is_nan(c)


# The edges of bins, as those of linspace.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if c.aspect != "values" or not re.search(rf"^{c.difference.place}, .*histogram\(", c.statement):
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    edges = c.named(c.statement.partition(" = ")[0])[-1].detach().double()
    width = edges.diff() if "density=True" in c.statement else torch.ones_like(ours)
    ours, theirs = ours * width, theirs * width
    rounding = error_of_widths(c) if "density=True" in c.statement else 1e-6
    allowed = rounding * float(theirs[theirs.isfinite()].abs().sum())
    if bool((ours.isfinite() & theirs.isfinite()).all()):
        moved = (ours - theirs).cumsum(0).abs()  # over the end of each bin
        return rounding == math.inf or not bool((moved[~near_ends(c, edges)] > allowed).any())
    # Beside a bin that has an infinite weight, or NaN, here or there, it may have been another one's.
    lost = ~(ours.isfinite() & theirs.isfinite()).reshape(1, 1, -1)
    apart = torch.nn.functional.max_pool1d(lost.double(), 3, 1, 1).flatten() == 0
    return rounding == math.inf or bool((ours - theirs)[apart].sum().abs() <= allowed)


def near_ends(c: Case, edges: torch.Tensor) -> torch.Tensor:
    """Which bins end where an element is, or nearly; all but the last one if what was counted has no name."""
    counted = re.search(r"= (?:t\.histogram\((?:input=)?)?(x\d+)\b(?! [^,])", c.statement)
    if counted is None:
        return torch.arange(edges.numel() - 1) < edges.numel() - 2
    x = c.tensors[counted[1]].detach().double().flatten()
    near = 16 * torch.finfo(c.theirs.dtype).eps * largest(edges)
    return ((edges[1:, None] - x).abs() <= near).any(1)


def error_of_widths(c: Case) -> float:
    """What densities are divided by may have, relative to the narrowest bin."""
    edges = c.named(c.statement.partition(" = ")[0])[-1].detach()
    width = float(edges.diff().min())
    return 4 * torch.finfo(edges.dtype).eps * largest(edges) / width if width else math.inf


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"\b(arg)?sort\(\) (received an invalid combination|takes from)")


# In backward(inputs=[y]) the op that made y.
@documented("**What an op keeps**")
def _(c: Case) -> bool:
    counts = c.only_theirs_raises("derivative for aten::histogram is not implemented")
    return "inputs=" in c.statement and counts


# Singular values of what is not finite.
@documented("**Factorisations**")
def _(c: Case) -> bool:
    refused = c.only_ours_raises(
        "(lu|linalg_\\w+|cholesky\\w*)_cpu\" not implemented for '(Half|BFloat16)'"
    )
    return refused and any(x.numel() == 0 for x in c.used)


@documented("**Factorisations**")
def _(c: Case) -> bool:
    refused = c.only_ours_raises("linalg.svd: .*failed to converge because the input matrix")
    return refused and any(bool(x.isinf().any()) for x in c.used)


# Elements that are multiplied by zeros are left away, whatever they are. In place the zeros are there no more.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    of = c.named("\n".join(re.findall(r".*\bcumprod_?\(.*", c.history)))
    in_place = re.search(r"\bcumprod_\(", c.history) is not None
    lost = any((in_place or bool((x == 0).any())) and not x.isfinite().all() for x in of)
    products = lost and c.derives("Cumprod", "torch::autograd::CopySlices")
    return products and all_that_differ(c, lambda ours, theirs: ours.isnan() | theirs.isnan())


# The slope is 0 where both are, whose own is not.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    of = c.named("\n".join(re.findall(r".*\ba(?:rc)?tan2_?\(.*", c.history)))
    zeros = [x for x in of if bool((x == 0).any())]
    again = len(zeros) > 1 and is_derivative(c) and "create_graph=True" in c.history
    return again and all_that_differ(c, lambda ours, theirs: ours.isnan() | theirs.isnan())


# What comes before a heaviside runs, and finds what was written.
@documented("**`hardsigmoid`** and `celu`")
def _(c: Case) -> bool:
    steps = is_derivative(c) and re.search(r"\bheaviside_?\(", c.history) is not None
    lost = c.aspect == "type" and c.difference.theirs == "None"  # written into a view
    return steps and (lost or c.only_ours_raises(CHANGED))


# A number that the divisor's dtype has to hold.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    overflows = c.only_theirs_raises("value cannot be converted to type .* without overflow")
    return overflows and "addcdiv" in c.history and is_derivative(c)


# A number that lies on a GPU is not looked at.
@documented("**Numbers that do not fit**")
def _(c: Case) -> bool:
    unseen = c.only_theirs_raises("value cannot be converted to type .* without overflow")
    return unseen and c.device != "cpu"


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    leaf = c.only_theirs_raises("a leaf Variable that requires grad is being used in an in-place")
    return leaf and "cov(" in c.statement


# One observation that has a weight, which PyTorch takes the mean from where it lies.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    weighs = re.search(r"\bcov\(.*weights=", c.statement) is not None
    if not weighs or c.aspect not in ("values", "version"):
        return False
    name = re.search(r"\bx\d+", c.statement.partition(" = ")[2])[0]
    if (
        name not in c.tensors
    ):  # a view of a leaf, at which PyTorch lets nobody look since it was written
        return not c.grad_enabled
    observed = c.tensors[name]
    return observed.shape[-1:].numel() == 1 and share_memory(observed, c.theirs)


# What was added before PyTorch found that it cannot divide.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    means = re.search(r"index_reduce_\(.*'mean'", c.statement) is not None
    return means and c.aspect == "values" and c.theirs.dtype is torch.bool


@documented("**More is taken**")
def _(c: Case) -> bool:
    negated = c.only_theirs_raises("Negation, the `-` operator, on a bool tensor")
    return negated and c.derives("SoftMargin")


@documented("**More is taken**")
def _(c: Case) -> bool:
    subtracted = c.only_theirs_raises("Subtraction, the `-` operator, with a bool tensor")
    return subtracted and c.derives("SmoothL1Loss")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        r"multi(label)?_margin_loss_backward is not|_[cp]dist_backward' is not"
    )


@documented("**`vander`** has a gradient")
def _(c: Case) -> bool:
    changed = c.only_theirs_raises("has been modified by an inplace operation")
    return changed and "vander(" in c.history


# Of large numbers, whose terms are 0 times infinity there.
@documented("**Bessel's and Airy's functions**")
def _(c: Case) -> bool:
    vanishes = all_that_differ(c, lambda ours, theirs: (ours == 0) & theirs.isnan())
    return vanishes and "zeta(" in c.statement and bool(is_of_large(c)[differing(c)].all())


# Of a pole.
@documented("A NaN in either argument of an incomplete Gamma or of `zeta`")
def _(c: Case) -> bool:
    pole = all_that_differ(c, lambda ours, theirs: ours.isnan() & theirs.isinf())
    unknown = any(bool(x.isnan().any()) for x in c.used if x is not c.theirs)
    return pole and unknown and re.search(r"\bzeta\(", c.statement) is not None


def is_of_large(c: Case) -> torch.Tensor:
    """Which elements are made of a large one."""
    large = torch.zeros(c.theirs.shape, dtype=torch.bool)
    for x in c.used:
        if x is not c.theirs:
            large = large | (x.detach().abs() >= 1e9)
    number = re.search(r"zeta\((\d[\d.e+]*),|, (?:other=)?(\d[\d.e+]*)\)$", c.statement)
    return (large | bool(number and float(number[1] or number[2]) >= 1e9)).flatten()


@documented("**Bessel's and Airy's functions**")
def _(c: Case) -> bool:
    called = re.search(r"\bi?gamma(inc)?c?_?\(", c.statement) is not None
    if not called or c.aspect != "values":
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    digits = 2e-6 if c.theirs.dtype is torch.float32 else 1e-6  # six of them, rounded
    near = (ours - theirs).abs() <= digits * theirs.abs().clamp_min(1)  # it has no digits near 0
    at_edge = made_of(c, "igammac?_?", lambda x: ~x.isfinite())
    return bool((near | at_edge | same(ours, theirs)).all())


@documented("`solve_triangular` refuses two dtypes")
def _(c: Case) -> bool:
    called = re.search(r"\bsolve_triangular\(", c.called) is not None
    refused = called and c.only_ours_raises("Expected A and B to have the same dtype")
    return refused and len({x.dtype for x in c.used}) > 1


@documented("**`ctc_loss`** refuses classes out of range")
def _(c: Case) -> bool:
    target = re.search(r"ctc_loss: (?:Target|index) (-?\d+) is out of bounds", c.difference.ours)
    classes = next((x.shape[-1] for x in c.used if x.is_floating_point() and x.dim() > 1), None)
    none = target is not None and classes is not None and not 0 <= int(target[1]) < classes
    return none and c.difference.theirs == "no error"


# Of a last target that is the blank PyTorch forgets one of the two places that it may have at the last step.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    if not c.derives("CtcLoss"):
        return False
    with mock.patch.object(torch, "ctc_loss", of_another_label(torch.ctc_loss)):
        return is_result_of(c, c.history + "\npass")


def of_another_label(ctc_loss: Callable) -> Callable:
    """ctc_loss of targets that are a class of their own, as likely as the blank, where they are that."""

    def loss(x, targets, inputs, lengths, blank=0, reduction=1, zero_infinity=False):
        label = x[..., blank : blank + 1]
        targets = targets.masked_fill(targets == blank, x.shape[-1])
        y = ctc_loss(torch.cat([x, label], -1), targets, inputs, lengths, blank, 0, zero_infinity)
        # Its gradient takes what it is given for the logarithms of all probabilities, to which the class adds.
        inputs, lengths = (torch.as_tensor(n) for n in (inputs, lengths))
        begun = torch.arange(x.shape[0])[:, None] < inputs.reshape(1, -1)
        more = (label.reshape(x.shape[0], -1).exp() * begun).sum(0).reshape(y.shape)
        y = y - (more - more.detach()) * (y != 0)
        if reduction == 1:
            return (y / lengths.clamp_min(1).reshape(y.shape)).mean()
        return y.sum() if reduction == 2 else y

    return loss


# To a product.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    products = re.search(r"scatter_reduce_?\(.*'prod'", c.history) is not None
    powers = products and c.derives("ScatterReduce", "torch::autograd::CopySlices")
    infinite = any(not x.isfinite().all() for x in c.floats)
    return powers and infinite and only_theirs_is_nan(c)


# Of a singular matrix.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    call = r"\bt\.(?:linalg\.)?det\(|(x\d+)\.det\("
    by_minors = re.sub(call, lambda name: f"det({name[1] or ''}", c.history)
    none = c.derives("LinalgDet") and all_that_differ(c, lambda ours, theirs: theirs == 0)
    return none and is_result_of(c, by_minors, det=det)


def det(input):
    """torch.det by the first row, and what is left of the matrix without it."""
    if input.shape[-1] == 0:
        return torch.linalg.det(input)
    first, below = input[..., 0, :], input[..., 1:, :]
    minors = [
        det(torch.cat((below[..., :i], below[..., i + 1 :]), -1)) for i in range(first.shape[-1])
    ]
    signs = (-1) ** torch.arange(len(minors))
    return (first * torch.stack(minors, -1) * signs).sum(-1)


# Far below 0.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    by_tail = c.history.replace("t.special.log_ndtr(", "log_ndtr(")
    return c.derives("SpecialLogNdtr") and is_result_of(c, by_tail, log_ndtr=log_ndtr)


def log_ndtr(input):
    """torch.special.log_ndtr by what it is below -1, which has a gradient."""
    is_low = input < -1
    low, high = torch.where(is_low, input, -1), torch.where(is_low, -1, input)
    tail = torch.log(torch.special.erfcx(low * -math.sqrt(0.5)) / 2) - low * low / 2
    return torch.where(is_low, tail, torch.special.log_ndtr(high))


@documented("**Numbers beyond a narrow dtype**")
def _(c: Case) -> bool:
    refused = c.only_ours_raises("value cannot be converted to type at::Half without")
    numbers = map(float, re.findall(r"-?\b\d[\d.]*(?:e[+-]?\d+)?\b", c.statement))
    beyond = any(abs(n) > torch.finfo(torch.float16).max for n in numbers)
    return refused and beyond and re.search(r"\bwhere\(", c.called) is not None
