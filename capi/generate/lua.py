"""Prints wrappers/lua/prelude.gen.h: the part of the Lua module that is written in Lua, as a string
of C. Functions and their names come from the table (table.py)."""

from __future__ import annotations

import json
import pathlib

from .plan import Plan
from .text import GENERATED

PRELUDE = pathlib.Path(__file__).resolve().parents[2] / "wrappers" / "lua" / "prelude.lua"
KEYWORDS = (
    "and break do else elseif end false for function goto if in local nil not or repeat return "
    "then true until while"
).split()


def generate(plan: Plan) -> dict[str, str]:
    keywords = ", ".join(f'["{word}"] = true' for word in KEYWORDS)
    script = [f"local keywords = {{{keywords}}}", *PRELUDE.read_text().splitlines()]
    lines = "\n".join(json.dumps(line + "\n") for line in script)
    text = f"/* {GENERATED} */\nstatic const char prelude[] =\n{lines};\n"
    return {"wrappers/lua/prelude.gen.h": text}


def lua_name(name: str) -> str:
    """x:repeat_{2}, {end_ = 4}: a name that is a word of Lua's own gets an underscore."""
    return name + "_" if name in KEYWORDS else name
