"""How a time is taken: variants take turns (A B A B ...), each turn a short run of many calls.

Turns make a comparison fair on a machine that is busy at times: whatever disturbs one variant
disturbs the next one as well. The median over the turns is the figure; the best turn tells what
the machine does when nobody disturbs it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# The rest between turns: PyTorch's worker threads spin for a moment after their last call, and
# would take a core away from the next variant.
REST_SECONDS = 0.01

# Measures for about so many seconds, and says what one call takes (or weighs: see Row.unit).
Measure = Callable[[float], float]


@dataclass(frozen=True)
class Variant:
    name: str
    measure: Measure


@dataclass(frozen=True)
class Target:
    """At least `ratio` times as fast as the best rival, or at most `value`."""

    ratio: float | None = None
    value: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table: what is compared, and what has to come out."""

    group: str
    name: str
    target: Target
    ours: Variant
    rivals: tuple[Variant, ...] = ()
    unit: str = "s"  # seconds, or "B" for bytes
    flops: float = 0  # what one call has to compute at least
    bytes: float = 0  # what one call has to move through memory at least
    once: bool = False  # too slow for turns, or always the same


@dataclass
class Figures:
    """A row's variants and what each turn gave."""

    row: Row
    samples: dict[str, list[float]] = field(default_factory=dict)

    def median(self, variant: str) -> float:
        return statistics.median(self.samples[variant])

    def best(self, variant: str) -> float:
        return min(self.samples[variant])

    @property
    def rival(self) -> str | None:
        """The fastest rival, by its median."""
        names = [v.name for v in self.row.rivals]
        return min(names, key=self.median, default=None)

    @property
    def ratio(self) -> float | None:
        return self.median(self.rival) / self.median(self.row.ours.name) if self.rival else None

    @property
    def best_ratio(self) -> float | None:
        """The ratio of the best turns, each rival counting with its own."""
        if not self.rival:
            return None
        return min(self.best(v.name) for v in self.row.rivals) / self.best(self.row.ours.name)

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there was nothing to compare with."""
        target = self.row.target
        if target.value is not None:
            return self.median(self.row.ours.name) <= target.value
        if target.ratio is None or self.ratio is None:
            return None
        return self.ratio >= target.ratio


def of_calls(call: Callable[[], object], calls: int = 1) -> Measure:
    """Measures a Python function, one run of which counts as `calls` calls.

    How many runs fill a turn is found out once, in the first turn.
    """
    runs = 0

    def timed(n: int) -> float:
        start = time.perf_counter()
        for _ in range(n):
            call()
        return time.perf_counter() - start

    def measure(seconds: float) -> float:
        nonlocal runs
        call()  # after another variant's turn, the caches are cold
        if not runs:
            call()
            runs = 1
            while (took := timed(runs)) < seconds / 4 and runs < 1 << 24:
                runs *= 2
            runs = max(1, round(runs * seconds / took))
        return timed(runs) / runs / calls

    return measure


def take_turns(row: Row, turns: int, seconds: float) -> Figures:
    """Measures a row; the first turn only warms up unless the row is measured once."""
    variants = (row.ours, *row.rivals)
    figures = Figures(row, {v.name: [] for v in variants})
    if row.once:
        turns, seconds = 1, 0
    else:
        for variant in variants:
            variant.measure(seconds)
    for _ in range(turns):
        for variant in variants:
            time.sleep(0 if row.once else REST_SECONDS)
            figures.samples[variant.name].append(variant.measure(seconds))
    return figures
