"""Prints capi/include/dumbtorch.h, the machine layer that every wrapper sits on."""

from __future__ import annotations

import textwrap

from . import cabi
from .model import Argument, Function, Schema
from .text import GENERATED, WIDTH

_TOP = f"""\
/* {GENERATED}
 *
 * dumbtorch: train and run neural networks from any language.
 *
 * The uniform C API that all wrappers use. For programs written in C by hand, dt.h is more
 * comfortable: named arguments, defaults, nested calls.
 *
 * - Every function that can fail returns a dt_status: 0, or a code whose text is
 *   dt_error_message(). Inputs come first, outputs last; outputs are NULL (0 for numbers) after a
 *   failure.
 * - A handle that comes out of a call belongs to the caller, who gives it back once with
 *   dt_KIND_release(), from any thread. Arguments are never taken over. NULL, released or foreign
 *   handles are errors, never undefined behaviour. A release never fails and leaves the last error
 *   alone; of a handle that is not good it tells the log (dt_set_log).
 * - Kinds: truth values are int32_t. A list is a pointer and a count; where it is optional, the
 *   count DT_ABSENT means "not given". An optional number is a pointer or NULL, an optional enum is
 *   0. A scalar is (kind, i, f): i holds bools and integers, f real numbers. An operand is a tensor,
 *   or NULL and a scalar. A device is (type, index); where it is optional, type 0 is "not given".
 * - A list that comes out as int64_t writes at most `capacity` numbers and says how many there are.
 * - A callback is (function, user_data, drop). user_data belongs to the library from the call on,
 *   also if the call fails; drop(user_data) runs once when it is no longer needed. Both run only on
 *   threads that are inside a call of this API. A callback's handles belong to the library; what it
 *   gives back is new. It returns 0, or what dt_error_set() returns. Both may call this API, and
 *   must return: to leave them by longjmp, by an exception or by ending the thread is undefined. A
 *   memory hook runs in the middle of an allocation: it may release handles and make small calls,
 *   but not use what the failing call works on.
 * - Any function may be called from any thread. Concurrent reads of one tensor are fine; writing one
 *   (arguments marked "written") needs the caller's own lock. A signal handler may call nothing: it
 *   sets a flag that the program looks at between calls, or that a progress callback returns.
 * - Calls work until the process is gone: from atexit handlers, destructors of static objects, in
 *   the child of a fork (CUDA excepted), and from destructors of pthread keys, as long as the system
 *   goes through the keys again (PTHREAD_DESTRUCTOR_ITERATIONS times); after that they are errors.
 *   The library stays in memory after dlclose.
 */
#ifndef DUMBTORCH_H
#define DUMBTORCH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* The newest level of this header; a program may define an older one to see only that. */
#ifndef DT_API_VERSION
#define DT_API_VERSION @LEVEL@
#endif

#ifndef DT_API
#if defined(__GNUC__)
#define DT_API __attribute__((visibility("default")))
#else
#define DT_API
#endif
#endif

#if defined(__cplusplus)
#define DT_NOEXCEPT noexcept
#else
#define DT_NOEXCEPT
#endif

#if defined(__GNUC__)
#define DT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define DT_MUST_CHECK
#endif

/* The count of a list that is not given. */
#define DT_ABSENT (-1)

#ifdef __cplusplus
extern "C" {{
#endif
"""

_BOTTOM = """\
#ifdef __cplusplus
}
#endif

#endif
"""


def generate(schema: Schema) -> dict[str, str]:
    parts = [_TOP.replace("@LEVEL@", str(schema.api_level))]
    parts += [_heading("enums"), *_enums(schema)]
    parts += [_heading("handles"), *_handles(schema)]
    parts += [_heading("callbacks"), *_callbacks(schema)]
    parts += [_heading("options"), *_options(schema)]
    parts += [_heading("the library"), *_c_functions(schema)]
    last = None
    for f in schema.public:
        if f.file != last:
            last = f.file
            parts.append(_heading(last))
        parts.append(_function(f))
    return {"capi/include/dumbtorch.h": "\n".join([*parts, _BOTTOM])}


def _heading(text: str) -> str:
    return f"/* ---- {text} */\n"


def _comment(lines: list[str]) -> str:
    """A doc comment; each entry is wrapped on its own and continued with an indent."""
    wrapped = []
    for line in lines:
        wrapped += textwrap.wrap(
            line, WIDTH - 3, subsequent_indent="  " if line.startswith("@") else ""
        )
    if len(wrapped) == 1 and len(wrapped[0]) < WIDTH - 7:
        return f"/** {wrapped[0]} */"
    return "/** " + "\n * ".join(wrapped) + " */"


def _enums(schema: Schema):
    for e in schema.enums.values():
        lines = [_comment([e.doc]), f"typedef int32_t dt_{e.name};", "enum {"]
        if e.zero:
            lines.append(f"  {cabi.enum_constant(e.name, e.zero)} = 0,")
        rows = [
            f"  {cabi.enum_constant(e.name, v.name)} = {v.number}@ /**< {v.doc} */"
            for v in e.values
        ]
        lines += [row.replace("@", "," if i + 1 < len(rows) else "") for i, row in enumerate(rows)]
        yield "\n".join([*lines, "};\n"])


def _handles(schema: Schema):
    for h in schema.handles.values():
        release = (
            f"/** Gives a handle back. NULL is fine; a released one is a warning in the log. "
            f"*/\nDT_API void dt_{h.name}_release(dt_{h.name} *handle) DT_NOEXCEPT;"
        )
        yield f"{_comment([h.doc])}\ntypedef struct dt_{h.name} dt_{h.name};\n{release}\n"


_MUST_RETURN = (
    "It must return: leaving it by longjmp, by an exception or by ending the thread is undefined."
)


def _callbacks(schema: Schema):
    for c in schema.callbacks.values():
        lines = [f"{c.doc} {_MUST_RETURN}"] + [f"@param {a.name} {a.doc}" for a in c.args]
        yield f"{_comment(lines)}\n{_wrap(cabi.callback_typedef(c))}\n"


def _options(schema: Schema):
    for o in schema.options.values():
        start = f"Start from DT_{o.name.upper()}_OPTIONS_INIT; NULL means the same."
        lines = [_comment([o.doc, start]), f"typedef struct dt_{o.name}_options {{"]
        lines.append("  int64_t struct_size;")
        for a in o.fields:
            members = " ".join(cabi.declare(p) + ";" for p in cabi.field(a))
            lines.append(f"  {members} /**< {a.doc} {_default_note(a)} */")
        lines.append(f"}} dt_{o.name}_options;")
        yield "\n".join([*lines, cabi.options_init(o)]) + "\n"


def _default_note(a: Argument) -> str:
    value = {None: "absent", True: "1", False: "0"}.get(a.default) if not a.kind.list else None
    return f"Default: {value or a.default}."


def _c_functions(schema: Schema):
    for c in schema.c_functions.values():
        # Only a status must be looked at, and dt_error_set's is the caller's own.
        must = (
            " DT_MUST_CHECK" if c.returns == "dt_status" and not c.name.startswith("error") else ""
        )
        yield f"{_comment([c.doc])}\n{_wrap(f'DT_API {c.declaration} DT_NOEXCEPT{must};')}\n"


def _function(f: Function) -> str:
    lines = [f.doc]
    for a in f.args:
        written = " Written." if a.kind.mutable else ""
        default = f" PyTorch's default: {_default_text(a)}." if a.has_default else ""
        lines.append(f"@param {a.name} {a.doc}{written}{default}")
    if f.returns:
        lines.append(f"@return {f.returns}")
    lines += [f"@throws {e}" for e in f.errors]
    text = f"{_comment(lines)}\n{cabi.prototype(f, 'DT_API ', ' DT_NOEXCEPT DT_MUST_CHECK')}\n"
    if f.since > 1:
        text = f"#if DT_API_VERSION >= {f.since}\n{text}#endif\n"
    return text


def _default_text(a: Argument) -> str:
    if a.default is None:
        return "absent"
    return str(a.default).lower() if isinstance(a.default, bool) else str(a.default)


def _wrap(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False))
