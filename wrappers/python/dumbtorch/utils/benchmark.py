"""torch.utils.benchmark: how long a statement takes, measured so that runs can be compared."""

from __future__ import annotations

import math
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field

from .. import _missing, _ops, cuda

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "timer"]

_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))
_UNSTEADY = 0.1  # a spread, as a share of the median, that is worth a warning
_Z_OF_90_PERCENT, _FINEST = 1.645, 25e-9  # seconds: no interval of confidence is narrower


def timer() -> float:
    """The time now, after what a GPU still has to do."""
    if cuda.is_available():
        cuda.synchronize()
    return time.perf_counter()


def _unit_of(seconds: float) -> tuple[str, float]:
    return next((u for u in reversed(_UNITS) if seconds >= u[1]), _UNITS[0])


def _quantile(values: list[float], q: float) -> float:
    """Between the two nearest values, in proportion."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True)
class TaskSpec:
    """What is measured, and the words of its table."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        if self.label is None:
            return f"stmt: {self.stmt}"
        return self.label + (f": {self.sub_label}" if self.sub_label else "")


@dataclass
class Measurement:
    """Times of several runs, each of `number_per_run` calls; `times`, `mean` and `median` are seconds of one call."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict | None = field(default=None, repr=False)

    @property
    def times(self) -> list[float]:
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        return sum(self.times) / len(self.times)

    @property
    def median(self) -> float:
        return _quantile(self.times, 0.5)

    @property
    def iqr(self) -> float:
        """What lies between the first and the third quarter."""
        return _quantile(self.times, 0.75) - _quantile(self.times, 0.25)

    def meets_confidence(self, threshold: float = _UNSTEADY) -> bool:
        """Whether a half of the times lie within that share of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary much."""
        return not self.meets_confidence()

    @property
    def significant_figures(self) -> int:
        """About how many digits of the median mean something, by how the middle half of the times varies."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : math.ceil(3 * len(times) / 4)]
        mean = sum(middle) / len(middle)
        deviation = math.sqrt(sum((t - mean) ** 2 for t in middle) / len(middle))
        interval = max(_Z_OF_90_PERCENT * deviation / math.sqrt(len(middle)), _FINEST)
        return min(max(math.floor(math.log10(self.median / interval)), 1), 4)

    @staticmethod
    def merge(measurements) -> list[Measurement]:
        """One for each task, with the times of single calls of all that measured it."""
        times: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            times.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, its, task) for task, its in times.items()]

    def __getattr__(self, name: str):
        if name in (
            "stmt",
            "setup",
            "label",
            "sub_label",
            "description",
            "env",
            "num_threads",
            "title",
        ):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    def __repr__(self) -> str:
        unit, size = _unit_of(self.median)
        lines = [f"{type(self)!r}"[8:-2], self.title, self.description]
        several = len(self.raw_times) > 1
        lines += [f"  {'Median: ' if several else ''}{self.median / size:.2f} {unit}"]
        lines += [f"  IQR:    {self.iqr / size:.2f} {unit}"] if several else []
        runs = (
            f"{len(self.raw_times)} measurement{'s' if several else ''}, {self.number_per_run} runs"
        )
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines += [f"  {runs}{' per measurement' if several else ''}, {threads}"]
        return "\n".join(line for line in lines if line)


class Timer:
    """Times a statement, text as timeit takes it:

    Timer("f(x)", globals={"f": f, "x": x}, label="f").blocked_autorange().median
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language="python",
    ):
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise NotImplementedError("benchmark.Timer: statements are Python's")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        named = dict(globals or {})
        named.setdefault("torch", __import__(__package__.partition(".")[0]))
        self._timer = timeit.Timer(stmt, setup, timer, named)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _run(self, number: int) -> float:
        before = _ops.get_num_threads()
        _ops.set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)  # by which one may divide
        finally:
            _ops.set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of so many calls, after some that do not count."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task_spec)

    def blocked_autorange(self, callback=None, min_run_time: float = 0.2) -> Measurement:
        """Runs for that many seconds altogether, each of as many calls as make the clock's own time small."""
        return self._repeated(self._calls_of_a_run(min_run_time), min_run_time, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback=None,
    ) -> Measurement:
        """Runs until a half of the times lie within that share of the median, or the time is up."""

        def is_steady(found: Measurement) -> bool:
            return len(found.raw_times) > 3 and found.meets_confidence(threshold)

        number = self._calls_of_a_run(0.05)
        return self._repeated(number, min_run_time, callback, is_steady, max_run_time)

    def _calls_of_a_run(self, seconds: float) -> int:
        number, took = 1, self._run(2) / 2
        while took < min(1e-3, seconds / 100):
            number *= 10
            took = self._run(number)
        return number

    def _repeated(
        self, number: int, seconds: float, callback, is_enough=bool, limit: float = math.inf
    ) -> Measurement:
        """One run at least, and more until so many seconds have passed and that is enough, or the limit is passed."""
        found = Measurement(number, [], self._task_spec)
        passed = 0.0
        while not found.raw_times or passed <= limit and (passed < seconds or not is_enough(found)):
            found.raw_times.append(self._run(number))
            passed += found.raw_times[-1]
            if callback is not None:
                callback(number, found.raw_times[-1])
        return found


class Compare:
    """A table of measurements: a row for each sub_label, a column for each description. Those of one task are
    merged."""

    def __init__(self, results: list[Measurement]):
        self._results: list[Measurement] = []
        self.extend_results(results)

    def extend_results(self, results) -> None:
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(one)} instead.")
        self._results += results

    def trim_significant_figures(self) -> None:
        """Has no effect."""

    highlight_warnings = trim_significant_figures

    def colorize(self, rowwise: bool = False) -> None:
        """Has no effect."""

    def print(self) -> None:
        print(self)

    def __str__(self) -> str:
        if not self._results:
            return ""
        merged = Measurement.merge(self._results)
        unit, size = _unit_of(min(m.median for m in merged))
        tables: dict[str, list[Measurement]] = {}
        for m in merged:
            tables.setdefault(m.label or m.stmt, []).append(m)
        return "\n".join(
            [*(self._table(*table, size) for table in tables.items()), f"\nTimes are in {unit}.\n"]
        )

    def _table(self, label: str, mine: list[Measurement], size: float) -> str:
        columns = list(dict.fromkeys(m.description or "" for m in mine))
        rows = dict.fromkeys((m.num_threads, m.sub_label or m.stmt) for m in mine)
        rows = sorted(rows, key=lambda row: row[0])
        times = {
            (m.num_threads, m.sub_label or m.stmt, m.description or ""): f"{m.median / size:.1f}"
            for m in mine
        }
        widths = [max(len(c), *(len(times.get((*row, c), "")) for row in rows)) for c in columns]
        margin = max(len(name) + 6 for _, name in rows)
        lines = [
            " | ".join([" " * margin, *(c.rjust(w) for c, w in zip(columns, widths, strict=True))])
        ]
        threads = None
        for count, name in rows:
            if count != threads:
                lines.append(f"{count} threads: ".ljust(len(lines[0]), "-"))
                threads = count
            cells = [
                times.get((count, name, c), "").rjust(w)
                for c, w in zip(columns, widths, strict=True)
            ]
            lines.append(" | ".join([("      " + name).ljust(margin), *cells]))
        return "\n".join([f"[{f' {label} '.center(len(lines[0]) - 2, '-')}]", *lines])
