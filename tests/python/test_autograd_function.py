"""autograd.Function: gradients of the user's own, and how gradcheck finds wrong ones."""

import re

import dumbtorch as dt
import pytest


class Scale(dt.autograd.Function):
    """y = x * k with a number k, and x's maximum on the side."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        top = x.max()
        ctx.mark_non_differentiable(top)
        return x * k, top

    @staticmethod
    def backward(ctx, grad, grad_top):
        assert ctx.needs_input_grad == (True, False)
        assert grad_top.item() == 0
        (x,) = ctx.saved_tensors
        assert x.shape == grad.shape
        return grad * ctx.k, None


def test_function():
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    y, top = Scale.apply(x, 3.0)
    assert y.requires_grad and not top.requires_grad and top.item() == 2
    assert "ScaleBackward" in repr(y.grad_fn)
    (y * y).sum().backward()
    assert x.grad.tolist() == [18.0, 36.0]
    with dt.no_grad():
        assert not Scale.apply(x, 2.0)[0].requires_grad
    assert not Scale.apply(x.detach(), 2.0)[0].requires_grad


class Cube(dt.autograd.Function):
    """With forward and setup_context apart, and a backward that can be differentiated."""

    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


def test_function_twice():
    x = dt.tensor([1.0, 2.0], dtype=dt.float64, requires_grad=True)
    assert dt.autograd.gradcheck(Cube.apply, x)
    assert dt.autograd.gradgradcheck(Cube.apply, x)
    (g,) = dt.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def _function(backward, forward=lambda ctx, x: x * 2):
    return type(
        "F", (dt.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )  # fmt: skip


def test_function_errors_are_the_users_own():
    class Mine(Exception):
        pass

    def fail(*args):
        raise Mine("from backward")

    x = dt.ones(2, requires_grad=True)
    with pytest.raises(Mine, match="from backward") as info:
        _function(fail).apply(x).sum().backward()
    assert info.traceback[-1].name == "fail"
    with pytest.raises(Mine):
        _function(lambda ctx, g: g, fail).apply(x)
    x.register_hook(fail)
    with pytest.raises(Mine):
        x.sum().backward()


def test_function_refuses_wrong_results():
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        _function(lambda ctx, g: (g, g)).apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="expected Variable or None"):
        _function(lambda ctx, g: 5).apply(x).sum().backward()
    with pytest.raises(TypeError, match="save_for_backward"):
        _function(None, lambda ctx, x: ctx.save_for_backward(5)).apply(x)
    with pytest.raises(NotImplementedError):
        dt.autograd.Function.apply(x)


def test_functions_without_graph_refuse_second_order():
    def detached(ctx, g):
        return g.detach() * 2

    x = dt.ones(2, requires_grad=True)
    (g,) = dt.autograd.grad(_function(detached).apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError):
        g.sum().backward()


def test_gradcheck_finds_errors():
    x = dt.randn(3, dtype=dt.float64, requires_grad=True)
    wrong = _function(lambda ctx, g: g * 3)
    with pytest.raises(dt.autograd.GradcheckError, match="Jacobian mismatch"):
        dt.autograd.gradcheck(wrong.apply, x)
    assert not dt.autograd.gradcheck(wrong.apply, x, raise_exception=False)
    assert dt.autograd.gradcheck(lambda a, b: (a @ b, a.sum()), (x, dt.randn(3, dtype=dt.float64)))
    with pytest.raises(ValueError):
        dt.autograd.gradcheck(lambda a: a, dt.ones(1))


def scaled(t, forward, sets_up=True):
    """A function that gives its first argument times the second."""

    def setup_context(ctx, inputs, output):
        ctx.count, ctx.factor = len(inputs), inputs[1] if len(inputs) > 1 else 1

    def backward(ctx, g):
        return (g * ctx.factor, *[None] * (ctx.count - 1)) if sets_up else g

    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if sets_up:
        body["setup_context"] = staticmethod(setup_context)
    return type("Scaled", (t.autograd.Function,), body)


@pytest.mark.parametrize(
    "text", ["f(x)", "f(x, 2)", "f(x, y=2)", "f(x=x)", "f(y=2, x=x)", "several(x)", "several(x, 2, 3)"]
)  # fmt: skip
def test_arguments_with_defaults(text, both, same):
    def run(t):
        x = t.tensor(3.0, requires_grad=True)
        names = {"x": x, "f": scaled(t, lambda x, y=5: x * y).apply}
        names["several"] = scaled(t, lambda x, y=5, *rest: x * y).apply
        y = eval(text, names)
        y.backward()
        return y, x.grad

    same(*both(run))


@pytest.mark.parametrize("text", ["f()", "f(x, 2, 3)", "f(x, z=2)", "named(x)", "named(x, y=2)"])
def test_arguments_that_do_not_fit(text, refusals):
    def run(t):
        names = {"x": t.ones(()), "f": scaled(t, lambda x, y=5: x).apply}
        names["named"] = scaled(t, lambda x, *, y=5: x).apply
        eval(text, names)

    ours, theirs = refusals(run, TypeError)
    assert ours == theirs


NAMED = ["f(x, y=y)", "f(y=y, x=x)", "f(x, y, k=3)", "f(x, k=3, y=y)"]


@pytest.mark.parametrize("text", NAMED)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_named_arguments_of_a_plain_forward(text, count, both, same):
    """They have their places among the gradients, whose number has to fit."""

    def run(t):
        def backward(ctx, g):
            return (g * 5, g * 7, None)[:count]

        def forward(ctx, x, y=None, k=2):
            return x * y * k

        body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        f = type("Named", (t.autograd.Function,), body).apply
        x, y = (t.tensor(v, requires_grad=True) for v in (3.0, 4.0))
        out = eval(text, {"f": f, "x": x, "y": y})
        try:
            out.backward()
        except RuntimeError as error:
            return str(error).split("function ")[1]
        return out, x.grad, y.grad

    same(*both(run))


@pytest.mark.parametrize(
    "text", ["f(x, z=2)", "f(x, x=x)", "f(ctx=1, x=x)", "f(k=2, x=x)", "f(x, rest=1)"]
)
def test_names_that_a_plain_forward_does_not_take(text, refusals):
    def run(t):
        f = scaled(t, lambda ctx, x, y=1, k=2, *rest, z=1: x, False).apply
        eval(text, {"f": f, "x": t.ones(())})

    ours, theirs = refusals(run, TypeError)
    assert ours == theirs


def test_old_names_of_functions(both):
    """saved_variables, a call of the class's instance, and what vmap may ask for."""

    def run(t):
        class Double(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use"):
                    (x,) = ctx.saved_variables
                return grad * x

        x = t.full((2,), 3.0, requires_grad=True)
        Double.apply(x).sum().backward()
        with pytest.raises(RuntimeError, match="Legacy autograd function") as refusal:
            Double()(x)
        return x.grad.tolist(), Double.generate_vmap_rule, str(refusal.value)

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("twice", ["y, y", "x, x", "y, y, y * 1, y", "y, x, y"])
def test_one_tensor_given_twice(twice, both, same):
    def run(t):
        def forward(ctx, x):
            y = x * 2
            return eval(twice, {"x": x, "y": y})

        def backward(ctx, *grads):
            return sum(g * 10**i for i, g in enumerate(grads))

        body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        x = t.ones(3, requires_grad=True)
        given = type("Twice", (t.autograd.Function,), body).apply(x)
        sum(y.sum() * i for i, y in enumerate(given, 1)).backward()
        return x.grad, [[a is b for a in given] for b in given], [y.output_nr for y in given]

    same(*both(run))


@pytest.mark.parametrize("kind", ["as it is", "dirty", "without a gradient", "integers"])
@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_an_input_that_comes_out_again(kind, recording, requires_grad, both):
    """It becomes an output of its own, in the memory of the input, which stays as it was."""

    def run(t):
        class Same(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                if kind == "dirty":
                    ctx.mark_dirty(x.mul_(2))
                if kind == "without a gradient":
                    ctx.mark_non_differentiable(x)
                return (y if kind == "integers" else x), y

            @staticmethod
            def backward(ctx, grad, _):
                return grad * 3, None

        x = t.ones(2, requires_grad=requires_grad)
        given = x * 2
        with t.set_grad_enabled(recording):
            out, integers = Same.apply(given, t.arange(2))
        if kind == "integers":
            assert out.data_ptr() != given.data_ptr()
        else:
            assert out.data_ptr() == given.data_ptr()
        told = [out is given, out.requires_grad, out.is_leaf, given.requires_grad, out.tolist()]
        if out.requires_grad:
            told.append(t.autograd.grad(out.sum(), x)[0].tolist())
        return told

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("look", ["view", "slice", "both", "none"])
@pytest.mark.parametrize("then", ["sum", "view", "write"])
def test_a_view_of_what_was_written_keeps_no_backward(look, then, both):
    """Another look at the base would leave out the Function's own backward: an error, not a wrong gradient."""

    def run(t):
        class Look(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                looks = {"view": x.view(-1), "slice": x[1:], "both": (x[:1], x[1:]), "none": x * 1}
                return looks[look]

            @staticmethod
            def backward(ctx, grad, other=None):
                return grad.expand(2) * 3

        x = t.ones(2, requires_grad=True)
        base = x * 2
        out = Look.apply(base)
        out = out[0] if look == "both" else out
        base.mul_(2)
        try:
            y = {"sum": out.sum, "view": lambda: out[0], "write": lambda: out.mul_(2).sum()}[then]()
            y.backward()
        except RuntimeError as error:
            return re.search("Output 0 of Look.* is a view and ", str(error)) is not None
        return x.grad.tolist()

    ours, theirs = both(run)
    assert ours == theirs
