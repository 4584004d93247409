"""Prints docs/reference: every function, layer, enum and options struct, a page per schema file."""

from __future__ import annotations

from . import cabi, places, reference_calls
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
    "`save` and `load`; the GPU's memory and switches under `cuda` and `backends`. A block that is marked",
    "`cpp` is C++'s and, with `.` for `::`, Lua's; what has a default comes there in a struct of options, in Lua",
    "a table: a layer's is named as the layer, `dt::nn::Conv2dOptions`.",
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
    lines = [f"## {_heading(f)}", "", f.doc, "", *_calls(schema, f, layer)]
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


def _calls(schema: Schema, f: Function, layer: Layer | None) -> list[str]:
    shown = reference_calls.blocks(schema, f, layer)
    return [line for language, call in shown for line in (f"```{language}", call, "```")]


def _structs(schema: Schema, f: Function, layer: Layer | None) -> list[Options]:
    """The options that are not a layer's: those are its arguments already."""
    if layer:
        return []
    return [schema.options[a.kind.name] for a in f.args if a.kind.base == "options"]


def _argument(a: Argument) -> str:
    written = " Written." if a.kind.mutable else ""
    return f"- `{a.name}` ({_kind(a)}): {a.doc}{written}"


def _field(a: Argument) -> str:
    return f"- `{a.name}` ({_kind(a)}, default {reference_calls.default(a)}): {a.doc}"


def _kind(a: Argument) -> str:
    words = {
        "tensor": "tensor", "operand": "tensor or number", "scalar": "number", "i64": "int",
        "f64": "float", "bool": "bool", "str": "str", "path": "path", "callback": "function",
    }  # fmt: skip
    word = words.get(a.kind.base, a.kind.name or a.kind.base)
    if a.kind.list:
        word = f"list of {word}" + (f" or one {word}" if a.kind.count else "")
    return word + (", optional" if a.kind.optional else "")
