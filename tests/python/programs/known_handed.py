"""What is known of gradients that are handed in, and come out as they are."""

from __future__ import annotations

import ast
import re

import torch

from .case import (
    CHANGED,
    UNUSED,
    Case,
    documented,
    graph_behind,
    graph_of,
    is_derivative,
    names_changed,
    share_memory,
)


# What came out is written under another name: it is one tensor with that, or not.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    place = c.difference.place
    if c.aspect not in ("version", "values") or not isinstance(c.theirs, torch.Tensor):
        return False
    made = [
        s for s in c.history.split("\n") if re.match(rf" *.*\b{place}\b.* = t\.autograd\.grad\(", s)
    ]
    others = [x for x in c.named(" ".join(made)) if x is not c.theirs]
    others = [x for x in others if share_memory(x, c.theirs) or are_alike(x, c.theirs)]
    if c.aspect == "version":
        return len(made) > 0 and any(x._version for x in [*others, c.theirs])
    by_another = not re.match(rf" *{place}\b", c.statement) and not is_derivative(c)
    return by_another and len(others) > 0


# One tensor under two names.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    name, _, part = c.difference.place.partition(".")
    twins = [n for n, x in c.tensors.items() if n != name and x is c.tensors.get(name)]
    came_out = any(x is c.tensors.get(name) for x in c.returned)
    return part == "grad" and c.aspect in ("type", "values") and came_out and len(twins) > 0


# What came out together is one tensor in PyTorch, and the other of its names was given a graph in place.
@documented("**Gradients that are one tensor**")
def _(c: Case) -> bool:
    made = re.findall(r"\bx\d+", " ".join(re.findall(r"(.*) = t\.autograd\.grad\(", c.history)))
    written = [n for n in made if re.search(rf"\b{n}\.\w+_\(", c.history)]
    of = c.tensors
    twins = [n for n in made if any(n != w and n in of and of[n] is of.get(w) for w in written)]
    about = any(re.search(rf"\b{n}\b", f"{c.statement} {c.difference.place}") for n in twins)
    less = c.aspect in ("requires_grad", "is_leaf", "grad_fn")
    return about and (less or c.only_ours_raises("does not require grad"))


# What came out together, and was alike, is one memory here, of which the other name was given a graph in place.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    if c.aspect not in ("requires_grad", "is_leaf", "grad_fn") or c.theirs.requires_grad:
        return False
    lines = re.findall(r"(.*) = t\.autograd\.grad\(", c.history)
    made = [names for names in lines if re.search(rf"\b{c.difference.place}\b", names)]
    written = [x for x in c.named(" ".join(made)) if x._version and x.requires_grad]
    return any(x is not c.theirs and are_alike(x, c.theirs) for x in written)


def are_alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.shape == y.shape and x.dtype is y.dtype


# A hook of what came out is one of what was handed in, or of what else came out.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    seen = c.difference.place.partition("[")[0]
    hooked = re.search(rf"\b(x\d+)\.register_hook\(lambda g: {seen}\.append", c.history)
    made = hooked and re.search(rf"\b{hooked[1]}\b.* = t\.autograd\.grad\(", c.history)
    return c.aspect == "length" and bool(made) and is_derivative(c)


# What came out is what else came out.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    unknown = c.aspect == "type" and "None" in (c.difference.ours, c.difference.theirs)
    unknown = unknown or c.only_ours_raises(UNUSED)
    asked = {n for node in c.asked or () for n in graph_behind(node)}  # it, or what is made of it
    by_itself = any(x.grad_fn in asked for x in c.derived)
    return unknown and by_itself and c.uses_returned_gradient


# Two that came out together are one tensor here.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    lines = re.findall(r"(.*) = t\.autograd\.grad\(", c.history)
    made = [c.named(names) for names in lines]
    behind = {n for x in c.derived for n in graph_of(x)}

    begun = {id(x) for x in (*c.derived, *c.wanted)}

    def are_twins(x: torch.Tensor, y: torch.Tensor) -> bool:
        passed = id(x) in begun or x.grad_fn in behind
        return x is not y and passed and id(y) in begun and are_alike(x, y)

    together = any(are_twins(x, y) for m in made for x in m for y in m)
    return together and c.aspect == "type" and c.difference.theirs == "None"


# What came out is a view of what was handed in.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    return c.uses_returned_gradient and c.only_ours_raises("A view was created in no_grad mode and")


# What came out is kept by an op of the graph, and written.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    written = [g for g in c.returned if g._version and names_changed(c.difference.theirs, g)]
    return c.only_theirs_raises(CHANGED) and len(written) > 0


# It is one leaf under two names.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    return c.uses_returned_gradient and c.only_ours_raises("a leaf Variable that requires grad")


# What is computed from one that was made to require grad under the other name.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    later = any(share_memory(x, g) for x in c.flagged for g in c.returned)
    less = c.aspect in ("requires_grad", "is_leaf", "grad_fn")
    return later and less and c.uses_returned_gradient


# Where it requires grad.
@documented("**A gradient that is handed in**")
def _(c: Case) -> bool:
    about_graph = c.aspect in ("requires_grad", "is_leaf", "grad_fn")
    if not about_graph or "autograd.grad(" not in c.statement or "create_graph" in c.statement:
        return False
    given = c.named(ast.unparse(handed_in(c.statement)))
    alike = [torch.isin(c.theirs, x.to(c.theirs.dtype)).all() for x in given if x.requires_grad]
    return any(map(bool, alike))


def handed_in(statement: str) -> ast.AST:
    """The gradients that autograd.grad is given."""
    call = next(n for n in ast.walk(ast.parse(statement.strip())) if isinstance(n, ast.Call))
    named = [k.value for k in call.keywords if k.arg == "grad_outputs"]
    return ast.Tuple([*call.args[2:], *named])
