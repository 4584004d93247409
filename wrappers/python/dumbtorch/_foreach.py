"""torch._foreach_add_ and its kin: an op for each tensor of a list, which programs call to average weights."""

from __future__ import annotations

import operator
from numbers import Number

from . import _ops
from ._tensor import Tensor

_ALONE = """
    abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal
    round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero
""".split()
_WITH_OTHERS = "add sub mul div pow lerp copy addcmul addcdiv".split()
_BY_FACTOR = {"mul", "div"}
_BY_TENSORS = {"lerp", "copy", "addcmul", "addcdiv"}
_BOUNDS = {"clamp_max": "max", "minimum": "max", "clamp_min": "min", "maximum": "min"}


def _row(value, i: int, count: int):
    """What one of the tensors is called with: lists have something for each, and so have tensors of one dimension."""
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {count} and {len(value)}"
            )
        return value[i]
    if isinstance(value, Tensor) and value.dim() == 1:
        return value[i].item()
    return value


def _for_each(call, name: str):
    """The function that calls `call` for each tensor of a list. What writes in place gives the list back."""

    def function(self, *args, **options):
        if len(self) == 0:
            raise RuntimeError("Tensor list must have at least one tensor.")
        count = len(self)
        results = [
            call(x, *(_row(a, i, count) for a in args), **options) for i, x in enumerate(self)
        ]
        return self if name.endswith("_") else tuple(results)

    function.__name__ = function.__qualname__ = name
    return function


def _number(name: str, other):
    """What stands beside each tensor. A tensor is there for its number and promotes as one, but as a factor."""
    if not isinstance(other, Tensor):
        return other
    method = name.rstrip("_")
    if not other.dim():
        return other if method in _BY_FACTOR else other.item()
    if method == "add" or method in _BY_FACTOR:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions and {other.numel()} elements."
        )
    raise TypeError(
        f"_foreach_{name}() received an invalid combination of arguments - got (list, Tensor)"
    )


def _by_number(name: str):
    """The function of a list and of a number, a tensor that stands for one, or a list."""
    method = name.rstrip("_")
    side = _BOUNDS.get(method)
    clamp = "clamp_" if name.endswith("_") else "clamp"
    inner = _for_each(_bound(side, clamp) if side else _calling(name), f"_foreach_{name}")

    def function(self, other, **options):
        return inner(self, _number(name, other), **options)

    function.__name__ = function.__qualname__ = inner.__name__
    return function


def _bound(side: str, method: str):
    bounded = operator.attrgetter(method)
    return lambda x, value: bounded(x)(**{side: value})


def _with_value(method: str):
    """addcmul and addcdiv, whose factor may come by position."""

    def call(x, one, two, value=1):
        return getattr(x, method)(one, two, value=value)

    return call


def _functions():
    """All whose names are those of methods of tensors, or bounds."""
    for name in [*_ALONE, *_WITH_OTHERS, *_BOUNDS]:
        for method in (name, name + "_"):
            if name in ("addcmul", "addcdiv"):
                yield _for_each(_with_value(method), f"_foreach_{method}")
            elif name in _ALONE or name in _BY_TENSORS:
                if hasattr(Tensor, method):
                    yield _for_each(_calling(method), f"_foreach_{method}")
            else:
                yield _by_number(method)


def _calling(method: str):
    return lambda x, *args, **options: getattr(x, method)(*args, **options)


globals().update({function.__name__: function for function in _functions()})
_pow_of = globals()["_foreach_pow"]


def _foreach_pow(self, exponent):
    """Powers of each tensor; or of a number, by each tensor."""
    if isinstance(self, Number):
        return tuple(_ops.pow(self, x) for x in exponent)
    return _pow_of(self, exponent)


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor."""
    return tuple(_ops.linalg_vector_norm(x, ord, dtype=dtype) for x in self)


def _foreach_max(self):
    """The largest element of each tensor."""
    return tuple(x.amax() for x in self)


def names() -> list[str]:
    """The functions."""
    return [name for name in globals() if name.startswith("_foreach_")]
