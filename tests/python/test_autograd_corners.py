"""Corners of autograd, as PyTorch's: generators in a grad mode, hooks that give something back, zeros with a graph."""

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
