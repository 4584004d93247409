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
import zipfile
from pathlib import Path

import dumbtorch as dt

EXPECTED = (OSError, NotImplementedError, dt.OutOfMemoryError)
# PyTorch's load says in these what a tensor says of wrong sizes.
EXPECTED_OF_LOAD = (*EXPECTED, pickle.UnpicklingError, RuntimeError, EOFError)


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


def checkpoints():
    """Archives, whose checksums guard what is in them."""
    layer = dt.nn.Linear(2, 3)
    state = {"model": layer.state_dict(), "epoch": 3, "names": ["a", ("b", None, 2.5)]}
    for value in (state, dt.arange(4), [dt.nn.Parameter(dt.ones(2))]):
        file = io.BytesIO()
        dt.save(value, file)
        yield file.getvalue()


def unguarded(content: bytes) -> bytes:
    """A checkpoint with another pickle in it, and with right checksums."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("archive/data.pkl", content)
        out.writestr("archive/data/0", bytes(24))
        out.writestr("archive/data/1", bytes(12))
    return file.getvalue()


def pickles():
    content = next(checkpoints())
    yield zipfile.ZipFile(io.BytesIO(content)).read("archive/data.pkl")


# As PyTorch 2.13 writes it: a dict with two tensors that share a storage, bools and a number.
LEGACY = Path(__file__).parent / "legacy.pt"


def arrays(folder: Path):
    path = folder / "good"
    for x in (dt.arange(6.0).view(2, 3), dt.tensor(True)):
        dt.utils.data.save_npy(path, x)
        yield path.read_bytes()


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
    load, names = from_path(dt.load), from_path(dt._ops.load_checkpoint)
    cases += [("checkpoint", load, c, EXPECTED_OF_LOAD) for c in checkpoints()]
    cases += [("core", names, c, EXPECTED) for c in checkpoints()]
    cases += [("pickle", lambda c: load(unguarded(c)), c, EXPECTED_OF_LOAD) for c in pickles()]
    cases += [("core pickle", lambda c: names(unguarded(c)), c, EXPECTED) for c in pickles()]
    cases += [("legacy", load, LEGACY.read_bytes(), EXPECTED_OF_LOAD)]
    npy, npz = from_path(dt.utils.data.load_npy), from_path(dt.utils.data.load_npz)
    cases += [("npy", npy, c, (*EXPECTED, ValueError, RuntimeError)) for c in arrays(folder)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for c in arrays(folder):
            out.writestr(f"{len(c)}.npy", c)
    cases += [("npz", npz, packed.getvalue(), EXPECTED)]
    table, words = (
        b'a,b\n1,x\n"2",-3e5\n,"y ""z"", "\n',
        {"categories": ["b", "a"], "one_hot": True},
    )
    csv = from_path(lambda path: dt.utils.data.read_csv(path, **words))
    cases += [("csv", csv, table, (*EXPECTED, IndexError))]
    for name, read, content, expected in cases:
        assert attempt(read, content, expected) == "read", name
        for changed in mutations(content, chance, count):
            key = f"{name} {attempt(read, changed, expected)}"
            seen[key] = seen.get(key, 0) + 1
    return seen


if __name__ == "__main__":
    # What believes a length and makes room for it finds none.
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    before = dt.live_handles()
    result = fuzz(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    assert dt.live_handles() == before
    print(json.dumps(result))
