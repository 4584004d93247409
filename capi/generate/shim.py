"""Prints capi/shim/*.gen.*: the C functions, which turn C arguments into C++ ones and back.

Every function has one shape: outputs are cleared, callbacks are taken over, arguments are checked in
their order, outputs are checked, the core is called, its results become handles. What a function
needs for that (Pin, list, put, ...) is hand-written in capi/shim/*.h."""

from __future__ import annotations

import re

from . import autocast, cabi, coretypes, text
from .core_ops import declared_in, is_declared_here
from .model import Argument, Enum, Function, Schema
from .plan import Call, Class, Hook, Plan, Result, Slot, Struct

_HEADER = f"// {text.GENERATED}\n// clang-format off\n"


def generate(plan: Plan) -> dict[str, str]:
    files = {
        "capi/shim/kinds.gen.h": kinds(plan.classes),
        "capi/shim/options.gen.cpp": options(plan),
        "capi/shim/release.gen.cpp": release(plan.classes),
        "capi/shim/types.gen.h": types(plan),
    }
    for stem in dict.fromkeys(c.function.file for c in plan.calls):
        calls = [c for c in plan.calls if c.function.file == stem]
        files[f"capi/shim/{stem}.gen.cpp"] = shim(plan.schema, calls)
    return files


# ---- handle kinds


def kinds(classes: tuple[Class, ...]) -> str:
    handles = [c.handle for c in classes]
    headers = sorted({h.header for h in handles})
    parts = [_HEADER + "// The kinds of handles and the C++ classes behind them.\n#pragma once\n"]
    parts += ["#include <string>\n#include <vector>\n", '#include "dumbtorch.h"']
    parts += [f'#include "{h}"' for h in headers]
    parts.append("\nnamespace dt::capi {\n\ntemplate <class C>\nstruct HandleKind;\n")
    for number, h in enumerate(handles, 1):
        parts.append(
            f"template <>\nstruct HandleKind<dt_{h.name}> {{\n"
            f"  using Object = {h.core};\n"
            f"  static constexpr uint32_t number = {number};\n"
            f'  static constexpr const char* name = "{h.name}";\n}};\n'
        )
    names = ", ".join(f'"{h}"' for h in ("", *(h.name for h in handles)))
    parts.append(f"inline constexpr const char* kKindNames[] = {{{names}}};")
    parts.append(f"inline constexpr uint32_t kKindCount = {len(handles)};\n")
    macro = " ".join(f"X(dt_{h.name})" for h in handles)
    parts.append(f"#define DT_HANDLE_KINDS(X) {macro}\n")
    return "\n".join([*parts, "}  // namespace dt::capi\n"])


def release(classes: tuple[Class, ...]) -> str:
    parts = [_HEADER + '#include "capi/shim/handles.h"\n\nusing namespace dt::capi;\n']
    for c in classes:
        parts.append(
            f"void dt_{c.name}_release(dt_{c.name}* handle) noexcept {{\n"
            f'  release_handle("{c.name}_release", handle);\n}}\n'
        )
    return "\n".join(parts)


# ---- enums, options and callbacks


def options(plan: Plan) -> str:
    parts = [_HEADER + '#include "capi/shim/arguments.h"\n#include "capi/shim/guard.h"\n']
    parts.append("using namespace dt::capi;\n")
    for o in (s.options for s in plan.structs):
        c = f"dt_{o.name}_options"
        parts.append(
            f"dt_status {c}_init({c}* options, int64_t struct_size) noexcept {{\n"
            f"  static const {c} initial = {c.upper()}_INIT;\n"
            f'  return guard("{o.name}_options_init", '
            "[&] { start_struct(options, struct_size, &initial, sizeof initial); });\n}\n"
        )
    return "\n".join(parts)


def types(plan: Plan) -> str:
    parts = [_HEADER + _TYPES_INTRO]
    parts += [*map(_enum_limit, plan.enums), ""]
    parts += [_options_reader(plan.schema, s) for s in plan.structs]
    parts += [_callback_class(plan.schema, h) for h in plan.hooks]
    return "\n".join([*parts, "}  // namespace dt::capi\n"])


_TYPES_INTRO = """\
// The schema's enums, options and callbacks as the shims read them.
#pragma once

#include <cstddef>

#include "capi/shim/arguments.h"
#include "capi/shim/callbacks.h"
#include "capi/shim/results.h"
#include "core/ops/options.h"
#include "core/runtime/log.h"

namespace dt::capi {
"""


def _enum_limit(e: Enum) -> str:
    last = max(v.number for v in e.values)
    gaps = sum(1 << n for n in e.reserved if n < last)
    return (
        f"template <> struct EnumLimit<{coretypes.enum_type(e)}> "
        f"{{ static constexpr int32_t last = {last}; static constexpr uint64_t gaps = {gaps}; }};"
    )


def _options_reader(schema: Schema, s: Struct) -> str:
    o = s.options
    c, cpp, members = f"dt_{o.name}_options", f"{text.camel(o.name)}Options", cabi.layout(o)
    lines = [f"static_assert(sizeof({c}) == {cabi.struct_size(o)});"]
    lines += [f"static_assert(offsetof({c}, {m.parameter.name}) == {m.offset});" for m in members]
    lines.append(f"inline {cpp} read(const {c}* given, const char* name) {{")
    lines.append(f"  {c} c = {c.upper()}_INIT;")
    lines.append("  read_struct(&c, sizeof c, given, name);")
    lines += [
        f"  check_reserved(c.{m.parameter.name}, name);"
        for m in members
        if m.parameter.name.startswith("reserved")
    ]
    lines.append(f"  {cpp} o;")
    lines += [f"  {_options_field(schema, slot)}" for slot in s.slots]
    return "\n".join([*lines, "  return o;", "}\n"])


def _options_field(schema: Schema, a: Slot) -> str:
    c, key = f"c.{a.name}", a.kind.key
    name = f'"{a.name}"'
    if a.pointed:
        return f"if ({c}) o.{a.name} = *{c}{' != 0' if a.kind.base == 'bool' else ''};"
    match key:
        case "i64[]" | "i64[]?" | "f64[]?":
            return f"if (is_given({c}, {c}_n)) o.{a.name} = list({c}, {c}_n, {name}).to_vector();"
        case "tensor?" | "handle?":
            return f"if ({c}) o.{a.name} = *Pin<{cabi.type_name(a.kind)}>({c}, {name});"
        case "str":
            return f"if ({c}) o.{a.name} = {c};"
        case "device?":
            return f"o.{a.name} = optional_device({c}_type, {c}_index, {name});"
        case "i64?" | "f64?":
            return f"if ({c}) o.{a.name} = *{c};"
        case "scalar?":
            return f"o.{a.name} = optional_scalar({c}_kind, {c}_i, {c}_f, {name});"
        case "enum" | "enum?":
            cpp = coretypes.type_name(schema, a.kind)
            return f"if ({c}) o.{a.name} = enum_value<{cpp}>({c}, {name});"
        case "bool":
            return f"o.{a.name} = {c} != 0;"
        case "i64" | "f64":
            return f"o.{a.name} = {c};"
    raise KeyError(key)


# What a callback is lent, as a variable N_ before the call and as its arguments.
_HANDLE = ("Lent<{c}> {n}_({n});", "{n}_.get()")
_HANDLES = ("LentList {n}_({n});", "{n}_.data(), {n}.size()")
_LENT = {
    **dict.fromkeys(("tensor", "tensor?", "handle", "handle?"), _HANDLE),
    **dict.fromkeys(("tensor[]", "tensor?[]"), _HANDLES),
    **dict.fromkeys(("i64", "f64"), ("", "{n}")),
    "bool": ("", "int32_t({n})"),
    "str": ("", "{n}.c_str()"),
    "enum": ("", "static_cast<int32_t>({n})"),
}


def _callback_class(schema: Schema, h: Hook) -> str:
    """`wrap`: a C triple as the std::function that core calls."""
    parameters = [f"{coretypes.parameter_type(schema, a.kind)} {a.name}" for a in h.inputs]
    lent = [
        [part.format(n=a.name, c=cabi.type_name(a.kind)) for part in _LENT[a.kind.key]]
        for a in h.inputs
    ]
    prepare, passed = [declare for declare, _ in lent if declare], [value for _, value in lent]
    values = []
    for r in h.results:
        declare, out, value = _callback_result(r)
        prepare.append(declare)
        passed.append(out)
        values.append(value)
    returned = "" if not values else values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
    lines = [
        f"inline {text.camel(h.name)} wrap(dt_{h.name} fn, UserData data, const char* name) {{",
        '  DT_CHECK(fn, kTypeError, name, " is NULL");',
        f"  return [fn, data]({', '.join(parameters)}) -> {coretypes.results(schema, h.callback)} {{",
        *(f"    {line}" for line in prepare),
        f"    check_callback([&] {{ return fn({', '.join(['data.get()', *passed])}); }});",
    ]
    lines += [f"    return {returned};"] if returned else []
    return "\n".join([*lines, "  };", "}\n"])


def _callback_result(r: Result) -> tuple[str, str, str]:
    """(declaration, what the callback gets, the C++ value) of one result."""
    if r.handle:
        take = "take_optional" if r.optional else "take"
        declare = f'Given<dt_{r.handle}> {r.name}("{r.name}");'
        return declare, f"{r.name}.slot()", f"{r.name}.{take}()"
    (parameter,) = r.parameters
    return f"{parameter.type.removesuffix(' *')} {r.name} = 0;", f"&{r.name}", r.name


# ---- functions


def shim(schema: Schema, calls: list[Call]) -> str:
    functions = [c.function for c in calls]
    headers = {f.header for f in functions if f.header}
    headers |= {declared_in(f.file) for f in functions if is_declared_here(f)}
    headers |= {"core/ops/autocast.gen.h" for f in functions if _is_cast(schema, f)}
    parts = [_HEADER]
    parts += ['#include "capi/shim/adapters.h"\n#include "capi/shim/guard.h"']
    parts += ['#include "capi/shim/types.gen.h"']
    parts += [f'#include "{h}"' for h in sorted(headers)]
    parts.append("\nusing namespace dt;\nusing namespace dt::capi;\n")
    parts += [_function(schema, c) for c in calls]
    return "\n".join(parts)


def _is_cast(schema: Schema, f: Function) -> bool:
    return bool(f.autocast) or autocast.expression(schema, f.core) != f.core


def _function(schema: Schema, c: Call) -> str:
    parameters = [str(p) for p in cabi.parameters(c.function)]
    head = text.call(f"dt_status {c.c_name}(", parameters, ") noexcept {")
    outs = [name for r in c.results for name in r.required_outs]
    body = [f"  clear_all({', '.join(outs)});"] if outs else []
    body.append(f'  return guard("{c.function.name}", [&] {{')
    # Callbacks first: their user data is ours from here on, whatever fails.
    for a in c.callbacks:
        body.append(f"    const UserData {a.name}_owner({a.name}_data, {a.name}_drop);")
    body += [f"    {_argument(schema, i.argument)}" for i in c.inputs]
    body += [f'    need({name}, "{name}");' for name in outs]
    body += [f"    {line}" for line in _call(schema, c)]
    return "\n".join([head, *body, "  });", "}\n"])


# The C++ value N_ of an argument N, by kind. `c` is its type in C, `cpp` in core; its sentence has `name` in it.
_ARGUMENTS = {
    **dict.fromkeys(
        ("tensor", "handle"), "const Pin<{c}> {n}_pin({n}, {name}); auto& {n}_ = *{n}_pin;"
    ),
    **dict.fromkeys(
        ("tensor?", "handle?"),
        "const OptionalPin<{c}> {n}_pin({n}, {name}); auto& {n}_ = *{n}_pin;",
    ),
    "tensor[]": "const TensorArray {n}_array({n}, {n}_n, {name}); const TensorList {n}_ = {n}_array;",
    "tensor?[]": "const TensorArray {n}_array({n}, {n}_n, {name}, kMayBeAbsent); "
    "const TensorList {n}_ = {n}_array;",
    "tensor[]?": "const OptionalTensorArray {n}_array({n}, {n}_n, {name}); "
    "const auto {n}_ = {n}_array.list();",
    "operand": "const Operand {n}_ = operand({n}, {n}_kind, {n}_i, {n}_f, {name});",
    "operand?": "const auto {n}_ = optional_operand({n}, {n}_kind, {n}_i, {n}_f, {name});",
    "scalar": "const Scalar {n}_ = scalar({n}_kind, {n}_i, {n}_f, {name});",
    "scalar?": "const auto {n}_ = optional_scalar({n}_kind, {n}_i, {n}_f, {name});",
    **dict.fromkeys(("i64", "f64"), "const auto {n}_ = {n};"),
    **dict.fromkeys(("i64?", "f64?"), "const auto {n}_ = optional_number({n});"),
    **dict.fromkeys(("i64[]", "f64[]"), "const auto {n}_ = list({n}, {n}_n, {name});"),
    **dict.fromkeys(("i64[]?", "f64[]?"), "const auto {n}_ = optional_list({n}, {n}_n, {name});"),
    "bool": "const bool {n}_ = {n} != 0;",
    "bool?": "const auto {n}_ = optional_bool({n});",
    "bool[]": "const auto {n}_ = flags({n}, {n}_n, {name});",
    **dict.fromkeys(("str", "path"), "const std::string {n}_ = string({n}, {name});"),
    "str?": "const auto {n}_ = optional_string({n});",
    "str[]": "const auto {n}_ = strings({n}, {n}_n, {name});",
    "str[]?": "const auto {n}_ = optional_strings({n}, {n}_n, {name});",
    "bytes": "const Bytes {n}_ = bytes({n}, {n}_n, {name});",
    "enum": "const {cpp} {n}_ = enum_value<{cpp}>({n}, {name});",
    "enum?": "const {cpp} {n}_ = optional_enum<{cpp}>({n}, {name});",
    "device": "const Device {n}_ = device({n}_type, {n}_index, {name});",
    "device?": "const Device {n}_ = optional_device({n}_type, {n}_index, {name});",
    "options": "const auto {n}_ = read({n}, {name});",
    "callback": "const auto {n}_ = wrap({n}, {n}_owner, {name});",
    "callback?": "const auto {n}_ = {n} ? wrap({n}, {n}_owner, {name}) : {function}();",
}


def _argument(schema: Schema, a: Argument) -> str:
    kind = a.kind
    return _ARGUMENTS[kind.key].format(
        n=a.name,
        name=f'"{a.name}"',
        c=cabi.type_name(kind),
        cpp=coretypes.type_name(schema, kind) if kind.base in ("enum", "handle") else "",
        function=text.camel(kind.name),
    )


def _call(schema: Schema, c: Call) -> list[str]:
    f = c.function
    if f.core:
        call = re.sub(r"\{(\w+)\}", r"\1_", autocast.expression(schema, f.core))
    else:
        call = f"{autocast.call(f)}({', '.join(i.argument.name + '_' for i in c.inputs)})"
    if not c.results:
        return [f"{call};"]
    if len(c.results) == 1:
        return [f"{_put(c.results[0], call)};"]
    lines = [f"auto results = {call};"]
    # All handles exist before one is given out: a failure leaves none behind.
    for i, r in enumerate(c.results):
        if r.handle:
            value = f"std::get<{i}>(std::move(results))"
            value = f"optional_handle({value})" if r.optional else value
            lines.append(f"Owned<dt_{r.handle}> owned{i}({value});")
    for i, r in enumerate(c.results):
        if r.handle:
            lines.append(f"*{r.name} = owned{i}.detach();")
        else:
            lines.append(f"{_put(r, f'std::get<{i}>(results)')};")
    return lines


def _put(r: Result, value: str) -> str:
    outs = [p.name for p in r.parameters]
    function = "put_optional" if r.optional else "put"
    return f"{function}({', '.join([*outs, value])})"
