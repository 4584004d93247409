"""save and load: PyTorch's checkpoints.

A checkpoint is a zip file with a pickle, data.pkl, and a record for each storage. The library reads
and writes the zip file; pickles are read by _unpickle.py, or by Python's where the file is trusted.
A storage is a tensor of one dimension here.

pickle is imported when it is needed: it would lengthen the package's import time.
"""

from __future__ import annotations

import functools
import io
import os
import stat
from collections.abc import Callable

from . import _missing, _ops, safetensors
from ._creation import frombuffer
from ._native import ffi, lib
from ._runtime import NULL, keep_alive, wrap
from ._types import WITHOUT, bool_, device, uint8
from .storage import TypedStorage

__getattr__ = _missing.getattr_of(__name__)

_MAGIC = 0x1950A86A20F9469CFC6C  # files before PyTorch 1.6 begin with it
_LEGACY_PROTOCOL = 1001
_PATHS = (str, bytes, os.PathLike)
MAP_LOCATION = (
    Callable[[TypedStorage, str], TypedStorage] | device | str | dict[str, str] | None
)  # load's


class SourceChangeWarning(Warning):
    """PyTorch's warning that the source of a class has changed since its pickle was written; nobody looks here."""


# ---- which classes a file may name


def add_safe_globals(safe_globals: list) -> None:
    """Lets load(weights_only=True) call these functions and classes, or (object, name) pairs."""
    from . import _unpickle

    for entry in safe_globals:
        value, name = entry if isinstance(entry, tuple) else (entry, None)
        _unpickle.safe_globals[name or f"{value.__module__}.{value.__qualname__}"] = value


def get_safe_globals() -> list:
    """What add_safe_globals has added."""
    from . import _unpickle

    return list(_unpickle.safe_globals.values())


def clear_safe_globals() -> None:
    """Takes back what add_safe_globals has added."""
    from . import _unpickle

    _unpickle.safe_globals.clear()


class safe_globals:
    """add_safe_globals for the time of a with statement."""

    def __init__(self, safe_globals: list):
        self._added = safe_globals

    def __enter__(self):
        from . import _unpickle

        self._before = dict(_unpickle.safe_globals)
        add_safe_globals(self._added)

    def __exit__(self, *error):
        from . import _unpickle

        _unpickle.safe_globals.clear()
        _unpickle.safe_globals.update(self._before)


# ---- saving


def save(
    obj, f, pickle_module=None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Writes an object to a path or a file, as PyTorch does. A reader of the path sees the old file
    or the new one. The format is the new one, whatever the last two arguments say."""
    if pickle_module is not None and pickle_module.__name__ != "pickle":
        raise NotImplementedError("save: pickle_module must be pickle")
    names, records = _records(obj, pickle_protocol)
    if hasattr(f, "write"):
        _write_archive(f, names, records)
        return
    if not isinstance(f, _PATHS):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    path = os.fsdecode(f)
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    if _is_special(path):
        with open(path, "wb") as file:
            _write_archive(file, names, records)
    else:
        _ops.save_archive(path, names, records)


def _write_archive(file, names, records) -> None:
    whole = _ops.archive_bytes(names, records)
    file.write(ffi.buffer(ffi.cast("char *", whole.data_ptr()), whole.numel()))


def _is_special(path: str) -> bool:
    """Whether it is a device or a pipe, which is written to and not replaced."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _records(obj, protocol: int):
    """The archive's records and their names: the pickle and the storages that it mentions."""
    from ._pickler import Pickler

    content = io.BytesIO()
    pickler = Pickler(content, protocol)
    pickler.dump(obj)
    parts = {
        "data.pkl": _from_bytes(content.getvalue()),
        "byteorder": _from_bytes(b"little"),
        **{f"data/{key}": storage for key, storage in pickler.storages.values()},
        "version": _from_bytes(b"3\n"),
    }
    return [f"archive/{name}" for name in parts], list(parts.values())


def _from_bytes(content):
    return frombuffer(bytearray(content), dtype=uint8)


# ---- loading


def load(
    f,
    map_location=None,
    pickle_module=None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
):
    """Reads what save, or PyTorch's, wrote to a path or a file.

    With weights_only, the default without a pickle_module, it makes nothing but tensors, storages,
    numbers, text and containers, and is safe for files of strangers. map_location says where storages
    go: a device, a dict from one device's name to another's, or a function of a storage, which is a
    tensor of one dimension on the CPU, and of the name of its device. With mmap, tensors look at the
    file.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    read = _reader(weights_only, pickle_module, encoding)
    restore = _restorer(map_location)
    if hasattr(f, "read"):
        if mmap:
            raise ValueError("f must be a file path in order to use the mmap argument")
        content = f.read()
        if not _is_archive(content):
            return _load_legacy(content, read, restore)
        return _load_archive(_ops.load_archive_bytes(content), read, restore)
    if not isinstance(f, _PATHS):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that is "
            "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        )
    path = os.fsdecode(f)
    if path.endswith(".safetensors"):
        return _load_safetensors(path, map_location)
    with open(path, "rb") as file:
        if not _is_archive(file.read(len(_ZIP))):
            if mmap:
                raise RuntimeError(
                    "mmap can only be used with files saved with "
                    "`torch.save(_use_new_zipfile_serialization=True), please torch.save your "
                    "checkpoint with this option in order to use mmap."
                )
            file.seek(0)
            return _load_legacy(file.read(), read, restore)
    return _load_archive(_ops.load_archive(path, bool(mmap)), read, restore)


_ZIP = b"PK\3\4"


def _is_archive(content: bytes) -> bool:
    return content[: len(_ZIP)] == _ZIP


def _load_safetensors(path: str, map_location):
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device "
            "string or torch.device instead."
        )
    return safetensors.load_file(path, map_location or "cpu")


def _load_archive(archive, read, restore):
    """What data.pkl describes."""
    from pickle import UnpicklingError

    records = dict(zip(*archive, strict=True))
    folder = next(iter(records), "").partition("/")[0]
    if f"{folder}/constants.pkl" in records:
        raise RuntimeError("load: the file is a TorchScript archive, which is not supported")
    if f"{folder}/data.pkl" not in records:
        raise UnpicklingError("load: the zip file has no data.pkl, so it is no checkpoint")
    if _to_bytes(records.get(f"{folder}/byteorder")) not in (b"", b"little"):
        raise NotImplementedError("load: the file has the bytes of numbers in another order")
    storages = {}

    def persistent_load(saved_id):
        _, kind, key, location, numel, *_ = saved_id
        _check_words(key, location)
        if key not in storages:
            record = records.get(f"{folder}/data/{key}")
            if record is None or numel * kind.dtype.itemsize != record.numel():
                raise UnpicklingError(f"load: the file has no storage {key!r} of {numel} elements")
            elements = restore(_as_dtype(record, kind.dtype), location)
            storages[key] = TypedStorage.of_elements(elements)
        return _checked(storages[key], kind.dtype)

    return read(_to_bytes(records[f"{folder}/data.pkl"]), persistent_load)[0]


def _load_legacy(content: bytes, read, restore):
    """Files of PyTorch before 1.6: pickles one after the other, then the storages."""
    from pickle import UnpicklingError

    if not content:
        raise EOFError("load: the file is empty")
    if content[:4] != b"\x80\2\x8a\n":  # a pickle that begins with a long of ten bytes
        raise UnpicklingError("load: Invalid magic number; corrupt file?")
    storages = {}
    room = len(content)

    def persistent_load(saved_id):
        nonlocal room
        if saved_id[0] in ("module", b"module"):  # a class, and the text that it had
            return saved_id[1]
        _, kind, key, location, numel, view, *_ = (*saved_id, None)
        _check_words(key, location)
        if key not in storages:
            room -= numel * kind.dtype.itemsize
            if numel < 0 or room < 0:
                raise UnpicklingError(f"load: the file has no storage {key!r} of {numel} elements")
            elements = restore(_ops.empty((numel,), dtype=kind.dtype), location)
            storages[key] = TypedStorage.of_elements(elements)
        storage = _checked(storages[key], kind.dtype)
        if view is None:
            return storage
        return TypedStorage.of_elements(_ops.narrow(storage._elements, 0, *view[1:]))

    def refuse(saved_id):
        raise UnpicklingError("load: a storage stands where there can be none")

    magic, at = read(content, refuse)
    protocol, at = read(content, refuse, at)
    if magic != _MAGIC or protocol != _LEGACY_PROTOCOL:
        raise UnpicklingError("load: Invalid magic number; corrupt file?")
    _, at = read(content, refuse, at)  # about the machine
    out, at = read(content, persistent_load, at)
    keys, at = read(content, refuse, at)
    if type(keys) is list:
        _check_words(*keys)
    if type(keys) is not list or set(keys) != set(storages) or len(keys) != len(storages):
        raise UnpicklingError("load: the file does not have the storages that it mentions")
    for key in keys:
        at = _fill(storages[key]._elements, content, at)
    return out


def _fill(storage, content: bytes, at: int) -> int:
    """Copies the elements from where a number says how many they are; gives what lies behind."""
    from pickle import UnpicklingError

    numel, start = int.from_bytes(content[at : at + 8], "little"), at + 8
    end = start + storage.nbytes
    if numel != storage.numel() or end > len(content):
        raise UnpicklingError("load: the file is cut off, or a storage has another size")
    if numel:
        elements = _as_dtype(_from_bytes(content[start:end]), storage.dtype)
        _ops.copy_(storage, elements)
    return end


def _to_bytes(record) -> bytes:
    if record is None or not record.numel():
        return b""
    return bytes(ffi.buffer(ffi.cast("char *", record.data_ptr()), record.numel()))


def _as_dtype(record, dtype):
    """The bytes of a record as elements: the same memory."""
    from pickle import UnpicklingError

    if dtype is bool_ and _ops.any(_ops.gt(record, 1)).item():
        raise UnpicklingError("load: a bool is neither 0 nor 1")
    numel = record.numel() // dtype.itemsize
    args = (record.data_ptr(), record.numel(), [numel], 1, NULL, 0, dtype.number)
    return wrap(lib.py_from_blob(*args, keep_alive(record)))


def _check_words(*names) -> None:
    """Refuses other names of storages and of their places: a tower of tuples could not be hashed."""
    from pickle import UnpicklingError

    if not all(isinstance(name, (str, bytes)) for name in names):
        raise UnpicklingError("load: a storage or its place has no name")


def _checked(storage, dtype):
    from pickle import UnpicklingError

    if storage.dtype is not dtype:
        raise UnpicklingError(f"load: a storage is said to be of {dtype} and of {storage.dtype}")
    return storage


# ---- where storages go


def _restorer(map_location):
    """The function of a storage and of where it was saved that gives it where it shall be."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        for to in map_location.values():
            _refuse_absent(str(to))
        return lambda storage, where: default_restore_location(
            storage, map_location.get(where, where)
        )
    if callable(map_location):

        def call(storage, where):
            out = map_location(storage, where)
            return default_restore_location(storage, where) if out is None else out

        return call
    to = os.fsdecode(map_location) if isinstance(map_location, bytes) else str(map_location)
    _refuse_absent(to)
    return lambda storage, where: default_restore_location(storage, to)


def _refuse_absent(location: str) -> None:
    """Says of a device of PyTorch's that is not here why it is not."""
    if location.partition(":")[0] in WITHOUT:
        device(location)


def default_restore_location(storage, location):
    """The storage on the device that a location such as "cpu" or "cuda:0" names."""
    from . import cuda

    location = str(location)
    kind = location.partition(":")[0]
    if kind == "cpu":
        return storage
    if kind != "cuda":
        raise RuntimeError(
            "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{location})"
        )
    if not cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    return _ops.to(storage, location)


# ---- pickles


def _reader(weights_only: bool, pickle_module, encoding: str):
    """read(content, persistent_load, at) gives an object and where its pickle ends."""
    from ._unpickle import read_trusted, read_weights

    if weights_only:
        return read_weights
    return functools.partial(read_trusted, pickle_module, encoding)
