"""Reads layer rows: the grammar is in docs/schema.md.

A layer becomes a `Layer` for languages that build modules of their own, and a constructor
`nn_NAME(required arguments, options)` of the C API for all others."""

from __future__ import annotations

import dataclasses
import re

from . import expr, python_bases, signature
from .model import (
    Argument,
    Check,
    Enum,
    Function,
    Kind,
    Layer,
    Options,
    PythonConstructor,
    PythonLayer,
    SchemaError,
    Tensor,
    refuse_keys,
)

_KEYS = {
    "sig", "doc", "since", "args", "let", "check", "parameters", "buffers",
    "header", "inputs", "outputs", "check_input", "each_training_step", "forward", "forward_activated", "forward_relu",
    "relu_limit", "extra_repr",
    "python",
}  # fmt: skip
_PYTHON_KEYS = {
    "check", "optional", "tuples", "words", "renamed", "set", "kept", "attributes", "given", "frozen", "any_arguments",
    "older", "forward", "called", "warn_input", "constructors",
}  # fmt: skip
_STATE_KEYS = {"shape", "init", "when", "dtype"}

# What every layer with parameters or buffers takes besides its own arguments.
PLACE = (
    Argument("device", Kind("device", optional=True), "Where its tensors are made.", True),
    Argument("dtype", Kind("enum", "dtype", optional=True), "Element type of its tensors.", True),
)


def snake_case(name: str) -> str:
    """Conv2d -> conv2d, BatchNorm1d -> batch_norm1d, MSELoss -> mse_loss, ReLU -> relu,
    BCEWithLogitsLoss -> bce_with_logits_loss."""
    # One word: ReLU, GELU, SiLU.
    words = re.sub(r"(?<![A-Z])[A-Z]+[a-z]?LU$", lambda word: word[0].capitalize(), name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", words).lower()


def parse_layer(names, activations: Enum, stem: str, file: dict, name: str, row: dict, document):
    """(Layer, Options or None, constructor) of a row."""
    refuse_keys(row, _KEYS)
    shared = file.get("args", {})
    all_args = signature.parse_arguments(row["sig"].strip()[1:-1], names)
    given = "" if "header" in row else "input: tensor"  # a class by hand says itself what it takes
    inputs = signature.parse_arguments(row.get("inputs", given), names)
    of_inputs = {a.name for a in inputs} - {a.name for a in all_args}
    docs = row.get("args", {})
    all_args = document(all_args, {n: d for n, d in docs.items() if n not in of_inputs}, shared)
    inputs = document(inputs, {n: d for n, d in docs.items() if n in of_inputs}, shared)
    tensors = tuple(
        state(kind, n, r)
        for kind in ("parameters", "buffers")
        for n, r in row.get(kind, {}).items()
    )
    header = row.get("header", "")
    of_modules = any(a.kind.key.startswith("handle") for a in all_args)  # whose tensors have places
    if tensors or (header and not of_modules):
        all_args += PLACE
    layer = Layer(
        name=name,
        snake=snake_case(name),
        doc=row.get("doc", ""),
        args=tuple(a for a in all_args if not a.python_only),
        state=tensors,
        forward_args=tuple(a for a in inputs if not a.python_only),
        forward=_forward(row),
        outputs=tuple(row.get("outputs", ())),
        header=header,
        file=stem,
        forward_activated=row.get("forward_activated", ""),
        activation=_activation(_forward(row), activations),
        forward_relu=row.get("forward_relu", ""),
        relu_limit=row.get("relu_limit", ""),
        let=row.get("let", {}),
        checks=checks(row.get("check", [])),
        input_checks=checks(row.get("check_input", [])),
        each_training_step=row.get("each_training_step", ""),
        extra_repr=_extra_repr(row.get("extra_repr", [])),
        python=_python(names, all_args, inputs, row.get("python", {}), document),
        since=row.get("since", 1),
    )
    _check_names(layer)
    return layer, _options(layer), _constructor(layer)


def _forward(row: dict) -> str:
    """A class that is written by hand has its own."""
    if ("header" in row) == ("forward" in row):
        raise SchemaError("a layer has a forward, or a header with its class")
    return row.get("forward", "none")


def checks(rows: list[list[str]]) -> tuple[Check, ...]:
    """A message may begin with the error that it belongs to: "AssertionError: ..."."""
    checks = []
    for condition, message in rows:
        error = re.match(r"(\w+Error): ", message)
        checks.append(
            Check(condition, message[error.end() :], error[1])
            if error
            else Check(condition, message)
        )
    return tuple(checks)


def _extra_repr(parts: str | list) -> tuple[tuple[str, str], ...]:
    parts = [parts] if isinstance(parts, str) else parts
    return tuple(("true", part) if isinstance(part, str) else tuple(part) for part in parts)


def forward_with_relu(layer: Layer) -> str:
    """The layer's forward by the function that adds `addend` and applies a relu with a `limit`."""
    _, _, arguments = layer.forward.partition("(")
    return f"{layer.forward_relu}({arguments.removesuffix(')')}, addend, limit)"


def _activation(forward: str, activations: Enum) -> str:
    """The activation that is the whole forward, if the layer is that."""
    ways = ("{0}(input)", "{0}_(input) if inplace else {0}(input)")
    names = [v.name for v in activations.values]
    return next((n for n in names for way in ways if expr.same(forward, way.format(n))), "")


def _python(names, args, inputs, row: dict, document) -> PythonLayer:
    refuse_keys(row, _PYTHON_KEYS)
    docs = {a.name: a.doc for a in args}
    return PythonLayer(
        args=tuple(_optional(a) if a.name in row.get("optional", ()) else a for a in args),
        inputs=inputs,
        checks=checks(row.get("check", [])),
        tuples=tuple(row.get("tuples", ())),
        words=row.get("words", {}),
        renamed=row.get("renamed", {}),
        set=row.get("set", {}),
        kept=row.get("kept", {}),
        older=tuple(row.get("older", ())),
        attributes=row.get("attributes", {}),
        given=row.get("given", {}),
        frozen=row.get("frozen", ""),
        any_arguments=row.get("any_arguments", False),
        forward=row.get("forward", ""),
        called=row.get("called", {}),
        warn_input=tuple(tuple(pair) for pair in row.get("warn_input", ())),
        constructors=tuple(
            PythonConstructor(
                name=name,
                doc=r["doc"],
                args=document(
                    signature.parse_arguments(r["sig"].strip()[1:-1], names),
                    r.get("args", {}),
                    docs,
                ),
                checks=checks(r.get("check", [])),
                make=r["make"],
            )
            for name, r in row.get("constructors", {}).items()
        ),
    )


def _optional(a: Argument) -> Argument:
    return dataclasses.replace(
        a, kind=dataclasses.replace(a.kind, optional=True), has_default=True, default=None
    )


def state(kind: str, name: str, row: dict) -> Tensor:
    refuse_keys(row, _STATE_KEYS)
    init = row["init"]
    return Tensor(
        name=name,
        shape=tuple(signature.split_list(row["shape"])),
        init=tuple([init] if isinstance(init, str) else init),
        when=row.get("when", ""),
        dtype=row.get("dtype", ""),
        buffer=kind == "buffers",
    )


def _check_names(layer: Layer) -> None:
    """Every variable in an expression is an argument, a `let` or a tensor of the layer's."""
    known = {a.name for a in layer.args} | {s.name for s in layer.state} | set(layer.let)
    texts = [*layer.let.values(), *(c.condition for c in layer.checks)]
    texts += [e for s in layer.state for e in (*map(dimension, s.shape), *s.init, s.when or "true")]
    for text in texts:
        _refuse_unknown(text, known)
    known |= {a.name for a in layer.forward_args} | {"training"}
    for text in [
        layer.forward,
        layer.each_training_step or "0",
        *(c.condition for c in layer.input_checks),
    ]:
        _refuse_unknown(text, known)
    python = layer.python
    known |= {a.name for a in (*python.args, *python.inputs)}
    known |= set(python_bases.attributes(layer.name))
    texts = [*(c.condition for c in python.checks), *python.set.values(), python.forward or "0"]
    texts += [*python.tuples, *python.given.values(), python.frozen or "0"]
    texts += [
        *python.older,
        *python.renamed,
        *python.renamed.values(),
        *python.kept,
        *python.attributes.values(),
    ]
    texts += [condition for condition, _ in python.warn_input]
    for text in [*texts, *(condition for condition, _ in layer.extra_repr)]:
        _refuse_unknown(text, known)
    for c in python.constructors:
        for text in [c.make, *(check.condition for check in c.checks)]:
            _refuse_unknown(text, {a.name for a in c.args})
    _refuse_unknown(layer.forward_activated or "0", known | {"activation"})


def _refuse_unknown(text: str, known: set[str]) -> None:
    unknown = [n for n in expr.names(text) if n not in known]
    if unknown:
        raise SchemaError(f"'{text}': '{unknown[0]}' is not known")


def dimension(entry: str) -> str:
    """A shape's entry as an expression: `*sizes` stands for all entries of a list."""
    return entry.removeprefix("*")


def required(layer: Layer) -> tuple[Argument, ...]:
    return tuple(a for a in layer.args if not a.has_default)


def optional(layer: Layer) -> tuple[Argument, ...]:
    return tuple(a for a in layer.args if a.has_default)


def _options(layer: Layer) -> Options | None:
    fields = tuple(
        dataclasses.replace(a, keyword_only=False, since=a.since or layer.since)
        for a in optional(layer)
    )
    doc = f"Named arguments of dt_nn_{layer.snake}."
    name = "nn_" + layer.snake
    return Options(name, doc, fields, layer.since, layer.name) if fields else None


def _constructor(layer: Layer) -> Function:
    args = required(layer)
    if optional(layer):
        doc = "Named arguments; NULL for the defaults."
        args += (Argument("options", Kind("options", "nn_" + layer.snake), doc),)
    return Function(
        name="nn_" + layer.snake,
        file=layer.file,
        doc=layer.doc,
        args=args,
        results=(Argument("out", Kind("handle", "module")),),
        returns="The module.",
        errors=tuple(f"ValueError: {c.message}." for c in layer.checks),
        namespaces=("nn",),
        python=layer.name,
        header="core/nn/layers.h",
        layer=layer.name,
        since=layer.since,
    )
