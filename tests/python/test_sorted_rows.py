"""sort of rows of all lengths, whose keys are long, lie close together or are the same, against NumPy and PyTorch."""

import dumbtorch as dt
import numpy as np
import pytest

LENGTHS = [2, 9, 16, 17, 100, 250, 500, 1000, 1024, 2000, 2047, 2048, 5000, 70_000, 270_001]


def numbers(kind, n):
    """Spread over all 64 bits, in clusters of the highest of them, few different ones, and one far from the others."""
    rng = np.random.default_rng(n)
    if kind == "spread":
        return rng.integers(-(2**62), 2**62, size=n)
    if kind == "clusters":
        return rng.integers(0, 3, size=n) * 2**60 + rng.integers(0, 50, size=n)
    if kind == "few":
        return rng.integers(0, 9, size=n) << 55
    return np.where(np.arange(n) == n // 2, 2**61, rng.integers(0, 1000, size=n))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("kind", ["spread", "clusters", "few", "far"])
def test_long_keys(kind, n):
    x = numbers(kind, n)
    for given in (x, x.astype(np.float64)):
        values, order = dt.tensor(given).sort()
        assert order.tolist() == np.argsort(given, kind="stable").tolist()
        assert values.tolist() == np.sort(given).tolist()
        values, order = dt.tensor(given).sort(descending=True)
        assert order.tolist() == np.argsort(-given, kind="stable").tolist()
        assert dt.msort(dt.tensor(given)).tolist() == np.sort(given).tolist()


def rows_with_ties(dtype, rows, n):
    """Numbers of few and of many values, side by side; every third row of floats ends in a NaN."""
    rng = np.random.default_rng(n)
    x = rng.integers(-90 if dtype != "uint8" else 0, 90, size=(rows, n)).astype(np.float64)
    x[1::2] = (
        np.round(rng.normal(size=x[1::2].shape) * 2**20) / 2**16 if "float" in dtype else x[1::2]
    )
    x = x.astype(dtype)
    if "float" in dtype:
        x[::3, n // 2] = np.nan
    return x


DTYPES = ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8"]


@pytest.mark.parametrize("n", [513, 1000, 4096, 4097, 5503, 11_003, 22_007, 45_001, 70_000])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 7, 150])
def test_what_comes_first_and_statistics(dtype, rows, n):
    """As a stable sort has them, of rows, of columns and of every other element."""
    x = rows_with_ties(dtype, rows, n if rows < 150 else n // 8)
    n = x.shape[1]
    order = np.argsort(x, axis=1, kind="stable")
    ours = dt.tensor(x)
    apart = dt.zeros(rows, 2 * n, dtype=ours.dtype)[:, ::2].copy_(ours)
    for given, dim in ((ours, 1), (ours.t().contiguous(), 0), (apart, 1)):
        across = (lambda v: v.T) if dim == 0 else (lambda v: v)
        for k in (1, n // 3, n):
            values, at = (across(v.numpy()) for v in given.kthvalue(k, dim))
            assert at.tolist() == order[:, k - 1].tolist()
            np.testing.assert_array_equal(values, x[np.arange(rows), at])
        numbers = n - (x != x).sum(axis=1)
        middle = np.maximum(numbers - 1, 0) // 2
        first_nan = np.where(numbers < n, numbers, middle)
        for chosen, place in ((given.median(dim), first_nan), (given.nanmedian(dim), middle)):
            assert across(chosen.indices.numpy()).tolist() == order[np.arange(rows), place].tolist()
        for k in (1, 5, 50, n // 4, n // 2):
            values, at = (across(v.numpy()) for v in given.topk(k, dim, largest=False))
            assert at.tolist() == order[:, :k].tolist()
            np.testing.assert_array_equal(values, np.take_along_axis(x, at, axis=1))


def misleading_rows(kind, rows, n):
    """Of which most elements are the same, or lie in order, or the wanted ones side by side."""
    x = np.random.default_rng(n).normal(size=(rows, n)).astype(np.float32)
    if kind == "zeros":
        return np.where(x > 2.5, x, np.float32(0)) * np.sign(x)
    if kind == "same":
        return np.full_like(x, 3)
    if kind == "sorted":
        return np.sort(x)
    if kind == "periodic":
        return np.tile(x[:, :97], n // 97 + 1)[:, :n]
    return np.where(np.arange(n) // 60 == 40, x + 9, np.where(x > 0, np.nan, x))


@pytest.mark.parametrize("n", [4097, 10_001, 50_001])
@pytest.mark.parametrize("rows", [1, 40, 150])
@pytest.mark.parametrize("kind", ["zeros", "same", "sorted", "periodic", "beside"])
def test_rows_of_which_a_sample_says_little(kind, rows, n):
    x = misleading_rows(kind, rows, n if rows < 150 else 4500)
    n = x.shape[1]
    # NaN is the greatest; of equal elements the first comes first.
    order = np.argsort(x, axis=1, kind="stable")
    falling = np.argsort(np.where(x != x, -np.inf, -x), axis=1, kind="stable")
    given = dt.tensor(x)
    for k in (1, 50, 700, 1000):
        for largest, expected in ((True, falling), (False, order)):
            values, at = (v.numpy() for v in given.topk(k, 1, largest=largest))
            assert at.tolist() == expected[:, :k].tolist()
            np.testing.assert_array_equal(values, np.take_along_axis(x, at, axis=1))
    for k in (1, 30, n // 2, n):
        assert given.kthvalue(k, 1).indices.tolist() == order[:, k - 1].tolist()
    middle = (np.sum(x == x, axis=1) - 1) // 2
    expected = np.take_along_axis(order, middle[:, None], axis=1)[:, 0]
    assert given.nanmedian(1).indices.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("n", "begins"),
    [
        (100, [4, 40, 18, 49, 82]),
        (1000, [985, 514, 740, 220, 677]),
        (20_000, [1729, 8058, 16037, 19271, 4684]),
    ],
)
def test_permutations_are_the_same_in_all_versions(n, begins):
    """A seed's numbers are promised, however keys are sorted."""
    dt.manual_seed(7)
    order = dt.randperm(n).tolist()
    assert order[:5] == begins
    assert sorted(order) == list(range(n))


@pytest.mark.parametrize("shape", [(1,), (50, 1), (3, 1, 4), ()], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool"])
def test_rows_of_one_element(shape, dtype):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(1).normal(size=shape) * 2
    for dim in range(max(len(shape), 1)):
        given = [t.tensor(x).to(getattr(t, dtype)) for t in (dt, torch)]
        got, want = (v.sort(dim=dim, descending=True, stable=True) for v in given)
        assert [v.tolist() for v in got] == [v.tolist() for v in want]
        assert got[0].dtype == given[0].dtype
