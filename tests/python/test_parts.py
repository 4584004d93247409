"""Results that are copied from several parts in one call: cat, stack and roll."""

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])


def drawn(seed, shape, dtype):
    return (np.random.default_rng(seed).standard_normal(shape) * 9).astype(dtype)


def same(ours, truth):
    assert ours.shape == truth.shape
    assert str(ours.dtype).endswith(str(truth.dtype))
    assert ours.cpu().tolist() == truth.tolist()


# Of few bytes and of many, rows that begin anywhere, more parts than one launch takes, of one element.
WIDTHS = [(3, 5), (64, 64), (1, 1, 1), (129, 0, 7), (16,) * 70, (1000, 1, 999)]


@on_both
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", "bool"])
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("rows", [1, 37, 5000])
def test_joined_rows(device, dtype, widths, rows):
    if rows * sum(widths) > 400_000 and dtype != "float32":
        rows = 200
    parts = [drawn(i, (rows, n), dtype) for i, n in enumerate(widths)]
    given = [dt.tensor(x).to(device) for x in parts]
    same(dt.cat(given, 1), np.concatenate(parts, 1))
    # Each transposed, every second row, and the first column alone.
    same(dt.cat([x.t() for x in given], 0), np.concatenate([x.T for x in parts], 0))
    same(dt.cat([x[::2] for x in given], 1), np.concatenate([x[::2] for x in parts], 1))
    same(dt.cat([x[:, :1] for x in given], 1), np.concatenate([x[:, :1] for x in parts], 1))


@on_both
def test_joined_dtypes(device):
    parts = [drawn(i, (300, 50 + i), d) for i, d in enumerate(("float32", "int8", "float64"))]
    truth = np.concatenate([x.astype("float64") for x in parts], 1)
    same(dt.cat([dt.tensor(x).to(device) for x in parts], 1), truth)


@on_both
@pytest.mark.parametrize("shape", [(7,), (5000,), (40, 30), (3, 200, 50), (5, 2, 3, 4, 3)], ids=str)
def test_stacked(device, shape):
    x = drawn(1, shape, "float32")
    y = dt.tensor(x).to(device)
    for d in range(-1, len(shape)):
        same(dt.stack([y, y.flip(0), y], d), np.stack([x, np.flip(x, 0), x], d))


@on_both
@pytest.mark.parametrize(
    "shape", [(9, 7, 5), (300, 200, 3), (1, 4001, 2), (2, 3, 2, 3, 2)], ids=str
)
def test_rolled(device, shape):
    x = drawn(2, shape, "float32")
    y = dt.tensor(x).to(device)
    for shifts, dims in (
        ((3,), (1,)),
        ((-1, 2), (0, 2)),
        ((5, 1, -2), (2, 0, 1)),
        ((1, 1), (1, 1)),
    ):
        same(y.roll(shifts, dims), np.roll(x, shifts, dims))
        same(y.transpose(0, 1).roll(shifts, dims), np.roll(x.swapaxes(0, 1), shifts, dims))
    same(y.roll(11), np.roll(x, 11))
