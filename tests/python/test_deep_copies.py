"""copy.deepcopy: what looks at one memory does so in the copies, too."""

import copy
import pickle

import dumbtorch as dt
import pytest


def looks(x):
    memory = x.untyped_storage()
    return x.tolist(), x.stride(), x.storage_offset(), memory.nbytes(), x._is_view(), x.is_leaf


def views(t):
    base = t.arange(12.0).reshape(3, 4)
    copies = copy.deepcopy([base[1:], base.t(), base.view(t.int32), base, base.untyped_storage()])
    copies[0].add_(100)
    return [looks(x) for x in copies[:4]], copies[4].tolist(), base.tolist()


def expanded(t):
    return looks(copy.deepcopy(t.ones(2, 1).expand(2, 3)))


def empty(t):
    copies = copy.deepcopy([t.zeros(0, 3), t.zeros(3, 4)[3:]])
    return [(x.shape, x.stride(), x.storage_offset()) for x in copies]


def part_of_bytes(t):
    return looks(copy.deepcopy(t.arange(3, dtype=t.int8)[1:2]))


def module(t):
    m = t.nn.Linear(2, 2)
    memory = t.zeros(2, 2)
    m.register_buffer("row", memory[0])
    m.register_buffer("column", memory[:, 0])
    m.tied = m.weight
    c = copy.deepcopy(m)
    c.row.add_(1)
    return c.tied is c.weight, c.weight is m.weight, c.column.tolist(), memory.tolist()


def with_gradient(t):
    x = t.arange(6.0).reshape(3, 2)[1:].requires_grad_()
    x.grad = t.arange(8.0).reshape(4, 2)[2:]
    y = copy.deepcopy(x)
    return looks(y), y.requires_grad, looks(y.grad)


def parameter(t):
    p = t.nn.Parameter(t.arange(12.0).reshape(3, 4)[:, 1:])
    p.note = 1
    q = copy.deepcopy(p)
    dense = copy.deepcopy(t.nn.Parameter(t.zeros(2, 3).t()))
    return looks(q), hasattr(q, "note"), type(q) is t.nn.Parameter, dense.stride()


def parameter_of_a_program(t):
    class Tagged(t.nn.Parameter):
        def __new__(cls, data=None, requires_grad=True, tag=5):
            out = super().__new__(cls, data, requires_grad)
            out.tag = tag
            return out

    p = copy.deepcopy(Tagged(t.ones(2), False, 7))
    return type(p) is Tagged, p.tag, p.requires_grad


def storages(t):
    memory = t.arange(3.0)
    bytes_, elements = copy.deepcopy([memory.untyped_storage(), memory.storage()])
    return bytes_.data_ptr() == elements.data_ptr(), type(bytes_).__name__, elements.tolist()


def pickled(t):
    x = t.arange(12.0).reshape(1, 3, 2, 2)
    tensors = [
        x[0, 0].t(), x.to(memory_format=t.channels_last), x[:, ::2], t.ones(1).expand(3),
        t.zeros(0, 3).t(), t.tensor(5), t.nn.Parameter(x[0, 0].t()), x[0, 1:, 0].clone().requires_grad_(),
        t.tensor([[True, False]]).t(), x[0, 0].to(t.bfloat16).t(),
    ]  # fmt: skip
    copies = pickle.loads(pickle.dumps(tensors))
    return [
        (type(y).__name__, str(y.dtype).removeprefix("dumb"), y.tolist(), y.stride(), y.requires_grad, y._is_view())
        for y in copies
    ]  # fmt: skip


def optimizer(t):
    made = t.optim.Adafactor([t.nn.Parameter(t.ones(2))])
    return [
        sorted(x.defaults) for x in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), made)
    ]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize(
    "program",
    [views, expanded, empty, part_of_bytes, module, with_gradient, parameter, parameter_of_a_program, storages, pickled,
     optimizer],
)  # fmt: skip
def test_copies_look_at_copies(program, both):
    ours, theirs = both(program)
    assert ours == theirs


@pytest.mark.skipif(not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}")
def test_on_a_gpu():
    memory = dt.arange(6.0, device="cuda").reshape(2, 3)
    x, y = copy.deepcopy([memory[1:], memory.t()])
    x.add_(10)
    assert pickle.loads(pickle.dumps(x)).device == x.device
    assert x.is_cuda and (x.storage_offset(), y.stride()) == (3, (1, 3))
    assert y.tolist() == [[0, 13], [1, 14], [2, 15]] and memory[1].tolist() == [3, 4, 5]
