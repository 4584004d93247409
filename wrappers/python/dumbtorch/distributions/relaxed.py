"""Distributions of numbers that stand for choices and have gradients by their probabilities."""

from __future__ import annotations

import math

from .. import _ops
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from .choices import Categorical, Choices, OverCategorical
from .elementwise import ExpTransform, SigmoidTransform
from .exp_family import ExponentialFamily
from .transformed import TransformedDistribution, of_base
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs


class LogitRelaxedBernoulli(Choices):
    """The log odds of RelaxedBernoulli's numbers."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._keep(probs, logits)
        super().__init__(self._param.size(), (), validate_args)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(_ops.rand(tuple(shape), dtype=probs.dtype, device=probs.device))
        odds = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        apart = logits - value.mul(self.temperature)
        return self.temperature.log() + apart - 2 * apart.exp().log1p()


class _Relaxed(TransformedDistribution):
    """With the parameters of its base distribution."""

    has_rsample = True
    temperature, logits, probs = map(of_base, ("temperature", "logits", "probs"))


class RelaxedBernoulli(_Relaxed):
    """Numbers from 0 to 1, near either at low temperatures."""

    arg_constraints = LogitRelaxedBernoulli.arg_constraints
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(OverCategorical):
    """The logarithms of RelaxedOneHotCategorical's vectors."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        events = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, events, validate_args)

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        u = clamp_probs(_ops.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        return ((self.logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        scale = (
            _ops.full_like(self.temperature, float(k)).lgamma() + (k - 1) * self.temperature.log()
        )
        return (logits - value.mul(self.temperature)).log_softmax(-1).sum(-1) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """Vectors of positive numbers with the sum 1, near those with a single 1 at low temperatures."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)


class ContinuousBernoulli(Choices, ExponentialFamily):
    """Numbers from 0 to 1, with the density of Bernoulli's formula: probs ** x (1 - probs) ** (1 - x), normalized.
    Within `lims`, around probs of 1/2, what divides by 0 is a series."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._keep(probs, logits)
        if self._given == "probs":
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), (), validate_args)

    @lazy_property
    def probs(self):
        """The probabilities of the formula, which are not means."""
        return clamp_probs(logits_to_probs(self.logits, True))

    def _by_formula(self, formula, series):
        """`formula` of the probabilities, where they are not near 1/2; `series` of their distance from it there."""
        away = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        cut = _ops.where(away, self.probs, self._lims[0])
        return _ops.where(away, formula(cut), series)

    def _cont_bern_log_norm(self):
        def formula(p):
            return _log_odds(p).abs().log() - (2.0 * p - 1.0).abs().log()

        square = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        return self._by_formula(formula, series)

    @property
    def mean(self):
        """The mean."""
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return self._by_formula(lambda p: p / (2.0 * p - 1.0) - _log_odds(p).reciprocal(), series)

    @property
    def variance(self):
        """The variance."""
        square = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        return self._by_formula(
            lambda p: p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + _log_odds(p).pow(-2), series
        )

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        return self.icdf(_ops.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        loss = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - loss

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)

        def formula(p):
            return (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)

        return (
            self._by_formula(formula, value).masked_fill(value <= 0, 0).masked_fill(value >= 1, 1)
        )

    def icdf(self, value):
        """The value up to which numbers have a probability."""

        def formula(p):
            return ((value * (2.0 * p - 1.0) - p).log1p() - (-p).log1p()) / _log_odds(p)

        return self._by_formula(formula, value)

    def entropy(self):
        zero, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        low, high = (edge - 0.5 for edge in self._lims)
        away = (x <= low) | (x > high)
        cut = _ops.where(away, x, low)
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return _ops.where(away, cut.expm1().abs().log() - cut.abs().log(), series)


def _log_odds(p):
    return p.log() - (-p).log1p()
