"""Figures as a table: on the terminal as they come, and as a page of Markdown."""

from __future__ import annotations

import datetime
import platform
import sys
from pathlib import Path

import machine as machines
from machine import Machine
from measure import Figures, Target

HEADINGS = ("row", "dumbtorch", "best rival", "", "ratio", "best turns", "target", "", "limit")
WIDTHS = (34, 10, 10, 13, 8, 10, 10, 6, 16)

LEGEND = """\
- **dumbtorch**, **best rival**: median over the turns; the rival is PyTorch's fastest variant, or
  the hand-written loop for broadcasting.
- **ratio**: the rival's median divided by ours; **best turns**: the same of the fastest turns, or
  our fastest turn where there is no rival.
- **target**: what the project asks of itself. **limit**: the time that this machine's peak
  arithmetic or memory rate allows (measured in the same run, with as many threads), and how much of
  it we reach.
"""


def amount(value: float, unit: str = "s") -> str:
    """A number of seconds or bytes, with three digits."""
    scales = {
        "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
        "B": ((1e6, "MB"), (1e3, "kB"), (1, "B")),
    }[unit]
    scale, name = next((s for s in scales if value >= s[0]), scales[-1])
    return f"{value / scale:.3g} {name}" if value / scale < 1000 else f"{value / scale:.0f} {name}"


def target_text(target: Target, unit: str) -> str:
    if target.value is not None:
        return "≤ " + amount(target.value, unit)
    return f"≥ {target.ratio:.3g}×" if target.ratio is not None else ""


def limit_seconds(figures: Figures, machine: Machine) -> float:
    """The least time that a row can take on this machine; 0 where that says nothing."""
    row = figures.row
    compute = row.flops / machine.flops_per_second if row.flops else 0
    memory = row.bytes / machine.bytes_per_second if row.bytes else 0
    return max(compute, memory)


def cells(figures: Figures, machine: Machine) -> tuple[str, ...]:
    row = figures.row
    ours = figures.median(row.ours.name)
    rival, ratio, best = figures.rival, figures.ratio, figures.best_ratio
    limit = limit_seconds(figures, machine)
    return (
        row.name,
        amount(ours, row.unit),
        amount(figures.median(rival), row.unit) if rival else "",
        rival or "",
        f"{ratio:.2f}×" if ratio else "",
        f"{best:.2f}×" if best else amount(figures.best(row.ours.name), row.unit),
        target_text(row.target, row.unit),
        {True: "met", False: "MISSED", None: ""}[figures.met],
        f"{amount(limit)} ({limit / ours:.0%})" if limit else "",
    )


def terminal_line(columns: tuple[str, ...]) -> str:
    first, *rest = zip(columns, WIDTHS)
    texts = [f"{first[0]:<{first[1]}}", *(f"{text:>{width}}" for text, width in rest)]
    return " ".join(texts).rstrip()


def versions(torch) -> str:
    rival = f"PyTorch {torch.__version__}" if torch else "no PyTorch"
    return f"Python {platform.python_version()}, {rival}"


def markdown(results: list[Figures], machine: Machine, torch, loads: tuple[float, float]) -> str:
    lines = [
        f"# Benchmarks on the CPU, {datetime.date.today().isoformat()}",
        "",
        f"`bench.py {' '.join(sys.argv[1:])}` on {machine.threads} cores of: "
        f"{machines.processor()}; {versions(torch)}.",
        f"Load average {loads[0]:.1f} at the start, {loads[1]:.1f} at the end (a quiet machine "
        "starts near 0).",
        f"Limits: {machine.flops_per_second / 1e9:.0f} GFLOP/s in float32, "
        f"{machine.bytes_per_second / 1e9:.0f} GB/s.",
        "",
        LEGEND,
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "|".join("---" if i == 0 else "--:" for i in range(len(HEADINGS))) + "|",
    ]
    lines += ["| " + " | ".join(cells(f, machine)) + " |" for f in results]
    return "\n".join(lines) + "\n"


def save(text: str) -> Path:
    folder = Path(__file__).resolve().parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{datetime.date.today().isoformat()}-cpu.md"
    path.write_text(text, encoding="utf-8")
    return path
