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
