"""What docs/differences.md says, as far as random programs meet it: the beginning of a sentence, and when it applies. A
predicate is as narrow as it can be, since it hides whatever else it applies to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .compare import Difference


@dataclass(frozen=True)
class Case:
    """A difference, and what else is known of it."""

    difference: Difference
    device: str
    theirs: object  # PyTorch's tensor, where it is about one

    @property
    def aspect(self) -> str:
        return self.difference.aspect

    @property
    def statement(self) -> str:
        return self.difference.statement

    def only_theirs_raises(self, sentence: str) -> bool:
        d = self.difference
        return (
            d.aspect == "raised"
            and d.ours == "no error"
            and re.search(sentence, d.theirs) is not None
        )

    def only_ours_raises(self, sentence: str) -> bool:
        d = self.difference
        return (
            d.aspect == "raised"
            and d.theirs == "no error"
            and re.search(sentence, d.ours) is not None
        )


@dataclass(frozen=True)
class Known:
    sentence: str
    applies: Callable[[Case], bool]
    final: bool  # whether the libraries go separate ways from there


DIFFERENCES: list[Known] = []


def known(case: Case) -> Known | None:
    return next((k for k in DIFFERENCES if k.applies(case)), None)


def documented(sentence: str, final: bool = True):
    return lambda applies: DIFFERENCES.append(Known(sentence, applies, final))


# ---- gradients


@documented("**Writing into one of several views**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "is a view and (is being modified inplace|its base or another view)"
    )


@documented("**Views made under `no_grad`** require no gradient.", final=False)
def _(c: Case) -> bool:
    leaf = isinstance(c.theirs, torch.Tensor) and c.theirs.is_leaf
    return c.aspect in ("requires_grad", "is_leaf") and leaf and c.theirs._is_view()


@documented("**Overlapping copies**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "some elements of the input tensor and the written-to tensor refer to a single memory"
    )


@documented("**`detach_`** works on views too.")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Can't detach views in-place")


@documented("**In-place logic**")
def _(c: Case) -> bool:
    return re.search(r"\.logical_\w+_\(", c.statement) is not None and c.only_ours_raises(
        "leaf Variable"
    )


@documented("**Expanded memory**")
def _(c: Case) -> bool:
    return c.only_ours_raises(
        "^RuntimeError: (masked_fill_|index_put_): unsupported operation: more than one element"
    )


@documented("**Expanded memory**")
def _(c: Case) -> bool:
    return (
        c.only_theirs_raises("unsupported operation: more than one element") and "=" in c.statement
    )


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_ours_raises("^IndexError: index_add_?: index .* is out of bounds")
