"""Prints tests/{c,cpp,lua,go,fortran}/conformance_test.*: the calls that tests/conformance/record.py has
recorded from PyTorch, in each language's own words, and behind them the stories of tests/conformance/stories.py
(stories.py). tests/conformance/check.* compare them."""

from __future__ import annotations

import json
import re

from . import c as c_header
from . import cabi, cpp, cpp_kinds, fortran, go
from .language import CALLS, Language
from .lua import lua_name
from .model import Argument, Kind
from .plan import Call, Hook, Plan, Slot
from .text import GENERATED, call


def generate(plan: Plan) -> dict[str, str]:
    calls = json.loads(CALLS.read_text())
    return {
        f"tests/{language.folder}/conformance_test.{language.suffix}": language.program(plan, calls)
        for language in (C(), Cpp(), Lua(), Go(), Fortran())
    }


class C(Language):
    folder, suffix = "c", "c"
    flags = ("0", "1")
    top = f'/* {GENERATED} */\n#include "tests/conformance/check.h"'
    around = "\n/* {name} */\nstatic void case_{number}(void) {{\n{body}\n}}"
    named = ".{} = {}"
    sizes, reals = "T_DIMS({})", "T_REALS({})"
    made = "dt_tensor *{} = {};"
    expected = ("expect(", ");")
    count, entry = "expect_count({}, {});", "T_tensor_list_get({}, {})"
    same, backward, grad = "expect_bool({}, {});", "T_backward(T_sum({}));", "T_grad({})"
    _MACROS = {"i64": "T_DIMS", "f64": "T_REALS", "bool": "T_FLAGS", "tensor": "T_LIST"}

    def bottom(self, count: int) -> list[str]:
        cases = [f"case_{i}" for i in range(count)]
        body = call("static void (*const cases[])(void) = {", cases, "};")
        return ["", body, "", f"int main(void) {{ return run_cases(cases, {count}); }}"]

    def enum(self, name: str, value: str) -> str:
        return cabi.enum_constant(name, value)

    def list(self, a: Slot, parts: list[str]) -> str:
        macro = self._MACROS[a.kind.base]
        return f"{macro}({', '.join(parts)})" if parts else "T_NO_DIMS"

    def scalar(self, a: Slot, value) -> str:
        number = self.number(a.kind, value)
        if isinstance(value, bool) and a.kind.base != "bool":
            number = f"(_Bool){number}"
        if not a.required and a.kind.base in ("operand", "scalar"):
            return f"{'T_OP' if a.kind.base == 'operand' else 'T_NUM'}({number})"
        wrapper = {"i64?": "T_INT", "f64?": "T_REAL", "bool?": "T_FLAG"}.get(a.kind.key)
        return f"{wrapper}({number})" if wrapper else number

    def literal(self, tensor: dict) -> list[str]:
        return ["T_NO_DIMS" if part == "T_DIMS()" else part for part in super().literal(tensor)]

    def names(self, c: Call) -> list[str]:
        return ["result", *(r.name for r in c.results[1:])]

    def arguments(self, c: Call, values: dict[str, str]) -> list[str]:
        operands = [a.name for a in c.optional if a.kind.base == "operand" and a.name in values]
        wrapped = {n: f"T_OP({values[n]})" for n in operands if values[n].startswith("a_")}
        required, named = self.given(c, values | wrapped)
        return required + named

    def expression(self, c: Call, values: dict[str, str]) -> str:
        return call(f"T_{c_header.short_name(c)}(", self.arguments(c, values), ")")

    def refused(self, c: Call, values: dict[str, str], message: str) -> list[str]:
        return [self.expression(c, values) + ";", f"expect_error({json.dumps(message)});"]

    def run(self, c: Call, names: list[str], values: dict[str, str]) -> list[str]:
        lines = [f"dt_tensor *{name};" for name in names[1:]]
        outs = [f".{name} = &{name}" for name in names[1:]]
        kind = c.results[0].kind.key if c.results else "tensor"
        types = {"tensor": "dt_tensor *", "tensor[]": "dt_tensor_list *", "bool": "int32_t "}
        head = f"{types[kind]}result = T_{c_header.short_name(c)}("
        return [*lines, call(head, self.arguments(c, values) + outs, ");")]


class Cpp(Language):
    folder, suffix = "cpp", "cpp"
    top = f'// {GENERATED}\n#include "tests/conformance/check.hpp"\n\nnamespace {{'
    around = "\n// {name}\nvoid case_{number}() {{\n{body}\n}}"
    made = "const dt::Tensor {} = {};"
    expected = ("expect(", ");")
    count, entry = "expect_true({}.size() == {});", "{}[{}]"
    same, backward, grad = "expect_true({} == {});", "{}.sum().backward();", "{}.grad()"
    takes_one = True
    operators, assigned = cpp.OPERATORS, "const dt::Tensor result = {};"
    fails, gets = "expect_error({}, [&] {{ {}; }});", "const auto result = {1};"
    _LISTS = {"i64": "dt::Ints(", "f64": "dt::Reals(", "bool": "dt::Flags("}

    def bottom(self, count: int) -> list[str]:
        numbers = [f"case_{i}" for i in range(count)]
        cases = call("const std::vector<void (*)()> cases = {", numbers, "};")
        return ["", cases, "", "}  // namespace", "", "int main() { return run_cases(cases); }"]

    def enum(self, name: str, value: str) -> str:
        return "dt::" + cpp_kinds.literal(Argument("", Kind("enum", name), default=value))

    def list(self, a: Slot, parts: list[str]) -> str:
        made = self._LISTS.get(a.kind.base, "")
        if a.struct:
            return f"{cpp_kinds.FIELDS[a.kind.base + '[]']}{{{', '.join(parts)}}}"
        return f"{made}{{{', '.join(parts)}}}{')' if made else ''}"

    def names(self, c: Call) -> list[str]:
        return ["result"] if len(c.results) < 2 else [f"result.{r.name}" for r in c.results]

    def called(self, c: Call, values: dict[str, str]) -> tuple[str, list[str]]:
        given = list(c.slots)
        while given and given[-1].name not in values:
            given.pop()
        arguments = [values.get(a.name) or _cpp_default(a) for a in given]
        printer = cpp.Printer(c)
        if printer.namespace is None:
            return f"{arguments[0]}.{printer.name}(", arguments[1:]
        return "::".join(["dt", *filter(None, [printer.namespace]), printer.name]) + "(", arguments

    def expression(self, c: Call, values: dict[str, str]) -> str:
        """C++20 has names for the members of structs."""
        if not c.structs:
            return call(*self.called(c, values), ")")
        given = [values.get(a.name) or _cpp_default(a) for a in c.slots if not a.struct]
        for i in c.structs:
            named = [f".{a.name} = {values[a.name]}" for a in i.slots if a.name in values]
            given += [f"{{{', '.join(named)}}}"] if named else []
        return f"dt::{c.namespaces[0]}::{cpp.Printer(c).name}({', '.join(given)})"


def _cpp_default(a: Slot) -> str:
    literal, default = cpp_kinds.literal(a.argument), a.argument.default
    if a.kind.base == "enum" and default is not None:
        return f"dt::{literal}"
    return f"dt::Ints({literal})" if a.kind.list and default is not None else literal


class Lua(Language):
    folder, suffix = "lua", "lua"
    top = f'-- {GENERATED}\nlocal check = require("check")\nlocal dt = require("dumbtorch");'
    around = "\n(function() -- {number} {name}\n{body}\nend)();"
    named, word = "{} = {}", staticmethod(lua_name)
    tensor, takes_one = "{}", True
    made = "local {} = {}"
    expected = ("check.tensor(", ")")
    count, entry = "check.same(#{}, {})", "{0}[{2}]"
    same, backward, grad = "check.same({}, {})", "{}:sum():backward()", "{}.grad"
    newer = {
        "floordiv": "//", "and": "&", "or": "|", "xor": "~", "lshift": "<<", "rshift": ">>", "invert": "~"
    }  # fmt: skip
    operators = dict(add="+", sub="-", mul="*", truediv="/", pow="^", mod="%", neg="-") | newer
    assigned = "local result = {}"
    bracket = ("local result = {}[{}]", "{}[{}] = {}")
    from_lists, to_lists, braces, open = "dt.tensor(", "{}:tolist()", "{{{}}}", "false"
    fails, raises = "check.error({}, function() {} end)", "error({})"
    gets, closing, learns_kinds = "local {} = {}", ("", "check.finish()"), True
    user, loop = ("local function {}({})", "end"), ("for _ = 1, {} do", "end")
    tells_stories, absent, none = True, "check.same({} or nil, nil)", "nil"
    scopes = {
        "no_grad": ("dt.no_grad(function()", "end)"),
        "autocast": ('dt.autocast("cpu", {}, function()', "end)"),
    }

    def operator(self, entry: dict) -> list[str]:
        older = ["if not math.type then return end"] * (entry["operator"] in self.newer)
        return older + super().operator(entry)

    def applied(self, sign: str, operands: list[str]) -> str:
        """LuaJIT cannot read the operators of newer Luas."""
        if sign not in self.newer.values():
            return super().applied(sign, operands)
        text = super().applied(sign, ["a", "b"][: len(operands)])
        return f'load("local a, b = ... return {text}")({", ".join(operands)})'

    def called(self, c: Call, arguments: list[str], named: list[str]) -> str:
        arguments = [*arguments, "{" + ", ".join(named) + "}"] if named else arguments
        if c.function.as_property:
            return f"{arguments[0]}.{c.member}"
        if not c.namespaces:
            return call(f"{arguments[0]}:{lua_name(c.member)}(", arguments[1:], ")")
        space = "" if c.namespaces[0] == "torch" else c.namespaces[0] + "."
        return call(f"dt.{space}{lua_name(c.free)}(", arguments, ")")


class Go(Language):
    folder, suffix = "go", "go"
    top = f'// {GENERATED}\n\npackage conformance\n\nimport (\n\t"errors"\n\t"testing"\n\n\tdt "dumbtorch"\n)'
    around = "\nfunc Test{number}_{name}(t *testing.T) {{\n{body}\n}}"
    indent = "\t"
    named, word = "{}: {}", staticmethod(go.exported)
    sizes, reals = "[]int{{{}}}", "[]float64{{{}}}"
    made, certain = "{} := dt.Must({})", "dt.Must({})"
    expected = ("expect(t, ", ")")
    count, entry, same = "same(t, len({}), {})", "{}[{}]", "same(t, {}, {})"
    backward, grad = "check(t, dt.Must({}.Sum()).Backward())", "dt.Must({}.Grad())"
    tells_stories, absent, none = True, "same(t, {} == nil, true)", "0"
    path, loop = "file({})", ("for i := 0; i < {}; i++ {{", "}")
    threads = (
        ('t.Run("", func(t *testing.T) {{\n\tt.Parallel()', "})"),
        ("for i := 0; i < {}; i++ {{", "}"),
    )
    scopes = {
        "no_grad": ("check(t, dt.NoGrad(func() error {{", "\treturn nil\n}))"),
        "autocast": (
            "check(t, dt.Autocast(dt.DeviceTypeCpu, {}, func() error {{",
            "\treturn nil\n}))",
        ),
    }

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        folder = [
            "folder := t.TempDir()",
            'file := func(name string) string { return folder + "/" + name }',
        ]
        lines = folder * any("file(" in x for x in lines) + lines
        name = re.sub(r"\W", "_", name)
        return super().frame(number, name, [x for y in lines for x in y.splitlines()])

    @staticmethod
    def line(head: str, arguments: list[str], tail: str) -> str:
        return head + ", ".join(arguments) + tail

    def enum(self, name: str, value: str) -> str:
        return "dt." + go.enum_value(name, value)

    def list(self, a: Slot, parts: list[str]) -> str:
        return f"{go.go_type(a.kind).replace('*', '*dt.')}{{{', '.join(parts)}}}"

    def number(self, kind: Kind, value) -> str:
        return super().number(kind, float(value) if kind.base == "f64" else value)

    def scalar(self, a: Slot, value) -> str:
        number = self.number(a.kind, value)
        return f"dt.P({number})" if not a.required and go.is_pointer(a) else number

    def expression(self, c: Call, values: dict[str, str]) -> str:
        arguments, named = self.given(c, values)
        if named:
            arguments.append(f"dt.{go.exported(c.function.name)}Options{{{', '.join(named)}}}")
        where = arguments.pop(0) if go.is_method(c) else "dt"
        return f"{where}.{go.go_name(c)}({', '.join(arguments)})"

    def device(self, words: str) -> str:
        kind, _, index = words.partition(":")
        return f"dt.Device{{Type: dt.DeviceType{kind.capitalize()}, Index: {index or 0}}}"

    def function(self, name: str, hook: Hook, body: list[str], back: str, error: str) -> list[str]:
        head = go.hook_signature(hook, self.tensor.format).replace("*", "*dt.")
        last = f"errors.New({self.text(error)})" if error else "nil"
        nothing = {"bool": "false"}.get(hook.results[0].kind.base, "nil")
        body = [*body, f"return {back or nothing}, {last}"]
        return [f"{name} := func{head} {{", *self.inner(body), "}"]

    def grouped(self, lines: list[str]) -> list[str]:
        return ["{", *self.inner(lines), "}"]

    def called_for(self, c: Call, names: list[str], values: dict[str, str]) -> list[str]:
        if not c.results and not c.returns_this:
            return [f"check(t, {self.expression(c, values)})"]
        lines = self.run(c, [name or "_" for name in names] or ["_"], values)
        return lines if any(names) else self.grouped(lines)

    def refused(self, c: Call, values: dict[str, str], message: str) -> list[str]:
        check = f"expectError(t, err, {json.dumps(message)})"
        names = ["_"] * (len(c.results) + c.returns_this) + ["err"]
        return [f"{', '.join(names)} := {self.expression(c, values)}", check]

    def run(self, c: Call, names: list[str], values: dict[str, str]) -> list[str]:
        return [f"{', '.join(names)}, err := {self.expression(c, values)}", "check(t, err)"]


class Fortran(Language):
    folder, suffix = "fortran", "f90"
    top = f"! {GENERATED}\nmodule cases\n  use check\n  implicit none\ncontains"
    around = "\n  subroutine case_{number}()\n{body}\n  end subroutine"
    indent = "    "
    named = "{}={}"
    sizes, reals = "[integer :: {}]", "[real(real64) :: {}]"
    flags = (".false.", ".true.")
    made = "block\ntype(tensor) :: {0}\n{0} = {1}"
    expected = ("call expect(", ")")
    count, entry = "call expect_true(size({}) == {}, 'size')", "{0}({2})"
    same = "call expect_true({} .eqv. {}, 'the result')"
    backward = "block\ntype(tensor) :: loss\nloss = sum({})\ncall loss%backward()"
    grad = "{}%grad()"
    line = staticmethod(Go.line)
    element = staticmethod(fortran.real)
    tells_stories, absent = True, "call expect_true(.not. {}%is_set(), 'absent')"
    braces = "[{}]"
    operators, assigned = fortran.OPERATORS, "block\ntype(tensor) :: result\nresult = {}"
    loop = ("block\ninteger :: i\ndo i = 1, {}", "end do")
    threads = (("!$omp parallel num_threads({})", "!$omp end parallel"),)
    callbacks_fail = False
    enum = staticmethod(fortran.enum_value)
    hooks = ""  # procedures of the module beside the cases

    def bottom(self, count: int) -> list[str]:
        calls = [f"  call case_{i}()" for i in range(count)]
        head = ["end module", "", "program conformance_test", "  use cases", "  implicit none"]
        return [*head, *calls, "  print '(a)', 'passed'", "end program"]

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        lines = [f"current = {self.text(f'{number} {name}')}", *lines]
        hooks, self.hooks = self.hooks, ""
        return super().frame(number, name, lines) + hooks

    @staticmethod
    def ordered(lines: list[str]) -> list[str]:
        """A declaration has begun a block, in which all that follows is."""
        lines = "\n".join(lines).splitlines()
        return lines + ["end block"] * (lines.count("block") - lines.count("end block"))

    grouped = ordered

    def text(self, words: str) -> str:
        return " // char(0) // ".join(map(fortran.quoted, words.split("\0")))

    def compiles(self, kind: Kind, value) -> bool:
        is_list = isinstance(value, list)
        number = {"i64": is_list or not kind.list, "operand": not is_list, "scalar": not is_list}
        return number.get(kind.base, kind.base == "device" and isinstance(value, str))

    def function(self, name: str, hook: Hook, body: list[str], back: str, error: str) -> list[str]:
        """Errors inside of one end the program."""
        takes, declared = fortran.hook_dummies(hook, self.tensor.format)
        last = [f"{self.tensor.format(hook.results[0].name)} = {back}"] * bool(back)
        lines = [f"subroutine {name}({takes})", *self.inner([*declared, *body, *last])]
        lines = ["\n", *super().inner(lines), "  end subroutine"]
        self.hooks += "\n".join(lines).replace("type(dt_", "type(")
        return []

    def called_for(self, c: Call, names: list[str], values: dict[str, str]) -> list[str]:
        return self.run(c, [x or f"rest_{i}" for i, x in enumerate(names)], values)

    def equal(self, kind: Kind, got: str, wanted: str) -> list[str]:
        if kind.base in ("f64", "scalar"):
            number = wanted.replace(".true.", "1d0")
            got, wanted = f"abs({got} - {number})", "1d-12"
        sign = {"bool": ".eqv.", "f64": "<", "scalar": "<"}.get(kind.base, "==")
        same = f"{got} {sign} {wanted}"
        return [f"call expect_true({f'all({same})' if kind.list else same}, 'a value')"]

    def list(self, a: Slot, parts: list[str]) -> str:
        kind = "character(9) :: " if a.kind.base == "str" else ""
        return f"[{kind}{', '.join(parts)}]" if parts else "[integer ::]"

    def array(self, name: str, dtype: str, shape: list[int], data: list) -> list[str]:
        kind = {"f": "real({})", "i": "integer({})", "b": "logical"}[dtype[0]]
        kind, name = kind.format(dtype.replace("float", "real")), self.tensor.format(name)
        value = ", ".join(self.number(Kind("i64"), x) for x in data)
        if shape:
            order = [*range(len(shape), 0, -1)]
            value = f"reshape([{kind} :: {value}], {shape}, order={order})"
            kind += f", dimension({str(shape)[1:-1]})"
        return [f"block\n{kind} :: {name}\n{name} = {value}"]

    def part(self, name: str, start: int, stop: int | None, step: int) -> str:
        return f"{name}({start + 1}:{stop or 1}:{step})"

    def number(self, kind: Kind, value) -> str:
        is_real = isinstance(value, float) or kind.base == "f64"
        wide = "_int64" * (not is_real and abs(value) >= 2**31)
        return fortran.real(value) if is_real else super().number(kind, value) + wide

    def expression(self, c: Call, values: dict[str, str], outs=(), status=()) -> str:
        arguments, named = self.given(c, values)
        where = f"{arguments.pop(0)}%{c.member}" if fortran.is_method(c) else c.function.name
        return f"{where}({', '.join([*arguments, *outs, *named, *status])})"

    def run(self, c: Call, names: list[str], values: dict[str, str], status=()) -> list[str]:
        kinds = [fortran.declared(r.kind).replace("dt_", "") for r in c.results]
        lines = [f"block\n{kind} :: {name}" for kind, name in zip(kinds, names, strict=False)]
        call = self.expression(c, values, names if len(kinds) > 1 else (), status)
        return [*lines, (f"{names[0]} = " if len(kinds) == 1 else "call ") + call]

    def refused(self, c: Call, values: dict[str, str], message: str) -> list[str]:
        run = self.run(c, self.names(c), values, ["stat=stat", "errmsg=message"])
        return [*run, f"call expect_error({fortran.quoted(message)})"]

    def names(self, c: Call) -> list[str]:
        return [self.tensor.format(c.slots[0].name)] if c.returns_this else super().names(c)
