"""Ways to make a program smaller. Each gives programs to try; which of them still differ, reduce.py asks."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator

import torch

from .leaves import MAX_LISTED
from .tensors import may_look_at

Programs = Iterator[str]


def without_statements(program: str) -> Programs:
    """Without a run of statements, long ones first, and without what needs their names."""
    body = ast.parse(program).body
    size = len(body)
    while size:
        for start in range(len(body) - size, -1, -1):
            yield _text(_defined(body[:start] + body[start + size :]))
        size //= 2


def _defined(body: list[ast.stmt], before: Iterable[str] = ("t",)) -> list[ast.stmt]:
    """The statements whose names are all bound before them."""
    bound = set(before)
    kept = []
    for node in body:
        if isinstance(node, ast.With):
            node = copy.copy(node)
            node.body = _defined(node.body, bound)
            if not node.body:
                continue
        if _needs(node) - _binds(node) <= bound:
            bound |= _binds(node)
            kept.append(node)
    return kept


def _binds(node: ast.AST) -> set[str]:
    names = {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    names |= {n.name for n in ast.walk(node) if isinstance(n, ast.alias)}
    return names | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}


def _needs(node: ast.AST) -> set[str]:
    needed = {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)
    }
    own = _binds(node) if isinstance(node, (ast.For, ast.With)) else set()
    return needed - own - {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)} - _BUILTINS


_BUILTINS = {"abs", "float", "int", "bool", "len", "row", "w"}


def without_blocks(program: str) -> Programs:
    """The statements of a block without the block, and blocks without one of their statements."""
    body = ast.parse(program).body
    for i, node in enumerate(body):
        if isinstance(node, ast.With):
            yield _text(body[:i] + node.body + body[i + 1 :])
            for j in range(len(node.body)):
                smaller = copy.copy(node)
                smaller.body = node.body[:j] + node.body[j + 1 :]
                if smaller.body:
                    yield _text(body[:i] + [smaller] + body[i + 1 :])


def with_names_merged(program: str) -> Programs:
    """`y = f(x)` is left out, and x stands for y."""
    body = ast.parse(program).body
    for i, node in enumerate(body):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        for name in sorted(_needs(node.value) - {"t"}):
            renamed = _Rename({node.targets[0].id: name})
            yield _text([renamed.visit(copy.deepcopy(n)) for n in body[:i] + body[i + 1 :]])


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def renumbered(program: str) -> str:
    """Names counted from 1, in the order in which they appear."""
    tree = ast.parse(program)
    names: dict[str, str] = {}
    for node in tree.body:
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id[1:].isdigit():
                names.setdefault(n.id, f"{n.id[0]}{len(names) + 1}")
    return _text([_Rename(names).visit(node) for node in tree.body])


def with_listed_values(program: str) -> Programs:
    """What a statement computes, as a new tensor of the same values."""
    body = ast.parse(program).body
    names = {"t": torch}
    for i, node in enumerate(body):
        try:
            exec(compile(ast.Module([node], []), "<program>", "exec"), names)
        except Exception:
            continue
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        value = names[node.targets[0].id]
        listable = may_look_at(value) and not value._is_zerotensor()
        if listable and 0 < value.numel() <= MAX_LISTED:
            yield _text(
                [
                    *body[:i],
                    *ast.parse(f"{node.targets[0].id} = {_listed(value)}").body,
                    *body[i + 1 :],
                ]
            )


def _listed(x: torch.Tensor) -> str:
    kind = str(x.dtype).removeprefix("torch.")
    numbers = str(x.detach().tolist()).replace("nan", "t.nan").replace("inf", "t.inf")
    named = "" if kind in ("float32", "int64", "bool") else f", dtype=t.{kind}"
    return f"t.tensor({numbers}{named}{', requires_grad=True' if x.requires_grad else ''})"


def with_other_sizes(program: str) -> Programs:
    """A size replaced by a smaller one wherever it appears: in lists of numbers, and as a number."""
    tree = ast.parse(program)
    sizes = {len(n.elts) for n in ast.walk(tree) if isinstance(n, ast.List)}
    for size in sorted(sizes - {0, 1}, reverse=True):
        for smaller in sorted({1, 2, size // 2, size - 1} - {size, 0}):
            yield ast.unparse(
                ast.fix_missing_locations(_Resize(size, smaller).visit(copy.deepcopy(tree)))
            )


class _Resize(ast.NodeTransformer):
    def __init__(self, size: int, smaller: int):
        self.size, self.smaller = size, smaller

    def visit_List(self, node: ast.List) -> ast.List:
        self.generic_visit(node)
        return (
            ast.List(node.elts[: self.smaller], node.ctx) if len(node.elts) == self.size else node
        )

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return (
            ast.Constant(self.smaller)
            if type(node.value) is int and node.value == self.size
            else node
        )


# ---- expressions


def with_simpler_expressions(program: str) -> Programs:
    """One expression replaced by something simpler, or one of a list left out."""
    tree = ast.parse(program)
    managers = {n for w in ast.walk(tree) if isinstance(w, ast.withitem) for n in ast.walk(w)}
    for parent in [n for n in ast.walk(tree) if n not in managers]:
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr):
                yield from _replaced(tree, value, lambda new: setattr(parent, field, new))  # noqa: B023
            elif isinstance(value, list):
                yield from _in_list(tree, parent, value)


def _replaced(tree: ast.AST, old: ast.expr, put: Callable) -> Programs:
    for new in _simpler(old):
        put(new)
        yield ast.unparse(ast.fix_missing_locations(tree))
    put(old)


def _in_list(tree: ast.AST, parent: ast.AST, items: list) -> Programs:
    for i, item in enumerate(list(items)):
        if isinstance(item, ast.expr):
            yield from _replaced(tree, item, lambda new: items.__setitem__(i, new))  # noqa: B023
        if _can_lack_one(parent, items) and isinstance(item, (ast.expr, ast.keyword)):
            del items[i]
            yield ast.unparse(tree)
            items.insert(i, item)


def _can_lack_one(parent: ast.AST, items: list) -> bool:
    return isinstance(parent, (ast.Call, ast.Tuple)) or (
        isinstance(parent, ast.List) and len(items) > 1
    )


def _simpler(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant):
        yield from _simpler_number(node.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not _is_library(node.func.value):
            yield node.func.value
        yield from node.args
        if ast.unparse(node.func) == "t.tensor" and node.args:
            for numbers in _smaller_lists(node.args[0]):
                yield ast.Call(node.func, [numbers, *node.args[1:]], node.keywords)
        yield from _shorter_arange(node)
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Attribute) and _is_library(node.value):
        if node.attr in ("float64", "int64", "int32", "uint8", "bool"):
            yield ast.Attribute(node.value, "float32", node.ctx)
        if node.attr in ("nan", "inf"):
            yield ast.Constant(1.0)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node.value


def _is_library(node: ast.expr) -> bool:
    """t, t.nn, t.autograd, ..."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "t"


def _simpler_number(value) -> Iterator[ast.Constant]:
    if type(value) is int:
        yield from (ast.Constant(n) for n in (0, 1, 2) if n < value)
    elif type(value) is float:
        yield from (ast.Constant(n) for n in (0.0, 1.0, 2.0, 0.5, round(value, 1)) if n != value)


def _smaller_lists(node: ast.expr) -> Iterator[ast.expr]:
    """Nested lists of numbers, cut at one level; or with 1.0 in every place."""
    depth, level = 0, node
    while isinstance(level, ast.List) and level.elts:
        for keep in sorted({1, len(level.elts) // 2, len(level.elts) - 1} - {0, len(level.elts)}):
            yield _cut(node, depth, keep)
        depth, level = depth + 1, level.elts[0]
    if depth:
        yield _filled(node)


def _cut(node: ast.List, depth: int, keep: int) -> ast.List:
    if depth:
        return ast.List([_cut(e, depth - 1, keep) for e in node.elts], ast.Load())
    return ast.List(node.elts[:keep], ast.Load())


def _filled(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.List):
        return ast.List([_filled(e) for e in node.elts], ast.Load())
    number = node.value if isinstance(node, ast.Constant) else 1.0
    return ast.Constant(True if type(number) is bool else type(number)(1))


def _shorter_arange(node: ast.Call) -> Iterator[ast.expr]:
    """t.arange(n)...reshape(sizes) with one of the sizes smaller."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "reshape" or not node.args:
        return
    counted = [
        c for c in ast.walk(node) if isinstance(c, ast.Call) and ast.unparse(c.func) == "t.arange"
    ]
    if not counted or not isinstance(node.args[0], ast.Tuple):
        return
    sizes = [n.value for n in node.args[0].elts if isinstance(n, ast.Constant)]
    for i, size in enumerate(sizes):
        for smaller in sorted({1, 2, size // 2, size - 1} - {0, size}):
            if smaller < size:
                new = copy.deepcopy(node)
                shape = [*sizes[:i], smaller, *sizes[i + 1 :]]
                count = 1
                for n in shape:
                    count *= n
                inner = next(
                    c
                    for c in ast.walk(new)
                    if isinstance(c, ast.Call) and ast.unparse(c.func) == "t.arange"
                )
                inner.args = [ast.Constant(count)]
                new.args = [ast.Tuple([ast.Constant(n) for n in shape], ast.Load())]
                yield new


def _text(body: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
