"""Gradients through views that are written to, against PyTorch: first and second derivatives."""

import dumbtorch as dt
import pytest


def numbers(t, *shape):
    count = 1
    for n in shape:
        count *= n
    return (t.arange(count, dtype=t.float64) * 0.37 + 0.5).sin().reshape(shape)


def leaf(t, *shape):
    return numbers(t, *shape).clone().requires_grad_()


def both(torch, program):
    """What the program gives, from each library, as lists."""
    return [[None if x is None else x.tolist() for x in program(t)] for t in (dt, torch)]


# The memory order in which the gradient arrives at the base.
ARRIVALS = {
    "as it is": lambda y, w: y * w,
    "transposed": lambda y, w: y.t() * w,
    "transposed weight": lambda y, w: y * w.t(),
    "expanded": lambda y, w: y.sum() * w,
}
VIEWS = {
    "flat": lambda y: (y if y.is_contiguous() else y.t()).view(-1)[0:4],
    "as_strided": lambda y: y.as_strided([2, 2], [1, 4]),
    "as_strided of a slice": lambda y: y[1:].as_strided([3], [2], 3),
    "diagonal": lambda y: y.diagonal(),
}


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("base", ["row-major", "column-major"])
def test_written_part_of_a_view(torch, base, view, arrival):
    """A flat view is one in the base's memory order alone, and the gradient may come in another."""

    def program(t):
        x, w = leaf(t, 3, 3), numbers(t, 3, 3) + 1
        y = x * 1 if base == "row-major" else x.t() * 1
        VIEWS[view](y).mul_(3)
        (g,) = t.autograd.grad(ARRIVALS[arrival](y, w).square().sum(), x, create_graph=True)
        return g, *t.autograd.grad((g * g).sum(), x)

    for ours, theirs in zip(*both(torch, program), strict=True):
        assert ours == [pytest.approx(row) for row in theirs]


def test_base_that_begins_inside_its_memory(torch):
    def program(t):
        x = leaf(t, 3)
        y = t.zeros(8, dtype=t.float64)[2:].detach()
        y[1:4] = x
        y.as_strided([2], [1], 3).mul_(5)
        return t.autograd.grad((y * y).sum(), x)

    ours, theirs = both(torch, program)
    assert ours[0] == pytest.approx(theirs[0])


def test_second_gradient_of_a_written_view_without_a_graph(torch):
    """The op had saved nothing for the gradient of a base that needs none; it was read all the
    same."""

    def program(t):
        x, y = leaf(t, 3), numbers(t, 3)
        y[...].mul_(x)
        (g,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
        return g, *t.autograd.grad((g * g).sum(), x)

    for ours, theirs in zip(*both(torch, program), strict=True):
        assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("name", ["exp_", "sigmoid_", "tanh_", "sqrt_", "reciprocal_", "rsqrt_"])
def test_second_gradient_through_a_saved_result(torch, name):
    """The result that a formula keeps is itself a function of what the view showed before."""

    def program(t):
        x = leaf(t, 4)
        y = x.square()
        v = y[1:]
        getattr(v, name)()
        (g,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = t.autograd.grad((g * g).sum(), x, create_graph=True)
        return g, h, *t.autograd.grad(h.sum(), x)

    for ours, theirs in zip(*both(torch, program), strict=True):
        assert ours == pytest.approx(theirs)


def test_one_backward_through_a_written_view(torch):
    """The memory that a graph keeps is given back, also where a view was written to."""
    for t in (dt, torch):
        x = leaf(t, 4)
        y = x * 1
        y[1:].exp_()
        y.sum().backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second"):
            y.sum().backward()


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_what_a_view_is_of(torch, dtype):
    for t in (dt, torch):
        x = t.zeros(2, 3, dtype=getattr(t, dtype))
        v = x.t()[1:].select(1, 0)
        assert v._is_view() and v._base.data_ptr() == x.data_ptr() and v._base.shape == (2, 3)
        for y in (x, x.clone(), x + x, v + v, x.detach(), x.to(t.float64)):
            assert not y._is_view() and y._base is None
    v = dt.zeros(2, 3).t()
    assert v[0]._base.is_same(v._base)
    y = dt.nn.functional.conv2d(dt.ones(1, 1, 3, 3), dt.ones(1, 1, 2, 2), padding="same")
    assert not y._is_view() and y.is_contiguous()
