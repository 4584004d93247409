"""save and load: Python objects with tensors in them, as pickles.

The files are dumbtorch's own: PyTorch does not read them, nor dumbtorch PyTorch's. Tensors that
other libraries shall read belong into safetensors files (dumbtorch.safetensors).

pickle and tempfile are imported when they are needed: they would take a fifth of the package's
import time.
"""

from __future__ import annotations

import os

from ._types import device


def save(obj, f) -> None:
    """Writes an object to a path or a file. A reader sees the old file or the new one."""
    import pickle
    import tempfile

    if hasattr(f, "write"):
        pickle.dump(obj, f, protocol=4)
        return
    path = os.fspath(f)
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".save-", delete=False) as file:
        try:
            pickle.dump(obj, file, protocol=4)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def load(f, map_location=None, *, weights_only: bool = True):
    """Reads what save wrote. With weights_only, which is safe for files of strangers, nothing but
    tensors, numbers, text and containers. Everything is loaded to the CPU: map_location may be that
    device, or a dict that says nothing else of it."""
    if isinstance(map_location, dict):
        map_location = map_location.get("cpu")
    if callable(map_location) or (map_location is not None and device(map_location).type != "cpu"):
        raise NotImplementedError(
            "load: everything is loaded to the CPU, so map_location must be 'cpu': move what was "
            "loaded"
        )
    if hasattr(f, "read"):
        return _read(f, weights_only)
    with open(os.fspath(f), "rb") as file:
        return _read(file, weights_only)


def _read(file, weights_only: bool):
    import pickle

    from ._unpickle import WeightsOnly

    return (WeightsOnly if weights_only else pickle.Unpickler)(file).load()
