"""Prints what guards the ABI: the linker's version script and capi/abi.lock.

abi.lock is the sorted text of everything that a compiled program or wrapper relies on. From 1.0 on,
a line that was there must stay; before, a difference is committed with the change."""

from __future__ import annotations

from . import cabi
from .model import Schema
from .text import GENERATED


def generate(schema: Schema) -> dict[str, str]:
    return {"capi/dumbtorch.map": version_script(schema), "capi/abi.lock": lock(schema)}


def version_script(schema: Schema) -> str:
    """One version node per API level: a new program on an old library is told so when it starts."""
    nodes = [f"/* {GENERATED} */"]
    parent = ""
    for level in range(1, schema.api_level + 1):
        lines = [f"DUMBTORCH_{level} {{", "  global:"]
        lines += [f"    {name};" for name in cabi.symbols(schema, level)]
        if level == 1:
            lines += ["  local:", "    *;"]
        nodes.append("\n".join([*lines, f"}}{parent};"]))
        parent = f" DUMBTORCH_{level}"
    return "\n".join(nodes) + "\n"


def lock(schema: Schema) -> str:
    lines = []
    for e in schema.enums.values():
        lines += [f"enum {cabi.enum_constant(e.name, v.name)} = {v.number}" for v in e.values]
    lines += [f"handle dt_{h}" for h in schema.handles]
    for o in schema.options.values():
        members = [(p, v) for a in o.fields for p, v in zip(cabi.field(a), cabi.literal(a))]
        # A list's default is not in its initialisers: NULL, -1 stands for it.
        listed = {a.name: a.default for a in o.fields if a.kind.list}
        for i, (parameter, value) in enumerate(members):
            value = listed.get(parameter[1], value)
            lines.append(
                f"struct dt_{o.name}_options[{i + 1:02}] {cabi.declare(parameter)} = {value}"
            )
    lines += [f"callback {cabi.callback_typedef(c)}" for c in schema.callbacks.values()]
    for c in schema.c_functions.values():
        lines.append(f"function {c.declaration} since {c.since}")
    for f in schema.public:
        lines.append(f"function {cabi.declaration(f)} since {f.since}")
        lines += [f"default {f.c_name} {a.name} = {a.default!r}" for a in f.args if a.has_default]
    return f"# {GENERATED}\n" + "\n".join(sorted(lines)) + "\n"
