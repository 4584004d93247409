"""The expressions of the schema: a few forms of Python's syntax. Elementwise rows (formula.py), layers and
optimizers are written in them; each says which forms it has.

Those of layers are names, numbers, strings, true/false/none, + - * / // % **, comparisons, `and or not`,
`a if c else b`, `x is none`, calls, subscripts and lists; `Printer` says them in each language."""

from __future__ import annotations

import ast
import functools

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_WORDS = ("true", "false", "none")
OF_ARGUMENTS = ("number", "value")  # of an argument, as if they were ops


class SchemaError(Exception):
    """The schema says something that cannot be expressed. The message names the row."""


def parse(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise SchemaError(f"'{text}' is not an expression") from None
    if any(isinstance(n, ast.Compare) and len(n.ops) > 1 for n in ast.walk(tree)):
        raise SchemaError(f"'{text}': a comparison is of two: 'a < b and b < c'")
    return tree


@functools.cache
def names(text: str) -> tuple[str, ...]:
    """The variables that an expression mentions, in order; functions do not count."""
    tree = parse(text)
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    counted = {n.id for n in found if isinstance(n.ctx, ast.Store)}  # `i` of `for i in range(n)`
    return tuple(n for n in dict.fromkeys(n.id for n in found) if n not in {*_WORDS, *counted})


def same(one: str, other: str) -> bool:
    return ast.dump(parse(one)) == ast.dump(parse(other))


def lists_looked_into(text: str) -> set[str]:
    """Those of which expressions behind commas take entries: *size, size[0]."""
    parts = [
        n.value for n in ast.walk(parse(f"[{text}]")) if isinstance(n, (ast.Starred, ast.Subscript))
    ]
    return {n.id for n in parts if isinstance(n, ast.Name)}


def calls(text: str) -> list[str]:
    """The functions that an expression calls."""
    found = [name for name, _ in calls_of(text)]
    return [name for name in dict.fromkeys(found) if name != "range"]


def calls_of(text: str) -> list[tuple[str, int]]:
    """The function of each call in an expression, and how many arguments it has without names."""
    found = [n for n in ast.walk(parse(text)) if isinstance(n, ast.Call)]
    for n in found:
        if not isinstance(n.func, ast.Name):
            raise SchemaError(f"'{text}': '{ast.unparse(n.func)}' is no function's name")
    return [(n.func.id, len(n.args)) for n in found]


class Printer:
    """Prints an expression as Python. `variables` and `functions` map names to how a language says
    them; what they lack stays as it is. A language overrides what it spells differently."""

    true, false, none = "True", "False", "None"
    conjunction, disjunction, negation = " and ", " or ", "not "

    def __init__(self, variables: dict[str, str] | None = None, functions=None):
        self.variables, self.functions = variables or {}, functions or {}

    def print(self, text: str) -> str:
        return self._node(parse(text))

    def call(self, function: str, arguments: list[str]) -> str:
        return f"{self.functions.get(function, function)}({', '.join(arguments)})"

    def power(self, a: str, b: str) -> str:
        return f"{a} ** {b}"

    def division(self, a: str, b: str) -> str:
        return f"{a} / {b}"

    def floor_division(self, a: str, b: str) -> str:
        return f"{a} // {b}"

    def modulo(self, a: str, b: str) -> str:
        return f"{a} % {b}"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return f"{yes} if {condition} else {no}"

    def is_none(self, x: str) -> str:
        return f"{x} is None"

    def is_given(self, x: str) -> str:
        return f"{x} is not None"

    def list(self, items: list[str]) -> str:
        return f"[{', '.join(items)}]"

    def string(self, value: str) -> str:
        return '"' + value + '"'

    def _operand(self, node: ast.expr) -> str:
        """In brackets if it has operators of its own."""
        simple = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.List)
        text = self._node(node)
        return text if isinstance(node, simple) else f"({text})"

    def _node(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name) if name in _WORDS:
                return getattr(self, name)
            case ast.Name(id=name):
                return self.variables.get(name, name)
            case ast.Constant(value=str(value)):
                return self.string(value)
            case ast.Constant(value=value):
                return repr(value)
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return f"-{self._operand(x)}"
            case ast.UnaryOp(op=ast.Not(), operand=x):
                return f"{self.negation}{self._operand(x)}"
            case ast.BinOp(left=a, op=ast.Pow(), right=b):
                return self.power(self._operand(a), self._operand(b))
            case ast.BinOp(left=a, op=op, right=b):
                return self._binary(op, self._operand(a), self._operand(b))
            case ast.BoolOp(op=op, values=values):
                word = self.conjunction if isinstance(op, ast.And) else self.disjunction
                return word.join(self._operand(v) for v in values)
            case ast.Compare(left=a, ops=[ast.Is()], comparators=[_]):
                return self.is_none(self._operand(a))
            case ast.Compare(left=a, ops=[ast.IsNot()], comparators=[_]):
                return self.is_given(self._operand(a))
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in _COMPARE:
                return f"{self._operand(a)} {_COMPARE[type(op)]} {self._operand(b)}"
            case ast.IfExp(test=c, body=yes, orelse=no):
                return self.choice(*(self._operand(x) for x in (c, yes, no)))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(name, [self._node(a) for a in args])
            case ast.Subscript(value=x, slice=i):
                return f"{self._operand(x)}[{self._node(i)}]"
            case ast.List(elts=items):
                return self.list([self._node(i) for i in items])
        raise SchemaError(f"'{ast.unparse(node)}' is no form that layer expressions have")

    def _binary(self, op: ast.operator, a: str, b: str) -> str:
        match op:
            case ast.Div():
                return self.division(a, b)
            case ast.FloorDiv():
                return self.floor_division(a, b)
            case ast.Mod():
                return self.modulo(a, b)
            case _ if type(op) in _BINARY:
                return f"{a} {_BINARY[type(op)]} {b}"
        raise SchemaError(f"operator '{type(op).__name__}' is not one of layer expressions")


class Cpp(Printer):
    """C++: numbers divide as in Python; an absent value is an undefined tensor or an empty optional."""

    true, false, none = "true", "false", "{}"
    conjunction, disjunction, negation = " && ", " || ", "!"

    def power(self, a: str, b: str) -> str:
        return f"pow({a}, {b})"

    def division(self, a: str, b: str) -> str:
        return f"double({a}) / double({b})"

    def floor_division(self, a: str, b: str) -> str:
        return f"floor_quotient({a}, {b})"

    def modulo(self, a: str, b: str) -> str:
        return f"modulo({a}, {b})"

    def choice(self, condition: str, yes: str, no: str) -> str:
        if no == self.none:  # which has no type of its own
            return f"given_if({condition}, {yes})"
        return f"{condition} ? {yes} : {no}"

    def is_none(self, x: str) -> str:
        return f"!is_given({x})"

    def is_given(self, x: str) -> str:
        return f"is_given({x})"

    def list(self, items: list[str]) -> str:
        return f"{{{', '.join(items)}}}"
