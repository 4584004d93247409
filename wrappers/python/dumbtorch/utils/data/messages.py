"""Objects between processes: small ones through a connection, large ones as files in memory.

A tensor that arrives lies where its sender has written it: nothing is copied on this side.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from multiprocessing import reduction

from ..._creation import frombuffer
from ..._native import ffi
from ..._tensor import Tensor

_INLINE = 4096  # bytes; what is longer would fill a connection that nobody reads at the moment
_ALIGNMENT = 64


class _Pickler(pickle.Pickler):
    """Leaves the elements of tensors out, as buffers."""

    def reducer_override(self, x):
        whole = type(x) is Tensor and x.device.type == "cpu" and x.is_contiguous() and x.numel() > 0
        if not whole or x.grad_fn is not None:
            return NotImplemented
        memory = ffi.buffer(ffi.cast("char *", x.data_ptr()), x.nbytes)
        parts = (pickle.PickleBuffer(memory), tuple(x.shape), x.dtype, x.requires_grad)
        return _tensor_over, parts


def _tensor_over(memory, shape: tuple, dtype, requires_grad: bool) -> Tensor:
    return frombuffer(memory, dtype=dtype).reshape(shape).requires_grad_(requires_grad)


def send(connection, x) -> None:
    """Sends an object; one that cannot be pickled is an error, and nothing is sent."""
    file, buffers = io.BytesIO(), []
    _Pickler(file, 5, buffer_callback=buffers.append).dump(x)
    parts = [file.getbuffer(), *(b.raw() for b in buffers)]
    sizes = [len(part) for part in parts]
    total = _ends(sizes)[-1]
    if total <= _INLINE:
        message = bytearray(total)
        _fill(message, parts, sizes)
        connection.send((sizes, message))
        return
    file = os.memfd_create("batch")
    try:
        os.ftruncate(file, total)
        with mmap.mmap(file, total) as memory:
            _fill(memory, parts, sizes)
        connection.send((sizes, None))
        reduction.send_handle(connection, file, None)
    finally:
        os.close(file)


def receive(connection):
    """The next object."""
    sizes, memory = connection.recv()
    if memory is None:
        file = reduction.recv_handle(connection)
        memory = mmap.mmap(file, _ends(sizes)[-1])
        os.close(file)
    view = memoryview(memory)
    parts = [view[end - size : end] for size, end in zip(sizes, _ends(sizes), strict=True)]
    return pickle.loads(parts[0], buffers=parts[1:])


def _ends(sizes: list[int]) -> list[int]:
    """Where each part ends, which begins at a multiple of the alignment."""
    ends, end = [], 0
    for size in sizes:
        end += -end % _ALIGNMENT + size
        ends.append(end)
    return ends


def _fill(memory, parts: list, sizes: list[int]) -> None:
    for part, size, end in zip(parts, sizes, _ends(sizes), strict=True):
        memory[end - size : end] = part
