"""How long a build takes, without a compiler cache, in a copy of the source tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from machine import ROOT
from measure import Row, Target, Variant

CHANGED_ROW = ("capi/schema/pointwise.toml", r"\[fn\.mul\]", '"input * other"', '"other * input"')


def run(*command: str, folder: Path) -> None:
    environment = os.environ | {"CCACHE_DISABLE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def copy_sources(folder: Path) -> None:
    """What git knows or would add, and nothing that was built."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def change_row(folder: Path) -> None:
    """Writes one op's formula in another way."""
    name, section, before, after = CHANGED_ROW
    text = (folder / name).read_text()
    start = re.search(section, text).end()
    if before not in text[start:]:
        raise RuntimeError(f"{name} has changed: {before} is not below {section}")
    (folder / name).write_text(text[:start] + text[start:].replace(before, after, 1))
    run(sys.executable, "capi/generate", folder=folder)


@cache
def build_seconds() -> tuple[float, float]:
    """Of a full build, and of the build after one op's row was changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_sources(folder)
        start = time.perf_counter()
        run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", folder=folder)
        run("cmake", "--build", "build", folder=folder)
        full = time.perf_counter() - start

        start = time.perf_counter()
        change_row(folder)
        run("cmake", "--build", "build", folder=folder)
        return full, time.perf_counter() - start


def rows() -> list[Row]:
    full = Variant("dumbtorch", lambda seconds: build_seconds()[0])
    changed = Variant("dumbtorch", lambda seconds: build_seconds()[1])
    return [
        Row("build", "full build", Target(value=300), full, once=True),
        Row("build", "build after one changed op row", Target(value=60), changed, once=True),
    ]
