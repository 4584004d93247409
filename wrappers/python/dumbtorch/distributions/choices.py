"""Distributions over a few events, by their probabilities or by logits."""

from __future__ import annotations

from .. import _ops, _type_info
from ..nn import functional
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class Choices(Distribution):
    """One of probs and logits is given; the other is computed where it is asked for."""

    _binary = True  # two events, whose log odds logits are

    def _take(self, probs, logits):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return ("probs", probs) if logits is None else ("logits", logits)

    def _keep(self, probs, logits):
        """Keeps what was given as a tensor, and its name."""
        self._given, value = self._take(probs, logits)
        (self.__dict__[self._given],) = broadcast_all(value)

    @lazy_property
    def logits(self):
        """The log odds, or the logarithms of the probabilities."""
        return probs_to_logits(self.probs, self._binary)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits, self._binary)

    @property
    def _param(self):
        return self.__dict__[self._given]

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.size()


class Bernoulli(Choices, ExponentialFamily):
    """1 with the probability probs, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._keep(probs, logits)
        super().__init__(self._param.size(), (), validate_args)

    _mean_carrier_measure = 0

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return functional.softplus(x)

    @property
    def mean(self):
        """The mean."""
        return self.probs

    @property
    def mode(self):
        """The likelier event; NaN where none is."""
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self):
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        return _ops.bernoulli(self.probs.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return functional.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none"
        )

    def enumerate_support(self, expand=True):
        """0 and 1."""
        values = _ops.arange(0, 2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class Categorical(Choices):
    """One of the numbers 0 to K-1; the last dimension of probs or logits has one entry for each."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, value = self._take(probs, logits)
        self._given = name
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = value / value.sum(-1, keepdim=True)
        else:
            self.logits = value - value.logsumexp(-1, keepdim=True)
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], (), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """0 to K-1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        """NaN: the numbers are names."""
        probs = self.probs
        return _ops.full(
            tuple(self._batch_shape), float("nan"), dtype=probs.dtype, device=probs.device
        )

    variance = mean

    @property
    def mode(self):
        """The likeliest number."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape=()):
        rows = self.probs.detach().reshape(-1, self._num_events)
        n = 1
        for size in sample_shape:
            n *= size
        return _ops.multinomial(rows, n, True).T.reshape(
            tuple(sample_shape) + tuple(self._batch_shape)
        )

    def log_prob(self, value):
        self._validate_sample(value)
        value, logits = _ops.broadcast_tensors([value.long().unsqueeze(-1), self.logits])
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        lowest = _type_info.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=lowest) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        """0 to K-1, in a first dimension of its own."""
        values = _ops.arange(0, self._num_events, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class OverCategorical(Distribution):
    """What has the events and the probabilities of a Categorical, `_categorical`."""

    arg_constraints = Categorical.arg_constraints

    @property
    def probs(self):
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self):
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def _param(self):
        return self._categorical._param

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


class OneHotCategorical(OverCategorical):
    """Categorical, whose events are vectors with a single 1."""

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args)
        k = self._categorical._num_events
        super().__init__(self._categorical.batch_shape, (k,), validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.probs

    @property
    def mode(self):
        """The likeliest vector."""
        return functional.one_hot(self.probs.argmax(-1), self._event_shape[0]).to(self.probs.dtype)

    @property
    def variance(self):
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        chosen = self._categorical.sample(sample_shape)
        return functional.one_hot(chosen, self._event_shape[0]).to(self._param.dtype)

    def log_prob(self, value):
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        """The vectors with a single 1, in a first dimension of their own."""
        k, batch = self._event_shape[0], tuple(self._batch_shape)
        values = _ops.eye(k, dtype=self._param.dtype, device=self._param.device)
        values = values.view((k,) + (1,) * len(batch) + (k,))
        return values.expand((k, *batch, k)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical, whose samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
