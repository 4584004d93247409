"""How losses join the losses of elements: PyTorch's numbers of the words, and the words of its older arguments."""

from __future__ import annotations

from .._runtime import reduction_of
from .._warning import OLDER_MEAN, warn_of_older_mean

_NUMBERS = {"none": 0, "mean": 1, OLDER_MEAN: 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction."""
    if reduction == OLDER_MEAN:
        warn_of_older_mean(stacklevel=2)
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average, reduce, emit_warning: bool = True) -> str:
    """The reduction that these two mean."""
    return reduction_of(size_average, reduce, emit_warning)


def legacy_get_enum(size_average, reduce, emit_warning: bool = True) -> int:
    """The number of the reduction that these two mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
