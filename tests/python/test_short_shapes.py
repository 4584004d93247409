"""Shapes of few elements along a dimension, for which kernels have ways of their own."""

import itertools

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]  # fmt: skip


def drawn(shape, seed, low=-3, high=4):
    """Small whole numbers, so that many are equal; with NaN and zeros of both signs."""
    g = np.random.default_rng(seed)
    x = g.integers(low, high, shape).astype(np.float64)
    return np.where(
        g.random(shape) < 0.05, np.nan, np.where(x == 0, np.copysign(0, g.random(shape) - 0.5), x)
    )


def pair(values, dtype="float32"):
    if dtype in ("float32", "float64", "float16", "bfloat16"):
        return tuple(m.from_numpy(values.copy()).to(getattr(m, dtype)) for m in (dt, torch))
    whole = np.abs(np.nan_to_num(values)).astype(np.int64)
    return tuple(m.from_numpy(whole).to(getattr(m, dtype)) for m in (dt, torch))


def same(ours, theirs):
    a, b = ours.double().numpy(), theirs.double().numpy()
    assert a.shape == b.shape and np.array_equal(a, b, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9])
def test_sorts_of_short_rows(dtype, n):
    x, y = pair(drawn((40, n), n), dtype)
    for descending in (False, True):
        ours, theirs = (
            m.sort(t, dim=1, descending=descending, stable=True) for m, t in ((dt, x), (torch, y))
        )
        same(ours.values, theirs.values)
        same(ours.indices, theirs.indices)
        same(
            dt.argsort(x.t(), dim=0, descending=descending, stable=True),
            torch.argsort(y.t(), dim=0, descending=descending, stable=True),
        )
    if n > 1 and dtype != "bool":
        same(x.topk(n - 1, 1).values, y.topk(n - 1, 1).values)


def test_short_rows_of_zeros_keep_their_order():
    x = dt.tensor([[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]])
    values, indices = x.sort(1)
    assert (
        indices.tolist() == [[0, 1, 2]] * 2
        and np.signbit(values.numpy()).tolist() == np.signbit(x.numpy()).tolist()
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32"])
@pytest.mark.parametrize(
    "shape", [(4, 31, 5), (7, 9, 1), (3, 40, 8), (2, 17, 16), (2, 17, 33), (30, 2, 3)]
)
def test_maxima_over_columns(dtype, shape):
    x, y = pair(drawn(shape, sum(shape), -900, 900), dtype)
    for op in ("max", "min"):
        ours, theirs = (getattr(m, op)(t, 1) for m, t in ((dt, x), (torch, y)))
        same(ours.values, theirs.values)
        same(x.gather(1, ours.indices.unsqueeze(1)).squeeze(1), theirs.values)
        first = np.argmax(
            (y == theirs.values.unsqueeze(1)).numpy() | np.isnan(y.double().numpy()), 1
        )
        assert np.array_equal(ours.indices.numpy(), first)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 7, 15, 16, 129, 1000, 4099, 300_001])
def test_inner_products(dtype, n):
    g = np.random.default_rng(n)
    a, b = g.standard_normal(n), g.standard_normal(n)
    x, y = (dt.from_numpy(v).to(getattr(dt, dtype)) for v in (a, b))
    exact = np.dot(
        x.double().numpy().astype(np.longdouble), y.double().numpy().astype(np.longdouble)
    )
    tolerance = (1e-6 if dtype == "float32" else 1e-14) * np.sqrt(n) * 2
    assert abs(dt.dot(x, y).item() - float(exact)) < tolerance
    results = set()
    threads = dt.get_num_threads()
    for count in (1, 2, 3):
        dt.set_num_threads(count)
        results.add(dt.dot(x, y).item())
    dt.set_num_threads(threads)
    assert len(results) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "k,n", [(1, 1), (3, 5), (157, 5), (300, 20), (64, 16), (65, 63), (9, 64), (10, 65)]
)
def test_rows_times_narrow_matrices(dtype, k, n):
    g = np.random.default_rng(k * n)
    a, b, c = (
        g.standard_normal((3, 1, k)),
        g.standard_normal((3, k, n)),
        g.standard_normal((3, 1, n)),
    )
    x, y, z = (dt.from_numpy(v).to(getattr(dt, dtype)) for v in (a, b, c))
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    assert np.allclose(dt.bmm(x, y).numpy(), a @ b, atol=tolerance, rtol=tolerance)
    assert np.allclose(
        dt.baddbmm(z, x, y, beta=0.5, alpha=2).numpy(), 0.5 * c + 2 * (a @ b), atol=tolerance
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8"])
def test_cubes(dtype):
    x, y = pair(drawn((5, 7), 1), dtype)
    same(x**3, y**3)
    same(x.clone().pow_(3), y.clone().pow_(3))
    if dtype == "float64":
        v = dt.rand(4, dtype=dt.float64, requires_grad=True)
        assert dt.autograd.gradcheck(lambda t: t**3, v) and dt.autograd.gradgradcheck(
            lambda t: t**3, v
        )


@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "sliced"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "size,windows", [((7, 9), (2, 4)), ((3, 3), (7, 5)), ((28, 10), (3, 10)), ((5, 1), (3, 1))]
)
def test_uneven_adaptive_maxima(layout, dtype, size, windows):
    values = drawn((2, 3, *size), size[0], -500, 500)
    for data in (values, np.full_like(values, -np.inf)):
        x, y = pair(data, dtype)
        if layout == "channels_last":
            x, y = (
                x.contiguous(memory_format=dt.channels_last),
                y.contiguous(memory_format=torch.channels_last),
            )
        if layout == "sliced":
            x, y = x[..., 1:], y[..., 1:]
        if 0 in x.shape:
            return
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        ours, theirs = (
            m.nn.functional.adaptive_max_pool2d(t, windows, return_indices=True)
            for m, t in ((dt, x), (torch, y))
        )
        same(ours[0].detach(), theirs[0].detach())
        same(ours[1], theirs[1])
        assert ours[0].stride() == theirs[0].stride() or dtype == "float16"
        ours[0].sum().backward(), theirs[0].sum().backward()
        same(x.grad, y.grad)
        same(
            dt.nn.functional.adaptive_max_pool1d(x.detach()[0, :, 0], windows[1] + 1),
            torch.nn.functional.adaptive_max_pool1d(y.detach()[0, :, 0], windows[1] + 1),
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("h,w", [(1, 1), (3, 4), (8, 8), (5, 31), (6, 70), (40, 12)])
def test_maxima_of_small_images_with_borders(dtype, h, w):
    values = drawn((2, 3, h, w), h * w, -500, 500)
    for kernel, stride, data in itertools.product(
        (2, 3, 5), (1, 2, 3), (values, np.full_like(values, -np.inf))
    ):
        x, y = pair(data, dtype)
        if dtype == "int32" and data is not values:
            continue
        padding = kernel // 2
        if min(h, w) + 2 * padding < kernel:
            continue
        ours, theirs = (
            m.nn.functional.max_pool2d(t, kernel, stride, padding, return_indices=True)
            for m, t in ((dt, x), (torch, y))
        )
        same(ours[0], theirs[0])
        same(ours[1], theirs[1])


@pytest.mark.parametrize("factor", [0.5, 2, 1.5])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_of_images_with_channels_last(factor, mode):
    x, y = pair(np.random.default_rng(0).standard_normal((2, 5, 6, 8)))
    x = x.contiguous(memory_format=dt.channels_last).requires_grad_()
    y = y.contiguous(memory_format=torch.channels_last).requires_grad_()
    ours, theirs = (
        m.nn.functional.interpolate(t, scale_factor=factor, mode=mode)
        for m, t in ((dt, x), (torch, y))
    )
    same(ours.detach(), theirs.detach())
    assert ours.stride() == theirs.stride() and not ours._is_view()
    (ours * ours).sum().backward(), (theirs * theirs).sum().backward()
    assert np.allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_softmax_of_gaps(op, dim):
    values = np.random.default_rng(dim).standard_normal((3, 5, 4, 6))
    x, y = pair(values, "float64")
    x, y = x[..., 1:3].requires_grad_(), y[..., 1:3].requires_grad_()
    ours, theirs = getattr(dt, op)(x, dim), getattr(torch, op)(y, dim)
    assert np.allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=0)
    assert ours.is_contiguous() and not ours._is_view()
    g = (
        dt.autograd.grad((ours * ours).sum(), x)[0],
        torch.autograd.grad((theirs * theirs).sum(), y)[0],
    )
    assert np.allclose(g[0].numpy(), g[1].numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8"])
@pytest.mark.parametrize("n", [7, 8, 15, 16, 17, 24, 32, 48, 64])
def test_elementwise_of_short_rows_with_gaps(dtype, n):
    x, y = pair(drawn((5, 3, n + 3), n), dtype)
    x, y = x[..., 1 : n + 1], y[..., 1 : n + 1]
    for f in (
        lambda t: t * 2,
        lambda t: t + t,
        lambda t: t > 0,
        lambda t: t - t[0],
        lambda t: t.abs(),
        lambda t: t + 1.5,
    ):
        same(f(x), f(y))
    x += 1
    y += 1
    same(x, y)
    same(x.transpose(0, 1) + x.transpose(0, 1), y.transpose(0, 1) + y.transpose(0, 1))


@pytest.mark.parametrize("n", [64, 65, 100, 128, 200])
def test_rows_times_matrices_on_any_number_of_threads(n):
    g = np.random.default_rng(n)
    a, b = (dt.from_numpy(g.standard_normal(shape)).float() for shape in ((1, 30_011), (30_011, n)))
    threads, results = dt.get_num_threads(), []
    for count in (1, 2, 3, 4):
        dt.set_num_threads(count)
        results.append((a @ b).tolist())
    dt.set_num_threads(threads)
    assert all(r == results[0] for r in results)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m", [1, 5, 9])
@pytest.mark.parametrize("n,k", [(65, 2048), (67, 4096), (257, 1500), (1027, 600)])
def test_few_rows_times_transposes_on_any_number_of_threads(dtype, m, n, k):
    g = np.random.default_rng(n)
    a, b = (
        dt.from_numpy(g.standard_normal(shape)).to(getattr(dt, dtype)) for shape in ((m, k), (n, k))
    )
    threads, results = dt.get_num_threads(), []
    for count in (1, 2, 3, 4):
        dt.set_num_threads(count)
        results.append((a @ b.t()).tolist())
    dt.set_num_threads(threads)
    assert all(r == results[0] for r in results)
