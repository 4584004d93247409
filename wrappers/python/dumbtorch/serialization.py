"""save and load: Python objects with tensors in them, as pickles.

The files are dumbtorch's own: PyTorch does not read them, nor dumbtorch PyTorch's. Tensors that
other libraries shall read belong into safetensors files (dumbtorch.safetensors).
"""

from __future__ import annotations

import os
import pickle
import tempfile

# What a file may name: containers and tensors, nothing that runs code of the file's choice.
_ALLOWED = {
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("dumbtorch", "Size"),
    ("dumbtorch", "Tensor"),
    ("dumbtorch._creation", "from_bytes"),
    ("dumbtorch._tensor", "Tensor"),
    ("dumbtorch._types", "Size"),
    ("dumbtorch._types", "device"),
    ("dumbtorch.nn.parameter", "Parameter"),
    *(("dumbtorch._types", d) for d in ("float32", "float64", "int64", "int32", "uint8", "bool_")),
    *(("builtins", name) for name in ("dict", "list", "set", "tuple", "complex", "slice")),
}


def save(obj, f) -> None:
    """Writes an object to a path or a file. A reader sees the old file or the new one."""
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
    tensors, numbers, text and containers."""
    if hasattr(f, "read"):
        return _read(f, weights_only)
    with open(os.fspath(f), "rb") as file:
        return _read(file, weights_only)


def _read(file, weights_only: bool):
    return (_WeightsOnly(file) if weights_only else pickle.Unpickler(file)).load()


class _WeightsOnly(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"load: the file names {module}.{name}, which weights_only=True does not allow. "
                f"Pass "
                "weights_only=False only for files that you trust."
            )
        return super().find_class(module, name)
