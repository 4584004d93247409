"""lgamma and its derivatives with all digits, for programs that PyTorch runs once more."""

from __future__ import annotations

import ast
import functools
import math

import mpmath
import torch


def by_exact_functions(program: str) -> str:
    """A program that calls the functions below."""
    return ast.unparse(_Calls().visit(ast.parse(program)))


class _Calls(ast.NodeTransformer):
    def visit_Call(self, call: ast.Call) -> ast.AST:
        self.generic_visit(call)
        if not isinstance(call.func, ast.Attribute):
            return call
        name, receiver = call.func.attr, call.func.value
        exact = NAMES.get(name.removesuffix("_"))
        if exact is None:
            return call
        if ast.unparse(receiver) in ("t", "t.special"):
            return self._call(exact, call.args, call)
        given = [*call.args, receiver] if exact == "exact_polygamma" else [receiver, *call.args]
        result = self._call(exact, given, call)
        if not name.endswith("_"):
            return result
        return ast.Call(ast.Attribute(receiver, "copy_", ast.Load()), [result], [])

    def _call(self, function: str, arguments: list, call: ast.Call) -> ast.Call:
        return ast.Call(ast.Name(function, ast.Load()), arguments, call.keywords)


NAMES = {
    "digamma": "exact_digamma",
    "psi": "exact_digamma",
    "polygamma": "exact_polygamma",
    "lgamma": "exact_lgamma",
    "gammaln": "exact_lgamma",
    "mvlgamma": "exact_mvlgamma",
    "multigammaln": "exact_mvlgamma",
}


def exact_digamma(input: torch.Tensor) -> torch.Tensor:
    return exact_polygamma(0, input)


def exact_polygamma(n: int, input: torch.Tensor) -> torch.Tensor:
    return _Polygamma.apply(_floats(input), n)


def exact_lgamma(input: torch.Tensor) -> torch.Tensor:
    return _Lgamma.apply(_floats(input))


def exact_mvlgamma(input: torch.Tensor, p: int) -> torch.Tensor:
    x = _floats(input)
    terms = sum(exact_lgamma(x - j / 2) for j in range(p))
    return terms + p * (p - 1) / 4 * float(mpmath.log(mpmath.pi))


FUNCTIONS = {f.__name__: f for f in (exact_digamma, exact_polygamma, exact_lgamma, exact_mvlgamma)}


def _floats(x: torch.Tensor) -> torch.Tensor:
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())


def _each(f, x: torch.Tensor) -> torch.Tensor:
    values = [f(v) for v in x.double().flatten().tolist()]
    return torch.tensor(values, dtype=torch.float64).reshape(x.shape).to(x.dtype)


def _polygamma(n: int, x: float) -> float:
    if x == math.inf:
        return 0.0 if n else x
    if not math.isfinite(x):
        return math.nan
    if x <= 0 and x == round(x):
        if n:
            return math.inf if n % 2 else -math.inf
        return math.nan if x else -math.copysign(math.inf, x)
    with mpmath.workdps(60):
        return float(_polygamma_by_reflection(n, mpmath.mpf(x)))


def _polygamma_by_reflection(n: int, x: mpmath.mpf) -> mpmath.mpf:
    """mpmath takes a step for each whole number below 0, however many there are. The two sides of the reflection
    differ by a multiple of a derivative of the cotangent, which has the period 1."""
    if x > -1:
        return mpmath.polygamma(n, x)
    within, sign = x - mpmath.floor(x), (-1) ** n
    difference = mpmath.polygamma(n, within) - sign * mpmath.polygamma(n, 1 - within)
    return sign * mpmath.polygamma(n, 1 - x) + difference


def _lgamma(x: float) -> float:
    if not math.isfinite(x):
        return abs(x)
    if x <= 0 and x == round(x):
        return math.inf
    with mpmath.workdps(60):
        return float(mpmath.log(abs(mpmath.gamma(mpmath.mpf(x)))))


class _Polygamma(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return _each(functools.partial(_polygamma, n), x)

    @staticmethod
    def backward(ctx, g):
        return g * _Polygamma.apply(ctx.saved_tensors[0], ctx.n + 1), None


class _Lgamma(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return _each(_lgamma, x)

    @staticmethod
    def backward(ctx, g):
        return g * _Polygamma.apply(ctx.saved_tensors[0], 0)
