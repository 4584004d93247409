"""Names of PyTorch's extension module that programs use."""

# ruff: noqa: F401

from __future__ import annotations

from . import Generator, Size, _missing, device, dtype, layout, memory_format
from ._runtime import LinAlgError as _LinAlgError
from ._runtime import OutOfMemoryError
from ._tensor_type import TensorBase

__getattr__ = _missing.getattr_of(__name__)


def _log_api_usage_once(event: str) -> None:
    """Nobody is told which functions a program uses."""


def _get_tracing_state() -> None:
    """No program is traced."""
