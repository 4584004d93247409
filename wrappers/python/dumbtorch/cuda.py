"""CUDA devices: which there are, their memory, streams, events and captured graphs, as torch.cuda."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from . import _graph, _ops
from ._types import device as _device
from .random import default_generator

CUDAGraph = _graph.Graph


def is_available() -> bool:
    """Whether there is a CUDA device that the library can use."""
    return device_count() > 0


def why_unavailable() -> str:
    """Why CUDA is not available; empty if it is."""
    return _ops.cuda_reason()


def device_count() -> int:
    """How many CUDA devices there are."""
    return _ops.cuda_device_count()


def current_device() -> int:
    """The number of the device that "cuda" means."""
    return _ops.cuda_current_device()


def set_device(device) -> None:
    """Sets the device that "cuda" means; a negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        _ops.cuda_set_device(_where(device).index or 0)


def get_device_name(device=None) -> str:
    """The maker's name of a device."""
    return _ops.device_name(_where(device))


def get_device_capability(device=None) -> tuple[int, int]:
    """(major, minor) of a device's compute capability."""
    return tuple(_ops.device_capability(_where(device)))


def synchronize(device=None) -> None:
    """Waits until the device has done everything it was asked to."""
    _ops.synchronize(_where(device))


def manual_seed(seed: int) -> None:
    """Seeds the current device's default generator; without a device, does nothing."""
    if is_available():
        default_generator("cuda").manual_seed(seed)


manual_seed_all = _ops.manual_seed


# ---- memory: where there is no device, nothing is in use


def _statistic(read, i: int, device) -> int:
    where = _where(device)
    return read(where)[i] if where.type == "cpu" or is_available() else 0


def memory_allocated(device=None) -> int:
    """Bytes in use by tensors."""
    return _statistic(_ops.memory_stats, 0, device)


def memory_reserved(device=None) -> int:
    """Bytes that the allocator holds: in use or cached."""
    return _statistic(_ops.memory_stats, 1, device)


def max_memory_allocated(device=None) -> int:
    """The most bytes that tensors used at once since the last reset."""
    return _statistic(_ops.device_memory, 2, device)


def max_memory_reserved(device=None) -> int:
    """The most bytes that the allocator held at once since the last reset."""
    return _statistic(_ops.device_memory, 3, device)


def mem_get_info(device=None) -> tuple[int, int]:
    """(free, total) bytes of the device, as the driver sees them."""
    return tuple(_ops.device_memory(_where(device)))[:2]


def reset_peak_memory_stats(device=None) -> None:
    """Starts the peaks anew."""
    _ops.reset_peak_memory(_where(device))


def empty_cache(device=None) -> None:
    """Gives cached memory back to the driver, if there is a device."""
    where = _where(device)
    if where.type == "cpu" or is_available():
        _ops.empty_cache(where)


# ---- streams and events


class _Current(threading.local):
    """The streams that set_stream chose, by device number; absent: the main one. Like the streams
    in force, they belong to a thread."""

    def __init__(self):
        self.streams = {}


_current = _Current()


class Stream(_ops.Stream):
    """A queue of work on a device."""

    __slots__ = ("device",)

    def __new__(cls, device=None, priority: int = 0):
        where = _where(device)
        self = cls.take(_ops.stream_new(where, priority))
        self.device = where
        return self

    def wait_event(self, event) -> None:
        """Work from here on goes on when the event's mark has been reached."""
        with stream(self):
            event.wait(self.device)

    def record_event(self, event=None):
        """Puts an event's mark at the end of the stream."""
        event = Event(device=self.device) if event is None else event
        event.record(self)
        return event

    def wait_stream(self, other) -> None:
        """Work from here on goes on when what is in another stream is done."""
        self.wait_event(other.record_event())


class Event(_ops.Event):
    """A mark in a stream."""

    __slots__ = ()

    def __new__(cls, enable_timing: bool = False, *, device=None):
        return cls.take(_ops.event_new(_where(device), enable_timing))

    def elapsed_time(self, end) -> float:
        """Milliseconds from this event to a later one."""
        return super().elapsed_time(end)


def set_stream(stream) -> None:
    """Sends work on the stream's device to it from now on."""
    _ops.set_stream(stream.device, stream)
    _current.streams[stream.device.index or 0] = stream


@contextmanager
def stream(stream):
    """Sends work on the stream's device to it inside the block."""
    if stream is None:
        yield
        return
    number = stream.device.index or 0
    before = _current.streams.get(number)
    set_stream(stream)
    try:
        yield
    finally:
        _ops.set_stream(stream.device, before)
        if before is None:
            del _current.streams[number]
        else:
            _current.streams[number] = before


@contextmanager
def graph(cuda_graph, **_):
    """Records what the block does on the device into a CUDAGraph."""
    with cuda_graph:
        yield


def is_current_stream_capturing() -> bool:
    """Whether this thread is recording a graph."""
    return _ops.is_capturing()


def _where(device) -> _device:
    if device is None:
        return _device("cuda", current_device())
    where = _device(device)
    return _device("cuda", current_device()) if where == _device("cuda") else where
