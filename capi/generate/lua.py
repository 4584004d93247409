"""Prints wrappers/lua/prelude.gen.h: the part of the Lua module that is written in Lua, as a string
of C. The functions come from the table (table.py)."""

from __future__ import annotations

import json
import pathlib

from .plan import Plan
from .text import GENERATED

PRELUDE = pathlib.Path(__file__).resolve().parents[2] / "wrappers" / "lua" / "prelude.lua"


def generate(plan: Plan) -> dict[str, str]:
    lines = [json.dumps(line) for line in PRELUDE.read_text().splitlines(keepends=True)]
    text = "\n".join([f"/* {GENERATED} */", "static const char prelude[] =", *lines]) + ";\n"
    return {"wrappers/lua/prelude.gen.h": text}


_KEYWORDS = set(
    "and break do else elseif end false for function goto if in local nil not or repeat return "
    "then true until while".split()
)


def lua_name(name: str) -> str:
    """x:repeat_{2}, {end_ = 4}: a name that is a word of Lua's own gets an underscore."""
    return name + "_" if name in _KEYWORDS else name
