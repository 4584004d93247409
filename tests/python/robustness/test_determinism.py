"""The same bits at any number of threads; random bits and plain arithmetic also with any
instruction set."""

import json
import os

import dumbtorch as dt
import pytest

F = dt.nn.functional


def train(t):
    """Bits after three steps of a net with every kind of layer."""
    net = t.nn.Sequential(
        t.nn.Conv2d(3, 8, 3, padding=1), t.nn.BatchNorm2d(8), t.nn.ReLU(), t.nn.MaxPool2d(2),
        t.nn.Dropout(0.3), t.nn.Flatten(), t.nn.Linear(8 * 49, 64), t.nn.LayerNorm(64),
        t.nn.GELU(), t.nn.Linear(64, 10),
    )  # fmt: skip
    opt = t.optim.AdamW(net.parameters())
    for _ in range(3):
        opt.zero_grad()
        loss = F.cross_entropy(net(t.randn(32, 3, 14, 14)), t.randint(0, 10, (32,)))
        loss.backward()
        opt.step()
    return [loss, *(p for p in net.parameters()), *(p.grad for p in net.parameters())]


def reductions(t):
    x = t.randn(317, 1003)
    long = t.randn(1_000_003)
    short = t.randn(60_001, 7)
    return [
        x.sum(), x.sum(0), x.sum(1), x.mean(), x.var(), x.std(0), x.prod(1), x.norm(), x.amax(0),
        x.argmax(1), x.cumsum(0), x.cumsum(1), x.logsumexp(1), x.softmax(0), x.softmax(1),
        x.log_softmax(1), long.sum(), long.var(), long.cumsum(0), x.T.sum(0), x[:, ::3].sum(1),
        short.sum(1), short.cumsum(1), short.softmax(1), F.layer_norm(short, (7,)),
        long.double().sum(), F.mse_loss(long, long.cos()), (x > 0).sum(), x.view(317, 17, 59).sum((0, 2)),
    ]  # fmt: skip


def products(t):
    shapes = [((257, 129), (129, 301)), ((1, 4000), (4000, 700)), ((700, 3), (3, 900)),
              ((9, 70, 50), (9, 50, 60)), ((5000,), (5000,)), ((800, 500), (500,))]  # fmt: skip
    return [t.randn(*a) @ t.randn(*b) for a, b in shapes]


def convolutions(t):
    out = []
    for sizes, weight, options in (
        ((8, 3, 32, 32), (16, 3, 3, 3), {"padding": 1}),
        ((2, 16, 19, 17), (32, 8, 5, 3), {"stride": 2, "groups": 2}),
        ((4, 32, 14, 14), (32, 1, 3, 3), {"groups": 32, "padding": 1}),
        ((1, 64, 28, 28), (64, 64, 1, 1), {}),
        ((2, 128, 9, 8), (96, 128, 5, 5), {"padding": 2}),
    ):
        x, w = t.randn(*sizes, requires_grad=True), t.randn(*weight, requires_grad=True)
        y = F.conv2d(x, w, **options)
        (y * t.randn(*y.shape)).sum().backward()
        out += [y, x.grad, w.grad]
    return out


def random(t):
    x = t.empty(301, 1003)
    return [
        t.rand(100_001), t.randn(100_001), t.randn(333, 333, dtype=t.float64),
        t.randint(-5, 1000, (77_777,)), t.randperm(50_003), t.rand(10, 10, dtype=t.float64),
        t.bernoulli(t.full((99_999,), 0.3)), F.dropout(t.ones(300_000), 0.4),
        x.uniform_(-3, 5).clone(), x.normal_(2, 3).clone(), x.random_(0, 100).clone(),
        t.rand(64, 65).T.contiguous(), t.empty(65, 64).T.uniform_(),
    ]  # fmt: skip


def scattered(t):
    """Sums whose terms meet in an order that threads could change."""
    i = t.randint(0, 50, (40_000,))
    table = t.randn(50, 64, requires_grad=True)
    F.embedding(i, table).square().sum().backward()
    source = t.randn(40_000, 8)
    return [
        table.grad, t.zeros(50, 8).index_add(0, i, source),
        t.zeros(50).scatter_add(0, i, source[:, 0]),
        t.zeros(50, 8).index_put((i,), source, accumulate=True),
    ]  # fmt: skip


def fields(t):
    """Images whose threads share channels, groups or places."""
    results = []
    for shape, groups in (((3, 12, 33, 35), 4), ((1, 3, 190, 183), 1), ((1, 40, 41, 43), 8)):
        x, w, b = (t.randn(*s, requires_grad=True) for s in (shape, shape[1:2], shape[1:2]))
        grid = (t.rand(shape[0], 37, 39, 2) * 2.2 - 1.1).requires_grad_()
        table = t.randn(300, 48, requires_grad=True)
        y = F.group_norm(x, groups, w, b)
        z = F.grid_sample(x, grid, align_corners=False)
        bags = F.embedding_bag(t.randint(0, 300, (500, 9)), table)
        total = y.square().sum() + z.square().sum() + bags.square().sum()
        results += [y, z, bags, *t.autograd.grad(total, (x, w, b, grid, table))]
    return results


def exact(t):
    """Pointwise ops whose results IEEE 754 determines, with awkward sizes and strides."""
    x, y = t.randn(1003, 37) * 100, t.randn(1003, 37)
    i, j = t.randint(-1000, 1000, (999,)), t.randint(1, 50, (999,))
    a, b = t.randn(7, 11, 13)[:, ::2].transpose(0, 2), t.randn(13, 1, 7)
    d = t.randn(501, dtype=t.float64)
    return [
        x + y, x - y, x * y, x / y, a + b, a * b, t.add(x, y, alpha=1.5), t.rsub(x, y), -x,
        x.abs(), x.sqrt(), x.rsqrt(), x.reciprocal(), x.square(), x.floor(), x.ceil(), x.round(),
        x.trunc(), x.sign(), x.relu(), x.clamp(-1, 1), t.maximum(x, y), t.minimum(x, y), x // y,
        x % y, t.div(x, y, rounding_mode="trunc"), x > y, x.eq(y), t.where(x > y, x, y),
        F.leaky_relu(x, 0.1), x.isnan(), i + j, i * j, i // j, i % j, i / j, i & j, i | j, i ^ j,
        ~i, d.float(), x.int(), x.double() / 3, i.float(), d / (d + 1), x**2,
        t.nn.functional.mse_loss(x, y, reduction="none"), x.triu(), x.flip(0), x.amax(0), x.argmin(1),
    ]  # fmt: skip


WORK = {
    f.__name__: f
    for f in (train, reductions, products, convolutions, random, scattered, fields, exact)
}


def bits(name) -> list[str]:
    dt.manual_seed(5)
    return [repr(hash(x.detach().contiguous().numpy().tobytes())) for x in WORK[name](dt)]


@pytest.mark.parametrize("name", WORK)
def test_thread_counts(name):
    pytest.importorskip("numpy")
    before = dt.get_num_threads()
    results = []
    try:
        for n in (1, 2, 3, 8):
            dt.set_num_threads(n)
            results.append(bits(name))
    finally:
        dt.set_num_threads(before)
    for other in results[1:]:
        assert other == results[0]


def levels() -> list[str]:
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    return ["v2", *(["v3"] if " avx2" in flags else []), *(["v4"] if " avx512bw" in flags else [])]


def test_instruction_sets(python):
    pytest.importorskip("numpy")
    code = """
        import json, sys
        sys.path.insert(0, sys.argv[1])
        from test_determinism import bits
        print(json.dumps([bits("random"), bits("exact")]))
    """
    here = os.path.dirname(__file__)
    results = [
        json.loads(python(code, here, DT_CPU_ISA=isa, PYTHONHASHSEED="0")) for isa in levels()
    ]
    for other in results[1:]:
        assert other == results[0]


def test_instruction_sets_that_are_none(python):
    code = """
        import dumbtorch as dt
        try:
            dt.ones(2) + 1
        except (RuntimeError, ValueError) as error:
            print(error)
    """
    assert "DT_CPU_ISA must be v2, v3, v4 or v4-no-amx" in python(code, DT_CPU_ISA="avx")
