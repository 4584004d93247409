"""Prints wrappers/fortran/dumbtorch.gen.f90: enums, types, callbacks and functions with Fortran's types,
around runtime.f90 and over bridge.c, which gives arguments to the table (table.py) and takes results from it.

What C calls dt_relu is the function relu, what it calls dt_tensor_size is x%size(0). One result makes a
function, none or several a subroutine. What has a default is optional, and so are stat and errmsg.
Names are generic, so those that Fortran has itself (sum, exp, matmul) keep their own meaning too."""

from __future__ import annotations

import pathlib

from .model import Enum, Kind
from .plan import Call, Class, Hook, Operator, Plan, Result, Slot, word
from .table import linked
from .text import GENERATED, comment

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "wrappers" / "fortran"

# An argument's type; integers are of any kind. And how it is given, if not as it lies.
_ARGUMENTS = {
    "operand": "class(*)", "scalar": "class(*)", "i64": "type(*), dimension(..)", "i64[]": "type(*)",
    **dict.fromkeys(("tensor", "tensor[]", "handle"), "type(dt_{name})"), "pointer": "type(*), dimension(..)",
    "callback": "procedure(dt_{name})", "enum": "integer", "f64": "real(real64)", "f64[]": "real(real64)",
    "bool": "logical", "bool[]": "logical",
    **dict.fromkeys(("str", "str[]", "path", "bytes", "device"), "character(*)"),
}  # fmt: skip
_GIVEN = {
    **dict.fromkeys(("operand", "scalar"), "call give(f, {i}, {x})"),
    **dict.fromkeys(("tensor", "tensor[]", "handle"), "call dtf_give(f, {i}, handle_of({x}))"),
    "callback": "call dtf_give(f, {i}, transfer(c_funloc({x}), 0_int64))",
}

# A result's type, or that of what a callback is given, and how it is taken from its two words.
_LIST = ", allocatable, dimension(:)"
_RESULTS = {
    "tensor": "type(dt_{name})", "handle": "type(dt_{name})", "tensor[]": f"type(dt_{{name}}){_LIST}",
    "i64": "integer(int64)", "i64[]": f"integer(int64){_LIST}", "f64": "real(real64)", "f64[]": f"real(real64){_LIST}",
    "scalar": "real(real64)", "enum": "integer", "bool": "logical", "pointer": "type(c_ptr)",
    "str": "character(:), allocatable", "device": "character(:), allocatable", "str[]": f"character(:){_LIST}",
}  # fmt: skip
_LONG = "allocate (character(dtf_longest(f, {i})) :: {x}"
_TAKEN = {
    **dict.fromkeys(_RESULTS, "call dtf_take(f, {i}, {x})"),
    **dict.fromkeys(("tensor", "handle"), "call hold({x}, {a})"),
    "tensor[]": "allocate ({x}({n}))\n  block\n  integer(int64) :: words({n})\n"
    "  call dtf_take(f, {i}, words)\n  call hold({x}, words)\n  end block",
    **dict.fromkeys(("i64[]", "f64[]"), "allocate ({x}({n}))\n  call dtf_take(f, {i}, {x})"),
    **dict.fromkeys(("str", "device"), f"{_LONG})\n  call dtf_take(f, {{i}}, {{x}})"),
    "str[]": f"{_LONG}({{n}}))\n  call dtf_take(f, {{i}}, {{x}})",
}  # fmt: skip

# Python's special methods as Fortran's operators.
OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "eq": "==", "ne": "/=", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "and": ".and.", "or": ".or.", "neg": "-", "invert": ".not.",
}  # fmt: skip
_NUMBERS = ("real(real32)", "real(real64)", "integer(int32)", "integer(int64)", "logical")

_GIVE = """\
! An argument that may be a tensor or a number.
subroutine give(f, i, x)
  type(frame), intent(inout) :: f
  integer, intent(in) :: i
  class(*), intent(in) :: x
  select type (x)
  class is (object)
    call dtf_give_tensor(f, i, handle_of(x))
  {}
  class default
    call dtf_refuse(f, i)
  end select
end subroutine"""

# What a type of C is to Fortran, if it is no integer of 8 bytes: addresses are.
_C_TYPES = {
    "dtt_frame*": "type(frame)", "any*": "type(*), dimension(..)", "int32_t": "integer(c_int32_t), value"
}  # fmt: skip


_DISPATCH = """\
! Runs the procedure behind a callback; bridge.c calls it.
subroutine dispatch(name, length, f) bind(c, name='dtf_dispatch')
  integer(c_int64_t), value :: name, length
  type(frame), intent(inout) :: f
  character(:), allocatable :: text
  call take_text(text, name, length)
  select case (text)"""


def generate(plan: Plan) -> dict[str, str]:
    types, procedures = (FOLDER / "runtime.f90").read_text().split("\ncontains\n")
    functions = [c.function.name for c in plan.tabled if not is_method(c)]
    operators = [_operator(o) for c in plan.classes for o in c.operators if o.name in OPERATORS]
    parts = [
        f"! {GENERATED}",
        types,
        *map(_enum, plan.enums),
        *(_class(c, plan) for c in plan.classes),
        *map(_interface, plan.hooks),
        *(f"public :: {n}\n{_named(n, f'dt_{n}')}" for n in functions),
        *(_named("assignment(=)", f"copy_{c.name}_array") for c in plan.classes),
        "public :: " + ", ".join(f"operator({sign})" for sign in sorted({*OPERATORS.values()})),
        *(interface for interface, _ in operators),
        _bridge(),
        "contains",
        procedures,
        _GIVE.format("\n  ".join(f"type is ({n})\n    call dtf_give(f, i, x)" for n in _NUMBERS)),
        *map(_copies, plan.classes),
        *(procedure for _, procedure in operators),
        *(_procedure(c, i) for i, c in enumerate(plan.tabled)),
        _DISPATCH,
        *map(_run, plan.hooks),
        "end select\nend subroutine\nend module\n",
        "! PyTorch's names, defaults and numbers: docs/fortran.md.",
        "module dumbtorch",
        f"use dumbtorch_functions, {', '.join(f'{c.name} => dt_{c.name}' for c in plan.classes)}",
        "implicit none",
        "end module\n",
    ]
    return {"wrappers/fortran/dumbtorch.gen.f90": "\n".join(parts)}


def is_method(c: Call) -> bool:
    """Ops on tensors are functions, under PyTorch's bare names."""
    return bool(c.function.method) and c.function.name.startswith(c.function.method + "_")


def enum_value(e: str, value: str) -> str:
    return f"{e}_{value}".replace("-", "_")


# ---- lines


def _comment(words: str) -> str:
    return comment(words, mark="!")


def quoted(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def real(value: float) -> str:
    """A literal of double precision."""
    return "d".join([*repr(float(value)).split("e"), "0"][:2])


# ---- declarations


def _bridge() -> str:
    """The interfaces of C's functions."""
    lines = ["interface"]
    for back, name, arguments in linked((FOLDER / "bridge.c").read_text()):
        word = "subroutine" if back == "void" else f"integer(c_{back}) function"
        kinds = [_C_TYPES.get(c, "integer(c_int64_t), value") for c in arguments.values()]
        lines += [f"{word} {name}({', '.join(arguments)}) bind(c)\n  import"]
        lines += [*(f"  {kind} :: {x}" for x, kind in zip(arguments, kinds, strict=True)), "end"]
    return "\n".join([*lines, "end interface"])


def _named(name: str, procedures: str) -> str:
    return f"interface {name}\n  procedure {procedures}\nend interface"


def _enum(e: Enum) -> str:
    names = [f"{enum_value(e.name, v.name)} = {v.number}" for v in e.values]
    return "\n".join([_comment(e.doc), *(f"integer, parameter, public :: {n}" for n in names)])


def _class(c: Class, plan: Plan) -> str:
    calls = [x for x in plan.tabled if x.function.method == c.name]
    methods = [f"{x.member} => dt_{x.function.name}" for x in calls if is_method(x)]
    bound = "\n".join(f"  procedure :: {m}" for m in methods)
    return f"""\
{_comment(c.handle.doc)}
type, extends(object), public :: dt_{c.name}
contains
  procedure, private :: copy_{c.name}
  generic :: assignment(=) => copy_{c.name}
{bound}
end type"""


def _copies(c: Class) -> str:
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
  allocate (new(size(from)))
  call copy_object(new, from)
  call move_alloc(new, to)
end subroutine"""


# ---- operators


def _operator(o: Operator) -> tuple[str, str]:
    """(the interface, the functions behind it)"""
    name, dummies = o.call.function.name, "ab"[: len(o.call.required)]
    takes = ", ".join(dummies)
    ways = [(("type(dt_tensor)", "class(*)"), f"dt_{name}({takes})")]
    if len(dummies) == 2:
        ways += [((n, "type(dt_tensor)"), o.number_first(*dummies, "dt_")) for n in _NUMBERS]
    functions = [
        f"function op_{name}_{i}({takes}) result(out)\n  type(dt_tensor) :: out\n"
        + "".join(f"  {k}, intent(in) :: {x}\n" for k, x in zip(kinds, dummies, strict=False))
        + f"  out = {value}\nend function"
        for i, (kinds, value) in enumerate(ways)
    ]
    names = [f"op_{name}_{i}" for i in range(len(ways))]
    return _named(f"operator({OPERATORS[o.name]})", ", ".join(names)), "\n".join(functions)


# ---- functions


def _procedure(c: Call, index: int) -> str:
    is_function = len(c.results) == 1
    names = ["out"] if is_function else [r.name for r in c.results]
    shown = [s.name for s in c.required] + ([] if is_function else names)
    shown += [s.name for s in c.optional] + ["stat", "errmsg"]
    taken = [_taken(r.kind, n, i) for i, (r, n) in enumerate(zip(c.results, names, strict=True))]
    what, tail = ("function", " result(out)") if is_function else ("subroutine", "")
    lines = [
        f"{what} dt_{c.function.name}({', '.join(shown)}){tail}",
        *(_dummy(s, is_method(c) and s is c.slots[0]) for s in c.slots),
        "integer, intent(out), optional :: stat",
        "character(*), intent(inout), optional :: errmsg",
        *(f"{declared(r.kind)} :: out" if is_function else _out(r.kind, r.name) for r in c.results),
        "type(frame) :: f",
        f"call dtf_begin(f, {index})",
        *(_give(s, i, "present" * s.may_be_absent) for i, s in enumerate(c.slots)),
        "call run(f, stat, errmsg)",
        *taken,
        "call dtf_end(f)",
    ]
    about = _comment(f"{c.function.name}: {c.about}")
    return "\n".join([about, "\n  ".join(lines), f"end {what}"])


def _dummy(s: Slot, is_this: bool) -> str:
    """Objects are `in` also where the call writes what is behind them: the variable stays as it is."""
    kind = word(_ARGUMENTS, s.kind)
    words = [kind.replace("type(", "class(") if is_this else kind]
    intent = "inout" if s.kind.base == "pointer" and s.written else "in"
    words += [f"intent({intent})"] if s.kind.base != "callback" else []
    words += ["optional"] if s.may_be_absent else []
    return f"{', '.join(words)} :: {s.name}{'(:)' if s.kind.list else ''}"


def _give(x: Slot | Result, i: int, asked: str) -> str:
    """`asked` is the function that says whether it is there, or nothing."""
    statement = _GIVEN.get(x.kind.given, "call dtf_give(f, {i}, {x})").format(i=i, x=x.name)
    return f"if ({asked}({x.name})) {statement}" if asked else statement


def declared(kind: Kind) -> str:
    """What a variable for a result is, but for its name."""
    return word(_RESULTS, kind)


def _out(kind: Kind, name: str) -> str:
    """The dummy of what comes out. That of one object stays as it is where nothing does."""
    words = declared(kind)
    intent = "out" if "type(" not in words or "allocatable" in words else "inout"
    return f"{words}, intent({intent}) :: {name}"


def _taken(kind: Kind, name: str, i: int) -> str:
    address, count = (f"f%taken({2 * i + k})" for k in range(2))
    return _TAKEN[kind.given].format(x=name, i=i, a=address, n=count)


# ---- callbacks


def hook_dummies(h: Hook, named=str.__str__) -> tuple[str, list[str]]:
    """What a callback of the user's takes and gives: the names, and their declarations."""
    lines = [f"{declared(s.kind)}, intent(in) :: {named(s.name)}" for s in h.inputs]
    lines = [x.replace("(:), allocatable", "(*)").replace(", allocatable", "") for x in lines]
    lines += [_out(r.kind, named(r.name)) for r in h.results]
    return ", ".join(named(x.name) for x in (*h.inputs, *h.results)), lines


def _interface(h: Hook) -> str:
    names, lines = hook_dummies(h)
    text = "\n  ".join([f"subroutine dt_{h.name}({names})", "import dt_tensor, int64", *lines])
    return f"{_comment(h.callback.doc)}\nabstract interface\n{text}\nend subroutine\nend interface"


def _run(h: Hook) -> str:
    values = [*h.inputs, *h.results]
    lines = [
        f"case ('{h.name}')\n  block",
        f"procedure(dt_{h.name}), pointer :: hook",
        *(f"{declared(v.kind)} :: {v.name}" for v in values),
        "call c_f_procpointer(transfer(f%user_data, c_null_funptr), hook)",
        *(_taken(s.kind, s.name, i) for i, s in enumerate(h.inputs)),
        f"call hook({', '.join(v.name for v in values)})",
        *(_give(r, 0, "allocated" * r.kind.list) for r in h.results),
        *["call dtf_give_back(f)"] * len(h.results),
    ]
    return "\n  ".join([*lines, "end block"])
