"""How the kinds of the schema cross the C API: the one place that knows the shape of the ABI.

One rule holds for everything that may be absent: its C parameters are 0 then, so NULL for a pointer.
An empty list that is given has a pointer."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

from . import text
from .model import Argument, Callback, Function, Kind, Options, Schema


class Parameter(NamedTuple):
    """A parameter of a C function, or a member of a C struct."""

    type: str  # "int64_t", "dt_tensor **"
    name: str

    def __str__(self) -> str:
        """Its declaration: `int64_t dim`, `dt_tensor *input`."""
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


# Kinds that are one C parameter; {} is the C name of the enum, the handle, ...
_PLAIN = {
    "tensor": "dt_tensor *",
    "handle": "{} *",
    "i64": "int64_t",
    "f64": "double",
    "bool": "int32_t",
    "str": "const char *",
    "path": "const char *",
    "enum": "{}",
    "options": "const {} *",
    "pointer": "void *",
}

# Kinds that are several, with what is appended to the argument's name.
_SCALAR = (("dt_scalar_kind", "_kind"), ("int64_t", "_i"), ("double", "_f"))
_PARTS = {
    "operand": (("dt_tensor *", ""), *_SCALAR),
    "scalar": _SCALAR,
    "device": (("dt_device_type", "_type"), ("int64_t", "_index")),
    "bytes": (("const void *", ""), ("int64_t", "_n")),
    "callback": (("{}", ""), ("void *", "_data"), ("dt_drop", "_drop")),
}

# What a result's handle is where the kind itself is none.
_CARRIERS = {"tensor[]": "dt_tensor_list *", "str": "dt_bytes *", "str[]": "dt_string_list *"}


def type_name(kind: Kind) -> str:
    """dt_dtype, dt_tensor, dt_linear_options, dt_tensor_hook."""
    if kind.base == "options":
        return f"dt_{kind.name}_options"
    return f"dt_{kind.name or kind.base}"


def pointer(c: str) -> str:
    """A pointer to a C type."""
    return c + ("*" if c.endswith("*") else " *")


def argument(a: Argument) -> list[Parameter]:
    """The C parameters of one argument."""
    kind, c = a.kind, type_name(a.kind)
    if kind.base in _PARTS:
        return [Parameter(t.format(c), a.name + suffix) for t, suffix in _PARTS[kind.base]]
    plain = _PLAIN[kind.base].format(c)
    if kind.list:
        const = "dt_tensor *const *" if kind.base == "tensor" else pointer(f"const {plain}")
        const = "const char *const *" if kind.base == "str" else const
        return [Parameter(const, a.name), Parameter("int64_t", a.name + "_n")]
    if kind.optional and kind.base in ("i64", "f64", "bool"):
        return [Parameter(f"const {plain} *", a.name)]
    return [Parameter(plain, a.name)]


def result(r: Argument) -> list[Parameter]:
    """The C out-parameters of one result."""
    kind = r.kind
    if kind.key in _CARRIERS:
        return [Parameter(pointer(_CARRIERS[kind.key]), r.name)]
    if kind.key in ("i64[]", "f64[]"):
        parts = ((_PLAIN[kind.base] + " *", ""), ("int64_t", "_capacity"), ("int64_t *", "_n"))
        return [Parameter(t, r.name + suffix) for t, suffix in parts]
    value = Argument(r.name, dataclasses.replace(kind, optional=False))
    return [Parameter(pointer(t), name) for t, name in argument(value)]


def parameters(f: Function | Callback) -> list[Parameter]:
    """All C parameters of a function or a callback (without the callback's user data)."""
    groups = [argument(a) for a in f.args] + [result(r) for r in f.results]
    return [p for group in groups for p in group]


def declaration(f: Function) -> str:
    """The prototype without attributes: `dt_status dt_neg(dt_tensor *input, dt_tensor **out)`."""
    return f"dt_status {f.c_name}({', '.join(map(str, parameters(f))) or 'void'})"


def prototype(f: Function, before: str = "", after: str = "") -> str:
    """The declaration for people to read: wrapped between parameters."""
    arguments = [str(p) for p in parameters(f)] or ["void"]
    return text.call(f"{before}dt_status {f.c_name}(", arguments, f"){after};")


def callback_parameters(c: Callback) -> list[str]:
    return ["void *user_data", *map(str, parameters(c))]


def callback_typedef(c: Callback) -> str:
    return f"typedef dt_status (*dt_{c.name})({', '.join(callback_parameters(c))});"


def enum_constant(enum: str, value: str) -> str:
    return f"DT_{enum}_{value}".upper().replace("-", "_")


# ---- options structs


@dataclass(frozen=True)
class Member:
    """A member of an options struct."""

    parameter: Parameter
    offset: int
    size: int
    initial: str  # in the _INIT macro
    since: int
    field: str = ""  # the field that it is a part of; "" for the size and for reserved space


def field(a: Argument, o: Options) -> list[Parameter]:
    """The members of an options struct for one field. A field that came after the struct is 0 in an
    older program's, which must mean its default: a number with another default is pointed to."""
    return argument(_pointed(a) if needs_pointer(a, o) else a)


def needs_pointer(a: Argument, o: Options) -> bool:
    is_number = a.kind.key in ("i64", "f64", "bool")
    return is_number and a.since > o.since and bool(a.default)


def _pointed(a: Argument) -> Argument:
    return dataclasses.replace(a, kind=dataclasses.replace(a.kind, optional=True), default=None)


def layout(o: Options) -> list[Member]:
    """The struct's members in the order in which API levels added them, with reserved space where a
    compiler would leave a gap: each level ends at a multiple of 8 bytes, so that what it adds lies
    behind everything that an older program's struct has."""
    size = Parameter("int64_t", "struct_size")
    members = [Member(size, 0, 8, f"(int64_t)sizeof(dt_{o.name}_options)", o.since)]
    for level in sorted({o.since, *(a.since for a in o.fields)}):
        for a in (a for a in o.fields if a.since == level):
            for parameter, initial in zip(field(a, o), initials(a, o), strict=True):
                _append(members, parameter, initial, level, a.name)
        _pad(members, level)
    return members


def _end(members: list[Member]) -> int:
    return members[-1].offset + members[-1].size


def _pad(members: list[Member], level: int) -> None:
    """An int32_t that must be 0, if the next member would not lie at a multiple of 8."""
    if _end(members) % 8:
        number = sum(m.parameter.name.startswith("reserved") for m in members) + 1
        reserved = Parameter("int32_t", f"reserved{number}")
        members.append(Member(reserved, _end(members), 4, "0", level))


def _append(members: list[Member], parameter: Parameter, initial: str, level: int, name: str):
    wide = parameter.type.endswith("*") or parameter.type in ("int64_t", "double")
    if wide:
        _pad(members, level)
    members.append(Member(parameter, _end(members), 8 if wide else 4, initial, level, name))


def struct_size(o: Options, level: int | None = None) -> int:
    """In bytes, for a program of an API level or of the newest."""
    return _end([m for m in layout(o) if level is None or m.since <= level])


def options_init(o: Options, level: int) -> str:
    """The macro that every options variable starts from, as a level has it."""
    values = [m.initial for m in layout(o) if m.since <= level]
    return f"#define DT_{o.name.upper()}_OPTIONS_INIT {{ {', '.join(values)} }}"


def initials(a: Argument, o: Options) -> list[str]:
    """A field's default as C initialisers. What 0 stands for, as in lists and in everything that came
    later, starts as 0."""
    return literal(_pointed(a) if needs_pointer(a, o) else a)


# ---- values


def literal(a: Argument) -> list[str]:
    """A default as C initialisers, one for each parameter. Lists start absent, which means their
    default."""
    value, kind = a.default, a.kind
    match kind.base:
        case "scalar" if value is not None:
            return scalar_literal(value)
        case _ if value is None or kind.list:
            return ["NULL" if p.type.endswith("*") else "0" for p in argument(a)]
        case "enum":
            return [enum_constant(kind.name, value)]
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


# ---- symbols


def symbols(schema: Schema, level: int | None = None) -> list[str]:
    """The exported names, or those that an API level added."""
    names = [("dt_" + c.name, c.since) for c in schema.c_functions.values()]
    names += [(f"dt_{h.name}_release", h.since) for h in schema.handles.values()]
    names += [(f"dt_{o.name}_options_init", o.since) for o in schema.options.values()]
    names += [(f.c_name, f.since) for f in schema.public]
    return sorted(name for name, since in names if level in (None, since))
