"""Transforms of whole vectors and matrices, and of tensors piece by piece."""

from __future__ import annotations

import math

from .. import _ops, _type_info
from .._types import Size
from ..nn.functional import logsigmoid, softplus
from . import constraints
from .elementwise import SameKind, inside_unit_interval
from .transform import Transform, _check_dims
from .utils import lazy_property, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix


class ReshapeTransform(Transform):
    """Events of one shape as events of another."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    def _with_cache(self, cache_size):
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    @constraints.dependent_property
    def domain(self):
        """Events of in_shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        """Events of out_shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _batch(self, x):
        return tuple(x.shape[: x.dim() - len(self.in_shape)])

    def _call(self, x):
        return x.reshape(self._batch(x) + tuple(self.out_shape))

    def _inverse(self, y):
        batch = tuple(y.shape[: y.dim() - len(self.out_shape)])
        return y.reshape(batch + tuple(self.in_shape))

    def log_abs_det_jacobian(self, x, y):
        return _ops.zeros(self._batch(x), dtype=x.dtype, device=x.device)

    @staticmethod
    def _reshaped(shape, old, new):
        _check_dims(len(shape), len(old))
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return Size(tuple(shape[:cut]) + tuple(new))

    def forward_shape(self, shape):
        return self._reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._reshaped(shape, self.out_shape, self.in_shape)


class _OfVectors(SameKind):
    """Of vectors, whose length changes by `_more`."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _more = 0

    def _resized(self, shape, more):
        _check_dims(len(shape), 1)
        return Size(tuple(shape[:-1]) + (shape[-1] + more,))

    def forward_shape(self, shape):
        return self._resized(shape, self._more)

    def inverse_shape(self, shape):
        return self._resized(shape, -self._more)


class SoftmaxTransform(_OfVectors):
    """softmax(x): many vectors have the same."""

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()


class StickBreakingTransform(_OfVectors):
    """Breaks a stick of length 1: each number says how much of the rest is taken."""

    bijective = True
    _more = 1

    @staticmethod
    def _centred(x):
        """x, moved so that 0 breaks into equal pieces."""
        n = x.shape[-1]
        return x - _ops.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x):
        share = inside_unit_interval(self._centred(x).sigmoid())
        one = _ops.ones_like(share[..., :1])
        rest = (1 - share).cumprod(-1)
        return _ops.cat([share, one], -1) * _ops.cat([one, rest], -1)

    def _inverse(self, y):
        taken = y[..., :-1]
        rest = (1 - taken.cumsum(-1)).clamp(min=_type_info.finfo(y.dtype).tiny)
        n = taken.shape[-1]
        offset = _ops.arange(n, 0, -1, dtype=y.dtype, device=y.device)
        return taken.log() - rest.log() + offset.log()

    def log_abs_det_jacobian(self, x, y):
        x = self._centred(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)


class CorrCholeskyTransform(Transform):
    """The Cholesky factor of a correlation matrix, by D (D - 1) / 2 numbers: each row breaks a stick."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = _type_info.finfo(x.dtype).eps
        part = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - part**2).sqrt().cumprod(-1)
        eye = _ops.eye(part.shape[-1], dtype=part.dtype, device=part.device)
        return (part + eye) * self._shifted(rest)

    @staticmethod
    def _shifted(rest):
        return _ops.cat([_ops.ones_like(rest[..., :1]), rest[..., :-1]], -1)

    def _inverse(self, y):
        rest = self._shifted(1 - (y * y).cumsum(-1))
        part = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return (part.log1p() - part.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * rest.log().sum(-1) + of_tanh

    def forward_shape(self, shape):
        _check_dims(len(shape), 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size(tuple(shape[:-1]) + (d, d))

    def inverse_shape(self, shape):
        _check_dims(len(shape), 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return Size(tuple(shape[:-2]) + (d * (d - 1) // 2,))


class LowerCholeskyTransform(SameKind):
    """The lower triangle of a matrix, with exp of its diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(SameKind):
    """The positive definite matrix with the factor that LowerCholeskyTransform makes."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(_ops.linalg_cholesky(y))


class _Pieces(Transform):
    """A transform for each piece of a dimension."""

    def __init__(self, tseq, dim, cache_size):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        """Whether all have an inverse."""
        return all(t.bijective for t in self.transforms)

    def _check(self, name, x, size, what):
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {x.dim()} dimensions"
            )
        if x.size(self.dim) != size:
            raise AssertionError(
                f"{name}.size({self.dim}) = {x.size(self.dim)} must equal {what} {size}"
            )

    def _call(self, x):
        pieces = self._cut(x, "x")
        return self._joined([t(p) for t, p in zip(self.transforms, pieces, strict=True)])

    def _inverse(self, y):
        pieces = self._cut(y, "y")
        return self._joined([t.inv(p) for t, p in zip(self.transforms, pieces, strict=True)])


class CatTransform(_Pieces):
    """A transform for each of the pieces of `lengths` into which a dimension is cut."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    @lazy_property
    def event_dim(self) -> int:
        """The dimensions that the part looks at that looks at most."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    def _with_cache(self, cache_size):
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _cut(self, x, name):
        self._check(name, x, self.length, "length")
        return x.split(self.lengths, self.dim)

    def _joined(self, pieces):
        return _ops.cat(pieces, self.dim)

    def log_abs_det_jacobian(self, x, y):
        stretches = []
        for t, p, q in zip(self.transforms, self._cut(x, "x"), self._cut(y, "y"), strict=True):
            stretch = t.log_abs_det_jacobian(p, q)
            stretches.append(sum_rightmost(stretch, self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return _ops.cat(stretches, dim) if dim < 0 else sum(stretches)

    @constraints.dependent_property
    def domain(self):
        """Where the pieces are defined."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        """Where the pieces' values lie."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Pieces):
    """A transform for each place of a dimension."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def _with_cache(self, cache_size):
        return StackTransform(self.transforms, self.dim, cache_size)

    def _cut(self, x, name):
        self._check(name, x, len(self.transforms), "len(transforms)")
        return x.unbind(self.dim)

    def _joined(self, pieces):
        return _ops.stack(pieces, self.dim)

    def log_abs_det_jacobian(self, x, y):
        pieces = zip(self.transforms, self._cut(x, "x"), self._cut(y, "y"), strict=True)
        return self._joined([t.log_abs_det_jacobian(p, q) for t, p, q in pieces])

    @constraints.dependent_property
    def domain(self):
        """Where the pieces are defined."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        """Where the pieces' values lie."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
