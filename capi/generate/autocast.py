"""Prints core/ops/autocast.gen.h and autocast/autocast.gen.cpp: the ops that have a policy, as a program calls them."""

from __future__ import annotations

from . import coretypes, text
from .model import Argument, Function, Schema

DEVICES = ("cpu", "cuda")
POLICIES = (
    "lower_precision_fp", "fp32", "fp32_result", "fp32_set_opt_dtype", "promote", "banned",
)  # fmt: skip

_HEADER = f"// {text.GENERATED}\n"


def generate(schema: Schema) -> dict[str, str]:
    rows = [f for f in schema.functions.values() if f.autocast]
    headers = sorted({f"core/ops/{f.file}.gen.h" for f in rows})
    return {
        "core/ops/autocast.gen.h": _header(schema, rows),
        "core/ops/autocast/autocast.gen.cpp": _source(schema, rows, headers),
    }


def call(f: Function) -> str:
    """The C++ function that a program's call of a row goes to."""
    return f"dt::autocast::{f.name}" if f.autocast else f"dt::{f.name}"


def expression(schema: Schema, core: str) -> str:
    """The C++ expression of a row that is another one in other words, and has its policy."""
    called = schema.functions.get(core.partition("(")[0])
    return call(called) + core.removeprefix(called.name) if called and called.autocast else core


def widens_itself(f: Function) -> bool:
    """Whether the core has it also as NAME_in, whose first argument is the result's dtype."""
    return "fp32_result" in f.autocast.values()


def _header(schema: Schema, rows: list[Function]) -> str:
    parts = [_HEADER + _HEADER_INTRO]
    for f in rows:
        head = f"{coretypes.return_type(schema, f)} {f.name}("
        parts.append(text.call(head, coretypes.parameters(schema, f, defaults=True), ");"))
    return "\n".join([*parts, "\n}  // namespace dt::autocast\n"])


_HEADER_INTRO = """\
// Ops that run in the dtype of their policy where autocast is on. The ones of the same name in dt never do.
// clang-format off
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt::autocast {
"""


def _source(schema: Schema, rows: list[Function], headers: list[str]) -> str:
    includes = "".join(f'#include "{h}"\n' for h in headers)
    parts = [_HEADER + _SOURCE_INTRO.replace("@HEADERS@\n", includes)]
    parts += [_definition(schema, f) for f in rows]
    return "\n".join([*parts, "}  // namespace dt::autocast\n"])


_SOURCE_INTRO = """\
// clang-format off
#include "core/ops/autocast.gen.h"

#include "core/ops/autocast/autocast.h"
@HEADERS@

namespace dt::autocast {
"""


# What is cast: a tensor, or a list of them.
_TENSOR = {"tensor": "&{0}", "tensor?": "&{0}", "operand": "&{0}.tensor()"}
_LIST = {"tensor[]": "{0}", "tensor[]?": "{0}.value_or(TensorList())"}


def _definition(schema: Schema, f: Function) -> str:
    tensors = [a for a in f.args if a.kind.key in _TENSOR]
    lists = [a for a in f.args if a.kind.key in _LIST]
    operands = ", ".join(_TENSOR[a.kind.key].format(a.name) for a in tensors)
    listed = ", ".join(_LIST[a.kind.key].format(a.name) for a in lists)
    policies = ", ".join(_policy(f.autocast.get(device, "")) for device in DEVICES)
    given = [name for name, some in (("cast", tensors), ("lists", lists)) if some]
    passed = [_passed(f, a, tensors, lists) for a in f.args]
    if widens_itself(f):
        name, passed = f"{f.name}_in", ["casts.dtype(DType::kDefault)", *passed]
    else:
        name = f.name
    as_they_are = ", ".join(a.name for a in f.args)
    head = f"{coretypes.return_type(schema, f)} {f.name}("
    lines = [
        text.call(head, coretypes.parameters(schema, f, defaults=False), ") {"),
        f"  if (!is_autocasting()) return dt::{f.name}({as_they_are});",
        f"  const Tensor* cast[] = {{{operands}}};" if tensors else "",
        f"  TensorList lists[] = {{{listed}}};" if lists else "",
        f"  const Casts casts({', '.join([f'{{{policies}}}', *given])});",
        f"  return dt::{name}({', '.join(passed)});",
        "}\n",
    ]
    return "\n".join(line for line in lines if line)


def _policy(word: str) -> str:
    return "CastPolicy::" + text.constant(word or "none")


def _passed(f: Function, a: Argument, tensors: list[Argument], lists: list[Argument]) -> str:
    """An argument of the call, or what it became."""
    if a in tensors:
        cast = f"*cast[{tensors.index(a)}]"
        return f"cast_operand({a.name}, {cast})" if a.kind.base == "operand" else cast
    if a in lists:
        cast = f"lists[{lists.index(a)}]"
        return f"{a.name} ? std::optional({cast}) : {a.name}" if a.kind.optional else cast
    is_result = a.name == "dtype" and "fp32_set_opt_dtype" in f.autocast.values()
    return "casts.dtype(dtype)" if is_result else a.name
