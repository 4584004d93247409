"""torch.cuda.nvtx: ranges and marks for NVIDIA's tools, such as Nsight Systems."""

from __future__ import annotations

import contextlib

from .. import _missing, _ops

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(msg: str) -> int:
    """Begins a range of this thread; gives how deep it lies, from 0."""
    return _ops.profiler_nvtx_push(msg)


def range_pop() -> int:
    """Ends the innermost range of this thread; gives how deep it lay."""
    return _ops.profiler_nvtx_pop()


def range_start(msg: str) -> int:
    """Begins a range that may end on another thread; gives its number."""
    return _ops.profiler_nvtx_start(msg)


def range_end(range_id: int) -> None:
    """Ends a range that `range_start` began."""
    _ops.profiler_nvtx_end(range_id)


def mark(msg: str) -> None:
    """Marks that something happened."""
    _ops.profiler_nvtx_mark(msg)


@contextlib.contextmanager
def range(msg: str, *args, **kwargs):
    """A range around a block, or a function that it decorates; the name is msg.format(*args, **kwargs)."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
