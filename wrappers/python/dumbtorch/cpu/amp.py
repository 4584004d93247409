"""torch.cpu.amp: the names that torch.amp had for the CPU alone."""

from .. import _missing
from ..amp import of_device

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["GradScaler", "autocast"]


class autocast(of_device.autocast):
    """torch.amp.autocast("cpu", ...)."""

    _device_type = "cpu"


class GradScaler(of_device.GradScaler):
    """torch.amp.GradScaler("cpu", ...)."""

    _device_type = "cpu"
