"""Numbers of gamma and Dirichlet distributions, and how they move with their parameters.

A number x of a distribution F(x; a) moves by dx/da = -(dF/da) / p, with the density p. dF/da is an integral of
p times the score, over the numbers on that side of x that has less of the mass. Its nodes are those of the
double exponential rule: from e^-8 to e^8 times pi / 2 in the exponent, they see peaks of any width."""

from __future__ import annotations

import math

from .. import _ops, _type_info
from .._creation import tensor
from ..autograd.function import Function, once_differentiable

_STEP = 1 / 16
_NODES = [math.exp(math.pi / 2 * math.sinh(i * _STEP)) for i in range(-56, 57)]
_WEIGHTS = [
    v * math.pi / 2 * math.cosh(i * _STEP) * _STEP
    for i, v in zip(range(-56, 57), _NODES, strict=True)
]
_AT_ONCE = 1 << 20  # how many values of an integrand are made at a time


def _integral(integrand, like):
    """The integral of a function from 0 to infinity, for each element."""
    total = _ops.zeros_like(like)
    block = max(1, _AT_ONCE // max(1, like.numel()))
    for first in range(0, len(_NODES), block):
        shape = (-1,) + (1,) * like.dim()
        nodes, weights = (
            tensor(row[first : first + block], dtype=like.dtype, device=like.device).view(shape)
            for row in (_NODES, _WEIGHTS)
        )
        total += (integrand(nodes) * weights).sum(0)
    return total


def gamma_slope(a, x):
    """How a number x of a gamma distribution of the concentration a moves with it."""
    mean = _ops.digamma(a)

    def below(v):  # at x e^-v
        return -x * (x.log() - v - mean) * _ops.exp(-a * v - x * _ops.expm1(-v))

    def above(v):  # at x + v
        return _ops.log1p(v / x).mul(a - 1).sub(v).exp() * ((x + v).log() - mean)

    return _ops.where(x < a, _integral(below, x), _integral(above, x))


def beta_slope(a, b, x):
    """How a number x of a beta distribution moves with its first concentration, divided by 1 - x."""
    y = 1 - x
    mean = _ops.digamma(a) - _ops.digamma(a + b)

    def below(v):  # at x e^-v
        rest = _ops.log1p(-x * _ops.exp(-v)) - _ops.log1p(-x)
        return -x * _ops.exp(-a * v + (b - 1) * rest) * (x.log() - v - mean)

    def above(v):  # at 1 - y e^-v
        place = _ops.log1p(-y * _ops.exp(-v))
        return y * _ops.exp(-b * v + (a - 1) * (place - _ops.log1p(-y))) * (place - mean)

    return _ops.where(x * (a + b) < a, _integral(below, x), _integral(above, x)) / y


def _drawn_gamma(a):
    """By squeezed cubes of normal numbers, of which nearly all are taken; for concentrations of 1 and more.
    (G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables, 2000)"""
    d = (a - 1 / 3).flatten()
    drawn, open_places = _ops.empty_like(d), _ops.arange(0, d.numel(), device=d.device)
    while open_places.numel():
        some = d[open_places]
        x, u = _ops.randn_like(some), _ops.rand_like(some)
        v = (1 + x / (9 * some).sqrt()) ** 3
        taken = (v > 0) & ((1 - u).log() < 0.5 * x * x + some * (1 - v + v.log()))
        drawn[open_places[taken]] = (some * v)[taken]
        open_places = open_places[~taken]
    return drawn.view(a.shape)


def _log_of_gamma(a):
    """Logarithms, which small concentrations need: a number of a + 1, times u^(1 / a), is one of a."""
    u = 1 - _ops.rand_like(a)
    return _drawn_gamma(a + 1).log() + u.log() / a


class _Gamma(Function):
    @staticmethod
    def forward(ctx, a):
        wide = a.detach().double()
        x = _log_of_gamma(wide).exp().to(a.dtype).clamp(min=_type_info.finfo(a.dtype).tiny)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        return grad * gamma_slope(a.double(), x.double()).to(a.dtype)


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx, a):
        info = _type_info.finfo(a.dtype)
        x = _log_of_gamma(a.detach().double()).softmax(-1).to(a.dtype)
        x = x.clamp(min=info.tiny, max=1 - info.eps / 2)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        wide = a.double()
        slope = beta_slope(wide, wide.sum(-1, keepdim=True) - wide, x.double()).to(a.dtype)
        return slope * (grad - (x * grad).sum(-1, keepdim=True))


def standard_gamma(a):
    """Numbers of gamma distributions of the rate 1, with a gradient by the concentrations."""
    return _Gamma.apply(a)


def dirichlet(a):
    """Vectors of Dirichlet distributions, with a gradient by the concentrations."""
    return _Dirichlet.apply(a)
