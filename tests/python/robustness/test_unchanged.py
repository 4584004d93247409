"""A call that fails leaves the tensors that it would have written, and their versions, as they
were."""

import dumbtorch as dt
import pytest

I64 = dt.int64


def long(*values):
    return dt.tensor(values, dtype=I64)


def put(index, value=1.0, **options):
    return lambda x: x.index_put_(index, dt.tensor(value), **options)


def assign(index, value):
    def write(x):
        x[index] = value

    return write


BAD_INDEX = {
    "index_put_": put((long(0, 1, 9),)),
    "index_put_ last of many": put((long(*[0] * 9_999, 3),)),
    "index_put_ negative": put((long(0, -4),)),
    "index_put_ second": put((long(0, 1), long(0, 4))),
    "index_put_ accumulate": put((long(0, 1, 9),), accumulate=True),
    "index_put_ shapes": put((long(0, 1), long(0, 1, 2))),
    "index_put_ values": put((long(0, 1),), [1.0, 2.0, 3.0]),
    "index_put_ too many": put((long(0), long(0), long(0))),
    "index_put_ mask": put((dt.tensor([True, False, True, True]),)),
    "index_put_ float": put((dt.tensor([0.0, 1.0]),)),
    "index_add_": lambda x: x.index_add_(0, long(0, 1, 7), dt.ones(3, 4)),
    "index_add_ shape": lambda x: x.index_add_(0, long(0, 1), dt.ones(3, 4)),
    "index_add_ dim": lambda x: x.index_add_(2, long(0), dt.ones(1, 4)),
    "index_add_ dtype": lambda x: x.index_add_(0, long(0), dt.ones(1, 4, dtype=dt.float64)),
    "scatter_": lambda x: x.scatter_(0, long(0, 1, 2, 3).view(1, 4), dt.ones(1, 4)),
    "scatter_ number": lambda x: x.scatter_(1, long(0, 5).view(1, 2), 2.0),
    "scatter_ negative": lambda x: x.scatter_(1, long(0, -1).view(1, 2), 2.0),
    "scatter_ source": lambda x: x.scatter_(0, dt.zeros(3, 4, dtype=I64), dt.ones(2, 4)),
    "scatter_ dtype": lambda x: x.scatter_(0, dt.zeros(3, 4, dtype=dt.uint8), dt.ones(3, 4)),
    "scatter_add_": lambda x: x.scatter_add_(1, long(0, 4).view(1, 2), dt.ones(1, 2)),
    "masked_fill_": lambda x: x.masked_fill_(dt.ones(5, dtype=dt.bool), 1.0),
    "masked_fill_ dtype": lambda x: x.masked_fill_(dt.ones(3, 4), 1.0),
    "[9]": assign(9, 1.0),
    "[0, 9]": assign((0, 9), 1.0),
    "[list]": assign([0, 1, 9], 1.0),
    "[mask]": assign(dt.tensor([True, False]), 1.0),
    "[0] shape": assign(0, dt.ones(5)),
    "[:, 1:3] shape": assign((slice(None), slice(1, 3)), dt.ones(3, 3)),
    "[mask] values": assign(dt.ones(3, 4, dtype=dt.bool), dt.ones(5)),
    "[...]": assign((0, 0, 0), 1.0),
    "['a']": assign("a", 1.0),
    "[0] text": assign(0, "text"),
    "[0] None": assign(0, None),
}
IN_PLACE = {
    "add_ shape": lambda x: x.add_(dt.ones(5)),
    "add_ larger": lambda x: x.add_(dt.ones(2, 3, 4)),
    "mul_ device": lambda x: x.mul_(dt.ones(3, 4).to("cuda")),
    "copy_ shape": lambda x: x.copy_(dt.ones(4, 3)),
    "addmm": lambda x: x.add_(dt.ones(3, 2) @ dt.ones(3, 2)),
    "clamp_": lambda x: x.clamp_(),
    "uniform_": lambda x: x.uniform_(2, 1),
    "normal_": lambda x: x.normal_(0, -1),
    "bernoulli_": lambda x: x.bernoulli_(2.0),
    "random_": lambda x: x.random_(5, 5),
    "bitwise_and_": lambda x: x.bitwise_and_(1),
    "fill_ tensor": lambda x: x.fill_(dt.ones(2)),
    "div_ mode": lambda x: x.div_(2, rounding_mode="up"),
    "pow_ shape": lambda x: x.pow_(dt.ones(3, 3)),
    "requires_grad": lambda x: x.view(3, 4).requires_grad_().add_(1),
    "expanded": lambda x: x[:1].expand(3, 4).add_(1),
    "part of itself": lambda x: x.view(12)[1:].add_(x.view(12)[:-1]),
    "optimizer": lambda x: dt.optim.SGD([x.view(3, 4)], lr=-1.0),
}


@pytest.mark.parametrize("name", [*BAD_INDEX, *IN_PLACE])
def test_target_is_unchanged(name):
    x = dt.arange(12.0).view(3, 4)
    version = x._version
    with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)):
        (BAD_INDEX | IN_PLACE)[name](x)
    assert x.tolist() == dt.arange(12.0).view(3, 4).tolist()
    assert x._version == version and not x.requires_grad


INTEGERS = {
    "add_ float": lambda x: x.add_(1.5),
    "mul_ float tensor": lambda x: x.mul_(dt.ones(4)),
    "div_": lambda x: x.div_(2),
    "floor_divide_ 0": lambda x: x.floor_divide_(0),
    "remainder_ 0": lambda x: x.remainder_(dt.tensor([1, 1, 1, 0])),
    "div_ 0 trunc": lambda x: x.div_(dt.tensor([1, 1, 1, 0]), rounding_mode="trunc"),
    "exp_": lambda x: x.exp_(),
    "uniform_": lambda x: x.uniform_(),
    "normal_": lambda x: x.normal_(),
    "pow_": lambda x: x.pow_(-1),
    "fill_ too large": lambda x: x.fill_(2**70),
    "index_put_ dtype": put((long(0),), 1.5),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_unchanged(name):
    x = dt.arange(4)
    with pytest.raises((RuntimeError, IndexError, ValueError, TypeError, OverflowError)):
        INTEGERS[name](x)
    assert x.tolist() == [0, 1, 2, 3]


def test_gradients_are_unchanged_by_a_failed_backward():
    """What a failing node would have added reaches no leaf."""
    a, b = dt.ones(3, requires_grad=True), dt.ones(3, requires_grad=True)
    (a + b).sum().backward()
    c = a.exp()
    y = (c * 2 + b).sum()
    c.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    assert a.grad.tolist() == b.grad.tolist() == [1.0, 1.0, 1.0]


def test_failed_loads_change_nothing():
    net = dt.nn.Linear(2, 3)
    before = {k: v.clone() for k, v in net.state_dict().items()}
    with pytest.raises(RuntimeError, match="missing keys|Missing key"):
        net.load_state_dict({"weight": dt.ones(3, 2)} | {"other": dt.ones(1)})
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.load_state_dict({"weight": before["weight"], "bias": dt.ones(5)})
    assert net.bias.equal(before["bias"])
