"""The plan: each public function lowered once, for all languages.

The schema says what a function is; the plan says what a binding of it does: which values its caller
gives, which C parameters each of them becomes, what comes back and in which form, who owns it, under
which names users find it. A language is a set of templates over this data and a small runtime, so
nothing here knows a language, and no language flattens options or groups overloads by itself. The
shims of C, which are the other side of the same call, are printed from it too.

`lower(schema)` gives one `Plan`. Everything in it is frozen, and complete: what is absent is an empty
tuple or string.

What is no call is not here. How a kind crosses the C API is cabi.py's, which also prints the header and
the ABI's lock; what the core declares and computes, formulas, kernels, classes of layers, networks,
optimizers and schedules, and pages of the reference come from the schema itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from . import cabi, text
from .cabi import Parameter
from .model import Argument, Callback, Enum, Function, Handle, Kind, Options, Schema, SchemaError

# The form in which a result comes out of the C API, by kind. `value`: plain C values. `numbers`: a
# buffer of the caller's, with its capacity, and how many numbers there are. All others are new
# handles, which the caller releases: `object` is shown as itself, the rest are read and released.
FORMS = {
    "tensor": "object", "tensor?": "object", "handle": "object",
    "tensor[]": "tensors", "str": "text", "str[]": "texts",
    "i64": "value", "f64": "value", "bool": "value", "enum": "value", "device": "value",
    "scalar": "value", "pointer": "value",
    "i64[]": "numbers", "f64[]": "numbers",
}  # fmt: skip

# The kind of handle behind a form that is read and released.
CARRIERS = {"tensors": "tensor_list", "text": "bytes", "texts": "string_list"}

# Of an operator whose first operand is a number: the functions that do it with the tensor first, one after
# the other. f: f(x, number). f, g: g(f(x), number), so that 2 / x is reciprocal(x).mul(2). f, g, h: h of that
# and x, so that 2 % x is zeros_like(x).add(2).remainder(x): the sum promotes as a number does.
REFLECTED = {
    "add": ("add",), "sub": ("rsub",), "mul": ("mul",), "truediv": ("reciprocal", "mul"),
    "floordiv": ("zeros_like", "add", "floor_divide"), "mod": ("zeros_like", "add", "remainder"),
    "lshift": ("zeros_like", "add", "bitwise_left_shift"), "rshift": ("zeros_like", "add", "bitwise_right_shift"),
    "and": ("bitwise_and",), "or": ("bitwise_or",), "xor": ("bitwise_xor",),
    "eq": ("eq",), "ne": ("ne",), "lt": ("gt",), "le": ("ge",), "gt": ("lt",), "ge": ("le",),
}  # fmt: skip


def reflect(names: Sequence[str], tensor: str, number: str) -> str:
    """number OP tensor by functions of REFLECTED, for languages that write a call as f(x, y)."""
    if len(names) == 1:
        return f"{names[0]}({tensor}, {number})"
    text = f"{names[1]}({names[0]}({tensor}), {number})"
    return f"{names[2]}({text}, {tensor})" if len(names) == 3 else text


# What wrappers/table does for the languages that call through it: what the C API has in another shape ...
OWN = (
    Function(
        "live_handles",
        "memory",
        "How many handles of a kind are not released, which tests use to find leaks; -1 for an unknown kind.",
        (
            Argument(
                "kind",
                Kind("str", optional=True),
                '"tensor", ...; without it, all kinds.',
                has_default=True,
            ),
        ),
        (Argument("count", Kind("i64")),),
    ),
)
# ... and, where arrays of the language are handed over as they lie, what array.h does with them.
ARRAYS = (
    Function(
        "from_array",
        "creation",
        "A tensor of an array: each element stays at its indices, and in its place in memory, so the strides are the "
        "array's.",
        (Argument("array", Kind("pointer"), "Of reals of 4 or 8 bytes, or of integers."),),
        (Argument("out", Kind("tensor")),),
    ),
    Function(
        "tensor_to_array",
        "creation",
        "Fills an array that has the tensor's shape; the elements are converted to its kind.",
        (Argument("input", Kind("tensor")), Argument("array", Kind("pointer", mutable=True))),
        (),
        method="tensor",
        method_name="to_array",
    ),
)


def word(words: dict[str, str], kind: Kind) -> str:
    """What a language calls a kind, of the words that it has by Kind.given: `{name}` is which handle, enum or callback,
    `{Name}` the same in camel case."""
    if kind.given not in words:
        raise SchemaError(f"a language has no word for a value of kind {kind.key}")
    name = kind.name or "tensor"
    return words[kind.given].format(name=name, Name=text.camel(name))


@dataclass(frozen=True)
class Slot:
    """A value that a call's user gives: an argument of the function, or a field of its options.

    It is lent for the time of the call, with two exceptions: a callback's user data belongs to the
    library from then on (`kept`), and a tensor may be `written`.
    """

    argument: Argument
    parameters: tuple[Parameter, ...]  # of the C function, or members of the options struct
    struct: str = ""  # the options argument whose field it is
    pointed: bool = False  # the member of the struct points to the number; NULL means the default

    @property
    def name(self) -> str:
        return self.argument.name

    @property
    def kind(self) -> Kind:
        return self.argument.kind

    @property
    def required(self) -> bool:
        """It has no default, so it must be given, if only as absent."""
        return not self.argument.has_default

    @property
    def may_be_absent(self) -> bool:
        return not self.required or self.kind.optional

    @property
    def kept(self) -> bool:
        return self.kind.base == "callback"

    @property
    def written(self) -> bool:
        return self.kind.mutable


@dataclass(frozen=True)
class Input:
    """An argument of the C function: one slot, or an options struct with a slot for each field."""

    argument: Argument
    slots: tuple[Slot, ...]

    @property
    def is_struct(self) -> bool:
        return self.argument.kind.base == "options"

    @property
    def c_type(self) -> str:
        """Of a struct."""
        return cabi.type_name(self.argument.kind)


@dataclass(frozen=True)
class Struct:
    """An options struct."""

    options: Options
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Result:
    """What comes back."""

    argument: Argument
    parameters: tuple[Parameter, ...]
    form: str  # of FORMS
    handle: str  # the kind of handle that comes out, "" for plain values

    @property
    def name(self) -> str:
        return self.argument.name

    @property
    def kind(self) -> Kind:
        return self.argument.kind

    @property
    def optional(self) -> bool:
        return self.kind.optional

    @property
    def required_outs(self) -> tuple[str, ...]:
        """The parameters that must not be NULL."""
        used = self.parameters[-1:] if self.form == "numbers" else self.parameters
        return tuple(p.name for p in used)


@dataclass(frozen=True)
class Call:
    """A function of the C API as its users call it."""

    function: Function
    inputs: tuple[Input, ...]  # in the C function's order
    results: tuple[Result, ...]  # empty for functions that act, and for those that give back `this`
    twin: Function | None = None  # of what writes in place: the function that does not
    shadowed: bool = False  # another function has its name in the same place, and came first

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """In the order of the signature; an options struct's fields stand in its place."""
        return tuple(slot for i in self.inputs for slot in i.slots)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return tuple(slot.argument for slot in self.slots)

    @cached_property
    def required(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.required)

    @cached_property
    def optional(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if not slot.required)

    @property
    def structs(self) -> tuple[Input, ...]:
        return tuple(i for i in self.inputs if i.is_struct)

    @property
    def callbacks(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.kept)

    @property
    def returns_this(self) -> bool:
        """It writes its first argument and gives it back."""
        return self.function.inplace

    @property
    def names_results(self) -> bool:
        """Python has a class of tuples for what it gives."""
        return len(self.results) > 1 and not self.function.plain_tuple

    @property
    def c_name(self) -> str:
        return self.function.c_name

    @property
    def since(self) -> int:
        return self.function.since

    @property
    def member(self) -> str:
        """Its name in its class, "" if it is no method."""
        return self.function.method_name

    @property
    def free(self) -> str:
        """Its name in its namespaces."""
        return self.function.torch_name

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where it is found as a function; what is no method and in no namespace is in torch."""
        return self.function.namespaces or (() if self.function.method else ("torch",))

    @property
    def about(self) -> str:
        """What it does, and what comes back, in words."""
        return f"{self.function.doc} {self.function.returns}".strip()


@dataclass(frozen=True)
class Overloads:
    """The calls that share a name, in a class or a namespace. A call that needs more arguments comes
    before one that it extends: the first whose last required argument is given is meant."""

    name: str
    calls: tuple[Call, ...]

    def place(self, call: Call) -> tuple[int, str]:
        """Where the argument stands that tells a call from those after it: (position, name)."""
        last = len(call.required) - 1
        return last, call.required[last].name


@dataclass(frozen=True)
class Operator:
    """A call that is an operator of its class."""

    name: str  # Python's special method
    call: Call
    reflected: tuple[Call, ...]  # of REFLECTED; none: the call takes a number there, or none

    def number_first(self, number: str, tensor: str, prefix: str = "") -> str:
        """number OP tensor, for languages that write a call as f(x, y)."""
        if not self.reflected:
            return f"{prefix}{self.call.function.name}({number}, {tensor})"
        return reflect([prefix + c.function.name for c in self.reflected], tensor, number)


@dataclass(frozen=True)
class Class:
    handle: Handle
    calls: tuple[Call, ...]  # methods and properties
    methods: tuple[Overloads, ...]
    properties: tuple[Call, ...]
    operators: tuple[Operator, ...]

    @property
    def name(self) -> str:
        return self.handle.name

    @property
    def carries(self) -> bool:
        """Its handles are read and released where a result needs one."""
        return self.name in CARRIERS.values()


@dataclass(frozen=True)
class Namespace:
    path: str  # "torch", "nn", "optim.lr_scheduler"
    functions: tuple[Overloads, ...]


@dataclass(frozen=True)
class Hook:
    """A callback: what the library gives a user's function, and what it wants back. All handles that
    come in are lent; one that goes out is new and becomes the library's."""

    callback: Callback
    inputs: tuple[Slot, ...]
    results: tuple[Result, ...]

    @property
    def name(self) -> str:
        return self.callback.name


@dataclass(frozen=True)
class Plan:
    schema: Schema
    calls: tuple[Call, ...]
    own: tuple[Call, ...]
    arrays: tuple[Call, ...]
    classes: tuple[Class, ...]
    namespaces: tuple[Namespace, ...]
    hooks: tuple[Hook, ...]
    enums: tuple[Enum, ...]
    structs: tuple[Struct, ...]

    @cached_property
    def tabled(self) -> tuple[Call, ...]:
        """The functions of wrappers/table, in its order."""
        return (*self.calls, *self.own, *self.arrays)

    @cached_property
    def by_name(self) -> dict[str, Call]:
        return {call.function.name: call for call in self.tabled}

    @cached_property
    def by_place(self) -> dict[tuple[str, str], Call]:
        """The first call of each namespace and name."""
        found: dict[tuple[str, str], Call] = {}
        for call in self.calls:
            for namespace in call.namespaces:
                found.setdefault((namespace, call.free), call)
        return found


def lower(schema: Schema) -> Plan:
    structs = {o.name: _struct(o) for o in schema.options.values()}
    calls = tuple(_call(schema, structs, f) for f in schema.public)
    return Plan(
        schema=schema,
        calls=calls,
        own=tuple(_call(schema, structs, f) for f in OWN),
        arrays=tuple(_call(schema, structs, f) for f in ARRAYS),
        classes=tuple(_class(h, calls) for h in schema.handles.values()),
        namespaces=_namespaces(calls),
        hooks=tuple(_hook(c) for c in schema.callbacks.values()),
        enums=tuple(schema.enums.values()),
        structs=tuple(structs.values()),
    )


def _call(schema: Schema, structs: dict[str, Struct], f: Function) -> Call:
    return Call(
        f,
        tuple(_input(structs, a) for a in f.args),
        tuple(map(result, f.results)),
        schema.functions.get(f.name.removesuffix("_")) if f.inplace else None,
        _is_shadowed(schema, f),
    )


def _is_shadowed(schema: Schema, f: Function) -> bool:
    other = schema.functions.get(f.torch_name)
    if not f.python or other is None or other is f or not other.public:
        return False
    return bool(f.method and other.method or set(f.namespaces) & set(other.namespaces))


def _input(structs: dict[str, Struct], a: Argument) -> Input:
    if a.kind.base != "options":
        return Input(a, (Slot(a, tuple(cabi.argument(a))),))
    return Input(a, tuple(replace(slot, struct=a.name) for slot in structs[a.kind.name].slots))


def _struct(o: Options) -> Struct:
    def slot(a: Argument) -> Slot:
        named = replace(a, keyword_only=True)
        return Slot(named, tuple(cabi.field(a, o)), pointed=cabi.needs_pointer(a, o))

    return Struct(o, tuple(map(slot, o.fields)))


def result(r: Argument) -> Result:
    form = FORMS[r.kind.key]
    handle = CARRIERS.get(form, "")
    if form == "object":
        handle = r.kind.name or "tensor"
    return Result(r, tuple(cabi.result(r)), form, handle)


def _hook(c: Callback) -> Hook:
    inputs = tuple(Slot(a, tuple(cabi.argument(a))) for a in c.args)
    return Hook(c, inputs, tuple(map(result, c.results)))


# ---- names


def _class(handle: Handle, calls: tuple[Call, ...]) -> Class:
    own = [call for call in calls if call.function.method == handle.name]
    methods = [(call.member, call) for call in own if not call.function.as_property]
    properties = tuple(call for call in own if call.function.as_property)
    operators = [c for c in own if c.function.operator and not c.returns_this]
    return Class(
        handle,
        tuple(own),
        _overloads(handle.name, methods),
        properties,
        tuple(_operator(call, calls) for call in operators),
    )


def _operator(call: Call, calls: tuple[Call, ...]) -> Operator:
    by_name = {c.function.name: c for c in calls}
    name = call.function.operator
    return Operator(name, call, tuple(by_name[x] for x in REFLECTED.get(name, ())))


def _namespaces(calls: tuple[Call, ...]) -> tuple[Namespace, ...]:
    spaces: dict[str, list[tuple[str, Call]]] = {}
    for call in calls:
        for path in call.namespaces:
            spaces.setdefault(path, []).append((call.free, call))
    return tuple(Namespace(path, _overloads(path, rows)) for path, rows in spaces.items())


def _overloads(where: str, named: list[tuple[str, Call]]) -> tuple[Overloads, ...]:
    names: dict[str, list[Call]] = {}
    for name, call in named:
        names.setdefault(name, []).append(call)
    return tuple(Overloads(name, _ordered(where, name, group)) for name, group in names.items())


def _ordered(where: str, name: str, group: list[Call]) -> tuple[Call, ...]:
    group = sorted(group, key=lambda call: -len(call.required))
    for more, less in zip(group, group[1:], strict=False):
        given = [slot.name for slot in more.required]
        if len(more.required) == len(less.required) or given[-1] in [s.name for s in less.slots]:
            text = f"'{name}' of {where}: overloads cannot be told apart by their arguments"
            raise SchemaError(text)
    return tuple(group)
