"""Prints the calls of kernels as types: what core fills in by name, and what a kernel gets by name.

Between the two lies the dt_call of kernels/abi.h, which counts operands and numbers. Their order is known here alone.
"""

from __future__ import annotations

import re

from . import coretypes, text
from .model import BACKENDS, Call, CallNumber, CallOperand, Kernel, Schema

_HEADER = f"// {text.GENERATED}\n"


def generate(schema: Schema) -> dict[str, str]:
    files = {"core/runtime/calls.gen.cpp": _ops(schema)}
    for family in families(schema):
        files[f"kernels/calls/{family}.gen.h"] = _read_header(schema, family)
        files[f"core/runtime/calls/{family}.gen.h"] = _written_header(schema, family)
    for backend in BACKENDS:
        files[f"kernels/{backend}/table.gen.cpp"] = _table(schema, backend)
    files["kernels/cpu/once/read_call.gen.cpp"] = _readers(schema)
    return files


def families(schema: Schema) -> list[str]:
    """The schema files with kernels. Each has headers of its own, so that a new row makes only
    those files compile again that use its kind of ops."""
    return list(dict.fromkeys(k.file for k in schema.kernels.values()))


# ---- where operands and numbers stand


def _places(entries) -> list[tuple[int, int]]:
    """(lists, single ones) before each entry."""
    lists = singles = 0
    places = []
    for entry in entries:
        places.append((lists, singles))
        if entry.listed:
            lists += 1
        else:
            singles += max(1, getattr(entry, "length", 0))
    return [*places, (lists, singles)]


def _place(place: tuple[int, int]) -> str:
    """`2 * k + 1`: the place as an expression over the length of the lists."""
    lists, singles = place
    parts = [f"{lists} * k" if lists > 1 else "k"] if lists else []
    return " + ".join([*parts, *([str(singles)] if singles or not parts else [])])


def _length(call: Call) -> str:
    """The length of a call's lists, from the count on a side whose lists are all there."""
    for count, operands in (("n_out", call.out), ("n_in", call.inputs)):
        lists, singles = _places(operands)[-1]
        if lists and not any(o.listed and o.optional for o in operands):
            less = f"call->{count} - {singles}" if singles else f"call->{count}"
            if lists == 1:
                return less
            return f"({less}) / {lists}" if singles else f"{less} / {lists}"
    raise AssertionError("check.py demands such a side")


# ---- what a kernel gets


def _read_header(schema: Schema, family: str) -> str:
    calls = _calls(schema, family)
    kernels = [k for k in schema.kernels.values() if k.file == family]
    parts = [_HEADER + _READ_INTRO.replace("@FAMILY@", family)]
    # A call without a row stands in a header of its own.
    by_hand = {k.call.name for k in kernels} - set(schema.calls)
    parts[0] += "".join(
        f'#include "kernels/calls/{name}.h"\n' for name in sorted({"call", *by_hand})
    )
    if calls:
        parts += ["namespace dt::calls {\n"]
        parts += [_read_struct(c, _doc(schema, c)) for c in calls]
        parts += ["}  // namespace dt::calls\n"]
    for backend in BACKENDS:
        parts += [f"namespace dt::{backend}::kernels {{\n"]
        parts += [line for k in kernels for line in _declarations(k, backend)]
        parts += [f"\n}}  // namespace dt::{backend}::kernels\n"]
    return "\n".join(parts)


_READ_INTRO = """\
// The kernels of capi/schema/@FAMILY@.toml and what they are called with. An operand that may be absent is a pointer,
// null where it is; of a list, the list is empty.
// clang-format off
#pragma once

"""


def _calls(schema: Schema, family: str) -> list[Call]:
    return [c for c in schema.calls.values() if c.file == family]


def _doc(schema: Schema, call: Call) -> str:
    """The call's own sentence, or its kernel's."""
    return call.doc or schema.kernels[call.name].doc


def _read_struct(call: Call, doc: str) -> str:
    name = text.camel(call.name)
    members, values = [], []
    if call.has_lists:
        members.append("  int64_t k;  // the length of the lists")
        values.append(f"k({_length(call)})")
    for side, operands in (("out", call.out), ("in", call.inputs)):
        places = _places(operands)
        for operand, place in zip(operands, places):
            members.append("  " + _read_operand(operand))
            values.append(_operand_value(operand, side, _place(place)))
    for side, numbers in (("ints", call.ints), ("floats", call.floats)):
        for number, place in zip(numbers, _places(numbers)):
            members.append("  " + _read_number(number))
            values.append(_number_value(number, side, place))
    head = f"  explicit {name}(const dt_call* call)\n      : Call(call)"
    constructor = ",\n        ".join([head, *values]) + " {}"
    return "\n".join(
        [text.comment(doc), f"struct {name} : Call {{", *members, "", constructor, "};\n"]
    )


def _read_operand(operand: CallOperand) -> str:
    if operand.listed:
        return f"Views {operand.name};"
    return (
        f"const dt_view* {operand.name};" if operand.optional else f"const dt_view& {operand.name};"
    )


def _operand_value(operand: CallOperand, side: str, place: str) -> str:
    if operand.listed:
        # The last of its side where it may be absent (check.py): it has what is left.
        length = f"call->n_{side} - ({place})" if operand.optional else "k"
        return f"{operand.name}{{call->{side} + {place}, {length}}}"
    value = f"call->{side}[{place}]"
    return f"{operand.name}(present({value}))" if operand.optional else f"{operand.name}({value})"


_NUMBER_TYPES = {"int": "int64_t", "bool": "bool", "float": "double"}


def _read_number(number: CallNumber) -> str:
    kind = _NUMBER_TYPES.get(number.type, "int32_t")
    if number.listed:
        return f"const {kind}* {number.name};  // k of them"
    enum = kind == "int32_t" and number.type != "dtype"
    comment = f"  // a number of the enum {number.type}" if enum else ""
    array = f"[{number.length}]" if number.length else ""
    return f"{kind} {number.name}{array};{comment}"


def _number_value(number: CallNumber, side: str, place: tuple[int, int]) -> str:
    if number.listed:
        return f"{number.name}(call->{side} + {_place(place)})"
    if number.length:
        entries = [
            f"call->{side}[{_place((place[0], place[1] + i))}]" for i in range(number.length)
        ]
        return f"{number.name}{{{', '.join(entries)}}}"
    value = f"call->{side}[{_place(place)}]"
    if number.type == "bool":
        return f"{number.name}({value} != 0)"
    if number.type not in _NUMBER_TYPES:
        value = f"static_cast<int32_t>({value})"
    return f"{number.name}({value})"


def _declarations(kernel: Kernel, backend: str) -> list[str]:
    arguments = f"(const dt_stream* stream, const calls::{text.camel(kernel.call.name)}& call);"
    lines = []
    if kernel.call.name != kernel.name:
        lines.append(text.comment(kernel.doc))
    lines.append(f"int32_t {kernel.name}{arguments}")
    if backend in kernel.workspace:
        lines.append(f"int64_t {kernel.name}_workspace{arguments}")
    return lines


# ---- a backend's table


def _table(schema: Schema, backend: str) -> str:
    parts = [_HEADER + _TABLE_INTRO, *_table_includes(schema)]
    add = "add"
    if backend != "cpu":
        parts += ['#include "kernels/calls/read_call.h"', '#include "kernels/cuda/captured_call.h"']
        add = "add_captured"
    parts += ["", f"namespace dt::{backend} {{\n"]
    parts += ["void add_kernels(dt_registry* registry) {", "  using namespace calls;"]
    for k in schema.kernels.values():
        entries = f"run<{text.camel(k.call.name)}, kernels::{k.name}>"
        if backend in k.workspace:
            entries += f", workspace<{text.camel(k.call.name)}, kernels::{k.name}_workspace>"
        parts.append(f'  {add}<{entries}>(registry, "{k.name}");')
    parts += [
        f'  {add}<run<Pointwise, kernels::{name}>>(registry, "{name}");'
        for name in schema.pointwise_kernels
    ]
    parts += ["}\n", f"}}  // namespace dt::{backend}\n"]
    return "\n".join(parts)


_TABLE_INTRO = """\
// Hands in the kernels: one that a row promises and nobody wrote is missing when this is linked.
// clang-format off"""


def _table_includes(schema: Schema) -> list[str]:
    headers = sorted([*families(schema), "pointwise"])
    paths = [*(f"{name}.gen.h" for name in headers), "table.h"]
    return [f'#include "kernels/calls/{path}"' for path in paths]


def _readers(schema: Schema) -> str:
    """What reads the spans of a call is the same for all instruction sets of the CPU."""
    parts = [_HEADER + _READERS_INTRO, *_table_includes(schema)]
    parts += ['#include "kernels/calls/read_call.h"\n', "namespace dt::calls {\n"]
    names = dict.fromkeys(text.camel(k.call.name) for k in schema.kernels.values())
    parts += [f"template {name} read_call(const dt_call*);" for name in [*names, "Pointwise"]]
    parts += ["\n}  // namespace dt::calls\n"]
    return "\n".join(parts)


_READERS_INTRO = """\
// How the calls of all kernels are read, for the CPU's tables.
// clang-format off"""


# ---- what core fills in


def _written_header(schema: Schema, family: str) -> str:
    calls = _calls(schema, family)
    kernels = [k for k in schema.kernels.values() if k.file == family]
    parts = [_HEADER + _WRITTEN_INTRO.replace("@FAMILY@", family)]
    parts += [_written_struct(schema, c, _doc(schema, c)) for c in calls]
    parts += ["namespace op {\n"]
    parts += [f"extern const Op<{text.camel(k.call.name)}Call> {k.name};" for k in kernels]
    parts += ["\n}  // namespace op\n\n}  // namespace dt\n"]
    return "\n".join(parts)


_WRITTEN_INTRO = """\
// The calls of the kernels of capi/schema/@FAMILY@.toml, to be filled in by name. What is not given is absent.
// clang-format off
#pragma once

#include "core/base/enums.h"
#include "core/runtime/call.h"

namespace dt {
"""


def _written_struct(schema: Schema, call: Call, doc: str) -> str:
    name = text.camel(call.name) + "Call"
    out, inputs = _places(call.out)[-1], _places(call.inputs)[-1]
    base = f"{'Listed' if call.has_lists else ''}Operands"
    if not call.has_lists:
        base += f"<{out[1]}, {inputs[1]}>"
    lines = [text.comment(doc), f"struct {name} : {base} {{"]
    for side, operands in (("outputs", call.out), ("inputs", call.inputs)):
        for operand, place in zip(operands, _places(operands)):
            kind = "Span<View> " if operand.listed else "View& "
            value = "" if call.has_lists else f" = {side}[{_place(place)}]"
            optional = "  // may be absent" if operand.optional else ""
            lines.append(f"  {kind}{operand.name}{value};{optional}")
    lines += [f"  {_written_number(schema, number)}" for number in call.numbers]
    if call.has_lists:
        lines += ["", *_list_constructor(call, name, out, inputs)]
    lines.append("")
    for method, side, operands in (("outs", "outputs", call.out), ("ins", "inputs", call.inputs)):
        lines += [
            f"  Span<const View> {method}() const {{ return given({side}, {o.name}); }}"
            for o in operands
            if o.listed and o.optional
        ]
    lines += [_collected("int64_t", "ints", call.ints), _collected("double", "floats", call.floats)]
    return "\n".join([*lines, "};\n"])


def _written_number(schema: Schema, number: CallNumber) -> str:
    if number.listed:
        kind = _NUMBER_TYPES[number.type]
        return f"std::vector<{kind}> {number.name};  // k of them"
    if number.length:
        return f"std::array<{_NUMBER_TYPES[number.type]}, {number.length}> {number.name} = {{}};"
    if number.type not in _NUMBER_TYPES:
        kind = coretypes.enum_type(schema.enums[number.type])
        return f"{kind} {number.name} = {kind}::kDefault;"
    zero = {"bool": "false"}.get(number.type, "0")
    return f"{_NUMBER_TYPES[number.type]} {number.name} = {zero};"


def _list_constructor(call: Call, name: str, out, inputs) -> list[str]:
    values = [f"ListedOperands({_place(out)}, {_place(inputs)})"]
    for side, operands in (("outputs", call.out), ("inputs", call.inputs)):
        for operand, place in zip(operands, _places(operands)):
            if operand.listed:
                values.append(f"{operand.name}({side}.data() + {_place(place)}, k)")
            else:
                values.append(f"{operand.name}({side}[{_index(place)}])")
    values += [f"{n.name}(static_cast<size_t>(k))" for n in call.numbers if n.listed]
    head = f"  explicit {name}(int64_t k)\n      : "
    return [head + ",\n        ".join(values) + " {}"]


def _index(place: tuple[int, int]) -> str:
    expression = _place(place)
    return f"static_cast<size_t>({expression})" if "k" in expression else expression


def _collected(kind: str, name: str, numbers: tuple[CallNumber, ...]) -> str:
    """The numbers of a call in the order of the ABI."""
    single = [v for n in numbers if not n.listed for v in _written_values(n)]
    listed = [n.name for n in numbers if n.listed]
    if not listed:
        head = f"  std::array<{kind}, {len(single)}> {name}() const {{ return {{{{"
        return text.call(head, single, "}}; }") if single else head.removesuffix("{{") + "{}; }"
    lines = [
        f"  std::vector<{kind}> {name}() const {{",
        f"    std::vector<{kind}> all = {{{', '.join(single)}}};",
    ]
    lines += [f"    all.insert(all.end(), {n}.begin(), {n}.end());" for n in listed]
    return "\n".join([*lines, "    return all;", "  }"])


def _written_values(number: CallNumber) -> list[str]:
    if number.length:
        return [f"{number.name}[{i}]" for i in range(number.length)]
    if number.type in ("int", "float", "bool"):
        return [number.name]
    return [f"static_cast<int64_t>({number.name})"]


# ---- the ops


def _ops(schema: Schema) -> str:
    parts = [_HEADER + _OPS_INTRO]
    parts += [f'#include "core/runtime/calls/{name}.gen.h"' for name in sorted(families(schema))]
    parts += ['#include "core/runtime/pointwise_ops.h"\n', "namespace dt {", "namespace op {\n"]
    parts += [
        f"const Op<{text.camel(k.call.name)}Call> {k.name}{{kPointwiseOps + {i}}};"
        for i, k in enumerate(schema.kernels.values())
    ]
    parts += ["\n}  // namespace op\n", _INDEX_ERROR]
    for k in schema.kernels.values():
        if k.index_error:
            parts.append(f"  if (op == op::{k.name}.number)\n    return {_sentence(k)};")
    parts += ['  return "";', "}\n", "Code index_code(int op) {"]
    for k in schema.kernels.values():
        if k.index_raises != "index_error":
            code = text.camel(k.index_raises)
            parts.append(f"  if (op == op::{k.name}.number) return Code::k{code};")
    parts += ["  return Code::kIndexError;", "}\n", _NARROW]
    for k in schema.kernels.values():
        if k.narrow:
            devices = [f"device.type == DeviceType::k{b.capitalize()}" for b in k.narrow]
            condition = "true" if len(devices) == len(BACKENDS) else " || ".join(devices)
            parts.append(f"  if (op == op::{k.name}.number) return {condition};")
    parts += ["  return false;", "}\n", "bool updates_outputs(int op) {"]
    parts += [
        f"  if (op == op::{k.name}.number) return true;"
        for k in schema.kernels.values()
        if k.updates
    ]
    parts += ["  return false;", "}\n", "}  // namespace dt\n"]
    return "\n".join(parts)


_OPS_INTRO = """\
// The numbers of the ops that are not elementwise, and what their rows say of them.
// clang-format off
#include "core/base/error.h"
#include "core/runtime/backend.h\""""

_INDEX_ERROR = """\
std::string index_error(int op, const dt_call& call, const dt_fault& fault) {"""

_NARROW = """\
bool takes_narrow_floats(int op, [[maybe_unused]] Device device) {
  if (op < kPointwiseOps) return true;"""


def _sentence(kernel: Kernel) -> str:
    """`text("index ", fault.index, " is ...")`: names in braces are the fault's or the call's."""
    pieces = []
    for i, piece in enumerate(re.split(r"\{(\w+)\}", kernel.index_error)):
        if i % 2 == 0:
            pieces += [f'"{piece}"'] if piece else []
        elif piece in ("index", "size"):
            pieces.append(f"fault.{piece}")
        else:
            names = [n.name for n in kernel.call.ints]
            place = _places(kernel.call.ints)[names.index(piece)]
            pieces.append(f"call.ints[{_place(place)}]")
    return f"text({', '.join(pieces)})"
