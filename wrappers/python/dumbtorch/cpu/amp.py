"""torch.cpu.amp: the names that torch.amp had for the CPU alone."""

from .. import _missing
from ..amp.of_device import GradScaler as ScalerOfDevice
from ..amp.of_device import autocast as autocast_of_device

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["GradScaler", "autocast"]


class autocast(autocast_of_device):
    """torch.amp.autocast("cpu", ...)."""

    _device_type = "cpu"


class GradScaler(ScalerOfDevice):
    """torch.amp.GradScaler("cpu", ...)."""

    _device_type = "cpu"
