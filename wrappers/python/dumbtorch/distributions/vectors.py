"""Distributions of vectors."""

from __future__ import annotations

import math

from .. import _ops
from .._functions import broadcast_shapes
from . import constraints
from .distribution import Distribution


def squared_mahalanobis(factor, x):
    """|factor^-1 x|^2, for the lower triangular factor of a covariance."""
    shape = broadcast_shapes(factor.shape[:-1], x.shape)
    x = x.expand(shape).unsqueeze(-1)
    return _ops.linalg_solve_triangular(factor, x, upper=False).squeeze(-1).pow(2).sum(-1)


def half_log_det(factor):
    """Half the logarithm of the determinant of factor @ factor.T."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors, by their covariance, its inverse, or its factor of Cholesky's."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args=None,
    ):
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                 "scale_tril": scale_tril}  # fmt: skip
        given = {name: value for name, value in given.items() if value is not None}
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = tuple(broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self.__dict__[name] = matrix.expand(batch + (-1, -1))
        self.loc = loc.expand(batch + (-1,))
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        self._factor = self._factor_of(name, matrix)

    @staticmethod
    def _factor_of(name, matrix):
        if name == "scale_tril":
            return matrix
        if name == "covariance_matrix":
            return _ops.linalg_cholesky(matrix)
        # The factor of the inverse is the transposed inverse of that of the matrix turned around.
        turned = _ops.linalg_cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT
        eye = _ops.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
        return _ops.linalg_solve_triangular(turned, eye, upper=False)

    def __getattr__(self, name):
        factor = self.__dict__.get("_factor")
        if factor is None or name not in self.arg_constraints:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        whole = tuple(self._batch_shape) + tuple(self._event_shape) * 2
        if name == "scale_tril":
            return factor.expand(whole)
        if name == "precision_matrix":
            return _ops.cholesky_inverse(factor).expand(whole)
        return (factor @ factor.mT).expand(whole)

    @property
    def mean(self):
        """The mean."""
        return self.loc

    @property
    def mode(self):
        """The likeliest vector."""
        return self.loc

    @property
    def variance(self):
        """The variance of each entry."""
        return (
            self._factor.pow(2).sum(-1).expand(tuple(self._batch_shape) + tuple(self._event_shape))
        )

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        drawn = _ops.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._factor @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        squares = squared_mahalanobis(self._factor, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + squares) - half_log_det(self._factor)

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + half_log_det(self._factor)).expand(tuple(self._batch_shape))

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new._factor = self._factor.expand(tuple(batch_shape) + tuple(self._factor.shape[-2:]))
        return new
