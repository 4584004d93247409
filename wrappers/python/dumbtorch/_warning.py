"""Warnings that PyTorch's core gives once per process, or each time after set_warn_always(True)."""

from __future__ import annotations

import warnings

always = False
_given: set[str] = set()


def warn_once(about: str, message: str, stacklevel: int = 3) -> None:
    """Warns the first time that `about` comes up."""
    if always or about not in _given:
        _given.add(about)
        warnings.warn(message, UserWarning, stacklevel=stacklevel)


def warn_each(message: str, category=UserWarning, stacklevel: int = 3) -> None:
    """Warns each time that a function, or a class, is used."""
    warnings.warn(message, category, stacklevel=stacklevel)


def warn_of_cycle() -> None:
    """Of a backward that records itself."""
    warn_once(
        "create_graph",
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak.",
        stacklevel=4,
    )


def warn_of_sizes(input, target) -> None:
    """Of a loss whose tensors broadcast."""
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
