"""torch.func and vmap: what they refuse, modes around and inside them, and what is written in place."""

import re

import dumbtorch as dt
import dumbtorch.func
import pytest


def called(t, text):
    """The value of a text, and what it may use."""
    x = t.arange(3.0) + 1
    names = {"t": t, "f": t.func, "x": x, "m": t.arange(6.0).reshape(2, 3), "one": t.tensor(2.0)}
    return eval(text, names)


REFUSED = [
    "f.{}(lambda x: x.sum(), argnums=0.0)(x)", "f.{}(lambda x: x.sum(), argnums=())(x)",
    "f.{}(lambda x: x.sum(), argnums=2)(x)", "f.{}(lambda x, y: (x * y).sum(), argnums=(0, -2))(x, x)",
    "f.{}(lambda x, y: (x * y).sum(), argnums=[0, 1])(x, x)", "f.{}(lambda x: x.sum(), argnums=(0.0,))(x)",
    "f.{}(lambda x: x.sum(), has_aux=True)(x)", "f.{}(lambda x: (x.sum(), x, x), has_aux=True)(x)",
    "f.{}(lambda x: [x.sum(), x], has_aux=True)(x)", "f.{}(lambda x: None)(x)", "f.{}(lambda x: 2.0)(x)",
    "f.{}(lambda x: (x.sum(), 'a'))(x)", "f.{}(lambda x: ())(x)",
]  # fmt: skip
OTHERS = [
    "f.grad(lambda x: x)(x)", "f.grad(lambda x: x)(2.0)", "f.grad(lambda x, y: x.sum(), argnums=(0, 1))(x, None)",
    "f.jacrev(lambda x: t.arange(3))(x)", "f.jacrev(t.sin, chunk_size=0)(x)", "f.jacfwd(t.sin, randomness='foo')(x)",
    "f.vjp(lambda x: None, x)", "f.vjp(lambda x: (x, None), x)", "f.vjp(t.sin, 1.0)",
    "f.vjp(lambda x: x, x, has_aux=True)",
    "f.vjp(lambda x: (x, x), x)[1]((x,))", "f.vjp(lambda x: (x, x), x)[1]([x, x])", "f.vjp(lambda x: (x,), x)[1](x)",
    "f.vjp(lambda x: {'a': x}, x)[1]({'b': x})", "f.vjp(lambda x: t.arange(3), x)[1](x)",
    "f.jvp(t.sin, [x], [x])", "f.jvp(t.sin, x, x)", "f.jvp(t.sin, (), ())", "f.jvp(t.sin, (1.0,), (1.0,))",
    "f.jvp(t.sin, (x,), (t.ones(2),))", "f.jvp(t.sin, (x,), (t.arange(3),))", "f.jvp(t.sin, (t.arange(3),), (x,))",
    "f.jvp(lambda x: (x, None), (x,), (x,))", "f.jvp(lambda x: x, (x,), (x,), has_aux=True)",
    "f.jvp(lambda x: t.ones(2), (x,), (x,), strict=True)",
    "t.vmap(t.sin)()", "t.vmap(t.sin)(1.0)", "t.vmap(lambda x: 1.0)(m)", "t.vmap(lambda x: (x, None))(m)",
    "t.vmap(t.sin, in_dims=3)(m)", "t.vmap(t.sin, in_dims=-3)(m)", "t.vmap(t.sin)(one)",
    "t.vmap(lambda x, y: x)(m, 1.0)",
    "t.vmap(t.add, in_dims=[0, 0])(m, m)", "t.vmap(t.add, in_dims=0.0)(m, m)", "t.vmap(t.add, in_dims=None)(m, m)",
    "t.vmap(t.sin, in_dims=(None,))(m)", "t.vmap(t.add)(m, t.ones(3, 3))", "t.vmap(t.sin, out_dims='a')(m)",
    "t.vmap(t.sin, out_dims=0.0)(m)", "t.vmap(t.sin, out_dims=None)(m)", "t.vmap(t.sin, chunk_size=0)(m)",
    "t.vmap(t.sin, randomness='foo')(m)", "t.vmap(lambda x: x + t.rand(3))(m)", "t.vmap(t.nn.functional.dropout)(m)",
]  # fmt: skip
# Errors that end in a tree, which is shown in another way.
TREES = [
    "f.jvp(t.sin, (x,), x)", "f.jvp(t.sin, (x, x), (x,))", "f.jvp(lambda d: d['a'], ({'a': x},), (x,))",
    "t.vmap(t.add, in_dims=(0,))(m, m)", "t.vmap(lambda p: p[0], in_dims=((0,),))((m, m))",
    "t.vmap(lambda p: p[0], in_dims=([0, None],))((m, m))", "t.vmap(lambda d: d['a'], in_dims=({'b': 0},))({'a': m})",
    "t.vmap(lambda x: (x, x), out_dims=(0,))(m)", "t.vmap(lambda x: (x, x), out_dims=(0, 0, 0))(m)",
    "t.vmap(lambda x: [x], out_dims=(0,))(m)",
]  # fmt: skip


@pytest.mark.parametrize("name", ["grad", "grad_and_value", "jacrev", "jacfwd"])
@pytest.mark.parametrize("text", REFUSED)
def test_refused_by_all(name, text, refusals):
    ours, theirs = refusals(lambda t: called(t, text.format(name)), RuntimeError)
    assert ours == theirs


@pytest.mark.parametrize("text", OTHERS + TREES)
def test_refused(text, refusals):
    ours, theirs = refusals(lambda t: called(t, text), RuntimeError, ValueError)
    if text in TREES:
        ours, theirs = (
            (kind, re.split("(with|has) structure", said)[0]) for kind, said in (ours, theirs)
        )
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    [
        "t.vmap(t.sin)(t.ones(0, 3))",
        "t.vmap(lambda a, b: a * b, out_dims=1)(t.ones(0, 3), t.ones(0, 3))",
        "t.vmap(lambda x: x, out_dims=(1,))(m)",
        "tuple(t.vmap(lambda x: {'a': x, 'b': x}, out_dims={'a': 0, 'b': 1})(m).values())",
        "t.vmap(lambda x: (x, (x, x)), out_dims=(0, (0, 1)))(m)[1]",
        "t.vmap(lambda x: t.ones(2), out_dims=None)(m)",
        "t.vmap(lambda x, y: x * y, in_dims=(0, None))(m, 2.0)",
        "t.vmap(lambda d: d['a'] * d['b'], in_dims=({'a': 0, 'b': None},))({'a': m, 'b': x})",
        "f.jacrev(lambda x: [x, {'a': x * 2}])(x)[1]['a']", "f.vjp(lambda x: {'a': x * 2}, x)[1]({'a': x})[0]",
        "f.jvp(lambda d: d['a'] * 2, ({'a': x},), ({'a': x},))",
        "f.hessian(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x)",
        "f.jacfwd(lambda x: (x.sin(), t.arange(2), x.sum(), t.ones(2)))(x)", "f.jacfwd(t.sin)(t.zeros(0))",
        "f.jacfwd(lambda a, b: (a * b.sum(), b), argnums=(1, 0))(x[:1], x)", "f.jacfwd(t.relu)(m)",
        # What overflows is NaN along the column by which it does not move.
        "f.hessian(lambda a: a.exp().mean())(x * t.tensor([0.0, 1.0, 1e30]))",
        "f.jacfwd(lambda a: a.exp())(x * t.tensor([0.0, 1.0, 1e30]))",
        "f.jacrev(lambda a: a.exp())(x * t.tensor([0.0, 1.0, 1e30]))",
    ],
)  # fmt: skip
def test_values(text, both, same):
    same(*both(lambda t: called(t, text)))


def test_inner_no_grad(both, same):
    """What was computed under no_grad is a constant for the transforms around it."""

    def run(t):
        def cubic(x):
            with t.no_grad():
                shift = x**3
            return x**3 - shift

        def nested(x):
            with t.no_grad():
                slope, value = t.func.grad_and_value(lambda x: 0.25 * x**4)(x)
                out, product = t.func.vjp(t.exp, x)
                moved = t.func.jvp(t.sin, (x,), (x,))[1]
                rows = t.func.jacrev(t.sin)(x)
                inner = t.func.grad(cubic)(x)
            return x**3 - slope * value * out * moved * rows * inner

        x = t.tensor(1.5, requires_grad=True)
        y = t.func.grad(nested)(x)
        return y, t.autograd.grad(y, x)[0]

    same(*both(run))


def test_linearize_can_be_differentiated_by_where_it_was_asked(both, same):
    """As jvp can; PyTorch's cannot."""

    def product(t, x, v):
        def f(x):
            return x.sin() * x

        return t.func.linearize(f, x)[1](v) if t is dt else t.func.jvp(f, (x,), (v,))[1]

    def run(t):
        x, v = (t.tensor(n, dtype=t.float64, requires_grad=True) for n in ([0.5, 2.0], [3.0, 1.0]))
        within = t.func.grad(lambda x: product(t, x, v).sum())(x)
        return within, *t.autograd.grad(product(t, x, v).sum(), (x, v))

    same(*both(run))


def test_outer_no_grad(both, same):
    """Under no_grad results are outside the graph, whatever requires grad."""

    def run(t):
        x = t.tensor(1.5, requires_grad=True)
        out, product = t.func.vjp(t.square, x)
        _, linear = t.func.linearize(t.sin, x)
        with t.no_grad():
            results = [
                linear(t.ones(())), *t.func.jvp(t.sin, (x,), (x,)),
                t.func.grad(t.sin)(x), t.func.grad(t.func.grad(t.sin))(x), t.func.jacrev(t.sin)(x),
                *t.func.grad_and_value(t.sin)(x), product(t.ones(()))[0],
            ]  # fmt: skip
            inside, later = t.func.vjp(t.square, x)
        results += [inside, later(t.ones(()))[0], out]
        return tuple(y.detach() for y in results), [y.requires_grad for y in results]

    (values, graphs), (theirs, their_graphs) = both(run)
    same(values, theirs)
    assert graphs == their_graphs


@pytest.mark.parametrize("grads", [False, True])
@pytest.mark.parametrize(
    "transform", ["grad(f)(x)", "jacrev(f)(x)", "vjp(f, x)", "grad(grad(f))(x)"]
)
def test_arguments_written_in_place(transform, grads, refusals):
    def run(t):
        x = t.tensor(2.0, requires_grad=grads).clone()
        eval(
            f"func.{transform}",
            {"func": t.func, "grad": t.func.grad, "x": x, "f": lambda x: x.mul_(x)},
        )

    ours, theirs = refusals(run, RuntimeError)
    assert ours[1].removeprefix("mul_: ").removeprefix("a view of ") == theirs[1]


@pytest.mark.parametrize("write", ["x.mul_(2)", "x[:1].fill_(5)"])
def test_jvp_of_a_write(write):
    """By backwards there is no derivative by what was there before."""
    x = dt.ones(3, requires_grad=True).clone()
    with pytest.raises(RuntimeError, match="in-place operation"):
        dumbtorch.func.jvp(lambda x: (eval(write), x * 2)[1], (x,), (dt.ones(3),))


def test_shared_arguments_of_vmap():
    """A loop would write what all entries share once for each."""
    with pytest.raises(RuntimeError, match="all entries share"):
        dt.vmap(lambda a, b: b.add_(a), in_dims=(0, None))(dt.ones(2, 3), dt.zeros(3))


@pytest.mark.parametrize(
    "write", ["b.add_(1)", "b[0].fill_(2)", "b.exp_()", "b.copy_(b * 3 + 1)", "b.zero_()"]
)
def test_what_is_shared_is_written_once(write, both, same):
    """Where the function is called once, and what it writes does not depend on the entry."""

    def run(t):
        b = t.arange(3.0)
        return t.vmap(lambda x, b: (exec(write, {"b": b}), x + b)[1], in_dims=(0, None))(
            t.ones(2, 3), b
        ), b

    same(*both(run))


def test_tensors_of_entries_are_printed_as_batches(both):
    """Of two levels, the outer one within the inner one."""

    def run(t):
        texts = []

        def f(x):
            texts.extend([repr(x), str(x), f"{x}"])
            return x

        t.vmap(f)(t.arange(6.0).reshape(2, 3))
        t.vmap(t.vmap(f))(t.ones(2, 3, 2))
        return texts

    mine, theirs = both(run)
    assert mine == [text.replace("bdim=1", "bdim=0") for text in theirs]


# Of two tensors, of which the second alone requires grad: what comes out may be differentiated by it alone.
BY_OTHERS = [
    "f.grad(lambda a, b: ((a * b).sum(), a), has_aux=True)(x, w)[1]",
    "f.grad(lambda a, b: ((a * b).sum(), a * 2), has_aux=True)(x, w)[1]",
    "f.grad(lambda a, b: ((a * b).sum(), a * b), has_aux=True)(x, w)[1]",
    "f.grad(lambda a, b: (a * a).sum() + b.sum())(x, w)", "f.grad(lambda a, b: (a * a * b).sum())(x, w)",
    "f.grad_and_value(lambda a, b: (a * a).sum())(x, w)[1]",
    "f.jacfwd(lambda a, b: a * a + b, argnums=(0, 1))(x, w)[0]", "f.jacrev(lambda a, b: a * a + b)(x, w)",
    "f.jacfwd(lambda a, b: a * b)(x, w)",
    "f.vjp(lambda a, b: a * b, x, w)[0]", "f.vjp(lambda a, b: a * b, x, w)[1](x)[1]",
    "f.vjp(lambda a, b: a * b, x, w)[1](x)[0]", "f.jvp(lambda a, b: a * b, (x, w), (x, x))[0]",
    "f.jvp(lambda a, b: (a * a, b), (x, w), (x, x))[1][0]",
]  # fmt: skip


def through_transform(t, text):
    x, w = t.arange(3.0) + 1, t.tensor([0.5, 2.0, 3.0], requires_grad=True)
    y = eval(text, {"t": t, "f": t.func, "x": x, "w": w})
    found = [y]
    if y.requires_grad:
        found += t.autograd.grad(y.sin().sum(), w, create_graph=True)
    return [n for z in found for n in (z.requires_grad, *z.flatten().tolist())]


@pytest.mark.parametrize("text", BY_OTHERS)
def test_results_are_differentiated_by_what_required_grad(text):
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle")
    ours, theirs = through_transform(dt, text), through_transform(torch, text)
    assert ours == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize("derivative", [0, 1])
def test_no_later_derivative_is_by_the_copies_of_arguments(derivative):
    """The gradient of a product by the one factor is the other: a constant."""
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle")

    def later(t):
        x, w = t.arange(3.0), t.ones(3, requires_grad=True)
        y = t.func.jvp(lambda a, b: a * b, (x, w), (w.detach(), x))[derivative]
        return [g.requires_grad for g in t.autograd.grad(y.sum(), w, create_graph=True)]

    assert later(dt) == later(torch)


@pytest.mark.parametrize("transform", ["jacfwd", "jacrev", "hessian"])
@pytest.mark.parametrize(
    "text",
    [
        "t.softmax(x, 1)", "x.exp()", "x.t()", "x.sum()", "x.sum(0)", "x @ x.t()", "x.cumsum(0)", "t.stack([x, x], 1)",
        "x.unsqueeze(0) * x", "F.layer_norm(x, x.shape[1:])", "x.reshape(-1)", "t.linalg.inv(x @ x.t())",
    ],
)  # fmt: skip
def test_memory_order_of_jacobians(transform, text, both):
    if ".sum" in text and transform != "jacfwd":
        return  # PyTorch's are expanded

    def strides(t):
        given = {"t": t, "F": t.nn.functional}
        derive = getattr(t.func, transform)
        found = []
        for x in (t.arange(12.0).reshape(3, 4).sin(), t.arange(12.0).reshape(4, 3).sin().t()):
            function = eval(f"lambda x: {text}", given)
            if transform == "hessian":
                found.append(derive(lambda x, f=function: (f(x) ** 2).sum())(x).stride())
            else:
                found.append(derive(function)(x).stride())
        return found

    mine, theirs = both(strides)
    assert mine == theirs


USES_WEIGHTS = [
    "f.grad(lambda a: (a * w).sum())(x)", "f.grad_and_value(lambda a: (a * w).sum())(x)[1]",
    "f.vjp(lambda a: a * w, x)[0]", "f.vjp(lambda a: a * w, x)[1](x)[0]", "f.jvp(lambda a: a * w, (x,), (x,))[1]",
    "f.jacrev(lambda a: a * w)(x)", "f.jacfwd(lambda a: a * w)(x)", "f.hessian(lambda a: (a * a * w).sum())(x)",
    "t.vmap(f.grad(lambda a: (a * w).sum()))(t.stack([x, x]))",
    "t.vmap(f.grad(f.grad(lambda a: a ** 3 * w[1])))(x)",
    "f.grad(lambda a: ((a * 2).sum(), a * w), has_aux=True)(x)[1]",
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "f.jacrev(f.grad(lambda a, b: (a * b).square().sum()), argnums=1)(x, y)",
        "f.jacfwd(f.grad(lambda a, b: (a * b).square().sum()), argnums=1)(x, y)",
        "f.grad(lambda b: f.grad(lambda a: (a ** 2 * b).sum())(x).sum())(y)",
        "f.grad(lambda b: f.vjp(lambda a: a * b, x)[1](x)[0].sum())(y)",
        "f.vjp(f.grad(lambda a, b: (a * b).square().sum()), x, y)[1](x)[1]",
        "f.hessian(lambda a: (a ** 3).sum())(x)",
    ],
)
def test_what_an_inner_function_differentiates_by_is_no_weight(text, both):
    def run(t):
        y = eval(text, {"f": t.func, "x": t.arange(3.0), "y": t.arange(3.0) + 1})
        return y.requires_grad, y.tolist()

    ours, theirs = both(run)
    assert ours == theirs and not ours[0]


@pytest.mark.parametrize("text", USES_WEIGHTS)
def test_results_are_differentiated_by_what_the_function_uses(text, both, same):
    """As the weights of a network whose derivative by its input is part of a loss."""

    def run(t):
        x, w = t.arange(3.0) + 1, t.tensor([2.0, 3.0, 4.0], requires_grad=True)
        names = {"t": t, "f": t.func, "x": x, "w": w}
        y = eval(text, names)
        y.square().sum().backward()
        with t.no_grad():
            assert not eval(text, names).requires_grad
        return y, w.grad

    same(*both(run))
