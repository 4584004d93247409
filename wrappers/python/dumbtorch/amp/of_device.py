"""autocast and GradScaler as torch.cpu.amp and torch.cuda.amp have them: of one kind of device, which a subclass
names."""

from __future__ import annotations

from .._types import dtype as _dtype
from .._warning import warn_each
from . import autocast_mode, grad_scaler


def _older(device: str, name: str) -> str:
    return (
        f"`torch.{device}.amp.{name}(args...)` is deprecated. "
        f"Please use `torch.amp.{name}('{device}', args...)` instead."
    )


class autocast(autocast_mode.autocast):
    """torch.amp.autocast without its first argument."""

    _device_type: str

    def __init__(
        self, enabled: bool = True, dtype: _dtype | None = None, cache_enabled: bool = True
    ):
        warn_each(_older(self._device_type, "autocast"), FutureWarning)
        super().__init__(self._device_type, dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """torch.amp.GradScaler without its first argument."""

    _device_type: str

    def __init__(self, *args, **options):
        warn_each(_older(self._device_type, "GradScaler"), FutureWarning)
        super().__init__(self._device_type, *args, **options)
