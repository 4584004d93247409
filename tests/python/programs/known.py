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
    history: str  # the statements so far
    device: str
    grad_enabled: bool
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


def avoided(function: str, given: dict) -> bool:
    """What differs later only, and without a trace: programs do not do it."""
    target = next(v for v in given.values() if isinstance(v, torch.Tensor))
    logic = re.fullmatch(r"logical_\w+_", function)  # **In-place logic**
    itself = function.endswith("_") and given.get("other") is target  # **In place by itself**
    return target.requires_grad and (logic is not None or itself)


# ---- gradients


@documented("**Writing into one of several views**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "is a view and (is being modified inplace|its base or another view)"
    )


def is_view_without_history(c: Case) -> bool:
    leaf = isinstance(c.theirs, torch.Tensor) and c.theirs.is_leaf
    return c.aspect in ("requires_grad", "is_leaf") and leaf and c.theirs._is_view()


# Within the block.
@documented("**Views made under `no_grad`** require no gradient", final=False)
def _(c: Case) -> bool:
    return not c.grad_enabled and is_view_without_history(c)


@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    return c.grad_enabled and is_view_without_history(c)


# Within the block: what only a tensor that requires grad may do.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    sentence = "requires_grad=False|doesn't require gradient|does not require grad"
    return not c.grad_enabled and c.only_ours_raises(sentence)


# A use of such a view outside of the block.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    return c.only_theirs_raises("A view was created in no_grad mode and")


@documented("**Weights of losses**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "function 'binary_cross_entropy.* is not differentiable with respect to argument"
    )


@documented("**What an op keeps**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Trying to backward through the graph a second time")


# The mask of an index, of which the positions are kept; what logsumexp gave.
@documented("**What an op keeps**")
def _(c: Case) -> bool:
    changed = "modified by an inplace operation: "
    return c.only_theirs_raises(
        changed + r"\[CPU(Bool|Byte)Type|" + changed + ".* output 0 of Logsumexp"
    )


@documented("**What an op keeps**")
def _(c: Case) -> bool:
    resized = "interpolate(" in c.history or "Upsample(" in c.history
    return resized and c.only_ours_raises("Trying to backward through the graph a second time")


@documented("**Integer division**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "derivative for aten::(floor_divide_?|remainder) is not implemented"
    )


@documented("**Hooks**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("'NoneType'") and (
        "grad(" in c.statement or "backward(" in c.statement
    )


@documented("**Overlapping copies**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "some elements of the input tensor and the written-to tensor refer to a single memory"
    )


@documented("**`detach_`** works on views too")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Can't detach views in-place|has been detached in-place")


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
    return c.only_ours_raises("^IndexError: (index_add_?|nll_loss): index .* is out of bounds")


# ---- errors


@documented("**More is taken**")
def _(c: Case) -> bool:
    return "keepdim=" in c.statement and c.only_theirs_raises(
        r"(sum|mean|prod)\(\) (missing|received an invalid)"
    )


@documented("**More is taken**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        r"clamp_?\(\) received an invalid combination of arguments - got \(.*Tensor"
    )


# ---- numbers


@documented("**Memory order**")
def _(c: Case) -> bool:
    return (
        c.aspect == "strides"
        and re.search(r"nonzero|logsigmoid|LogSigmoid", c.statement) is not None
    )


# Of what an index of tensors gives, too.
@documented("**Memory order**")
def _(c: Case) -> bool:
    return c.aspect == "strides" and re.search(r"\]$", c.statement) is not None


@documented("**`layer_norm`** of a row whose squares overflow")
def _(c: Case) -> bool:
    normalised = "layer_norm(" in c.statement or "LayerNorm(" in c.history
    return normalised and c.aspect == "values" and "nan" in c.difference.ours + c.difference.theirs


# Of infinities, by gelu.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    infinite = "inf" in c.difference.ours and "nan" in c.difference.theirs
    return infinite and c.aspect == "values" and re.search("gelu|GELU", c.history) is not None


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("INTERNAL ASSERT FAILED")


@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return (
        c.aspect == "values"
        and ".addmm_(" in c.statement
        and getattr(c.theirs, "dtype", None) is torch.int32
    )


@documented("**Integers** never require a gradient")
def _(c: Case) -> bool:
    if c.aspect != "requires_grad" or not isinstance(c.theirs, torch.Tensor):
        return False
    return c.theirs.requires_grad and not c.theirs.is_floating_point()


@documented("`binary_cross_entropy_with_logits` of an infinite target")
def _(c: Case) -> bool:
    loss = re.search("binary_cross_entropy_with_logits|BCEWithLogitsLoss", c.statement)
    return c.aspect == "values" and loss is not None and "nan" in c.difference.ours


@documented("`batch_norm` counts its running statistics as changed")
def _(c: Case) -> bool:
    return c.aspect == "version" and "batch_norm(" in c.statement
