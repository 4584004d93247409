"""How far one distribution is from another."""

from __future__ import annotations

import math

from .. import _ops
from ..nn.functional import softplus
from .choices import Bernoulli, Categorical, OneHotCategorical
from .counts import Geometric, Poisson
from .distribution import Independent, sum_rightmost
from .numbers import Exponential, HalfNormal, Laplace, LogNormal, Normal, Uniform
from .tails import Pareto
from .transformed import TransformedDistribution
from .vectors import MultivariateNormal, half_log_det, squared_mahalanobis

_DIVERGENCES = {}


def register_kl(type_p, type_q):
    """Decorates the function (p, q) that computes the divergence of two kinds of distributions."""

    def register(function):
        _DIVERGENCES[type_p, type_q] = function
        return function

    return register


def kl_divergence(p, q):
    """The divergence of Kullback and Leibler, KL(p || q). Of several functions that fit, that of the
    nearest classes is taken."""
    for type_p in type(p).__mro__:
        for type_q in type(q).__mro__:
            if function := _DIVERGENCES.get((type_p, type_q)):
                return function(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = _ops.where(q.probs == 0, math.inf, one).masked_fill(p.probs == 0, 0)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = _ops.where(q.probs == 1, math.inf, zero).masked_fill(p.probs == 1, 0)
    return one + zero


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _categorical(p, q):
    each = p.probs * (p.logits - q.logits)
    each = _ops.where((q.probs == 0).expand_as(each), math.inf, each)
    return each.masked_fill((p.probs == 0).expand_as(each), 0).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - _ops.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio, apart = q.alpha / p.alpha, q.alpha * (p.scale.log() - q.scale.log())
    return _ops.where(p.scale < q.scale, math.inf, apart - ratio.log() + ratio - 1)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(Normal(0.0, p.scale, False), Normal(0.0, q.scale, False))


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(LogNormal, LogNormal)
@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _ops.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    spread = _ops.linalg_solve_triangular(q._factor, p._factor, upper=False).pow(2).sum((-2, -1))
    apart = squared_mahalanobis(q._factor, q.loc - p.loc)
    logs = half_log_det(q._factor) - half_log_det(p._factor)
    return logs + 0.5 * (spread + apart - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
