"""The machine under test: its name, load and limits, and the programs that the build leaves."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOPS_PER_CALL = 2 * 12 * 2**20  # of limit_flops in c/limits.c, in each core
BYTES_PER_CALL = 3 * 16 * 2**20  # of limit_bandwidth


def processor() -> str:
    """The processor's own name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def load() -> float:
    """How many programs wanted to run during the last minute, on average."""
    return os.getloadavg()[0]


class Native:
    """The program c/main.c, which times what it is asked for."""

    def __init__(self, path: Path):
        self._process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def seconds(self, case: str, budget: float) -> float:
        """What one call of the case takes, measured for about `budget` seconds."""
        self._process.stdin.write(f"{case} {budget}\n")
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the native benchmark program failed at {case}")
        return float(answer)


@dataclass
class Machine:
    """What rows need to know: threads to use, where the build is, and PyTorch if there is one."""

    build: Path
    threads: int

    @cached_property
    def native(self) -> Native:
        self._build_programs()
        return Native(self.build / "benchmarks" / "native")

    @cached_property
    def hello(self) -> Path:
        self._build_programs()
        return self.build / "benchmarks" / "hello"

    @property
    def library(self) -> Path:
        return self.build / "libdumbtorch.so"

    def _build_programs(self) -> None:
        command = ["cmake", "--build", str(self.build), "--target", "dt_bench"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")

    @cached_property
    def flops_per_second(self) -> float:
        return self._limit("limit_flops", FLOPS_PER_CALL)

    @cached_property
    def bytes_per_second(self) -> float:
        return self._limit("limit_bandwidth", BYTES_PER_CALL)

    def _limit(self, case: str, amount: int) -> float:
        """What the threads in use can do: the best of many short tries, since a limit is what the
        machine can do, not what it mostly does."""
        seconds = min(self.native.seconds(case, 0.01) for _ in range(30))
        return amount * self.threads / seconds
