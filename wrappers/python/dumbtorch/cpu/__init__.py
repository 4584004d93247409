"""The CPU, asked as torch.cuda is: for code that goes by the name of a device."""

from __future__ import annotations

from .. import _missing, _ops
from . import amp as amp

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device) -> None:
    """Does nothing: there is one."""


def synchronize(device=None) -> None:
    """Does nothing: work on the CPU is done when its function returns."""


def memory_allocated(device=None) -> int:
    """Bytes in use by tensors."""
    return _ops.memory_stats("cpu").allocated


def max_memory_allocated(device=None) -> int:
    """The most bytes that tensors used at once since the last reset."""
    return _ops.memory_stats("cpu").peak


def memory_reserved(device=None) -> int:
    """Bytes that the allocator holds: in use or cached."""
    return _ops.memory_stats("cpu").reserved


def reset_peak_memory_stats(device=None) -> None:
    """Starts the peak anew."""
    _ops.reset_peak_memory_stats("cpu")
