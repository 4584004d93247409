"""Tensors in files that other libraries read too: the functions of safetensors.torch."""

from __future__ import annotations

import os

from . import _ops
from ._runtime import CancelledError

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
    return _load(filename, device, None, progress)


def _load(filename, device, only, progress=None) -> dict:
    names, tensors = _ops.load_safetensors(os.fspath(filename), only, progress)
    return {n: _ops.to(t, device) for n, t in zip(names, tensors, strict=True)}


class safe_open:
    """A file whose tensors are read one by one: with safe_open(name, "pt") as f: f.get_tensor("w").

    framework is there for scripts that name it: tensors are dumbtorch's.
    """

    def __init__(self, filename, framework="pt", device="cpu"):
        self._filename, self._device = os.fspath(filename), device
        self._names = _ops.safetensors_names(self._filename)

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        pass

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return list(self._names)

    def get_tensor(self, name: str):
        """One tensor; the others are not read."""
        if name not in self._names:
            raise KeyError(f"File does not contain tensor {name}")
        return _load(self._filename, self._device, [name])[name]


def save_model(model, filename) -> None:
    """save_file of a module's state dict."""
    save_file(model.state_dict(), filename)


def load_model(model, filename, strict: bool = True):
    """Loads a module's state dict from a file."""
    return model.load_state_dict(load_file(filename), strict=strict)
