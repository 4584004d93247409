"""A few elements of each row, by their order (`topk`) or by their place (`index_select`, brackets), of random sizes and
memory, against PyTorch and for any number of threads."""

import random

import dumbtorch as dt
import pytest

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
LENGTHS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257, 300]
TIMES = 30


@pytest.fixture(params=[1, 2])
def threads(request):
    before = dt.get_num_threads()
    dt.set_num_threads(request.param)
    yield
    dt.set_num_threads(before)


def matrix(torch, draw, name, rows, columns):
    """Many elements are equal; the least and the largest, 0 and -0, infinities and NaN are among them."""
    dtype = getattr(torch, name)
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    rare = [limits.min, limits.max, 0]
    if dtype.is_floating_point:
        rare += [-0.0, float("inf"), float("-inf"), float("nan")]
    rare = draw.sample(rare, k=draw.randint(1, len(rare)))
    share, kinds = draw.choice([0, 0.02, 0.3, 0.9]), draw.choice([2, 5, 100])
    numbers = [
        draw.choice(rare) if draw.random() < share else draw.randrange(kinds)
        for _ in range(rows * columns)
    ]
    return torch.tensor(numbers, dtype=dtype).reshape(rows, columns)


def in_some_memory(torch, draw, x):
    """Rows one after another, with gaps, columns one after another, or every second column of what is wider."""
    order = draw.choice(["rows", "gaps", "columns", "steps"])
    if order == "columns":
        return x.t().contiguous().t()
    if order == "rows":
        return x
    wide = torch.zeros(x.shape[0], 2 * x.shape[1] + 3, dtype=x.dtype)
    part = wide[:, 1 : 1 + x.shape[1]] if order == "gaps" else wide[:, 1 : 2 * x.shape[1] : 2]
    return part.copy_(x)


def assert_equal(torch, ours, theirs):
    """The same numbers, -0 apart from 0."""
    found = torch.from_dlpack(ours)
    assert found.dtype is theirs.dtype
    torch.testing.assert_close(found, theirs, rtol=0, atol=0, equal_nan=True)
    signs = [torch.signbit(x) & ~x.isnan() for x in (found, theirs)]
    assert torch.equal(*signs)


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_topk(name, torch, threads):
    """docs/differences.md: of equal elements those that come first, as a sort that keeps their order says."""
    draw = random.Random(name)
    for _ in range(TIMES):
        n = draw.choice(LENGTHS)
        counts = [0, 1, 2, 15, 16, 17, n // 16, n // 16 + 1, n // 2, n // 2 + 1, n - 1, n]
        k = draw.choice([k for k in counts if k <= n])
        largest = draw.random() < 0.5
        x = in_some_memory(torch, draw, matrix(torch, draw, name, draw.choice([0, 1, 2, 7]), n))
        found = dt.topk(dt.from_dlpack(x), k, 1, largest)
        truth = torch.sort(x, dim=1, descending=largest, stable=True)
        assert_equal(torch, found.indices, truth.indices[:, :k])
        assert_equal(torch, found.values, x.gather(1, truth.indices[:, :k]))
        theirs = torch.topk(x, k, 1, largest).values
        torch.testing.assert_close(
            torch.from_dlpack(found.values), theirs, rtol=0, atol=0, equal_nan=True
        )


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_topk_of_nothing_but_the_last(name, torch):
    """What no element comes behind is no empty place."""
    dtype = getattr(torch, name)
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    last = {True: limits.min, False: float("nan") if dtype.is_floating_point else limits.max}
    for largest, number in last.items():
        x = torch.full((2, 64), number, dtype=dtype)
        for k in (1, 5, 16, 17):
            values, indices = dt.topk(dt.from_dlpack(x), k, 1, largest)
            assert_equal(torch, values, x[:, :k])
            assert_equal(torch, indices, torch.arange(k).expand(2, k))


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_topk_of_rows_that_threads_share(name, torch):
    """The last piece of such a row may be shorter than what is wanted of it."""
    draw = random.Random(name)
    threads = dt.get_num_threads()
    try:
        dt.set_num_threads(3)
        for n in (70_001, 90_112):
            x = matrix(torch, draw, name, 1, n)
            for k in (1, 16, 17, 300):
                truth = torch.sort(x, dim=1, descending=True, stable=True).indices[:, :k]
                assert_equal(torch, dt.topk(dt.from_dlpack(x), k).indices, truth)
    finally:
        dt.set_num_threads(threads)


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_few_columns(name, torch, threads):
    draw = random.Random(name)
    for _ in range(TIMES):
        n = draw.choice(LENGTHS)
        x = in_some_memory(
            torch, draw, matrix(torch, draw, name, draw.choice([0, 1, 3, 40, 600]), n)
        )
        columns = [draw.randrange(-n, n) for _ in range(draw.choice([0, 1, 2, 3, 15, 16, 17]))]
        kind = draw.choice(["int32", "int64"])

        def run(t, x, columns=columns, n=n, kind=kind):
            index = t.tensor(columns, dtype=getattr(t, kind))
            blocks = x[:, None, :].expand(-1, 2, -1)
            selected = t.index_select(x, 1, index.remainder(n))
            return selected, x[:, index], blocks[..., index], x.t()[index], x[:, index[None]]

        for ours, theirs in zip(run(dt, dt.from_dlpack(x)), run(torch, x), strict=True):
            assert_equal(torch, ours, theirs)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_gradients_of_few_columns(name, torch, threads):
    draw = random.Random(name)
    for _ in range(TIMES // 3):
        n, rows = draw.choice(LENGTHS), draw.choice([0, 1, 3, 40])
        x = in_some_memory(torch, draw, torch.zeros(rows, n, dtype=getattr(torch, name)))
        columns = [draw.randrange(-n, n) for _ in range(draw.choice([0, 1, 3, 16, 17]))]

        def run(t, x, columns=columns):
            x = x.detach().requires_grad_()
            y = x[:, t.tensor(columns, dtype=t.int64)]
            return t.autograd.grad(y, x, t.arange(y.numel(), dtype=x.dtype).reshape(y.shape))[0]

        assert_equal(torch, run(dt, dt.from_dlpack(x)), run(torch, x))
