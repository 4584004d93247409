"""torch.cpu.amp: the names that torch.amp had for the CPU alone."""

from __future__ import annotations

from .. import amp
from .._types import dtype as _dtype

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """torch.amp.autocast("cpu", ...)."""

    def __init__(
        self, enabled: bool = True, dtype: _dtype | None = None, cache_enabled: bool = True
    ):
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """torch.amp.GradScaler("cpu", ...)."""

    def __init__(self, *args, **options):
        super().__init__("cpu", *args, **options)
