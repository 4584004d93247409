"""Distributions of matrices."""

from __future__ import annotations

import math
import warnings
from numbers import Number

from .. import _ops, _type_info
from .._functions import broadcast_shapes
from .._types import Size
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gammas import Beta, Chi2
from .utils import broadcast_all
from .vectors import ByCovariance, factor_of, half_log_det

_MOST_TRIES = 10  # at drawing a matrix that is not singular


class Wishart(ByCovariance, ExponentialFamily):
    """Sums of df products x x.T of normal vectors, by the covariance of these, its inverse or its factor."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args=None,
    ):
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                 "scale_tril": scale_tril}  # fmt: skip
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch, p = self._take_df(df, matrix), matrix.shape[-1]
        self.__dict__[name] = matrix.expand(tuple(batch) + (-1, -1))
        super().__init__(batch, (p, p), validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        less = _ops.arange(0, p, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - less)

    def _take_df(self, df, matrix) -> Size:
        """Keeps df as a tensor of the batch's shape, which is the result."""
        p, batch = matrix.shape[-1], Size(matrix.shape[:-2])
        if isinstance(df, Number):
            self.df = _ops.full(batch, df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch = Size(broadcast_shapes(batch, df.shape))
            self.df = df.expand(batch)
        if self.df.le(p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        if self.df.lt(p).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=3,
            )
        return batch

    @property
    def arg_constraints(self) -> dict:
        """df is looked at beside the size of the matrices."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _of_matrices(self, x):
        return x.unsqueeze(-1).unsqueeze(-1)

    @property
    def mean(self):
        """The mean."""
        return self._of_matrices(self.df) * self.covariance_matrix

    @property
    def mode(self):
        """The likeliest matrix; NaN where there is none."""
        factor = self.df - self._event_shape[-1] - 1
        factor = _ops.where(factor <= 0, math.nan, factor)
        return self._of_matrices(factor) * self.covariance_matrix

    @property
    def variance(self):
        """The variance of each entry."""
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._of_matrices(self.df) * (v.pow(2) + products)

    def _drawn(self, sample_shape):
        """By the factor of a standard Wishart matrix (Bartlett): roots of chi2 numbers over normal ones."""
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        roots = roots.clamp(min=_type_info.finfo(roots.dtype).eps)
        shape = tuple(self._extended_shape(sample_shape))
        normal = _ops.randn(shape, dtype=roots.dtype, device=roots.device).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (roots.diag_embed() + normal)
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction=None):
        tries = _MOST_TRIES if max_try_correction is None else max_try_correction
        drawn = self._drawn(sample_shape)
        singular = ~self.support.check(drawn)
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        while tries > 0 and singular.any():
            drawn = _ops.where(self._of_matrices(singular), self._drawn(sample_shape), drawn)
            singular, tries = ~self.support.check(drawn), tries - 1
        return drawn

    def log_prob(self, value):
        self._validate_sample(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        norm = nu * (p * math.log(2) / 2 + half_log_det(factor)) + (nu / 2).mvlgamma(p)
        log_det = _ops.linalg_slogdet(value)[1]
        trace = _ops.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (nu - p - 1) / 2 * log_det - trace / 2 - norm

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        less = _ops.arange(0, p, dtype=nu.dtype, device=nu.device) / 2
        slope = ((nu / 2).unsqueeze(-1) - less).digamma().sum(-1)
        size = (p + 1) * (p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
        return size + (nu / 2).mvlgamma(p) - (nu - p - 1) / 2 * slope + nu * p / 2

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (p * math.log(2) - _ops.linalg_slogdet(-2 * x)[1]) + half.mvlgamma(p)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices, whose determinant to the power of concentration - 1 is the density.
    (D. Lewandowski, D. Kurowicka and H. Joe, Generating random correlation matrices, 2009)"""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # Row i has i numbers before its diagonal: the square of their length is a number of Beta.
        kind = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        before = _ops.arange(-1, dim - 1, **kind).clamp(min=0)
        most = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1)
        self._beta = Beta(before + 0.5, most - 0.5 * before)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape=()):
        square = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = tuple(self._extended_shape(sample_shape))
        drawn = _ops.randn(shape, dtype=square.dtype, device=square.device).tril(-1)
        length = drawn.norm(dim=-1, keepdim=True)
        rows = square.sqrt() * _ops.where(length > 0, drawn / length, 0.0)
        rest = (1 - rows.pow(2).sum(-1)).clamp(min=_type_info.finfo(rows.dtype).tiny)
        return rows + rest.sqrt().diag_embed()

    def log_prob(self, value):
        self._validate_sample(value)
        n, eta = self.dim - 1, self.concentration
        place = _ops.arange(2, self.dim + 1, device=eta.device)
        powers = 2 * (eta - 1).unsqueeze(-1) + self.dim - place
        density = (powers * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        alpha = eta + 0.5 * n
        norm = 0.5 * n * math.log(math.pi) + (alpha - 0.5).mvlgamma(n) - alpha.lgamma() * n
        return density - norm
