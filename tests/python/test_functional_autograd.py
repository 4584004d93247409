"""autograd.functional, torch.func, checkpoint and the smaller names of autograd, against PyTorch's."""

import collections
import contextlib

import dumbtorch as dt
import pytest
from dumbtorch.utils._pytree import tree_flatten, tree_unflatten


def cube(t):
    """Two inputs, two outputs."""
    return lambda x, y: ((x**3 * y).sum(), (x * y.sin()).cumsum(0))


def number(t):
    return lambda x, y: (x**3 * y).sum() + (x * y).prod()


def inputs(t, requires_grad=False):
    return (
        t.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad),
        t.tensor([0.5, -1.0, 2.0], requires_grad=requires_grad),
    )


def deep(x):
    """Nested results as tuples, with what must be the same of each tensor."""
    if isinstance(x, (tuple, list)):
        return [deep(y) for y in x]
    return (x.requires_grad, x)


def compare(same, mine, theirs):
    if isinstance(theirs, list):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            compare(same, a, b)
    else:
        assert mine[0] == theirs[0]
        same(mine[1], theirs[1], rtol=1e-4, atol=1e-4)


CALLS = (
    "F.jacobian(cube, xy)", "F.jacobian(lambda x: x.exp(), xy[0])", "F.jacobian(cube, xy, vectorize=True)",
    "F.hessian(number, xy)", "F.hessian(lambda x: (x ** 3).sum(), xy[0])", "F.hessian(lambda x: x[:1] ** 3, xy[0])",
    "F.vjp(cube, xy, (t.tensor(2.0), t.ones(3)))", "F.vjp(number, xy)", "F.vjp(lambda x: x.sum(), xy[0])",
    "F.jvp(cube, xy, (t.ones(3), xy[0]))", "F.jvp(lambda x: x.exp(), xy[0], t.ones(3))",
    "F.jvp(lambda x: x * 2, t.tensor(3.0))", "F.vhp(number, xy, (t.ones(3), t.ones(3)))",
    "F.hvp(number, xy, (t.ones(3), xy[1]))", "F.hvp(lambda x: (x ** 3).sum(), xy[0], t.ones(3))",
    "F.jacobian(lambda x, y: x.exp(), xy)", "F.vjp(lambda x, y: y.sum(), xy)",
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_functional(both, same, call, create_graph):
    def run(t):
        names = {"F": t.autograd.functional, "t": t, "cube": cube(t), "number": number(t)}
        names["xy"] = inputs(t, requires_grad=create_graph)
        return deep(eval(f"{call[:-1]}, create_graph={create_graph})", names))

    compare(same, *both(run))


@pytest.mark.parametrize(
    "call",
    [
        "F.vjp(cube, xy)", "F.jvp(cube, xy)", "F.hessian(cube, xy)", "F.hvp(lambda x: x * 2, xy[0], xy[0])",
        "F.vjp(number, xy, t.ones(3))", "F.jvp(number, xy, (t.ones(2), t.ones(3)))", "F.jacobian(number, (xy[0], 3))",
        "F.vjp(lambda x, y: x.sum(), xy, strict=True)", "F.jacobian(lambda x: t.ones(2), xy[0], strict=True)",
        "F.jvp(number, xy, (t.ones(3),))", "F.vhp(lambda x: 3, xy[0], xy[0])",
    ],
)  # fmt: skip
def test_refusals(both, call):
    def run(t):
        names = {
            "F": t.autograd.functional,
            "t": t,
            "cube": cube(t),
            "number": number(t),
            "xy": inputs(t),
        }
        with pytest.raises((RuntimeError, TypeError)) as error:
            eval(call, names)
        return error.type

    mine, theirs = both(run)
    assert mine is theirs


FUNC_CALLS = (
    "f.grad(number)(x, y)", "f.grad(number, argnums=1)(x, y)", "f.grad(number, argnums=(0, 1))(x, y)",
    "f.grad(lambda x: (number(x, y), x * 2), has_aux=True)(x)", "f.grad_and_value(number)(x, y)",
    "f.grad(lambda x: f.grad(number)(x, y).sum())(x)", "f.jacrev(lambda x: x.exp() * y)(x)",
    "f.jacfwd(lambda x: x.exp() * y)(x)", "f.hessian(number)(x, y)", "f.hessian(number, argnums=(0, 1))(x, y)",
    "f.vjp(lambda a: a.exp(), x)[1](y)", "f.vjp(cube, x, y)[1]((t.tensor(2.0), y))",
    "f.jvp(number, (x, y), (y, x))", "f.jvp(lambda a: a.exp(), (x,), (y,))",
    "f.vmap(lambda a: a * 2)(x)", "f.vmap(t.dot)(t.stack([x, y]), t.stack([y, y]))",
    "f.vmap(t.dot, in_dims=(None, 0))(x, t.stack([y, x]))", "f.vmap(lambda a: a.sum(), in_dims=1)(t.stack([y, x]))",
    "f.vmap(lambda a: (a, a * 2), out_dims=(0, 1))(t.stack([y, x]))",
    "f.vmap(f.grad(number), in_dims=(0, None))(t.stack([y, x]), x)",
    "f.grad(lambda p: (p['a'] * p['b'][0]).sum())({'a': x, 'b': [y]})['b'][0]",
    "f.jacrev(lambda p: p['a'] * y)({'a': x})['a']", "f.vmap(f.vmap(lambda a, b: a * b, (0, None)), (None, 0))(x, y)",
)  # fmt: skip


@pytest.mark.parametrize("call", FUNC_CALLS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_func(both, same, call, requires_grad):
    def run(t):
        names = {"f": t.func, "t": t, "cube": cube(t), "number": number(t)}
        names["x"], names["y"] = inputs(t, requires_grad)
        return [y for y in deep_values(eval(call, names))]

    def deep_values(x):
        return [z for y in x for z in deep_values(y)] if isinstance(x, (tuple, list)) else [x]

    mine, theirs = both(run)
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        same(a, b, rtol=1e-4, atol=1e-4)
        if not requires_grad:
            assert a.requires_grad == b.requires_grad


def test_functions_of_functions_are_differentiable(both, same):
    def run(t):
        x, y = inputs(t, True)
        t.func.grad(number(t))(x, y).sum().backward()
        return x.grad, y.grad

    same(*both(run))


def test_value_and_grad():
    value, slope = dt.func.value_and_grad(lambda x: (x * x).sum())(dt.tensor([3.0]))
    assert (value.item(), slope.item()) == (9.0, 6.0)


def test_modules_as_functions(both, same):
    def run(t):
        net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.LayerNorm(2))
        state = {n: t.full(p.shape, 0.5) for n, p in net.named_parameters()}
        x = t.arange(6.0).reshape(3, 2)
        before = net[0].weight
        out = t.func.functional_call(net, state, (x,))
        loss = lambda p: t.func.functional_call(net, p, x).square().sum()  # noqa: E731
        slopes = t.func.grad(loss)(state)
        with pytest.raises(RuntimeError):
            t.func.functional_call(net, {"0.weight": state["0.weight"]}, x, strict=True)
        assert net[0].weight is before
        tied = t.nn.Sequential(t.nn.Linear(2, 2, bias=False), t.nn.Linear(2, 2, bias=False))
        tied[1].weight = tied[0].weight
        both_replaced = t.func.functional_call(tied, {"0.weight": t.ones(2, 2)}, x)
        return out, [slopes[n] for n in sorted(slopes)], both_replaced

    same(*both(run), atol=1e-4)


def test_ensembles(both, same):
    def run(t):
        models = [t.nn.Linear(2, 1) for _ in range(3)]
        for i, m in enumerate(models):
            m.weight.data.fill_(float(i))
            m.bias.data.fill_(0.5)
        parameters, buffers = t.func.stack_module_state(models)
        assert all(p.requires_grad and p.is_leaf for p in parameters.values()) and not buffers
        x = t.ones(4, 2)
        call = lambda p, x: t.func.functional_call(models[0], p, (x,))  # noqa: E731
        return t.vmap(call, in_dims=(0, None))(parameters, x)

    same(*both(run))


def test_vmap_randomness():
    x = dt.zeros(3, 2)
    same = dt.vmap(lambda a: a + dt.rand(2), randomness="same")(x)
    different = dt.vmap(lambda a: a + dt.rand(2), randomness="different")(x)
    assert same[0].equal(same[1]) and not different[0].equal(different[1])
    with pytest.raises(ValueError, match="same size"):
        dt.vmap(dt.add)(dt.ones(2), dt.ones(3))


def test_vmap_randomness_of_given_generators(torch):
    for t in (dt, torch):
        generator = t.Generator().manual_seed(3)
        assert generator.set_state(generator.get_state()) is generator

        def draw(x, generator=generator, t=t):
            return x + t.rand(2, generator=generator)

        x = t.zeros(3, 2)
        with pytest.raises(RuntimeError, match="randomness error mode"):
            t.vmap(draw)(x)
        same = t.vmap(draw, randomness="same")(x)
        after = draw(t.zeros(2))
        different = t.vmap(draw, randomness="different")(x)
        assert same[0].equal(same[1]) and not same[0].equal(after)
        assert not different[0].equal(different[1])


def test_batched_gradients(both, same):
    def run(t):
        x, y = inputs(t, True)
        out = (x * y, x**2)
        given = (t.eye(3), t.ones(3, 3))
        found = t.autograd.grad(out, (x, y), given, is_grads_batched=True, retain_graph=True)
        unused = t.autograd.grad(out[1], (x, y), t.eye(3), is_grads_batched=True, allow_unused=True)
        return found, unused[0], unused[1] is None

    same(*both(run))


def test_once_differentiable(both):
    def run(t):
        class Square(t.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            @t.autograd.function.once_differentiable
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                assert not t.is_grad_enabled()
                return grad * 2 * x

        x = t.tensor([3.0], requires_grad=True)
        (g,) = t.autograd.grad(Square.apply(x) * x, x, create_graph=True)
        with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
            g.backward()
        return g.item()

    mine, theirs = both(run)
    assert mine == theirs


def test_variables(both):
    def run(t):
        x = t.ones(2)
        v = t.autograd.Variable(x, requires_grad=True)
        kinds = isinstance(x, t.autograd.Variable), isinstance(3, t.autograd.Variable)
        return kinds, v.requires_grad, x.requires_grad, v.data_ptr() == x.data_ptr(), v.is_leaf

    mine, theirs = both(run)
    assert mine == theirs
    edge = dt.autograd.graph.get_gradient_edge(dt.ones(2, requires_grad=True) * 2)
    assert edge.output_nr == 0 and "Mul" in edge.node.name()


@pytest.mark.parametrize(
    "text",
    [
        "A.grad(z, e(y))", "A.grad(z, [e(y), x])", "A.grad(z, (x, e(x)))", "A.grad(e(z), x)",
        "A.grad([e(z), z], [x])", "A.grad(e(y), e(x), t.tensor([1.0, -2.0]))", "A.grad(e(y), e(x))",
        "(A.backward(z, inputs=e(x)), x.grad)[1]", "(A.backward(z, inputs=[e(w), x]), x.grad, w.grad)[1:]",
        "(A.backward(e(z)), x.grad)[1]", "A.grad(z, e(w))", "A.grad(z, [x, e(w)], allow_unused=True)",
        "A.grad(z, [e(w), x], materialize_grads=True)", "A.grad(z, [w, e(x)], materialize_grads=True)",
        "A.grad(z, e(y), create_graph=True)[0].requires_grad", "A.grad(e(y), x, t.eye(2), is_grads_batched=True)",
        "(y.grad_fn is y.grad_fn, z.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0])",
        "e(y).node is y.grad_fn",
    ],
)  # fmt: skip
def test_edges_of_the_graph(text, both, same):
    """They stand for their tensors as what is derived, and as that by which; a node is one object."""

    def run(t):
        A, e = t.autograd, t.autograd.graph.get_gradient_edge
        x, w = t.tensor([1.0, 3.0], requires_grad=True), t.ones(2, requires_grad=True)
        y = x * x
        z = (y * 3).sum()
        try:
            return eval(text, {"t": t, "A": A, "e": e, "x": x, "w": w, "y": y, "z": z})
        except RuntimeError as error:
            return str(error).partition(": ")[2] or str(error)

    mine, theirs = both(run)
    if isinstance(theirs, str):
        assert mine.startswith(theirs[:40])
    else:
        same(mine, theirs)


def test_an_edge_of_nobody_is_refused():
    y = dt.ones(2, requires_grad=True) * 2
    made = dt.autograd.graph.GradientEdge(y.grad_fn, 0)
    with pytest.raises(TypeError, match="get_gradient_edge"):
        dt.autograd.grad(y.sum(), made)


def test_an_instance_of_a_function_is_warned_of(both):
    def run(t):
        class Id(t.autograd.Function):
            pass

        with pytest.warns(DeprecationWarning, match="should not be instantiated"):
            return type(Id()).__name__

    assert both(run) == ("Id", "Id")


# ---- checkpoint


def test_checkpoint(both, same):
    """Gradients of arguments and parameters, also where no argument requires grad; calls are counted."""

    def run(t):
        again = t.utils.checkpoint.checkpoint
        t.manual_seed(0)
        net = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Tanh(), t.nn.Linear(3, 3))
        for i, p in enumerate(net.parameters()):
            p.data.copy_(t.arange(float(p.numel())).reshape(p.shape) / 10 - i / 5)
        calls = []

        def block(x, scale=1.0):
            calls.append(1)
            return net(x) * scale, x.sum(), (x > 0)

        out = []
        for requires_grad in (False, True):
            net.zero_grad()
            x = t.arange(6.0).reshape(2, 3).requires_grad_(requires_grad)
            y, total, mask = again(block, x, use_reentrant=False, scale=2.0)
            calls.append(0)
            (y.square().sum() + (total if requires_grad else 0)).backward()
            out += [
                y,
                total.requires_grad,
                mask,
                x.grad if requires_grad else 0,
                [p.grad for p in net.parameters()],
            ]
        with t.no_grad():
            out.append(again(block, x, use_reentrant=False)[0].requires_grad)
        frozen = again(lambda a: a * 2, t.ones(2), use_reentrant=False)
        return *out, frozen.requires_grad, calls

    same(*both(run), rtol=1e-4)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_checkpoint_repeats_autocast(inside, enabled, both, same):
    """The second call casts as the first one did, wherever backward runs."""

    def run(t):
        x, seen = t.linspace(-1, 1, 9).reshape(3, 3).requires_grad_(), []

        def product(a):
            seen.append((a @ a).dtype.itemsize)
            return (a @ a).float() * 3

        with t.autocast("cpu", dtype=t.bfloat16, enabled=enabled):
            y = t.utils.checkpoint.checkpoint(product, x, use_reentrant=False).sum()
            if inside:
                y.backward()
        if not inside:
            with t.autocast("cpu", dtype=t.bfloat16, enabled=not enabled):
                y.backward()
        return x.grad, seen

    (grad, seen), (theirs, their_seen) = both(run)
    same(grad, theirs)
    assert seen == their_seen == [2 if enabled else 4] * 2


def test_checkpoint_repeats_random_numbers():
    x = dt.ones(100, requires_grad=True)
    dt.manual_seed(1)
    y = dt.utils.checkpoint.checkpoint(lambda a: dt.nn.functional.dropout(a * 3, 0.5), x)
    after = dt.rand(2)
    y.sum().backward()
    assert x.grad.equal(y.detach())
    dt.manual_seed(1)
    dt.nn.functional.dropout(x * 3, 0.5)
    assert after.equal(dt.rand(2))


Pair = collections.namedtuple("Pair", ["first", "second"])


@pytest.mark.parametrize(
    "make",
    [
        lambda a: (a * a, 3, None),
        lambda a: [a * a, "name", (a.exp(), [a.sin(), {}])],
        lambda a: {"y": a * a, "no": a.detach(), "n": 2},
        lambda a: Pair(a * a, 1),
        lambda a: (a.detach(), 1, "x"),
        lambda a: 3,
        lambda a: None,
    ],
)
def test_what_a_checkpoint_returns(make, both, same):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        out = t.utils.checkpoint.checkpoint(make, x, use_reentrant=False)
        leaves, shape = tree_flatten(out)
        tensors = [y for y in leaves if isinstance(y, t.Tensor)]
        total = sum(y.sum() for y in tensors if y.requires_grad)
        if total != 0:
            total.backward()
        rest = tree_unflatten(["" if isinstance(y, t.Tensor) else y for y in leaves], shape)
        return rest, [[y, y.requires_grad] for y in tensors], x.grad

    (ours, *found), (theirs, *wanted) = both(run)
    assert ours == theirs
    same(found, wanted)


def test_checkpoint_sequential(both, same):
    def run(t):
        layers = t.nn.Sequential(*(t.nn.Linear(2, 2) for _ in range(5)))
        for i, p in enumerate(layers.parameters()):
            p.data.fill_(0.1 * i)
        x = t.ones(1, 2, requires_grad=True)
        out = t.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False)
        out.sum().backward()
        return out, x.grad, [p.grad for p in layers.parameters()]

    same(*both(run))


def test_checkpoint_refuses_what_it_cannot(torch):
    x = dt.ones(2, requires_grad=True)
    y = dt.utils.checkpoint.checkpoint(lambda a: a * a, x, use_reentrant=False)
    (g,) = dt.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_regions_of_a_checkpoint(both):
    def run(t):
        told = []

        @contextlib.contextmanager
        def region(name):
            told.append(name)
            yield
            told.append(f"end of {name}")

        def regions():
            told.append("asked")
            return region("call"), region("again")

        def function(a):
            told.append(f"function with {'a' if t.is_grad_enabled() else 'no'} graph")
            return a * a

        x = t.tensor([3.0], requires_grad=True)
        for grad in (True, False):
            with t.set_grad_enabled(grad), t.utils.checkpoint.set_checkpoint_early_stop(False):
                y = t.utils.checkpoint.checkpoint(
                    function, x, use_reentrant=False, context_fn=regions
                )
            told.append("backward")
            if grad:
                y.backward()
        return told, x.grad.tolist()

    ours, theirs = both(run)
    assert ours == theirs


# Functions of x and y that strict mode refuses, or not: constant, without one input, linear, squared, cubic.
STRICT = {
    "detached": lambda t, x, y: (x * y).detach().sum(),
    "captured": lambda t, x, y: t.ones((), requires_grad=True) * 2,
    "without y": lambda t, x, y: (x**3).sum(),
    "without x": lambda t, x, y: (y**3).sum(),
    "linear": lambda t, x, y: (x + 2 * y).sum(),
    "product": lambda t, x, y: (x * y).sum(),
    "square": lambda t, x, y: (x * x + y * y).sum(),
    "cube": lambda t, x, y: (x**3 * y**3).sum(),
    "two outputs": lambda t, x, y: (x.sum() * 2, (x * y**2).sum()),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("function", STRICT)
@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_what_strict_mode_refuses(both, same, name, function, create_graph):
    def run(t):
        xy = inputs(t, requires_grad=create_graph)
        v = {"jacobian": (), "hessian": (), "vjp": ()}.get(name, (inputs(t),))
        if name == "vjp" and function == "two outputs":
            v = ((t.ones(()), t.ones(())),)
        call = getattr(t.autograd.functional, name)
        try:
            return deep(
                call(
                    lambda x, y: STRICT[function](t, x, y),
                    xy,
                    *v,
                    create_graph=create_graph,
                    strict=True,
                )
            )
        except RuntimeError as error:
            return str(error)

    ours, theirs = both(run)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        compare(same, ours, theirs)


@pytest.mark.parametrize("call", [
    "F.jacobian(number, xy, strict=True, vectorize=True)", "F.hessian(number, xy, strict=True, vectorize=True)",
    "F.hessian(number, (xy[0], 3))", "F.hessian(number, 3)", "F.hessian(lambda x: (x.sum(), 'a'), xy[0])",
    "F.hessian(lambda x: 'a', xy[0])", "F.hessian(lambda x: (x.sum(), x.sum()), xy[0])",
])  # fmt: skip
def test_what_jacobians_refuse(both, call):
    def run(t):
        names = {"F": t.autograd.functional, "number": number(t), "xy": inputs(t)}
        with pytest.raises((RuntimeError, TypeError)) as error:
            eval(call, names)
        return type(error.value), str(error.value)

    ours, theirs = both(run)
    assert ours == theirs


REFUSED_BY_CHECKPOINT = (
    {"use_reentrant": True, "factor": 2},
    {"use_reentrant": True, "debug": True},
    {"use_reentrant": True, "context_fn": lambda: None},
    {"use_reentrant": False, "determinism_check": "often"},
)


@pytest.mark.parametrize("given", REFUSED_BY_CHECKPOINT, ids=lambda given: list(given)[-1])
def test_refused_by_checkpoint(given, refusals):
    def run(t):
        x = t.ones(2, requires_grad=True)
        return t.utils.checkpoint.checkpoint(lambda a, factor=1: a * factor, x, **given)

    ours, theirs = refusals(run, ValueError)
    assert ours == theirs


def test_checkpoint_sequential_takes_no_more(refusals):
    def run(t):
        x = t.ones(2, requires_grad=True)
        return t.utils.checkpoint.checkpoint_sequential(
            [t.nn.ReLU()], 1, x, use_reentrant=True, factor=2
        )

    ours, theirs = refusals(run, ValueError)
    assert ours == theirs


def test_stacked_models_that_do_not_fit(refusals):
    def stacked(t):
        models = [t.nn.Linear(2, 1), t.nn.Linear(2, 1)]
        models[1].bias.requires_grad_(False)
        return t.func.stack_module_state(models)

    ours, theirs = refusals(stacked, RuntimeError)
    assert ours == theirs


def test_batch_norms_without_running_statistics(both, same):
    def run(t):
        norms = t.nn.BatchNorm1d(3), t.nn.InstanceNorm1d(3, track_running_stats=True)
        plain = t.nn.BatchNorm1d(3, track_running_stats=False)
        model = t.nn.Sequential(*norms, plain)
        assert t.func.replace_all_batch_norm_modules_(model) is model
        single = t.func.replace_all_batch_norm_modules_(t.nn.BatchNorm2d(2, momentum=0.3)).eval()
        x = t.arange(24.0).view(2, 3, 4)
        return list(model.state_dict()), repr(model), model[0](x), single(x.view(3, 2, 2, 2))

    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    same(ours[2:], theirs[2:])
