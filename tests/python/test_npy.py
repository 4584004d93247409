""".npy and .npz files, both ways, with NumPy as the truth."""

import io
import struct

import dumbtorch as dt
import pytest

np = pytest.importorskip("numpy")
data = dt.utils.data

DTYPES = ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
SHAPES = [(), (0,), (1,), (3, 4), (2, 0, 3), (2, 1, 3, 2)]


def numbers(shape, dtype):
    return (np.arange(int(np.prod(shape))) % 5).reshape(shape).astype(dtype)


def check(x, array):
    assert str(x.dtype) == f"torch.{array.dtype.name}" and tuple(x.shape) == array.shape
    assert x.tolist() == array.tolist()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ways(tmp_path, dtype, shape):
    array, path = numbers(shape, dtype), tmp_path / "x.npy"
    np.save(path, array)
    read = data.load_npy(path)
    check(read, array)
    data.save_npy(tmp_path / "y.npy", read)
    again = np.load(tmp_path / "y.npy")
    assert (
        again.dtype == array.dtype and np.array_equal(again, array) and again.shape == array.shape
    )
    assert (tmp_path / "y.npy").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_orders_and_versions(tmp_path, order, version):
    array = np.asfortranarray(numbers((3, 4, 2), f"{order}f4"))
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, array, version)
    read = data.load_npy(tmp_path / "x.npy")
    assert read.tolist() == array.tolist() and read.stride() == (1, 3, 12)


def test_views_are_written_in_order(tmp_path):
    x = dt.arange(12.0).view(3, 4).t()[1:, ::2].requires_grad_()
    data.save_npy(tmp_path / "x.npy", x)
    assert np.load(tmp_path / "x.npy").tolist() == x.tolist()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_from_numpy(tmp_path, save):
    arrays = {"a": numbers((3, 4), "float32"), "ü": numbers((), "int64"), "b": np.zeros((100, 100))}
    save(tmp_path / "x.npz", **arrays)
    names, tensors = data.load_npz(tmp_path / "x.npz")
    assert names == list(arrays)
    for x, array in zip(tensors, arrays.values(), strict=True):
        check(x, array)
    names, (x,) = data.load_npz(tmp_path / "x.npz", ["ü"])
    assert names == ["ü"] and x.item() == 0
    with pytest.raises(IndexError, match="does not contain array 'c'"):
        data.load_npz(tmp_path / "x.npz", ["c"])


def test_npz_for_numpy(tmp_path):
    tensors = [dt.arange(6).view(2, 3).t(), dt.tensor(True), dt.empty(0, 3)]
    data.save_npz(tmp_path / "x.npz", ["a", "ü", "c"], tensors)
    with np.load(tmp_path / "x.npz") as file:
        assert list(file) == ["a", "ü", "c"]
        for name, x in zip(file, tensors, strict=True):
            check(x, file[name])


def test_what_cannot_be(tmp_path):
    path = tmp_path / "x.npy"
    with pytest.raises(NotImplementedError, match="NumPy has no dtype bfloat16"):
        data.save_npy(path, dt.ones(2, dtype=dt.bfloat16))
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded when allow_pickle=False"):
        data.load_npy(path)
    for array in (np.ones(2, "complex64"), np.ones(2, "uint16"), np.zeros(2, [("a", "f4")])):
        np.save(path, array)
        with pytest.raises(NotImplementedError, match=r"x\.npy"):
            data.load_npy(path)
    with pytest.raises(ValueError, match="appears twice"):
        data.save_npz(path, ["a", "a"], [dt.ones(1), dt.ones(1)])


def npy(header: str, content=b"", start=b"\x93NUMPY\1\0", length=None):
    text = header.encode()
    return start + struct.pack("<H", len(text) if length is None else length) + text + content


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"
LIES = {
    "empty": b"",
    "magic": npy(GOOD, b"1234", b"\x93NUMPX\1\0"),
    "version": npy(GOOD, b"1234", b"\x93NUMPY\4\0"),
    "cut off": npy(GOOD, b"123"),
    "too long": npy(GOOD, b"12345"),
    "header cut off": npy(GOOD, b"", length=500),
    "header short": npy(GOOD, b"1234", length=20),
    "no shape": npy("{'descr': '<f4', 'fortran_order': False}", b"1234"),
    "unknown key": npy(GOOD.replace("descr", "descz"), b"1234"),
    "negative size": npy(GOOD.replace("1,", "-1,"), b"1234"),
    "size wraps": npy(GOOD.replace("1,", f"{2**62}, 4"), b""),
    "size of 2^64": npy(GOOD.replace("1,", f"{2**64 + 1},"), b"1234"),
    "code": npy(GOOD.replace("False", "exit()"), b"1234"),
    "two": npy(GOOD + GOOD, b"1234"),
    "deep": npy("{'shape': " + "(" * 50000 + "}"),
    "bool of 2": npy(GOOD.replace("<f4", "|b1"), b"\2"),
}


@pytest.mark.parametrize("name", LIES)
def test_files_that_lie(tmp_path, name):
    path = tmp_path / "lie.npy"
    path.write_bytes(LIES[name])
    with pytest.raises((OSError, RuntimeError), match=r"load_npy: .*\w"):
        data.load_npy(path)
    with pytest.raises(OSError):
        data.load_npz(path)


def test_the_good_one(tmp_path):
    (tmp_path / "x.npy").write_bytes(npy(GOOD, b"\0\0\x80?"))
    assert data.load_npy(tmp_path / "x.npy").tolist() == [1.0]
    assert np.load(io.BytesIO(npy(GOOD, b"\0\0\x80?"))).tolist() == [1.0]
