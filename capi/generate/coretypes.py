"""How the kinds of the schema look in the C++ core."""

from __future__ import annotations

import math

from .model import Argument, Callback, Enum, Function, Kind, Schema
from .text import camel, constant

# Parameter types by kind; {name} is the enum's, handle's, ... C++ name.
_PARAMETER = {
    "tensor": "const Tensor&",
    "tensor?": "const Tensor&",  # undefined = absent
    "tensor[]": "TensorList",
    "tensor[]?": "std::optional<TensorList>",
    "tensor?[]": "TensorList",
    "operand": "const Operand&",
    "operand?": "const std::optional<Operand>&",
    "scalar": "const Scalar&",
    "scalar?": "const std::optional<Scalar>&",
    "i64": "int64_t",
    "i64?": "std::optional<int64_t>",
    "i64[]": "IntList",
    "i64[]?": "std::optional<IntList>",
    "f64": "double",
    "f64?": "std::optional<double>",
    "f64[]": "Span<const double>",
    "f64[]?": "std::optional<Span<const double>>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "bool[]": "const std::vector<bool>&",
    "str": "const std::string&",
    "str?": "const std::optional<std::string>&",
    "str[]": "const std::vector<std::string>&",
    "str[]?": "const std::optional<std::vector<std::string>>&",
    "path": "const std::string&",
    "bytes": "Bytes",
    "enum": "{name}",
    "enum?": "{name}",  # kDefault = absent
    "device": "Device",
    "device?": "Device",  # DeviceType::kDefault = absent
    "handle": "const {name}&",
    "handle?": "const {name}&",
    "options": "const {name}&",
    "callback": "const {name}&",
    "callback?": "const {name}&",  # empty = absent
}

_RESULT = {
    "tensor": "Tensor",
    "tensor?": "Tensor",
    "tensor[]": "std::vector<Tensor>",
    "handle": "{name}",
    "i64": "int64_t",
    "f64": "double",
    "bool": "bool",
    "enum": "{name}",
    "device": "Device",
    "scalar": "Scalar",
    "i64[]": "std::vector<int64_t>",
    "f64[]": "std::vector<double>",
    "str": "std::string",
    "str[]": "std::vector<std::string>",
    "pointer": "void*",
}

# Fields own what they hold.
_FIELD = {
    "tensor?": "Tensor",
    "i64[]": "std::vector<int64_t>",
    "i64[]?": "std::optional<std::vector<int64_t>>",
    "f64[]?": "std::optional<std::vector<double>>",
    "str": "std::string",
    "handle?": "{name}",
    "scalar?": "std::optional<Scalar>",
}


def enum_type(enum: Enum) -> str:
    return enum.core or camel(enum.name)


def enum_value(enum: Enum, value: str) -> str:
    """DType spells its values as the kernels do; all other enums are kCamel."""
    return f"{enum_type(enum)}::{value.upper() if enum.core == 'DType' else constant(value)}"


def type_name(schema: Schema, kind: Kind) -> str:
    """The C++ name of the enum, handle, options struct or callback that a kind refers to."""
    if kind.base == "enum":
        return enum_type(schema.enums[kind.name])
    if kind.base == "handle":
        return schema.handles[kind.name].core
    if kind.base == "options":
        return camel(kind.name) + "Options"
    return camel(kind.name)


def parameter_type(schema: Schema, kind: Kind) -> str:
    return _PARAMETER[kind.key].format(name=type_name(schema, kind))


def result_type(schema: Schema, kind: Kind) -> str:
    return _RESULT[kind.key].format(name=type_name(schema, kind))


def field_type(schema: Schema, kind: Kind) -> str:
    if kind.key in _FIELD:
        return _FIELD[kind.key].format(name=type_name(schema, kind))
    return parameter_type(schema, kind)


def return_type(schema: Schema, f: Function) -> str:
    return "const Tensor&" if f.inplace else results(schema, f)


def results(schema: Schema, f: Function | Callback) -> str:
    types = [result_type(schema, r.kind) for r in f.results]
    if not types:
        return "void"
    return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>"


def literal(schema: Schema, a: Argument) -> str:
    """The default of an argument as a C++ expression."""
    value = a.default
    if value is None:
        return f"{type_name(schema, a.kind)}::kDefault" if a.kind.base == "enum" else "{}"
    if a.kind.base == "enum":
        return enum_value(schema.enums[a.kind.name], value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "{" + ", ".join(repr(v) for v in value) + "}"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, float) and math.isinf(value):
        return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
    return repr(value)


def parameters(schema: Schema, f: Function, defaults: bool) -> list[str]:
    """The C++ parameter list. In C++ a default is dropped where a later argument has none."""
    droppable = [a.has_default for a in f.args]
    out = []
    for i, a in enumerate(f.args):
        text = f"{parameter_type(schema, a.kind)} {a.name}"
        if defaults and all(droppable[i:]):
            text += " = " + literal(schema, a)
        out.append(text)
    return out
