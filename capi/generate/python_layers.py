"""Prints wrappers/python/dumbtorch/nn/modules/layers.py: the layers of the schema as Python
classes.

They own their Parameters and call the same functions as the core's modules, in the same order, so
the same seed gives the same initial values in every language."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import textwrap
from collections.abc import Iterable

from . import expr, layers, python, python_bases
from .model import Argument, Check, Layer, PythonConstructor, Schema, Tensor
from .text import GENERATED

INDENT = "    "
_LIMITS = {"inf": "None"}  # of a relu

_HEAD = f'''"""{GENERATED}"""

# ruff: noqa
import math

from ... import _ops
from ..._runtime import int_tuple, reduction_of
from ..._warning import warn_each
from ...autograd.grad_mode import no_grad
from .. import functional
from ..parameter import Parameter
from .arguments import all_between, repeated, split_sizes
from .bases import RNNCellBase, _WithStatistics, _ConvNd, _ConvTransposeNd
from .module import Module
'''


def generate(schema: Schema) -> dict[str, str]:
    parts = [_HEAD]
    generated = [layer for layer in schema.layers.values() if not layer.header]
    generated.sort(key=lambda layer: _is_another(schema, layer))  # behind those that they are
    parts += [_base_class(schema, *each) for each in python_bases.PRINTED.items()]
    parts += [_class(schema, layer) for layer in generated]
    names = "".join(f'{INDENT}"{layer.name}",\n' for layer in generated)
    parts.append(f"__all__ = [\n{names}]\n")
    return {"wrappers/python/dumbtorch/nn/modules/layers.py": "\n\n\n".join(parts)}


# Functions of modules/arguments.py that a row may call.
_OF_ARGUMENTS = {"all_between", "repeated", "split_sizes"}


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
        if function == "class_name":
            return "type(self).__name__"
        if function in _OF_ARGUMENTS:
            return f"{function}({', '.join(arguments)})"
        if function == "dim":  # the method is the faster one
            return f"{arguments[0]}.dim()"
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


def _base_class(schema: Schema, name: str, printed: python_bases.Printed) -> str:
    methods = _methods(schema, schema.layers[printed.row], printed.base)
    parts = [methods[part] for part in printed.parts.split() if part in methods]
    if kept := printed.keeps:
        lines = ["super().__init__()", f"self.{kept} = {kept}"]
        parts.insert(0, [f"def __init__(self, {kept}):", *indented(lines)])
    head = [f"class {name}({printed.base}):", f'{INDENT}"""{printed.doc}"""']
    return "\n".join([*head, *(line for part in parts for line in ("", *indented(part)))])


def _class(schema: Schema, layer: Layer) -> str:
    base = python_bases.base_of(layer.name)
    lines = [
        f"class {layer.name}({base.name}):",
        *indented(documented(layer.doc, layer.python.args, layer.python.words)),
    ]
    if layer.activation:
        lines += ["", f'{INDENT}_activation = "{layer.activation}"']
    if layer.relu_limit:
        lines += ["", f"{INDENT}_limit = {_LIMITS.get(layer.relu_limit, layer.relu_limit)}"]
    if layer.python.older:
        had = {a.name: python.default(a) for a in layer.python.args}
        older = ", ".join(f'"{name}": {had[name]}' for name in layer.python.older)
        lines += ["", f"{INDENT}_older = {{{older}}}"]
    inherited = _inherited(schema, base.name)
    for name, method in _methods(schema, layer, base.name, base.given).items():
        lines += ["", *indented(method)] if method and method != inherited.get(name) else []
    for c in layer.python.constructors:
        lines += ["", *indented(_class_method(schema, c))]
    return "\n".join(lines)


def _methods(schema: Schema, layer: Layer, base: str, given: str = "") -> dict[str, list[str]]:
    """By name, of a class with that base. A constructor by hand, which is `given` its arguments, comes with the methods
    that make and show what it makes."""
    out = {"__init__": _constructor(schema, layer, base, given)}
    if layer.state and not given:
        out["reset_parameters"] = _reset(schema, layer)
    if layer.name in python_bases.LAST_STEPS:
        out[python_bases.LAST_STEPS[layer.name]] = _last_step(schema, layer)
    if _looked_at(layer):
        out["_check_input_dim"] = _check_input_dim(schema, layer)
    if _is_instance_norm(layer):
        unbatched = int(layer.let["batched"]) - 1
        out["_get_no_batch_dim"] = [
            "def _get_no_batch_dim(self):",
            f'{INDENT}"""The dimensions of an input without a batch."""',
            f"{INDENT}return {unbatched}",
        ]
    if _is_convolution(layer):
        out["_conv_forward"] = _conv_forward(layer)
    if not _is_another(schema, layer):
        out["forward"] = _forward(schema, layer)
    if layer.forward_activated:
        out["_forward_activated"] = _forward_activated(schema, layer)
    if layer.forward_relu:
        out["_forward_relu"] = _forward_relu(schema, layer)
    if layer.extra_repr:
        out["extra_repr"] = _extra_repr(schema, layer)
    return out


def _is_another(schema: Schema, layer: Layer) -> bool:
    """Whether it is another layer with settings of its own."""
    return python_bases.base_of(layer.name).name in schema.layers


def _inherited(schema: Schema, name: str) -> dict[str, list[str]]:
    """The methods of a base class, and of those before it."""
    if name in schema.layers:
        base, row = python_bases.base_of(name), schema.layers[name]
        own = _methods(schema, row, base.name, base.given)
        return _inherited(schema, base.name) | {part: own[part] for part in own if own[part]}
    if name not in python_bases.PRINTED:
        return {}
    printed = python_bases.PRINTED[name]
    own = _methods(schema, schema.layers[printed.row], printed.base)
    return _inherited(schema, printed.base) | {
        part: own.get(part) for part in printed.parts.split()
    }


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


def signature(args: Iterable[Argument]) -> str:
    def show(a: Argument) -> str:
        return python.safe(a.name) + (f"={python.default(a)}" if a.has_default else "")

    named = [show(a) for a in args if a.keyword_only]
    return ", ".join(
        [*(show(a) for a in args if not a.keyword_only), *(["*"] if named else []), *named]
    )


def _state_names(layer: Layer) -> set[str]:
    return {s.name for s in layer.state}


def _constructor(schema: Schema, layer: Layer, base: str, given: str) -> list[str]:
    """Empty where that of the base class is the same."""
    p = layer.python
    arguments = "*args, **kwargs" if p.any_arguments else signature(p.args)
    head = f"def __init__(self{', ' if arguments else ''}{arguments}):"
    if given:
        kept = [_keep(a, a.name) for a in p.args if a.name not in re.findall(r"\w+", given)]
        lists = [] if base in schema.layers else _lists(layer, True)
        return [head, *indented([*lists, f"super().__init__({given})", *kept])]
    first, steps = ["super().__init__()"], _steps(schema, layer)
    if before := _constructor_before(schema, base):
        done = _steps(schema, before)
        if steps == done and arguments == signature(before.python.args):
            return []
        # A warning names the line that calls, so it is given here.
        first = _old_reduction(layer) + [f"super().__init__({_handed_on(layer, before)})"]
        steps = [step for step in steps if step not in done]
    return [head, *indented([*first, *(line for step in steps for line in step)])]


def _constructor_before(schema: Schema, base: str) -> Layer | None:
    """The row whose constructor a base class has."""
    while base in python_bases.PRINTED:
        printed = python_bases.PRINTED[base]
        if "__init__" in printed.parts:
            return schema.layers[printed.row]
        base = printed.base
    return None


def _handed_on(layer: Layer, before: Layer) -> str:
    """The arguments of the base class that a layer has, too."""
    own, given, by_name = {a.name for a in layer.python.args} - _OLD_REDUCTION, [], False
    for a in before.python.args:
        by_name = by_name or a.keyword_only or a.name not in own
        if a.name in own:
            given.append(f"{a.name}={a.name}" if by_name else a.name)
    return ", ".join(given)


def _steps(schema: Schema, layer: Layer) -> list[list[str]]:
    """What a constructor does, each step of some lines."""
    p, plain = layer.python, Printer(schema, {})
    steps = [lists] if (lists := _lists(layer)) else []
    steps += [_renamed(old, name) for old, name in p.renamed.items()]
    steps += [refuse(plain, check) for check in (*layer.checks, *p.checks)]
    steps += [old] if (old := _old_reduction(layer)) else []
    steps += [[f"{name} = {plain.print(value)}"] for name, value in p.set.items()]
    steps += [[_keep(a, p.kept.get(a.name, a.name))] for a in p.args if not _is_used_up(layer, a)]
    steps += [[f"self.{name} = {plain.print(value)}"] for name, value in p.attributes.items()]
    steps += [_new_state(layer, plain, s) for s in layer.state]
    unless = "".join(f"if {name} is None: " for name in p.given.values())
    return [*steps, [f"{unless}self.reset_parameters()"]] if layer.state else steps


def refuse(printer: Printer, c: Check) -> list[str]:
    message = _message(printer, c.message)
    return [f"if not ({printer.print(c.condition)}):", f"{INDENT}raise {c.error}({message})"]


def warn(printer: Printer, condition: str, message: str) -> list[str]:
    return [
        f"if not ({printer.print(condition)}):",
        f"{INDENT}warn_each({_message(printer, message)})",
    ]


def _message(printer: Printer, text: str) -> str:
    named = re.sub(r"\{(\w+\([^{}]+|\w+)", lambda m: "{" + printer.print(m[1]), text)
    return ("f" if "{" in named else "") + json.dumps(named)


def _is_used_up(layer: Layer, a: Argument) -> bool:
    """Whether the constructor alone needs it."""
    made_of_it = (*layer.python.given.values(), layer.python.frozen)
    used_up = {*made_of_it, *_OLD_REDUCTION, *layer.python.renamed, *_state_names(layer)}
    return a.name in used_up or _is_place(a)


def _renamed(old: str, name: str) -> list[str]:
    """The older name of an argument."""
    message = f"keyword argument `{old}` is deprecated and renamed to `{name}`"
    return [
        f"if {old} is not None:",
        f'{INDENT}warn_each("{message}", FutureWarning)',
        f"{INDENT}{name} = {old}",
    ]


# They say what `reduction` is.
_OLD_REDUCTION = {"size_average", "reduce"}


def _old_reduction(layer: Layer) -> list[str]:
    has_it = _OLD_REDUCTION & {a.name for a in layer.python.args}
    return python.old_reduction("reduction") if has_it else []


def _is_place(a: Argument) -> bool:
    return a.name in ("device", "dtype")


def _lists(layer: Layer, is_checked_later: bool = False) -> list[str]:
    """Lists whose entries the layer itself looks at become tuples, and factors floats; other lists stay as given."""
    shapes = [entry for s in layer.state for entry in s.shape]
    looked_into = expr.lists_looked_into(", ".join([*layer.let.values(), *shapes]))
    lines = []
    for a in (a for a in layer.args if a.kind.list):
        if a.name in layer.python.words:
            given = layer.python.words[a.name]
            is_list = f"if not isinstance({a.name}, str):"
            lines += [is_list] if is_checked_later else _words(a.name, given)
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


def _keep(a: Argument, name: str) -> str:
    if a.kind.base == "tensor":
        return f'self.register_buffer("{name}", {a.name})'
    return f"self.{python.safe(name)} = {python.safe(a.name)}"


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
    p = layer.python
    out = {a.name: f"self.{python.safe(p.kept.get(a.name, a.name))}" for a in p.args}
    return out | {
        n: f"self.{n}" for n in (*python_bases.attributes(layer.name), *_registered(layer))
    }


def _registered(layer: Layer) -> dict[str, str]:
    """The registry of each tensor that a layer has."""
    given = [a for a in layer.python.args if a.kind.base == "tensor" and not _is_used_up(layer, a)]
    out = {a.name: "_buffers" for a in given}
    return out | {s.name: "_buffers" if s.buffer else "_parameters" for s in layer.state}


def _reset(schema: Schema, layer: Layer) -> list[str]:
    members = _members(layer) | {n: n for n in layer.let}
    printer = Printer(schema, members)
    numbers = NumberPrinter(schema, members)
    used = {n for s in layer.state for step in s.init for n in expr.names(step)}
    for n, value in reversed(layer.let.items()):
        used |= set(expr.names(value)) if n in used else set()
    body = [f"{n} = {numbers.print(value)}" for n, value in layer.let.items() if n in used]
    body.append("with no_grad():")
    last_step = python_bases.LAST_STEPS.get(layer.name)
    for s in layer.state:
        steps = [printer.print(step) for step in (s.init[:-1] if last_step else s.init)]
        if s.when:
            body.append(f"{INDENT}if {members[s.name]} is not None:")
            body += [INDENT * 2 + step for step in steps]
        else:
            body += [INDENT + step for step in steps]
    body += [f"self.{last_step}()"] if last_step else []
    return ["def reset_parameters(self):", f'{INDENT}"""Draws initial values."""', *indented(body)]


def _last_step(schema: Schema, layer: Layer) -> list[str]:
    step = Printer(schema, _members(layer)).print(layer.state[-1].init[-1])
    return [
        f"def {python_bases.LAST_STEPS[layer.name]}(self):",
        f'{INDENT}"""The last step of reset_parameters."""',
        *indented(["with no_grad():", INDENT + step]),
    ]


def _tensors_in(layer: Layer, *texts: str) -> list[str]:
    mentioned = {name for text in texts for name in expr.names(text)}
    return [name for name in _registered(layer) if name in mentioned]


def _read_tensors(layer: Layer, *texts: str) -> list[str]:
    """Makes locals of the parameters and buffers in expressions. Their registry is five times as fast to read
    as `self.weight`, which also finds a plain attribute: weight normalisation deletes the Parameter
    and sets a tensor in its place."""
    names = _tensors_in(layer, *texts)
    if not names:
        return []
    registries = _registered(layer)
    local = ", ".join(names)
    registered = ", ".join(f'self.{registries[n]}["{n}"]' for n in names)
    # What training alone counts may be missing elsewhere.
    counted = expr.names(layer.each_training_step or "0")
    attributes = ", ".join(
        f"self.{n} if self.training else None" if n in counted else f"self.{n}" for n in names
    )
    return [
        "try:",
        f"{INDENT}{local} = {registered}",
        "except KeyError:  # deleted: a plain attribute may stand for it",
        f"{INDENT}{local} = {attributes}",
    ]


def _forward(schema: Schema, layer: Layer) -> list[str]:
    if _is_convolution(layer):
        text = "weight, bias"
        body = [*_read_tensors(layer, text), f"return self._conv_forward(input, {text})"]
    else:
        body = _body(schema, layer, layer.forward)
    inputs = [dataclasses.replace(a, name=_called(layer, a)) for a in layer.python.inputs]
    return [f"def forward(self, {signature(inputs)}):", *indented(body)]


def _called(layer: Layer, a: Argument) -> str:
    return layer.python.called.get(a.name, a.name)


def _is_convolution(layer: Layer) -> bool:
    """Whether its forward goes by a method that programs override."""
    return python_bases.base_of(layer.name).name == "_ConvNd"


def _is_instance_norm(layer: Layer) -> bool:
    """Whether a method that programs override says how many dimensions there are."""
    return python_bases.base_of(layer.name).name == "_InstanceNorm"


def _conv_forward(layer: Layer) -> list[str]:
    variables = _members(layer) | {n: n for n in ("input", "weight", "bias")}
    result = _Functional(variables).print(layer.python.forward)
    return [
        "def _conv_forward(self, input, weight, bias):",
        f'{INDENT}"""forward, by a weight and a bias that are given."""',
        f"{INDENT}return {result}",
    ]


def _looked_at(layer: Layer) -> list[Check]:
    """What a method that programs override checks of an input."""
    if python_bases.base_of(layer.name).name not in _LOOKING:
        return []
    return [c for c in layer.input_checks if not _tensors_in(layer, c.condition)]


_LOOKING = {"_BatchNorm", "_InstanceNorm", "_CircularPadNd"}


def _check_input_dim(schema: Schema, layer: Layer) -> list[str]:
    lets = Printer(schema, {})
    printer = Printer(
        schema, {"input": "input"} | {n: lets.print(value) for n, value in layer.let.items()}
    )
    body = [line for check in _looked_at(layer) for line in refuse(printer, check)]
    return [
        "def _check_input_dim(self, input):",
        f'{INDENT}"""Refuses an input of other dimensions."""',
        *indented(body),
    ]


def _forward_relu(schema: Schema, layer: Layer) -> list[str]:
    forward = layers.forward_with_relu(layer)
    body = _body(schema, layer, forward, ("addend", "limit"))
    return ["def _forward_relu(self, input, addend, limit):", *indented(body)]


def _body(schema: Schema, layer: Layer, forward: str, more: tuple[str, ...] = ()) -> list[str]:
    """What a forward does to return what an expression gives, of `more` besides its inputs."""
    variables = _members(layer) | {a.name: _called(layer, a) for a in layer.python.inputs}
    variables["training"] = "self.training"
    looked_at = _looked_at(layer)
    checked = [c.condition for c in layer.input_checks if c not in looked_at]
    texts = (layer.python.forward or forward, layer.each_training_step or "0", *checked)
    variables |= {n: n for n in (*more, *_tensors_in(layer, *texts))}
    lets = Printer(schema, variables)
    variables |= {n: lets.print(value) for n, value in layer.let.items()}
    if _is_instance_norm(layer):
        variables["batched"] = "(self._get_no_batch_dim() + 1)"
    body = _read_tensors(layer, *texts)
    printer = Printer(schema, variables)
    body += ["self._check_input_dim(input)"] if looked_at else []
    for check in layer.input_checks:
        body += refuse(printer, check) if check not in looked_at else []
    for condition, message in layer.python.warn_input:
        body += warn(printer, condition, message)
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
    variables |= {n: n for n in _tensors_in(layer, text)}
    result = Printer(schema, variables).print(text)
    body = [*_read_tensors(layer, text), f"return {result}"]
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
