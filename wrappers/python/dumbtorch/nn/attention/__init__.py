"""Which way attention is computed. There is one way for each call, so that these settings change nothing."""

from __future__ import annotations

from contextlib import contextmanager
from enum import IntEnum

from ... import _late
from ...backends import cuda as _cuda

__getattr__, __dir__ = _late.names(__name__, "bias flex_attention")
__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """PyTorch's ways."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_names = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
    "overrideable": SDPBackend.OVERRIDEABLE,
}
_order = [_names[name] for name in ("flash", "mem_efficient", "math", "cudnn", "overrideable")]


def _cur_sdpa_kernel_backends(with_priority=False):
    """The ways that are allowed, the preferred ones first if asked for."""
    allowed = [way for name, way in _names.items() if _cuda._ways[name]]
    return sorted(allowed, key=_order.index) if with_priority else allowed


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A block in which PyTorch takes one of these ways, a SDPBackend or a list of them, in their order if wanted."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    ways = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    before = _cur_sdpa_kernel_backends(set_priority)
    _allow(ways, set_priority)
    try:
        yield {}
    finally:
        _allow(before, set_priority)


def _allow(ways: list, set_priority: bool) -> None:
    _cuda._ways = {name: way in ways for name, way in _names.items()}
    if set_priority:
        first = [way for way in ways if way in _order]
        _order[:] = first + [way for way in _order if way not in first]
