"""Prints what the core is built from: declarations of every op, and the elementwise ops themselves."""

from __future__ import annotations

import ast
import functools

from . import autocast, coretypes, expr, text
from .formula import Tensors
from .model import Argument, Elementwise, Function, Schema, SchemaError

_HEADER = f"// {text.GENERATED}\n"


def generate(schema: Schema) -> dict[str, str]:
    return {
        "core/base/enums.h": enums(schema),
        "core/tensor/callbacks.h": callbacks(schema),
        "core/ops/options.h": options(schema),
        "core/ops/ops.h": _HEADER + _OPS + _includes(families(schema)) + "\n",
        **{declared_in(family): declarations(schema, family) for family in families(schema)},
        "core/ops/pointwise.gen.cpp": pointwise(schema),
    }


# ---- enums and options


def enums(schema: Schema) -> str:
    parts = [_HEADER + _ENUMS_INTRO]
    for e in schema.enums.values():
        if e.core:
            continue
        parts.append(text.comment(e.doc))
        parts.append(f"enum class {coretypes.enum_type(e)} : int32_t {{")
        parts.append(f"  {text.constant('default')} = 0,")
        parts += [f"  {text.constant(v.name)} = {v.number},  // {v.doc}" for v in e.values]
        parts.append("};\n")
    return "\n".join([*parts, "}  // namespace dt\n"])


_ENUMS_INTRO = """\
// Choices that ops offer; kDefault: not given.
#pragma once

#include <cstdint>

namespace dt {
"""


def callbacks(schema: Schema) -> str:
    parts = [_HEADER + _CALLBACKS_INTRO]
    for c in schema.callbacks.values():
        result = coretypes.results(schema, c)
        args = ", ".join(coretypes.parameter_type(schema, a.kind) for a in c.args)
        parts.append(text.comment(c.doc))
        parts.append(f"using {text.camel(c.name)} = std::function<{result}({args})>;\n")
    return "\n".join([*parts, "}  // namespace dt\n"])


_CALLBACKS_INTRO = """\
// Functions of the user's that the library calls.
#pragma once

#include <functional>
#include <tuple>

#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt {
"""


def options(schema: Schema) -> str:
    # Where a struct is made, the class of the object that it holds is known: it may be of a folder above.
    classes = sorted(
        {
            schema.handles[a.kind.name].core.removeprefix("Ref<").removesuffix(">")
            for o in schema.options.values()
            for a in o.fields
            if a.kind.base == "handle"
        }
    )
    declared = "".join(f"class {c};\n" for c in classes)
    parts = [_HEADER + _OPTIONS_INTRO.replace("@CLASSES@\n", declared)]
    for o in schema.options.values():
        parts.append(text.comment(o.doc))
        parts.append(f"struct {text.camel(o.name)}Options {{")
        for a in o.fields:
            kind = coretypes.field_type(schema, a.kind)
            default = coretypes.literal(schema, a)
            value = "" if default == "{}" else f" = {default}"
            parts.append(text.comment(a.doc, "  "))
            parts.append(f"  {kind} {a.name}{value};")
        parts.append("};\n")
    return "\n".join([*parts, "}  // namespace dt\n"])


_OPTIONS_INTRO = """\
// Named arguments of constructors, with their defaults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/enums.h"
#include "core/base/ref.h"
#include "core/tensor/callbacks.h"

namespace dt {

@CLASSES@
"""


# ---- declarations


def is_declared_here(f: Function) -> bool:
    """Whether this module declares it: not if a row names a header or another C++ expression."""
    return not f.header and not f.core


@functools.cache
def families(schema: Schema) -> tuple[str, ...]:
    """The schema files with ops to declare. Each has a header of its own, so that a new row makes
    only those files compile again that use its kind of ops."""
    return tuple(dict.fromkeys(f.file for f in schema.functions.values() if is_declared_here(f)))


def declared_in(family: str) -> str:
    return f"core/ops/{family}.gen.h"


def _includes(names: tuple[str, ...]) -> str:
    return "\n".join(f'#include "{declared_in(name)}"' for name in sorted(names))


def declarations(schema: Schema, family: str) -> str:
    parts = [_HEADER + _DECLARATIONS_INTRO.replace("@FAMILY@", family)]
    for f in schema.functions.values():
        if f.file != family or not is_declared_here(f):
            continue
        head = f"{coretypes.return_type(schema, f)} {f.name}("
        parts.append(text.call(head, coretypes.parameters(schema, f, defaults=True), ");"))
        if autocast.widens_itself(f):
            parts.append(_declaration_in(schema, f))
    return "\n".join([*parts, "\n}  // namespace dt\n"])


def _declaration_in(schema: Schema, f: Function) -> str:
    head = f"{coretypes.return_type(schema, f)} {f.name}_in("
    parameters = ["DType dtype", *coretypes.parameters(schema, f, defaults=False)]
    comment = text.comment(
        "The same, whose result is of this dtype, by default the input's, which is widened to it."
    )
    return comment + "\n" + text.call(head, parameters, ");")


_OPS = """\
// Every op of the library as a C++ function, for who needs many kinds of them.
#pragma once

"""

_DECLARATIONS_INTRO = """\
// The ops of capi/schema/@FAMILY@.toml as C++ functions. Arguments, defaults and meanings are PyTorch's; an undefined
// Tensor is an absent optional one. In-place ops write and return their first argument. What an op does is said in
// that file and not here, so that another word there does not make all of core compile again.
// clang-format off
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/enums.h"
#include "core/tensor/callbacks.h"
#include "core/runtime/generator.h"
#include "core/tensor/tensor.h"

namespace dt {
"""


# ---- elementwise ops


def pointwise(schema: Schema) -> str:
    rows = schema.elementwise
    headers = "".join(f'#include "{declared_in(n)}"\n' for n in sorted({f.file for f in rows}))
    parts = [_HEADER + _POINTWISE_INTRO.replace("@HEADERS@\n", headers)]
    for f in rows:
        parts.append(_gradient_function(f))
        parts.append(_row(f))
        parts.append(_definition(schema, f))
        twin = schema.functions.get(f.name + "_")
        if twin and twin.elementwise:
            parts.append(_definition(schema, twin))
    parts.append(_activation_row(schema))
    return "\n".join([*(p for p in parts if p), "}  // namespace dt\n"])


def _activation_row(schema: Schema) -> str:
    """The rows that the values of the enum `activation` are named after, and the nodes that end with them."""
    names = [v.name for v in schema.enums["activation"].values]
    choose = lambda result: "\n".join(  # noqa: E731
        f"    case Activation::{text.constant(n)}:\n      return {result(n)};" for n in names
    )
    rows, nodes = choose(text.constant), choose(lambda n: f'"Linear{text.camel(n)}Backward0"')
    return _ACTIVATIONS.replace("@ROWS@", rows).replace("@NODES@", nodes)


_ACTIVATIONS = """\
const PointwiseRow& activation_row(Activation activation) {
  switch (activation) {
@ROWS@
    case Activation::kDefault:
      break;
  }
  fail(Code::kInternal, "there is no activation");
}

const char* linear_node_name(Activation activation) {
  switch (activation) {
@NODES@
    case Activation::kDefault:
      break;
  }
  return "LinearBackward0";
}
"""


_POINTWISE_INTRO = """\
// The elementwise ops: one PointwiseRow each, and the functions that call it. The gradient functions here run while a
// graph of the backward is being built; otherwise the same formulas run as one kernel (kernels/functors_*.gen.h).
// clang-format off
#include "core/ops/pointwise.h"

#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
@HEADERS@
#include "core/runtime/pointwise_ops.h"

namespace dt {
namespace {
using T = double;  // what a formula's literals are over Tensors
}
"""

_CLASS = {"float": "kFloat", "num": "kNumber", "int": "kInteger", "bool": "kInteger"}


def _row_name(f: Function) -> str:
    return text.constant(f.name)


def _gradient_function(f: Function) -> str:
    e = f.elementwise
    if not e.grad:
        return ""
    words = e.gradient_names
    names = ["const Tensor& grad = g.grad;"] if "grad" in words else []
    names += [
        f"const Tensor& {a.name} = g.input[{i}];" for i, a in enumerate(e.inputs) if a.name in words
    ]
    names += ["const Tensor& result = g.result;"] if "result" in words else []
    names += [
        f"const double {a.name} = g.attribute[{i}];"
        for i, a in enumerate(e.attributes)
        if a.name in words
    ]
    lines = [f"static void {f.name}_gradient(PointwiseGradient& g) {{"]
    lines += ["  " + n for n in names]
    lines += _gradient_body(e)
    return "\n".join([*lines, "}"])


def _gradient_body(e: Elementwise) -> list[str]:
    lines = []
    for i, a in enumerate(e.inputs):
        if a.name not in e.grad:
            continue
        formula = e.grad[a.name]
        let = e.parts_of(formula)
        tensors = Tensors()
        result = tensors.print(formula)
        if not let:
            lines.append(f"  if (g.wants[{i}]) g.out[{i}] = {result};")
            continue
        lines.append(f"  if (g.wants[{i}]) {{")
        lines += [
            f"    const Tensor {name} = {tensors.print(value)};" for name, value in let.items()
        ]
        lines += [f"    g.out[{i}] = {result};", "  }"]
    return lines


def _row(f: Function) -> str:
    e = f.elementwise
    saved = set(e.saved)
    reads = ", ".join(str(_reads(e, a)) for a in e.inputs)
    bits = lambda test: sum(1 << i for i, a in enumerate(e.inputs) if test(a))  # noqa: E731
    passes = ", ".join(str(_passes(e, a)) for a in e.inputs)
    fields = [
        f'"{f.name}"',
        f'"{text.camel(f.name)}Backward0"',
        f"DT_OP_{f.name}",
        f"DT_OP_{f.name}_backward" if e.grad else "-1",
        f"OpClass::{_CLASS[e.compute]}",
        str(len(e.inputs)),
        str(bits(lambda a: a.name in e.bools)),
        "true" if e.bool_out else "false",
        str(bits(lambda a: a.name in e.grad)),
        str(bits(lambda a: a.name in saved)),
        "true" if "result" in saved else "false",
        f"{{{passes}}}",
        f"{{{reads}}}",
        f"{f.name}_gradient" if e.grad else "nullptr",
        "true" if e.flat else "false",
        "true" if e.numbers_fit else "false",
        "true" if e.counts_bools else "false",
        "true" if e.wide_numbers else "false",
        "true" if e.shapeless_numbers else "false",
        "true" if e.keeps_strides else "false",
        f'"{e.refused_by}"' if e.refused_by else "nullptr",
        f'"{e.scalar_kernel}"' if e.scalar_kernel else "nullptr",
        f'"{e.slope_word}"' if e.slope_word else "nullptr",
    ]
    if e.bool_error:
        fields += _bool_error(e)
    return text.call(f"static constexpr PointwiseRow {_row_name(f)}{{", fields, "};")


def _bool_error(e: Elementwise) -> list[str]:
    code, _, sentence = e.bool_error.rpartition("Error: ")
    if code not in ("", "NotImplemented"):
        raise SchemaError(f"bool_error: '{code}Error' is not NotImplementedError")
    quoted = ['"' + s.replace('"', '\\"') + '"' for s in (sentence, e.mixed_bool_error)]
    if code:
        return [quoted[0], "nullptr", "Code::kNotImplemented"]
    return quoted if e.mixed_bool_error else quoted[:1]


def _passes(e: Elementwise, a: Argument) -> int:
    """1 if the gradient is grad itself, 2 + k if it is grad times attribute k, else 0."""
    if a.name not in e.grad:
        return 0
    attributes = [x.name for x in e.attributes]
    match expr.parse(e.grad[a.name]):
        case ast.Name(id="grad"):
            return 1
        case ast.BinOp(
            left=ast.Name(id="grad"),
            op=ast.Mult(),
            right=ast.Call(func=ast.Name(id="conj"), args=[ast.Name(id=factor)]),
        ) if factor in attributes:
            return 2 + attributes.index(factor)
    return 0


def _reads(e: Elementwise, a: Argument) -> int:
    """What the gradient of an input needs: a bit for each input, and kReadsResult."""
    if a.name not in e.grad:
        return 0
    formula = e.grad[a.name]
    words = {n for text in (formula, *e.parts_of(formula).values()) for n in expr.names(text)}
    bits = sum(1 << i for i, x in enumerate(e.inputs) if x.name in words)
    return bits | (8 if "result" in words else 0)


def _definition(schema: Schema, f: Function) -> str:
    e = f.elementwise
    inputs = ", ".join(a.name for a in e.inputs)
    numbers = ", ".join(a.name for a in e.attributes)
    row = text.constant(f.name.removesuffix("_") if f.inplace else f.name)
    arguments = f"{row}, {{{inputs}}}" + (f", {{{numbers}}}" if numbers else "")
    head = f"{coretypes.return_type(schema, f)} {f.name}("
    head = text.call(head, coretypes.parameters(schema, f, defaults=False), ") {")
    if f.inplace:
        return f"{head}\n  pointwise_({arguments});\n  return {e.inputs[0].name};\n}}\n"
    return f"{head}\n  return pointwise({arguments});\n}}\n"
