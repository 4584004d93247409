"""Files that lie, are cut off or are no such files: always an error with a sentence."""

import gzip
import json
import os
import pickle
import struct
from pathlib import Path

import dumbtorch as dt
import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("seed", [1, 2])
def test_thousands_of_damaged_files(python, tmp_path, seed):
    code = "import runpy, sys; sys.argv[0:1] = []; runpy.run_path(sys.argv[0], run_name='__main__')"
    seen = json.loads(python(code, HERE / "hostile.py", tmp_path, seed, 400))
    for kind in ("idx", "gzip", "in gzip", "safetensors", "checkpoint", "core", "pickle", "core pickle",
                 "legacy", "npy", "npz", "csv"):  # fmt: skip
        assert seen[f"{kind} refused"] > 300, seen


# ---- IDX


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\10",
        b"\0\1\10\1" + struct.pack(">I", 1) + b"x",
        b"\0\0\12\1" + struct.pack(">I", 1) + b"x",
        b"\0\0\10\21" + struct.pack(">17I", *[1] * 17) + b"x",
        b"\0\0\10\377" + struct.pack(">255I", *[1] * 255) + b"x",
        b"\0\0\10\2" + struct.pack(">I", 1),
        b"\0\0\10\1" + struct.pack(">I", 2**32 - 1) + b"x",
        b"\0\0\16\4" + struct.pack(">4I", *[2**32 - 1] * 4),
        b"\0\0\16\20" + struct.pack(">16I", *[2**16] * 16),
        b"\0\0\10\1" + struct.pack(">I", 2) + b"xyz",
    ],
    ids=[
        "empty", "short", "magic", "dtype", "17 dims", "255 dims", "no sizes", "no data", "overflow",
        "wraps to 0", "too much",
    ],
)  # fmt: skip
def test_idx_files_that_lie(tmp_path, content, packed):
    path = tmp_path / "lie.idx"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(OSError, match="lie.idx"):
        dt.utils.data.read_idx(str(path))


def test_gzip_files_that_are_damaged(tmp_path):
    good = gzip.compress(struct.pack(">HBBI", 0, 8, 1, 1000) + os.urandom(1000))
    path = tmp_path / "x.gz"
    wrong_checksum = good[:-8] + b"\0\0\0\0" + good[-4:]
    wrong_length = good[:-4] + b"\0\0\0\0"
    for content in (good[:500], good[:12], good[:2], wrong_checksum, wrong_length):
        path.write_bytes(content)
        with pytest.raises(OSError, match="x.gz"):
            dt.utils.data.read_idx(str(path))


# ---- safetensors


def safetensors(header, data=b"", length=None) -> bytes:
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def entry(begin, end, shape=(1,), dtype="F32") -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


ONE = b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
LIES = {
    "empty": b"",
    "seven bytes": b"\0" * 7,
    "header too long": safetensors({}, length=3),
    "header of 2^63 bytes": safetensors({}, length=1 << 63),
    "header of 2^64 bytes": safetensors({}, length=(1 << 64) - 1),
    "header above the limit": safetensors({}, length=(100 << 20) + 1),
    "no JSON": safetensors(b"hello"),
    "no object": safetensors(b"[]"),
    "two objects": safetensors(b"{}{}"),
    "NUL after it": safetensors(b"{}\0"),
    "open string": safetensors(b'{"a'),
    "open escape": safetensors(b'{"a\\'),
    "half a surrogate": safetensors(b'{"\\ud800":' + ONE + b"}", b"1234"),
    "second half first": safetensors(b'{"\\udc00":' + ONE + b"}", b"1234"),
    "no UTF-8": safetensors(b'{"\xff":' + ONE + b"}", b"1234"),
    "overlong UTF-8": safetensors(b'{"\xc0\x80":' + ONE + b"}", b"1234"),
    "NUL in a name": safetensors(b'{"a\\u0000":' + ONE + b"}", b"1234"),
    "name twice": safetensors(b'{"a":' + ONE + b',"a":' + ONE + b"}", b"1234"),
    "trailing comma": safetensors(b'{"a":' + ONE + b",}", b"1234"),
    "deep lists": safetensors(b'{"a":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"),
    "deep objects": safetensors(b'{"a":' * 1_000_000),
    "deep shape": safetensors(b'{"a":{"shape":' + b"[" * 1_000_000 + b"}}"),
    "deep metadata": safetensors(b'{"__metadata__":' + b'{"a":' * 1_000_000),
    "metadata of numbers": safetensors({"__metadata__": {"a": 1}}),
    "unknown field": safetensors({"a": entry(0, 4) | {"more": 1}}, b"1234"),
    "no dtype": safetensors({"a": {"shape": [1], "data_offsets": [0, 4]}}, b"1234"),
    "no shape": safetensors({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, b"1234"),
    "no offsets": safetensors({"a": {"dtype": "F32", "shape": [1]}}, b"1234"),
    "three offsets": safetensors({"a": entry(0, 4) | {"data_offsets": [0, 4, 4]}}, b"1234"),
    "backward": safetensors({"a": entry(4, 0)}, b"1234"),
    "negative": safetensors({"a": entry(-4, 0)}, b"1234"),
    "negative size": safetensors({"a": entry(0, 4, (-1,))}, b"1234"),
    "fraction": safetensors({"a": entry(0, 4.0)}, b"1234"),
    "offset of 2^64": safetensors({"a": entry(1 << 64, (1 << 64) + 4)}, b"1234"),
    "past the end": safetensors({"a": entry(0, 4), "b": entry(4, 8)}, b"1234"),
    "overlap": safetensors({"a": entry(0, 4), "b": entry(0, 4)}, b"1234"),
    "overlap by one": safetensors({"a": entry(0, 4), "b": entry(3, 7)}, b"1234567"),
    "gap": safetensors({"a": entry(0, 4), "b": entry(8, 12)}, b"123456789012"),
    "begins late": safetensors({"a": entry(4, 8)}, b"12345678"),
    "bytes of nobody": safetensors({"a": entry(0, 4)}, b"12345"),
    "shape too large": safetensors({"a": entry(0, 4, (2,))}, b"1234"),
    "shape too small": safetensors({"a": entry(0, 4, (0,))}, b"1234"),
    "shape wraps to 0": safetensors({"a": entry(0, 0, (1 << 32, 1 << 32))}),
    "shape wraps to 1": safetensors({"a": entry(0, 4, (2**63 - 1, 2**63 - 1))}, b"1234"),
    "bytes wrap": safetensors({"a": entry(0, 0, (1 << 62,))}),
    "17 dimensions": safetensors({"a": entry(0, 4, [1] * 17)}, b"1234"),
    "10^5 dimensions": safetensors({"a": entry(0, 4, [1] * 100_000)}, b"1234"),
    "unknown dtype": safetensors({"a": entry(0, 4, dtype="Z80")}, b"1234"),
    "known dtype we lack": safetensors({"a": entry(0, 2, dtype="F8_E4M3")}, b"12"),
    "empty dtype": safetensors({"a": entry(0, 4, dtype="")}, b"1234"),
    "bool of 2": safetensors({"a": entry(0, 1, dtype="BOOL")}, b"\2"),
}


@pytest.mark.parametrize("name", LIES)
def test_safetensors_files_that_lie(tmp_path, name):
    path = tmp_path / "lie.safetensors"
    path.write_bytes(LIES[name])
    with pytest.raises(
        (OSError, NotImplementedError, RuntimeError), match=r"load_safetensors: .*\w"
    ):
        dt.safetensors.load_file(path)


def test_safetensors_files_that_do_not(tmp_path):
    """What looks odd but is right is read, as the reference implementation reads it."""
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "odd.safetensors"
    for content in (
        safetensors(b"{}"),
        safetensors(b"{}      "),
        safetensors({"a": entry(4, 8), "b": entry(0, 4)}, b"\0\0\x80?\0\0\0@"),
        safetensors({"a": entry(0, 0, (0, 2**40)), "b": entry(0, 4, ())}, b"\0\0\x80?"),
        safetensors({"__metadata__": {"format": "pt"}, "": entry(0, 4)}, b"\0\0\x80?"),
        safetensors(b'{"\\u00fc\\ud83d\\ude00\\n":' + ONE + b"}", b"\0\0\x80?"),
    ):
        path.write_bytes(content)
        ours, theirs = dt.safetensors.load_file(path), numpy.load_file(path)
        assert {k: v.tolist() for k, v in ours.items()} == {
            k: v.tolist() for k, v in theirs.items()
        }


# ---- torch.load


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80", b"\x80\x04", b"\0" * 100, b"PK\3\4"])
def test_load_of_other_files(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises((pickle.UnpicklingError, OSError) if content else EOFError):
        dt.load(path)


def test_load_of_places_that_are_no_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        dt.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        dt.load(tmp_path)
    with pytest.raises(AttributeError, match="has no attribute 'seek'"):
        dt.load(None)
    for read in (dt.safetensors.load_file, lambda p: dt.utils.data.read_idx(str(p))):
        for place in (tmp_path / "nothing", tmp_path, "/dev/null"):
            with pytest.raises(OSError, match=str(place)):
                read(place)
