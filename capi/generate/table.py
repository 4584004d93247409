"""Prints wrappers/table/functions.gen.c: the plan as a C table, through which Lua, Go and Fortran
call. wrappers/table/table.h says what is in it.

Every function becomes an adapter between cells and C parameters, and a description of what it takes
and gives; a callback becomes the C function that packs what the library gives it into cells."""

from __future__ import annotations

import functools
import pathlib
import re

from . import cabi
from .cabi import Parameter
from .model import Argument, Kind, SchemaError
from .plan import Call, Class, Hook, Input, Operator, Plan, Result, Slot
from .text import GENERATED, call

_TOP = f"""\
/* {GENERATED} */
#include "wrappers/table/array.h"

#include <math.h>
"""

_FOLDER = pathlib.Path(__file__).resolve().parents[2] / "wrappers" / "table"
_SHOWN = ("device_type", "dtype")  # enums that wrappers/table itself reads

# Of languages that have lists of lists: dynamic.h does these two without a function of C's.
_LISTS = {
    "tensor": [
        ("data", Kind("scalar"), True),
        ("dtype", Kind("enum", "dtype", optional=True), False),
        ("requires_grad", Kind("bool"), False),
        ("device", Kind("device", optional=True), False),
    ],
    "tolist": [("input", Kind("tensor"), True)],
}


def generate(plan: Plan) -> dict[str, str]:
    return {"wrappers/table/functions.gen.c": _Table(plan).text()}


@functools.cache
def _room() -> tuple[int, ...]:
    """How many arguments, cells of theirs and cells of results a call has room for."""
    text = (_FOLDER / "table.h").read_text()
    words = ("ARGS", "CELLS", "RESULTS")
    return tuple(int(re.search(rf"DTT_MAX_{word} = (\d+)", text)[1]) for word in words)


def linked(bridge: str) -> list[tuple[str, str, dict[str, str]]]:
    """The functions of linked.h, and of a language's own C, that have a line of their own: what each gives back, its
    name, and its arguments with their types."""
    found = re.findall(
        r"^(\w+) (?!dtt_)(\w+)\((.*)\)(?: {|;)$", (_FOLDER / "linked.h").read_text() + bridge, re.M
    )
    pairs = [[a.removeprefix("const ").rsplit(" ", 1) for a in x.split(", ")] for *_, x in found]
    return [(*f[:2], {x: c for c, x in p}) for f, p in zip(found, pairs, strict=True)]


def cells(kind: Kind) -> tuple[str, ...]:
    """The members of the cells that a value takes."""
    if kind.list or kind.base == "bytes":
        return ("p", "i")
    parts = {
        "operand": ("p", "i", "i", "f"), "scalar": ("i", "i", "f"), "device": ("i", "i"),
        "i64": ("i",), "bool": ("i",), "enum": ("i",), "f64": ("f",),
    }.get(kind.base, ("p",))  # fmt: skip
    return ("i", *parts) if _is_optional_number(kind) else parts


def _is_optional_number(kind: Kind) -> bool:
    return kind.optional and not kind.list and kind.base in ("i64", "f64", "bool")


class _Table:
    def __init__(self, plan: Plan):
        self.plan = plan
        self.shared: dict[str, str] = {}  # arrays that several functions have, by content
        self.new: list[str] = []  # those that are not printed yet
        self.next: dict[str, tuple[str, int]] = {}  # the overload after a call, and what tells

    def text(self) -> str:
        parts = [_TOP, *map(self.enum, self.plan.enums), *map(self.handle, self.plan.classes)]
        parts += map(self.hook, self.plan.hooks)
        for group in self.groups():
            for c, less in zip(group.calls, group.calls[1:], strict=False):
                self.next[c.c_name] = (less.function.name, group.place(c)[0])
        # An overload comes before the one that leads to it.
        for c in sorted(self.plan.calls, key=lambda c: c.c_name in self.next):
            parts += [self.adapter(c), self.function(c)]
        for c in (*self.plan.own, *self.plan.arrays):
            parts += [self.adapter(c, f"dtt_{c.member or c.free}"), self.function(c)]
        parts += map(self.operator, self.operators())
        parts += [*self.lists(), self.functions(), self.handles(), self.names()]
        return "\n".join(parts)

    def groups(self):
        for c in self.plan.classes:
            yield from c.methods
        for n in self.plan.namespaces:
            yield from n.functions

    def operators(self):
        """Those that take a number on either side, and have not one function for both."""
        return [o for c in self.plan.classes for o in c.operators if o.reflected]

    # ---- enums, handles, callbacks

    @staticmethod
    def enum(e) -> str:
        static = "" if e.name in _SHOWN else "static __attribute__((unused)) "
        name = f"dtt_{e.name}s" if not static else f"enum_{e.name}"
        values = [f'{{"{v.name}", {v.number}}}' for v in e.values] + ["{NULL, 0}"]
        head = call(f"static const dtt_value values_{e.name}[] = {{", values, "};")
        return f'{head}\n{static}const dtt_enum {name} = {{"{e.name}", values_{e.name}}};'

    @staticmethod
    def handle(c: Class) -> str:
        static = "" if c.name == "tensor" else "static "
        return f'{static}const dtt_handle dtt_handle_{c.name} = {{"{c.name}"}};'

    def hook(self, h: Hook) -> str:
        parameters = cabi.callback_parameters(h.callback)
        lines = [call(f"static dt_status run_{h.name}(", parameters, ") {")]
        values = [p.name for slot in h.inputs for p in slot.parameters]
        members = [m for slot in h.inputs for m in cells(slot.kind)]
        lines += [
            f"  dtt_cell args[{len(values)}], results[{len(h.results)}];",
            "  dt_status status;",
        ]
        for i, (value, member) in enumerate(zip(values, members, strict=True)):
            lines.append(f"  args[{i}].{member} = {'(void *)' if member == 'p' else ''}{value};")
        run = f"dtt_answer(&callback_{h.name}, user_data, args, results)"
        lines += [f"  status = {run};"]
        for i, r in enumerate(h.results):
            kind = r.parameters[0].type[:-1].rstrip()
            lines.append(f"  if (!status) *{r.name} = ({kind})results[{i}].{cells(r.kind)[0]};")
        lines += ["  return status;", "}"]
        args, n_args = self.items([(s.kind, s.name, True) for s in h.inputs])
        names = ["result" if r.name == "out" else r.name for r in h.results]
        results, n_results = self.items(
            [(r.kind, name, True) for r, name in zip(h.results, names, strict=True)]
        )
        entry = f'{{"{h.name}", {args}, {results}, {n_args}, {n_results}}}'
        described = f"static const dtt_callback callback_{h.name} = {entry};"
        return "\n".join([*self.take_new(), described, *lines])

    # ---- what a function takes and gives

    def items(self, rows: list[tuple[Kind, str, bool]]) -> tuple[str, int]:
        """(the name of an array of dtt_item, its length) for (kind, name, required) of each."""
        out, cell = [], 0
        for kind, name, required in rows:
            out.append(f"  {self.item(kind, name, required, cell)},")
            cell += len(cells(kind))
        return (self.share("dtt_item", "items", out), len(rows)) if rows else ("NULL", 0)

    def result_items(self, c: Call) -> tuple[str, int]:
        out, cell = [], 0
        for r in c.results:
            of = f"&dtt_handle_{r.handle}" if r.handle else None
            out.append(f"  {self.item(r.kind, r.name, False, cell, of)},")
            cell += result_cells(r)
        return (self.share("dtt_item", "items", out), len(out)) if out else ("NULL", 0)

    @staticmethod
    def item(kind: Kind, name: str, required: bool, cell: int, of: str | None = None) -> str:
        word = "DTT_STR" if kind.base == "path" else f"DTT_{kind.base.upper()}"
        if kind.base == "enum":
            of = f"&dtt_{kind.name}s" if kind.name in _SHOWN else f"&enum_{kind.name}"
        elif kind.base == "callback":
            of = f"&callback_{kind.name}"
        elif kind.base == "handle":
            of = f"&dtt_handle_{kind.name}"
        flags = (kind.list, kind.optional, kind.element_optional, required)
        numbers = ", ".join(str(int(x)) for x in (cell, *flags, kind.count))
        return f'{{"{name}", {of or "NULL"}, {word}, {numbers}}}'

    def share(self, c: str, prefix: str, lines: list[str]) -> str:
        """The name of an array with these lines, which is printed once."""
        body = "\n".join(lines)
        if body not in self.shared:
            self.shared[body] = f"{prefix}_{len(self.shared)}"
            self.new.append(f"static const {c} {self.shared[body]}[] = {{\n{body}\n}};")
        return self.shared[body]

    def take_new(self) -> list[str]:
        new, self.new = self.new, []
        return new

    # ---- functions

    def function(self, c: Call) -> str:
        args, n_args = self.items([(s.kind, s.name, s.required) for s in c.slots])
        results, n_results = self.result_items(c)
        initial = [x for s in c.slots for x in self.initial(s)]
        n_cells = len(initial)
        counts = (n_args, n_cells, sum(map(result_cells, c.results)))
        if any(n > most for n, most in zip(counts, _room(), strict=True)):
            raise SchemaError(f"table: {c.c_name} has more arguments than table.h has room for")
        start = self.share("dtt_cell", "cells", [f"  {', '.join(initial)},"]) if initial else "NULL"
        less, told_by = self.next.get(c.c_name, ("", 0))
        numbers = f"{n_args}, {n_results}, {n_cells}, {int(c.returns_this)}, {told_by}"
        n = c.function.name
        row = f'{{"{c.member or c.free}", call_{n}, {args}, {results}, {start}'
        following = f"&function_{less}" if less else "NULL"
        line = f"static const dtt_function function_{n} = {row}, {numbers}, {following}}};"
        return "\n".join([*self.take_new(), line]) + "\n"

    def operator(self, o: Operator) -> str:
        """A function of both operands, in their order."""
        name = o.call.function.name
        rows = [(Kind("operand"), word, True) for word in ("input", "other")]
        (args, n_args), (results, n_results) = self.items(rows), self.result_items(o.call)
        n_cells = n_args * len(cells(Kind("operand")))
        zeros = self.share("dtt_cell", "cells", [f"  {', '.join(['{0}'] * n_cells)},"])
        steps = ", ".join(f"&function_{c.function.name}" for c in o.reflected)
        shown = o.call.member or o.call.free
        row = f'{{"{shown}", operate_{name}, {args}, {results}, {zeros}, {n_args}, {n_results}'
        return "\n".join([
            *self.take_new(),
            f"static dt_status operate_{name}(const dtt_cell *a, dtt_cell *r) {{",
            f"  static const dtt_function *const reflected[] = {{{steps}, NULL}};",
            f"  return dtt_operate(&function_{name}, reflected, a, r);\n}}",
            f"static const dtt_function operator_{name} = {row}, {n_cells}, 0, 0, NULL}};\n",
        ])  # fmt: skip

    def lists(self):
        tensor = "&dtt_handle_tensor"
        result = self.share(
            "dtt_item", "items", [f"  {self.item(Kind('tensor'), 'out', False, 0, tensor)},"]
        )
        for name, rows in _LISTS.items():
            args, n_args = self.items([(kind, word, needed) for word, kind, needed in rows])
            n_cells = sum(len(cells(kind)) for _, kind, _ in rows)
            zeros = self.share("dtt_cell", "cells", [f"  {', '.join(['{0}'] * n_cells)},"])
            out = (
                f"{result}, {zeros}, {n_args}, 1"
                if name == "tensor"
                else f"NULL, {zeros}, {n_args}, 0"
            )
            row = f'{{"{name}", NULL, {args}, {out}, {n_cells}, 0, 0, NULL}}'
            yield "\n".join([*self.take_new(), f"const dtt_function dtt_{name} = {row};\n"])

    def initial(self, s: Slot) -> list[str]:
        """The cells of an argument that is not given."""
        kind, value = s.kind, s.argument.default
        zeros = ["{0}"] * len(cells(kind))
        # A list in an options struct starts absent, which means its default.
        if value is None or s.required or (kind.list and (s.struct or not value)):
            return zeros
        if kind.list:
            element = {"i64": "int64_t", "f64": "double"}[kind.base]
            numbers = ", ".join(cabi.number(v) for v in value)
            array = self.share(element, "numbers", [f"  {numbers}"])
            return [f"{{.p = (void *){array}}}", f"{{{len(value)}}}"]
        if kind.base in ("operand", "scalar"):
            word, i, f = cabi.scalar_literal(value)
            number = [f"{{{word}}}", f"{{{i}}}", f"{{.f = {f}}}"]
            return ["{0}", *number] if kind.base == "operand" else number
        if kind.base == "f64":
            return [f"{{.f = {cabi.number(value)}}}"]
        literal = cabi.literal(Argument(s.name, Kind(kind.base, kind.name), default=value))[0]
        return [f"{{.p = (void *){literal}}}" if kind.base == "str" else f"{{{literal}}}"]

    def adapter(self, c: Call, c_name: str = "") -> str:
        lines, passed, at = [], [], 0
        for i in c.inputs:
            values: list[tuple[Parameter, str]] = []
            for s in i.slots:
                prepare, got = self.passed(s, at)
                lines += prepare
                values += zip(s.parameters, got, strict=True)
                at += len(cells(s.kind))
            if i.is_struct:
                lines += self.struct(i, values)
            passed += [f"&o_{i.argument.name}"] if i.is_struct else [v for _, v in values]
        before, outs, after = self.outs(c)
        used = "" if at else "  (void)a;\n"
        used += "" if c.results else "  (void)r;\n"
        run = call(f"  status = {c_name or c.c_name}(", [*passed, *outs], ");")
        body = "\n".join([*(f"  {line}" for line in [*before, *lines, "dt_status status;"]), run])
        head = f"static dt_status call_{c.function.name}(const dtt_cell *a, dtt_cell *r) {{"
        tail = "".join(f"  {line}\n" for line in after)
        return f"{head}\n{used}{body}\n{tail}  return status;\n}}\n"

    @staticmethod
    def struct(i: Input, values: list[tuple[Parameter, str]]) -> list[str]:
        c, name = i.c_type, f"o_{i.argument.name}"
        lines = [f"{c} {name} = {c.upper()}_INIT;"]
        return lines + [f"{name}.{p.name} = {value};" for p, value in values]

    @staticmethod
    def passed(s: Slot, at: int) -> tuple[list[str], list[str]]:
        """(statements before, the C values) of the argument whose first cell is a[at]."""
        kind = s.kind
        if kind.base == "callback":
            user_data = f"a[{at}].p"
            return [], [f"{user_data} ? run_{kind.name} : NULL", user_data, "dtt_drop"]
        if _is_optional_number(kind) or s.pointed:
            c = {"i64": "int64_t", "f64": "double", "bool": "int32_t"}[kind.base]
            member, given = cells(kind)[-1], "" if s.pointed else f"a[{at}].i ? "
            value = f"const {c} v_{s.name} = ({c})a[{at + (not s.pointed)}].{member};"
            return [value], [f"{given}&v_{s.name}" + (" : NULL" if given else "")]
        places = zip(s.parameters, cells(kind), strict=True)
        return [], [f"({p.type})a[{at + i}].{m}" for i, (p, m) in enumerate(places)]

    @staticmethod
    def outs(c: Call) -> tuple[list[str], list[str], list[str]]:
        """(variables, what is passed, statements that fill the cells)"""
        before, passed, after, at = [], [], [], 0
        for r in c.results:
            if r.form == "numbers":
                passed += [
                    f"({r.parameters[0].type})r[{at}].p",
                    f"r[{at + 1}].i",
                    f"&r[{at + 2}].i",
                ]
                at += result_cells(r)
                continue
            for i, p in enumerate(r.parameters):
                plain = p.type[:-1].rstrip()
                is_pointer = plain.endswith("*")
                member = "p" if is_pointer else "f" if plain == "double" else "i"
                before.append(f"{Parameter(plain, 'r_' + p.name)} = {'NULL' if is_pointer else 0};")
                passed.append(f"&r_{p.name}")
                after.append(f"r[{at + i}].{member} = r_{p.name};")
            at += result_cells(r)
        return before, passed, after

    # ---- names

    def functions(self) -> str:
        rows = [f"  &function_{c.function.name}," for c in self.plan.tabled]
        return "\n".join(["const dtt_function* const dtt_functions[] = {", *rows, "  NULL};\n"])

    def handles(self) -> str:
        rows = [f"  &dtt_handle_{c.name}," for c in self.plan.classes]
        return "\n".join(["const dtt_handle* const dtt_handles[] = {", *rows, "  NULL};\n"])

    def names(self) -> str:
        """The rows of dtt_names, in the order of table.h."""
        rows = [
            ("method", "tensor", "tolist", "dtt_tolist"),
            ("function", "torch", "tensor", "dtt_tensor"),
        ]
        for c in self.plan.classes:
            rows += [("method", c.name, g.name, g.calls[0]) for g in c.methods]
            rows += [("property", c.name, x.member, x) for x in c.properties]
            for o in c.operators:
                both = f"operator_{o.call.function.name}"
                rows += [("operator", c.name, o.name, both if o.reflected else o.call)]
        rows += [("function", "torch", c.free, c) for c in self.plan.own]
        for n in self.plan.namespaces:
            rows += [("function", n.path, g.name, g.calls[0]) for g in n.functions]
        dtypes = next(e for e in self.plan.enums if e.name == "dtype")
        rows += [("word", "torch", v.name, "") for v in dtypes.values]
        lines = []
        for how, where, name, c in rows:
            function = f"&function_{c.function.name}" if isinstance(c, Call) else f"&{c}"
            lines.append(f'  {{"{how}", "{where}", "{name}", {function if c else "NULL"}}},')
        head = "static __attribute__((unused)) const dtt_name dtt_names[] = {"
        return "\n".join([head, *lines, "  {NULL, NULL, NULL, NULL}};\n"])


def result_cells(r: Result) -> int:
    is_carrier = r.form in ("tensors", "text", "texts")
    return 3 if r.form == "numbers" else len(r.parameters) + is_carrier
