"""Prints tests/{c,cpp,go,fortran}/layers*: a program that makes the layer of each row of
tests/layer_rows.py and hands it to try_layer, which applies it to the row's inputs and keeps what it
computes for tests/conformance/test_layers.py. Lua's layers are made while that runs, and Python's are its
own."""

from __future__ import annotations

import json
import pathlib
import runpy

from .conformance import C, Cpp, Fortran, Go, Language
from .model import SchemaError
from .plan import Plan
from .text import GENERATED

ROWS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "layer_rows.py"

# Path, how a language prints calls, what comes before all lines, a line, what comes after them.
_PROGRAMS: tuple[tuple[str, Language, str, str, str], ...] = (
    (
        "tests/c/layers.c", C(),
        f'/* {GENERATED} */\n#include "tests/conformance/check.h"\n\n'
        "int main(int argc, char** argv) {\n  T_SCOPE {",
        "    try_layer(argv[argc - 1], {}, {});",
        '  }\n  if (T_status()) fail("error");\n  return failures;\n}',
    ),
    (
        "tests/cpp/layers.cpp", Cpp(),
        f'// {GENERATED}\n#include "tests/conformance/check.hpp"\n\nint main(int argc, char** argv) {{',
        "  try_layer(argv[argc - 1], {}, {});",
        "}",
    ),
    (
        "tests/go/layers_test.go", Go(),
        f'// {GENERATED}\n\npackage conformance\n\nimport (\n\t"testing"\n\n\tdt "dumbtorch"\n)\n\n'
        "func TestLayers(t *testing.T) {",
        "\ttryLayer(t, {}, dt.Must({}))",
        "}",
    ),
    (
        "tests/fortran/layers.f90", Fortran(),
        f"! {GENERATED}\nprogram layers\n  use check\n  use dumbtorch\n  implicit none",
        "  call try_layer('{}', {})",
        "end program",
    ),
)  # fmt: skip


def generate(plan: Plan) -> dict[str, str]:
    rows = list(enumerate(runpy.run_path(str(ROWS))["LAYERS"]))
    made = {}
    for path, language, head, line, tail in _PROGRAMS:
        lines = [_line(plan, language, line, *row) for row in rows if _is_said(*row)]
        made[path] = "\n".join([head, *lines, tail]) + "\n"
    return made


def _is_said(number: int, row: tuple) -> bool:
    """What is absent against its default is a word of its own in some languages."""
    return None not in row[2].values()


def _line(plan: Plan, language: Language, line: str, number: int, row: tuple) -> str:
    name, args, named, _ = row
    found = [c for c in plan.calls if c.free == name and "nn" in c.namespaces]
    if not found:
        raise SchemaError(f"{ROWS.name}: there is no layer '{name}'")
    given = dict(zip((s.name for s in found[0].slots), args, strict=False)) | named
    unknown = set(given) - {s.name for s in found[0].slots}
    if unknown:
        raise SchemaError(f"{ROWS.name}: {name} has no argument '{unknown.pop()}'")
    values = {}
    for slot in found[0].slots:
        if slot.name in given:
            value = json.loads(json.dumps(given[slot.name]))  # with lists for tuples
            value = [value] if slot.kind.list and not isinstance(value, list) else value
            values[slot.name] = language.value(slot, value, False, [])
    return language.statement(line.format(number, language.expression(found[0], values)))
