"""Files: reading numbers from text."""

from __future__ import annotations

import atexit
import os
import random
import tempfile

from measure import Row, Target, Variant

from rows.compare import lazily

MEGABYTES = 20
SPEED = 200  # megabytes in a second, on two cores


def table() -> str:
    """A file with ten columns of numbers."""
    chance = random.Random(1)
    lines = [",".join(f"{chance.uniform(-100, 100):.6f}" for _ in range(10)) for _ in range(1000)]
    block = "\n".join(lines) + "\n"
    handle, path = tempfile.mkstemp(suffix=".csv")
    atexit.register(os.unlink, path)
    with os.fdopen(handle, "w") as file:
        for _ in range(MEGABYTES * 1_000_000 // len(block)):
            file.write(block)
    return path


def read_csv(dumbtorch):
    path = table()
    return lambda: dumbtorch.utils.data.read_csv(path, header=False)


def rows(dumbtorch) -> list[Row]:
    ours = Variant("dumbtorch", lazily(lambda: read_csv(dumbtorch)))
    target = Target(value=MEGABYTES / SPEED)
    return [Row("files", f"read_csv of {MEGABYTES} MB of numbers", target, ours)]
