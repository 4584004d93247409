"""The unpickler behind load(weights_only=True): it makes tensors and containers, no more."""

from __future__ import annotations

import pickle

from ._types import DTYPE

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
    *(("dumbtorch._types", d.__reduce__()) for d in DTYPE.objects.values()),
    *(("builtins", name) for name in ("dict", "list", "set", "tuple", "complex", "slice")),
}


class WeightsOnly(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"load: the file names {module}.{name}, which weights_only=True does not allow. "
                f"Pass "
                "weights_only=False only for files that you trust."
            )
        return super().find_class(module, name)
