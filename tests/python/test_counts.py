"""bincount, histc and nonzero, of few and of many elements in all kinds of shapes, against NumPy."""

import dumbtorch as dt
import numpy as np
import pytest

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("n", "below"), [(1, 1), (7, 5), (100, 100), (3000, 3), (200_003, 100), (200_003, 127)]
)
def test_bincount(dtype, n, below):
    x = np.random.default_rng(n).integers(0, below, size=n).astype(dtype)
    for given, want in ((x, x), (np.ascontiguousarray(x[::-1])[::2], x[::-1][::2])):
        got = dt.tensor(given).bincount(minlength=below)
        assert got.dtype == dt.int64
        assert got.tolist() == np.bincount(want.astype(np.int64), minlength=below).tolist()
    got = dt.tensor(np.repeat(x, 2))[::2].bincount()  # with gaps in memory
    assert got.tolist() == np.bincount(x.astype(np.int64)).tolist()


@pytest.mark.parametrize("below", [511, 512, 513, 100_000])
def test_bincount_of_many_bins(below):
    x = np.random.default_rng(below).integers(0, below, size=50_000)
    assert (
        dt.tensor(x).bincount(minlength=below).tolist() == np.bincount(x, minlength=below).tolist()
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("n", "bins"), [(5, 4), (1000, 7), (100_003, 10), (100_003, 512), (100_003, 600)]
)
def test_histc(dtype, n, bins):
    """Of numbers that no step rounds: halves of integers, on the edges too, what lies outside, and no numbers."""
    x = np.random.default_rng(bins).integers(-40, 2 * bins + 40, size=n) / 2
    x = x.astype(dtype)
    x[0], x[1], x[2] = np.nan, np.inf, -np.inf
    inside = x[(x >= 0) & (x <= bins)]
    want, _ = np.histogram(inside, bins, (0, bins))
    got = dt.tensor(x).histc(bins, 0, bins)
    assert got.dtype == getattr(dt, dtype)
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("bins, many", [(100, 1), (100, 5000), (600, 5000)])
def test_places_that_overflow_are_the_last(bins, many):
    """Before it is divided by the range, 3e38 times the bins is infinite."""
    got = dt.tensor([3e38, 1.0] * many).histc(bins, 0, 3e38).tolist()
    assert got == [many] + [0] * (bins - 2) + [many]
    x = [1.111e38, 2.333e38, -1.234e38] * many
    got = dt.tensor(x).histc(bins, -3e38, 3e38)
    want, _ = np.histogram(np.array(x), bins, (-3e38, 3e38))
    assert got.tolist() == want.tolist()
    # Bounds beside 1e8 are 1e8 itself in float32.
    got = dt.full((4 * many,), 1e8).histc(bins).tolist()
    assert got == [0] * (bins // 2) + [4 * many] + [0] * (bins // 2 - 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_histc_of_narrow_floats(dtype):
    x = dt.tensor([-60.0, -3.0, 1.0, 2.0, 60.0]).to(getattr(dt, dtype))
    want, _ = np.histogram(x.double().numpy(), 8, (-64, 64))
    got = x.histc(8, -64, 64)
    assert got.dtype == x.dtype and got.tolist() == want.tolist()
    # Where places overflow, all elements are counted nevertheless.
    assert sum(x.histc(2000, -64, 64).tolist()) == 5


def test_a_number_that_nothing_can_count():
    with pytest.raises(
        RuntimeError, match="should be < 9223372036854775807 but got 9223372036854775807"
    ):
        dt.tensor([1, 2**63 - 1]).bincount()


def test_counts_on_any_number_of_threads():
    x, threads = dt.arange(0, 1_000_000) % 97, dt.get_num_threads()
    want = np.bincount(np.arange(1_000_000) % 97).tolist()
    dt.set_num_threads(5)
    got = x.bincount().tolist(), x.double().histc(97, 0, 97).tolist()
    dt.set_num_threads(threads)
    assert got == (want, want)


SHAPES = [
    (1,),
    (5000,),
    (3000, 2),
    (7, 900),
    (70, 9, 11),
    (1, 5, 1, 7),
    (3, 4, 5, 6, 7),
    (2, 3, 1, 300),
    (40, 1),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.95, 1])
def test_nonzero(shape, share):
    x = np.random.default_rng(7).random(shape) < share
    want = np.argwhere(x)
    assert dt.tensor(x).nonzero().tolist() == want.tolist()
    other = dt.tensor(x.T.copy())
    assert other.permute(*range(x.ndim)[::-1]).nonzero().tolist() == want.tolist()
