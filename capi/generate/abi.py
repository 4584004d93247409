"""Prints what guards the ABI: the linker's version script and capi/abi.lock.

abi.lock is the sorted text of everything that a compiled program or wrapper relies on. The lock of
the last release is kept in capi/released.lock: while the library has that release's SONAME, each of
its lines must stay (docs/abi.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import cabi
from .model import Argument, Schema, SchemaError
from .text import GENERATED


def generate(schema: Schema) -> dict[str, str]:
    return {"capi/dumbtorch.map": version_script(schema), "capi/abi.lock": lock(schema)}


def soname(version: str) -> str:
    """As capi/CMakeLists.txt names the library: before 1.0 each minor version has an ABI of its own."""
    major, minor, _ = version.split(".")
    return f"libdumbtorch.so.{major}" if major != "0" else f"libdumbtorch.so.0.{minor}"


def release(schema: Schema, version: str) -> str:
    """The text of capi/released.lock."""
    _, _, lines = lock(schema).partition("\n")
    return (
        f"# The ABI of {soname(version)}, since release {version}: written by --release.\n{lines}"
    )


def check_released(schema: Schema, released: str, version: str) -> None:
    """Refuses a schema in which a line of the last release is missing, or to which a later one has added at its
    level."""
    title, *promised = released.splitlines()
    if f" {soname(version)}," not in title:
        return
    kept, known = set(lock(schema).splitlines()[1:]), set(promised)
    if broken := [line for line in promised if line not in kept]:
        raise SchemaError(
            f"programs that were built for {soname(version)} rely on what was removed or changed:\n  "
            + "\n  ".join(broken)
            + "\nAdd beside it what is new; docs/abi.md says how."
        )
    level = max(map(_level, promised))
    added = sorted(line for line in kept - known if 0 < _level(line) <= level)
    if added and f" release {version}:" not in title:
        raise SchemaError(
            f"release {version} adds to level {level}, which libraries have without it:\n  "
            + "\n  ".join(added)
            + f"\nIt is `since` {level + 1}; docs/abi.md says more."
        )


def _level(line: str) -> int:
    found = re.search(r" (?:since|at level) (\d+)$", line)
    return int(found[1]) if found else 0


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
        for level in sorted({m.since for m in cabi.layout(o)}):
            size = cabi.struct_size(o, level)
            lines.append(f"struct dt_{o.name}_options size = {size} at level {level}")
    lines += [
        f"callback {cabi.callback_typedef(c)} since {c.since}" for c in schema.callbacks.values()
    ]
    for c in schema.callbacks.values():
        lines += _absences(f"dt_{c.name}", c.results, c.args)
    for c in schema.c_functions.values():
        lines.append(f"function {c.declaration} since {c.since}")
    for f in schema.public:
        lines.append(f"function {cabi.declaration(f)} since {f.since}")
        lines += [f"default {f.c_name} {a.name} = {a.default!r}" for a in f.args if a.has_default]
        lines += _absences(f.c_name, f.args, f.results)
    return f"# {GENERATED}\n" + "\n".join(sorted(lines)) + "\n"


def _absences(name: str, takes: Iterable[Argument], gives: Iterable[Argument]) -> list[str]:
    """What C's types do not say: which NULL the library takes, and which objects it always gives."""
    lines = []
    for a in takes:
        if a.kind.element_optional or (a.kind.optional and not a.has_default):
            lines.append(f"absent {name} {a.name}")
    for a in gives:
        is_object = a.kind.base in ("tensor", "handle")
        if is_object and not a.kind.element_optional and not a.kind.optional:
            lines.append(f"present {name} {a.name}")
    return lines
