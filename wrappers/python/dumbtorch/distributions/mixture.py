"""Mixtures of distributions."""

from __future__ import annotations

from . import constraints
from .choices import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """One of the distributions in the last dimension of a batch, chosen by a Categorical."""

    arg_constraints = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        mixture, components = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(components, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution"
            )
        for size, other in zip(
            reversed(mixture.batch_shape), reversed(components.batch_shape[:-1])
        ):
            if size != 1 and other != 1 and size != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({components.batch_shape[:-1]})"
                )
        count = mixture.logits.shape[-1]
        if count != components.batch_shape[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components.batch_shape[-1]})"
            )
        self._mixture_distribution, self._component_distribution = mixture, components
        super().__init__(components.batch_shape[:-1], components.event_shape, validate_args)

    @property
    def mixture_distribution(self):
        """What chooses."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """What is chosen from."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self):
        """Where events lie."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self):
        probs = self._mixture_distribution.probs
        return probs.reshape(tuple(probs.shape) + (1,) * len(self._event_shape))

    def _over_components(self, value):
        return (self._weights() * value).sum(-1 - len(self._event_shape))

    @property
    def mean(self):
        """The mean."""
        return self._over_components(self._component_distribution.mean)

    @property
    def variance(self):
        """The variance."""
        components = self._component_distribution
        apart = components.mean - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._over_components(components.variance) + self._over_components(apart.pow(2))

    def cdf(self, value):
        """The probability of numbers up to a value."""
        below = self._component_distribution.cdf(value.unsqueeze(-1))
        return (below * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        each = self._component_distribution.log_prob(value.unsqueeze(-1 - len(self._event_shape)))
        return (each + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=()):
        dim, events = len(sample_shape) + len(self._batch_shape), len(self._event_shape)
        chosen = self._mixture_distribution.sample(sample_shape)
        chosen = chosen.reshape(tuple(chosen.shape) + (1,) * (events + 1))
        drawn = self._component_distribution.sample(sample_shape)
        index = chosen.expand(tuple(drawn.shape[:dim]) + (1,) + tuple(self._event_shape))
        return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
