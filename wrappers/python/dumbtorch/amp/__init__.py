"""torch.amp: autocast, which runs ops in the dtype that suits them, and GradScaler."""

from .. import _missing
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
