"""CUDA devices: which there are, their memory, streams, events and captured graphs, as torch.cuda."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager

from .. import _graph, _missing, _ops
from .._runtime import OutOfMemoryError as _OutOfMemoryError
from .._typed_tensors import TYPES
from .._types import device as _device
from ..random import default_generator
from . import amp as amp
from . import nvtx as nvtx

__getattr__ = _missing.getattr_of(__name__)

CUDAGraph = _graph.Graph


def is_available() -> bool:
    """Whether there is a CUDA device that the library can use."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether CUDA can be used: it is made ready when it is first mentioned."""
    return is_available()


def init() -> None:
    """Makes CUDA ready, or says why it is not available."""
    current_stream()


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
    index = _index(device)
    if index >= 0:
        _ops.cuda_set_device(index)


class device:
    """Makes a device the one that "cuda" means inside a `with` block; a negative number changes
    nothing.
    """

    def __init__(self, device):
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)
        return self

    def __exit__(self, kind, value, traceback):
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """The same for the device of a tensor; one on the CPU changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else -1)


class _DeviceProperties(_ops.get_device_properties_result):
    """What a device is: name, major, minor, multi_processor_count and total_memory."""

    __slots__ = ()

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device=None) -> _DeviceProperties:
    """The name, compute capability, multiprocessors and memory of a device."""
    return _DeviceProperties(_ops.get_device_properties(_where(device)))


def get_device_name(device=None) -> str:
    """The maker's name of a device."""
    return _ops.device_name(_where(device))


def get_device_capability(device=None) -> tuple[int, int]:
    """(major, minor) of a device's compute capability."""
    return tuple(_ops.device_capability(_where(device)))


def synchronize(device=None) -> None:
    """Waits until the device has done everything it was asked to; without CUDA there is nothing to
    wait for.
    """
    if is_available():
        _ops.synchronize(_where(device))


def manual_seed(seed: int) -> None:
    """Seeds the current device's default generator; without a device, does nothing."""
    if is_available():
        default_generator("cuda").manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the default generator of every CUDA device; without one, does nothing."""
    for i in range(device_count()):
        default_generator(_device("cuda", i)).manual_seed(seed)


def seed() -> None:
    """Seeds the current device's default generator from the system; without one, does nothing."""
    if is_available():
        default_generator("cuda").seed()


def initial_seed() -> int:
    """The seed of the current device's default generator."""
    return default_generator("cuda").initial_seed()


def get_rng_state(device="cuda"):
    """The state of a device's default generator, a tensor on the CPU."""
    return default_generator(_where(device)).get_state()


def get_rng_state_all() -> list:
    """The states of all devices' default generators."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state(new_state, device="cuda") -> None:
    """Continues where get_rng_state was called; without a device, does nothing."""
    if is_available():
        default_generator(_where(device)).set_state(new_state)


def set_rng_state_all(new_states) -> None:
    """Continues where get_rng_state_all was called."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


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
    _ops.reset_peak_memory_stats(_where(device))


def memory_stats(device=None) -> OrderedDict:
    """The statistics above under PyTorch's keys; empty where there is no device."""
    if not is_available():
        return OrderedDict()
    kinds = {
        "allocated_bytes": (memory_allocated, max_memory_allocated),
        "reserved_bytes": (memory_reserved, max_memory_reserved),
    }
    return OrderedDict(
        (f"{kind}.all.{when}", read(device))
        for kind, both in kinds.items()
        for when, read in zip(("current", "peak"), both)
    )


def empty_cache() -> None:
    """Gives the cached memory of every device back to the driver."""
    for i in range(device_count()):
        _ops.empty_cache(_device("cuda", i))


# ---- streams and events


class Stream(_ops.Stream):
    """A queue of work on a device."""

    __slots__ = ()

    def __new__(cls, device=None, priority: int = 0):
        return cls.take(_ops.stream_new(_where(device), priority))

    @property
    def cuda_stream(self) -> int:
        """The address of the device's `cudaStream_t`; 0 for a main stream."""
        return self.native()

    def __eq__(self, other):
        if not isinstance(other, _ops.Stream):
            return NotImplemented
        return (self.device, self.native()) == (other.device, other.native())

    def __hash__(self):
        return hash((self.device, self.native()))

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def wait_event(self, event) -> None:
        """Work from here on goes on when the event's mark has been reached."""
        with stream(self):
            _ops.Event.wait(event, self.device)

    def record_event(self, event=None):
        """Puts an event's mark at the end of the stream."""
        event = Event(device=self.device) if event is None else event
        event.record(self)
        return event

    def wait_stream(self, other) -> None:
        """Work from here on goes on when what is in another stream is done."""
        self.wait_event(other.record_event())


class ExternalStream(Stream):
    """A stream that another library made, by the address of its `cudaStream_t`."""

    __slots__ = ()

    def __new__(cls, stream_ptr: int, device=None):
        return cls.take(_ops.stream_external(_where(device), stream_ptr))


class Event(_ops.Event):
    """A mark in a stream; if no device is named, of the device where it is recorded first. `blocking` changes
    nothing: who waits for it sleeps in the driver or spins, as the driver likes."""

    __slots__ = ("_timing", "_bound")

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        *,
        device=None,
    ):
        if interprocess:
            raise NotImplementedError("Event: a mark is for its own process")
        self = cls.take(_ops.event_new(_where(device), enable_timing))
        self._timing, self._bound = enable_timing, device is not None
        return self

    def record(self, stream=None) -> None:
        """Puts the mark at the end of a stream, or of the current one."""
        where = stream.device if isinstance(stream, _ops.Stream) else _where(None)
        if not self._bound and where != self.device:
            there = _ops.event_new(where, self._timing)
            self._h, there._h = there._h, self._h
        super().record(stream)
        self._bound = True

    def wait(self, stream=None) -> None:
        """Work on a stream, or on the current one, goes on when the mark has been reached."""
        if stream is None:
            stream = current_stream(None if self.device.type == "cuda" else self.device)
        stream.wait_event(self)

    def elapsed_time(self, end) -> float:
        """Milliseconds from this event to a later one."""
        return super().elapsed_time(end)


def current_stream(device=None) -> Stream:
    """The stream that this thread's work on a device goes to."""
    return Stream.take(_ops.current_stream(_where(device)))


def default_stream(device=None) -> Stream:
    """The device's main stream."""
    return Stream.take(_ops.default_stream(_where(device)))


def set_stream(stream) -> None:
    """Sends work on the stream's device to it from now on, and makes that device the current one."""
    if stream is None:
        return
    where = stream.device
    _ops.set_stream(where, stream)
    if where.type == "cuda":
        set_device(where)


@contextmanager
def stream(stream):
    """Sends work on the stream's device to it inside the block, where that device is current."""
    if stream is None:
        yield
        return
    where = stream.device
    before = current_stream(where)
    with device(where.index if where.type == "cuda" else -1):
        set_stream(stream)
        try:
            yield
        finally:
            _ops.set_stream(where, before)


def let_consumer_wait(where: _device, consumer: int | None) -> None:
    """Has a stream of another library wait for what this thread's current stream has to do.

    `consumer` is a number of the array API: None and 1 are the legacy default stream, which waits
    for the main one by itself, others an address.
    """
    if consumer == 2:
        raise BufferError("per-thread default stream is not supported.")
    if consumer == 0:
        raise AssertionError("unsupported stream on CUDA: 0.")
    ours = current_stream(where)
    theirs = default_stream(where) if consumer in (None, 1) else ExternalStream(consumer, where)
    if theirs != ours:
        theirs.wait_event(ours.record_event())


@contextmanager
def graph(cuda_graph, **_):
    """Records what the block does on the device into a CUDAGraph."""
    with cuda_graph:
        yield


def is_current_stream_capturing() -> bool:
    """Whether this thread is recording a graph."""
    return _ops.is_capturing()


# ---- PyTorch's smaller names

globals().update(TYPES["cuda"])
OutOfMemoryError = _OutOfMemoryError
StreamContext = stream


def seed_all() -> None:
    """Seeds the default generator of every device from the system; without one, does nothing."""
    for i in range(device_count()):
        default_generator(_device("cuda", i)).seed()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a device can calculate with bfloat16: each can, the newer ones in hardware."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Whether the current device has TF32."""
    return is_available() and get_device_capability() >= (8, 0)


def get_arch_list() -> list[str]:
    """The compute capabilities of the devices that there are: "sm_90"."""
    found = {get_device_capability(i) for i in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


def memory_summary(device=None, abbreviated=False) -> str:
    """The statistics of memory_stats, a line each."""
    return "\n".join(f"{name}: {n}" for name, n in memory_stats(device).items())


def ipc_collect() -> None:
    """Gives back memory that other processes shared: none is shared."""


def get_allocator_backend() -> str:
    """The name of the allocator: "native"."""
    return "native"


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def _where(device) -> _device:
    if device is None:
        return _device("cuda", current_device())
    where = _device(device)
    return _device("cuda", current_device()) if where == _device("cuda") else where


def _index(device) -> int:
    """The number of a CUDA device, or a negative one as it is."""
    if isinstance(device, int):
        return device
    where = _where(device)
    if where.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {where}")
    return where.index
