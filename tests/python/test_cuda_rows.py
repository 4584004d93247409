"""Kernels that sort, select, count and draw many elements at once, beside NumPy: sizes about those at which another
kernel or another number of threads takes over."""

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])

LENGTHS = [1, 3, 32, 33, 128, 129, 256, 257, 512, 513, 1000, 1024, 1025, 2048, 2049, 4096, 4097]
DTYPES = ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def rows_of(dtype, n, random):
    """Five rows with many ties; of floats two have NaN, zeros have both signs."""
    x = random.integers(0, max(n // 3, 2), (5, n)) - n // 6
    if np.dtype(dtype).kind != "f":
        return x.astype(dtype)
    x = np.where(x % 7 == 0, -0.0, x / 8).astype(dtype)
    x[1:3, :: max(n // 4, 2)] = np.nan
    return x


def order_of(x, descending):
    """The stable order; NaN is the largest number."""
    key = x.astype(np.float64) if x.dtype.kind == "f" else x.astype(object).astype(np.int64)
    if key.dtype.kind == "f":
        key = np.nan_to_num(key, nan=1e300)
    return np.argsort(-key if descending else key, axis=1, kind="stable")


@on_both
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_sorted_rows(n, dtype, device):
    x = rows_of(dtype, n, np.random.default_rng(n))
    for descending in (False, True):
        order = order_of(x, descending)
        want = np.take_along_axis(x, order, 1)
        for y, dim in ((dt.tensor(x, device=device), 1), (dt.tensor(x.T.copy(), device=device), 0)):
            values, indices = y.sort(dim, descending)
            got = [v.cpu().numpy() if dim else v.cpu().numpy().T for v in (values, indices)]
            assert np.array_equal(got[1], order)
            assert np.array_equal(got[0], want, equal_nan=np.dtype(dtype).kind == "f")
        if dtype != "bool":
            k = n // 2 + 1
            values, indices = y.topk(k, 0, descending)
            assert np.array_equal(indices.cpu().numpy().T, order[:, :k])


@on_both
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int16"])
@pytest.mark.parametrize(
    ("rows", "n", "k"),
    [(5, 20_001, 5000), (1, 100_003, 20_000), (1, 300_007, 6001), (3, 9001, 2250)],
)
def test_much_of_long_rows(rows, n, k, dtype, device):
    """More than a block can sort, of rows of which four times as much is left out."""
    x = np.concatenate([rows_of(dtype, n, np.random.default_rng(n + i))[1:2] for i in range(rows)])
    for descending in (False, True):
        order = order_of(x, descending)[:, :k]
        want = np.take_along_axis(x, order, 1)
        for y, dim in ((dt.tensor(x, device=device), 1), (dt.tensor(x.T.copy(), device=device), 0)):
            values, indices = (v.cpu().numpy() for v in y.topk(k, dim, descending))
            assert np.array_equal(indices if dim else indices.T, order)
            is_float = np.dtype(dtype).kind == "f"
            assert np.array_equal(values if dim else values.T, want, equal_nan=is_float)


@on_both
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16"])
@pytest.mark.parametrize("n", LENGTHS)
def test_one_place_of_rows(n, dtype, device):
    x = rows_of(dtype, n, np.random.default_rng(n))
    order, rows = order_of(x, False), np.arange(5)
    y = dt.tensor(x, device=device)
    for k in {0, n // 3, n - 1}:
        assert np.array_equal(y.kthvalue(k + 1, 1)[1].cpu().numpy(), order[:, k])
    numbers = (x == x).sum(1)
    middle = np.maximum(numbers - 1, 0) // 2
    assert np.array_equal(y.nanmedian(1)[1].cpu().numpy(), order[rows, middle])
    place = np.where(numbers < n, numbers, middle)
    assert np.array_equal(y.median(1)[1].cpu().numpy(), order[rows, place])


@on_both
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "bool"])
@pytest.mark.parametrize(
    ("n", "low", "high"),
    [
        (4095, -7, 7),
        (4096, -7, 7),
        (50_003, -3, 90_000),
        (50_003, -(2**15), 2**15),
        (50_003, 0, 190_000),
        (50_003, 0, 900_000),
        (50_003, -(2**63), 2**63),
        (50_003, 2**63 - 60_000, 2**63),
        (300_000, -(2**63), 60_000 - 2**63),
    ],
)
def test_unique_integers(dtype, n, low, high, device):
    """Near and far from each other, and at the ends of what an integer can be."""
    x = np.random.default_rng(n).integers(low, high, size=n).astype(dtype)
    for given in (x, np.repeat(x, 2)[::2]):
        got = dt.tensor(given, device=device).unique()
        assert got.dtype == getattr(dt, dtype)
        assert got.tolist() == np.unique(given).tolist()
    x = x[: n // 3 * 3].reshape(3, -1).T
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    y = dt.tensor(x, device=device)
    for got in (
        y.unique(return_inverse=True, return_counts=True),
        (*y.unique(return_inverse=True), y.unique(return_counts=True)[1]),
    ):
        assert got[1].shape == x.shape
        assert got[0].tolist() == values.tolist()
        assert got[1].reshape(-1).tolist() == inverse.reshape(-1).tolist()
        assert got[2].tolist() == counts.tolist()


@on_both
@pytest.mark.parametrize("bins", [1, 100, 256, 257, 8192, 8193])
def test_counts(bins, device):
    random = np.random.default_rng(bins)
    positions = np.minimum(random.integers(0, bins, 50_000), random.integers(0, bins, 50_000))
    positions[:20_000] = bins - 1  # a crowd
    want = np.bincount(positions, minlength=bins)
    got = dt.tensor(positions, device=device).bincount()
    assert np.array_equal(got.cpu().numpy(), want)
    # In the middles of bins no rounding decides; bounds belong to the first bin and to the last.
    x = np.concatenate([positions + 0.5, [0, bins, -0.5, bins + 0.5, np.nan, np.inf]])
    want[0] += 1
    want[-1] += 1
    for dtype in (dt.float32, dt.float64):
        got = dt.tensor(x, dtype=dtype, device=device).histc(bins, 0, bins)
        assert got.dtype == dtype and np.array_equal(got.cpu().numpy(), want)


@on_both
@pytest.mark.parametrize("dtype,least", [(dt.float32, 2.0**-24), (dt.float64, 2.0**-53)])
def test_exponential_numbers_are_those_of_uniform_ones(dtype, least, device):
    """The same bits on a CPU; on a GPU, whose logarithm is another, up to the last place."""
    for n in (1, 5, 1000, 300_001):
        dt.manual_seed(n)
        got = dt.empty(n, dtype=dtype, device=device).exponential_(2.5)
        dt.manual_seed(n)
        u = dt.rand(n, dtype=dtype, device=device)
        if device == "cpu":
            assert (got == (-(-u).log1p()).clamp_min(least) / 2.5).all()
        truth = np.maximum(-np.log1p(-u.double().cpu().numpy()), least) / 2.5
        place = np.spacing(truth.astype(got.cpu().numpy().dtype)).astype(np.float64)
        assert (np.abs(got.double().cpu().numpy() - truth) <= 2 * place).all()
    dt.manual_seed(n)
    across = dt.empty(3, n // 3, dtype=dtype, device=device).t().exponential_(2.5)
    assert (across.reshape(-1) == got[: n // 3 * 3]).all()


@on_both
def test_gamma_functions_of_float(device):
    """Beside the same of float64, in units of the last place; CUDA's own logarithm is wrong by 6."""
    size = 10 ** np.linspace(-6, 5, 40_000)
    x = np.concatenate([np.linspace(0.01, 20, 40_000), size, -size[size < 9]]).astype(np.float32)
    narrow = dt.tensor(x, device=device, requires_grad=True)
    wide = dt.tensor(x.astype(np.float64), requires_grad=True)
    narrow.digamma().sum().backward()
    wide.digamma().sum().backward()
    pairs = [(narrow.lgamma(), wide.lgamma()), (narrow.digamma(), wide.digamma())]
    for (got, want), most in zip([*pairs, (narrow.grad, wide.grad)], (7, 6, 4)):
        got, want = got.detach().cpu().numpy().astype(np.float64), want.detach().numpy()
        unit = np.spacing(np.abs(want.astype(np.float32)).astype(np.float32)).astype(np.float64)
        assert (np.abs(got - want)[np.isfinite(want)] <= most * unit[np.isfinite(want)]).all()


# Packets and elements, rows without entries and rows with more than blocks add up alone; entries in no bag, of a row
# that is left out, and empty bags.
@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
@pytest.mark.parametrize(
    "entries, rows, size", [(5000, 3, 128), (3000, 2000, 200), (700, 900, 1030), (999, 50, 7), (4, 9, 4), (2000, 5, 1)]
)  # fmt: skip
def test_bags(entries, rows, size, dtype, device):
    random = np.random.default_rng(size)
    ends = np.sort(random.integers(0, entries + 1, entries // 6 + 3))
    ends[0] = 0
    ids = random.integers(0, rows, entries)
    values = random.integers(-4, 5, (rows, size)) / 4
    g = random.integers(-4, 5, (len(ends) - 1, size)) / 4
    for mode, factors in (("sum", False), ("mean", False), ("sum", True), ("max", False)):
        table = dt.tensor(values, dtype=dtype, device=device).requires_grad_()
        weights = random.integers(1, 4, entries)
        y = dt.nn.functional.embedding_bag(
            dt.tensor(ids, device=device),
            table,
            dt.tensor(ends, device=device),
            mode=mode,
            per_sample_weights=dt.tensor(weights, dtype=dtype, device=device) if factors else None,
            include_last_offset=True,
            padding_idx=None if factors else 1,
        )
        y.backward(dt.tensor(g, dtype=dtype, device=device))
        truth, gradient = np.zeros(g.shape), np.zeros(values.shape)
        for b, (begin, end) in enumerate(zip(ends, ends[1:])):
            here = np.arange(begin, end)
            here = here if factors else here[ids[here] != 1]
            if len(here) == 0:
                continue
            taken, weight = values[ids[here]], weights[here, None] if factors else 1
            if mode == "max":
                truth[b], chosen = taken.max(0), ids[here][taken.argmax(0)]
                np.add.at(gradient, (chosen, np.arange(size)), g[b])
            else:
                of = len(here) if mode == "mean" else 1
                truth[b] = (taken * weight).sum(0) / of
                np.add.at(gradient, ids[here], g[b] * weight / of)
        for ours, wanted in ((y, truth), (table.grad, gradient)):
            allowed = 2 * dt.finfo(dtype).eps * max(np.abs(wanted).max(), 1)
            if mode == "mean" and ours is not y:
                allowed *= 40
            np.testing.assert_allclose(
                ours.detach().double().cpu().numpy(), wanted, rtol=0, atol=allowed
            )
