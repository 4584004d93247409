"""What is known of floats of 16 bits."""

from __future__ import annotations

import re

import torch

from .case import Case, documented, is_derivative
from .elements import all_that_differ, beyond_tolerance, numbers_of, only_theirs_is_nan
from .exact import converted, is_result_of

PAGE = "**float16 and bfloat16**"


# What PyTorch's CPU lacks.
@documented(PAGE)
def _(c: Case) -> bool:
    return c.only_theirs_raises("(not implemented for|but got:?) '?(Half|BFloat16)")


# A bound so near to 1 that it rounds to that.
@documented(PAGE)
def _(c: Case) -> bool:
    bound = re.search(r"\blogit_?\((?:.*, )?(?:eps=)?([\d.e-]+)\)", c.statement)
    narrow = isinstance(c.theirs, torch.Tensor) and c.theirs.dtype in (
        torch.float16,
        torch.bfloat16,
    )
    if (
        c.aspect != "values"
        or bound is None
        or not narrow
        or float(bound[1]) > torch.finfo(c.theirs.dtype).eps / 4
    ):
        return False
    ours, theirs = (
        numbers_of(t)[beyond_tolerance(c)] for t in (c.difference.ours, c.difference.theirs)
    )
    return bool((ours.isfinite() & theirs.isinf()).all())


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
    return any(map(is_narrow, of)) and is_result_of(
        c, converted(c, r"\bmatrix_exp\(", is_narrow, "double()")
    )


# Each of the terms is rounded.
@documented(PAGE)
def _(c: Case) -> bool:
    if not re.search(r"\bmvlgamma_?\(", c.statement):
        return False
    wide = re.sub(
        r"^(x\d+)\.mvlgamma_\((.*)\)$", r"\1 = \1.float().mvlgamma(\2)", c.history, flags=re.M
    )
    wide = re.sub(r"(x\d+)\.mvlgamma\(|mvlgamma\((x\d+), ", with_floats, wide)
    return any(map(is_narrow, c.used)) and is_result_of(c, wide)


# Where a point lies between elements is rounded to 16 bits.
@documented(PAGE)
def _(c: Case) -> bool:
    samples = re.search(r"\bgrid_sample\(.*'nearest'", c.statement) is not None
    wide = converted(c, r"\bgrid_sample\(", is_narrow, "float()")
    return samples and any(map(is_narrow, c.used)) and is_result_of(c, wide)


# A number divided by a tensor is the number times the reciprocal, whose square overflows.
@documented(PAGE)
def _(c: Case) -> bool:
    divisors = c.named("\n".join(re.findall(r"= -?[\d.]+ / (x\d+)$", c.history, re.M)))
    vanish = any(x.dtype is torch.float16 and bool((x.abs() < 2**-8).any()) for x in divisors)
    return is_derivative(c) and vanish and only_theirs_is_nan(c)


def with_floats(call: re.Match) -> str:
    return f"{call[1]}.float().mvlgamma(" if call[1] else f"mvlgamma({call[2]}.float(), "


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
