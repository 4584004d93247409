"""Functions that turn random numbers of one kind into another, with the logarithm of how much they stretch."""

from __future__ import annotations

import math
from functools import reduce

from .. import _functions, _missing, _ops, _type_info
from .._creation import as_tensor
from .._tensor import Tensor
from .._types import Size
from ..nn.functional import softplus
from . import constraints
from .distribution import sum_rightmost

__getattr__ = _missing.getattr_of(__name__)


class Transform:
    """A function `_call` of a tensor, and `_inverse`. With `cache_size=1` the last pair is kept."""

    bijective = False
    domain = codomain = constraints.real

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._last = cache_size, (None, None)

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions it looks at as a whole."""
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The other way round."""
        return _InverseTransform(self)

    @property
    def sign(self):
        """Whether it increases: 1, or -1."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """The same function, with that cache."""
        return self if self._cache_size == cache_size else type(self)(cache_size=cache_size)

    def __call__(self, x):
        if self._cache_size and x is self._last[0]:
            return self._last[1]
        return self._kept(x, self._call(x))[1]

    def _inv_call(self, y):
        if self._cache_size and y is self._last[1]:
            return self._last[0]
        return self._kept(self._inverse(y), y)[0]

    def _kept(self, x, y):
        if self._cache_size:
            self._last = x, y
        return x, y

    def log_abs_det_jacobian(self, x, y):
        """log |dy / dx|, summed over the dimensions of an event."""
        raise NotImplementedError

    def forward_shape(self, shape):
        """The shape of what is made of a tensor of that shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape that such a result is made of."""
        return shape

    def _parameters(self) -> tuple:
        return ()

    def __eq__(self, other) -> bool:
        if type(self) is not type(other) or type(self) is Transform:
            return self is other
        pairs = zip(self._parameters(), other._parameters(), strict=True)
        return all(a is b or bool(as_tensor(a == b).all()) for a, b in pairs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, transform: Transform):
        super().__init__(transform._cache_size)
        self._inv = transform
        self.bijective = transform.bijective
        self.domain, self.codomain = transform.codomain, transform.domain

    @property
    def inv(self) -> Transform:
        return self._inv

    @property
    def sign(self):
        return self._inv.sign

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x):
        return self._inv._inv_call(x)

    def _inv_call(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def _parameters(self) -> tuple:
        return (self._inv,)

    def __eq__(self, other) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


def _of_events(constraint, event_dim: int):
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


class ComposeTransform(Transform):
    """One after the other."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def _constraint(self, ends):
        event_dim = max(part.event_dim for part in self.parts)
        return _of_events(ends, event_dim)

    @property
    def domain(self):
        """Where it is defined."""
        return self._constraint(self.parts[0].domain) if self.parts else constraints.real

    @property
    def codomain(self):
        """Where its values lie."""
        return self._constraint(self.parts[-1].codomain) if self.parts else constraints.real

    @property
    def bijective(self) -> bool:
        """Whether it has an inverse."""
        return all(part.bijective for part in self.parts)

    @property
    def inv(self) -> Transform:
        """The inverses in the other order."""
        return ComposeTransform([part.inv for part in reversed(self.parts)], self._cache_size)

    @property
    def sign(self):
        return math.prod((part.sign for part in self.parts), start=1)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def _call(self, x):
        return reduce(lambda x, part: part(x), self.parts, x)

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return _ops.zeros_like(x)
        terms = []
        for i, part in enumerate(self.parts):
            result = y if i == len(self.parts) - 1 else part(x)
            term = part.log_abs_det_jacobian(x, result)
            terms.append(sum_rightmost(term, self.event_dim - part.event_dim))
            x = result
        return reduce(_ops.add, terms)

    def forward_shape(self, shape):
        return reduce(lambda shape, part: part.forward_shape(shape), self.parts, shape)

    def inverse_shape(self, shape):
        return reduce(lambda shape, part: part.inverse_shape(shape), reversed(self.parts), shape)

    def __eq__(self, other) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __repr__(self) -> str:
        lines = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {lines}\n)"


identity_transform = ComposeTransform([])


class _Increasing(Transform):
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
        return self._inside(x.sigmoid())

    def _inverse(self, y):
        y = self._inside(y)
        return y.log() - (-y).log1p()

    @staticmethod
    def _inside(y):
        info = _type_info.finfo(y.dtype)
        return y.clamp(info.tiny, 1.0 - info.eps)

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


class AbsTransform(Transform):
    """|x|, whose inverse is the positive one."""

    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class _WithParameters(Transform):
    bijective = True

    def forward_shape(self, shape):
        shapes = (getattr(p, "shape", ()) for p in self._parameters())
        return _functions.broadcast_shapes(shape, *shapes)

    inverse_shape = forward_shape


class PowerTransform(_WithParameters):
    """x ** exponent, of positive numbers."""

    domain = codomain = constraints.positive

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else as_tensor(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    @property
    def sign(self):
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
        self.loc, self.scale = loc, scale
        self.domain = self.codomain = _of_events(constraints.real, event_dim)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
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
        return sum_rightmost(stretch.expand(x.shape), self.event_dim)


def as_list(transforms) -> list[Transform]:
    """A transform, or several."""
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


def shape_of(transforms, shape) -> Size:
    """The shape of what they make of a tensor of that shape."""
    return Size(ComposeTransform(transforms).forward_shape(tuple(shape)))
