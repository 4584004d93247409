"""What functional.grouped_mm refuses, and how its results are put together."""

from __future__ import annotations

from . import _ops
from ._types import int32


def filled(parts, dim: int, size: int):
    """The parts beside each other, and zeros up to the size."""
    sizes = list(parts[0].shape)
    sizes[dim] = size - sum(part.shape[dim] for part in parts)
    return _ops.cat([*parts, parts[0].new_zeros(sizes)], dim)


def check(a, b, offs, bias, out_dtype) -> None:
    for name, x in (("mat_a", a), ("mat_b", b)):
        if not x.is_floating_point():
            raise RuntimeError(
                f"grouped_mm: Expected {name} to be a matrix of floats, got {x.dtype}"
            )
        if x.ndim not in (2, 3):
            raise RuntimeError(f"grouped_mm: {name} has to be 2 or 3d")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("grouped_mm: contraction dimension of mat_a and mat_b must match")
    if (offs is None) != (a.ndim == b.ndim == 3):
        raise RuntimeError(
            "grouped_mm: Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if a.ndim == b.ndim == 3 and a.shape[0] != b.shape[0]:
        raise RuntimeError("grouped_mm: batched dimension has to match")
    if bias is not None:
        raise RuntimeError("grouped_mm: Bias not supported yet")
    if out_dtype is not None and out_dtype != a.dtype:
        raise RuntimeError("grouped_mm: Grouped gemm output dtype must match `mat_a` dtype")
    if offs is not None:
        _check_offsets(a, b, offs)


def _check_offsets(a, b, offs) -> None:
    if offs.ndim != 1:
        raise RuntimeError("grouped_mm: offs has to be 1D")
    if offs.dtype != int32:
        raise RuntimeError("grouped_mm: Offsets have to be int32")
    if not offs.numel():
        raise RuntimeError("grouped_mm: offs must have an end for each group, but is empty")
    ends = offs.tolist()
    stacks = [x.shape[0] for x in (a, b) if x.ndim == 3]
    if any(n != len(ends) for n in stacks):
        raise RuntimeError("grouped_mm: matrix batch sizes have to match")
    size = b.shape[1] if a.ndim == 3 else a.shape[0 if b.ndim == 3 else 1]
    if any(begin > end for begin, end in zip([0, *ends], [*ends, size], strict=True)):
        raise RuntimeError(
            f"grouped_mm: offsets must increase from 0 to {size} at most, but are {ends}"
        )
