"""Prints wrappers/cpp/dumbtorch.hpp: classes that own handles, exceptions, overloads, operators.

A function is a method of its handle's class, a free function of the namespaces that the schema
names, or both; then the free function calls the method. What they need (Error, List, Operand, ...)
is in wrappers/cpp/dumbtorch_types.hpp, written by hand."""

from __future__ import annotations

from . import cabi, text
from . import cpp_kinds as kinds
from .model import Argument, Callback, Enum, Handle, Options, SchemaError
from .plan import REFLECTED, Call, Class, Input, Plan, Result, Slot, reflect
from .text import GENERATED, call, camel, constant, gated

_TOP = f"""\
// {GENERATED}
//
// dumbtorch for C++17: one header over the C API.
//
//   namespace dt = dumbtorch;
//   dt::Tensor x = dt::randn({{2, 3}});
//   dt::Tensor y = (dt::relu(x) * 2).sum(1, true);
//   std::cout << y << "\\n";
//
// A Tensor owns a handle; copies are the same tensor. A failing call throws dumbtorch::Error. An
// argument that may be left out takes std::nullopt (a tensor: {{}}).
#pragma once

#include <limits>
#include <type_traits>

#include "dumbtorch_types.hpp"

namespace dumbtorch {{
"""

_BOTTOM = """\
}  // namespace dumbtorch

#include "dumbtorch_extra.hpp"
"""

# Python's special methods as C++ operators; "" for those that C++ does not have. `i` in front of a
# name is the in-place operator.
OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "neg": "-", "invert": "~",
    "abs": "", "pow": "", "floordiv": "", "matmul": "", "rsub": "", "call": "",
}  # fmt: skip
_INPLACE = {"add", "sub", "mul", "truediv", "mod", "and", "or", "xor", "lshift", "rshift"}


def generate(plan: Plan) -> dict[str, str]:
    printers = [Printer(c) for c in plan.calls]
    callbacks = [h.callback for h in plan.hooks]
    # What the others take and give back comes first.
    classes = sorted(plan.classes, key=lambda c: c.name != "tensor")
    parts = [_TOP]
    parts += [_enum(e) for e in plan.enums]
    parts += _dtypes(next(e for e in plan.enums if e.name == "dtype"), plan)
    parts += [gated(f"class {camel(c.name)};", c.handle.since) for c in classes[1:]]
    parts += [gated(f"struct {p.struct};", p.c.since) for p in printers if p.struct]
    parts += ["", *(gated(_callback_type(c), c.since) for c in callbacks), _DEVICE]
    parts += [_class(c, [p for p in printers if p.method_of == c.name]) for c in classes]
    parts += [gated(_options(s.options), s.options.since) for s in plan.structs]
    parts += [gated(p.struct_text(), p.c.since) for p in printers if p.struct]
    parts += [_trampolines(callbacks), _TYPES_END]
    parts += [gated(p.method_body(), p.c.since) for p in printers if p.method_of]
    parts += _namespaces(printers)
    parts += [_operators(plan)]
    return {"wrappers/cpp/dumbtorch.hpp": "\n".join([*parts, _BOTTOM])}


_DEVICE = """
// A device: DeviceType::kCpu, or with an index.
struct Device {
  DeviceType type;
  int64_t index;
  Device(DeviceType device_type = DeviceType::kCpu, int64_t device_index = 0)
      : type(device_type), index(device_index) {}
  bool operator==(const Device& other) const { return type == other.type && index == other.index; }
};
"""

_TENSOR = """
// A tensor. Copies are the same tensor; clone() copies what is in it.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(dt_tensor* handle) : handle_(handle) {}
  Tensor(const Tensor& other) {
    if (other.handle_) detail::check(dt_tensor_alias(other.handle_, &handle_));
  }
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() { dt_tensor_release(handle_); }

  bool defined() const { return handle_ != nullptr; }
  // The handle, which stays this object's; release() gives it to the caller.
  dt_tensor* handle() const { return handle_; }
  dt_tensor* release() { return std::exchange(handle_, nullptr); }

@
 private:
  dt_tensor* handle_ = nullptr;
};
"""

_TYPES_END = """\
inline Operand::Operand(const Tensor& tensor) : tensor_(tensor.handle()) {}
inline TensorRef::TensorRef(const Tensor& tensor) : tensor_(tensor.handle()) {}
inline TensorRefs::TensorRefs(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) handles_.push_back(tensor.handle());
}

inline std::vector<Tensor> detail::take_tensors(dt_tensor_list* list) {
  const std::unique_ptr<dt_tensor_list, void (*)(dt_tensor_list*)> owner(list,
                                                                        dt_tensor_list_release);
  int64_t n = 0;
  check(dt_tensor_list_len(list, &n));
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < n; ++i) {
    dt_tensor* tensor = nullptr;
    check(dt_tensor_list_get(list, i, &tensor));
    tensors.emplace_back(tensor);
  }
  return tensors;
}
"""


def _enum(e: Enum) -> str:
    lines = [text.comment(e.doc), f"enum class {kinds.class_name(e.name)} : int32_t {{"]
    if e.zero:
        lines.append(f"  {constant(e.zero)} = 0,")
    lines += [
        _later(f"  {constant(v.name)} = {v.number},  // {v.doc}", v.since, e.since)
        for v in e.values
    ]
    lines.append("};")
    return gated("\n".join(lines) + "\n", e.since)


def _later(line: str, since: int, of: int) -> str:
    """A line about a part that came after the whole."""
    return gated(line, since).rstrip() if since > of else line


def _dtypes(e: Enum, plan: Plan) -> list[str]:
    """kFloat32 and so on, which come after all enums, whose values they would shadow; and the dtypes of numbers."""
    constants, types = [], []
    for v in e.values:
        name, t = constant(v.name), plan.schema.dtypes[v.name]
        line = f"inline constexpr DType {name} = DType::{name};"
        constants.append(_later(line, v.since, e.since))
        if t.is_of_cpp:
            base = f"std::integral_constant<DType, DType::{name}>"
            line = f"template <>\nstruct DTypeOf<{t.c}> : {base} {{}};"
            types.append(_later(line, v.since, e.since))
    return [
        *constants,
        "\nnamespace detail {\n",
        "// The dtype of a type of numbers.",
        "template <class T>\nstruct DTypeOf;",
        *types,
        "\n}  // namespace detail\n",
    ]


def _callback_type(c: Callback) -> str:
    args = [
        kinds.LENT_TYPES[a.kind.key].format(name=kinds.name_of(a.kind)) + f" {a.name}"
        for a in c.args
    ]
    result = kinds.RESULTS[c.results[0].kind.key] if c.results else "void"
    if len(c.results) > 1:
        raise SchemaError(f"dumbtorch.hpp: [callback.{c.name}]: several results")
    function = f"std::function<{result}({', '.join(args)})>"
    return f"{text.comment(c.doc)}\nusing {camel(c.name)} = {function};"


def _trampolines(callbacks: list[Callback]) -> str:
    """The C functions that call a boxed std::function."""
    parts = [_LENDING]
    for c in callbacks:
        box = camel(c.name)
        head = call(f"inline dt_status call_{c.name}(", cabi.callback_parameters(c), ") {")
        values = [
            kinds.LENT[a.kind.key].replace("@", a.name).format(name=kinds.name_of(a.kind))
            for a in c.args
        ]
        run = f"(*static_cast<{box}*>(user_data))({', '.join(values)})"
        if c.results:
            r = c.results[0]
            body = [f"auto r = {run};", f"*{r.name} = {kinds.GIVEN[r.kind.key]};"]
        else:
            body = [f"{run};"]
        lines = [head, "  return guarded([&] {", *(f"    {line}" for line in body), "  });", "}\n"]
        parts.append(gated("\n".join(lines), c.since))
    return "\n".join([*parts, "}  // namespace detail\n"])


_LENDING = """
namespace detail {

inline Tensor alias(dt_tensor* lent) {
  dt_tensor* own = nullptr;
  if (lent) check(dt_tensor_alias(lent, &own));
  return Tensor(own);
}

inline std::vector<Tensor> aliases(dt_tensor* const* lent, int64_t n) {
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < n; ++i) tensors.push_back(alias(lent[i]));
  return tensors;
}

inline dt_tensor* give(Tensor& tensor) { return tensor.release(); }

inline dt_tensor_list* give(const std::vector<Tensor>& tensors) {
  const TensorRefs refs(tensors);
  dt_tensor_list* list = nullptr;
  check(dt_tensor_list_new(refs.data(), refs.size(), &list));
  return list;
}
"""


def _options(o: Options) -> str:
    lines = [text.comment(o.doc), f"struct {camel(o.name)}Options {{"]
    for a in o.fields:
        kind = kinds.FIELDS.get(a.kind.key) or kinds.PARAMETERS[a.kind.key]
        default = "" if a.kind.key in ("tensor?", "handle?") else f" = {kinds.literal(a)}"
        line = f"  {kind.format(name=kinds.name_of(a.kind))} {a.name}{default};"
        lines.append(_later(text.comment(a.doc, "  ") + "\n" + line, a.since, o.since))
    return "\n".join([*lines, "};\n"])


def _class(c: Class, methods: list[Printer]) -> str:
    h: Handle = c.handle
    inside = [_later(p.declaration(), p.c.since, h.since) for p in methods]
    if h.name == "tensor":
        return _TENSOR.replace("@", "\n".join(inside))
    base = f"detail::Shared<dt_{h.name}, dt_{h.name}_release>"
    lines = [f"class {camel(h.name)} : public {base} {{", " public:", "  using Shared::Shared;"]
    return gated("\n".join([*lines, *inside, "};\n"]), h.since)


def _namespaces(functions: list[Printer]):
    """The free functions, and the names that several namespaces share."""
    free = [p for p in functions if p.namespace is not None]
    for namespace in dict.fromkeys(p.namespace for p in free):
        if namespace:
            yield f"namespace {namespace} {{\n"
        here = [p for p in free if p.namespace == namespace]
        yield from (gated(p.free_function(), p.c.since) for p in here)
        if namespace:
            yield from (gated(line, p.c.since) for p in here for line in p.options_names())
            yield f"}}  // namespace {namespace}\n"
    shared: dict[str, dict[str, int]] = {}
    for p in free:
        for other in p.c.namespaces[1:]:
            target = f"{p.namespace}::{p.name}" if p.namespace else f"dumbtorch::{p.name}"
            shared.setdefault(kinds.namespace(other), {}).setdefault(target, p.c.since)
    for other, names in shared.items():
        lines = [_later(f"using {name};", since, 1) for name, since in names.items()]
        yield "\n".join([f"namespace {other} {{", *lines, "}\n"] if other else [*lines, ""])


def _operators(plan: Plan) -> str:
    lines = ["// Operators over the functions above."]
    for c in plan.calls:
        overloads = _overloads(c) if c.function.operator else []
        lines += [gated("\n".join(overloads), c.since).rstrip()] if overloads else []
    return "\n".join(lines) + "\n"


def _overloads(c: Call) -> list[str]:
    """The operators that a function is."""
    key = c.function.operator
    base = key[1:] if c.returns_this and key.startswith("i") else key
    if base not in OPERATORS:
        raise SchemaError(f"dumbtorch.hpp: {c.c_name}: operator '{key}' is not known")
    sign = OPERATORS[base]
    if not sign or (c.returns_this and base not in _INPLACE):
        return []
    if c.returns_this:
        head = f"inline Tensor& operator{sign}=(Tensor& a, const Operand& b) {{"
        return [f"{head}\n  a.{c.member}(b);\n  return a;\n}}"]
    if len(c.required) == 1:
        return [f"inline Tensor operator{sign}(const Tensor& a) {{ return a.{c.member}(); }}"]

    def binary(a: str, b: str, result: str) -> str:
        head = f"inline Tensor operator{sign}(const {a}& a, const {b}& b)"
        line = f"{head} {{ return {result}; }}"
        return line if len(line) <= 100 else f"{head} {{\n  return {result};\n}}"

    out = [binary("Tensor", "Operand", f"a.{c.member}(b)")]
    if base in ("eq", "ne"):
        # C++20 also tries a == b as b == a; with equal types on both sides there is no doubt.
        out.append(binary("Tensor", "Tensor", f"a.{c.member}(b)"))
    if base in REFLECTED:
        out.append(binary("Scalar", "Tensor", reflect(REFLECTED[base], "b", "a")))
    return out


def _indent(lines: list[str]) -> list[str]:
    return [line if line.startswith("#") else f"  {line}" for line in lines]


class Printer:
    """Prints one function, as a method, a free function, or both."""

    def __init__(self, c: Call):
        f = c.function
        self.c, self.method_of = c, f.method
        self.name = f.python or (c.member or f.name)
        self.namespace = kinds.namespace(c.namespaces[0]) if c.namespaces else None
        self.struct = f"{camel(f.name)}Result" if len(c.results) > 1 else ""
        for name in [self.name] + [i.argument.name for i in c.inputs]:
            taken = name in ("handle", "defined", "release") or (name == "out" and c.results)
            if name in kinds.KEYWORDS or taken:
                raise SchemaError(f"dumbtorch.hpp: {c.c_name}: '{name}' cannot be a name in C++")

    def return_type(self) -> str:
        if self.c.returns_this:
            return "const Tensor&"
        if not self.c.results:
            return "void"
        result = self.struct or self.result_type(self.c.results[0])
        # utils::data::DataLoader() makes a dumbtorch::DataLoader.
        return f"dumbtorch::{result}" if result == self.name else result

    @staticmethod
    def result_type(r: Result) -> str:
        return kinds.RESULTS[r.kind.key].format(name=kinds.name_of(r.kind))

    def struct_text(self) -> str:
        members = [f"  {self.result_type(r)} {r.name};" for r in self.c.results]
        return "\n".join([f"struct {self.struct} {{", *members, "};\n"])

    def parameters(self, defaults: bool, method: bool) -> list[str]:
        args = [i.argument for i in self.c.inputs[1 if method else 0 :]]
        out = []
        for i, a in enumerate(args):
            parameter = f"{kinds.parameter(a.kind)} {a.name}"
            optional = all(b.has_default or b.kind.base == "options" for b in args[i:])
            if defaults and optional:
                # Inside of a class, other classes may not be complete yet.
                whole = a.kind.base in ("tensor", "handle") and not a.kind.list and method
                none = f"detail::none<{kinds.object_name(a.kind)}>()"
                parameter += f" = {none if whole else kinds.literal(a)}"
            out.append(parameter)
        return out

    def declaration(self) -> str:
        head = f"  {self.return_type()} {self.name}("
        comment = text.comment(self.c.about, "  ")
        lines = [comment, call(head, self.parameters(True, True), ") const;")]
        if self.c.function.operator == "call":
            head = call(
                f"  {self.return_type()} operator()(", self.parameters(True, True), ") const {"
            )
            passed = ", ".join(i.argument.name for i in self.c.inputs[1:])
            lines += [head, f"    return {self.name}({passed});", "  }"]
        return "\n".join([*lines, *self.by_dtype()])

    def by_dtype(self) -> list[str]:
        """x.to(kFloat32): an overload for calls that name no device in front of the dtype."""
        kinds_of = [i.argument.kind for i in self.c.inputs[1:3]]
        if [k.key for k in kinds_of] != ["device?", "enum?"] or kinds_of[1].name != "dtype":
            return []
        parameters = ["DType dtype", *self.parameters(True, True)[2:]]
        passed = ", ".join(["std::nullopt", *(i.argument.name for i in self.c.inputs[2:])])
        head = call(f"  {self.return_type()} {self.name}(", parameters, ") const {")
        give = "return " if self.c.results else ""
        return ["  // With a dtype alone.", head, f"    {give}{self.name}({passed});", "  }"]

    def options_names(self) -> list[str]:
        """PyTorch's name of a constructor's options: optim::AdamWOptions, nn::Conv2dOptions."""
        if not self.name[0].isupper():
            return []
        structs = [camel(i.argument.kind.name) for i in self.c.inputs if i.is_struct]
        return [f"using {self.name}Options = dumbtorch::{s}Options;" for s in structs]

    def method_body(self) -> str:
        owner = camel(self.method_of)
        head = call(
            f"inline {self.return_type()} {owner}::{self.name}(",
            self.parameters(False, True),
            ") const {",
        )
        return "\n".join([head, *_indent(self.body("*this")), "}\n"])

    def free_function(self) -> str:
        head = call(
            f"inline {self.return_type()} {self.name}(", self.parameters(True, False), ") {"
        )
        if self.method_of:
            this, *rest = [i.argument.name for i in self.c.inputs]
            if self.c.slots[0].kind.base == "operand":
                body = self.body(this)
            else:
                arguments = ", ".join(rest)
                body = [f"return {this}.{self.name}({arguments});"]
            comment = ""
        else:
            body = self.body(self.c.inputs[0].argument.name if self.c.inputs else "")
            comment = text.comment(self.c.about) + "\n"
        return comment + "\n".join([head, *_indent(body), "}\n"])

    def body(self, this: str) -> list[str]:
        """The call of the C API. `this` is the expression for the first argument."""
        c, lines, arguments = self.c, [], []
        for position, i in enumerate(c.inputs):
            value = this if position == 0 and this == "*this" else i.argument.name
            prepare, passed = self.argument(i, value)
            lines += prepare
            arguments += passed
        if c.results and c.results[0].form == "numbers":
            return [*lines, *self.numbers(arguments)]
        for r in c.results:
            for kind, name in r.parameters:
                if not kind.endswith("*"):
                    raise SchemaError(f"dumbtorch.hpp: {c.c_name}: result '{name}'")
                plain = kind.removesuffix("*").rstrip()
                empty = "nullptr" if plain.endswith("*") else "0"
                lines.append(f"{plain.replace(' *', '*')} {name} = {empty};")
                arguments.append(f"&{name}")
        lines.append(call(f"detail::check({c.c_name}(", arguments, "));"))
        if c.returns_this:
            lines.append(f"return {this};")
        elif c.results:
            values = [
                kinds.TAKE[r.kind.key].replace("@", r.name).format(name=kinds.name_of(r.kind))
                for r in c.results
            ]
            value = f"{{{', '.join(values)}}}" if self.struct else values[0]
            lines.append(f"return {value};")
        return lines

    def numbers(self, arguments: list[str]) -> list[str]:
        if len(self.c.results) > 1:
            raise SchemaError(f"dumbtorch.hpp: {self.c.c_name}: a list among several results")
        arguments = [*arguments, "values", "capacity", "n"]
        number = "int64_t" if self.c.results[0].kind.base == "i64" else "double"
        head = f"[&]({number}* values, int64_t capacity, int64_t* n) {{"
        return [
            f"return detail::numbers<{number}>({head}",
            f"  return {self.c.c_name}({', '.join(arguments)});",
            "});",
        ]

    def argument(self, i: Input, value: str) -> tuple[list[str], list[str]]:
        """(statements before the call, arguments of the C call)"""
        a, kind = i.argument, i.argument.kind
        if value == "*this":
            # A method of an operand's function is only called on tensors.
            return [], ["handle()"] + (["0", "0", "0"] if kind.base == "operand" else [])
        if i.is_struct:
            return self.options(i), [f"&{a.name}_c"]
        if kind.base == "operand":
            number = f"{value}.number()"
            return [], [f"{value}.tensor()", f"{number}.kind()", f"{number}.i()", f"{number}.f()"]
        if kind.base == "callback":
            box = camel(kind.name)
            line = f"const bool {a.name}_given = static_cast<bool>({value});"
            passed = [
                f"{a.name}_given ? detail::call_{kind.name} : nullptr",
                f"detail::box(std::move({value}))",
                f"detail::drop<{box}>",
            ]
            return [line], passed
        return self.plain(a, value)

    def plain(self, a: Argument, value: str) -> tuple[list[str], list[str]]:
        kind, lines = a.kind, []
        if kind.list:
            if kind.count > 1:
                lines.append(f"const Ints {a.name}_all = Ints({value}).repeated({kind.count});")
                value = f"{a.name}_all"
            return lines, [f"{value}.data()", f"{value}.size()"]
        if kind.key == "enum":
            return lines, [f"static_cast<{cabi.type_name(kind)}>({value})"]
        if kind.key == "device":
            return lines, [f"static_cast<dt_device_type>({value}.type)", f"{value}.index"]
        if kind.key == "device?":
            given = f"{value} ? static_cast<dt_device_type>({value}->type) : 0"
            return lines, [given, f"{value} ? {value}->index : 0"]
        return lines, [part.replace("@", value) for part in kinds.PASS[kind.key]]

    def options(self, i: Input) -> list[str]:
        """Fills the C struct from the C++ one."""
        name, struct = i.argument.name, i.c_type
        lines = [f"{struct} {name}_c = {struct.upper()}_INIT;"]
        for slot in i.slots:
            prepare, passed = self.field(slot, f"{name}.{slot.name}")
            pairs = zip(slot.parameters, passed, strict=True)
            text = [*prepare, *(f"{name}_c.{m.name} = {v};" for m, v in pairs)]
            lines.append(_later("\n".join(text), slot.argument.since, self.c.since))
        return [part for line in lines for part in line.split("\n")]

    def field(self, slot: Slot, value: str) -> tuple[list[str], list[str]]:
        """What a field becomes lives until the call is over."""
        n, kind = slot.name, slot.kind
        if slot.pointed:
            c = slot.parameters[0].type.removesuffix(" *")
            return [f"{c} {n}_value = {value};"], [f"&{n}_value"]
        if kind.key in ("i64?", "f64?"):
            return [], [f"detail::pointer({value})"]
        if not kind.list:
            return self.plain(slot.argument, value)
        of = "Ints" if kind.base == "i64" else "Reals"
        repeat = f".repeated({kind.count})" if kind.count > 1 else ""
        all_of = f"{of}({value}){repeat}"
        if kind.optional:
            all_of = f"{value} ? {of}(*{value}){repeat} : {of}(std::nullopt)"
        return [f"const auto {n}_all = {all_of};"], [f"{n}_all.data()", f"{n}_all.size()"]
