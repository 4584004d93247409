"""Sums through indices that repeat, beside NumPy in float64: few and many positions, crowds, slices of every width."""

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])

SHAPES = [  # positions, destinations, slice
    (5121, 9000, (4,)),
    (9000, 9001, ()),
    (20000, 10000, (3,)),
    (20000, 70000, (16,)),
    (30000, 30000, (2, 5)),
    (6000, 12000, (130,)),
    (5200, 2600, (700,)),
    (140000, 50000, ()),  # whole numbers, as the next two
    (150000, 300000, ()),
    (70000, 30000, (7,)),
]


def chosen(how, positions, destinations, random):
    index = random.integers(0, destinations, positions)
    if how == "one":
        index[:] = destinations // 3
    elif how == "half":
        index[::2] = destinations - 1
    elif how == "crowds":  # of 23, more than a bucket has room for, and two whole ones
        index = random.permutation(np.arange(positions) // 23 % destinations)
        index[1::5], index[2::5] = 1, 2
    return index


def added(y, index, x):
    y = y.copy()
    np.add.at(y, index, x)
    return y


def assert_close(got, want, magnitude, dtype):
    """As near as sums of so many numbers come, whatever their order."""
    bound = {"float64": 1e-13, "float32": 2e-6, "bfloat16": 0.05}[dtype]
    assert (np.abs(got.double().cpu().numpy() - want) <= bound * magnitude + 1e-30).all()


@on_both
@pytest.mark.parametrize("how", ["drawn", "one", "half", "crowds"])
@pytest.mark.parametrize("positions,destinations,slice_", SHAPES)
def test_sums_of_repeats(positions, destinations, slice_, how, device):
    random = np.random.default_rng(positions + len(how))
    index = chosen(how, positions, destinations, random)
    x, y = random.normal(size=(positions, *slice_)), random.normal(size=(destinations, *slice_))
    want, magnitude = added(y, index, x / 2), added(abs(y), index, abs(x))
    i = dt.tensor(index, device=device)
    for dtype in ("float32", "float64"):
        a, b = (dt.tensor(v, device=device).to(getattr(dt, dtype)) for v in (y, x))
        got = a.index_add(0, i, b, alpha=0.5)
        assert_close(got, want, magnitude, dtype)
        assert (got == a.index_add(0, i, b, alpha=0.5)).all()  # the same bits each time


@needs_gpu
@pytest.mark.parametrize("how", ["drawn", "one", "crowds"])
@pytest.mark.parametrize(
    "positions,destinations,slice_", [(600_000, 90_000, ()), (5000, 7000, (3,)), (300_000, 4, (4,))]
)
def test_sums_in_any_order(positions, destinations, slice_, how):
    """A bad place is refused, and nothing is written for it, as in a fixed order."""
    random = np.random.default_rng(positions + len(how))
    index = chosen(how, positions, destinations, random)
    x, y = random.normal(size=(positions, *slice_)), random.normal(size=(destinations, *slice_))
    want, magnitude = added(y, index, x / 2), added(abs(y), index, abs(x))
    gradient = added(np.zeros_like(y), index, x)
    bad = dt.tensor([destinations], device="cuda")
    dt.use_deterministic_algorithms(False)
    try:
        for dtype in ("float32", "float64", "bfloat16"):
            i = dt.tensor(index, device="cuda")
            a, b = (dt.tensor(v, device="cuda").to(getattr(dt, dtype)) for v in (y, x))
            assert_close(a.index_add(0, i, b, alpha=0.5), want, magnitude, dtype)
            (got,) = dt.autograd.grad(a.requires_grad_()[i], a, b)
            assert_close(got, gradient, magnitude, dtype)
            with pytest.raises(IndexError):
                a.detach().index_add(0, dt.cat([i, bad]), dt.cat([b, b[:1]])).sum().item()
    finally:
        dt.use_deterministic_algorithms(True)


@on_both
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("how", ["drawn", "half"])
def test_gradient_of_rows(dtype, how, device):
    """The gradient of x[i] begins with nothing, and stays 0 where nobody chooses."""
    random = np.random.default_rng(7)
    index = chosen(how, 6000, 10000, random)
    g = random.integers(-4, 5, (6000, 40)).astype(float)
    nothing = np.zeros((10000, 40))
    want, magnitude = added(nothing, index, g), added(nothing, index, abs(g))
    x = dt.randn(10000, 40, device=device, dtype=getattr(dt, dtype), requires_grad=True)
    y = x[dt.tensor(index, device=device)]
    (got,) = dt.autograd.grad(y, x, dt.tensor(g, device=device).to(getattr(dt, dtype)))
    assert_close(got, want, magnitude, dtype)


def magnitudes(random, positions):
    """Numbers over all of float32's range, below the normal ones too, each place's of one kind."""
    index = random.integers(0, 1000, positions)
    scale = np.linspace(-44, 32, 1000).round()[index]
    return index, (random.normal(size=positions) * 10.0**scale).astype(np.float32)


@on_both
def test_sums_over_the_whole_range(device):
    random = np.random.default_rng(11)
    index, x = magnitudes(random, 200000)
    index[:1000], x[:1000] = np.arange(1000), 0
    want, magnitude = np.zeros(1000), np.zeros(1000)
    np.add.at(want, index, x.astype(np.float64))
    np.add.at(magnitude, index, abs(x.astype(np.float64)))
    got = dt.zeros(1000, device=device).index_add_(
        0, dt.tensor(index, device=device), dt.tensor(x, device=device)
    )
    assert (abs(got.double().cpu().numpy() - want) <= 2e-6 * magnitude + 2**-149).all()


@on_both
def test_sums_that_are_not_finite(device):
    """Beside PyTorch's rules: inf stays, inf and -inf and NaN are NaN, -0 and -0 are -0."""
    x, y = dt.ones(140000), dt.zeros(140000)
    index = dt.arange(140000) // 4 * 4
    x[0], x[5], x[8], x[9], x[14] = (
        float("inf"),
        float("-inf"),
        float("inf"),
        -float("inf"),
        float("nan"),
    )
    x[16:20], y[16] = -0.0, -0.0
    x[20:24], y[20] = dt.tensor([-0.0, 0.0, -0.0, -0.0]), -0.0
    y[28] = float("inf")
    got = y.to(device).index_add_(0, index.to(device), x.to(device)).cpu()
    assert got[0] == float("inf") and got[4] == -float("inf")
    assert got[8].isnan() and got[12].isnan()
    assert got[16] == 0 and got[16].signbit() and not got[20].signbit()
    assert got[28] == float("inf") and got[32] == 4 and got[33] == 0


@on_both
@pytest.mark.parametrize("how", ["drawn", "one", "crowds", "sorted"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int16"])
def test_sums_of_integers(dtype, how, device):
    """Exactly, modulo 2^bits."""
    random = np.random.default_rng(5)
    index = chosen(how, 140000, 60000, random)
    if how == "sorted":
        index.sort()
    info = np.iinfo(dtype)
    x = random.integers(info.min, info.max, (140000, 2), dtype=dtype)
    want = np.full((60000, 2), 3, dtype)
    np.add.at(want, index, x)
    got = dt.full((60000, 2), 3, dtype=getattr(dt, dtype), device=device)
    got.index_add_(0, dt.tensor(index, device=device), dt.tensor(x, device=device))
    assert (got.cpu().numpy() == want).all()


@on_both
def test_bad_indices_among_many_are_refused(device):
    index = dt.arange(140000, device=device) % 50000
    index[77] = 50000
    with pytest.raises((IndexError, RuntimeError)):
        dt.zeros(50000, device=device).index_add_(0, index, dt.ones(140000, device=device))
        dt.cuda.synchronize()


@needs_gpu
def test_sums_side_by_side_in_a_graph():
    """Blocks of each wait for all of its own: two at once must not starve each other."""
    random = np.random.default_rng(3)
    index = [dt.tensor(random.integers(0, 20000, 20000), device="cuda") for _ in range(2)]
    x = [dt.ones(20000, 16, device="cuda") for _ in range(2)]
    y = [dt.zeros(20000, 16, device="cuda") for _ in range(2)]
    for k in range(2):
        y[k].index_add_(0, index[k], x[k])
    graph = dt.cuda.CUDAGraph()
    with dt.cuda.graph(graph):
        for k in range(2):
            y[k].index_add_(0, index[k], x[k])
    for _ in range(2000):
        graph.replay()
    dt.cuda.synchronize()
    for k in range(2):
        counts = np.bincount(index[k].cpu().numpy(), minlength=20000)
        assert (y[k].cpu().numpy() == 2001 * counts[:, None]).all()
