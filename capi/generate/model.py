"""The parsed schema: what every output language is printed from.

Read `docs/schema.md` for the grammar. `schema.load()` returns one `Schema`; its objects are plain
and complete, so a language module never looks at TOML.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace

from . import expr
from .expr import SchemaError as SchemaError


def refuse_keys(row: dict, known: set[str]) -> None:
    """A row has no keys but these."""
    if unknown := set(row) - known:
        raise SchemaError(f"unknown key '{min(unknown)}'")


# Every kind of argument that may cross the C API; `Kind.key` is one of these. A generator module
# holds one table with these keys and raises KeyError for a kind it forgot: nothing is skipped.
ARGUMENT_KINDS = (
    "tensor", "tensor?", "tensor[]", "tensor[]?", "tensor?[]",
    "operand", "operand?", "scalar", "scalar?",
    "i64", "i64?", "i64[]", "i64[]?",
    "f64", "f64?", "f64[]", "f64[]?",
    "bool", "bool?", "bool[]",
    "str", "str?", "str[]", "str[]?", "path", "bytes",
    "enum", "enum?", "device", "device?",
    "handle", "handle?", "options", "callback", "callback?",
)  # fmt: skip

# What a function (or a callback) may give back.
RESULT_KINDS = (
    "tensor", "tensor?", "tensor[]", "handle",
    "i64", "f64", "bool", "enum", "device", "scalar", "i64[]", "f64[]",
    "str", "str[]", "pointer",
)  # fmt: skip

# Kinds of an options struct's fields.
FIELD_KINDS = (
    "i64", "i64?", "i64[]", "i64[]?", "f64", "f64?", "f64[]?", "bool", "enum", "enum?", "device?", "str",
    "tensor?", "handle?", "scalar?",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """The type of an argument, result or field."""

    base: str  # tensor operand scalar i64 f64 bool str path bytes pointer device enum handle options callback
    name: str = ""  # which enum, handle, options struct or callback
    list: bool = False
    optional: bool = False  # the argument may be absent
    element_optional: bool = False  # tensor?[]: entries may be absent
    mutable: bool = False  # tensor!: the call writes it
    count: int = 0  # i64[2]: wrappers also take one number, which stands for two equal ones

    @property
    def key(self) -> str:
        """The kind without names, counts and mutability: an entry of ARGUMENT_KINDS."""
        element = self.base + ("?" if self.element_optional else "")
        return element + ("[]" if self.list else "") + ("?" if self.optional else "")

    @property
    def given(self) -> str:
        """The same of a value that is there."""
        return self.base + ("[]" if self.list else "")


@dataclass(frozen=True)
class Argument:
    """An argument, a result, an attribute of an options struct."""

    name: str
    kind: Kind
    doc: str = ""
    has_default: bool = False
    # None, bool, int, float, str or list. The default of an enum is the value's name.
    default: object = None
    keyword_only: bool = False  # after `*` in the signature
    since: int = 0  # of an options struct's field: the API level that added it
    python_only: bool = False  # PyTorch takes it, other languages leave it out

    @property
    def default_text(self) -> str:
        """The default, as a reader of the C API sees it."""
        if self.default is None:
            return "absent"
        return str(self.default).lower() if isinstance(self.default, bool) else str(self.default)


@dataclass(frozen=True)
class EnumValue:
    name: str
    number: int
    doc: str
    since: int = 1


@dataclass(frozen=True)
class Enum:
    """Numbers are fixed for ever and start at 1: in C, 0 says that an optional enum is absent."""

    name: str
    doc: str
    values: tuple[EnumValue, ...]
    core: str = ""  # the hand-written C++ enum, e.g. "DType"; otherwise core/base/enums.h has it
    zero: str = ""  # "OK" for dt_status alone: the name of 0
    reserved: tuple[int, ...] = ()  # numbers that no value has yet, or has any more
    since: int = 1


@dataclass(frozen=True)
class DType:
    """What core, the kernels and the wrappers know of an element type."""

    name: str
    c: str  # the C++ type of an element
    bytes: int
    category: str  # bool, integer or floating
    compute: str  # the dtype that arithmetic is done in
    torch: str  # "Float": PyTorch's word
    typeid: str  # "unsigned char": where PyTorch's sentences name the C++ type
    c10: str  # "uint8_t": where they name it as c10's headers spell it
    safetensors: str
    dlpack: int
    code: str  # of Python's struct module; "" = it has none

    @property
    def is_of_cpp(self) -> bool:
        """Whether C++ itself has the type. Those of kernels/narrow.h are classes."""
        return self.c in ("bool", "float", "double") or self.c.endswith("_t")


@dataclass(frozen=True)
class Handle:
    """An opaque object of the C API; each handle owns one reference."""

    name: str
    doc: str
    core: str  # the C++ class: "Tensor"
    header: str  # where it is declared: "core/tensor/tensor.h"
    since: int = 1


@dataclass(frozen=True)
class Options:
    """A struct of named arguments: constructors and whatever will grow."""

    name: str
    doc: str
    fields: tuple[Argument, ...]
    since: int = 1
    layer: str = ""  # the layer whose constructor it serves


@dataclass(frozen=True)
class Callback:
    """A function of the user's that the library calls; `(fn, user_data, drop)` in C."""

    name: str
    doc: str
    args: tuple[Argument, ...]
    results: tuple[Argument, ...]
    since: int = 1
    during: bool = False  # it runs only during the call that takes it, not later


@dataclass(frozen=True)
class Elementwise:
    """The formulas of a row that generates its own kernel."""

    compute: str  # float | num | int | bool: which compute types the kernel has
    y: str  # a formula over argument names (formula.py)
    inputs: tuple[Argument, ...]  # tensors and operands, in signature order
    attributes: tuple[Argument, ...]  # scalars, in signature order
    bools: tuple[str, ...]  # inputs that are loaded as bool
    bool_out: bool
    let: dict[str, str]  # named parts of the formulas
    grad: dict[str, str]  # gradient formula by input name
    numbers_fit: bool = False  # a number that the dtype cannot hold is refused, not wrapped
    # PyTorch's name of the kernel that refuses integers (class float) or floats (class int).
    refused_by: str = ""
    flat: bool = False  # the gradient is constant in the inputs where it is differentiable
    counts_bools: bool = False  # bools alone meet in int64
    wide_numbers: bool = False  # beside narrow floats, a number keeps all its digits
    shapeless_numbers: bool = False  # those in the last places have no part in the result's strides
    keeps_strides: bool = False  # the result has those of a copy of the first input
    # PyTorch's sentence if all inputs are bool; "" when bool is fine.
    bool_error: str = ""
    mixed_bool_error: str = ""
    # PyTorch's name of the kernel for numbers, which refuses bools; "" when a number is fine.
    scalar_kernel: str = ""
    # PyTorch's word for the op where, in place, a negative slope (its first attribute) has no gradient.
    slope_word: str = ""

    @property
    def differentiable(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.inputs if a.name in self.grad)

    @property
    def saved(self) -> tuple[str, ...]:
        """Inputs that the gradient formulas mention, in signature order, then `result` if they do."""
        words = self.gradient_names
        names = [a.name for a in self.inputs if a.name in words]
        return tuple(names + (["result"] if "result" in words else []))

    @property
    def gradient_names(self) -> set[str]:
        """What the gradient formulas read."""
        texts = (t for text in self.grad.values() for t in (text, *self.parts_of(text).values()))
        return {n for text in texts for n in expr.names(text)}

    def parts_of(self, formula: str) -> dict[str, str]:
        """The `let` parts that a formula needs, themselves or by way of others, in order."""
        words = set(expr.names(formula))
        for name in reversed(self.let):  # a part may use those before it
            if name in words:
                words |= set(expr.names(self.let[name]))
        return {name: value for name, value in self.let.items() if name in words}


@dataclass(frozen=True)
class Function:
    """A function: one C entry point, one C++ function of namespace dt."""

    name: str
    file: str  # the schema file that lists it: "pointwise"
    doc: str
    args: tuple[Argument, ...]  # those of every language
    results: tuple[Argument, ...]  # empty for functions that only act
    returns: str = ""  # what comes back, in words
    since: int = 1
    inplace: bool = False  # `-> self`: writes and returns its first argument
    method: str = ""  # the handle whose method it is; its first argument is the object
    method_name: str = ""  # the method's name without the prefix: "size" for tensor_size
    namespaces: tuple[str, ...] = ()  # PyTorch's: "torch", "functional", ...; () for methods only
    python: str = ""  # the name in wrappers that merge overloads: "max" for max_dim
    operator: str = ""  # Python's special method without underscores: "add"
    as_property: bool = False  # wrappers show it as an attribute
    plain_tuple: bool = False  # Python's several results have no names
    inplace_argument: bool = False  # Python's functional.NAME(..., inplace=True) is NAME_
    gives_back: bool = False  # it may return its first argument, or one of its list, itself
    takes_out: bool = False  # Python's functional.NAME has `out=`, which all of `torch` have
    same_sizes: bool = False  # Python warns where its two tensors are of two sizes
    public: bool = True  # False: kernel and core function only
    header: str = ""  # where core declares it, if not in its family's
    core: str = ""  # how the shim calls it, when not dt::NAME(args): "{input}.numel()"
    elementwise: Elementwise | None = None
    errors: tuple[str, ...] = ()
    layer: str = ""  # the layer that it constructs
    view: str = ""  # whether its results share the first argument's memory: always, sometimes
    blocks: str = ""  # what it waits for: a device's work, a file, a thread of the library
    runs: tuple[str, ...] = ()  # callbacks of earlier calls that it may run
    autocast: dict[str, str] = field(default_factory=dict)  # the policy of each type of device
    python_args: tuple[Argument, ...] = ()  # all in Python's order, if Python has more

    @property
    def c_name(self) -> str:
        return "dt_" + self.name

    @property
    def torch_name(self) -> str:
        """The name that users of Python, C++ and Lua see."""
        return self.python or self.name


@dataclass(frozen=True)
class Tensor:
    """A parameter or a buffer of a layer. Shapes, init and when are expressions (expr.py)."""

    name: str
    shape: tuple[str, ...]
    init: tuple[str, ...]  # expressions that run in order
    when: str = ""  # it exists only if this is true; "" = always
    dtype: str = ""  # "" = the layer's dtype
    buffer: bool = False


@dataclass(frozen=True)
class Check:
    """What must hold, and what is raised if it does not."""

    condition: str
    message: str
    error: str = "ValueError"


@dataclass(frozen=True)
class PythonConstructor:
    """A class method that makes the layer in another way."""

    name: str
    doc: str
    args: tuple[Argument, ...]
    checks: tuple[Check, ...]
    make: str  # the call of the class, an expression


@dataclass(frozen=True)
class PythonLayer:
    """What PyTorch's class has besides. Other languages leave it out."""

    args: tuple[Argument, ...] = ()  # all, in PyTorch's order
    inputs: tuple[Argument, ...] = ()  # of forward, all
    checks: tuple[Check, ...] = ()
    tuples: tuple[str, ...] = ()  # lists that are written out
    words: dict[str, list[str]] = field(default_factory=dict)  # what may stand for numbers
    renamed: dict[str, str] = field(default_factory=dict)  # older names of arguments
    set: dict[str, str] = field(default_factory=dict)  # what an argument becomes
    kept: dict[str, str] = field(default_factory=dict)  # the attribute that keeps an argument
    attributes: dict[str, str] = field(default_factory=dict)  # further ones
    older: tuple[str, ...] = ()  # arguments that whole modules in old files lack
    given: dict[str, str] = field(default_factory=dict)  # the argument that may hold a parameter
    frozen: str = ""  # the argument that says whether its parameters are not trained
    any_arguments: bool = False  # whether its constructor takes them and leaves them alone
    forward: str = ""  # in functions of torch.nn.functional
    called: dict[str, str] = field(default_factory=dict)  # what its forward calls an input
    warn_input: tuple[
        tuple[str, str], ...
    ] = ()  # (what should hold, the warning where it does not)
    constructors: tuple[PythonConstructor, ...] = ()


@dataclass(frozen=True)
class Layer:
    """A module of torch.nn: its constructor, state and forward."""

    name: str  # "Linear"
    snake: str  # "linear": the C constructor is dt_nn_linear
    doc: str
    args: tuple[Argument, ...]
    state: tuple[Tensor, ...]
    forward_args: tuple[Argument, ...]
    forward: str  # an expression in functional ops over arguments and state
    file: str = ""
    header: str = ""  # the core's header with the class, if that is written by hand, as Python's is
    outputs: tuple[str, ...] = ()  # what forward's results are called, if there are several
    forward_activated: str = ""  # the same with the activation that follows the layer
    activation: str = ""  # "relu": what the layer applies to each element, if a layer before it may
    # The function that is forward's with an addend and a relu behind it: it takes these last.
    forward_relu: str = ""
    relu_limit: str = ""  # "6": the layer is a relu with this largest result, or "inf"
    checks: tuple[Check, ...] = ()  # of the arguments
    input_checks: tuple[Check, ...] = ()  # of the inputs
    each_training_step: str = ""  # an expression that runs before forward in training
    let: dict[str, str] = field(default_factory=dict)  # numbers computed once, by name
    # "in_features={in_features}": what print shows, and on which condition.
    extra_repr: tuple[tuple[str, str], ...] = ()
    python: PythonLayer = PythonLayer()
    since: int = 1


@dataclass(frozen=True)
class Statement:
    """A line of a network's forward: names that become what an expression gives, or a check."""

    names: tuple[str, ...]  # () for a check, and for the last line, which is the result
    value: str  # an expression; the condition of a check; several with commas
    message: str = ""  # of a check


@dataclass(frozen=True)
class Network:
    """A module that is made of others: a class, or a function that gives what `make` says."""

    name: str  # "ResNet", or "shortcut"
    doc: str
    args: tuple[Argument, ...]
    make: str = ""  # of a function: an expression
    checks: tuple[Check, ...] = ()
    let: dict[str, str] = field(default_factory=dict)
    state: tuple[Tensor, ...] = ()
    children: dict[str, str] = field(default_factory=dict)  # expressions over layers and networks
    each: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by class, of all modules below
    init: tuple[str, ...] = ()  # what runs when all is made
    tie: tuple[tuple[str, str, str], ...] = ()  # on which condition which name is another one's
    forward_args: tuple[Argument, ...] = ()
    forward: tuple[Statement, ...] = ()
    step: str = ""  # an expression: the same for one token, where caches follow its place
    outputs: tuple[str, ...] = ()
    prefix: str = ""  # what names of published files may begin with
    ignored: tuple[str, ...] = ()  # ends of names of published files that mean nothing here
    generates: dict[str, str] = field(default_factory=dict)  # context, and the child of blocks

    @property
    def takes_caches(self) -> bool:
        return any(a.kind.name == "kv_cache" for a in self.forward_args)


@dataclass(frozen=True)
class Model:
    """A function of dumbtorch.models that makes a network."""

    name: str  # "resnet18": the constructor is dt_models_resnet18
    doc: str
    args: tuple[Argument, ...]
    make: str


# The backends that have kernels: a folder of kernels/ and a namespace each.
BACKENDS = ("cpu", "cuda")


@dataclass(frozen=True)
class Setting:
    """A number or a truth value that an optimizer goes by, one for each group of parameters."""

    name: str
    flag: bool
    default: object
    doc: str
    since: int = 1
    whole: bool = False  # Python shows an integer, as PyTorch does


@dataclass(frozen=True)
class State:
    """What an optimizer keeps for each parameter: a tensor like it, or one float32 number."""

    name: str
    number: str = ""  # what the number begins with; "" for a tensor
    fill: str = ""  # what the tensor is filled with; "" = 0
    when: str = ""  # it exists only if this is true of the settings; "" = always


@dataclass(frozen=True)
class Optimizer:
    """A class of torch.optim. `numbers` and `update` are Python (optimizers.py)."""

    name: str  # "Adam"
    doc: str
    settings: tuple[Setting, ...]
    python: tuple[tuple[str, tuple[str, ...]], ...]  # (argument, its settings), "*", choices
    checks: tuple[tuple[str, str], ...]  # (condition on the settings, message)
    states: tuple[State, ...]
    numbers: str
    update: str
    kind_of: str = ""  # the row whose step it takes
    fixed: dict[str, object] = field(default_factory=dict)  # settings of that row that it fixes
    keys: tuple[str, ...] = ()  # of Python's groups, where their order is not the arguments'
    since: int = 1

    @property
    def snake(self) -> str:
        """The constructor is dt_optim_SNAKE; the class names of torch.optim are one word."""
        return self.name.lower()

    @property
    def reads_first(self) -> bool:
        """Whether a parameter's first step differs."""
        return any(getattr(n, "id", "") == "first" for n in ast.walk(ast.parse(self.update)))


@dataclass(frozen=True)
class Schedule:
    """A class of torch.optim.lr_scheduler."""

    name: str  # "StepLR": the constructor is dt_optim_step_lr
    doc: str
    args: tuple[Argument, ...]  # settings: i64, f64 and i64[]
    checks: tuple[Check, ...]
    checks_python: bool  # Python's class makes them too
    first: str  # the rate of epoch 0
    lr: str  # the rate of `epoch`, from `lr`, that of the epoch before, and `initial_lr`
    closed: str  # the rate of `epoch`, from `initial_lr` alone
    resumes: bool  # made with last_epoch, it takes the step that comes then
    since: int = 1

    @property
    def snake(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()

    @property
    def core_args(self) -> tuple[Argument, ...]:
        """PyTorch's T_max is t_max outside of Python."""
        return tuple(replace(a, name=a.name.lower()) for a in self.args)


@dataclass(frozen=True)
class CallOperand:
    """An operand of a kernel call."""

    name: str
    optional: bool = False  # it may be absent
    listed: bool = False  # one for each tensor of a list, or for each index


@dataclass(frozen=True)
class CallNumber:
    """An attribute of a kernel call, of a fixed length or one for each entry of its lists."""

    name: str
    type: str  # float, int, bool, or an enum's name
    length: int = 0  # of an array; 0: it is a single number
    listed: bool = False


@dataclass(frozen=True)
class Call:
    """What a kernel takes: the operands and attributes of a `dt_call`, in order."""

    name: str  # "conv2d": the structs are calls::Conv2d and Conv2dCall
    file: str
    doc: str
    out: tuple[CallOperand, ...]
    inputs: tuple[CallOperand, ...]
    ints: tuple[CallNumber, ...]
    floats: tuple[CallNumber, ...]

    @property
    def operands(self) -> tuple[CallOperand, ...]:
        return self.out + self.inputs

    @property
    def numbers(self) -> tuple[CallNumber, ...]:
        return self.ints + self.floats

    @property
    def has_lists(self) -> bool:
        return any(o.listed for o in self.operands)


@dataclass(frozen=True)
class Kernel:
    """An irregular kernel."""

    name: str
    file: str
    doc: str
    call: Call
    workspace: tuple[str, ...]  # the backends whose kernel wants scratch memory
    narrow: tuple[str, ...]  # those whose kernel takes float16 and bfloat16 as they are
    updates: bool  # it keeps some of what is in its outputs, or reads it
    index_error: str  # what is said of an index out of range; "": it takes no indices
    index_raises: str = "index_error"  # the status that it is reported as


@dataclass(frozen=True)
class CFunction:
    """A hand-written function of capi/shim that is not of the uniform shape: errors, contexts, release.
    Wrappers use these in their hand-written runtime."""

    name: str  # without dt_
    returns: str  # a C type
    args: tuple[str, ...]  # C declarations
    doc: str
    since: int = 1

    @property
    def declaration(self) -> str:
        space = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{space}dt_{self.name}({', '.join(self.args) or 'void'})"


@dataclass(eq=False)  # equal is the same, so that what is computed of one can be cached
class Schema:
    enums: dict[str, Enum] = field(default_factory=dict)
    dtypes: dict[str, DType] = field(default_factory=dict)
    handles: dict[str, Handle] = field(default_factory=dict)
    options: dict[str, Options] = field(default_factory=dict)
    callbacks: dict[str, Callback] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    networks: dict[str, Network] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    layers: dict[str, Layer] = field(default_factory=dict)
    optimizers: dict[str, Optimizer] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    c_functions: dict[str, CFunction] = field(default_factory=dict)
    api_level: int = 1  # of the library that this schema describes

    @property
    def public(self) -> list[Function]:
        """The functions of the C API, in the order of the schema."""
        return [f for f in self.functions.values() if f.public]

    @property
    def elementwise(self) -> list[Function]:
        """Rows with formulas that own a kernel (an in-place twin shares its parent's)."""
        return [f for f in self.functions.values() if f.elementwise and not f.inplace]

    @property
    def pointwise_kernels(self) -> list[str]:
        """The elementwise kernels: a row with gradients has two."""
        names = []
        for f in self.elementwise:
            names += [f.name, f.name + "_backward"] if f.elementwise.grad else [f.name]
        return names

    def methods(self, handle: str) -> list[Function]:
        return [f for f in self.public if f.method == handle]
