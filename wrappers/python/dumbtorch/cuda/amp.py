"""torch.cuda.amp: the names that torch.amp had for CUDA alone."""

from __future__ import annotations

import functools

from .. import amp
from .._types import dtype as _dtype

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """torch.amp.autocast("cuda", ...)."""

    def __init__(
        self, enabled: bool = True, dtype: _dtype | None = None, cache_enabled: bool = True
    ):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """torch.amp.GradScaler("cuda", ...)."""

    def __init__(self, *args, **options):
        super().__init__("cuda", *args, **options)


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")
