"""Names of types for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO

from . import Size, Tensor, _missing, device, dtype, layout
from .storage import UntypedStorage as Storage

__getattr__ = _missing.getattr_of(__name__)

Number = int | float | bool
Device = device | str | int | None
FileLike = str | os.PathLike[str] | IO[bytes]
_size = Size | list[int] | tuple[int, ...]
_int, _float, _bool, _str, _dtype, _device, _layout = int, float, bool, str, dtype, device, layout
_TensorOrTensors = Tensor | Sequence[Tensor]

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "Tensor"]
