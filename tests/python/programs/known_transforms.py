"""What is known of torch.func."""

from __future__ import annotations

import re

import torch

from .case import CHANGED, SECOND_TIME, UNUSED, Case, documented, graph_of, is_derivative
from .known_saved import KEEPS, is_kept_by_pytorch_alone, reported

PAGE = "run a backward for each row, `jacfwd` one for each column"
CALL = r"t\.func\.\w+"


# Forwards PyTorch adds what is zero, as a part of the graph.
@documented(PAGE)
def _(c: Case) -> bool:
    forwards = re.search(r"= t\.func\.(?:jacfwd\(.*|jvp\(.*\)\[1\])", c.statement) is not None
    less = c.aspect == "requires_grad" and c.difference.ours == "False"
    return forwards and less and is_constant(c.theirs)


# Backwards, too: what is added to a gradient for an argument that the derivative does not depend on.
@documented(PAGE)
def _(c: Case) -> bool:
    less = c.aspect == "requires_grad" and c.difference.ours == "False"
    forwards = is_derivative(c) and c.passes(r"t\.func\.(?:jacfwd|jvp)")
    return less and forwards and is_constant(c.theirs)


def is_constant(x: torch.Tensor) -> bool:
    """Whether all that its graph in PyTorch gives are zeros."""
    leaves = [y for n in graph_of(x) if (y := getattr(n, "variable", None)) is not None]
    weights = torch.rand_like(x)
    grads = torch.autograd.grad(x, leaves, weights, retain_graph=True, allow_unused=True)
    return not any(g is not None and g.any() for g in grads)


# By an argument on which that does not depend: zeros.
@documented(PAGE)
def _(c: Case) -> bool:
    about = c.theirs if isinstance(c.theirs, torch.Tensor) else None
    none = c.aspect == "type" and c.difference.ours == "None"
    if c.only_ours_raises(UNUSED):
        none, about = True, c.tensors.get(c.statement.partition(",")[0])
    of = c.tensors.get(c.difference.place.removesuffix(".grad"))
    hooked = of is not None and bool(of._backward_hooks)  # which makes another number of the zeros
    none = none and about is not None and (hooked or not about.any())
    return none and is_derivative(c) and c.passes(r"t\.func\.(?:jacfwd|jvp)")


def constants(c: Case) -> list[torch.Tensor]:
    """What transforms are given that requires no gradient."""
    given = c.named(" ".join(re.findall(rf"{CALL}\(.*", c.history)))
    return [x for x in given if not x.requires_grad]


# What a function made of an argument that requires no gradient.
@documented(PAGE)
def _(c: Case) -> bool:
    more = c.aspect == "requires_grad" and c.difference.ours == "True"
    again = is_derivative(c) and "create_graph=True" in c.statement
    return more and again and len(constants(c)) > 0 and c.passes(CALL)


# What only the gradient by such an argument reads was written.
@documented(PAGE)
def _(c: Case) -> bool:
    given = c.named(" ".join(re.findall(rf"{CALL}\(.*", c.history)))
    written = [x for x in given if x._version]
    # What was written may require a gradient since then.
    writes = [n for x in written if (n := (x._base if x._is_view() else x).grad_fn)]
    came = [n for n in writes if n.next_functions[0][0] is None]
    none = len(constants(c) + came) > 0 and len(written) > 0
    return none and c.only_ours_raises(CHANGED) and c.passes(CALL)


# Forwards PyTorch derives a softmax by the sum of exponentials of its input, which it takes once more.
@documented(KEEPS)
def _(c: Case) -> bool:
    others = [(n, what) for n, what in reported(c) if not is_kept_by_pytorch_alone(c, n, what)]
    input_alone = {(n.name(), what) for n, what in others} == {("AmaxBackward0", "self")}
    made = re.findall(r"^(.*?) = t\.func\.(?:jacfwd|jvp|linearize)\(.*softmax\(", c.history, re.M)
    behind = {n for x in c.derived for n in graph_of(x)}
    forwards = any(x.grad_fn in behind for x in c.named(" ".join(made)))
    return input_alone and forwards and c.only_theirs_raises(CHANGED)


# What only the gradient by such an argument reads was forgotten in a backward before.
@documented(PAGE)
def _(c: Case) -> bool:
    again = len(constants(c)) > 0 and not c.forgotten
    return again and c.only_ours_raises(SECOND_TIME) and c.passes(CALL)


# A rule of torch.vmap keeps what it made of an operand, which may be written.
@documented("**`torch.vmap`**")
def _(c: Case) -> bool:
    given = c.named(" ".join(re.findall(r"t\.vmap\(.*", c.history)))
    written = any(x._version for x in given)
    return written and c.only_theirs_raises(CHANGED) and c.passes(r"t\.vmap")


@documented("That an argument comes to require a gradient afterwards is not seen.")
def _(c: Case) -> bool:
    given = c.named(" ".join(re.findall(r"t\.vmap\(.*", c.history)))
    later = any(x is y for x in given for y in c.flagged)
    less = c.aspect == "requires_grad" and c.difference.ours == "False"
    return later and less and c.passes(r"t\.vmap")
