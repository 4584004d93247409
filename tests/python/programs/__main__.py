"""Runs random programs in dumbtorch and PyTorch, and reduces those that differ:

python -m programs --seconds 3600 --seed 1000 --jobs 2     from tests/python, or make programs ARGS="..."
python -m programs --show 17                               what program 17 is
python -m programs --file program.py                       compares and reduces one of your own
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import sys
from time import monotonic

from . import workers
from .check import Check, verdict
from .compare import Difference
from .generate import generate
from .leaves import TASTES
from .reduce import reduce
from .workers import Worker, each


def main() -> int:
    options = _options()
    if options.device != "cpu":
        workers.start_method = "spawn"
    if options.show is not None:
        print(generate(options.show, options.mostly), end="")
        return 0
    if options.file:
        return _one_of_your_own(options)
    return _many(options)


def _options():
    parser = argparse.ArgumentParser(prog="programs", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="the first program (default 0)")
    parser.add_argument("--count", type=int, help="how many programs")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="processes (default: all processors)"
    )
    parser.add_argument(
        "--device", default=os.environ.get("DT_TEST_DEVICE", "cpu"), help="where dumbtorch computes"
    )
    parser.add_argument(
        "--errors",
        choices=("raised", "type", "text"),
        default="raised",
        help="what is compared of them",
    )
    parser.add_argument(
        "--ignore",
        type=pathlib.Path,
        help="a file of regular expressions, a line each: what is passed over",
    )
    parser.add_argument(
        "--keep-going", action="store_true", help="do not stop after the tenth finding"
    )
    parser.add_argument("--no-reduce", action="store_true", help="print programs as they are")
    parser.add_argument(
        "--mostly", choices=TASTES, default="", help="short programs, of what tensors mostly are"
    )
    parser.add_argument("--show", type=int, metavar="SEED", help="print a program")
    parser.add_argument("--file", type=pathlib.Path, help="a program of your own")
    return parser.parse_args()


def _pytorch_dies(check: Check, program: str | int) -> bool:
    """Whether it needs no second library for a crash."""
    return next(each(check.alone, [program], 1))[1] is not None


def _many(options) -> int:
    check = Check(options)
    end = monotonic() + options.seconds if options.seconds else float("inf")
    seeds = itertools.count(options.seed)
    if options.count is not None or not options.seconds:
        seeds = itertools.islice(seeds, options.count or 1000)
    seeds = itertools.takewhile(lambda _: monotonic() < end, seeds)
    findings: dict[tuple, list[int]] = {}
    ran = 0
    for seed, difference in each(check, seeds, options.jobs):
        ran += 1
        if difference is None or (difference.aspect == "crash" and _pytorch_dies(check, seed)):
            continue
        kind = difference.kind
        findings.setdefault(kind, []).append(seed)
        if len(findings[kind]) == 1:
            _report(seed, difference, check, options)
        if len(findings) == 10 and not options.keep_going:
            break
    print(f"{ran} programs, {sum(map(len, findings.values()))} differ, in {len(findings)} ways")
    for kind, seeds in sorted(findings.items(), key=lambda item: -len(item[1])):
        print(f"  {len(seeds)} times, {seeds[:6]}: {' | '.join(kind)}")
    return 1 if findings else 0


def _report(seed: int, difference: Difference, check: Check, options) -> None:
    print(f"---- program {seed}: {difference}")
    if options.device != "cpu":
        print(verdict(difference, next(each(check.on_cpu(), [seed], 1))[1]))
    if not options.no_reduce:
        print(_reduced(generate(seed, options.mostly), difference, check))
    sys.stdout.flush()


def _reduced(program: str, difference: Difference, check: Check) -> str:
    worker = Worker(check)

    def differs(candidate: str) -> Difference | None:
        worker.ask(candidate)
        return worker.answer()

    try:
        return reduce(program, difference, differs)
    finally:
        worker.stop()


def _one_of_your_own(options) -> int:
    check = Check(options)
    program = options.file.read_text()
    difference = next(each(check, [program], 1))[1]
    if difference is None:
        print("no difference")
        return 0
    print(difference)
    print(_reduced(program, difference, check))
    return 1


if __name__ == "__main__":
    sys.exit(main())
