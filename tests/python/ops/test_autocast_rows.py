"""Every row under autocast: dtypes and values as PyTorch's."""

import numpy as np
import pytest
from by_op import by_op
from harness import DEVICE, TOLERANCE, as_list, dumbtorch, needs_torch, tensors, to_numpy, torch
from rows import ROWS

# (dtype of the inputs, autocast's)
PAIRS = (
    ("float32", "bfloat16"), ("float32", "float16"), ("bfloat16", "bfloat16"), ("float16", "float16"),
    ("bfloat16", "float16"), ("float64", "bfloat16"),
)  # fmt: skip

# docs/differences.md says how these differ.
LSTM = ("lstm", "lstm_packed")
OVER_NO_DIMENSIONS = "tensordot-2x3_4"


class Bare:
    """PyTorch by another name: rows widen what it has of float32 alone, and under autocast it does that itself."""

    __name__ = "bare"

    def __getattr__(self, name):
        return getattr(torch, name)


def run(library, names, row, dtype: str, lower: str):
    _, arguments = tensors(library, row, dtype, "contiguous", grad=False)
    with library.autocast("cpu", getattr(library, lower)):
        return as_list(row.call(names, *arguments))


def assert_alike(ours, theirs, row, dtype: str, lower: str) -> None:
    """A product of narrow factors is rounded, wherever in a composition."""
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    a, b = to_numpy(ours), to_numpy(theirs)
    tolerance = max(
        row.rtol.get(dtype, TOLERANCE[dtype]), 0 if dtype == "float64" else TOLERANCE[lower]
    )
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, finite.max()) if finite.size else 1.0
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


CASES = [
    row
    for row in ROWS
    if "float32" in row.dtypes and row.op not in LSTM and row.id != OVER_NO_DIMENSIONS
]


@needs_torch
@pytest.mark.skipif(DEVICE != "cpu", reason="the oracle runs on the CPU, whose policies are others")
@by_op(CASES)
def test_row(row):
    for dtype, lower in PAIRS:
        try:
            theirs = run(torch, Bare(), row, dtype, lower)
        except (RuntimeError, TypeError, ValueError):
            continue  # of narrow floats it has less, and with two of them it refuses to promote
        ours = run(dumbtorch, dumbtorch, row, dtype, lower)
        for a, b in zip(ours, theirs, strict=True):
            assert_alike(a, b, row, dtype, lower)


@needs_torch
@pytest.mark.parametrize("op", ["cat", "stack", "index_copy"])
def test_two_half_precisions_are_not_promoted(op):
    def refusal(t):
        a, b = t.ones(2, dtype=t.float16), t.ones(2, dtype=t.bfloat16)
        call = {
            "cat": lambda: t.cat([a, b]),
            "stack": lambda: t.stack([a, b]),
            "index_copy": lambda: t.index_copy(a, 0, t.tensor([0, 1]), b),
        }[op]
        with t.autocast("cpu"), pytest.raises(RuntimeError) as error:
            call()
        return str(error.value).removeprefix(f"{op}: ")

    assert refusal(dumbtorch) == refusal(torch)
