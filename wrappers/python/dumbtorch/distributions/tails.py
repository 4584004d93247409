"""Distributions of positive numbers whose tails are a power, or an exponential of a power."""

from __future__ import annotations

import math

from .. import _ops
from . import constraints
from .distribution import Distribution, broadcast_all
from .numbers import EULER, Cauchy


class HalfCauchy(Distribution):
    """The absolute value of one of Cauchy's numbers."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.size(), (), validate_args)

    def _whole(self):
        return Cauchy(0.0, self.scale, validate_args=False)

    @property
    def mean(self):
        """Infinite."""
        return _ops.full_like(self.scale, math.inf)

    variance = mean

    @property
    def mode(self):
        """0."""
        return _ops.zeros_like(self.scale)

    def rsample(self, sample_shape=()):
        return self._whole().rsample(sample_shape).abs()

    def log_prob(self, value):
        self._validate_sample(value)
        return _ops.where(value >= 0, self._whole().log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        return 2 * self._whole().cdf(value) - 1

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        return self._whole().icdf((value + 1) / 2)

    def entropy(self):
        return self._whole().entropy() - math.log(2)


class Pareto(Distribution):
    """Numbers from `scale` on, of which those beyond x are (scale / x) ** alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.size(), (), validate_args)

    @property
    def support(self):
        """From scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        """The mean; infinite up to an alpha of 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self):
        """The likeliest number."""
        return self.scale

    @property
    def variance(self):
        """The variance; infinite up to an alpha of 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        drawn = _ops.empty(shape, dtype=self.scale.dtype, device=self.scale.device)
        return self.scale * (drawn.exponential_() / self.alpha).exp()

    def log_prob(self, value):
        self._validate_sample(value)
        return self.alpha.log() - value.log() - self.alpha * (value / self.scale).log()

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        return 0 - ((self.scale / value).log() * self.alpha).expm1()

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def entropy(self):
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class Weibull(Distribution):
    """`scale` times an exponential number to the power of 1 / concentration."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(self.scale.size(), (), validate_args)

    def _moment(self, n: int):
        """The mean of the n-th power of numbers of scale 1."""
        return _ops.exp(_ops.lgamma(1 + n / self.concentration))

    @property
    def mean(self):
        """The mean."""
        return self.scale * self._moment(1)

    @property
    def mode(self):
        """The likeliest number."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** (
            self.concentration.reciprocal()
        )

    @property
    def variance(self):
        """The variance."""
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        drawn = _ops.empty(shape, dtype=self.scale.dtype, device=self.scale.device)
        return self.scale * drawn.exponential_() ** self.concentration.reciprocal()

    def log_prob(self, value):
        self._validate_sample(value)
        ratio = value / self.scale
        slope = self.concentration.log() - self.scale.log()
        return slope + _ops.xlogy(self.concentration - 1, ratio) - ratio**self.concentration

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value, constraints.nonnegative)
        return 0 - (-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        return self.scale * (-(-value).log1p()) ** self.concentration.reciprocal()

    def entropy(self):
        inverse = self.concentration.reciprocal()
        return EULER * (1 - inverse) + _ops.log(self.scale * inverse) + 1
