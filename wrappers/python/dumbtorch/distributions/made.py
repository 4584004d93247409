"""Distributions of what functions make of the numbers of others, by a name."""

from __future__ import annotations

import math

from .. import _ops, _type_info
from . import constraints
from .elementwise import AbsTransform, AffineTransform, ExpTransform, PowerTransform
from .numbers import Cauchy, Exponential, Normal, Uniform
from .structured import StickBreakingTransform
from .transformed import TransformedDistribution, of_base
from .utils import broadcast_all, euler_constant


class LogNormal(TransformedDistribution):
    """exp of a normal number."""

    arg_constraints = Normal.arg_constraints
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    loc, scale = of_base("loc"), of_base("scale")

    @property
    def mean(self):
        """The mean."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self):
        """The likeliest number."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        """The variance."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Vectors of positive numbers with the sum 1, by the shares that normal numbers break off a stick."""

    arg_constraints = Normal.arg_constraints
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    loc, scale = of_base("base_dist.loc"), of_base("base_dist.scale")


class Gumbel(TransformedDistribution):
    """The largest of many numbers."""

    arg_constraints = Normal.arg_constraints
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = _type_info.finfo(self.loc.dtype)
        base = Uniform(
            _ops.full_like(self.loc, info.tiny),
            _ops.full_like(self.loc, 1 - info.eps),
            validate_args,
        )
        minus_log = [ExpTransform().inv, AffineTransform(0, -_ops.ones_like(self.scale))]
        last = [ExpTransform().inv, AffineTransform(self.loc, -self.scale)]
        super().__init__(base, minus_log + last, validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        """The likeliest number."""
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        """The variance."""
        return self.stddev.pow(2)

    def log_prob(self, value):
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value):
        self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value):
        info = _type_info.finfo(self.loc.dtype)
        edges = value.clamp(min=info.tiny, max=1 - info.eps)
        inner = _ops.where((value == 0) | (value == 1), edges, value)
        return self.loc - self.scale * (-inner.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


class _Half(TransformedDistribution):
    """The absolute values of numbers that lie around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _whole = None  # the class of those numbers

    def __init__(self, scale, validate_args=None):
        super().__init__(self._whole(0, scale, validate_args=False), AbsTransform(), validate_args)

    scale = of_base("scale")

    @property
    def mode(self):
        """0."""
        return _ops.zeros_like(self.scale)

    def log_prob(self, value):
        self._validate_sample(value)
        return _ops.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal number."""

    _whole = Normal

    @property
    def mean(self):
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        """The variance."""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute value of one of Cauchy's numbers."""

    _whole = Cauchy

    @property
    def mean(self):
        """Infinite."""
        return _ops.full_like(self.scale, math.inf)

    variance = mean


class Pareto(TransformedDistribution):
    """Numbers from `scale` on, of which those beyond x are (scale / x) ** alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
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

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """`scale` times an exponential number to the power of 1 / concentration."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _batched = ("concentration_reciprocal",)

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(_ops.ones_like(self.scale), validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args)

    def _moment(self, n: int):
        """The mean of the n-th power of numbers of scale 1."""
        return (1 + n * self.concentration_reciprocal).lgamma().exp()

    @property
    def mean(self):
        """The mean."""
        return self.scale * self._moment(1)

    @property
    def mode(self):
        """The likeliest number."""
        peak = (self.concentration - 1) / self.concentration
        return self.scale * peak ** self.concentration.reciprocal()

    @property
    def variance(self):
        """The variance."""
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    def log_prob(self, value):
        """The transforms' density, with its limit at 0."""
        self._validate_sample(value)
        k, ratio = self.concentration, value / self.scale
        return k.log() - self.scale.log() + _ops.xlogy(k - 1, ratio) - ratio**k

    def entropy(self):
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


class Kumaraswamy(TransformedDistribution):
    """Numbers from 0 to 1, of which those up to x are 1 - (1 - x ** concentration1) ** concentration0."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        a, b = broadcast_all(concentration1, concentration0)
        self.concentration1, self.concentration0 = a, b
        base = Uniform(_ops.full_like(b, 0), _ops.full_like(b, 1), validate_args)
        turned = AffineTransform(1.0, -1.0)
        steps = [PowerTransform(b.reciprocal()), turned, PowerTransform(a.reciprocal())]
        super().__init__(base, steps, validate_args)

    def _moment(self, n: int):
        """The mean of the n-th power."""
        power, b = 1 + n / self.concentration1, self.concentration0
        return b * (power.lgamma() + b.lgamma() - (power + b).lgamma()).exp()

    @property
    def mean(self):
        """The mean."""
        return self._moment(1)

    @property
    def mode(self):
        """The likeliest number; NaN where a concentration is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return _ops.where((b < 1) | (a < 1), math.nan, log_mode).exp()

    @property
    def variance(self):
        """The variance."""
        return self._moment(2) - self.mean.pow(2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
