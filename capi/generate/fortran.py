"""Prints wrappers/fortran/dumbtorch.gen.f90: enums, types, callbacks and functions with Fortran's types,
around runtime.f90 and over bridge.c, which gives arguments to the table (table.py) and takes results from it.

What C calls dt_relu is the function relu, what it calls dt_tensor_size is x%size(0). One result makes a
function, none or several a subroutine. What has a default is optional, and so are stat and errmsg.
Names are generic, so those that Fortran has itself (sum, exp, matmul) keep their own meaning too."""

from __future__ import annotations

import pathlib
import re
import textwrap

from .model import Enum, Kind, SchemaError
from .plan import Call, Class, Hook, Plan, Result, Slot
from .table import cells, result_cells
from .text import GENERATED

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "wrappers" / "fortran"
_WIDTH = 98

# What a dummy argument of a kind is declared as; integers are of any kind.
_NUMBERS = {"i64": "type(*)", "f64": "real(real64)", "bool": "logical"}
_LISTS = {**_NUMBERS, "tensor": "type(dt_tensor)", "str": "character(*)"}
_PLAIN = {
    **_LISTS, "i64": "type(*), dimension(..)", "operand": "class(*)", "scalar": "class(*)",
    "path": "character(*)", "bytes": "character(*)", "device": "character(*)", "enum": "integer",
}  # fmt: skip

# What a result is, or what is lent to a callback: how it is declared, and the statement that takes it from
# its cells.
_TEXT = ("character(:), allocatable", "call take_text({out}, {a}, {b})")
_REAL = ("real(real64)", "{out} = transfer({a}, {out})")
_TENSOR = ("type(dt_tensor)", "call hold({out}, dtf_tensor({a}))")
_TAKEN = {
    "tensor": _TENSOR, "tensor?": _TENSOR, "f64": _REAL, "scalar": _REAL,
    "handle": ("type(dt_{name})", "call hold({out}, dtf_hold(f, {i}, {cell}))"),
    "tensor[]": (
        "type(dt_tensor), allocatable, dimension(:)", "call take_tensors({out}, {a}, {b})",
    ),
    "str": _TEXT, "device": _TEXT,
    "str[]": ("character(:), allocatable, dimension(:)", "call take_texts({out}, {a}, {b})"),
    "i64[]": ("integer(int64), allocatable, dimension(:)", "{out} = words_at({a}, {c})"),
    "f64[]": (
        "real(real64), allocatable, dimension(:)", "{out} = transfer(words_at({a}, {c}), 0d0, {c})",
    ),
    "i64": ("integer(int64)", "{out} = {a}"),
    "bool": ("logical", "{out} = {a} /= 0"),
    "enum": ("integer", "{out} = int({a})"),
    "pointer": ("type(c_ptr)", "{out} = transfer({a}, {out})"),
}  # fmt: skip
# What a callback gives: how it is declared, and the statement that gives it back.
_HANDED = {
    "tensor?": (
        "type(dt_tensor), intent(inout)",
        "call dtf_give_back(f, [handle_of({x})], 1_int64)",
    ),
    "tensor[]": (_TAKEN["tensor[]"][0] + ", intent(out)", "call hand_over(f, {x})"),
    "bool": ("logical, intent(out)", "f%results(0) = merge(1, 0, {x})"),
}

# Python's special methods as Fortran's operators, and what a number before a tensor means.
_OPERATORS = {
    "add": ("+", "dt_add(b, a)"), "sub": ("-", "dt_rsub(b, a)"), "mul": ("*", "dt_mul(b, a)"),
    "truediv": ("/", "dt_mul(dt_reciprocal(b), a)"), "pow": ("**", "dt_pow(a, b)"),
    "eq": ("==", "dt_eq(b, a)"), "ne": ("/=", "dt_ne(b, a)"), "lt": ("<", "dt_gt(b, a)"),
    "le": ("<=", "dt_ge(b, a)"), "gt": (">", "dt_lt(b, a)"), "ge": (">=", "dt_le(b, a)"),
    "and": (".and.", "dt_bitwise_and(b, a)"), "or": (".or.", "dt_bitwise_or(b, a)"),
    "neg": ("-", ""), "invert": (".not.", ""),
}  # fmt: skip
_BEFORE = ("real(real32)", "real(real64)", "integer(int32)", "integer(int64)")

# What a type of bridge.c is to Fortran.
_C_TYPES = {
    "frame*": "type(frame)", "any*": "type(*), dimension(..)", "int32_t": "integer(c_int32_t), value",
    "shared**": "integer(c_int64_t), dimension(*)", "void* const*": "integer(c_int64_t), dimension(*)",
}  # fmt: skip


def generate(plan: Plan) -> dict[str, str]:
    _check_names(plan)
    types, procedures = (FOLDER / "runtime.f90").read_text().split("\ncontains\n")
    operators, functions = _operators(plan)
    parts = [
        f"! {GENERATED}",
        "module dumbtorch_functions",
        "use, intrinsic :: iso_c_binding",
        "use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64",
        "implicit none",
        "private",
        "public :: assignment(=), from_array",
        types,
        *map(_enum, plan.enums),
        *(_class(c, plan) for c in plan.classes),
        *map(_hook_interface, plan.hooks),
        *(
            _generic(c.function.name, [f"dt_{c.function.name}"])
            for c in plan.calls
            if not is_method(c)
        ),
        *operators,
        _bridge(),
        "contains",
        procedures,
        *map(_copy, plan.classes),
        *functions,
        *(_procedure(c, i) for i, c in enumerate(plan.calls)),
        *map(_run_hook, plan.hooks),
        _dispatch(plan),
        "end module\n",
        "! PyTorch's names, defaults and numbers: docs/fortran.md.",
        "module dumbtorch",
        f"use dumbtorch_functions, {', '.join(f'{c.name} => dt_{c.name}' for c in plan.classes)}",
        "implicit none",
        "end module\n",
    ]
    return {
        "wrappers/fortran/dumbtorch.gen.f90": "\n".join(
            map(continued, "\n".join(parts).split("\n"))
        )
    }


def is_method(c: Call) -> bool:
    """Ops on tensors are functions, under PyTorch's bare names."""
    return bool(c.function.method) and c.function.name.startswith(c.function.method + "_")


def enum_value(e: str, value: str) -> str:
    return f"{e}_{value}".replace("-", "_")


def _check_names(plan: Plan) -> None:
    """Fortran does not tell A from a. The compiler refuses what else cannot be a name."""
    names = [c.function.name.lower() for c in plan.calls if not is_method(c)]
    names += [c.name for c in plan.classes]
    names += [enum_value(e.name, v.name).lower() for e in plan.enums for v in e.values]
    taken = {name for name in names if names.count(name) > 1}
    if taken:
        raise SchemaError(f"fortran: the name '{taken.pop()}' is taken")


# ---- lines


def continued(line: str) -> str:
    """A statement over as many lines as it needs; text is never broken."""
    if len(line) <= _WIDTH or line.lstrip().startswith("!"):
        return line
    whole = re.sub(r"'[^']*'", lambda text: text[0].replace(" ", "\0"), line)
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    lines = textwrap.wrap(
        whole, _WIDTH - 2, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return " &\n".join(lines).replace("\0", " ")


def _comment(words: str) -> str:
    return textwrap.fill(words, _WIDTH, initial_indent="! ", subsequent_indent="! ")


def quoted(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def real(value: float) -> str:
    """A literal of double precision."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    return f"{mantissa}d{exponent or 0}"


def _generic(name: str, procedures: list[str]) -> str:
    return f"public :: {name}\ninterface {name}\n  procedure {', '.join(procedures)}\nend interface"


# ---- declarations


def _bridge() -> str:
    """The interfaces of bridge.c's functions."""
    lines = ["interface"]
    found = re.findall(r"^(\w.*?)(dtf_\w+)\((.*)\) {$", (FOLDER / "bridge.c").read_text(), re.M)
    for back, name, arguments in found:
        pairs = [a.rsplit(" ", 1) for a in arguments.removesuffix("void").split(", ") if a]
        kind = "integer(c_int32_t)" if back.strip() == "int32_t" else "integer(c_int64_t)"
        word = "subroutine" if back.strip() == "void" else "function"
        lines.append(
            f"{kind if word == 'function' else ''} {word} {name}({', '.join(x for _, x in pairs)}) bind(c)"
        )
        lines.append("  import")
        lines += [
            f"  {_C_TYPES.get(c.removeprefix('const '), 'integer(c_int64_t), value')} :: {x}"
            for c, x in pairs
        ]
        lines.append(f"end {word}")
    return "\n".join([*lines, "end interface"])


def _enum(e: Enum) -> str:
    names = [f"{enum_value(e.name, v.name)} = {v.number}" for v in e.values]
    return "\n".join([_comment(e.doc), *(f"integer, parameter, public :: {n}" for n in names)])


def _class(c: Class, plan: Plan) -> str:
    own = [x for x in plan.calls if is_method(x) and x.function.method == c.name]
    methods = [f"{x.member} => dt_{x.function.name}" for x in own]
    methods += ["to_array => dt_tensor_to_array"] if c.name == "tensor" else []
    bound = "\n".join(f"  procedure :: {m}" for m in methods)
    return f"""\
{_comment(c.handle.doc)}
type, extends(object), public :: dt_{c.name}
contains
  procedure, private :: copy_{c.name}
  generic :: assignment(=) => copy_{c.name}
{bound}
end type
interface assignment(=)
  procedure copy_{c.name}_array
end interface"""


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
  allocate (new(size(from)))
  call copy_object(new, from)
  call move_alloc(new, to)
end subroutine"""


# ---- operators


def _operators(plan: Plan) -> tuple[list[str], list[str]]:
    """(their interfaces, the functions behind them)"""
    procedures: dict[str, list[str]] = {}
    functions = []
    for c in plan.calls:
        sign, reflected = _OPERATORS.get(c.function.operator, ("", ""))
        if not sign or c.returns_this:
            continue
        name = f"dt_{c.function.name}"
        ways = [("type(dt_tensor)", "class(*)", f"{name}(a, b)")]
        ways += [(number, "type(dt_tensor)", reflected) for number in _BEFORE]
        for a, b, value in ways if reflected else [("type(dt_tensor)", "", f"{name}(a)")]:
            named = f"op_{len(functions)}"
            procedures.setdefault(sign, []).append(named)
            functions.append(_operator(named, a, b, value))
    return [_generic(f"operator({s})", names) for s, names in procedures.items()], functions


def _operator(name: str, a: str, b: str, value: str) -> str:
    second = f"  {b}, intent(in) :: b\n" if b else ""
    return f"""\
function {name}(a{", b" if b else ""}) result(out)
  {a}, intent(in) :: a
{second}  type(dt_tensor) :: out
  out = {value}
end function"""


# ---- functions


def _procedure(c: Call, index: int) -> str:
    is_function = len(c.results) == 1
    results = [(r, "out" if is_function else r.name) for r in c.results]
    shown = [s.name for s in c.required] + ([] if is_function else [name for _, name in results])
    shown += [s.name for s in c.optional] + ["stat", "errmsg"]
    word, tail = ("function", " result(out)") if is_function else ("subroutine", "")
    lines = [_comment(f"{c.function.name}: {c.about}")]
    lines.append(f"{word} dt_{c.function.name}({', '.join(shown)}){tail}")
    lines += [_dummy(s, is_method(c) and s is c.slots[0]) for s in c.slots]
    lines += ["integer, intent(out), optional :: stat"]
    lines += ["character(*), intent(inout), optional :: errmsg"]
    lines += [_result(r, name, is_function) for r, name in results]
    lines += ["type(frame) :: f", f"call dtf_begin(f, {index})"]
    cell = 0
    for i, s in enumerate(c.slots):
        given = _given(s, i, cell)
        lines.append(f"if (present({s.name})) {given}" if _may_be_absent(s) else given)
        cell += len(cells(s.kind))
    lines.append("call tell(dtf_run(f), stat, errmsg)")
    cell = 0
    for i, (r, name) in enumerate(results):
        lines.append(_taken(r.kind, "f%results", cell, name, i))
        cell += result_cells(r)
    return "\n  ".join([*lines, "call dtf_end(f)"]) + f"\nend {word}"


def _taken(kind: Kind, array: str, cell: int, out: str, i: int = 0) -> str:
    where = dict(zip("abc", (f"{array}({cell + k})" for k in range(3)), strict=True))
    return _TAKEN[_key(kind)][1].format(out=out, cell=cell, i=i, **where)


def _key(kind: Kind) -> str:
    return f"{kind.base}[]" if kind.list else kind.key


def _may_be_absent(s: Slot) -> bool:
    return not s.required or s.kind.optional


def _given(s: Slot, i: int, cell: int) -> str:
    """Of a callback the procedure, which is its user data."""
    if s.kind.base == "callback":
        return f"f%args({cell}) = transfer(c_funloc({s.name}), 0_int64)"
    if s.kind.base in ("operand", "scalar"):
        return f"call give(f, {i}, {s.name})"
    is_object = s.kind.base in ("tensor", "handle")
    if is_object and not s.kind.list:
        return f"call dtf_give_object(f, {i}, handle_of({s.name}))"
    return f"call dtf_give(f, {i}, {f'handle_of({s.name})' if is_object else s.name})"


def _dummy(s: Slot, is_this: bool) -> str:
    """Objects are `in` also where the call writes what is behind them: the variable stays as it is."""
    optional = ", optional" if _may_be_absent(s) else ""
    if s.kind.base == "callback":
        return f"procedure(dt_{s.kind.name}){optional} :: {s.name}"
    kinds = _LISTS if s.kind.list else _PLAIN
    if s.kind.base != "handle" and s.kind.base not in kinds:
        raise SchemaError(f"fortran: a value of kind {s.kind.key}")
    kind = kinds.get(s.kind.base, f"type(dt_{s.kind.name})")
    kind = kind.replace("type(", "class(") if is_this else kind
    return f"{kind}, intent(in){optional} :: {s.name}{'(:)' if s.kind.list else ''}"


def declared(r: Result) -> str:
    """What a variable for a result is, but for its name."""
    return _TAKEN[r.kind.key][0].format(name=r.kind.name)


def _result(r: Result, name: str, is_function: bool) -> str:
    kind = declared(r)
    intent = "out" if "type(" not in kind or "allocatable" in kind else "inout"
    return f"{kind}{'' if is_function else f', intent({intent})'} :: {name}"


# ---- callbacks


def _hook_interface(h: Hook) -> str:
    lines = [_comment(h.callback.doc), "abstract interface"]
    lines += [f"subroutine dt_{h.name}({_names(h)})", "  import dt_tensor, int64"]
    for s in h.inputs:
        kind = (
            "character(*)"
            if s.kind.base == "str"
            else _TAKEN[_key(s.kind)][0].replace(", allocatable", "")
        )
        lines.append(f"  {kind}, intent(in) :: {s.name}")
    lines += [f"  {_HANDED[r.kind.key][0]} :: {r.name}" for r in h.results]
    return "\n".join([*lines, "end subroutine", "end interface"])


def _names(h: Hook) -> str:
    return ", ".join([s.name for s in h.inputs] + [r.name for r in h.results])


def _run_hook(h: Hook) -> str:
    lines = [f"subroutine run_{h.name}(f)", "type(frame), intent(inout) :: f"]
    lines += [f"procedure(dt_{h.name}), pointer :: hook"]
    lines += [f"{_TAKEN[_key(s.kind)][0]} :: {s.name}" for s in h.inputs]
    lines += [f"{declared(r)} :: {r.name}" for r in h.results]
    lines.append("call c_f_procpointer(transfer(f%user_data, c_null_funptr), hook)")
    lines += [_taken(s.kind, "f%args", 2 * i, s.name) for i, s in enumerate(h.inputs)]
    lines.append(f"call hook({_names(h)})")
    lines += [_HANDED[r.kind.key][1].format(x=r.name) for r in h.results]
    return "\n  ".join(lines) + "\nend subroutine"


def _dispatch(plan: Plan) -> str:
    cases = "\n".join(f"  case ('{h.name}')\n    call run_{h.name}(f)" for h in plan.hooks)
    return f"""\
! Runs the procedure behind a callback; bridge.c calls it.
subroutine dispatch(name, f) bind(c, name='dtf_dispatch')
  integer(c_int64_t), value :: name
  type(frame), intent(inout) :: f
  character(:), allocatable :: text
  call take_text(text, name)
  select case (text)
{cases}
  end select
end subroutine"""
