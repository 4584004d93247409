"""sort of rows of all lengths, whose keys are long, lie close together or are the same, against NumPy and PyTorch."""

import dumbtorch as dt
import numpy as np
import pytest

LENGTHS = [2, 9, 16, 17, 100, 500, 1000, 1023, 1024, 2000, 5000, 70_000]


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
