"""Prints tests/capi/misuse_*_test.c: every function called with every kind of wrong argument.

A call has one wrong argument and good ones before it, so it fails before the core is asked to do
anything; the harness (tests/capi/misuse.h) checks the status, the message and the outputs."""

from __future__ import annotations

import dataclasses

from . import cabi
from .model import Argument, Callback, Function, Schema
from .text import GENERATED

Case = tuple[list[str], str]  # (C arguments, status without DT_STATUS_)


def generate(schema: Schema) -> dict[str, str]:
    files = {}
    for stem in dict.fromkeys(f.file for f in schema.public):
        functions = [f for f in schema.public if f.file == stem and _can_be_wrong(schema, f)]
        if functions:
            files[f"tests/capi/misuse_{stem}_test.c"] = _program(schema, functions)
    return files


def _can_be_wrong(schema: Schema, f: Function) -> bool:
    """False for a function of plain numbers that gives nothing back: its arguments are always well-formed."""
    return bool(f.results) or any(_bad(schema, a) for a in f.args)


def _program(schema: Schema, functions: list[Function]) -> str:
    parts = [f"/* {GENERATED} */", '#include "tests/capi/misuse.h"\n']
    used = [a.kind.name for f in functions for a in f.args if a.kind.base == "callback"]
    tests = []
    for f in functions:
        calls = _calls(schema, f)
        assert calls, f"{f.name} has no wrong call"
        tests += [f"static void test_{f.name}(void) {{", *(f"  {line}" for line in calls), "}\n"]
    # A function whose only argument is a callback is never called with a good one.
    called = [n for n in dict.fromkeys(used) if any(f"called_{n}" in line for line in tests)]
    parts += [*(_callback(schema.callbacks[name]) for name in called), *tests]
    parts.append("int main(void) {\n  misuse_begin();")
    parts += [f"  test_{f.name}();" for f in functions]
    parts.append("  return misuse_end();\n}\n")
    return "\n".join(parts)


def _callback(c: Callback) -> str:
    """A function of the callback's type that reports that it was called."""
    parameters = cabi.callback_parameters(c)
    names = ["user_data", *(name for _, name in cabi.parameters(c))]
    unused = " ".join(f"(void){name};" for name in names)
    return (
        f"static dt_status called_{c.name}({', '.join(parameters)}) {{\n"
        f"  {unused}\n  return called();\n}}\n"
    )


def _calls(schema: Schema, f: Function) -> list[str]:
    good = [_good(schema, a) for a in f.args]
    outs = _outs(f)
    calls = []

    def call(arguments: list[list[str]], status: str, prepared: str = "") -> None:
        text = ", ".join(x for group in arguments for x in group)
        expect = f'EXPECT({status}, "{f.name}", {f.c_name}({text}));'
        calls.append(f"{{ {prepared} {expect} }}" if prepared else expect)

    for i, a in enumerate(f.args):
        for bad, status in _bad(schema, a):
            call([*good[:i], bad, *good[i + 1 :], *outs], status)
        if a.kind.base == "options":
            for options, status in _bad_fields(schema, a):
                call([*good[:i], ["&options"], *good[i + 1 :], *outs], status, options)
    for i, group in enumerate(outs):
        for j, out in enumerate(group):
            if "out." in out:
                broken = [*group[:j], "NULL", *group[j + 1 :]]
                call([*good, *outs[:i], broken, *outs[i + 1 :]], "TYPE_ERROR")
        if f.results[i].kind.key == "i64[]":
            array, _, count = group
            call([*good, *outs[:i], [array, "-1", count], *outs[i + 1 :]], "VALUE_ERROR")
    return calls


def _good(schema: Schema, a: Argument) -> list[str]:
    kind = a.kind
    match kind.base:
        case "tensor" if kind.list:
            return ["good.tensors", "2"]
        case "tensor":
            return ["good.tensor"]
        case "handle":
            return [f"good.{kind.name}"]
        case "operand":
            return ["good.tensor", "0", "0", "0.0"]
        case "scalar":
            return ["DT_SCALAR_KIND_INT", "1", "0.0"]
        case "i64" | "f64" | "bool" if kind.list:
            return [f"good.{kind.base}s", "1"]
        case "i64" | "f64" | "bool" if kind.optional:
            return ["NULL"]
        case "i64" | "f64" | "bool":
            return ["1"]
        case "str" if kind.list:
            return ["good.strs", "1"]
        case "str" | "path":
            return ['"text"']
        case "bytes":
            return ["good.i64s", "8"]
        case "enum":
            return [cabi.enum_constant(kind.name, schema.enums[kind.name].values[0].name)]
        case "device":
            return ["DT_DEVICE_TYPE_CPU", "0"]
        case "options":
            return ["NULL"]
        case "callback":
            return [f"called_{kind.name}", "&good.drops", "count_drop"]
    raise KeyError(kind.key)


def _bad(schema: Schema, a: Argument) -> list[Case]:
    kind = a.kind
    match kind.base:
        case "tensor" if kind.list:
            cases = [(["NULL", "2"], "VALUE_ERROR"), (["good.tensors", "-7"], "VALUE_ERROR")]
            cases += [(["NULL", "-1"], "VALUE_ERROR")]
            cases += [
                (["bad.released_tensors", "2"], "HANDLE"),
                (["bad.foreign_tensors", "2"], "HANDLE"),
            ]
            return cases + (
                [] if kind.element_optional else [(["bad.null_tensors", "2"], "HANDLE")]
            )
        case "tensor" | "handle":
            c = cabi.type_name(kind)
            bad = [
                "bad.released",
                "bad.garbage",
                "bad.foreign" if c == "dt_tensor" else "good.tensor",
            ]
            if not kind.optional:
                bad.append("NULL")
            return [([f"({c} *){b}" if b != "NULL" else b], "HANDLE") for b in bad]
        case "operand":
            cases = [(["(dt_tensor *)bad.released", "0", "0", "0.0"], "HANDLE")]
            cases.append((["(dt_tensor *)bad.foreign", "0", "0", "0.0"], "HANDLE"))
            cases.append((["NULL", "99", "0", "0.0"], "TYPE_ERROR"))
            return cases if kind.optional else [*cases, (["NULL", "0", "0", "0.0"], "HANDLE")]
        case "scalar":
            cases = [(["99", "0", "0.0"], "TYPE_ERROR")]
            return cases if kind.optional else [*cases, (["0", "0", "0.0"], "TYPE_ERROR")]
        case "i64" | "f64" | "bool" | "str" if kind.list:
            lists = (["NULL", "2"], ["NULL", "-1"], [f"good.{kind.base}s", "-7"])
            return [(values, "VALUE_ERROR") for values in lists]
        case "bytes":
            return [(["NULL", "2"], "VALUE_ERROR"), (["good.i64s", "-7"], "VALUE_ERROR")]
        case "str" | "path":
            return [] if kind.optional else [(["NULL"], "TYPE_ERROR")]
        case "enum":
            cases = [(["99"], "VALUE_ERROR"), (["-1"], "VALUE_ERROR")]
            return cases if kind.optional else [*cases, (["0"], "VALUE_ERROR")]
        case "device":
            cases = [(["99", "0"], "VALUE_ERROR"), (["DT_DEVICE_TYPE_CPU", "-1"], "VALUE_ERROR")]
            return cases if kind.optional else [*cases, (["0", "0"], "VALUE_ERROR")]
        case "options":
            c = cabi.type_name(kind)
            return [
                ([f"(const {c} *)&bad.size_zero"], "VALUE_ERROR"),
                ([f"(const {c} *)&bad.size_newer"], "NOT_IMPLEMENTED"),
            ]
        case "callback":
            absent = ["NULL", "&good.drops", "count_drop"]
            return [] if kind.optional else [(absent, "TYPE_ERROR")]
        case "i64" | "f64" | "bool":
            return []  # every number is well-formed: what it means is the core's business
    raise KeyError(kind.key)


def _bad_fields(schema: Schema, a: Argument) -> list[tuple[str, str]]:
    """A variable `options` with one wrong field, for each field and what can be wrong with it."""
    c, o = cabi.type_name(a.kind), schema.options[a.kind.name]
    start = f"{c} options = {c.upper()}_INIT;"
    cases = []
    for field in o.fields:
        # 0 means the default, so it is no fault.
        may_be_0 = dataclasses.replace(field, kind=dataclasses.replace(field.kind, optional=True))
        for values, status in _bad(schema, may_be_0):
            pairs = zip(cabi.field(field, o), values, strict=True)
            settings = " ".join(f"options.{m.name} = {v};" for m, v in pairs)
            cases.append((f"{start} {settings}", status))
    for m in cabi.layout(o):
        if m.parameter.name.startswith("reserved"):
            cases.append((f"{start} options.{m.parameter.name} = 1;", "VALUE_ERROR"))
    return cases


def _outs(f: Function) -> list[list[str]]:
    """The outputs of each result: no two are the same, so that the harness sees which one a failing
    call leaves alone."""
    groups, used = [], dict.fromkeys(("pointer", "i64", "f64", "i32"), 0)

    def take(member: str) -> str:
        used[member] += 1
        return f"&out.{member}[{used[member] - 1}]"

    for r in f.results:
        if r.kind.key in ("i64[]", "f64[]"):
            groups.append([f"out.{r.kind.base}s", "4", take("i64")])
            continue
        group = []
        for c_type, _ in cabi.result(r):
            if c_type.endswith("**"):
                cast = "" if c_type == "void **" else f"({c_type})"
                group.append(cast + take("pointer"))
            else:
                group.append(take({"int64_t *": "i64", "double *": "f64"}.get(c_type, "i32")))
        groups.append(group)
    assert max(used.values()) <= 4, f"{f.name} has more results than misuse.h has outputs"
    return groups
