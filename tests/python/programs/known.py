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
    tensors: dict[str, torch.Tensor]  # all of PyTorch's, by name

    @property
    def aspect(self) -> str:
        return self.difference.aspect

    @property
    def statement(self) -> str:
        return self.difference.statement

    @property
    def used(self) -> list[torch.Tensor]:
        """The tensors that the statement names."""
        return [self.tensors[n] for n in re.findall(r"\bx\d+", self.statement) if n in self.tensors]

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
    target, *others = [v for v in given.values() if isinstance(v, torch.Tensor)]
    logic = re.fullmatch(r"logical_\w+_", function)  # **In-place logic**
    itself = any(x is target for x in others)  # **In place by itself**
    return target.requires_grad and (logic is not None or itself)


# ---- gradients


@documented("**Writing into one of several views**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "is a view and (is being modified inplace|its base or another view)"
    )


def is_leaf_by_view(x: object) -> bool:
    return isinstance(x, torch.Tensor) and x._is_view() and x.is_leaf


def is_view_without_history(c: Case) -> bool:
    return c.aspect in ("requires_grad", "is_leaf") and is_leaf_by_view(c.theirs)


# Within the block.
@documented("**Views made under `no_grad`** require no gradient", final=False)
def _(c: Case) -> bool:
    return not c.grad_enabled and is_view_without_history(c)


@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    return c.grad_enabled and is_view_without_history(c)


# What only a tensor that requires grad may do, and what it may not.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    sentence = "requires_grad=False|(doesn't|does not) require grad"
    return c.only_ours_raises(sentence) and any(map(is_leaf_by_view, c.used))


@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    if c.only_theirs_raises("A view was created in no_grad mode and"):
        return True
    sentence = "a leaf Variable that requires grad"
    return c.only_theirs_raises(sentence) and any(map(is_leaf_by_view, c.used))


# Views of such views.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    return c.aspect in ("requires_grad", "is_leaf") and any(map(is_leaf_by_view, c.used))


# What was a view, and written, before its base became a leaf that requires grad.
@documented("**Views made under `no_grad`** require no gradient")
def _(c: Case) -> bool:
    later = re.search(r"\.requires_grad(_\(| = )", c.history) is not None
    less = c.aspect in ("requires_grad", "is_leaf") and "True" in c.difference.theirs
    less = less or c.only_ours_raises("(doesn't|does not) require grad|requires_grad=False")
    less = less or c.only_theirs_raises("a (view of a )?leaf Variable that requires grad")
    return later and less and any(x._is_view() and x._base.is_leaf and x._version for x in c.used)


@documented("**Weights of losses**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "function 'binary_cross_entropy.* is not differentiable with respect to argument"
    )


@documented("**What an op keeps**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("Trying to backward through the graph a second time")


CHANGED = "modified by an inplace operation: "


# The mask of an index, of which the positions are kept, as those of int32 are; the index of a number; results.
@documented("**What an op keeps**")
def _(c: Case) -> bool:
    positions = r"\[(CPU(Bool|Byte)Type|torch.IntTensor|torch.LongTensor \[\])"
    result = ".* output 0 of (Logsumexp|Pow1|Prod|Elu1),"
    return c.only_theirs_raises(CHANGED + positions + "|" + CHANGED + result)


# The statistics of batch_norm, the classes of nll_loss (its slope is kept), the shape of what gather reads.
@documented("**What an op keeps**")
def _(c: Case) -> bool:
    less = re.search(r"batch_norm\(|BatchNorm|nll_loss\(|gather\(", c.history) is not None
    return less and c.only_theirs_raises(CHANGED)


# What the derivative of a square is multiplied with.
@documented("**What an op keeps**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(CHANGED) and any(has_low_power(x, 1) for x in c.used)


@documented("**What an op keeps**")
def _(c: Case) -> bool:
    return "inputs=" in c.statement and c.only_theirs_raises(CHANGED)


@documented("**What an op keeps**")
def _(c: Case) -> bool:
    more = re.search(r"\b(cross_entropy|CrossEntropyLoss|matmul)\(|@", c.history) is not None
    return more and c.only_ours_raises(CHANGED)


@documented("**What an op keeps**")
def _(c: Case) -> bool:
    resized = "interpolate(" in c.history or "Upsample(" in c.history
    return resized and c.only_ours_raises("Trying to backward through the graph a second time")


def is_derivative(c: Case) -> bool:
    return re.search(r"\b(grad|backward)\(", c.statement) is not None


def has_low_power(x: object, highest: int = 0) -> bool:
    """Whether its graph in PyTorch has a power of 0, such as the second derivative of a square is made of."""
    nodes = [x.grad_fn] if isinstance(x, torch.Tensor) else []
    seen = set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        if node.name() == "PowBackward0" and node._saved_exponent <= highest:
            return True
        seen.add(node)
        nodes += [n for n, _ in node.next_functions]
    return False


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    about_graph = c.aspect in ("requires_grad", "is_leaf", "grad_fn")
    about_graph = about_graph or c.only_ours_raises(
        "appears to not have been used|not require grad"
    )
    about = [*c.used, c.theirs]
    return about_graph and is_derivative(c) and any(map(has_low_power, about))


@documented("**Constant derivatives**")
def _(c: Case) -> bool:
    more = c.aspect == "requires_grad" and c.difference.ours == "True"
    return more and "prod(" in c.history and is_derivative(c)


@documented("**Memory order**")
def _(c: Case) -> bool:
    return c.aspect == "strides" and "autograd.grad(" in c.statement


@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    about_graph = c.aspect in ("requires_grad", "is_leaf", "grad_fn")
    return about_graph and "autograd.grad(" in c.statement and "create_graph" not in c.statement


def has_several_results(x: torch.Tensor) -> bool:
    """Whether the op that made it made others, too, or its graph has such ops."""
    nodes, seen = [(x.grad_fn, x.output_nr)], set()
    while nodes:
        node, output = nodes.pop()
        if node is None or node in seen:
            continue
        if output > 0 or node.name().startswith(("Split", "Unbind", "Chunk", "TensorSplit")):
            return True
        seen.add(node)
        nodes += node.next_functions
    return False


# What hooks saw, and gradients that they or retain_grad made.
@documented("**One of an op's results**")
def _(c: Case) -> bool:
    seen = c.aspect in ("length", "values", "type") and is_derivative(c)
    asked = "grad(" in c.statement or "inputs=" in c.statement
    return seen and asked and any(map(has_several_results, c.used))


def has_written_view(c: Case) -> bool:
    return any(x._is_view() and x._version > 0 for x in c.used)


@documented("**Views of what was written**")
def _(c: Case) -> bool:
    unknown = c.aspect == "type" and c.difference.theirs == "None"
    unknown = unknown or c.only_theirs_raises("appears to not have been used in the graph")
    hooked = c.aspect in ("values", "length") and "hook(" in c.history
    return (unknown or hooked) and is_derivative(c) and has_written_view(c)


@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    return c.only_ours_raises("Expected input with at least one class")


# An input without channels.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    convolves = c.aspect == "shape" and re.search(r"conv2d\(|Conv2d\(", c.history) is not None
    return convolves and "0" in re.findall(r"\d+", c.difference.theirs)


# Through what was written: of no elements.
@documented("**Nothing to compute**")
def _(c: Case) -> bool:
    none = any(x.numel() == 0 for x in c.tensors.values())
    zeros = not re.search("[1-9]", re.sub(r"\S+ ", "", c.difference.ours, count=1))
    less = c.aspect == "requires_grad" and c.difference.theirs == "False"
    less = less or (c.aspect == "type" and c.difference.theirs == "None" and zeros)
    return none and less and is_derivative(c)


@documented("**`detach_`** works on views too")
def _(c: Case) -> bool:
    return ".detach_()" in c.history and c.only_ours_raises("modified by an inplace operation")


@documented("**Integer division**")
def _(c: Case) -> bool:
    return c.only_theirs_raises(
        "derivative for aten::(floor_divide_?|remainder) is not implemented"
    )


# What an error leaves behind.
@documented("**Integer division**")
def _(c: Case) -> bool:
    integers = c.aspect == "values" and isinstance(c.theirs, torch.Tensor)
    divides = re.search(r"(divide|div|remainder)_\(|(//|%)=", c.statement) is not None
    return integers and divides and not c.theirs.is_floating_point()


@documented("**Hooks**")
def _(c: Case) -> bool:
    return c.only_theirs_raises("NoneType") and (
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


@documented("**Expanded memory**")
def _(c: Case) -> bool:
    return c.only_ours_raises("^RuntimeError: batch_norm: unsupported operation: more than one")


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


@documented("**Optimizers**")
def _(c: Case) -> bool:
    return c.only_ours_raises("a parameter group with duplicate parameters")


# ---- numbers


@documented("**Memory order**")
def _(c: Case) -> bool:
    return (
        c.aspect == "strides"
        and re.search(r"nonzero|logsigmoid|LogSigmoid", c.statement) is not None
    )


@documented("**Memory order**")
def _(c: Case) -> bool:
    loss = re.search(r"rsub\(|reduction='none'", c.statement)
    return c.aspect == "strides" and loss is not None


# Of what an index of tensors gives, too.
@documented("**Memory order**")
def _(c: Case) -> bool:
    return c.aspect == "strides" and re.search(r"\]$", c.statement) is not None


# Of 0, which a bool makes it compute as 0 * x**-1.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    wrong = c.aspect == "values" and "nan" in c.difference.theirs and is_derivative(c)
    return wrong and re.search(r"\*\*=? False|pow_?\(.*False\)", c.history) is not None


# The second derivative by the bias of layer_norm, if by nothing else.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    normalised = re.search(r"layer_norm\(|LayerNorm\(", c.history) is not None
    lost = c.aspect == "type" and c.difference.theirs == "None"
    return normalised and lost and is_derivative(c)


@documented("**`layer_norm`** of a row whose squares overflow")
def _(c: Case) -> bool:
    normalised = "layer_norm(" in c.statement or "LayerNorm(" in c.history
    return normalised and c.aspect == "values" and "nan" in c.difference.ours + c.difference.theirs


@documented("**`norm`** adds squares")
def _(c: Case) -> bool:
    return c.aspect == "values" and "norm(" in c.statement and "inf" in c.difference.theirs


@documented("**`pow`** of `float32`")
def _(c: Case) -> bool:
    odd = re.search(r"(pow_?\(|\*\*).*\b(\d{8,}|\d\.\d+e\+?\d+)", c.statement)
    return c.aspect == "values" and odd is not None


@documented("**`batch_norm`** of infinities")
def _(c: Case) -> bool:
    running = c.aspect == "values" and "running_" in c.difference.place
    return running and "nan" in c.difference.ours and "inf" in c.difference.theirs


@documented("**`conv2d`** of infinities")
def _(c: Case) -> bool:
    convolves = re.search(r"conv2d\(|Conv2d\(", c.history) is not None
    infinite = "nan" in c.difference.ours and "inf" in c.difference.theirs
    return c.aspect == "values" and convolves and infinite and is_derivative(c)


# The index of scatter_add is narrower than what it adds to.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    return c.aspect == "values" and "scatter_add" in c.statement and has_expanded_index(c)


def has_expanded_index(c: Case) -> bool:
    return any(x.dtype is torch.int64 and x.dim() > 1 and 0 in x.stride() for x in c.used)


# batch_norm with statistics or parameters that are a part of other memory.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    apart = any(x.dim() == 1 and x.stride(0) > 1 for x in c.tensors.values())
    return c.aspect == "values" and apart and "batch_norm(" in c.history and is_derivative(c)


# Of infinities, by prod.
@documented("**Where PyTorch is wrong**")
def _(c: Case) -> bool:
    wrong = c.aspect == "values" and "nan" in c.difference.theirs and is_derivative(c)
    return wrong and "prod(" in c.history


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
    return c.aspect == "values" and ".addmm_(" in c.statement and not c.theirs.is_floating_point()


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
