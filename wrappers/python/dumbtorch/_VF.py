"""The functions of torch, where PyTorch's own modules find them: `_VF.lstm` is `torch.lstm`."""

from __future__ import annotations

import inspect
import sys

__all__: list[str] = []


def __getattr__(name: str):
    function = getattr(sys.modules[__package__], name, None)
    if name.startswith("__") or not inspect.isroutine(function):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return function
