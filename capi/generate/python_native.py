"""Prints the C code under the Python wrapper.

`native.gen.cdef` and `native.gen.c` are what cffi compiles: for each function a static shim
`py_NAME` with a shape that is cheap to call from Python. A handle is an int64, so no pointer
objects are made; one result comes back as the shim's own result, with a value that says "failed":

    handle, list, text   0 (an absent optional is 0 too, so there 1 means failed)
    i64                  INT64_MIN     f64   NaN     bool, count, pointer   -1     enum, device   0
    none, scalar, several results      a status; the results are written through a pointer

`operators.gen.h` holds the calls behind Python's operators, for tensor_type.c.
"""

from __future__ import annotations

from . import cabi
from .model import Argument, Callback, Function, Options, Schema, SchemaError
from .text import GENERATED

_NUMBERS = {"i64": "int64_t", "f64": "double", "bool": "int32_t"}


def generate(schema: Schema) -> dict[str, str]:
    shims = [shim(schema, f) for f in schema.public]
    callbacks = [callback(c) for c in schema.callbacks.values()]
    releases = [release(h) for h in schema.handles]
    cdef = [f"// {GENERATED}", *(c.declaration for c in callbacks)]
    cdef += [f"{head};" for head, _ in [*releases, *shims]]
    source = [f"// {GENERATED}", '#include "native.h"\n', *(c.adapter for c in callbacks)]
    source += [f"static {head} {{\n{body}\n}}\n" for head, body in [*releases, *shims]]
    folder = "wrappers/python"
    return {
        f"{folder}/native.gen.cdef": "\n".join(cdef) + "\n",
        f"{folder}/native.gen.c": "\n".join(source),
        f"{folder}/operators.gen.h": operators(schema),
    }


def release(handle: str) -> tuple[str, str]:
    call = f"  dt_{handle}_release((dt_{handle} *)(intptr_t)handle);"
    return f"void py_{handle}_release(int64_t handle)", call


# ---- arguments


def parameters(schema: Schema, a: Argument) -> list[str]:
    """What a shim takes for one argument."""
    n, kind = a.name, a.kind
    match kind.base:
        case "tensor" | "handle" if not kind.list:
            return [f"int64_t {n}"]
        case "tensor":
            return [f"const int64_t *{n}", f"int64_t {n}_n"]
        case "callback":
            return [f"int64_t {n}"]
        case "options":
            fields = schema.options[kind.name].fields
            return [p for field in fields for p in parameters(schema, field)]
        case "operand":
            return [f"int64_t {n}", f"int32_t {n}_kind", f"int64_t {n}_i", f"double {n}_f"]
        case "scalar":
            return [f"int32_t {n}_kind", f"int64_t {n}_i", f"double {n}_f"]
        case "i64" | "f64" if kind.optional and not kind.list:
            return [f"int32_t {n}_given", f"{_NUMBERS[kind.base]} {n}"]
        case "bool" if kind.optional and not kind.list:
            return [f"int32_t {n}"]  # -1 is absent
        case "bool" if not kind.list:
            return [f"_Bool {n}"]  # native.h takes none but Python's
        case "enum":
            return [f"int32_t {n}"]
        case "device":
            return [f"int32_t {n}_type", f"int64_t {n}_index"]
    return [str(p) for p in cabi.argument(a)]


def values(a: Argument) -> list[str]:
    """What the shim passes on."""
    n, kind = a.name, a.kind
    match kind.base:
        case "tensor" | "handle" if not kind.list:
            return [f"({cabi.type_name(kind)} *)(intptr_t){n}"]
        case "tensor" if kind.optional:
            return [f"(dt_tensor *const *)list_or_null({n}, {n}_n)", f"list_count({n}_n)"]
        case "tensor":
            return [f"(dt_tensor *const *){n}", f"{n}_n"]
        case "callback":
            function = f"on_{kind.name}"
            if kind.optional:
                function = f"{n} ? {function} : NULL"
            return [function, f"(void *)(intptr_t){n}", "on_drop"]
        case "options":
            return [f"&{n}_options"]
        case "operand":
            return [f"(dt_tensor *)(intptr_t){n}", f"{n}_kind", f"{n}_i", f"{n}_f"]
        case "i64" | "f64" if kind.optional and not kind.list:
            return [f"{n}_given ? &{n} : NULL"]
        case "bool" if kind.optional:
            return [f"{n} < 0 ? NULL : &{n}"]
    if kind.list and kind.optional:
        return [f"list_or_null({n}, {n}_n)", f"list_count({n}_n)"]
    return [name for _, name in cabi.argument(a)]


def options_struct(schema: Schema, a: Argument) -> list[str]:
    """The struct of an options argument, filled from the shim's flat parameters."""
    o: Options = schema.options[a.kind.name]
    lines = [f"  dt_{o.name}_options {a.name}_options = DT_{o.name.upper()}_OPTIONS_INIT;"]
    for field in o.fields:
        passed = [f"&{field.name}"] if cabi.needs_pointer(field, o) else values(field)
        for member, value in zip(cabi.field(field, o), passed, strict=True):
            lines.append(f"  {a.name}_options.{member.name} = {value};")
    return lines


# ---- results


def shim(schema: Schema, f: Function) -> tuple[str, str]:
    """(head, body) of the shim of one function."""
    taken = [p for a in f.args for p in parameters(schema, a)]
    passed = [v for a in f.args for v in values(a)]
    prepare = [
        line for a in f.args if a.kind.base == "options" for line in options_struct(schema, a)
    ]
    kind, extra, before, outs, after = _result(f)
    call = f"{f.c_name}({', '.join([*passed, *outs])})"
    body = [*prepare, *before, *(line.format(call=call) for line in after)]
    head = f"{kind} py_{f.name}({', '.join([*taken, *extra]) or 'void'})"
    return head, "\n".join(body)


def _result(f: Function):
    """(result type, more parameters, lines before the call, out arguments, lines with the call)."""
    if not f.results:
        return "int32_t", [], [], [], ["  return {call};"]
    if len(f.results) > 1:
        return _several(f)
    r = f.results[0]
    match r.kind.key:
        case "tensor" | "handle" | "tensor[]" | "str" | "bytes" | "str[]":
            return _handle(cabi.result(r)[0][0], "")
        case "tensor?" | "handle?":
            return _handle(cabi.result(r)[0][0], "if ({call}) return 1;")
        case "i64":
            after = ["  if ({call}) return INT64_MIN;", "  if (out == INT64_MIN) dt_error_clear();"]
            return "int64_t", [], ["  int64_t out = 0;"], ["&out"], [*after, "  return out;"]
        case "f64":
            after = ["  if ({call}) return NAN;", "  if (out != out) dt_error_clear();"]
            return "double", [], ["  double out = 0;"], ["&out"], [*after, "  return out;"]
        case "bool":
            after = ["  return {call} ? -1 : out;"]
            return "int32_t", [], ["  int32_t out = 0;"], ["&out"], after
        case "enum":
            after = ["  (void)!{call};", "  return out;"]
            return "int32_t", [], ["  int32_t out = 0;"], ["&out"], after
        case "device":
            before = ["  dt_device_type type = 0;", "  int64_t index = 0;"]
            after = ["  return {call} ? 0 : (int64_t)type << 32 | (uint32_t)index;"]
            return "int64_t", [], before, ["&type", "&index"], after
        case "pointer":
            after = ["  return {call} ? -1 : (int64_t)(intptr_t)out;"]
            return "int64_t", [], ["  void *out = NULL;"], ["&out"], after
        case "scalar":
            outs = ["&out->kind", "&out->i", "&out->f"]
            return "int32_t", ["py_scalar *out"], [], outs, ["  return {call};"]
        case "i64[]" | "f64[]":
            after = ["  return {call} ? -1 : count;"]
            extra = [f"{_NUMBERS[r.kind.base]} *out", "int64_t capacity"]
            return "int64_t", extra, ["  int64_t count = 0;"], ["out", "capacity", "&count"], after
    raise SchemaError(f"python: {f.name}: a result of kind {r.kind.key}")


def _handle(out_type: str, failed: str):
    kind = out_type.removesuffix("**")
    lines = [f"  {failed}"] if failed else ["  (void)!{call};"]
    return (
        "int64_t",
        [],
        [f"  {kind}*out = NULL;"],
        ["&out"],
        [*lines, "  return (int64_t)(intptr_t)out;"],
    )


def _several(f: Function):
    """Several results: one int64 each, handles among them."""
    before, outs, after = [], [], ["  const int32_t status = {call};"]
    for i, r in enumerate(f.results):
        kind = cabi.result(r)[0][0].removesuffix("*").rstrip()
        if r.kind.key in ("f64", "device", "scalar", "pointer", "i64[]", "f64[]"):
            raise SchemaError(f"python: {f.name}: several results with a {r.kind.key} among them")
        before.append(f"  {cabi.Parameter(kind, r.name)} = 0;")
        outs.append(f"&{r.name}")
        cast = "(int64_t)(intptr_t)" if kind.endswith("*") else ""
        after.append(f"  out[{i}] = {cast}{r.name};")
    return "int32_t", ["int64_t *out"], before, outs, [*after, "  return status;"]


# ---- callbacks


class _Callback:
    """declaration: what cffi implements in Python; adapter: the C function that calls it."""

    def __init__(self, declaration: str, adapter: str):
        self.declaration, self.adapter = declaration, adapter


def callback(c: Callback) -> _Callback:
    taken, passed, before, after = ["int64_t id"], ["(int64_t)(intptr_t)user_data"], [], []
    for a in c.args:
        n = a.name
        if a.kind.base in ("tensor", "handle") and not a.kind.list:
            taken.append(f"int64_t {n}")
            passed.append(f"(int64_t)(intptr_t){n}")
        elif a.kind.base == "tensor":
            taken += [f"const int64_t *{n}", f"int64_t {n}_n"]
            passed += [f"(const int64_t *){n}", f"{n}_n"]
        elif a.kind.base == "enum":
            taken.append(f"int32_t {n}")
            passed.append(n)
        else:
            taken += [str(p) for p in cabi.argument(a)]
            passed += [name for _, name in cabi.argument(a)]
    for r in c.results:
        kind = cabi.result(r)[0][0]
        handle = kind.endswith("**")
        taken.append(f"{'int64_t ' if handle else kind}*{r.name}".replace("**", "*"))
        if handle:
            before.append(f"  int64_t {r.name}_handle = 0;")
            after.append(f"  if (!status) *{r.name} = ({kind[:-1]})(intptr_t){r.name}_handle;")
        passed.append(f"&{r.name}_handle" if handle else r.name)
    name = f"py_on_{c.name}"
    head = f"static dt_status on_{c.name}({', '.join(cabi.callback_parameters(c))}) {{"
    before += ["  dt_status status = 0;", "  if (!python_runs()) return python_has_ended();"]
    call = f"  CALL_PYTHON(status = {name}({', '.join(passed)}));"
    adapter = "\n".join([head, *before, call, *after, "  return status;", "}\n"])
    prototype = f"int32_t {name}({', '.join(taken)})"
    return _Callback(f'extern "Python" {prototype};', f"static {prototype};\n{adapter}")


# ---- operators


def operators(schema: Schema) -> str:
    rows = {f.operator: f for f in schema.public if _is_slot(f)}
    inplace = [name for name, f in rows.items() if f.inplace]
    unary = [name for name, f in rows.items() if len(_required(f)) == 1]
    binary = [name for name in rows if name not in inplace and name not in unary]
    parts = [f"/* {GENERATED} */\n"]
    parts += [_operator_call(rows[name], name in unary) for name in rows]
    entries = []
    for name in binary:
        head, reflected = _reflected(schema, rows[name])
        parts += [head] if head else []
        entries.append(f"X({name}, {int(_takes_number(rows[name].args[1]))}, {reflected})")
    parts.append(f"#define DT_BINARY_OPERATORS(X) {' '.join(entries)}")
    parts.append(f"#define DT_INPLACE_OPERATORS(X) {' '.join(f'X({n})' for n in inplace)}")
    parts.append(f"#define DT_UNARY_OPERATORS(X) {' '.join(f'X({n})' for n in unary)}")
    return "\n".join(parts) + "\n"


def _is_slot(f: Function) -> bool:
    """Python has no in-place unary operators, and its reflected ones are in Python."""
    if f.method != "tensor" or not f.operator or f.operator == "rsub":
        return False
    return not (f.inplace and len(_required(f)) == 1)


def _required(f: Function) -> list[Argument]:
    return [a for a in f.args if not a.has_default]


_COMMUTATIVE = ("add", "mul", "and", "or", "xor")


def _takes_number(a: Argument) -> bool:
    return a.kind.base == "operand"


def _reflected(schema: Schema, f: Function) -> tuple[str, str]:
    """(a function, its name) for a number on the left."""
    name = f"reflected_{f.operator}"
    head = f"static dt_status {name}(const Operand *a, const Operand *b, dt_tensor **out) {{\n"
    if f.operator in _COMMUTATIVE:
        return f"{head}  return call_{f.operator}(b, a, out);\n}}\n", name
    if f.operator == "sub":
        rsub = schema.functions["rsub"]
        passed = [*_operand(rsub.args[0], "b"), *_operand(rsub.args[1], "a")]
        passed += [v for a in rsub.args[2:] for v in _default(a)]
        return f"{head}  return dt_rsub({', '.join(passed)}, out);\n}}\n", name
    return "", f"call_{f.operator}" if _takes_number(f.args[0]) else "NULL"


def _operator_call(f: Function, is_unary: bool) -> str:
    if is_unary:
        head = f"static dt_status call_{f.operator}(dt_tensor *a, dt_tensor **out) {{"
        passed = ["a"]
    else:
        head = (
            f"static dt_status call_{f.operator}"
            "(const Operand *a, const Operand *b, dt_tensor **out) {"
        )
        passed = [v for a, n in zip(f.args, "ab", strict=False) for v in _operand(a, n)]
    passed += [v for a in f.args if a.has_default for v in _default(a)]
    passed += [] if f.inplace else ["out"]
    unused = ["  (void)out;"] if f.inplace else []
    return "\n".join([head, *unused, f"  return {f.c_name}({', '.join(passed)});", "}\n"])


def _operand(a: Argument, n: str) -> list[str]:
    if a.kind.base == "operand":
        return [f"{n}->{member}" for member in ("handle", "kind", "i", "f")]
    return [f"{n}->handle"]


def _default(a: Argument) -> list[str]:
    if a.kind.base == "scalar":
        return ["DT_SCALAR_KIND_INT", str(a.default), "0.0"]
    return cabi.literal(a)
