"""How the kinds of the schema cross the C API: the one place that knows the shape of the ABI."""

from __future__ import annotations

import math

from . import text
from .model import Argument, Callback, Function, Kind, Options, Schema

Parameter = tuple[str, str]  # (C type, name)

_NUMBERS = {"i64": "int64_t", "f64": "double", "bool": "int32_t"}


def type_name(kind: Kind) -> str:
    """dt_dtype, dt_tensor, dt_linear_options, dt_tensor_hook."""
    if kind.base == "options":
        return f"dt_{kind.name}_options"
    return f"dt_{kind.name or kind.base}"


def _scalar(name: str) -> list[Parameter]:
    return [("dt_scalar_kind", f"{name}_kind"), ("int64_t", f"{name}_i"), ("double", f"{name}_f")]


def _list(element: str, name: str) -> list[Parameter]:
    return [(f"const {element} *", name), ("int64_t", f"{name}_n")]


def argument(a: Argument) -> list[Parameter]:
    """The C parameters of one argument."""
    name, kind = a.name, a.kind
    match kind.base:
        case "tensor" if kind.list:
            return [("dt_tensor *const *", name), ("int64_t", f"{name}_n")]
        case "tensor" | "handle":
            return [(f"{type_name(kind)} *", name)]
        case "operand":
            return [("dt_tensor *", name), *_scalar(name)]
        case "scalar":
            return _scalar(name)
        case "i64" | "f64" | "bool" if kind.list:
            return _list(_NUMBERS[kind.base], name)
        case "i64" | "f64" | "bool" if kind.optional:
            return [(f"const {_NUMBERS[kind.base]} *", name)]
        case "i64" | "f64" | "bool":
            return [(_NUMBERS[kind.base], name)]
        case "str" if kind.list:
            return [("const char *const *", name), ("int64_t", f"{name}_n")]
        case "str" | "path":
            return [("const char *", name)]
        case "bytes":
            return _list("void", name)
        case "enum":
            return [(type_name(kind), name)]
        case "device":
            return [("dt_device_type", f"{name}_type"), ("int64_t", f"{name}_index")]
        case "options":
            return [(f"const {type_name(kind)} *", name)]
        case "callback":
            drop = f"void (*{name}_drop)(void *user_data)"
            return [(type_name(kind), name), ("void *", f"{name}_data"), (drop, "")]
    raise KeyError(kind.key)


def result(r: Argument) -> list[Parameter]:
    """The C out-parameters of one result."""
    name, kind = r.name, r.kind
    match kind.key:
        case "tensor" | "tensor?":
            return [("dt_tensor **", name)]
        case "tensor[]":
            return [("dt_tensor_list **", name)]
        case "handle":
            return [(f"{type_name(kind)} **", name)]
        case "i64" | "f64" | "bool":
            return [(f"{_NUMBERS[kind.base]} *", name)]
        case "enum":
            return [(f"{type_name(kind)} *", name)]
        case "device":
            return [("dt_device_type *", f"{name}_type"), ("int64_t *", f"{name}_index")]
        case "scalar":
            return [(f"{t} *", n) for t, n in _scalar(name)]
        case "i64[]" | "f64[]":
            capacity = ("int64_t", f"{name}_capacity")
            return [(f"{_NUMBERS[kind.base]} *", name), capacity, ("int64_t *", f"{name}_n")]
        case "str":
            return [("dt_bytes **", name)]
        case "str[]":
            return [("dt_string_list **", name)]
        case "pointer":
            return [("void **", name)]
    raise KeyError(kind.key)


def parameters(f: Function | Callback) -> list[Parameter]:
    """All C parameters of a function or a callback (without the callback's user data)."""
    groups = [argument(a) for a in f.args] + [result(r) for r in f.results]
    return [p for group in groups for p in group]


def declare(parameter: Parameter) -> str:
    """`int64_t dim`, `dt_tensor *input`, `void (*f_drop)(void *user_data)`."""
    kind, name = parameter
    if not name:
        return kind
    return kind + name if kind.endswith("*") else f"{kind} {name}"


def declaration(f: Function) -> str:
    """The prototype without attributes: `dt_status dt_neg(dt_tensor *input, dt_tensor **out)`."""
    return f"dt_status {f.c_name}({', '.join(map(declare, parameters(f))) or 'void'})"


def prototype(f: Function, before: str = "", after: str = "") -> str:
    """The declaration for people to read: wrapped between parameters."""
    arguments = [declare(p) for p in parameters(f)] or ["void"]
    return text.call(f"{before}dt_status {f.c_name}(", arguments, f"){after};")


def callback_parameters(c: Callback) -> list[str]:
    return ["void *user_data", *map(declare, parameters(c))]


def callback_typedef(c: Callback) -> str:
    return f"typedef dt_status (*dt_{c.name})({', '.join(callback_parameters(c))});"


def field(a: Argument) -> list[Parameter]:
    """The members of an options struct for one field."""
    return argument(a)


def enum_constant(enum: str, value: str) -> str:
    return f"DT_{enum}_{value}".upper().replace("-", "_")


def literal(a: Argument) -> list[str]:
    """A default as C initialisers, one for each parameter. Lists start absent, which means their
    default."""
    value, kind = a.default, a.kind
    match kind.base:
        case "enum":
            return ["0" if value is None else enum_constant(kind.name, value)]
        case "device":
            return ["0", "0"]
        case "scalar":
            return ["0", "0", "0"] if value is None else scalar_literal(value)
        case _ if kind.list:
            return ["NULL", "-1"]
        case _ if value is None:
            return ["NULL"] * len(argument(a))
        case "bool":
            return ["1" if value else "0"]
        case "str":
            return ['"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"']
        case "i64" | "f64" if not kind.optional:
            return [number(value)]
    raise KeyError(f"{a.name}: a default of kind {kind.key} is not expressible in C")


def scalar_literal(value: bool | int | float) -> list[str]:
    """(kind, i, f) of a plain number."""
    if isinstance(value, bool):
        return ["DT_SCALAR_KIND_BOOL", str(int(value)), "0"]
    if isinstance(value, int):
        return ["DT_SCALAR_KIND_INT", str(value), "0"]
    return ["DT_SCALAR_KIND_FLOAT", "0", number(value)]


def number(value: int | float) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    return repr(value)


def options_init(o: Options) -> str:
    """The macro that every options variable starts from."""
    values = [v for a in o.fields for v in literal(a)]
    first = f"(int64_t)sizeof(dt_{o.name}_options)"
    return f"#define DT_{o.name.upper()}_OPTIONS_INIT {{ {', '.join([first, *values])} }}"


def symbols(schema: Schema, level: int | None = None) -> list[str]:
    """The exported names, or those that an API level added."""
    names = [("dt_" + c.name, c.since) for c in schema.c_functions.values()]
    names += [(f"dt_{h}_release", 1) for h in schema.handles]
    names += [(f.c_name, f.since) for f in schema.public]
    return sorted(name for name, since in names if level in (None, since))
