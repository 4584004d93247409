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
@pytest.mark.parametrize("count", [1, 31, 32, 33, 1000, 1024, 1025, 4097, 5120, 5121, 8193, 16_385])
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


@on_both
@pytest.mark.parametrize(
    "count, rows, width",
    [
        (9, 1, 3),
        (1000, 70, 300),
        (5000, 8192, 4),
        (5000, 8193, 4),
        (1000, 1500, 700),
        (6000, 9000, 64),
    ],
)
def test_gradients_of_repeated_rows(device, count, rows, width):
    """What nobody chose is 0, whatever the memory held; and all sums repeat."""
    rng = np.random.default_rng(count)
    index, grad = rng.integers(0, rows, count), rng.integers(-9, 10, (count, width))
    sums = np.zeros((rows, width))
    np.add.at(sums, index, grad)
    table = dt.ones(rows, width, device=device).requires_grad_()
    y = dt.nn.functional.embedding(dt.tensor(index).to(device), table)
    y.backward(dt.tensor(grad).to(dt.float32).to(device))
    np.testing.assert_array_equal(table.grad.cpu().numpy(), sums)
    x, i = dt.zeros(rows, width, device=device), dt.tensor(index).to(device)
    rest = dt.tensor(rng.standard_normal((count, width))).to(device, dt.float32)
    first = x.index_add(0, i, rest)
    assert (x.index_add(0, i, rest) == first).all()


@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.int32, dt.bool])
@pytest.mark.parametrize(
    "shape, dim", [((1001, 1), 1), ((1, 1000), 0), ((30, 1, 7), 1), ((1, 1), 0)]
)
def test_reductions_of_one_element(device, dtype, shape, dim):
    values = np.random.default_rng(3).integers(0, 2, shape)
    x = dt.tensor(values).to(dtype).to(device)
    for y in (x, x.transpose(0, -1).contiguous().transpose(0, -1), x[1:] if dim > 0 else x[:, 1:]):
        expected = y.cpu().squeeze(dim).to(dt.float64).tolist()
        assert y.sum(dim).to(dt.float64).cpu().tolist() == expected
        assert y.sum(dim, dtype=dt.float64).cpu().tolist() == expected
        if dtype.is_floating_point:
            assert y.mean(dim).to(dt.float64).cpu().tolist() == expected
            assert y.var(dim).isnan().all() and y.std(dim, correction=0).eq(0).all()


@on_both
def test_a_sum_of_one_negative_zero_is_zero(device):
    x = dt.tensor([[-0.0], [float("inf")]], device=device)
    assert dt.signbit(x.sum(1)).tolist() == dt.signbit(x.mean(1)).tolist() == [False, False]
    assert dt.signbit(x.prod(1)).tolist() == [True, False]
    assert x.var(1, correction=0).isnan().tolist() == [False, True]


# On both sides of what a thread takes at a time.
@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.int32, dt.int64])
@pytest.mark.parametrize("size", [3, 1000, 5001])
def test_powers_by_a_number(device, dtype, size):
    values = np.random.default_rng(size).integers(0, 5, size)
    x = dt.tensor(values).to(dtype).to(device)
    for power in (x, x[1:], x[::2]):
        for exponent in (0, 1, 3, 4):
            expected = power.cpu().to(dt.float64).numpy() ** exponent
            found = (power**exponent).to(dt.float64).cpu().numpy()
            # Whole powers of float64 are not exact on a GPU: its library's are within two units.
            unit = np.spacing(expected) if dtype is dt.float64 else 0
            assert (np.abs(found - expected) <= 2 * unit).all()
    if dtype.is_floating_point:
        odd = dt.tensor([0.0, -0.0, -1.0, float("-inf"), float("nan")], dtype=dtype, device=device)
        assert str((odd**2.5).tolist()) == "[0.0, 0.0, nan, inf, nan]"
        assert str((odd**-3).tolist()) == "[inf, -inf, -1.0, -0.0, nan]"


# Many rows are a warp's each, which few of them, of this length, are not.
@on_both
def test_many_rows_that_begin_anywhere(device):
    values = np.random.default_rng(8).integers(-999, 999, 8192 * 2053 + 1, np.int16)
    x, rows = dt.tensor(values).to(dt.float32).to(device)[1:].reshape(8192, 2053), values[1:]
    rows = rows.reshape(8192, 2053)
    np.testing.assert_array_equal(x.sum(1).cpu().numpy(), rows.sum(1))
    np.testing.assert_array_equal(x.argmax(1).cpu().numpy(), rows.argmax(1))
    np.testing.assert_allclose(x.var(1).cpu().numpy(), rows.var(1, ddof=1), rtol=1e-6)


# Exponents on both sides of those that are raised in float64.
@on_both
@pytest.mark.parametrize("exponent", [2.5, -1.3, 1 / 3, 7.0, -100.5, 65_535.0, 65_537.0, 1e-46])
def test_powers_by_a_number_are_accurate(device, exponent):
    rng = np.random.default_rng(5)
    values = np.concatenate(
        [
            rng.random(4000) + 0.5,
            np.exp2(rng.uniform(-149, 128, 4000)),
            [0.0, 1.0, np.inf, np.nan, 2.0**-149, 2.0**-126, 1 - 2.0**-24, 1 + 2.0**-23],
        ]
    ).astype(np.float32)
    x = np.concatenate([values, -values])
    with np.errstate(all="ignore"):
        expected = x.astype(np.float64) ** np.float32(exponent).astype(np.float64)
        rounded = expected.astype(np.float32)
    y = (dt.tensor(x).to(device) ** exponent).cpu().numpy()
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(y[~finite], rounded[~finite])
    np.testing.assert_array_equal(np.signbit(y[finite]), np.signbit(rounded[finite]))
    y, expected, rounded = y[finite], expected[finite], rounded[finite]
    assert (np.abs(y - expected) <= 2 * np.spacing(np.abs(rounded))).all()


# Lines of one tile and of many, which begin at a boundary or behind one.
@on_both
@pytest.mark.parametrize("lines, length", [(1, 16_385), (1, 24_577), (3, 32_768), (1, 300_001)])
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.int64])
def test_long_scans(device, lines, length, dtype):
    values = np.random.default_rng(length).integers(-9, 10, lines * length + 3)
    there = dt.tensor(values).to(dtype).to(device)
    for start in range(4):
        x = there[start : start + lines * length].reshape(lines, length)
        expected = values[start : start + lines * length].reshape(lines, length).cumsum(1)
        np.testing.assert_array_equal(x.cumsum(1).cpu().numpy(), expected)


# The sums are those of wider numbers, rounded once.
@on_both
@pytest.mark.parametrize("length", [7, 33, 1000, 16_385, 70_001])
@pytest.mark.parametrize(
    "dtype, lowest",
    [
        (dt.float16, -9),
        (dt.bfloat16, -9),
        (dt.int32, -9),
        (dt.int16, -9),
        (dt.int8, -9),
        (dt.uint8, 0),
        (dt.bool, 0),
    ],
)
def test_scans_of_narrow_elements(device, dtype, lowest, length):
    draw = np.random.default_rng(length).integers(
        lowest, 2 if dtype is dt.bool else 10, 3 * length + 3
    )
    there = dt.tensor(draw).to(dtype).to(device)
    for start in (0, 1, 3):
        for lines in (1, 3):
            x = there[start : start + lines * length].reshape(lines, length)
            y = x.cumsum(1)
            sums = draw[start : start + lines * length].reshape(lines, length).cumsum(1)
            assert y.dtype is (dtype if dtype.is_floating_point else dt.int64)
            expected = dt.tensor(sums).to(dt.float64).to(y.dtype)
            assert (y.cpu() == expected).all()


# More elements than a block keeps, of few rows: several blocks have a row together.
@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.bfloat16])
@pytest.mark.parametrize("rows, length", [(1, 50_257), (3, 70_001), (1, 300_000), (40, 40_000)])
def test_long_rows_of_probabilities(device, dtype, rows, length):
    rng = np.random.default_rng(length)
    x = dt.tensor(rng.normal(0, 3, (rows, length))).to(dtype)
    g = dt.tensor(rng.normal(0, 1, (rows, length))).to(dtype)
    low, weight = x.double().numpy(), g.double().numpy()
    low = low - low.max(1, keepdims=True)
    logs = low - np.log(np.exp(low).sum(1, keepdims=True))
    shares = np.exp(logs)
    slopes = {
        "softmax": shares * (weight - (weight * shares).sum(1, keepdims=True)),
        "log_softmax": weight - shares * weight.sum(1, keepdims=True),
    }
    close = {dt.float64: 1e-12, dt.float32: 1e-5, dt.bfloat16: 2e-2}[dtype]
    for name, want in (("softmax", shares), ("log_softmax", logs)):
        there = x.to(device).clone().requires_grad_()
        y = getattr(there, name)(1)
        y.backward(g.to(device))
        got, slope = y.detach().double().cpu().numpy(), there.grad.double().cpu().numpy()
        np.testing.assert_allclose(got, want, rtol=close, atol=close * np.abs(want).max())
        wanted = slopes[name]
        np.testing.assert_allclose(slope, wanted, rtol=close, atol=4 * close * np.abs(wanted).max())


# Images of a few colours: all that a network's first layer may be, its cells cut at every border.
@on_both
@pytest.mark.parametrize("channels, out", [(2, 5), (3, 64), (4, 3)])
@pytest.mark.parametrize(
    "side, window, stride, padding",
    [((9, 11), 3, 1, 1), ((12, 12), 3, 2, 1), ((33, 250), 7, 2, 3), ((17, 16), 5, 2, 0),
     ((130, 9), 5, 1, 2), ((8, 8), 7, 1, 6), ((20, 64), 3, 2, 0), ((31, 128), 7, 2, 3)],
)  # fmt: skip
def test_gradients_of_images_of_few_colours(device, channels, out, side, window, stride, padding):
    """Each weight's share, added up in float64."""
    rng = np.random.default_rng(window)
    weight = rng.integers(-3, 4, (out, channels, window, window)).astype(float)
    low = [(n + 2 * padding - window) // stride + 1 for n in side]
    g = rng.integers(-3, 4, (2, out, *low)).astype(float)
    padded = np.zeros((2, channels, *(n + 2 * padding for n in side)))
    for r in range(window):
        for s in range(window):
            here = padded[:, :, r : r + stride * low[0] : stride, s : s + stride * low[1] : stride]
            here += np.einsum("nohw,oc->nchw", g, weight[:, :, r, s])
    want = padded[:, :, padding : padding + side[0], padding : padding + side[1]]
    for last in (False, True):
        x = dt.zeros(2, channels, *side, device=device)
        if last:
            x = x.contiguous(memory_format=dt.channels_last)
        x.requires_grad_()
        w = dt.tensor(weight).to(dt.float32).to(device)
        y = dt.nn.functional.conv2d(x, w, None, stride, padding)
        y.backward(dt.tensor(g).to(dt.float32).to(device))
        np.testing.assert_array_equal(x.grad.cpu().numpy(), want)


# Rows that end in the first round of a block, or go on.
@on_both
@pytest.mark.parametrize("length", [2053, 3001, 4095, 4100, 16_385, 18_433])
def test_rows_that_begin_anywhere(device, length):
    values = np.random.default_rng(length).integers(-999, 999, 5 * length + 3)
    there = dt.tensor(values).to(dt.float32).to(device)
    for start in range(4):
        rows = values[start : start + 5 * length].reshape(5, length)
        x = there[start : start + 5 * length].reshape(5, length)
        assert x.sum(1).tolist() == rows.sum(1).tolist()
        assert x.argmax(1).tolist() == rows.argmax(1).tolist()
        np.testing.assert_allclose(x.var(1).cpu().numpy(), rows.var(1, ddof=1), rtol=1e-6)
        shares = np.exp(rows / 500.0)
        np.testing.assert_allclose(
            (x / 500).softmax(1).cpu().numpy(), shares / shares.sum(1, keepdims=True), rtol=1e-5
        )


# More than one row for each place about a packet's boundary, of lengths at which the threads of a row change.
@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.bfloat16])
@pytest.mark.parametrize(
    "length", [1, 5, 33, 64, 65, 97, 130, 259, 513, 641, 1153, 2305, 4609, 8193, 18_433]
)
def test_normalised_rows_that_begin_anywhere(device, dtype, length):
    rng = np.random.default_rng(length)
    rows = 19 if length > 2000 else 133
    flat = dt.tensor(rng.normal(3, 2, rows * length + 3)).to(dtype).to(device)
    weight, bias = (dt.tensor(rng.normal(0, 1, length)).to(dtype).to(device) for _ in range(2))
    w, b = weight.double().cpu().numpy(), bias.double().cpu().numpy()
    close = {dt.float64: 1e-11, dt.float32: 2e-5, dt.bfloat16: 3e-2}[dtype]
    for start in (0, 1, 3):
        x = flat[start : start + rows * length].reshape(rows, length)
        values = x.double().cpu().numpy()
        off = values - values.mean(1, keepdims=True)
        want = off / np.sqrt((off**2).mean(1, keepdims=True) + 1e-5) * w + b
        got = dt.nn.functional.layer_norm(x, (length,), weight, bias).double().cpu().numpy()
        np.testing.assert_allclose(got, want, rtol=close, atol=close)
        shares = values / np.sqrt((values**2).mean(1, keepdims=True) + 1e-6)
        got = dt.nn.functional.rms_norm(x, (length,), eps=1e-6).double().cpu().numpy()
        np.testing.assert_allclose(got, shares, rtol=close, atol=close)


# So many that a block takes a tile of them.
@on_both
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("length", [2, 3, 7, 13, 15, 17])
def test_many_very_short_rows(device, dtype, length):
    count = (1 << 20) // length + 77
    values = np.random.default_rng(length).integers(0, 9, (count, length))
    values = values > 4 if dtype == "bool" else values
    there = dt.tensor(values.reshape(-1)).to(getattr(dt, dtype)).to(device)
    for start in (0, 5):  # rows
        x, rows = there[start * length :].reshape(-1, length), values[start:]
        assert (x.sum(1).cpu().numpy() == rows.sum(1)).all()
        assert (x.any(1).cpu().numpy() == rows.any(1)).all()
        if dtype != "bool":
            largest, place = x.max(1)
            assert (largest.cpu().numpy() == rows.max(1)).all()
            assert (place.cpu().numpy() == rows.argmax(1)).all()
        if dtype.startswith("float"):
            variance = x.double().var(1).cpu().numpy()
            np.testing.assert_allclose(variance, rows.var(1, ddof=1), rtol=1e-12)
            np.testing.assert_allclose(x.var(1).cpu().numpy(), variance, rtol=2e-3)


# Operands of which one is dense along one axis and another along a different one.
@on_both
@pytest.mark.parametrize("dtype, other", [("float32", "float32"), ("int64", "float32"), ("uint8", "int16"),
                                          ("float16", "float64"), ("bfloat16", "bfloat16")])  # fmt: skip
@pytest.mark.parametrize(
    "shape, order",
    [((33, 65), (1, 0)), ((16, 16), (1, 0)), ((15, 300), (1, 0)), ((5, 40, 70), (0, 2, 1)),
     ((70, 3, 40), (2, 1, 0)), ((17, 18, 5, 19), (3, 1, 0, 2)), ((1, 257, 31), (2, 0, 1))],
)  # fmt: skip
def test_operands_that_lie_across(device, shape, order, dtype, other):
    rng = np.random.default_rng(len(shape))
    back = tuple(np.argsort(order))
    a, b = rng.integers(0, 50, [shape[d] for d in order]), rng.integers(1, 50, shape)
    x = dt.tensor(a).to(getattr(dt, dtype)).to(device).permute(back)
    y = dt.tensor(b).to(getattr(dt, other)).to(device)
    a = a.transpose(back)
    assert ((x + y).double().cpu().numpy() == a + b).all()
    assert ((x < y).cpu().numpy() == (a < b)).all()
    assert (dt.where(x < y, y, x).double().cpu().numpy() == np.maximum(a, b)).all()
    assert (dt.addcmul(y.double(), x.double(), y.double()).cpu().numpy() == b + a * b).all()
    y += x[:1].expand(shape).to(y.dtype)
    assert (y.double().cpu().numpy() == b + a[:1]).all()


# Batches of which each matrix is small: a few, and so many that blocks have several of them.
@on_both
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize(
    "batch, m, k, n",
    [(3000, 8, 8, 8), (5001, 3, 5, 7), (40, 32, 32, 32), (70, 31, 33, 30), (300, 64, 8, 64),
     (2000, 1, 32, 32), (2000, 32, 32, 1), (70, 128, 2, 128), (400, 4, 128, 60), (9, 5, 128, 40)],
)  # fmt: skip
def test_products_of_many_small_matrices(device, dtype, batch, m, k, n):
    draw = np.random.default_rng(batch)
    a, b = draw.integers(0, 9, (batch, m, k)), draw.integers(0, 9, (batch, k, n))
    a, b = a.astype(dtype), b.astype(dtype)
    truth = np.matmul(a, b)
    x, y = dt.tensor(a).to(device), dt.tensor(b).to(device)
    turned = [t.mT.contiguous().mT for t in (x, y)]
    for left, right in ((x, y), (x, turned[1]), (turned[0], y), (turned[0], turned[1])):
        assert np.array_equal((left @ right).cpu().numpy(), truth)
    # One factor for all, every second matrix, and a sum that is added.
    assert np.array_equal((x @ y[0]).cpu().numpy(), np.matmul(a, b[0]))
    assert np.array_equal((x[::2] @ y[1::2][:1]).cpu().numpy(), np.matmul(a[::2], b[1:2]))
    c = dt.tensor(truth).to(device)
    assert np.array_equal(dt.baddbmm(c, x, y, beta=2).cpu().numpy(), 3 * truth)


# Rows whose elements are read in packets, and others.
@on_both
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_]
)
@pytest.mark.parametrize("shape", [(7, 1000), (3, 30011), (300, 33), (1, 70001)])
def test_truth_of_rows(device, dtype, shape):
    a = np.zeros(shape, dtype)
    a[1:, -1] = 1
    x = dt.tensor(a).to(device)
    for view, truth in ((x, a), (x[:, 1:], a[:, 1:]), (x.t()[::2].t(), a[:, ::2])):
        assert view.any(1).cpu().tolist() == truth.any(1).tolist()
        assert (view == 0).all(1).cpu().tolist() == (truth == 0).all(1).tolist()


@on_both
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(7, 1000), (3, 30011), (300, 33), (1, 70001)])
def test_products_and_norms_of_rows(device, dtype, shape):
    a = np.ones(shape, dtype)
    a[:, shape[1] // 2] = 3
    a[:, -3:] = 2
    x = dt.tensor(a).to(device)
    assert x.prod(1).cpu().tolist() == [24] * shape[0]
    assert x[:, 1:].prod(1).cpu().tolist() == [24] * shape[0]
    if np.issubdtype(dtype, np.floating):
        for p, truth in ((1, shape[1] + 5), (float("inf"), 3), (0, shape[1])):
            ours = dt.linalg.vector_norm(x, p, dim=1, dtype=dt.float64).cpu().tolist()
            assert ours == [truth] * shape[0]


# [batch, channels, length] in groups: short channels in groups of 4, 8, 16 and 32 lanes, of a block and of more than a
# cluster keeps, channels on either side of short, and on either side of what a block and a cluster of blocks keep in
# registers, more than that (many and few of them), channels of odd lengths, groups of one channel.
GROUPED = [
    ((3, 24, 1), 2), ((5, 12, 2), 3), ((70, 8, 9), 4), ((33, 32, 7), 2), ((40, 64, 9), 4), ((2, 66, 9), 2),
    ((5, 8, 64), 8), ((5, 8, 65), 8), ((2, 600, 6), 1), ((2, 5000, 7), 1), ((2, 6, 33), 1),
    ((3, 8, 257), 4), ((2, 2, 1024), 2), ((3, 4, 1025), 4), ((2, 3, 3477), 1), ((2, 16, 512), 2), ((2, 16, 513), 2),
    ((1, 2, 65536), 2), ((1, 2, 65537), 2), ((300, 1, 65600), 1),
]  # fmt: skip


def doubles(x):
    return x.detach().double().cpu().numpy()


def group_norm_in_double(x, groups, weight, bias, g, eps):
    """The result and its gradients by x, weight and bias: arXiv 1803.08494."""
    batch, channels, length = x.shape
    rows = x.reshape(batch, groups, -1)
    centred = rows - rows.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    normal = (centred / spread).reshape(x.shape)
    y = normal * weight[:, None] + bias[:, None]
    by_normal = (g * weight[:, None]).reshape(rows.shape)
    n = normal.reshape(rows.shape)
    means = by_normal.mean(-1, keepdims=True), (by_normal * n).mean(-1, keepdims=True)
    by_x = ((by_normal - means[0] - n * means[1]) / spread).reshape(x.shape)
    return y, by_x, (g * normal).sum((0, 2)), g.sum((0, 2))


# Beside wider parameters a narrow input and gradient begin at no pair's boundary.
@on_both
@pytest.mark.parametrize(
    "dtype, of_parameters",
    [
        (dt.float32, dt.float32), (dt.float64, dt.float64), (dt.float16, dt.float16), (dt.bfloat16, dt.bfloat16),
        (dt.float16, dt.float32), (dt.bfloat16, dt.float32),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sizes, groups", GROUPED)
def test_groups(device, dtype, of_parameters, sizes, groups):
    if device == "cpu" and np.prod(sizes) > 1e7:
        pytest.skip("where kernels of a GPU alone change over")
    rng, begin = np.random.default_rng(sum(sizes)), int(dtype != of_parameters)

    def given(shape, dtype, mean=0):
        memory = dt.tensor(rng.standard_normal(begin + np.prod(shape)) + mean).to(dtype)
        x = memory.to(device)[begin:].view(shape)
        return doubles(x), x.requires_grad_()

    (x, ours), (g, grad) = given(sizes, dtype, 3), given(sizes, dtype)
    (w, weight), (b, bias) = (given(sizes[1:2], of_parameters) for _ in range(2))
    y = dt.nn.functional.group_norm(ours, groups, weight, bias)
    results = [y, *dt.autograd.grad(y, (ours, weight, bias), grad.detach())]
    expected = group_norm_in_double(x, groups, w, b, g, 1e-5)
    for result, truth, like in zip(results, expected, [ours, ours, weight, bias]):
        assert result.dtype == like.dtype
        eps, scale = dt.finfo(like.dtype).eps, max(np.abs(truth).max(), 1)
        allowed = (1 if eps > 1e-4 else 40) * eps * scale
        np.testing.assert_allclose(doubles(result), truth, rtol=0, atol=allowed)


@on_both
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.bfloat16])
@pytest.mark.parametrize("has_bias", [False, True])
def test_images_by_themselves(device, dtype, has_bias):
    """instance_norm beside group_norm of as many groups as channels, which is tried above: in float64."""
    rng = np.random.default_rng(7)
    for sizes in ((3, 5, 2, 3), (2, 4, 64, 64), (2, 3, 7, 59), (2, 2, 300, 300)):
        x, g = (dt.tensor(rng.standard_normal(sizes)).to(dtype).to(device) for _ in range(2))
        scale = dt.tensor(rng.standard_normal(sizes[1])).to(dtype).to(device)
        of = (scale, scale.flip(0)) if has_bias else (None, None)
        results = []
        for norm, wide in ((True, dtype), (False, dt.float64)):
            y, weight, bias = (
                v if v is None else v.to(wide).detach().requires_grad_() for v in (x, *of)
            )
            if norm:
                out = dt.nn.functional.instance_norm(y, weight=weight, bias=bias)
            else:
                out = dt.nn.functional.group_norm(y, sizes[1], weight, bias)
            out.backward(g.to(wide))
            results.append([out, *(v.grad for v in (y, weight, bias) if v is not None)])
        for ours, truth in zip(*results):
            assert ours.dtype == dtype
            truth = doubles(truth)
            eps = dt.finfo(dtype).eps
            allowed = (1 if eps > 1e-4 else 40) * eps * max(np.abs(truth).max(), 1)
            np.testing.assert_allclose(doubles(ours), truth, rtol=0, atol=allowed)


# In packets of several elements and of one, in one to three dimensions, by powers of two and others.
@on_both
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize(
    "sizes, factors",
    [
        ((2, 3, 8), (2,)), ((2, 3, 7), (2,)), ((2, 3, 5), (4,)), ((2, 4, 6, 8), (2, 2)), ((2, 3, 5, 7), (2, 2)),
        ((2, 4, 5, 8), (1, 2)), ((2, 4, 5, 8), (4, 1)), ((1, 2, 3, 4), (8, 4)), ((2, 2, 4, 6), (3, 2)),
        ((2, 2, 3, 4, 8), (2, 2, 2)), ((1, 3, 2, 3, 5), (2, 1, 4)), ((3, 1, 1, 1), (2, 2)), ((2, 4, 33, 64), (16, 2)),
    ],
)  # fmt: skip
def test_repeated_neighbours(device, channels_last, sizes, factors):
    if channels_last and len(sizes) != 4:
        pytest.skip("an order of images")
    rng = np.random.default_rng(len(sizes))
    for dtype, mode in (
        (dt.float32, "nearest"),
        (dt.float64, "nearest-exact"),
        (dt.bfloat16, "nearest"),
    ):
        x = dt.tensor(rng.integers(-9, 9, sizes)).to(dtype).to(device)
        if channels_last:
            x = x.contiguous(memory_format=dt.channels_last)
        x.requires_grad_()
        grown = [n * f for n, f in zip(sizes[2:], factors)]
        y = dt.nn.functional.interpolate(x, size=grown, mode=mode)
        g = rng.integers(-2, 3, y.shape)
        y.backward(dt.tensor(g).to(dtype).to(device))
        truth, sums = doubles(x), g.astype(float)
        for axis, factor in enumerate(factors, 2):
            truth = truth.repeat(factor, axis)
            sums = np.add.reduceat(sums, np.arange(0, sums.shape[axis], factor), axis)
        assert np.array_equal(doubles(y), truth)
        assert np.array_equal(doubles(x.grad), sums)
