"""Rows of learning rate schedules, the core's constructors and Python's classes. The grammar is in docs/schema.md."""

from __future__ import annotations

import ast

from . import expr, layers, signature
from .model import Argument, Function, Kind, Schedule, Schema, SchemaError, refuse_keys
from .text import GENERATED, check

_KEYS = {
    "sig",
    "doc",
    "args",
    "check",
    "checks_python",
    "first",
    "lr",
    "closed",
    "resumes",
    "since",
}
_TYPES = {"i64": "int64_t", "f64": "double", "i64[]": "IntList"}
_KNOWN = {"lr", "initial_lr", "epoch", "pi"}
# What the core calls Python's functions; min and max take an integer and a real.
_FUNCTIONS = {f: f"std::{f}" for f in ("cos", "exp", "log", "sin", "sqrt")}
_FUNCTIONS |= {"max": "std::fmax", "min": "std::fmin"}
# Of a list of epochs: how often it has one, and how many of it are over. The core has the former.
_OF_LISTS = {"count", "passed"}


def parse_schedule(names, file: dict, name: str, row: dict, document) -> Schedule:
    refuse_keys(row, _KEYS)
    args = signature.parse_arguments(row["sig"].strip()[1:-1], names)
    args = document(args, row.get("args", {}), file.get("args", {}))
    if odd := [a.name for a in args if a.kind.key not in _TYPES]:
        raise SchemaError(f"'{odd[0]}': a setting is an i64, an f64 or an i64[]")
    schedule = Schedule(
        name=name,
        doc=row["doc"],
        args=args,
        checks=tuple(layers.checks(row.get("check", []))),
        checks_python=row.get("checks_python", False),
        first=row.get("first", "lr"),
        lr=row["lr"],
        closed=row["closed"],
        resumes=row.get("resumes", False),
        since=row.get("since", 1),
    )
    settings = {a.name for a in args}
    formulas = [schedule.first, schedule.lr, schedule.closed]
    for text, known in [(f, settings | _KNOWN) for f in formulas] + [
        (c.condition, settings) for c in schedule.checks
    ]:
        if unknown := set(expr.names(text)) - known:
            raise SchemaError(f"'{text}': '{min(unknown)}' is not known")
        if unknown := set(expr.calls(text)) - set(_FUNCTIONS) - _OF_LISTS:
            raise SchemaError(f"'{text}': there is no function '{min(unknown)}'")
    return schedule


def constructor_of(s: Schedule) -> Function:
    optimizer = Argument("optimizer", Kind("handle", "optimizer"), "Whose learning rates change.")
    return Function(
        name=f"optim_{s.snake}",
        file="optim",
        doc=s.doc,
        args=(optimizer, *s.core_args),
        results=(Argument("out", Kind("handle", "lr_scheduler")),),
        namespaces=("optim.lr_scheduler",),
        python=s.name,
        header="core/optim/schedules.gen.h",
        core=f"make_{s.snake}({', '.join(f'{{{a.name}}}' for a in (optimizer, *s.core_args))})",
        errors=tuple(f"ValueError: {c.message}." for c in s.checks),
        since=s.since,
    )


def generate(schema: Schema) -> dict[str, str]:
    rows = list(schema.schedules.values())
    heads = "\n".join(f"{_head(s)};" for s in rows)
    return {
        "core/optim/schedules.gen.h": f"// {GENERATED}\n{_HEADER.replace('@HEADS@', heads)}",
        "core/optim/schedules.gen.cpp": "\n".join(
            [f"// {GENERATED}\n{_SOURCE}", *map(_maker, rows), "}  // namespace dt\n"]
        ),
        "wrappers/python/dumbtorch/optim/lr_scheduler.py": "\n\n\n".join(
            [f"# {GENERATED}\n{_python(rows)}", *map(_class, rows)]
        )
        + "\n",
    }


# ---- core

_HEADER = """\
// The constructors of the schedules.
#pragma once

#include "core/optim/lr_scheduler.h"

namespace dt {

@HEADS@

}  // namespace dt
"""

_SOURCE = """\
// clang-format off
#include "core/optim/schedules.gen.h"

#include <algorithm>
#include <cmath>

#include "core/base/divide.h"

namespace dt {

using std::pow;

constexpr double kPi = 3.14159265358979323846;

// How often a list has a number.
static int64_t count(const std::vector<int64_t>& list, int64_t number) {
  return std::count(list.begin(), list.end(), number);
}
"""


def _head(s: Schedule) -> str:
    settings = "".join(f", {_TYPES[a.kind.key]} {a.name}" for a in s.core_args)
    return f"Ref<LrScheduler> make_{s.snake}(const Ref<Optimizer>& optimizer{settings})"


def _kept(a: Argument) -> str:
    """How the formula keeps a setting: a list's elements."""
    return f"{a.name} = {a.name}.to_vector()" if a.kind.list else a.name


def _maker(s: Schedule) -> str:
    names = {a.name: b.name for a, b in zip(s.args, s.core_args, strict=True)}
    cpp = expr.Cpp(names | {"pi": "kPi"}, _FUNCTIONS)
    formulas = [s.lr] if s.first == "lr" else [s.lr, s.first]
    used = {n for text in formulas for n in expr.names(text)}
    parts = [("double", "lr"), ("double", "initial_lr"), ("int64_t", "epoch")]
    first = [f"    if (epoch == 0) return {cpp.print(s.first)};"] if s.first != "lr" else []
    used |= {"epoch"} if first else set()
    parameters = ", ".join(f"{kind} {name}" if name in used else kind for kind, name in parts)
    settings = [_kept(b) for a, b in zip(s.args, s.core_args, strict=True) if a.name in used]
    return "\n".join(
        [
            f"{_head(s)} {{",
            *(f"  {check(cpp, c.condition, c.message)}" for c in s.checks),
            f"  const auto next = [{', '.join(settings)}]({parameters}) -> double {{",
            *first,
            f"    return {cpp.print(s.lr)};",
            "  };",
            f"  return Ref<LrScheduler>::adopt(new LrScheduler(optimizer, next, {str(bool(first)).lower()}));",
            "}\n",
        ]
    )


# ---- Python


def _python(rows: list[Schedule]) -> str:
    formulas = [text for s in rows for text in (s.first, s.lr, s.closed)]
    words = {word for text in formulas for word in (*expr.names(text), *expr.calls(text))}
    of_math = (set(_FUNCTIONS) | {"pi"}) - {"max", "min"}
    names = " ".join(f'"{s.name}",' for s in rows)
    return f'''\
"""Schedules that change an optimizer's learning rates, once per epoch."""

from __future__ import annotations

from collections import Counter
from math import {", ".join(sorted(words & of_math))}

from .. import _missing
from .composed import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .schedule import (
    EPOCH_DEPRECATION_WARNING,
    LambdaLR,
    LRScheduler,
    MultiplicativeLR,
    _LRScheduler,
    warn_outside_of_step,
)

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "ChainedScheduler", "CosineAnnealingWarmRestarts", "CyclicLR", "LRScheduler", "LambdaLR",
    "MultiplicativeLR", "OneCycleLR", "ReduceLROnPlateau", "SequentialLR",
    {names}
]  # fmt: skip'''


class _Python(expr.Printer):
    """A list of epochs is a Counter there, as in PyTorch."""

    def call(self, function: str, arguments: list[str]) -> str:
        if function == "count":
            return f"{arguments[0]}[{arguments[1]}]"
        if function == "passed":
            return f"sum(n for m, n in {arguments[0]}.items() if m <= {arguments[1]})"
        return super().call(function, arguments)


def _class(s: Schedule) -> str:
    settings = "".join(f", {a.name}" + (f"={a.default!r}" if a.has_default else "") for a in s.args)
    plain = expr.Printer()
    lines = [
        f"class {s.name}(LRScheduler):",
        f'    """{s.doc}"""',
        "",
        f"    def __init__(self, optimizer{settings}, last_epoch=-1):",
    ]
    for c in s.checks if s.checks_python else ():
        lines += [f"        if not ({plain.print(c.condition)}):"]
        lines += [f'            raise {c.error}("{c.message}")']
    lines += [
        f"        self.{a.name} = " + (f"Counter({a.name})" if a.kind.list else a.name)
        for a in s.args
    ]
    begins = "self.last_epoch == 0" if s.resumes else "self._is_initial"
    starts = [f"        if {begins}:", "            return self._rates()"]
    if s.first != "lr":
        starts = ["        if self.last_epoch == 0:", *_rates(s, s.first, "    ")]
        starts += (
            []
            if s.resumes
            else ["        if self._is_initial:", "            return self._rates()"]
        )
    return "\n".join(
        [
            *lines,
            "        super().__init__(optimizer, last_epoch)",
            "",
            "    def get_lr(self):",
            "        warn_outside_of_step(self)",
            *starts,
            *_rates(s, s.lr),
            "",
            "    def _get_closed_form_lr(self):",
            *_rates(s, s.closed),
        ]
    )


def _rates(s: Schedule, formula: str, indent: str = "") -> list[str]:
    """The rates of all groups by a formula. One of two ways is chosen for all groups, so that a group which was added
    since, and has no rate that it began with, lacks it only where that is asked for."""
    if formula == "lr":
        return [f"{indent}        return self._rates()"]
    used = expr.names(formula)
    variables = {a.name: f"self.{a.name}" for a in s.args} | {"epoch": "self.last_epoch"}
    tree = expr.parse(formula)
    if isinstance(tree, ast.IfExp):
        choice, one, other = (ast.unparse(part) for part in (tree.test, tree.body, tree.orelse))
        if not {"lr", "initial_lr"} & set(expr.names(choice)):
            lines = [f"{indent}        if {_Python(variables).print(choice)}:"]
            return lines + _rates(s, one, indent + "    ") + _rates(s, other, indent)
    loop = "lr in self._rates()"
    if "initial_lr" in used and "lr" in used:
        variables["initial_lr"] = "initial"
        loop = "initial, lr in zip(self.base_lrs, self._rates(), strict=True)"
    elif "initial_lr" in used:
        variables["initial_lr"] = "initial"
        loop = "initial in self.base_lrs"
    text = _Python(variables).print(formula)
    lines = ["        return [", f"            {text}", f"            for {loop}", "        ]"]
    return [indent + line for line in lines]
