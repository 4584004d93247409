"""Distributions of real numbers."""

from __future__ import annotations

import math

from .. import _ops, _type_info
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all

_LOG_ROOT_2PI = math.log(math.sqrt(2 * math.pi))


class _LocationScale(Distribution):
    """Moved by loc and stretched by scale."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), (), validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.loc

    @property
    def mode(self):
        """The likeliest number."""
        return self.loc

    def _drawn(self, sample_shape, draw):
        """Numbers of a standard distribution, of the shape of a sample."""
        shape = self._extended_shape(sample_shape)
        return draw(tuple(shape), dtype=self.loc.dtype, device=self.loc.device)


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution."""

    _mean_carrier_measure = 0

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        """The variance."""
        return self.scale.pow(2)

    def rsample(self, sample_shape=()):
        return self.loc + self._drawn(sample_shape, _ops.randn) * self.scale

    def log_prob(self, value):
        self._validate_sample(value)
        square = (value - self.loc) ** 2
        return -square / (2 * self.variance) - self.scale.log() - _LOG_ROOT_2PI

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        return 0.5 * (1 + _ops.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        return self.loc + self.scale * _ops.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + _LOG_ROOT_2PI + self.scale.log()


class Laplace(_LocationScale):
    """The difference of two exponential numbers."""

    @property
    def variance(self):
        """The variance."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape=()):
        eps = _type_info.finfo(self.loc.dtype).eps
        u = self._drawn(sample_shape, _ops.rand) * (2 - eps) + (eps - 1)
        return self.loc - self.scale * u.sign() * _ops.log1p(-u.abs())

    def log_prob(self, value):
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * _ops.expm1(-away.abs() / self.scale)

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * _ops.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Cauchy(_LocationScale):
    """The quotient of two normal numbers: it has no mean."""

    @property
    def mean(self):
        """NaN."""
        return _ops.full_like(self.loc, float("nan"))

    @property
    def variance(self):
        """Infinite."""
        return _ops.full_like(self.loc, float("inf"))

    def rsample(self, sample_shape=()):
        u = self._drawn(sample_shape, _ops.rand)
        return self.loc + self.scale * _ops.tan(math.pi * (u - 0.5))

    def log_prob(self, value):
        self._validate_sample(value)
        return (
            -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()
        )

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        return _ops.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        return _ops.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Every number from low to high alike."""

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), (), validate_args)

    @property
    def arg_constraints(self):
        """Each bound is looked at beside the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From low to high."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self):
        """The mean."""
        return (self.high + self.low) / 2

    @property
    def mode(self):
        """NaN: no number is likelier than others."""
        return float("nan") * self.high

    @property
    def stddev(self):
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self):
        """The variance."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        u = _ops.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value):
        self._validate_sample(value)
        inside = self.low.le(value) & self.high.gt(value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """The time until an event that happens `rate` times in a unit of time."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), (), validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.rate.reciprocal()

    @property
    def mode(self):
        """0."""
        return _ops.zeros_like(self.rate)

    @property
    def stddev(self):
        return self.rate.reciprocal()

    @property
    def variance(self):
        """The variance."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        drawn = _ops.empty(shape, dtype=self.rate.dtype, device=self.rate.device)
        return drawn.exponential_() / self.rate

    def log_prob(self, value):
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        return -_ops.log1p(-value) / self.rate

    def entropy(self):
        return 1 - self.rate.log()

    _mean_carrier_measure = 0

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()


class GeneralizedPareto(Distribution):
    """What numbers exceed a high threshold `loc` by; the larger the concentration, the heavier the tail."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), (), validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From loc on; up to an end if the concentration is negative."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, _ops.where(self.concentration < 0, end, math.inf))

    def _by_concentration(self, exponential, formula):
        """`formula` of the concentration; where that is nearly 0, the limit `exponential`."""
        none = _ops.isclose(self.concentration, _ops.zeros_like(self.concentration))
        return _ops.where(none, exponential, formula(_ops.where(none, 1.0, self.concentration)))

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        return self.icdf(_ops.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _z(self, x):
        return (x - self.loc) / self.scale

    def log_prob(self, value):
        self._validate_sample(value)
        z = self._z(value)

        def formula(k):
            power = 1 / k + 1
            return _ops.where(power == 0, power, power * (k * z).log1p())

        return -self.scale.log() - self._by_concentration(z, formula)

    def log_survival_function(self, value):
        """The logarithm of the probability of numbers beyond a value."""
        self._validate_sample(value)
        z = self._z(value)
        return self._by_concentration(-z, lambda k: -(k * z).log1p() / k)

    def log_cdf(self, value):
        """The logarithm of the probability of numbers up to a value."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        """The probability of numbers up to a value."""
        return self.log_cdf(value).exp()

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        beyond = (-value).log1p()
        return self._by_concentration(
            self.loc - self.scale * beyond,
            lambda k: self.loc + self.scale / k * (-k * beyond).expm1(),
        )

    @property
    def mean(self):
        """The mean; NaN from a concentration of 1 on."""
        k = _ops.where(self.concentration < 1, self.concentration, math.nan)
        return self.loc + self.scale / (1 - k)

    @property
    def mode(self):
        """The likeliest number."""
        return self.loc

    @property
    def variance(self):
        """The variance; NaN from a concentration of 1/2 on."""
        k = _ops.where(self.concentration < 0.5, self.concentration, math.nan)
        return self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))

    def entropy(self):
        return (self.scale.log() + self.concentration + 1).expand(tuple(self._batch_shape))
