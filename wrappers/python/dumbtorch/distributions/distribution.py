"""What all distributions have in common."""

from __future__ import annotations

from .. import _ops
from .._tensor import Tensor
from .._types import Size
from ..autograd.grad_mode import no_grad
from . import constraints


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; numbers have the dtype and the device of the first tensor."""
    like = next((v for v in values if isinstance(v, Tensor)), None)
    if like is None:
        tensors = [_ops.scalar_tensor(float(v)) for v in values]
    else:
        tensors = [
            v if isinstance(v, Tensor) else _ops.full((), v, dtype=like.dtype, device=like.device)
            for v in values
        ]
    return _ops.broadcast_tensors(tensors)


class Distribution:
    """Random events of the shape `event_shape`; a tensor of the shape `batch_shape` has one distribution, with
    parameters of its own, in each place."""

    has_rsample = False
    has_enumerate_support = False
    arg_constraints = {}
    support = None
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
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__:
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
        support = support or self.support
        if support is not None and not support.check(value).all():
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
        """The same distributions in more places."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        old, wanted = len(self._batch_shape), Size(batch_shape)
        for name in self.arg_constraints:
            if isinstance(value := self.__dict__.get(name), Tensor):
                setattr(new, name, value.expand(wanted + tuple(value.shape[old:])))
        new._batch_shape = wanted
        return new

    def _extended_shape(self, sample_shape=()) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def __repr__(self):
        parameters = {n: self.__dict__[n] for n in self.arg_constraints if n in self.__dict__}
        words = (f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in parameters.items())
        return f"{type(self).__name__}({', '.join(words)})"


def sum_rightmost(value, dims: int):
    """The sum over the last `dims` dimensions."""
    return value if dims == 0 else value.reshape(value.shape[: value.dim() - dims] + (-1,)).sum(-1)


class Independent(Distribution):
    """Takes the last dimensions of a batch for dimensions of one event."""

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

    @property
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

    def expand(self, batch_shape, _instance=None):
        inner = tuple(self.base_dist.batch_shape)
        inner = inner[len(inner) - self.reinterpreted_batch_ndims :]
        base = self.base_dist.expand(tuple(batch_shape) + inner)
        return Independent(base, self.reinterpreted_batch_ndims, self._validate_args)

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
