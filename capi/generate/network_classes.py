"""Prints core/nn/models.h and models.gen.cpp: the networks and models of the schema as modules of the core.

A network registers its state and its children in the order of its row. Layers are made by functions of the arguments
that rows give, `make_conv2d(place, 3, 64, ...)`, which fill in the layer's options."""

from __future__ import annotations

import ast
import functools

from . import coretypes, expr, layers, modules, networks, text
from .model import Argument, Layer, Model, Network, Schema, SchemaError, Statement

_HEADER = f"// {text.GENERATED}\n"
_NUMBER = {"i64": "int64_t", "f64": "double", "bool": "bool"}


def generate(schema: Schema) -> dict[str, str]:
    return {"core/nn/models.h": _header(schema), "core/nn/models.gen.cpp": _source(schema)}


def _header(schema: Schema) -> str:
    parts = [_HEADER + _HEADER_INTRO]
    for m in schema.models.values():
        parts += [text.comment(m.doc), f"{_declaration(schema, m)};\n"]
    return "\n".join([*parts, "}  // namespace dt\n"])


_HEADER_INTRO = """\
// Networks that people know. An options struct holds the arguments that have defaults.
// clang-format off
#pragma once

#include "core/nn/module.h"
#include "core/ops/options.h"

namespace dt {
"""


def _declaration(schema: Schema, m: Model) -> str:
    function = schema.functions[f"models_{m.name}"]
    parameters = ", ".join(coretypes.parameters(schema, function, defaults=False))
    return f"Ref<Module> {function.name}({parameters})"


def _source(schema: Schema) -> str:
    parts = [_HEADER + _SOURCE_INTRO]
    parts += [_layer(schema.layers[n], args) for n, args in _given_arguments(schema).items()]
    parts += [
        _function(schema, n) if n.make else _class(schema, n) for n in schema.networks.values()
    ]
    parts.append("}  // namespace\n")
    for m in schema.models.values():
        given = {a.name: f"options.{a.name}" for a in m.args if a.has_default}
        made = _Maker(schema, given, "{options.device, options.dtype}").print(m.make)
        parts.append(f"{_declaration(schema, m)} {{\n  return {made};\n}}\n")
    return "\n".join([*parts, "}  // namespace dt\n"])


_SOURCE_INTRO = """\
// The classes behind core/nn/models.h.
// clang-format off
#include "core/nn/models.h"

#include <cmath>

#include "core/nn/layer_support.h"
#include "core/nn/layers.h"
#include "core/nn/network.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/ops.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

using std::sqrt;
"""


# ---- expressions


class _Maker(expr.Cpp):
    """What makes modules: calls of layers, networks and containers."""

    def __init__(self, schema: Schema, variables: dict[str, str], place: str = "place"):
        super().__init__(variables)
        self._schema, self._place = schema, place

    def list(self, items: list[str]) -> str:
        return f"IntList({super().list(items)})"

    def _node(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in networks.CONTAINERS:
                return self._container(
                    {"Sequential": "sequential", "ModuleList": "module_list"}[name], node
                )
            case ast.Call(func=ast.Name(id=name)) if name in self._schema.layers:
                layer = self._schema.layers[name]
                return self._call(f"make_{layer.snake}", name, node)
            case ast.Call(func=ast.Name(id=name)) if name in self._schema.networks:
                network = self._schema.networks[name]
                made = f"make_{name}" if network.make else f"make<{name}>"
                return self._call(made, name, node)
        return super()._node(node)

    def _call(self, function: str, name: str, node: ast.Call) -> str:
        place = [self._place] if networks.takes_place(self._schema, name) else []
        given = [self._node(a) for a in positional(self._schema, name, node)]
        return f"{function}({', '.join([*place, *given])})"

    def _container(self, function: str, node: ast.Call) -> str:
        match node:
            case ast.Call(
                args=[ast.Starred(value=ast.ListComp() as each) | (ast.ListComp() as each)]
            ):
                return self._repeated(function, each.elt, each.generators[0])
            case ast.Call(args=[], keywords=[ast.keyword(arg=None, value=ast.DictComp() as each)]):
                prefix = each.key.values[0].value  # of f"prefix{i}"
                return self._repeated(function, each.value, each.generators[0], f', "{prefix}"')
            case ast.Call(args=[], keywords=[*named]):
                children = ", ".join(self._node(k.value) for k in named)
                names = ", ".join(f'"{k.arg}"' for k in named)
                return f"{function}({{{children}}}, {{{names}}})"
        children = [self._node(a) for a in node.args]
        return f"{function}({{\n        " + ",\n        ".join(children) + "})"

    def _repeated(
        self, function: str, made: ast.expr, loop: ast.comprehension, more: str = ""
    ) -> str:
        count = self._node(loop.iter.args[0])  # of range(count)
        body = f"[&]([[maybe_unused]] int64_t {loop.target.id}) {{ return {self._node(made)}; }}"
        return f"{function}({count}, {body}{more})"


class _Initial(expr.Cpp):
    """What draws the first values, over `tensor("0.weight")`."""

    def _node(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f'tensor("{dotted(node)}")'
        return super()._node(node)


class _Forward(modules.Forward):
    """A forward, over children too."""

    def __init__(self, schema: Schema, network: Network):
        functions = modules.autocast_functions(schema)
        super().__init__(schema, functions)
        self._network = network
        self.variables = {
            **self.variables,
            **{name: f'child("{name}")' for name in network.children},
        }

    def is_given(self, x: str) -> str:
        return x.replace("child(", "has_child(")

    def _node(self, node: ast.expr) -> str:
        match node:
            case ast.Attribute():
                return f'tensor("{dotted(node)}")'
            # The first of several results: `forward` gives it. Words are for Python's class.
            case ast.Subscript(value=ast.Call(func=ast.Name(id=name)) as call) if self._is_child(
                name
            ):
                return self._apply(name, call.args)
            case ast.Call(func=ast.Name(id=name), args=args) if self._is_child(name):
                return self._apply(name, args)
        return super()._node(node)

    def _is_child(self, name: str) -> bool:
        return name in self._network.children

    def _apply(self, name: str, args: list[ast.expr]) -> str:
        given = [self._node(a) for a in args]
        if given[-1] == "caches":
            return f'forward_with(child("{name}"), {", ".join(given)})'
        return f'child("{name}").forward({{{", ".join(given)}}})'

    def apply_many(self, text_: str) -> str:
        """The call of a child with several results, the last of whose inputs is a list."""
        node = expr.parse(text_)
        first, rest = (self._node(a) for a in node.args)
        given = f"joined({first}, {rest}.value_or(TensorList()))"
        return f'first_and_rest(child("{node.func.id}").forward_outputs({given}))'


def dotted(node: ast.expr) -> str:
    """`mlp[0].weight` as state dicts have it: mlp.0.weight."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=x, attr=name):
            return f"{dotted(x)}.{name}"
        case ast.Subscript(value=x, slice=ast.Constant(value=i)):
            return f"{dotted(x)}.{i}"
    raise SchemaError(f"'{ast.unparse(node)}' is no name of a tensor")


def positional(schema: Schema, name: str, call: ast.Call) -> list[ast.expr]:
    """The arguments of a call of a layer or network up to the last given one, with defaults in the gaps; without
    those that no row gives."""
    every = networks.arguments(schema, name)
    parameters = _given_arguments(schema)[name] if name in schema.layers else every
    given = dict(zip((a.name for a in every), call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords}
    last = max((i for i, a in enumerate(parameters) if a.name in given), default=-1)
    return [given.get(a.name) or expr.parse(_default(a)) for a in parameters[: last + 1]]


def _default(a: Argument) -> str:
    """A default as an expression; one number stands for equal ones."""
    value = a.default
    if isinstance(value, list) and len(set(value)) == 1:
        value = value[0]
    if value is None or isinstance(value, (list, str)):
        raise SchemaError(f"'{a.name}': a row gives it, or nothing after it")
    return str(value).lower() if isinstance(value, bool) else repr(value)


# ---- layers


@functools.cache
def _given_arguments(schema: Schema) -> dict[str, tuple[Argument, ...]]:
    """The layers that rows make, and those of their arguments which a row gives."""
    given: dict[str, set[str]] = {}
    for n in schema.networks.values():
        for expression in (n.make or "0", *n.children.values()):
            for node in ast.walk(expr.parse(expression)):
                if isinstance(node, ast.Call) and node.func.id in schema.layers:
                    names = [a.name for a in networks.arguments(schema, node.func.id)]
                    used = given.setdefault(node.func.id, set())
                    used |= {*names[: len(node.args)], *(k.arg for k in node.keywords)}
    return {
        name: tuple(a for a in networks.arguments(schema, name) if a.name in given[name])
        for name in schema.layers
        if name in given
    }


def _layer(layer: Layer, args: tuple[Argument, ...]) -> str:
    """A list is one number here."""
    has_place = any(a.name == "device" for a in layer.args)
    parameters = ["const StatePlace& place"] if has_place else []
    for a in args:
        default = f" = {_default(a)}" if a.has_default and a.default is not None else ""
        parameters.append(f"{_NUMBER[a.kind.base]} {a.name}{default}")
    lines = [f"Ref<Module> make_{layer.snake}({', '.join(parameters)}) {{"]
    given = [_as_list(a) for a in args if not a.has_default]
    if layers.optional(layer):
        lines.append(f"  {text.camel('nn_' + layer.snake)}Options options;")
        lines += [f"  options.{a.name} = {_as_list(a)};" for a in args if a.has_default]
        lines += [f"  options.{n} = place.{n};" for n in ("device", "dtype") if has_place]
        given.append("options")
    return "\n".join([*lines, f"  return nn_{layer.snake}({', '.join(given)});", "}\n"])


def _as_list(a: Argument) -> str:
    if not a.kind.list:
        return a.name
    return f"std::vector<int64_t>{{{a.name}}}" if a.has_default else f"{{{a.name}}}"


# ---- networks


def _parameters(schema: Schema, n: Network) -> str:
    own = [f"{coretypes.parameter_type(schema, a.kind)} {a.name}" for a in n.args]
    return ", ".join(["const StatePlace& place", *own])


def _function(schema: Schema, n: Network) -> str:
    made = _Maker(schema, {}).print(n.make)
    return f"{text.comment(n.doc)}\nRef<Module> make_{n.name}({_parameters(schema, n)}) {{\n  return {made};\n}}\n"


def _class(schema: Schema, n: Network) -> str:
    base = "ManyOutputs" if n.outputs else "CachedModule" if n.takes_caches else "Module"
    kept = networks.kept(n)
    lines = [text.comment(n.doc), f"class {n.name} final : public {base} {{", " public:"]
    lines += [*_constructor(schema, n, base), "", *_forward(schema, n), *_virtuals(schema, n)]
    # A number that is computed is whole or not; `auto` cannot say so of a member.
    members = [f"  {_NUMBER[a.kind.base]} {a.name};" for a in n.args if a.name in kept]
    members += [f"  bool {name};" for name in n.let if name in kept]
    lines += ["", " private:", modules.another(n.name), *members]
    return "\n".join([*lines, "};\n"])


def _constructor(schema: Schema, n: Network, base: str) -> list[str]:
    kept = networks.kept(n)
    inits = [f'{base}("{n.name}")', *(f"{a.name}({a.name})" for a in n.args if a.name in kept)]
    cpp = _Initial()
    maker = _Maker(schema, {})
    body = [text.check(cpp, c.condition, c.message) for c in n.checks]
    for name, value in n.let.items():
        body.append(f"{'' if name in kept else 'const auto '}{name} = {cpp.print(value)};")
    for s in n.state:
        body.append(modules.register(cpp, s, "place.dtype", "place.device"))
    for name, made in n.children.items():
        body += _register_child(maker, name, made)
    body += [f'if ({cpp.print(c)}) share("{name}", "{source}");' for c, name, source in n.tie]
    body += _initialize(schema, n, cpp)
    explicit = "" if n.args else "explicit "
    head = f"  {explicit}{n.name}({_parameters(schema, n)})\n      : " + ", ".join(inits)
    return [head + " {", *("    " + line for line in body), "  }"]


def _register_child(maker: _Maker, name: str, made: str) -> list[str]:
    """A child that may be absent is `... if condition else none`."""
    node = expr.parse(made)
    if isinstance(node, ast.IfExp) and ast.unparse(node.orelse) == "none":
        condition, child = maker.print(ast.unparse(node.test)), maker.print(ast.unparse(node.body))
        return [f'if ({condition}) register_module("{name}", {child});']
    return [f'register_module("{name}", {maker.print(made)});']


def _initialize(schema: Schema, n: Network, cpp: expr.Cpp) -> list[str]:
    own = [e for s in n.state for e in s.init]
    if not (own or n.init or n.each):
        return []
    lines = ["const GradMode off(false);"]
    names = {s.name: f'tensor("{s.name}")' for s in n.state}
    lines += [f"{_Initial(names).print(e)};" for e in own]
    for kind, draws in n.each.items():
        used = {name for e in draws for name in expr.names(e)}
        names = {
            s.name: f'm.tensor("{s.name}")' for s in schema.layers[kind].state if s.name in used
        }
        lines.append(f'each("{kind}", [](const Module& m) {{')
        lines += [f"  {_Initial(names).print(e)};" for e in draws]
        lines.append("});")
    return [*lines, *(f"{cpp.print(e)};" for e in n.init)]


def _forward(schema: Schema, n: Network) -> list[str]:
    inputs = [a for a in n.forward_args if a.kind.name != "kv_cache"]
    most = "3" if inputs[-1].kind.list else str(len(inputs))
    head = {
        "": "Tensor forward(TensorList inputs) override {",
        "caches": "Tensor forward_cached(TensorList inputs, Caches caches) override {",
        "outputs": "std::vector<Tensor> forward_outputs(TensorList inputs) override {",
    }["outputs" if n.outputs else "caches" if n.takes_caches else ""]
    lines = [head, f"  check_inputs(inputs, 1, {most});"]
    for i, a in enumerate(inputs):
        if a.kind.list:
            lines += [f"  std::optional<TensorList> {a.name};"]
            lines += [
                f"  if (inputs.size() > {i}) {a.name} = TensorList(inputs.begin() + {i}, inputs.size() - {i});"
            ]
        else:
            lines.append(f"  const Tensor& {a.name} = inputs[{i}];")
    read = {name for line in n.forward for name in expr.names(line.value)}
    lines += [f'  const Tensor& {s.name} = tensor("{s.name}");' for s in n.state if s.name in read]
    cpp = _Forward(schema, n)
    lines += [f"  {_statement(cpp, line)}" for line in n.forward[:-1]]
    result = n.forward[-1].value
    if n.outputs:
        first, rest = (cpp.print(part) for part in split_results(result))
        lines.append(f"  return joined({first}, {rest});")
    else:
        lines.append(f"  return {cpp.print(result)};")
    return [*("  " + line for line in lines), "  }"]


def split_results(value: str) -> list[str]:
    return [ast.unparse(e) for e in expr.parse(value).elts]


def _statement(cpp: _Forward, line: Statement) -> str:
    if not line.names:
        return text.check(cpp, line.value, line.message)
    if len(line.names) > 1:
        return f"const auto [{', '.join(line.names)}] = {cpp.apply_many(line.value)};"
    return f"const auto {line.names[0]} = {cpp.print(line.value)};"


def _virtuals(schema: Schema, n: Network) -> list[str]:
    lines = []
    if n.step:
        lines += [
            "",
            "  Tensor step(const Tensor& input, Caches caches) override {",
            f"    return {_Forward(schema, n).print(n.step)};",
            "  }",
        ]
    if n.generates:
        context, blocks = expr.Cpp().print(n.generates["context"]), n.generates["blocks"]
        lines += [
            "",
            f"  int64_t context_size() const override {{ return {context}; }}",
            f'  int64_t cache_count() const override {{ return child("{blocks}").child_count(); }}',
        ]
    if n.prefix or n.ignored:
        ignored = ", ".join(f'"{end}"' for end in n.ignored)
        lines += [
            "",
            "  std::string own_name(const std::string& name) const override {",
            f'    return without_prefix(name, "{n.prefix}", {{{ignored}}});',
            "  }",
        ]
    return lines
