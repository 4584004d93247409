"""Runs a row in both libraries."""

from __future__ import annotations

import functools
import os
import zlib

import dumbtorch
import numpy as np
import pytest
from layouts import arrange
from table import NARROW_FLOATS, Input, Row

try:
    import torch
except ModuleNotFoundError:
    torch = None

# Each test is skipped and counted, not the file as one: conftest.py says how many rows that were.
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is the oracle of these tests")

# Where dumbtorch computes; PyTorch, the oracle, stays on the CPU.
DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")

# Relative to the largest value of the result: float32 sums of a few dozen products differ in the last digits.
# A narrow one is rounded after each op of a composition, and PyTorch's compositions differ from ours.
TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 2e-3, "bfloat16": 1.6e-2}


def arrays(row: Row, dtype: str) -> tuple[np.ndarray, ...]:
    return drawn(row.id, row.inputs, dtype)


@functools.lru_cache(maxsize=16)
def drawn(name: str, inputs: tuple[Input, ...], dtype: str) -> tuple[np.ndarray, ...]:
    """Both libraries and all layouts ask for the same numbers, which nobody may change."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    made = tuple(np.asarray(i.array(dtype, random)) for i in inputs)
    for array in made:
        array.setflags(write=False)
    return made


def tensors(library, row: Row, dtype: str, layout: str, grad: bool, rounded_to: str | None = None):
    """(leaves that are differentiated, the arguments of the row's call). Numbers may be rounded to another dtype's."""
    leaves, arguments = [], []
    for i, array in zip(row.inputs, arrays(row, dtype)):
        stored, view = arrange(array, layout if array.ndim and array.size else "contiguous")
        leaf = library.tensor(np.asarray(stored))
        if i.kind in ("value", "fixed"):
            leaf = leaf.to(getattr(library, rounded_to or dtype)).to(getattr(library, dtype))
        if grad and i.kind == "value":
            leaf.requires_grad_()
            leaves.append(leaf)
        arguments.append(view(leaf))
    return leaves, arguments


def as_list(result) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def to_numpy(t) -> np.ndarray:
    # `force`: PyTorch has tensors that are zero without memory, ours may lie on a GPU.
    narrow = str(t.dtype).removeprefix("torch.") in NARROW_FLOATS
    return (t.detach().float() if narrow else t.detach()).numpy(force=True)


def assert_close(ours, theirs, row: Row, what: str) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{what}: shape {tuple(ours.shape)}, PyTorch {tuple(theirs.shape)}"
    )
    name = str(theirs.dtype).removeprefix("torch.")
    assert str(ours.dtype).removeprefix("torch.") == name, (
        f"{what}: dtype {ours.dtype}, PyTorch {name}"
    )
    a, b = to_numpy(ours), to_numpy(theirs)
    if name not in TOLERANCE:
        np.testing.assert_array_equal(a, b, err_msg=what)
        return
    tolerance = row.rtol.get(name, TOLERANCE[name])
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, finite.max()) if finite.size else 1.0
    np.testing.assert_allclose(
        a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True, err_msg=what
    )


def weights(shape, order: int) -> np.ndarray:
    """Fixed numbers that turn a tensor into a scalar: see scalar_of."""
    return np.cos(np.arange(int(np.prod(shape, dtype=int))) + order).reshape(shape)


def scalar_of(library, outputs: list, order: int):
    """sum(y * (weights + y)). It is not linear, so what arrives at a backward depends on the inputs: derivatives of a
    higher order go through it too."""
    total = None
    for y in outputs:
        if y is None or not y.dtype.is_floating_point or not y.requires_grad:
            continue
        w = library.tensor(weights(tuple(y.shape), order), dtype=y.dtype)
        part = (y * (w + y)).sum()
        total = part if total is None else total + part
    return total


def derivatives(
    library, row: Row, dtype: str, layout: str, orders: int, rounded_to: str | None = None
) -> list[list]:
    """For each order the gradients of scalar_of(previous order) with respect to the leaves; shorter when a
    derivative is constant."""
    leaves, arguments = tensors(library, row, dtype, layout, grad=True, rounded_to=rounded_to)
    current = as_list(row.call(library, *arguments))
    result = []
    for order in range(1, orders + 1):
        scalar = scalar_of(library, current, order)
        if scalar is None:
            break
        current = list(library.autograd.grad(scalar, leaves, create_graph=True, allow_unused=True))
        result.append([g if g is None else g.detach() for g in current])
    return result


__all__ = [
    "as_list",
    "arrays",
    "assert_close",
    "derivatives",
    "dumbtorch",
    "needs_torch",
    "scalar_of",
    "tensors",
    "to_numpy",
    "torch",
]
