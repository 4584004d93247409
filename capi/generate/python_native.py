"""Prints the C code under the Python wrapper.

`native.gen.cdef` and `native.gen.c` are what cffi compiles: for each function a static shim
`py_NAME` with a shape that is cheap to call from Python. A tensor crosses as itself, what else has a
handle as an int64, so no pointer objects are made; one result comes back as the shim's own result, of
a type of native.h's whose conversion raises the error where the value says "failed":

    new_tensor        tensor                       NULL
    handle_result     handle, list, text, device   0
    optional_result   handle that may be absent    1; absent is 0
    int_result        i64                          INT64_MIN, if there is an error
    double            f64                          NaN, if there is an error
    bool_result       bool                         -1
    count_result      count, pointer               -1
    enum_result       enum                         0
    status_result     none, scalar, several        a status; the results go through a pointer

`operators.gen.h` holds the calls behind Python's operators, for tensor_type.c.
"""

from __future__ import annotations

from . import cabi
from .model import Argument, SchemaError
from .plan import Call, Hook, Input, Operator, Plan, Result, Slot
from .python_names import may_give_back
from .text import GENERATED

_NUMBERS = {"i64": "int64_t", "f64": "double", "bool": "int32_t"}


def generate(plan: Plan) -> dict[str, str]:
    shims = [shim(c) for c in plan.calls]
    callbacks = [callback(h) for h in plan.hooks]
    releases = [release(c.name) for c in plan.classes]
    cdef = [f"// {GENERATED}", *(f'extern "Python" {head};' for head, _ in callbacks)]
    cdef += [f"{head};" for head, _ in [*releases, *shims]]
    source = [f"// {GENERATED}", '#include "native.h"\n']
    source += [f"static {head};\n{adapter}" for head, adapter in callbacks]
    source += [f"static {head} {{\n{body}\n}}\n" for head, body in [*releases, *shims]]
    folder = "wrappers/python"
    return {
        f"{folder}/native.gen.cdef": "\n".join(cdef) + "\n",
        f"{folder}/native.gen.c": "\n".join(source),
        f"{folder}/operators.gen.h": operators(plan),
    }


def release(handle: str) -> tuple[str, str]:
    call = f"  dt_{handle}_release((dt_{handle} *)(intptr_t)handle);"
    return f"void py_{handle}_release(int64_t handle)", call


# ---- arguments


def parameters(a: Slot) -> list[str]:
    """What a shim takes for one argument."""
    n, kind = a.name, a.kind
    match kind.base:
        case "tensor" if not kind.list:
            return [f"{'optional_tensor' if kind.optional else 'tensor_handle'} {n}"]
        case "handle" if not kind.list:
            return [f"int64_t {n}"]
        case "tensor":
            return [f"const int64_t *{n}", f"int64_t {n}_n"]
        case "callback":
            return [f"int64_t {n}"]
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
    return [str(p) for p in cabi.argument(a.argument)]


def values(a: Slot) -> list[str]:
    """What the shim passes on."""
    n, kind = a.name, a.kind
    if a.pointed:
        return [f"&{n}"]
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
        case "operand":
            return [f"(dt_tensor *)(intptr_t){n}", f"{n}_kind", f"{n}_i", f"{n}_f"]
        case "i64" | "f64" if kind.optional and not kind.list:
            return [f"{n}_given ? &{n} : NULL"]
        case "bool" if kind.optional:
            return [f"{n} < 0 ? NULL : &{n}"]
    if kind.list and kind.optional:
        return [f"list_or_null({n}, {n}_n)", f"list_count({n}_n)"]
    return [p.name for p in a.parameters]


def options_struct(i: Input) -> list[str]:
    """The struct of an options argument, filled from the shim's flat parameters."""
    name = f"{i.argument.name}_options"
    lines = [f"  {i.c_type} {name} = {i.c_type.upper()}_INIT;"]
    for slot in i.slots:
        pairs = zip(slot.parameters, values(slot), strict=True)
        lines += [f"  {name}.{member.name} = {value};" for member, value in pairs]
    return lines


# ---- results


def shim(c: Call) -> tuple[str, str]:
    """(head, body) of the shim of one function."""
    taken = [p for s in c.slots for p in parameters(s)]
    passed: list[str] = []
    for i in c.inputs:
        passed += [f"&{i.argument.name}_options"] if i.is_struct else values(i.slots[0])
    prepare = [line for i in c.structs for line in options_struct(i)]
    kind, extra, before, outs, after = _result(c)
    call = f"{c.c_name}({', '.join([*passed, *outs])})"
    body = [*prepare, *before, *(line.format(call=call) for line in after)]
    head = f"{kind} py_{c.function.name}({', '.join([*taken, *extra]) or 'void'})"
    return head, "\n".join(body)


def _result(c: Call):
    """(result type, more parameters, lines before the call, out arguments, lines with the call)."""
    if not c.results:
        return "status_result", [], [], [], ["  return {call};"]
    if len(c.results) > 1:
        return _several(c)
    r = c.results[0]
    if r.handle:
        is_new = r.kind.key == "tensor" and not may_give_back(c)
        if r.optional:
            return _handle(r, "optional_result")
        return _handle(r, "new_tensor" if is_new else "handle_result")
    match r.kind.key:
        case "i64":
            after = ["  if ({call}) return INT64_MIN;", "  if (out == INT64_MIN) dt_error_clear();"]
            return "int_result", [], ["  int64_t out = 0;"], ["&out"], [*after, "  return out;"]
        case "f64":
            after = ["  if ({call}) return NAN;", "  if (out != out) dt_error_clear();"]
            return "double", [], ["  double out = 0;"], ["&out"], [*after, "  return out;"]
        case "bool":
            after = ["  return {call} ? -1 : out;"]
            return "bool_result", [], ["  int32_t out = 0;"], ["&out"], after
        case "enum":
            after = ["  (void)!{call};", "  return out;"]
            return "enum_result", [], ["  int32_t out = 0;"], ["&out"], after
        case "device":
            before = ["  dt_device_type type = 0;", "  int64_t index = 0;"]
            after = ["  return {call} ? 0 : (int64_t)type << 32 | (uint32_t)index;"]
            return "handle_result", [], before, ["&type", "&index"], after
        case "pointer":
            after = ["  return {call} ? -1 : (int64_t)(intptr_t)out;"]
            return "count_result", [], ["  void *out = NULL;"], ["&out"], after
        case "scalar":
            outs = ["&out->kind", "&out->i", "&out->f"]
            return "status_result", ["py_scalar *out"], [], outs, ["  return {call};"]
        case "i64[]" | "f64[]":
            after = ["  return {call} ? -1 : count;"]
            extra = [f"{_NUMBERS[r.kind.base]} *out", "int64_t capacity"]
            return (
                "count_result",
                extra,
                ["  int64_t count = 0;"],
                ["out", "capacity", "&count"],
                after,
            )
    raise SchemaError(f"python: {c.c_name}: a result of kind {r.kind.key}")


def _handle(r: Result, type_: str):
    call = "  if ({call}) return 1;" if r.optional else "  (void)!{call};"
    before = [f"  dt_{r.handle} *out = NULL;"]
    return type_, [], before, ["&out"], [call, "  return (int64_t)(intptr_t)out;"]


def _several(c: Call):
    """Several results: one int64 each, handles among them."""
    before, outs, after = [], [], ["  const int32_t status = {call};"]
    for i, r in enumerate(c.results):
        if not r.handle and r.kind.key not in ("i64", "bool", "enum"):
            raise SchemaError(f"python: {c.c_name}: several results with a {r.kind.key} among them")
        kind = r.parameters[0].type.removesuffix("*").rstrip()
        before.append(f"  {cabi.Parameter(kind, r.name)} = 0;")
        outs.append(f"&{r.name}")
        cast = "(int64_t)(intptr_t)" if r.handle else ""
        after.append(f"  out[{i}] = {cast}{r.name};")
    return "status_result", ["int64_t *out"], before, outs, [*after, "  return status;"]


# ---- callbacks


def callback(h: Hook) -> tuple[str, str]:
    """(head of what cffi implements in Python, the C function that calls it)."""
    taken, passed, before, after = ["int64_t id"], ["(int64_t)(intptr_t)user_data"], [], []
    for s in h.inputs:
        n = s.name
        if s.kind.base in ("tensor", "handle") and not s.kind.list:
            taken.append(f"int64_t {n}")
            passed.append(f"(int64_t)(intptr_t){n}")
        elif s.kind.list and s.kind.base == "tensor":
            taken += parameters(s)
            passed += [f"(const int64_t *){n}", f"{n}_n"]
        else:
            taken += parameters(s)
            passed += [p.name for p in s.parameters]
    for r in h.results:
        if r.handle:
            taken.append(f"int64_t *{r.name}")
            before.append(f"  int64_t {r.name}_handle = 0;")
            value = f"(dt_{r.handle} *)(intptr_t){r.name}_handle"
            after.append(f"  if (!status) *{r.name} = {value};")
        else:
            taken.append(str(r.parameters[0]))
        passed.append(f"&{r.name}_handle" if r.handle else r.name)
    name = f"py_on_{h.name}"
    head = f"static dt_status on_{h.name}({', '.join(cabi.callback_parameters(h.callback))}) {{"
    before += ["  dt_status status = 0;", "  if (!python_runs()) return python_has_ended();"]
    call = f"  CALL_PYTHON(status = {name}({', '.join(passed)}));"
    adapter = "\n".join([head, *before, call, *after, "  return status;", "}\n"])
    return f"int32_t {name}({', '.join(taken)})", adapter


# ---- operators


def operators(plan: Plan) -> str:
    tensor = next(c for c in plan.classes if c.name == "tensor")
    calls = {c.function.operator: c for c in tensor.calls if _is_slot(c)}
    inplace = [name for name, c in calls.items() if c.returns_this]
    unary = [name for name, c in calls.items() if len(c.required) == 1]
    parts = [f"/* {GENERATED} */\n", *map(_operator_call, calls.values())]
    entries = []
    for o in tensor.operators:
        if o.name in calls and o.name not in unary:
            head, reflected = _reflected(o)
            parts += [head] if head else []
            takes_number = o.call.slots[1].kind.base == "operand"
            entries.append(f"X({o.name}, {int(takes_number)}, {reflected})")
    parts.append(f"#define DT_BINARY_OPERATORS(X) {' '.join(entries)}")
    parts.append(f"#define DT_INPLACE_OPERATORS(X) {' '.join(f'X({n})' for n in inplace)}")
    parts.append(f"#define DT_UNARY_OPERATORS(X) {' '.join(f'X({n})' for n in unary)}")
    return "\n".join(parts) + "\n"


def _is_slot(c: Call) -> bool:
    """Python has no in-place unary operators, and its reflected ones are in Python."""
    operator = c.function.operator
    return bool(operator) and operator != "rsub" and not (c.returns_this and len(c.required) == 1)


# Python itself turns these around.
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _reflected(o: Operator) -> tuple[str, str]:
    """(a function, its name) for a number on the left."""
    if o.name in _COMPARISONS or len(o.reflected) != 1:
        takes_number = o.call.slots[0].kind.base == "operand"
        return "", f"call_{o.name}" if takes_number else "NULL"
    name = f"reflected_{o.name}"
    head = f"static dt_status {name}(const Operand *a, const Operand *b, dt_tensor **out) {{"
    return f"{head}\n  return {_called(o.reflected[0], 'ba')};\n}}\n", name


def _operator_call(c: Call) -> str:
    name, is_unary = c.function.operator, len(c.required) == 1
    takes = "dt_tensor *a" if is_unary else "const Operand *a, const Operand *b"
    lines = [f"static dt_status call_{name}({takes}, dt_tensor **out) {{"]
    lines += ["  (void)out;"] if c.returns_this else []
    call = f"{c.c_name}(a, out)" if is_unary else _called(c, "ab")
    return "\n".join([*lines, f"  return {call};", "}\n"])


def _called(c: Call, operands: str) -> str:
    """The call with these first, all else as its defaults say."""
    passed = [v for s, n in zip(c.slots, operands, strict=False) for v in _operand(s, n)]
    passed += [v for s in c.optional for v in _default(s.argument)]
    return f"{c.c_name}({', '.join(passed if c.returns_this else [*passed, 'out'])})"


def _operand(s: Slot, n: str) -> list[str]:
    if s.kind.base == "operand":
        return [f"{n}->{member}" for member in ("handle", "kind", "i", "f")]
    return [f"{n}->handle"]


def _default(a: Argument) -> list[str]:
    if a.kind.base == "scalar":
        return ["DT_SCALAR_KIND_INT", str(a.default), "0.0"]
    return cabi.literal(a)
