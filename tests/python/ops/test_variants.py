"""What the rows do not list: every row in every dtype, with an empty dimension, and 0-dim. PyTorch
decides: where it answers our values and gradients are the same, where it refuses so do we."""

from __future__ import annotations

import contextlib

from by_op import by_op
from harness import (
    DEVICE,
    as_list,
    assert_close,
    derivatives,
    dumbtorch,
    needs_torch,
    tensors,
    to_numpy,
    torch,
)
from rows import ROWS
from table import ALL
from test_ops import assert_gradients_close
from variants import MANY, elements, emptied, flattened, is_documented, variants

pytestmark = needs_torch

REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)


def outcome(library, row, dtype) -> list | Exception:
    """The results, or the refusal. A GPU's is known when somebody waits for it."""
    _, arguments = tensors(library, row, dtype, "contiguous", grad=False)
    try:
        results = as_list(row.call(library, *arguments))
        for y in results:
            to_numpy(y)
        wait(library)
    except REFUSALS as error:
        with contextlib.suppress(IndexError):
            wait(library)
        return error
    return results


def wait(library):
    if library is dumbtorch and DEVICE == "cuda":
        dumbtorch.cuda.synchronize()


def check(row, dtype) -> bool:
    """Whether there are results."""
    ours = outcome(dumbtorch, row, dtype)
    if is_documented(row, dtype):
        return False
    theirs = outcome(torch, row, dtype)
    refused = isinstance(ours, Exception), isinstance(theirs, Exception)
    assert refused[0] == refused[1], f"{dtype}: {ours!r}, PyTorch {theirs!r}"
    if refused[0]:
        return False
    for k, (y, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert_close(y, expected, row, f"{dtype}, output {k}")
    return True


def check_everything(row):
    results = [d for d in ALL if check(row, d)]
    if row.orders and "float64" in results:
        # PyTorch's embedding of no indices has no second derivative.
        orders = min(row.orders, row.torch_orders, 1 if row.op == "embedding" else 2)
        ours, theirs = (
            derivatives(t, row, "float64", "contiguous", orders) for t in (dumbtorch, torch)
        )
        assert_gradients_close(ours, theirs, row, "contiguous")


@by_op([r for r in ROWS if set(ALL) - set(r.dtypes) and elements(r) <= MANY])
def test_other_dtypes(row):
    for dtype in ALL:
        if dtype not in row.dtypes:
            check(row, dtype)


@by_op(variants(ROWS, emptied))
def test_empty(row):
    check_everything(row)


@by_op(variants(ROWS, flattened))
def test_0d(row):
    check_everything(row)
