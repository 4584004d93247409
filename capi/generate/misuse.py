"""Prints tests/capi/misuse_*_test.c: every function called with every kind of wrong argument.

A call has one wrong argument and good ones before it, so it fails before the core is asked to do
anything; the harness (tests/capi/misuse.h) checks the status, the message and the outputs."""

from __future__ import annotations

import dataclasses

from . import cabi
from .model import Argument, Schema
from .plan import Call, Hook, Input, Plan
from .text import GENERATED

Case = tuple[list[str], str]  # (C arguments, status without DT_STATUS_)


def generate(plan: Plan) -> dict[str, str]:
    files = {}
    for stem in dict.fromkeys(c.function.file for c in plan.calls):
        calls = [c for c in plan.calls if c.function.file == stem and _can_be_wrong(c)]
        if calls:
            files[f"tests/capi/misuse_{stem}_test.c"] = _program(plan, calls)
    return files


def _can_be_wrong(c: Call) -> bool:
    """False for a function of plain numbers that gives nothing back: its arguments are always well-formed."""
    return bool(c.results) or any(_bad(i.argument) for i in c.inputs)


def _program(plan: Plan, functions: list[Call]) -> str:
    parts = [f"/* {GENERATED} */", '#include "tests/capi/misuse.h"\n']
    tests = []
    for c in functions:
        calls, name = _calls(plan.schema, c), c.function.name
        assert calls, f"{name} has no wrong call"
        tests += [f"static void test_{name}(void) {{", *(f"  {line}" for line in calls), "}\n"]
    # A function whose only argument is a callback is never called with a good one.
    used = dict.fromkeys(s.kind.name for c in functions for s in c.callbacks)
    called = [n for n in used if any(f"called_{n}" in line for line in tests)]
    hooks = {h.name: h for h in plan.hooks}
    parts += [*(_callback(hooks[name]) for name in called), *tests]
    parts.append("int main(void) {\n  misuse_begin();")
    parts += [f"  test_{c.function.name}();" for c in functions]
    parts.append("  return misuse_end();\n}\n")
    return "\n".join(parts)


def _callback(h: Hook) -> str:
    """A function of the callback's type that reports that it was called."""
    parameters = cabi.callback_parameters(h.callback)
    names = ["user_data", *(name for _, name in cabi.parameters(h.callback))]
    unused = " ".join(f"(void){name};" for name in names)
    return (
        f"static dt_status called_{h.name}({', '.join(parameters)}) {{\n"
        f"  {unused}\n  return called();\n}}\n"
    )


def _calls(schema: Schema, c: Call) -> list[str]:
    good = [_good(schema, i.argument) for i in c.inputs]
    outs = _outs(c)
    calls = []

    def call(arguments: list[list[str]], status: str, prepared: str = "") -> None:
        text = ", ".join(x for group in arguments for x in group)
        expect = f'EXPECT({status}, "{c.function.name}", {c.c_name}({text}));'
        calls.append(f"{{ {prepared} {expect} }}" if prepared else expect)

    for i, given in enumerate(c.inputs):
        for bad, status in _bad(given.argument):
            call([*good[:i], bad, *good[i + 1 :], *outs], status)
        if given.is_struct:
            for options, status in _bad_fields(schema, given):
                call([*good[:i], ["&options"], *good[i + 1 :], *outs], status, options)
    for i, group in enumerate(outs):
        for j, out in enumerate(group):
            if "out." in out:
                broken = [*group[:j], "NULL", *group[j + 1 :]]
                call([*good, *outs[:i], broken, *outs[i + 1 :]], "TYPE_ERROR")
        if c.results[i].form == "numbers":
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


def _bad(a: Argument) -> list[Case]:
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


def _bad_fields(schema: Schema, i: Input) -> list[tuple[str, str]]:
    """A variable `options` with one wrong field, for each field and what can be wrong with it."""
    start = f"{i.c_type} options = {i.c_type.upper()}_INIT;"
    cases = []
    for slot in i.slots:
        # 0 means the default, so it is no fault.
        kind = dataclasses.replace(slot.kind, optional=True)
        for values, status in _bad(dataclasses.replace(slot.argument, kind=kind)):
            pairs = zip(slot.parameters, values, strict=True)
            settings = " ".join(f"options.{m.name} = {v};" for m, v in pairs)
            cases.append((f"{start} {settings}", status))
    for m in cabi.layout(schema.options[i.argument.kind.name]):
        if m.parameter.name.startswith("reserved"):
            cases.append((f"{start} options.{m.parameter.name} = 1;", "VALUE_ERROR"))
    return cases


def _outs(c: Call) -> list[list[str]]:
    """The outputs of each result: no two are the same, so that the harness sees which one a failing
    call leaves alone."""
    groups, used = [], dict.fromkeys(("pointer", "i64", "f64", "i32"), 0)

    def take(member: str) -> str:
        used[member] += 1
        return f"&out.{member}[{used[member] - 1}]"

    for r in c.results:
        if r.form == "numbers":
            groups.append([f"out.{r.kind.base}s", "4", take("i64")])
            continue
        group = []
        for c_type, _ in r.parameters:
            if c_type.endswith("**"):
                cast = "" if c_type == "void **" else f"({c_type})"
                group.append(cast + take("pointer"))
            else:
                group.append(take({"int64_t *": "i64", "double *": "f64"}.get(c_type, "i32")))
        groups.append(group)
    assert max(used.values()) <= 4, f"{c.c_name} has more results than misuse.h has outputs"
    return groups
