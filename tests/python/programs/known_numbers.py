"""What is known of numbers."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable
from unittest import mock

import torch

from .case import (
    UNUSED,
    Case,
    documented,
    graph_behind,
    graph_of,
    has_node,
    is_derivative,
    is_named,
    share_memory,
)
from .elements import (
    all_that_differ,
    all_within,
    beyond_tolerance,
    differing,
    numbers_of,
    only_the_infinite_differs,
    only_theirs_is_nan,
    same,
)
from .exact import (
    converted,
    is_result_of,
    is_rounding,
    is_unsteady,
    is_within_noise,
    magnitudes,
    may_be_rounding,
    may_overflow,
    operands_within,
    result_of,
)
from .known_memory import repeats
from .known_saved import dtype_at
from .tensors import largest, smallest

PRODUCT = r"linear\(|matmul\(|matrix_power\(|mm_?\(|mv\(|dot\(|inner\(|einsum\(|@"


# The second derivative by the bias of layer_norm, if by nothing else.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    lost = c.aspect == "type" and c.difference.theirs == "None"
    return (lost or c.only_theirs_raises(UNUSED)) and c.derives("NativeLayerNorm")


@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    vanishes = all_that_differ(c, lambda _, theirs: theirs == 0)
    return vanishes and may_overflow(c, "embedding_renorm_", power=4)


# Nor where an index is refused.
@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    limited = re.search(r"\bembedding(_bag)?\((x\d+), (x\d+), .*", c.statement)
    if c.aspect != "values" or limited is None:
        return False
    indices, weight = c.named(limited[2]), c.named(limited[3])
    beyond = any(bool((i >= len(w)).any() | (i < 0).any()) for i in indices for w in weight)
    return beyond and any(c.theirs is w for w in weight)


# Along an expanded dimension PyTorch's median is not even an element.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    apart = converted(c, r"median\(", repeats, "contiguous()")
    return "median(" in c.statement and is_result_of(c, apart)


# PyTorch spreads the gradient of a view that is made again over what shares its memory.
@documented("**Expanded memory**")
def _(c: Case) -> bool:
    spread = any(has_node(x, "AsStrided") for x in c.derived)
    shared = any(x._version and repeats(x) for x in c.tensors.values())
    return c.aspect == "values" and spread and shared


# Of channels whose elements are all equal.
@documented("**Rounding**")
def _(c: Case) -> bool:
    normalises = re.search(r"batch_norm\(|BatchNorm", c.called) is not None
    equal = normalises and any(map(has_constant_channel, c.used))
    return c.aspect == "values" and equal and may_be_rounding(c)


@documented("**Rounding**")
def _(c: Case) -> bool:
    equal = c.derives("NativeBatchNorm") and any(map(has_constant_channel, c.tensors.values()))
    return c.aspect == "values" and equal and may_be_rounding(c)


# Of rows whose elements are all equal.
@documented("**Rounding**")
def _(c: Case) -> bool:
    equal = c.derives("NativeLayerNorm") and any(map(has_constant_row, c.tensors.values()))
    return c.aspect == "values" and equal and may_be_rounding(c)


# The exponential of integers is one in float32, also beside float64.
@documented("**Rounding**")
def _(c: Case) -> bool:
    exponential = "poisson_nll_loss(" in c.statement and c.aspect == "values"
    if not exponential or not any(not x.is_floating_point() for x in c.used):
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    rounding = 4 * torch.finfo(torch.float32).eps * max(1.0, largest(theirs))
    return bool(((ours - theirs).abs() <= rounding).all())


# What products leave of terms that cancel: no more than the rounding of one.
@documented("**Rounding**")
def _(c: Case) -> bool:
    multiplies = re.search(PRODUCT, c.statement) or re.search(r"\bBilinear\(", c.called)
    product = multiplies if c.aspect == "values" else None
    if not product or not isinstance(c.theirs, torch.Tensor) or not c.theirs.is_floating_point():
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    terms = magnitudes(c)
    if terms is None:  # in place
        terms = math.prod(max(1.0, largest(x)) for x in c.used if x is not c.theirs)
    else:
        terms = terms.double().flatten()
    rounding = 16 * torch.finfo(c.theirs.dtype).eps * terms
    return all_within(ours, theirs, rounding)


# What is left of two equal products, of which PyTorch rounds one.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if c.aspect != "values" or "cross(" not in c.statement:
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    first, second = (x.abs() for x in cross_products(c, torch.float64))
    rounding = 2 * torch.finfo(c.theirs.dtype).eps * (first + second)
    return all_within(ours, theirs, rounding)


# Products that overflow before one is taken from the other, of which PyTorch does not round one.
@documented("What overflows on the way")
def _(c: Case) -> bool:
    if not re.search(r"\bcross\(", c.statement) or c.aspect != "values":
        return False
    first, second = cross_products(c, c.theirs.dtype)
    overflows = first.isinf() | second.isinf()
    return bool(overflows[differing(c)].all())


def cross_products(c: Case, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """What each element of a cross product is the difference of."""
    given = [x.detach().to(dtype) for x in c.used if x is not c.theirs]
    a, b = torch.broadcast_tensors(given[0], given[-1])
    named = re.search(r"\((?:.*, )?(?:dim=)?(-?\d+)\)$", c.statement)
    along = int(named[1]) if named else -1 if "linalg" in c.statement else a.shape.index(3)
    first = a.roll(-1, along) * b.roll(1, along)
    return first.flatten(), (a.roll(1, along) * b.roll(-1, along)).flatten()


# Elements in the middle between two steps.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if c.aspect != "values" or "fake_quantize" not in c.statement:
        return False
    given = next((x for x in c.used if x.shape == c.theirs.shape and x is not c.theirs), c.theirs)
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    middle = ((ours + theirs) / 2 - given.detach().double().flatten()).abs() <= 1e-6
    return bool((same(ours, theirs) | middle).all())


# What is left of 1 where gelu is nearly 0, divided by what is nearly 0.
@documented("**Rounding**")
def _(c: Case) -> bool:
    quotients = ("Pow", "Div", "Reciprocal", "Rsqrt", "Log")
    divides = [n for x in c.derived for n in graph_of(x) if n.name().startswith(quotients)]
    small = any(m.name().startswith("Gelu") for n in divides for m in graph_behind(n))
    infinite = ~numbers_of(c.difference.theirs).isfinite()  # gelu of an infinity
    return c.aspect == "values" and small and bool((is_rounding(c) | infinite).all())


# The derivative of singular values, and of those that are 0.
@documented("**Factorisations**")
def _(c: Case) -> bool:
    if c.aspect != "values" or not c.derives("LinalgSvd"):
        return False
    # Of a value that rounding alone keeps from 0 the vectors may have any signs.
    lost = any(is_singular(x, torch.finfo(x.dtype).eps) for x in c.floats)
    near = any(is_singular(x, 1e-5) for x in c.floats)
    return lost or may_be_rounding(c) or (near and is_unsteady(c))


# The smallest one of a singular matrix, which is what rounding leaves.
@documented("**Factorisations**")
def _(c: Case) -> bool:
    if "linalg.cond(" not in c.statement:
        return False
    eps = torch.finfo(c.theirs.dtype).eps
    endless = all_that_differ(c, lambda ours, theirs: ours.minimum(theirs) >= 1e-3 / eps)
    return endless and any(is_singular(x, eps) for x in c.used)


def is_singular(x: torch.Tensor, nearly: float) -> bool:
    if x.dim() < 2 or not x.isfinite().all() or x.numel() == 0:
        return False
    sizes = torch.linalg.svdvals(x.detach().double())
    return bool((sizes[..., -1] <= nearly * sizes[..., 0]).any())


# What is left of equal elements without their mean.
@documented("**Rounding**")
def _(c: Case) -> bool:
    return only_the_infinite_differs(c) and c.derives("Var", "Std") and may_overflow(c)


# What overflows on the way does so in one order, and without a fused multiply-add.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if not only_the_infinite_differs(c) or not isinstance(c.theirs, torch.Tensor):
        return False
    given = [x.detach().double() for x in c.used if x is not c.theirs]
    if "exp().prod(" in c.statement:  # within a function that is differentiated
        most = float(given[0].clamp_min(0).nan_to_num().sum())
    elif "prod(" in c.statement:
        most = log_of_product(given[0])
    elif c.derives("Prod", "Cumprod") or (
        "cumprod_(" in c.history and c.derives("torch::autograd::CopySlices")
    ):
        given = operands_within(c)
        most = max(map(log_of_product, given)) + math.log(max([1, *map(largest, given)]))
    elif re.search(rf"{PRODUCT}|bilinear\(|Bilinear\(|var\(|std\(", c.called):
        most = 2 * math.log(max([1, *map(largest, given)]))
    elif re.search(r"\bconv(_transpose)?\dd\(|Conv(Transpose)?\dd\(", c.called):
        most = 2 * math.log(max([1, *map(largest, operands_within(c, r"\w*convolution"))]))
    elif c.derives("Mm", "Bmm", "Mv", "Addmm", "Dot", "Trilinear"):
        most = 2 * math.log(max([1, *map(largest, operands_within(c))]))
    else:
        return False
    nodes = [n for x in c.derived for n in graph_of(x) if is_named(n, ("Prod", "Cumprod"))]
    dtypes = [c.theirs.dtype, *map(dtype_at, nodes)]
    return most > min(math.log(torch.finfo(d).max) for d in dtypes if d.is_floating_point)


def log_of_product(x: torch.Tensor) -> float:
    return float(x.detach().double().abs().clamp_min(1).nan_to_num().log().sum())


@documented("**`embedding(scale_grad_by_freq=True)`**")
def _(c: Case) -> bool:
    scaled = "scale_grad_by_freq=True" in c.history and "create_graph=True" in c.history
    if not scaled or c.aspect != "values" or not c.derives("Embedding"):
        return False
    with mock.patch.object(
        torch, "embedding", functools.partial(embedding_by_steps, torch.embedding)
    ):
        return is_result_of(c, c.history + "\npass")


def embedding_by_steps(
    embedding, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False
):
    """embedding of a weight that is itself, and whose gradient is divided by the frequencies."""
    if scale_grad_by_freq:
        counts = torch.bincount(indices.flatten(), minlength=weight.shape[0]).clamp_min(1)
        weight = _WithPartOfGradient.apply(weight, counts[:, None])
    return embedding(weight, indices, padding_idx, False, sparse)


class _WithPartOfGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, divisor):
        ctx.divisor = divisor
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient / ctx.divisor, None


# What sums of many leave where they cancel.
@documented("**Rounding**")
def _(c: Case) -> bool:
    many = any(x.numel() >= 1024 for x in c.used) and re.search(
        r"(sum|mean|sum_to_size|histogram)\(", c.statement
    )
    single = isinstance(c.theirs, torch.Tensor) and c.theirs.dtype is torch.float32
    return c.aspect == "values" and bool(many) and single and may_be_rounding(c)


# Of rows whose elements are all equal, but for the rounding of their mean.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if c.aspect != "values" or "corrcoef(" not in c.statement:
        return False
    rows = torch.atleast_2d(next(x for x in c.used if x is not c.theirs))
    equal = (rows == rows[:, :1]).all(1)
    touched = (equal[:, None] | equal).flatten()
    return bool(touched[differing(c)].all())


# The arc sine of a correlation that is 1, or nearly, has no end to its slope.
@documented("**Rounding**")
def _(c: Case) -> bool:
    made = c.named(" ".join(re.findall(r"^ *(x\d+) = .*\bcorrcoef\(", c.history, re.M)))
    steep = any(bool(((x.detach().abs() - 1).abs() <= 1e-5).any()) for x in made)
    return steep and c.derives("Asin", "Acos") and is_unsteady(c)


# A sum of a window that is 0, or nearly, has another sign, or none.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if c.aspect != "values" or not c.derives("Sign") or "lp_pool" not in c.history.lower():
        return False
    functional = torch.nn.functional
    with contextlib.ExitStack() as patches:
        for name in ("lp_pool1d", "lp_pool2d", "lp_pool3d"):
            unknown = of_unknown_sign(getattr(functional, name))
            patches.enter_context(mock.patch.object(functional, name, unknown))
        reached = result_of(c.history, c.difference.place)
    if not isinstance(reached, torch.Tensor) or reached.shape != c.theirs.shape:
        return False
    return bool(reached.isnan().flatten()[beyond_tolerance(c)].all())


def of_unknown_sign(lp_pool: Callable) -> Callable:
    """lp_pool, of which the gradient is NaN by what lies in a window whose sum is 0, or nearly."""

    def pooled(input, norm_type, *windows, **named):
        powers = input.detach().pow(norm_type)
        sums, sizes = (lp_pool(x, 1.0, *windows, **named).abs() for x in (powers, powers.abs()))
        y = lp_pool(input, norm_type, *windows, **named)
        if y.requires_grad:
            nearly = sums <= 16 * torch.finfo(sums.dtype).eps * sizes
            y.register_hook(lambda gradient: gradient.masked_fill(nearly, math.nan))
        return y

    return pooled


# Distances that are made of products: their squares are what is left of terms that cancel.
@documented("**Rounding**")
def _(c: Case) -> bool:
    products = re.search(r"cdist\(", c.statement) and "donot_use_mm" not in c.statement
    if c.aspect != "values" or not products:
        return False
    ours, theirs = (numbers_of(s).square() for s in (c.difference.ours, c.difference.theirs))
    terms = max(1.0, *(x.shape[-1] * largest(x) ** 2 for x in c.used if x is not c.theirs))
    rounding = 16 * torch.finfo(c.theirs.dtype).eps * terms
    return all_within(ours, theirs, rounding)


# What is left of large gradients that cancel.
@documented("**Rounding**")
def _(c: Case) -> bool:
    large = any(largest(x) >= 1e20 for x in c.tensors.values())
    large = large and c.derives("Softmax", "LogSoftmax")
    steep = any(0 < smallest(x) <= 1e-20 for x in c.tensors.values()) and c.derives("Div")
    return c.aspect == "values" and (large or steep) and may_be_rounding(c)


# What is left of gradients by both operands where they are one tensor.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if c.aspect != "values" or not c.derives("Div", "LinalgCross"):
        return False
    itself = r"\((x\d+), (?:\w+=)?\1\b|(x\d+)\.\w+\((?:\w+=)?\2\b|(x\d+) / \3\b"
    return re.search(itself, c.history) is not None and is_unsteady(c)


# What is left where terms cancel, as of gradients by both operands of a quotient that are made of one tensor, or of
# distances that are large, and what is made of that.
@documented("**Rounding**")
def _(c: Case) -> bool:
    steps = r"//|%|rounding_mode|floor|ceil|round|trunc|frac|remainder|fmod|quantize|heaviside"
    return c.aspect == "values" and not re.search(steps, c.called) and is_within_noise(c)


# What is left of huge terms that cancel decides on which side an activation is flat.
@documented("**Rounding**")
def _(c: Case) -> bool:
    huge = any(largest(x) >= 1e20 for x in c.floats)
    flat = c.derives("Sigmoid", "Tanh", "Relu") and c.derives("Addmm", "Mm")
    return c.aspect == "values" and huge and flat and may_be_rounding(c)


def has_constant_row(x: torch.Tensor) -> bool:
    if x.dim() == 0 or x.numel() == 0 or not x.is_floating_point():
        return False
    return bool((x == x[..., :1]).all(-1).any())


def has_constant_channel(x: torch.Tensor) -> bool:
    if x.dim() < 2 or x.numel() == 0 or not x.is_floating_point():
        return False
    channels = x.detach().transpose(0, 1).flatten(1)
    return bool((channels == channels[:, :1]).all(1).any())


# A tensor in place that PyTorch makes grow.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    grows = c.aspect == "shape" or c.only_ours_raises("Bad in-place call: input tensor size")
    return grows and ".addbmm_(" in c.statement


# The index is narrower than what it adds to.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    apart = converted(c, "scatter_(add|reduce)", is_expanded_index, "contiguous()")
    scatters = re.search("scatter_(add|reduce)", c.statement) is not None
    return scatters and is_result_of(c, apart)


# So does the gradient of what such an index has read, or the gradient of a scatter.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    apart = converted(c, r"\b(gather|scatter_?)\(", is_expanded_index, "contiguous()")
    return c.derives("Gather") and is_result_of(c, apart)


def is_expanded_index(x: torch.Tensor) -> bool:
    return x.dtype is torch.int64 and x.dim() > 1 and 0 in x.stride()


@documented("**`var_mean` and `std_mean`**")
def _(c: Case) -> bool:
    if "_mean(" not in c.statement or c.aspect != "values":
        return False
    left = 16 * torch.finfo(c.theirs.dtype).eps * max(map(largest, c.used))
    return all_that_differ(c, lambda a, b: b.isnan() | ((a - b).abs() <= left))


@documented("**`x.addmm_(x, x)`**")
def _(c: Case) -> bool:
    call = re.fullmatch(r"(.*\b(x\d+)\.(?:addmm|baddbmm|addbmm|addmv)_\()(.*)", c.statement)
    if call is None or call[2] not in c.tensors:
        return False

    def copied(name: re.Match) -> str:
        x = c.tensors.get(name[0])
        together = x is not None and share_memory(x, c.tensors[call[2]])
        return f"{name[0]}.clone()" if together else name[0]

    apart = call[1] + re.sub(r"\bx\d+\b", copied, call[3])
    return is_result_of(c, c.history.replace(c.statement, apart))


@documented("**`baddbmm`** by `alpha=0`")
def _(c: Case) -> bool:
    narrow = any(x.dtype in (torch.float16, torch.bfloat16) for x in c.used)
    expanded = any(repeats(x) for x in c.used if x.dim() == 1)
    products = r"b?addb?m[mv]" if narrow else "baddbmm|addmv" if expanded else "baddbmm"
    call = rf"\b({products})_?\(.*alpha=-?0(\.0+)?(?![.\d])"
    return re.search(call, c.statement) is not None and only_theirs_is_nan(c)


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return "logsumexp(" in c.statement and c.only_theirs_raises(
        "output with shape .* doesn't match the broadcast shape"
    )


@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    zeros = any(x._is_zerotensor() for x in c.used)
    return zeros and (c.aspect in ("dtype", "strides") or only_the_infinite_differs(c))


# Those that the derivative of a sign is, where they are divided by 0.
@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    return c.derives("Sgn", "Sign") and all_that_differ(
        c, lambda ours, theirs: ours.isnan() & theirs.isfinite()
    )


# What is computed with them is not part of a graph.
@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    outside = c.aspect == "requires_grad" and c.difference.theirs == "False"
    zeros = isinstance(c.theirs, torch.Tensor) and not c.theirs.any()
    return outside and zeros and is_derivative(c) and c.derives("Sgn")


# Nor is what is added to them, if it is not itself: it is, where zeros come that are tensors like others.
@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    outside = c.aspect == "requires_grad" and c.difference.theirs == "False"
    if not outside or not is_derivative(c) or not c.derives("Sgn"):
        return False
    others = re.sub(r"\bt\.sgn(_?)\((x\d+)\)", r"t.mul\1(\2, 0)", c.history)
    others = re.sub(r"\.sgn(_?)\(\)", r".mul\1(0)", others)
    zeros = result_of(others, c.difference.place)
    return isinstance(zeros, torch.Tensor) and zeros.requires_grad


# What a gradient that is such has become the sum of.
@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    x = c.tensors.get(c.difference.place.removesuffix(".grad"))
    if c.aspect not in ("dtype", "strides") or x is None or not x.requires_grad:
        return False
    end = torch.autograd.graph.get_gradient_edge(x).node
    nodes = {n for y in c.tensors.values() for n in graph_of(y) if n.name().startswith("SgnB")}
    return any(end in graph_behind(n) for n in nodes)


@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("ZeroTensors are immutable|on an invalid python storage")


# PyTorch takes bools away from them.
@documented("**Zeros without memory**")
def _(c: Case) -> bool:
    zeros = any(x._is_zerotensor() for x in c.used)
    return zeros and c.only_ours_raises("^[^,]*sub: Subtraction, .* with a bool tensor is not")


# The same memory of two gradients.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    grads = [x.grad for x in c.tensors.values() if x.is_leaf and x.grad is not None]
    places = [g.data_ptr() for g in {id(g): g for g in grads}.values() if g.numel()]
    wrong = c.aspect == "values" and c.difference.place.endswith(".grad")
    return wrong and places.count(c.theirs.data_ptr()) > 1


# batch_norm with statistics or parameters that are a part of other memory.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    def is_apart(x: torch.Tensor) -> bool:
        return x.dim() == 1 and x.stride(0) != 1

    together = converted(c, r"batch_norm\(", is_apart, "contiguous()")
    return c.derives("NativeBatchNorm") and is_result_of(c, together)


# Of infinities and NaN, by prod, whose gradient beside zeros is made of running products.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    beside_zeros = re.search(r"\bprod\(", c.history) is not None and c.derives("Cumprod")
    return only_theirs_is_nan(c) and (beside_zeros or c.derives("Prod")) and may_overflow(c)


# The loss of images in another order than theirs.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    permuted = any(has_node(x, "NllLoss2D") for x in c.derived)
    return permuted and c.only_theirs_raises("grad_input must be contiguous")


# What LBFGS makes of a parameter that has moved by a rounding error since its last step, which it divides by.
@documented("**Rounding**")
def _(c: Case) -> bool:
    steps = len(re.findall(r"\bo\d+\.step\(", c.history))
    again = "LBFGS(" in c.history and ".step(" in c.statement and steps > 1
    return again and (c.aspect == "version" or is_within_noise(c))


# PyTorch's polynomials for float32 have four to five digits.
@documented("**Rounding**")
def _(c: Case) -> bool:
    exponential = "matrix_exp(" in c.statement or c.derives("LinalgMatrixExp")
    return c.aspect == "values" and exponential and may_be_rounding(c)


# Of integers whose distance does not fit into them.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    ends = re.search(r"logspace\((?:start=)?(-?[\d.e+]+), (?:end=)?(-?[\d.e+]+)", c.statement)
    if ends is None or c.aspect != "values" or c.theirs.is_floating_point():
        return False
    start, end = map(float, ends.groups())
    wraps = abs(end - start) > torch.iinfo(c.theirs.dtype).max
    lines = c.history.split("\n")
    lines[-1] = lines[-1].replace("t.logspace(", "logspace_by_floats(")
    return wraps and is_result_of(c, "\n".join(lines), logspace_by_floats=logspace_by_floats)


def logspace_by_floats(start, end, steps, base=10.0, *, dtype) -> torch.Tensor:
    """logspace of integers, whose distance no integer has to hold."""
    return torch.logspace(int(start), int(end), steps, base, dtype=torch.float64).to(dtype)
