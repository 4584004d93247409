"""What is known of ranges of numbers."""

from __future__ import annotations

import re

import torch

from .case import Case, documented
from .elements import all_within, numbers_of


# Of integers, whose steps are cut off.
@documented("**Rounding**")
def _(c: Case) -> bool:
    if c.aspect != "values" or "linspace(" not in c.statement or c.theirs.is_floating_point():
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    return bool(((ours - theirs).abs() <= 1).all())


# Of powers with large exponents, which are rounded first.
@documented("**Rounding**")
def _(c: Case) -> bool:
    ends = re.search(r"logspace\((?:start=)?(-?[\d.e+]+), (?:end=)?(-?[\d.e+]+)", c.statement)
    if ends is None or c.aspect != "values" or not c.theirs.is_floating_point():
        return False
    ours, theirs = (numbers_of(s).log10() for s in (c.difference.ours, c.difference.theirs))
    largest_exponent = max(abs(float(end)) for end in ends.groups())
    return all_within(ours, theirs, 4 * torch.finfo(c.theirs.dtype).eps * largest_exponent)


# Sums of large integers as floats, which cancel.
@documented("**Rounding**")
def _(c: Case) -> bool:
    sums = re.search(r"\b(sum|mean|nansum|nanmean)\(.*dtype=", c.statement) is not None
    given = [x for x in c.used if x is not c.theirs and not x.is_floating_point()]
    if not sums or not given or c.aspect != "values" or not c.theirs.is_floating_point():
        return False
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    terms = sum(float(x.double().abs().sum()) for x in given)
    return all_within(ours, theirs, 2 * torch.finfo(c.theirs.dtype).eps * terms)
