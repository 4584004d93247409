"""What programs ask of tensors often has a short way of its own in C: it must say what the long one does."""

import operator

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]  # fmt: skip


def both(make):
    return make(dt), make(torch)


def outcome(f):
    """What f gives, or what it raises."""
    try:
        return f()
    except Exception as error:
        return type(error)


def same(make):
    ours, theirs = (outcome(lambda m=m: make(m)) for m in (dt, torch))
    assert ours == theirs and type(ours) is type(theirs)


@pytest.mark.parametrize("call", [
    "x.dim()", "x.ndim", "x.numel()", "x.nelement()", "x.element_size()", "x.size(0)", "x.size(-1)",
    "x.size(dim=1)", "x.size(3)", "x.size(-4)", "x.stride()", "x.stride(1)", "x.stride(-1)", "x.stride(dim=0)",
    "x.is_contiguous()", "x.is_contiguous(memory_format=m.channels_last)", "x.t().is_contiguous()", "x.is_cuda",
    "x.requires_grad", "x.is_leaf", "x.device.type", "len(x)", "len(x[0, 0])", "bool(x[0, 0])", "bool(x)",
    "float(x[1, 2])", "float(x)", "int(x[1, 2])", "int(x)", "float(x[:1, :1])", "len(m.zeros(0, 3))",
    "bool(m.zeros(0))", "x.T.stride()", "m.ones(2, 3, 4).T.shape == (4, 3, 2)", "tuple(x.view(3, 2).shape)",
    "tuple(x.view(-1).shape)", "tuple(x.view((6,)).shape)", "x.view(4)", "x.view(2.0)", "x.view(True)",
    "tuple(x.view(m.int32).shape)", "x.t().view(6)", "int(m.tensor(float('inf')))", "int(m.tensor(2.9))",
])  # fmt: skip
def test_attributes(call):
    same(lambda m: eval(call, {"m": m, "x": m.arange(6.0).reshape(2, 3)}))


def test_what_needs_no_change_is_the_tensor_itself():
    x = dt.ones(2, 3)
    for y in (x.contiguous(), x.float(), x.to(dt.float32), x.to("cpu"), x.to(dt.device("cpu"))):
        assert y is x
    assert x.t().contiguous() is not x and x.t().contiguous().is_contiguous()
    assert x.double().dtype is dt.float64
    assert x.contiguous(memory_format=dt.contiguous_format).shape == (2, 3)


def test_requires_grad_is_written():
    for m in (dt, torch):
        x = m.ones(2)
        x.requires_grad = True
        assert x.requires_grad and not (x * 2).is_leaf
        with pytest.raises(RuntimeError):
            (x * 2).requires_grad = False if m is torch else 1


INDICES = [
    0, -1, 5, slice(None), slice(1, None), slice(None, None, 2), slice(-2, None), slice(9, 2), slice(0, 0), None,
    Ellipsis, (0, 1), (0, -9), (slice(None), 1), (Ellipsis, 0), (0, Ellipsis), (None, 0, None), (1, 2, 3), (1, 2, 3, 0),
    (slice(1, 2), slice(None), slice(None, None, 3)), (Ellipsis, None), (slice(None), None, 2), (), True, (0, True),
    (np.int64(1), 2), (Ellipsis, slice(0, 2), Ellipsis), slice(None, None, -1), slice(None, None, 0), 1.0, "a",
    slice(np.int64(1), None), 1 << 70, (slice(1 << 70), 0),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_brackets(index):
    def read(m):
        y = m.arange(24.0).reshape(2, 3, 4)[index]
        return y.tolist(), tuple(y.shape), y._base is not None

    same(read)


@pytest.mark.parametrize("value", [7, 2.5, True, "row", "rows", "ones", [1, 2], 1 << 70], ids=repr)
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_assignments(index, value):
    def write(m):
        x = m.arange(24.0).reshape(2, 3, 4)
        tensors = {"row": m.ones(1), "rows": m.full((1, 1, 1), 5.0), "ones": m.ones(1, 1, 1, 1, 1)}
        x[index] = tensors[value] if isinstance(value, str) else value
        return x.tolist()

    ours, theirs = (outcome(lambda m=m: write(m)) for m in (dt, torch))
    if isinstance(value, list) and not isinstance(ours, type):
        return  # lists as values are taken here
    assert isinstance(ours, type) == isinstance(theirs, type) and (
        isinstance(ours, type) or ours == theirs
    )


def test_written_brackets_have_gradients():
    def gradients(m):
        x, y = m.ones(3, 4, requires_grad=True), m.ones(4, requires_grad=True)
        z = x * 2
        z[1] = y
        z[:, 0] = 5.0
        z[2:, 1:3].mul_(3)
        (z * z).sum().backward()
        return x.grad.tolist(), y.grad.tolist()

    assert gradients(dt) == gradients(torch)


def test_tensors_are_sequences_to_c():
    x = dt.arange(6.0).reshape(3, 2)
    assert operator.getitem(x, 1).tolist() == [2, 3] and [row.tolist() for row in x][2] == [4, 5]
    assert np.array([x, x]).shape == (2, 3, 2)
    with pytest.raises(TypeError):
        del x[0]


@pytest.mark.parametrize("data", [
    1, 1.5, True, [], [[]], [1, 2], [1, 2.5], [True, False], [True, 2], [True, 2.5], [[1, 2], [3, 4]],
    [(1.0, 2), [3, 4]],    [[1, 2], [3]], [1 << 62], [1 << 63], [-(1 << 63)], [1e300], [float("nan")], [[[]]],
    (1, 2), ((1,), (2,)), [1, 1 << 64, 0.5], [[True], [0.5]], range(3), [range(2), range(2)], list(range(1000)),
], ids=repr)  # fmt: skip
def test_tensors_from_lists(data):
    def make(m):
        x = m.tensor(data)
        return str(x.dtype), tuple(x.shape), repr(x.tolist())

    same(make)


@pytest.mark.parametrize(
    "data", [[[1, 2], 3], [1, [2]], ["a"], [None], [1, "a"], [[1], [None]]], ids=repr
)
def test_refused_lists(data):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        dt.tensor(data)


def test_lists_have_the_default_dtype():
    for name in ("float64", "float16"):
        for m in (dt, torch):
            m.set_default_dtype(getattr(m, name))
        try:
            same(lambda m: (str(m.tensor([0.1, 2]).dtype), m.tensor([0.1, 2]).tolist()))
        finally:
            for m in (dt, torch):
                m.set_default_dtype(m.float32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0), (0, 2), (2, 1, 2)])
def test_lists_and_arrays_of_tensors(dtype, shape):
    values = np.arange(int(np.prod(shape))).reshape(shape) - 2
    if dtype in ("uint8", "bool"):
        values = values > 0
    x, y = both(lambda m: m.tensor(values.tolist()).reshape(shape).to(getattr(m, dtype)))
    assert x.tolist() == y.tolist() and list(map(type, np.ravel(x.tolist()))) == list(
        map(type, np.ravel(y.tolist()))
    )
    assert x.transpose(0, -1).tolist() == y.transpose(0, -1).tolist() if shape else True
    if dtype == "bfloat16":
        return
    array, expected = x.numpy(), y.numpy()
    assert (
        array.dtype is expected.dtype
        and array.shape == expected.shape
        and (array == expected).all()
    )
    if array.size:
        array[(0,) * array.ndim] = 1
        assert x.flatten()[0] == 1


def test_arrays_share_strided_memory():
    x = dt.arange(12.0).reshape(3, 4)
    array = x.t()[1:, ::2].numpy()
    assert array.strides == (4, 32)
    array[0, 1] = 50
    assert x[2, 1] == 50
    assert x[:1].expand(5, 4).numpy().strides == (0, 4)
    with pytest.raises(RuntimeError):
        x.requires_grad_().numpy()
    kept = dt.ones(1000).numpy()
    assert kept.sum() == 1000  # the array keeps the memory


@pytest.mark.parametrize("a", [
    np.ones(3), np.ones((2, 3))[:, ::2], np.ones((2, 3)).T, np.ones((0, 3)), np.array(2.0), np.ones((3, 1), np.float16),
    np.broadcast_to(np.ones(3), (2, 3)).copy(), np.arange(4), np.ones(3)[:0],
])  # fmt: skip
def test_tensors_of_arrays(a):
    x, y = both(lambda m: m.from_numpy(a))
    assert x.tolist() == y.tolist() and x.stride() == y.stride() and str(x.dtype) == str(y.dtype)
    if a.size:
        a[(0,) * a.ndim] = 9
        assert x.flatten()[0] == 9


def test_refused_arrays():
    for a in (np.ones(3)[::-1], np.ones(3, ">f4"), np.ones(3, np.complex64)):
        with pytest.raises((ValueError, TypeError)):
            dt.from_numpy(a)


@pytest.mark.parametrize("shown", [dt.Tensor.numpy, np.asarray, np.from_dlpack])
@pytest.mark.parametrize("moved", ["data", "resize", "set", "double"])
def test_arrays_keep_the_memory_they_show(shown, moved):
    layer = dt.nn.Linear(1, 50_000, bias=False).requires_grad_(False)
    x = layer.weight
    x.fill_(1)
    array = shown(x)
    if moved == "data":
        x.data = dt.zeros(50_000, 1)
    elif moved == "resize":
        x.resize_(400_000)
    elif moved == "set":
        x.set_(dt.zeros(50_000, 1))
    else:
        layer.double()
    others = [dt.full((50_000,), 5.0) for _ in range(20)]
    assert (array == 1).all() and len(others) == 20


def test_bounds_beyond_all_integers():
    x = dt.zeros(3)
    x[-5 : 2**64] = np.int64(5)
    assert x.tolist() == [5, 5, 5] and x[2**70 :].tolist() == []


@pytest.mark.parametrize(
    "make", [lambda t: t.LongTensor([1e30]), lambda t: t.IntTensor([2**40]), lambda t: t.ByteTensor([300])]
)  # fmt: skip
def test_old_constructors_refuse_what_does_not_fit(make, torch):
    for t in (dt, torch):
        with pytest.raises(RuntimeError):
            make(t)
    assert dt.LongTensor([1.5, 2]).tolist() == torch.LongTensor([1.5, 2]).tolist()
