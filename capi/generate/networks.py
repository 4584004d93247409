"""Reads network and model rows: the grammar is in docs/schema.md.

A network becomes a class of the core and one of Python; a model is a function that makes one, and a constructor
`models_NAME(required arguments, options)` of the C API."""

from __future__ import annotations

import ast
import dataclasses

from . import expr, layers, signature
from .model import (
    Argument,
    Function,
    Kind,
    Model,
    Network,
    Options,
    Schema,
    SchemaError,
    Statement,
    refuse_keys,
)

_KEYS = {
    "sig", "doc", "args", "make", "check", "let", "parameters", "children", "each", "init", "tie", "inputs", "outputs",
    "forward", "step", "published", "generates",
}  # fmt: skip
_MODEL_KEYS = {"sig", "doc", "args", "make"}
CONTAINERS = ("Sequential", "ModuleList")
# What forwards call besides ops and children: core/nn/network.h and models/support.py have them.
HELPERS = ("attend", "chain", "decoder_block", "norm_relu", "past", "places")


def parse_network(names, file: dict, name: str, row: dict, document) -> Network:
    refuse_keys(row, _KEYS)
    args = signature.parse_arguments(row["sig"].strip()[1:-1], names)
    inputs = signature.parse_arguments(row.get("inputs", "input: tensor"), names)
    docs, shared = row.get("args", {}), file.get("args", {})
    own = {a.name for a in args}
    published = row.get("published", {})
    if ("make" in row) == ("forward" in row):
        raise SchemaError("a network has a forward, or says what it makes")
    return Network(
        name=name,
        doc=row.get("doc", ""),
        args=document(args, {n: d for n, d in docs.items() if n in own}, shared),
        make=row.get("make", ""),
        checks=layers.checks(row.get("check", [])),
        let=row.get("let", {}),
        state=tuple(layers.state("parameters", n, r) for n, r in row.get("parameters", {}).items()),
        children=row.get("children", {}),
        each={kind: tuple(lines) for kind, lines in row.get("each", {}).items()},
        init=tuple(row.get("init", ())),
        tie=tuple(tuple(entry) for entry in row.get("tie", ())),
        forward_args=inputs,
        forward=_statements(row["forward"]) if "forward" in row else (),
        step=row.get("step", ""),
        outputs=tuple(row.get("outputs", ())),
        prefix=published.get("prefix", ""),
        ignored=tuple(published.get("ignored", ())),
        generates=row.get("generates", {}),
    )


def parse_model(names, stem: str, file: dict, name: str, row: dict, document):
    """(Model, Options, constructor) of a row."""
    refuse_keys(row, _MODEL_KEYS)
    args = signature.parse_arguments(row["sig"].strip()[1:-1], names)
    args = document(args, row.get("args", {}), file.get("args", {}))
    model = Model(name, row["doc"], args, row["make"])
    options = Options(
        f"models_{name}",
        f"Named arguments of dt_models_{name}.",
        tuple(dataclasses.replace(a, since=1) for a in (*args, *layers.PLACE) if a.has_default),
    )
    words = "Named arguments; NULL for the defaults."
    constructor = Function(
        name=f"models_{name}",
        file=stem,
        doc=model.doc,
        args=(
            *(a for a in args if not a.has_default),
            Argument("options", Kind("options", options.name), words),
        ),
        results=(Argument("out", Kind("handle", "module")),),
        returns="The module.",
        errors=("ValueError: a number is out of range, or two do not fit.",),
        namespaces=("models",),
        python=name,
        header="core/nn/models.h",
    )
    return model, options, constructor


def _statements(text: str) -> tuple[Statement, ...]:
    """`a = ...`, `a, b = ...`, `assert ..., "..."`, and the result."""
    *before, last = ast.parse(text.strip()).body
    found = []
    for node in before:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.append(Statement((name,), ast.unparse(value)))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                found.append(Statement(tuple(t.id for t in targets), ast.unparse(value)))
            case ast.Assert(test=test, msg=ast.Constant(value=message)):
                found.append(Statement((), ast.unparse(test), message))
            case _:
                raise SchemaError(f"'{ast.unparse(node)}' is no line of a forward")
    if not isinstance(last, ast.Expr):
        raise SchemaError("a forward ends with its result")
    return (*found, Statement((), ast.unparse(last)))


def check(schema: Schema) -> None:
    """Every name in an expression is known; nothing is called that is not there."""
    for n in schema.networks.values():
        try:
            _check_names(schema, n)
        except SchemaError as error:
            raise SchemaError(f"[network.{n.name}]: {error}") from None
    for m in schema.models.values():
        _refuse_unknown(schema, m.make, {a.name for a in m.args}, set())


def _check_names(schema: Schema, n: Network) -> None:
    known = {a.name for a in n.args}
    for text in (n.make or "0", *(c.condition for c in n.checks)):
        _refuse_unknown(schema, text, known, set())
    if n.generates:
        _refuse_unknown(schema, n.generates["context"], known, set())
        if n.generates["blocks"] not in n.children:
            raise SchemaError(f"'{n.generates['blocks']}' is no child")
    for name, text in n.let.items():
        _refuse_unknown(schema, text, known, {"sqrt"})
        known = known | {name}
    state = {s.name for s in n.state}
    for s in n.state:
        for text in (*s.shape, *s.init):
            _refuse_unknown(schema, text, known | state, {"sqrt"})
    for text in n.children.values():
        _refuse_unknown(schema, text, known, set())
    for text in n.init:
        _refuse_unknown(schema, text, known | state | set(n.children), {"sqrt"})
    for kind, lines in n.each.items():
        for text in lines:
            own = {s.name for s in schema.layers[kind].state}
            _refuse_unknown(schema, text, own, {"sqrt"})
    known |= state | set(n.children) | {a.name for a in n.forward_args} | {"training"}
    for line in n.forward:
        _refuse_unknown(schema, line.value, known, {*HELPERS, *n.children})
        if set(line.names) & known:
            raise SchemaError(f"'{line.names[0]}' is the name of something else")
        known |= set(line.names)
    _refuse_unknown(schema, n.step or "0", known, set(HELPERS))
    if clash := kept(n) & set(n.children):
        raise SchemaError(f"'{clash.pop()}' is an argument that forward reads, and a child")


def _refuse_unknown(schema: Schema, text: str, known: set[str], callable_: set[str]) -> None:
    unknown = [n for n in expr.names(text) if n not in known]
    if unknown:
        raise SchemaError(f"'{text}': '{unknown[0]}' is not known")
    for name in expr.calls(text):
        ops = (name, f"tensor_{name}")
        there = name in callable_ or name in CONTAINERS or any(f in schema.functions for f in ops)
        if not there and name not in schema.layers and name not in schema.networks:
            raise SchemaError(f"'{text}': there is no '{name}'")


def kept(n: Network) -> set[str]:
    """The arguments and numbers that forward, or who writes with it, reads."""
    used = {name for line in n.forward for name in expr.names(line.value)}
    used |= {w for line in n.forward for w in _in_braces(line.message)}
    used |= set(expr.names(n.generates["context"])) if n.generates else set()
    used |= set(expr.names(n.step)) if n.step else set()
    local = {name for line in n.forward for name in line.names}
    return ({a.name for a in n.args} | set(n.let)) & used - local


def _in_braces(message: str) -> list[str]:
    return [part.partition("}")[0] for part in message.split("{")[1:]]


def takes_place(schema: Schema, name: str) -> bool:
    """Whether what `name` makes is told its device and dtype."""
    if layer := schema.layers.get(name):
        return any(a.name == "device" for a in layer.args)
    return name in schema.networks


def arguments(schema: Schema, name: str) -> tuple[Argument, ...]:
    """What a layer, or a network, takes besides its place."""
    made = schema.layers.get(name) or schema.networks[name]
    return tuple(a for a in made.args if a.name not in ("device", "dtype"))
