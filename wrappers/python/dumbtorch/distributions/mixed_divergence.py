"""How far a distribution of one class is from one of another: E[log p - log q], by p's entropy and moments."""

from __future__ import annotations

import math

from .. import _ops
from .choices import Bernoulli
from .counts import Binomial, Poisson
from .divergence import register_kl
from .gammas import Beta, Gamma
from .made import Gumbel, Pareto
from .numbers import Exponential, Laplace, Normal, Uniform
from .relaxed import ContinuousBernoulli
from .utils import euler_constant

# What some of p's numbers lie beyond: of the classes of the first entry, those of the second do not know all.
_INFINITE = {
    Beta: [Pareto],
    ContinuousBernoulli: [Pareto],
    Exponential: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gamma: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gumbel: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Laplace: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Normal: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Pareto: [Beta, ContinuousBernoulli, Uniform],
    Poisson: [Bernoulli, Binomial],
}


def _infinite(p, q):
    like = getattr(p, next(name for name in p.arg_constraints if name in dir(p)))
    return _ops.full_like(like, math.inf)


for _p, _others in _INFINITE.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


def _to_exponential(p, q, mean):
    return -p.entropy() - q.rate.log() + q.rate * mean


def _to_gamma(p, q, mean, mean_log):
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + norm + (1 - q.concentration) * mean_log + q.rate * mean


def _to_normal(p, q, mean, variance):
    square = variance + (mean - q.loc).pow(2)
    logs = 0.5 * math.log(2 * math.pi) + q.scale.log()
    return -p.entropy() + logs + 0.5 * square / q.scale.pow(2)


def _to_gumbel(p, q, mean, mean_exp):
    """mean_exp is that of exp(-x / q.scale)."""
    tail = (q.loc / q.scale).exp() * mean_exp
    return -p.entropy() + q.scale.log() + (mean - q.loc) / q.scale + tail


def _to_continuous_bernoulli(p, q, mean):
    return -p.entropy() - mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _unless(beyond, value):
    """Infinite where p has numbers that q does not know."""
    return _ops.where(beyond, math.inf, value)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p, q):
    return _to_continuous_bernoulli(p, q, p.mean)


@register_kl(Beta, Exponential)
def _beta_exponential(p, q):
    return _to_exponential(p, q, p.mean)


@register_kl(Beta, Gamma)
def _beta_gamma(p, q):
    total = p.concentration1 + p.concentration0
    return _to_gamma(p, q, p.mean, p.concentration1.digamma() - total.digamma())


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _moments_normal(p, q):
    return _to_normal(p, q, p.mean, p.variance)


@register_kl(Beta, Uniform)
def _beta_uniform(p, q):
    beyond = (q.low > 0) | (q.high < 1)
    return _unless(beyond, -p.entropy() + (q.high - q.low).log())


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_bernoulli_exponential(p, q):
    return _to_exponential(p, q, p.mean)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p, q):
    beyond = (q.low >= 0) | (q.high <= 1)  # PyTorch's edges, which are infinite, too
    return _unless(beyond, -p.entropy() + (q.high - q.low).log())


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    return _to_gamma(p, q, p.mean, -euler_constant - p.rate.log())


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    product = p.rate * q.scale
    return _to_gumbel(p, q, p.mean, product / (product + 1))


@register_kl(Gamma, Exponential)
def _gamma_exponential(p, q):
    return _to_exponential(p, q, p.mean)


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p, q):
    mean_exp = (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    return _to_gumbel(p, q, p.mean, mean_exp)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p, q):
    mean_exp = (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()
    return _to_gumbel(p, q, p.mean, mean_exp)


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    apart, ratio = p.loc - q.loc, (p.loc - q.loc) / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp()
    distance = distance + apart * (math.sqrt(0.5) * ratio).erf()
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Pareto, Exponential)
def _pareto_exponential(p, q):
    mean = p.alpha * p.scale / (p.alpha - 1)
    return _unless(p.alpha <= 1, _to_exponential(p, q, mean))


@register_kl(Pareto, Gamma)
def _pareto_gamma(p, q):
    mean = p.alpha * p.scale / (p.alpha - 1)
    mean_log = p.scale.log() + p.alpha.reciprocal()
    return _unless(p.alpha <= 1, _to_gamma(p, q, mean, mean_log))


@register_kl(Pareto, Normal)
def _pareto_normal(p, q):
    return _unless(p.alpha <= 2, _to_normal(p, q, p.mean, p.variance))


def _mean_log(low, high):
    """Of numbers from low to high."""
    return (_ops.xlogy(high, high) - _ops.xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    return _unless((p.high > 1) | (p.low < 0), norm - logs - p.entropy())


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p, q):
    beyond = (p.high >= 1) | (p.low <= 0)  # PyTorch's edges, which are infinite, too
    return _unless(beyond, _to_continuous_bernoulli(p, q, p.mean))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    return _unless(p.low < 0, _to_exponential(p, q, p.mean))


@register_kl(Uniform, Gamma)
def _uniform_gamma(p, q):
    return _unless(p.low < 0, _to_gamma(p, q, p.mean, _mean_log(p.low, p.high)))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    low, high = p.low / q.scale, p.high / q.scale
    return _to_gumbel(p, q, p.mean, ((-low).exp() - (-high).exp()) / (high - low))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    logs = q.alpha.log() + q.alpha * q.scale.log()
    value = (q.alpha + 1) * _mean_log(p.low, p.high) - logs - p.entropy()
    return _unless(p.low < q.scale, value)
