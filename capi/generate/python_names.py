"""What Python calls the schema's functions and their arguments, and where it shows them."""

from __future__ import annotations

import keyword

from .model import Argument, Function, Schema


def is_object(handle: str) -> bool:
    """Handles that Python shows as objects; the others only carry results."""
    return handle not in ("tensor", "tensor_list", "bytes", "string_list")


def safe(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def flat_arguments(schema: Schema, f: Function) -> list[Argument]:
    """The arguments as Python sees them: the fields of options are arguments of the function."""
    out: list[Argument] = []
    for a in f.args:
        if a.kind.base == "options":
            out += [
                Argument(x.name, x.kind, x.doc, True, x.default, True)
                for x in schema.options[a.kind.name].fields
            ]
        else:
            out.append(a)
    return out


def shown_arguments(schema: Schema, f: Function) -> list[Argument]:
    """The arguments of its signature: those that are passed on, and those that Python alone has."""
    return list(f.python_args) or flat_arguments(schema, f)


def variadic(f: Function) -> Argument | None:
    """The list that may also be given as single integers: `x.view(2, 3)`, `zeros(2, 3)`."""
    places = [a for a in f.args if not a.keyword_only and a.name not in ("input", "self")]
    if len(places) != 1 or places[0].has_default or places[0].kind.key != "i64[]":
        return None
    return places[0]


_NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}


def numpy_names(f: Function) -> dict[str, str]:
    """NumPy's names of arguments, which PyTorch takes too: {"dim": "axis"}. An argument that others
    without defaults come after has none: it could not be left out."""
    if not {"torch", "linalg"} & {*f.namespaces} and not f.method:
        return {}
    required = [a.name for a in f.args if not a.has_default]
    return {
        a.name: _NUMPY_NAMES[a.name]
        for a in f.args
        if a.name in _NUMPY_NAMES and (a.has_default or a.name == required[-1])
    }


def is_factory(f: Function) -> bool:
    """Whether it makes a tensor as `zeros` does: Python's has `layout` and `pin_memory`, too."""
    is_shown = "torch" in f.namespaces or f.method == "tensor"
    return is_shown and {"dtype", "device", "requires_grad"} <= {a.name for a in f.args}


def has_out(schema: Schema, f: Function) -> bool:
    """Whether it can be told to write its results into given tensors: a function of `torch`, `linalg` or
    `special` whose results are tensors with memory of their own, or one whose row says so."""
    are_tensors = bool(f.results) and all(r.kind.key == "tensor" for r in f.results)
    is_shown = bool({"torch", "linalg", "special"} & {*f.namespaces}) and not shadowed(schema, f)
    return f.takes_out or (is_shown and are_tensors and not f.view and not f.inplace)


def inner_name(f: Function) -> str:
    """The function's name where its arguments are: threshold's has an argument of this name."""
    return ("_" if any(a.name == f.name for a in f.args) else "") + safe(f.name)


def functional_name(f: Function) -> str:
    """The name in _ops.py of what torch.nn.functional shows."""
    return f"functional_{f.name}" if f.inplace_argument else safe(f.name)


def namespaces(schema: Schema, f: Function) -> tuple[str, ...]:
    """The namespaces that show a function. What writes in place is a function of `torch`, as a method of
    this name and the twins of its functions are, and of `functional` where that has `inplace`."""
    if not f.inplace or f.namespaces:
        return f.namespaces
    twin_of = schema.functions.get(f.name.removesuffix("_"))
    is_method = f.method == "tensor" and f.method_name == f.name
    in_torch = is_method or (twin_of is not None and "torch" in twin_of.namespaces)
    in_functional = twin_of is not None and twin_of.inplace_argument
    return ("torch",) * in_torch + ("functional",) * in_functional


def shadowed(schema: Schema, f: Function) -> bool:
    """An overload of another row, in the same place: `_overloads.py` merges the two under the name of the
    first."""
    other = schema.functions.get(f.torch_name)
    if not f.python or other is None or other is f or not other.public:
        return False
    return bool(f.method and other.method or set(f.namespaces) & set(other.namespaces))
