"""What is to be known about NumPy, which is asked only where a program has loaded it."""

from __future__ import annotations

import operator
import sys

from ._types import DTYPE, bfloat16

_BY_NAME = {d.name: d for d in DTYPE.objects.values()}
_MET: dict = {}  # the dtypes of NumPy that were asked for: their names are slow


def is_array(x) -> bool:
    """NumPy's arrays, and its numbers, which have the same attributes."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, (numpy.ndarray, numpy.generic))


def is_number(x) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.generic)


def dtype_of(array):
    """The dtype of an array's elements, None if there is none. NumPy has the same names; that of
    bfloat16 is ml_dtypes'."""
    kind = array.dtype
    found = _MET.get(kind)
    if found is None:
        found = _BY_NAME.get(kind.name)
        if found is not None:
            _MET[kind] = found
    return found


def dtype_for(kind):
    """NumPy's type of a dtype's elements."""
    import numpy

    if kind is not bfloat16:
        return numpy.dtype(kind.name)
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError("Got unsupported ScalarType BFloat16") from None
    return numpy.dtype(ml_dtypes.bfloat16)


def meeting_dtype(name: str, a, b):
    """The dtype in which an operator's operands meet where NumPy computes it, as PyTorch lets it of
    a tensor and an array."""
    import numpy

    empty = [numpy.empty(0, dtype_for(kind)) for kind in (a, b)]
    if name in ("eq", "ne", "lt", "le", "gt", "ge"):
        return _BY_NAME[numpy.result_type(*empty).name]
    return _BY_NAME[getattr(operator, f"__{name}__")(*empty).dtype.name]
