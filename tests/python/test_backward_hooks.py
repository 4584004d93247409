"""Hooks of modules on their gradients, and functions that write their inputs in place."""

import warnings
from collections import namedtuple

import pytest


def network(t):
    net = t.nn.Sequential(t.nn.Linear(2, 3, bias=False), t.nn.Tanh(), t.nn.Linear(3, 1, bias=False))
    with t.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_((t.arange(0, p.numel(), dtype=t.float32) * 0.3 - i).reshape(p.shape))
    return net


def batch(t, requires_grad=True):
    return t.tensor([[0.5, -1.0], [2.0, 0.25]]).requires_grad_(requires_grad)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_what_hooks_see(requires_grad, both, same):
    def run(t):
        net, x, seen = network(t), batch(t, requires_grad), []
        for layer in net:
            layer.register_full_backward_pre_hook(
                lambda m, out: seen.append((type(m).__name__, out))
            )
            layer.register_full_backward_hook(
                lambda m, into, out: seen.append((type(m).__name__, into, out))
            )
        net(x).sum().backward()
        return seen, x.grad, [p.grad for p in net.parameters()]

    same(*both(run))


def test_hooks_change_gradients(both, same):
    def run(t):
        net, x = network(t), batch(t)
        net[2].register_full_backward_pre_hook(lambda m, out: (out[0] * 2,))
        net[2].register_full_backward_hook(lambda m, into, out: (into[0] * 3,))
        net[0].register_full_backward_hook(lambda m, into, out: (into[0] + 1,))
        removed = net[1].register_full_backward_hook(lambda m, into, out: (into[0] * 100,))
        removed.remove()
        net(x).sum().backward()
        return x.grad, [p.grad for p in net.parameters()]

    same(*both(run))


def test_several_inputs_and_outputs(both, same):
    class Two:
        """Made for each library, since the base class differs."""

        @staticmethod
        def make(t):
            class Net(t.nn.Module):
                def forward(self, a, scale, b):
                    return a * b * scale, "text", a + b

            return Net()

    def run(t):
        seen = []
        net = Two.make(t)
        net.register_full_backward_hook(lambda m, into, out: seen.append((into, out)))
        a, b = t.ones(2, requires_grad=True), t.full((2,), 2.0)
        y, text, z = net(a, 3.0, b)
        y.sum().backward(retain_graph=True)
        (y * z).sum().backward()
        with t.no_grad():
            net(a, 1.0, b)
        return seen, a.grad, text

    same(*both(run))


def test_second_order_through_hooks(both, same):
    def run(t):
        net, x = network(t), batch(t)
        net[1].register_full_backward_hook(lambda m, into, out: (into[0] * out[0],))
        (g,) = t.autograd.grad(net(x).sum(), x, create_graph=True)
        return g, t.autograd.grad((g * g).sum(), list(net.parameters()))

    same(*both(run))


@pytest.mark.parametrize(
    ("kind", "hook"),
    [
        ("full_backward_hook", lambda m, into, out: (None, None)),
        ("full_backward_pre_hook", lambda m, out: (None, None)),
    ],
)
def test_hook_of_wrong_length(kind, hook, both):
    def run(t):
        layer = t.nn.Linear(2, 2)
        getattr(layer, f"register_{kind}")(hook)
        with pytest.raises(
            RuntimeError, match="invalid number of grad_(in|out)put, got 2, but expected 1"
        ):
            layer(batch(t)).sum().backward()

    both(run)


# ---- mark_dirty


def square_(t):
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.clone())
            x.mul_(x)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    return Square.apply


def test_mark_dirty(both, same):
    def run(t):
        x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        before = y[1:]
        z = square_(t)(y)
        assert z is y and type(y.grad_fn).__name__ != "MulBackward0"
        (y * t.tensor([1.0, 10.0, 100.0])).sum().backward(retain_graph=True)
        first = x.grad.clone()
        before.sum().backward()
        return y, before, first, x.grad, y._version, square_(t)(t.tensor([3.0]))

    same(*both(run))


def test_dirty_view(both, same):
    def run(t):
        x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        square_(t)(y[1:])
        (y * t.tensor([1.0, 10.0, 100.0])).sum().backward()
        return y, x.grad

    same(*both(run))


def test_dirty_output_that_is_saved(both, same):
    def run(t):
        class Exp(t.autograd.Function):
            @staticmethod
            def forward(ctx, a, x):
                x.exp_()
                ctx.mark_dirty(x)
                ctx.save_for_backward(x)
                return a * x, x

            @staticmethod
            def backward(ctx, g, h):
                (y,) = ctx.saved_tensors
                return g * y, (g * 3 + h) * y

        x = t.tensor([0.5, 1.0], requires_grad=True)
        y = x * 1
        product, z = Exp.apply(t.full((2,), 3.0), y)
        (g,) = t.autograd.grad((product + z * z).sum(), x, create_graph=True)
        assert z is y
        return g, t.autograd.grad(g.sum(), x)

    same(*both(run))


def test_saved_value_that_a_dirty_input_had(both):
    def run(t):
        x = t.ones(2, requires_grad=True)
        y = x * 2
        z = y * y
        square_(t)(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()

    both(run)


@pytest.mark.parametrize("keep", ["save_for_backward", "mark_dirty", "mark_non_differentiable"])
def test_graph_that_is_never_used_is_freed(keep, both):
    """The test's fixture counts handles: what ctx was told must not hold the graph."""

    def run(t):
        class Function(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.mul_(2) if keep == "mark_dirty" else x * 2
                z = x * 3
                getattr(ctx, keep)(z if keep == "mark_non_differentiable" else y)
                return y, z

            @staticmethod
            def backward(ctx, *grads):
                return grads[0]

        Function.apply(t.ones(2, requires_grad=True) * 1)

    both(run)


def test_refused_dirty_inputs(both):
    def run(t):
        class Loses(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad

        with pytest.raises(RuntimeError, match="must all be outputs of the Function"):
            Loses.apply(t.ones(2, requires_grad=True) * 1)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            square_(t)(t.ones(2, requires_grad=True))

    both(run)


@pytest.mark.parametrize("pre", [False, True])
@pytest.mark.parametrize(
    "make",
    [list, lambda x: {"y": x}, lambda x: (x, 2), lambda x: x],
    ids=["list", "dict", "tuple", "tensor"],
)
def test_outputs_that_hooks_do_not_see(make, pre, both):
    def run(t):
        class Net(t.nn.Module):
            def forward(self, x):
                return make(x * 2)

        net = Net()
        getattr(net, f"register_full_backward_{'pre_' if pre else ''}hook")(lambda *args: None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            net(t.ones(2, requires_grad=True))
        return [(w.category, str(w.message)) for w in caught]

    ours, theirs = both(run)
    assert ours == theirs


def test_outputs_with_names(both):
    """A named tuple is one behind the hooks, too."""

    def run(t):
        Pair = namedtuple("Pair", "twice more")

        class Net(t.nn.Module):
            def forward(self, x):
                return Pair(x * 2, x + 1)

        net, seen = Net(), []
        net.register_full_backward_hook(lambda m, into, out: seen.append((into, out)))
        pair = net(t.ones(2, requires_grad=True))
        (pair.twice + 3 * pair.more).sum().backward()
        return type(pair).__name__, [[x.tolist() for x in grads] for grads in seen[0]]

    mine, theirs = both(run)
    assert mine == theirs
