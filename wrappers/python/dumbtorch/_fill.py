"""Fillings that are made of the library's: random numbers of other distributions, diagonals."""

from __future__ import annotations

import math

from . import _ops
from ._type_info import finfo, iinfo
from ._types import bool_, float32


def random_(x, bounds: tuple, named: dict, generator):
    """Integers below `to`, from `from` on; without bounds all that the dtype holds, or counts exactly."""
    unknown = sorted(named.keys() - {"from", "to"})
    if unknown or len(bounds) + len(named) > 2:
        given = f"unexpected keyword argument '{unknown[0]}'" if unknown else "too many bounds"
        raise TypeError(f"random_() got an {given}")
    if len(bounds) == 2:
        low, high = bounds
    elif bounds:
        low, high = (bounds[0], named["to"]) if "to" in named else (0, bounds[0])
    else:
        low, high = named.get("from", 0), named.get("to")
    high = _past_all(x.dtype) if high is None else high
    return _ops.random_(x, low, high, generator=generator)


def _past_all(dtype) -> int:
    if dtype == bool_:
        return 2
    if dtype.is_floating_point:
        return round(2 / finfo(dtype).eps) + 1
    return min(iinfo(dtype).max + 1, 2**63 - 1)


def _draw(x, transform, generator, draw=_ops.uniform_):
    """Writes transform(numbers) over x, where the numbers are uniform in [0, 1) or drawn otherwise. What is written has
    no gradient."""
    kind = x.dtype if x.dtype.is_floating_point and x.dtype.itemsize > 2 else float32
    numbers = draw(_ops.empty_like(_ops.detach(x), dtype=kind), generator=generator)
    return _ops.copy_(x, transform(numbers))


def _check(name: str, x, value: float, argument: str) -> None:
    if not value > 0:
        raise RuntimeError(f"{name}_ expects {argument} > 0.0, but found {argument}={value:g}")
    if not x.dtype.is_floating_point:
        raise RuntimeError(
            f"{name.capitalize()} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {x.dtype.word}"
        )


def exponential_(x, lambd, generator):
    """Inverts the distribution function; 0 is left out, since logarithms are often taken."""
    _check("exponential", x, lambd, "lambda")
    least = finfo(x.dtype).tiny
    return _draw(x, lambda u: _ops.clamp(_ops.log1p(-u) / -lambd, min=least), generator)


def cauchy_(x, median, sigma, generator):
    _check("cauchy", x, sigma, "sigma")
    return _draw(x, lambda u: median + sigma * _ops.tan(math.pi * (u - 0.5)), generator)


def log_normal_(x, mean, std, generator):
    _check("log_normal", x, std, "std")
    return _draw(x, lambda z: _ops.exp(mean + std * z), generator, _ops.normal_)


def geometric_(x, p, generator):
    """The number of the first success: how often log(1 - p) goes into the logarithm of a uniform number."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    count = math.log1p(-p)
    return _draw(x, lambda u: _ops.clamp(_ops.ceil(_ops.log1p(-u) / count), min=1), generator)


def fill_diagonal_(x, fill_value, wrap: bool):
    if x.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if x.ndim > 2:
        if len(set(x.shape)) > 1:
            raise RuntimeError("all dimensions of input must be of equal length")
        place = _ops.tensor_storage_offset(x)
        _ops.fill_(_ops.as_strided(x, (x.shape[0],), (sum(x.stride()),), place), fill_value)
        return x
    rows, columns = x.shape
    for first in range(0, rows if wrap else min(rows, 1), columns + 1):
        _ops.fill_(_ops.diagonal(x[first : first + columns]), fill_value)
    return x
