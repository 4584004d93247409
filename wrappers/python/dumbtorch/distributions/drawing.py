"""Numbers of gamma and Dirichlet distributions, and how they move with their parameters.

A number x of a distribution F(x; a) moves by dx/da = -(dF/da) / p, with the density p. dF/da is an integral of
p times the score, over the numbers on that side of x that has less of the mass. Its nodes are those of the
double exponential rule, stretched as far as the density decays."""

from __future__ import annotations

import math

from .. import _ops, _type_info
from .._creation import tensor
from ..autograd.function import Function, once_differentiable

_STEP, _REACH = 1 / 12, 42
_NODES = [math.exp(math.pi / 2 * math.sinh(i * _STEP)) for i in range(-_REACH, _REACH + 1)]
_WEIGHTS = [
    v * math.pi / 2 * math.cosh(i * _STEP) * _STEP
    for i, v in zip(range(-_REACH, _REACH + 1), _NODES, strict=True)
]
_AT_ONCE = 1 << 16  # how many values of an integrand are made at a time


def _integral(integrand, scale):
    """The integral of a function from 0 to infinity, which decays over about `scale`, for each element."""
    total = _ops.zeros_like(scale)
    block = max(1, _AT_ONCE // max(1, scale.numel()))
    for first in range(0, len(_NODES), block):
        nodes, weights = (
            tensor(row[first : first + block], dtype=scale.dtype, device=scale.device).unsqueeze(-1)
            for row in (_NODES, _WEIGHTS)
        )
        total += (integrand(scale * nodes) * weights).sum(0)
    return total * scale


def _by_side(is_below, below, above, *parameters):
    """What `below` gives of the parameters where is_below says so, and `above` elsewhere."""
    flat = [p.flatten() for p in _ops.broadcast_tensors(list(parameters))]
    chosen, result = is_below.flatten(), _ops.empty_like(flat[0])
    for places, function in ((chosen, below), (~chosen, above)):
        result[places] = function(*(p[places] for p in flat))
    return result.view(is_below.shape)


def _gamma_below(a, x):
    """At numbers x e^-v."""
    mean, log_x = a.digamma(), x.log()
    return _integral(
        lambda v: -x * (log_x - v - mean) * _ops.exp(-a * v - x * _ops.expm1(-v)),
        1 / (a - x + x.sqrt()),
    )


def _gamma_above(a, x):
    """At numbers x + v."""
    mean = a.digamma()
    return _integral(
        lambda v: ((v / x).log1p() * (a - 1) - v).exp() * ((x + v).log() - mean),
        x / (x - a + 1 + (a - 1).abs().sqrt()),
    )


def gamma_slope(a, x):
    """How a number x of a gamma distribution of the concentration a moves with it."""
    return _by_side(x < a, _gamma_below, _gamma_above, a, x)


def _beta_scale(a, b, x):
    """How far from x the density falls, in the logarithm of numbers."""
    odds = x / (1 - x)
    return 1 / ((a - (b - 1) * odds).abs() + (b - 1).abs().mul(odds).sqrt())


def _beta_below(a, b, x):
    """At numbers x e^-v."""
    mean, rest, log_x = a.digamma() - (a + b).digamma(), (-x).log1p(), x.log()
    return _integral(
        lambda v: (
            -x
            * (log_x - v - mean)
            * _ops.exp(-a * v + (b - 1) * ((-x * _ops.exp(-v)).log1p() - rest))
        ),
        _beta_scale(a, b, x),
    )


def _beta_above(a, b, x):
    """At numbers 1 - y e^-v."""
    y = 1 - x
    mean, rest = a.digamma() - (a + b).digamma(), (-y).log1p()

    def integrand(v):
        place = (-y * _ops.exp(-v)).log1p()
        return y * _ops.exp(-b * v + (a - 1) * (place - rest)) * (place - mean)

    return _integral(integrand, _beta_scale(b, a, y))


def beta_slope(a, b, x):
    """How a number x of a beta distribution moves with its first concentration, divided by 1 - x."""
    return _by_side(x * (a + b) < a, _beta_below, _beta_above, a, b, x) / (1 - x)


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
