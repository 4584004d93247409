"""Distributions of vectors."""

from __future__ import annotations

import math

from .. import _ops
from .._functions import broadcast_shapes
from . import constraints
from .distribution import Distribution
from .utils import lazy_property


def squared_mahalanobis(factor, x):
    """|factor^-1 x|^2, for the lower triangular factor of a covariance."""
    shape = broadcast_shapes(factor.shape[:-1], x.shape)
    x = x.expand(shape).unsqueeze(-1)
    return _ops.linalg_solve_triangular(factor, x, upper=False).squeeze(-1).pow(2).sum(-1)


def half_log_det(factor):
    """Half the logarithm of the determinant of factor @ factor.T."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def factor_of(name, matrix):
    """The lower triangular factor of a covariance, by the parameter of that name."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return _ops.linalg_cholesky(matrix)
    # The factor of the inverse is the transposed inverse of that of the matrix turned around.
    turned = _ops.linalg_cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT
    eye = _ops.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return _ops.linalg_solve_triangular(turned, eye, upper=False)


class ByCovariance(Distribution):
    """One of a covariance, its inverse and its factor is given; the factor is kept, the others are computed."""

    def _whole(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape)[-1:] * 2)

    @lazy_property
    def scale_tril(self):
        """The covariance's factor of Cholesky's."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._whole(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self):
        """Its inverse."""
        return self._whole(_ops.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(ByCovariance):
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
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

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
            self._unbroadcasted_scale_tril.pow(2)
            .sum(-1)
            .expand(tuple(self._batch_shape) + tuple(self._event_shape))
        )

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        drawn = _ops.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        squares = squared_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + squares) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + half_log_det(self._unbroadcasted_scale_tril)).expand(
            tuple(self._batch_shape)
        )


class LowRankMultivariateNormal(ByCovariance):
    """Normal vectors with the covariance cov_factor @ cov_factor.T + diag(cov_diag)."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        self._check(loc, cov_factor, cov_diag)
        event = loc.shape[-1:]
        try:
            batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = (x.expand(tuple(batch) + (-1,)) for x in (loc, cov_diag))
        self.cov_factor = cov_factor.expand(tuple(batch) + (-1, -1))
        self._low = LowRank(cov_factor, cov_diag)
        super().__init__(batch, event, validate_args)

    @staticmethod
    def _check(loc, cov_factor, cov_diag):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")

    @property
    def mean(self):
        """The mean."""
        return self.loc

    mode = mean

    @lazy_property
    def variance(self):
        """The variance of each entry."""
        low = self._low
        variance = low.factor.pow(2).sum(-1) + low.diag
        return variance.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        low = self._low
        return self._whole(low.factor @ low.factor.mT + low.diag.diag_embed())

    @lazy_property
    def scale_tril(self):
        """The covariance's factor of Cholesky's."""
        root = self._low.diag.sqrt().unsqueeze(-1)
        narrow = self._low.factor / root
        return self._whole(root * _ops.linalg_cholesky(_with_ones(narrow @ narrow.mT)))

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        inner = self._low.solved()
        return self._whole(self._low.diag.reciprocal().diag_embed() - inner.mT @ inner)

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        kind = {"dtype": self.loc.dtype, "device": self.loc.device}
        narrow = _ops.randn(shape[:-1] + tuple(self.cov_factor.shape[-1:]), **kind)
        wide = (self._low.factor @ narrow.unsqueeze(-1)).squeeze(-1)
        return self.loc + wide + self._low.diag.sqrt() * _ops.randn(shape, **kind)

    def log_prob(self, value):
        self._validate_sample(value)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        squares = self._low.squared_mahalanobis(value - self.loc)
        return -0.5 * (constant + self._low.log_det() + squares)

    def entropy(self):
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._low.log_det())).expand(tuple(self._batch_shape))


def _with_ones(matrix):
    """matrix and the identity."""
    return matrix + _ops.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


class LowRank:
    """factor @ factor.T + diag(diag), whose inverse takes a small matrix's (Woodbury)."""

    def __init__(self, factor, diag):
        self.factor, self.diag = factor, diag
        self.weighted = factor.mT / diag.unsqueeze(-2)
        self.inner = _ops.linalg_cholesky(_with_ones(self.weighted @ factor))

    def log_det(self):
        """The logarithm of the determinant."""
        return 2 * half_log_det(self.inner) + self.diag.log().sum(-1)

    def squared_mahalanobis(self, x):
        """x^T inverse x."""
        narrow = (self.weighted @ x.unsqueeze(-1)).squeeze(-1)
        return (x.pow(2) / self.diag).sum(-1) - squared_mahalanobis(self.inner, narrow)

    def solved(self):
        """What the inverse lacks of 1 / diag, as a factor."""
        return _ops.linalg_solve_triangular(self.inner, self.weighted, upper=False)

    def trace_of(self, other):
        """The trace of inverse @ other @ other.T."""
        scaled = other * self.diag.rsqrt().unsqueeze(-1)
        return scaled.pow(2).sum((-2, -1)) - (self.solved() @ other).pow(2).sum((-2, -1))
