"""torch.cuda.amp: the names that torch.amp had for CUDA alone."""

import functools
import sys

from .. import _missing, amp
from ..amp.of_device import GradScaler as ScalerOfDevice
from ..amp.of_device import autocast as autocast_of_device
from ..nn.modules.places import add_place

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_of_device):
    """torch.amp.autocast("cuda", ...)."""

    _device_type = "cuda"


class GradScaler(ScalerOfDevice):
    """torch.amp.GradScaler("cuda", ...)."""

    _device_type = "cuda"


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")

# Where PyTorch's stand, for programs that import them from there.
for _place in ("autocast_mode", "grad_scaler"):
    add_place(sys.modules[__name__], _place)
