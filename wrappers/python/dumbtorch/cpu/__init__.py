"""The CPU, asked as torch.cuda is: for code that goes by the name of a device."""

from __future__ import annotations

from . import amp as amp

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
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
