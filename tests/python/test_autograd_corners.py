"""Corners of autograd, as PyTorch's: generators in a grad mode, hooks that give something back, zeros with a graph."""

import threading

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")


def walk(t, decorate, outer):
    """Where a generator is resumed, gets an exception and is closed, and the mode it sees there and behind it."""
    seen = []

    def look(where):
        seen.append((where, t.is_grad_enabled()))

    @decorate
    def numbers():
        try:
            while True:
                try:
                    look("before")
                    yield
                    look("after")
                except KeyError:
                    look("an error")
        except GeneratorExit:
            look("closed")
            raise
        finally:
            look("finally")

    with outer:
        it = numbers()
        next(it)
        look("outside")
        it.send(None)
        it.throw(KeyError)
        it.close()
        look("outside")
    return seen


@pytest.mark.parametrize("outer", ["no_grad", "enable_grad"])
@pytest.mark.parametrize("inner", ["no_grad", "enable_grad", "inference_mode"])
def test_generators(inner, outer):
    ours, theirs = (walk(t, getattr(t, inner)(), getattr(t, outer)()) for t in (dt, torch))
    assert ours == theirs


def test_a_hook_after_accumulation_gives_nothing_back():
    for t in (dt, torch):
        x = t.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: p.grad)
        with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
            x.sum().backward()


def test_zeros_of_a_graph_can_be_differentiated():
    for t in (dt, torch):
        x, a = t.ones((), requires_grad=True), t.ones((), requires_grad=True)
        (first,) = t.autograd.grad(x * a, x, create_graph=True)
        words = {"allow_unused": True, "materialize_grads": True}
        (zero,) = t.autograd.grad(first, x, create_graph=True, **words)
        assert zero.requires_grad and zero.item() == 0
        assert t.autograd.grad(zero, x, materialize_grads=True)[0].item() == 0
        assert not t.autograd.grad(first, x, **words)[0].requires_grad


@pytest.mark.parametrize("t", [dt, torch], ids=["dumbtorch", "torch"])
def test_gradcheck_of_a_modules_parameters(t):
    """The function has them from the module, not from its arguments."""
    layer = t.nn.Linear(3, 2).double()
    x = t.ones(2, 3, dtype=t.float64, requires_grad=True)
    given = (x, *layer.parameters())
    before = [p.tolist() for p in given]
    assert t.autograd.gradcheck(lambda x, *rest: layer(x).tanh(), given)
    assert t.autograd.gradgradcheck(lambda x, *rest: layer(x).tanh(), given)
    turned = t.ones(3, 2, dtype=t.float64).mT.requires_grad_()
    assert t.autograd.gradcheck(lambda x: layer(x).sin(), turned)
    assert [p.tolist() for p in given] == before


def test_gradcheck_refuses_shared_elements():
    for t in (dt, torch):
        x = t.ones(3, dtype=t.float64).expand(2, 3).requires_grad_()
        with pytest.raises(
            RuntimeError, match="The 0th input has a dimension with stride 0. gradcheck only"
        ):
            t.autograd.gradcheck(lambda x: x.sin(), x)


@pytest.mark.parametrize(
    "text",
    [
        "F.unfold(x, 3)",
        "x.unfold(2, 5, 2)",
        "F.conv3d(x[None], t.ones(2, 2, 3, 3, 3), padding=1)",
        "x.view(-1).exp()",
        "F.interpolate(x, scale_factor=2, mode='bilinear')",
    ],
)
def test_the_first_gradient_is_kept(text, both):
    """It is nobody's view, and what was added to it on its way is not counted."""

    def run(t):
        x = t.ones(2, 3, 8, 8, requires_grad=True)
        eval(text, {"t": t, "F": t.nn.functional, "x": x}).sum().backward()
        return x.grad._version, x.grad._base is None, x.grad.is_leaf

    mine, theirs = both(run)
    assert mine == theirs


def test_a_gradient_of_views_is_not_copied():
    x = dt.ones(8, requires_grad=True)
    y, g = x.view(2, 4).relu(), dt.ones(2, 4)
    with dt.profiler.profile() as calls:
        y.backward(g)
    assert "relu_backward" in {e.key for e in calls.key_averages()}
    assert "copy" not in {e.key for e in calls.key_averages()}
    x.grad = None
    x.view(2, 4).backward(g)
    assert x.grad.data_ptr() != g.data_ptr()


@pytest.mark.parametrize(
    "text",
    [
        "x.roll(1, 0)",
        "x.roll((1, 2), (0, 1))",
        "x.flip(0)",
        "x.rot90()",
        "x.tile(2, 3)",
        "x.repeat_interleave(2, 1)",
        "t.cat([x, x])",
        "t.stack([x, x], 1)",
        "F.pad(x, (1, 2))",
        "x.cumsum(0)",
        "x.unfold(0, 2, 1)",
        "F.fold(x.expand(4, 4), (3, 3), 2)",
        "x.diff()",
        "x.tril()",
        "x.diag_embed()",
    ],
)
def test_twice_through_what_keeps_nothing(text, both):
    def run(t):
        x = t.ones(4, 4, requires_grad=True)
        y = eval(text, {"t": t, "F": t.nn.functional, "x": x})
        for _ in range(2):
            y.backward(t.ones_like(y))
        return x.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_nodes_that_are_no_ops_have_pytorchs_names():
    def names(t):
        x = t.ones(2, requires_grad=True)
        written, copied = x.clone(), t.zeros(2)
        written[0].mul_(2)
        copied.copy_(x)
        nodes = [y.grad_fn for y in (written, copied)] + [x.clone().grad_fn.next_functions[0][0]]
        return [(n.name(), type(n).__name__) for n in nodes], repr(written), repr(x.clone())

    assert names(dt) == names(torch)


@pytest.mark.parametrize("shape", [(3,), (4, 2), (2, 3), (5, 2, 4)])
def test_batches_of_gradients_of_another_shape(refusals, shape):
    def run(t):
        x = t.ones(2, 3, requires_grad=True)
        t.autograd.grad(x * 2, x, t.ones(shape), is_grads_batched=True)

    mine, theirs = refusals(run, RuntimeError)  # which name a shape that lacks two dimensions
    assert mine == theirs


def test_whether_inference_mode_is_on(both):
    def run(t):
        seen, mode = [], t.inference_mode()

        def look(*_):
            seen.append((t.is_inference_mode_enabled(), t.is_grad_enabled()))
            yield from range(1)

        def note():
            list(look())

        def within():
            note()
            for _ in t.inference_mode()(look)():
                note()
            t.inference_mode(note)()
            t.inference_mode(False)(note)()
            thread = threading.Thread(target=note)
            thread.start()
            thread.join()

        within()
        with mode, t.inference_mode():
            within()
            with t.inference_mode(False), t.enable_grad():
                within()
            with t.no_grad():
                within()
        with t.no_grad(), mode.clone():
            within()
        note()
        return seen

    ours, theirs = both(run)
    assert ours == theirs


KEEPERS = {
    "gelu": lambda t, x: t.nn.functional.gelu(x).sum(),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (2,))[0, 0],
    "logsumexp": lambda t, x: t.logsumexp(x, 1).sum(),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, t.zeros(2, 2)),
    "square": lambda t, x: x.square().sum(),
    "normalize": lambda t, x: t.nn.functional.normalize(x).sum(),
}


@pytest.mark.parametrize("function", KEEPERS.values(), ids=KEEPERS)
def test_a_kept_tensor_that_was_detached(function):
    """Its place in the graph is lost, so that a gradient with a graph cannot be had; one without a graph can be."""

    def run(t, create_graph):
        x = t.tensor([[0.1, 0.2], [0.3, -0.4]], requires_grad=True)
        y = x * 2
        result = function(t, y)
        y.detach_()
        return t.autograd.grad(result, x, create_graph=create_graph)

    run(dt, False)
    told = []
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="has been detached in-place") as error:
            run(t, True)
        told.append(str(error.value))
    assert told[0].endswith(told[1])


INPUTS = {
    "a tensor": lambda x: x,
    "a tuple": lambda x: (x, x),
    "a generator": lambda x: (y for y in [x]),
    "a set": lambda x: {x},
    "nothing": lambda x: [],
}


@pytest.mark.parametrize("inputs", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("method", [True, False])
def test_inputs_of_a_backward(inputs, method):
    def run(t):
        x, w = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
        y = (x * w).sum()
        try:
            if method:
                y.backward(inputs=inputs(x))
            else:
                t.autograd.backward(y, inputs=inputs(x))
        except RuntimeError as error:
            return str(error).partition(": ")[2] or str(error)
        return x.grad.tolist(), w.grad

    assert run(dt) == run(torch)


@pytest.mark.parametrize(
    "shapes",
    [(None,), ((), None), ((2, 3), None), ((2, 3), (3,)), ((3,), (2,)), ((2, 4), (2,)), ((2, 2, 3), (2,)),
     ((0, 3), (0,))],
)  # fmt: skip
def test_batches_of_gradients_that_do_not_fit(shapes, refusals):
    def run(t):
        x = t.ones(3, requires_grad=True)
        given = [None if s is None else t.ones(s) for s in shapes]
        y = [x * 2, x.sum()][-len(given) :]
        return t.autograd.grad(y, x, given, is_grads_batched=True)

    mine, theirs = refusals(run, RuntimeError, ValueError, IndexError)
    if theirs[0] is not IndexError:
        assert mine == theirs
    assert mine[0] is theirs[0]


def test_batches_of_no_gradients(refusals):
    def run(t):
        x = t.ones(3, requires_grad=True)
        return t.autograd.grad(x * 2, x, is_grads_batched=True)

    mine, theirs = refusals(run, RuntimeError)
    assert mine == theirs
