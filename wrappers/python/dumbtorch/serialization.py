"""save and load: Python objects with tensors in them, as pickles.

The files are dumbtorch's own: PyTorch does not read them, nor dumbtorch PyTorch's. Tensors that
other libraries shall read belong into safetensors files (dumbtorch.safetensors).

pickle is imported when it is needed: it would lengthen the package's import time.
"""

from __future__ import annotations

import errno
import os
import stat

from ._types import device


def save(obj, f) -> None:
    """Writes an object to a path or a file. A reader sees the old file or the new one."""
    import pickle

    if hasattr(f, "write"):
        pickle.dump(obj, f, protocol=4)
        return
    path = os.fsdecode(f)
    if not os.path.basename(path) and not os.path.isdir(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    path = os.path.realpath(path)  # a link stays a link
    try:
        old_mode = os.stat(path).st_mode
    except FileNotFoundError:
        old_mode = None
    if old_mode is not None and not stat.S_ISREG(old_mode):  # a device or a pipe
        with open(path, "wb") as file:
            pickle.dump(obj, file, protocol=4)
        return
    temporary = _beside(path)
    with open(temporary, "xb") as file:
        try:
            pickle.dump(obj, file, protocol=4)
            file.flush()
            os.fsync(file.fileno())
            if old_mode is not None:
                os.chmod(temporary, stat.S_IMODE(old_mode))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def _beside(path: str) -> str:
    """A new name in the same folder, which begins with the file's own as far as there is room."""
    folder, name = os.path.split(path)
    ending = f".tmp-{os.urandom(6).hex()}"
    longest = 255  # bytes
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[: longest - len(ending)]) + ending)


def load(f, map_location=None, *, weights_only: bool = True):
    """Reads what save wrote. With weights_only, which is safe for files of strangers, nothing but
    tensors, numbers, text and containers. Everything is loaded to the CPU: map_location may be that
    device, or a dict that says nothing else of it."""
    if isinstance(map_location, dict):
        map_location = map_location.get("cpu")
    if callable(map_location) or (map_location is not None and device(map_location).type != "cpu"):
        raise NotImplementedError(
            "load: everything is loaded to the CPU, so map_location must be 'cpu': move what was "
            "loaded"
        )
    if hasattr(f, "read"):
        return _read(f, weights_only)
    with open(os.fspath(f), "rb") as file:
        return _read(file, weights_only)


def _read(file, weights_only: bool):
    import pickle

    from ._unpickle import WeightsOnly

    start = file.tell() if file.seekable() else None
    try:
        return (WeightsOnly if weights_only else pickle.Unpickler)(file).load()
    except (pickle.UnpicklingError, EOFError, ValueError) as error:
        if start is None:
            raise
        file.seek(start)
        hint = _what_it_is(file.read(9))
        if not hint:
            raise
        raise pickle.UnpicklingError(f"load: {hint}") from error


def _what_it_is(head: bytes) -> str:
    """What to do with a file of another format, by its first bytes; empty if it is not known."""
    if head[8:9] == b"{" and not any(head[5:8]):  # the length of a header in JSON
        return "this is a safetensors file: read it with dumbtorch.safetensors.load_file(path)"
    if head.startswith(b"PK"):
        return (
            "this looks like a file of PyTorch's torch.save: write the tensors there with "
            "safetensors.torch.save_file, and read them with dumbtorch.safetensors.load_file"
        )
    return ""
