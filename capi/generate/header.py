"""Prints capi/include/dumbtorch.h, the machine layer that every wrapper sits on."""

from __future__ import annotations

import pathlib
import re
import textwrap

from . import cabi
from .model import Argument, Function, Options, Schema
from .text import GENERATED, WIDTH, call, gated

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
 * - Kinds: truth values are int32_t. A list is a pointer and a count. A scalar is (kind, i, f): i
 *   holds bools and integers, f real numbers. An operand is a tensor, or NULL and a scalar. A device
 *   is (type, index); the index -1 stands for the current GPU.
 * - What is absent is 0 or NULL, in all parameters of the argument; an optional number is therefore
 *   a pointer, and an empty list that is given has a pointer. In an options struct 0 is absent or
 *   the default, but for numbers that have another default: start from its _INIT macro, or from
 *   dt_KIND_options_init().
 * - A list of numbers that comes out writes at most `capacity` of them and says how many there are.
 * - A callback is (function, user_data, drop). user_data belongs to the library from the call on,
 *   also if the call fails; drop(user_data) runs once when it is no longer needed. Both run only on
 *   threads that are inside a call of this API. A callback's handles belong to the library; what it
 *   gives back is new. It returns 0, or what dt_error_set() returns. Both may call this API, and
 *   must return: to leave them by longjmp, by an exception or by ending the thread is undefined. A
 *   context that they leave in force is taken out again. A memory hook runs in the middle of an
 *   allocation: it may release handles and make small calls, but not use what the failing call
 *   works on.
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

/* The release that this header belongs to; dt_version() tells the library's. */
#define DT_VERSION_MAJOR @MAJOR@
#define DT_VERSION_MINOR @MINOR@
#define DT_VERSION_PATCH @PATCH@
#define DT_VERSION "@VERSION@"

/* The newest level of this header; a program may define an older one to see only that. */
#ifndef DT_API_VERSION
#define DT_API_VERSION @LEVEL@
#endif

/* How many dimensions a tensor of this release has at most. */
#define DT_TENSOR_MAX_DIMS @DIMS@

/* Where a function comes from: DT_BUILD for the library itself, DT_STATIC to link its archive. */
#ifndef DT_API
#if defined(_WIN32) && defined(DT_BUILD)
#define DT_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(DT_STATIC)
#define DT_API __declspec(dllimport)
#elif defined(__GNUC__)
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

/* A status that nobody looks at is a mistake. */
#if (defined(__cplusplus) && __cplusplus >= 201703L) || \\
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define DT_MUST_CHECK [[nodiscard]]
#elif defined(__GNUC__)
#define DT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define DT_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {{
#endif

/* Gives back user data that the library does not need any more. */
typedef void (*dt_drop)(void *user_data);
/* Memory of the host's own: dt_set_allocator(). */
typedef void *(*dt_allocate)(void *user_data, int64_t bytes);
typedef void (*dt_deallocate)(void *user_data, void *memory, int64_t bytes);
"""

_BOTTOM = """\
#ifdef __cplusplus
}
#endif

#endif
"""


_OPTIONS = """\
/* Settings by name. A later release appends members, and 0 in them means what was before. Start from
 * the _INIT macro, or call dt_NAME_options_init(&options, sizeof options), which does the same. */
"""

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version() -> str:
    """The release, which the project's CMakeLists.txt knows."""
    return re.search(
        r"project\(dumbtorch VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text()
    )[1]


def max_dims() -> str:
    """What core and kernels share knows it."""
    return re.search(r"DT_MAX_DIMS = (\d+)", (ROOT / "kernels/abi.h").read_text())[1]


def generate(schema: Schema) -> dict[str, str]:
    top = _TOP.replace("@LEVEL@", str(schema.api_level)).replace("@VERSION@", version())
    top = top.replace("@DIMS@", max_dims())
    for name, number in zip(("MAJOR", "MINOR", "PATCH"), version().split("."), strict=True):
        top = top.replace(f"@{name}@", number)
    parts = [top]
    parts += [_heading("enums"), *_enums(schema)]
    parts += [_heading("handles"), *_handles(schema)]
    parts += [_heading("callbacks"), *_callbacks(schema)]
    parts += [_heading("options"), _OPTIONS, *_options(schema)]
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
        for v in e.values:
            row = f"  {cabi.enum_constant(e.name, v.name)} = {v.number}, /**< {v.doc} */"
            lines.append(gated(row, v.since if v.since > e.since else 1).rstrip())
        yield gated("\n".join([*lines, "};\n"]), e.since)


def _handles(schema: Schema):
    for h in schema.handles.values():
        release = (
            f"/** Gives a handle back. NULL is fine; a released one is a warning in the log. "
            f"*/\nDT_API void dt_{h.name}_release(dt_{h.name} *handle) DT_NOEXCEPT;"
        )
        text = f"{_comment([h.doc])}\ntypedef struct dt_{h.name} dt_{h.name};\n{release}\n"
        yield gated(text, h.since)


_MUST_RETURN = (
    "It must return: leaving it by longjmp, by an exception or by ending the thread is undefined."
)


def _callbacks(schema: Schema):
    for c in schema.callbacks.values():
        lines = [f"{c.doc} {_MUST_RETURN}"] + [f"@param {a.name} {a.doc}" for a in c.args]
        yield gated(f"{_comment(lines)}\n{_wrap(cabi.callback_typedef(c))}\n", c.since)


def _options(schema: Schema):
    for o in schema.options.values():
        start = f"Start from DT_{o.name.upper()}_OPTIONS_INIT; NULL means the same."
        lines = [_comment([o.doc, start]), f"typedef struct dt_{o.name}_options {{"]
        levels = sorted({m.since for m in cabi.layout(o)})
        for level in levels:
            lines.append(
                gated("\n".join(_members(o, level)), level if level > o.since else 1).rstrip()
            )
        lines.append(f"}} dt_{o.name}_options;")
        yield gated("\n".join([*lines, _init(o, levels), _init_function(o)]) + "\n", o.since)


def _members(o: Options, level: int):
    """The lines of the members that a level added. The first one of a field explains it."""
    notes = {a.name: f" /**< {a.doc} {_default_note(a)} */" for a in o.fields}
    for m in (m for m in cabi.layout(o) if m.since == level):
        if m.parameter.name.startswith("reserved"):
            note = " /**< Must be 0. */"
        else:
            note = notes.pop(m.field, "")
        yield f"  {m.parameter};{note}"


def _init(o: Options, levels: list[int]) -> str:
    """The macro; with a choice where the struct has grown."""
    *older, newest = levels
    text = cabi.options_init(o, newest)
    for level in reversed(older):
        newer = min(x for x in levels if x > level)
        text = (
            f"#if DT_API_VERSION >= {newer}\n{text}\n#else\n{cabi.options_init(o, level)}\n#endif"
        )
    return text


def _init_function(o: Options) -> str:
    """For languages without macros."""
    head = f"DT_MUST_CHECK DT_API dt_status dt_{o.name}_options_init("
    return call(head, [f"dt_{o.name}_options *options", "int64_t struct_size"], ") DT_NOEXCEPT;")


def _default_note(a: Argument) -> str:
    value = {None: "absent", True: "1", False: "0"}.get(a.default) if not a.kind.list else None
    return f"Default: {value or a.default}."


def _c_functions(schema: Schema):
    for c in schema.c_functions.values():
        # Only a status must be looked at, and dt_error_set's is the caller's own.
        look = c.returns == "dt_status" and not c.name.startswith("error")
        line = f"{'DT_MUST_CHECK ' if look else ''}DT_API {c.declaration} DT_NOEXCEPT;"
        yield gated(f"{_comment([c.doc])}\n{_wrap(line)}\n", c.since)


def _function(f: Function) -> str:
    lines = [f.doc]
    for a in f.args:
        written = " Written." if a.kind.mutable else ""
        default = f" PyTorch's default: {a.default_text}." if a.has_default else ""
        lines.append(f"@param {a.name} {a.doc}{written}{default}")
    if f.returns:
        lines.append(f"@return {f.returns}")
    lines += [f"@throws {e}" for e in f.errors]
    text = f"{_comment(lines)}\n{cabi.prototype(f, 'DT_MUST_CHECK DT_API ', ' DT_NOEXCEPT')}\n"
    return gated(text, f.since)


def _wrap(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False))
