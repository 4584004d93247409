"""Distributions of how often, or when for the first time, something happens."""

from __future__ import annotations

from .. import _ops, _type_info
from ..nn import functional
from . import constraints
from .choices import Choices
from .distribution import Distribution, broadcast_all


class Geometric(Choices):
    """How often something fails that succeeds with the probability probs, until it does."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, value = self._take(probs, logits)
        (self.__dict__[name],) = broadcast_all(value)
        super().__init__(self.__dict__[name].size(), (), validate_args)
        if self._validate_args and name == "probs" and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                f"to be positive but found invalid values:\n{self.probs[self.probs <= 0]}"
            )

    def _probs_of(self, logits):
        return logits.sigmoid()

    def _logits_of(self, probs):
        return probs.log() - (-probs).log1p()

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


class Poisson(Distribution):
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
