"""Prints docs/reference: every function, layer, enum and options struct, a page per schema file."""

from __future__ import annotations

from . import cabi, places, text
from .model import Argument, Function, Layer, Options, Schema
from .text import GENERATED

_TITLES = {
    "autograd": "Gradients",
    "creation": "Making tensors",
    "data": "Data and files",
    "indexing": "Indexing",
    "layers": "Layers",
    "linalg": "Matrix products",
    "loss": "Losses",
    "modules": "Modules",
    "nn": "Functions of neural networks",
    "optim": "Optimizers",
    "pointwise": "Elementwise arithmetic",
    "pointwise_logic": "Comparisons, logic and choice",
    "random": "Random numbers",
    "reduce": "Reductions",
    "tensor": "What a tensor is",
    "types": "The library",
    "views": "Views and joining",
}


def generate(schema: Schema) -> dict[str, str]:
    pages = {}
    stems = list(dict.fromkeys(f.file for f in schema.public))
    for stem in sorted(stems, key=_title):
        functions = [f for f in schema.public if f.file == stem]
        pages[f"docs/reference/{stem}.md"] = _page(schema, stem, functions)
    pages["docs/reference/README.md"] = _index(schema, sorted(stems, key=_title))
    return pages


_INTRO = [
    "Each entry shows the call as Python, C++ and Lua spell it, with `torch.`, `dt::` or `dt.` in front",
    "of what is no method, and then the function of `dumbtorch.h`. `dt.h` has the same as `T_NAME`, with",
    "defaults. What PyTorch keeps elsewhere is there in Python too: files under `dumbtorch.safetensors`,",
    "`save` and `load`; the GPU's memory and switches under `cuda` and `backends`. So a call that is",
    "shown with `dt::` is C++'s and, with `dt.`, Lua's.",
    "",
    "Errors have Python's names. In C and C++ they are codes: `TypeError` is `DT_STATUS_TYPE_ERROR` or",
    "`dt::Status::kTypeError`, and so on; `OSError` is `DT_STATUS_IO`, `NotImplementedError` is",
    "`DT_STATUS_NOT_IMPLEMENTED`. In Lua an error is its sentence.",
    "",
    "An entry ends with where the op lies: its function, the gradient if it has one of its own, the kernels",
    "that the function calls, and the test. What has no gradient or no kernels there is made of other ops.",
    "",
]


def _title(stem: str) -> str:
    return _TITLES.get(stem, stem.replace("_", " ").capitalize())


def _index(schema: Schema, stems: list[str]) -> str:
    lines = [f"<!-- {GENERATED} -->", "# Reference", "", *_INTRO]
    for stem in stems:
        names = [_heading(f) for f in schema.public if f.file == stem and not f.inplace]
        lines += [f"- [{_title(stem)}]({stem}.md): {', '.join(f'`{n}`' for n in names)}"]
    lines += ["", "## Choices", "", "Enums: in C `DT_NAME_VALUE`, in Python their names.", ""]
    for e in schema.enums.values():
        values = "; ".join(f"`{v.name}` {v.doc}" for v in e.values)
        lines.append(f"- **{e.name}**: {e.doc} {values}")
    return "\n".join(lines) + "\n"


def _heading(f: Function) -> str:
    return f.torch_name if f.layer else f.name


def _page(schema: Schema, stem: str, functions: list[Function]) -> str:
    parts = [f"<!-- {GENERATED} -->\n# {_title(stem)}\n"]
    parts += [_entry(schema, f) for f in functions]
    return "\n".join(parts)


def _entry(schema: Schema, f: Function) -> str:
    layer = schema.layers.get(f.layer)
    args = layer.args if layer else f.args
    language = "python" if f.namespaces or f.method or layer else "cpp"
    lines = [f"## {_heading(f)}", "", f.doc, "", f"```{language}", _call(f, layer), "```"]
    lines += ["```c", cabi.prototype(f), "```", ""]
    lines += [_argument(a) for a in args if a.kind.base != "options"]
    lines += [_field(a) for o in _structs(schema, f, layer) for a in o.fields]
    if f.returns and not layer:
        lines += ["", f"Returns: {f.returns}"]
    if f.errors:
        lines += ["", *(f"- raises {e}" for e in f.errors)]
    if source := places.of(schema, f):
        lines += ["", source]
    return "\n".join(lines) + "\n"


def _structs(schema: Schema, f: Function, layer: Layer | None) -> list[Options]:
    """The options that are not a layer's: those are its arguments already."""
    if layer:
        return []
    return [schema.options[a.kind.name] for a in f.args if a.kind.base == "options"]


# Where a namespace of the schema is found.
_PREFIX = {"torch": "", "functional": "nn.functional."}


def _call(f: Function, layer: Layer | None) -> str:
    """The call as Python, C++ and Lua spell it; with C++'s namespace if Python has another name."""
    args = layer.args if layer else f.args
    name = f.torch_name
    if f.namespaces:
        name = _PREFIX.get(f.namespaces[0], f.namespaces[0] + ".") + name
    elif f.method and not layer:
        owner = args[0].name if f.method == "tensor" else f.method
        name, args = f"{owner}.{f.method_name}", args[1:]
    elif not layer:
        name = f"dt::{name}"
    parts = []
    for a in args:
        if a.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(a.name + (f"={_default(a)}" if a.has_default else ""))
    return text.call(f"{name}(", parts, ")")


def _default(a: Argument) -> str:
    return f'"{a.default}"' if a.kind.base in ("enum", "str") and a.default else repr(a.default)


def _argument(a: Argument) -> str:
    written = " Written." if a.kind.mutable else ""
    return f"- `{a.name}` ({_kind(a)}): {a.doc}{written}"


def _field(a: Argument) -> str:
    return f"- `{a.name}` ({_kind(a)}, default {_default(a)}): {a.doc}"


def _kind(a: Argument) -> str:
    words = {
        "tensor": "tensor", "operand": "tensor or number", "scalar": "number", "i64": "int",
        "f64": "float", "bool": "bool", "str": "str", "path": "path", "callback": "function",
    }  # fmt: skip
    word = words.get(a.kind.base, a.kind.name or a.kind.base)
    if a.kind.list:
        word = f"list of {word}" + (f" or one {word}" if a.kind.count else "")
    return word + (", optional" if a.kind.optional else "")
