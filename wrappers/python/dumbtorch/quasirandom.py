"""torch.quasirandom: points of Sobol sequences, which fill the unit cube more evenly than random ones."""

from __future__ import annotations

import base64
import functools

from . import _missing, _ops, _sobol_numbers
from ._creation import tensor
from ._types import int64
from .random import Generator

__getattr__ = _missing.getattr_of(__name__)


def _times(a: int, b: int, polynomial: int, degree: int) -> int:
    """The product of polynomials over the field of two elements, whose bits are coefficients."""
    result = 0
    while b:
        if b & 1:
            result ^= a
        b, a = b >> 1, a << 1
        if a >> degree & 1:
            a ^= polynomial
    return result


def _has_order(order: int, polynomial: int, degree: int) -> bool:
    """Whether x ** order is 1."""
    result, power = 1, 2 if degree > 1 else 2 ^ polynomial
    while order:
        if order & 1:
            result = _times(result, power, polynomial, degree)
        power, order = _times(power, power, polynomial, degree), order >> 1
    return result == 1


def _prime_factors(n: int) -> set[int]:
    found, p = set(), 2
    while p * p <= n:
        while n % p == 0:
            found.add(p)
            n //= p
        p += 1
    return found | {n} if n > 1 else found


def _primitive_polynomials():
    """(degree, polynomial), from the smallest on."""
    degree = 1
    while True:
        order = (1 << degree) - 1
        parts = [order // p for p in _prime_factors(order)]
        for inner in range(1 << (degree - 1)):
            polynomial = 1 << degree | inner << 1 | 1
            if _has_order(order, polynomial, degree):
                if not any(_has_order(part, polynomial, degree) for part in parts):
                    yield degree, polynomial
        degree += 1


@functools.cache
def _bits() -> str:
    packed = base64.b64decode(_sobol_numbers.BITS)
    return bin(int.from_bytes(packed, "big") | 1 << 8 * len(packed))[3:]


@functools.lru_cache(maxsize=8)
def _directions(dimension: int, count: int) -> list[list[int]]:
    """The first numbers m of each dimension, by the recurrence that its polynomial is."""
    rows, at = [[1] * count], 0
    for _, (degree, polynomial) in zip(range(dimension - 1), _primitive_polynomials()):
        m = [1]
        for i in range(1, degree):
            m.append(2 * int(_bits()[at : at + i], 2) + 1)
            at += i
        for k in range(degree, count):
            value = m[k - degree] ^ m[k - degree] << degree
            for i in range(1, degree):
                if polynomial >> (degree - i) & 1:
                    value ^= m[k - i] << i
            m.append(value)
        rows.append(m[:count])
    return rows


class SobolEngine:
    """Draws the points of a Sobol sequence one after the other; `scramble` moves them at random, by the seed, without
    making them less even."""

    MAXBIT = 30
    MAXDIM = _sobol_numbers.DIMENSIONS

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        places = _ops.arange(self.MAXBIT - 1, -1, -1)
        self.sobolstate = tensor(_directions(dimension, self.MAXBIT)) << places
        self.shift = _ops.zeros(dimension, dtype=int64)
        if scramble:
            self._scramble()
        self.num_generated = 0

    def _scramble(self):
        """Multiplies the bits of all numbers by a random triangular matrix, and adds random bits, modulo 2."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        d, n = self.dimension, self.MAXBIT
        places = _ops.arange(n - 1, -1, -1)  # of bits, the highest first
        added = _ops.randint(0, 2, (d, n), generator=generator)
        matrix = _ops.randint(0, 2, (d, n, n), generator=generator).tril(-1) + _ops.eye(n).long()
        bits = self.sobolstate.unsqueeze(-1) >> places & 1
        mixed = (bits.double() @ matrix.mT.double()).long() & 1
        self.sobolstate = (mixed << places).sum(-1)
        self.shift = (added << places).sum(-1)

    def _points(self, first: int, n: int):
        """The numbers of n points, as integers: those of Gray codes, which differ from one to the next in one bit."""
        place = _ops.arange(first, first + n).unsqueeze(-1)
        code = place ^ place >> 1
        points = self.shift.expand(n, -1)
        for bit in range((first + n).bit_length()):
            points = points ^ (code >> bit & 1) * self.sobolstate[:, bit]
        return points

    @property
    def quasi(self):
        """The last point that was drawn, as integers."""
        return self._points(max(self.num_generated - 1, 0), 1)[0]

    def draw(self, n=1, out=None, dtype=None):
        """The next n points [n, dimension], from 0 to 1."""
        scale = 2.0**-self.MAXBIT
        points = self._points(self.num_generated, n)
        result = points.to(_ops.get_default_dtype() if dtype is None else dtype) * scale
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2 ** m points, if all that are drawn are a power of 2 then."""
        n, before = 2**m, self.num_generated
        total = before + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {before} points have been "
                f"previously generated, then: n={before}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self):
        """Begins again."""
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves n points out."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        words = [f"dimension={self.dimension}"]
        words += ["scramble=True"] if self.scramble else []
        words += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(words)})"
