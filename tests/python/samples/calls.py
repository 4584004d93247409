"""The same call of PyTorch and of this library: arguments as they lie in memory, results, gradients."""

from __future__ import annotations

import types

import dumbtorch as dt
import torch

DTYPES = {getattr(torch, n): getattr(dt, n) for n in ("float64", "float32", "int64", "bool")}


class Skip(Exception):
    """There is no such argument here."""


class Translation:
    """PyTorch's values as this library's; a tensor that comes twice is the same tensor."""

    def __init__(self):
        self.tensors = {}  # by PyTorch's, in the order in which they come

    def __call__(self, value):
        if isinstance(value, torch.Tensor):
            if value not in self.tensors:
                self.tensors[value] = _tensor(value)
            return self.tensors[value]
        if isinstance(value, torch.dtype):
            return _found(DTYPES, value)
        if isinstance(value, torch.memory_format):
            return getattr(dt, str(value).partition(".")[2])
        if isinstance(value, torch.device):
            return str(value)
        if isinstance(value, dict):
            return {name: self(x) for name, x in value.items()}
        if isinstance(value, (list, tuple)):
            return (
                type(value)(self(x) for x in value)
                if type(value) in (list, tuple)
                else tuple(value)
            )
        if isinstance(value, (complex, torch.layout)) or callable(value):
            raise Skip
        return value

    def leaves(self):
        return [(x, y) for x, y in self.tensors.items() if x.requires_grad]


def _found(table, key):
    if key not in table:
        raise Skip
    return table[key]


def _tensor(x):
    dtype = _found(DTYPES, x.dtype)
    if x.layout != torch.strided:
        raise Skip
    if not x.numel():
        y = dt.empty_strided(tuple(x.shape), tuple(x.stride()), dtype=dtype)
    else:
        length = 1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True))
        memory = dt.tensor(x.detach().as_strided((length,), (1,)).numpy())
        y = dt.as_strided(memory, tuple(x.shape), tuple(x.stride()))
    return y.requires_grad_(x.requires_grad)


def function_of(op):
    """What an entry of op_db calls, of this library; None if it has no such name."""
    if isinstance(op.op, types.FunctionType) and "testing" in op.op.__module__:
        f = op.op  # a lambda that calls torch
        ours = types.FunctionType(
            f.__code__, {**f.__globals__, "torch": dt}, f.__name__, f.__defaults__, f.__closure__
        )
        ours.__kwdefaults__ = f.__kwdefaults__
        return ours
    place = dt
    for part in op.name.split("."):
        place = getattr(place, part, None)
    return place or getattr(dt.Tensor, op.name, None)


def flat(result) -> list:
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in flat(part)]
    return [result]


def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs), None
    except Exception as error:
        return None, error


def slopes(t, results, leaves, again: bool):
    """Gradients of weighted sums of the results; with `again` also those of the sum of their squares."""
    results = [x for x in results if isinstance(x, t.Tensor) and x.requires_grad]
    if not results or not leaves:
        return []
    weights = [
        t.linspace(-1, 2, x.numel(), dtype=t.float64).reshape(x.shape).to(x.dtype) for x in results
    ]
    first = t.autograd.grad(results, leaves, weights, create_graph=again, allow_unused=True)
    recorded = [x for x in first if x is not None and x.requires_grad]
    if not again or not recorded:
        return list(first)
    total = sum(x.square().sum() for x in recorded)
    return [*first, *t.autograd.grad(total, leaves, allow_unused=True)]


RTOL = {torch.float32: 2e-4, torch.float64: 1e-7}


def difference(theirs, ours, order: bool, numbers: bool) -> str | None:
    """What is not the same of two values, in words; where they lie, and numbers, only where that is asked."""
    if not isinstance(theirs, torch.Tensor):
        same = type(theirs) is not type(ours) or theirs == ours or theirs != theirs
        return None if same or isinstance(theirs, torch.dtype) else f"{theirs} against {ours}"
    for name in ("dtype", "shape", "requires_grad"):
        mine, other = str(getattr(ours, name)), str(getattr(theirs, name))
        if mine != other:
            return f"{name}: {other} against {mine}"
    lies = [[s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1] for x in (theirs, ours)]
    if order and theirs.numel() > 1 and lies[0] != lies[1]:
        return f"strides: {theirs.stride()} against {ours.stride()}"
    return numbers_differ(theirs, ours) if numbers else None


def numbers_differ(theirs, ours) -> str | None:
    got = torch.tensor(ours.detach().tolist(), dtype=theirs.dtype).reshape(theirs.shape)
    rtol = RTOL.get(theirs.dtype, 0)
    if torch.allclose(got, theirs.detach(), rtol=rtol, atol=rtol / 10, equal_nan=True):
        return None
    return f"{theirs.flatten()[:8].tolist()} against {got.flatten()[:8].tolist()}"
