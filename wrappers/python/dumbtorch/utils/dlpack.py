"""DLPack: memory that libraries share."""

from __future__ import annotations

from .. import _missing
from .._creation import from_dlpack

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A capsule with the tensor's memory, for one consumer."""
    return tensor.__dlpack__(max_version=(1, 0))
