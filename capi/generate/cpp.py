"""Prints wrappers/cpp/dumbtorch.hpp: classes that own handles, exceptions, overloads, operators.

A function is a method of its handle's class, a free function of the namespaces that the schema
names, or both; then the free function calls the method. What they need (Error, List, Operand, ...)
is in wrappers/cpp/dumbtorch_types.hpp, written by hand."""

from __future__ import annotations

from . import cabi, text
from . import cpp_kinds as kinds
from .model import Argument, Callback, Enum, Function, Options, Schema, SchemaError
from .text import GENERATED, call, camel, constant

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

#include "dumbtorch_types.hpp"

namespace dumbtorch {{
"""

_BOTTOM = """\
}  // namespace dumbtorch

#include "dumbtorch_extra.hpp"
"""

# Python's special methods as C++ operators; "" for those that C++ does not have. `i` in front of a
# name is the in-place operator.
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "neg": "-", "invert": "~",
    "abs": "", "pow": "", "floordiv": "", "matmul": "", "rsub": "", "call": "",
}  # fmt: skip
_INPLACE = {"add", "sub", "mul", "truediv", "mod", "and", "or", "xor", "lshift", "rshift"}

# A number on the left: the function that does it with the tensor first.
_REFLECTED = {
    "add": "add", "mul": "mul", "eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt",
    "ge": "le", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "sub": "rsub",
}  # fmt: skip


def generate(schema: Schema) -> dict[str, str]:
    functions = [Printer(schema, f) for f in schema.public]
    handles = [h for h in schema.handles if h != "tensor"]
    parts = [_TOP]
    parts += [_enum(e) for e in schema.enums.values()]
    parts += [_dtype_constants(schema)]
    parts += [f"class {camel(h)};" for h in handles]
    parts += [f"struct {p.struct};" for p in functions if p.struct]
    parts += ["", *(_callback_type(schema, c) for c in schema.callbacks.values())]
    parts += [_DEVICE, _tensor_class([p for p in functions if p.f.method == "tensor"])]
    for h in handles:
        parts.append(_handle_class(h, [p for p in functions if p.f.method == h]))
    parts += [_options(schema, o) for o in schema.options.values()]
    parts += [p.struct_text() for p in functions if p.struct]
    parts += [_trampolines(schema), _TYPES_END]
    parts += [p.method_body() for p in functions if p.f.method]
    parts += _namespaces(functions)
    parts += [_operators(schema)]
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
    lines += [f"  {constant(v.name)} = {v.number},  // {v.doc}" for v in e.values]
    lines.append("};")
    return "\n".join(lines) + "\n"


def _dtype_constants(schema: Schema) -> str:
    """kFloat32 and so on. They come after all enums, whose values they would shadow."""
    names = [constant(v.name) for v in schema.enums["dtype"].values]
    return "\n".join(f"inline constexpr DType {name} = DType::{name};" for name in names) + "\n"


def _callback_type(schema: Schema, c: Callback) -> str:
    args = [
        kinds.LENT_TYPES[a.kind.key].format(name=kinds.name_of(a.kind)) + f" {a.name}"
        for a in c.args
    ]
    result = kinds.RESULTS[c.results[0].kind.key] if c.results else "void"
    if len(c.results) > 1:
        raise SchemaError(f"dumbtorch.hpp: [callback.{c.name}]: several results")
    function = f"std::function<{result}({', '.join(args)})>"
    return f"{text.comment(c.doc)}\nusing {camel(c.name)} = {function};"


def _trampolines(schema: Schema) -> str:
    """The C functions that call a boxed std::function."""
    parts = [_LENDING]
    for c in schema.callbacks.values():
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
        parts.append("\n".join(lines))
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


def _options(schema: Schema, o: Options) -> str:
    lines = [text.comment(o.doc), f"struct {camel(o.name)}Options {{"]
    for a in o.fields:
        kind = kinds.FIELDS.get(a.kind.key) or kinds.PARAMETERS[a.kind.key]
        default = "" if a.kind.key in ("tensor?", "handle?") else f" = {kinds.literal(a)}"
        lines += [
            text.comment(a.doc, "  "),
            f"  {kind.format(name=kinds.name_of(a.kind))} {a.name}{default};",
        ]
    return "\n".join([*lines, "};\n"])


def _tensor_class(functions: list) -> str:
    return _TENSOR.replace("@", "\n".join(p.declaration() for p in functions))


def _handle_class(name: str, functions: list) -> str:
    base = f"detail::Shared<dt_{name}, dt_{name}_release>"
    lines = [f"class {camel(name)} : public {base} {{", " public:", "  using Shared::Shared;"]
    lines += [p.declaration() for p in functions]
    return "\n".join([*lines, "};\n"])


def _namespaces(functions: list):
    """The free functions, and the names that several namespaces share."""
    free = [p for p in functions if p.namespace is not None]
    for namespace in dict.fromkeys(p.namespace for p in free):
        if namespace:
            yield f"namespace {namespace} {{\n"
        yield from (p.free_function() for p in free if p.namespace == namespace)
        if namespace:
            yield f"}}  // namespace {namespace}\n"
    shared: dict[str, dict[str, None]] = {}
    for p in free:
        for other in p.f.namespaces[1:] if p.f.namespaces else ():
            target = f"{p.namespace}::{p.name}" if p.namespace else f"dumbtorch::{p.name}"
            shared.setdefault(kinds.namespace(other), {})[target] = None
    for other, names in shared.items():
        lines = [f"using {name};" for name in names]
        yield "\n".join([f"namespace {other} {{", *lines, "}\n"] if other else [*lines, ""])


def _operators(schema: Schema) -> str:
    lines = ["// Operators over the functions above."]
    for f in schema.public:
        key = f.operator
        if not key:
            continue
        base = key[1:] if f.inplace and key.startswith("i") else key
        if base not in _OPERATORS:
            raise SchemaError(f"dumbtorch.hpp: [fn.{f.name}]: operator '{key}' is not known")
        sign = _OPERATORS[base]
        if not sign:
            continue
        if f.inplace:
            if base in _INPLACE:
                lines.append(
                    f"inline Tensor& operator{sign}=(Tensor& a, const Operand& b) {{\n"
                    f"  a.{f.method_name}(b);\n  return a;\n}}"
                )
            continue
        if len([a for a in f.args if not a.has_default]) == 1:
            lines.append(
                f"inline Tensor operator{sign}(const Tensor& a) {{ return a.{f.method_name}(); }}"
            )
            continue
        lines.append(
            f"inline Tensor operator{sign}(const Tensor& a, const Operand& b) "
            f"{{ return a.{f.method_name}(b); }}"
        )
        if base in ("eq", "ne"):
            # C++20 also tries a == b as b == a; with equal types on both sides there is no doubt.
            lines.append(
                f"inline Tensor operator{sign}(const Tensor& a, const Tensor& b) "
                f"{{ return a.{f.method_name}(b); }}"
            )
        if base in _REFLECTED:
            lines.append(
                f"inline Tensor operator{sign}(const Scalar& a, const Tensor& b) "
                f"{{ return b.{_REFLECTED[base]}(a); }}"
            )
        if base == "truediv":
            lines.append(
                "inline Tensor operator/(const Scalar& a, const Tensor& b) "
                "{ return b.reciprocal().mul(a); }"
            )
    return "\n".join(lines) + "\n"


class Printer:
    """Prints one function, as a method, a free function, or both."""

    def __init__(self, schema: Schema, f: Function):
        self.schema, self.f = schema, f
        self.name = f.python or (f.method_name if f.method else f.name)
        first = f.namespaces[0] if f.namespaces else ("" if not f.method else None)
        self.namespace = kinds.namespace(first)
        self.struct = f"{camel(f.name)}Result" if len(f.results) > 1 else ""
        for name in [self.name] + [a.name for a in f.args]:
            taken = name in ("handle", "defined", "release") or (name == "out" and f.results)
            if name in kinds.KEYWORDS or taken:
                raise SchemaError(f"dumbtorch.hpp: [fn.{f.name}]: '{name}' cannot be a name in C++")

    def return_type(self) -> str:
        if self.f.inplace:
            return "const Tensor&"
        if not self.f.results:
            return "void"
        result = self.struct or self.result_type(self.f.results[0])
        # utils::data::DataLoader() makes a dumbtorch::DataLoader.
        return f"dumbtorch::{result}" if result == self.name else result

    @staticmethod
    def result_type(r: Argument) -> str:
        return kinds.RESULTS[r.kind.key].format(name=kinds.name_of(r.kind))

    def struct_text(self) -> str:
        members = [f"  {self.result_type(r)} {r.name};" for r in self.f.results]
        return "\n".join([f"struct {self.struct} {{", *members, "};\n"])

    def parameters(self, defaults: bool, method: bool) -> list[str]:
        args = self.f.args[1:] if method else self.f.args
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
        comment = text.comment(f"{self.f.doc} {self.f.returns}".strip(), "  ")
        lines = [comment, call(head, self.parameters(True, True), ") const;")]
        if self.f.operator == "call":
            head = call(
                f"  {self.return_type()} operator()(", self.parameters(True, True), ") const {"
            )
            passed = ", ".join(a.name for a in self.f.args[1:])
            lines += [head, f"    return {self.name}({passed});", "  }"]
        return "\n".join(lines)

    def method_body(self) -> str:
        owner = camel(self.f.method)
        head = call(
            f"inline {self.return_type()} {owner}::{self.name}(",
            self.parameters(False, True),
            ") const {",
        )
        return "\n".join([head, *(f"  {line}" for line in self.body("*this")), "}\n"])

    def free_function(self) -> str:
        head = call(
            f"inline {self.return_type()} {self.name}(", self.parameters(True, False), ") {"
        )
        if self.f.method:
            this, *rest = [a.name for a in self.f.args]
            if self.f.args[0].kind.base == "operand":
                body = self.body(this)
            else:
                arguments = ", ".join(rest)
                body = [f"return {this}.{self.name}({arguments});"]
            comment = ""
        else:
            body = self.body(self.f.args[0].name if self.f.args else "")
            comment = text.comment(f"{self.f.doc} {self.f.returns}".strip()) + "\n"
        return comment + "\n".join([head, *(f"  {line}" for line in body), "}\n"])

    def body(self, this: str) -> list[str]:
        """The call of the C API. `this` is the expression for the first argument."""
        f, lines, arguments = self.f, [], []
        for i, a in enumerate(f.args):
            value = this if i == 0 and this == "*this" else a.name
            prepare, passed = self.argument(a, value)
            lines += prepare
            arguments += passed
        if f.results and f.results[0].kind.key in ("i64[]", "f64[]"):
            return [*lines, *self.numbers(arguments)]
        for r in f.results:
            for kind, name in cabi.result(r):
                if not kind.endswith("*"):
                    raise SchemaError(f"dumbtorch.hpp: [fn.{f.name}]: result '{name}'")
                plain = kind.removesuffix("*").rstrip()
                empty = "nullptr" if plain.endswith("*") else "0"
                lines.append(f"{plain.replace(' *', '*')} {name} = {empty};")
                arguments.append(f"&{name}")
        lines.append(call(f"detail::check({f.c_name}(", arguments, "));"))
        if f.inplace:
            lines.append(f"return {this};")
        elif f.results:
            values = [
                kinds.TAKE[r.kind.key].replace("@", r.name).format(name=kinds.name_of(r.kind))
                for r in f.results
            ]
            value = f"{{{', '.join(values)}}}" if self.struct else values[0]
            lines.append(f"return {value};")
        return lines

    def numbers(self, arguments: list[str]) -> list[str]:
        if len(self.f.results) > 1:
            raise SchemaError(f"dumbtorch.hpp: [fn.{self.f.name}]: a list among several results")
        arguments = [*arguments, "values", "capacity", "n"]
        number = "int64_t" if self.f.results[0].kind.base == "i64" else "double"
        head = f"[&]({number}* values, int64_t capacity, int64_t* n) {{"
        return [
            f"return detail::numbers<{number}>({head}",
            f"  return {self.f.c_name}({', '.join(arguments)});",
            "});",
        ]

    def argument(self, a: Argument, value: str) -> tuple[list[str], list[str]]:
        """(statements before the call, arguments of the C call)"""
        kind = a.kind
        if value == "*this":
            # A method of an operand's function is only called on tensors.
            return [], ["handle()"] + (["0", "0", "0"] if kind.base == "operand" else [])
        if kind.base == "options":
            return self.options(a), [f"&{a.name}_c"]
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

    def options(self, a: Argument) -> list[str]:
        """Fills the C struct from the C++ one."""
        c, o = f"{a.name}_c", self.schema.options[a.kind.name]
        lines = [f"{cabi.type_name(a.kind)} {c} = DT_{a.kind.name.upper()}_OPTIONS_INIT;"]
        for field in o.fields:
            value = f"{a.name}.{field.name}"
            if field.kind.list:
                kind = "Ints" if field.kind.base == "i64" else "Reals"
                repeat = f".repeated({field.kind.count})" if field.kind.count > 1 else ""
                all_of = f"{kind}({value}){repeat}"
                if field.kind.optional:
                    all_of = f"{value} ? {kind}(*{value}){repeat} : {kind}(std::nullopt)"
                lines.append(f"const auto {field.name}_all = {all_of};")
                passed = [f"{field.name}_all.data()", f"{field.name}_all.size()"]
            elif field.kind.key in ("i64?", "f64?"):
                passed = [f"detail::pointer({value})"]
            else:
                passed = self.plain(field, value)[1]
            members = [name for _, name in cabi.field(field)]
            lines += [f"{c}.{m} = {v};" for m, v in zip(members, passed, strict=True)]
        return lines
