"""What a schema must fulfil before anything is printed. It fails on the first fault; nothing is skipped."""

from __future__ import annotations

import re
from dataclasses import replace

from . import dtypes, expr, networks
from .core_ops import families
from .model import (
    ARGUMENT_KINDS,
    BACKENDS,
    FIELD_KINDS,
    RESULT_KINDS,
    Argument,
    Call,
    Enum,
    Function,
    Kernel,
    Layer,
    Options,
    Schema,
    SchemaError,
)

_WAITS = ("", "device", "file", "thread")


def check(schema: Schema) -> None:
    dtypes.check(schema)
    _layers(schema)  # before the functions that are made of them
    _functions(schema)
    _options(schema)
    _callbacks(schema)
    networks.check(schema)
    for e in schema.enums.values():
        _enum(f"[enum.{e.name}]", e, schema)
    for h in schema.handles.values():
        _documented(f"[handle.{h.name}]", h.doc)
        _levels(f"[handle.{h.name}]", h.since, (), schema)
    _c_functions(schema)
    for call in schema.calls.values():
        _call(f"[call.{call.name}]", call)
    for kernel in schema.kernels.values():
        _documented(f"[kernel.{kernel.name}]", kernel.doc)
        _kernel(f"{kernel.file}.toml: [kernel.{kernel.name}]", kernel, schema)
    _kernel_names(schema)
    _c_names(schema)
    _alphabet(schema)


def _layers(schema: Schema) -> None:
    for table, kind in ((schema.layers, "layer"), (schema.networks, "network")):
        for row in table.values():
            _documented(f"[{kind}.{row.name}]", row.doc)
    for layer in schema.layers.values():
        try:
            _calls(layer, schema)
        except SchemaError as error:
            raise SchemaError(f"{layer.file}.toml: [layer.{layer.name}]: {error}") from None


def _functions(schema: Schema) -> None:
    for f in schema.functions.values():
        where = f"{f.file}.toml: [fn.{f.name}]"
        _kinds(where, f.args, ARGUMENT_KINDS)
        _kinds(where, f.results, RESULT_KINDS)
        _documented(where, f.doc)
        _defaults(where, f.args, schema)
        _levels(where, f.since, (*f.args, *f.results), schema)
        if f.inplace_argument and f.name + "_" not in schema.functions:
            raise SchemaError(f"{where}: inplace_argument, but there is no {f.name}_")
        if f.inplace and not (f.args and f.args[0].kind.mutable):
            raise SchemaError(f"{where}: an in-place function's first argument is 'tensor!'")
        if f.method:
            _method_name(where, f, schema)
        if f.view not in ("", "always", "sometimes") or f.blocks not in _WAITS:
            raise SchemaError(f"{where}: view is always or sometimes, blocks one of {_WAITS}")
        if f.gives_back and (f.args[0].kind.base != "tensor" or f.results[0].kind.base != "tensor"):
            raise SchemaError(f"{where}: gives_back, but it makes no tensor of a tensor")
        if set(f.runs) - set(schema.callbacks):
            raise SchemaError(f"{where}: runs names callbacks")
        if len(f.results) > 1 and any(not r.name for r in f.results):
            raise SchemaError(f"{where}: several results need names")


def _options(schema: Schema) -> None:
    for o in schema.options.values():
        where = f"[options.{o.name}]"
        _kinds(where, o.fields, FIELD_KINDS)
        _documented(where, o.doc)
        _defaults(where, o.fields, schema)
        _levels(where, o.since, (), schema)
        for field in o.fields:
            _field(where, o, field, schema)


def _callbacks(schema: Schema) -> None:
    for c in schema.callbacks.values():
        where = f"[callback.{c.name}]"
        _kinds(where, c.args, ARGUMENT_KINDS)
        _kinds(where, c.results, RESULT_KINDS)
        _documented(where, c.doc)
        _levels(where, c.since, (*c.args, *c.results), schema)


def _c_functions(schema: Schema) -> None:
    for c in schema.c_functions.values():
        _documented(f"[c.{c.name}]", c.doc)
        _levels(f"[c.{c.name}]", c.since, (), schema)
        if c.name in schema.functions:
            raise SchemaError(f"[c.{c.name}]: the name is taken by [fn.{c.name}]")


def _calls(layer: Layer, schema: Schema) -> None:
    """What a layer's forward calls is there, and takes what it is given."""
    texts = [layer.forward, layer.forward_activated or "0", layer.each_training_step or "0"]
    for text in [*texts, *(c.condition for c in layer.input_checks)]:
        for name, given in expr.calls_of(text):
            found = schema.functions.get(name) or schema.functions.get(f"tensor_{name}")
            if not found and name not in expr.OF_ARGUMENTS:
                raise SchemaError(f"'{text}': there is no '{name}'")
            if found and given > len(found.args):
                raise SchemaError(f"'{text}': {name} takes {len(found.args)} arguments")


def _levels(where: str, since: int, parts: tuple[Argument, ...], schema: Schema) -> None:
    """A level exists, and nothing is made of what a later one adds."""
    if not 1 <= since <= schema.api_level:
        raise SchemaError(
            f"{where}: since {since} is not one of the levels 1 to {schema.api_level}"
        )
    tables = {
        "enum": schema.enums,
        "handle": schema.handles,
        "options": schema.options,
        "callback": schema.callbacks,
    }
    for a in parts:
        if a.since:
            raise SchemaError(f"{where}: '{a.name}': only fields of options can come later")
        if a.kind.name and tables[a.kind.base][a.kind.name].since > since:
            raise SchemaError(f"{where}: '{a.name}': {a.kind.name} comes later than level {since}")


def _field(where: str, o: Options, field: Argument, schema: Schema) -> None:
    if not field.has_default:
        raise SchemaError(f"{where}: '{field.name}' needs a default")
    if field.since < o.since:
        raise SchemaError(f"{where}: '{field.name}' cannot be older than its struct")
    _levels(f"{where}: '{field.name}'", field.since, (replace(field, since=0),), schema)
    if field.since > o.since and field.kind.optional and field.default is not None:
        # An older program's struct holds 0 there, which would mean "absent" instead of the default.
        raise SchemaError(f"{where}: '{field.name}': a later optional field's default is none")


def _enum(where: str, e: Enum, schema: Schema) -> None:
    """Numbers are used up in order: a gap is declared as reserved."""
    numbers = sorted([*(v.number for v in e.values), *e.reserved])
    if numbers != list(range(1, len(numbers) + 1)):
        raise SchemaError(f"{where}: numbers are 1, 2, 3, ...; gaps are listed in 'reserved'")
    _documented(where, e.doc)
    for value in e.values:
        _documented(f"{where}: '{value.name}'", value.doc)
    for since in (e.since, *(v.since for v in e.values)):
        _levels(where, since, (), schema)
    if any(v.since < e.since for v in e.values):
        raise SchemaError(f"{where}: a value cannot be older than its enum")


def _alphabet(schema: Schema) -> None:
    """A kind that nothing uses is a kind that nothing tests."""
    functions = schema.public
    for allowed, used in (
        (ARGUMENT_KINDS, [a for f in functions for a in f.args]),
        (RESULT_KINDS, [r for f in functions for r in f.results]),
        (FIELD_KINDS, [a for o in schema.options.values() for a in o.fields]),
    ):
        unused = set(allowed) - {a.kind.key for a in used}
        if unused:
            raise SchemaError(f"nothing uses the kind '{sorted(unused)[0]}'")


def _c_names(schema: Schema) -> None:
    """C has one name space for types and functions."""
    names = [*schema.enums, *schema.handles, *schema.callbacks, *schema.c_functions]
    names += [o + "_options" for o in schema.options] + [h + "_release" for h in schema.handles]
    names += [o + "_options_init" for o in schema.options] + ["drop"]
    names += [f.name for f in schema.public]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"dt_{name} is declared twice")


def _method_name(where: str, f: Function, schema: Schema) -> None:
    """Methods are called OBJECT_verb. Only ops on tensors have PyTorch's bare names."""
    is_op = f.method == "tensor" and f.file in families(schema)
    if f.name.startswith(f.method + "_") == is_op:
        wanted = "PyTorch's name" if is_op else f"the prefix '{f.method}_'"
        raise SchemaError(f"{where}: a method of this file has {wanted}")


def _kinds(where: str, args: tuple[Argument, ...], allowed: tuple[str, ...]) -> None:
    for a in args:
        if a.kind.key not in allowed:
            raise SchemaError(f"{where}: '{a.name}': kind '{a.kind.key}' is not in the alphabet")


def _documented(where: str, doc: str) -> None:
    if not doc.strip():
        raise SchemaError(f"{where}: doc is missing")


def _defaults(where: str, args: tuple[Argument, ...], schema: Schema) -> None:
    """A default has the type of its argument, and no argument without one follows."""
    seen = False
    for a in args:
        seen = seen or (a.has_default and not a.keyword_only)
        if seen and not a.has_default and not a.keyword_only:
            raise SchemaError(f"{where}: '{a.name}' needs a default: an argument before it has one")
        if not a.has_default or a.default is None:
            continue
        if a.kind.base == "enum":
            good = a.default in (v.name for v in schema.enums[a.kind.name].values)
        elif a.kind.list:
            good = isinstance(a.default, list)
        else:
            types = {"bool": bool, "i64": int, "f64": float, "str": str}
            types |= {"scalar": (bool, int, float), "operand": (bool, int, float)}
            good = isinstance(a.default, types.get(a.kind.base, ()))
            good = good and (
                isinstance(a.default, bool) <= (a.kind.base in ("bool", "scalar", "operand"))
            )
        if not good:
            raise SchemaError(f"{where}: '{a.name}': default {a.default!r} is not a {a.kind.key}")


def _call(where: str, call: Call) -> None:
    """Names differ, and the places of all operands follow from their counts."""
    names = [entry.name for entry in (*call.operands, *call.numbers)]
    for name in names:
        if names.count(name) > 1 or name in ("op", "workspace", "k", "inputs", "outputs"):
            raise SchemaError(f"{where}: the name '{name}' is taken")
    if any(n.listed for n in call.numbers) and not call.has_lists:
        raise SchemaError(f"{where}: a list of numbers is as long as one of operands")
    whole_sides = 0
    for side in (call.out, call.inputs):
        lists = [o for o in side if o.listed]
        whole_sides += bool(lists) and not any(o.optional for o in lists)
        if any(o.listed and o.optional for o in side[:-1]):
            raise SchemaError(f"{where}: a list that may be absent is the last of its side")
    if call.has_lists and not whole_sides:
        raise SchemaError(f"{where}: nothing says how long the lists are")


def _kernel(where: str, kernel: Kernel, schema: Schema) -> None:
    for key in ("workspace", "narrow"):
        if unknown := set(getattr(kernel, key)) - set(BACKENDS):
            raise SchemaError(f"{where}: {key}: '{unknown.pop()}' is no backend")
    if kernel.call.file != kernel.file:
        raise SchemaError(f"{where}: its call stands in another file, {kernel.call.file}.toml")
    if kernel.index_raises not in [v.name for v in schema.enums["status"].values]:
        raise SchemaError(f"{where}: index_raises: '{kernel.index_raises}' is no status")
    known = {"index", "size", *(n.name for n in kernel.call.ints)}
    for name in re.findall(r"\{(\w+)\}", kernel.index_error):
        if name not in known:
            raise SchemaError(f"{where}: index_error: '{name}' is not index, size or an integer")


def _kernel_names(schema: Schema) -> None:
    names = list(schema.kernels)
    for f in schema.elementwise:
        names.append(f.name)
        if f.elementwise.grad:
            names.append(f.name + "_backward")
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"kernel '{name}' exists twice")
