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
        lines += [
            f"enum {cabi.enum_constant(e.name, v.name)} = {v.number} since {v.since}"
            for v in e.values
        ]
    lines += [f"handle dt_{h.name} since {h.since}" for h in schema.handles.values()]
    for o in schema.options.values():
        # A default that is not 0 is not in the initialiser of a list, nor of a later number.
        defaults = {a.name: a.default for a in o.fields if a.kind.list or cabi.needs_pointer(a, o)}
        for m in cabi.layout(o):
            value = defaults.get(m.parameter.name, m.initial)
            place = f"struct dt_{o.name}_options[{m.offset:03}]"
            lines.append(f"{place} {m.parameter} = {value} since {m.since}")
    lines += [
        f"callback {cabi.callback_typedef(c)} since {c.since}" for c in schema.callbacks.values()
    ]
    for c in schema.c_functions.values():
        lines.append(f"function {c.declaration} since {c.since}")
    for f in schema.public:
        lines.append(f"function {cabi.declaration(f)} since {f.since}")
        lines += [f"default {f.c_name} {a.name} = {a.default!r}" for a in f.args if a.has_default]
    return f"# {GENERATED}\n" + "\n".join(sorted(lines)) + "\n"
