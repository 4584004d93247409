"""Distributions of angles."""

from __future__ import annotations

import math

from .. import _ops
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property


class VonMises(Distribution):
    """Angles from -pi to pi, near loc if the concentration is large."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.size(), (), validate_args)

    def log_prob(self, value):
        self._validate_sample(value)
        # cos(x) - 1, and i0 without its growth: differences of large numbers would be nothing.
        angle = 0.5 * (value - self.loc)
        peak = -2 * self.concentration * angle.sin().square()
        return peak - math.log(2 * math.pi) - _ops.i0e(self.concentration).log()

    @no_grad()
    def sample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        loc, kappa = self.loc.double(), self.concentration.double().expand(shape).flatten()
        turned, open_places = (
            _ops.empty_like(kappa),
            _ops.arange(0, kappa.numel(), device=loc.device),
        )
        while open_places.numel():
            angle, taken = _proposed(kappa[open_places])
            turned[open_places[taken]] = angle[taken]
            open_places = open_places[~taken]
        angle = turned.view(shape) + math.pi + loc
        return (angle % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self):
        """The mean angle."""
        return self.loc

    @property
    def mode(self):
        """The likeliest angle."""
        return self.loc

    @lazy_property
    def variance(self):
        """1 less the length of the mean of unit vectors."""
        k = self.concentration
        return 1 - _ops.i1e(k) / _ops.i0e(k)


def _proposed(kappa):
    """Angles from wrapped Cauchy distributions, and which of them may be taken.
    (D. J. Best and N. I. Fisher, Efficient simulation of the von Mises distribution, 1979)"""
    tau = 1 + (1 + 4 * kappa**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
    r = _ops.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
    u = _ops.rand((3, kappa.numel()), dtype=kappa.dtype, device=kappa.device)
    z = (math.pi * u[0]).cos()
    f = (1 + r * z) / (r + z)
    c = kappa * (r - f)
    taken = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0)
    return (u[2] - 0.5).sign() * f.clamp(-1, 1).acos(), taken
