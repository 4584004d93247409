"""Distributions of what functions make of random numbers."""

from __future__ import annotations

from functools import reduce
from operator import attrgetter

from .._types import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution, Independent
from .transform import ComposeTransform, Transform
from .utils import sum_rightmost


def _as_list(transforms) -> list[Transform]:
    """A transform, or several."""
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


def of_base(name: str) -> property:
    """A parameter that is the base distribution's."""
    return property(attrgetter(f"base_dist.{name}"), doc=f"{name} of what is transformed.")


class TransformedDistribution(Distribution):
    """What transforms, one after the other, make of a base distribution's events."""

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = _as_list(transforms)
        whole = ComposeTransform(self.transforms)
        taken, made = whole.domain.event_dim, whole.codomain.event_dim
        shape = Size(tuple(base_distribution.batch_shape) + tuple(base_distribution.event_shape))
        events = len(base_distribution.event_shape)
        if len(shape) < taken:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {taken}, but got {shape}."
            )
        result = whole.forward_shape(shape)
        wide = whole.inverse_shape(result)
        if tuple(wide) != tuple(shape):
            base_distribution = base_distribution.expand(wide[: len(wide) - events])
        more = taken - events
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        cut = len(result) - max(made, events + made - taken)
        super().__init__(result[:cut], result[cut:], validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether rsample is there."""
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
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
        return reduce(lambda x, transform: transform(x), self.transforms, x)

    def log_prob(self, value):
        self._validate_sample(value)
        events, stretched = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            taken = transform.domain.event_dim
            events += taken - transform.codomain.event_dim
            stretch = transform.log_abs_det_jacobian(x, value)
            stretched = stretched + sum_rightmost(stretch, events - taken)
            value = x
        base = self.base_dist.log_prob(value)
        return sum_rightmost(base, events - len(self.base_dist.event_shape)) - stretched

    def cdf(self, value):
        """The probability of what is at most value."""
        value = reduce(lambda y, transform: transform.inv(y), reversed(self.transforms), value)
        self.base_dist._validate_sample(value)
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
        new = self._get_checked_instance(TransformedDistribution, _instance)
        shape = tuple(batch_shape) + tuple(self.event_shape)
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        inner = shape[: len(shape) - len(self.base_dist.event_shape)]
        new.__dict__.setdefault("base_dist", self.base_dist.expand(inner))
        return super().expand(batch_shape, new)
