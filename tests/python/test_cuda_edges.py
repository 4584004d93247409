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
    if name in ("index_put", "accumulate", "number"):
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
