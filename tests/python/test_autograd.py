"""The autograd API: modes, grad, hooks, anomaly mode."""

import dumbtorch as dt
import pytest


def test_backward_and_grad(both, same):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = t.tensor([3.0, 4.0], requires_grad=True)
        z = x * y + x.exp()
        z.backward(t.tensor([1.0, 2.0]), retain_graph=True)
        z.sum().backward()
        (g,) = t.autograd.grad((x * y).sum(), x)
        unused = t.autograd.grad(x.sum(), [x, y], allow_unused=True)
        zeros = t.autograd.grad(x.sum(), [y], materialize_grads=True)
        assert unused[1] is None
        return x.grad, y.grad, g, unused[0], zeros

    same(*both(run))


def test_backward_of_several(both, same):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        t.autograd.backward([x.sum(), x * x], [None, t.tensor([1.0, 1.0])])
        return x.grad

    same(*both(run))


def test_backward_begins_with_one(both, same):
    """However the loss is looked at on the way, and whatever made it."""

    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = t.tensor([3.0, 5.0])

        def loss():
            return t.nn.functional.mse_loss(x * 2, y)

        found = []
        seen = loss()
        seen.register_hook(lambda g: found.append(g) or g * 3)
        seen.backward()
        kept = loss()
        kept.retain_grad()
        kept.backward()
        twice = loss()
        t.autograd.backward([twice, twice])
        again = loss()
        t.autograd.backward([again, again], [t.tensor(2.0), None])
        found += t.autograd.grad(loss(), x)
        last = loss()
        found += t.autograd.grad(last, [last, x])
        (slope,) = t.autograd.grad(loss(), x, create_graph=True)
        found += t.autograd.grad(slope.sum(), x)
        own = Doubled(t).apply(x.sum())
        own.backward()
        part = t.zeros(1)
        part[0] = loss()
        part.backward()
        leaf = t.tensor(4.0, requires_grad=True)
        leaf.backward()
        return x.grad, kept.grad, leaf.grad, found

    same(*both(run))


def halve_in_place(g):
    g.mul_(0.5)


def test_a_gradient_that_a_hook_changed_is_computed_again(both, same):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        y.register_hook(halve_in_place)
        loss = t.nn.functional.mse_loss(y, t.tensor([3.0, 5.0]))
        for _ in range(3):
            loss.backward(retain_graph=True)
        direct = t.tensor([1.0, 2.0], requires_grad=True)
        loss = t.nn.functional.mse_loss(direct, t.tensor([3.0, 5.0]))
        loss.backward(retain_graph=True)
        direct.grad.add_(1)
        loss.backward()
        return x.grad, direct.grad

    same(*both(run))


WRITES = [
    lambda t, g: g.mul_(2),
    lambda t, g: g.add_(t.ones(3)),
    lambda t, g: g.copy_(t.ones(3)),
    lambda t, g: g.fill_(3),
    lambda t, g: g.zero_(),
    lambda t, g: g.__setitem__(0, 5),
]


@pytest.mark.parametrize("write", range(len(WRITES)))
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_hooks_that_write_to_the_gradient(kind, write, both, same):
    """The gradient of a sum is one number for all elements; that of a mean has memory for each."""

    def run(t):
        x = t.ones(3, requires_grad=True)
        y = x * 2
        seen = []

        def hook(g):
            seen.append(g.stride())
            try:
                WRITES[write](t, g)
            except RuntimeError as error:
                seen.append(str(error).rpartition("unsupported")[2])

        y.register_hook(hook)
        getattr(y + 0, kind)().backward()
        return x.grad, seen

    same(*both(run))


def test_filling_expanded_memory_is_a_change(both, same):
    def run(t):
        x = t.ones(2, 1)
        y = x.expand(2, 3)
        saved = (y * t.ones(2, 3, requires_grad=True)).sum()
        y.fill_(4)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            saved.backward()
        return x, y, x._version

    same(*both(run))


def Doubled(t):
    class Function(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return Function


def test_backward_to_chosen_inputs():
    x, y = dt.ones(2, requires_grad=True), dt.ones(2, requires_grad=True)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [1.0, 1.0] and y.grad is None


def test_higher_orders(both, same):
    def run(t):
        x = t.tensor([0.5, 1.5], requires_grad=True)
        y = (x**4).sum()
        (a,) = t.autograd.grad(y, x, create_graph=True)
        (b,) = t.autograd.grad(a.sum(), x, create_graph=True)
        (c,) = t.autograd.grad(b.sum(), x)
        return a, b, c

    same(*both(run))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.ones(2).sum().backward(),
        lambda t: t.ones(2, requires_grad=True).backward(),
        lambda t: t.autograd.grad(
            t.ones(1, requires_grad=True).sum(), t.ones(1, requires_grad=True)
        ),
        lambda t: t.ones(2, dtype=t.int64).requires_grad_(),
        lambda t: (t.ones(2, requires_grad=True) * 2).requires_grad_(False),
        lambda t: t.ones(2, requires_grad=True).add_(1),
        lambda t: t.ones(2, requires_grad=True).numpy(),
    ],
)
def test_errors_are_pytorchs(wrong, torch):
    with pytest.raises(RuntimeError) as theirs:
        wrong(torch)
    with pytest.raises(RuntimeError) as ours:
        wrong(dt)
    # Ours begin with the op's name; PyTorch's may go on with advice.
    text = str(ours.value).split(": ", 1)[-1]
    assert text.split(".")[0][:40] in str(theirs.value)


def test_freed_graph_and_changed_tensor():
    x = dt.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    a = x * 2
    b = (a * a).sum()
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.backward()


def test_grad_modes():
    x = dt.ones(2, requires_grad=True)
    with dt.no_grad():
        assert not (x * 2).requires_grad
        with dt.enable_grad():
            assert (x * 2).requires_grad
        with dt.set_grad_enabled(True):
            assert dt.is_grad_enabled()
        assert not dt.is_grad_enabled()
    with dt.inference_mode():
        assert not (x * 2).requires_grad
    dt.set_grad_enabled(False)
    assert not dt.is_grad_enabled()
    dt.set_grad_enabled(True)
    with pytest.raises(KeyError), dt.no_grad():
        raise KeyError
    assert dt.is_grad_enabled()


def test_grad_modes_as_decorators():
    @dt.no_grad()
    def with_brackets():
        return dt.is_grad_enabled()

    @dt.no_grad
    def without():
        return dt.is_grad_enabled()

    @dt.no_grad()
    def generator():
        got = yield dt.is_grad_enabled()
        yield got, dt.is_grad_enabled()

    @dt.set_grad_enabled(False)
    def setting():
        return dt.is_grad_enabled()

    assert with_brackets() is without() is setting() is False
    g = generator()
    assert next(g) is False and dt.is_grad_enabled()
    assert g.send(5) == (5, False) and dt.is_grad_enabled()
    guard = dt.no_grad()
    with guard, guard:
        assert not dt.is_grad_enabled()
    assert dt.is_grad_enabled()


def test_hooks():
    x = dt.ones(2, requires_grad=True)
    seen = []
    double = x.register_hook(lambda g: g * 2)
    look = x.register_hook(lambda g: seen.append(g.tolist()))
    x.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and seen == [[2.0, 2.0]]
    double.remove()
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    look.remove()
    look.remove()
    y = x * 3
    y.register_hook(lambda g: g + 1)
    y.retain_grad()
    y.sum().backward()
    assert y.grad is not None
    with pytest.raises(RuntimeError):
        dt.ones(1).register_hook(print)
    with pytest.raises(TypeError):
        x.register_hook(5)


def test_grad_property():
    x = dt.ones(2, requires_grad=True)
    x.grad = dt.full((2,), 3.0)
    x.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    del x.grad
    assert x.grad is None
    with pytest.raises(RuntimeError):
        x.grad = dt.ones(3)
    assert repr((x * 2).grad_fn).startswith("<MulBackward0")


def test_anomaly_mode_names_the_operation():
    def run():
        x = dt.tensor([-1.0], requires_grad=True)
        x.sqrt().sum().backward()

    run()
    with dt.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match="SqrtBackward0"):
            run()
    run()
    with dt.autograd.set_detect_anomaly(True):
        assert dt.is_anomaly_enabled()
    assert not dt.is_anomaly_enabled()


def test_graphs_free_what_python_kept():
    import gc
    import weakref

    class Big:
        pass

    def keeps(thing):
        return lambda g: thing and None

    thing = Big()
    ref = weakref.ref(thing)
    x = dt.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(keeps(thing))
    del thing
    gc.collect()
    assert ref() is not None
    del y
    gc.collect()
    assert ref() is None


def test_hooks_give_tensors(torch):
    for t in (dt, torch):
        x = t.ones(2, requires_grad=True)
        x.register_hook(lambda g: 3)
        with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
            x.sum().backward()
        assert x.grad is None


def test_detach_in_place():
    x = dt.ones(3, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf and not y.requires_grad and y.grad_fn is None
    y.mul_(2)
    assert y.tolist() == [4, 4, 4]


SECOND = {
    "cat": lambda t, x: t.cat([x, x]), "stack": lambda t, x: t.stack([x, x]), "repeat": lambda t, x: x.repeat(2, 1),
    "flip": lambda t, x: x.flip([0]), "sum": lambda t, x: x.sum(0), "mean": lambda t, x: x.mean(),
    "% 2": lambda t, x: x % 2,
    "+ 1": lambda t, x: x + 1, "clone": lambda t, x: x.clone(), "permute": lambda t, x: x.permute(1, 0),
    "* 2": lambda t, x: x * 2, "/ 2": lambda t, x: x / 2, "square": lambda t, x: x * x, "exp": lambda t, x: x.exp(),
    "index": lambda t, x: x[t.tensor([0, 1])], "mask": lambda t, x: x.masked_fill(x > 0, 1),
    "matmul": lambda t, x: x @ x.t(),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_backward_where_nothing_was_kept(name, both):
    """An op that kept no tensor can be gone through again."""

    def run(t):
        x = t.tensor([[0.5, -1.0, 2.0], [1.5, 3.0, -0.25]], requires_grad=True)
        y = SECOND[name](t, x)
        y.backward(t.ones_like(y))
        try:
            y.backward(t.ones_like(y))
        except RuntimeError as error:
            assert "second time" in str(error)
            return None
        return x.grad.tolist()

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("create_graph", [False, True])
def test_inputs_of_a_backward_that_are_no_leaves_retain_their_gradients(create_graph, both, same):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y.exp()
        z.sum().backward(inputs=[y, y], create_graph=create_graph, retain_graph=True)
        grads = [y.grad.clone(), x.grad, z.grad]
        y.sum().backward()
        w = x * 2
        x.sum().backward(inputs=[w])  # nothing leads there
        w.sum().backward()
        return grads, y.grad, y.grad.requires_grad, w.grad, x.grad

    same(*both(run))


@pytest.mark.parametrize("leaf", [False, True])
def test_hooks_of_an_output_behind_which_nothing_is_wanted(leaf, both, same):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x if leaf else x * 2
        other, seen = t.ones(1, requires_grad=True), []
        y.register_hook(lambda g: seen.append(g.clone()))
        if not leaf:
            y.retain_grad()
        found = t.autograd.grad(y, [other], t.tensor([3.0, 4.0]), allow_unused=True)
        y.backward(t.ones(2), inputs=[other])
        return found, seen, y.grad

    same(*both(run))


def test_indices_that_no_gradient_needs_are_not_kept(both, same):
    def run(t):
        x, i = t.ones(2, 2, requires_grad=True), t.tensor([[0, 1]])
        y = x.clone()
        results = y.scatter_add(0, i, t.ones(1, 2)), y.index_add(0, i[0], t.ones(2, 2))
        i.add_(1)
        for y in results:
            total = y.sum()
            total.backward()
            total.backward()
        return x.grad

    same(*both(run))


@pytest.mark.parametrize(
    "view, rows",
    [
        (lambda x: x.expand(2, 3), slice(None)),
        (lambda x: x.expand(4, 2, 3)[1:, :, 1:], slice(None)),
        (lambda x: x[:1].expand(2, 3), slice(1)),
    ],
)
def test_filling_an_expanded_view_in_a_graph(view, rows, both, same):
    """PyTorch fills it, but its backward would write to each element. There, each place is filled."""

    def run(t):
        x = t.tensor([[1.0], [2.0]], requires_grad=True)
        y = x * 3
        z = view(y)
        (z if t is dt else y[rows]).fill_(5)
        (y.exp() + z.exp().sum()).sum().backward()
        return y, z, x.grad, z.requires_grad

    same(*both(run))


def test_the_slope_of_elu_at_nan(both, same):
    def run(t):
        x = t.tensor([t.nan, 0.0, -1.0], requires_grad=True)
        y = t.nn.functional.elu(x).sum()
        return [t.autograd.grad(y, x, create_graph=c)[0] for c in (True, False)]

    same(*both(run))


def test_a_leaf_that_left_the_graph_after_its_use(both, same):
    def run(t):
        x = t.ones(2, requires_grad=True)
        y = x * 2
        x.detach_()
        y.sum().backward()
        return x.grad, x.requires_grad, y.requires_grad

    same(*both(run))


@pytest.mark.parametrize("shape, classes", [((2, 3), (2,)), ((2, 3, 2), (2, 2)), ((3,), ())])
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_nll_loss_has_a_constant_slope(reduction, shape, classes, both, same):
    def run(t):
        x = t.ones(shape, requires_grad=True)
        target = t.zeros(classes, dtype=t.int64)
        y = t.nn.functional.nll_loss(x, target, reduction=reduction)
        (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = t.autograd.grad(g.sum(), x)
        return g, g.requires_grad, h

    same(*both(run))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(0,), (2, 0)])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_nll_loss_of_no_classes_reads_nothing_where_all_is_ignored(
    reduction, shape, weighted, both, same
):
    def run(t):
        x = t.zeros(shape, requires_grad=True)
        target = t.zeros(shape[:-1], dtype=t.int64)
        options = {"weight": t.zeros(0) if weighted else None, "reduction": reduction}
        y = t.nn.functional.nll_loss(x, target, ignore_index=0, **options)
        y.sum().backward()
        with pytest.raises(IndexError):
            t.nn.functional.nll_loss(x, target + 1, ignore_index=0, **options)
        return y, x.grad

    same(*both(run))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nll_loss_of_what_is_ignored_is_no_negative_zero(dtype, weighted, both):
    def run(t):
        x = t.full((3, 2), -1.5, dtype=getattr(t, dtype))
        weight = t.tensor([2.0, 0.5], dtype=x.dtype) if weighted else None
        target = t.tensor([-100, 1, 0])
        y = t.nn.functional.nll_loss(x, target, weight, ignore_index=-100, reduction="none")
        return (1 / y).tolist()

    ours, theirs = both(run)
    assert ours == theirs


def test_gradients_of_heaviside():
    """PyTorch has none: the step is flat, and values count where it is."""
    x = dt.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    values = dt.tensor([3.0, 4.0, 5.0], requires_grad=True)
    y = x.heaviside(values)
    assert y.tolist() == [0.0, 4.0, 1.0]
    y.sum().backward()
    assert (x.grad.tolist(), values.grad.tolist()) == ([0.0, 0.0, 0.0], [0.0, 1.0, 0.0])


def test_gradients_by_nothing_are_refused():
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        dt.autograd.grad(x.sum(), [])


def test_classes_of_operations(torch):
    """Programs that draw graphs ask for the name of a node's class."""
    found = []
    for t in (dt, torch):
        x = t.ones(2, 2, requires_grad=True)
        nodes = [y.grad_fn for y in (x * 2, x @ x, (x + 1).relu(), x[0], x.exp().mean())]
        behind = [type(node).__name__ for y in nodes for node, _ in y.next_functions]
        names = [type(node).__name__ for node in nodes]
        assert all(isinstance(node, t.autograd.graph.Node) for node in nodes)
        assert type((x * 3).grad_fn) is type(nodes[0]) and names == [n.name() for n in nodes]
        found.append((names, behind, [repr(node).partition(" at ")[0] for node in nodes]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "text", ["no_grad()", "enable_grad()", "inference_mode()", "inference_mode(False)"]
)
def test_clones_of_grad_modes(text, both):
    def run(t):
        mode = eval(f"t.{text}", {"t": t})
        twin = mode.clone()
        with twin:
            inside = t.is_grad_enabled()
        return type(twin).__name__, twin is mode, inside, t.is_grad_enabled()

    mine, theirs = both(run)
    assert mine == theirs
