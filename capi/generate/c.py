"""Prints wrappers/c/dt.h: the C API for programs that are written by hand.

Each function has three parts: a struct of its optional arguments with their defaults, an inline
function T_do_NAME that calls the machine layer and gives the result to the open scope, and a macro
T_NAME that makes the call look like T_sum(x, .dim = T_DIMS(0)). wrappers/c/dt_scope.h, written by
hand, holds the types, macros and scopes that these need."""

from __future__ import annotations

import textwrap

from . import cabi
from .model import Argument, Callback, Handle, Kind, SchemaError
from .plan import Call, Plan, Result, Slot
from .text import GENERATED, WIDTH, call, camel, gated

_TOP = f"""\
/* {GENERATED}
 *
 * dumbtorch for programs written in C: named arguments, defaults, nested calls, one check.
 *
 *   T_SCOPE {{
 *     dt_tensor *x = T_randn(T_DIMS(2, 3));
 *     dt_tensor *y = T_sum(T_mul(T_relu(x), 2), .dim = T_DIMS(1), .keepdim = 1);
 *     T_print(y);
 *   }}
 *   if (T_status()) puts(T_message());
 *
 * Arguments without a default are given in order, all others by name. What a call makes belongs to
 * the innermost open T_SCOPE, which releases it at its end; T_keep() and T_pass_out() let a handle
 * live longer. After an error, calls do nothing until the outermost scope ends or T_clear() runs.
 * Without a scope a result is the caller's, as in dumbtorch.h. A callback that makes tensors opens
 * a scope of its own and gives back its result with T_keep().
 *
 * A comment above each function shows its signature: `name: kind = default`, `?` may be absent. */
#ifndef DT_H
#define DT_H

#include "dt_scope.h"

#ifdef __cplusplus
extern "C" {{
#endif
"""

_BOTTOM = """\
#ifdef __cplusplus
}
#endif

#include "dt_extra.h"

#endif
"""

# Kinds as C types of dt.h: arguments that must be given, optional ones, fields of options.
_TYPES = {
    "tensor": "dt_tensor *",
    "tensor?": "dt_tensor *",
    "tensor[]": "T_Tensors",
    "tensor[]?": "T_Tensors",
    "tensor?[]": "T_Tensors",
    "operand": "T_Operand",
    "operand?": "T_Operand",
    "scalar": "T_Number",
    "scalar?": "T_Number",
    "i64": "int64_t",
    "i64?": "T_Int",
    "i64[]": "T_Dims",
    "i64[]?": "T_Dims",
    "f64": "double",
    "f64?": "T_Real",
    "f64[]": "T_Reals",
    "f64[]?": "T_Reals",
    "bool": "int",
    "bool?": "T_Flag",
    "bool[]": "T_Flags",
    "str": "const char *",
    "str?": "const char *",
    "str[]": "T_Strings",
    "str[]?": "T_Strings",
    "path": "const char *",
    "bytes": "T_Blob",
    "enum": "{name}",
    "enum?": "{name}",
    "device": "T_Device",
    "device?": "T_Device",
    "handle": "{name} *",
    "handle?": "{name} *",
    "callback": "T_{short}",
    "callback?": "T_{short}",
}

# How a T_ argument `@` becomes the machine layer's arguments.
_PASS = {
    "tensor": ("@",),
    "handle": ("@",),
    "operand": ("@.tensor", "@.number.kind", "@.number.i", "@.number.f"),
    "scalar": ("@.kind", "@.i", "@.f"),
    "i64": ("@",),
    "f64": ("@",),
    "bool": ("@",),
    "str": ("@",),
    "path": ("@",),
    "enum": ("@",),
    "bytes": ("@.p", "@.n"),
    "device": ("@.type", "@.index"),
    "callback": ("@.fn", "@.user_data", "@.drop"),
}

_RESULTS = {
    "tensor": "dt_tensor *",
    "tensor?": "dt_tensor *",
    "tensor[]": "dt_tensor_list *",
    "handle": "{name} *",
    "handle?": "{name} *",
    "i64": "int64_t",
    "f64": "double",
    "bool": "int32_t",
    "enum": "{name}",
    "device": "T_Device",
    "scalar": "T_Number",
    "i64[]": "T_Sizes",
    "f64[]": "T_Doubles",
    "str": "dt_bytes *",
    "str[]": "dt_string_list *",
    "bytes": "dt_bytes *",
    "pointer": "void *",
}

# The machine layer's out-arguments for a result `@`.
_OUT = {
    "device": ("&@.type", "&@.index"),
    "scalar": ("&@.kind", "&@.i", "&@.f"),
    "i64[]": ("@.v", "T_MAX_SIZES", "&@.n"),
    "f64[]": ("@.v", "T_MAX_SIZES", "&@.n"),
}

# Where the value of a number is no zero-filled struct.
_EMPTY = {
    "device": "{0, 0}",
    "scalar": "{0, 0, 0}",
    "i64[]": "{0, {0}}",
    "f64[]": "{0, {0}}",
    "f64": "NAN",
}

_KEYWORDS = set(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while class delete export friend new operator private "
    "protected public template this throw try using virtual and or not xor namespace bool true false".split()
)


def generate(plan: Plan) -> dict[str, str]:
    parts = [_TOP]
    parts += [_handle(c.handle) for c in plan.classes]
    parts += [_callback(h.callback) for h in plan.hooks]
    names = {}
    for c in plan.calls:
        short = short_name(c)
        if names.setdefault(short, c.c_name) != c.c_name:
            raise SchemaError(f"dt.h: T_{short} would be both {c.c_name} and {names[short]}")
        parts.append(_Printer(c, short).text())
    return {"wrappers/c/dt.h": "\n".join([*parts, _BOTTOM])}


def short_name(c: Call) -> str:
    """T_shape is dt_tensor_shape: methods of tensors lose the word."""
    f = c.function
    return f.name.removeprefix("tensor_") if f.method == "tensor" else f.name


def _handle(h: Handle) -> str:
    return gated(
        f"static inline void T_release_{h.name}_(void *handle) {{\n"
        f"  dt_{h.name}_release((dt_{h.name} *)handle);\n}}\n"
        f"static inline dt_{h.name} *T_own_{h.name}_(dt_{h.name} *handle) {{\n"
        f"  return (dt_{h.name} *)T_own_(handle, T_release_{h.name}_);\n}}\n",
        h.since,
    )


def _callback(c: Callback) -> str:
    """The triple as one argument: T_TENSOR_HOOK(fn, user_data, drop)."""
    kind = f"T_{camel(c.name)}"
    members = [f"dt_{c.name} fn", "void *user_data", "dt_drop drop"]
    body = "".join(f"  {m};\n" for m in members)
    head = call(f"static inline {kind} T_{c.name.upper()}(", members, ") {")
    return gated(
        f"typedef struct {kind} {{\n{body}}} {kind};\n{head}\n"
        f"  {kind} c = {{fn, user_data, drop}};\n  return c;\n}}\n",
        c.since,
    )


def c_type(kind: Kind) -> str:
    return _TYPES[kind.key].format(name=cabi.type_name(kind), short=camel(kind.name))


def _join(c: str, name: str) -> str:
    return c + name if c.endswith("*") else f"{c} {name}"


def passed(a: Slot, value: str) -> list[str]:
    """The machine layer's arguments for `a`, which is the expression `value`."""
    key = a.kind.key
    if a.pointed:
        return [f"&{value}"]
    if a.kind.list:
        return [f"{value}.p", f"{value}.n"]
    if key in ("i64?", "f64?", "bool?"):
        return [f"{value}.given ? &{value}.value : NULL"]
    return [part.replace("@", value) for part in _PASS[a.kind.base]]


def default(a: Argument) -> str:
    """The default as an initialiser. The numbers of a list are in an array."""
    kind, value = a.kind, a.default
    if kind.list:
        return f"{{{a.name}_default, {len(value)}}}" if value else "{NULL, 0}"
    if value is None:
        return {"operand": "{NULL, {0, 0, 0}}", "scalar": "{0, 0, 0}", "device": "{0, 0}"}.get(
            kind.base, _absent(kind)
        )
    if kind.base == "operand":
        return f"{{NULL, {_number(value)}}}"
    if kind.base == "scalar":
        return _number(value)
    if kind.key in ("i64?", "f64?", "bool?"):
        return f"{{1, {cabi.number(value)}}}"
    return cabi.literal(a)[0]


def _absent(kind: Kind) -> str:
    if kind.key in ("i64?", "f64?", "bool?"):
        return "{0, 0}"
    if kind.base == "callback":
        return "{NULL, NULL, NULL}"
    return "0" if kind.base == "enum" else "NULL"


def _number(value) -> str:
    return f"{{{', '.join(cabi.scalar_literal(value))}}}"


class _Printer:
    """Prints one function."""

    def __init__(self, c: Call, short: str):
        self.c, self.short = c, short
        self.required, self.options = c.required, c.optional
        self.first = c.results[0] if c.results else None
        self.others = c.results[1:]
        names = [s.name for s in c.slots] + [r.name for r in self.others]
        for name in names:
            if names.count(name) > 1 or name in _KEYWORDS or name in ("options", "result"):
                raise SchemaError(f"dt.h: {c.c_name}: '{name}' cannot be the name of an argument")

    def text(self) -> str:
        parts = [self.comment()]
        if self.has_options():
            parts += [self.struct(), self.defaults()]
        parts += [self.function()]
        macro = self.macro()
        if macro:
            parts.append(macro)
        return gated("\n".join(parts) + "\n", self.c.since)

    def has_options(self) -> bool:
        return bool(self.options or self.others)

    def comment(self) -> str:
        names = [f"{a.name}: {_kind_text(a.kind)}" for a in self.required]
        names += [
            f".{o.name}: {_kind_text(o.kind)} = {o.argument.default_text}" for o in self.options
        ]
        names += [f".{r.name}: where this result goes" for r in self.others]
        lines = textwrap.wrap(
            f"T_{self.short}({', '.join(names)})", WIDTH - 4, subsequent_indent="    "
        )
        lines += textwrap.wrap(self.c.about, WIDTH - 6)
        return "/** " + "\n * ".join(lines) + " */"

    def struct(self) -> str:
        members = [self.since(o, f"  {_join(c_type(o.kind), o.name)};") for o in self.options]
        members += [f"  {_join(cabi.pointer(self.result_type(r)), r.name)};" for r in self.others]
        return "\n".join(["typedef struct {", *members, f"}} T_{self.short}_options;"])

    def defaults(self) -> str:
        lines = [
            call(f"static inline T_{self.short}_options T_{self.short}_defaults(", ["void"], ") {")
        ]
        values = []
        for o in self.options:
            a = o.argument
            # Lists in options structs start absent, which means their default.
            plain = a if not (o.struct and a.kind.list) else Argument(a.name, a.kind)
            values.append(self.since(o, default(plain) + ",").rstrip(","))
            if plain.kind.list and plain.default:
                numbers = ", ".join(cabi.number(v) for v in plain.default)
                element = {"i64": "int64_t", "f64": "double"}[a.kind.base]
                lines.append(f"  static const {element} {a.name}_default[] = {{{numbers}}};")
        values += ["NULL"] * len(self.others)
        head = f"  T_{self.short}_options options = {{"
        if any("#if" in v for v in values):
            lines += [head, *(v if "#if" in v else f"{v}," for v in values), "  };"]
        else:
            lines.append(call(head, values, "};"))
        return "\n".join([*lines, "  return options;", "}"])

    def since(self, o: Slot, line: str) -> str:
        """A line about a field that came after the function."""
        later = o.argument.since > self.c.since
        return gated(line, o.argument.since).rstrip() if later else line

    def result_type(self, r: Result) -> str:
        return _RESULTS[r.kind.key].format(name=cabi.type_name(r.kind))

    def return_type(self) -> str:
        if self.c.returns_this:
            return "dt_tensor *"
        return self.result_type(self.first) if self.first else "dt_status "

    def function(self) -> str:
        """T_do_NAME: the call itself."""
        parameters = [_join(c_type(a.kind), a.name) for a in self.required]
        if self.has_options():
            parameters.append(f"const T_{self.short}_options *options")
        name = f"T_do_{self.short}" if self.macro() else f"T_{self.short}"
        head = f"static inline {_join(self.return_type().rstrip(), name)}"
        lines = [call(f"{head}(", parameters or ["void"], ") {")]
        lines += [f"  {line}" for line in self.locals()]
        arguments = []
        for i in self.c.inputs:
            name = i.argument.name
            arguments += (
                [f"&c_{name}"] if i.is_struct else passed(i.slots[0], self.value(i.slots[0]))
            )
        for r in self.c.results:
            local = "result" if r is self.first else r.name
            outs = _OUT.get(r.kind.key, ("&@",))
            arguments += [out.replace("@", local) for out in outs]
        lines += [f"  {line}" for line in self.body(arguments)]
        return "\n".join([*lines, "}"])

    def locals(self) -> list[str]:
        """Results, options structs and lists that one number may stand for."""
        lines = []
        for r in self.c.results:
            local = "result" if r is self.first else r.name
            empty = _EMPTY.get(
                r.kind.key, "0" if r.kind.base in ("i64", "bool", "enum") else "NULL"
            )
            lines.append(f"{_join(self.result_type(r), local)} = {empty};")
        for i in self.c.structs:
            struct = i.c_type
            lines.append(f"{struct} c_{i.argument.name} = {struct.upper()}_INIT;")
        for a in (a for a in self.c.slots if a.kind.count > 1):
            lines.append(f"int64_t {a.name}_room[{a.kind.count}];")
            repeat = f"T_repeat_({self.given(a)}, {a.kind.count}, {a.name}_room)"
            lines.append(f"const T_Dims {a.name}_all = {repeat};")
        return lines

    @staticmethod
    def given(a: Slot) -> str:
        """What the caller has given for an argument, as T_do_NAME sees it."""
        return a.name if a.required else f"options->{a.name}"

    def value(self, a: Slot) -> str:
        """The same, where one number may stand for several equal ones."""
        return f"{a.name}_all" if a.kind.count > 1 else self.given(a)

    def body(self, arguments: list[str]) -> list[str]:
        lines, check = [], f"T_check({self.c.c_name}("
        for o in self.options:
            if o.struct:
                pairs = zip(o.parameters, passed(o, self.value(o)), strict=True)
                lines += [self.since(o, f"c_{o.struct}.{m.name} = {v};") for m, v in pairs]
        if self.others:
            # Results are cleared also when the call does not happen.
            lines.append(call(f"if (!T_stopped_()) {check}", arguments, "));"))
            drops = self.drops()
            lines += [f"else {{ {drops}}}"] if drops else []
            for r in self.others:
                lines.append(
                    f"if (options->{r.name}) *options->{r.name} = {self.owned(r, r.name)};"
                )
                if r.handle:
                    lines.append(f"else if ({r.name}) dt_{r.handle}_release({r.name});")
            return [*lines, f"return {self.owned(self.first, 'result')};"]
        stopped = self.stopped()
        if not self.first:
            target = self.c.slots[0].name if self.c.returns_this else ""
            lines.append(stopped)
            if target:
                return [*lines, call(f"return {check}", arguments, f")) ? {target} : NULL;")]
            return [*lines, call(check, arguments, "));"), "return T_status();"]
        return [*lines, stopped, call(check, arguments, "));"), *self.finish()]

    def stopped(self) -> str:
        """What happens after an error: nothing, but user data that was handed over is dropped."""
        drops = self.drops()
        empty = "result" if self.first else ("NULL" if self.c.returns_this else "T_status()")
        if not drops:
            return f"if (T_stopped_()) return {empty};"
        return f"if (T_stopped_()) {{ {drops}return {empty}; }}"

    def drops(self) -> str:
        """Statements that drop the user data of all callbacks."""
        values = [self.value(a) for a in self.c.callbacks]
        return "".join(f"if ({v}.drop) {v}.drop({v}.user_data); " for v in values)

    def finish(self) -> list[str]:
        r = self.first
        if r.form == "numbers":
            name = self.c.function.name
            return [
                "if (result.n > T_MAX_SIZES) {",
                f'  T_fail_(DT_STATUS_RUNTIME_ERROR, "{name}: more numbers than fit");',
                "  result.n = 0;",
                "}",
                "return result;",
            ]
        return [f"return {self.owned(r, 'result')};"]

    def owned(self, r: Result, value: str) -> str:
        return f"T_own_{r.handle}_({value})" if r.handle else value

    def macro(self) -> str:
        """T_NAME, where the function alone will not do: options, or converted arguments."""
        names = [a.name for a in self.required]
        converted = [_converted(a) for a in self.required]
        do = f"T_do_{self.short}"
        if not self.has_options():
            if names == converted:
                return ""
            return f"#define T_{self.short}({', '.join(names)}) {do}({', '.join(converted)})"
        arguments = ", ".join([*converted, f"&T_{self.short}_o"])
        return (
            f"#define T_{self.short}(...) T_{self.short}_with_(__VA_ARGS__, )\n"
            f"#define T_{self.short}_with_({', '.join([*names, '...'])}) \\\n"
            f"  T_OPTIONS_({self.short}, \\\n    {do}({arguments}), __VA_ARGS__)"
        )


def _converted(a: Slot) -> str:
    return {"operand": f"T_OP({a.name})", "scalar": f"T_NUM({a.name})"}.get(a.kind.base, a.name)


def _kind_text(kind: Kind) -> str:
    return (kind.name if kind.base in ("enum", "handle") else kind.base) + (
        ("?" if kind.element_optional else "")
        + (f"[{kind.count or ''}]" if kind.list else "")
        + ("?" if kind.optional else "")
    )
