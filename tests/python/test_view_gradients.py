"""Gradients through views that are written to, against PyTorch: first and second derivatives."""

import dumbtorch as dt
import numpy as np
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


def test_stale_view_beside_an_input_that_is_asked_first(torch):
    """The view records itself again when it is looked at, after the node that uses it was begun."""

    def program(t):
        x = t.ones(3, requires_grad=True)
        v = t.ones(3).view(3)
        v.mul_(x)
        (x * v + v).sum().backward()
        w = t.ones(2, 2)
        row = w[0]
        row.mul_(x[:2])
        w.mul_(2)
        (t.stack([x[:2], row, row]) * row).sum().backward()
        return (x.grad,)

    ours, theirs = both(torch, program)
    assert ours == theirs


# What is written after gradients of y and of its views v and w were asked for.
WRITES = {
    "y": lambda y, v, w: y.mul_(3),
    "y twice": lambda y, v, w: y.mul_(3).add_(1),
    "v": lambda y, v, w: v.mul_(3),
    "w": lambda y, v, w: w.mul_(3),
    "v, then y": lambda y, v, w: (v.mul_(3), y.mul_(2)),
    "y by no gradient": lambda y, v, w: y.zero_(),
}
USES = {
    "y": lambda y, v, w: (y * y).sum(),
    "v": lambda y, v, w: (v * v).sum(),
    "all": lambda y, v, w: (y * y).sum() + (v * w).sum(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("product", ["elementwise", "matrix"])
def test_retained_gradients_follow_writes(torch, product, write, use):
    """retain_grad keeps the gradient of the tensor as it is in the end; a hook stays with what it was added to."""

    def program(t):
        x = leaf(t, 3)
        m = numbers(t, 3, 3)
        y = x * 2 if product == "elementwise" else m @ x
        v, w = y[:2], y[:2]
        seen = []
        y.register_hook(lambda g: seen.append(g * 1))
        for tensor in (y, v):
            tensor.retain_grad()
        WRITES[write](y, v, w)
        USES[use](y, v, w).backward()
        return [*seen, y.grad, v.grad, x.grad]

    ours, theirs = both(torch, program)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a == (b if b is None else pytest.approx(b))


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


PARTS = {
    "unbound": lambda x, t: sum(p**2 * (i + 2) for i, p in enumerate(x.unbind(1))),
    "split": lambda x, t: sum((p**2 * (i + 2)).sum(2) for i, p in enumerate(x.split([1, 3, 2], 2))),
    "overlapping": lambda x, t: x[:, 1:4, ::2].sum() * 3 + (x[:, 2:] ** 2).sum() + x[1, 2].sum(),
    "beside other uses": lambda x, t: (x[0] * 2).sum() + (x * x).sum() + (x[0, 1:] * 5).sum(),
    "of parts": lambda x, t: (x[0][1:] * 2).sum() + (x[0][1:3].t()[2:] ** 2).sum() + x[0].sum(),
}


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_one_tensor(name, turned, second, torch):
    """What arrives from its parts, at the tensor and at hooks on the way."""

    def program(t):
        x = leaf(t, 6, 5, 3) if turned else leaf(t, 3, 5, 6)
        y = (x.permute(2, 1, 0) if turned else x).sin()
        seen = []
        y.register_hook(lambda g: seen.append(g.detach().clone()))
        grads = t.autograd.grad(PARTS[name](y, t).sum(), [y, x], create_graph=second)
        if second:
            grads += t.autograd.grad(sum((g**2).sum() for g in grads), [x])
        return [*seen, *(g.detach() for g in grads)]

    ours, theirs = both(torch, program)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_parts_are_added_without_the_whole():
    """No sum of the whole size for each part: the work is that of the parts."""
    x = dt.ones(4, 1000, requires_grad=True)
    y = x * 1
    loss = sum((y[i] * 2).sum() for i in range(4))
    with dt.profiler.profile(record_shapes=True) as p:
        loss.backward()
    sums = [e.input_shapes for e in p.events() if e.name == "add"]
    assert sums == ["[[1000], [1000]]"] * 3


def kernels_of(loss):
    with dt.profiler.profile() as p:
        loss.backward()
    return [e.name for e in p.events() if e.name.islower()]  # nodes have capitals


def test_gradients_of_all_parts_are_joined_once():
    """By a copy of each; none where they lie beside each other already."""
    x = dt.ones(4, 1000, requires_grad=True)
    kernels = kernels_of(sum(row.exp().sum() for row in x * 1))
    assert kernels[kernels.index("exp_backward") :].count("copy") == 4
    x.grad = None
    a, b = (x * 1).split(2)
    kernels = kernels_of(dt.cat([a, b]).exp().sum())
    assert kernels[kernels.index("exp_backward") :] == ["exp_backward", "mul_backward"]


@pytest.mark.parametrize("cut", [lambda x: x.unbind(), lambda x: x.split(2), lambda x: x.chunk(1)])
def test_a_part_alone_and_twice(cut, torch):
    """The seed of a backward may be the only part's gradient; nothing is saved that one backward would free."""
    for t in (dt, torch):
        x = t.zeros(1, requires_grad=True)
        (part,) = cut(x)
        part.sum().backward()
        part.reshape(()).backward()
        (part * part).backward(t.ones(part.shape))
        assert x.grad.tolist() == [2.0]
        x.grad = None
        cut(x)[0].backward(*([] if part.dim() < 2 else [t.ones(1, 1)]))
        assert x.grad.tolist() == [1.0]


@pytest.mark.parametrize("cut", ["unbind", "split"])
def test_gradients_of_packed_attention_are_one_tensor(cut):
    x = dt.randn(2, 10, 96, requires_grad=True)
    packed = x * 1
    if cut == "unbind":
        q, k, v = packed.view(2, 10, 3, 4, 8).permute(2, 0, 3, 1, 4)
    else:
        q, k, v = (part.view(2, 10, 4, 8).transpose(1, 2) for part in packed.split(32, 2))
    y = dt.nn.functional.scaled_dot_product_attention(q, k, v)
    kernels = kernels_of((y * y).sum())
    found = x.grad.clone()
    x.grad = None
    q, k, v = (part.detach().requires_grad_() for part in (q, k, v))
    (dt.nn.functional.scaled_dot_product_attention(q, k, v) ** 2).sum().backward()
    parts = [p.grad.transpose(1, 2).flatten(2) for p in (q, k, v)]
    assert dt.allclose(found, dt.cat(parts, 2))
    assert kernels[kernels.index("attention_backward") :] == [
        "attention_backward",
        "mul_backward",
    ]


def test_gradients_of_parts_share_no_memory(torch):
    """What one is given as a gradient, one may write."""
    for t in (dt, torch):
        x, v = t.ones(4, requires_grad=True), t.full((4,), 3.0)
        (gx,) = t.autograd.grad(t.cat(x.split(2)), x, v)
        gx.mul_(0)
        assert v.tolist() == [3.0] * 4
        x, g = t.ones(2, 3, requires_grad=True), t.ones(2, 3)
        a, b = x.unbind(0)
        t.autograd.grad([a, b], [x], [g[0], g[1]])[0].zero_()
        assert g.sum() == 6
        x = t.rand(3, 1, 1, 4, 8).requires_grad_()
        q, k, v = x.unbind(0)
        y = t.nn.functional.scaled_dot_product_attention(q, k, v).square().sum()
        gx, gq, gv = t.autograd.grad(y, [x, q, v])
        before = gv.clone()
        gx.zero_()
        assert gv.tolist() == before.tolist() and before.abs().sum() > 0
        leaves = [p.detach().requires_grad_() for p in x.detach()]
        t.nn.functional.scaled_dot_product_attention(*leaves).sum().backward()
        assert {p.grad.untyped_storage().nbytes() for p in leaves} == {4 * 8 * 4}


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"])
def test_gradients_of_biases_that_are_added_share_no_memory(torch, layer):
    for t in (dt, torch):
        made = getattr(t.nn, layer)(3, 4)
        y = made(t.rand(2, 3))
        y = y[0] if isinstance(y, tuple) else y
        grads = t.autograd.grad(y.sum(), list(made.parameters()))
        assert len({g.data_ptr() for g in grads}) == len(grads) == 4


@pytest.mark.parametrize(
    "part", ["[:]", "[0:3]", "[::1]", "[:7]", "[:2]", "[...]", "[:, :]", "[()]"]
)
def test_which_views_pass_a_gradient_on(torch, part):
    """A slice alone is copied, also where it is all: what is written to one gradient is not in the other."""
    found = []
    for t in (dt, torch):
        x = t.ones(3, 2, requires_grad=True)
        y = eval("x" + part)
        gy, gx = t.autograd.grad(y, [y, x], t.ones(*y.shape))
        gy.mul_(5)
        found.append((gx.tolist(), y._is_view(), y._base is x))
    assert found[0] == found[1]


def test_anomalies_beside_a_norm_are_found_where_they_are(torch):
    for t in (dt, torch):
        x = t.zeros(2, 4, requires_grad=True) * 1
        y = t.nn.functional.layer_norm(x, (4,), eps=0.0)
        z = (x * x).sum()
        with t.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="LayerNormBackward0"):
            ((y * t.arange(4.0)).sum() + z).backward()


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_windows_are_rounded_once(dtype, step):
    """Steps of a sum of many numbers would be lost where it is large beside them."""
    narrow = getattr(dt, dtype)
    g = (numbers(dt, (1500 - 700) // step + 1, 700) + 1.5).to(narrow)
    found, exact = (dt.zeros(1500, dtype=d, requires_grad=True) for d in (narrow, dt.float64))
    for x in (found, exact):
        x.unfold(0, 700, step).backward(g.to(x.dtype))
    assert found.grad.tolist() == exact.grad.float().to(narrow).tolist()
