"""Elementwise ops of 8- and 16-bit integers and bools, which are compiled for their own width: every pair of bytes."""

import itertools

import dumbtorch as dt
import pytest
from harness import DEVICE

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

BINARY = {
    "add": lambda t, x, y: x + y,
    "add of multiples": lambda t, x, y: t.add(x, y, alpha=7),
    "sub": lambda t, x, y: x - y,
    "sub of multiples": lambda t, x, y: t.sub(x, y, alpha=3),
    "mul": lambda t, x, y: x * y,
    "and": lambda t, x, y: x & y,
    "or": lambda t, x, y: x | y,
    "xor": lambda t, x, y: x ^ y,
    "eq": lambda t, x, y: x == y,
    "ne": lambda t, x, y: x != y,
    "lt": lambda t, x, y: x < y,
    "le": lambda t, x, y: x <= y,
    "gt": lambda t, x, y: x > y,
    "ge": lambda t, x, y: x >= y,
    "maximum": lambda t, x, y: t.maximum(x, y),
    "minimum": lambda t, x, y: t.minimum(x, y),
    "clamp": lambda t, x, y: t.clamp(x, min=y),
    "where": lambda t, x, y: t.where(x > 3, x, y),
    "in place": lambda t, x, y: x.clone().add_(y).mul_(x),
    "into int32": lambda t, x, y: t.add(x, y, out=t.empty_like(x, dtype=t.int32)),
    "of two dtypes": lambda t, x, y: x + y.to(t.int16),
}
UNARY = {
    "neg": lambda t, x: -x,
    "not": lambda t, x: ~x,
    "abs": lambda t, x: x.abs(),
    "relu": lambda t, x: t.nn.functional.relu(x),
    "clamp": lambda t, x: x.clamp(3, 100),
    "above": lambda t, x: x > 100,
    "of a large number": lambda t, x: x == 300,
    "of a small number": lambda t, x: x >= -1,
    "of a float": lambda t, x: x < 2.5,
    "plus": lambda t, x: x + 5,
    "times": lambda t, x: x * 100,
    "times a float": lambda t, x: x * 0.5,
    "where of numbers": lambda t, x: t.where(x > 1, x, 7),
}
NO_BOOLS = {"sub", "sub of multiples", "add of multiples", "neg", "clamp", "relu", "abs"}
DTYPES = ("uint8", "int8", "int16", "bool")
LAYOUTS = ("contiguous", "shifted", "strided", "turned", "broadcast")


def pair(t, dtype: str, layout: str):
    """Each byte with each, shifted to the far ends of 16 bits."""
    if dtype == "bool":
        x = t.arange(1024).remainder(2) == 1
        y = t.arange(1024).remainder(3) == 1
        x, y = x.reshape(32, 32), y.reshape(32, 32)
    else:
        x = t.arange(256).reshape(256, 1).expand(256, 256)
        y = t.arange(256).expand(256, 256)
        if dtype == "int16":
            x, y = x * 257 - 32768, y * 256 - 32640
        x, y = x.to(getattr(t, dtype)).contiguous(), y.to(getattr(t, dtype)).contiguous()
    if layout == "shifted":
        x, y = x.flatten()[3:-5], y.flatten()[5:-3]
    elif layout == "strided":
        x, y = x[:, 1::2], y[:, ::2]
    elif layout == "turned":
        y = y.t()
    elif layout == "broadcast":
        y = y[:1]
    return (x.to(DEVICE), y.to(DEVICE)) if t is dt else (x, y)


def same(ours, theirs):
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name, dtype", itertools.product(BINARY, DTYPES))
def test_pairs(name, dtype, layout):
    if dtype == "bool" and name in NO_BOOLS:
        pytest.skip("refused")
    ours, theirs = (BINARY[name](t, *pair(t, dtype, layout)) for t in (dt, torch))
    same(ours, theirs)


@pytest.mark.parametrize("name, dtype", itertools.product(UNARY, DTYPES))
def test_elements(name, dtype):
    if dtype == "bool" and name in NO_BOOLS:
        pytest.skip("refused")
    ours, theirs = (UNARY[name](t, pair(t, dtype, "strided")[0]) for t in (dt, torch))
    same(ours, theirs)
