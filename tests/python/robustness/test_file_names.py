"""Names of files are whatever the system takes: saving makes a file of exactly that name or is an
error, and leaves nothing else behind."""

import os
from pathlib import Path

import dumbtorch as dt
import pytest

MODEL = dt.nn.Linear(2, 2)


SAVES = {
    "save": (lambda path: dt.save(MODEL.state_dict(), path), dt.load),
    "save_file": (
        lambda path: dt.safetensors.save_file(MODEL.state_dict(), path),
        dt.safetensors.load_file,
    ),
    "save_model": (
        lambda path: dt.safetensors.save_model(MODEL, path),
        lambda path: dt.safetensors.load_model(MODEL, path),
    ),
}
NAMES = {
    "plain": b"file",
    "not UTF-8": b"\xff\xfea\x80",
    "UTF-8": "Gewöhnlich 模型".encode(),
    "newline and quotes": b"'\n\"%s\\{}",
    "space": b" ",
    "dash": b"-",
    "255 bytes": b"x" * 255,
    "255 bytes of characters": "ö".encode() * 127 + b"x",
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(("save", "load"), SAVES.values(), ids=SAVES)
def test_any_name(save, load, name):
    for path in (name, os.fsdecode(name), Path(os.fsdecode(name))):
        for _ in range(2):  # a new file, and one in the place of an old one
            save(path)
            assert os.listdir(b".") == [name]
        load(path)
        os.unlink(name)


@pytest.mark.parametrize("name", ["", "missing/file", "missing/", "folder", "folder/", "x" * 256,
                                  "x" * 5000, "folder/file/", "folder/file/more", "loop"])  # fmt: skip
@pytest.mark.parametrize(("save", "load"), SAVES.values(), ids=SAVES)
def test_names_of_no_file(save, load, name):
    os.mkdir("folder")
    Path("folder/file").touch()
    os.symlink("loop", "loop")
    has_folder = os.path.isdir(os.path.dirname(name) or ".")
    for path in (name, os.fsencode(name)):
        # PyTorch's sentence about folders that are not there is a RuntimeError.
        is_pytorchs = save is SAVES["save"][0] and not has_folder
        with pytest.raises(RuntimeError if is_pytorchs else OSError):
            save(path)
        if name != "folder/file":
            with pytest.raises(OSError):
                load(path)
    assert sorted(os.listdir(".")) == ["folder", "loop"] and os.listdir("folder") == ["file"]


@pytest.mark.parametrize(("save", "load"), SAVES.values(), ids=SAVES)
def test_names_that_are_none(save, load):
    for name in ("a\0b", b"a\0b"):
        with pytest.raises(ValueError, match="embedded null"):
            save(name)
        with pytest.raises(ValueError, match="embedded null"):
            load(name)
    for name in (7, None):
        with pytest.raises((AttributeError, TypeError), match="expected"):
            save(name)
    assert os.listdir(".") == []


@pytest.mark.parametrize(("save", "load"), SAVES.values(), ids=SAVES)
def test_links_stay(save, load):
    os.mkdir("folder")
    os.symlink("folder/file", "link")
    for _ in range(2):
        save("link")
        assert os.path.islink("link") and os.listdir("folder") == ["file"]
        load("link")
    assert sorted(os.listdir(".")) == ["folder", "link"]


def test_nothing_is_left_of_what_cannot_be_saved():
    with pytest.raises(Exception, match="pickle"):
        dt.save({"a": lambda: 0}, "file")
    with pytest.raises(RuntimeError):
        dt.safetensors.save_file({"a": dt.ones(2)}, "file", progress=lambda done, total: True)
    assert os.listdir(".") == []


def test_idx_files_have_any_name_too():
    name = b"\xff\n.idx"
    Path(os.fsdecode(name)).write_bytes(b"\0\0\10\1\0\0\0\1x")
    for path in (name, os.fsdecode(name), Path(os.fsdecode(name))):
        assert dt.utils.data.read_idx(path).tolist() == [ord("x")]
