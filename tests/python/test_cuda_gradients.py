"""Kernels of a GPU that stand for many ops: losses of classes, gradients of scans and of choices, small matrices; and
writes of which the last wins. The truth is PyTorch on the CPU, or NumPy where PyTorch does not say which write wins."""

import dumbtorch as dt
import numpy as np
import pytest
import torch

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
DEVICE = "cuda" if dt.cuda.is_available() else "cpu"
LINES = [
    ((5, 7), 1),
    ((300, 1000), 1),
    ((300, 1000), 0),
    ((2, 40_003), 1),
    ((40_003, 2), 0),
    ((7, 300, 5), 1),
    ((0, 10_000), 1),
]


def here(x):
    return dt.from_numpy(np.ascontiguousarray(x)).to(DEVICE)


def gradient(t, y, x, g):
    (gx,) = t.autograd.grad(y(x.requires_grad_()), x, g)
    return gx.detach().cpu().numpy()


@pytest.mark.parametrize("shape", [(4,), (2, 2), (1, 4)])
def test_the_first_wrong_class_is_named(shape):
    target = np.array([0, 5, 7, 1]).reshape(shape)
    sizes = (shape[0], 5, *shape[1:])
    for t, make in ((torch, torch.from_numpy), (dt, dt.from_numpy)):
        with pytest.raises(IndexError, match="Target 5 is out of bounds"):
            t.nn.functional.nll_loss(make(np.zeros(sizes, np.float32)), make(target))


@pytest.mark.parametrize("bad", [5, -1])
def test_a_wrong_class_is_an_index_error(bad):
    with pytest.raises(IndexError):
        dt.nn.functional.nll_loss(
            here(np.zeros((4, 5), np.float32)), here(np.array([0, bad, 1, 2]))
        )
        if DEVICE == "cuda":
            dt.cuda.synchronize()


@pytest.mark.parametrize("shape", [(20_000, 3), (3, 1000), (2, 5, 33, 70)])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_nll_loss_of_more_than_a_block(shape, reduction):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    target = rng.integers(0, shape[1], shape[:1] + shape[2:])
    weight = rng.random(shape[1]) + 0.5

    def run(t, make):
        a = make(x).requires_grad_()
        y = t.nn.functional.nll_loss(
            a, make(target), make(weight), ignore_index=1, reduction=reduction
        )
        (g,) = t.autograd.grad((y * y).sum(), a)
        return y.detach().cpu().numpy(), g.cpu().numpy()

    for mine, theirs in zip(run(dt, here), run(torch, torch.from_numpy), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape, dim", LINES)
@pytest.mark.parametrize("zeros", [False, True])
def test_gradient_of_running_products(shape, dim, zeros):
    rng = np.random.default_rng(1)
    # Of either sign and near 1, so that long products stay in sight.
    x = np.where(rng.random(shape) < 0.5, -1, 1) * np.exp(0.01 * rng.standard_normal(shape))
    if zeros:
        x[rng.random(shape) < 2 / shape[dim]] = 0
    g = rng.standard_normal(shape)
    mine = gradient(dt, lambda v: v.cumprod(dim), here(x), here(g))
    theirs = gradient(torch, lambda v: v.cumprod(dim), torch.from_numpy(x), torch.from_numpy(g))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("shape, dim", LINES)
@pytest.mark.parametrize("name", ["cummax", "cummin", "sort", "max"])
def test_gradient_of_chosen_elements(shape, dim, name):
    rng = np.random.default_rng(2)
    x = rng.integers(-4, 5, shape).astype(np.float64)
    if name in ("sort", "max"):
        x = rng.permutation(x.size).reshape(shape).astype(np.float64)
    elif x.size:
        x.reshape(-1)[7] = np.nan

    def run(t, make):
        def chosen(v):
            return getattr(v, name)(dim)[0]

        a = make(x)
        g = make(rng_of(tuple(chosen(a).shape)))
        return gradient(t, chosen, a, g)

    def rng_of(sizes):
        g = np.random.default_rng(3).standard_normal(sizes)
        if g.size > 20:
            g.reshape(-1)[[3, 17]] = np.inf, np.nan
        return g

    mine, theirs = run(dt, here), run(torch, torch.from_numpy)
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["sort", "topk"])
def test_gradient_by_indices_that_were_written_behind_the_graph(name):
    def run(t, make):
        x = make(np.arange(1000.0)[::-1].copy()).requires_grad_()
        values, indices = x.sort() if name == "sort" else x.topk(1000)
        indices.data.fill_(0)
        values.sum().backward()
        return x.grad.cpu().numpy()

    assert np.array_equal(run(dt, here), run(torch, torch.from_numpy))


@needs_gpu
@pytest.mark.parametrize("name", ["cumprod", "cummax"])
def test_gradients_of_scans_have_the_same_bits_each_time(name):
    rng = np.random.default_rng(4)
    x, g = here(rng.standard_normal((3, 50_001))), here(rng.standard_normal((3, 50_001)))

    def chosen(v):
        return v.cumprod(1) if name == "cumprod" else v.cummax(1)[0]

    first = gradient(dt, chosen, x, g)
    assert all(np.array_equal(first, gradient(dt, chosen, x, g), equal_nan=True) for _ in range(3))


@pytest.mark.parametrize("width", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64])
@pytest.mark.parametrize("kind", ["random", "same", "often"])
def test_the_last_of_many_writes_wins(kind, dtype, width):
    rng = np.random.default_rng(5)
    n, places = 270_003, 60_001  # more than what is sorted
    index = {
        "random": rng.integers(0, places, n),
        "same": np.full(n, 17),
        "often": np.minimum(rng.zipf(1.3, n) - 1, places - 1),
    }[kind]
    source = rng.integers(0, 200, (n, width)).astype(dtype)
    want = rng.integers(0, 200, (places, width)).astype(dtype)
    y = here(want)
    want[index] = source
    assert np.array_equal(y.index_copy(0, here(index), here(source)).cpu().numpy(), want)
    y[here(index)] = here(source)
    assert np.array_equal(y.cpu().numpy(), want)


# Lines of some threads, of a warp, of a block, and cut into chunks; the unit of a dtype's rounding.
@pytest.mark.parametrize("shape", [(500, 33), (50, 1000), (4097, 1026), (9, 2050), (2, 40_003)])
@pytest.mark.parametrize("scale", [1, 30])
@pytest.mark.parametrize("dtype, unit", [("float32", 0), ("float16", 2**-11), ("bfloat16", 2**-8)])
def test_logcumsumexp_is_as_exact_as_its_dtype_allows(shape, scale, dtype, unit):
    x = (np.random.default_rng(6).standard_normal(shape) * scale).astype(np.float32)
    x[1, 5], x[0, 3] = -np.inf, x[0].max() + 1
    given = here(x).to(getattr(dt, dtype))
    truth = torch.from_numpy(given.double().cpu().numpy()).logcumsumexp(1).numpy()
    mine = given.logcumsumexp(1).float().cpu().numpy()
    np.testing.assert_allclose(mine, truth, rtol=3e-7 + unit, atol=3e-7)


@pytest.mark.parametrize(
    "dtype, unit, least",
    [("float32", 0, 1e-13), ("float16", 2**-11, 2**-25), ("bfloat16", 2**-8, 1e-13)],
)
def test_lgamma_keeps_its_digits_beside_zeros(dtype, unit, least):
    x = np.random.default_rng(10).uniform(-13, 5, 100_000).astype(np.float32)
    poles = -np.arange(0, 13, dtype=np.float32)
    zeros = np.float32(
        [-2.4570247, -2.7476826, -3.1435809, -3.9552943, -4.0393617, -4.9915446, -5.0082183, 1, 2]
    )
    beside = [np.nextafter(p, np.float32(to)) for p in (poles, zeros) for to in (-20, 20)]
    given = here(np.concatenate([x, poles, zeros, *beside])).to(getattr(dt, dtype))
    truth = torch.from_numpy(given.double().cpu().numpy()).lgamma().numpy()
    mine = given.lgamma().float().cpu().numpy()
    np.testing.assert_allclose(mine, truth, rtol=1e-6 + unit, atol=least)


@pytest.mark.parametrize("n", [1, 2, 5, 16, 31, 40])
@pytest.mark.parametrize("batch", [(), (70,)])
def test_small_matrices(n, batch):
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((*batch, n, n)) + n * np.eye(n), rng.standard_normal((*batch, n, 3))
    positive = a @ np.swapaxes(a, -1, -2)
    order = rng.permutation(n)
    pairs = [
        (dt.linalg.solve(here(a[..., order, :]), here(b)), np.linalg.solve(a[..., order, :], b)),
        (dt.linalg.inv(here(a[..., order])), np.linalg.inv(a[..., order])),
        (dt.linalg.cholesky(here(positive)), np.linalg.cholesky(positive)),
        (dt.linalg.eigh(here(positive))[0], np.linalg.eigvalsh(positive)),
        (dt.linalg.svd(here(a))[1], np.linalg.svd(a)[1]),
        (dt.linalg.qr(here(a))[1].abs(), np.abs(torch.linalg.qr(torch.from_numpy(a))[1].numpy())),
    ]
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine.cpu().numpy(), theirs, rtol=1e-9, atol=1e-9)


def product_of_factors(lu, pivots):
    m, n = lu.shape[-2:]
    k = min(m, n)
    y = (np.tril(lu[..., :k], -1) + np.eye(m, k)) @ np.triu(lu[..., :k, :])
    for matrix, exchanges in zip(y, pivots):
        for i in reversed(range(k)):
            matrix[[i, exchanges[i] - 1]] = matrix[[exchanges[i] - 1, i]]
    return y


# Up to 8, 16 and 32 rows and columns lie in registers, a row in each lane.
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "m, n",
    [(1, 1), (3, 3), (8, 8), (9, 9), (16, 16), (17, 17), (32, 32), (33, 33)]
    + [(5, 16), (16, 5), (2, 31), (32, 9), (33, 2)],
)
def test_lu_of_small_matrices(m, n, dtype):
    rng = np.random.default_rng(m * 40 + n)
    a, k = rng.standard_normal((37, m, n)).astype(dtype), min(m, n)
    # Exact, and all elements below the diagonal as large as those on it, of which the first is taken.
    lower = np.tril(rng.choice([-1, 1], (m, k)), -1) + np.eye(m, k)
    a[1] = lower @ (np.triu(rng.integers(-1, 2, (k, n)), 1) + np.eye(k, n))
    a[2, :, n // 2] = 0
    theirs = [x.numpy() for x in torch.linalg.lu_factor_ex(torch.from_numpy(a))[1:]]
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"atol": 1e-10}
    for given in (here(a), here(a.swapaxes(1, 2)).mT, here(np.repeat(a, 2, 2))[..., ::2]):
        lu, *codes = (x.cpu().numpy() for x in dt.linalg.lu_factor_ex(given))
        np.testing.assert_allclose(product_of_factors(lu.astype(float), codes[0]), a, **close)
        assert all(map(np.array_equal, codes, theirs))
    assert np.array_equal(theirs[0][1], np.arange(k) + 1)


def test_what_small_singular_matrices_say():
    a = np.random.default_rng(8).standard_normal((4, 5, 5))
    a[2, :, 1] = 0
    mine = dt.linalg.inv_ex(here(a))[1].cpu().numpy()
    assert mine.tolist() == torch.linalg.inv_ex(torch.from_numpy(a))[1].tolist()
    z = a @ np.swapaxes(a, -1, -2) + np.eye(5) * np.array([1, -30, 1, -1.0])[:, None, None]
    mine = dt.linalg.cholesky_ex(here(z))[1].cpu().numpy()
    assert mine.tolist() == torch.linalg.cholesky_ex(torch.from_numpy(z))[1].tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "bool"])
@pytest.mark.parametrize(
    "shape", [(4095,), (4096,), (300_001,), (3, 70_001), (2, 2, 5000), (600, 4100)]
)
def test_best_so_far_of_rows_cut_into_chunks(shape, dtype):
    rng = np.random.default_rng(9)
    x = rng.integers(-40, 41, shape).astype(dtype)
    if x.dtype.kind == "f":
        x[..., 4000], x[..., 100:4000] = np.nan if x.ndim == 1 else 50, -0.0
    for name in ("cummax", "cummin"):
        mine = getattr(here(x), name)(-1)
        for a, b in zip(mine, getattr(torch.from_numpy(x), name)(-1), strict=True):
            assert np.array_equal(a.cpu().numpy(), b.numpy(), equal_nan=x.dtype.kind == "f")


@pytest.mark.parametrize(
    "shape, dim", [((5, 7), 1), ((60, 300), 0), ((60, 300), 1), ((3, 40, 5), 1), ((1, 400), 1)]
)
def test_gradient_of_a_product_with_zeros(shape, dim):
    rng = np.random.default_rng(10)
    x = (1 + rng.standard_normal(shape) / 10).astype(np.float32)
    lines = np.moveaxis(x, dim, -1).reshape(-1, shape[dim])
    if len(lines) > 2:
        lines[1, 3], lines[2, 1], lines[2, 4] = 0, 0, 0
    x = np.ascontiguousarray(np.moveaxis(lines.reshape(np.moveaxis(x, dim, -1).shape), -1, dim))
    g = rng.standard_normal(x.prod(dim).shape).astype(np.float32)
    mine = gradient(dt, lambda x: x.prod(dim), here(x), here(g))
    theirs = gradient(
        torch, lambda x: x.prod(dim), torch.from_numpy(x).double(), torch.from_numpy(g).double()
    )
    np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)


@needs_gpu
def test_gradients_behind_a_zero_are_0_where_their_sums_overflow():
    x = np.array([2.0, 0, *[1e200] * 6])
    for shape in ((8,), (1, 8), (8, 1)):
        x = x.reshape(shape)
        g, dim = np.ones(shape), int(shape[0] == 1)
        mine = gradient(dt, lambda x, d=dim: x.cumprod(d), here(x), here(g))
        theirs = gradient(
            torch, lambda x, d=dim: x.cumprod(d), torch.from_numpy(x), torch.from_numpy(g)
        )
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("size, step", [(8, 4), (8, 3), (5, 1), (7, 6), (3, 2)])
@pytest.mark.parametrize("shape, dim", [((50,), 0), ((3, 41, 4), 1)])
def test_gradient_of_windows_that_overlap(shape, dim, size, step):
    rng = np.random.default_rng(11)
    x = rng.standard_normal(shape)
    g = rng.standard_normal(torch.from_numpy(x).unfold(dim, size, step).shape)
    mine = gradient(dt, lambda x: x.unfold(dim, size, step) * 1, here(x), here(g))
    theirs = gradient(
        torch, lambda x: x.unfold(dim, size, step) * 1, torch.from_numpy(x), torch.from_numpy(g)
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [1, 3, 1000, 100_003])
def test_draws_with_chances_are_those_of_the_cpu(n, dtype):
    p = np.random.default_rng(12).random(n).astype(dtype)
    p[: n // 10], p[n // 10 : n // 5] = 0, 1
    drawn = []
    for x in (dt.from_numpy(p), here(p), here(np.stack([p, p], 1))[:, 1]):
        dt.manual_seed(13)
        drawn.append(dt.bernoulli(x).cpu().numpy())
        assert drawn[-1].dtype == dtype and drawn[0].tolist() == drawn[-1].tolist()
    assert set(drawn[0]) <= {0, 1} and not drawn[0][: n // 10].any()
    assert drawn[0][n // 10 : n // 5].all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "bool"])
@pytest.mark.parametrize("shape", [(2, 5), (2, 70_001), (3, 2, 1000), (2, 3, 7)])
def test_sums_of_pairs(shape, dtype):
    x = (np.random.default_rng(14).standard_normal(shape) * 20).astype(dtype)
    dim, turned = shape.index(2), tuple(reversed(range(len(shape))))
    for made in (
        lambda x: x.sum(dim),
        lambda x: x[..., 1:].sum(dim),
        lambda x: x.permute(turned).sum(len(shape) - 1 - dim),
    ):
        mine, theirs = made(here(x)).cpu().numpy(), made(torch.from_numpy(x)).numpy()
        assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
