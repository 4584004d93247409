"""Kernels that a shape chooses: each on both sides of where they change over. On the CPU the same."""

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])


@on_both
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_narrow_integers_wrap_around(device, dtype):
    """Also beside those of another sign or width, and bools."""
    info = np.iinfo(dtype)
    for size in (1, 17, 4099):
        a, b = np.random.default_rng(size).integers(info.min, info.max + 1, (2, size)).astype(dtype)
        x, y = dt.tensor(a).to(device), dt.tensor(b).to(device)
        for ours, truth in (
            (x * y, a * b),
            (x + y, a + b),
            (-x, -a),
            (x < y, a < b),
            (x == y, a == b),
            (~x, ~a),
        ):
            assert ours.cpu().tolist() == truth.tolist()
        for other in (np.int8, np.uint8, np.int16, np.bool_):
            z = np.random.default_rng(size).integers(0, 100, size).astype(other)
            assert (x < dt.tensor(z).to(device)).cpu().tolist() == (a < z).tolist()
            assert (x * dt.tensor(z).to(device)).cpu().tolist() == (a * z).tolist()


# Rows whose results have neighbours that are chosen side by side, and others.
@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.uint8])
@pytest.mark.parametrize(
    "rows, length, taken", [(100, 64, 64), (50, 63, 63), (33, 5, 8), (3, 9, 4099), (700, 12, 4)]
)
def test_gathered_rows(device, dtype, rows, length, taken):
    rng = np.random.default_rng(taken)
    values, index = rng.integers(0, 100, (rows, length)), rng.integers(0, length, (rows, taken))
    x, i = dt.tensor(values).to(dtype).to(device), dt.tensor(index).to(device)
    expected = np.take_along_axis(values, index, 1)
    assert x.gather(1, i).cpu().tolist() == expected.tolist()
    assert x.t().contiguous().t().gather(1, i).cpu().tolist() == expected.tolist()
    assert x.gather(1, i.t().contiguous().t()).cpu().tolist() == expected.tolist()
    assert x[1:].gather(1, i[1:]).cpu().tolist() == expected[1:].tolist()
    behind = dt.tensor(np.append(0, index)).to(device)[1:].reshape(rows, taken)
    assert x.gather(1, behind).cpu().tolist() == expected.tolist()
    across = rng.integers(0, rows, (taken, length))
    assert (
        x.gather(0, dt.tensor(across).to(device)).cpu().tolist()
        == np.take_along_axis(values, across, 0).tolist()
    )


@on_both
@pytest.mark.parametrize("count", [1, 31, 32, 33, 1000, 1024, 1025, 4095, 4096, 4097, 9000])
def test_rows_added_at_repeated_places(device, count):
    """In any order and as often as may be; what is assigned last stays."""
    rng = np.random.default_rng(count)
    for index in (
        rng.integers(0, 700, count),
        rng.permutation(count) % 700,
        np.full(count, 3),
        np.arange(count)[::-1] % 3,
    ):
        source = rng.integers(-9, 10, (count, 8)).astype(np.float32)
        sums, last = np.zeros((700, 8), np.float32), np.zeros((700, 8), np.float32)
        np.add.at(sums, index, source)
        for place, row in zip(index, source, strict=True):
            last[place] = row
        x, i, rows = (
            dt.zeros(700, 8, device=device),
            dt.tensor(index.copy()).to(device),
            dt.tensor(source).to(device),
        )
        np.testing.assert_array_equal(x.index_add(0, i, rows).cpu().numpy(), sums)
        np.testing.assert_array_equal(x.index_put((i,), rows).cpu().numpy(), last)


@on_both
@pytest.mark.parametrize(
    "shape",
    [(446, 209, 1, 11), (100, 20, 15, 33), (300, 17, 16, 40), (500, 9, 100, 7), (3, 200, 500, 3)],
)
def test_many_small_products(device, shape):
    b, m, k, n = shape
    rng = np.random.default_rng(n)
    x, y = rng.integers(-5, 6, (b, m, k)), rng.integers(-5, 6, (b, k, n))
    for dtype in (dt.float32, dt.float64, dt.int32, dt.int64):
        product = dt.bmm(dt.tensor(x).to(dtype).to(device), dt.tensor(y).to(dtype).to(device))
        np.testing.assert_array_equal(product.cpu().numpy(), x @ y)


@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float16, dt.bfloat16])
@pytest.mark.parametrize(
    "depth, outputs", [(1, 64), (7, 264), (513, 4096), (1000, 6400), (300, 20_000)]
)
def test_vectors_times_matrices(device, dtype, depth, outputs):
    """Of small whole numbers, which every dtype adds up exactly."""
    rng = np.random.default_rng(depth)
    vector, matrix = (
        rng.integers(0, 2, (1, depth)),
        rng.integers(-1, 2, (depth, outputs)) * (rng.random((depth, outputs)) < 0.2),
    )
    x, w = dt.tensor(vector).to(dtype).to(device), dt.tensor(matrix).to(dtype).to(device)
    np.testing.assert_array_equal((x @ w).float().cpu().numpy(), vector @ matrix)
    np.testing.assert_array_equal((w.t() @ x.t()).float().cpu().numpy(), (vector @ matrix).T)
