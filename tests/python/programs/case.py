"""A difference between the libraries in its place, and sentences of docs/differences*.md that may tell of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.autograd.graph import Node

if TYPE_CHECKING:
    from .compare import Difference

# PyTorch's sentences.
CHANGED = "modified by an inplace operation: "
UNUSED = "appears to not have been used"
SECOND_TIME = "Trying to backward through the graph a second time"


@dataclass(frozen=True)
class Case:
    """A difference, and what else is known of it."""

    difference: Difference
    history: str  # the statements so far, those of a block indented
    device: str
    grad_enabled: bool
    theirs: object  # PyTorch's tensor, where it is about one
    tensors: dict[str, torch.Tensor]  # all of PyTorch's, by name
    # What PyTorch's nodes had forgotten before the statement, if that goes backward: each node with its name for it.
    forgotten: tuple[tuple[Node, str], ...] = ()

    @property
    def aspect(self) -> str:
        return self.difference.aspect

    @property
    def statement(self) -> str:
        return self.difference.statement

    @property
    def used(self) -> list[torch.Tensor]:
        """The tensors that the statement names, and the one that differs."""
        return self.named(f"{self.statement} {self.difference.place}")

    def named(self, text: str) -> list[torch.Tensor]:
        """The tensors that a text names."""
        names = re.findall(r"\bx\d+", text)
        return [self.tensors[n] for n in dict.fromkeys(names) if n in self.tensors]

    @property
    def floats(self) -> list[torch.Tensor]:
        return [x for x in self.tensors.values() if x.is_floating_point()]

    @property
    def called(self) -> str:
        """The statement, and what made the modules that it calls."""
        modules = tuple(f"{m} = " for m in re.findall(r"\b(m\d+)[(,]", self.statement))
        lines = map(str.strip, self.history.split("\n"))
        made = [s for s in lines if modules and s.startswith(modules)]
        return "\n".join([self.statement, *made])

    @property
    def stepped(self) -> str:
        """What made the optimizer that takes a step; empty where none does."""
        name = re.match(r"(?:x\d+ = )?(o\d+)\.step\(", self.statement)
        made = name and re.search(rf"^ *{name[1]} = .*", self.history, re.M)
        return made[0] if made else ""

    @property
    def derived(self) -> list[torch.Tensor]:
        """What the statement begins to go backward from."""
        call = _derivative(self.statement)
        if call is None:
            return []
        if not ast.unparse(call.func).startswith("t.autograd."):
            return self.named(ast.unparse(call.func))
        return self.named(ast.unparse(call.args[0])) if call.args else []

    def derives(self, *names: str) -> bool:
        """Whether the graph that it goes back through has one of these nodes."""
        return any(has_node(x, names) for x in self.derived)

    def passes(self, call: str) -> bool:
        """Whether that graph has a node of what such a call gave."""
        called = rf"(?:{call}\(|functional_call\({call},)"
        calls = re.finditer(rf"^(.*?) = .*\b{called}", self.history, re.M)
        made = self.named(" ".join(m[1] for m in calls))
        nodes = {n for x in self.derived for n in graph_of(x)}
        detached = self.named(" ".join(re.findall(r"\b(x\d+)\.detach_\(", self.history)))
        forgot = any(x is y for x in made for y in detached)  # what made it
        return forgot or any(n in nodes for x in made for n in makers(x))

    def passes_layer(self, kind: str) -> bool:
        """Whether it has one of what such a layer gave."""
        layers = re.findall(rf"^ *(m\d+) = .*\b{kind}\(", self.history, re.M)
        return len(layers) > 0 and self.passes(f"(?:{'|'.join(layers)})")

    @property
    def wanted(self) -> list[torch.Tensor]:
        """The tensors whose gradients are asked for; none of them: all leaves'."""
        call = _derivative(self.statement)
        if call is None:
            return []
        inputs = [k.value for k in call.keywords if k.arg == "inputs"]
        if ast.unparse(call.func) == "t.autograd.grad":
            inputs.append(call.args[1])
        return self.named(ast.unparse(inputs[0])) if inputs else []

    @property
    def asked(self) -> set[Node] | None:
        """The nodes at which it stops. None: all leaves."""
        if not self.wanted:
            return None
        wanted = [x for x in self.wanted if x.requires_grad]
        return {node for x in wanted for node in _end_at(x)}

    @property
    def returned(self) -> list[torch.Tensor]:
        """What autograd.grad returned."""
        return self.named(" ".join(re.findall(r"(.*) = t\.autograd\.grad\(", self.history)))

    @property
    def uses_returned_gradient(self) -> bool:
        """Whether one of those that are used is such, or lies in its memory."""
        return any(share_memory(x, g) for x in self.used for g in self.returned)

    @property
    def flagged(self) -> list[torch.Tensor]:
        """What was made to require grad, or not to, after it was there."""
        flags = r"\b(x\d+)\.requires_grad(?:_\(| = )"
        return self.named(" ".join(re.findall(flags, self.history)))

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


def documented(sentence: str, final: bool = True):
    return lambda applies: DIFFERENCES.append(Known(sentence, applies, final))


def is_derivative(c: Case) -> bool:
    return re.search(r"\b(grad|backward)\(", c.statement) is not None


def _end_at(x: torch.Tensor) -> list[Node]:
    """The node at which its gradient arrives; none if PyTorch has none, as for a view that was made under no_grad."""
    try:
        return [torch.autograd.graph.get_gradient_edge(x).node]
    except (AssertionError, RuntimeError):
        return []


def _derivative(statement: str) -> ast.Call | None:
    calls = (n for n in ast.walk(ast.parse(statement)) if isinstance(n, ast.Call))
    return next((c for c in calls if re.search(r"\.(grad|backward)$", ast.unparse(c.func))), None)


def makers(x: torch.Tensor) -> list[Node | None]:
    """What made it, and what did before it was written: what a node of a write leads to first."""
    made = [x.grad_fn]
    while made[-1] and made[-1].next_functions and len(made) <= x._version:
        made.append(made[-1].next_functions[0][0])
    return made


def graph_of(x: torch.Tensor) -> list[Node]:
    return graph_behind(x.grad_fn)


def graph_behind(node: Node | None) -> list[Node]:
    nodes, found = [node], {}
    while nodes:
        node = nodes.pop()
        if node is not None and node not in found:
            found[node] = None
            nodes += [n for n, _ in node.next_functions]
    return list(found)


def has_node(x: torch.Tensor, name: str | tuple[str, ...]) -> bool:
    names = (name,) if isinstance(name, str) else name
    return any(is_named(n, names) for n in graph_of(x))


def is_named(node: Node, names: tuple[str, ...]) -> bool:
    """Whether its name begins with one of these, as whole words: Log is not Logit, but LogSoftmax."""
    return re.match(rf"(?:{'|'.join(names)})(?![a-z])", node.name()) is not None


def keeps(node: Node, such: Callable[[torch.Tensor], bool]) -> bool:
    """Whether a tensor that it keeps is such; what it has forgotten may have been."""
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                x = getattr(node, name)
            except RuntimeError:
                return True
            if isinstance(x, torch.Tensor) and such(x):
                return True
    return False


def names_changed(error: str, x: torch.Tensor) -> bool:
    """Whether an error about a changed tensor may be about this one, or one like it."""
    named = f"{CHANGED}[{x.type()} {list(x.shape)}]"
    theirs = {"[torch.cuda.": "[torch.", "[CPUBFloat16Type": "[torch.BFloat16Tensor"}
    for other, name in theirs.items():
        error = error.replace(other, name)
    return named in error


def share_memory(x: torch.Tensor, y: torch.Tensor) -> bool:
    if x._is_zerotensor() or y._is_zerotensor():  # which have none
        return False
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
