"""Prints the Python functions: wrappers/python/dumbtorch/_ops.py.

One function per row of the schema: it turns Python values into what the shims of python_native
take, calls, and turns the result into Python objects. Tensor's methods are the same functions.
Where PyTorch overloads a name in a way that one signature cannot say, `_overloads.py` has the
public function, written by hand over these.
"""

from __future__ import annotations

import textwrap

from .model import Argument, Function, Kind, Schema, SchemaError
from .python_names import (
    camel,
    flat_arguments,
    functional_name,
    has_out,
    inner_name,
    is_factory,
    is_object,
    namespaces,
    numpy_names,
    safe,
    shadowed,
    shown_arguments,
    variadic,
)
from .text import GENERATED

INDENT = "    "

_IMPORTS = """\
# ruff: noqa
from . import _enums
from ._native import ffi, lib
from ._named_results import result_type
from ._out import into
from ._runtime import (
    BAD_ARGUMENTS,
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
    complain,
    device_from,
    device_parts,
    fail,
    ffi_new,
    float_or_fail,
    give_list,
    give_optional,
    given_sizes,
    handle_list,
    int_list,
    int_or_fail,
    is_plain,
    keep,
    number_like,
    on_callback_error,
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
    take_tensors,
    take_text,
    take_texts,
    wrap,
    wrap_or,
)
from ._tensor_type import TensorBase
from ._types import DTYPE, MEMORY_FORMAT, Choice
from ._warning import warn_of_sizes
"""

# Enums whose values are objects in Python; the others are strings.
_OBJECT_ENUMS = ("dtype", "memory_format")


def generate(schema: Schema) -> dict[str, str]:
    folder = "wrappers/python/dumbtorch"
    return {f"{folder}/_ops.py": module(schema), f"{folder}/_enums.py": enums(schema)}


def enums(schema: Schema) -> str:
    lines = [f'"""{GENERATED}"""', ""]
    for e in schema.enums.values():
        zero = {e.zero: 0} if e.zero else {}
        lines.append(f"{e.name.upper()} = {zero | {v.name: v.number for v in e.values}}")
    rows = {t.name: (t.bytes, t.category, t.code, t.torch) for t in schema.dtypes.values()}
    lines += [
        "# Bytes, category, code of the struct module, PyTorch's word.",
        f"DTYPE_TRAITS = {rows}",
    ]
    return "\n".join(lines).replace("'", '"') + "\n"


def module(schema: Schema) -> str:
    parts = [f'"""{GENERATED}"""\n', _IMPORTS]
    choices = [e.upper() for e in schema.enums if e not in _OBJECT_ENUMS]
    parts.append("\n".join(f'{e} = Choice("{e.lower()}", _enums.{e})' for e in choices))
    parts += [_callback(c) for c in schema.callbacks.values()]
    parts += [function(schema, f) for f in schema.public if f.method in ("", "tensor")]
    parts += [functional(schema, f) for f in schema.public if f.inplace_argument]
    parts += [handle_class(schema, h) for h in schema.handles if is_object(h)]
    parts.append(_exports(schema))
    return "\n\n\n".join(part.rstrip("\n") for part in parts) + "\n"


# ---- signatures


def signature(schema: Schema, f: Function, with_out: bool | None = None) -> str:
    """`input, dim=None, *, dtype=None, out=None`"""
    with_out = has_out(schema, f) if with_out is None else with_out
    parts, star = [], False
    many = variadic(f)
    for a in shown_arguments(schema, f):
        if a is many:
            parts += ["*args", f"{safe(a.name)}=None"]
            star = True
            continue
        if a.keyword_only and not star:
            parts.append("*")
            star = True
        parts.append(safe(a.name) + (f"={default(a)}" if a.has_default else ""))
    if is_factory(f):
        parts += ["layout=None", "pin_memory=False"]
    others = numpy_names(f)
    if others or with_out:
        parts += [] if star else ["*"]
        parts = [f"{p}=None" if p in others else p for p in parts]  # it may come by its other name
        parts += [f"{other}=None" for other in others.values()]
    return ", ".join(parts + (["out=None"] if with_out else []))


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


def docstring(schema: Schema, f: Function) -> list[str]:
    lines = textwrap.wrap(f.doc, 88)
    shown = [a for a in shown_arguments(schema, f) if a.name not in ("input", "self") and a.doc]
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


def function(schema: Schema, f: Function, method: bool = False) -> str:
    name = safe(f.method_name if method else f.name)
    args = flat_arguments(schema, f)
    lines = [f"def {name}({signature(schema, f)}):"]
    lines += [INDENT + line if line else "" for line in docstring(schema, f)]
    body, call = _call(schema, f, args)
    for own, other in numpy_names(f).items():
        lines += [f"{INDENT}if {other} is not None:", f"{INDENT * 2}{own} = {other}"]
    if any(a.name == "size_average" for a in f.python_args):
        lines += [INDENT + line for line in old_reduction("reduction")]
    before, after = _result(schema, f, call)
    lines += [INDENT + line for line in _out(schema, f)] if has_out(schema, f) else []
    lines.append(f"{INDENT}try:")
    lines += [INDENT * 2 + line for line in [*_SAME_SIZES * f.same_sizes, *body, *before]]
    lines.append(f"{INDENT}except BAD_ARGUMENTS as error:")
    many = variadic(f)
    given = [f"given_sizes(args, {a.name})" if a is many else safe(a.name) for a in args]
    values = ", ".join([f'"{_python_name(f)}"', f'"{_kinds(args)}"', *given])
    if f.name in _NUMBER_FIRST:
        lines += [INDENT * 2 + line for line in _number_first(f)]
    lines.append(f"{INDENT * 2}raise complain(error, {values}) from None")
    lines += [INDENT + line for line in after]
    lines += [] if inner_name(f) == safe(f.name) else ["", "", f"{inner_name(f)} = {name}"]
    return "\n".join(lines)


_SAME_SIZES = [
    "if input.shape != target.shape:",
    f"{INDENT}warn_of_sizes(input, target)",
]


def old_reduction(target: str) -> list[str]:
    """What losses took before they had a `reduction`."""
    return [
        "if size_average is not None or reduce is not None:",
        f"{INDENT}{target} = reduction_of(size_average, reduce)",
    ]


def functional(schema: Schema, f: Function) -> str:
    """torch.nn.functional's form of a function that may write its input."""
    name, twin = inner_name(f), safe(f.name + "_")
    given = ", ".join(safe(a.name) for a in f.args)
    lines = [f"def {functional_name(f)}({signature(schema, f, False)}, inplace=False):"]
    lines += [f'{INDENT}"""{f.doc}"""']
    return "\n".join([*lines, f"{INDENT}return ({twin} if inplace else {name})({given})"])


def _python_name(f: Function) -> str:
    return f.method_name if f.method and not f.namespaces else f.torch_name


def _kinds(args: list[Argument]) -> str:
    """What `complain` needs to say which argument is wrong: "input:tensor dim:i64[]? stride:i64[1]"."""
    return " ".join(f"{a.name}:{_kind(a.kind)}" for a in args)


def _kind(kind: Kind) -> str:
    if kind.count:
        return kind.key.replace("[]", "[1]")
    return kind.key.replace("enum", kind.name) if kind.name in _OBJECT_ENUMS else kind.key


def _call(schema: Schema, f: Function, args: list[Argument]) -> tuple[list[str], str]:
    """(statements that convert, the call of the shim without its last bracket)."""
    prepare, passed = [], []
    many = variadic(f)
    for a in args:
        if a is many:
            prepare.append(f"{a.name}_c = read_sizes(args, {a.name})")
            passed += [f"{a.name}_c", f"len({a.name}_c)"]
            continue
        lines, values = argument(a)
        prepare += lines
        passed += values
    # What the library keeps is registered last: nothing may fail between that and the call.
    keeps = [line for line in prepare if " = keep(" in line]
    prepare = [line for line in prepare if line not in keeps] + keeps
    return prepare, f"lib.py_{f.name}({', '.join(passed)}"


def argument(a: Argument) -> tuple[list[str], list[str]]:
    """(statements, what is passed) for one argument: the kind table of Python.

    What is made gets a name of its own: the argument itself must live until the call is over, for a
    handle does not keep its tensor alive, and `complain` looks at it.
    """
    n, kind = safe(a.name), a.kind
    c = a.name + "_c"
    match kind.key:
        case "tensor" | "handle":
            return [], [f"{n}._h"]
        case "tensor?" | "handle?":
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
            n == "requires_grad" and not a.default
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


def _out(schema: Schema, f: Function) -> list[str]:
    """Leaves a call with `out` to `into`, which calls again without it. Other calls pay for one look."""
    passed, star = [inner_name(f)], False
    many = variadic(f)
    for a in flat_arguments(schema, f):
        name = safe(a.name)
        star |= a.keyword_only or a is many
        value = f"read_sizes(args, {name})" if a is many else name
        passed.append(f"{name}={value}" if star else value)
    return ["if out is not None:", f"{INDENT}return into(out, {', '.join(passed)})"]


def _or_none(helper: str, kind: Kind) -> str:
    return helper + ("_or_none" if kind.optional else "")


def _result(schema: Schema, f: Function, call: str) -> tuple[list[str], list[str]]:
    """(statements that call, statements that make the result)."""
    if not f.results:
        back = ["return input" if f.args[0].name == "input" else "return self"] if f.inplace else []
        return [f"status = {call})"], ["if status:", f"{INDENT}raise fail()", *back]
    many = "" if call.endswith("(") else ", "
    if len(f.results) > 1:
        buffer = [f'out = ffi_new("int64_t[{len(f.results)}]")', f"status = {call}{many}out)"]
        made = ", ".join(_several(schema, r, i) for i, r in enumerate(f.results))
        return buffer, ["if status:", f"{INDENT}raise fail()", f"return {f.name}_result(({made}))"]
    r = f.results[0]
    match r.kind.key:
        case "tensor":
            given = f.args[0]
            if _may_be_given(f):
                one = f"{given.name}[0]" if given.kind.list else given.name
                return [f"out = {call})"], [f"return wrap_or(out, {one})"]
            placed = [
                "if layout is not None or pin_memory:",
                f"{INDENT}return placed(wrap(out), layout, pin_memory)",
            ]
            return [f"out = {call})"], [*(placed if is_factory(f) else []), "return wrap(out)"]
        case "tensor?":
            return [f"out = {call})"], [
                "if out > 1:", f"{INDENT}return wrap(out)",
                "if out:", f"{INDENT}raise fail()", "return None",
            ]  # fmt: skip
        case "handle":
            return [f"out = {call})"], [f"return {camel(r.kind.name)}.own(out)"]
        case "tensor[]":
            one = f.args[0].name if f.args[0].kind.list else f"({f.args[0].name},)"
            given = f", {one}" if _may_be_given(f) else ""
            return [f"out = {call})"], [f"return take_tensors(out{given})"]
        case "str":
            return [f"out = {call})"], ["return take_text(out)"]
        case "str[]":
            return [f"out = {call})"], ["return take_texts(out)"]
        case "bytes":
            return [f"out = {call})"], ["return take_bytes(out)"]
        case "i64":
            return [f"out = {call})"], ["return int_or_fail(out)"]
        case "f64":
            return [f"out = {call})"], ["return float_or_fail(out)"]
        case "bool":
            return [f"out = {call})"], ["if out < 0:", f"{INDENT}raise fail()", "return out != 0"]
        case "enum":
            made = f"return {r.kind.name.upper()}.value(out)"
            return [f"out = {call})"], ["if not out:", f"{INDENT}raise fail()", made]
        case "device":
            return [f"out = {call})"], ["return device_from(out)"]
        case "pointer":
            return [f"out = {call})"], ["if out < 0:", f"{INDENT}raise fail()", "return out"]
        case "scalar":
            out = ["out = ffi_new(SCALAR_OUT)", f"status = {call}{many}out)"]
            return out, ["if status:", f"{INDENT}raise fail()", "return scalar_from(out)"]
        case "i64[]":
            return ["out = ffi_new(INT64_16)", f"count = {call}{many}out, 16)"], [
                "return take_numbers(out, count)"
            ]
        case "f64[]":
            before = ["out = ffi_new(FLOAT64_16)", f"count = {call}{many}out, 16)"]
            before += ["if count > 16:", f"{INDENT}out = ffi_new(FLOAT64_ARRAY, count)"]
            before += [f"{INDENT}count = {call}{many}out, count)"]
            return before, ["return take_numbers(out, count)"]
    raise SchemaError(f"python: {f.name}: a result of kind {r.kind.key}")


def _may_be_given(f: Function) -> bool:
    """Whether what comes out is the first argument, a view of it, or one of its list."""
    return f.gives_back or f.view != ""


def _several(schema: Schema, r: Argument, i: int) -> str:
    match r.kind.key:
        case "tensor":
            return f"wrap(out[{i}])"
        case "tensor?":
            return f"wrap(out[{i}]) if out[{i}] else None"
        case "i64":
            return f"out[{i}]"
        case "bool":
            return f"out[{i}] != 0"
        case "enum":
            return f"{r.kind.name.upper()}.value(out[{i}])"
        case "handle":
            return f"{camel(r.kind.name)}.own(out[{i}])"
        case "tensor[]":
            return f"take_tensors(out[{i}])"
        case "str":
            return f"take_text(out[{i}])"
        case "str[]":
            return f"take_texts(out[{i}])"
    raise SchemaError(f"python: several results with a {r.kind.key} among them")


# ---- callbacks, handles


def _callback(c) -> str:
    """The function that C calls: it finds the user's function by number."""
    taken, passed = ["id"], []
    for a in c.args:
        match a.kind.key:
            case "tensor":
                taken.append(a.name)
                passed.append(f"borrow({a.name})")
            case "tensor[]" | "tensor?[]":
                taken += [a.name, f"{a.name}_n"]
                passed.append(f"borrow_list({a.name}, {a.name}_n)")
            case "i64" | "f64":
                taken.append(a.name)
                passed.append(a.name)
            case "bool":
                taken.append(a.name)
                passed.append(f"{a.name} != 0")
            case "str":
                taken.append(a.name)
                passed.append(f"ffi.string({a.name}).decode()")
            case "enum":
                taken.append(a.name)
                passed.append(f"{a.kind.name.upper()}.value({a.name})")
            case _:
                raise SchemaError(f"python: callback {c.name}: an argument of kind {a.kind.key}")
    taken += [r.name for r in c.results]
    call = f"CALLBACKS[id]({', '.join(passed)})"
    lines = [
        f'@ffi.def_extern("py_on_{c.name}", error=9, onerror=on_callback_error)',
        f"def _on_{c.name}({', '.join(taken)}):",
        f"{INDENT}result = {call}" if c.results else f"{INDENT}{call}",
    ]
    for i, r in enumerate(c.results):
        value = "result" if len(c.results) == 1 else f"result[{i}]"
        match r.kind.key:
            case "tensor" | "tensor?":
                given = (
                    f"give_optional({value})"
                    if r.kind.optional
                    else f"lib.py_tensor_alias({value}._h)"
                )
            case "tensor[]":
                given = f"give_list({value})"
            case "i64" | "f64":
                given = value
            case "bool":
                given = f"bool({value})"
            case _:
                raise SchemaError(f"python: callback {c.name}: a result of kind {r.kind.key}")
        lines.append(f"{INDENT}{r.name}[0] = {given}")
    return "\n".join([*lines, f"{INDENT}return 0"])


def handle_class(schema: Schema, handle: str) -> str:
    """Everything but tensors: objects with generated methods."""
    h = schema.handles[handle]
    lines = [f"class {camel(handle)}(Handle):", f'{INDENT}"""{h.doc}"""', ""]
    lines += [f"{INDENT}__slots__ = ()", f"{INDENT}_release = lib.py_{handle}_release"]
    for f in schema.methods(handle):
        lines.append("")
        if f.as_property:
            lines.append(f"{INDENT}@property")
        lines += [INDENT + line if line else "" for line in function(schema, f, True).split("\n")]
    return "\n".join(lines)


# ---- tables at the end of the module


def _exports(schema: Schema) -> str:
    """Result types, Tensor's methods and properties, and what each namespace shows."""
    lines = []
    for f in schema.public:
        if len(f.results) > 1:
            fields = " ".join(r.name for r in f.results)
            shown = f.name if f.name.startswith("linalg_") else f.torch_name
            lines.append(f'{f.name}_result = result_type("{shown}", "{fields}")')
    functions = [f for f in schema.methods("tensor") if not f.as_property]
    properties = [f for f in schema.methods("tensor") if f.as_property]
    lines += [
        "METHODS = {",
        *(_entry(f.method_name, f) for f in functions if not shadowed(schema, f)),
        "}",
    ]
    lines += ["PROPERTIES = {", *(_entry(f.method_name, f) for f in properties), "}"]
    names = sorted({n for f in schema.public for n in f.namespaces})
    lines.append("NAMESPACES = {")
    for n in names:
        rows = [f for f in schema.public if n in namespaces(schema, f) and not shadowed(schema, f)]
        lines.append(f'{INDENT}"{n}": {{')
        for f in rows:
            if f.method in ("", "tensor"):
                shown = functional_name(f) if n == "functional" else safe(f.name)
                lines.append(f'{INDENT * 2}"{f.torch_name}": {shown},')
        lines.append(f"{INDENT}}},")
    lines.append("}")
    return "\n".join(lines)


def _entry(name: str, f: Function) -> str:
    return f'{INDENT}"{name}": {safe(f.name)},'
