"""Tensors in files that other libraries read too: the functions of safetensors.torch."""

from __future__ import annotations

import json
import os

from . import _missing, _ops
from ._runtime import CancelledError

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["CancelledError", "load_file", "load_model", "safe_open", "save_file", "save_model"]


def save_file(tensors: dict, filename, metadata=None, *, progress=None) -> None:
    """Writes named tensors. A reader sees the old file or the new one, whole.

    progress(bytes_done, bytes_in_all) is called now and then. If it gives something true, the old
    file stays and CancelledError is raised.
    """
    if metadata:
        raise NotImplementedError("save_file: metadata is not supported")
    names = list(tensors)
    values = [_ops.detach(tensors[name]) for name in names]
    _ops.save_safetensors(os.fspath(filename), names, values, progress)


def load_file(filename, device="cpu", *, progress=None) -> dict:
    """The tensors of a file by name. progress is as in save_file."""
    names, tensors = _ops.load_safetensors(os.fspath(filename), None, progress)
    return {n: _ops.to(t, device) for n, t in zip(names, tensors, strict=True)}


class safe_open:
    """A file whose tensors are read one by one: with safe_open(name, "pt") as f: f.get_tensor("w").

    framework is there for scripts that name it: tensors are dumbtorch's.
    """

    _file = None

    def __init__(self, filename, framework="pt", device="cpu"):
        self._device = device
        names = _ops.safetensors_names(os.fspath(filename))  # checks the header
        self._file = open(filename, "rb", buffering=0)
        length = int.from_bytes(self._file.read(8), "little")
        entries = json.loads(self._file.read(length))
        self._entries = {name: entries[name] for name in names}
        self._data_at = 8 + length

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        if self._file is not None:
            self._file.close()

    __del__ = __exit__

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return list(self._entries)

    def get_tensor(self, name: str):
        """One tensor; the others are not read."""
        if name not in self._entries:
            raise KeyError(f"File does not contain tensor {name}")
        (tensor,) = _ops.load_safetensors_bytes(self._file_of(name))[1]
        return _ops.to(tensor, self._device)

    def _file_of(self, name: str) -> bytearray:
        """What a file that holds one tensor alone would be: the library checks it as any other."""
        begin, end = self._entries[name]["data_offsets"]
        entry = self._entries[name] | {"data_offsets": [0, end - begin]}
        header = json.dumps({name: entry}).encode()
        start = len(header).to_bytes(8, "little") + header
        file = bytearray(len(start) + end - begin)
        file[: len(start)] = start
        self._file.seek(self._data_at + begin)
        self._file.readinto(memoryview(file)[len(start) :])
        return file


def save_model(model, filename) -> None:
    """save_file of a module's state dict."""
    save_file(model.state_dict(), filename)


def load_model(model, filename, strict: bool = True):
    """Loads a module's state dict from a file."""
    return model.load_state_dict(load_file(filename), strict=strict)
