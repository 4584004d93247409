"""torch.profiler: which ops run, for how long and with how much memory."""

from __future__ import annotations

import enum
import functools
import os
import time
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

from . import _missing, _ops

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What is looked at: calls of kernels, and a GPU's own times."""

    CPU = 0
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a schedule wants of a step; RECORD_AND_SAVE is the last one of a recording."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """CPU, and CUDA where there is a device."""
    cuda = {ProfilerActivity.CUDA} if _ops.cuda_device_count() else set()
    return {ProfilerActivity.CPU} | cuda


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
):
    """What to do in each step: cycles of `wait` steps, `warmup` and `active` ones, `repeat` times (0: to the end),
    after `skip_first` steps; with `skip_first_wait` the first cycle does not wait."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        cycle, place = divmod(step, length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None):
    """An on_trace_ready that writes each trace into a folder."""

    def handle(prof) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{os.uname().nodename}_{os.getpid()}"
        path = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, path))

    return handle


class record_function:
    """A named range of a program: a block, or a function that it decorates. Outside of a profile it does nothing."""

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self._ranges: list[int] = []

    def __enter__(self):
        self._ranges.append(_ops.profiler_range_begin(self.name))
        return self

    def __exit__(self, *error):
        _ops.profiler_range_end(self._ranges.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return call


# ---- what was found


class _Numbers(NamedTuple):
    """A row of what the core says of activities: nanoseconds and bytes."""

    kind: int
    thread: int
    start: int
    duration: int
    own: int
    device: int
    own_device: int
    memory: int
    own_memory: int
    allocated: int
    parent: int


class TimeRange(NamedTuple):
    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


@dataclass
class FunctionEvent:
    """An activity. Times are microseconds, memory is bytes."""

    name: str
    input_shapes: str
    thread: int
    time_range: TimeRange
    is_user_annotation: bool
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    memory_allocated: int  # in use afterwards
    cpu_parent: FunctionEvent | None = None
    cpu_children: list[FunctionEvent] = field(default_factory=list, repr=False)

    count = 1

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total  # of one call


@dataclass
class FunctionEventAvg:
    """All activities of a name, or of a name and shapes."""

    key: str
    input_shapes: str
    is_user_annotation: bool = False
    count: int = 0
    cpu_time_total: float = 0
    self_cpu_time_total: float = 0
    device_time_total: float = 0
    self_device_time_total: float = 0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0

    @property
    def cpu_time(self) -> float:
        """Of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return self.device_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent) -> None:
        self.count += 1
        self.is_user_annotation = event.is_user_annotation
        names = ["self_cpu_time_total", "self_device_time_total", "self_cpu_memory_usage"]
        if not _is_within_its_own_kind(event):
            names += ["cpu_time_total", "device_time_total", "cpu_memory_usage"]
        for name in names:
            setattr(self, name, getattr(self, name) + getattr(event, name))


def _is_within_its_own_kind(event: FunctionEvent) -> bool:
    """Then its time is in the outer one's already."""
    around = event.cpu_parent
    while around is not None and around.name != event.name:
        around = around.cpu_parent
    return around is not None


class EventList(list):
    """Activities or their averages, with a table of the latter."""

    def __init__(self, events, profiler, by_shapes=False):
        super().__init__(events)
        self._profiler, self._by_shapes = profiler, by_shapes

    def table(self, sort_by: str | None = None, row_limit: int = 100, **unused) -> str:
        """The averages as text. `sort_by`: cpu_time_total, self_cpu_time_total, cpu_time, count, cpu_memory_usage,
        self_cpu_memory_usage, and for a GPU device_time_total and self_device_time_total; absent: in the order in
        which they began."""
        return self._profiler.table(sort_by or "", row_limit, self._by_shapes)

    @property
    def self_cpu_time_total(self) -> float:
        return sum(e.self_cpu_time_total for e in self)

    def total_average(self) -> FunctionEventAvg:
        total = FunctionEventAvg("Total", "")
        for e in self:
            total.count += e.count
            total.self_cpu_time_total += e.self_cpu_time_total
            total.self_device_time_total += e.self_device_time_total
            total.self_cpu_memory_usage += e.self_cpu_memory_usage
        return total

    def __str__(self) -> str:
        return self.table()


def _events(profiler) -> list[FunctionEvent]:
    names, shapes, numbers = profiler.activities()
    events: list[FunctionEvent] = []
    for name, shape, row in zip(names, shapes, numbers.tolist(), strict=True):
        n = _Numbers(*row)
        parent = events[n.parent] if n.parent >= 0 else None
        event = FunctionEvent(
            name, shape, n.thread, TimeRange(n.start / 1e3, (n.start + n.duration) / 1e3),
            n.kind == 2, n.own / 1e3, n.device / 1e3, n.own_device / 1e3, n.memory, n.own_memory,
            n.allocated, parent,
        )  # fmt: skip
        if parent is not None:
            parent.cpu_children.append(event)
        events.append(event)
    return events


# ---- profiles


class profile:
    """Looks at what runs in its block:

        with profile(record_shapes=True) as prof:
            step()
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

    With a `schedule`, `prof.step()` ends a step of the program, and `on_trace_ready(prof)` is called after each
    recording. `with_stack`, `with_flops` and `with_modules` have no effect.
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ):
        self.activities = set(activities) if activities else supported_activities()
        self._schedule, self._on_trace_ready = schedule, on_trace_ready
        self._options = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "device_times": ProfilerActivity.CUDA in self.activities
            and _ops.cuda_device_count() > 0,
        }
        self._profiler = None
        self.step_num = 0
        self.current_action = ProfilerAction.NONE

    def start(self) -> None:
        """Begins with step 0."""
        self.step_num = 0
        self._go_to(self._wanted())

    def stop(self) -> None:
        """Ends the recording; what was recorded is ready, unless a schedule said so of its last step."""
        recording = self.current_action in _RECORDING
        self._end_step()
        self.current_action = ProfilerAction.NONE
        if recording:
            self._finish()

    def step(self) -> None:
        """Ends a step of the program and begins the next."""
        self._end_step()
        self.step_num += 1
        self._go_to(self._wanted())

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error) -> None:
        self.stop()

    def _wanted(self) -> ProfilerAction:
        return self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD

    def _go_to(self, action: ProfilerAction) -> None:
        before, self.current_action = self.current_action, action
        if before in _RECORDING and (
            before is ProfilerAction.RECORD_AND_SAVE or action not in _RECORDING
        ):
            self._finish()
            before = ProfilerAction.NONE
        if action in _RECORDING and before not in _RECORDING:
            self._profiler = _ops.profiler_start(**self._options)
        if action in _RECORDING and self._schedule:
            self._step_range = _ops.profiler_range_begin(f"ProfilerStep#{self.step_num}")

    def _end_step(self) -> None:
        if self.current_action in _RECORDING and self._schedule:
            _ops.profiler_range_end(self._step_range)

    def _finish(self) -> None:
        self._profiler.stop()
        if self._on_trace_ready:
            self._on_trace_ready(self)

    def _stopped(self):
        if self._profiler is None:
            raise AssertionError(
                "Profiler must be initialized before exporting or asking for events"
            )
        return self._profiler

    def events(self) -> EventList:
        """All activities, those of a thread in the order in which they began."""
        return EventList(_events(self._stopped()), self._stopped())

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """The activities of each name, or of each name and shapes of inputs, together."""
        averages: dict[tuple[str, str], FunctionEventAvg] = {}
        for e in _events(self._stopped()):
            key = e.name, e.input_shapes if group_by_input_shape else ""
            averages.setdefault(key, FunctionEventAvg(*key)).add(e)
        return EventList(averages.values(), self._stopped(), group_by_input_shape)

    def memory_summary(self, row_limit: int = 10) -> str:
        """Where the most memory was in use, and which ops and ranges took it until then; needs profile_memory."""
        return self._stopped().memory_summary(row_limit)

    def export_chrome_trace(self, path) -> None:
        """Writes the activities as a file that chrome://tracing and ui.perfetto.dev show."""
        self._stopped().export_chrome_trace(path)

    def export_memory_timeline(self, path) -> None:
        """Writes a picture (SVG) of the memory in use over time, with where it was most; needs profile_memory."""
        from . import _memory_timeline

        picture = _memory_timeline.svg(self.events())
        with open(path, "w", encoding="utf-8") as file:
            file.write(picture)
