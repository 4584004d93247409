"""Tensors in files that other libraries read too: the functions of safetensors.torch."""

from __future__ import annotations

import os

from . import _ops

__all__ = ["load_file", "load_model", "save_file", "save_model"]


def save_file(tensors: dict, filename, metadata=None) -> None:
    """Writes named tensors. A reader sees the old file or the new one, whole."""
    if metadata:
        raise NotImplementedError("save_file: metadata is not supported")
    names = list(tensors)
    values = [_ops.detach(tensors[name]) for name in names]
    _ops.save_safetensors(os.fspath(filename), names, values)


def load_file(filename, device="cpu") -> dict:
    """The tensors of a file by name."""
    names, tensors = _ops.load_safetensors(os.fspath(filename))
    return {n: _ops.to(t, device) for n, t in zip(names, tensors, strict=True)}


def save_model(model, filename) -> None:
    """save_file of a module's state dict."""
    save_file(model.state_dict(), filename)


def load_model(model, filename, strict: bool = True):
    """Loads a module's state dict from a file."""
    return model.load_state_dict(load_file(filename), strict=strict)
