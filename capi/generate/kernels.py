"""Prints what the kernels are built from: the lists of ops, and kernels/functors_*.gen.h."""

from __future__ import annotations

import re
import zlib

from . import expr
from .formula import Scalars
from .model import BACKENDS, Argument, Call, Function, Schema, SchemaError
from .text import GENERATED, camel

BANNER = f"// {GENERATED}\n"
# Compute classes as the list macro names them. "bool" rows take and give bools: one type is enough.
_CLASS = {"float": "FLOAT", "num": "NUM", "int": "INT", "bool": "INT"}
# The elementwise kernels are many: several files of a backend compile a share each. A row stays in its
# share, so that a change of one compiles a share alone.
_SHARES = 6


def share_of(f: Function) -> str:
    return f"kernels/functors_{(zlib.crc32(f.name.encode()) >> 19) % _SHARES}.gen.h"


def generate(schema: Schema) -> dict[str, str]:
    return {
        "kernels/ops.def": ops(
            "that have kernels, but for the elementwise ones", kernel_rows(schema)
        ),
        "kernels/pointwise.def": ops("that are elementwise", pointwise_rows(schema)),
        **functors(schema),
        "kernels/calls/pointwise.gen.h": pointwise_declarations(schema),
        "kernels/activation.gen.h": activations(schema),
        "kernels/activation.def": activation_numbers(schema),
    }


# (name, what the signature hash covers) of every kernel, in table order.
Rows = list[tuple[str, str]]


def kernel_rows(schema: Schema) -> Rows:
    return [(k.name, _describe(k.call)) for k in schema.kernels.values()]


def pointwise_rows(schema: Schema) -> Rows:
    rows = []
    for f in schema.elementwise:
        e = f.elementwise
        attributes = [a.name for a in e.attributes]
        rows.append((f.name, _describe_lists(["y"], [a.name for a in e.inputs], attributes)))
        if e.grad:
            outs = [a.name for a in e.differentiable]
            rows.append(
                (f.name + "_backward", _describe_lists(outs, ["grad", *e.saved], attributes))
            )
    return rows


def _describe(call: Call) -> str:
    operands = [
        [o.name + ("..." if o.listed else "") + ("?" if o.optional else "") for o in side]
        for side in (call.out, call.inputs)
    ]
    numbers = [
        [f"{n.name}: {n.type}[{n.length}]" + ("..." if n.listed else "") for n in side]
        for side in (call.ints, call.floats)
    ]
    return ";".join(",".join(part) for part in operands + numbers)


def _describe_lists(out, inputs, attributes) -> str:
    return ";".join(",".join(part) for part in (out, inputs, ["compute", *attributes], attributes))


def ops(which: str, rows: Rows) -> str:
    lines = [BANNER + f"// DT_OP(name, hash of operands and attributes): the ops {which}."]
    for name, description in rows:
        lines.append(f"DT_OP({name}, 0x{zlib.crc32(description.encode()):08x})")
    return "\n".join(lines) + "\n"


def functors(schema: Schema) -> dict[str, str]:
    """Of kernels with one formula and one class the first has a struct; the others call its kernel."""
    structs: dict[str, list[str]] = {}
    rows: dict[str, list[str]] = {}
    first_of: dict[tuple[str, str], str] = {}
    for f in schema.elementwise:
        for name, inputs, text, cls in _structs(f):
            first = first_of.setdefault((cls, _without_names(name, inputs, text)), name)
            # A struct of the alias's name, which a list of a backend may declare, does not compile then.
            alias = f"// {name} is {first}.\nstruct {first};\nusing {name} = {first};\n"
            structs.setdefault(share_of(f), []).append(text if first == name else alias)
            row = f"X({name}, {cls})" if first == name else f"SAME({name}, {first})"
            rows.setdefault(share_of(f), []).append(row)
    end = "}  // namespace dt::fn\n"
    return {
        path: "\n".join(
            [BANNER + _FUNCTORS_INTRO, *texts, end, _row_macro(rows[path]), "// clang-format on\n"]
        )
        for path, texts in structs.items()
    }


def _without_names(name: str, inputs: list[str], text: str) -> str:
    """A struct as the compiler sees it."""
    lines = [line for line in text.split("\n") if not line.startswith("//")]
    text = re.sub(rf"^struct {name}\b", "struct", "\n".join(lines))
    for i, n in enumerate(inputs):
        text = re.sub(rf"\b{n}\b", f"_{i}", text)
    return text


_FUNCTORS_INTRO = """\
// A share of the elementwise kernels, one struct each: `y` is the op, `y0`, `y1`, ... of a backward struct are the
// gradients of its inputs. Each backend compiles a share in a file of its own, pointwise_0 and so on.
// clang-format off
#pragma once

#include "kernels/math_elementwise.h"

namespace dt::fn {
"""


def _structs(f: Function):
    """The name, inputs, text and class of each kernel."""
    e = f.elementwise
    inputs = [a.name for a in e.inputs]
    text = _struct(
        f.name, f"{f.name}: {e.y}", inputs, e.bools, e.bool_out, e.attributes,
        {"y": (e.y, e.parts_of(e.y))},
    )  # fmt: skip
    yield f.name, inputs, text, _CLASS[e.compute]
    if e.grad:
        formulas = [e.grad[a.name] for a in e.differentiable]
        outs = {f"y{i}": (text, e.parts_of(text)) for i, text in enumerate(formulas)}
        comment = f"Gradients of {f.name} by {', '.join(a.name for a in e.differentiable)}."
        name, inputs = f.name + "_backward", ["grad", *e.saved]
        text = _struct(name, comment, inputs, e.bools, False, e.attributes, outs)
        yield name, inputs, text, "FLOAT"


def _struct(name, comment, inputs, bools, bool_out, attributes, formulas) -> str:
    mask = sum(1 << i for i, n in enumerate(inputs) if n in bools)
    lines = [
        f"// {comment}",
        f"struct {name} {{",
        f"  static constexpr int n_in = {len(inputs)}, n_out = {len(formulas)};",
        f"  static constexpr unsigned bool_in = {mask};",
        f"  static constexpr bool bool_out = {'true' if bool_out else 'false'};",
    ]
    lines += [
        _member(member, formula, let, inputs, bools, bool_out, attributes)
        for member, (formula, let) in formulas.items()
    ]
    return "\n".join(lines) + "\n};\n"


def _member(member, formula, let, inputs, bools, bool_out, attributes: tuple[Argument, ...]) -> str:
    words = {n for text in (formula, *let.values()) for n in _read(text)}
    # A parameter that a formula does not use stays unnamed, so that no warning needs silencing.
    parameters = [f"const T* {'p' if any(a.name in words for a in attributes) else ''}".rstrip()]
    parameters += [
        f"{'bool' if n in bools else 'T'}{' ' + n if n in words else ''}" for n in inputs
    ]
    body = [f"    const T {a.name} = p[{i}];" for i, a in enumerate(attributes) if a.name in words]
    scalars = Scalars()
    body += [f"    const T {n} = {scalars.print(v)};" for n, v in let.items()]
    body.append(f"    return {scalars.print(formula)};")
    result = "bool" if bool_out else "T"
    head = f"  template <class T> static DT_FN {result} {member}({', '.join(parameters)}) {{"
    return "\n".join([head, *body, "  }"])


def _read(formula: str) -> tuple[str, ...]:
    """What the scalar reading of a formula reads: not what it only takes the shape of."""
    return () if formula == "zeros_like(grad)" else expr.names(formula)


# ---- activations that products apply


def activations(schema: Schema) -> str:
    """The rows that the values of the enum `activation` are named after, in a header of their own: a new elementwise
    row must not make products compile again."""
    values = schema.enums["activation"].values
    parts = [BANNER + _ACTIVATIONS_INTRO, *(_activation(schema.functions[v.name]) for v in values)]
    cases = [
        f"    case DT_ACTIVATE_{v.name.upper()}:\n      return f({camel(v.name)}());"
        for v in values
    ]
    parts.append(_WITH_ACTIVATION.replace("@CASES@", "\n".join(cases)))
    return "\n".join([*parts, "}  // namespace dt\n"])


def activation_numbers(schema: Schema) -> str:
    rows = [
        f"DT_ACTIVATION({v.name.upper()}, {v.number})" for v in schema.enums["activation"].values
    ]
    return "\n".join(
        [
            f"/* {GENERATED}",
            " * What a product may do last, with the numbers of the public enum `dt_activation`. */",
            *rows,
            "",
        ]
    )


_ACTIVATIONS_INTRO = """\
// The functions that a product may apply to its result (DT_ACTIVATE_ in abi.h), for the kernels of every backend: the
// formulas of the schema's rows. Their derivatives follow from the result, so nothing else has to be kept.
#pragma once

#include "kernels/abi.h"
#include "kernels/math.h"

namespace dt {
"""


_WITH_ACTIVATION = """\
// Calls f(Relu()) for DT_ACTIVATE_RELU and so on, and f(Unchanged()) for DT_ACTIVATE_NONE. A loop chooses once, in
// front of it, so that it becomes vector code.
struct Unchanged {
  template <class T>
  static DT_FN T y(T x) {
    return x;
  }
  template <class T>
  static DT_FN T gradient(T grad, T) {
    return grad;
  }
};
template <class F>
DT_FN auto with_activation(int64_t activation, F f) {
  switch (activation) {
@CASES@
    default:
      return f(Unchanged());
  }
}

template <class T>
DT_FN T activate(int64_t activation, T x) {
  return with_activation(activation, [x](auto f) { return f.y(x); });
}

// The gradient of the function's argument, from that of its result and the result itself.
template <class T>
DT_FN T activation_gradient(int64_t activation, T grad, T result) {
  return with_activation(activation, [=](auto f) { return f.gradient(grad, result); });
}
"""


def _activation(f: Function) -> str:
    e, scalars = f.elementwise, Scalars()
    (x,) = e.inputs
    if e.saved != ("result",) or e.attributes or e.let:
        raise SchemaError(f"{f.name}: the derivative of an activation follows from its result")
    return f"""\
struct {camel(f.name)} {{
  template <class T>
  static DT_FN T y(T {x.name}) {{
    return {scalars.print(e.y)};
  }}
  template <class T>
  static DT_FN T gradient(T grad, T result) {{
    return {scalars.print(e.grad[x.name])};
  }}
}};
"""


def _row_macro(rows: list[str]) -> str:
    lines = " \\\n".join(f"  {row}" for row in rows)
    return (
        "// X(name, class): the compute types of a class are FLOAT: float, double; "
        "INT: int32_t, int64_t; NUM: all four.\n"
        "// SAME(name, other): the formula and the class are those of another kernel.\n"
        f"#define DT_POINTWISE_SHARE(X, SAME) \\\n{lines}\n"
    )


def pointwise_declarations(schema: Schema) -> str:
    parts = [BANNER + _DECLARATIONS_INTRO]
    for backend in BACKENDS:
        parts.append(f"namespace dt::{backend}::kernels {{\n")
        parts += [
            f"int32_t {name}(const dt_stream* stream, const calls::Pointwise& call);"
            for name in schema.pointwise_kernels
        ]
        parts.append(f"\n}}  // namespace dt::{backend}::kernels\n")
    return "\n".join(parts)


_DECLARATIONS_INTRO = """\
// The elementwise kernels.
// clang-format off
#pragma once

#include "kernels/calls/pointwise.h"
"""
