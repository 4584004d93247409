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
