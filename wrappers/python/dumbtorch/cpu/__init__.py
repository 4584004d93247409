"""The CPU, asked as torch.cuda is: for code that goes by the name of a device."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from .. import _missing, _ops
from . import amp as amp

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "Event",
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "stream",
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


class Event:
    """A place in the order of work, which on the CPU has always been reached."""

    def query(self) -> bool:
        return True

    def record(self, stream=None) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Does nothing."""

    def wait(self, stream=None) -> None:
        """Does nothing."""


class Stream:
    """An order of work, which on the CPU is that of the program."""

    def __init__(self, priority: int = -1):
        pass

    def wait_stream(self, stream) -> None:
        """Does nothing."""

    def record_event(self) -> None:
        """Does nothing."""

    def wait_event(self, event) -> None:
        """Does nothing."""


_default = Stream()
_of_thread = threading.local()


def current_stream(device=None) -> Stream:
    """The stream of the thread's innermost block."""
    return getattr(_of_thread, "stream", _default)


@contextmanager
def stream(stream):
    """A block in which a stream is the thread's current one; None changes nothing."""
    before = current_stream()
    _of_thread.stream = before if stream is None else stream
    try:
        yield
    finally:
        _of_thread.stream = before
