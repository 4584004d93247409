"""What rows of the schema ask of the arguments of layers."""

from __future__ import annotations


def all_between(x: float | tuple, low: float, high: float) -> bool:
    """Whether that holds for a number, or for all of a list."""
    return all(low < n < high for n in (x if isinstance(x, (list, tuple)) else (x,)))


def split_sizes(sizes):
    """The sizes that Unflatten is given, which refuses what are none before it has an input."""
    if not isinstance(sizes, (list, tuple)):
        raise TypeError(
            f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}"
        )
    for i, n in enumerate(sizes):
        if not isinstance(n, int):
            raise TypeError(
                f"unflattened_size must be tuple of ints, but found element of type {type(n).__name__} at pos {i}"
            )
    return sizes


def repeated(x, count: int):
    """One number as many times as it stands for; a list as it is."""
    return x if x is None or isinstance(x, (list, tuple)) else (x,) * count
