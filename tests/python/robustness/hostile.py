"""Reads thousands of damaged files in a process of its own: test_files.py runs it.

Whatever a file says, reading it gives an error with a sentence, or tensors that can be used. What
readers may raise is listed here; anything else, and any crash, fails the test.
"""

import gzip
import io
import json
import pickle
import random
import resource
import struct
import sys
from pathlib import Path

import dumbtorch as dt

EXPECTED = (OSError, NotImplementedError, dt.OutOfMemoryError)
# What pickle raises for bytes that are none of its own, and what a tensor says of wrong arguments.
EXPECTED_OF_PICKLE = (
    *EXPECTED, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError,
    MemoryError, OverflowError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


def use(x) -> None:
    """Touches every element of what was read."""
    if isinstance(x, dt.Tensor):
        if x.numel() < 1 << 24:
            x.clone()
    elif isinstance(x, dict):
        for k, v in x.items():
            use(k)
            use(v)
    elif isinstance(x, (list, tuple)):
        for v in x:
            use(v)


def attempt(read, content: bytes, expected) -> str:
    try:
        use(read(content))
    except expected as error:
        assert str(error) or not isinstance(error, OSError), repr(error)
        return "refused"
    return "read"


def mutations(content: bytes, chance: random.Random, count: int):
    """Cut off, changed in a few bytes, with pieces doubled, removed or made extreme."""
    for n in sorted({*range(min(len(content), 100)), *range(0, len(content), 37)}):
        yield content[:n]
    for _ in range(count):
        data = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 5))):
            at = chance.randrange(len(data))
            kind = chance.randrange(5)
            if kind == 0:
                data[at] = chance.randrange(256)
            elif kind == 1:
                data[at] ^= 1 << chance.randrange(8)
            elif kind == 2:
                data[at : at + 4] = struct.pack("<i", chance.choice((-1, 0, 2**31 - 1, -(2**31))))
            elif kind == 3:
                del data[at : at + chance.randrange(1, 9)]
            else:
                data[at:at] = data[at : at + chance.randrange(1, 17)]
            if not data:
                break
        yield bytes(data)


def idx_files():
    for code, item in ((0x08, 1), (0x09, 1), (0x0B, 2), (0x0C, 4), (0x0D, 4), (0x0E, 8)):
        yield struct.pack(">HBBII", 0, code, 2, 2, 3) + bytes(range(6 * item))
    yield struct.pack(">HBB", 0, 8, 0) + b"\7"


def safetensors_files(folder: Path):
    path = folder / "good"
    tensors = {
        "a": dt.arange(6.0).view(2, 3), "b.ü": dt.arange(4), "none": dt.zeros(0, 2),
        "flag": dt.tensor([True, False]), "scalar": dt.tensor(1.5, dtype=dt.float64),
    }  # fmt: skip
    dt.safetensors.save_file(tensors, path)
    yield path.read_bytes()


def pickles():
    layer = dt.nn.Linear(2, 3)
    state = {"model": layer.state_dict(), "epoch": 3, "names": ["a", ("b", None, 2.5)]}
    for value in (state, dt.arange(4), [dt.nn.Parameter(dt.ones(2))]):
        file = io.BytesIO()
        dt.save(value, file)
        yield file.getvalue()


def fuzz(folder: Path, seed: int, count: int) -> dict:
    path = folder / "fuzzed"
    chance = random.Random(seed)
    seen = {}

    def from_path(read):
        def call(content):
            path.write_bytes(content)
            return read(str(path))

        return call

    read_idx = from_path(dt.utils.data.read_idx)
    cases = [("idx", read_idx, c, EXPECTED) for c in idx_files()]
    cases += [("gzip", read_idx, gzip.compress(c, mtime=0), EXPECTED) for c in idx_files()]
    # A right checksum around wrong content lets the damage through to the reader of IDX files.
    cases += [
        ("in gzip", lambda c: read_idx(gzip.compress(c, 1)), c, EXPECTED) for c in idx_files()
    ]
    files = list(safetensors_files(folder))
    cases += [("safetensors", from_path(dt.safetensors.load_file), c, EXPECTED) for c in files]
    cases += [
        ("pickle", lambda c: dt.load(io.BytesIO(c)), c, EXPECTED_OF_PICKLE) for c in pickles()
    ]
    for name, read, content, expected in cases:
        assert attempt(read, content, expected) == "read", name
        for changed in mutations(content, chance, count):
            key = f"{name} {attempt(read, changed, expected)}"
            seen[key] = seen.get(key, 0) + 1
    return seen


if __name__ == "__main__":
    # pickle believes lengths and makes room for them, which takes long where there is room.
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    before = dt.live_handles()
    result = fuzz(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    assert dt.live_handles() == before
    print(json.dumps(result))
