"""Rows that run one program over both libraries."""

from __future__ import annotations

from collections.abc import Callable

from measure import Measure, Variant, of_calls


def lazily(make: Callable[[], Callable[[], object]], calls: int = 1) -> Measure:
    """Prepares the program when it is first measured, so that rows not chosen cost nothing."""
    measure: Measure | None = None

    def first(seconds: float) -> float:
        nonlocal measure
        if measure is None:
            measure = of_calls(make(), calls)
        return measure(seconds)

    return first


def compare(make, dumbtorch, torch, *, calls: int = 1, rivals: dict[str, dict] | None = None):
    """`make(library, **options)` prepares a program. The result: our variant, and PyTorch's, each
    named and made with its own options."""
    ours = Variant("dumbtorch", lazily(lambda: make(dumbtorch), calls))
    if torch is None:
        return ours, ()
    named = rivals or {"eager": {}}
    theirs = (
        Variant(name, lazily(lambda options=options: make(torch, **options), calls))
        for name, options in named.items()
    )
    return ours, tuple(theirs)
