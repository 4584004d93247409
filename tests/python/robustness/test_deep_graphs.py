"""Graphs of extreme shapes, on a small stack: recursion would not survive."""

import threading

import dumbtorch as dt
import pytest

DEEP = 1_000_000


@pytest.fixture(autouse=True)
def small_stack():
    """The tests of this file run in threads with 256 KiB of stack."""
    before = threading.stack_size(256 << 10)
    yield
    threading.stack_size(before)


def on_small_stack(f):
    result = []

    def run():
        try:
            result.append(f())
        except BaseException as error:
            result.append(error)

    t = threading.Thread(target=run)
    t.start()
    t.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


def chain(x, n):
    for _ in range(n):
        x = x * 1.0
    return x


def test_deep_chain_is_differentiated():
    def run():
        x = dt.ones(2, requires_grad=True)
        y = chain(x, DEEP)
        y.sum().backward()
        return x.grad.tolist()

    assert on_small_stack(run) == [1.0, 1.0]


def test_deep_chain_is_dropped():
    def run():
        y = chain(dt.ones(1, requires_grad=True), DEEP)
        del y

    on_small_stack(run)


def test_deep_chain_is_kept_and_dropped():
    def run():
        x = dt.ones(1, requires_grad=True)
        y = chain(x, 100_000)
        (a,) = dt.autograd.grad(y, x, retain_graph=True)
        (b,) = dt.autograd.grad(y, x, create_graph=True)
        return a.item(), b.item()

    assert on_small_stack(run) == (1.0, 1.0)


def test_deep_graph_of_a_deep_graph():
    """The second derivative's graph is as deep as the first one's."""

    def run():
        x = dt.tensor(1.0, requires_grad=True, dtype=dt.float64)
        y = x
        for _ in range(20_000):
            y = y.sin()
        (g,) = dt.autograd.grad(y, x, create_graph=True)
        g.backward()
        return x.grad.item()

    assert on_small_stack(run) < 0


def test_long_chains_of_views():
    def run():
        x = dt.zeros(4, requires_grad=True)
        y = x * 1
        v = y
        for k in range(100_000):
            v = v.view(2, 2) if k % 2 == 0 else v.view(4)
        v.add_(dt.ones(4))
        y.mul_(2)  # rebases y: the whole chain is recorded again at its next use
        w = v * 3
        w.sum().backward()
        return y.tolist(), w.tolist(), x.grad.tolist()

    y, w, grad = on_small_stack(run)
    assert y == [2.0] * 4 and w == [6.0] * 4 and grad == [6.0] * 4


def test_writes_through_many_views_of_one_base():
    def run():
        x = dt.zeros(100, requires_grad=True)
        y = x * 1
        views = [y[i] for i in range(100)]
        for k, v in enumerate(views):
            v.mul_(k).add_(1)
        (y * y).sum().backward()
        return x.grad.tolist()

    assert on_small_stack(run) == [2.0 * k for k in range(100)]


def test_wide_fan_out():
    def run():
        x = dt.ones(3, requires_grad=True)
        terms = [x * (k % 7) for k in range(100_000)]
        dt.stack(terms).sum().backward()
        return x.grad.tolist()

    assert on_small_stack(run) == [float(sum(k % 7 for k in range(100_000)))] * 3


def test_exponentially_many_paths():
    """Every node is visited once, however many paths lead to it."""

    def run():
        x = dt.ones(1, requires_grad=True, dtype=dt.float64)
        y = x
        for _ in range(60):
            y = y + y
        y.backward()
        return x.grad.item()

    assert on_small_stack(run) == 2.0**60


def test_deep_chain_of_functions_of_the_users():
    class Double(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    def run():
        x = dt.ones(1, requires_grad=True)
        y = x
        for _ in range(3_000):
            y = Double.apply(y) * 0.5
        y.backward()
        return x.grad.item()

    assert on_small_stack(run) == 0.5**3_000


def test_hooks_that_hold_their_tensor():
    """A cycle through Python is broken by backward or the collector, not by recursion."""

    def run():
        x = dt.ones(1, requires_grad=True)
        y = x
        for _ in range(1_000):
            y = y * 1
            y.register_hook(lambda g, y=x: g)
        y.backward()
        return x.grad.item()

    assert on_small_stack(run) == 1.0
