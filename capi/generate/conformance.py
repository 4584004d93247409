"""Prints tests/{c,cpp,lua,go,fortran}/conformance_test.*: the calls that tests/conformance/record.py has
recorded from PyTorch, in each language's own words. tests/conformance/check.* compare them."""

from __future__ import annotations

import json
import pathlib

from . import c as c_header
from . import cabi, cpp, cpp_kinds, fortran, go
from .lua import lua_name
from .model import Argument, Kind, SchemaError
from .plan import Call, Plan, Slot
from .text import GENERATED, call

CALLS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "conformance" / "calls.json"


def generate(plan: Plan) -> dict[str, str]:
    calls = json.loads(CALLS.read_text())
    return {
        f"tests/{language.folder}/conformance_test.{language.suffix}": language.program(plan, calls)
        for language in (C(), Cpp(), Lua(), Go(), Fortran())
    }


_DTYPE = Kind("enum", "dtype")


def _is_tensor(value) -> bool:
    return isinstance(value, dict) and "dtype" in value


def _numbers(values: list) -> list[str]:
    return [str(int(v)) if isinstance(v, bool) else repr(v) for v in values]


class Language:
    """What the languages have in common: the frame of a program and of a case."""

    folder = suffix = ""

    def program(self, plan: Plan, calls: list[dict]) -> str:
        cases = [self.case(plan, number, entry) for number, entry in enumerate(calls)]
        return "\n".join([*self.top(), *cases, *self.bottom(len(calls))]) + "\n"

    def case(self, plan: Plan, number: int, entry: dict) -> str:
        c = plan.by_name.get(entry["fn"])
        if c is None:
            raise SchemaError(f"{CALLS.name}: there is no function '{entry['fn']}'")
        unknown = set(entry["args"]) - {a.name for a in c.slots}
        if unknown:
            raise SchemaError(f"{CALLS.name}: {c.c_name} has no argument '{unknown.pop()}'")
        lines = []
        values = {}
        for a in c.slots:
            if a.name in entry["args"]:
                wants_grad = a.name in entry.get("grads", ())
                values[a.name] = self.value(a, entry["args"][a.name], wants_grad, lines)
        lines += self.call(c, values, entry)
        return self.frame(number, entry["fn"], lines)


class C(Language):
    folder, suffix = "c", "c"

    def top(self) -> list[str]:
        return [f"/* {GENERATED} */", '#include "tests/conformance/check.h"']

    def bottom(self, count: int) -> list[str]:
        cases = ", ".join(f"case_{i}" for i in range(count))
        body = call("static void (*const cases[])(void) = {", cases.split(", "), "};")
        return ["", body, "", f"int main(void) {{ return run_cases(cases, {count}); }}"]

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        body = "\n".join(f"  {line}" for line in lines)
        return f"\n/* {name} */\nstatic void case_{number}(void) {{\n{body}\n}}"

    def value(self, a: Slot, value, wants_grad: bool, lines: list[str]) -> str:
        if _is_tensor(value):
            lines.append(
                call(
                    f"dt_tensor *a_{a.name} = make(",
                    [*self.literal(value), str(int(wants_grad))],
                    ");",
                )
            )
            return f"a_{a.name}"
        if a.kind.base == "tensor" and a.kind.list:
            names = []
            for i, entry in enumerate(value):
                lines.append(
                    call(f"dt_tensor *a_{a.name}{i} = make(", [*self.literal(entry), "0"], ");")
                )
                names.append(f"a_{a.name}{i}")
            return f"T_LIST({', '.join(names)})"
        return self.plain(a, value)

    @staticmethod
    def plain(a: Slot, value) -> str:
        kind = a.kind
        if kind.base == "enum":
            return cabi.enum_constant(
                kind.name, value["enum"] if isinstance(value, dict) else value
            )
        if kind.base == "str":
            return json.dumps(value)
        if kind.list:
            return _c_list(kind, value if isinstance(value, list) else [value])
        number = (
            f"(_Bool){int(value)}"
            if isinstance(value, bool) and kind.base != "bool"
            else _numbers([value])[0]
        )
        if not a.required and kind.base in ("operand", "scalar"):
            return f"{'T_OP' if kind.base == 'operand' else 'T_NUM'}({number})"
        wrapper = {"i64?": "T_INT", "f64?": "T_REAL", "bool?": "T_FLAG"}.get(kind.key)
        return f"{wrapper}({number})" if wrapper else number

    @staticmethod
    def literal(tensor: dict) -> list[str]:
        """dtype, shape and elements."""
        dtype = cabi.enum_constant("dtype", tensor["dtype"])
        return [dtype, _c_dims(tensor["shape"]), f"T_REALS({', '.join(_numbers(tensor['data']))})"]

    def call(self, c: Call, values: dict[str, str], entry: dict) -> list[str]:
        short = c_header.short_name(c)
        arguments = [values[a.name] for a in c.required]
        for a in c.optional:
            if a.name in values:
                value = values[a.name]
                if a.kind.base == "operand" and value.startswith("a_"):
                    value = f"T_OP({value})"
                arguments.append(f".{a.name} = {value}")
        lines = []
        if "error" in entry:
            lines.append(f"T_{short}({', '.join(arguments)});")
            return [*lines, f"expect_error({json.dumps(entry['error'])});"]
        for r in c.results[1:]:
            lines.append(f"dt_tensor *{r.name};")
            arguments.append(f".{r.name} = &{r.name}")
        kind = c.results[0].kind.key if c.results else "tensor"
        types = {"tensor": "dt_tensor *", "tensor[]": "dt_tensor_list *", "bool": "int32_t "}
        lines.append(call(f"{types[kind]}result = T_{short}(", arguments, ");"))
        names = ["result", *(r.name for r in c.results[1:])]
        for name, expected in zip(names, entry["results"], strict=True):
            lines += self.expect(name, expected)
        for name, expected in entry.get("grads", {}).items():
            if name == next(iter(entry["grads"])):
                lines.append("T_backward(T_sum(result));")
            lines += self.expect(f"T_grad(a_{name})", expected)
        return lines

    def expect(self, name: str, expected) -> list[str]:
        if isinstance(expected, list):
            lines = [f"expect_count({name}, {len(expected)});"]
            for i, entry in enumerate(expected):
                lines += self.expect(f"T_tensor_list_get({name}, {i})", entry)
            return lines
        if isinstance(expected, bool):
            return [f"expect_bool({name}, {int(expected)});"]
        return [call("expect(", [name, *self.literal(expected)], ");")]


def _c_list(kind: Kind, values: list) -> str:
    macro = {"i64": "", "f64": "T_REALS", "bool": "T_FLAGS"}[kind.base]
    return f"{macro}({', '.join(_numbers(values))})" if macro else _c_dims(values)


def _c_dims(values: list[int]) -> str:
    return f"T_DIMS({', '.join(map(str, values))})" if values else "T_NO_DIMS"


class Cpp(Language):
    folder, suffix = "cpp", "cpp"

    def top(self) -> list[str]:
        return [f"// {GENERATED}", '#include "tests/conformance/check.hpp"', "", "namespace {"]

    def bottom(self, count: int) -> list[str]:
        cases = call(
            "const std::vector<void (*)()> cases = {", [f"case_{i}" for i in range(count)], "};"
        )
        return ["", cases, "", "}  // namespace", "", "int main() { return run_cases(cases); }"]

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        body = "\n".join(f"  {line}" for line in lines)
        return f"\n// {name}\nvoid case_{number}() {{\n{body}\n}}"

    def value(self, a: Slot, value, wants_grad: bool, lines: list[str]) -> str:
        if _is_tensor(value):
            arguments = [*self.literal(value), "true" if wants_grad else "false"]
            lines.append(call(f"const dt::Tensor a_{a.name} = make(", arguments, ");"))
            return f"a_{a.name}"
        if a.kind.base == "tensor" and a.kind.list:
            names = [f"a_{a.name}{i}" for i in range(len(value))]
            for name, entry in zip(names, value, strict=True):
                lines.append(
                    call(f"const dt::Tensor {name} = make(", [*self.literal(entry), "false"], ");")
                )
            return f"{{{', '.join(names)}}}"
        if a.kind.base == "enum":
            name = value["enum"] if isinstance(value, dict) else value
            return "dt::" + cpp_kinds.literal(Argument(a.name, a.kind, default=name))
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, list):
            kind = {"i64": "Ints", "f64": "Reals", "bool": "Flags"}[a.kind.base]
            return f"dt::{kind}({{{', '.join(map(json.dumps, value))}}})"
        if isinstance(value, bool):
            return "true" if value else "false"
        return repr(value)

    @staticmethod
    def literal(tensor: dict) -> list[str]:
        dtype = cpp_kinds.literal(Argument("dtype", _DTYPE, default=tensor["dtype"]))
        shape = "{" + ", ".join(map(str, tensor["shape"])) + "}"
        return [f"dt::{dtype}", shape, "{" + ", ".join(_numbers(tensor["data"])) + "}"]

    def call(self, c: Call, values: dict[str, str], entry: dict) -> list[str]:
        given = list(c.slots)
        while given[-1].name not in values:
            given.pop()
        arguments = [values.get(a.name) or _cpp_default(a) for a in given]
        printer = cpp.Printer(c)
        if printer.namespace is None:
            this, *arguments = arguments
            head = f"{this}.{printer.name}("
        else:
            head = "::".join(["dt", *filter(None, [printer.namespace]), printer.name]) + "("
        if "error" in entry:
            run = call(head, arguments, ");")
            return [f"expect_error({json.dumps(entry['error'])}, [&] {{ {run} }});"]
        lines = [call(f"const auto result = {head}", arguments, ");")]
        names = ["result"] if len(c.results) < 2 else [f"result.{r.name}" for r in c.results]
        for name, expected in zip(names, entry["results"], strict=True):
            lines += self.expect(name, expected)
        for name, expected in entry.get("grads", {}).items():
            if name == next(iter(entry["grads"])):
                lines.append(f"{names[0]}.sum().backward();")
            lines += self.expect(f"a_{name}.grad()", expected)
        return lines

    def expect(self, name: str, expected) -> list[str]:
        if isinstance(expected, list):
            lines = [f"expect_true({name}.size() == {len(expected)});"]
            for i, entry in enumerate(expected):
                lines += self.expect(f"{name}[{i}]", entry)
            return lines
        if isinstance(expected, bool):
            return [f"expect_true({name} == {'true' if expected else 'false'});"]
        return [call("expect(", [name, *self.literal(expected)], ");")]


def _cpp_default(a: Slot) -> str:
    literal, default = cpp_kinds.literal(a.argument), a.argument.default
    if a.kind.base == "enum" and default is not None:
        return f"dt::{literal}"
    return f"dt::Ints({literal})" if a.kind.list and default is not None else literal


class Lua(Language):
    folder, suffix = "lua", "lua"

    def top(self) -> list[str]:
        return [
            f"-- {GENERATED}",
            'local check = require("check")',
            'local dt = require("dumbtorch")',
        ]

    def bottom(self, count: int) -> list[str]:
        return ["", "check.finish()"]

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        body = "\n".join(f"  {line}" for line in lines)
        return f'\ncheck.case("{number} {name}", function()\n{body}\nend)'

    def value(self, a: Slot, value, wants_grad: bool, lines: list[str]) -> str:
        if _is_tensor(value):
            flag = "true" if wants_grad else "false"
            lines.append(call(f"local {a.name} = check.make(", [*self.literal(value), flag], ")"))
            return a.name
        if isinstance(value, dict):
            return f'"{value["enum"]}"'
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, list) and value and _is_tensor(value[0]):
            made = [call("check.make(", [*self.literal(v), "false"], ")") for v in value]
            return "{" + ", ".join(made) + "}"
        if isinstance(value, list):
            return "{" + ", ".join(map(json.dumps, value)) + "}"
        return json.dumps(value)

    @staticmethod
    def literal(tensor: dict) -> list[str]:
        lists = ["{" + ", ".join(_numbers(v)) + "}" for v in (tensor["shape"], tensor["data"])]
        return [f'"{tensor["dtype"]}"', *lists]

    def call(self, c: Call, values: dict[str, str], entry: dict) -> list[str]:
        arguments = [values[a.name] for a in c.required]
        given = [a for a in c.optional if a.name in values]
        named = [f"{lua_name(a.name)} = {values[a.name]}" for a in given]
        if named:
            arguments.append("{" + ", ".join(named) + "}")
        if c.namespaces:
            space = "" if c.namespaces[0] == "torch" else c.namespaces[0] + "."
            head = f"dt.{space}{lua_name(c.free)}("
        else:
            this, *arguments = arguments
            head = f"{this}:{lua_name(c.member)}("
        if "error" in entry:
            run = call(head, arguments, ")")
            return [f"check.error({json.dumps(entry['error'])}, function() {run} end)"]
        names = [r.name if len(c.results) > 1 else "result" for r in c.results] or ["result"]
        lines = [call(f"local {', '.join(names)} = {head}", arguments, ")")]
        for name, expected in zip(names, entry["results"], strict=True):
            lines += self.expect(name, expected)
        for name, expected in entry.get("grads", {}).items():
            if name == next(iter(entry["grads"])):
                lines.append(f"{names[0]}:sum():backward()")
            lines += self.expect(f"{name}.grad", expected)
        return lines

    def expect(self, name: str, expected) -> list[str]:
        if isinstance(expected, list):
            lines = [f"check.same(#{name}, {len(expected)})"]
            for i, entry in enumerate(expected):
                lines += self.expect(f"{name}[{i + 1}]", entry)
            return lines
        if isinstance(expected, bool):
            return [f"check.same({name}, {'true' if expected else 'false'})"]
        return [call("check.tensor(", [name, *self.literal(expected)], ")")]


class Go(Language):
    folder, suffix = "go", "go"
    _TYPES = {"i64": "int", "f64": "float64", "bool": "bool", "tensor": "*dt.Tensor"}

    def top(self) -> list[str]:
        imports = 'import (\n\t"testing"\n\n\tdt "dumbtorch"\n)'
        return [f"// {GENERATED}", "", "package conformance", "", imports]

    def bottom(self, count: int) -> list[str]:
        return []

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        body = "\n".join(f"\t{line}" for line in lines)
        return f"\nfunc Test{number}_{name}(t *testing.T) {{\n{body}\n}}"

    def value(self, a: Slot, value, wants_grad: bool, lines: list[str]) -> str:
        if _is_tensor(value):
            name, flag = f"a_{a.name}", "true" if wants_grad else "false"
            lines.append(f"{name} := tensor({', '.join([*self.literal(value), flag])})")
            return name
        if isinstance(value, dict) or a.kind.base == "enum":
            name = value["enum"] if isinstance(value, dict) else value
            return "dt." + go.enum_value(a.kind.name, name)
        if a.kind.list:
            values = value if isinstance(value, list) else [value]
            parts = [
                f"tensor({', '.join([*self.literal(v), 'false'])})"
                if _is_tensor(v)
                else json.dumps(v)
                for v in values
            ]
            return f"[]{self._TYPES[a.kind.base]}{{{', '.join(parts)}}}"
        number = json.dumps(value)
        if a.kind.base == "f64" and not isinstance(value, float):
            number = repr(float(value))
        return f"dt.P({number})" if not a.required and go.is_pointer(a) else number

    @staticmethod
    def literal(tensor: dict) -> list[str]:
        numbers = ", ".join(_numbers(tensor["data"]))
        sizes = ", ".join(map(str, tensor["shape"]))
        dtype = go.enum_value("dtype", tensor["dtype"])
        return [f"dt.{dtype}", f"[]int{{{sizes}}}", f"[]float64{{{numbers}}}"]

    def call(self, c: Call, values: dict[str, str], entry: dict) -> list[str]:
        arguments = [values[a.name] for a in c.required]
        named = [f"{go.exported(a.name)}: {values[a.name]}" for a in c.optional if a.name in values]
        if named:
            arguments.append(f"dt.{go.exported(c.function.name)}Options{{{', '.join(named)}}}")
        where = arguments.pop(0) if go.is_method(c) else "dt"
        run = f"{where}.{go.go_name(c)}({', '.join(arguments)})"
        if "error" in entry:
            return [f"_, err := {run}", f"expectError(t, err, {json.dumps(entry['error'])})"]
        names = [r.name for r in c.results] if len(c.results) > 1 else ["result"]
        lines = [f"{', '.join(names)}, err := {run}", "check(t, err)"]
        for name, expected in zip(names, entry["results"], strict=True):
            lines += self.expect(name, expected)
        for name, expected in entry.get("grads", {}).items():
            if name == next(iter(entry["grads"])):
                lines.append(f"check(t, dt.Must({names[0]}.Sum()).Backward())")
            lines += self.expect(f"dt.Must(a_{name}.Grad())", expected)
        return lines

    def expect(self, name: str, expected) -> list[str]:
        if isinstance(expected, list):
            lines = [f"same(t, len({name}), {len(expected)})"]
            for i, entry in enumerate(expected):
                lines += self.expect(f"{name}[{i}]", entry)
            return lines
        if isinstance(expected, bool):
            return [f"same(t, {name}, {'true' if expected else 'false'})"]
        return [f"expect(t, {', '.join([name, *self.literal(expected)])})"]


class Fortran(Language):
    folder, suffix = "fortran", "f90"

    def top(self) -> list[str]:
        uses = [
            "  use, intrinsic :: iso_fortran_env, only: real64",
            "  use check",
            "  use dumbtorch",
        ]
        return [f"! {GENERATED}", "module cases", *uses, "  implicit none", "contains"]

    def bottom(self, count: int) -> list[str]:
        calls = [f"  call case_{i}()" for i in range(count)]
        head = ["end module", "", "program conformance_test", "  use check", "  use cases"]
        return [*head, "  implicit none", *calls, "  call finish_cases()", "end program"]

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        """Declarations come first."""
        declared = [line for line in lines if line.startswith(("type(", "logical"))]
        body = [f"call begin_case('{number} {name}')", *(x for x in lines if x not in declared)]
        text = "\n".join(f"    {fortran.continued(line)}" for line in [*declared, *body])
        return f"\n  subroutine case_{number}()\n{text}\n  end subroutine"

    def value(self, a: Slot, value, wants_grad: bool, lines: list[str]) -> str:
        if _is_tensor(value):
            return self.made(f"a_{a.name}", value, wants_grad, lines)
        if a.kind.base == "enum":
            return fortran.enum_value(
                a.kind.name, value["enum"] if isinstance(value, dict) else value
            )
        if a.kind.list:
            values = value if isinstance(value, list) else [value]
            parts = [
                self.made(f"a_{a.name}{i}", v, False, lines) if _is_tensor(v) else self.plain(a, v)
                for i, v in enumerate(values)
            ]
            return f"[{', '.join(parts)}]" if parts else "[integer ::]"
        return self.plain(a, value)

    @staticmethod
    def plain(a: Slot, value) -> str:
        if isinstance(value, bool):
            return ".true." if value else ".false."
        if isinstance(value, str):
            return fortran.quoted(value)
        is_real = isinstance(value, float) or a.kind.base == "f64"
        return fortran.real(value) if is_real else str(value)

    def made(self, name: str, tensor: dict, wants_grad: bool, lines: list[str]) -> str:
        lines.append(f"type(tensor) :: {name}")
        flag = ".true." if wants_grad else ".false."
        lines.append(f"{name} = make({', '.join([*self.literal(tensor), flag])})")
        return name

    @staticmethod
    def literal(tensor: dict) -> list[str]:
        shape = ", ".join(map(str, tensor["shape"]))
        numbers = ", ".join(fortran.real(float(v)) for v in tensor["data"])
        dtype = fortran.enum_value("dtype", tensor["dtype"])
        return [dtype, f"[integer :: {shape}]", f"[real(real64) :: {numbers}]"]

    def call(self, c: Call, values: dict[str, str], entry: dict) -> list[str]:
        arguments = [values[a.name] for a in c.required]
        named = [f"{a.name}={values[a.name]}" for a in c.optional if a.name in values]
        where = f"{arguments.pop(0)}%{c.member}" if fortran.is_method(c) else c.function.name
        names = [r.name for r in c.results] if len(c.results) > 1 else ["result"]
        if c.returns_this:
            names = arguments[:1]
        outs = names if len(c.results) > 1 else []
        kinds = [fortran.declared(r).replace("dt_", "") for r in c.results]
        lines = [f"{kind} :: {name}" for kind, name in zip(kinds, names)]
        status = ["stat=stat", "errmsg=message"] if "error" in entry else []
        run = f"{where}({', '.join([*arguments, *outs, *named, *status])})"
        lines.append(f"result = {run}" if len(c.results) == 1 else f"call {run}")
        if "error" in entry:
            return [*lines, f"call expect_error({fortran.quoted(entry['error'])})"]
        for name, expected in zip(names, entry["results"], strict=True):
            lines += self.expect(name, expected)
        for name, expected in entry.get("grads", {}).items():
            if name == next(iter(entry["grads"])):
                lines += ["type(tensor) :: loss", f"loss = sum({names[0]})", "call loss%backward()"]
            lines += self.expect(f"a_{name}%grad()", expected)
        return lines

    def expect(self, name: str, expected) -> list[str]:
        if isinstance(expected, list):
            lines = [f"call expect_true(size({name}) == {len(expected)}, 'size')"]
            for i, entry in enumerate(expected):
                lines += self.expect(f"{name}({i + 1})", entry)
            return lines
        if isinstance(expected, bool):
            return [f"call expect_true({name} .eqv. {self.plain(None, expected)}, 'the result')"]
        return [f"call expect({', '.join([name, *self.literal(expected)])})"]
