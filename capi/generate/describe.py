"""Prints share/dumbtorch/dumbtorch.json: the whole API as data, for generators and bindings of other
languages. share/dumbtorch/dumbtorch.schema.json says what is in it; docs/bindings.md shows a binding
over it."""

from __future__ import annotations

import json

from . import cabi, header
from .model import Argument, CFunction, Enum, Handle, SchemaError
from .plan import Call, Hook, Input, Plan, Result, Slot, Struct
from .text import GENERATED

# How a foreign function interface passes C's plain types; enums are int32.
_FFI = {
    "int64_t": "int64",
    "double": "double",
    "int32_t": "int32",
    "const char *": "text",
    "void": "void",
}


def generate(plan: Plan) -> dict[str, str]:
    plain = {"dt_" + c.name: _plain(c) for c in plan.schema.c_functions.values()}
    readers = {name: _reader(c) for name, c in plain.items() if _is_reader(c)}
    content = {
        "generated": GENERATED,
        "$schema": "./dumbtorch.schema.json",
        "version": header.version(),
        "level": plan.schema.api_level,
        "enums": {e.name: _enum(e) for e in plan.enums},
        "handles": {c.name: _handle(c.handle) for c in plan.classes},
        "callbacks": {h.name: _callback(h) for h in plan.hooks},
        "options": {s.options.name: _options(s) for s in plan.structs},
        "functions": {c.c_name: _function(c) for c in plan.calls} | readers,
        "plain_functions": {name: c for name, c in plain.items() if name not in readers},
    }
    return {"share/dumbtorch/dumbtorch.json": _lines(content)}


def _lines(content: dict) -> str:
    """A line for each entry, so that a difference shows what has changed."""
    parts = []
    for key, value in content.items():
        text = json.dumps(value)
        if isinstance(value, dict):
            entries = (
                f"{json.dumps(name)}: {json.dumps(entry, allow_nan=False)}"
                for name, entry in value.items()
            )
            text = "{\n" + ",\n".join(entries) + "\n}"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{" + ",\n".join(parts) + "\n}\n"


def _without_empty(entry: dict) -> dict:
    return {
        key: value
        for key, value in entry.items()
        if value != "" and value != [] and value is not False
    }


def _enum(e: Enum) -> dict:
    about = {v.name: {"since": v.since, "doc": v.doc} for v in e.values}
    numbers = {v.name: v.number for v in e.values}
    if e.zero:
        about = {e.zero: {"since": e.since, "doc": "Success."}} | about
        numbers = {e.zero: 0} | numbers
    return {"since": e.since, "doc": e.doc, "values": numbers, "about": about}


def _handle(h: Handle) -> dict:
    return {"since": h.since, "doc": h.doc, "release": f"dt_{h.name}_release"}


# ---- arguments and results


# Of C's own; callbacks are added by their kind.
_FUNCTION_POINTERS = ("dt_drop", "dt_allocate", "dt_deallocate")


def _ffi(c: str) -> str:
    if c in _FFI:
        return _FFI[c]
    if c.endswith("*") or c in _FUNCTION_POINTERS:
        return "pointer"
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
    "tensor": "object", "handle": "object", "str": "text", "path": "text", "bytes": "list", "enum": "enum",
    "operand": "scalar", "scalar": "scalar", "device": "device", "options": "options", "callback": "callback",
}  # fmt: skip

# The entries of lists that are no numbers.
_ENTRIES = {"tensor": "pointer", "str": "text", "bytes": "byte"}


def _form(a: Argument, parameters: list[dict]) -> dict:
    """How to pass an argument, and what is pointed to. A number may be pointed to, so that it can be absent."""
    form, c = _FORMS.get(a.kind.base, "number"), parameters[0]["c"]
    is_pointed = form == "number" and c.endswith("*") and a.kind.base != "pointer"
    if a.kind.list or form == "list" or is_pointed:
        return {"form": "list", "entry": _ENTRIES.get(a.kind.base) or _ffi(c[len("const ") : -2])}
    return {"form": form}


def _default(a: Argument) -> dict:
    """None is JSON's null."""
    return {"default": a.default} if a.has_default else {}


def _argument(i: Input) -> dict:
    a = i.argument
    if i.is_struct:
        c = f"const {i.c_type} *"
        parameters = [{"name": a.name, "c": c, "ffi": "pointer"}]
        return {
            **_value(a),
            "form": "options",
            "default": {},
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
    form = {"tensors": "list", "texts": "list"}.get(form, form)
    return {**_value(r.argument), "form": form, **entry, **handle, "parameters": parameters}


# What a callback is lent, by how a caller would give it, and what makes that which it gives back.
_LENT = {"object": "lent", "list": "lent_list", "text": "lent_text"}
_MAKERS = {"tensor": "dt_tensor_alias", "tensor_list": "dt_tensor_list_new"}


def _callback(h: Hook) -> dict:
    arguments = []
    for slot in h.inputs:
        a, parameters = slot.argument, _parameters(slot)
        form = _LENT.get(_form(a, parameters)["form"], "value")
        arguments.append({**_value(a), "form": form, "doc": a.doc, "parameters": parameters})
    results = []
    for r in h.results:
        maker = {"made_by": _MAKERS[r.handle]} if r.handle else {}
        results.append(_result(r) | maker)
    return {
        "since": h.callback.since,
        "doc": h.callback.doc,
        "when": "during" if h.callback.during else "later",
        "arguments": arguments,
        "results": results,
    }


# ---- options and functions


def _options(s: Struct) -> dict:
    o = s.options
    offsets = {m.parameter.name: m.offset for m in cabi.layout(o)}
    return {
        "since": o.since,
        "doc": o.doc,
        "size": cabi.struct_size(o),
        "init": f"dt_{o.name}_options_init",
        "fields": [_field(slot, offsets) for slot in s.slots],
    }


def _field(s: Slot, offsets: dict[str, int]) -> dict:
    """As an argument; its parameters are members of the struct."""
    a = s.argument
    facts = {"count": a.kind.count or "", "since": a.since, "doc": a.doc}
    members = [
        {"name": p.name, "c": p.type, "ffi": _ffi(p.type), "offset": offsets[p.name]}
        for p in s.parameters
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
        "since": c.since,
        "doc": c.doc,
        "returns": returns,
        "parameters": parameters,
    }


def _is_reader(plain: dict) -> bool:
    """Whether it shows text that a handle keeps: of the uniform shape, but for whose the text is."""
    return any(p["name"] == "self" for p in plain["parameters"])


def _reader(plain: dict) -> dict:
    self, *others = plain["parameters"]
    outs = [p | {"ffi": _ffi(p["c"][:-1].rstrip())} for p in others if p["c"].endswith("*")]
    numbers = [p for p in others if not p["c"].endswith("*")]
    handle = self["c"].removeprefix("dt_").removesuffix(" *")
    given = {"name": "self", "kind": "handle", "of": handle, "form": "object", "doc": "The object."}
    arguments = [given | {"parameters": [self]}]
    for p in numbers:
        given = {"name": p["name"], "kind": "i64", "form": "number", "doc": "Which, from 0."}
        arguments.append(given | {"parameters": [p]})
    text = {"name": outs[0]["name"], "kind": "str", "form": "lent_text", "parameters": outs}
    facts = {"since": plain["since"], "doc": plain["doc"], "class": handle}
    return facts | {"arguments": arguments, "results": [text]}
