"""Views in place: a tensor gets another shape and keeps its name, its memory and its place in the graph."""

from __future__ import annotations

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")

# What is called, and what it says about a view of a tensor's own.
CALLS = {
    "squeeze_": lambda x: x.squeeze_(),
    "squeeze_ dim": lambda x: x.squeeze_(1),
    "unsqueeze_": lambda x: x.unsqueeze_(-1),
    "transpose_": lambda x: x.transpose_(0, -1),
    "t_": lambda x: x.t_() if x.dim() < 3 else x.transpose_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "swapdims_": lambda x: x.swapdims_(0, 1),
    "as_strided_": lambda x: x.as_strided_((1, 2), (2, 1), 0),
}
SOURCES = {
    "a tensor": lambda t, w: w * 2,
    "a view": lambda t, w: (w * 2)[:, :1],
    "a view of a view": lambda t, w: (w * 2).t()[1:].unsqueeze(0),
    "an expanded one": lambda t, w: (w[:, :1] * 2).expand(2, 3),
}
calls = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
sources = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


def both(f):
    """What f(library) gives in either library."""
    ours, theirs = f(dt), f(torch)
    assert ours == theirs
    return ours


def numbers(t, *sizes):
    count = 1
    for n in sizes:
        count *= n
    return t.arange(1.0, count + 1).reshape(sizes)


def look(x):
    return tuple(x.shape), x.stride(), x.storage_offset(), x.tolist()


@calls
@sources
def test_shape_and_gradient(call, source):
    def f(t):
        w = numbers(t, 2, 3).requires_grad_()
        x = source(t, w)
        y = call(x)
        assert y is x
        ((x * x) * numbers(t, x.numel()).reshape(x.shape)).sum().backward()
        return look(x.detach()), w.grad.tolist(), x.is_leaf

    both(f)


@calls
def test_written_afterwards(call):
    """The gradient of what is written through the new shape."""

    def f(t):
        w = numbers(t, 2, 3).requires_grad_()
        base = w * 2
        x = base[:, :2]
        call(x)
        x.mul_(x.detach().clone())
        (base * numbers(t, 2, 3)).sum().backward()
        return base.tolist(), w.grad.tolist()

    both(f)


@calls
def test_without_a_graph(call):
    def f(t):
        x = numbers(t, 2, 3)
        view = x[1:]
        before = x._version
        call(x)
        x.add_(1)
        return look(x), view.tolist(), x._version - before

    both(f)


def test_leaves():
    def f(t):
        x = numbers(t, 2, 3).requires_grad_()
        for y in (x, x[0]):
            with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                y.unsqueeze_(0)
        x = numbers(t, 2, 3).requires_grad_()  # with an accumulator, PyTorch refuses the gradient
        with t.no_grad():
            x.t_()
        (x * numbers(t, 3, 2)).sum().backward()
        return look(x.detach()), x.is_leaf, x.grad.tolist()

    both(f)


def test_refusals_change_nothing():
    def f(t):
        x = numbers(t, 2, 3)
        for call in (
            lambda: x.unsqueeze_(5),
            lambda: x.transpose_(0, 2),
            lambda: x.as_strided_((9,), (1,)),
            lambda: numbers(t, 1, 2, 3).t_(),
            lambda: x.as_strided_((2,), (1, 1)),
        ):
            with pytest.raises((RuntimeError, IndexError)):
                call()
        return look(x), x._version

    both(f)


def test_saved_tensors_notice():
    for t in (dt, torch):
        x = numbers(t, 2, 3).requires_grad_() * 1
        y = x * x
        x.t_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_older_views_are_refused_in_the_graph():
    """Their recipe meant the shape that is no more. (PyTorch takes another path, and may be wrong.)"""
    w = numbers(dt, 2, 3).requires_grad_()
    x = w * 2
    row = x[0]
    x.t_()
    (row * 3).sum().backward(retain_graph=True)
    assert w.grad.tolist() == [[6, 6, 6], [0, 0, 0]]
    x.mul_(2)
    with pytest.raises(RuntimeError, match="another shape"):
        row * 2
    with pytest.raises(RuntimeError, match="another shape"):
        x[0].add_(row.detach()[:2])
        row.add_(w[0])


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_what_is_retained_has_the_new_shape(call, written):
    """And hooks see the gradient of the tensor as it was when they were added."""
    x = numbers(dt, 2, 1, 3) if "dim" in call else numbers(dt, 2, 3)
    y, shapes = x.requires_grad_() * 2, []
    old = y.shape
    y.retain_grad()
    y.register_hook(lambda g: shapes.append(g.shape))
    CALLS[call](y)
    y.register_hook(lambda g: shapes.append(g.shape))
    if written:
        y.mul_(3)
    weights = dt.arange(float(y.numel())).reshape(y.shape)
    (y * weights).sum().backward()
    assert dt.equal(y.grad, weights)
    assert sorted(shapes) == sorted([old, y.shape])


def test_resize():
    def f(t):
        x = numbers(t, 2, 3)
        view = x[1]
        seen = [look(x.resize_(3, 2)), look(x.resize_((2,))), look(x.resize_as_(t.zeros(5)))]
        x.fill_(0)
        seen.append(view.tolist())
        x.resize_(4, 4)
        seen += [tuple(x.shape), x.stride(), x.flatten()[:6].tolist()]
        x.resize_(0, 3)
        seen.append(look(x))
        part = numbers(t, 6)[2:]
        seen.append((part.resize_(2, 3).shape == (2, 3), part.flatten()[:4].tolist()))
        for wrong in (lambda: x.resize_(-1), lambda: x.clone().requires_grad_().resize_(1)):
            with pytest.raises(RuntimeError):
                wrong()
        return seen

    both(f)


def test_resize_leaves_memory_of_others_alone():
    np = pytest.importorskip("numpy")
    for t in (dt, torch):
        x = t.from_numpy(np.zeros(4, np.float32))
        assert x.resize_(1, 3).shape == (1, 3) and x.resize_(2, 2).shape == (2, 2)
        with pytest.raises(RuntimeError, match="not resizable"):
            x.resize_(1000)
