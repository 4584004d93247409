"""What is known of elementwise ops."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from unittest import mock

import torch

from . import exact_gamma
from .case import Case, documented, graph_of, has_node, is_derivative, keeps
from .elements import (
    all_that_differ,
    beyond_tolerance,
    differing,
    fits,
    numbers_of,
    only_theirs_is_nan,
    where_different,
)
from .exact import (
    converted,
    is_integral,
    is_result_of,
    is_rounding,
    is_unsigned,
    is_within_noise,
    made_of,
    may_overflow,
    operands_within,
)
from .tensors import largest


@documented("**More is taken**")
def _(c: Case) -> bool:
    return "logaddexp" in c.history and c.only_theirs_raises("with a bool tensor is not supported")


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises('"ldexp_cpu_exp" not implemented')


@documented("**More is taken**")
def _(c: Case) -> bool:
    sentence = "Subtraction, the `-` operator, with (a|two) bool tensors? is not supported"
    return c.derives("Lerp") and c.only_theirs_raises(sentence)


@documented("**`pow` with exponents that are 0**")
def _(c: Case) -> bool:
    powers = any(has_node(x, "PowBackward1") for x in c.used)
    return powers and only_theirs_is_nan(c) and is_derivative(c)


@documented("**`x**0.5`**")
def _(c: Case) -> bool:
    powers = [n for x in c.derived for n in graph_of(x) if n.name() == "PowBackward0"]
    halves = [n for n in powers if n._saved_exponent % 1 == 0.5]
    edge = any(
        keeps(n, lambda x: bool((x.signbit() & (x.isinf() | (x == 0))).any())) for n in halves
    )

    def as_of_sqrt(ours, theirs):
        return (ours.isinf() & (ours == -theirs)) | (ours.isnan() & (theirs == 0))

    if not edge or "create_graph=True" not in c.history:
        return False
    if all_that_differ(c, as_of_sqrt):
        return True
    with contextlib.ExitStack() as patches:  # where it is added to others
        for name in ("pow", "float_power", "__pow__"):
            for owner in (torch, torch.Tensor):
                if hasattr(owner, name):
                    root = that_is_sqrt(getattr(owner, name))
                    patches.enter_context(mock.patch.object(owner, name, root))
        return is_result_of(c, c.history + "\npass")


def that_is_sqrt(power: Callable) -> Callable:
    """A power that is sqrt where the exponent says so."""

    def root(input, exponent):
        if isinstance(exponent, torch.Tensor) or exponent != 0.5:
            return power(input, exponent)
        return (input.double() if power.__name__ == "float_power" else input).sqrt()

    return root


# Of 0, which a bool makes it compute as 0 * x**-1.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    powers = [n for x in c.derived for n in graph_of(x) if n.name() == "PowBackward0"]
    return only_theirs_is_nan(c) and any(n._saved_exponent is False for n in powers)


@documented("**`elu`** has the second derivative 0")
def _(c: Case) -> bool:
    wrong = only_theirs_is_nan(c) and is_derivative(c) and may_overflow(c)
    return wrong and any(has_node(x, "EluBackwardBackward") for x in c.used)


@documented("**`hardsigmoid`** and `celu`")
def _(c: Case) -> bool:
    digits = c.aspect == "values" and is_derivative(c) and where_different(c)[0].numel() == 0
    return digits and c.derives("Hardsigmoid", "Elu", "Celu")


@documented("**`hardsigmoid`** and `celu`")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        r"derivative for (aten::(hardsigmoid_backward|heaviside_?)|'inplace version of a(sin|cos|tan)h')"
        " is not implemented"
    )


@documented("**`pow`** of `float32`")
def _(c: Case) -> bool:
    if getattr(c.theirs, "dtype", None) is not torch.float32:
        return False
    call = re.search(r"(pow_?\(|\*\*).*", c.statement)
    if call is None:
        return False
    rounded = re.sub(r"(?<![\w.])\d[\d.]*(?:e[+-]?\d+)?", lambda n: in_float32(n[0]), call[0])
    return is_result_of(c, c.history.replace(call[0], rounded))


def in_float32(number: str) -> str:
    """The number as float32 has it."""
    return repr(torch.tensor(float(number), dtype=torch.float32).item())


# The exponents of derivatives are smaller by 1.
@documented("**`pow`** of `float32`")
def _(c: Case) -> bool:
    powers = [n for x in c.derived for n in graph_of(x) if n.name() == "PowBackward0"]
    odd = any(abs(n._saved_exponent) > 2**24 for n in powers)
    return c.aspect == "values" and odd


# PyTorch's are infinite, never ours alone.
@documented("**`cosh`, `sinh`, `i0` and `i1`**")
def _(c: Case) -> bool:
    called = re.search(r"\b(cosh|sinh|(modified_bessel_)?i[01])_?\(", c.statement) is not None
    return called and all_that_differ(c, lambda ours, theirs: ours.isfinite() & theirs.isinf())


@documented("**`ldexp`** is exact")
def _(c: Case) -> bool:
    if c.aspect != "values" or not re.search(r"\bldexp_?\(", c.statement):
        return False
    wide = torch.zeros(c.theirs.shape, dtype=torch.bool)
    for x in c.used:
        if not x.is_floating_point() and fits(x.shape, wide.shape):
            wide = wide | (x.long() != x.int())
    wide = wide.flatten()[differing(c)]

    def beyond(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        return ~theirs.isfinite() | (theirs == 0) | (wide & (~ours.isfinite() | (ours == 0)))

    return all_that_differ(c, beyond)


@documented("**Bessel's and Airy's functions**")
def _(c: Case) -> bool:
    functions = r"\b(i[01]e?|(modified_)?bessel_[ijy][01]|airy_ai)\("
    called = re.search(functions, c.statement)
    if called is None or c.aspect != "values":
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    of_infinity = any(bool(x.isinf().any()) for x in c.used if x is not c.theirs)
    lost = of_infinity & ~ours.isnan() & theirs.isnan()
    digits = {"a": 4e-6, "b": 1e-6}.get(called[1][0], 0.0)
    near = (ours - theirs).abs() <= digits * theirs.abs().clamp_min(1)
    return bool((lost | near | ~beyond_tolerance(c)).all())


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    lost = all_that_differ(c, lambda ours, theirs: ours.isnan() & ~theirs.isnan())
    unknown = any(bool(x.isnan().any()) for x in c.floats)
    return lost and unknown and c.derives("SpecialI1", "SpecialI1E", "I0")


# The root of -infinity.
@documented("**`x**0.5`** at -0 and -infinity")
def _(c: Case) -> bool:
    lost = all_that_differ(c, lambda ours, theirs: ours.isinf() & theirs.isnan())
    powers = [n for x in c.derived for n in graph_of(x) if n.name() == "PowBackward0"]
    of_infinity = any(bool(x.isneginf().any()) for x in c.floats)
    return lost and of_infinity and any(n._saved_exponent == 1.5 for n in powers)


@documented("**`i0`** of infinity")
def _(c: Case) -> bool:
    called = re.search(r"\bi0_?\(", c.statement) is not None
    return called and all_that_differ(c, lambda ours, theirs: ours.isinf() & theirs.isnan())


# Beside a pole PyTorch's lose digits, all of them in float32: ours are those of exact functions.
@documented("**`polygamma`** and the derivatives of")
def _(c: Case) -> bool:
    if c.aspect != "values" or not any(name in c.history for name in exact_gamma.NAMES):
        return False
    exact = exact_gamma.by_exact_functions(c.history)
    return is_result_of(c, exact, **exact_gamma.FUNCTIONS)


# Of poles and infinities, and in the last digits of trigamma.
@documented("**`polygamma`** and the derivatives of")
def _(c: Case) -> bool:
    called = re.search(r"\bpolygamma_?\(", c.statement) is not None
    if c.derives("torch::autograd::CopySlices", "AsStrided"):  # which hide what was done to a view
        called |= re.search(r"(digamma|lgamma|polygamma)_\(", c.history) is not None
    if c.aspect != "values" or not (
        called or c.derives("Digamma", "Lgamma", "Mvlgamma", "Polygamma")
    ):
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    single = any(x.dtype is torch.float32 for x in c.floats)
    digits = (ours - theirs).abs() <= (3e-5 if single else 1e-8) * theirs.abs().clamp_min(1)
    if single:
        digits |= is_rounding(c)
    pole = made_of(c, r"(di|poly)gamma_?", is_pole)
    return bool((digits | pole | ~theirs.isfinite()).all())


def is_pole(x: torch.Tensor) -> torch.Tensor:
    """Where it is one of the Gamma function, or not finite."""
    return ~x.isfinite() | ((x <= 0) & (x == x.round()))


# Where a function is steep, the last place of its argument moves many of its own.
@documented("**Rounding**")
def _(c: Case) -> bool:
    steep = re.search(r"\b(ndtri|erfinv|logit|digamma|polygamma|tan|atanh)_?\(", c.statement)
    return c.aspect == "values" and steep is not None and is_within_noise(c)


@documented("**`logcumsumexp`**")
def _(c: Case) -> bool:
    unseen = all_that_differ(c, lambda ours, theirs: ours.isnan() | theirs.isnan())
    return is_derivative(c) and unseen and c.derives("Logcumsumexp")


@documented("**`logcumsumexp`**")
def _(c: Case) -> bool:
    if not c.derives("Logcumsumexp"):
        return False
    with (
        mock.patch.object(torch, "logcumsumexp", logcumsumexp_by_sums),
        mock.patch.object(torch.Tensor, "logcumsumexp", logcumsumexp_by_sums),
    ):
        return is_result_of(c, c.history + "\npass")


# Which are gradients by the result, where it is so large that the logarithm of what arrives is lost beside it.
@documented("**`logcumsumexp`**")
def _(c: Case) -> bool:
    at = c.tensors.get(c.difference.place.removesuffix(".grad"))
    by_result = at is not None and has_name(at.grad_fn, "Logcumsumexp") and largest(at) >= 1e10
    return by_result and c.aspect == "values" and "create_graph=True" in c.history


def has_name(node: object, start: str) -> bool:
    return node is not None and node.name().startswith(start)


def logcumsumexp_by_sums(input: torch.Tensor, dim: int) -> torch.Tensor:
    if input.dim() == 0:
        return input.clone()
    ends = range(1, input.shape[dim] + 1)
    return torch.stack([input.narrow(dim, 0, n).logsumexp(dim) for n in ends], dim)


# At NaN, depending on the element's place in a vector.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    names = ("Hardtanh", "Hardshrink", "Softshrink", "Hardswish", "Elu", "Celu")
    steps = [n for x in c.derived for n in graph_of(x) if n.name().startswith(names)]
    if c.aspect != "values" or not steps:
        return False
    ops = "(hardtanh|hardshrink|softshrink|hardswish|elu)_backward"
    return bool(made_of(c, ops)[beyond_tolerance(c)].all())


# So it is of a bound that is NaN: nothing lies between.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    if re.search(r"\bhardshrink\(.*t\.nan", c.history) is None:
        return False
    by_steps = re.sub(r"t\.(nn\.functional\.)?hardshrink\(", "shrunk(", c.history)
    by_steps = re.sub(r"(x\d+)\.hardshrink\(", r"shrunk(\1, ", by_steps)
    return is_result_of(c, by_steps, shrunk=shrunk)


def shrunk(input: torch.Tensor, lambd: float = 0.5) -> torch.Tensor:
    return torch.where((input >= -lambd) & (input <= lambd), 0.0, input)


# 2 to the power of an integer is one.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    by_floats = converted(c, r"\bldexp_?\(", is_integral, "double()")
    return c.derives("Ldexp", "torch::autograd::CopySlices") and is_result_of(c, by_floats)


# Of operands that are far apart.
@documented("**`logaddexp`** has the second derivative 0")
def _(c: Case) -> bool:
    steps = "logaddexp" in c.history and "create_graph=True" in c.history
    return is_derivative(c) and only_theirs_is_nan(c) and (steps or c.derives("Logaddexp"))


# At 0, where PyTorch's second derivative is not that of its first.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    names = "PreluKernelBackwardB"
    slopes = [n for x in c.derived for n in graph_of(x) if n.name().startswith(names)]
    at_zero = any(keeps(n, lambda x: bool((x == 0).any())) for n in slopes)
    return c.aspect == "values" and at_zero


# At -0 where a graph is built, and with bounds at NaN.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    of = c.named("\n".join(re.findall(r".*\blogit_?\(.*", c.history)))
    bounded = any(bool(x.isnan().any()) for x in of)

    def wrong(ours, theirs):
        return (ours.isinf() & (ours == -theirs)) | (ours.isnan() if bounded else False)

    hidden = "logit_(" in c.history and c.derives("torch::autograd::CopySlices")
    return (hidden or c.derives("Logit")) and all_that_differ(c, wrong)


# Of 0, by a number that is NaN: a tensor's is NaN.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    by_number = c.derives("XlogyBackward2", "SpecialXlog1PyBackward2")
    return by_number and all_that_differ(c, lambda ours, theirs: ours.isnan() & (theirs == 0))


# A number without a sign is negated, and squares overflow.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    if not c.derives("Atan2"):
        return False
    wider = converted(c, r"\ba(rc)?tan2_?\(", is_integral, "double()")
    return c.only_theirs_raises("Negation, the `-` operator, on a bool") or is_result_of(c, wider)


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


# Its exponents are smaller by 1, which wraps around.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    by_floats = converted(c, r"pow_?\(|\*\*", holds_the_least, "float()")
    return c.derives("PowBackward1") and is_result_of(c, by_floats)


def holds_the_least(x: torch.Tensor) -> bool:
    """Of negative integers, whose magnitude none has."""
    signed = x.dtype in (torch.int8, torch.int16, torch.int32, torch.int64)
    return signed and bool((x == torch.iinfo(x.dtype).min).any())


# It has another sign.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    if c.aspect != "values" or not re.search(r"\bgcd_?\(", c.statement):
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    negative = (-ours).long().to(c.theirs.dtype)  # in place it may be one of unsigned integers
    either = (ours == theirs) | (negative == theirs)
    return bool(either.all()) and any(map(holds_the_least, c.used))


# Of a factor whose negative wraps around.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    by_floats = converted(c, r"\baddcdiv_?\(", is_integral, "double()")
    return c.derives("Addcdiv") and is_result_of(c, by_floats)


# The product of the number and a factor of integers, which may not fit into these.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    wider = converted(c, r"\baddcmul_?\(.*value=", is_integral, "long()")
    return c.derives("Addcmul") and is_result_of(c, wider)


# The quotient of the factor by integers, in place.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    sentence = "result type Float can't be cast to the desired output type"
    hidden = "addcdiv_(" in c.history and c.derives("torch::autograd::CopySlices")
    return (hidden or c.derives("Addcdiv")) and c.only_theirs_raises(sentence)


# Of infinities, by gelu.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    gelu = re.search("gelu|GELU", c.called) is not None or c.derives("Gelu")
    if not gelu or not only_theirs_is_nan(c):
        return False
    given = [x for x in operands_within(c, r"gelu\w*") if x.shape == c.theirs.shape]
    if is_derivative(c) or not given:
        return may_overflow(c, r"gelu\w*")
    return any(bool(x.isinf().flatten()[differing(c)].all()) for x in given)


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    sentence = "output with shape .* doesn't match the broadcast shape"
    return c.derives("Clamp") and c.only_theirs_raises(sentence)


@documented("`binary_cross_entropy_with_logits` of an infinite target")
def _(c: Case) -> bool:
    loss = re.search("binary_cross_entropy_with_logits|BCEWithLogitsLoss", c.called)
    if loss is None or not all_that_differ(c, lambda ours, theirs: ours.isnan()):
        return False
    infinite = made_of(c, "binary_cross_entropy_with_logits", torch.isinf)
    return bool(infinite[differing(c)].all())


# The elements that differ have such divisors.
@documented("**Remainders** by denormal numbers")
def _(c: Case) -> bool:
    called = re.search(r" %=? |\b(remainder|fmod)_?\(", c.statement) is not None
    if not called or not all_that_differ(c, lambda ours, theirs: ours.isfinite() & theirs.isnan()):
        return False
    denormal = torch.zeros(c.theirs.shape, dtype=torch.bool)
    for x in c.used:
        if x is not c.theirs and x.is_floating_point() and fits(x.shape, c.theirs.shape):
            size = x.detach().abs()
            denormal = denormal | ((size > 0) & (size < torch.finfo(x.dtype).tiny))
    return bool(denormal.flatten()[theirs_alone_is_nan(c)].all())


# Whose quotient overflows.
@documented("**Remainders** by denormal numbers")
def _(c: Case) -> bool:
    called = re.search(r" %=? |\b(remainder|fmod)_?\(", c.statement) is not None
    if not called or not all_that_differ(c, lambda ours, theirs: ours.isfinite() & theirs.isnan()):
        return False
    numbers = [abs(float(n)) for n in re.findall(r"\d\.?\d*e-\d+", c.statement)]
    sizes = [x.detach().double().abs() for x in c.used if x is not c.theirs]
    divisors = [*numbers, *(float(s[s > 0].min()) for s in sizes if bool((s > 0).any()))]
    most = max((float(s.max()) for s in sizes if s.numel()), default=0.0)
    return len(divisors) > 0 and most / min(divisors) > torch.finfo(c.theirs.dtype).max


def theirs_alone_is_nan(c: Case) -> torch.Tensor:
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    return ours.isfinite() & theirs.isnan()


# What its first argument is multiplied with is negated as uint8.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    by_floats = converted(c, r"\bzeta\(", is_unsigned, "double()")
    return c.derives("SpecialZeta") and is_result_of(c, by_floats)


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.derives("SpecialZeta") and c.only_theirs_raises(
        "Negation, the `-` operator, on a bool"
    )


# At NaN.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    losses = re.search(r"(smooth_l1|huber)_loss\(|(SmoothL1|Huber)Loss", c.history) is not None
    again = losses and is_derivative(c) and "create_graph=True" in c.history
    lost = again and all_that_differ(c, lambda ours, theirs: ours.isfinite() & (theirs == 0))
    return lost and any(is_nan_there(x, differing(c)) for x in c.floats)


def is_nan_there(x: torch.Tensor, places: torch.Tensor) -> bool:
    at = x.isnan().flatten()
    return at.shape == places.shape and bool(at[places].all())


# Beside a bound that is NaN PyTorch does not look at the other one.
@documented("**Numbers beyond a narrow dtype**")
def _(c: Case) -> bool:
    bounds = re.search(r"\bcl(amp|ip)_?\(.*\bt\.nan\b", c.statement) is not None
    return bounds and c.only_ours_raises("value cannot be converted to type at::Half without")
