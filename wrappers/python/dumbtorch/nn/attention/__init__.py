"""Which way attention is computed. There is one way for each call, so that these settings change nothing."""

from __future__ import annotations

from contextlib import contextmanager
from enum import IntEnum

from ... import _late

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


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A block in which PyTorch takes one of these ways, a SDPBackend or a list of them."""
    several = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(way, SDPBackend) for way in several):
        raise TypeError("sdpa_kernel: backends must be SDPBackends")
    yield
