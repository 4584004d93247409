"""Transforms of each number by itself."""

from __future__ import annotations

import math

from .. import _functions, _ops, _type_info
from .._tensor import Tensor
from ..nn.functional import softplus
from . import constraints
from .transform import Transform, _of_events
from .utils import broadcast_all, lazy_property, sum_rightmost


class SameKind(Transform):
    """Without parameters: all of one class are equal."""

    def __eq__(self, other) -> bool:
        return isinstance(other, type(self))


def inside_unit_interval(y):
    """y, kept away from 0 and 1."""
    info = _type_info.finfo(y.dtype)
    return y.clamp(min=info.tiny, max=1.0 - info.eps)


class _Increasing(SameKind):
    bijective = True
    sign = 1


class ExpTransform(_Increasing):
    """exp(x)."""

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class SigmoidTransform(_Increasing):
    """1 / (1 + exp(-x)), kept away from 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x):
        return inside_unit_interval(x.sigmoid())

    def _inverse(self, y):
        y = inside_unit_interval(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing):
    """log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Increasing):
    """tanh(x). Its inverse knows little of what lies near 1 and -1: a cache knows it."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(SameKind):
    """|x|, whose inverse is the positive one."""

    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class _WithParameters(Transform):
    """Equal where the parameters `_parameters` are."""

    bijective = True

    def _parameters(self) -> tuple:
        raise NotImplementedError

    def __eq__(self, other) -> bool:
        if not isinstance(other, type(self)):
            return False
        pairs = zip(self._parameters(), other._parameters(), strict=True)
        return all(bool((a == b).all()) if isinstance(a == b, Tensor) else a == b for a, b in pairs)

    def forward_shape(self, shape):
        shapes = (getattr(p, "shape", ()) for p in self._parameters())
        return _functions.broadcast_shapes(shape, *shapes)

    inverse_shape = forward_shape


class PowerTransform(_WithParameters):
    """x ** exponent, of positive numbers."""

    domain = codomain = constraints.positive

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _with_cache(self, cache_size):
        return PowerTransform(self.exponent, cache_size)

    @lazy_property
    def sign(self):
        """The exponent's."""
        return self.exponent.sign()

    def _parameters(self) -> tuple:
        return (self.exponent,)

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


class AffineTransform(_WithParameters):
    """loc + scale * x."""

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Real numbers, in events of event_dim dimensions."""
        return _of_events(constraints.real, self._event_dim)

    codomain = domain

    def _with_cache(self, cache_size):
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size)

    @property
    def sign(self):
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _parameters(self) -> tuple:
        return self.loc, self.scale

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, Tensor):
            stretch = self.scale.abs().log()
        else:
            stretch = _ops.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(stretch.expand(x.shape), self._event_dim)


class CumulativeDistributionTransform(Transform):
    """The probability of numbers up to x, of a distribution."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        """Where the distribution's numbers lie."""
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def _with_cache(self, cache_size):
        return CumulativeDistributionTransform(self.distribution, cache_size)
