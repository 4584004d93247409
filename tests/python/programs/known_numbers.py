"""What is known of errors, numbers and memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import torch
from torch.autograd.graph import Node

from .case import (
    Case,
    documented,
    graph_behind,
    graph_of,
    has_node,
    is_derivative,
    share_memory,
)
from .exact import may_be_rounding, numbers_of
from .tensors import largest, smallest

PRODUCT = r"linear\(|matmul\(|mm_?\(|mv\(|dot\(|@"


def where_different(c: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """The elements that differ, ours and theirs, by more than rounding."""
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    rounding = 1e-4 * max(1.0, largest(ours), largest(theirs))
    same = (ours == theirs) | (ours.isnan() & theirs.isnan()) | ((ours - theirs).abs() < rounding)
    return ours[~same], theirs[~same]


def all_that_differ(c: Case, are: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> bool:
    """Whether elements differ, and all that do are such."""
    if c.aspect != "values":
        return False
    ours, theirs = where_different(c)
    return ours.numel() > 0 and bool(are(ours, theirs).all())


def only_the_infinite_differs(c: Case) -> bool:
    """Whether what differs is infinite or NaN, here or there."""
    return all_that_differ(c, lambda ours, theirs: ~(ours.isfinite() & theirs.isfinite()))


def only_theirs_is_nan(c: Case) -> bool:
    return all_that_differ(c, lambda ours, theirs: theirs.isnan())


# ---- errors


@documented("**More is taken**")
def _(c: Case) -> bool:
    return "keepdim=" in c.statement and c.only_theirs_raises(
        r"(sum|mean|prod)\(\) (missing|received an invalid)"
    )


@documented("**More is taken**")
def _(c: Case) -> bool:
    return "logaddexp" in c.history and c.only_theirs_raises("with a bool tensor is not supported")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises('"ldexp_cpu_exp" not implemented')


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(r"cpu\(\) takes 0 positional arguments")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        r"(clamp|clip)_?\(\) received an invalid combination of arguments - got \(.*Tensor"
    )


@documented("integer divisors")
def _(c: Case) -> bool:
    return c.device != "cpu" and c.only_theirs_raises("ZeroDivisionError")


@documented("**Numbers that do not fit**")
def _(c: Case) -> bool:
    if not isinstance(c.theirs, torch.Tensor) or c.theirs.dtype.is_floating_point:
        return False
    floats = [x for x in c.used if x.dtype.is_floating_point]
    return (
        c.device != "cpu"
        and c.aspect == "values"
        and any(not fits_in(x, c.theirs.dtype) for x in floats)
    )


def fits_in(x: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether an integer dtype, or bool, has room for all elements."""
    if dtype is torch.bool:
        return True
    low, high = float(torch.iinfo(dtype).min), float(torch.iinfo(dtype).max)
    return bool(((x.detach() > low - 1) & (x.detach() < high + 1)).all())


@documented("**Padding** of a convolution")
def _(c: Case) -> bool:
    padded = re.search(r"Conv2d\(.*padding|conv2d\(.*padding", c.called) is not None
    padded = padded or c.derives("Convolution")
    return (
        padded
        and c.aspect == "values"
        and any(not x.detach().isfinite().all() for x in c.used if x.dtype.is_floating_point)
    )


@documented("**Optimizers**")
def _(c: Case) -> bool:
    return c.only_ours_raises(
        "a parameter group with duplicate parameters|is not dense: its elements"
    )


# Beyond its elements PyTorch's tensor has memory that held what it was made from.
@documented("**Memory order**")
def _(c: Case) -> bool:
    return (
        "as_strided" in c.statement
        and c.only_ours_raises("setStorage: .* are out of bounds for storage")
        and any(x.untyped_storage().nbytes() > x.nbytes and not x._is_view() for x in c.used)
    )


# PyTorch takes a bound without dimensions for a number there.
@documented("**More is taken**")
def _(c: Case) -> bool:
    if c.aspect != "dtype" or "clamp(" not in c.statement:
        return False
    given = [x for x in c.used if x is not c.theirs]
    promoted = str(torch.result_type(given[0], given[-1])).removeprefix("torch.")
    return promoted == c.difference.ours and any(x.dim() == 0 for x in given)


# ---- numbers


@documented("**Memory order**")
def _(c: Case) -> bool:
    return (
        c.aspect == "strides" and re.search(r"nonzero|logsigmoid|LogSigmoid", c.called) is not None
    )


@documented("**Memory order**")
def _(c: Case) -> bool:
    loss = re.search(r"rsub\(|stack\(|reduction='none'", c.statement)
    return c.aspect == "strides" and loss is not None


@documented("**Memory order**")
def _(c: Case) -> bool:
    return ".stride()" in c.statement and any(x.numel() == 0 for x in c.used)


@documented("**Memory order**")
def _(c: Case) -> bool:
    return ".storage_offset()" in c.statement and "deepcopy(" in c.history


@documented("**Memory order**")
def _(c: Case) -> bool:
    return ".stride()" in c.statement and c.uses_returned_gradient


@documented("**Memory order**")
def _(c: Case) -> bool:
    if ".stride()" not in c.statement or not re.search(r"matmul\(|@", c.history):
        return False
    steps = re.findall(r"\bn\d+", c.statement)  # one for each dimension
    d = steps.index(c.difference.place)
    return any(x.dim() == len(steps) and x.shape[d] == 1 for x in c.used)


# Of what an index of tensors gives, too.
@documented("**Memory order**")
def _(c: Case) -> bool:
    return c.aspect == "strides" and re.search(r"\]$", c.statement) is not None


@documented("**`pow` with exponents that are 0**")
def _(c: Case) -> bool:
    powers = any(has_node(x, "PowBackward1") for x in c.used)
    return powers and only_theirs_is_nan(c) and is_derivative(c)


# Of 0, which a bool makes it compute as 0 * x**-1.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    powers = [n for x in c.derived for n in graph_of(x) if n.name() == "PowBackward0"]
    return only_theirs_is_nan(c) and any(n._saved_exponent is False for n in powers)


# The second derivative by the bias of layer_norm, if by nothing else.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    lost = c.aspect == "type" and c.difference.theirs == "None"
    return lost and c.derives("NativeLayerNorm")


@documented("**`layer_norm`** of a row whose squares overflow")
def _(c: Case) -> bool:
    normalised = re.search(r"layer_norm\(|LayerNorm\(", c.called) is not None
    normalised = normalised or c.derives("NativeLayerNorm")
    return normalised and only_the_infinite_differs(c)


@documented("**`elu`** has the second derivative 0")
def _(c: Case) -> bool:
    wrong = only_theirs_is_nan(c) and is_derivative(c)
    return wrong and any(has_node(x, "Elu") for x in c.used)


@documented("**`hardsigmoid`** and `celu`")
def _(c: Case) -> bool:
    digits = c.aspect == "values" and is_derivative(c) and where_different(c)[0].numel() == 0
    return digits and any(has_node(x, ("Hardsigmoid", "Elu")) for x in c.used)


@documented("**`hardsigmoid`** and `celu`")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        r"derivative for (aten::(hardsigmoid_backward|heaviside_?)|'inplace version of a(sin|cos|tan)h')"
        " is not implemented"
    )


@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    return "norm(" in c.statement and only_the_infinite_differs(c)


@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    return c.aspect == "values" and "max_norm" in c.called and any(map(has_zero_row, c.used))


# Memory of which an element has several places in a tensor.
@documented("**Expanded memory**")
def _(c: Case) -> bool:
    return c.aspect == "values" and "as_strided" in c.history and any(map(repeats, c.used))


# PyTorch spreads the gradient of a view that is made again over what shares its memory.
@documented("**Expanded memory**")
def _(c: Case) -> bool:
    spread = any(has_node(x, "AsStrided") for x in c.derived)
    return c.aspect == "values" and spread and any(map(repeats, c.tensors.values()))


def repeats(x: torch.Tensor) -> bool:
    extent = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))
    return x.numel() > 0 and (
        torch.arange(extent).as_strided(x.shape, x.stride()).unique().numel() < x.numel()
    )


def has_zero_row(x: torch.Tensor) -> bool:
    return x.dim() == 2 and bool((x == 0).all(1).any())


# Of channels whose elements are all equal.
@documented("**Rounding**")
def _(c: Case) -> bool:
    normalises = re.search(r"batch_norm\(|BatchNorm", c.called) is not None
    equal = normalises and any(map(has_constant_channel, c.used))
    return c.aspect == "values" and equal and may_be_rounding(c)


# Of rows whose elements are all equal.
@documented("**Rounding**")
def _(c: Case) -> bool:
    equal = c.derives("NativeLayerNorm") and any(map(has_constant_row, c.tensors.values()))
    return c.aspect == "values" and equal and may_be_rounding(c)


# What products leave of terms that cancel: no more than the rounding of one.
@documented("**Rounding**")
def _(c: Case) -> bool:
    product = c.aspect == "values" and re.search(PRODUCT, c.statement)
    if not product or not isinstance(c.theirs, torch.Tensor) or not c.theirs.is_floating_point():
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    terms = math.prod(max(1.0, largest(x)) for x in c.used if x is not c.theirs)
    rounding = 16 * torch.finfo(c.theirs.dtype).eps * terms
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    return bool((same | ((ours - theirs).abs() <= rounding)).all())


# What is left of 1 where gelu is nearly 0, divided by what is nearly 0.
@documented("**Rounding**")
def _(c: Case) -> bool:
    quotients = ("Pow", "Div", "Reciprocal", "Rsqrt", "Log")
    divides = [n for x in c.derived for n in graph_of(x) if n.name().startswith(quotients)]
    small = any(m.name().startswith("Gelu") for n in divides for m in graph_behind(n))
    return c.aspect == "values" and small and may_be_rounding(c)


# What is left of gradients that cancel: those of two elements do but for what eps makes of them.
@documented("**Rounding**")
def _(c: Case) -> bool:
    pairs = any(normalises_pairs(n) for x in c.derived for n in graph_of(x))
    return c.aspect == "values" and pairs and may_be_rounding(c)


def normalises_pairs(node: Node) -> bool:
    if node.name() != "NativeBatchNormBackward0":
        return False
    batch, _, *positions = node._input_metadata[0].shape
    return math.prod([batch, *positions]) == 2


# What is left of equal elements without their mean.
@documented("**Rounding**")
def _(c: Case) -> bool:
    return only_the_infinite_differs(c) and c.derives("Var", "Std")


# What overflows on the way does so in one order, and without a fused multiply-add.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if not only_the_infinite_differs(c) or not isinstance(c.theirs, torch.Tensor):
        return False
    given = [x.detach().double() for x in c.used if x is not c.theirs]
    if "prod(" in c.statement:
        most = float(given[0].abs().clamp_min(1).nan_to_num().log().sum())
    elif re.search(rf"{PRODUCT}|var\(|std\(", c.statement):
        most = 2 * math.log(max(1, *map(largest, given)))
    elif c.derives("Mm", "Bmm", "Mv", "Addmm", "Dot"):
        floats = (x for x in c.tensors.values() if x.is_floating_point())
        most = 2 * math.log(max(1, *map(largest, floats)))
    else:
        return False
    return most > math.log(torch.finfo(c.theirs.dtype).max)


@documented("**`embedding(scale_grad_by_freq=True)`**")
def _(c: Case) -> bool:
    scaled = "scale_grad_by_freq=True" in c.history and "create_graph=True" in c.history
    return scaled and c.aspect == "values" and c.derives("Embedding")


# What sums of many leave where they cancel.
@documented("**Rounding**")
def _(c: Case) -> bool:
    many = any(x.numel() >= 1024 for x in c.used) and re.search(r"(sum|mean)\(", c.statement)
    single = isinstance(c.theirs, torch.Tensor) and c.theirs.dtype is torch.float32
    return c.aspect == "values" and bool(many) and single and may_be_rounding(c)


# What is left of large gradients that cancel.
@documented("**Rounding**")
def _(c: Case) -> bool:
    large = any(largest(x) >= 1e20 for x in c.tensors.values())
    large = large and c.derives("Softmax", "LogSoftmax")
    steep = any(0 < smallest(x) <= 1e-20 for x in c.tensors.values()) and c.derives("Div")
    return c.aspect == "values" and (large or steep) and may_be_rounding(c)


def has_constant_row(x: torch.Tensor) -> bool:
    if x.dim() == 0 or x.numel() == 0 or not x.is_floating_point():
        return False
    return bool((x == x[..., :1]).all(-1).any())


def has_constant_channel(x: torch.Tensor) -> bool:
    if x.dim() < 2 or x.numel() == 0 or not x.is_floating_point():
        return False
    channels = x.detach().transpose(0, 1).flatten(1)
    return bool((channels == channels[:, :1]).all(1).any())


@documented("**`pow`** of `float32`")
def _(c: Case) -> bool:
    odd = re.search(r"(pow_?\(|\*\*).*\b(\d{8,}|\d\.\d+e\+?\d+)", c.statement)
    return c.aspect == "values" and odd is not None


# The exponents of derivatives are smaller by 1.
@documented("**`pow`** of `float32`")
def _(c: Case) -> bool:
    powers = [n for x in c.derived for n in graph_of(x) if n.name() == "PowBackward0"]
    odd = any(abs(n._saved_exponent) > 2**24 for n in powers)
    return c.aspect == "values" and odd


# PyTorch's are infinite, never ours alone.
@documented("**`cosh` and `sinh`**")
def _(c: Case) -> bool:
    called = re.search(r"\b(cosh|sinh)_?\(", c.statement) is not None
    return called and all_that_differ(c, lambda ours, theirs: ours.isfinite() & theirs.isinf())


@documented("**`ldexp`** is exact")
def _(c: Case) -> bool:
    called = re.search(r"\bldexp_?\(", c.statement) is not None
    return called and all_that_differ(c, lambda ours, theirs: ~theirs.isfinite() | (theirs == 0))


@documented("**`batch_norm`** of infinities")
def _(c: Case) -> bool:
    normalises = re.search(r"batch_norm\(|BatchNorm", c.called) or c.derives("NativeBatchNorm")
    huge = any(largest(x) ** 2 > torch.finfo(x.dtype).max for x in floats_of(c))
    return c.aspect == "values" and bool(normalises) and huge


def floats_of(c: Case) -> list[torch.Tensor]:
    return [x for x in c.tensors.values() if x.is_floating_point()]


# At NaN, depending on the element's place in a vector.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    steps = c.derives("Hardtanh", "Hardshrink", "Softshrink")
    return c.aspect == "values" and steps and any(bool(x.isnan().any()) for x in floats_of(c))


# 2 to the power of an integer is one.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    integers = [x for x in c.tensors.values() if not x.is_floating_point() and x.numel()]
    cut = any(int(x.min()) < 0 or int(x.max()) > 30 for x in integers)
    return c.aspect == "values" and cut and c.derives("Ldexp")


# Of operands that are far apart.
@documented("**`logaddexp`** has the second derivative 0")
def _(c: Case) -> bool:
    return is_derivative(c) and only_theirs_is_nan(c) and c.derives("Logaddexp")


# At 0, where PyTorch's second derivative is not that of its first.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    zeros = any(bool((x == 0).any()) for x in floats_of(c))
    return c.aspect == "values" and zeros and c.derives("PreluKernelBackward")


# At -0, and with bounds at NaN, where a graph is built.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    def wrong(ours, theirs):
        return (ours.isinf() & (ours == -theirs)) | ours.isnan()

    return "create_graph" in c.statement and c.derives("Logit") and all_that_differ(c, wrong)


# A number without a sign is negated.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    unsigned = any(x.dtype in (torch.uint8, torch.bool) for x in c.tensors.values())
    wrong = c.aspect == "values" or c.only_theirs_raises("Negation, the `-` operator, on a bool")
    return unsigned and wrong and c.derives("Atan2")


@documented("**`batch_norm`** of infinities")
def _(c: Case) -> bool:
    running = c.aspect == "values" and "running_" in c.difference.place
    return running and "nan" in c.difference.ours and "inf" in c.difference.theirs


@documented("**Infinities** in a backward")
def _(c: Case) -> bool:
    at_once = any("BackwardBackward" in n.name() for x in c.derived for n in graph_of(x))
    steps = at_once or c.derives("Convolution", "NativeLayerNorm", "Gelu")
    return steps and only_the_infinite_differs(c)


# The index of scatter_add is narrower than what it adds to.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return c.aspect == "values" and "scatter_add" in c.statement and has_expanded_index(c)


def has_expanded_index(c: Case) -> bool:
    return any(x.dtype is torch.int64 and x.dim() > 1 and 0 in x.stride() for x in c.used)


@documented("**`var_mean` and `std_mean`**")
def _(c: Case) -> bool:
    return (
        "_mean(" in c.statement
        and c.aspect == "values"
        and isinstance(c.theirs, torch.Tensor)
        and bool(c.theirs.isnan().any())
    )


@documented("**`x.addmm_(x, x)`**")
def _(c: Case) -> bool:
    if c.aspect != "values" or not re.search(r"\.(addmm|baddbmm|addbmm|addmv)_\(", c.statement):
        return False
    target, *factors = (c.tensors[n] for n in re.findall(r"\bx\d+", c.statement))
    return any(share_memory(target, x) for x in factors)


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return "logsumexp(" in c.statement and c.only_theirs_raises(
        "output with shape .* doesn't match the broadcast shape"
    )


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    if not c.only_theirs_raises("Subtraction, the `-` operator, with a bool tensor"):
        return False
    return any(is_power_of_mask(n) for x in c.used for n in graph_of(x))


def is_power_of_mask(node: object) -> bool:
    try:
        return node.name() == "PowBackward1" and node._saved_exponent.dtype is torch.bool
    except RuntimeError:  # one that was freed has worked
        return False


@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    zeros = any(x._is_zerotensor() for x in c.used)
    return zeros and (c.aspect in ("dtype", "strides") or only_the_infinite_differs(c))


@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("ZeroTensors are immutable|on an invalid python storage")


# The same memory of two gradients.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    grads = [x.grad for x in c.tensors.values() if x.is_leaf and x.grad is not None]
    places = [g.data_ptr() for g in {id(g): g for g in grads}.values() if g.numel()]
    wrong = c.aspect == "values" and c.difference.place.endswith(".grad")
    return wrong and len(places) > len(set(places))


# batch_norm with statistics or parameters that are a part of other memory.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    apart = any(x.dim() == 1 and x.stride(0) != 1 for x in c.tensors.values())
    return c.aspect == "values" and apart and c.derives("NativeBatchNorm")


# The quotient of the factor by integers, in place.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    sentence = "result type Float can't be cast to the desired output type"
    return c.derives("Addcdiv") and c.only_theirs_raises(sentence)


# Of infinities, by prod.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return only_theirs_is_nan(c) and c.derives("Prod")


# Of infinities, by gelu.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    gelu = re.search("gelu|GELU", c.called) is not None or c.derives("Gelu")
    return gelu and only_theirs_is_nan(c)


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    sentence = "output with shape .* doesn't match the broadcast shape"
    return c.derives("Clamp") and c.only_theirs_raises(sentence)


# The loss of images in another order than theirs.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    permuted = any(has_node(x, "NllLoss2D") for x in c.derived)
    return permuted and c.only_theirs_raises("grad_input must be contiguous")


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("INTERNAL ASSERT FAILED|please report an enhancement request")


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return c.aspect == "values" and ".addmm_(" in c.statement and not c.theirs.is_floating_point()


@documented("**Integers** never require a gradient")
def _(c: Case) -> bool:
    if c.aspect != "requires_grad" or not isinstance(c.theirs, torch.Tensor):
        return False
    return c.theirs.requires_grad and not c.theirs.is_floating_point()


@documented("**Integers** never require a gradient")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Autograd not support dtype: (Bool|Long|Int|Byte)")


# Rows that hold an infinity, or a NaN.
@documented("**Ignored rows** of `cross_entropy`")
def _(c: Case) -> bool:
    losses = [n for x in c.derived for n in graph_of(x) if n.name().startswith("NllLoss")]
    ignores = any(n._saved_ignore_index != 2**64 - 100 for n in losses)  # shown without its sign
    return ignores and only_theirs_is_nan(c)


@documented("`binary_cross_entropy_with_logits` of an infinite target")
def _(c: Case) -> bool:
    loss = re.search("binary_cross_entropy_with_logits|BCEWithLogitsLoss", c.statement)
    return loss is not None and only_the_infinite_differs(c)


@documented("`batch_norm` counts its running statistics as changed")
def _(c: Case) -> bool:
    return c.aspect == "version" and "batch_norm(" in c.statement
