"""Distributions of what functions make of random numbers."""

from __future__ import annotations

from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution, Independent, sum_rightmost
from .transforms import ComposeTransform, as_list, shape_of


class TransformedDistribution(Distribution):
    """What transforms, one after the other, make of a base distribution's events."""

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = as_list(transforms)
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        needed = ComposeTransform(self.transforms).event_dim
        whole = tuple(batch) + tuple(event)
        if len(whole) < needed:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {needed}, but got {whole}."
            )
        shape = shape_of(self.transforms, whole)
        if tuple(shape) != whole:
            base_distribution = base_distribution.expand(shape[: len(shape) - len(event)])
        more = needed - len(event)
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        events = max(needed, len(event))
        cut = len(shape) - events
        super().__init__(shape[:cut], shape[cut:], validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether rsample is there."""
        return self.base_dist.has_rsample

    @property
    def support(self):
        """Where events lie."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def sample(self, sample_shape=()):
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._through(self.base_dist.rsample(sample_shape))

    def _through(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        self._validate_sample(value)
        events, stretched = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            stretch = transform.log_abs_det_jacobian(x, value)
            stretched = stretched + sum_rightmost(stretch, events - transform.event_dim)
            value = x
        base = self.base_dist.log_prob(value)
        return sum_rightmost(base, events - len(self.base_dist.event_shape)) - stretched

    def cdf(self, value):
        """The probability of what is at most value."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value):
        """What this probability's events do not exceed."""
        return self._through(self.base_dist.icdf(self._turned(value)))

    def _turned(self, probability):
        sign = ComposeTransform(self.transforms).sign
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def expand(self, batch_shape, _instance=None):
        events = tuple(self.event_shape)
        shape = tuple(batch_shape) + events
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        base = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return TransformedDistribution(base, self.transforms, self._validate_args)
