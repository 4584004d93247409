"""Prints wrappers/fortran/dumbtorch.gen.f90: enums, types, callbacks and functions with Fortran's types,
over runtime.f90, which gives arguments to the table (table.py) and takes results from it.

What C calls dt_relu is the function relu, what it calls dt_tensor_size is x%size(0). One result makes a
function, none or several a subroutine. What has a default is optional, and so are stat and errmsg.
Names are generic, so those that Fortran has itself (sum, exp, matmul) keep their own meaning too."""

from __future__ import annotations

import textwrap

from .model import Enum, Kind, SchemaError
from .plan import Call, Class, Hook, Plan, Result, Slot
from .table import cells, result_cells
from .text import GENERATED

_WIDTH = 98
_LONGEST_NAME = 63
_MODULE = "dumbtorch_functions"
# What a procedure's body says, so that no argument can have the name.
_BODY = (
    "f", "stat", "errmsg", "present", "transfer", "int", "hold", "finish", "give", "give_list",
    "give_texts", "give_procedure",
)  # fmt: skip

# What a dummy argument of a kind is declared as.
_NUMBERS = {"i64": "class(*)", "f64": "real(real64)", "bool": "logical"}
_PLAIN = {
    **_NUMBERS, "tensor": "type(dt_tensor)", "operand": "class(*)", "scalar": "class(*)",
    "str": "character(*)", "path": "character(*)", "bytes": "character(*)",
    "device": "character(*)", "enum": "integer",
}  # fmt: skip
_LISTS = ("tensor", "i64", "f64", "bool", "str")

# What a result is declared as, and the statement that takes it: {i} is its place, {cell} its first
# cell, {out} its variable.
_TAKEN = {
    "tensor": ("type(dt_tensor)", "call hold({out}, dtf_hold(f, {i}, {cell}))"),
    "tensor?": ("type(dt_tensor)", "call hold({out}, dtf_hold(f, {i}, {cell}))"),
    "handle": ("type(dt_{name})", "call hold({out}, dtf_hold(f, {i}, {cell}))"),
    "tensor[]": ("type(dt_tensor), allocatable", "call take_tensors(f, {cell}, {out})"),
    "str": ("character(:), allocatable", "call take_text(f, {cell}, {out})"),
    "str[]": ("character(:), allocatable", "call take_texts(f, {cell}, {out})"),
    "i64[]": ("integer(int64), allocatable", "call take_integers(f, {cell}, {out})"),
    "f64[]": ("real(real64), allocatable", "call take_reals(f, {cell}, {out})"),
    "device": ("character(:), allocatable", "call take_device(f, {cell}, {out})"),
    "i64": ("integer(int64)", "{out} = f%results({cell})"),
    "f64": ("real(real64)", "{out} = take_real(f, {cell})"),
    "bool": ("logical", "{out} = f%results({cell}) /= 0"),
    "enum": ("integer", "{out} = int(f%results({cell}))"),
    "scalar": ("real(real64)", "{out} = take_scalar(f, {cell})"),
    "pointer": ("type(c_ptr)", "{out} = transfer(f%results({cell}), {out})"),
}

# What a callback takes: the dummy argument, the variable, and the statement that fills it from args({cell}).
_IN = "type(dt_tensor), intent(in)"
_LENT = {
    "tensor": (_IN, "type(dt_tensor)", "call hold({x}, dtf_lend(args({cell})))"),
    "tensor[]": (_IN, "type(dt_tensor), allocatable", "call lend_tensors(args({cell}:), {x})"),
    "i64": ("integer(int64), intent(in)", "integer(int64)", "{x} = args({cell})"),
    "enum": ("integer, intent(in)", "integer", "{x} = int(args({cell}))"),
    "str": (
        "character(*), intent(in)", "character(:), allocatable", "{x} = lent_text(args({cell}))",
    ),
}  # fmt: skip

# What it gives: the same two, and the cell that goes back.
_LIST = "type(dt_tensor), allocatable"
_HANDED = {
    "tensor?": (
        "type(dt_tensor), intent(inout)", "type(dt_tensor)", "dtf_give_back(handle_of({x}))",
    ),
    "tensor[]": (f"{_LIST}, intent(out)", _LIST, "hand_over_tensors({x})"),
    "bool": ("logical, intent(out)", "logical", "merge(1, 0, {x})"),
}  # fmt: skip

# Python's special methods as Fortran's operators, and what a number before a tensor means; "" for those
# that Fortran does not have.
_OPERATORS = {
    "add": ("+", "dt_add(b, a)"), "sub": ("-", "dt_rsub(b, a)"), "mul": ("*", "dt_mul(b, a)"),
    "truediv": ("/", "dt_mul(dt_reciprocal(b), a)"), "pow": ("**", "dt_pow(a, b)"),
    "eq": ("==", "dt_eq(b, a)"), "ne": ("/=", "dt_ne(b, a)"), "lt": ("<", "dt_gt(b, a)"),
    "le": ("<=", "dt_ge(b, a)"), "gt": (">", "dt_lt(b, a)"), "ge": (">=", "dt_le(b, a)"),
    "and": (".and.", "dt_bitwise_and(b, a)"), "or": (".or.", "dt_bitwise_or(b, a)"),
    "neg": ("-", ""), "invert": (".not.", ""),
    "abs": ("", ""), "rsub": ("", ""), "matmul": ("", ""), "call": ("", ""), "floordiv": ("", ""),
    "mod": ("", ""), "xor": ("", ""), "lshift": ("", ""), "rshift": ("", ""),
}  # fmt: skip
_BEFORE = {
    "real32": "real(real32)", "real64": "real(real64)", "int32": "integer(int32)",
    "int64": "integer(int64)",
}  # fmt: skip


def generate(plan: Plan) -> dict[str, str]:
    _check_names(plan)
    generics = [c for c in plan.calls if not is_method(c)]
    head = [
        f"! {GENERATED}",
        f"module {_MODULE}",
        "  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_f_procpointer, c_funloc, c_funptr, &",
        "    c_int64_t, c_null_ptr, c_ptr",
        "  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64",
        "  use dumbtorch_runtime",
        "  implicit none",
        "  private",
        "  public :: assignment(=), from_array",
    ]
    parts = ["\n".join(head), *map(_enum, plan.enums)]
    parts += [_class(c, plan) for c in plan.classes]
    parts += map(_hook_interface, plan.hooks)
    parts += [_generic(c.function.name, [procedure_name(c)]) for c in generics]
    operators, functions = _operators(plan)
    parts += [*operators, "contains", *(_indent(_copy(c)) for c in plan.classes), *functions]
    parts += [
        "  include 'tensors.inc'",
        *(_indent(_procedure(c, i)) for i, c in enumerate(plan.calls)),
    ]
    parts += [_indent(_run_hook(h)) for h in plan.hooks]
    parts += [_indent(_dispatch(plan)), f"end module\n\n{_public(plan)}"]
    return {"wrappers/fortran/dumbtorch.gen.f90": "\n\n".join(p.rstrip() for p in parts) + "\n"}


# ---- names


def is_method(c: Call) -> bool:
    """Ops on tensors are functions, under PyTorch's bare names."""
    return bool(c.function.method) and c.function.name.startswith(c.function.method + "_")


def procedure_name(c: Call) -> str:
    return f"dt_{c.function.name}"


def enum_value(e: str, value: str) -> str:
    return f"{e}_{value}".replace("-", "_")


def _check_names(plan: Plan) -> None:
    """Fortran does not tell A from a, and reads 63 letters."""
    names = ["from_array", *(c.name for c in plan.classes)]
    names += [c.function.name for c in plan.calls if not is_method(c)]
    names += [enum_value(e.name, v.name) for e in plan.enums for v in e.values]
    _unique("the module", names)
    for c in plan.classes:
        own = [x.member for x in plan.calls if is_method(x) and x.function.method == c.name]
        _unique(f"type {c.name}", [*own, "is_set", "release", "share", "to_array"])
    for c in plan.calls:
        _unique(c.c_name, [*_BODY, *(s.name for s in c.slots), *(r.name for r in c.results)])


def _unique(where: str, names: list[str]) -> None:
    folded = [name.lower() for name in names]
    for name in folded:
        if folded.count(name) > 1 or len(f"dt_{name}") > _LONGEST_NAME:
            raise SchemaError(f"fortran: {where}: the name '{name}' is taken, or too long")


# ---- lines


def _indent(lines: str, by: str = "  ") -> str:
    return textwrap.indent(lines, by)


def _comment(words: str, indent: str = "") -> str:
    return "\n".join(f"{indent}! {line}" for line in textwrap.wrap(words, _WIDTH - 4 - len(indent)))


def _wrapped(head: str, words: list[str], tail: str) -> str:
    """head + words + tail, continued with & where a line would be too long."""
    pieces = [w + ", " for w in words[:-1]] + [w + tail for w in words[-1:]]
    lines, line = [], head if words else head + tail
    for piece in pieces:
        if line.strip() and len(line) + len(piece) > _WIDTH - 4:
            lines.append(line.rstrip() + " &")
            line = "    "
        line += piece
    return "\n".join([*lines, line])


def continued(line: str) -> str:
    """A statement over as many lines as it needs; text is never broken."""
    words, text_open = [""], False
    for piece in line.split(", "):
        words[-1] += ", " + piece if text_open else ""
        if not text_open:
            words.append(piece)
        text_open ^= piece.count("'") % 2 == 1
    return _wrapped("", words[1:], "")


def quoted(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def real(value: float) -> str:
    """A literal of double precision."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    return f"{mantissa}d{exponent or 0}"


def _generic(name: str, procedures: list[str]) -> str:
    body = "\n".join(f"    procedure {p}" for p in procedures)
    return f"  public :: {name}\n  interface {name}\n{body}\n  end interface"


# ---- enums, types


def _enum(e: Enum) -> str:
    values = [
        f"  integer, parameter, public :: {enum_value(e.name, v.name)} = {v.number}"
        for v in e.values
    ]
    return "\n".join([_comment(e.doc, "  "), *values])


def _class(c: Class, plan: Plan) -> str:
    own = [x for x in plan.calls if is_method(x) and x.function.method == c.name]
    lines = [_comment(c.handle.doc, "  "), f"  type, extends(object), public :: dt_{c.name}"]
    lines += ["  contains", f"    procedure, private :: copy_{c.name}"]
    lines += [f"    generic :: assignment(=) => copy_{c.name}"]
    lines += [f"    procedure :: {x.member} => {procedure_name(x)}" for x in own]
    lines += ["    procedure :: to_array => dt_tensor_to_array"] if c.name == "tensor" else []
    lines += ["  end type", "  interface assignment(=)"]
    return "\n".join([*lines, f"    procedure copy_{c.name}_array", "  end interface"])


def _copy(c: Class) -> str:
    return f"""\
subroutine copy_{c.name}(to, from)
  class(dt_{c.name}), intent(inout) :: to
  type(dt_{c.name}), intent(in) :: from
  call copy_object(to, from)
end subroutine

subroutine copy_{c.name}_array(to, from)
  type(dt_{c.name}), allocatable, intent(inout) :: to(:)
  type(dt_{c.name}), intent(in) :: from(:)
  type(dt_{c.name}), allocatable :: new(:)
  integer :: i
  allocate (new(size(from)))
  do i = 1, size(from)
    call copy_object(new(i), from(i))
  end do
  call move_alloc(new, to)
end subroutine"""


def _public(plan: Plan) -> str:
    names = [f"{c.name} => dt_{c.name}" for c in plan.classes]
    use = _wrapped(f"  use {_MODULE}, ", names, "")
    doc = "! PyTorch's names, defaults and numbers: docs/fortran.md."
    return f"{doc}\nmodule dumbtorch\n{use}\n  implicit none\nend module"


# ---- operators


def _operators(plan: Plan) -> tuple[list[str], list[str]]:
    """(their interfaces, the functions behind them)"""
    procedures: dict[str, list[str]] = {}
    functions = []
    for c in plan.calls:
        key = c.function.operator
        if not key or c.returns_this:
            continue
        if key not in _OPERATORS:
            raise SchemaError(f"fortran: {c.c_name}: operator '{key}' is not known")
        sign, reflected = _OPERATORS[key]
        made = _operator_functions(c, reflected) if sign else {}
        procedures.setdefault(sign, []).extend(made)
        functions += [_indent(f) for f in made.values()]
    interfaces = [_generic(f"operator({s})", names) for s, names in procedures.items() if s]
    return interfaces, functions


def _operator_functions(c: Call, reflected: str) -> dict[str, str]:
    """What a function is called with as an operator: a tensor; tensor and anything; number and tensor."""
    key, name = c.function.operator, procedure_name(c)
    if not reflected:
        return {f"op_{key}": _operator(f"op_{key}", {"a": "type(dt_tensor)"}, f"{name}(a)")}
    types = {"a": "type(dt_tensor)", "b": "class(*)"}
    made = {f"op_{key}": _operator(f"op_{key}", types, f"{name}(a, b)")}
    for word, number in _BEFORE.items():
        types = {"a": number, "b": "type(dt_tensor)"}
        made[f"op_{key}_{word}"] = _operator(f"op_{key}_{word}", types, reflected)
    return made


def _operator(name: str, types: dict[str, str], value: str) -> str:
    declared = "\n".join(f"  {t}, intent(in) :: {x}" for x, t in types.items())
    return f"""\
function {name}({", ".join(types)}) result(out)
{declared}
  type(dt_tensor) :: out
  out = {value}
end function"""


# ---- functions


def _procedure(c: Call, index: int) -> str:
    is_function = len(c.results) == 1
    results = [(r, "out" if is_function else r.name) for r in c.results]
    shown = [s.name for s in c.required] + ([] if is_function else [name for _, name in results])
    shown += [s.name for s in c.optional] + ["stat", "errmsg"]
    word = "function" if is_function else "subroutine"
    tail = ") result(out)" if is_function else ")"
    lines = [_comment(f"{c.function.name}: {c.about}")]
    lines.append(_wrapped(f"{word} {procedure_name(c)}(", shown, tail))
    lines += [f"  {_dummy(s, c)}" for s in c.slots]
    lines += ["  integer, intent(out), optional :: stat"]
    lines += ["  character(*), intent(inout), optional :: errmsg"]
    lines += [f"  {_result(r, name, is_function)}" for r, name in results]
    lines += ["  type(frame) :: f", f"  call dtf_begin(f, {index})"]
    cell = 0
    for i, s in enumerate(c.slots):
        given = f"call {_giver(s, i, cell)}"
        lines.append(f"  if (present({s.name})) {given}" if _may_be_absent(s) else f"  {given}")
        cell += len(cells(s.kind))
    lines.append("  call finish(f, stat, errmsg)")
    cell = 0
    for i, (r, name) in enumerate(results):
        lines.append("  " + _TAKEN[r.kind.key][1].format(i=i, cell=cell, out=name))
        cell += result_cells(r)
    return "\n".join([*lines, "  call dtf_end(f)", f"end {word}"])


def _may_be_absent(s: Slot) -> bool:
    return not s.required or s.kind.optional


def _giver(s: Slot, i: int, cell: int) -> str:
    if s.kind.base == "callback":
        return f"give_procedure(f, {cell}, c_funloc({s.name}))"
    word = "give"
    if s.kind.list:
        word += "_texts" if s.kind.base == "str" else "_list"
    return f"{word}(f, {i}, {s.name})"


def _type(kind: Kind) -> str:
    if kind.base == "handle":
        return f"type(dt_{kind.name})"
    if kind.base not in _PLAIN or (kind.list and kind.base not in _LISTS):
        raise SchemaError(f"fortran: a value of kind {kind.key}")
    return _PLAIN[kind.base]


def _dummy(s: Slot, c: Call) -> str:
    """Objects are `in` also where the call writes what is behind them: the variable stays as it is."""
    optional = ", optional" if _may_be_absent(s) else ""
    if s.kind.base == "callback":
        return f"procedure(dt_{s.kind.name}){optional} :: {s.name}"
    kind = _type(s.kind)
    if is_method(c) and s is c.slots[0]:
        kind = kind.replace("type(", "class(")
    return f"{kind}, intent(in){optional} :: {s.name}{'(:)' if s.kind.list else ''}"


def declared(r: Result) -> str:
    """What a variable for a result is, but for its name."""
    kind = _TAKEN[r.kind.key][0].format(name=r.kind.name)
    return f"{kind}, dimension(:)" if r.kind.list else kind


def _result(r: Result, name: str, is_function: bool) -> str:
    kind = declared(r)
    intent = "out" if "type(" not in kind or "allocatable" in kind else "inout"
    return f"{kind}{'' if is_function else f', intent({intent})'} :: {name}"


# ---- callbacks


def _lent(s: Slot) -> tuple[str, str, str]:
    key = "tensor[]" if s.kind.list else s.kind.key
    if key not in _LENT:
        raise SchemaError(f"fortran: a callback that takes a {s.kind.key}")
    return _LENT[key]


def _hook_interface(h: Hook) -> str:
    shown = ", ".join([s.name for s in h.inputs] + [r.name for r in h.results])
    lines = [_comment(h.callback.doc, "    "), f"    subroutine dt_{h.name}({shown})"]
    lines += ["      import dt_tensor, int64"]
    for s in h.inputs:
        lines.append(f"      {_lent(s)[0]} :: {s.name}{'(:)' if s.kind.list else ''}")
    for r in h.results:
        lines.append(f"      {_HANDED[r.kind.key][0]} :: {r.name}{'(:)' if r.kind.list else ''}")
    return "\n".join(["  abstract interface", *lines, "    end subroutine", "  end interface"])


def _run_hook(h: Hook) -> str:
    names = [s.name for s in h.inputs] + [r.name for r in h.results]
    lines = [f"subroutine run_{h.name}({_hook_arguments(h)})"]
    lines += ["  type(c_funptr), intent(in) :: user"]
    lines += ["  integer(int64), intent(in) :: args(0:7)"]
    lines += ["  integer(int64), intent(out) :: results(0:0)"] if h.results else []
    lines += [f"  procedure(dt_{h.name}), pointer :: hook"]
    lines += [f"  {_lent(s)[1]} :: {s.name}{'(:)' if s.kind.list else ''}" for s in h.inputs]
    lines += [
        f"  {_HANDED[r.kind.key][1]} :: {r.name}{'(:)' if r.kind.list else ''}" for r in h.results
    ]
    lines.append("  call c_f_procpointer(user, hook)")
    cell = 0
    for s in h.inputs:
        lines.append("  " + _lent(s)[2].format(cell=cell, x=s.name))
        cell += len(cells(s.kind))
    lines.append(f"  call hook({', '.join(names)})")
    for i, r in enumerate(h.results):
        lines.append(f"  results({i}) = {_HANDED[r.kind.key][2].format(x=r.name)}")
    return "\n".join([*lines, "end subroutine"])


def _hook_arguments(h: Hook) -> str:
    return "user, args, results" if h.results else "user, args"


def _dispatch(plan: Plan) -> str:
    cases = "\n".join(
        f"  case ('{h.name}')\n    call run_{h.name}({_hook_arguments(h)})" for h in plan.hooks
    )
    return f"""\
! Runs the procedure behind a callback; bridge.c calls it.
subroutine dispatch(name, user, args, results) bind(c, name='dtf_dispatch')
  type(c_ptr), value :: name
  type(c_funptr), value :: user
  integer(c_int64_t), intent(in) :: args(0:7)
  integer(c_int64_t), intent(inout) :: results(0:0)
  select case (lent_text(transfer(name, 0_int64)))
{cases}
  end select
end subroutine"""
