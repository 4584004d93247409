"""A module that is called with other tensors: which count, what is refused, and where an assignment goes."""

import contextlib
import warnings

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")


def module(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = t.nn.Linear(1, 1)
            self.tied = self.layer.bias
            self.register_buffer("count", t.zeros(1))
            self.register_buffer("absent", None)
            self.plain = t.full((1,), 7.0)
            self.number = 3

        def forward(self, x, more=0.0):
            self.count = self.count + 1
            new = getattr(self, "new", 0.0)
            return x * 2 + self.layer.weight + self.tied + self.count * self.plain + new + more

    net = Net()
    with t.no_grad():
        net.layer.weight.fill_(0.5)
        net.layer.bias.fill_(0.25)
    return net


def one(t):
    return t.ones(1, 1)


CASES = [
    lambda t: {"layer.weight": one(t)},
    lambda t: {"layer.weight": one(t), "layer.bias": t.full((1,), 5.0)},
    lambda t: {"tied": t.full((1,), 5.0)},
    lambda t: {"layer.bias": one(t), "tied": one(t)},
    lambda t: {"plain": t.full((1,), 5.0)},
    lambda t: {"new": t.full((1,), 5.0)},
    lambda t: {"new": t.nn.Parameter(one(t))},
    lambda t: {"count": t.full((1,), 5.0)},
    lambda t: {"absent": one(t)},
    lambda t: {"number": one(t)},
    lambda t: {"layer": one(t)},
    lambda t: {"": one(t)},
    lambda t: {"other.weight": one(t)},
    lambda t: {"layer.weight": 3},
    lambda t: ({"plain": one(t)}, {"count": one(t)}),
    lambda t: ({"plain": one(t), "count": one(t)}, {"count": one(t)}, {"plain": one(t)}),
    lambda t: ({}, 3),
    lambda t: 3,
]


@pytest.mark.parametrize("words", [{}, {"tie_weights": False}, {"strict": True}], ids=str)
@pytest.mark.parametrize("tensors", CASES)
def test_call(tensors, words):
    def outcome(t):
        net, given = module(t), tensors(t)
        try:
            result = t.func.functional_call(net, given, one(t), **words).tolist()
        except (RuntimeError, TypeError, ValueError, KeyError, AttributeError) as error:
            result = type(error), str(error).replace("dumbtorch", "torch")
        after = (
            {k: v.tolist() for k, v in given.items()}
            if isinstance(result, list) and isinstance(given, dict)
            else 0
        )
        state = {k: v.tolist() for k, v in net.state_dict().items()}
        return (
            result,
            after,
            state,
            net.plain.tolist(),
            hasattr(net, "new"),
            list(dict(net.named_parameters())),
        )

    assert outcome(dt) == outcome(torch)


def test_a_module_within_itself():
    for t in (dt, torch):
        net = module(t)
        net.layer.back = net
        out = t.func.functional_call(net, {"layer.back.plain": one(t)}, one(t), tie_weights=False)
        assert out.tolist() == [[3.75]] and net.plain.tolist() == [7.0]
        del net.layer.back


def test_the_old_name_warns():
    said = []
    for t in (dt, torch):
        with warnings.catch_warnings(record=True) as caught, contextlib.suppress(ImportError):
            warnings.simplefilter("always")
            t.nn.utils.stateless.functional_call(module(t), {}, one(t))
        said.append([(w.category, str(w.message)) for w in caught])
    assert said[0] == said[1] and len(said[0]) == 1
