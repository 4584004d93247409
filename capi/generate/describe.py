"""Prints share/dumbtorch/dumbtorch.json: the whole API as data, for generators and bindings of other
languages. share/dumbtorch/dumbtorch.schema.json says what is in it; docs/bindings.md shows a binding
over it."""

from __future__ import annotations

import json

from . import cabi, header
from .model import Argument, CFunction, Enum, Handle, Options, SchemaError
from .plan import Call, Hook, Input, Plan, Result, Slot
from .text import GENERATED

# How a foreign function interface passes C's plain types; enums are int32.
_FFI = {"int64_t": "int64", "double": "double", "int32_t": "int32", "void": "void"}


def generate(plan: Plan) -> dict[str, str]:
    content = {
        "generated": GENERATED,
        "$schema": "./dumbtorch.schema.json",
        "version": header.version(),
        "level": plan.schema.api_level,
        "enums": [_enum(e) for e in plan.enums],
        "handles": [_handle(c.handle) for c in plan.classes],
        "callbacks": [_callback(h) for h in plan.hooks],
        "options": [_options(o) for o in plan.options],
        "functions": [_function(c) for c in plan.calls],
        "plain_functions": [_plain(c) for c in plan.schema.c_functions.values()],
    }
    return {"share/dumbtorch/dumbtorch.json": _lines(content)}


def _lines(content: dict) -> str:
    """A line for each entry, so that a difference shows what has changed."""
    parts = []
    for key, value in content.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(json.dumps(entry) for entry in value) + "\n]"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{" + ",\n".join(parts) + "\n}\n"


def _without_empty(entry: dict) -> dict:
    return {
        key: value
        for key, value in entry.items()
        if value != "" and value != [] and value is not False
    }


def _enum(e: Enum) -> dict:
    values = [
        {"name": v.name, "number": v.number, "since": v.since, "doc": v.doc} for v in e.values
    ]
    if e.zero:
        values.insert(0, {"name": e.zero, "number": 0, "since": e.since, "doc": "Success."})
    return {"name": e.name, "since": e.since, "doc": e.doc, "values": values}


def _handle(h: Handle) -> dict:
    return {"name": h.name, "since": h.since, "doc": h.doc, "release": f"dt_{h.name}_release"}


# ---- arguments and results


# Of C's own; callbacks are added by their kind.
_FUNCTION_POINTERS = ("dt_drop", "dt_allocate", "dt_deallocate")


def _ffi(c: str) -> str:
    if c.endswith("*") or c in _FUNCTION_POINTERS:
        return "pointer"
    if c in _FFI:
        return _FFI[c]
    if c.startswith("dt_"):
        return "int32"  # an enum, or a callback, whose function is a pointer where it is passed
    raise SchemaError(f"describe: how to pass a {c} is not known")


def _parameters(value: Slot | Result) -> list[dict]:
    """A callback's function is a pointer too, and stands first."""
    parts = [{"name": p.name, "c": p.type, "ffi": _ffi(p.type)} for p in value.parameters]
    if value.kind.base == "callback":
        parts[0]["ffi"] = "pointer"
    return parts


def _value(a: Argument) -> dict:
    """What arguments, fields and results have in common."""
    named = {"of": a.kind.name} if a.kind.name else {}
    return {"name": a.name, "kind": a.kind.key, **named}


# What the parameters of an argument hold, by the first word of its kind; i64, f64, bool: a number.
_FORMS = {
    "tensor": "object", "handle": "object", "str": "text", "path": "text", "bytes": "bytes", "enum": "enum",
    "operand": "operand", "scalar": "scalar", "device": "device", "options": "options", "callback": "callback",
}  # fmt: skip


def _form(a: Argument, parameters: list[dict]) -> dict:
    """How to pass an argument, and what is pointed to. A number may be pointed to, so that it can be absent."""
    form, c = _FORMS.get(a.kind.base, "number"), parameters[0]["c"]
    if a.kind.list:
        entry = form if form in ("object", "text") else _ffi(c[len("const ") : -2])
        return {"form": "list", "entry": entry}
    if form == "number" and c.endswith("*") and a.kind.base != "pointer":
        return {"form": "pointed", "entry": _ffi(c[len("const ") : -2])}
    return {"form": form}


def _default(a: Argument) -> dict:
    """None is JSON's null; JSON has no infinity."""
    if not a.has_default:
        return {}
    return {"default": str(a.default) if a.default in (float("inf"), -float("inf")) else a.default}


def _argument(i: Input) -> dict:
    a = i.argument
    if i.is_struct:
        c = f"const {cabi.type_name(a.kind)} *"
        parameters = [{"name": a.name, "c": c, "ffi": "pointer"}]
        return {
            **_value(a),
            "form": "options",
            "default": None,
            "doc": a.doc,
            "parameters": parameters,
        }
    slot = i.slots[0]
    facts = {
        "count": a.kind.count or "",
        "keyword_only": a.keyword_only,
        "written": slot.written,
        "kept": slot.kept,
        "doc": a.doc,
    }
    parameters = _parameters(slot)
    facts |= _form(a, parameters)
    return {**_value(a), **_default(a), **_without_empty(facts), "parameters": parameters}


def _result(r: Result) -> dict:
    """A handle is new and the caller's; other values are copies. All go where parameters point to,
    which is what ffi speaks of: but for a buffer and its capacity."""
    handle = {"handle": r.handle} if r.handle else {}
    parameters = _parameters(r)
    is_buffer = r.form == "numbers"
    for p in parameters[-1:] if is_buffer else parameters:
        p["ffi"] = _ffi(p["c"][:-1].rstrip())
    entry = {"entry": _ffi(parameters[0]["c"][:-1].rstrip())} if is_buffer else {}
    form = r.argument.kind.base if r.argument.kind.base in ("scalar", "device") else r.form
    return {**_value(r.argument), "form": form, **entry, **handle, "parameters": parameters}


def _callback(h: Hook) -> dict:
    arguments = []
    for slot in h.inputs:
        a, parameters = slot.argument, _parameters(slot)
        arguments.append(
            {**_value(a), **_form(a, parameters), "doc": a.doc, "parameters": parameters}
        )
    return {
        "name": h.name,
        "since": h.callback.since,
        "doc": h.callback.doc,
        "when": "during" if h.callback.during else "later",
        "arguments": arguments,
        "results": [_result(r) for r in h.results],
    }


# ---- options and functions


def _options(o: Options) -> dict:
    return {
        "name": o.name,
        "since": o.since,
        "doc": o.doc,
        "size": cabi.struct_size(o),
        "init": f"dt_{o.name}_options_init",
        "fields": [_field(o, a) for a in o.fields],
    }


def _field(o: Options, a: Argument) -> dict:
    """As an argument; its parameters are members of the struct."""
    offsets = {m.parameter.name: m.offset for m in cabi.layout(o)}
    facts = {"count": a.kind.count or "", "since": a.since, "doc": a.doc}
    members = [
        {"name": p.name, "c": p.type, "ffi": _ffi(p.type), "offset": offsets[p.name]}
        for p in cabi.field(a, o)
    ]
    facts |= _form(a, members)
    return {**_value(a), **_default(a), **_without_empty(facts), "parameters": members}


def _function(c: Call) -> dict:
    f = c.function
    facts = {
        "returns": f.returns,
        "errors": list(f.errors),
        "class": f.method,
        "member": c.member,
        "property": f.as_property,
        "operator": f.operator,
        "namespaces": list(c.namespaces),
        "free": c.free if c.namespaces else "",
        "layer": f.layer,
        "returns_first": c.returns_this,
        "view": f.view,
        "blocks": f.blocks,
        "runs": list(f.runs),
    }
    return {
        "name": c.c_name,
        "since": c.since,
        "doc": f.doc,
        **_without_empty(facts),
        "arguments": [_argument(i) for i in c.inputs],
        "results": [_result(r) for r in c.results],
    }


def _plain(c: CFunction) -> dict:
    """A function that is not of the uniform shape: C declarations alone."""
    parameters = []
    for text in c.args:
        head, _, name = text.rpartition(" ")
        kind = head + " " + "*" * name.count("*") if "*" in name else head
        parameters.append({"name": name.lstrip("*"), "c": kind, "ffi": _ffi(kind)})
    returns = {"c": c.returns, "ffi": _ffi(c.returns)}
    return {
        "name": "dt_" + c.name,
        "since": c.since,
        "doc": c.doc,
        "returns": returns,
        "parameters": parameters,
    }
