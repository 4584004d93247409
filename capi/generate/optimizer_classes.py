"""Prints who calls the optimizers' steps: the core's rows and constructors, and Python's classes."""

from __future__ import annotations

import ast

from . import expr, python_layers, text
from .model import Argument, Kind, Optimizer, Schema, Setting, State
from .text import GENERATED


def generate(schema: Schema) -> dict[str, str]:
    optimizers = list(schema.optimizers.values())
    rows = [o for o in optimizers if not o.kind_of]
    core = [
        f"// {GENERATED}",
        _CORE_INTRO,
        *(_row(o) for o in rows),
        _table(rows),
        *(_constructor(schema, o) for o in optimizers),
        "}  // namespace dt\n",
    ]
    makers = "\n".join(f"{_head(o)};" for o in optimizers)
    return {
        "core/optim/optimizers.gen.h": f"// {GENERATED}\n{_HEADER.replace('@MAKERS@', makers)}",
        "core/optim/optimizers.gen.cpp": "\n".join(core),
        "wrappers/python/dumbtorch/optim/optimizers.py": python(optimizers),
    }


# ---- core

_HEADER = """\
// The constructors of the optimizers. What each computes is in kernels/optimizers.gen.h.
#pragma once

#include "core/ops/options.h"
#include "core/optim/optimizer.h"

namespace dt {

@MAKERS@

}  // namespace dt
"""

_CORE_INTRO = """\
// clang-format off
#include "core/optim/optimizers.gen.h"

#include "core/runtime/calls/optimizers.gen.h"

namespace dt {
"""


class _Settings(ast.NodeTransformer):
    """Conditions and numbers over a list of settings `s`, in C++."""

    def __init__(self, o: Optimizer):
        self.places = {s.name: (i, s.flag) for i, s in enumerate(o.settings)}

    def print(self, source: str) -> str:
        source = ast.unparse(self.visit(expr.parse(source)))
        return source.replace(" and ", " && ").replace(" or ", " || ").replace("not ", "!")

    def visit_Name(self, node):  # noqa: N802
        place, flag = self.places[node.id]
        value = ast.Subscript(ast.Name("s"), ast.Constant(place))
        return ast.Call(ast.Name("bool"), [value], []) if flag else value


def _row(o: Optimizer) -> str:
    settings = ", ".join(f'{{"{s.name}", {str(s.flag).lower()}}}' for s in o.settings)
    cpp = _Settings(o)
    states = "".join(f"    {_state(cpp, s)},\n" for s in o.states)
    lines = [f"static const OptimizerRow::Setting {o.snake}_settings[] = {{{settings}}};"]
    if o.states:
        lines += [f"static const OptimizerRow::State {o.snake}_states[] = {{\n{states}}};"]
    lines += [f"static void check_{o.snake}(const Settings& s) {{"]
    lines += [f"  {text.check(cpp, condition, message)}" for condition, message in o.checks]
    kept = f"{{{o.snake}_states, {len(o.states)}}}" if o.states else "{}"
    lines += [
        "}",
        f"static const OptimizerRow {o.snake}_row = {{",
        f'    "{o.snake}", op::{o.snake}, {{{o.snake}_settings, {len(o.settings)}}}, {kept},',
        f"    {str(o.reads_first).lower()}, check_{o.snake}}};\n",
    ]
    return "\n".join(lines)


def _state(cpp: _Settings, s: State) -> str:
    exists = cpp.print(s.when) if s.when else "true"
    initial = cpp.print(s.number or s.fill or "0")
    argument = lambda value: "const Settings& s" if "s[" in value else "const Settings&"  # noqa: E731
    return (
        f'{{"{s.name}", {str(bool(s.number)).lower()}, []({argument(exists)}) -> bool {{ return {exists}; }}, '
        f"[]({argument(initial)}) -> double {{ return {initial}; }}}}"
    )


def _table(rows: list[Optimizer]) -> str:
    lines = ["const OptimizerRow& optimizer_row(const std::string& name) {"]
    lines += [f'  if (name == "{o.snake}") return {o.snake}_row;' for o in rows]
    names = ", ".join(o.snake for o in rows)
    lines += [
        f'  fail(Code::kValueError, "there is no optimizer \'", name, "\'; there are {names}");',
        "}\n",
    ]
    return "\n".join(lines)


def _head(o: Optimizer) -> str:
    return (
        f"Ref<Optimizer> make_{o.snake}(TensorList params, const {text.camel(o.snake)}Options& o)"
    )


def _constructor(schema: Schema, o: Optimizer) -> str:
    """A kind of another optimizer passes that one's settings on."""
    base = schema.optimizers[o.kind_of] if o.kind_of else o
    own = {s.name for s in o.settings}
    values = [
        f"double(o.{s.name})" if s.name in own else str(float(o.fixed[s.name]))
        for s in base.settings
    ]
    return "\n".join(
        [
            f"{_head(o)} {{",
            f"  return Ref<Optimizer>::adopt(new Optimizer({base.snake}_row, params, {{{', '.join(values)}}}));",
            "}\n",
        ]
    )


# ---- Python

_PYTHON_INTRO = '''\
"""The optimizers of the schema: their arguments, and what they keep for each parameter."""

from __future__ import annotations

from .optimizer import Optimizer, Row, check_one_rate, check_variants
'''


def python(optimizers: list[Optimizer]) -> str:
    names = ", ".join(f'"{o.name}"' for o in optimizers)
    classes = [_class(o, optimizers) for o in optimizers]
    return "\n".join(
        [f"# {GENERATED}", _PYTHON_INTRO, f"__all__ = [{names}]\n\n", "\n\n".join(classes)]
    )


def _class(o: Optimizer, optimizers: list[Optimizer]) -> str:
    lines = [
        f"class {o.name}({o.kind_of or 'Optimizer'}):",
        *python_layers.indented(_documentation(o)),
        "",
    ]
    if not o.kind_of:
        lines += [*_python_row(o), ""]
    lines += ["    def __init__(", "        self,", "        params,"]
    lines += [f"        {argument}," for argument in python_arguments(o)]
    lines.append("    ):")
    given = {name for name, _ in o.python}
    if o.kind_of:
        return "\n".join([*lines, *_python_kind(o, optimizers)])
    for name, settings in o.python:
        if len(settings) > 1:
            lines.append(f"        {', '.join(settings)} = {name}")
    lines.append("        check_one_rate(lr)")
    printer = expr.Printer()
    for condition, message in o.checks:
        quote = "f" if "{" in message else ""
        lines += [f"        if not ({printer.print(condition)}):"]
        lines += [f'            raise ValueError({quote}"{message}")']
    choices = ", ".join(c if c in given else "None" for c in ("foreach", "fused", "differentiable"))
    lines.append(f"        check_variants(type(self).__name__, {choices})")
    items = {
        name: f'"{name}": {f"tuple({name})" if settings and settings != (name,) else name}'
        for name, settings in o.python
        if name != "*"
    }
    lines += [
        "        settings = {",
        *(f"            {items[k]}," for k in o.keys or items),
        "        }",
    ]
    return "\n".join([*lines, "        super().__init__(params, settings)"]) + "\n"


def _documentation(o: Optimizer) -> list[str]:
    """The class's, with what PyTorch puts together put together: `betas` are beta1 and beta2."""
    docs = {s.name: s.doc for s in o.settings}
    texts = {
        "params": "The parameters to optimize, or dicts of groups of them with settings of their own."
    }
    for name, settings in o.python:
        first, *rest = [docs[s] for s in settings] or [""]
        texts[name] = "; ".join([first.removesuffix("."), *(d[0].lower() + d[1:] for d in rest)])
    choices = [name for name, settings in o.python if not settings]
    texts = {name: doc for name, doc in texts.items() if name not in choices}
    own = ("*", "differentiable")
    texts[", ".join(c for c in choices if c not in own)] = (
        "PyTorch's choices of an implementation; here is one"
    )
    texts |= {"differentiable": "Refused, if it is true"} if "differentiable" in choices else {}
    args = tuple(Argument(name, Kind("f64"), doc) for name, doc in texts.items())
    return python_layers.documented(o.doc, args, {})


def python_arguments(o: Optimizer) -> list[str]:
    """Those of the class behind its parameters: ["lr=0.001", "betas=(0.9, 0.999)", "*", "foreach=None"]."""
    by_name = {s.name: s for s in o.settings}
    arguments = []
    for name, settings in o.python:
        if name == "*":
            arguments.append(name)
        elif not settings:
            value = False if name in ("capturable", "differentiable") else None
            arguments.append(f"{name}={value}")
        else:
            values = [_number(by_name[s]) for s in settings]
            value = values[0] if settings == (name,) else f"({', '.join(values)})"
            arguments.append(f"{name}={value}")
    return arguments


def _number(s: Setting) -> str:
    """PyTorch's defaults of settings that are usually 0 are integers."""
    return str(int(s.default)) if s.whole or (s.default == 0 and not s.flag) else repr(s.default)


def _python_row(o: Optimizer) -> list[str]:
    kept = [
        f'"{s.name}" if {_of_group(o, s.when)} else None' if s.when else f'"{s.name}"'
        for s in o.states
    ]
    return [
        "    _row = Row(",
        f'        "{o.snake}",',
        *_lines_of_group([_of_group(o, s.name) for s in o.settings]),
        f"        states={_tuple(s.name for s in o.states)},",
        f"        numbers={_tuple(s.name for s in o.states if s.number)},",
        *_lines_of_group(kept, "kept="),
        *_lines_of_group([_of_group(o, s.number or s.fill or "0") for s in o.states], "initial="),
        f"        reads_first={o.reads_first},",
        "    )",
    ]


def _tuple(names) -> str:
    names = [f'"{name}"' for name in names]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _lines_of_group(values: list[str], name: str = "") -> list[str]:
    """A function of a parameter group `g` that gives the values of these expressions."""
    if not values:
        return [f"        {name}lambda g: (),"]
    return [f"        {name}lambda g: (", *(f"            {v}," for v in values), "        ),"]


def _of_group(o: Optimizer, source: str) -> str:
    """An expression over settings, read from a parameter group `g`."""
    places = {}
    for name, settings in o.python:
        for i, s in enumerate(settings):
            places[s] = f'g["{name}"]' if settings == (name,) else f'g["{name}"][{i}]'
    return expr.Printer(places).print(source)


def _python_kind(o: Optimizer, optimizers: list[Optimizer]) -> list[str]:
    base = next(b for b in optimizers if b.name == o.kind_of)
    given = {name for name, _ in o.python if name != "*"}
    lines = ["        super().__init__(", "            params,"]
    for name, _ in base.python:
        if name in given:
            lines.append(f"            {name}={name},")
        elif name in o.fixed:
            lines.append(f"            {name}={o.fixed[name]},")
    lines += ["        )", ""]
    fixed = ", ".join(f"{name}={value}" for name, value in o.fixed.items())
    return [
        *lines,
        "    def load_state_dict(self, state_dict: dict) -> None:",
        f'        """Restores what state_dict gave, also that of {o.kind_of}: this stays what it is."""',
        "        super().load_state_dict(state_dict)",
        "        for group in self.param_groups:",
        f"            group.update({fixed})\n",
    ]
