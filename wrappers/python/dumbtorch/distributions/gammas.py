"""Gamma distributions, and what is made of several of their numbers."""

from __future__ import annotations

import math

from .. import _ops, _type_info
from .._creation import as_tensor
from ..nn.functional import one_hot
from . import constraints
from .distribution import Distribution
from .drawing import dirichlet, standard_gamma
from .elementwise import PowerTransform
from .exp_family import ExponentialFamily
from .transformed import TransformedDistribution, of_base
from .utils import broadcast_all


def _tiny(x):
    return _type_info.finfo(x.dtype).tiny


class Gamma(ExponentialFamily):
    """The time until `concentration` events that happen `rate` times in a unit of time."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), (), validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self):
        """The likeliest number."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        """The variance."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        drawn = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        drawn.detach().clamp_(min=_tiny(drawn))  # which the gradient does not see
        return drawn

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return _ops.xlogy(a, rate) + _ops.xlogy(a - 1, value) - rate * value - a.lgamma()

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()

    def cdf(self, value):
        """The probability of numbers up to a value."""
        self._validate_sample(value)
        return _ops.igamma(self.concentration, self.rate * value)


class Chi2(Gamma):
    """The sum of the squares of df normal numbers."""

    arg_constraints = {"df": constraints.positive}
    _batched = "concentration", "rate"

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args)

    @property
    def df(self):
        """How many numbers there are."""
        return self.concentration * 2


class InverseGamma(TransformedDistribution):
    """1 / x of a gamma distribution's x."""

    arg_constraints = Gamma.arg_constraints
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    concentration, rate = of_base("concentration"), of_base("rate")

    @property
    def mean(self):
        """The mean; infinite up to a concentration of 1."""
        mean = self.rate / (self.concentration - 1)
        return _ops.where(self.concentration > 1, mean, math.inf)

    @property
    def mode(self):
        """The likeliest number."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        """The variance; infinite up to a concentration of 2."""
        a = self.concentration
        variance = self.rate.square() / ((a - 1).square() * (a - 2))
        return _ops.where(a > 2, variance, math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """The quotient of two numbers of Chi2, each divided by its df."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), (), validate_args)

    @property
    def mean(self):
        """The mean; NaN up to a df2 of 2."""
        df2 = _ops.where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self):
        """The likeliest number; NaN up to a df1 of 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return _ops.where(self.df1 <= 2, math.nan, mode)

    @property
    def variance(self):
        """The variance; NaN up to a df2 of 4."""
        df2 = _ops.where(self.df2 <= 4, math.nan, self.df2)
        return (
            2 * df2.pow(2) * (self.df1 + df2 - 2)
            / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))
        )  # fmt: skip

    def rsample(self, sample_shape=()):
        above, below = (g.rsample(sample_shape) for g in (self._gamma1, self._gamma2))
        tiny = _tiny(below)
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return norm + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()


class StudentT(Distribution):
    """A normal number divided by the root of the mean of df squares of others."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), (), validate_args)

    @property
    def mean(self):
        """The mean; NaN up to a df of 1."""
        return _ops.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self):
        """The likeliest number."""
        return self.loc

    @property
    def variance(self):
        """The variance; infinite up to a df of 2, NaN up to 1."""
        safe = _ops.where(self.df > 2, self.df, 3.0)
        variance = _ops.where(self.df > 2, self.scale.pow(2) * safe / (safe - 2), math.inf)
        return _ops.where(self.df <= 1, math.nan, variance)

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        drawn = _ops.randn(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * drawn * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value):
        self._validate_sample(value)
        df, y = self.df, (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        norm = norm + (0.5 * df).lgamma() - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - norm

    def entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        slopes = more.digamma() - half.digamma()
        return self.scale.log() + more * slopes + 0.5 * self.df.log() + log_beta


class Dirichlet(ExponentialFamily):
    """Vectors of positive numbers with the sum 1: gamma numbers, divided by their sum."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape=()):
        return dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        a = self.concentration
        norm = a.sum(-1).lgamma() - a.lgamma().sum(-1)
        return _ops.xlogy(a - 1.0, value).sum(-1) + norm

    @property
    def mean(self):
        """The mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        """The likeliest vector."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = one_hot(mode.argmax(-1), mode.shape[-1]).to(mode.dtype)
        return _ops.where((self.concentration < 1).all(-1, True), corner, mode)

    @property
    def variance(self):
        """The variance of each entry."""
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total.pow(2) * (total + 1))

    def entropy(self):
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        norm = a.lgamma().sum(-1) - total.lgamma()
        return norm - (k - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """The first entry of a Dirichlet distribution's vectors of two."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        both = _ops.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args)
        super().__init__(self._dirichlet.batch_shape, (), validate_args)

    @property
    def concentration1(self):
        """How many successes there were, and 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self):
        """How many failures there were, and 1."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self):
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self):
        """The likeliest number."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self):
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        self._validate_sample(value)
        return self._dirichlet.log_prob(_ops.stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def _natural_params(self):
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return x.lgamma() + y.lgamma() - (x + y).lgamma()
