"""Where the parts of an op lie: its function, its gradient, its kernels and its test.

They are looked up in the sources, so that a page of the reference which says something else is stale, and an op
without a test stops the generator."""

from __future__ import annotations

import ast
import functools
import pathlib
import re

from .kernels import share_of
from .model import BACKENDS, Function, Schema, SchemaError

ROOT = pathlib.Path(__file__).resolve().parents[2]
_TESTS = "tests/python/ops"

# A definition begins at the start of a line, and its name stands before its arguments or its value.
_NAME = re.compile(r"(?:struct|class) (\w+)|(\w+)(?:\(| = |\{|\[)")
_KERNEL = re.compile(r"\bkernels::(\w+)\(|^DT_PLANNED_KERNEL\((\w+),", re.M)


def of(schema: Schema, f: Function) -> str:
    """A sentence for each part; "" for what is no op."""
    is_of_an_object = f.core and f.core.partition("(")[0] not in _functions()
    if f.layer or is_of_an_object or not _computes(f):
        return ""
    row = schema.functions.get(f.name.removesuffix("_")) if f.inplace else f
    if row and row.elementwise:
        parts = [f"formula{_and_gradient(row.elementwise.grad)} `capi/schema/{row.file}.toml`"]
        parts += [f"kernels `{share_of(row)}`"]
    else:
        parts = _irregular(f)
    return f"Source: {', '.join([*parts, f'test {_test(f)}'])}."


def _computes(f: Function) -> bool:
    return f.inplace or any(r.kind.base == "tensor" for r in f.results)


def _and_gradient(there) -> str:
    return " and gradient" if there else ""


def _irregular(f: Function) -> list[str]:
    name = f.core.partition("(")[0] or f.name
    path, family = _functions().get(name), f"core/ops/{f.file}"
    if not path:
        raise SchemaError(f"[fn.{f.name}]: no file of {family} defines dt::{name}")
    if name == f.name and path.startswith("core/ops/"):
        if path != f"{family}.cpp" and not path.startswith(f"{family}/"):
            raise SchemaError(f"[fn.{f.name}]: its function lies in {path}, not in {family}")
    text = "\n".join(_closure(path, name))
    parts = [f"function{_and_gradient('Backward' in text)} `{path}`"]
    kernels = re.findall(r"\bop::(\w+)", text)
    for backend, title in zip(BACKENDS, ("CPU", "CUDA")):
        files = sorted({_kernels(backend)[k] for k in kernels if k in _kernels(backend)})
        parts += [f"{title} {' '.join(f'`{file}`' for file in files)}"] if files else []
    return parts


@functools.cache
def _definitions(path: str) -> dict[str, list[str]]:
    """Functions, classes and constants by name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    depth = 0
    for line in (ROOT / path).read_text().splitlines():
        if not lines and not re.match(r"[A-Za-z](?!amespace)", line):
            continue
        lines.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.endswith(("}", ";")):
            text, lines = "\n".join(lines), []
            if name := _NAME.search(text):
                found.setdefault(name[1] or name[2], []).append(text)
    return found


@functools.cache
def _functions() -> dict[str, str]:
    """The file of each function of core; the written one where another is generated."""
    files = sorted((ROOT / "core").rglob("*.cpp"), key=lambda f: (".gen." not in f.name, f))
    paths = [f.relative_to(ROOT).as_posix() for f in files]
    return {name: path for path in paths for name in _definitions(path)}


@functools.cache
def _reachable(path: str) -> dict[str, list[str]]:
    """The definitions of a file, and of the families' files whose headers it includes."""
    found = dict(_definitions(path))
    for header in re.findall(r'#include "(core/ops/\w+/\w+)\.h"', (ROOT / path).read_text()):
        for file in (f"{header}.h", f"{header}.cpp"):
            if file != path and (ROOT / file).exists():
                for name, texts in _definitions(file).items():
                    found[name] = found.get(name, []) + texts
    return found


def _closure(path: str, name: str) -> list[str]:
    """A function, and all that it calls in its own file and in those of its family."""
    definitions, reached, waiting = _reachable(path), {name}, [name]
    while waiting:
        for text in definitions[waiting.pop()]:
            new = set(re.findall(r"\w+", text)) & set(definitions) - reached
            reached |= new
            waiting += new
    return [text for n in sorted(reached) for text in definitions[n]]


@functools.cache
def _kernels(backend: str) -> dict[str, str]:
    """The file of each kernel that is not elementwise."""
    found = {}
    for path in sorted((ROOT / "kernels" / backend).iterdir()):
        if path.suffix in (".cpp", ".cu") and ".gen." not in path.name:
            for match in _KERNEL.finditer(path.read_text()):
                found[match[1] or match[2]] = path.relative_to(ROOT).as_posix()
    return found


def _test(f: Function) -> str:
    """The file with the op's row, or what tests/python/ops/test_coverage.py names in its place."""
    names = (f.name, f.name.removesuffix("_")) if f.inplace else (f.name,)
    for file, quoted in _rows().items():
        if not quoted.isdisjoint(names):
            return f"`{_TESTS}/{file}`"
    for reason, functions in _elsewhere().items():
        if f.name in functions:
            return " ".join(f"`{path}`" for path in _paths(reason.partition(":")[0]))
    raise SchemaError(f"[fn.{f.name}]: it has no row in {_TESTS}, nor a reason in test_coverage.py")


@functools.cache
def _rows() -> dict[str, set[str]]:
    """The words in quotes of each file with rows."""
    paths = sorted((ROOT / _TESTS).glob("rows_*.py"))
    return {path.name: set(re.findall(r'(?<=")\w+(?=")', path.read_text())) for path in paths}


def _paths(reason: str) -> list[str]:
    files = [
        next((ROOT / "tests" / "python").rglob(name)) for name in re.findall(r"\S+\.py", reason)
    ]
    return [f.relative_to(ROOT).as_posix() for f in files]


@functools.cache
def _elsewhere() -> dict[str, set[str]]:
    tree = ast.parse((ROOT / _TESTS / "test_coverage.py").read_text())
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "ELSEWHERE":
            return ast.literal_eval(statement.value)
    raise SchemaError(f"{_TESTS}/test_coverage.py has no ELSEWHERE")
