"""Prints the Python functions: wrappers/python/dumbtorch/_ops.py.

One function per row of the schema: it turns Python values into what the shims of python_native
take, calls, and turns the result into Python objects. Tensor's methods are the same functions.
Where PyTorch overloads a name in a way that one signature cannot say, `_overloads.py` has the
public function, written by hand over these.
"""

from __future__ import annotations

import textwrap

from .model import Argument, Function, Kind, SchemaError
from .plan import Call, Class, Hook, Plan, Result, Slot
from .python_names import (
    functional_name,
    has_out,
    inner_name,
    is_factory,
    is_object,
    may_be_left_out,
    may_give_back,
    numpy_named,
    safe,
    said_name,
    said_names,
    shown_arguments,
    shown_in,
    variadic,
)
from .text import GENERATED, camel

INDENT = "    "

_IMPORTS = """\
# ruff: noqa
from . import _enums
from ._complaints import BAD_ARGUMENTS, MISSING, complain, otherwise
from ._native import ffi
from ._native.lib import *  # py_NAME: to look one up in `lib` takes a tenth of a short call
from ._named_results import result_type
from ._out import need_tuple, wide_product
from ._out_dtypes import dtype_for
from ._runtime import (
    CALLBACKS,
    FLOAT64_16,
    FLOAT64_ARRAY,
    INT64_16,
    SCALAR_OUT,
    NULL,
    Handle,
    borrow,
    borrow_list,
    c_path,
    c_string,
    c_strings,
    device_at,
    device_parts,
    ffi_new,
    give_list,
    give_optional,
    given_sizes,
    handle_list,
    int_list,
    is_plain,
    keep,
    number_like,
    optional_floats,
    optional_handle_list,
    optional_ints,
    placed,
    read_operand,
    read_operand_or_none,
    read_scalar,
    read_scalar_or_none,
    read_sizes,
    reduction_of,
    scalar_from,
    shape_list,
    take_bytes,
    take_numbers,
    take_text,
    take_texts,
    wrap,
)
from ._signatures import by_own_names
from ._tensor_type import TensorBase, into, keep_raised, same_shape, take_tensors, wrap_or
from ._types import DTYPE, MEMORY_FORMAT, Choice
from ._warning import alpha_by_position, warn_of_sizes
"""

# Enums whose values are objects in Python; the others are strings.
_OBJECT_ENUMS = ("dtype", "memory_format")


def generate(plan: Plan) -> dict[str, str]:
    folder = "wrappers/python/dumbtorch"
    return {f"{folder}/_ops.py": module(plan), f"{folder}/_enums.py": enums(plan)}


def enums(plan: Plan) -> str:
    lines = [f'"""{GENERATED}"""', ""]
    for e in plan.enums:
        zero = {e.zero: 0} if e.zero else {}
        lines.append(f"{e.name.upper()} = {zero | {v.name: v.number for v in e.values}}")
    dtypes = plan.schema.dtypes.values()
    rows = {t.name: (t.bytes, t.category, t.code, t.torch, t.typeid) for t in dtypes}
    lines += [
        "# Bytes, category, code of the struct module, PyTorch's word, C++'s.",
        f"DTYPE_TRAITS = {rows}",
        "# What errors call a function that has another name in C.",
        f"FUNCTIONS = {said_names(plan)}",
    ]
    return "\n".join(lines).replace("'", '"') + "\n"


def module(plan: Plan) -> str:
    parts = [f'"""{GENERATED}"""\n', _IMPORTS]
    choices = [e.name.upper() for e in plan.enums if e.name not in _OBJECT_ENUMS]
    parts.append("\n".join(f'{e} = Choice("{e.lower()}", _enums.{e})' for e in choices))
    parts += map(_callback, plan.hooks)
    parts += map(function, functions(plan))
    parts += [functional(c) for c in plan.calls if c.function.inplace_argument]
    parts += [handle_class(c) for c in plan.classes if is_object(c)]
    parts.append(_exports(plan))
    return "\n\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def functions(plan: Plan) -> list[Call]:
    """All but the methods of objects."""
    return [c for c in plan.calls if c.function.method in ("", "tensor")]


# ---- signatures


def signature(c: Call, with_out: bool) -> list[str]:
    """["input", "dim=None", "*", "dtype=None", "out=None"]"""
    parts, star = [], False
    many, left_out = variadic(c.function), may_be_left_out(c)
    for a in shown_arguments(c):
        if many and a.name == many.name:
            parts += ["*args", f"{safe(a.name)}=None"]
            star = True
            continue
        if a.keyword_only and not star:
            parts.append("*")
            star = True
        missing = "=MISSING" if a.name in left_out else ""
        parts.append(safe(a.name) + (f"={default(a)}" if a.has_default else missing))
        if a.name == "other" and has_third(c.function):
            parts.append("third=MISSING")
    if is_factory(c.function):
        parts += ["layout=None", "pin_memory=False"]
    if with_out:
        parts += ["out=None"] if star else ["*", "out=None"]
    return parts


def _by_numpy_names(f: Function) -> list[str]:
    """Takes what came by NumPy's names. Calls without any pay for one look."""
    own = numpy_named(f)
    passed = ", ".join([inner_name(f), "names", *(f"{name}={name}" for name in own)])
    return ["if names:", f"{INDENT}{', '.join(own)}, = by_own_names({passed})"]


def default(a: Argument) -> str:
    value, kind = a.default, a.kind
    if value is None or (isinstance(value, list) and not value):
        return "None" if value is None else "()"
    if isinstance(value, list):
        # A list of equal numbers is shown as PyTorch does: stride=1.
        same = kind.count and len(set(value)) == 1
        return repr(value[0]) if same else repr(tuple(value))
    if kind.base == "enum" and kind.name == "memory_format":
        return f'MEMORY_FORMAT.named("{value}")'
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value)


def docstring(c: Call) -> list[str]:
    f = c.function
    lines = textwrap.wrap(f.doc, 88)
    shown = [a for a in shown_arguments(c) if a.name not in ("input", "self") and a.doc]
    lines += ["", "Args:"] if shown else []
    for a in shown:
        lines += textwrap.wrap(
            f"{a.name}: {a.doc}", 88, initial_indent=INDENT, subsequent_indent=INDENT * 2
        )
    if f.returns:
        lines += ["", "Returns:"]
        lines += textwrap.wrap(f.returns, 88, initial_indent=INDENT, subsequent_indent=INDENT)
    lines = [line.replace("\\", "\\\\") for line in lines]
    if len(lines) == 1 and not lines[0].endswith('"'):
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']


# ---- one function


def function(c: Call, method: bool = False) -> str:
    f = c.function
    name = safe(c.member if method else f.name)
    parameters = signature(c, has_out(c)) + ["**names"] * bool(numpy_named(f))
    lines = [f"def {name}({', '.join(parameters)}):"]
    lines += [INDENT + line if line else "" for line in docstring(c)]
    body, call = _call(c)
    lines += [INDENT + line for line in _by_numpy_names(f)] if numpy_named(f) else []
    if any(a.name == "size_average" for a in f.python_args):
        lines += [INDENT + line for line in old_reduction("reduction")]
    if any(a.name == "out_dtype" for a in f.python_args):
        lines += [INDENT + line for line in _wide_product(c)]
    before, after = _result(c, call)
    if has_third(f):
        lines += [
            f"{INDENT}if third is not MISSING:",
            f"{INDENT * 2}return alpha_by_position({name}, input, other, third, alpha{', out=out' * has_out(c)})",
        ]
    lines += [INDENT + line for line in _out(c)] if has_out(c) else []
    lines.append(f"{INDENT}try:")
    lines += [INDENT * 2 + line for line in [*_SAME_SIZES * f.same_sizes, *body, *before]]
    lines.append(f"{INDENT}except BAD_ARGUMENTS as error:")
    many = variadic(f)
    given = [f"given_sizes(args, {a.name})" if a is many else safe(a.name) for a in c.arguments]
    values = ", ".join([f'"{said_name(c)}"', f'"{_kinds(c)}"', *given])
    if f.name in _NUMBER_FIRST:
        lines += [INDENT * 2 + line for line in _number_first(f)]
    lines.append(
        f"{INDENT * 2}raise complain(error, {values}) from None"
        if method
        else f"{INDENT * 2}return otherwise(error, {inner_name(f)}, {values})"
    )
    lines += [INDENT + line for line in after]
    lines += [] if inner_name(f) == safe(f.name) else ["", "", f"{inner_name(f)} = {name}"]
    return "\n".join(lines)


def has_third(f: Function) -> bool:
    """Whether PyTorch takes `f(input, number, alpha)`, and maybe still `f(input, alpha, other)`. It is an argument of
    the function itself since no wrapper around what is called most is free."""
    return f.name.rstrip("_") in ("add", "sub", "subtract", "rsub")


def _wide_product(c: Call) -> list[str]:
    """Leaves a product that is to have a dtype of its own to `wide_product`. Other calls pay for one look."""
    tensors = [a.name for a in c.arguments if not a.keyword_only]
    others = [f"{a.name}={a.name}" for a in c.arguments if a.keyword_only] + ["out=out"]
    passed = [safe(c.function.name), "out_dtype", f"({', '.join(tensors)})", *others]
    return ["if out_dtype is not None:", f"{INDENT}return wide_product({', '.join(passed)})"]


_SAME_SIZES = [
    "if not same_shape(input, target):",
    f"{INDENT}warn_of_sizes(input, target)",
]


def old_reduction(target: str) -> list[str]:
    """What losses took before they had a `reduction`."""
    return [
        "if size_average is not None or reduce is not None:",
        f"{INDENT}{target} = reduction_of(size_average, reduce)",
    ]


def functional(c: Call) -> str:
    """torch.nn.functional's form of a function that may write its input."""
    f = c.function
    name, twin = inner_name(f), safe(f.name + "_")
    given = ", ".join(safe(a.name) for a in f.args)
    lines = [f"def {functional_name(f)}({', '.join(signature(c, False))}, inplace=False):"]
    lines += [f'{INDENT}"""{f.doc}"""']
    return "\n".join([*lines, f"{INDENT}return ({twin} if inplace else {name})({given})"])


def _kinds(c: Call) -> str:
    """What `complain` needs to say which argument is wrong: "input:tensor dim:i64[]? stride:i64[1]"."""
    return " ".join(f"{s.name}:{_kind(s.kind)}" for s in c.slots)


def _kind(kind: Kind) -> str:
    if kind.count:
        return kind.key.replace("[]", "[1]")
    return kind.key.replace("enum", kind.name) if kind.name in _OBJECT_ENUMS else kind.key


def _call(c: Call) -> tuple[list[str], str]:
    """(statements that convert, the call of the shim without its last bracket)."""
    prepare, passed = [], []
    many = variadic(c.function)
    for slot in c.slots:
        if slot.argument is many:
            prepare.append(f"{many.name}_c = read_sizes(args, {many.name})")
            passed += [f"{many.name}_c", f"len({many.name}_c)"]
            continue
        lines, values = argument(slot)
        prepare += lines
        passed += values
    # What the library keeps is registered last: nothing may fail between that and the call.
    keeps = [line for line in prepare if " = keep(" in line]
    prepare = [line for line in prepare if line not in keeps] + keeps
    return prepare, f"py_{c.function.name}({', '.join(passed)}"


def argument(a: Slot) -> tuple[list[str], list[str]]:
    """(statements, what is passed) for one argument: the kind table of Python.

    What is made gets a name of its own: the argument itself must live until the call is over, for a
    handle does not keep its tensor alive, and `complain` looks at it.
    """
    n, kind = safe(a.name), a.kind
    c = a.name + "_c"
    match kind.key:
        case "tensor" | "tensor?":
            return [], [n]
        case "handle":
            return [], [f"{n}._h"]
        case "handle?":
            return [], [f"0 if {n} is None else {n}._h"]
        case "tensor[]":
            return [f"{c} = handle_list({n})"], [c, f"len({c})"]
        case "tensor?[]":
            return [f"{c} = optional_handle_list({n})"], [c, f"len({c})"]
        case "tensor[]?":
            convert = f"{c} = NULL if {n} is None else handle_list({n})"
            return [convert], [c, f"-1 if {n} is None else len({c})"]
        case "operand" | "operand?":
            parts = [f"{a.name}_{part}" for part in ("h", "kind", "i", "f")]
            return [f"{', '.join(parts)} = {_or_none('read_operand', kind)}({n})"], parts
        case "scalar" | "scalar?":
            parts = [f"{a.name}_{part}" for part in ("kind", "i", "f")]
            return [f"{', '.join(parts)} = {_or_none('read_scalar', kind)}({n})"], parts
        case "bool" if (
            n == "requires_grad" and not a.argument.default
        ):  # the one flag for which None stands too
            return [], [f"{n} is not None and {n}"]
        case "i64" | "f64" | "bool":
            return [], [n]
        case "i64?":
            return [], [f"{n} is not None", f"0 if {n} is None else {n}"]
        case "f64?":
            return [], [f"{n} is not None", f"0.0 if {n} is None else {n}"]
        case "bool?":
            return [], [f"-1 if {n} is None else {n}"]
        case "i64[]":
            make = f"int_list({n}, {kind.count})" if kind.count else f"shape_list({n})"
            return [f"{c} = {make}"], [c, f"len({c})"]
        case "i64[]?":
            return [f"{c}, {c}_n = optional_ints({n}, {kind.count})"], [c, f"{c}_n"]
        case "f64[]":
            return [], [n, f"len({n})"]
        case "f64[]?":
            return [f"{c}, {c}_n = optional_floats({n}, {kind.count})"], [c, f"{c}_n"]
        case "bool[]":
            return [], [n, f"len({n})"]
        case "str":
            return [], [f"c_string({n})"]
        case "str?":
            return [], [f"NULL if {n} is None else c_string({n})"]
        case "str[]":
            return [f"{c} = c_strings({n})"], [c, f"len({c})"]
        case "str[]?":
            convert = f"{c} = NULL if {n} is None else c_strings({n})"
            return [convert], [c, f"-1 if {n} is None else len({c})"]
        case "path":
            return [], [f"c_path({n})"]
        case "bytes":
            return [f"{c} = ffi.from_buffer({n})"], [c, f"len({c})"]
        case "enum":
            return [], [f"{kind.name.upper()}[{n}]"]
        case "enum?":
            return [], [f"0 if {n} is None else {kind.name.upper()}[{n}]"]
        case "device" | "device?":
            parts = [f"{a.name}_type", f"{a.name}_index"]
            return [f"{', '.join(parts)} = (0, 0) if {n} is None else device_parts({n})"], parts
        case "callback" | "callback?":
            return [f"{c} = keep({n})"], [c]
    raise SchemaError(f"python: argument '{a.name}' of kind {kind.key}")


# PyTorch takes a number for their first operand too: torch.add(2, x), and of some for both.
_NUMBER_AND_TENSOR = {
    "remainder", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
}  # fmt: skip
_NUMBER_FIRST = {
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", *_NUMBER_AND_TENSOR,
}  # fmt: skip


def _number_first(f: Function) -> list[str]:
    """Another try, with a tensor for the number. It is here so that calls on tensors do not look."""
    first, second, *others = f.args
    passed = [f"number_like({first.name}, {second.name})", second.name]
    passed += [f"{a.name}={a.name}" for a in others]
    other = f" and isinstance({second.name}, TensorBase)" if f.name in _NUMBER_AND_TENSOR else ""
    return [
        f"if is_plain({first.name}){other}:",
        f"{INDENT}return {f.name}({', '.join(passed)})",
    ]


def _out(c: Call) -> list[str]:
    """Leaves a call with `out` to `into`, which calls again without it. Other calls pay for one look."""
    f = c.function
    passed, star, many = [inner_name(f)], False, variadic(f)
    for a in c.arguments:
        name = safe(a.name)
        star |= a.keyword_only or a is many
        value = f"read_sizes(args, {name})" if a is many else name
        if a.name == "dtype" and star:
            like = [f.args[0].name] if f.args[0].name == "input" else []
            value = f"dtype_for({', '.join([passed[0], 'out', 'dtype', *like])})"
        passed.append(f"{name}={value}" if star else value)
    lines = ["if out is not None:", f"{INDENT}return into(out, {', '.join(passed)})"]
    if len(c.results) > 1:
        lines.insert(1, f'{INDENT}need_tuple("{f.name}", out, {len(c.results)})')
    return lines


def _or_none(helper: str, kind: Kind) -> str:
    return helper + ("_or_none" if kind.optional else "")


# A result as Python's value, by kind; @ is the shim's, and NAME the enum or the class.
_TAKE = {
    "tensor": "wrap(@)", "handle": "NAME.own(@)", "tensor[]": "take_tensors(@)",
    "str": "take_text(@)", "str[]": "take_texts(@)", "bool": "@ != 0", "enum": "NAME.value(@)",
    "i64": "@", "f64": "@", "pointer": "@", "device": "device_at(@)",
}  # fmt: skip
# Where it is the only one, the module has made Python's object of it.
_TAKE_ONLY = _TAKE | {"tensor": "@", "bool": "@"}


def _taken(r: Result, table: dict[str, str], value: str) -> str:
    if r.kind.key not in table:
        raise SchemaError(f"python: a result of kind {r.kind.key}")
    name = r.kind.name.upper() if r.kind.base == "enum" else camel(r.kind.name)
    return table[r.kind.key].replace("@", value).replace("NAME", name)


def _result(c: Call, call: str) -> tuple[list[str], list[str]]:
    """(statements that call, statements that make the result)."""
    if not c.results:
        back = [f"return {c.slots[0].name}"] if c.returns_this else []
        return [f"{call})"], back
    many = "" if call.endswith("(") else ", "
    if len(c.results) > 1:
        buffer = [f'out = ffi_new("int64_t[{len(c.results)}]")', f"{call}{many}out)"]
        made = ", ".join(_several(r, f"out[{i}]") for i, r in enumerate(c.results))
        result = f"{c.function.name}_result(({made}))" if c.names_results else made
        return buffer, [f"return {result}"]
    r = c.results[0]
    if r.form == "numbers":
        return _numbers(r, f"{call}{many}out"), ["return take_numbers(out, count)"]
    if r.kind.base == "scalar":
        return ["out = ffi_new(SCALAR_OUT)", f"{call}{many}out)"], ["return scalar_from(out)"]
    return [f"out = {call})"], _only(c, r)


def _only(c: Call, r: Result) -> list[str]:
    """Statements that make the result of `out`."""
    given = c.slots[0].name if may_give_back(c) else ""
    is_list = may_give_back(c) and c.slots[0].kind.list
    if r.kind.key == "tensor?":
        return ["return wrap(out) if out else None"]
    if r.kind.key == "tensor" and given:
        first = f"{given}[0] if {given} else None" if is_list else given
        return [f"return wrap_or(out, {first})"]
    if r.kind.key == "tensor[]" and given:
        return [
            f"return take_tensors(out, {given})"
            if is_list
            else f"return take_tensors(out, ({given},))"
        ]
    lines = []
    if is_factory(c.function):
        lines = [
            "if layout is not None or pin_memory is not False:",
            f"{INDENT}return placed(out, layout, pin_memory)",
        ]
    return [*lines, f"return {_taken(r, _TAKE_ONLY, 'out')}"]


def _numbers(r: Result, call: str) -> list[str]:
    if r.kind.base == "i64":
        return ["out = ffi_new(INT64_16)", f"count = {call}, 16)"]
    lines = ["out = ffi_new(FLOAT64_16)", f"count = {call}, 16)", "if count > 16:"]
    return [
        *lines,
        f"{INDENT}out = ffi_new(FLOAT64_ARRAY, count)",
        f"{INDENT}count = {call}, count)",
    ]


def _several(r: Result, value: str) -> str:
    return f"wrap({value}) if {value} else None" if r.optional else _taken(r, _TAKE, value)


# ---- callbacks, handles

# What a user's function is given, and what the library gets of it; _n is the length.
_LENT = {
    "tensor": "borrow(@)", "tensor[]": "borrow_list(@, @_n)", "tensor?[]": "borrow_list(@, @_n)",
    "i64": "@", "f64": "@", "bool": "@ != 0", "str": "ffi.string(@).decode()", "enum": "NAME.value(@)",
}  # fmt: skip
_GIVEN = {
    "tensor": "py_alias(@._h)", "tensor?": "give_optional(@)", "tensor[]": "give_list(@)",
    "i64": "@", "f64": "@", "bool": "bool(@)",
}  # fmt: skip


def _callback(h: Hook) -> str:
    """The function that C calls: it finds the user's function by number."""
    taken = [p.name for s in h.inputs for p in s.parameters] + [r.name for r in h.results]
    passed = ", ".join(_taken(s, _LENT, s.name) for s in h.inputs)
    lines = [
        f'@ffi.def_extern("py_on_{h.name}", error=9, onerror=keep_raised)',
        f"def _on_{h.name}({', '.join(['id', *taken])}):",
        f"{INDENT}{'result = ' if h.results else ''}CALLBACKS[id]({passed})",
    ]
    for i, r in enumerate(h.results):
        value = "result" if len(h.results) == 1 else f"result[{i}]"
        lines.append(f"{INDENT}{r.name}[0] = {_taken(r, _GIVEN, value)}")
    return "\n".join([*lines, f"{INDENT}return 0"])


def handle_class(c: Class) -> str:
    """Everything but tensors: objects with generated methods."""
    lines = [f"class {camel(c.name)}(Handle):", f'{INDENT}"""{c.handle.doc}"""', ""]
    lines += [f"{INDENT}__slots__ = ()", f"{INDENT}_release = py_{c.name}_release"]
    for call in c.calls:
        lines.append("")
        if call.function.as_property:
            lines.append(f"{INDENT}@property")
        lines += [INDENT + line if line else "" for line in function(call, True).split("\n")]
    if is_removable(c):
        lines += ["", f"{INDENT}def __enter__(self):", f"{INDENT}{INDENT}return self"]
        lines += ["", f"{INDENT}def __exit__(self, *error):", f"{INDENT}{INDENT}self.remove()"]
    return "\n".join(lines)


def is_removable(c: Class) -> bool:
    """Whether what it stands for can be taken off, as at the end of a `with` block."""
    return any(call.function.name == f"{c.name}_remove" for call in c.calls)


# ---- tables at the end of the module


def _exports(plan: Plan) -> str:
    """Result types, Tensor's methods and properties, and what each namespace shows."""
    shown = functions(plan)
    lines = [
        _names("ELEMENTWISE", [c for c in shown if c.function.elementwise]),
        _names("MAKERS", [c for c in shown if _makes(c)]),
    ]
    for c in (c for c in plan.calls if c.names_results):
        name, fields = c.function.name, " ".join(r.name for r in c.results)
        title = name if name.startswith("linalg_") else c.free
        lines.append(f'{name}_result = result_type("{title}", "{fields}")')
    tensor = next(c for c in plan.classes if c.name == "tensor")
    methods = [c for c in tensor.calls if not (c.function.as_property or c.shadowed)]
    lines += ["METHODS = {", *(_entry(c.member, c.function) for c in methods), "}"]
    lines += ["PROPERTIES = {", *(_entry(c.member, c.function) for c in tensor.properties), "}"]
    lines.append("NAMESPACES = {")
    for n in sorted({n for c in plan.calls for n in c.function.namespaces}):
        name = functional_name if n == "functional" else lambda f: safe(f.name)
        lines.append(f'{INDENT}"{n}": {{')
        for c in shown_in(n, shown):
            lines.append(f'{INDENT * 2}"{c.free}": {name(c.function)},')
        lines.append(f"{INDENT}}},")
    lines.append("}")
    return "\n".join(lines)


def _makes(c: Call) -> bool:
    """Whether all that it does is to make tensors, which share no memory with what it was given."""
    f = c.function
    are_tensors = bool(c.results) and all(r.kind.base == "tensor" for r in c.results)
    is_about_one = f.name == f"tensor_{f.method_name}"
    return are_tensors and not (f.inplace or f.view or f.gives_back or is_about_one)


def _names(table: str, calls: list[Call]) -> str:
    names = " ".join(safe(c.function.name) for c in calls)
    return f'{table} = frozenset("{names}".split())'


def _entry(name: str, f: Function) -> str:
    return f'{INDENT}"{name}": {safe(f.name)},'
