"""torch.cuda.amp: the names that torch.amp had for CUDA alone."""

import functools

from .. import _missing, amp
from ..amp import of_device

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(of_device.autocast):
    """torch.amp.autocast("cuda", ...)."""

    _device_type = "cuda"


class GradScaler(of_device.GradScaler):
    """torch.amp.GradScaler("cuda", ...)."""

    _device_type = "cuda"


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")
