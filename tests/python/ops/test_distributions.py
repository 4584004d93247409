"""Distributions by Kolmogorov's, chi-square and moments' bounds from fixed seeds, and what they refuse."""

from __future__ import annotations

import math

import dumbtorch as dt
import pytest
from test_random import DEVICE, N, distance

np = pytest.importorskip("numpy")


def generator(seed=1):
    return dt.Generator(DEVICE).manual_seed(seed)


CONTINUOUS = {
    "exponential": (lambda x, g: x.exponential_(2.5, generator=g), lambda x: -np.expm1(-2.5 * x)),
    "cauchy": (lambda x, g: x.cauchy_(1, 3, generator=g), lambda x: 0.5 + np.arctan((x - 1) / 3) / math.pi),
    "log_normal": (
        lambda x, g: x.log_normal_(0.5, 0.8, generator=g),
        lambda x: 0.5 * np.array([math.erfc(-(math.log(v) - 0.5) / 0.8 / math.sqrt(2)) for v in x]),
    ),
    "normal": (
        lambda x, g: dt.normal(dt.full_like(x, 2), dt.full_like(x, 3), generator=g),
        lambda x: 0.5 * np.array([math.erfc(-(v - 2) / 3 / math.sqrt(2)) for v in x]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name, dtype):
    make, cdf = CONTINUOUS[name]
    for seed in (1, 2, 3):
        x = dt.empty(N, dtype=getattr(dt, dtype), device=DEVICE)
        assert distance(make(x, generator(seed)).double().numpy(force=True), cdf) < 1.95


def chi_square(x, probability) -> float:
    """How far counts are from those expected, in standard deviations; rare values are joined."""
    values, counts = np.unique(x, return_counts=True)
    everything = np.arange(values.min(), values.max() + 1)
    observed = np.zeros(len(everything))
    observed[(values - everything[0]).astype(int)] = counts
    expected = len(x) * np.array([probability(int(k)) for k in everything])
    common = expected >= 10
    rest = len(x) - expected[common].sum(), len(x) - observed[common].sum()
    cells = [*zip(expected[common], observed[common]), *([rest] if rest[0] >= 10 else [])]
    total = sum((o - e) ** 2 / e for e, o in cells)
    return (total - (len(cells) - 1)) / math.sqrt(2 * max(len(cells) - 1, 1))


@pytest.mark.parametrize("rate", [0.0, 0.3, 4.0, 9.99, 10.0, 60.0, 3000.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_poisson(rate, dtype):
    x = dt.poisson(dt.full((N,), rate, dtype=getattr(dt, dtype), device=DEVICE), generator())
    x = x.double().numpy(force=True)
    if rate == 0:
        assert not x.any()
        return
    assert chi_square(x, lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))) < 4
    assert abs(x.mean() - rate) < 4 * math.sqrt(rate / N)
    assert abs(x.var() - rate) < 4 * math.sqrt((2 * rate**2 + rate) / N)


TRIALS = [(1, 0.3), (10, 0.5), (40, 0.1), (40, 0.95), (100, 0.4), (5000, 0.7), (3, 1.0), (7, 0.0)]


@pytest.mark.parametrize("n,p", TRIALS)
def test_binomial(n, p):
    count = dt.full((N,), float(n), device=DEVICE)
    x = dt.binomial(count, dt.tensor(p, device=DEVICE), generator()).double().numpy(force=True)
    if p in (0.0, 1.0):
        assert (x == n * p).all()
        return

    def probability(k):
        logs = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p))

    assert x.min() >= 0 and x.max() <= n
    assert chi_square(x, probability) < 4
    assert abs(x.mean() - n * p) < 4 * math.sqrt(n * p * (1 - p) / N)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
def test_geometric(dtype):
    for p in (0.05, 0.5, 0.9):
        x = dt.empty(N, dtype=getattr(dt, dtype), device=DEVICE).geometric_(
            p, generator=generator()
        )
        assert x.min().item() == 1
        assert chi_square(x.double().numpy(force=True), lambda k, p=p: p * (1 - p) ** (k - 1)) < 4


def test_bernoulli_with_probabilities():
    x = dt.empty(N, device=DEVICE)
    for made in (
        dt.bernoulli(x, 0.3, generator=generator()), x.bernoulli(0.3, generator=generator()),
        x.bernoulli_(dt.tensor(0.3), generator=generator()), x.clone().bernoulli_(0.3, generator=generator()),
        dt.empty(N, dtype=dt.int64).bernoulli_(dt.full((N,), 0.3), generator=generator()),
    ):  # fmt: skip
        assert set(made.unique().tolist()) == {0, 1}
        assert abs(made.double().mean().item() - 0.3) < 4 * math.sqrt(0.21 / N)
    at_ends = dt.empty(3, 2).bernoulli_(dt.tensor([0.0, 1.0]))
    assert at_ends.tolist() == [[0, 1]] * 3


WEIGHTS = [0.0, 1.0, 2.0, 0.0, 4.0, 3.0, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("rows,samples", [(1, N), (N // 8, 8), (N, 1)])
def test_multinomial_with_replacement(dtype, rows, samples):
    p = dt.tensor(WEIGHTS, dtype=getattr(dt, dtype), device=DEVICE).expand(rows, 7)
    x = dt.multinomial(p, samples, replacement=True, generator=generator())
    assert x.shape == (rows, samples) and x.dtype == dt.int64
    assert chi_square(x.numpy(force=True).ravel(), lambda k: WEIGHTS[k] / 10) < 4


@pytest.mark.parametrize("count", [1000, 3001])
@pytest.mark.parametrize("samples", [1, 3, 100, 5000])
def test_multinomial_of_many_weights(samples, count):
    """Few samples are searched for by halves, many through a table; a GPU has a kernel for few of long rows."""
    random = np.random.default_rng(5)
    weights = np.where(random.random(count) < 0.3, 0, random.exponential(size=count) ** 3)
    rows = -(-N // max(samples, 16))  # each becomes `count` sums of float64
    p = dt.tensor(weights, device=DEVICE).expand(rows, count)
    x = dt.multinomial(p, samples, replacement=True, generator=generator()).numpy(force=True)
    assert chi_square(x.ravel(), lambda k: weights[k] / weights.sum()) < 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1024, 1025, 50257])
def test_multinomial_never_takes_what_has_no_weight(count, dtype):
    """Weights at one place, at both ends and at few places, so small that their sum is no float32."""
    places = [0, 1, 31, 32, 33, count // 2, count - 2, count - 1]
    p = dt.zeros(len(places) + 2, count, dtype=getattr(dt, dtype), device=DEVICE)
    for row, place in enumerate(places):
        p[row, place] = 1e-40
    p[-2, [0, count - 1]] = 3.0
    p[-1, places] = 1e-40
    x = dt.multinomial(p, 20, replacement=True, generator=generator()).tolist()
    assert [set(row) for row in x[:-2]] == [{place} for place in places]
    assert set(x[-2]) == {0, count - 1} and set(x[-1]) <= set(places)


def test_multinomial_without_replacement():
    """All orders of two out of four come as often as weights drawn one after the other would."""
    w = np.array([1.0, 2.0, 3.0, 4.0]) / 10
    p = dt.tensor(w, device=DEVICE).expand(N, 4)
    x = dt.multinomial(p, 2, generator=generator()).numpy(force=True)
    assert (x[:, 0] != x[:, 1]).all()
    expected = {(i, j): w[i] * w[j] / (1 - w[i]) for i in range(4) for j in range(4) if i != j}
    code = {k: v for (i, j), v in expected.items() for k in (4 * i + j,)}
    assert chi_square(4 * x[:, 0] + x[:, 1], lambda k: code.get(k, 0.0)) < 4
    everything = dt.multinomial(p[:100], 4, generator=generator()).sort(-1)[0]
    assert everything.eq(dt.arange(4, device=DEVICE)).all().item()
    assert dt.multinomial(dt.tensor([0.0, 1.0, 0.0, 2.0]), 2).sort()[0].tolist() == [1, 3]


def test_integers_up_to_the_largest():
    for name, last in {"uint8": 255, "int8": 127, "int16": 32767, "int32": 2**31 - 1, "float32": 2**24,
                       "float16": 2048, "bfloat16": 256, "bool": 1}.items():  # fmt: skip
        x = dt.empty(N, dtype=getattr(dt, name), device=DEVICE).random_(generator=generator())
        low, high = x.min().item(), x.max().item()
        assert 0 <= low <= last / 100 and last * 0.99 <= high <= last
    x = dt.empty(N, dtype=dt.int8)
    assert x.random_(5).unique().tolist() == [0, 1, 2, 3, 4]
    assert x.random_(-2, 2).unique().tolist() == [-2, -1, 0, 1]
    assert x.random_(125, None).unique().tolist() == [125, 126, 127]
    assert x.random_(to=3).unique().tolist() == [0, 1, 2]
    assert dt.empty(9, dtype=dt.int64).random_().min().item() >= 0


def test_the_seed_and_the_place_alone_decide():
    """Not the number of threads, the memory's order, or what is beside an element."""
    p = dt.rand(64, 300, device=DEVICE)
    made = {
        "multinomial": lambda: dt.multinomial(p, 40, True, generator=generator()),
        "different": lambda: dt.multinomial(p, 40, generator=generator()),
        "poisson": lambda: dt.poisson(p * 30, generator()),
        "binomial": lambda: dt.binomial(p * 300, p, generator()),
        "exponential": lambda: dt.empty(64, 300, device=DEVICE).exponential_(generator=generator()),
        "transposed": lambda: (
            dt.empty(300, 64, device=DEVICE).t().exponential_(generator=generator())
        ),
    }
    threads = dt.get_num_threads()
    results = {}
    try:
        for count in (1, threads):
            dt.set_num_threads(count)
            for name, make in made.items():
                results.setdefault(name, []).append(make().cpu())
    finally:
        dt.set_num_threads(threads)
    for one, several in results.values():
        assert one.eq(several).all().item()
    assert results["transposed"][0].eq(results["exponential"][0]).all().item()


def message(call, library):
    try:
        call(library)
    except Exception as error:
        text = str(error).split("\n")[0]
        return type(error), text
    return None


def test_sentences():
    """PyTorch's, behind the name of the function."""
    torch = pytest.importorskip("torch")
    if DEVICE != "cpu":
        pytest.skip("a GPU does not look at values before it draws")
    nan, inf = math.nan, math.inf
    calls = [
        *(lambda t, w=w, n=n, r=r: t.multinomial(t.tensor(w), n, r) for r in (True, False) for w, n in (
            ([0.5, 0.5], 0), ([0.5, 0.5], -1), ([-1.0, 2.0], 2), ([0.0, 0.0], 1), ([nan, 1.0], 2), ([inf, 1.0], 1),
            ([1, 2], 1), (1.0, 1), ([[[1.0]]], 1), ([[1.0, 1.0], [0.0, 0.0]], 2))),
        lambda t: t.multinomial(t.ones(3), 4),
        lambda t: t.multinomial(t.ones(2, 0), 1),
        *(lambda t, v=v: t.empty(3).exponential_(v) for v in (0, -1)),
        *(lambda t, v=v: t.empty(3).geometric_(v) for v in (0, 1, 1.5)),
        *(lambda t, v=v: t.empty(3).cauchy_(0, v) for v in (0, -1)),
        *(lambda t, v=v: t.empty(3).log_normal_(0, v) for v in (0, -1)),
        lambda t: t.empty(3, dtype=t.int64).exponential_(),
        lambda t: t.empty(3, dtype=t.bool).geometric_(0.5),
        lambda t: t.empty(3, dtype=t.int64).cauchy_(),
        lambda t: t.empty(3, dtype=t.int64).log_normal_(),
        lambda t: t.poisson(t.tensor([-1.0])),
        lambda t: t.poisson(t.tensor([1])),
        lambda t: t.binomial(t.tensor([5]), t.tensor([0.5])),
        lambda t: t.binomial(t.tensor([5.0]), t.tensor([0.5], dtype=t.float64)),
        lambda t: t.bernoulli(t.ones(2), 1.3),
        lambda t: t.normal(t.zeros(2), t.tensor([-1.0, 1.0])),
        lambda t: t.empty(3).random_(0),
        lambda t: t.empty(3, dtype=t.uint8).random_(300),
    ]  # fmt: skip
    for k, call in enumerate(calls):
        ours, theirs = (message(call, t) for t in (dt, torch))
        assert theirs is not None and ours is not None, k
        assert ours[0].__name__ == theirs[0].__name__, (k, ours, theirs)
        assert ours[1].endswith(theirs[1]), (k, ours, theirs)


def test_gradients_are_zero():
    rate = dt.rand(4, requires_grad=True)
    (g,) = dt.autograd.grad((dt.poisson(rate) * rate.detach()).sum(), rate)
    assert g.tolist() == [0] * 4
    count, p = dt.full((4,), 5.0), dt.rand(4, requires_grad=True)
    assert dt.autograd.grad(dt.binomial(count, p).sum(), p)[0].tolist() == [0] * 4
    x = dt.rand(4, requires_grad=True)
    assert dt.autograd.grad((x * 1).exponential_().sum(), x)[0].tolist() == [0] * 4
