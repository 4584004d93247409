"""Rows of learning rate schedules, the core's constructors and Python's classes. The grammar is in docs/schema.md."""

from __future__ import annotations

from . import expr, layers, signature
from .model import Argument, Function, Kind, Schedule, Schema, SchemaError
from .text import GENERATED, check

_KEYS = {"sig", "doc", "args", "check", "lr", "since"}
_TYPES = {"i64": "int64_t", "f64": "double"}
_KNOWN = {"lr", "initial_lr", "epoch", "pi"}
# What the core calls Python's functions; min and max take an integer and a real.
_FUNCTIONS = {f: f"std::{f}" for f in ("cos", "exp", "log", "sin", "sqrt")}
_FUNCTIONS |= {"max": "std::fmax", "min": "std::fmin"}


def parse_schedule(names, file: dict, name: str, row: dict, document) -> Schedule:
    if unknown := set(row) - _KEYS:
        raise SchemaError(f"unknown key '{min(unknown)}'")
    args = signature.parse_arguments(row["sig"].strip()[1:-1], names)
    args = document(args, row.get("args", {}), file.get("args", {}))
    if odd := [a.name for a in args if a.kind.key not in _TYPES]:
        raise SchemaError(f"'{odd[0]}': a setting is an i64 or an f64")
    schedule = Schedule(
        name=name,
        doc=row["doc"],
        args=args,
        checks=tuple(layers.checks(row.get("check", []))),
        lr=row["lr"],
        since=row.get("since", 1),
    )
    settings = {a.name for a in args}
    for text, known in [(schedule.lr, settings | _KNOWN)] + [
        (c.condition, settings) for c in schedule.checks
    ]:
        if unknown := set(expr.names(text)) - known:
            raise SchemaError(f"'{text}': '{min(unknown)}' is not known")
        if unknown := set(expr.calls(text)) - set(_FUNCTIONS):
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

#include <cmath>

namespace dt {

constexpr double kPi = 3.14159265358979323846;
"""


def _head(s: Schedule) -> str:
    settings = "".join(f", {_TYPES[a.kind.key]} {a.name}" for a in s.core_args)
    return f"Ref<LrScheduler> make_{s.snake}(const Ref<Optimizer>& optimizer{settings})"


def _maker(s: Schedule) -> str:
    names = {a.name: b.name for a, b in zip(s.args, s.core_args, strict=True)}
    cpp = expr.Cpp(names | {"pi": "kPi"}, _FUNCTIONS)
    checks = [f"  {check(cpp, c.condition, c.message)}" for c in s.checks]
    used = expr.names(s.lr)
    parts = [("double", "lr"), ("double", "initial_lr"), ("int64_t", "epoch")]
    parameters = ", ".join(f"{kind} {name}" if name in used else kind for kind, name in parts)
    return "\n".join(
        [
            f"{_head(s)} {{",
            *checks,
            f"  return Ref<LrScheduler>::adopt(new LrScheduler(optimizer, [=]({parameters}) -> double {{",
            f"    return {cpp.print(s.lr)};",
            "  }));",
            "}\n",
        ]
    )


# ---- Python


def _python(rows: list[Schedule]) -> str:
    words = {word for s in rows for word in (*expr.names(s.lr), *expr.calls(s.lr))}
    of_math = (set(_FUNCTIONS) | {"pi"}) - {"max", "min"}
    return f'''\
"""Schedules that change an optimizer's learning rates, once per epoch."""

from __future__ import annotations

from math import {", ".join(sorted(words & of_math))}

from .schedule import LambdaLR, LRScheduler'''


def _class(s: Schedule) -> str:
    settings = "".join(f", {a.name}" + (f"={a.default!r}" if a.has_default else "") for a in s.args)
    variables = {a.name: f"self.{a.name}" for a in s.args}
    variables |= {"epoch": "self.last_epoch", "initial_lr": "self.base_lrs[i]"}
    first = "initial_lr" in expr.names(s.lr)
    rates = "i, lr in enumerate(self._rates())" if first else "lr in self._rates()"
    return "\n".join(
        [
            f"class {s.name}(LRScheduler):",
            f'    """{s.doc}"""',
            "",
            f"    def __init__(self, optimizer{settings}, last_epoch=-1):",
            *(f"        self.{a.name} = {a.name}" for a in s.args),
            "        super().__init__(optimizer, last_epoch)",
            "",
            "    def get_lr(self):",
            "        if self.last_epoch == 0:",
            "            return self._rates()",
            "        return [",
            f"            {expr.Printer(variables).print(s.lr)}",
            f"            for {rates}",
            "        ]",
        ]
    )
