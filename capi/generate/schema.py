"""Reads capi/schema/*.toml into one `model.Schema`."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tomllib

from . import autocast, dtypes, formula, layers, networks, optimizers, schedules, signature
from .core_ops import declared_in
from .model import (
    Argument,
    Call,
    Callback,
    CallNumber,
    CallOperand,
    CFunction,
    Elementwise,
    Enum,
    EnumValue,
    Function,
    Handle,
    Kernel,
    Kind,
    Options,
    Schema,
    SchemaError,
    refuse_keys,
)

_TABLES = {
    "defaults",
    "args",
    "enum",
    "dtype",
    "handle",
    "options",
    "callback",
    "fn",
    "alias",
    "c",
    "layer",
    "network",
    "model",
    "optimizer",
    "schedule",
    "call",
    "kernel",
    "library",
}
_FUNCTION_KEYS = {
    "sig", "doc", "args", "returns", "since", "method", "in", "python", "operator", "property",
    "public", "header", "core", "errors", "view", "blocks", "runs",
    "class", "y", "out", "bool", "let", "grad", "inplace", "fits", "refused_by", "bool_error",
    "mixed_bool_error", "scalar_kernel", "slope_word", "counts_bools", "wide_numbers", "shapeless_numbers",
    "keeps_strides", "flat", "inplace_argument",
    "takes_out", "gives_back", "activation", "autocast", "same_sizes", "plain_tuple",
}  # fmt: skip


def load(folder: pathlib.Path) -> Schema:
    files = {path.stem: _read(path) for path in sorted(folder.glob("*.toml"))}
    schema = Schema()
    names = signature.Names(
        _keys(files, "enum"),
        _keys(files, "handle"),
        [
            *_keys(files, "options"),
            *("nn_" + layers.snake_case(n) for n in _keys(files, "layer")),
            *(f"models_{n}" for n in _keys(files, "model")),
            *(n.lower() for n in _keys(files, "optimizer")),
        ],
        _keys(files, "callback"),
    )
    _collect_activations(files)
    schema.api_level = next(f["library"]["level"] for f in files.values() if "library" in f)
    for kind, parse in _PARSERS:
        for stem, file in files.items():
            for name, row in file.get(kind, {}).items():
                try:
                    parse(schema, names, stem, file, name, _row(row))
                except SchemaError as error:
                    raise SchemaError(f"{stem}.toml: [{kind}.{name}]: {error}") from None
                except (AttributeError, TypeError, ValueError) as error:
                    said = "a value has another form than in docs/schema.md"
                    raise SchemaError(f"{stem}.toml: [{kind}.{name}]: {said}: {error}") from error
    return schema


class _Row(dict):
    """A table of the schema; what is needed and is not there is said."""

    def __missing__(self, key):
        raise SchemaError(f"'{key}' is missing")


def _row(value):
    return _Row({k: _row(v) for k, v in value.items()}) if isinstance(value, dict) else value


def _collect_activations(files: dict) -> None:
    """The values of the enum `activation` are the rows that say so: their number, and their level."""
    rows = [row for file in files.values() for row in file.get("fn", {}).items()]
    listed = {name: row for name, row in rows if "activation" in row}
    enum = next(
        f["enum"]["activation"] for f in files.values() if "activation" in f.get("enum", {})
    )
    enum["values"] = {
        name: [row["activation"][0], row["doc"], *row["activation"][1:]]
        for name, row in sorted(listed.items(), key=lambda entry: entry[1]["activation"])
    }


def _read(path: pathlib.Path) -> dict:
    with path.open("rb") as file:
        try:
            content = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"{path.name}: {error}") from None
    unknown = set(content) - _TABLES
    if unknown:
        raise SchemaError(f"{path.name}: unknown table '{sorted(unknown)[0]}'")
    return content


def _keys(files: dict, kind: str) -> list[str]:
    return [name for file in files.values() for name in file.get(kind, {})]


def _add(table: dict, name: str, value) -> None:
    if name in table:
        raise SchemaError("the name is taken")
    table[name] = value


def _document(args, docs: dict, shared: dict) -> tuple[Argument, ...]:
    """Gives each argument its sentence: the row's own, or the one that the file's rows share."""
    unused = set(docs) - {a.name for a in args}
    if unused:
        raise SchemaError(f"args documents '{unused.pop()}', which is no argument")
    return tuple(
        dataclasses.replace(a, doc=signature.sentence_of(a.name, shared | docs)) for a in args
    )


def _parse_enum(schema, names, stem, file, name, row) -> None:
    refuse_keys(row, {"doc", "values", "core", "zero", "reserved", "since"})
    since = row.get("since", 1)
    values = tuple(
        EnumValue(value, number, doc, *(level or [since]))
        for value, (number, doc, *level) in row["values"].items()
    )
    reserved = tuple(row.get("reserved", ()))
    enum = Enum(
        name, row.get("doc", ""), values, row.get("core", ""), row.get("zero", ""), reserved, since
    )
    _add(schema.enums, name, enum)


def _parse_dtype(schema, names, stem, file, name, row) -> None:
    dtypes.parse(schema, name, row)


def _parse_handle(schema, names, stem, file, name, row) -> None:
    refuse_keys(row, {"doc", "core", "header", "since"})
    doc, since = row.get("doc", ""), row.get("since", 1)
    _add(schema.handles, name, Handle(name, doc, row["core"], row["header"], since))


def _parse_options(schema, names, stem, file, name, row) -> None:
    refuse_keys(row, {"doc", "fields", "args", "since"})
    fields = tuple(signature.parse_argument(text, names) for text in row["fields"])
    fields = _document(fields, row.get("args", {}), file.get("args", {}))
    since = row.get("since", 1)
    fields = tuple(dataclasses.replace(a, since=a.since or since) for a in fields)
    options = Options(name, row.get("doc", ""), fields, since)
    _add(schema.options, name, options)


def _parse_callback(schema, names, stem, file, name, row) -> None:
    refuse_keys(row, {"doc", "sig", "args", "since", "during"})
    args, results, _ = signature.parse_signature(row["sig"], names)
    args = _document(args, row.get("args", {}), file.get("args", {}))
    since, during = row.get("since", 1), row.get("during", False)
    callback = Callback(name, row.get("doc", ""), args, results, since, during)
    _add(schema.callbacks, name, callback)


def _parse_c(schema, names, stem, file, name, row) -> None:
    refuse_keys(row, {"returns", "args", "doc", "since"})
    function = CFunction(
        name, row["returns"], tuple(row.get("args", [])), row.get("doc", ""), row.get("since", 1)
    )
    _add(schema.c_functions, name, function)


_CALL_KEYS = ("out", "in", "ints", "floats")


def _parse_call(schema, names, stem, file, name, row) -> None:
    refuse_keys(row, {"doc", *_CALL_KEYS})
    _add(schema.calls, name, _call(names, stem, name, row))


def _parse_kernel(schema, names, stem, file, name, row) -> None:
    """A row has a call of its own, or names one that several kernels share."""
    own = {"doc", "call", "workspace", "narrow", "updates", "index_error", "index_raises"}
    refuse_keys(row, own | set(_CALL_KEYS))
    if "call" not in row:
        _add(schema.calls, name, _call(names, stem, name, row))
    elif row["call"] not in schema.calls or set(_CALL_KEYS) & set(row):
        raise SchemaError(f"call '{row['call']}' is no [call] row, or operands stand beside it")
    kernel = Kernel(
        name=name,
        file=stem,
        doc=row.get("doc", ""),
        call=schema.calls[row.get("call", name)],
        workspace=tuple(row.get("workspace", ())),
        narrow=tuple(row.get("narrow", ())),
        updates=row.get("updates", False),
        index_error=row.get("index_error", ""),
        index_raises=row.get("index_raises", "index_error"),
    )
    _add(schema.kernels, name, kernel)


def _call(names, stem: str, name: str, row: dict) -> Call:
    return Call(
        name=name,
        file=stem,
        doc=row.get("doc", ""),
        out=tuple(_call_operand(text) for text in row.get("out", ())),
        inputs=tuple(_call_operand(text) for text in row.get("in", ())),
        ints=tuple(_call_number(text, "int", names) for text in row.get("ints", ())),
        floats=tuple(_call_number(text, "float", names) for text in row.get("floats", ())),
    )


def _call_operand(text: str) -> CallOperand:
    match = re.fullmatch(r"([a-z]\w*)(\.\.\.)?(\?)?", text)
    if not match:
        raise SchemaError(f"'{text}' is not NAME, NAME?, NAME... or NAME...?")
    return CallOperand(match[1], optional=bool(match[3]), listed=bool(match[2]))


def _call_number(text: str, kind: str, names) -> CallNumber:
    match = re.fullmatch(r"([a-z]\w*)(?:\[(\d+)\]|(\.\.\.)|: (\w+))?", text)
    if not match:
        raise SchemaError(f"'{text}' is not NAME, NAME[2], NAME... or NAME: TYPE")
    if match[4] and (kind == "float" or match[4] not in {"bool", *names.enums}):
        raise SchemaError(f"'{text}': there is no such type")
    return CallNumber(match[1], match[4] or kind, int(match[2] or 0), bool(match[3]))


def _parse_function(schema, names, stem, file, name, row) -> None:
    refuse_keys(row, _FUNCTION_KEYS)
    row = _Row({**file.get("defaults", {}), **row})
    all_args, results, inplace = signature.parse_signature(row["sig"], names)
    if row.get("public", True):
        all_args = _document(all_args, row.get("args", {}), file.get("args", {}))
    args = _of_every_language(all_args)
    method, method_name = _method(schema, name, row, args)
    function = Function(
        name=name,
        file=stem,
        doc=row.get("doc", ""),
        args=args,
        results=results,
        returns=row.get("returns", ""),
        since=row.get("since", 1),
        inplace=inplace,
        method=method,
        method_name=method_name,
        namespaces=tuple(row.get("in", ())),
        python=row.get("python", ""),
        operator=row.get("operator", ""),
        as_property=row.get("property", False),
        plain_tuple=row.get("plain_tuple", False),
        inplace_argument=row.get("inplace_argument", False),
        gives_back=row.get("gives_back", False),
        takes_out=row.get("takes_out", False),
        same_sizes=row.get("same_sizes", False),
        public=row.get("public", True),
        header=row.get("header", ""),
        core=row.get("core", ""),
        elementwise=_elementwise(row, args) if "y" in row else None,
        errors=tuple(row.get("errors", ())),
        view=row.get("view", ""),
        blocks=row.get("blocks", ""),
        runs=tuple(row.get("runs", ())),
        autocast=_autocast(row.get("autocast", {})),
        python_args=all_args if len(args) < len(all_args) else (),
    )
    _add(schema.functions, name, function)
    if row.get("inplace"):
        _add(schema.functions, name + "_", _inplace_twin(function))


def _of_every_language(args: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Without those that Python alone has. What comes after these has another place there, so it is called by its
    name in what is shown for all languages."""
    first = next((i for i, a in enumerate(args) if a.python_only), len(args))
    return tuple(
        dataclasses.replace(a, keyword_only=a.keyword_only or i > first)
        for i, a in enumerate(args)
        if not a.python_only
    )


def _method(schema, name: str, row: dict, args) -> tuple[str, str]:
    """A function whose first argument is the tensor `input`, or another object called `self`, is its
    method, unless the row says `method = false`."""
    first = args[0] if args else None
    is_object = first is not None and first.name == object_name(first)
    if not row.get("method", is_object):
        return "", ""
    if not is_object:
        raise SchemaError("a method's first argument is the tensor input, or an object called self")
    handle = first.kind.name or "tensor"
    return handle, (row.get("python") or name.removeprefix(handle + "_"))


def _autocast(policy: str | dict[str, str]) -> dict[str, str]:
    """The policy of each type of device; one word is that of all."""
    policies = policy if isinstance(policy, dict) else dict.fromkeys(autocast.DEVICES, policy)
    if set(policies) - set(autocast.DEVICES) or set(policies.values()) - set(autocast.POLICIES):
        raise SchemaError("autocast is a policy, or one for each of cpu and cuda")
    return policies


def object_name(a: Argument) -> str:
    """How a method's object is called, if this argument is one."""
    return "self" if a.kind.base == "handle" else "input"


def _elementwise(row: dict, args) -> Elementwise:
    inputs = tuple(a for a in args if a.kind.base in ("tensor", "operand"))
    attributes = tuple(a for a in args if a not in inputs)
    for a in attributes:
        if a.kind.key not in ("scalar", "i64", "f64", "bool"):
            raise SchemaError(f"'{a.name}': an attribute of an elementwise op is a number")
    bools = row.get("bool", [])
    unknown = (set(bools) | set(row.get("grad", {}))) - {a.name for a in inputs}
    if unknown:
        raise SchemaError(f"'{unknown.pop()}' is no input")
    names = {a.name for a in args}
    lets = row.get("let", {})
    formula.check(row["y"], names | set(lets))
    for n, part in enumerate(lets.values()):
        formula.check(part, names | {"grad", "result", *list(lets)[:n]})
    for gradient in row.get("grad", {}).values():
        formula.check(gradient, names | {"grad", "result", *lets})
    if row["class"] not in ("float", "num", "int", "bool"):
        raise SchemaError(f"class '{row['class']}' is not float, num, int or bool")
    out = Elementwise(
        compute=row["class"],
        y=row["y"],
        inputs=inputs,
        attributes=attributes,
        bools=tuple(bools),
        bool_out=row.get("out") == "bool",
        let=row.get("let", {}),
        grad=row.get("grad", {}),
        numbers_fit=row.get("fits", False),
        refused_by=row.get("refused_by", ""),
        flat=row.get("flat", False),
        counts_bools=row.get("counts_bools", False),
        wide_numbers=row.get("wide_numbers", False),
        shapeless_numbers=row.get("shapeless_numbers", False),
        keeps_strides=row.get("keeps_strides", False),
        bool_error=row.get("bool_error", ""),
        mixed_bool_error=row.get("mixed_bool_error", ""),
        scalar_kernel=row.get("scalar_kernel", ""),
        slope_word=row.get("slope_word", ""),
    )
    for part in out.parts_of(out.y).values():
        formula.check(part, names | set(lets))
    return out


def _inplace_twin(f: Function) -> Function:
    """`add_` of `add`: the same op, written into its first argument."""
    # Also where the op's first argument may be a number: only a tensor can be written.
    target = dataclasses.replace(
        f.args[0],
        kind=Kind("tensor", mutable=True),
        doc="The tensor that is written.",
    )
    return dataclasses.replace(
        f,
        name=f.name + "_",
        doc=f"In-place version of `{f.name}`.",
        args=(target, *f.args[1:]),
        results=(),
        returns="",
        inplace=True,
        inplace_argument=False,
        gives_back=False,
        takes_out=False,
        namespaces=(),
        method_name=f.method_name + "_" if f.method else "",
        python=f.python + "_" if f.python else "",
        operator="i" + f.operator if f.operator else "",
        core=f.core.replace("(", "_(", 1),
        autocast={},
    )


def _parse_alias(schema, names, stem, file, name, target) -> None:
    """`arccos = "acos"`: another name of a function, and of its in-place twin."""
    if target not in schema.functions:
        raise SchemaError(f"there is no function {target}")
    for suffix in ("", "_"):
        if f := schema.functions.get(target + suffix):
            _add(schema.functions, name + suffix, _renamed(f, stem, name + suffix))


def _renamed(f: Function, stem: str, name: str) -> Function:
    arguments = ", ".join("{" + a.name + "}" for a in f.args)
    return dataclasses.replace(
        f,
        name=name,
        file=stem,
        doc=f"Another name of `{f.name}`.",
        method_name=name if f.method else "",
        python="",
        operator="",
        header=f.header or declared_in(f.file),
        core=f.core or f"{f.name}({arguments})",
        elementwise=None,
        autocast={},
    )


def _parse_optimizer(schema, names, stem, file, name, row) -> None:
    o = optimizers.parse_optimizer(schema, file, name, row)
    _add(schema.optimizers, name, o)
    _add(schema.options, o.snake, optimizers.options_of(o))
    constructor = optimizers.constructor_of(o)
    _add(schema.functions, constructor.name, constructor)
    if not o.kind_of:
        _add(schema.kernels, o.snake, optimizers.kernel_of(o))


def _parse_schedule(schema, names, stem, file, name, row) -> None:
    s = schedules.parse_schedule(names, file, name, row, _document)
    _add(schema.schedules, name, s)
    constructor = schedules.constructor_of(s)
    _add(schema.functions, constructor.name, constructor)


def _parse_layer(schema, names, stem, file, name, row) -> None:
    if "like" in row:
        own = {key: value for key, value in row.items() if key != "like"}
        row = file["layer"][row["like"]] | own
    layer, options, constructor = layers.parse_layer(
        names, schema.enums["activation"], stem, file, name, row, _document
    )
    _add(schema.layers, name, layer)
    if options:
        _add(schema.options, options.name, options)
    _add(schema.functions, constructor.name, constructor)


def _parse_network(schema, names, stem, file, name, row) -> None:
    _add(schema.networks, name, networks.parse_network(names, file, name, row, _document))


def _parse_model(schema, names, stem, file, name, row) -> None:
    model, options, constructor = networks.parse_model(names, stem, file, name, row, _document)
    _add(schema.models, name, model)
    _add(schema.options, options.name, options)
    _add(schema.functions, constructor.name, constructor)


# Functions refer to everything else, so they come last.
_PARSERS = (
    ("enum", _parse_enum),
    ("dtype", _parse_dtype),
    ("handle", _parse_handle),
    ("options", _parse_options),
    ("callback", _parse_callback),
    ("call", _parse_call),
    ("kernel", _parse_kernel),
    ("c", _parse_c),
    ("layer", _parse_layer),
    ("network", _parse_network),
    ("model", _parse_model),
    ("optimizer", _parse_optimizer),
    ("schedule", _parse_schedule),
    ("fn", _parse_function),
    ("alias", _parse_alias),
)
