"""Random numbers: their distributions (fixed seeds, so a test never fails by chance), their
bounds, and what is promised of seeds, states, shapes and memory layouts."""

from __future__ import annotations

import copy
import math
import os

import dumbtorch as dt
import pytest

np = pytest.importorskip("numpy")
F = dt.nn.functional
N = 200_000
DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")


def sample(make, dtype="float32", seed=1, n=N):
    return (
        make(dt, n, getattr(dt, dtype), dt.Generator(DEVICE).manual_seed(seed))
        .double()
        .numpy(force=True)
    )


def distance(x, cdf) -> float:
    """Kolmogorov and Smirnov's, times the root of the count: above 1.95 once in a thousand."""
    x = np.sort(x)
    expected = cdf(x)
    steps = np.arange(len(x) + 1) / len(x)
    return math.sqrt(len(x)) * max((steps[1:] - expected).max(), (expected - steps[:-1]).max())


def normal_cdf(x):
    return 0.5 * (1 + np.array([math.erf(v) for v in x / math.sqrt(2)]))


CONTINUOUS = {
    "rand": (lambda t, n, d, g: t.rand(n, dtype=d, generator=g), lambda x: np.clip(x, 0, 1)),
    "uniform_": (
        lambda t, n, d, g: t.empty(n, dtype=d).uniform_(-3, 5, generator=g),
        lambda x: np.clip((x + 3) / 8, 0, 1),
    ),
    "randn": (lambda t, n, d, g: t.randn(n, dtype=d, generator=g), normal_cdf),
    "normal_": (
        lambda t, n, d, g: t.empty(n, dtype=d).normal_(2, 3, generator=g),
        lambda x: normal_cdf((x - 2) / 3),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_distributions(name, dtype):
    make, cdf = CONTINUOUS[name]
    for seed in (1, 2, 3):
        assert distance(sample(make, dtype, seed), cdf) < 1.95


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_of_normal_numbers(dtype):
    x = sample(CONTINUOUS["randn"][0], dtype)
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        spread = {1: 1, 2: 2, 3: 15, 4: 96, 6: 10_170}[power]  # the variance of x^power
        assert abs((x**power).mean() - moment) < 4 * math.sqrt(spread / N)
    assert 4 < abs(x).max() < 7


def test_neighbours_are_independent():
    """In the sequence, in the four words of a block, and between seeds."""
    x = sample(CONTINUOUS["randn"][0])
    for lag in (1, 2, 3, 4, 5, 8, 16, 1000):
        assert abs((x[:-lag] * x[lag:]).mean()) < 4 / math.sqrt(N)
    y = sample(CONTINUOUS["randn"][0], seed=2)
    assert abs((x * y).mean()) < 4 / math.sqrt(N)
    u = sample(CONTINUOUS["rand"][0]).reshape(-1, 4)
    counts = np.histogramdd(u[:, :2], bins=10)[0].ravel()
    expected = len(u) / 100
    assert abs(((counts - expected) ** 2 / expected).sum() - 99) < 4 * math.sqrt(2 * 99)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_of_uniform_numbers(dtype):
    x = sample(CONTINUOUS["rand"][0], dtype, n=1_000_000)
    assert 0 <= x.min() < 1e-4 and 1 - 1e-4 < x.max() < 1
    digits = {"float32": 24, "float64": 53}[dtype]
    assert (x * 2.0**digits % 1 == 0).all()
    y = dt.empty(1000, dtype=getattr(dt, dtype))
    assert y.uniform_(2, 2).eq(2).all().item()
    assert y.uniform_(-1e30, 1e30).isfinite().all().item()
    assert y.normal_(5, 0).eq(5).all().item()


@pytest.mark.parametrize("low,high", [(0, 2), (0, 10), (-7, 8), (0, 1000), (5, 6)])
def test_integers(low, high):
    g = dt.Generator(DEVICE).manual_seed(4)
    for draw in (
        lambda: dt.randint(low, high, (N,), generator=g),
        lambda: dt.empty(N, dtype=dt.int64).random_(low, high, generator=g),
        lambda: dt.randint(low, high, (N,), generator=g, dtype=dt.float32),
    ):
        x = draw().long().numpy(force=True)
        counts = np.bincount(x - low, minlength=high - low)
        assert len(counts) == high - low
        expected, cells = N / (high - low), high - low - 1
        assert ((counts - expected) ** 2 / expected).sum() <= cells + 4 * math.sqrt(2 * cells)


def test_integers_of_the_whole_range():
    x = dt.randint(-(2**63), 2**63 - 1, (N,), generator=dt.Generator(DEVICE).manual_seed(1)).numpy(
        force=True
    )
    assert x.min() < -0.99 * 2**63 and x.max() > 0.99 * 2**63
    bits = np.unpackbits(x.view(np.uint8)).reshape(-1, 64)
    assert (abs(bits.mean(0) - 0.5) < 4 * 0.5 / math.sqrt(N)).all()
    for dtype, high in ((dt.uint8, 256), (dt.int32, 2**31 - 1)):
        y = dt.empty(N, dtype=dtype).random_(0, high)
        assert 0 <= y.min().item() and y.max().item() > 0.98 * high
    for draw in (
        lambda: dt.randint(3, 3, (1,)),
        lambda: dt.randint(0, 300, (1,), dtype=dt.uint8),
        lambda: dt.empty(1, dtype=dt.int32).random_(0, 2**40),
    ):
        with pytest.raises(RuntimeError):
            draw()


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.99, 1.0])
def test_bernoulli(p):
    g = dt.Generator(DEVICE).manual_seed(2)
    for draw in (
        lambda: dt.bernoulli(dt.full((N,), p), generator=g),
        lambda: dt.empty(N).bernoulli_(p, generator=g),
        lambda: dt.empty(N, dtype=dt.int64).bernoulli_(p, generator=g).float(),
    ):
        x = draw().numpy(force=True)
        assert set(np.unique(x)) <= {0.0, 1.0}
        assert abs(x.mean() - p) <= 4 * math.sqrt(p * (1 - p) / N)
    chances = dt.tensor([0.0, 1.0] * 500)
    assert dt.bernoulli(chances).equal(chances)
    for wrong in (-0.1, 1.1, math.nan) if DEVICE == "cpu" else ():  # a GPU is not waited for
        with pytest.raises(RuntimeError):
            dt.bernoulli(dt.full((3,), wrong))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout(p):
    x = dt.ones(N, requires_grad=True)
    y = F.dropout(x, p)
    kept = y.detach().ne(0)
    assert abs(kept.float().mean().item() - (1 - p)) < 4 * math.sqrt(p * (1 - p) / N)
    assert dt.allclose(y[kept], dt.full((int(kept.sum()),), 1 / (1 - p)))
    (y * 2).sum().backward()
    assert x.grad.equal(y.detach() * 2)  # the same elements, drawn again
    assert F.dropout(x, 0.0).equal(x) and not F.dropout(x, 1.0).any().item()
    assert F.dropout(x, p, training=False).equal(x)
    assert not F.dropout(x, p).equal(F.dropout(x, p))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 100, 10_007])
def test_randperm_is_a_permutation(n):
    for seed in range(3):
        x = dt.randperm(n, generator=dt.Generator(DEVICE).manual_seed(seed))
        assert x.dtype is dt.int64 and sorted(x.tolist()) == list(range(n))
    with pytest.raises(RuntimeError):
        dt.randperm(-1)
    with pytest.raises(RuntimeError):
        dt.randperm(257, dtype=dt.uint8)


def test_randperm_is_fair():
    """Each of the 24 orders of four, equally often."""
    g = dt.Generator(DEVICE).manual_seed(0)
    counts = {}
    for _ in range(6_000):
        order = tuple(dt.randperm(4, generator=g).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((c - 250) ** 2 / 250 for c in counts.values()) < 23 + 4 * math.sqrt(46)


# ---- promises

DRAWS = {
    "rand": lambda t, g: t.rand(1001, generator=g),
    "rand double": lambda t, g: t.rand(1001, generator=g, dtype=t.float64),
    "randn": lambda t, g: t.randn(7, 11, generator=g),
    "randint": lambda t, g: t.randint(0, 1000, (999,), generator=g),
    "randperm": lambda t, g: t.randperm(500, generator=g),
    "bernoulli": lambda t, g: t.bernoulli(t.full((99,), 0.5), generator=g),
    "uniform_": lambda t, g: t.empty(33).uniform_(1, 2, generator=g),
    "normal_": lambda t, g: t.empty(33).normal_(1, 2, generator=g),
    "random_": lambda t, g: t.empty(33, dtype=t.int32).random_(0, 9, generator=g),
    "bernoulli_": lambda t, g: t.empty(33).bernoulli_(0.3, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_seeds_and_states(name):
    draw = DRAWS[name]
    g, h = dt.Generator(DEVICE).manual_seed(11), dt.Generator(DEVICE).manual_seed(11)
    a, b = draw(dt, g), draw(dt, g)
    assert draw(dt, h).equal(a) and not b.equal(a)
    assert draw(dt, h).equal(b)
    assert not draw(dt, dt.Generator(DEVICE).manual_seed(12)).equal(a)
    state = g.get_state()
    c = draw(dt, g)
    h.set_state(state)
    assert draw(dt, h).equal(c) and h.initial_seed() == 11
    assert state.equal(state.clone()) and not g.get_state().equal(state)
    dt.manual_seed(11)
    assert draw(dt, None).equal(a)


def test_states_of_the_default_generator():
    dt.set_default_device("cpu")  # the functions are about the CPU's generator
    dt.manual_seed(5)
    dt.rand(3)
    state = dt.get_rng_state()
    a = [dt.rand(3), F.dropout(dt.ones(50)), dt.randperm(9)]
    dt.set_rng_state(state)
    b = [dt.rand(3), F.dropout(dt.ones(50)), dt.randperm(9)]
    assert all(x.equal(y) for x, y in zip(a, b, strict=True))
    for wrong in (dt.zeros(2), dt.zeros(3, dtype=dt.int64), dt.zeros((), dtype=dt.int64)):
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            dt.set_rng_state(wrong)
    assert dt.get_rng_state().equal(dt.get_rng_state())
    dt.set_default_device(DEVICE)


def test_a_state_is_bytes():
    """Programs convert it on its way from a file, and keep it in a larger tensor."""
    g = dt.Generator(DEVICE).manual_seed(11)
    dt.rand(3, generator=g)
    state, numbers = g.get_state(), g.get_state().view(dt.int64)
    assert state.dtype is dt.uint8 and state.shape == (16,) and not state.is_cuda
    a = dt.rand(5, generator=g)
    several = dt.cat([dt.zeros(3, dtype=dt.uint8, device="cpu"), state])
    for given in (
        state.cpu().type(dt.ByteTensor),
        numbers,
        several[3:],
        dt.ByteTensor(state.tolist()),
    ):
        assert dt.rand(5, generator=g.set_state(given)).equal(a)
    assert numbers.shape == (2,) and copy.deepcopy(g).get_state().equal(g.get_state())
    with pytest.raises(RuntimeError, match="16 bytes.*those of PyTorch are of another generator"):
        g.set_state(dt.zeros(5056, dtype=dt.uint8, device="cpu"))


@pytest.mark.parametrize("state", ["t.zeros(2)", "t.zeros(2, dtype=t.int32)", "[1]", "None"])
def test_states_that_are_none(state, refusals):
    mine, theirs = refusals(lambda t: t.Generator().set_state(eval(state, {"t": t})), TypeError)
    assert mine == theirs


def test_seeds_of_any_size():
    seen = set()
    for seed in (0, 1, -1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, -(2**63)):
        g = dt.Generator(DEVICE).manual_seed(seed)
        assert g.initial_seed() == seed % 2**64  # without a sign, as PyTorch's
        seen.add(tuple(dt.rand(4, generator=g).tolist()))
    assert len(seen) == 8
    assert dt.Generator(DEVICE).seed() != dt.Generator(DEVICE).seed()


FILLS = {
    "uniform_": lambda x, g: x.uniform_(generator=g),
    "normal_": lambda x, g: x.normal_(generator=g),
    "random_": lambda x, g: x.random_(0, 100, generator=g),
    "bernoulli_": lambda x, g: x.bernoulli_(0.5, generator=g),
}
LAYOUTS = {
    "matrix": lambda d: dt.empty(60, 84, dtype=d),
    "flat": lambda d: dt.empty(5040, dtype=d),
    "4-d": lambda d: dt.empty(4, 5, 6, 42, dtype=d),
    "transposed": lambda d: dt.empty(84, 60, dtype=d).T,
    "permuted": lambda d: dt.empty(5, 42, 6, 4, dtype=d).permute(3, 0, 2, 1),
    "channels last": lambda d: dt.empty(4, 5, 6, 42, dtype=d, memory_format=dt.channels_last),
    "sliced": lambda d: dt.empty(121, 170, dtype=d)[1::2, 1:-1:2],
    "column of columns": lambda d: dt.empty(5040, 3, dtype=d)[:, 1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fill", FILLS)
def test_elements_are_counted_in_row_major_order(fill, dtype):
    """Neither the shape nor the memory layout changes an element's number."""
    results = []
    for make in LAYOUTS.values():
        x = make(getattr(dt, dtype))
        FILLS[fill](x, dt.Generator(DEVICE).manual_seed(9))
        results.append(x.reshape(-1))
    for other in results[1:]:
        assert other.equal(results[0])


def test_a_longer_tensor_begins_like_a_shorter_one():
    for make in (dt.rand, dt.randn):
        for dtype in (dt.float32, dt.float64):
            long = make(100_003, generator=dt.Generator(DEVICE).manual_seed(1), dtype=dtype)
            for n in (1, 2, 3, 5, 17, 64, 1000, 99_999):
                short = make(n, generator=dt.Generator(DEVICE).manual_seed(1), dtype=dtype)
                assert short.equal(long[:n])


def test_dropout_does_not_see_the_layout():
    x = dt.ones(60, 84)
    dt.manual_seed(3)
    a = F.dropout(x, 0.5)
    dt.manual_seed(3)
    b = F.dropout(dt.ones(84, 60).T, 0.5)
    assert a.equal(b)


def test_empty_draws():
    for make in (dt.rand, dt.randn):
        assert make(0, 3).shape == (0, 3)
    assert dt.randint(0, 5, (0,)).numel() == 0 and dt.randperm(0).numel() == 0
    assert dt.rand(()).shape == () and 0 <= dt.rand(()).item() < 1


def test_arguments(torch):
    """The same refusals as PyTorch's."""
    for call in (
        lambda t: t.rand(2, dtype=t.int64), lambda t: t.randn(2, dtype=t.int32),
        lambda t: t.empty(2).uniform_(3, 2), lambda t: t.empty(2).normal_(0, -1),
        lambda t: t.empty(2).bernoulli_(1.5), lambda t: t.randint(0, 5), lambda t: t.rand(-1),
        lambda t: t.empty(2, dtype=t.int64).uniform_(), lambda t: t.rand(2, generator=5),
        lambda t: t.nn.functional.dropout(t.ones(2), -0.5), lambda t: t.randint(5, 2, (3,)),
        lambda t: t.bernoulli(t.tensor([1, 0])), lambda t: t.ones(2, requires_grad=True).uniform_(),
    ):  # fmt: skip
        for t in (dt, torch):
            with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError)):
                call(t)
