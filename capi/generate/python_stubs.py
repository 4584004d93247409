"""Prints the type stubs (.pyi) of the Python package.

The functions of the schema give `_ops.pyi`; what is written by hand (methods of Tensor, overloads,
the package's imports) is read from its source, so a stub cannot say less than the code.
"""

from __future__ import annotations

import ast
import pathlib
import re

from . import python
from .model import Argument, Kind, Schema
from .plan import CARRIERS, Call, Class, Plan
from .text import GENERATED, camel

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "wrappers" / "python" / "dumbtorch"
_HEAD = f"# {GENERATED}\n"
_TYPING = """\
import builtins
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

"""

# The modules of functions with several signatures.
_OVERLOADS = ("_overloads", "_reductions")

# Those that a reader may want to see: PyTorch's stubs do not show the names of operands either.
_NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}

_TYPES = {
    "tensor": "Tensor",
    "operand": "Tensor | builtins.float",
    "scalar": "builtins.float",
    "i64": "builtins.int",
    "f64": "builtins.float",
    "bool": "builtins.bool",
    "str": "str",
    "path": "str | builtins.bytes | os.PathLike[Any]",
    "bytes": "bytes",
    "pointer": "builtins.int",
    "device": "device | str | builtins.int",
    "callback": "Callable[..., Any]",
    "object": "Any",
}


def generate(plan: Plan) -> dict[str, str]:
    folder = "wrappers/python/dumbtorch"
    return {
        f"{folder}/_ops.pyi": _ops(plan),
        f"{folder}/_tensor.pyi": _tensor(plan),
        f"{folder}/__init__.pyi": _package(plan),
        f"{folder}/nn/functional.pyi": _functional(plan),
        f"{folder}/nn/modules/__init__.pyi": _modules(plan.schema),
    }


# ---- types


def annotation(plan: Plan, kind: Kind, result: bool = False) -> str:
    if kind.base == "enum":
        text = _enum(plan, kind.name)
    elif kind.base == "handle":
        text = "Any" if kind.name in CARRIERS.values() else camel(kind.name)
    elif kind.base == "device" and result:
        text = "device"
    else:
        text = _TYPES[kind.base]
    if kind.element_optional:
        text += " | None"
    if kind.list:
        element = text
        text = f"tuple[{text}, ...]" if result else f"Sequence[{text}]"
        if result and kind.base == "str":
            text = "list[str]"
        if kind.count and not result:
            text = f"{element} | {text}"
    return text + (" | None" if kind.optional else "")


def _enum(plan: Plan, name: str) -> str:
    if name in ("dtype", "memory_format"):
        return name
    values = ", ".join(f'"{v.name}"' for v in plan.schema.enums[name].values)
    return f"Literal[{values}]"


def _returns(plan: Plan, c: Call) -> str:
    if c.returns_this:
        return "Tensor"
    if c.names_results:
        return f"{c.function.name}_result"
    if len(c.results) > 1:
        return f"tuple[{', '.join(annotation(plan, r.kind, result=True) for r in c.results)}]"
    return annotation(plan, c.results[0].kind, result=True) if c.results else "None"


def _signature(plan: Plan, c: Call, method: bool, functional: bool = False) -> str:
    parts, star = [], False
    many, left_out = python.variadic(c.function), python.may_be_left_out(c)
    for i, a in enumerate(python.shown_arguments(c)):
        if method and i == 0:
            parts.append("self")
        elif many and a.name == many.name:
            sizes = "builtins.int | Sequence[builtins.int]"
            parts += [f"*args: {sizes}", f"{a.name}: Sequence[builtins.int] = ..."]
            star = True
        else:
            parts += ["*"] if a.keyword_only and not star else []
            star = star or a.keyword_only
            parts.append(_parameter(plan, a) + (" = ..." if a.name in left_out else ""))
    named = python.numpy_named(c.function)
    others = {own: other for own, other in _NUMPY_NAMES.items() if own in named}
    if python.is_factory(c.function):
        parts += ["layout: Any = ...", "pin_memory: builtins.bool = ..."]
    has_out = python.has_out(c) and not functional
    if others or has_out:
        parts += [] if star else ["*"]
        parts += [
            f"{others[s.name]}: {annotation(plan, s.kind)} = ..."
            for s in c.slots
            if s.name in others
        ]
    if has_out:
        tensors = "Tensor" if len(c.results) == 1 else "Sequence[Tensor]"
        parts.append(f"out: {tensors} | None = ...")
    return ", ".join(parts)


def _parameter(plan: Plan, a: Argument) -> str:
    value = " = ..." if a.has_default else ""
    return f"{python.safe(a.name)}: {annotation(plan, a.kind)}{value}"


def _stub(plan: Plan, c: Call, name: str, method: bool = False) -> str:
    return f"def {python.safe(name)}({_signature(plan, c, method)}) -> {_returns(plan, c)}: ..."


def _functional_stub(plan: Plan, c: Call) -> str:
    arguments = f"{_signature(plan, c, False, functional=True)}, inplace: builtins.bool = False"
    return f"def {python.functional_name(c.function)}({arguments}) -> {_returns(plan, c)}: ..."


# ---- files


def _ops(plan: Plan) -> str:
    lines = [_HEAD + _TYPING + "from ._tensor import Tensor\n"]
    lines[0] += "from ._types import device, dtype, memory_format\n"
    for c in (c for c in plan.calls if c.names_results):
        lines += [_result_class(plan, c), ""]
    functions = python.functions(plan)
    lines += [_stub(plan, c, c.function.name) for c in functions]
    lines += [_functional_stub(plan, c) for c in functions if c.function.inplace_argument]
    for c in filter(python.is_object, plan.classes):
        lines += ["", *_handle(plan, c)]
    return "\n".join(lines) + "\n"


def _result_class(plan: Plan, c: Call) -> str:
    types = [annotation(plan, r.kind, result=True) for r in c.results]
    lines = [f"class {c.function.name}_result(tuple[{', '.join(types)}]):"]
    for r, kind in zip(c.results, types, strict=True):
        lines.append(f"    @property\n    def {r.name}(self) -> {kind}: ...")
    return "\n".join(lines)


def _handle(plan: Plan, c: Class) -> list[str]:
    lines = [f"class {camel(c.name)}:"]
    lines += ["    ..."] if not c.calls else []
    for call in c.calls:
        lines += ["    @property"] if call.function.as_property else []
        lines.append("    " + _stub(plan, call, call.member, method=True))
    if python.is_removable(c):
        lines.append(f"    def __enter__(self) -> {camel(c.name)}: ...")
        lines.append("    def __exit__(self, *error: Any) -> None: ...")
    return lines


# The members of Tensor that wrappers/python/tensor_type.c defines by hand, and those that _tensor.py makes of them
# without a `def`: there is no source in Python to read their signatures from.
_MEMBERS_WITHOUT_SOURCE = """\
def size(self, dim=None) -> Any: ...
def stride(self, dim=None) -> Any: ...
def nelement(self) -> builtins.int: ...
@property
def is_cuda(self) -> builtins.bool: ...
@property
def T(self) -> Tensor: ...
@property
def requires_grad(self) -> builtins.bool: ...
@requires_grad.setter
def requires_grad(self, value: builtins.bool) -> None: ...
def __bool__(self) -> builtins.bool: ...
def __float__(self) -> builtins.float: ...
def __int__(self) -> builtins.int: ...
def __len__(self) -> builtins.int: ...
def __getitem__(self, index) -> Tensor: ...
def __setitem__(self, index, value) -> None: ...
def __delitem__(self, index) -> None: ...
""".splitlines()


def _is_made_of_c(node: ast.stmt) -> bool:
    names = {getattr(node, "name", ""), ast.unparse(node).partition(" = ")[0]}
    return bool(names & {"requires_grad", "_set_requires_grad"})


def _tensor(plan: Plan) -> str:
    tree = _parse("_tensor.py")
    written = _class(tree, "Tensor")
    written.body = [node for node in written.body if not _is_made_of_c(node)]
    names = _class(_parse("_tensor_names.py"), "TensorNames")
    lines = [_HEAD + _TYPING + "from . import _ops\n"]
    lines[0] += (
        "from ._ops import Generator, Hook\nfrom ._types import Size, device, dtype, "
        "layout, memory_format, preserve_format\n"
    )
    lines += ["class TensorNames:", *_indent(_members(names)), ""]
    lines += [
        "class Tensor(TensorNames):",
        *_indent(_members(written)),
        *_indent(_MEMBERS_WITHOUT_SOURCE),
    ]
    known = {n.name for n in written.body if isinstance(n, ast.FunctionDef)}
    known |= {"size", "stride", "requires_grad"}
    overloads = _overloaded_methods()
    for name, node in overloads.items():
        lines.append("    " + _signature_of(node, name))
        known.add(name)
    tensor = next(c for c in plan.classes if c.name == "tensor")
    for c in tensor.calls:
        if c.member in known or c.shadowed:
            continue
        lines += ["    @property"] if c.function.as_property else []
        stub = _stub(plan, c, c.member, method=True)
        if c.member == "shape":
            stub = "def shape(self) -> Size: ..."
        lines.append("    " + re.sub(r"-> (\w+_result):", r"-> _ops.\1:", stub))
    lines += [f"    def __{name}__(self, other: Any) -> Tensor: ..." for name in _OPERATORS]
    lines += [f"    def __{name}__(self) -> Tensor: ..." for name in ("neg", "abs", "invert")]
    lines += ["", "class GradFn:", *_indent(_members(_class(_parse("_nodes.py"), "GradFn")))]
    return "\n".join(lines) + "\n"


_BOTH = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"
)  # fmt: skip
_OPERATORS = [
    *_BOTH,
    *(f"r{name}" for name in _BOTH),
    *(f"i{name}" for name in _BOTH),
    *("matmul", "rmatmul", "lt", "le", "gt", "ge"),
]


def _package(plan: Plan) -> str:
    tree = _parse("__init__.py")
    lines = [_HEAD + _TYPING]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__" and node.level:
            names = [a.name for a in node.names if not a.name.startswith("_") and a.asname is None]
            module = "." + (node.module or "")
            lines += [f"from {module} import {n} as {n}" for n in names]
    lines += [f"from {module} import {n} as {n}" for module, n in _late_names(tree)]
    for module in _OVERLOADS:
        names = [name for name in _functions_of(module) if name[0] != "_"]
        lines += [f"from .{module} import {n} as {n}" for n in names]
    taken = {line.rsplit(" ", 1)[-1] for line in lines if line.startswith("from .")}
    names = [c for c in python.shown_in("torch", plan.calls) if c.free not in taken]
    lines += [f"from ._ops import {python.safe(c.function.name)} as {c.free}" for c in names]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            lines.append(_signature_of(node, node.name))
    lines += ["", "__version__: str", "inf: builtins.float", "nan: builtins.float"]
    lines += ["pi: builtins.float", "e: builtins.float"]
    lines += [f"{name}: dtype" for name in ("float", "double", "long", "int", "bool")]
    lines += [f"{t.torch}Tensor: type[Tensor]" for t in plan.schema.dtypes.values()]
    return "\n".join(lines) + "\n"


def _late_names(tree: ast.Module) -> list[tuple[str, str]]:
    """(module, name) of what a package imports when it is asked for: see _late.py."""
    asked = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and len(n.args) == 3)
    call = next(n for n in asked if ast.unparse(n.func) == "_late.names")
    submodules, functions = map(ast.literal_eval, call.args[1:])
    named = [("." + home, n) for home, names in functions.items() for n in names.split()]
    return [(".", name) for name in submodules.split()] + named


def _functional(plan: Plan) -> str:
    tree = _parse("nn/functional.py")
    written = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"]
    known = {n.name for n in written}
    lines = [_HEAD + _TYPING.rstrip("\n"), "from .._tensor import Tensor", ""]
    rows = [c for c in python.shown_in("functional", plan.calls) if c.free not in known]
    lines += [f"from .._ops import {python.functional_name(c.function)} as {c.free}" for c in rows]
    lines += ["", *(_signature_of(n, n.name) for n in written)]
    return "\n".join(lines) + "\n"


def _modules(schema: Schema) -> str:
    """Which file has which class; those written by hand come before those of the schema."""
    found: dict[str, str] = {}
    for file in ("module", "container", "activation", "bases", "batchnorm", "rnn", "transformer"):
        for node in _parse(f"nn/modules/{file}.py").body:
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                found[node.name] = file
    found = {name: "layers" for name in schema.layers} | found
    lines = [f"from .{file} import {name} as {name}" for name, file in sorted(found.items())]
    return _HEAD + "\n".join(lines) + "\n"


# ---- what is written by hand


def _parse(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text())


def _indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def _members(written: ast.ClassDef) -> list[str]:
    lines = []
    for node in written.body:
        if isinstance(node, ast.Assign):  # another name of one of them
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            lines += [f"{name}: Any" for name in names if name[0] != "_"]
        if not isinstance(node, ast.FunctionDef):
            continue
        lines += [f"@{ast.unparse(d)}" for d in node.decorator_list]
        lines.append(_signature_of(node, node.name))
    return lines


def _signature_of(node: ast.FunctionDef, name: str) -> str:
    """A function's first line with its annotations; the names of types are the builtin ones."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else " -> Any"
    arguments = ast.unparse(node.args).replace("=MISSING", "=...")
    text = f"def {name}({arguments}){returns}: ..."
    return re.sub(r"(?<=[:>|] )(int|float|bool)\b", r"builtins.\1", text)


def _functions_of(module: str) -> dict[str, ast.FunctionDef]:
    return {n.name: n for n in _parse(module + ".py").body if isinstance(n, ast.FunctionDef)}


def _overloaded_methods() -> dict[str, ast.FunctionDef]:
    """What modules list in METHODS, and methods that have a function of their own."""
    methods = {}
    for module in _OVERLOADS:
        functions = _functions_of(module)
        listed = next(
            n.value
            for n in _parse(module + ".py").body
            if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "METHODS"
        )
        names = [n.id for n in ast.walk(listed) if isinstance(n, ast.Name) and n.id in functions]
        methods |= {name: functions[name] for name in names}
        own = {re.fullmatch("_(.+)_method", name): f for name, f in functions.items()}
        methods |= {found[1]: f for found, f in own.items() if found}
    return methods
