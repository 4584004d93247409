"""There are no sparse tensors. Programs write `torch.sparse.torch.eye(n)` for the rows of a one-hot code."""

from __future__ import annotations

import dumbtorch as torch

__all__ = ["torch"]


def __getattr__(name: str):
    said = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(said if name.startswith("__") else f"{said}: there are no sparse tensors")
