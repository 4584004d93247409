"""dumbtorch against PyTorch, in one run, in turns: `make bench`, or

    python benchmarks/bench.py [gemm cnn ...] [--full] [--save]

Names choose rows: a group (`--list` shows them) or a part of a row's name. README.md tells how to
read the table.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import machine as machines
import report
from machine import ROOT, Machine
from measure import Row, take_turns
from rows import all_rows


def find_torch():
    """PyTorch, or None: without it the table shows our times only."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def chosen(rows: list[Row], names: list[str]) -> list[Row]:
    if not names:
        return rows
    known = [n for n in names if any(n == r.group or n in r.name for r in rows)]
    if missing := sorted(set(names) - set(known)):
        raise SystemExit(f"no row is named {', '.join(missing)}; --list shows all")
    return [r for r in rows if any(n == r.group or n in r.name for n in known)]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="groups or parts of names; all rows by default")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument(
        "--sweep",
        action="store_true",
        help="sizes instead of points: see sweep.py, which takes the rest",
    )
    parser.add_argument("--full", action="store_true", help="also torch.compile, and build times")
    parser.add_argument("--save", action="store_true", help="write results/<date>-cpu.md")
    parser.add_argument("--turns", type=int, default=9, help="turns of each variant (9)")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a turn (0.05)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of both libraries")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    import dumbtorch

    torch = find_torch()
    for library in filter(None, (dumbtorch, torch)):
        library.set_num_threads(options.threads)
        library.manual_seed(0)
    machine = Machine(options.build.resolve(), options.threads)
    rows = chosen(all_rows(machine, dumbtorch, torch, full=options.full), options.names)
    if options.list:
        print("\n".join(f"{row.group:12} {row.name}" for row in rows))
        return 0

    load_before = machines.load()
    print(f"{report.versions(torch)}, {options.threads} threads, load average {load_before:.1f}")
    print(report.terminal_line(report.HEADINGS))
    results = []
    for row in rows:
        results.append(take_turns(row, options.turns, options.seconds))
        print(report.terminal_line(report.cells(results[-1], machine)), flush=True)
    missed = sum(figures.met is False for figures in results)
    print(f"{len(results)} rows, {missed} missed; load average {machines.load():.1f}")
    if options.save:
        loads = (load_before, machines.load())
        print("written:", report.save(report.markdown(results, machine, torch, loads)))
    return 0


if __name__ == "__main__":
    if "--sweep" in sys.argv:
        import sweep

        sys.argv.remove("--sweep")
        sys.exit(sweep.main())
    sys.exit(main())
