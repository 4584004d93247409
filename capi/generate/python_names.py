"""What Python calls the plan's functions and their arguments, and where it shows them."""

from __future__ import annotations

import keyword

from .model import Argument, Function
from .plan import Call, Class, Plan


def is_object(c: Class) -> bool:
    """Handles that Python shows as objects of their own; tensors have a type, the others only carry results."""
    return c.name != "tensor" and not c.carries


def safe(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def said_name(c: Call) -> str:
    """What errors call it."""
    return c.free if c.namespaces else c.member


def said_names(plan: Plan) -> dict[str, str]:
    """What they call each function that has another name in C."""
    said = {}
    for c in plan.calls:
        place = "linalg." if "linalg" in c.namespaces else ""
        said[c.function.name] = place + said_name(c)
    return {name: python for name, python in said.items() if name != python}


def shown_arguments(c: Call) -> tuple[Argument, ...]:
    """The arguments of its signature: those that are passed on, and those that Python alone has."""
    return c.function.python_args or c.arguments


def variadic(f: Function) -> Argument | None:
    """The list that may also be given as single integers: `x.view(2, 3)`, `zeros(2, 3)`."""
    places = [a for a in f.args if not a.keyword_only and a.name not in ("input", "self")]
    if len(places) != 1 or places[0].has_default or places[0].kind.key != "i64[]":
        return None
    if places[0].kind.count and f.method != "tensor":
        return None  # a number stands for a list, also by its name
    return places[0]


# What PyTorch takes by the names that NumPy has for it, too; _signatures.py knows these.
_HAVE_NUMPY_NAMES = ("input", "other", "dim", "keepdim")


def numpy_named(f: Function) -> tuple[str, ...]:
    """The arguments that may come by NumPy's names: `sum(x=a, axis=0)`."""
    names = tuple(a.name for a in f.args if a.name in _HAVE_NUMPY_NAMES)
    is_method = f.method == "tensor" and names != ("input",)
    return names if is_method or {"torch", "linalg", "special"} & {*f.namespaces} else ()


def may_be_left_out(c: Call) -> set[str]:
    """The arguments that Python's signature needs a default for, though they have none: those that may
    come by NumPy's name, and what follows them."""
    others, left_out = numpy_named(c.function), set()
    for a in shown_arguments(c):
        if not (a.has_default or a.keyword_only) and (left_out or a.name in others):
            left_out.add(a.name)
    return left_out


def is_factory(f: Function) -> bool:
    """Whether it makes a tensor as `zeros` does: Python's has `layout` and `pin_memory`, too."""
    is_shown = "torch" in f.namespaces or f.method == "tensor"
    return is_shown and {"dtype", "device", "requires_grad"} <= {a.name for a in f.args}


def has_out(c: Call) -> bool:
    """Whether it can be told to write its results into given tensors: a function of `torch`, `linalg` or
    `special` whose results are tensors with memory of their own, or one whose row says so."""
    f = c.function
    are_tensors = bool(c.results) and all(r.kind.key == "tensor" for r in c.results)
    is_shown = bool({"torch", "linalg", "special"} & {*f.namespaces}) and not c.shadowed
    return f.takes_out or (is_shown and are_tensors and not f.view)


def inner_name(f: Function) -> str:
    """The function's name where its arguments are: threshold's has an argument of this name."""
    return ("_" if any(a.name == f.name for a in f.args) else "") + safe(f.name)


def functional_name(f: Function) -> str:
    """The name in _ops.py of what torch.nn.functional shows."""
    return f"functional_{f.name}" if f.inplace_argument else safe(f.name)


def namespaces(c: Call) -> tuple[str, ...]:
    """The namespaces that show a function. What writes in place is a function of `torch`, as a method of
    this name and the twins of its functions are, and of `functional` where that has `inplace`."""
    f = c.function
    if not c.returns_this or f.namespaces:
        return f.namespaces
    is_method = f.method == "tensor" and f.method_name == f.name
    in_torch = is_method or (c.twin is not None and "torch" in c.twin.namespaces)
    in_functional = c.twin is not None and c.twin.inplace_argument
    return ("torch",) * in_torch + ("functional",) * in_functional


def shown_in(namespace: str, calls: tuple[Call, ...]) -> list[Call]:
    """The functions of a namespace. `_overloads.py` merges those that share a name under that of the first."""
    return [c for c in calls if namespace in namespaces(c) and not c.shadowed]


def may_give_back(c: Call) -> bool:
    """Whether what comes out may be the first argument, a view of it, or one of its list."""
    return c.function.gives_back or c.function.view != ""
