"""Optimizer rows: what they say, and what each backend's kernels are made of. The grammar is in docs/schema.md.

A row has settings, state and two pieces of Python: `numbers`, computed once for a parameter, and `update`, computed for
each of its elements. Here they become C++ (kernels/optimizers.gen.h), which the kernels of every backend run over lists
of tensors; optimizer_classes.py prints who calls these."""

from __future__ import annotations

import ast
import dataclasses

from . import expr, formula, signature
from .model import (
    BACKENDS,
    Argument,
    Call,
    CallNumber,
    CallOperand,
    Function,
    Kernel,
    Kind,
    Optimizer,
    Options,
    Schema,
    SchemaError,
    Setting,
    State,
    refuse_keys,
)
from .text import GENERATED

_KEYS = {
    "sig", "doc", "args", "check", "state", "numbers", "update", "kind_of", "set", "since", "keys",
}  # fmt: skip
# PyTorch's choices of an implementation. Python takes them; here is one, which is the fast one.
CHOICES = ("foreach", "fused", "capturable", "differentiable")
_RATE = "lr"  # the setting that may be a tensor


# ---- reading rows


def parse_optimizer(schema: Schema, file: dict, name: str, row: dict) -> Optimizer:
    refuse_keys(row, _KEYS)
    base = schema.optimizers[row["kind_of"]] if "kind_of" in row else None
    inherited = {s.name: s.doc for s in base.settings} if base else {}
    docs = {**file.get("args", {}), **inherited, **row.get("args", {})}
    since = row.get("since", 1)
    settings, python = _parse_signature(row["sig"].strip()[1:-1], docs, since)
    if base:
        return dataclasses.replace(
            base, name=name, doc=row["doc"], settings=settings, python=python, kind_of=base.name,
            fixed=row["set"], since=since,
        )  # fmt: skip
    optimizer = Optimizer(
        name=name,
        doc=row["doc"],
        settings=settings,
        python=python,
        checks=tuple((condition, message) for condition, message in row["check"]),
        states=tuple(State(n, **fields) for n, fields in row.get("state", {}).items()),
        numbers=row.get("numbers", ""),
        update=row["update"],
        since=since,
        keys=tuple(row.get("keys", ())),
    )
    _check(optimizer)
    return optimizer


def _parse_signature(text: str, docs: dict, since: int):
    """(settings, Python's arguments): tuples are one argument there, `*` and choices are kept."""
    settings, python = [], []
    for part in signature.split_list(text):
        name, _, default = (word.strip() for word in part.partition("="))
        if part == "*" or (not default and name in CHOICES):
            python.append((name, ()))
            continue
        members = signature.split_list(default[1:-1]) if default.startswith("(") else [part]
        parsed = [_parse_setting(m, docs, since) for m in members]
        settings += parsed
        python.append((name, tuple(s.name for s in parsed)))
    return tuple(settings), tuple(python)


def _parse_setting(text: str, docs: dict, since: int) -> Setting:
    text, _, level = text.partition(" since ")
    since = int(level or since)
    name, _, default = (word.strip() for word in text.partition("="))
    if not name.isidentifier() or not default:
        raise SchemaError(f"'{text}' is not NAME = NUMBER, NAME = true or NAME = false")
    doc = signature.sentence_of(name, docs)
    if default in ("true", "false"):
        return Setting(name, True, default == "true", doc, since)
    return Setting(name, False, float(default), doc, since, whole=default.isdigit())


def _check(o: Optimizer) -> None:
    if o.keys and sorted(o.keys) != sorted(name for name, _ in o.python if name != "*"):
        raise SchemaError("keys are not the arguments in another order")
    if o.settings[0].name != _RATE:
        raise SchemaError(f"the first setting is not {_RATE}")
    names = {s.name for s in o.settings}
    for condition, _ in o.checks:
        formula.check(condition, names)
    for s in o.states:
        for text in (s.number, s.fill):
            formula.check(text or "0", names)
        formula.check(s.when or "0", names - {_RATE})  # which may be known on the device alone
    known = names | {"first"} | {s.name for s in o.states if s.number}
    _check_names(_statements(o.numbers, conditions=True), known)
    known |= {"param", "grad"} | {s.name for s in o.states}
    _check_names(_statements(o.update, conditions=True), known)
    for s in o.states:
        if s.when and s.number:
            raise SchemaError(f"state.{s.name}: a number is kept whatever the settings are")
        if s.when:
            _check_present(s, _statements(o.update, conditions=True))


def _check_present(s: State, lines: list) -> None:
    """What only some settings need is mentioned where these are asked for."""
    for line in lines:
        asked = isinstance(line, ast.If) and ast.dump(line.test) == ast.dump(expr.parse(s.when))
        if not asked and s.name in _names(ast.unparse(line)):
            raise SchemaError(f"'{ast.unparse(line)}': {s.name} is there only under `if {s.when}:`")


def _check_names(lines: list, known: set[str]) -> None:
    """Statements read what is known, to which what they assign is added."""
    for line in lines:
        read = line.value if isinstance(line, ast.Assign) else line.test
        formula.check_functions(ast.unparse(read))
        if unknown := _names(ast.unparse(read)) - known:
            raise SchemaError(f"'{ast.unparse(line)}': nothing is called {min(unknown)}")
        if isinstance(line, ast.Assign):
            known.add(line.targets[0].id)
        else:
            _check_names(line.body, known)


def arguments_of(o: Optimizer) -> tuple[Argument, ...]:
    """The settings as fields of an options struct."""
    kind = lambda s: Kind("bool" if s.flag else "f64")  # noqa: E731
    return tuple(
        Argument(s.name, kind(s), s.doc, True, s.default, since=s.since) for s in o.settings
    )


def options_of(o: Optimizer) -> Options:
    return Options(o.snake, f"Settings of {o.name}.", arguments_of(o), o.since)


def constructor_of(o: Optimizer) -> Function:
    params = Argument("params", Kind("tensor", list=True), "Leaf tensors: what is optimized.")
    opts = Argument("opts", Kind("options", o.snake), "Named arguments; NULL for the defaults.")
    return Function(
        name=f"optim_{o.snake}",
        file="optim",
        doc=o.doc,
        args=(params, opts),
        results=(Argument("out", Kind("handle", "optimizer")),),
        namespaces=("optim",),
        python=o.name,
        header="core/optim/optimizers.gen.h",
        core=f"make_{o.snake}({{params}}, {{opts}})",
        errors=(
            "ValueError: the list is empty, holds a tensor twice or one that is no leaf, or a setting is out of range.",
        ),
        since=o.since,
    )


def kernel_of(o: Optimizer) -> Kernel:
    """All optimizers' calls are of one type, which stands in kernels/calls/optimizer.h."""
    lists = [s for s in o.states if not s.number] + [s for s in o.states if s.number]
    state = (CallOperand(s.name, optional=bool(s.when), listed=True) for s in lists)
    call = Call(
        name="optimizer",
        file="optimizers",
        doc="",
        out=(CallOperand("param", listed=True), *state),
        inputs=(CallOperand("grad", listed=True), CallOperand(_RATE), CallOperand("found_inf")),
        ints=tuple(CallNumber(n, "bool") for n in _flags(o)),
        floats=tuple(CallNumber(n, "float") for n in _numbers(o)),
    )
    doc = f"A step of torch.optim.{o.name}, in place."
    return Kernel(o.snake, call.file, doc, call, BACKENDS, narrow=(), updates=True, index_error="")


def _flags(o: Optimizer) -> list[str]:
    return [s.name for s in o.settings if s.flag] + (["first"] if o.reads_first else [])


def _numbers(o: Optimizer) -> list[str]:
    """The settings that travel as numbers; the rate is an operand."""
    return [s.name for s in o.settings if not s.flag and s.name != _RATE]


# ---- compiling


def generate(schema: Schema) -> dict[str, str]:
    rows = [o for o in schema.optimizers.values() if not o.kind_of]
    parts = [f"// {GENERATED}", _INTRO, *(_Compiler(o).struct() for o in rows)]
    names = " ".join(f"X({o.name}, {o.snake})" for o in rows)
    parts.append(f"#define DT_OPTIMIZERS(X) \\\n  {names}\n")
    return {"kernels/optimizers.gen.h": "\n".join([*parts, "}  // namespace dt::optim\n"])}


_INTRO = """\
// The steps of the optimizers, as the schema's rows say them; the kernels of each backend run them over lists of
// tensors. Of each optimizer:
//   Settings   what a call says
//   present    which of the lists of state there are: a bit for each, in the row's order
//   prepare    counts the step, updates the scalars of one parameter and works out what its update needs
//   Update     one element of the parameter, of each list that is present, and of the gradient
// clang-format off
#pragma once

#include "kernels/calls/optimizer.h"
#include "kernels/math_elementwise.h"

namespace dt::optim {

// How many of the lists before number `list` there are.
DT_FN int lists_before(unsigned present, int list) {
  int n = 0;
  for (int i = 0; i < list; ++i) n += present >> i & 1;
  return n;
}
"""


class _Compiler:
    def __init__(self, o: Optimizer):
        self.o = o
        self.lists = [s for s in o.states if not s.number]
        self.states = [s for s in o.states if s.number]
        self.hoisted: dict[str, tuple[str, str]] = {}  # tree -> (member, C++ of its value)
        # What is one number for a whole parameter.
        self.scalars = {s.name for s in o.settings} | {s.name for s in self.states}
        self.flags = {s.name for s in o.settings if s.flag}
        if o.reads_first:
            self.scalars.add("first")
            self.flags.add("first")
        self.numbers = _statements(o.numbers)
        for line in self.numbers:
            (target,) = line.targets
            self.scalars.add(target.id)
            if isinstance(line.value, (ast.Compare, ast.BoolOp)):
                self.flags.add(target.id)

    def struct(self) -> str:
        o = self.o
        body = self._update()  # first: it finds what has to be prepared
        floats, flags = _numbers(o), _flags(o)
        always = sum(1 << i for i, s in enumerate(self.lists) if not s.when)
        members = [m for m, _ in self.hoisted.values()]
        numbers = [m for m in members if m[0] == "n"]
        truths = [m for m in members if m[0] == "f"]
        lines = [f"struct {o.name} {{"]
        lines += [
            f"  static constexpr int kScalars = {len(self.states)}, kLists = {len(self.lists)};"
        ]
        lines += [f"  static constexpr unsigned kAlways = {always};", ""]
        lines += ["  struct Settings {"]
        lines += [f"    double {', '.join([_RATE, *floats])};"]
        lines += [f"    bool {', '.join(flags)};"] if flags else []
        lines += [f"    Settings(const calls::Optimizer& call, double {_RATE})"]
        values = [f"{_RATE}({_RATE})"]
        values += [f"{n}(call.numbers[{i}])" for i, n in enumerate(floats)]
        values += [f"{n}(call.flags[{i}] != 0)" for i, n in enumerate(flags)]
        lines += ["        : " + ", ".join(values) + " {}", "  };", ""]
        lines += ["  static unsigned present(const Settings& s) {"]
        lines += self._settings_read([s.when for s in self.lists if s.when])
        bits = [
            f"({_Doubles().print(s.when)} ? {1 << i}u : 0u)"
            for i, s in enumerate(self.lists)
            if s.when
        ]
        lines += ["    (void)s;"] if not bits else []
        lines += [f"    return {' | '.join(['kAlways', *bits])};", "  }", ""]
        lines += ["  struct Prepared {"]
        for source, (member, _) in self.hoisted.items():
            lines.append(f"    {'double' if member[0] == 'n' else 'bool'} {member};  // {source}")
        lines += ["  };", "", *self._prepare(), ""]
        lines += ["  template <class T, unsigned kPresent>", "  struct Update {"]
        lines += [f"    T {', '.join(numbers)};"] if numbers else []
        lines += [f"    math::Uniform<T> {', '.join(truths)};"] if truths else []
        initial = [f"{m}(static_cast<T>(n.{m}))" for m in numbers] + [f"{m}(n.{m})" for m in truths]
        lines += [
            "    DT_FN explicit Update(const Prepared& n)",
            f"        : {', '.join(initial)} {{}}",
        ]
        lines += ["", *body, "  };", "};", ""]
        return "\n".join(lines)

    # ---- once for a parameter

    def _prepare(self) -> list[str]:
        lines = [
            "  // `scalars` are the parameter's, in the row's order; power(a, b) is a to the b.",
            "  template <class Power>",
            "  static DT_MATH Prepared prepare(const Settings& s, float* const* scalars, Power power) {",
        ]
        lines += self._settings_read([self.o.numbers, *self.hoisted])
        for i, s in enumerate(self.states):
            count = " + 1.0f" if s.name == "step" else ""
            store = f"*scalars[{i}] = *scalars[{i}]{count}" if count else f"*scalars[{i}]"
            lines.append(f"    [[maybe_unused]] double {s.name} = {store};")
        known = {s.name: i for i, s in enumerate(self.states)}
        for line in self.numbers:
            name, value = line.targets[0].id, line.value
            # A float32 number that is changed in place: so is its factor, as PyTorch's is.
            changed = name in known and isinstance(value, ast.BinOp)
            changed = changed and isinstance(value.op, ast.Mult) and ast.unparse(value.left) == name
            value = _Doubles().print(ast.unparse(value.right if changed else value))
            if name in known:
                sign = "*=" if changed else "="
                lines.append(
                    f"    {name} = *scalars[{known[name]}] {sign} static_cast<float>({value});"
                )
            else:
                kind = "bool" if name in self.flags else "double"
                lines.append(f"    [[maybe_unused]] const {kind} {name} = {value};")
        lines += ["    (void)scalars, (void)power;", "    Prepared n;"]
        lines += [f"    n.{member} = {value};" for member, value in self.hoisted.values()]
        return [*lines, "    return n;", "  }"]

    def _settings_read(self, texts) -> list[str]:
        """Settings that the texts mention, as variables."""
        words = {n for t in texts if t for n in _names(t)}
        lines = []
        for s in [
            *self.o.settings,
            *([Setting("first", True, False, "")] if self.o.reads_first else []),
        ]:
            if s.name in words:
                kind = "bool" if s.flag else "double"
                lines.append(f"    const {kind} {s.name} = s.{s.name};")
        return lines

    # ---- for each element

    def _update(self) -> list[str]:
        lines = ["    DT_FN void operator()(T* x) const {"]
        lines += ["      constexpr int kGrad = 1 + lists_before(kPresent, kLists);"]
        lines += ["      T param = x[0];", "      [[maybe_unused]] T grad = x[kGrad];"]
        declared = {"param", "grad"}
        for i, s in enumerate(self.lists):
            place = f"x[1 + lists_before(kPresent, {i})]"
            if s.when:
                lines.append(f"      [[maybe_unused]] T {s.name} = T(0);")
                lines.append(f"      if constexpr (kPresent >> {i} & 1) {s.name} = {place};")
            else:
                lines.append(f"      T {s.name} = {place};")
            declared.add(s.name)
        self.declared = declared
        for line in _statements(self.o.update, conditions=True):
            lines += self._statement(line, "      ")
        lines.append("      x[0] = param;")
        for i, s in enumerate(self.lists):
            condition = f"if constexpr (kPresent >> {i} & 1) " if s.when else ""
            lines.append(f"      {condition}x[1 + lists_before(kPresent, {i})] = {s.name};")
        return [*lines, "    }"]

    def _statement(self, line: ast.stmt, indent: str) -> list[str]:
        if isinstance(line, ast.Assign):
            return [indent + self._assignment(line, None)]
        bit = self._list_that_exists_if(line.test)
        if bit is not None:
            inner = [text for s in line.body for text in self._statement(s, indent + "  ")]
            return [f"{indent}if constexpr (kPresent >> {bit} & 1) {{", *inner, f"{indent}}}"]
        condition = self._element(line.test)
        return [indent + self._assignment(s, condition) for s in line.body]

    def _assignment(self, line: ast.Assign, condition: str | None) -> str:
        name, value = line.targets[0].id, self._element(line.value)
        if isinstance(line.value, ast.Constant):
            value = f"T({line.value.value})"
        if condition:
            return f"{name} = math::where({condition}, {value}, {name});"
        fresh = name not in self.declared
        self.declared.add(name)
        return f"{'T ' if fresh else ''}{name} = {value};"

    def _list_that_exists_if(self, test: ast.expr) -> int | None:
        for i, s in enumerate(self.lists):
            if s.when and ast.dump(expr.parse(s.when)) == ast.dump(test):
                return i
        return None

    def _element(self, node: ast.expr) -> str:
        """C++ over elements of type T. What is made of settings and numbers alone has been prepared."""
        return ast.unparse(formula.Scalars().visit(_Hoist(self).visit(_copy(node))))

    def hoist(self, node: ast.expr) -> ast.expr:
        source = ast.unparse(node)
        if source not in self.hoisted:
            truth = isinstance(node, (ast.Compare, ast.BoolOp)) or source in self.flags
            truth = truth or isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
            kind = "f" if truth else "n"
            number = sum(m[0] == kind for m, _ in self.hoisted.values())
            self.hoisted[source] = (f"{kind}{number}", _Doubles().print(source))
        return ast.Name(self.hoisted[source][0])

    def is_scalar(self, node: ast.expr) -> bool:
        return all(n in self.scalars for n in _names(ast.unparse(node)))


class _Hoist(ast.NodeTransformer):
    """Replaces the largest parts that are one number for a whole parameter by what was prepared."""

    def __init__(self, compiler: _Compiler):
        self.compiler = compiler

    def visit(self, node):
        plain = isinstance(node, ast.Constant) or not isinstance(node, ast.expr)
        negative = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
        if not plain and not negative and self.compiler.is_scalar(node):
            return self.compiler.hoist(node)
        if isinstance(node, ast.Call):  # the function's name is no value
            return ast.Call(node.func, [self.visit(a) for a in node.args], [])
        return self.generic_visit(node)


class _Doubles(formula.Scalars):
    """C++ over doubles: for what is computed once."""

    def visit_Constant(self, node):  # noqa: N802
        return ast.Constant(float(node.value))

    def visit_BinOp(self, node):  # noqa: N802
        if isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name("power"), [self.visit(node.left), self.visit(node.right)], [])
        return self.generic_visit(node)


def _copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _names(text: str) -> set[str]:
    tree = ast.parse(text)
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}


def _statements(text: str, conditions: bool = False) -> list:
    """The lines of a piece of a row: assignments to names, and `if`s without else where allowed."""
    try:
        lines = ast.parse(text).body
    except SyntaxError as error:
        raise SchemaError(f"line {error.lineno} of '{text.strip()}' is no Python") from None
    for line in lines:
        inner = line.body if conditions and isinstance(line, ast.If) and not line.orelse else [line]
        for s in inner:
            if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name):
                raise SchemaError(f"'{ast.unparse(line)}': a row consists of lines NAME = VALUE")
    return lines
