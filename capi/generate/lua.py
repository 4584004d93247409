"""Prints wrappers/lua/prelude.gen.h: the part of the Lua module that is written in Lua, as a string
of C, behind the names of functions. These come from the table (table.py)."""

from __future__ import annotations

import json
import pathlib

from .plan import REFLECTED, Call, Class, Plan
from .text import GENERATED

PRELUDE = pathlib.Path(__file__).resolve().parents[2] / "wrappers" / "lua" / "prelude.lua"


def generate(plan: Plan) -> dict[str, str]:
    lines = [*_names(plan), *PRELUDE.read_text().splitlines()]
    text = [
        f"/* {GENERATED} */",
        "static const char prelude[] =",
        *(json.dumps(x + "\n") for x in lines),
    ]
    return {"wrappers/lua/prelude.gen.h": "\n".join(text) + ";\n"}


def _names(plan: Plan) -> list[str]:
    """Where functions are in the table, by the names that users know, in Lua."""
    places = {c.c_name: i for i, c in enumerate(plan.calls)}

    def rows(name: str, functions: list[tuple[str, Call]]) -> list[str]:
        entries = [f"{lua_name(key)} = {places[c.c_name]}," for key, c in functions]
        return [f"{name} = {{", *entries, "},"]

    lines = ["local names = {classes = {"]
    for c in plan.classes:
        lines += [
            f'{{name = "{c.name}",',
            *rows("methods", [(g.name, g.calls[0]) for g in c.methods]),
        ]
        lines += rows("properties", [(x.member, x) for x in c.properties])
        lines += ["operators = {", *_operators(plan, c, places), "}},"]
    lines.append("}, namespaces = {")
    for n in plan.namespaces:
        lines += rows(f'["{n.path}"]', [(g.name, g.calls[0]) for g in n.functions])
    dtypes = next(e for e in plan.enums if e.name == "dtype")
    values = ", ".join(f'"{v.name}"' for v in dtypes.values)
    lists = f"tensor = {len(places)}, tolist = {len(places) + 1}"
    return [*lines, f"}}, {lists}, dtypes = {{{values}}}}}"]


def _operators(plan: Plan, c: Class, places: dict[str, int]) -> list[str]:
    """The function of each event, and those for a number in the first place."""
    lines = []
    for x in plan.calls:
        event = _EVENTS.get(x.function.operator)
        if x.function.method == c.name and not x.returns_this and event:
            reflected = [plan.by_name[n] for n in REFLECTED.get(x.function.operator, ())]
            numbers = ", ".join(str(places[f.c_name]) for f in (x, *reflected))
            lines.append(f"{event} = {{{numbers}}},")
    return lines


# Python's special methods as Lua's. Of comparisons Lua makes truth values.
_EVENTS = {
    "call": "call", "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "idiv",
    "mod": "mod", "pow": "pow", "and": "band", "or": "bor", "xor": "bxor", "lshift": "shl",
    "rshift": "shr", "neg": "unm", "invert": "bnot",
}  # fmt: skip

_KEYWORDS = set(
    "and break do else elseif end false for function goto if in local nil not or repeat return "
    "then true until while".split()
)


def lua_name(name: str) -> str:
    """x:repeat_{2}, {end_ = 4}: a name that is a word of Lua's own gets an underscore."""
    return name + "_" if name in _KEYWORDS else name
