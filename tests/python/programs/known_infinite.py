"""What is known of numbers that overflow, and of infinities. That something is infinite here, or NaN, is known only
where PyTorch, too, is given what is, or may become so when it is squared."""

from __future__ import annotations

import math
import re

import torch

from .case import Case, documented, graph_of, is_derivative
from .elements import (
    all_that_differ,
    all_within,
    beyond_tolerance,
    differing,
    numbers_of,
    only_the_infinite_differs,
    only_theirs_is_nan,
)
from .exact import (
    calls_within,
    is_result_of,
    is_within_noise,
    may_overflow,
    may_overflow_at,
    result_in,
)
from .tensors import largest


@documented("**`layer_norm`** of a row whose squares overflow")
def _(c: Case) -> bool:
    layers = r"layer_norm\(|LayerNorm\(|Transformer(En|De)coderLayer\("
    normalised = re.search(layers, c.called) is not None
    normalised = normalised or c.derives("NativeLayerNorm")
    ops = "native_layer_norm(_backward)?|_transformer_encoder_layer_fwd"
    return normalised and only_the_infinite_differs(c) and may_overflow(c, ops)


# Neighbours that count for nothing are not multiplied by 0.
@documented("**Infinities**")
def _(c: Case) -> bool:
    return c.derives("UpsampleLinear1D", "UpsampleBilinear2D") and only_theirs_is_nan(c)


@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    lengths = r"(?<!batch_)(?<!group_)(?<!layer_)norm_?\(|(dist|distance|triplet_margin_loss)\("
    measured = re.search(lengths, c.statement) is not None
    return measured and only_the_infinite_differs(c) and may_overflow(c, power=4)


# What is divided by a norm that overflows, to keep it within a limit, becomes 0 in PyTorch.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    limited = re.search(r"\b(clip_grad_norm_|renorm_?)\(", c.statement) is not None
    vanishes = all_that_differ(c, lambda ours, theirs: ours.isfinite() & (theirs == 0))
    return limited and vanishes and may_overflow(c, power=4)


# Of a cube, or of what is divided by one.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    huge = any(largest(x) >= 1e9 for x in c.floats)
    return huge and c.derives("Renorm", "LinalgVectorNorm") and only_the_infinite_differs(c)


# Of float32, in PyTorch, what is divided by one that is infinite.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    huge = any(x.dtype is torch.float32 and largest(x) >= 1e18 for x in c.floats)
    divided = "cosine_similarity(" in c.statement or c.passes("cosine_similarity")
    divided = divided or c.derives("LinalgVectorNorm", "NormBackward1")
    return huge and divided and all_that_differ(c, lambda _, theirs: theirs == 0)


# Of tiny elements, whose norm PyTorch takes for 0, where it has no slope.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    tiny = any(((x != 0) & (x.abs() < 1e-18)).any() for x in c.floats if x.dtype is torch.float32)
    return (
        tiny
        and c.derives("LinalgVectorNorm", "NormBackward", "Dist", "Cdist", "Pdist")
        and all_that_differ(c, lambda ours, theirs: ours.isfinite() & (theirs == 0))
    )


# Powers that PyTorch divides by one another vanish or overflow; here they are those of elements in units of the norm.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    norms = [n for x in c.derived for n in graph_of(x) if n.name() in NORMS]
    lost = any(loses_powers(x, getattr(n, NORMS[n.name()])) for n in norms for x in c.floats)
    if c.aspect != "values" or not lost:
        return False
    beyond = beyond_tolerance(c)
    ours, theirs = (numbers_of(t)[beyond] for t in (c.difference.ours, c.difference.theirs))
    return bool((ours.isfinite() & ~theirs.isfinite()).all())


NORMS = {
    "DistBackward0": "_saved_p",
    "LinalgVectorNormBackward0": "_saved_ord",
    "NormBackward1": "_saved_p",
    "RenormBackward0": "_saved_p",
}


# A row that it leaves alone has no curve, whatever its norm's is.
@documented("**`renorm`**")
def _(c: Case) -> bool:
    again = re.search(r"\brenorm_?\(", c.history) is not None and "create_graph=True" in c.history
    lost = all_that_differ(c, lambda ours, theirs: (ours == 0) & theirs.isnan())
    alone = any(bool(((x == 0) | x.isnan()).any()) for x in c.floats)
    return again and alone and is_derivative(c) and lost


def loses_powers(x: torch.Tensor, p: float) -> bool:
    """Whether the dtype does not hold those of all its elements."""
    powers, limits = x.detach().double().abs()[x != 0] ** p, torch.finfo(x.dtype)
    return 2 < p < math.inf and not bool(((powers >= limits.tiny) & (powers <= limits.max)).all())


@documented("**Distances of NaN**")
def _(c: Case) -> bool:
    distance = re.search(r"[cp]dist\(", c.statement) is not None or c.derives("Cdist", "Pdist")
    lost = all_that_differ(c, lambda ours, theirs: ours.isnan() | theirs.isnan())
    return distance and lost and may_overflow(c, power=4)


@documented("**Infinities** in a backward")
def _(c: Case) -> bool:
    at_once = any("BackwardBackward" in n.name() for x in c.derived for n in graph_of(x))
    steps = at_once or c.derives(
        "Convolution", "NativeLayerNorm", "Gelu", "LinalgLu", "LinalgSlogdet"
    )
    steps = steps or c.passes(r"(?:linalg\.multi_dot|chain_matmul)")
    return steps and only_the_infinite_differs(c) and may_overflow(c)


# Of a float64 operand of an op that wrote float32.
@documented("**Gradients of `float64` operands** of an op in place on `float32`")
def _(c: Case) -> bool:
    products = re.search(r"\.(mul|addcmul|addcdiv)_\(", c.history) is not None
    wide = is_derivative(c) and c.aspect == "values" and c.theirs.dtype is torch.float64
    overflow = any(x.dtype is torch.float32 and largest(x) >= 1e18 for x in c.floats)
    lost = wide and all_that_differ(c, lambda _, theirs: ~theirs.isfinite())
    return products and overflow and lost


# Of a GRU's new gate: PyTorch takes the part that is kept of the old state from the whole of what arrives.
@documented("**Infinities** in a backward")
def _(c: Case) -> bool:
    recurrent = c.passes("gru(?:_cell)?") or c.passes_layer("GRU(?:Cell)?")
    return recurrent and only_theirs_is_nan(c) and may_overflow(c)


# What a mask hides has no slope, whatever arrives. The mean of a query's slopes is its product with the result, in
# PyTorch only where it does not compose attention of other ops.
@documented("**Infinities** in a backward")
def _(c: Case) -> bool:
    attends = c.passes("scaled_dot_product_attention") and only_the_infinite_differs(c)
    return attends and may_overflow(c, r"_scaled_dot\w+_backward|b?mm")


# Of few keys PyTorch takes a query whose scores are NaN for one that sees none of them.
@documented("**`scaled_dot_product_attention`** refuses a mask")
def _(c: Case) -> bool:
    attends = "scaled_dot_product_attention(" in c.statement
    hidden = attends and all_that_differ(c, lambda ours, theirs: ours.isnan() & (theirs == 0))
    return hidden and may_overflow(c, r"_scaled_dot_product_flash\w+")


# Corners outside of the image, and neighbours whose difference is taken.
@documented("**Gradients of `grid_sample`**")
def _(c: Case) -> bool:
    sampled = c.derives("GridSampler") and only_the_infinite_differs(c)
    return sampled and may_overflow(c, r"_?grid_sampler_\w+_backward")


# The distances of a layer, and their difference: of float32 whose squares overflow.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    layers = re.search(r"\b(TripletMargin\w*Loss|PairwiseDistance)\(", c.called) is not None
    squares = any(x.dtype is torch.float32 and largest(x) >= 1e18 for x in c.used)
    overflows = all_that_differ(c, lambda ours, theirs: ours.isfinite() & ~theirs.isfinite())
    return layers and squares and overflows


@documented("Where squares of the input")
def _(c: Case) -> bool:
    normalises = c.passes("rms_norm") or c.passes_layer("RMSNorm")
    vanishes = all_that_differ(c, lambda ours, theirs: (ours == 0) & theirs.isnan())
    return normalises and vanishes and may_overflow(c)


@documented("**`batch_norm`** of infinities")
def _(c: Case) -> bool:
    normalises = re.search(r"(batch|group|instance)_norm\(|(Batch|Group|Instance)Norm", c.called)
    normalises = normalises or c.derives("NativeBatchNorm", "NativeGroupNorm")

    def lost(ours, theirs):
        return ~(ours.isfinite() & theirs.isfinite()) | (ours == 0) | (theirs == 0)

    return bool(normalises) and all_that_differ(c, lost) and is_of_rows_that_overflow(c)


# What is added up of such rows and others, by floats whose squares do not overflow.
@documented("Where squares of the input")
def _(c: Case) -> bool:
    single = isinstance(c.theirs, torch.Tensor) and c.theirs.dtype is torch.float32
    normalises = c.derives("NativeBatchNorm", "NativeGroupNorm")
    if not (single and c.aspect == "values" and normalises and is_of_rows_that_overflow(c)):
        return False
    exact = result_in(torch.float64, c.history, c.difference.place)
    if not isinstance(exact, torch.Tensor) or exact.shape != c.theirs.shape:
        return False
    ours, exact = numbers_of(c.difference.ours), exact.detach().double().flatten()
    return all_within(ours, exact, 1e-4 * max(1.0, largest(exact)))


def is_of_rows_that_overflow(c: Case) -> bool:
    """Whether squares of what is normalised may overflow: of a result, those in the channel, or group, of each element
    that differs."""
    if is_derivative(c):
        return may_overflow(c, "native_(batch|group)_norm(_backward)?")
    rows = [r for name, given in calls_within(c) for r in rows_that_overflow(name, given)]
    of_result = [r for r in rows if r.shape == c.theirs.shape]
    where = differing(c)
    return any(bool(r.any()) for r in rows) and all(
        bool(r.flatten()[where].all()) for r in of_result
    )


def rows_that_overflow(op: str, given: tuple) -> list[torch.Tensor]:
    """For each element of what is normalised whether its channel, or group, may overflow; nothing of other ops."""
    lost = may_overflow_at(given[0]) if op in ("native_batch_norm", "native_group_norm") else None
    if lost is None or lost.numel() == 0:
        return []
    if op == "native_group_norm":
        batch, groups = lost.shape[0], given[6]
        return [
            lost.reshape(batch, groups, -1)
            .any(2, True)
            .expand(-1, -1, lost[0].numel() // groups)
            .reshape(lost.shape)
        ]
    return [
        lost.transpose(0, 1)
        .flatten(1)
        .any(1)
        .reshape(1, -1, *[1] * (lost.dim() - 2))
        .expand(lost.shape)
    ]


# The rate of Adafactor is the norm of a parameter, which overflows.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    def overflows(ours, theirs):
        squares = ours.isfinite() & (ours.abs().max() > math.sqrt(torch.finfo(c.theirs.dtype).max))
        return squares & theirs.isinf()

    return "Adafactor(" in c.stepped and all_that_differ(c, overflows)


# The square of a mean, which PyTorch takes away in one step with the product.
@documented("What overflows on the way")
def _(c: Case) -> bool:
    centered = "RMSprop(" in c.stepped and "centered=True" in c.stepped
    lost = all_that_differ(c, lambda ours, theirs: ours.isnan() & ~theirs.isnan())
    return centered and lost and may_overflow(c, "addcmul_?")


# A product of many in another order.
@documented("What overflows on the way")
def _(c: Case) -> bool:
    products = re.search(r"\bprod\(", c.statement) is not None
    return products and only_the_infinite_differs(c) and may_overflow(c)


# A product that overflows, which PyTorch adds before it is rounded.
@documented("What overflows on the way")
def _(c: Case) -> bool:
    if not re.search(r"\baddcmul_?\(", c.statement) or not only_the_infinite_differs(c):
        return False
    rounded = re.sub(r"\bt\.(addcmul_?)\(", r"\1(", c.history)
    rounded = re.sub(r"\b(x\d+)\.(addcmul_?)\(", r"\2(\1, ", rounded)
    return is_result_of(c, rounded, addcmul=addcmul, addcmul_=addcmul_)


def addcmul(x: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value=1, **out):
    return torch.add(x, value * tensor1 * tensor2, **out)


def addcmul_(x: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value=1):
    return x.add_(value * tensor1 * tensor2)


# What is left of huge terms that cancel, multiplied by others.
@documented("**Rounding**")
def _(c: Case) -> bool:
    huge = any(largest(x) >= 1e20 for x in c.floats)
    products = c.derives("Mm", "Addmm", "Bmm", "Mv", "Addmv", "Dot")
    return c.aspect == "values" and huge and products and is_within_noise(c, overflowing=True)
