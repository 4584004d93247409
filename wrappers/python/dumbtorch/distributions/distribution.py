"""What all distributions have in common."""

from __future__ import annotations

import warnings

from .._tensor import Tensor
from .._types import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from .utils import lazy_property, sum_rightmost


class Distribution:
    """Random events of the shape `event_shape`; a tensor of the shape `batch_shape` has one distribution, with
    parameters of its own, in each place."""

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are looked at where nothing else is said."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _validate_parameters(self):
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in wanted.items():
            kept = getattr(type(self), name, None)
            computed = name not in self.__dict__ and isinstance(kept, lazy_property)
            if not constraints.is_dependent(constraint) and not computed:
                self._validate_parameter(name, getattr(self, name), constraint)

    def _validate_parameter(self, name, value, constraint):
        if not constraint.check(value).all():
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                f"values:\n{value}"
            )

    def _validate_sample(self, value, support=None):
        """Refuses what no event can be, or lies outside of `support`, where values are looked at."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        first = value.dim() - len(self.event_shape)
        if tuple(value.shape[first:]) != tuple(self.event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self.event_shape}."
            )
        ours = tuple(self.batch_shape) + tuple(self.event_shape)
        for i, j in zip(reversed(value.shape), reversed(ours)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {Size(ours)}."
                )
        if support is None:
            try:
                support = self.support
            except NotImplementedError:
                warnings.warn(
                    f"{self.__class__} does not define `support` to enable sample validation. Please initialize "
                    "the distribution with `validate_args=False` to turn off validation.",
                    stacklevel=3,
                )
                return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{value}"
            )

    @property
    def batch_shape(self) -> Size:
        """The shape of the distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict:
        """What each parameter has to satisfy."""
        raise NotImplementedError

    @property
    def support(self):
        """Where events lie."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The likeliest event."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Events, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n):
        """n events."""
        return self.sample((n,))

    def rsample(self, sample_shape=()):
        """Events that are functions of the parameters, with a gradient."""
        raise NotImplementedError

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of numbers up to a value."""
        raise NotImplementedError

    def icdf(self, value):
        """The value up to which numbers have a probability."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All events, in a first dimension of their own, if there are finitely many."""
        raise NotImplementedError

    def perplexity(self):
        """exp of the entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape, _instance=None):
        """The same distributions in more places. What a subclass has put into `_instance` stays."""
        new = self._get_checked_instance(Distribution, _instance)
        wanted = Size(batch_shape)
        for name, value in self.__dict__.items():
            new.__dict__.setdefault(name, self._expanded(name, value, wanted))
        new._batch_shape = wanted
        return new

    def _expanded(self, name, value, wanted):
        """An attribute for a batch of that shape: parameters, and distributions that this one is made of."""
        old = len(self._batch_shape)
        if isinstance(value, Distribution):
            return value.expand(tuple(wanted) + tuple(value.batch_shape[old:]))
        if isinstance(value, Tensor) and (name in self.arg_constraints or name in self._batched):
            return value.expand(tuple(wanted) + tuple(value.shape[old:]))
        return value

    _batched = ()  # names of attributes beside the parameters that begin with the shape of the batch

    def _get_checked_instance(self, cls, _instance=None):
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape=()) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def __repr__(self):
        parameters = {n: self.__dict__[n] for n in self.arg_constraints if n in self.__dict__}
        words = (f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in parameters.items())
        return f"{type(self).__name__}({', '.join(words)})"


class Independent(Distribution):
    """Takes the last dimensions of a batch for dimensions of one event."""

    arg_constraints = {}

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        kept = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:kept], tuple(batch[kept:]) + tuple(event), validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether rsample is there."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        """Whether enumerate_support is there."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        """Where events lie."""
        base = self.base_dist.support
        n = self.reinterpreted_batch_ndims
        return base if base is None or n == 0 else constraints.independent(base, n)

    @property
    def mean(self):
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self):
        """The most likely event."""
        return self.base_dist.mode

    @property
    def variance(self):
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
