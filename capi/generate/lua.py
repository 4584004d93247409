"""Prints wrappers/lua/functions.gen.c: a C function on Lua's stack for each function of the C API,
and the lists from which wrappers/lua/module.c, written by hand, makes the module."""

from __future__ import annotations

from . import cabi
from .model import Argument, Callback, Function, Kind, Schema, SchemaError
from .text import GENERATED, call

_TOP = f"""\
/* {GENERATED}
 *
 * Each function puts its arguments into slots, reads them, makes room for what comes back, calls
 * the library and pushes the results. */
#include <math.h>

#include "runtime.h"
"""

# How the argument in slot @ is read, and the C type of the variable that it is put into.
_READ = {
    "tensor": ("dt_tensor *", "dtl_tensor(&c, @)"),
    "operand": ("dtl_operand", "dtl_read_operand(&c, @)"),
    "scalar": ("dtl_number", "dtl_read_number(&c, @)"),
    "i64": ("int64_t", "dtl_int(&c, @)"),
    "i64[]": ("dtl_ints", "dtl_int_list(&c, @, {count})"),
    "f64": ("double", "dtl_real(&c, @)"),
    "f64[]": ("dtl_reals", "dtl_real_list(&c, @, {count})"),
    "bool": ("int32_t", "dtl_bool(&c, @)"),
    "bool[]": ("dtl_flags", "dtl_flag_list(&c, @)"),
    "str": ("const char *", "dtl_string(&c, @)"),
    "str[]": ("dtl_strings", "dtl_string_list(&c, @)"),
    "bytes": ("dtl_blob", "dtl_bytes(&c, @)"),
    "enum": ("{type}", "dtl_enum_value(&c, @, dtl_enum_{name})"),
    "device": ("dtl_device", "dtl_read_device(&c, @)"),
    "handle": ("{type} *", "({type} *)dtl_handle(&c, @, &dtl_kind_{name})"),
    "tensor[]": ("dtl_tensors", "dtl_tensor_list(&c, @, 0)"),
    "tensor?[]": ("dtl_tensors", "dtl_tensor_list(&c, @, 1)"),
    "callback": ("dtl_callback *", "dtl_read_callback(&c, @)"),
}

# The variable of an argument that is absent.
_ABSENT = {
    "tensor": "NULL",
    "operand": "{NULL, {0, 0, 0}}",
    "scalar": "{0, 0, 0}",
    "enum": "0",
    "device": "{0, 0}",
    "handle": "NULL",
    "str": "NULL",
    "callback": "NULL",
    "i64": "0",
    "f64": "0",
    "bool": "0",
}

# The C API's arguments, made from a variable @.
_PASS = {
    "tensor": ("@",),
    "handle": ("@",),
    "operand": ("@.tensor", "@.number.kind", "@.number.i", "@.number.f"),
    "scalar": ("@.kind", "@.i", "@.f"),
    "i64": ("@",),
    "f64": ("@",),
    "bool": ("@",),
    "str": ("@",),
    "enum": ("@",),
    "bytes": ("@.p", "@.n"),
    "device": ("@.type", "@.index"),
}

# What is pushed for results that are plain values @.
_PUSH = {
    "i64": "lua_pushinteger(L, (lua_Integer)@);",
    "f64": "lua_pushnumber(L, @);",
    "bool": "lua_pushboolean(L, @);",
    "enum": "dtl_push_enum(L, @, dtl_enum_{name});",
    "device": "dtl_push_device(L, @_type, @_index);",
    "scalar": "dtl_push_number(L, @_kind, @_i, @_f);",
    "pointer": "lua_pushlightuserdata(L, @);",
}

# Handles that results come in, and how the userdata on top of the stack becomes a Lua value.
_TAKE = {
    "tensor": ("tensor", ""),
    "tensor?": ("tensor", "dtl_nil_if_empty(L);"),
    "tensor[]": ("tensor_list", "dtl_take_tensors(L);"),
    "handle": ("{name}", ""),
    "handle?": ("{name}", "dtl_nil_if_empty(L);"),
    "str": ("bytes", "dtl_take_bytes(L);"),
    "bytes": ("bytes", "dtl_take_bytes(L);"),
    "str[]": ("string_list", "dtl_take_strings(L);"),
}

# Lists of numbers that come back: their C type, and what pushes them.
_NUMBERS = {"i64[]": ("int64_t", "dtl_push_ints"), "f64[]": ("double", "dtl_push_reals")}

# A callback's arguments, pushed for the Lua function.
_LEND = {
    "tensor": "dtl_push_alias(L, f->@);",
    "tensor?": "dtl_push_alias(L, f->@);",
    "tensor[]": "dtl_push_aliases(L, f->@, f->@_n);",
    "tensor?[]": "dtl_push_aliases(L, f->@, f->@_n);",
    "i64": "lua_pushinteger(L, (lua_Integer)f->@);",
    "f64": "lua_pushnumber(L, f->@);",
    "bool": "lua_pushboolean(L, f->@);",
    "str": "lua_pushstring(L, f->@);",
    "enum": "dtl_push_enum(L, f->@, dtl_enum_{name});",
}

# A callback's result, taken from the top of the stack.
_GIVE = {
    "tensor": 'dtl_result_tensor(L, "{callback}", 0)',
    "tensor?": 'dtl_result_tensor(L, "{callback}", 1)',
    "tensor[]": 'dtl_result_tensors(L, "{callback}")',
    "bool": "lua_toboolean(L, -1)",
    "i64": "(int64_t)lua_tointeger(L, -1)",
    "f64": "lua_tonumber(L, -1)",
}

# Python's special methods: Lua's event, and what happens when a number comes first. "" has no
# counterpart: comparisons give true or false in Lua.
_EVENTS = {
    "add": ("__add", "add"), "sub": ("__sub", "rsub"), "mul": ("__mul", "mul"),
    "truediv": ("__div", "reflected_div"), "mod": ("__mod", ""), "floordiv": ("__idiv", ""),
    "pow": ("__pow", "reflected_pow"), "neg": ("__unm", ""), "and": ("__band", "bitwise_and"),
    "or": ("__bor", "bitwise_or"), "xor": ("__bxor", "bitwise_xor"), "invert": ("__bnot", ""),
    "call": ("__call", ""),
    "eq": "", "ne": "", "lt": "", "le": "", "gt": "", "ge": "", "abs": "", "matmul": "", "rsub": "",
}  # fmt: skip

# With the operands exchanged, fn_pow's arguments are not in their order.
_REFLECTED = """\
/* number ^ tensor and number / tensor: slot 1 is the tensor, slot 2 the number. */
static int fn_reflected_pow(lua_State *L) {
  lua_insert(L, 1);
  return fn_pow(L);
}

static int fn_reflected_div(lua_State *L) {
  lua_pushcfunction(L, fn_reciprocal);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  lua_replace(L, 1);
  return fn_mul(L);
}
"""


_KEYWORDS = set(
    "and break do else elseif end false for function goto if in local nil not or repeat return "
    "then true until while".split()
)


def lua_name(name: str) -> str:
    """x:repeat_{2}, {end_ = 4}: a name that is a word of Lua's own gets an underscore."""
    return name + "_" if name in _KEYWORDS else name


def generate(schema: Schema) -> dict[str, str]:
    parts = [_TOP]
    parts += [_enum(e) for e in schema.enums.values()]
    parts += [_kind(h) for h in schema.handles]
    parts += [_callback(c) for c in schema.callbacks.values()]
    parts += [_Printer(schema, f).text() for f in schema.public]
    parts += [_REFLECTED]
    parts += _classes(schema)
    parts += _namespaces(schema)
    return {"wrappers/lua/functions.gen.c": "\n".join(parts)}


def _enum(e) -> str:
    values = "".join(f'{{"{v.name}", {v.number}}}, ' for v in e.values)
    const = "" if e.name == "dtype" else "static "
    unused = "" if e.name == "dtype" else "__attribute__((unused)) "
    return call(
        f"{unused}{const}const dtl_enum dtl_enum_{e.name}[] = {{", [f"{values}{{NULL, 0}}"], "};"
    )


def _kind(name: str) -> str:
    return (
        f"\nstatic void release_{name}(void *handle) {{\n"
        f"  dt_{name}_release((dt_{name} *)handle);\n}}\n"
        f'const dtl_kind dtl_kind_{name} = {{"{name}", "dumbtorch.{name}", release_{name}}};'
    )


def _callback(c: Callback) -> str:
    """A frame with everything, a body that runs in protected mode, and the C function itself."""
    parameters = cabi.parameters(c)
    fields = [f"  {p};" for p in parameters]
    lines = [f"\ntypedef struct frame_{c.name} {{", "  dtl_callback *callback;", *fields]
    lines += [f"}} frame_{c.name};", f"\nstatic int body_{c.name}(lua_State *L) {{"]
    lines += [f"  frame_{c.name} *f = (frame_{c.name} *)lua_touserdata(L, 1);"]
    lines += ["  dtl_push_function(L, f->callback);"]
    for a in c.args:
        lines.append("  " + _LEND[a.kind.key].replace("@", a.name).format(name=a.kind.name))
    if len(c.results) > 1:
        raise SchemaError(f"Lua: [callback.{c.name}]: several results")
    lines.append(f"  lua_call(L, {len(c.args)}, {len(c.results)});")
    for r in c.results:
        lines.append(f"  *f->{r.name} = {_GIVE[r.kind.key].format(callback=c.name)};")
    lines += ["  return 0;", "}\n"]
    lines.append(call(f"static dt_status call_{c.name}(", cabi.callback_parameters(c), ") {"))
    values = ", ".join(["(dtl_callback *)user_data", *(name for _, name in parameters)])
    lines += [f"  frame_{c.name} f = {{{values}}};"]
    lines += [f"  return dtl_protected(f.callback, body_{c.name}, &f);", "}"]
    return "\n".join(lines)


def _plain(kind: Kind) -> str:
    """The key of a kind without `absent`: an optional argument is read like a required one."""
    return kind.key.removesuffix("?")


class _Printer:
    """Prints one function."""

    def __init__(self, schema: Schema, f: Function):
        self.schema, self.f = schema, f
        # Slots in the order of the signature; an options struct's fields stand in its place.
        self.slots: list[tuple[Argument, str]] = []
        for a in f.args:
            if a.kind.base == "options":
                self.slots += [(o, a.name) for o in schema.options[a.kind.name].fields]
            else:
                self.slots.append((a, ""))
        names = [a.name for a, _ in self.slots]
        if len(set(names)) < len(names):
            raise SchemaError(f"Lua: [fn.{f.name}]: two arguments have the same name")

    def text(self) -> str:
        f = self.f
        names = "".join(f'"{lua_name(a.name)}", ' for a, _ in self.slots)
        lines = [f"\nstatic int fn_{f.name}(lua_State *L) {{"]
        lines.append(call("  static const char *const names[] = {", [f"{names}NULL"], "};"))
        lines.append(
            f'  dtl_call c = {{L, "{f.method_name if f.method else f.torch_name}", names}};'
        )
        lines += [f"  {line}" for line in self.declarations()]
        lines.append("  dtl_arguments(&c);")
        # A callback's user data comes into being last: nothing may fail between it and the call.
        slots = list(enumerate(self.slots, 1))
        slots.sort(key=lambda slot: slot[1][0].kind.base == "callback")
        reads = [
            line
            for slot, (a, _) in slots
            if a.kind.base != "callback"
            for line in self.read(a, slot)
        ]
        late = [
            line
            for slot, (a, _) in slots
            if a.kind.base == "callback"
            for line in self.read(a, slot)
        ]
        lines += [f"  {line}" for line in reads + self.options() + self.room() + late]
        lines += [f"  {line}" for line in self.run()]
        return "\n".join([*lines, "}"])

    # ---- arguments

    def variable(self, a: Argument) -> str:
        return f"a_{a.name}"

    def declarations(self) -> list[str]:
        lines = []
        for a, _ in self.slots:
            kind, _ = _READ[_plain(a.kind)]
            kind = kind.format(type=cabi.type_name(a.kind))
            space = "" if kind.endswith("*") else " "
            lines.append(f"{kind}{space}{self.variable(a)}{self.initial(a)};")
            if a.kind.list and a.default:
                element = "int64_t" if a.kind.base == "i64" else "double"
                numbers = ", ".join(cabi.number(v) for v in a.default)
                lines.insert(0, f"static const {element} d_{a.name}[] = {{{numbers}}};")
        lines += [
            f"{cabi.type_name(a.kind)} o_{a.name} = DT_{a.kind.name.upper()}_OPTIONS_INIT;"
            for a in self.f.args
            if a.kind.base == "options"
        ]
        for r in self.f.results:
            lines += self.result_variables(r)
        return lines

    def initial(self, a: Argument) -> str:
        """The default, or what stands for absence, as an initialiser."""
        value, kind = a.default, a.kind
        if kind.list:
            if value:
                return f" = {{d_{a.name}, {len(value)}}}"
            return " = {NULL, 0}"
        if value is None:
            return f" = {_ABSENT[kind.base]}" if kind.base in _ABSENT else " = {NULL, 0}"
        if kind.base in ("operand", "scalar"):
            number = _number(value)
            return f" = {{NULL, {number}}}" if kind.base == "operand" else f" = {number}"
        return f" = {cabi.literal(Argument(a.name, Kind(kind.base, kind.name), default=value))[0]}"

    def read(self, a: Argument, slot: int) -> list[str]:
        _, expression = _READ[_plain(a.kind)]
        expression = expression.replace("@", str(slot))
        count = a.kind.count
        expression = expression.format(count=count, type=cabi.type_name(a.kind), name=a.kind.name)
        line = f"{self.variable(a)} = {expression};"
        if a.kind.key == "scalar?" and a.default is not None:
            # nil means the default, so that absence needs a word of its own.
            absent = f"{self.variable(a)}.kind = 0;"
            return [
                f"if (dtl_false(&c, {slot})) {absent}",
                f"else if (!dtl_absent(&c, {slot})) {line}",
            ]
        if a.has_default or a.kind.optional:
            return [f"if (!dtl_absent(&c, {slot})) {line}"]
        return [line]

    def passed(self, a: Argument, slot: int) -> list[str]:
        """The C API's arguments."""
        name, kind = self.variable(a), a.kind
        if kind.list:
            return [f"{name}.p", f"{name}.n"]
        if kind.base == "callback":
            return [f"{name} ? call_{kind.name} : NULL", name, "dtl_drop"]
        if kind.key in ("i64?", "f64?", "bool?"):
            return [f"dtl_absent(&c, {slot}) ? NULL : &{name}"]
        return [part.replace("@", name) for part in _PASS[kind.base]]

    def options(self) -> list[str]:
        lines = []
        for slot, (a, struct) in enumerate(self.slots, 1):
            if struct:
                o = next(x for x in self.f.args if x.name == struct)
                members = [m.name for m in cabi.field(a, self.schema.options[o.kind.name])]
                values = self.passed(a, slot)
                lines += [f"o_{struct}.{m} = {v};" for m, v in zip(members, values, strict=True)]
        return lines

    def arguments(self) -> list[str]:
        out, slot = [], 1
        for a in self.f.args:
            if a.kind.base == "options":
                out.append(f"&o_{a.name}")
                slot += len(self.schema.options[a.kind.name].fields)
            else:
                out += self.passed(a, slot)
                slot += 1
        return out

    # ---- results

    def result_variables(self, r: Argument) -> list[str]:
        if r.kind.key in _TAKE:
            return [f"void *r_{r.name};"]
        if r.kind.key in _NUMBERS:
            return [f"{_NUMBERS[r.kind.key][0]} r_values[16];", "int64_t r_n = 0;"]
        lines = []
        for kind, name in cabi.result(r):
            plain = kind[:-1].rstrip()
            space = "" if plain.endswith("*") else " "
            lines.append(f"{plain}{space}r_{name} = {'NULL' if plain.endswith('*') else '0'};")
        return lines

    def room(self) -> list[str]:
        """A userdata for every handle that will come back."""
        return [
            f"r_{r.name} = dtl_new(L, &dtl_kind_{_TAKE[r.kind.key][0].format(name=r.kind.name)});"
            for r in self.f.results
            if r.kind.key in _TAKE
        ]

    def outs(self, r: Argument) -> list[str]:
        if r.kind.key in _TAKE:
            kind = cabi.result(r)[0][0]
            return [f"({kind.rstrip()})r_{r.name}"]
        if r.kind.key in _NUMBERS:
            return ["r_values", "16", "&r_n"]
        return [f"&r_{name}" for _, name in cabi.result(r)]

    def run(self) -> list[str]:
        f = self.f
        outs = [out for r in f.results for out in self.outs(r)]
        lines = [call(f"dtl_check(L, {f.c_name}(", self.arguments() + outs, "));")]
        if f.inplace:
            return [*lines, "lua_pushvalue(L, 1);", "return 1;"]
        if any(r.kind.key in _NUMBERS for r in f.results):
            lines += self.long_list(f.results[0])
        for i, r in enumerate(f.results):
            lines += self.push(r, i)
        return [*lines, f"return {len(f.results)};"]

    def long_list(self, r: Argument) -> list[str]:
        """A list that is longer than the buffer is asked for again."""
        if len(self.f.results) > 1:
            raise SchemaError(f"Lua: [fn.{self.f.name}]: a list of numbers among several results")
        arguments = [*self.arguments(), "values", "r_n", "&r_n"]
        number, push = _NUMBERS[r.kind.key]
        return [
            "if (r_n > 16) {",
            f"  {number} *values = ({number} *)lua_newuserdata(L, (size_t)r_n * sizeof *values);",
            "  " + call(f"dtl_check(L, {self.f.c_name}(", arguments, "));"),
            f"  {push}(L, values, r_n);",
            "  return 1;",
            "}",
        ]

    def push(self, r: Argument, index: int) -> list[str]:
        if r.kind.key in _NUMBERS:
            return [f"{_NUMBERS[r.kind.key][1]}(L, r_values, r_n);"]
        if r.kind.key not in _TAKE:
            return [_PUSH[r.kind.key].replace("@", f"r_{r.name}").format(name=r.kind.name)]
        take = _TAKE[r.kind.key][1]
        handles = [o for o in self.f.results if o.kind.key in _TAKE]
        if len(self.f.results) == 1:
            return [take] if take else []
        # The userdata lie in order below the results; each is copied up and turned into its value.
        depth = len(handles) - handles.index(r) + index
        return [f"lua_pushvalue(L, -{depth});", *([take] if take else [])]


def _number(value) -> str:
    return f"{{{', '.join(cabi.scalar_literal(value))}}}"


# ---- the lists


def _entries(name: str, rows: list[tuple[str, str]]) -> str:
    lines = [f'    {{"{key}", {function}}},' for key, function in rows]
    return "\n".join([f"\nstatic const luaL_Reg {name}[] = {{", *lines, "    {NULL, NULL}};"])


def _overloads(schema: Schema, where: str, functions: list[tuple[str, Function]], out: list[str]):
    """(Lua name, C function) of each; several functions of one name get one that chooses."""
    rows, names = [], {}
    for name, f in functions:
        names.setdefault(lua_name(name), []).append(f)
    for name, group in names.items():
        if len(group) == 1:
            rows.append((name, f"fn_{group[0].name}"))
            continue
        required = [[a.name for a in f.args if not a.has_default] for f in group]
        order = sorted(zip(required, group, strict=True), key=lambda pair: len(pair[0]))
        if len(order) != 2 or len(order[0][0]) == len(order[1][0]):
            raise SchemaError(
                f"Lua: cannot tell the overloads of '{name}' apart by their arguments"
            )
        (few, short), (many, long) = order
        extra, slot = many[len(few)], len(few) + 1
        chooser = f"choose_{where}_{name}"
        out.append(
            f"\nstatic int {chooser}(lua_State *L) {{\n"
            f'  if (dtl_given(L, {slot}, "{extra}")) return fn_{long.name}(L);\n'
            f"  return fn_{short.name}(L);\n}}"
        )
        rows.append((name, chooser))
    return rows


def _classes(schema: Schema) -> list[str]:
    parts, rows = [], []
    for handle in schema.handles:
        functions = schema.methods(handle)
        methods = [(f.method_name, f) for f in functions if not f.as_property]
        properties = [(f.method_name, f"fn_{f.name}") for f in functions if f.as_property]
        entries = _overloads(schema, handle, methods, parts)
        parts.append(_entries(f"methods_{handle}", entries))
        parts.append(_entries(f"properties_{handle}", properties))
        parts.append(_operators(schema, handle, functions))
        rows.append(
            f"    {{&dtl_kind_{handle}, methods_{handle}, properties_{handle}, "
            f"operators_{handle}}},"
        )
    lines = ["\nconst dtl_class dtl_classes[] = {", *rows, "    {NULL, NULL, NULL, NULL}};"]
    return [*parts, "\n".join(lines)]


def _operators(schema: Schema, handle: str, functions: list[Function]) -> str:
    lines = []
    for f in functions:
        if not f.operator or f.inplace:
            continue
        if f.operator not in _EVENTS:
            raise SchemaError(f"Lua: [fn.{f.name}]: operator '{f.operator}' is not known")
        if not _EVENTS[f.operator]:
            continue
        event, reflected = _EVENTS[f.operator]
        other = f"fn_{reflected}" if reflected else "NULL"
        lines.append(f'    {{"{event}", fn_{f.name}, {other}}},')
    head = f"\nstatic const dtl_operator operators_{handle}[] = {{"
    return "\n".join([head, *lines, "    {NULL, NULL, NULL}};"])


def _namespaces(schema: Schema) -> list[str]:
    spaces: dict[str, list[tuple[str, Function]]] = {}
    for f in schema.public:
        free = f.namespaces or (() if f.method else ("torch",))
        for space in free:
            spaces.setdefault("" if space == "torch" else space, []).append((f.torch_name, f))
    parts, rows = [], []
    for space, functions in spaces.items():
        ident = space.replace(".", "_") or "torch"
        parts.append(_entries(f"functions_{ident}", _overloads(schema, ident, functions, parts)))
        rows.append(f'    {{"{space}", functions_{ident}}},')
    lines = ["\nconst dtl_namespace dtl_namespaces[] = {", *rows, "    {NULL, NULL}};\n"]
    return [*parts, "\n".join(lines)]
