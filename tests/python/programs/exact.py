"""What a program gives with other floats, where nothing but rounding errors may be left."""

from __future__ import annotations

import ast
import contextlib
import re

import torch

from .case import Case
from .elements import numbers_of
from .tensors import largest


def may_be_rounding(c: Case) -> bool:
    """Whether what came out here is as near to the exact result as PyTorch's is, up to a factor of the size of other
    sums. Of what was made of both floats nothing is known."""
    if not isinstance(c.theirs, torch.Tensor):
        return True
    if c.theirs.dtype is not torch.float32 and any(x.dtype is torch.float32 for x in c.floats):
        return True
    return bool(is_rounding(c).all())


def is_rounding(c: Case) -> torch.Tensor:
    """Of which elements that holds. Of float64 the exact result is not known; but float32 errs more by as much as it is
    less precise."""
    ours, theirs = (numbers_of(t) for t in (c.difference.ours, c.difference.theirs))
    single = c.theirs.dtype is torch.float32
    other = result_in(torch.float64 if single else torch.float32, c.history, c.difference.place)
    if not isinstance(other, torch.Tensor) or other.shape != c.theirs.shape:
        return torch.zeros_like(ours, dtype=torch.bool)
    other = other.detach().double().flatten()
    if single:
        error, rounding = (ours - other).abs(), largest((theirs - other).abs())
    else:
        precision = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
        error, rounding = (ours - theirs).abs(), largest((other - theirs).abs()) * precision
    return (error <= 16 * rounding) | ~other.isfinite()


def result_in(dtype: torch.dtype, program: str, place: str) -> object:
    """What PyTorch calls so after the program with other floats; None where that cannot be said."""
    names: dict = {"t": torch}
    name = str(dtype).removeprefix("torch.")
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        for node in statements(re.sub("float32|float64", name, program)):
            with contextlib.suppress(Exception):
                exec(compile(ast.Module([node], []), "<program>", "exec"), names)
        with contextlib.suppress(Exception):
            return eval(place, names)
    finally:
        torch.set_default_dtype(before)
    return None


def statements(history: str) -> list[ast.stmt]:
    """Those of a history, in which what is in a block stands after it once more."""
    nodes, found = ast.parse(history).body, []
    while nodes:
        node = nodes.pop(0)
        found.append(node)
        if isinstance(node, ast.With):
            del nodes[: sum(isinstance(n, ast.stmt) for n in ast.walk(node)) - 1]
    return found
