"""Formulas of elementwise rows: expressions (expr.py) over numbers that also mean something over tensors.

A formula is parsed once. From its tree come the names it reads, and the C++ of both worlds: `Scalars` prints what a
kernel computes for one element, `Tensors` what the core computes when the gradient itself is to be differentiated.
"""

from __future__ import annotations

import ast

from . import expr
from .expr import SchemaError

# Functions of one element, with how many arguments they take. kernels/math_elementwise.h has them; those that gradients
# use are also ops, or overloads of core/ops/formula.h.
FUNCTIONS = {
    "abs": 1, "sign": 1, "floor": 1, "ceil": 1, "trunc": 1, "round": 1, "square": 1, "conj": 1,
    "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "sqrt": 1, "rsqrt": 1, "pow": 2,
    "exp2": 1, "log2": 1, "log10": 1, "erf": 1, "sigmoid": 1, "logsigmoid": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "hypot": 2,
    "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
    "maximum": 2, "minimum": 2, "div_trunc": 2, "div_floor": 2, "modulo": 2, "fmod": 2,
    "signbit": 1, "copysign": 2, "xlogy": 2, "xlog1py": 2, "gcd": 2, "lcm": 2,
    "isinf": 1, "isfinite": 1, "left_shift": 2, "right_shift": 2, "zeros_like": 1,
    "erfc": 1, "erfcx": 1, "erfinv": 1, "ndtri": 1, "lgamma": 1, "digamma": 1, "trigamma": 1, "zeta": 2, "bessel_i": 3,
    "bessel": 2, "gamma_part": 3, "orthogonal_polynomial": 3,
    "cross_entropy_slope": 2, "lerp": 3,
}  # fmt: skip

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.BitXor, ast.USub, ast.Invert,
)  # fmt: skip


def check_functions(text: str) -> None:
    for node in ast.walk(expr.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                if name not in FUNCTIONS:
                    raise SchemaError(f"'{text}': there is no function {name}")
                if len(args) != FUNCTIONS[name]:
                    raise SchemaError(f"'{text}': {name} takes {FUNCTIONS[name]} arguments")


def check(text: str, known: set[str]) -> None:
    """A formula consists of what both worlds have, over known names."""
    check_functions(text)
    for node in ast.walk(expr.parse(text)):
        match node:
            case ast.Compare(ops=[op]) if type(op) not in _COMPARE:
                raise SchemaError(f"'{text}': formulas compare by == != < <= > >=")
            case ast.BinOp(op=op) | ast.UnaryOp(op=op) if not isinstance(
                op, (*_OPERATORS, ast.Not)
            ):
                raise SchemaError(f"'{text}': formulas have no operator {type(op).__name__}")
    unknown = [n for n in expr.names(text) if n not in known]
    if unknown:
        raise SchemaError(f"'{text}': nothing is called {unknown[0]}")


class _Cpp(ast.NodeTransformer):
    """Turns what C++ spells differently into calls: `a if c else b` is where(c, a, b), `a < b` is lt(a, b), a number
    2 is T(2). What is left means the same in both languages, with the same precedence."""

    def function(self, name: str) -> str:
        return name

    def print(self, text: str) -> str:
        return ast.unparse(self.visit(expr.parse(text)))

    def _call(self, name: str, *args: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(self.function(name)), [self.visit(a) for a in args], [])

    def visit_Constant(self, node):  # noqa: N802
        return ast.Call(ast.Name("T"), [node], [])

    def visit_UnaryOp(self, node):  # noqa: N802
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return self.visit_Constant(ast.Constant(-value))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._call("logical_not", operand)
        return self.generic_visit(node)

    def visit_Compare(self, node):  # noqa: N802
        return self._call(_COMPARE[type(node.ops[0])], node.left, node.comparators[0])

    def visit_BoolOp(self, node):  # noqa: N802
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        first, *rest = (self.visit(value) for value in node.values)
        for other in rest:
            first = ast.Call(ast.Name(self.function(name)), [first, other], [])
        return first

    def visit_IfExp(self, node):  # noqa: N802
        return self._call("where", node.test, node.body, node.orelse)

    def visit_Call(self, node):  # noqa: N802
        return self._call(node.func.id, *node.args)


class Scalars(_Cpp):
    """Over numbers of type T. Functions are qualified: inside `struct abs`, plain `abs(x)` would name the struct."""

    def function(self, name):
        return "math::" + name

    def visit_Call(self, node):  # noqa: N802
        if node.func.id == "zeros_like":
            return self.visit_Constant(ast.Constant(0))
        return super().visit_Call(node)


class Tensors(_Cpp):
    """Over Tensors, where T is double."""
