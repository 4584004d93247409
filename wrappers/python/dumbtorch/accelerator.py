"""The device that is not the CPU, whichever it is: CUDA's, or none."""

from __future__ import annotations

from contextlib import nullcontext

from . import _missing, cuda
from ._types import device

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream",
           "device_count", "device_index", "empty_cache", "get_memory_info", "is_available",
           "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
           "synchronize"]  # fmt: skip


def is_available() -> bool:
    """Whether there is one."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """device("cuda") where there is one, and None where there is none."""
    return device("cuda") if is_available() else None


def current_device_index() -> int:
    """The number of the current device."""
    return cuda.current_device()


def set_device_index(device) -> None:
    """Sets the current device."""
    cuda.set_device(device)


def device_index(device_index):
    """A block in which the device of this number is the current one; None changes nothing."""
    return nullcontext() if device_index is None else cuda.device(device_index)


current_device_idx, set_device_idx = current_device_index, set_device_index
synchronize, current_stream, empty_cache = cuda.synchronize, cuda.current_stream, cuda.empty_cache
memory_allocated, memory_reserved = cuda.memory_allocated, cuda.memory_reserved
max_memory_allocated, max_memory_reserved = cuda.max_memory_allocated, cuda.max_memory_reserved
memory_stats, reset_peak_memory_stats = cuda.memory_stats, cuda.reset_peak_memory_stats
get_memory_info, set_stream = cuda.mem_get_info, cuda.set_stream
