"""The elements of a difference in values."""

from __future__ import annotations

import re
from collections.abc import Callable

import torch

from .case import Case
from .tensors import largest


def numbers_of(text: str) -> torch.Tensor:
    """Those that tensors.describe() has written."""
    numbers = re.findall(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)\b", text.partition(" ")[2] or text)
    return torch.tensor([float(n) for n in numbers], dtype=torch.float64)


def same(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    return (ours == theirs) | (ours.isnan() & theirs.isnan())


def all_within(ours: torch.Tensor, theirs: torch.Tensor, rounding: torch.Tensor | float) -> bool:
    return bool((same(ours, theirs) | ((ours - theirs).abs() <= rounding)).all())


def beyond_tolerance(c: Case) -> torch.Tensor:
    """Which elements compare() takes for different."""
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    return ~(same(ours, theirs) | ((ours - theirs).abs() <= c.difference.tolerance))


def differing(c: Case) -> torch.Tensor:
    """Which elements differ by more than rounding."""
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    narrow = isinstance(c.theirs, torch.Tensor) and c.theirs.dtype in (
        torch.float16,
        torch.bfloat16,
    )
    digits = 4 * torch.finfo(c.theirs.dtype).eps if narrow else 1e-4
    rounding = digits * max(1.0, largest(ours), largest(theirs))
    return ~(same(ours, theirs) | ((ours - theirs).abs() < rounding))


def where_different(c: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """The elements that differ, ours and theirs."""
    ours, theirs = (numbers_of(s) for s in (c.difference.ours, c.difference.theirs))
    return ours[differing(c)], theirs[differing(c)]


def fits(shape: torch.Size, into: torch.Size) -> bool:
    """Whether it can be expanded."""
    tail = into[len(into) - len(shape) :]
    return len(shape) <= len(into) and all(n in (1, m) for n, m in zip(shape, tail))


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
