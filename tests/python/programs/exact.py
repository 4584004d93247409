"""What a program gives in float64, where float32 leaves nothing but rounding errors."""

from __future__ import annotations

import ast
import contextlib
import re

import torch

from .case import Case


def may_be_rounding(c: Case) -> bool:
    """Whether what came out here is as near to the result in float64 as PyTorch's is, up to a factor of the size of
    other sums. Of float64 itself nothing is known."""
    if not isinstance(c.theirs, torch.Tensor) or c.theirs.dtype is not torch.float32:
        return True
    exact = in_double(c.history, c.difference.place)
    if not isinstance(exact, torch.Tensor) or exact.shape != c.theirs.shape:
        return False
    exact = exact.detach().flatten()
    ours, theirs = ((numbers_of(t) - exact).abs() for t in (c.difference.ours, c.difference.theirs))
    return bool(((ours <= 16 * theirs.max()) | ~exact.isfinite()).all())


def in_double(program: str, place: str) -> object:
    """What PyTorch calls so after the program; None where that cannot be said."""
    names: dict = {"t": torch}
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for node in statements(program.replace("float32", "float64")):
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


def numbers_of(text: str) -> torch.Tensor:
    """Those that tensors.describe() has written."""
    numbers = re.findall(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)\b", text.partition(" ")[2] or text)
    return torch.tensor([float(n) for n in numbers], dtype=torch.float64)
