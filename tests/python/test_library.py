"""torch.library: operators of a program's own."""

import importlib
import re
import weakref
from collections.abc import Sequence

import pytest

_count = [0]


def fresh() -> str:
    _count[0] += 1
    return f"mine{_count[0]}"


def library(t):
    return importlib.import_module(f"{t.__name__}.library")


def test_an_operator_with_gradients(both, same):
    def run(t):
        Tensor, home = t.Tensor, fresh()

        def scaled(x: Tensor, w: Tensor, by: float = 2.0) -> Tensor:
            assert not t.is_grad_enabled()
            return t.from_numpy(x.numpy() * w.numpy() * by)

        scaled.__annotations__ = {"x": Tensor, "w": Tensor, "by": float, "return": Tensor}
        op = library(t).custom_op(f"{home}::scaled", scaled, mutates_args=())

        @op.register_fake
        def _(x, w, by=2.0):
            return t.empty_like(x)

        def setup_context(ctx, inputs, output):
            x, w, ctx.by = inputs
            ctx.save_for_backward(x, w)

        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad * w * ctx.by, grad * x * ctx.by if ctx.needs_input_grad[1] else None, None

        op.register_autograd(backward, setup_context=setup_context)
        x, w = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, -4.0], requires_grad=True)
        y = op(x, w)
        z = getattr(t.ops, home).scaled(x, w.detach(), by=5.0)
        (y * y + getattr(t.ops, home).scaled.default(x, w) + z).sum().backward()
        with t.no_grad():
            flat = op(x, w)
        names = [
            str(getattr(t.ops, home).scaled),
            str(getattr(t.ops, home).scaled.default),
            repr(op),
        ]
        return (
            y,
            x.grad,
            w.grad,
            flat,
            flat.requires_grad,
            [n.replace(home, "") for n in names],
            y.grad_fn.name().replace(home, ""),
        )

    same(*both(run))


def test_lists_and_several_results(both, same):
    def run(t):
        home, Tensor = fresh(), t.Tensor

        def parts(xs, n, *, by):
            return [x * by for x in xs] * 1, None

        def halves(xs, *, by):
            return [x * by for x in xs]

        halves.__annotations__ = {"xs": Sequence[Tensor], "by": float, "return": list[Tensor]}
        op = library(t).custom_op(f"{home}::halves", halves, mutates_args=())

        def setup_context(ctx, inputs, keyword_only_inputs, output):
            ctx.n, ctx.by = len(inputs[0]), keyword_only_inputs["by"]

        library(t).register_autograd(
            f"{home}::halves",
            lambda ctx, grads: [g * ctx.by for g in grads],
            setup_context=setup_context,
        )
        xs = [t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0], requires_grad=True)]
        made = op(xs, by=0.5)

        def both_of(x):
            return x * 2, x * 3

        both_of.__annotations__ = {"x": Tensor, "return": tuple[Tensor, Tensor]}
        two = library(t).custom_op(f"{home}::both_of", both_of, mutates_args=())
        two.register_autograd(lambda ctx, a, b: 2 * a + 3 * b)
        a, b = two(xs[0])
        (made[0].sum() * 2 + made[1].sum() + (a * b).sum()).backward()
        return made, type(made) is list, a, b, [x.grad for x in xs]

    same(*both(run))


def test_what_is_written(both, same):
    def run(t):
        home, Tensor = fresh(), t.Tensor

        def fill(x, value):
            x.fill_(value)

        fill.__annotations__ = {"x": Tensor, "value": float, "return": None}
        op = library(t).custom_op(f"{home}::fill", fill, mutates_args=("x",))
        x = t.zeros(3)
        assert op(x, 2.0) is None
        with pytest.raises(
            RuntimeError, match="Cannot register autograd formula for non-functional operator"
        ):
            op.register_autograd(lambda ctx: None)
        return x

    same(*both(run))


@pytest.mark.parametrize("names", [("x",), "unknown", ("xs",)])
def test_what_is_written_unseen(names, both):
    """By NumPy, say: what an operation has saved is known to have changed."""

    def run(t):
        home, Tensor = fresh(), t.Tensor

        def fill(x, xs):
            for y in (x, *xs):
                y.numpy()[:] = 5

        fill.__annotations__ = {"x": Tensor, "xs": Sequence[Tensor], "return": None}
        op = library(t).custom_op(f"{home}::fill", fill, mutates_args=names)
        w, said = t.ones(2, requires_grad=True), []
        for i in range(2):
            xs = [t.ones(2), t.ones(2)]
            y = (w * xs[i]).sum()
            op(xs[0], xs[1:])
            try:
                said.append(t.autograd.grad(y, w)[0].tolist())
            except RuntimeError as error:
                said.append("has been modified by an inplace operation" in str(error))
        return said

    mine, theirs = both(run)
    assert mine == theirs


def test_a_schema_for_annotations(both, same):
    def run(t):
        op = library(t).custom_op(
            f"{fresh()}::times",
            lambda x, n: x * n,
            mutates_args=(),
            schema="(Tensor x, int n) -> Tensor",
        )
        return op(t.ones(2), 3)

    same(*both(run))


def test_which_gradients_are_needed(both):
    def run(t):
        home, Tensor, seen = fresh(), t.Tensor, []

        def weighted(xs, w, by):
            return sum(xs) * w * by

        weighted.__annotations__ = {"xs": Sequence[Tensor], "w": Tensor, "by": float}
        weighted.__annotations__["return"] = Tensor
        op = library(t).custom_op(f"{home}::weighted", weighted, mutates_args=())

        def backward(ctx, grad):
            seen.append([str(f) for f in ctx.needs_input_grad])
            return [grad, grad * 2], grad * 3, None

        op.register_autograd(backward)
        x, y, w = (t.ones(2, requires_grad=flag) for flag in (True, False, True))
        op([x, y], w, 0.5).sum().backward()
        for wrong in (lambda g: ([g, g], g), lambda g: ([g], [g, g], None), lambda g: g):
            op.register_autograd(lambda ctx, grad, wrong=wrong: wrong(grad))
            with pytest.raises(RuntimeError, match="returned .* gradients|the same structure"):
                op([x, y], w, 0.5).sum().backward()
        return seen, x.grad.tolist(), w.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def test_the_graph_keeps_what_was_saved_alone(both):
    def run(t):
        def doubled(x):
            return x * 2

        doubled.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
        op = library(t).custom_op(f"{fresh()}::doubled", doubled, mutates_args=())
        op.register_autograd(lambda ctx, grad: grad * 2)
        x = t.ones(2, requires_grad=True)
        inner = x.exp()
        y = op(inner)
        ended = weakref.ref(inner)
        del inner
        gone = ended() is None
        y.sum().backward()
        return gone, [round(g, 4) for g in x.grad.tolist()]

    mine, theirs = both(run)
    assert mine == theirs


def test_refusals(both):
    def run(t):
        home, Tensor, said = fresh(), t.Tensor, []

        def plain(x):
            return x * 1

        plain.__annotations__ = {"x": Tensor, "return": Tensor}

        def itself(x):
            return x

        itself.__annotations__ = plain.__annotations__
        op = library(t).custom_op(f"{home}::plain", plain, mutates_args=())
        x = t.ones(2, requires_grad=True)
        for call in (
            lambda: op(x).sum().backward(),
            lambda: library(t).custom_op(f"{home}::itself", itself, mutates_args=())(x),
            lambda: library(t).custom_op(f"{home}::bare", lambda x: x, mutates_args=()),
            lambda: library(t).custom_op(f"{home}::words", plain, mutates_args="x"),
            lambda: getattr(t.ops, home).nothing,
        ):
            try:
                call()
            except Exception as error:
                said.append(
                    (
                        type(error).__name__,
                        re.sub(r"\(with .*\):|Got .*", "", str(error)).replace(home, ""),
                    )
                )
        return said

    mine, theirs = both(run)
    assert mine == theirs


def test_flops_are_not_counted():
    counter = importlib.import_module("dumbtorch.utils.flop_counter")
    with pytest.raises(NotImplementedError, match="operations are not intercepted"):
        counter.FlopCounterMode(display=False)
