"""Tests once more, as on a processor that lacks what this one has: kernels are chosen when a process begins."""

import os
import subprocess
import sys
from pathlib import Path

import dumbtorch as dt
import pytest

# What DT_CPU_ISA may ask for, and a word by which Linux says that the processor runs it.
WORDS = {"v2": "sse4_2", "v3": "avx2", "v4": "avx512vl", "v4-no-amx": "amx_bf16"}


def supported() -> list[str]:
    flags = Path("/proc/cpuinfo").read_text().split()
    return [isa for isa, word in WORDS.items() if word in flags]


def by_itself() -> str:
    """What this process runs, and so every other test."""
    return {"AVX2": "v3", "AVX512": "v4"}.get(dt.backends.cpu.get_cpu_capability(), "v2")


def others(*names: str) -> pytest.MarkDecorator:
    """The parameter `isa`: those of the names that are tested by nothing else here."""
    left = set(supported()) - {by_itself()}
    why = "the other tests take this way, or this processor cannot"
    skips = {n: pytest.mark.skipif(n not in left, reason=why) for n in names}
    return pytest.mark.parametrize("isa", [pytest.param(n, marks=m) for n, m in skips.items()])


def run(isa: str, *arguments: object) -> str:
    """What Python prints that runs so; it must end well."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *map(str, arguments)],
        env=os.environ | {"DT_CPU_ISA": isa},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(isa: str, file: str, chosen: str) -> str:
    """What pytest prints of the tests of a file that are chosen (-k)."""
    return run(isa, "-m", "pytest", file, "-k", chosen)
