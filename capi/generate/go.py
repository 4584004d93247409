"""Prints wrappers/go/functions.gen.go: enums, handles, callbacks and functions with Go's types. They
hand their arguments to `run`, which calls through the table (table.py, wrappers/go/runtime.go).

What has no default is an argument; the rest are the fields of one struct, which may be left out.
A field's zero value means its default: a number whose default is not 0 is therefore a pointer."""

from __future__ import annotations

from . import text
from .model import Enum, Kind
from .plan import Call, Class, Hook, Plan, Result, Slot, word
from .text import GENERATED

_KEYWORDS = set(
    "break case chan const continue default defer else fallthrough for func go goto if import "
    "interface map package range return select struct switch type var x err o run options".split()
)
_NUMBERS = {"i64": "int", "f64": "float64", "bool": "bool"}
_TYPES = {
    **_NUMBERS, **{f"{kind}[]": f"[]{name}" for kind, name in _NUMBERS.items()},
    "tensor": "*Tensor", "tensor[]": "[]*Tensor", "operand": "any", "scalar": "any", "str": "string",
    "str[]": "[]string", "path": "string", "bytes": "[]byte", "device": "Device", "pointer": "uintptr",
    "enum": "{Name}", "callback": "{Name}", "handle": "*{Name}",
}  # fmt: skip
TAB = "\t"


def generate(plan: Plan) -> dict[str, str]:
    parts = [f"// {GENERATED}\n\npackage dumbtorch\n", *map(_enum, plan.enums)]
    parts += [*map(_class, plan.classes), *map(_hook, plan.hooks)]
    parts += [_function(c, i) for i, c in enumerate((*plan.calls, *plan.own))]
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
    return word(_TYPES, kind)


def is_pointer(s: Slot) -> bool:
    """Whether the zero value of the field's type would not mean its default."""
    number = s.kind.base in _NUMBERS and not s.kind.list
    return number and (s.kind.optional or bool(s.argument.default))


# ---- enums, handles, callbacks


def _enum(e: Enum) -> str:
    name = text.camel(e.name)
    lines = [f"{text.comment(f'{name}: {e.doc}')}\ntype {name} int32\n"]
    lines += [
        f"{text.comment(v.doc or v.name)}\nconst {enum_value(e.name, v.name)} {name} = {v.number}\n"
        for v in e.values
    ]
    return "\n".join(lines)


def _class(c: Class) -> str:
    name = text.camel(c.name)
    return f"{text.comment(f'{name}: {c.handle.doc}')}\ntype {name} struct{{ object }}\n"


def _hook(h: Hook) -> str:
    name = text.camel(h.name)
    return f"{text.comment(f'{name}: {h.callback.doc}')}\ntype {name} func{hook_signature(h)}\n"


def hook_signature(h: Hook, named=local) -> str:
    takes = ", ".join(f"{named(s.name)} {go_type(s.kind)}" for s in h.inputs)
    gives = ", ".join([*(go_type(r.kind) for r in h.results), "error"])
    return f"({takes}) ({gives})" if h.results else f"({takes}) {gives}"


# ---- functions


def _function(c: Call, index: int) -> str:
    name, slots, parts = go_name(c), list(c.required), []
    receiver = f"(x {go_type(slots.pop(0).kind)}) " if is_method(c) else ""
    takes = [f"{local(s.name)} {go_type(s.kind)}" for s in slots]
    lines = []
    if c.optional:
        options = f"{exported(c.function.name)}Options"
        parts.append(_options(c, options))
        takes.append(f"options ...{options}")
        lines.append("\to := last(options)")
    given = [local(s.name) if s.required else f"o.{exported(s.name)}" for s in c.slots]
    if is_method(c):
        given[0] = "x"
    run = f"run({index}, []any{{{', '.join(given)}}}"
    if c.results:
        names = [_result(r, c) for r in c.results]
        gives = [f"{n} {go_type(r.kind)}" for n, r in zip(names, c.results, strict=True)]
        lines += [f"\terr = {', '.join([run, *(f'&{n}' for n in names)])})", "\treturn"]
        back = f"({', '.join([*gives, 'err error'])})"
    elif c.returns_this:
        back = f"({go_type(c.required[0].kind)}, error)"
        lines.append(f"\treturn {given[0]}, {run})")
    else:
        back = "error"
        lines.append(f"\treturn {run})")
    head = f"func {receiver}{name}({', '.join(takes)}) {back} {{"
    parts.append("\n".join([text.comment(f"{name}: {c.about}"), head, *lines, "}\n"]))
    return "\n".join(parts)


def _result(r: Result, c: Call) -> str:
    name = local(r.name)
    return name + "_" if name in map(local, (s.name for s in c.required)) else name


def _options(c: Call, name: str) -> str:
    fields = []
    for s in c.optional:
        kind = "*" * is_pointer(s) + go_type(s.kind)
        fields.append(f"{text.comment(s.argument.doc, TAB)}\n\t{exported(s.name)} {kind}\n")
    head = f"// {name} are the optional arguments.\ntype {name} struct {{\n"
    return head + "\n".join(fields) + "}\n"
