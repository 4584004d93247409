"""Distributions of how often, or when for the first time, something happens."""

from __future__ import annotations

import math

from .. import _ops, _type_info
from ..nn import functional
from . import constraints
from .choices import Categorical, Choices, OverCategorical
from .exp_family import ExponentialFamily
from .gammas import Gamma
from .utils import broadcast_all, lazy_property


class Geometric(Choices):
    """How often something fails that succeeds with the probability probs, until it does."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._keep(probs, logits)
        super().__init__(self._param.size(), (), validate_args)
        if self._validate_args and self._given == "probs" and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                f"to be positive but found invalid values:\n{self.probs[self.probs <= 0]}"
            )

    @property
    def mean(self):
        """The mean."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        """0."""
        return _ops.zeros_like(self.probs)

    @property
    def variance(self):
        """The variance."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        probs = self.probs.detach()
        shape = tuple(self._extended_shape(sample_shape))
        u = _ops.rand(shape, dtype=probs.dtype, device=probs.device)
        u = u.clamp(min=_type_info.finfo(probs.dtype).tiny)
        return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value):
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self):
        each = functional.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none"
        )
        return each / self.probs


class Poisson(ExponentialFamily):
    """How often something happens that happens `rate` times on average."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), (), validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.rate

    @property
    def mode(self):
        """The likeliest number."""
        return self.rate.floor()

    @property
    def variance(self):
        """The variance."""
        return self.rate

    def sample(self, sample_shape=()):
        return _ops.poisson(self.rate.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return _ops.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()


class _Trials(Choices):
    """Trials that succeed with the probability probs; total_count of them matter."""

    def __init__(self, total_count, probs, logits, validate_args):
        self._given, value = self._take(probs, logits)
        count, value = broadcast_all(total_count, value)
        self.total_count, self.__dict__[self._given] = count.type_as(value), value
        super().__init__(value.size(), (), validate_args)


class Binomial(_Trials):
    """How many of total_count trials succeed."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """0 to total_count."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self):
        """The likeliest number."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _ops.binomial(
            self.total_count.detach().expand(shape), self.probs.detach().expand(shape)
        )

    def log_prob(self, value):
        self._validate_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * functional.softplus(self.logits)

    def _same_count(self, name) -> int:
        most = int(self.total_count.max())
        if self.total_count.min() != most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return most

    def entropy(self):
        self._same_count("entropy")
        each = self.log_prob(self.enumerate_support(False))
        return -(each.exp() * each).sum(0)

    def enumerate_support(self, expand=True):
        """0 to total_count, in a first dimension of its own."""
        n = self._same_count("enumerate_support")
        values = _ops.arange(0, 1 + n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class NegativeBinomial(_Trials):
    """How many trials succeed before total_count of them have failed."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        """The likeliest number."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        """The variance."""
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self):
        """What the rates of Poisson distributions are drawn from."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape=()):
        return _ops.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        self._validate_sample(value)
        n = self.total_count
        each = n * functional.logsigmoid(-self.logits) + value * functional.logsigmoid(self.logits)
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return each + ways.masked_fill(n + value == 0.0, 0.0)


class Multinomial(OverCategorical):
    """How often each event comes in total_count draws."""

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        events = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, events, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """Counts of total_count draws."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        """The mean."""
        return self.probs * self.total_count

    @property
    def variance(self):
        """The variance of each count."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count,) + tuple(sample_shape)).movedim(0, -1)
        shape = tuple(self._extended_shape(sample_shape))
        counts = _ops.zeros(shape, dtype=self.probs.dtype, device=self.probs.device)
        return counts.scatter_add_(-1, drawn, _ops.ones_like(drawn, dtype=counts.dtype))

    def entropy(self):
        """Of the draws, less what their order says."""
        count = Binomial(self.total_count, probs=self.probs)
        values = count.enumerate_support(expand=False)[1:]
        orders = (count.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return (
            self.total_count * self._categorical.entropy()
            - math.lgamma(self.total_count + 1)
            + orders
        )

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        never = (value == 0) & logits.isneginf()
        return ways + (logits.masked_fill(never, 0) * value).sum(-1)
