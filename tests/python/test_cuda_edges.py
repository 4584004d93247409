"""What must not be lost on a GPU: NaN and infinities in whatever adds up elements, and memory that a bad index does not
name. On the CPU the same."""

import dumbtorch as dt
import numpy as np
import pytest

F = dt.nn.functional
INF, NAN = float("inf"), float("nan")
needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])

# ---- numbers, against NumPy in float64


def normalized(x, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def probabilities(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# Of a matrix, along a dimension.
REDUCTIONS = {
    "sum": (lambda x, d: x.sum(d), np.sum),
    "mean": (lambda x, d: x.mean(d), np.mean),
    "prod": (lambda x, d: (x * 0 + 1).prod(d), lambda x, d: (x * 0 + 1).prod(d)),
    "amax": (lambda x, d: x.amax(d), np.max),
    "amin": (lambda x, d: x.amin(d), np.min),
    "max": (lambda x, d: x.max(d).values, np.max),
    "min": (lambda x, d: x.min(d).values, np.min),
    "var": (lambda x, d: x.var(d), lambda x, d: x.var(d, ddof=1)),
    "std": (lambda x, d: x.std(d), lambda x, d: x.std(d, ddof=1)),
    "norm": (lambda x, d: x.norm(2, d), lambda x, d: np.sqrt((x * x).sum(d))),
    "norm 1": (lambda x, d: x.norm(1, d), lambda x, d: np.abs(x).sum(d)),
    "norm 3": (lambda x, d: x.norm(3, d), lambda x, d: np.cbrt((np.abs(x) ** 3).sum(d))),
    "norm inf": (lambda x, d: x.norm(INF, d), lambda x, d: np.abs(x).max(d)),
    "norm -inf": (lambda x, d: x.norm(-INF, d), lambda x, d: np.abs(x).min(d)),
    "cumsum": (lambda x, d: x.cumsum(d), np.cumsum),
    "softmax": (lambda x, d: x.softmax(d), probabilities),
    "log_softmax": (lambda x, d: x.log_softmax(d).exp(), probabilities),
    "layer_norm": (lambda x, d: F.layer_norm(x.movedim(d, -1), (x.size(d),)).movedim(-1, d), normalized),
    "batch_norm": (lambda x, d: F.batch_norm(x.movedim(d, 0), None, None, training=True).movedim(0, d), normalized),
    "planes": (
        lambda x, d: F.batch_norm(x.movedim(d, 1).unsqueeze(0), None, None, training=True)[0].movedim(1, d),
        normalized,
    ),
}  # fmt: skip


def special_places():
    """NaN and infinities among few and among many elements."""
    for special in (NAN, INF, -INF):
        for size in (2, 3, 40, 1000, 70_000):
            yield from ((special, size, at) for at in sorted({0, 1, size // 2, size - 1}))


@on_both
@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_is_not_finite_stays(device, name):
    """Wherever it stands, in elements side by side and apart."""
    reduce, truth = REDUCTIONS[name]
    for special, size, at in special_places():
        values = np.sin(np.arange(3.0 * size)).reshape(3, size).astype(np.float32)
        values[1, at] = special
        with np.errstate(all="ignore"):
            expected = truth(values.astype(np.float64), 1)
        x = dt.tensor(values).to(device)
        rows, columns = reduce(x, 1), reduce(x.t().contiguous(), 0)
        for y in (rows, columns if columns.ndim == 1 else columns.t()):
            np.testing.assert_allclose(
                y.cpu().numpy(), expected, rtol=2e-4, atol=2e-4, err_msg=f"{special} {size} {at}"
            )


@on_both
def test_losses_of_what_is_not_finite(device):
    target = dt.tensor([1, 0, 2], device=device)
    for special in (NAN, INF):
        x = dt.zeros(3, 70, device=device)
        x[1, 69] = special
        each = F.cross_entropy(x, target, reduction="none").cpu()
        assert each.isfinite().tolist() == [True, False, True]
        y = dt.ones(70, device=device)
        y[3] = special
        assert not F.mse_loss(y, y * 0).cpu().isfinite().item()


@on_both
@pytest.mark.parametrize("special", [NAN, INF, -INF])
@pytest.mark.parametrize("shape", [(2, 3), (4, 8), (2, 3, 1), (2, 3, 700), (1, 5000)])
def test_constant_statistics_have_a_constant_gradient(device, shape, special):
    """batch_norm is linear then: what x is does not matter."""
    x = dt.ones(shape, device=device)
    x[0, 1] = special
    x.requires_grad_()
    mean, var = (dt.full((shape[1],), v, device=device) for v in (0.0, 0.25))
    g = dt.arange(x.numel(), dtype=dt.float32, device=device).reshape(shape)
    F.batch_norm(x, mean, var, var * 4, mean, eps=0.0).backward(g)
    assert dt.equal(x.grad, g * 2)


@on_both
def test_deviations_whose_squares_do_not_fit(device):
    """The variance is infinite, its root and the gradient of that are not."""
    for size in (2, 300, 70_000):
        x = dt.full((3, size), 1e20, device=device) * (dt.arange(size, device=device) % 2)
        x.requires_grad_()
        expected = 1e20 * np.std(np.arange(size) % 2, ddof=1)
        for y in (x.std(1), x.t().contiguous().std(0)):
            np.testing.assert_allclose(y.detach().cpu().numpy(), [expected] * 3, rtol=1e-5)
        assert x.var(1).isinf().all().item()
        (gradient,) = dt.autograd.grad(x.std(1).sum(), x)
        slope = 0.5e20 / expected / (size - 1)
        np.testing.assert_allclose(gradient[:, :2].cpu().numpy(), [[-slope, slope]] * 3, rtol=1e-5)


@on_both
def test_a_variance_that_overflows_is_infinite(device):
    """NaN would say that some element is not finite."""
    x = dt.tensor([1e200, -1e200, 3.0] * 50, dtype=dt.float64, device=device)
    for y in (x.var(), x[:2].var(), x.std(), x.reshape(2, 75).var(1), x.reshape(75, 2).var(0)):
        assert y.max().item() == y.min().item() == INF


@on_both
@pytest.mark.parametrize("dtype, large", [(dt.float32, 2.0**66), (dt.float64, 2.0**600)])
@pytest.mark.parametrize("size", [2, 3, 40, 1000, 40_000])
def test_rows_whose_squares_overflow(device, dtype, large, size):
    """layer_norm knows nothing of them but that they are equal, where they are."""
    x = dt.full((2, size), large, dtype=dtype, device=device)
    x[1, ::2] = -large
    y = F.layer_norm(x, (size,)).cpu()
    assert y[0].tolist() == [0.0] * size
    assert y[1].isnan().all().item()


NORMS = {
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "rms_norm": lambda x: F.rms_norm(x, (3,)),
    "group_norm": lambda x: F.group_norm(x, 1),
    "batch_norm": lambda x: F.batch_norm(x.T, None, None, training=True).T,
}


@on_both
@pytest.mark.parametrize("name", NORMS)
def test_gradients_with_a_graph_of_rows_whose_deviation_is_huge(device, name):
    """Its reciprocal has no third power: dx = (g - mean(g) - y mean(g y)) / deviation."""
    rows, g = (
        np.array([[0.0, 1.0, 0.0], [3.0, -1.0, 0.5]]),
        np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 1.0]]),
    )
    centered = rows - (0 if name == "rms_norm" else rows.mean(1, keepdims=True))
    deviation = np.sqrt((centered**2).mean(1, keepdims=True))
    y = centered / deviation
    off = 0 if name == "rms_norm" else g.mean(1, keepdims=True)
    exact = (g - off - y * (g * y).mean(1, keepdims=True)) / deviation
    x = dt.tensor(rows * 1e18, dtype=dt.float32, device=device, requires_grad=True)
    arriving = dt.tensor(g, dtype=dt.float32, device=device)
    (slope,) = dt.autograd.grad(NORMS[name](x), x, arriving, create_graph=True)
    assert np.allclose(np.array(slope.tolist()) * 1e18, exact, rtol=1e-5, atol=1e-6)


# ---- rows and columns of every length, wherever they begin

LENGTHS = [
    *range(1, 10),
    15,
    31,
    32,
    33,
    37,
    62,
    64,
    94,
    130,
    257,
    513,
    1023,
    1025,
    3001,
    4096,
    4099,
    16_385,
    65_537,
]
FLOATS = {dt.float32: 1e-5, dt.float64: 1e-12, dt.bfloat16: 1e-2}


def placed(values, place, dtype, device):
    """The same matrix in memory of its own, one element behind a boundary, and with a gap behind each row."""
    rows, n = values.shape
    if place == "gap":
        return dt.tensor(np.pad(values, ((0, 0), (1, 0)))).to(device, dtype)[:, 1:]
    if place == "behind":
        return dt.tensor(np.pad(values.ravel(), (1, 0))).to(device, dtype)[1:].view(rows, n)
    return dt.tensor(values).to(device, dtype)


def each_matrix(dtype, device, lengths=LENGTHS):
    """More rows than a block takes, of numbers of which many are equal and which every float holds."""
    for n in lengths:
        rows = 5003 if n < 10 else 301 if n < 1000 else 5
        values = np.random.default_rng(n).integers(-8, 9, (rows, n)) * 0.25
        for place in ("own", "behind", "gap"):
            yield values, placed(values, place, dtype, device), f"{rows}x{n} {place}"


def agree(ours, expected, tolerance, where):
    found = ours.detach().cpu().double().numpy()
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=where)


@on_both
@pytest.mark.parametrize("dtype", [*FLOATS, dt.int64, dt.int32])
def test_reductions_of_rows_of_any_length(device, dtype):
    is_floating = dtype in FLOATS
    for values, x, where in each_matrix(dtype, device):
        if not is_floating:
            values = np.trunc(values)
        tolerance = FLOATS.get(dtype, 0) * (1 + 0.1 * values.shape[1] ** 0.5)
        agree(x.sum(1), values.sum(1), tolerance, where)
        agree(x.amin(1), values.min(1), 0, where)
        assert x.argmax(1).tolist() == values.argmax(1).tolist(), where
        assert x.argmin(1).tolist() == values.argmin(1).tolist(), where
        assert (x == 2).any(1).tolist() == (values == 2).any(1).tolist(), where
        if is_floating and values.shape[1] > 1:
            agree(x.var(1), values.var(1, ddof=1), tolerance, where)
            agree(
                (x + 1000).var(1) if dtype == dt.float64 else x.var(1),
                values.var(1, ddof=1),
                tolerance,
                where,
            )


@on_both
def test_a_variance_does_not_suffer_from_an_outlier_or_a_large_mean(device):
    """Wherever it stands: deviations may be taken from any element."""
    for n in (3, 40, 257, 3001, 65_537):
        for at in (0, n // 2):
            values = np.random.default_rng(n).standard_normal((5, n))
            values[1] += 1e6
            values[2, at] = 1e6
            expected = values.var(1, ddof=1)
            x = dt.tensor(values).to(device)
            agree(x.var(1) / dt.tensor(expected).to(device), 1.0, 1e-9, f"{n} {at}")
            agree(
                x.t().contiguous().var(0) / dt.tensor(expected).to(device), 1.0, 1e-9, f"{n} {at}"
            )


@on_both
@pytest.mark.parametrize("dtype", [*FLOATS, dt.int64])
def test_reductions_of_columns_of_any_length(device, dtype):
    for n in (1, 2, 3, 7, 15, 31, 32, 37, 64, 257, 3001):
        for columns in (1, 3, 4, 7, 62, 130, 257, 1024, 1025) if n > 100 else (3, 64, 1025, 5003):
            values = np.trunc(np.random.default_rng(n).integers(-8, 9, (n, columns)) * 0.25)
            for place in ("own", "behind", "gap"):
                x, where = placed(values, place, dtype, device), f"{n}x{columns} {place}"
                tolerance = FLOATS.get(dtype, 0) * (1 + 0.1 * n**0.5)
                agree(x.sum(0), values.sum(0), tolerance, where)
                assert x.argmax(0).tolist() == values.argmax(0).tolist(), where
                assert x.argmin(0).tolist() == values.argmin(0).tolist(), where
                if dtype in FLOATS and n > 1:
                    agree(x.var(0), values.var(0, ddof=1), tolerance, where)


@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_extrema_among_infinities_and_nan(device, dtype):
    """The first of what is largest or smallest; of NaN, which beats all, the first too."""
    for n in (1, 2, 3, 8, 31, 33, 130, 257, 1025, 3001, 65_537):
        for fill in (-INF, INF, 0.0):
            for nans in ((), (n // 2,), (n // 3, n - 1)):
                values = np.full((7, n), fill)
                values[3, n // 2 :] = 1.0
                values[5, [*nans]] = NAN
                for place in ("own", "behind"):
                    x = placed(values, place, dtype, device)
                    for ours, truth in ((x.argmax, values.argmax), (x.argmin, values.argmin)):
                        assert ours(1).tolist() == truth(1).tolist(), f"{n} {fill} {nans} {place}"
                    columns = x.t().contiguous()
                    assert columns.argmax(0).tolist() == values.argmax(1).tolist(), (
                        f"{n} {fill} {nans}"
                    )


@on_both
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_rows_of_any_length(device, dtype):
    tolerance = FLOATS[dtype]
    for values, x, where in each_matrix(dtype, device):
        g_values = np.random.default_rng(7).integers(-8, 9, values.shape) * 0.125
        g = dt.tensor(g_values).to(device, dtype)
        p = probabilities(values, 1)
        x.requires_grad_()
        y = F.softmax(x, 1)
        agree(y, p, tolerance, where)
        (gradient,) = dt.autograd.grad(y, x, g)
        agree(gradient, p * (g_values - (g_values * p).sum(1, keepdims=True)), tolerance * 4, where)
        y = F.log_softmax(x, 1)
        agree(y, np.log(p), tolerance, where)
        (gradient,) = dt.autograd.grad(y, x, g)
        expected = g_values - p * g_values.sum(1, keepdims=True)
        agree(gradient, expected, tolerance * 4 * max(1, np.abs(expected).max()), where)


@on_both
def test_softmax_of_short_rows_in_place_and_of_infinities(device):
    for n in (1, 2, 3, 7, 31, 33, 130):
        values = np.random.default_rng(n).standard_normal((3001, n)).astype(np.float32)
        values[5], values[6, 0], values[7, -1] = -INF, INF, -INF
        with np.errstate(all="ignore"):
            expected = probabilities(values.astype(np.float64), 1)
        agree(dt.tensor(values).to(device).softmax(1), expected, 1e-6, f"{n}")


@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_layer_norm_of_rows_of_any_length(device, dtype):
    tolerance = FLOATS[dtype]
    for values, x, where in each_matrix(dtype, device, [n for n in LENGTHS if n > 1]):
        n = values.shape[1]
        rng = np.random.default_rng(n)
        g, w, b = (rng.integers(-8, 9, shape) * 0.125 for shape in (values.shape, n, n))
        rstd = 1 / np.sqrt(values.var(1, keepdims=True) + 1e-2)
        xhat = (values - values.mean(1, keepdims=True)) * rstd
        h = g * w
        expected = (
            rstd * (h - h.mean(1, keepdims=True) - xhat * (h * xhat).mean(1, keepdims=True)),
            (g * xhat).sum(0),
            g.sum(0),
        )
        weight, bias = (dt.tensor(v).to(device, dtype).requires_grad_() for v in (w, b))
        x.requires_grad_()
        y = F.layer_norm(x, (n,), weight, bias, eps=1e-2)
        agree(y, xhat * w + b, tolerance * 4, where)
        found = dt.autograd.grad(y, (x, weight, bias), dt.tensor(g).to(device, dtype))
        for ours, truth, what in zip(found, expected, ("x", "weight", "bias")):
            agree(ours, truth, tolerance * 20, f"{where} {what}")


# ---- indices

BAD = [-1, 2**40, -(2**40)]


def mixed_with_bad(good, size):
    """`good` index values with bad ones before, between and after them, and where the good ones are."""
    bad = [*BAD, size] * (len(good) // 16 + 1)
    values = np.array([*bad, *good[: len(good) // 2], *bad, *good[len(good) // 2 :], *bad])
    return values, np.flatnonzero((values >= 0) & (values < size))


# Writes to x [size, width] at rows `index`, from source [len(index), width].
WRITES = {
    "index_put": lambda x, index, source: x.index_put_((index,), source),
    "accumulate": lambda x, index, source: x.index_put_((index,), source, accumulate=True),
    "number": lambda x, index, source: x.index_put_((index,), dt.tensor(7, dtype=x.dtype, device=x.device)),
    "index_add": lambda x, index, source: x.index_add_(0, index, source),
    "scatter": lambda x, index, source: x.scatter_(0, index.unsqueeze(1).expand(source.shape), source),
    "scatter number": lambda x, index, source: x.scatter_(0, index.unsqueeze(1).expand(source.shape), 5),
    "scatter_add": lambda x, index, source: x.scatter_add_(0, index.unsqueeze(1).expand(source.shape), source),
    "scatter_reduce": lambda x, index, source: (
        x.scatter_reduce_(0, index.unsqueeze(1).expand(source.shape), source, "amax")
    ),
    "index_reduce": lambda x, index, source: x.index_reduce_(0, index, source, "amin"),
    "index_copy": lambda x, index, source: x.index_copy_(0, index, source),
    "index_fill": lambda x, index, source: x.index_fill_(0, index, 5),
}  # fmt: skip


def attempt(call, device):
    """Runs what has bad indices: the CPU says so at once, a GPU when it is waited for."""
    with pytest.raises(IndexError, match="out of (bounds|range)"):
        call()
        assert device == "cuda"
        dt.cuda.synchronize()


@on_both
@pytest.mark.parametrize("name", WRITES)
def test_bad_indices_write_nothing(device, name):
    """On the CPU no row is written then, on a GPU those are that the good indices name."""
    for sizes in ((3, 4, 1), (40, 9, 8), (70, 512, 130), (300_000, 700, 1)):
        for dtype in (dt.float32, dt.int64, dt.bool):
            check_writes(device, name, *sizes, dtype)


def check_writes(device, name, count, size, width, dtype):
    rng = np.random.default_rng(count)
    index, good = mixed_with_bad(rng.integers(0, size, count), size)
    if name in ("index_put", "accumulate", "number", "index_copy", "index_fill"):
        index[index == -1] = -size - 1  # they count -1 from the end
    source = dt.tensor(rng.integers(-9, 10, (len(index), width))).to(dtype)
    start = dt.tensor(rng.integers(1, 10, (size, width))).to(dtype)
    expected = start.clone()
    if device == "cuda":
        WRITES[name](expected, dt.tensor(index[good]), source[dt.tensor(good)])
    x = start.to(device)
    attempt(lambda: WRITES[name](x, dt.tensor(index).to(device), source.to(device)), device)
    assert dt.equal(x.cpu(), expected), f"{count} {size} {width} {dtype}"


LOOK_UPS = {
    "embedding": F.embedding,
    "index_select": lambda index, table: table.index_select(0, index),
    "index": lambda index, table: table[index],
}


@needs_gpu
@pytest.mark.parametrize(
    "count, size, width", [(3, 4, 1), (40, 9, 8), (70, 512, 512), (300_000, 700, 128)]
)
@pytest.mark.parametrize("name", LOOK_UPS)
def test_bad_indices_get_no_gradient(name, count, size, width):
    """The gradient of a table is made from nothing: rows that no good index names are 0."""
    index, good = mixed_with_bad(np.random.default_rng(count).integers(1, size, count), size)
    index[index == -1] = -size - 1  # what `table[index]` takes for no row, too
    g = dt.randint(-9, 9, (len(index), width)).float()
    table = dt.zeros(size, width, device="cuda").requires_grad_()
    y = LOOK_UPS[name](dt.tensor(index).cuda(), table)
    with pytest.raises(IndexError):
        dt.cuda.synchronize()
    attempt(lambda: y.backward(g.cuda()), "cuda")
    expected = dt.zeros(size, width).index_add(0, dt.tensor(index[good]), g[dt.tensor(good)])
    assert dt.equal(table.grad.cpu(), expected)


@needs_gpu
def test_targets_that_are_no_class_count_as_ignored():
    x = dt.randn(6, 5, device="cuda").requires_grad_()
    target = dt.tensor([1, 5, 2, -1, 2**40, 0], device="cuda")
    losses = F.cross_entropy(x, target, reduction="none")
    with pytest.raises(IndexError, match="size 5"):
        dt.cuda.synchronize()
    attempt(lambda: losses.sum().backward(), "cuda")
    kept = dt.tensor([True, False, True, False, False, True])
    assert (losses.detach().cpu() != 0).tolist() == kept.tolist()
    assert (x.grad.cpu() != 0).all(1).tolist() == kept.tolist()
    assert (x.grad.cpu()[~kept] == 0).all().item()


# ---- sizes and places: many tiles, odd counts, memory that begins at no vector's boundary

# What is taken of a larger array, so that it begins and goes on in all ways.
PARTS = {
    "whole": lambda x: x,
    "from 1": lambda x: x[1:],
    "from 3": lambda x: x[3:],
    "every other": lambda x: x[::2],
}
SCANNED = [1, 3, 5, 1023, 4097, 16_383, 16_385, 65_537, 1_048_577, 4_194_305, 9_000_003]


@on_both
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16])
@pytest.mark.parametrize("part", PARTS)
def test_scans_of_odd_counts(device, part, dtype):
    """Of whole numbers, which add up exactly."""
    for size in SCANNED:
        values = np.random.default_rng(size).integers(-9, 10, size + 3).astype(dtype)
        x = dt.tensor(values).to(device)
        wide = np.int64 if np.issubdtype(dtype, np.integer) else dtype
        expected = np.cumsum(PARTS[part](values), dtype=wide)
        np.testing.assert_array_equal(PARTS[part](x).cumsum(0).cpu().numpy(), expected, f"{size}")


ROWS = [(5000, 257), (4100, 1025), (4100, 3001), (9, 16_387), (300, 4099), (3, 70_001), (20_000, 5),
        (5001, 17), (3001, 29), (3003, 31), (3001, 32), (2001, 33), (2003, 64), (1001, 125), (999, 127),
        (1001, 128), (777, 130), (500, 512), (65, 1024)]  # fmt: skip


@on_both
@pytest.mark.parametrize("count, length", ROWS)
def test_scans_of_odd_rows(device, count, length):
    values = np.random.default_rng(count).integers(-9, 10, (count + 1, length)).astype(np.float32)
    x = dt.tensor(values).to(device)
    for y, truth in (
        (x.cumsum(1), values.cumsum(1)),
        (x[1:, 1:].cumsum(1), values[1:, 1:].cumsum(1)),
        (x[:, ::2].cumsum(1), values[:, ::2].cumsum(1)),
        (x.t()[1:].cumsum(0), values.T[1:].cumsum(0)),
        (x.sign().clamp(min=0).cumprod(1), np.cumprod(np.sign(values).clip(0), 1)),
    ):
        np.testing.assert_array_equal(y.cpu().numpy(), truth)


@on_both
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("length", [1, 2, 7, 33, 64, 127])
def test_scans_of_many_short_lines(device, length, dtype):
    values = np.random.default_rng(length).integers(0, 2, 3001 * length + 1)
    x = dt.tensor(values).to(device).to(getattr(dt, dtype))[1:].view(3001, length)
    lines = values[1:].reshape(3001, length)
    np.testing.assert_array_equal(x.cumsum(1).double().cpu().numpy(), lines.cumsum(1))
    np.testing.assert_array_equal(x.cumprod(1).double().cpu().numpy(), lines.cumprod(1))


@on_both
def test_a_long_scan_repeats_bit_for_bit(device):
    x = dt.randn(3_000_001, device=device)
    first = x.cumsum(0)
    assert all(dt.equal(x.cumsum(0), first) for _ in range(5))
    np.testing.assert_allclose(
        first.cpu().numpy(), np.cumsum(x.cpu().numpy(), dtype=np.float64), rtol=1e-6, atol=1e-6
    )
    logs = x[:100_001].logcumsumexp(0).cpu().numpy()
    expected = np.logaddexp.accumulate(x[:100_001].cpu().numpy().astype(np.float64))
    np.testing.assert_allclose(logs, expected, rtol=1e-6)


FOUND = [0, 1, 31, 513, 2047, 2049, 65_537, 300_001, 17_000_003]


@on_both
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.float32, np.float64, np.int64])
def test_nonzero_of_odd_counts(device, part, dtype):
    for size in FOUND[:-1] if dtype is not np.bool_ else FOUND:
        for share in (0.5, 0.001):
            values = (np.random.default_rng(size).random(size + 3) < share).astype(dtype)
            if dtype is np.float32:
                values[: size // 2 : 7] = -0.0
                values[size // 3 :: 11] = NAN
            taken = PARTS[part](dt.tensor(values).to(device))
            found = taken.nonzero().cpu().numpy()
            np.testing.assert_array_equal(found[:, 0], np.flatnonzero(PARTS[part](values)))
            chosen = dt.arange(taken.numel(), device=device)[taken != 0]
            np.testing.assert_array_equal(chosen.cpu().numpy(), found[:, 0])


@on_both
@pytest.mark.parametrize("shape", [(), (0, 3), (3, 0), (7, 5), (301, 2, 129), (1000, 1001)])
def test_nonzero_of_dimensions(device, shape):
    values = np.random.default_rng(len(shape)).integers(0, 3, shape) == 1
    x = dt.tensor(values).to(device)
    np.testing.assert_array_equal(x.nonzero().cpu().numpy(), np.argwhere(values))
    if len(shape) > 1:
        np.testing.assert_array_equal(x.t().nonzero().cpu().numpy() if len(shape) == 2 else
                                      x.movedim(0, -1).nonzero().cpu().numpy(),
                                      np.argwhere(np.moveaxis(values, 0, -1)))  # fmt: skip


@on_both
@pytest.mark.parametrize(
    "dtype", [dt.float32, dt.float64, dt.float16, dt.int64, dt.int16, dt.int8, dt.uint8]
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 9, 31, 33, 2047, 2049, 100_003])
def test_operands_that_begin_anywhere(device, dtype, size):
    numbers = np.random.default_rng(size).integers(0, 60, (3, size + 20))
    a, b, c = dt.tensor(numbers).to(dtype).to(device)
    for i, j, k in ((1, 0, 0), (0, 3, 0), (1, 1, 1), (2, 5, 7), (0, 0, 9), (15, 16, 17)):
        x, y, z = a[i : i + size], b[j : j + size], c.clone()
        sums = numbers[0, i : i + size] + numbers[1, j : j + size]
        assert (x + y).cpu().tolist() == sums.tolist()
        assert (x < y).cpu().tolist() == (numbers[0, i : i + size] < numbers[1, j : j + size]).tolist()  # fmt: skip
        z[k : k + size] += x
        expected = numbers[2].copy()
        expected[k : k + size] += numbers[0, i : i + size]
        assert z.cpu().tolist() == expected.tolist()
    rows = dt.tensor(numbers).to(dtype).to(device)
    assert (rows[:, 1:9] + rows[:, 4:12]).cpu().tolist() == (numbers[:, 1:9] + numbers[:, 4:12]).tolist()  # fmt: skip


@on_both
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_]
)
@pytest.mark.parametrize("descending", [False, True])
def test_sorted_values_are_the_elements(device, dtype, descending):
    """Signs of zeros as well."""
    for size in (1, 100, 5000, 70_001):
        values = np.random.default_rng(size).integers(-20, 20, size).astype(dtype)
        if np.issubdtype(dtype, np.floating):
            values[::5] *= -1
            values[::97] = NAN
        y = dt.tensor(values).to(device).sort(stable=True, descending=descending)
        order = y.indices.cpu().numpy()
        keys = values.astype(np.float64)
        key = np.where(np.isnan(keys), INF, keys)
        expected = np.argsort(-key if descending else key, kind="stable")
        np.testing.assert_array_equal(order, expected)
        values, of_y = values[expected], y.values.cpu().numpy()
        np.testing.assert_array_equal(of_y, values)
        assert of_y.tobytes() == values.tobytes(), f"{size}"
