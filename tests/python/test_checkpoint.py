"""What utils.checkpoint refuses and warns of."""

import re
import warnings

import pytest


def reentrant(t, *given):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        w = t.ones(2, requires_grad=True)
        y = t.utils.checkpoint.checkpoint(lambda x, *_: x * w, *given, use_reentrant=True)
    return y.requires_grad, y.tolist(), [(s.category, str(s.message)) for s in seen]


def test_reentrant_wants_an_input_with_a_gradient(both):
    for make in (
        lambda t: (t.ones(2),),
        lambda t: (t.ones(2), t.ones(1, requires_grad=True)),
        lambda t: (t.ones(2), [t.ones(1, requires_grad=True)]),
    ):
        mine, theirs = both(lambda t, make=make: reentrant(t, *make(t)))
        assert mine == theirs


def test_segments_are_reentrant_by_default(both):
    def run(t):
        net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Tanh(), t.nn.Linear(2, 1))
        results = []
        for use in (None, True, False):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                y = t.utils.checkpoint.checkpoint_sequential(net, 3, t.ones(1, 2), use)
            y.sum().backward()
            results.append((net[0].weight.grad is None, [str(s.message) for s in seen]))
            net.zero_grad()
        return results

    mine, theirs = both(run)
    assert mine == theirs


def changed(t, change, **given):
    """The sentence of a checkpoint whose function does something else in backward."""
    calls = []
    w = t.arange(1.0, 4.0)

    def function(x):
        calls.append(None)
        return change(t, x, w, len(calls) - 1)

    x = t.ones(3, requires_grad=True)
    y = t.utils.checkpoint.checkpoint(function, x, use_reentrant=False, **given)
    try:
        y.sum().backward()
    except t.utils.checkpoint.CheckpointError as error:
        tip = str(error).split("\nTip: ")[0]
        return re.sub(r"torch\.Size\((\[.*?\])\)", r"\1", tip).rstrip()
    return x.grad.tolist()


CHANGES = {
    "sizes": lambda t, x, w, again: (x[: 3 - again] * w[: 3 - again]).sum(),
    "dtype": lambda t, x, w, again: (
        (x.double() * w.double()) if again else (x.float() * w.float())
    ).sum(),
    "fewer": lambda t, x, w, again: x * w if again else (x * w) * w,
    "more": lambda t, x, w, again: (x * w) * w if again else x * w,
    "nothing": lambda t, x, w, again: x * w,
}


@pytest.mark.parametrize(
    "given", [{}, {"determinism_check": "none"}, {"early_stop": False}], ids=str
)
@pytest.mark.parametrize("change", CHANGES)
def test_what_the_second_call_saves(change, given, both):
    if given.get("determinism_check") == "none" and change != "nothing":
        pytest.skip("what follows from numbers of another kind is an error of the backward")
    if change == "more" and not given:
        pytest.skip("PyTorch stops the second call, whose other result nobody sees")
    mine, theirs = both(lambda t: changed(t, CHANGES[change], **given))
    assert mine == theirs


@pytest.mark.parametrize("requires_grad", [(True, True), (False, True), (True, False)])
def test_gradients_of_arguments_by_name(both, same, requires_grad):
    def run(t):
        def function(x, scale=None, power=1):
            return (x * scale).exp() ** power

        x, y = (t.tensor([0.5, 0.25], requires_grad=flag) for flag in requires_grad)
        out = t.utils.checkpoint.checkpoint(function, x, scale=y, power=2, use_reentrant=False)
        wanted = [a for a in (x, y) if a.requires_grad]
        return [out.detach(), *t.autograd.grad(out.sum(), wanted)]

    same(*both(run))


@pytest.mark.parametrize(
    "text",
    [
        "t.autograd.grad(y.sum(), x)",
        "y.sum().backward(inputs=[x])",
        "t.autograd.grad(t.utils.checkpoint.checkpoint(t.sin, y, use_reentrant=False).sum(), x)",
        "t.utils.checkpoint.checkpoint(lambda a: a.detach().sin(), x, use_reentrant=True).sum().backward()",
    ],
)
def test_what_a_reentrant_one_refuses(text, refusals):
    def call(t):
        x = t.ones(3, requires_grad=True)
        y = t.utils.checkpoint.checkpoint(t.sin, x, use_reentrant=True)
        eval(text, {"t": t, "x": x, "y": y})

    mine, theirs = refusals(call, RuntimeError)
    assert mine == theirs


def test_the_first_call_of_a_reentrant_one_has_no_graph(both):
    def run(t):
        recorded = []

        def function(x, factor, y):
            recorded.append(t.is_grad_enabled())
            return x * factor, y.detach(), factor

        x, y = (t.ones(2, requires_grad=True) for _ in "xy")
        given = t.utils.checkpoint.checkpoint(function, x, 3, y, use_reentrant=True)
        (given[0].sum() + given[1].sum()).backward()
        name = given[0].grad_fn.name()
        return recorded, name, given[1].requires_grad, given[2], x.grad.tolist(), y.grad

    mine, theirs = both(run)
    assert mine == theirs
