"""Prints wrappers/go/functions.gen.go: enums, handles, callbacks and functions with Go's types. They
hand their arguments to `run`, which calls through the table (table.py, wrappers/go/runtime.go).

What has no default is an argument; the rest are the fields of one struct, which may be left out.
A field's zero value means its default: a number whose default is not 0 is therefore a pointer."""

from __future__ import annotations

from . import text
from .model import Enum, Kind, SchemaError
from .plan import Call, Class, Hook, Plan, Result, Slot
from .text import GENERATED

_KEYWORDS = set(
    "break case chan const continue default defer else fallthrough for func go goto if import "
    "interface map package range return select struct switch type var x r err o run hold as".split()
)
_NUMBERS = {"i64": "int", "f64": "float64", "bool": "bool"}
TAB = "\t"
_LISTS = {**_NUMBERS, "tensor": "*Tensor", "str": "string"}
_PLAIN = {
    **_NUMBERS, "tensor": "*Tensor", "operand": "any", "scalar": "any", "str": "string",
    "path": "string", "bytes": "[]byte", "device": "Device", "pointer": "uintptr",
}  # fmt: skip


def generate(plan: Plan) -> dict[str, str]:
    parts = [f"// {GENERATED}\n\npackage dumbtorch\n", *map(_enum, plan.enums)]
    parts += [_class(c, i) for i, c in enumerate(plan.classes)]
    parts += map(_hook, plan.hooks)
    parts += [_function(c, i) for i, c in enumerate(plan.calls)]
    return {"wrappers/go/functions.gen.go": "\n".join(parts)}


def exported(name: str) -> str:
    """Sum, MaxDim, Relu_: the mark of what writes its input stays."""
    return text.camel(name.rstrip("_")) + ("_" if name.endswith("_") else "")


def is_method(c: Call) -> bool:
    """A number has no methods, so what takes one in the first place is a function."""
    return bool(c.function.method) and c.slots[0].kind.base != "operand"


def go_name(c: Call) -> str:
    """C's name, without the prefix that says whose method it is: overloads keep apart."""
    prefix = f"{c.function.method}_" if is_method(c) else ""
    return exported(c.function.name.removeprefix(prefix))


def local(name: str) -> str:
    name = name[:1] + text.camel(name)[1:]
    return name + "_" if name in _KEYWORDS else name


def enum_value(e: str, value: str) -> str:
    return ("" if e == "dtype" else text.camel(e)) + text.camel(value.replace("-", "_"))


def go_type(kind: Kind) -> str:
    if kind.list:
        return "[]" + _LISTS[kind.base]
    if kind.base in ("enum", "callback"):
        return text.camel(kind.name)
    if kind.base == "handle":
        return "*" + text.camel(kind.name)
    if kind.base not in _PLAIN:
        raise SchemaError(f"go: a value of kind {kind.key}")
    return _PLAIN[kind.base]


def is_pointer(s: Slot) -> bool:
    """Whether the zero value of the field's type would not mean its default."""
    number = s.kind.base in _NUMBERS and not s.kind.list
    return number and (s.kind.optional or bool(s.argument.default))


# ---- enums, handles, callbacks


def _enum(e: Enum) -> str:
    name = text.camel(e.name)
    values = [(v.name, v.number, v.doc) for v in e.values]
    lines = [f"{text.comment(f'{name}: {e.doc}')}\ntype {name} int32\n"]
    lines += [
        f"{text.comment(doc or value)}\nconst {enum_value(e.name, value)} {name} = {number}\n"
        for value, number, doc in values
    ]
    return "\n".join([*lines, f"func (v {name}) number() uint64 {{ return uint64(v) }}\n"])


def _class(c: Class, index: int) -> str:
    name = text.camel(c.name)
    return f"""\
{text.comment(f"{name}: {c.handle.doc}")}
type {name} struct{{ address uint64 }}

func (x *{name}) held() uint64 {{
	if x == nil {{
		return 0
	}}
	return x.address
}}

func (x *{name}) own(address uint64) {{ x.address = address }}

// Release gives the object up now; else the garbage collector does so at some time.
func (x *{name}) Release() {{ release({index}, &x.address) }}
"""


def _hook(h: Hook) -> str:
    name = text.camel(h.name)
    takes = ", ".join(f"{local(s.name)} {go_type(s.kind)}" for s in h.inputs)
    gives = [go_type(r.kind) for r in h.results]
    passed = ", ".join(_as(s.kind, f"a, {i}") for i, s in enumerate(h.inputs))
    returned = f"return f({passed})" if gives else f"return nil, f({passed})"
    return f"""\
{text.comment(f"{name}: {h.callback.doc}")}
type {name} func({takes}) {_results([*gives, "error"])}

func (f {name}) given() bool {{ return f != nil }}

func (f {name}) call(a []any) (any, error) {{
	{returned}
}}
"""


def _results(types: list[str]) -> str:
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


# ---- functions


def _function(c: Call, index: int) -> str:
    name, slots = go_name(c), list(c.required)
    receiver = ""
    if is_method(c):
        receiver = f"(x {go_type(slots.pop(0).kind)}) "
    takes = [f"{local(s.name)} {go_type(s.kind)}" for s in slots]
    parts, options = [], f"{exported(c.function.name)}Options"
    if c.optional:
        parts.append(_options(c, options))
        takes.append(f"options ...{options}")
    gives = (
        [go_type(c.required[0].kind)] if c.returns_this else [go_type(r.kind) for r in c.results]
    )
    lines = ["\to := last(options)"] if c.optional else []
    given = {s.name: local(s.name) if s.required else f"o.{exported(s.name)}" for s in c.slots}
    if is_method(c):
        given[c.slots[0].name] = "x"
    passed = list(given.values())
    back = passed[:1] if c.returns_this else [_take(r, i) for i, r in enumerate(c.results)]
    head = f"{'r' if c.results else '_'}, err := run({index}"
    lines += [f"\t{', '.join([head, *passed])})", f"\treturn {', '.join([*back, 'err'])}"]
    parts.append(
        f"{text.comment(f'{name}: {c.about}')}\n"
        f"func {receiver}{name}({', '.join(takes)}) {_results([*gives, 'error'])} {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    return "\n".join(parts)


def _options(c: Call, name: str) -> str:
    fields = []
    for s in c.optional:
        pointer = "*" if is_pointer(s) else ""
        fields.append(
            f"{text.comment(s.argument.doc, TAB)}\n\t{exported(s.name)} {pointer}{go_type(s.kind)}\n"
        )
    return (
        f"// {name} are the optional arguments.\ntype {name} struct {{\n"
        + "\n".join(fields)
        + "}\n"
    )


def _take(r: Result, i: int) -> str:
    if r.form == "object":
        return f"hold[{go_type(r.kind)[1:]}](r, {i})"
    return _as(r.kind, f"r, {i}")


def _as(kind: Kind, place: str) -> str:
    is_enum = kind.base == "enum"
    return f"{go_type(kind)}(as[int]({place}))" if is_enum else f"as[{go_type(kind)}]({place})"
