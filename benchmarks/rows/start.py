"""What it takes to begin: import, the start of a C program, and the library's size."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import Measure, Row, Target, Variant

IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
MEGABYTE = 1e6


def import_seconds(module: str) -> float:
    """The time of an import in a fresh interpreter."""
    command = [sys.executable, "-c", IMPORT.format(module)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def program_seconds(path: Path) -> float:
    """A program's time from start to end; its output is thrown away."""
    silence = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    start = time.perf_counter()
    process = os.posix_spawn(path, [str(path)], os.environ, file_actions=[silence])
    _, status = os.waitpid(process, 0)
    if status:
        raise RuntimeError(f"{path} failed")
    return time.perf_counter() - start


def stripped_bytes(library: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / library.name
        subprocess.run(["strip", "-o", copy, library], check=True)
        return copy.stat().st_size


def once(value: Callable[[], float]) -> Measure:
    """Something that is not repeated within a turn."""
    return lambda seconds: value()


def rows(machine, torch) -> list[Row]:
    rival = (Variant("import torch", once(lambda: import_seconds("torch"))),) if torch else ()
    return [
        Row(
            "start",
            "import dumbtorch",
            Target(value=0.15),
            Variant("dumbtorch", once(lambda: import_seconds("dumbtorch"))),
            rival,
        ),
        Row(
            "start",
            "C hello-world, start to end",
            Target(value=5e-3),
            Variant("dumbtorch", once(lambda: program_seconds(machine.hello))),
        ),
        Row(
            "start",
            "libdumbtorch.so, stripped",
            Target(value=5 * MEGABYTE),
            Variant("dumbtorch", once(lambda: stripped_bytes(machine.library))),
            unit="B",
            once=True,
        ),
    ]
