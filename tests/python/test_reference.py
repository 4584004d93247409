"""docs/reference: what it shows as Python's calls are calls of this package, with arguments of these names; those that
are shown without names are in this order."""

import ast
import functools
import inspect
import re
from pathlib import Path

import dumbtorch as dt
import pytest
from dumbtorch import _ops, nn

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
# What stands in front of a method.
OBJECTS = {
    "event": dt.cuda.Event,
    "generator": dt.Generator,
    "grad_scaler": dt.amp.GradScaler,
    "graph": dt.cuda.CUDAGraph,
    "hook": _ops.Hook,
    "input": dt.Tensor,
    "lr_scheduler": dt.optim.lr_scheduler.LRScheduler,
    "module": nn.Sequential,
    "node": _ops.Node,
    "optimizer": dt.optim.Optimizer,
    "self": dt.Tensor,
    "stream": dt.cuda.Stream,
    "tensor": dt.Tensor,
}


def shown():
    for page in sorted(FOLDER.glob("*.md")):
        for entry in page.read_text().split("\n## ")[1:]:
            for call in re.findall(r"^```python\n(.*?)```", entry, re.DOTALL | re.MULTILINE):
                yield pytest.param(" ".join(call.split()), id=entry.partition("\n")[0])


def named(function: ast.expr):
    """What `nn.functional.relu` is, or the class's method of `module.train`."""
    first, *rest = ast.unparse(function).split(".")
    return functools.reduce(
        getattr, rest, OBJECTS[first] if first in OBJECTS and rest else getattr(dt, first)
    )


@pytest.mark.parametrize("call", list(shown()))
def test_python_has_what_is_shown_as_its_call(call):
    # The arguments are written as in a signature, with a bare star where names must be given.
    tree = ast.parse(re.sub(r"\*, ", "", call) + (" pass" if call.endswith(":") else "")).body[0]
    if not isinstance(tree, ast.Expr) or not isinstance(tree.value, ast.Call):
        return
    function = tree.value.func
    shown = {a.id: a.col_offset for a in tree.value.args if isinstance(a, ast.Name)}
    shown.update((k.arg, k.col_offset) for k in tree.value.keywords)
    if ast.unparse(function) in ("len", "copy.deepcopy", "module"):
        return
    function = named(function)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return  # a property, or a method in C
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values()):
        return
    assert shown.keys() <= {*parameters, "self"}
    star = call.find("*, ") if "*, " in call else len(call)
    by_place = [n for n, at in shown.items() if at < star and n != "self"]
    assert by_place == [
        n for n, p in parameters.items() if n in by_place and p.kind is not p.KEYWORD_ONLY
    ]
