"""Prints wrappers/python/dumbtorch/nn/modules/layers.py: the layers of the schema as Python
classes.

They own their Parameters and call the same functions as the core's modules, in the same order, so
the same seed gives the same initial values in every language."""

from __future__ import annotations

import ast
import json
import re
import textwrap

from . import expr, layers, python
from .model import Argument, Check, Layer, PythonConstructor, Schema, Tensor
from .text import GENERATED

INDENT = "    "
_LIMITS = {"inf": "None"}  # of a relu

_HEAD = f'''"""{GENERATED}"""

# ruff: noqa
import math

from ... import _ops
from ..._runtime import int_tuple, reduction_of
from ...autograd.grad_mode import no_grad
from .. import functional
from ..parameter import Parameter
from .arguments import all_between, split_sizes
from .module import Module
'''


def generate(schema: Schema) -> dict[str, str]:
    parts = [_HEAD]
    generated = [layer for layer in schema.layers.values() if not layer.header]
    parts += [_class(schema, layer) for layer in generated]
    names = "".join(f'{INDENT}"{layer.name}",\n' for layer in generated)
    parts.append(f"__all__ = [\n{names}]\n")
    return {"wrappers/python/dumbtorch/nn/modules/layers.py": "\n\n\n".join(parts)}


# Functions of modules/arguments.py that a row may call.
_OF_ARGUMENTS = {"all_between", "split_sizes"}


class Printer(expr.Printer):
    """Expressions over `self`, with ops from `_ops`."""

    def __init__(self, schema: Schema, variables: dict[str, str]):
        super().__init__(variables)
        self.schema = schema

    def call(self, function: str, arguments: list[str]) -> str:
        if function == "value":
            return arguments[0]
        if function == "number":
            return f"{arguments[0]}.item()"
        if function in _OF_ARGUMENTS:
            return f"{function}({', '.join(arguments)})"
        name = function if function in self.schema.functions else f"tensor_{function}"
        parameters = self.schema.functions[name].args
        named = [
            f"{p.name}={a}" if p.keyword_only else a
            for p, a in zip(parameters, arguments, strict=False)
        ]
        return f"_ops.{name}({', '.join(named)})"

    def list(self, items: list[str]) -> str:
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


class NumberPrinter(Printer):
    """The `let` of a layer is about numbers."""

    def call(self, function: str, arguments: list[str]) -> str:
        return f"math.{function}({', '.join(arguments)})"


class _Functional(expr.Printer):
    """Calls of torch.nn.functional, which Python has in full."""

    def call(self, function: str, arguments: list[str]) -> str:
        return f"functional.{function}({', '.join(arguments)})"


def _class(schema: Schema, layer: Layer) -> str:
    lines = [
        f"class {layer.name}(Module):",
        *indented(documented(layer.doc, layer.python.args, layer.python.words)),
        "",
    ]
    if layer.activation:
        lines += [f'{INDENT}_activation = "{layer.activation}"', ""]
    if layer.relu_limit:
        lines += [f"{INDENT}_limit = {_LIMITS.get(layer.relu_limit, layer.relu_limit)}", ""]
    lines += indented(_constructor(schema, layer))
    if layer.state:
        lines += ["", *indented(_reset(schema, layer))]
    lines += ["", *indented(_forward(schema, layer))]
    if layer.forward_activated:
        lines += ["", *indented(_forward_activated(schema, layer))]
    if layer.forward_relu:
        lines += ["", *indented(_forward_relu(schema, layer))]
    if layer.extra_repr:
        lines += ["", *indented(_extra_repr(schema, layer))]
    for c in layer.python.constructors:
        lines += ["", *indented(_class_method(schema, c))]
    return "\n".join(lines)


def indented(lines: list[str]) -> list[str]:
    return [INDENT + line if line else "" for line in lines]


def documented(doc: str, args: tuple[Argument, ...], words: dict[str, list[str]]) -> list[str]:
    lines = textwrap.wrap(doc, 88)
    lines += ["", "Args:"] if args else []
    for a in args:
        others = "".join(f", or '{word}'" for word in words.get(a.name, ()))
        lines += textwrap.wrap(
            f"{a.name}: {a.doc.removesuffix('.')}{others}.",
            88,
            initial_indent=INDENT,
            subsequent_indent=INDENT * 2,
        )
    if len(lines) == 1:
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']


# ---- the constructor


def signature(args: tuple[Argument, ...]) -> str:
    def show(a: Argument) -> str:
        return python.safe(a.name) + (f"={python.default(a)}" if a.has_default else "")

    named = [show(a) for a in args if a.keyword_only]
    return ", ".join(
        [*(show(a) for a in args if not a.keyword_only), *(["*"] if named else []), *named]
    )


def _state_names(layer: Layer) -> set[str]:
    return {s.name for s in layer.state}


def _constructor(schema: Schema, layer: Layer) -> list[str]:
    p, plain = layer.python, Printer(schema, {})
    given = "*args, **kwargs" if p.any_arguments else signature(p.args)
    lines = [f"def __init__(self{', ' if given else ''}{given}):"]
    body = ["super().__init__()", *_lists(layer)]
    for check in (*layer.checks, *p.checks):
        body += refuse(plain, check)
    body += python.old_reduction("reduction") if _OLD_REDUCTION & {a.name for a in p.args} else []
    body += [f"{name} = {plain.print(value)}" for name, value in p.set.items()]
    body += [_keep(a) for a in p.args if not _is_used_up(layer, a)]
    for s in layer.state:
        body += _new_state(layer, plain, s)
    given = "".join(f"if {name} is None: " for name in p.given.values())
    body += [f"{given}self.reset_parameters()"] if layer.state else []
    return lines + indented(body)


def refuse(printer: Printer, c: Check) -> list[str]:
    named = re.sub(r"\{(\w+\([^{}]+|\w+)", lambda m: "{" + printer.print(m[1]), c.message)
    message = ("f" if "{" in named else "") + json.dumps(named)
    return [f"if not ({printer.print(c.condition)}):", f"{INDENT}raise {c.error}({message})"]


def _is_used_up(layer: Layer, a: Argument) -> bool:
    """Whether the constructor alone needs it."""
    made_of_it = (*layer.python.given.values(), layer.python.frozen)
    used_up = {*made_of_it, *_OLD_REDUCTION, *_state_names(layer)}
    return a.name in used_up or _is_place(a)


# They say what `reduction` is.
_OLD_REDUCTION = {"size_average", "reduce"}


def _is_place(a: Argument) -> bool:
    return a.name in ("device", "dtype")


def _lists(layer: Layer) -> list[str]:
    """Lists whose entries the layer itself looks at become tuples, and factors floats; other lists stay as given."""
    shapes = [entry for s in layer.state for entry in s.shape]
    looked_into = expr.lists_looked_into(", ".join([*layer.let.values(), *shapes]))
    lines = []
    for a in (a for a in layer.args if a.kind.list):
        if a.name in layer.python.words:
            lines += _words(a.name, layer.python.words[a.name])
        if a.kind.base == "f64":
            lines += [
                f"if isinstance({a.name}, (tuple, list)):",
                f"{INDENT}{a.name} = tuple(map(float, {a.name}))",
            ]
            lines += [f"elif {a.name} is not None:", f"{INDENT}{a.name} = float({a.name})"]
        elif a.name in {*layer.python.tuples, *looked_into}:
            lines += [f"if {a.name} is not None:"] if a.kind.optional else []
            indent = INDENT if a.name in layer.python.words or a.kind.optional else ""
            lines.append(f"{indent}{a.name} = int_tuple({a.name}, {a.kind.count})")
    return lines


def _words(name: str, words: list[str]) -> list[str]:
    """Words may stand for the numbers; what is not one of them is refused."""
    message = f"Invalid {name} string {{{name}!r}}, should be one of {{{{{', '.join(map(repr, words))}}}}}"
    return [
        f"if isinstance({name}, str):",
        f"{INDENT}if {name} not in {tuple(words)}:",
        f'{INDENT * 2}raise ValueError(f"{message}")',
        "else:",
    ]


def _keep(a: Argument) -> str:
    if a.kind.base == "tensor":
        return f'self.register_buffer("{a.name}", {a.name})'
    return f"self.{python.safe(a.name)} = {python.safe(a.name)}"


def _new_state(layer: Layer, plain: Printer, s: Tensor) -> list[str]:
    shape = "".join(
        ("*" if entry.startswith("*") else "") + plain.print(layers.dimension(entry)) + ", "
        for entry in s.shape
    )
    dtype = f"_ops.DTYPE.named('{s.dtype}')" if s.dtype else "dtype"
    tensor = f"_ops.empty(({shape.rstrip()}), dtype={dtype}, device=device)"
    tensor = tensor.replace(",)", ")") if len(s.shape) > 1 else tensor
    register = "register_buffer" if s.buffer else "register_parameter"
    if given := layer.python.given.get(s.name):
        tensor = f"{tensor} if {given} is None else {given}"
    frozen = f", requires_grad=not {layer.python.frozen}" if layer.python.frozen else ""
    value = tensor if s.buffer else f"Parameter({tensor}{frozen})"
    if s.when:
        value = f"{value} if {plain.print(s.when)} else None"
    return [f'self.{register}("{s.name}", {value})']


# ---- initial values and forward


def _members(layer: Layer) -> dict[str, str]:
    """How expressions in methods say the layer's arguments, state and constants."""
    args = layer.python.args
    out = {a.name: f"self.{python.safe(a.name)}" for a in args}
    out |= {a.name: f'self._buffers["{a.name}"]' for a in args if a.kind.base == "tensor"}
    for s in layer.state:
        registry = "_buffers" if s.buffer else "_parameters"
        out[s.name] = f'self.{registry}["{s.name}"]'
    return out


def _reset(schema: Schema, layer: Layer) -> list[str]:
    members = {n: v for n, v in _members(layer).items()}
    members |= {n: n for n in layer.let}
    printer = Printer(schema, members)
    numbers = NumberPrinter(schema, members)
    used = {n for s in layer.state for step in s.init for n in expr.names(step)}
    for n, value in reversed(layer.let.items()):
        used |= set(expr.names(value)) if n in used else set()
    body = [f"{n} = {numbers.print(value)}" for n, value in layer.let.items() if n in used]
    body.append("with no_grad():")
    for s in layer.state:
        steps = [printer.print(step) for step in s.init]
        if s.when:
            body.append(f"{INDENT}if {members[s.name]} is not None:")
            body += [INDENT * 2 + step for step in steps]
        else:
            body += [INDENT + step for step in steps]
    return ["def reset_parameters(self):", f'{INDENT}"""Draws initial values."""', *indented(body)]


def _parameters_in(layer: Layer, text: str) -> list[str]:
    mentioned = expr.names(text)
    return [s.name for s in layer.state if not s.buffer and s.name in mentioned]


def _read_parameters(layer: Layer, text: str) -> list[str]:
    """Makes locals of the parameters in an expression. Their registry is five times as fast to read
    as `self.weight`, which also finds a plain attribute: weight normalisation deletes the Parameter
    and sets a tensor in its place."""
    names = _parameters_in(layer, text)
    if not names:
        return []
    local = ", ".join(names)
    registered = ", ".join(f'self._parameters["{n}"]' for n in names)
    attributes = ", ".join(f"self.{n}" for n in names)
    return [
        "try:",
        f"{INDENT}{local} = {registered}",
        "except KeyError:  # deleted: a plain attribute may stand for it",
        f"{INDENT}{local} = {attributes}",
    ]


def _forward(schema: Schema, layer: Layer) -> list[str]:
    body = _body(schema, layer, layer.forward)
    return [f"def forward(self, {signature(layer.python.inputs)}):", *indented(body)]


def _forward_relu(schema: Schema, layer: Layer) -> list[str]:
    forward = layers.forward_with_relu(layer)
    body = _body(schema, layer, forward, ("addend", "limit"))
    return ["def _forward_relu(self, input, addend, limit):", *indented(body)]


def _body(schema: Schema, layer: Layer, forward: str, more: tuple[str, ...] = ()) -> list[str]:
    """What a forward does to return what an expression gives, of `more` besides its inputs."""
    variables = _members(layer) | {a.name: a.name for a in layer.python.inputs}
    variables["training"] = "self.training"
    variables |= {n: n for n in (*more, *_parameters_in(layer, forward))}
    lets = Printer(schema, variables)
    variables |= {n: lets.print(value) for n, value in layer.let.items()}
    body = _read_parameters(layer, forward)
    buffers = [n for n, v in variables.items() if v.startswith("self._buffers[")]
    if len([n for n in expr.names(forward) if n in buffers]) > 1:
        body.append("b = self._buffers")
        variables |= {n: f'b["{n}"]' for n in buffers}
    printer = Printer(schema, variables)
    for check in layer.input_checks:
        body += refuse(printer, check)
    if layer.each_training_step:
        state = [n for n in expr.names(layer.each_training_step) if n in _state_names(layer)]
        given = "".join(f" and {variables[n]} is not None" for n in state)
        body += [f"if self.training{given}:", f"{INDENT}with no_grad():"]
        body.append(f"{INDENT * 2}{printer.print(layer.each_training_step)}")
    if layer.python.forward:
        body.append(f"return {_Functional(variables).print(layer.python.forward)}")
    else:
        body.append(f"return {printer.print(forward)}")
    return body


def _forward_activated(schema: Schema, layer: Layer) -> list[str]:
    text = layer.forward_activated
    variables = _members(layer) | {"input": "input", "activation": "activation"}
    variables |= {n: n for n in _parameters_in(layer, text)}
    result = Printer(schema, variables).print(text)
    body = [*_read_parameters(layer, text), f"return {result}"]
    return ["def _forward_activated(self, input, activation):", *indented(body)]


def _extra_repr(schema: Schema, layer: Layer) -> list[str]:
    """State shows as whether it is there; a condition compares what it is."""
    names = [*(a.name for a in layer.python.args), *_state_names(layer)]
    printer = Printer(schema, {n: f"self.{n}" for n in names})
    shown = [(condition, f'f"{_shown(layer, part)}"') for condition, part in layer.extra_repr]
    body = []
    if all(condition == "true" for condition, _ in shown):
        body = [f"return {part}" for _, part in shown]
    else:
        always = ", ".join(part for condition, part in shown[:1] if condition == "true")
        body.append(f"parts = [{always}]")
        for condition, part in shown[1:] if always else shown:
            indent = "" if condition == "true" else INDENT
            body += [f"if {printer.print(condition)}:"] if indent else []
            body.append(f"{indent}parts.append({part})")
        body.append('return ", ".join(parts)')
    return ["def extra_repr(self):", *indented(body)]


def _shown(layer: Layer, part: str) -> str:
    def member(match: re.Match) -> str:
        name, rest = match[1], match[2]
        present = name in _state_names(layer)
        return f"{{self.{name} is not None}}" if present else f"{{self.{name}{rest}}}"

    return re.sub(r"\{(\w+)([^}]*)\}", member, part)


def _class_method(schema: Schema, c: PythonConstructor) -> list[str]:
    printer = Printer(schema, {})
    checks = [line for check in c.checks for line in refuse(printer, check)]
    made = ast.parse(c.make, mode="eval").body
    given = ", ".join(printer.print(ast.unparse(a)) for a in made.args)
    return [
        "@classmethod",
        f"def {c.name}(cls, {signature(c.args)}):",
        *indented([*documented(c.doc, c.args, {}), *checks, f"return cls({given})"]),
    ]
