"""reduce(program): the smallest program that still differs in the same way."""

from __future__ import annotations

import ast
from collections.abc import Callable

import torch

from . import edits
from .compare import Difference

# Programs that are tried at most.
MAX_TRIES = 4000

PASSES = (
    edits.without_statements,
    edits.without_blocks,
    edits.with_names_merged,
    edits.with_listed_values,
    edits.with_other_sizes,
    edits.with_simpler_expressions,
)


def reduce(
    program: str, difference: Difference, differs: Callable[[str], Difference | None]
) -> str:
    """`differs` says how a program differs, if it does."""
    tries = 0

    def still(candidate: str) -> bool:
        nonlocal tries
        tries += 1
        found = differs(candidate)
        return found is not None and found.kind == difference.kind

    best = ast.unparse(ast.parse(program))
    improved = True
    while improved and tries < MAX_TRIES:
        improved = False
        for edit in PASSES:
            smaller = _smallest(edit, best, still, lambda: tries < MAX_TRIES)
            improved = improved or smaller != best
            best = smaller
    return _pasteable(edits.renumbered(best))


def _smallest(edit: Callable, best: str, still: Callable, go_on: Callable) -> str:
    """What is left when an edit can do no more."""
    improved = True
    while improved:
        improved = False
        for candidate in edit(best):
            if not go_on():
                return best
            if _is_program(candidate) and _size(candidate) < _size(best) and still(candidate):
                best, improved = candidate, True
                break
    return best


def _is_program(text: str) -> bool:
    try:
        compile(text, "<program>", "exec")  # more than a parser refuses
    except SyntaxError:
        return False
    return True


def _size(program: str) -> tuple:
    """What "smaller" means: fewer statements, then fewer characters, then smaller digits."""
    statements = sum(isinstance(n, ast.stmt) for n in ast.walk(ast.parse(program)))
    return statements, program.count("dtype"), len(program), program


def _pasteable(program: str) -> str:
    """With what PyTorch refuses in `try`, but for the last statement."""
    body = ast.parse(program).body
    names = {"t": torch}
    lines = []
    for node in body:
        text = ast.unparse(node)
        try:
            exec(compile(ast.Module([node], []), "<program>", "exec"), names)
        except Exception:
            if node is not body[-1]:
                indented = text.replace("\n", "\n    ")
                text = f"try:\n    {indented}\nexcept Exception:\n    pass"
        lines.append(text)
    return "\n".join(lines)
