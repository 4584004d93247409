"""What is known of searches for elements."""

from __future__ import annotations

import ast
import functools
import re

import torch

from .case import Case, documented
from .exact import is_result_of, result_of
from .tensors import NATURE, describe


# A flag by position, which PyTorch takes for another one.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    call = r"\bt\.unique_consecutive\((x\d+), (True|False)(?:, (True|False))?(?:, (None|-?\d+))?"
    flags = re.search(call, c.statement)
    if flags is None:
        return False
    if c.aspect == "raised":
        return "values to unpack" in c.difference.ours + c.difference.theirs
    others = f", return_counts={flags[3]}" if flags[3] else ""
    others += f", dim={flags[4]}" if flags[4] else ""
    named = re.sub(call, rf"t.unique_consecutive(\1, return_inverse=\2{others}", c.statement)
    by_name = c.history.replace(c.statement, named)
    if c.aspect == "values":
        return is_result_of(c, by_name)
    ours = result_of(by_name, c.difference.place)
    if c.aspect == "type":
        without_nodes = functools.partial(re.sub, r", grad_fn=<\w+>", "")
        return without_nodes(describe(ours)) == without_nodes(c.difference.ours)
    return c.aspect in NATURE and str(NATURE[c.aspect](ours)) == c.difference.ours


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return "isin(" in c.statement and c.only_theirs_raises("view size is not compatible")


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    call = re.search(r"\bisin\((x\d+|\S+), (x\d+|\S+), assume_unique=True", c.statement)
    return call is not None and c.aspect == "values" and any(map(is_repeating, c.named(call[0])))


# Of a number among elements that lie in another order, or are many: of those it is not made one of their dtype.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    call = re.search(
        r"\bisin\((?:elements=)?(x\d+|-?\d[\d.e+-]*), (?:test_elements=)?(x\d+)", c.statement
    )
    if call is None:
        return False
    number, among = (c.tensors[n] if n in c.tensors else ast.literal_eval(n) for n in call.groups())
    single = not isinstance(number, torch.Tensor) or number.dim() == 0
    there = single and bool((among == number).any())
    wide = single and c.difference.ours == f"bool {there != ('invert=True' in c.statement)}"
    return (wide and c.aspect == "values") or c.only_theirs_raises("view size is not compatible")


def is_repeating(x: torch.Tensor) -> bool:
    """Whether it has elements twice, or NaN, which an order does not tell apart."""
    return x.unique().numel() < x.numel() or bool(x.isnan().any())
