"""Prints core/nn/layers.h and layers.gen.cpp: the layers of the schema as modules of the core.

A generated class keeps the arguments that it needs later, registers its tensors with `Module`
(core/nn/module.h) and computes its forward in functional ops."""

from __future__ import annotations

from . import autocast, coretypes, expr, layers, text
from .model import Argument, Layer, Schema, Tensor

_HEADER = f"// {text.GENERATED}\n"
_CPP = expr.Cpp({"training": "training()"})


_LIMITS = {"inf": "std::numeric_limits<double>::infinity()"}  # of a relu


class Forward(expr.Cpp):
    """Arithmetic of tensors and numbers, and calls of ops, whose words may be values of an enum."""

    def __init__(self, schema: Schema, functions: dict[str, str]):
        super().__init__(_CPP.variables, functions)
        self._schema = schema

    def division(self, a: str, b: str) -> str:
        return f"quotient({a}, {b})"

    def call(self, function: str, arguments: list[str]) -> str:
        called = self._schema.functions.get(function)
        parameters = called.args if called else ()
        for i, a in enumerate(parameters[: len(arguments)]):
            if a.kind.base == "enum" and arguments[i].startswith('"'):
                enum = self._schema.enums[a.kind.name]
                arguments[i] = coretypes.enum_value(enum, arguments[i].strip('"'))
            if a.kind.key == "i64[]?" and arguments[i].startswith("{") and arguments[i] != "{}":
                arguments[i] = f"IntList({arguments[i]})"
        return super().call(function, arguments)


def generate(schema: Schema) -> dict[str, str]:
    if not schema.layers:
        return {}
    return {"core/nn/layers.h": _header(schema), "core/nn/layers.gen.cpp": _source(schema)}


def _parameters(schema: Schema, layer: Layer) -> str:
    constructor = schema.functions["nn_" + layer.snake]
    return ", ".join(coretypes.parameters(schema, constructor, defaults=False))


def _header(schema: Schema) -> str:
    parts = [_HEADER + _HEADER_INTRO]
    for layer in schema.layers.values():
        parts.append(text.comment(layer.doc))
        parts.append(f"Ref<Module> nn_{layer.snake}({_parameters(schema, layer)});\n")
    return "\n".join([*parts, "}  // namespace dt\n"])


_HEADER_INTRO = """\
// The layers of torch.nn as modules. An options struct holds the arguments that have defaults.
// clang-format off
#pragma once

#include "core/nn/module.h"
#include "core/ops/options.h"

namespace dt {
"""


def _source(schema: Schema) -> str:
    by_hand = sorted({layer.header for layer in schema.layers.values() if layer.header})
    headers = "".join(f'#include "{header}"\n' for header in by_hand)
    parts = [
        _HEADER + _SOURCE_INTRO.replace("#include <limits>\n\n", f"#include <limits>\n\n{headers}")
    ]
    parts += [_class(schema, layer) for layer in schema.layers.values() if not layer.header]
    parts.append("}  // namespace\n")
    for layer in schema.layers.values():
        names = ", ".join(a.name for a in schema.functions["nn_" + layer.snake].args)
        parts.append(f"Ref<Module> nn_{layer.snake}({_parameters(schema, layer)}) {{")
        parts += [f"  {check}" for check in _checks_by_hand(layer)]
        parts.append(f"  return Ref<Module>::adopt(new {layer.name}({names}));\n}}\n")
    return "\n".join([*parts, "}  // namespace dt\n"])


def _checks_by_hand(layer: Layer) -> list[str]:
    """What the arguments of a class must be that is written by hand; one that is generated checks them itself."""
    cpp = expr.Cpp({a.name: f"options.{a.name}" for a in layers.optional(layer)})
    return [text.check(cpp, c.condition, c.message) for c in layer.checks if layer.header]


_SOURCE_INTRO = """\
// The classes behind core/nn/layers.h. A layer registers its tensors in a fixed order; state(i) is the i-th.
// clang-format off
#include <cmath>
#include <limits>

#include "core/nn/layer_support.h"
#include "core/nn/layers.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/ops.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

using std::sqrt;
"""


def _class(schema: Schema, layer: Layer) -> str:
    base = _base(layer)
    lines = [f"class {layer.name} final : public {base} {{", " public:"]
    lines += [
        *_constructor(schema, layer),
        "",
        *_forward(schema, layer),
        *_activation(schema, layer),
    ]
    members = [f"  {coretypes.field_type(schema, a.kind)} {a.name};" for a in _kept(layer)]
    members += [f"  double {n};" for n in layer.let]
    lines += ["", " private:", another(layer.name), *_initialize(layer), *members]
    return "\n".join([*lines, "};\n"])


def another(name: str) -> str:
    """What Module::clone asks of a class."""
    return f"  Module* another() const override {{ return new {name}(*this); }}"


def _base(layer: Layer) -> str:
    return "ManyOutputs" if layer.outputs else "Module"


def _is_pair(a: Argument) -> bool:
    """A list of fixed length, which may be given as one number."""
    return a.kind.key == "i64[]" and a.kind.count > 1


def _kept(layer: Layer) -> list[Argument]:
    """The arguments that become members: what forward or the initialisation will need, and lists
    that are written out in full."""
    later = [
        layer.forward,
        layer.forward_activated or "0",
        *(e for s in layer.state for e in s.init),
    ]
    used = {n for t in later for n in expr.names(t)} - {s.name for s in layer.state}
    return [a for a in layer.args if a.name in used or _is_pair(a)]


def _constructor(schema: Schema, layer: Layer) -> list[str]:
    parameters = _parameters(schema, layer)
    kept = _kept(layer)
    # The parameter may be one number where the member is the full list.
    cpp = expr.Cpp({a.name: f"this->{a.name}" for a in kept if _is_pair(a)})
    inits = [f'{_base(layer)}("{layer.name}")'] + [
        f"{a.name}({_source_of(layer, a)})" for a in kept
    ]
    early = [*(c.condition for c in layer.checks), *layer.let.values()]
    early += [e for s in layer.state for e in (*map(layers.dimension, s.shape), s.when or "true")]
    used = {n for t in early for n in expr.names(t)} | (
        {"device", "dtype"} if layer.state else set()
    )
    body = [
        f"    const auto& {a.name} = options.{a.name};"
        for a in layers.optional(layer)
        if a not in kept and a.name in used
    ]
    body += [f"    {text.check(cpp, c.condition, c.message)}" for c in layer.checks]
    body += [f"    {n} = {cpp.print(e)};" for n, e in layer.let.items()]
    body += [f"    {register(cpp, s)}" for s in layer.state]
    body += ["    initialize();"] if layer.state else []
    explicit = "explicit " if parameters and ", " not in parameters else ""
    head = f"  {explicit}{layer.name}({parameters})\n      : " + ",\n        ".join(inits)
    return [head + " {", *body, "  }"]


def _source_of(layer: Layer, a: Argument) -> str:
    """What a member is made from. A list of fixed length is written out in full."""
    source = f"options.{a.name}" if a.has_default else a.name
    if _is_pair(a):
        return f'expand_list({source}, {a.kind.count}, "{layer.name}", "{a.name}")'
    return f"{source}.to_vector()" if a.kind.key == "i64[]" and not a.has_default else source


def register(cpp: expr.Cpp, s: Tensor, dtype: str = "dtype", device: str = "device") -> str:
    shape = ", ".join(cpp.print(layers.dimension(e)) for e in s.shape)
    if not any(e.startswith("*") for e in s.shape):
        shape = f"{{{shape}}}"
    dtype = f"DType::{s.dtype.upper()}" if s.dtype else dtype
    tensor = f"empty({shape}, {dtype}, {device})"
    if s.when:
        tensor = f"{cpp.print(s.when)} ? {tensor} : Tensor()"
    return f'register_{"buffer" if s.buffer else "parameter"}("{s.name}", {tensor});'


def _locals(layer: Layer, texts: list[str]) -> list[str]:
    """Names for the tensors that expressions mention."""
    used = {n for t in texts for n in expr.names(t)}
    return [
        f"    const Tensor& {s.name} = state({i});"
        for i, s in enumerate(layer.state)
        if s.name in used
    ]


def _initialize(layer: Layer) -> list[str]:
    if not layer.state:
        return []
    lines = ["  void initialize() {", "    const GradMode off(false);"]
    lines += _locals(layer, [e for s in layer.state for e in s.init])
    for s in layer.state:
        given = f"if ({s.name}.defined()) " if s.when else ""
        lines += [f"    {given}{_CPP.print(e)};" for e in s.init]
    return [*lines, "  }", ""]


def _forward(schema: Schema, layer: Layer) -> list[str]:
    inputs = layer.forward_args
    least = sum(not a.kind.optional for a in inputs)
    many = bool(layer.outputs)
    result = "std::vector<Tensor> forward_outputs" if many else "Tensor forward"
    lines = [f"  {result}(TensorList inputs) override {{"]
    most = "inputs.size()" if inputs[-1].kind.list else str(len(inputs))
    lines.append(f"    check_inputs(inputs, {least}, {most});")
    for i, a in enumerate(inputs):
        absent = f"inputs.size() > {i} ? inputs[{i}] : Tensor()"
        if a.kind.list:  # the last: what is left
            rest = f"TensorList(inputs.begin() + {i}, inputs.size() - {i})"
            lines.append(f"    std::optional<TensorList> {a.name};")
            lines.append(f"    if (inputs.size() > {i}) {a.name} = {rest};")
        elif a.kind.optional:
            lines.append(f"    const Tensor {a.name} = {absent};")
        else:
            lines.append(f"    const Tensor& {a.name} = inputs[{i}];")
    lines += _step(layer, layer.forward)
    value = Forward(schema, _functions(schema, layer)).print(layer.forward)
    return [*lines, f"    return {f'list_of({value})' if many else value};", "  }"]


def _step(layer: Layer, forward: str) -> list[str]:
    """What comes before the expression that a forward returns."""
    step = layer.each_training_step
    lines = _locals(layer, [forward, step or "0"])
    lines += [f"    {text.check(_CPP, c.condition, c.message)}" for c in layer.input_checks]
    if step:
        lines.append("    if (training()) {")
        tensors = [s.name for s in layer.state if s.name in expr.names(step)]
        given = " && ".join(f"{n}.defined()" for n in tensors)
        lines += [
            "      const GradMode off(false);",
            f"      if ({given}) {_CPP.print(step)};",
            "    }",
        ]
    return lines


def _functions(schema: Schema, layer: Layer) -> dict[str, str]:
    """What ops are called by: a function may have the name of an argument, as threshold has."""
    return {**{a.name: f"dt::{a.name}" for a in layer.args}, **autocast_functions(schema)}


def autocast_functions(schema: Schema) -> dict[str, str]:
    return {f.name: autocast.call(f) for f in schema.functions.values() if f.autocast}


def _activation(schema: Schema, layer: Layer) -> list[str]:
    lines = []
    if layer.activation:
        value = f"Activation::k{layer.activation.capitalize()}"
        lines += ["", f"  Activation activation() const override {{ return {value}; }}"]
    if layer.forward_activated:
        head = "Tensor forward_activated(const Tensor& input, Activation activation)"
        lines += ["", f"  {head} override {{", *_locals(layer, [layer.forward_activated])]
        value = Forward(schema, _functions(schema, layer)).print(layer.forward_activated)
        lines += [f"    return {value};", "  }"]
    if layer.relu_limit:
        limit = _LIMITS.get(layer.relu_limit, layer.relu_limit)
        lines += ["", f"  double relu_limit() const override {{ return {limit}; }}"]
    if layer.forward_relu:
        forward = layers.forward_with_relu(layer)
        head = "Tensor forward_relu(const Tensor& input, const Tensor& addend, double limit)"
        lines += ["", f"  {head} override {{", *_step(layer, forward)]
        value = Forward(schema, _functions(schema, layer)).print(forward)
        lines += [f"    return {value};", "  }"]
    return lines
