"""Prints wrappers/python/dumbtorch/models/networks.py: the networks and models of the schema in Python.

Classes register what the core's do, in the same order, so the same seed gives the same initial values."""

from __future__ import annotations

import ast

from . import networks, python
from .model import Check, Model, Network, Schema, Statement
from .python_layers import INDENT, NumberPrinter, Printer, documented, indented, refuse, signature
from .text import GENERATED

_HEAD = f'''"""{GENERATED}"""

# ruff: noqa
import math
from collections import OrderedDict

from .. import _ops, empty, nn, no_grad
from .support import Generates, attend, chain, decoder_block, norm_relu, own_names, past, places
'''
_PLACE = "device=device, dtype=dtype"


def generate(schema: Schema) -> dict[str, str]:
    parts = [_HEAD]
    for n in schema.networks.values():
        parts.append("\n".join(_function(schema, n) if n.make else _class(schema, n)))
    parts += ["\n".join(_model(schema, m)) for m in schema.models.values()]
    shown = [*(n.name for n in schema.networks.values() if not n.make), *schema.models]
    names = "".join(f'{INDENT}"{name}",\n' for name in shown)
    parts.append(f"__all__ = [\n{names}]\n")
    return {"wrappers/python/dumbtorch/models/networks.py": "\n\n\n".join(parts)}


# ---- expressions


class _Maker(Printer):
    """What makes modules: calls of layers, networks and containers."""

    def _node(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in networks.CONTAINERS:
                return f"nn.{name}({self._children(name, node)})"
            case ast.Call(func=ast.Name(id=name)) if self._makes(name):
                given = [self._node(a) for a in node.args]
                given += [f"{k.arg}={self._node(k.value)}" for k in node.keywords]
                given += [_PLACE] if networks.takes_place(self.schema, name) else []
                prefix = "nn." if name in self.schema.layers else ""
                return f"{prefix}{_inner(self.schema, name)}({', '.join(given)})"
        return super()._node(node)

    def _makes(self, name: str) -> bool:
        return name in self.schema.layers or name in self.schema.networks

    def _children(self, name: str, node: ast.Call) -> str:
        match node:
            case ast.Call(args=[ast.Starred(value=ast.ListComp() as each)]):
                return f"*{self._repeated(each, self._node(each.elt), '[]')}"
            case ast.Call(args=[ast.ListComp() as each]):
                return self._repeated(each, self._node(each.elt), "[]")
            case ast.Call(args=[], keywords=[ast.keyword(arg=None, value=ast.DictComp() as each)]):
                made = f"{ast.unparse(each.key)}: {self._node(each.value)}"
                return f"OrderedDict({self._repeated(each, made, '{}')})"
            case ast.Call(args=[], keywords=[*named]):
                named = ", ".join(f"{k.arg}={self._node(k.value)}" for k in named)
                return f"OrderedDict({named})"
        return "\n" + "".join(f"{INDENT * 3}{self._node(a)},\n" for a in node.args) + INDENT * 2

    def _repeated(self, each, made: str, brackets: str) -> str:
        loop = each.generators[0]
        count = self._node(loop.iter.args[0])
        return f"{brackets[0]}{made} for {loop.target.id} in range({count}){brackets[1]}"


class _Initial(Printer):
    """What draws the first values, over `self.mlp[0].weight`."""

    def call(self, function: str, arguments: list[str]) -> str:
        if function == "sqrt":
            return f"math.sqrt({', '.join(arguments)})"
        return super().call(function, arguments)

    def _node(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self._node(node.value)}.{node.attr}"
        return super()._node(node)


class _Forward(_Initial):
    """A forward, over children too."""

    def __init__(self, schema: Schema, network: Network, variables: dict[str, str]):
        super().__init__(schema, variables)
        self._network = network

    def call(self, function: str, arguments: list[str]) -> str:
        if function in networks.HELPERS:
            return f"{function}({', '.join(arguments)})"
        return super().call(function, arguments)

    def _node(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in self._network.children:
                given = [self._node(a) for a in node.args]
                given += [f"{k.arg}={self._node(k.value)}" for k in node.keywords]
                return f"self.{name}({', '.join(given)})"
            case ast.Tuple(elts=parts):
                return ", ".join(self._node(p) for p in parts)
        return super()._node(node)


def _inner(schema: Schema, name: str) -> str:
    """A function that is no model is the module's own."""
    return f"_{name}" if name in schema.networks and schema.networks[name].make else name


# ---- functions and classes


def _function(schema: Schema, n: Network) -> list[str]:
    made = _Maker(schema, {}).print(n.make)
    head = f"def _{n.name}({signature(n.args)}, device, dtype):"
    return [head, f'{INDENT}"""{n.doc}"""', f"{INDENT}return {made}"]


def _class(schema: Schema, n: Network) -> list[str]:
    bases = "Generates, nn.Module" if n.generates else "nn.Module"
    doc = indented(documented(n.doc, n.args, {}))
    lines = [f"class {n.name}({bases}):", *doc, "", *indented(_constructor(schema, n))]
    lines += ["", *indented(_forward(schema, n))]
    if n.step:
        result = f"{INDENT}return {_members(schema, n).print(n.step)}"
        lines += ["", *indented(["def step(self, input, caches):", result])]
    if n.generates:
        context, blocks = _members(schema, n).print(n.generates["context"]), n.generates["blocks"]
        lines += ["", *indented(["def _writes_with(self):"])]
        lines.append(f"{INDENT * 2}return {context}, self.{blocks}")
    if n.prefix or n.ignored:
        given = f'state_dict, "{n.prefix}", {n.ignored}'
        lines += [
            "",
            *indented(["def load_state_dict(self, state_dict, strict=True, assign=False):"]),
        ]
        lines.append(f"{INDENT * 2}own = own_names({given})")
        lines.append(f"{INDENT * 2}return super().load_state_dict(own, strict, assign)")
    return lines


def _constructor(schema: Schema, n: Network) -> list[str]:
    kept, numbers, maker = networks.kept(n), NumberPrinter(schema, {}), _Maker(schema, {})
    body = ["super().__init__()"]
    for c in n.checks:
        body += refuse(Printer(schema, {}), c)
    body += [f"{name} = {numbers.print(value)}" for name, value in n.let.items()]
    body += [f"self.{a.name} = {a.name}" for a in n.args if a.name in kept]
    body += [f"self.{name} = {name}" for name in n.let if name in kept]
    for s in n.state:
        shape = maker.print(f"[{', '.join(s.shape)}]")
        body.append(f"self.{s.name} = nn.Parameter(empty({shape}, {_PLACE}))")
    body += [f"self.{name} = {maker.print(made)}" for name, made in n.children.items()]
    for condition, name, source in n.tie:
        body += [f"if {maker.print(condition)}:", f"{INDENT}self.{name} = self.{source}"]
    if n.step:  # which stands for these alone
        body.append("self._made_of = [type(module) for module in self.modules()]")
    body += _initialize(schema, n)
    return [f"def __init__(self, {signature(n.args)}, device=None, dtype=None):", *indented(body)]


def _initialize(schema: Schema, n: Network) -> list[str]:
    names = {name: f"self.{name}" for name in (*(s.name for s in n.state), *n.children)}
    printer = _Initial(schema, names)
    lines = [printer.print(e) for s in n.state for e in s.init]
    for kind, draws in n.each.items():
        module = {s.name: f"module.{s.name}" for s in schema.layers[kind].state}
        drawn = [_Initial(schema, module).print(e) for e in draws]
        lines += ["for module in self.modules():", f"{INDENT}if isinstance(module, nn.{kind}):"]
        lines += [INDENT * 2 + line for line in drawn]
    lines += [printer.print(e) for e in n.init]
    return ["with no_grad():", *indented(lines)] if lines else []


def _forward(schema: Schema, n: Network) -> list[str]:
    printer = _members(schema, n)
    body = [line for s in n.forward[:-1] for line in _statement(printer, s)]
    body.append(f"return {printer.print(n.forward[-1].value)}")
    inputs = ", ".join(a.name + ("=None" if a.has_default else "") for a in n.forward_args)
    return [f"def forward(self, {inputs}):", *indented(body)]


def _members(schema: Schema, n: Network) -> _Forward:
    """Prints what is said of the object."""
    members = [*networks.kept(n), *(s.name for s in n.state), *n.children, "training"]
    return _Forward(schema, n, {name: f"self.{name}" for name in members})


def _statement(printer: _Forward, line: Statement) -> list[str]:
    if line.names:
        return [f"{', '.join(line.names)} = {printer.print(line.value)}"]
    return refuse(printer, Check(line.value, line.message))


def _model(schema: Schema, m: Model) -> list[str]:
    made = _Maker(schema, {}).print(m.make)
    required = [a for a in m.args if not a.has_default]
    named = [f"{a.name}={python.default(a)}" for a in m.args if a.has_default]
    given = ", ".join([*(a.name for a in required), "*", *named, "device=None", "dtype=None"])
    doc = indented(documented(m.doc, m.args, {}))
    return [f"def {m.name}({given}):", *doc, f"{INDENT}return {made}"]
