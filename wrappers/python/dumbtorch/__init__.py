"""dumbtorch for Python: `import dumbtorch as torch`.

PyTorch's names, over a small library that other languages share. What differs from PyTorch is
listed in docs/python.md.
"""

# What is imported here is the package's public face.
# ruff: noqa: F401

from __future__ import annotations

import math as _math

from . import _ops, _overloads, _types
from ._creation import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, tensor
from ._native import lib as _lib
from ._runtime import OutOfMemoryError
from ._tensor import Tensor
from ._types import (
    Size,
    bfloat16,
    channels_last,
    contiguous_format,
    device,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    memory_format,
    preserve_format,
    uint8,
)

# The functions of the schema, then those whose signatures are overloads.
globals().update(_ops.NAMESPACES["torch"])
globals().update(_overloads.FUNCTIONS)

from . import autograd, backends, cuda, linalg, nn, optim, random, safetensors, utils  # noqa: E402
from ._graph import capture  # noqa: E402
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from .random import (  # noqa: E402
    Generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .serialization import load, save  # noqa: E402

__version__ = "0.1.0"

float = float32
double = float64
half = float16
short = int16
long = int64
int = int32
bool = _types.bool_

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e

_ALIASES = {
    "absolute": "abs", "concat": "cat", "concatenate": "cat", "divide": "div", "greater": "gt",
    "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg",
    "not_equal": "ne", "subtract": "sub", "swapaxes": "transpose", "swapdims": "transpose",
}  # fmt: skip
for _alias, _name in _ALIASES.items():
    globals()[_alias] = globals()[_name]
    for _mark in ("", "_"):  # the in-place twins too
        if _name + _mark in _ops.METHODS:
            setattr(Tensor, _alias + _mark, _ops.METHODS[_name + _mark])


def is_tensor(obj):
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether a tensor's dtype is a floating-point one."""
    return input.dtype.is_floating_point


def numel(input):
    """Number of elements."""
    return input.numel()


def live_handles(kind=None):
    """How many handles of a kind ("tensor", ...) are alive; all kinds by default. To find leaks."""
    from ._native import ffi

    return _lib.dt_live_handles(ffi.NULL if kind is None else kind.encode())
