"""Programs import torch.utils.flop_counter to count what their networks compute. Nothing is counted here."""

from __future__ import annotations

from .. import _missing

__getattr__ = _missing.getattr_of(__name__)


class FlopCounterMode:
    """Not supported."""

    def __init__(self, *arguments, **settings):
        raise NotImplementedError(
            "FlopCounterMode: operations are not intercepted, so that none is counted; torch.profiler times them, and "
            "shows the shapes of what they are given"
        )


__all__ = ["FlopCounterMode"]
