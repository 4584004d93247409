"""What docs/differences*.md say, as far as random programs meet it: the beginning of a sentence, and when it applies.
A predicate is as narrow as it can be, since it hides whatever else it applies to."""

from __future__ import annotations

import re

import torch

from . import (  # noqa: F401 - they fill DIFFERENCES
    known_arguments,
    known_constants,
    known_edges,
    known_elementwise,
    known_gradients,
    known_handed,
    known_infinite,
    known_kept,
    known_memory,
    known_narrow,
    known_norms,
    known_nothing,
    known_numbers,
    known_ranges,
    known_saved,
    known_searches,
    known_transforms,
    known_versions,
)
from .case import DIFFERENCES, Case, Known


def known(case: Case) -> Known | None:
    return next((k for k in DIFFERENCES if k.applies(case)), None)


def avoided(function: str, given: dict) -> bool:
    """What differs later only, and without a trace: programs do not do it."""
    target, *others = [v for v in given.values() if isinstance(v, torch.Tensor)]
    logic = re.fullmatch(r"logical_\w+_", function)  # **In-place logic**
    itself = any(x is target for x in others)  # **In place by itself**
    recorded = itself and any(x.requires_grad for x in others)
    return recorded or (target.requires_grad and logic is not None)
