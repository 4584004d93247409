"""Prints capi/shim/*.gen.*: the C functions, which turn C arguments into C++ ones and back.

Every function has one shape: outputs are cleared, callbacks are taken over, arguments are checked in
their order, outputs are checked, the core is called, its results become handles. What a function
needs for that (Pin, list, put, ...) is hand-written in capi/shim/*.h."""

from __future__ import annotations

import re

from . import autocast, cabi, coretypes, text
from .core_ops import declared_in, is_declared_here
from .model import Argument, Callback, Enum, Function, Options, Schema

_HEADER = f"// {text.GENERATED}\n// clang-format off\n"


def generate(schema: Schema) -> dict[str, str]:
    files = {
        "capi/shim/kinds.gen.h": kinds(schema),
        "capi/shim/options.gen.cpp": options(schema),
        "capi/shim/release.gen.cpp": release(schema),
        "capi/shim/types.gen.h": types(schema),
    }
    stems = dict.fromkeys(f.file for f in schema.public)
    for stem in stems:
        functions = [f for f in schema.public if f.file == stem]
        files[f"capi/shim/{stem}.gen.cpp"] = shim(schema, functions)
    return files


# ---- handle kinds


def kinds(schema: Schema) -> str:
    headers = sorted({h.header for h in schema.handles.values()})
    parts = [_HEADER + "// The kinds of handles and the C++ classes behind them.\n#pragma once\n"]
    parts += ["#include <string>\n#include <vector>\n", '#include "dumbtorch.h"']
    parts += [f'#include "{h}"' for h in headers]
    parts.append("\nnamespace dt::capi {\n\ntemplate <class C>\nstruct HandleKind;\n")
    for number, h in enumerate(schema.handles.values(), 1):
        parts.append(
            f"template <>\nstruct HandleKind<dt_{h.name}> {{\n"
            f"  using Object = {h.core};\n"
            f"  static constexpr uint32_t number = {number};\n"
            f'  static constexpr const char* name = "{h.name}";\n}};\n'
        )
    names = ", ".join(f'"{h}"' for h in ("", *schema.handles))
    parts.append(f"inline constexpr const char* kKindNames[] = {{{names}}};")
    parts.append(f"inline constexpr uint32_t kKindCount = {len(schema.handles)};\n")
    macro = " ".join(f"X(dt_{h})" for h in schema.handles)
    parts.append(f"#define DT_HANDLE_KINDS(X) {macro}\n")
    return "\n".join([*parts, "}  // namespace dt::capi\n"])


def release(schema: Schema) -> str:
    parts = [_HEADER + '#include "capi/shim/handles.h"\n\nusing namespace dt::capi;\n']
    for h in schema.handles:
        parts.append(
            f"void dt_{h}_release(dt_{h}* handle) noexcept {{\n"
            f'  release_handle("{h}_release", handle);\n}}\n'
        )
    return "\n".join(parts)


# ---- enums, options and callbacks


def options(schema: Schema) -> str:
    parts = [_HEADER + '#include "capi/shim/arguments.h"\n#include "capi/shim/guard.h"\n']
    parts.append("using namespace dt::capi;\n")
    for o in schema.options.values():
        c = f"dt_{o.name}_options"
        parts.append(
            f"dt_status {c}_init({c}* options, int64_t struct_size) noexcept {{\n"
            f"  static const {c} initial = {c.upper()}_INIT;\n"
            f'  return guard("{o.name}_options_init", '
            "[&] { start_struct(options, struct_size, &initial, sizeof initial); });\n}\n"
        )
    return "\n".join(parts)


def types(schema: Schema) -> str:
    parts = [_HEADER + _TYPES_INTRO]
    parts += [_enum_limit(e) for e in schema.enums.values()]
    parts.append("")
    parts += [_options_reader(schema, o) for o in schema.options.values()]
    parts += [_callback_class(schema, c) for c in schema.callbacks.values()]
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


def _options_reader(schema: Schema, o: Options) -> str:
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
    lines += [f"  {_options_field(schema, o, a)}" for a in o.fields]
    return "\n".join([*lines, "  return o;", "}\n"])


def _options_field(schema: Schema, o: Options, a: Argument) -> str:
    c, key = f"c.{a.name}", a.kind.key
    name = f'"{a.name}"'
    if cabi.needs_pointer(a, o):
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


def _callback_class(schema: Schema, c: Callback) -> str:
    """`wrap_NAME`: a C triple as the std::function that core calls."""
    parameters = [f"{coretypes.parameter_type(schema, a.kind)} {a.name}" for a in c.args]
    prepare, passed = [], []
    for a in c.args:
        match a.kind.key:
            case "tensor" | "tensor?" | "handle" | "handle?":
                prepare.append(f"Lent<{cabi.type_name(a.kind)}> {a.name}_({a.name});")
                passed.append(f"{a.name}_.get()")
            case "tensor[]" | "tensor?[]":
                prepare.append(f"LentList {a.name}_({a.name});")
                passed += [f"{a.name}_.data()", f"{a.name}.size()"]
            case "i64" | "f64":
                passed.append(a.name)
            case "bool":
                passed.append(f"int32_t({a.name})")
            case "str":
                passed.append(f"{a.name}.c_str()")
            case "enum":
                passed.append(f"static_cast<int32_t>({a.name})")
            case _:
                raise KeyError(f"callback {c.name}: argument kind {a.kind.key}")
    results = [_callback_result(schema, r) for r in c.results]
    prepare += [declare for declare, _, _ in results]
    passed += [out for _, out, _ in results]
    values = [value for _, _, value in results]
    returned = "" if not values else values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
    result_types = [coretypes.result_type(schema, r.kind) for r in c.results]
    result = "void" if not result_types else result_types[0]
    if len(result_types) > 1:
        result = f"std::tuple<{', '.join(result_types)}>"
    lines = [
        f"inline {text.camel(c.name)} wrap(dt_{c.name} fn, UserData data, const char* name) {{",
        '  DT_CHECK(fn, kTypeError, name, " is NULL");',
        f"  return [fn, data]({', '.join(parameters)}) -> {result} {{",
        *(f"    {line}" for line in prepare),
        f"    check_callback([&] {{ return fn({', '.join(['data.get()', *passed])}); }});",
    ]
    lines += [f"    return {returned};"] if returned else []
    return "\n".join([*lines, "  };", "}\n"])


def _callback_result(schema: Schema, r: Argument) -> tuple[str, str, str]:
    """(declaration, what the callback gets, the C++ value) of one result."""
    match r.kind.key:
        case "tensor":
            return f'Given<dt_tensor> {r.name}("{r.name}");', f"{r.name}.slot()", f"{r.name}.take()"
        case "tensor?":
            return (
                f'Given<dt_tensor> {r.name}("{r.name}");',
                f"{r.name}.slot()",
                f"{r.name}.take_optional()",
            )
        case "tensor[]":
            return (
                f'Given<dt_tensor_list> {r.name}("{r.name}");',
                f"{r.name}.slot()",
                f"{r.name}.take()",
            )
        case "i64" | "f64" | "bool":
            kind = {"i64": "int64_t", "f64": "double", "bool": "int32_t"}[r.kind.base]
            return f"{kind} {r.name} = 0;", f"&{r.name}", r.name
    raise KeyError(f"callback result of kind {r.kind.key}")


# ---- functions


def shim(schema: Schema, functions: list[Function]) -> str:
    headers = {f.header for f in functions if f.header}
    headers |= {declared_in(f.file) for f in functions if is_declared_here(f)}
    headers |= {"core/ops/autocast.gen.h" for f in functions if _is_cast(schema, f)}
    parts = [_HEADER]
    parts += ['#include "capi/shim/adapters.h"\n#include "capi/shim/guard.h"']
    parts += ['#include "capi/shim/types.gen.h"']
    parts += [f'#include "{h}"' for h in sorted(headers)]
    parts.append("\nusing namespace dt;\nusing namespace dt::capi;\n")
    parts += [_function(schema, f) for f in functions]
    return "\n".join(parts)


def _is_cast(schema: Schema, f: Function) -> bool:
    return bool(f.autocast) or autocast.expression(schema, f.core) != f.core


def _function(schema: Schema, f: Function) -> str:
    head = text.call(f"dt_status {f.c_name}(", [str(p) for p in cabi.parameters(f)], ") noexcept {")
    outs = [name for r in f.results for name in _out_names(r)]
    body = [f"  clear_all({', '.join(outs)});"] if outs else []
    body.append(f'  return guard("{f.name}", [&] {{')
    # Callbacks first: their user data is ours from here on, whatever fails.
    for a in f.args:
        if a.kind.base == "callback":
            body.append(f"    const UserData {a.name}_owner({a.name}_data, {a.name}_drop);")
    body += [f"    {_argument(schema, a)}" for a in f.args]
    body += [f'    need({name}, "{name}");' for name in outs]
    body += [f"    {line}" for line in _call(schema, f)]
    return "\n".join([head, *body, "  });", "}\n"])


def _out_names(r: Argument) -> list[str]:
    """The out-parameters that must not be NULL."""
    if r.kind.key in ("i64[]", "f64[]"):
        return [f"{r.name}_n"]
    return [name for _, name in cabi.result(r)]


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


def _call(schema: Schema, f: Function) -> list[str]:
    if f.core:
        call = re.sub(r"\{(\w+)\}", r"\1_", autocast.expression(schema, f.core))
    else:
        call = f"{autocast.call(f)}({', '.join(a.name + '_' for a in f.args)})"
    if not f.results:
        return [f"{call};"]
    if len(f.results) == 1:
        return [f"{_put(f.results[0], call)};"]
    lines = [f"auto results = {call};"]
    handles = [i for i, r in enumerate(f.results) if cabi.result(r)[0][0].endswith("**")]
    # All handles exist before one is given out: a failure leaves none behind.
    for i in handles:
        kind = cabi.result(f.results[i])[0][0].removesuffix(" **")
        value = f"std::get<{i}>(std::move(results))"
        value = f"optional_handle({value})" if f.results[i].kind.optional else value
        lines.append(f"Owned<{kind}> owned{i}({value});")
    for i, r in enumerate(f.results):
        if i in handles:
            lines.append(f"*{r.name} = owned{i}.detach();")
        else:
            lines.append(f"{_put(r, f'std::get<{i}>(results)')};")
    return lines


def _put(r: Argument, value: str) -> str:
    outs = [name for _, name in cabi.result(r)]
    function = "put_optional" if r.kind.optional else "put"
    return f"{function}({', '.join([*outs, value])})"
