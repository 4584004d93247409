"""Checkpoints: what PyTorch writes is read, what is written PyTorch reads."""

import io
import os
import pickle
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path

import dumbtorch as dt
import pytest
from dumbtorch import _ops

pytest.importorskip("torch")
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "bool"]  # fmt: skip
FORMATS = [{}, {"_use_new_zipfile_serialization": False}]


def saved(t, obj, **options) -> bytes:
    file = io.BytesIO()
    t.save(obj, file, **options)
    return file.getvalue()


def loaded(t, content, **options):
    return t.load(io.BytesIO(content), **options)


def example(t):
    """What a checkpoint may hold, as either library makes it."""
    base = t.arange(12.0).view(3, 4)
    tensors = {
        name: (t.arange(6) % 2).view(2, 3).to(getattr(t, name)) for name in DTYPES
    }  # fmt: skip
    return {
        "tensors": OrderedDict(tensors),
        "views": [base, base.t(), base[1:, ::2], base[1, 2], t.ones(1).expand(3, 2), base[2:2]],
        "odd": (t.tensor(1.5), t.empty(0), t.empty(2, 0, 3), t.ones(3).requires_grad_()),
        "parameter": t.nn.Parameter(t.ones(2, dtype=t.float16), requires_grad=False),
        "buffer": t.nn.Buffer(t.ones(2), persistent=False),
        "plain": [
            None,
            True,
            0,
            -1,
            255,
            65536,
            -(2**40),
            10**30,
            1.5,
            float("inf"),
            "ü",
            b"\0\xff",
        ],
        "more": [{1, 2}, 3 + 4j, (), [], {}, bytearray(b"x"), Counter("aab")],
        "ours": [t.Size([1, 2]), t.float64, t.bool, t.device("cpu"), t.float16],
        3: {"nested": [{"deep": (t.zeros(1),)}]},
    }


def tree(x):
    """The object with tensors as plain data, so that two libraries' can be compared."""
    if hasattr(x, "requires_grad"):
        shape, strides = tuple(x.shape), tuple(x.stride())
        data = x.detach().tolist()
        kind = type(x).__name__.replace("Buffer", "Tensor")  # PyTorch marks its Buffers elsewhere
        return kind, str(x.dtype), shape, strides, x.storage_offset(), data
    if isinstance(x, dict):
        return type(x).__name__, [(k, tree(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [tree(v) for v in x]
    return type(x).__name__, str(x)


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_what_pytorch_writes(torch, options, tmp_path):
    theirs = example(torch)
    content = saved(torch, theirs, **options)
    ours = loaded(dt, content)
    assert tree(ours) == tree(theirs) and tree(ours) == tree(example(dt))
    assert tree(loaded(dt, content, weights_only=False)) == tree(theirs)
    assert type(ours["buffer"]) is dt.nn.Buffer and ours["buffer"].persistent is False
    assert [p.requires_grad for p in ours["odd"]] == [False, False, False, True]
    (tmp_path / "x.pt").write_bytes(content)
    assert tree(dt.load(tmp_path / "x.pt")) == tree(theirs)


@pytest.mark.parametrize("weights_only", [True, False])
def test_what_pytorch_reads(torch, weights_only, tmp_path):
    ours = example(dt)
    theirs = loaded(torch, saved(dt, ours), weights_only=weights_only)
    assert tree(theirs) == tree(example(torch))
    dt.save(ours, tmp_path / "x.pt")
    for mmap in (False, True):
        again = torch.load(tmp_path / "x.pt", mmap=mmap)
        assert tree(again) == tree(theirs)
    assert tree(dt.load(tmp_path / "x.pt")) == tree(theirs)


def test_state_dicts_both_ways(torch):
    def train(t, state=None):
        net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh())
        optimizer = t.optim.Adam(net.parameters(), lr=0.1)
        if state:
            net.load_state_dict(state["net"])
            optimizer.load_state_dict(state["optimizer"])
        net(t.arange(8.0).view(4, 2) / 8).sum().backward()
        optimizer.step()
        return {"net": net.state_dict(), "optimizer": optimizer.state_dict()}

    first = train(torch)
    mine, theirs = train(dt, loaded(dt, saved(torch, first))), train(torch, first)
    for name, x in theirs["net"].items():
        torch.testing.assert_close(torch.tensor(mine["net"][name].tolist()), x)
    again = train(torch, loaded(torch, saved(dt, mine)))
    expected = train(torch, theirs)
    for name, x in expected["net"].items():
        torch.testing.assert_close(again["net"][name], x)


def test_metadata(torch):
    """PyTorch's state dicts say which version a module's entries are of."""
    theirs = torch.nn.BatchNorm1d(2).state_dict()
    ours = loaded(dt, saved(torch, theirs))
    assert type(ours) is OrderedDict and ours._metadata == theirs._metadata
    assert loaded(torch, saved(dt, ours))._metadata == theirs._metadata


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_a_storage_is_shared(torch, options):
    base = torch.zeros(1000)
    content = saved(torch, [base, base[2:5], base.view(10, 100).t()], **options)
    assert len(content) < 7000
    a, b, c = loaded(dt, content)
    a[2] = 7
    assert b[0].item() == 7 and c[2, 0].item() == 7
    content = saved(dt, [a, b, c])
    assert len(content) < 7000
    a, b, c = loaded(torch, content)
    a[3] = 5
    assert b.tolist() == [7, 5, 0] and c[3, 0] == 5


def test_one_storage_has_one_dtype(torch):
    bits = torch.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved(torch, [bits, bits.view(torch.int32)])
    x = dt.from_numpy(bits.numpy())
    y = dt.from_numpy(bits.view(torch.int32).numpy())
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved(dt, [x, y])


def test_mmap(torch, tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(5.0), "b": torch.empty(0)}, path)
    before = path.read_bytes()
    state = dt.load(path, mmap=True)
    state["a"][1] = 9  # only in memory
    assert state["a"].tolist() == [0, 9, 2, 3, 4] and path.read_bytes() == before
    os.unlink(path)
    assert (state["a"] + 1).tolist() == [1, 10, 3, 4, 5]
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        dt.load(io.BytesIO(before), mmap=True)
    path.write_bytes(saved(torch, [1], _use_new_zipfile_serialization=False))
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        dt.load(path, mmap=True)


def test_mmap_of_one_with_other_alignment(tmp_path):
    dt.save([dt.arange(3.0)], tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as old, zipfile.ZipFile(tmp_path / "y.pt", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert dt.load(tmp_path / "y.pt", mmap=True)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_map_location(torch, options):
    content = saved(torch, torch.ones(2), **options)
    seen = []

    def where(storage, location):
        seen.append((storage.numel(), location))
        return None if len(seen) == 1 else storage

    for place in ("cpu", b"cpu", dt.device("cpu"), {"cuda:0": "cpu"}, {}, None, where, where):
        assert loaded(dt, content, map_location=place).tolist() == [1, 1]
    assert seen == [(2, "cpu")] * 2
    tagged = content.replace(b"X\3\0\0\0cpu", b"X\3\0\0\0mps")
    if not options:  # the checksum of what was changed
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        parts["archive/data.pkl"] = parts["archive/data.pkl"].replace(b"cpu", b"mps")
        tagged = archive(parts)
    for t in (dt, torch):
        assert loaded(t, tagged, map_location={"mps": "cpu"}).tolist() == [1, 1]
        assert loaded(t, tagged, map_location="cpu").tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"don't know how to restore .* \(tagged with mps\)"):
        loaded(dt, tagged)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(dt, content, map_location="cuda" if not dt.cuda.is_available() else "cuda:99")


def archive(parts: dict, **options) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as out:
        for name, content in parts.items():
            out.writestr(name, content)
    return file.getvalue()


def checkpoint(pickled: bytes, **records) -> bytes:
    return archive(
        {"x/data.pkl": pickled, "x/version": "3"} | {f"x/data/{k}": v for k, v in records.items()}
    )


# ---- what is refused


class Calls:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_no_code_is_run(torch, tmp_path):
    path = tmp_path / "here"
    for evil in (Calls(os.system, f"touch {path}"), Calls(eval, "1"), Calls(Path, "x"),
                 Calls(getattr, 1, "real"), Calls(sys.exit)):  # fmt: skip
        content = checkpoint(pickle.dumps(evil, 2))
        messages = []
        for t in (dt, torch):
            with pytest.raises(pickle.UnpicklingError) as info:
                loaded(t, content)
            messages.append(str(info.value))
        said = messages[0].partition("WeightsUnpickler error: ")[2]
        assert (said or "Trying to load unsupported GLOBAL") in messages[1], messages
        (tmp_path / "x.pt").write_bytes(content)
        with pytest.raises(OSError, match="checkpoint_names: .* GLOBAL"):
            _ops.checkpoint_names(str(tmp_path / "x.pt"))
    assert not path.exists()


def test_nothing_that_is_there_is_changed():
    """BUILD sets attributes: those of a class or a function would change the program."""
    before = dict(vars(dt.Tensor)), dt.Size.__repr__
    for name in (b"torch\nSize", b"torch\nTensor", b"torch._utils\n_rebuild_tensor_v2",
                 b"collections\nOrderedDict", b"torch\nFloatStorage", b"torch\nfloat32"):  # fmt: skip
        for state in (b"}X\1\0\0\0aK\1s", b"N}X\10\0\0\0__repr__K\1s\x86"):
            with pytest.raises(pickle.UnpicklingError, match="Can only build Tensor, Parameter"):
                loaded(dt, checkpoint(b"\x80\2c" + name + b"\n" + state + b"b."))
    assert before == (dict(vars(dt.Tensor)), dt.Size.__repr__)


class Point:
    def __init__(self, x):
        self.x = x


def test_safe_globals():
    content = saved(dt, Point(3))
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[.*Point\]\)"):
        loaded(dt, content)
    with dt.serialization.safe_globals([Point]):
        assert loaded(dt, content).x == 3
        assert dt.serialization.get_safe_globals() == [Point]
    dt.serialization.add_safe_globals([(Point, f"{Point.__module__}.Point")])
    assert loaded(dt, content).x == 3
    dt.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        loaded(dt, content)
    assert loaded(dt, content, weights_only=False).x == 3


def test_whole_modules():
    net = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.ReLU())
    again = loaded(dt, saved(dt, net), weights_only=False)
    assert repr(again) == repr(net) and again[0].weight.equal(net[0].weight)


def storage(numel=b"K\2", key=b"X\1\0\0\0a", kind=b"torch\nFloatStorage\n"):
    return b"(X\7\0\0\0storagec" + kind + key + b"X\3\0\0\0cpu" + numel + b"tQ"


def tensor(offset=b"K\0", size=b"K\2\x85", stride=b"K\1\x85", of=None):
    made_of = (of or storage()) + offset + size + stride + b"\x89ccollections\nOrderedDict\n)R"
    return b"\x80\2X\1\0\0\0k" + b"ctorch._utils\n_rebuild_tensor_v2\n(" + made_of + b"tR"


def dictionary(entry: bytes) -> bytes:
    return b"\x80\2}" + entry[2:] + b"s."


BYTES = struct.pack("<ff", 1, 2)
LONG = b"\x8a\x09" + b"\xff" * 8 + b"\0"
LIES = {
    "nothing": b"",
    "no end": dictionary(tensor())[:-1],
    "stack": b"\x80\2.",
    "stack below a mark": b"\x80\2N(0.",
    "pop below a mark": b"\x80\2N(\x85.",
    "no mark": b"\x80\2t.",
    "memo": b"\x80\2h\5.",
    "text cut off": b"\x80\2X\xff\xff\xff\xff.",
    "protocol 4": b"\x80\4\x95\0\0\0\0\0\0\0\0\x94.",
    "instance": b"\x80\2(ios\nsystem\n.",
    "extension": b"\x80\2\x82\1.",
    "offset": dictionary(tensor(offset=b"K\1")),
    "negative offset": dictionary(tensor(offset=b"J\xff\xff\xff\xff")),
    "size": dictionary(tensor(size=b"K\3\x85")),
    "negative size": dictionary(tensor(size=b"J\xff\xff\xff\xff\x85")),
    "huge size": dictionary(tensor(size=LONG + b"\x85")),
    "huge stride": dictionary(tensor(stride=b"\x8a\x08" + b"\xff" * 7 + b"\x7f\x85")),
    "negative stride": dictionary(tensor(stride=b"J\xff\xff\xff\xff\x85")),
    "sizes and strides": dictionary(tensor(stride=b")")),
    "17 dimensions": dictionary(tensor(size=b"(" + b"K\1" * 17 + b"t", stride=b"(" + b"K\1" * 17 + b"t")),
    "size of text": dictionary(tensor(size=b"X\1\0\0\0a\x85")),
    "numel": dictionary(tensor(of=storage(numel=b"K\3"))),
    "huge numel": dictionary(tensor(of=storage(numel=b"\x8a\x08" + b"\xff" * 7 + b"\x7f"))),
    "negative numel": dictionary(tensor(of=storage(numel=b"J\xff\xff\xff\xff"))),
    "key": dictionary(tensor(of=storage(key=b"X\1\0\0\0b"))),
    "deep key of a storage": dictionary(tensor(of=storage(key=b")" + b"\x85" * 1000000))),
    "key of a number": dictionary(tensor(of=storage(key=b"K\1"))),
    "kind": dictionary(tensor(of=storage(kind=b"torch\nSize\n"))),
    "unknown kind": dictionary(tensor(of=storage(kind=b"torch\nComplexFloatStorage\n"))),
    "no storage": dictionary(tensor(of=b"N")),
    "call of a dtype": dictionary(b"\x80\2X\1\0\0\0kctorch\nfloat32\n)R"),
    "deep key": b"\x80\2})" + b"\x85" * 100000 + b"Ns.",
    "deep tuple": dictionary(b"\x80\2X\1\0\0\0k)" + b"\x85" * 100000)[:-2] + b"Rs.",
    "items of a tensor": dictionary(tensor())[:-2] + b"NNs.",
    "odd items": b"\x80\2}(Nu.",
}  # fmt: skip
BROKEN = (pickle.UnpicklingError, RuntimeError)


@pytest.mark.parametrize("name", LIES)
def test_pickles_that_lie(name, tmp_path):
    path = tmp_path / "lie.pt"
    path.write_bytes(checkpoint(LIES[name], a=BYTES))
    with pytest.raises(BROKEN, match=r"\w"):
        dt.load(path)
    if name not in ("deep key", "call of a dtype"):  # what is no tensor is left out there
        with pytest.raises(OSError, match=r"load_checkpoint: .*\w"):
            _ops.load_checkpoint(str(path))


def test_pickles_that_do_not(tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(checkpoint(dictionary(tensor()), a=BYTES))
    assert dt.load(path)["k"].tolist() == [1, 2]
    names, (x,) = _ops.load_checkpoint(str(path))
    assert names == ["k"] and x.tolist() == [1, 2]


# ---- the same from C, C++, Lua, Fortran and Go


def test_core_reads_what_pytorch_writes(torch, tmp_path):
    path = str(tmp_path / "x.pt")
    state = example(torch)
    torch.save(state, path)
    names, tensors = _ops.load_checkpoint(path)
    assert names == _ops.checkpoint_names(path)
    found = dict(zip(names, tensors, strict=True))
    for name, x in state["tensors"].items():
        assert found[f"tensors.{name}"].tolist() == x.tolist()
    for i, x in enumerate(state["views"]):
        assert found[f"views.{i}"].tolist() == x.tolist()
        assert found[f"views.{i}"].stride() == x.stride()
    assert found["odd.3"].requires_grad and not found["parameter"].requires_grad
    assert found["3.nested.0.deep.0"].tolist() == [0]
    found["views.0"][1, 2] = 50
    assert found["views.3"].item() == 50
    names, (one,) = _ops.load_checkpoint(path, ["odd.0"])
    assert names == ["odd.0"] and one.item() == 1.5
    with pytest.raises(IndexError, match="does not contain tensor 'nobody'"):
        _ops.load_checkpoint(path, ["nobody"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_pytorch_reads_what_core_writes(torch, dtype, tmp_path):
    path = str(tmp_path / "x.pt")
    x = (dt.arange(6) % 2).view(2, 3).to(getattr(dt, dtype))
    _ops.save_checkpoint(path, ["x", "x.t ü", "none"], [x, x.t(), dt.empty(0, 2)])
    found = torch.load(path)
    assert type(found) is OrderedDict and list(found) == ["x", "x.t ü", "none"]
    assert found["x"].dtype is getattr(torch, dtype) and found["x.t ü"].tolist() == x.t().tolist()
    found["x"][0, 1] = 0
    assert found["x.t ü"][1, 0] == 0 and found["none"].shape == (0, 2)
    assert dt.load(path)["x.t ü"].stride() == (1, 3)


def test_progress_of_core(tmp_path):
    path, seen = str(tmp_path / "x.pt"), []
    tensors = [dt.ones(1000), dt.ones(500)]
    _ops.save_checkpoint(path, ["a", "b"], tensors, lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 6000) and seen[-1] == (6000, 6000)
    before = Path(path).read_bytes()
    with pytest.raises(dt.safetensors.CancelledError):
        _ops.save_checkpoint(path, ["a"], tensors[:1], lambda done, total: True)
    assert Path(path).read_bytes() == before and os.listdir(tmp_path) == ["x.pt"]
    with pytest.raises(ValueError, match="appears twice"):
        _ops.save_checkpoint(path, ["a", "a"], tensors)


# ---- zip files


def test_archives_both_ways(tmp_path):
    path = str(tmp_path / "x.zip")
    names, records = ["a", "folder/ü", "empty"], [dt.arange(5), dt.ones(3).bool(), dt.empty(0)]
    _ops.save_archive(path, names, records)
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None and file.namelist() == names
        assert file.read("a") == struct.pack("<5q", *range(5)) and file.read("empty") == b""
    assert bytes(_ops.archive_bytes(names, records).tolist()) == Path(path).read_bytes()
    compressed = archive({"a": b"x" * 10000, "b": b"", "c": bytes(range(256))},
                         compression=zipfile.ZIP_DEFLATED)  # fmt: skip
    found = dict(zip(*_ops.load_archive_bytes(compressed), strict=True))
    assert bytes(found["a"].tolist()) == b"x" * 10000 and found["b"].tolist() == []
    assert found["c"].tolist() == list(range(256))


def test_large_numbers_in_zip_files(monkeypatch):
    """zip64, which Python writes for small files too if it is told that they are large."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    content = archive({"a": b"0123456789abcdef", "b": b"y" * 20})
    assert b"PK\6\6" in content
    names, records = _ops.load_archive_bytes(content)
    assert names == ["a", "b"] and bytes(records[0].tolist()) == b"0123456789abcdef"
    for k in range(len(content)):  # cut off anywhere
        with pytest.raises(OSError):
            _ops.load_archive_bytes(content[:k])


def lying_archives():
    good = archive({"aa": b"0123456789", "bb": b"x"})
    directory = good.index(b"PK\1\2")
    second = good.index(b"PK\1\2", directory + 1)
    end = good.index(b"PK\5\6")

    def changed(at, form, value):
        data = bytearray(good)
        struct.pack_into(form, data, at, value)
        return bytes(data)

    yield "checksum", changed(directory + 16, "<I", 1)
    yield "content", good.replace(b"0123456789", b"0123456780")
    yield "size", changed(directory + 24, "<I", 11)
    yield "stored size", changed(directory + 20, "<I", 2**31)
    yield "method", changed(directory + 10, "<H", 14)
    yield "deflated", changed(directory + 10, "<H", 8)
    yield "encrypted", changed(directory + 8, "<H", 1)
    yield "offset", changed(directory + 42, "<I", 5)
    yield "overlap", changed(second + 42, "<I", 0)
    yield "names differ", changed(directory + 46, "<H", 0x4141)
    yield "names equal", good.replace(b"bb", b"aa")
    yield "no UTF-8", good.replace(b"bb", b"\xff\xff")
    yield "long name", changed(directory + 28, "<H", 60000)
    yield "long extra", changed(directory + 30, "<H", 60000)
    yield "count", changed(end + 10, "<H", 3)
    yield "large count", changed(end + 10, "<H", 60000)
    yield "directory", changed(end + 16, "<I", 3)
    yield "directory's size", changed(end + 12, "<I", 2**31)
    yield "comment", good + b"x"
    yield "nothing", b""
    bomb = archive({"a": bytes(1000)}, compression=zipfile.ZIP_DEFLATED)
    at = bomb.index(b"PK\1\2")
    yield "bomb", bomb[: at + 24] + struct.pack("<I", 2**31) + bomb[at + 28 :]
    yield "inflated size", bomb[: at + 24] + struct.pack("<I", 1001) + bomb[at + 28 :]


@pytest.mark.parametrize(
    ("name", "content"), list(lying_archives()), ids=lambda x: x if type(x) is str else ""
)
def test_archives_that_lie(name, content, tmp_path):
    with pytest.raises(OSError, match=r"load_archive_bytes: .*\w"):
        _ops.load_archive_bytes(content)
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(OSError, match=r"load_archive: .*\w"):
        _ops.load_archive(str(tmp_path / "x"))


def test_a_deep_pickle_is_no_problem(tmp_path):
    lists = checkpoint(b"\x80\2" + b"]" * 100001 + b"a" * 100000 + b".")
    out, depth = loaded(dt, lists), 0
    while out:
        (out,), depth = out, depth + 1
    assert depth == 100000
    (tmp_path / "x.pt").write_bytes(lists)
    with pytest.raises(OSError, match="more than 100 deep"):
        _ops.checkpoint_names(str(tmp_path / "x.pt"))


def test_shared_containers_end(tmp_path):
    """A list of twice a list of twice a list ...: its tensors would be more than memory holds."""
    twice = b"q\0]h\0ah\0a"
    (tmp_path / "x.pt").write_bytes(checkpoint(b"\x80\2]" + twice * 60 + b"."))
    with pytest.raises(OSError, match="more than 10000000 entries"):
        _ops.checkpoint_names(str(tmp_path / "x.pt"))
    (tmp_path / "y.pt").write_bytes(checkpoint(b"\x80\2]q\0h\0a."))  # that contains itself
    with pytest.raises(OSError, match="more than 100 deep"):
        _ops.checkpoint_names(str(tmp_path / "y.pt"))


def test_files_that_cannot_be(refusals, tmp_path):
    (tmp_path / "empty").touch()
    mine, theirs = refusals(lambda t: t.load(tmp_path / "empty"), EOFError)
    assert mine[0] is theirs[0]
    mine, theirs = refusals(lambda t: t.save(1, tmp_path / "none" / "x.pt"), RuntimeError)
    assert mine == theirs
