"""Signal processing: `windows`."""

from .. import _missing
from . import windows

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["windows"]
