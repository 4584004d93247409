"""How far one distribution is from another."""

from __future__ import annotations

import math
import warnings

from .. import _ops
from ..nn.functional import softplus
from .choices import Bernoulli, Categorical, OneHotCategorical
from .counts import Binomial, Geometric, Poisson
from .distribution import Independent
from .exp_family import ExponentialFamily
from .gammas import Beta, Dirichlet, Gamma
from .made import Gumbel, HalfNormal, Pareto
from .numbers import Cauchy, Exponential, Laplace, Normal, Uniform
from .relaxed import ContinuousBernoulli
from .transformed import TransformedDistribution
from .utils import euler_constant, sum_rightmost
from .vectors import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    half_log_det,
    squared_mahalanobis,
)

_DIVERGENCES = {}


def register_kl(type_p, type_q):
    """Decorates the function (p, q) that computes the divergence of two kinds of distributions."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        # Of any class: libraries have distributions that are none of ours.
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function):
        _DIVERGENCES[type_p, type_q] = function
        return function

    return register


def _nearest(type_p, type_q):
    """The function of the nearest classes. Where the nearest by p is another than that by q, it warns."""
    fitting = [(p, q) for p, q in _DIVERGENCES if issubclass(type_p, p) and issubclass(type_q, q)]
    if not fitting:
        return None
    far_p, far_q = type_p.__mro__.index, type_q.__mro__.index
    by_p = min(fitting, key=lambda pair: (far_p(pair[0]), far_q(pair[1])))
    by_q = min(fitting, key=lambda pair: (far_q(pair[1]), far_p(pair[0])))
    if _DIVERGENCES[by_p] is not _DIVERGENCES[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _DIVERGENCES[by_p]


def kl_divergence(p, q):
    """The divergence of Kullback and Leibler, KL(p || q). Of several functions that fit, that of the
    nearest classes is taken."""
    function = _nearest(type(p), type(q))
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)


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
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


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
    factor, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    spread = _ops.linalg_solve_triangular(other, factor, upper=False).pow(2).sum((-2, -1))
    apart = squared_mahalanobis(other, q.loc - p.loc)
    logs = half_log_det(other) - half_log_det(factor)
    return logs + 0.5 * (spread + apart - p.event_shape[0])


def _check_low_rank(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed"
        )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p, q):
    _check_low_rank(p, q)
    roots = p._low.diag.sqrt().diag_embed()
    spread = q._low.trace_of(p._low.factor) + q._low.trace_of(roots)
    apart = q._low.squared_mahalanobis(q.loc - p.loc)
    return 0.5 * (q._low.log_det() - p._low.log_det() + spread + apart - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_and_low_rank(p, q):
    _check_low_rank(p, q)
    factor = p._unbroadcasted_scale_tril
    logs = q._low.log_det() - 2 * half_log_det(factor)
    apart = q._low.squared_mahalanobis(q.loc - p.loc)
    return 0.5 * (logs + q._low.trace_of(factor) + apart - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_and_full(p, q):
    _check_low_rank(p, q)
    factor = q._unbroadcasted_scale_tril
    both = _ops.cat([p.cov_factor, p.cov_diag.sqrt().diag_embed()], -1)
    spread = _ops.linalg_solve_triangular(factor, both, upper=False).pow(2).sum((-2, -1))
    logs = 2 * half_log_det(factor) - p._low.log_det()
    apart = squared_mahalanobis(factor, q.loc - p.loc)
    return 0.5 * (logs + spread + apart - p.event_shape[0])


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


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    norms = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _ops.where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    squares = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return squares.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    norms = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return p.mean * (p.logits - q.logits) + norms + (-p.probs).log1p() - (-q.probs).log1p()


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    rates = b * (p.rate / q.rate).log() + (q.rate - p.rate) * (a / p.rate)
    return rates + b.lgamma() - a.lgamma() + (a - b) * a.digamma()


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, apart = p.scale / q.scale, (q.loc - p.loc) / q.scale
    tail = (apart + (1 + ratio).lgamma()).exp()
    return -ratio.log() - apart + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """What Bregman's divergence of the normalizers is."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    leaves, normalizer, slopes = p._normalizer_with_gradients()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for leaf, other, slope in zip(leaves, q._natural_params, slopes, strict=True):
        result = result - sum_rightmost((other - leaf) * slope, len(q.event_shape))
    return result
