"""What is known of floats of 16 bits."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from .case import Case, documented, is_derivative
from .elements import all_that_differ, only_the_infinite_differs, only_theirs_is_nan
from .exact import converted, is_result_of

PAGE = "**float16 and bfloat16**"


# What PyTorch's CPU lacks.
@documented(PAGE)
def _(c: Case) -> bool:
    return c.only_theirs_raises("(not implemented for|but got:?) '?(Half|BFloat16)")


# A factor by a number, which overflows before what arrives makes it small.
@documented(PAGE)
def _(c: Case) -> bool:
    narrow = c.named("\n".join(re.findall(r".*\baddcmul_?\(.*", c.history)))
    overflows = all_that_differ(c, lambda ours, theirs: ours.isfinite() & ~theirs.isfinite())
    return is_derivative(c) and any(x.dtype is torch.float16 for x in narrow) and overflows


# Infinite, or whatever was in the memory.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    of = c.named("\n".join(re.findall(r".*\bmatrix_exp\(.*", c.history)))
    return any(map(is_narrow, of)) and is_result_by_floats(c, EXPONENTIALS)


# PyTorch rounds the terms that these add up, bounds, where a point lies between elements, and what a row or a window is
# scaled by; here what is calculated with floats is rounded once.
@documented(PAGE)
def _(c: Case) -> bool:
    if c.aspect != "values" or not any(map(is_narrow, c.floats)):
        return False
    return is_result_by_floats(c, ROUNDED)


def is_result_by_floats(c: Case, functions: dict[object, str]) -> bool:
    """Whether ours is what PyTorch gives where these calculate with floats, and are rounded once."""
    with contextlib.ExitStack() as patches:
        for owner, names in functions.items():
            for name in names.split():
                patched = by_floats(getattr(owner, name.removesuffix("_")), name)
                patches.enter_context(mock.patch.object(owner, name, patched))
        called = re.sub(r"(x\d+) \*\* (\S+)$", r"\1.pow(\2)", c.history, flags=re.M)
        return is_result_of(c, called + "\npass")


EXPONENTIALS = {owner: "matrix_exp" for owner in (torch, torch.linalg, torch.Tensor)}

ROUNDED = {
    torch.nn.functional: "mse_loss kl_div nll_loss cross_entropy binary_cross_entropy soft_margin_loss "
    "cosine_similarity binary_cross_entropy_with_logits grid_sample lp_pool1d lp_pool2d lp_pool3d",
    torch: "atan2 arctan2 cosine_similarity logit pow renorm mvlgamma",
    torch.special: "logit multigammaln",
    torch.Tensor: "atan2 atan2_ arctan2 arctan2_ logit logit_ pow pow_ renorm renorm_ mvlgamma mvlgamma_",
}


def by_floats(function: Callable, name: str) -> Callable:
    def call(*given, **named):
        def widened(x: torch.Tensor) -> torch.Tensor:
            return x.float() if is_narrow(x) else x

        operands = [x for x in tree_leaves((given, named)) if isinstance(x, torch.Tensor)]
        dtypes = [x.dtype for x in operands if x.is_floating_point()]
        wide, wide_named = tree_map_only(torch.Tensor, widened, (given, named))
        made = function(*wide, **wide_named).to(functools.reduce(torch.promote_types, dtypes))
        return operands[0].copy_(made) if name.endswith("_") else made

    return call


# The squares of an optimizer that overflow, or vanish.
@documented(PAGE)
def _(c: Case) -> bool:
    if not re.search(r"\bo\d+\.step\(", c.statement) or not any(map(is_narrow, c.floats)):
        return False
    steps = re.sub(r"\b(o\d+)\.step\(", r"step_by_floats(\1, ", c.history)
    return is_result_of(c, steps, step_by_floats=step_by_floats)


def step_by_floats(optimizer: torch.optim.Optimizer, *closure) -> None:
    """A step of floats, whose results are rounded to 16 bits."""
    parameters = [p for group in optimizer.param_groups for p in group["params"] if is_narrow(p)]
    kept = [(p, p.data, p.grad) for p in parameters]
    for p, data, grad in kept:
        p.grad, p.data = None, data.float()
        p.grad = None if grad is None else grad.float()
        convert_state(optimizer, p, torch.float32)
    optimizer.step(*closure)
    for p, data, grad in kept:
        p.grad, p.data = None, data.copy_(p.data)
        p.grad = grad
        convert_state(optimizer, p, data.dtype)


def convert_state(optimizer: torch.optim.Optimizer, p: torch.Tensor, dtype: torch.dtype) -> None:
    state = optimizer.state[p]
    for name, x in state.items():
        if isinstance(x, torch.Tensor) and x.shape == p.shape and name != "step":
            state[name] = x.to(dtype)


# Terms are not rounded to the dtype of their sum.
@documented(PAGE)
def _(c: Case) -> bool:
    sums = re.search(r"\b((nan)?(sum|mean)|cumsum|\w*norm)\(.*\bdtype=", c.statement) is not None
    if not sums or not only_the_infinite_differs(c) or not is_narrow(c.theirs):
        return False
    largest = torch.finfo(c.theirs.dtype).max
    return any(bool((x.abs() > largest).any()) for x in c.used if x is not c.theirs)


# A number divided by a tensor is the number times the reciprocal, whose square overflows.
@documented(PAGE)
def _(c: Case) -> bool:
    divisors = c.named("\n".join(re.findall(r"= -?[\d.]+ / (x\d+)$", c.history, re.M)))
    vanish = any(x.dtype is torch.float16 and bool((x.abs() < 2**-8).any()) for x in divisors)
    return is_derivative(c) and vanish and only_theirs_is_nan(c)


def is_narrow(x: torch.Tensor) -> bool:
    return x.dtype in (torch.float16, torch.bfloat16)


# PyTorch rounds the quotient of two tensors before it cuts it to an integer.
@documented(PAGE)
def _(c: Case) -> bool:
    quotients = r"//|\b(floor_divide|div(ide)?_?\(.*rounding_mode=)"
    of = c.named("\n".join(s for s in c.history.split("\n") if re.search(quotients, s)))
    return sum(map(is_narrow, of)) > 1 and is_result_of(
        c, converted(c, quotients, is_narrow, "double()")
    )
