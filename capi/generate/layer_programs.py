"""Prints tests/{c,cpp,go,fortran}/layers* and models*: programs that make the layer of each row of
tests/layer_rows.py and hand it to try_layer, which applies it to the row's inputs and keeps what it
computes for tests/conformance/test_layers.py; and so the models of tests/model_rows.py. For languages that
tell stories, try_layer is one (TRIED in stories.py). Lua's are made while that runs, and Python's are its own."""

from __future__ import annotations

import json
import pathlib
import runpy

from .conformance import C, Cpp, Fortran, Go
from .language import Language
from .model import Kind, SchemaError
from .plan import Plan
from .stories import Story, steps
from .text import GENERATED

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"

# Path, how a language prints calls, what comes before all lines, a line, what comes after them, and the path of a
# row's file. A program is of layers or of models.
_PROGRAMS: tuple[tuple[str, Language, str, str, str, str], ...] = (
    (
        "tests/c/{s}.c", C(),
        f'/* {GENERATED} */\n#include "tests/conformance/check.h"\n\n'
        "int main(int argc, char** argv) {\n  T_SCOPE {",
        "    try_{one}(argv[argc - 1], {}, {});",
        '  }\n  if (T_status()) fail("error");\n  return failures;\n}', "",
    ),
    (
        "tests/cpp/{s}.cpp", Cpp(),
        f'// {GENERATED}\n#include "tests/conformance/check.hpp"\n\nint main(int argc, char** argv) {{',
        "  try_{one}(argv[argc - 1], {}, {});",
        "}", "",
    ),
    (
        "tests/go/{s}_test.go", Go(),
        f'// {GENERATED}\n\npackage conformance\n\nimport (\n\t"os"\n\t"testing"\n\n\tdt "dumbtorch"\n)\n\n'
        'func Test{S}(t *testing.T) {\n\tfolder := os.Getenv("DT_LAYERS")\n\tif folder == "" {\n'
        '\t\tt.Skip("tests/conformance runs this")\n\t}',
        '\ttry{One}(t, folder+"/{}", dt.Must({}))',
        '}\n\nfunc try{One}(t *testing.T, row string, a_layer *dt.Module) {\n'
        "\tfile := func(name string) string { return row + name }\n{steps}\n}", "file({})",
    ),
    (
        "tests/fortran/{s}.f90", Fortran(),
        f"! {GENERATED}\nprogram {{s}}\n  use check\n  implicit none",
        "  call try_{one}('{}', {})",
        "contains\n  subroutine try_{one}(row, a_layer)\n    character(*), intent(in) :: row\n"
        "    type(module), intent(in) :: a_layer\n{steps}\n  end subroutine\nend program", "row // {}",
    ),
)  # fmt: skip


def generate(plan: Plan) -> dict[str, str]:
    layers = runpy.run_path(str(TESTS / "layer_rows.py"))["LAYERS"]
    models = runpy.run_path(str(TESTS / "model_rows.py"))["MODELS"]
    for name in plan.schema.layers.keys() - {row[0] for row in layers}:
        raise SchemaError(f"[layer.{name}]: it has no row in tests/layer_rows.py")
    made = _programs(plan, "layer", "nn", enumerate(layers))
    return made | _programs(plan, "model", "models", enumerate(models, len(layers)))


def _programs(plan: Plan, one: str, namespace: str, numbered) -> dict[str, str]:
    rows = [(k, row) for k, row in numbered if _is_said(row)]
    words = {
        "{s}": one + "s",
        "{S}": one.capitalize() + "s",
        "{one}": one,
        "{One}": one.capitalize(),
    }

    def of_one(text: str) -> str:
        for word, value in words.items():
            text = text.replace(word, value)
        return text

    made = {}
    for path, language, head, line, tail, file in _PROGRAMS:
        lines = [_line(plan, language, namespace, of_one(line), *row) for row in rows]
        tail = of_one(tail).replace("{steps}", _tried(plan, language, one, file)) if file else tail
        made[of_one(path)] = "\n".join([of_one(head), *lines, tail]) + "\n"
    return made


def _tried(plan: Plan, language: Language, one: str, file: str) -> str:
    """What is done with each of them."""
    language.path = file
    story = Story(plan, language, f"try_{one}")
    story.kinds["layer"] = Kind("handle", "module")
    return "\n".join(
        language.indent + x for x in language.grouped(story.lines(steps("TRIED")[one]))
    )


def _is_said(row: tuple) -> bool:
    """What is absent against its default is a word of its own in some languages."""
    return None not in row[2].values()


def _line(
    plan: Plan, language: Language, namespace: str, line: str, number: int, row: tuple
) -> str:
    return line.format(number, _made(plan, language, namespace, *row[:3]))


def _made(
    plan: Plan, language: Language, namespace: str, name: str, args: tuple, named: dict
) -> str:
    call = plan.by_place.get((namespace, name))
    if not call:
        raise SchemaError(f"the tests' rows: there is no '{name}' in {namespace}")
    given = dict(zip((s.name for s in call.slots), args, strict=False)) | named
    unknown = set(given) - {s.name for s in call.slots}
    if unknown:
        raise SchemaError(f"the tests' rows: {name} has no argument '{unknown.pop()}'")
    values = {}
    for slot in call.slots:
        if slot.name not in given:
            continue
        if slot.kind.base == "handle":
            layer = _made(plan, language, namespace, *given[slot.name])
            values[slot.name] = language.certain.format(layer)
            continue
        value = json.loads(json.dumps(given[slot.name]))  # with lists for tuples
        value = [value] if slot.kind.list and not isinstance(value, list) else value
        values[slot.name] = language.value(slot, value, False, [])
    return language.expression(call, values)
