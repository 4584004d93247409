"""How the kinds of the schema look in dumbtorch.hpp."""

from __future__ import annotations

import math

from . import cabi
from .model import Argument, Kind
from .text import camel, constant

PARAMETERS = {
    "tensor": "const Tensor&",
    "tensor?": "const Tensor&",
    "tensor[]": "const TensorRefs&",
    "tensor[]?": "const TensorRefs&",
    "tensor?[]": "const TensorRefs&",
    "operand": "const Operand&",
    "operand?": "const Operand&",
    "scalar": "const Scalar&",
    "scalar?": "const Scalar&",
    "i64": "int64_t",
    "i64?": "std::optional<int64_t>",
    "i64[]": "const Ints&",
    "i64[]?": "const Ints&",
    "f64": "double",
    "f64?": "std::optional<double>",
    "f64[]": "const Reals&",
    "f64[]?": "const Reals&",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "bool[]": "const Flags&",
    "str": "const std::string&",
    "str?": "const std::optional<std::string>&",
    "str[]": "const Strings&",
    "str[]?": "const Strings&",
    "path": "const std::string&",
    "bytes": "std::string_view",
    "enum": "{name}",
    "enum?": "std::optional<{name}>",
    "device": "Device",
    "device?": "std::optional<Device>",
    "handle": "const {name}&",
    "handle?": "const {name}&",
    "options": "const {name}Options&",
    "callback": "{name}",
    "callback?": "{name}",
}

# How an argument `@` becomes the C API's arguments.
PASS = {
    "tensor": ("@.handle()",),
    "tensor?": ("@.handle()",),
    "handle": ("@.handle()",),
    "handle?": ("@.handle()",),
    "scalar": ("@.kind()", "@.i()", "@.f()"),
    "scalar?": ("@.kind()", "@.i()", "@.f()"),
    "i64": ("@",),
    "i64?": ("detail::pointer(@)",),
    "f64": ("@",),
    "f64?": ("detail::pointer(@)",),
    "bool": ("@",),
    "bool?": ("detail::Flag(@).get()",),
    "str": ("detail::text(@)",),
    "str?": ("detail::text(@)",),
    "path": ("detail::text(@)",),
    "bytes": ("@.data()", "static_cast<int64_t>(@.size())"),
    "enum?": ("detail::number(@)",),
    "options": ("&@_c",),
}

FIELDS = {
    "i64[]": "std::vector<int64_t>",
    "i64[]?": "std::optional<std::vector<int64_t>>",
    "f64[]": "std::vector<double>",
    "f64[]?": "std::optional<std::vector<double>>",
    "str": "std::string",
    "str?": "std::optional<std::string>",
    "tensor?": "Tensor",
    "handle?": "{name}",
    "scalar?": "Scalar",
}

RESULTS = {
    "tensor": "Tensor",
    "tensor?": "Tensor",
    "tensor[]": "std::vector<Tensor>",
    "handle": "{name}",
    "handle?": "{name}",
    "i64": "int64_t",
    "f64": "double",
    "bool": "bool",
    "enum": "{name}",
    "device": "Device",
    "scalar": "Scalar",
    "i64[]": "std::vector<int64_t>",
    "f64[]": "std::vector<double>",
    "str": "std::string",
    "str[]": "std::vector<std::string>",
    "bytes": "std::string",
    "pointer": "void*",
}

# How the C API's out-values become a result.
TAKE = {
    "tensor": "Tensor(@)",
    "tensor?": "Tensor(@)",
    "tensor[]": "detail::take_tensors(@)",
    "handle": "dumbtorch::{name}(@)",
    "handle?": "dumbtorch::{name}(@)",
    "i64": "@",
    "f64": "@",
    "bool": "@ != 0",
    "enum": "static_cast<{name}>(@)",
    "device": "Device(static_cast<DeviceType>(@_type), @_index)",
    "scalar": "Scalar(@_kind, @_i, @_f)",
    "str": "detail::take_string(@)",
    "str[]": "detail::take_strings(@)",
    "bytes": "detail::take_string(@)",
    "pointer": "@",
}

# A callback's arguments: C values `@` as the C++ ones that the user's function sees. Tensors that
# the library lends are aliased, so that the function may keep them.
LENT = {
    "tensor": "detail::alias(@)",
    "tensor?": "detail::alias(@)",
    "tensor[]": "detail::aliases(@, @_n)",
    "tensor?[]": "detail::aliases(@, @_n)",
    "i64": "@",
    "f64": "@",
    "bool": "@ != 0",
    "str": "std::string(@)",
    "enum": "static_cast<{name}>(@)",
}

LENT_TYPES = {
    "tensor": "const Tensor&",
    "tensor?": "const Tensor&",
    "tensor[]": "const std::vector<Tensor>&",
    "tensor?[]": "const std::vector<Tensor>&",
    "i64": "int64_t",
    "f64": "double",
    "bool": "bool",
    "str": "const std::string&",
    "enum": "{name}",
}

# A callback's result `r` as the C API wants it.
GIVEN = {
    "tensor": "detail::give(r)",
    "tensor?": "detail::give(r)",
    "tensor[]": "detail::give(r)",
    "i64": "r",
    "f64": "r",
    "bool": "r",
}

KEYWORDS = set(
    "alignas alignof and asm auto bool break case catch char class const continue default delete "
    "do double else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not nullptr operator or private protected public "
    "register return short signed sizeof static struct switch template this throw true try typedef "
    "union unsigned using virtual void volatile while xor".split()
)


def class_name(name: str) -> str:
    """The C++ name of an enum, a handle, ...: Generator, DeviceType; PyTorch spells it DType."""
    return "DType" if name == "dtype" else camel(name)


def name_of(kind: Kind) -> str:
    return class_name(kind.name)


def namespace(name: str | None) -> str | None:
    """ "nn.utils" -> "nn::utils"; PyTorch's own namespace is dumbtorch itself."""
    return "" if name == "torch" else name and name.replace(".", "::")


def object_name(kind: Kind) -> str:
    return "Tensor" if kind.base == "tensor" else name_of(kind)


def parameter(kind: Kind) -> str:
    return PARAMETERS[kind.key].format(name=name_of(kind))


def literal(a: Argument) -> str:
    """The default of an argument or a field."""
    value, kind = a.default, a.kind
    if value is None:
        empty = ("options", "tensor", "handle", "callback")
        return "{}" if kind.base in empty and not kind.list else "std::nullopt"
    if kind.base == "enum":
        return f"{name_of(kind)}::{constant(value)}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        numbers = "{" + ", ".join(repr(v) for v in value) + "}"
        return numbers if value or kind.base == "tensor" else "{}"
    if isinstance(value, str):
        return cabi.literal(a)[0]
    if isinstance(value, float) and math.isinf(value):
        return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
    return repr(value)
