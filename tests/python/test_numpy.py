"""NumPy and DLPack: the same memory from both sides."""

import operator
import subprocess
import sys
import warnings

import dumbtorch as dt
import pytest

DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool"]


@pytest.fixture
def np():
    return pytest.importorskip("numpy")


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_numpy_and_back(np, dtype):
    x = (dt.arange(6).view(2, 3) % 2).to(getattr(dt, dtype))
    a = x.numpy()
    assert a.dtype == dtype and a.tolist() == x.tolist()
    a[0, 0] = 1
    assert x[0, 0].item() == 1
    y = dt.from_numpy(a)
    assert y.dtype is x.dtype and y.data_ptr() == x.data_ptr()
    y[1, 2] = 0
    assert a[1, 2] == 0


def test_views_keep_their_strides(np):
    x = dt.arange(12.0).view(3, 4)
    assert x.T.numpy().strides == (4, 16) and x[:, ::2].numpy().tolist() == x[:, ::2].tolist()
    a = np.arange(24).reshape(4, 6)
    y = dt.from_numpy(a[1:, ::2])
    assert y.stride() == (6, 2) and y.tolist() == a[1:, ::2].tolist()
    assert dt.from_numpy(np.zeros((0, 3))).shape == (0, 3)
    assert dt.from_numpy(np.array(5.0)).item() == 5.0


def test_memory_lives_as_long_as_either(np):
    a = dt.arange(5.0).numpy()
    assert a.tolist() == [0, 1, 2, 3, 4]
    x = dt.from_numpy(np.arange(5.0))[1:3]
    assert x.tolist() == [1, 2]
    y = dt.arange(5.0)
    b = y.numpy()
    y += 1
    del y
    assert b.tolist() == [1, 2, 3, 4, 5]


def test_refuses(np):
    with pytest.raises(ValueError, match="negative"):
        dt.from_numpy(np.arange(3)[::-1])
    with pytest.raises(TypeError, match="uint16"):
        dt.from_numpy(np.zeros(2, dtype=np.uint16))
    with pytest.raises(TypeError):
        dt.from_numpy([1, 2])
    with pytest.raises(RuntimeError, match="requires grad"):
        dt.ones(1, requires_grad=True).numpy()


def test_array_protocol(np):
    x = dt.arange(4.0)
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x, dtype=np.int64).tolist() == [0, 1, 2, 3]
    assert np.exp(dt.zeros(2)).tolist() == [1, 1]
    assert isinstance(np.ones(4, dtype=np.float32) * x, dt.Tensor)
    assert isinstance(x + np.ones(4, dtype=np.float32), dt.Tensor)
    assert (x * np.float32(2)).tolist() == [0, 2, 4, 6]
    assert (np.float32(2) * x).tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "mod", "pow", "and_", "or_", "xor", "lshift", "lt"]
)
def test_numbers_of_numpy_on_the_left(np, name):
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle")
    whole = name in ("and_", "or_", "xor", "lshift")
    apply = getattr(operator, name)
    for number in (np.int64(3), np.uint8(2)) if whole else (np.int64(3), np.float32(2.5)):
        ours, theirs = (apply(number, t.tensor([1, 2, 5])) for t in (dt, torch))
        assert (ours.tolist(), ours.dtype.name) == (theirs.tolist(), str(theirs.dtype)[6:])


def test_tensor_of_arrays(np):
    a = np.arange(6).reshape(2, 3)
    x = dt.tensor(a)
    a[0, 0] = 100
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and x.dtype is dt.int64
    assert dt.tensor([np.float64(1.5), 2]).dtype in (dt.float32, dt.float64)
    assert dt.tensor([a[0], a[1]]).tolist() == a.tolist()
    assert dt.as_tensor(a).data_ptr() == a.ctypes.data
    assert dt.as_tensor(a, dtype=dt.float32).dtype is dt.float32


def test_dlpack_with_numpy(np):
    x = dt.arange(6.0).view(2, 3)
    a = np.from_dlpack(x)
    assert a.ctypes.data == x.data_ptr() and a.tolist() == x.tolist()
    b = np.arange(6.0).reshape(2, 3)
    y = dt.from_dlpack(b)
    y += 1
    assert b.tolist() == y.tolist() and y.data_ptr() == b.ctypes.data
    del b
    assert y[0, 0].item() == 1


def test_dlpack_with_torch(torch):
    x = dt.arange(6.0).view(2, 3).T
    y = torch.from_dlpack(x)
    y += 1
    assert x.tolist() == y.tolist() and y.stride() == x.stride()
    z = dt.from_dlpack(torch.arange(4))
    assert z.dtype is dt.int64 and z.tolist() == [0, 1, 2, 3]


def test_dlpack_capsules():
    x = dt.ones(3)
    capsule = x.__dlpack__(max_version=(1, 0))
    y = dt.from_dlpack(capsule)
    assert y.data_ptr() == x.data_ptr()
    with pytest.raises(ValueError):
        dt.from_dlpack(capsule)  # it is used up
    x.__dlpack__(max_version=(1, 0))  # nobody takes it: its memory is given back
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        dt.ones(1, requires_grad=True).__dlpack__(max_version=(1, 0))
    with pytest.raises(BufferError):
        x.__dlpack__()
    with pytest.raises(TypeError):
        dt.from_dlpack(5)


def test_frombuffer():
    memory = bytearray(range(8))
    x = dt.frombuffer(memory, dtype=dt.uint8, offset=2, count=3)
    memory[2] = 50
    assert x.tolist() == [50, 3, 4]
    with pytest.raises(ValueError):
        dt.frombuffer(memory, dtype=dt.int64, offset=3)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"offset": 4}, {"count": 2}, {"count": -2}, {"count": 2, "offset": 3}, {"count": 0},
        {"count": 5}, {"count": 3, "offset": 8}, {"offset": 3}, {"offset": 16}, {"offset": -1},
    ],
    ids=str,
)  # fmt: skip
def test_frombuffer_spans(torch, options):
    def call(t):
        try:
            return (t.frombuffer(bytearray(range(16)), dtype=t.int32, **options) + 1).tolist()
        except ValueError as error:
            return str(error)

    assert call(dt) == call(torch)


def test_frombuffer_of_nothing(torch):
    for t in (dt, torch):
        with pytest.raises(ValueError, match=r"both buffer length \(0\) and count \(-1\)"):
            t.frombuffer(bytearray(), dtype=t.int32)


def test_read_only_memory_is_told_of(np):
    """Once for a tensor that shares it, at the caller's line; never for a copy."""
    a = np.arange(3.0)
    a.flags.writeable = False
    sharing = (dt.from_numpy, dt.as_tensor, lambda x: dt.frombuffer(x, dtype=dt.uint8))
    for share, memory in zip(sharing, (a, a, b"12"), strict=True):
        with pytest.warns(UserWarning, match="not writable") as seen:
            share(memory)
        assert len(seen) == 1 and seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dt.tensor(a).tolist() == [0, 1, 2]
        assert dt.as_tensor(np.float64(2.5)).item() == 2.5
        dt.frombuffer(bytearray(b"12"), dtype=dt.uint8)


def test_numpy_is_optional():
    code = (
        "import sys; sys.modules['numpy'] = None; import dumbtorch as t; "
        "x = t.randn(2, 3); x[0] = 1; print(x.tolist()[0], (x + 1).sum().item() is not None)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.startswith("[1.0, 1.0, 1.0] True")


def test_import_does_not_load_numpy():
    code = "import dumbtorch, sys; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_an_exception_passes_tensors_that_end_on_its_way(np):
    """A list that is not finished drops what is in it while the exception is on its way."""
    with pytest.raises(ZeroDivisionError):
        list(dt.from_numpy(np.ones(3)) if i < 2 else 1 / 0 for i in range(3))


def test_own_tensors_through_dlpack(torch):
    """They share the memory, but not the count of writes; and one that requires grad is refused."""
    found = []
    for t in (dt, torch):
        x = t.zeros(4)
        y, z = t.from_dlpack(x), t.from_dlpack(x[1:])
        y.add_(1)
        z.add_(1)
        versions = x._version, y._version, z._version
        d = (t.ones(2, requires_grad=True) * 2).requires_grad_()
        found.append((versions, x.tolist(), y is x, z._base is None))
        with pytest.raises(BufferError, match="require gradient"):
            t.from_dlpack(d)
    assert found[0] == found[1]


def test_strides_of_single_elements(np):
    """NumPy's buffers have strides of their own there, its arrays those that they were made with."""
    torch = pytest.importorskip("torch")
    for sizes in ((1, 2, 1, 4), (2, 1, 3, 1), (1, 1), (3, 1, 2)):
        for order in ("C", "F"):
            x = np.zeros(sizes, order=order)
            for view in (x, x.T, x[..., ::-1][..., ::-1], np.moveaxis(x, 0, -1)):
                ours = dt.from_numpy(view)
                if not ours.is_contiguous():  # otherwise ours are row-major
                    assert ours.stride() == torch.from_numpy(view).stride()
    image = torch.zeros(1, 2, 1, 4).contiguous(memory_format=torch.channels_last).numpy()
    assert dt.from_numpy(image).stride() == torch.from_numpy(image).stride()


def test_parameters_without_a_graph(np, both):
    """Where nothing is recorded, what requires grad is an array, too."""

    def run(t):
        x = t.ones(2, requires_grad=True)
        for mode in (t.no_grad, t.inference_mode):
            with mode():
                x.numpy()[0] += 1
                total = np.asarray(x).sum() + np.array(x).sum() + np.stack([x, x]).sum()
        with pytest.raises(RuntimeError) as error:
            x.numpy()
        with pytest.raises(RuntimeError):
            np.asarray(x)
        return x.tolist(), float(total), str(error.value)

    mine, theirs = both(run)
    assert mine == theirs


def test_asarray_by_name(both, same):
    same(*both(lambda t: t.asarray(obj=[[0, 1], [2, 3]], dtype=t.float64, copy=True)))
