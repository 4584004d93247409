"""The same values as tensors of different memory layouts, in either library."""

from __future__ import annotations

import numpy as np

LAYOUTS = ("contiguous", "transposed", "sliced", "expanded")


def applies(layout: str, sizes: tuple[int, ...]) -> bool:
    return {
        "contiguous": True,
        "transposed": len(sizes) >= 2,
        "sliced": len(sizes) >= 1,
        "expanded": len(sizes) >= 1,
    }[layout]


def arrange(array: np.ndarray, layout: str) -> tuple[np.ndarray, callable]:
    """(what is stored, the view of it that shows `array`): view(tensor) works on both libraries' tensors. An expanded
    layout shows the first slice of `array` repeated."""
    if layout == "transposed":
        order = tuple(reversed(range(array.ndim)))
        return np.ascontiguousarray(array.transpose(order)), lambda t: t.permute(order)
    if layout == "sliced":
        stored = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        stored[..., 1::2] = array
        return stored, lambda t: t[..., 1::2]
    if layout == "expanded":
        return np.ascontiguousarray(array[:1]), lambda t: t.expand(array.shape)
    return array, lambda t: t
