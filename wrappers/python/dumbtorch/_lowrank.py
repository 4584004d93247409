"""Parts of factorisations of large matrices: svd_lowrank, pca_lowrank and lobpcg."""

from __future__ import annotations

import itertools
import math

from . import _ops
from ._types import float32, float64
from .autograd.function import Function, once_differentiable


def svd_lowrank(A, q=6, niter=2, M=None):
    """The q leading singular values and vectors of A, or A - M, nearly: (U, S, V).

    Of a random q-dimensional part of what A's columns span, made sharper by `niter` rounds of A and its transpose.
    (Halko, Martinsson and Tropp, "Finding structure with randomness", 2011, algorithms 4.4 and 5.1.)
    """
    q = 6 if q is None else q
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    is_wide = A.shape[-2] < A.shape[-1]
    tall = A.mT if is_wide else A
    basis = _range_of(tall, q, 2 if niter is None else niter)
    u, s, vh = _ops.linalg_svd(basis.mT @ tall, full_matrices=False)
    left, right = basis @ u, vh.mT
    return (right, s, left) if is_wide else (left, s, right)


def _range_of(A, q: int, niter: int):
    """An orthonormal basis of nearly what A's leading q singular vectors span."""
    sketch = _ops.randn((A.shape[-1], q), dtype=_working_dtype(A), device=A.device)
    basis, _ = _ops.linalg_qr(A @ sketch)
    for _ in range(niter):
        turned, _ = _ops.linalg_qr(A.mT @ basis)
        basis, _ = _ops.linalg_qr(A @ turned)
    return basis


def _working_dtype(A):
    return A.dtype if A.dtype.is_floating_point else float32


def pca_lowrank(A, q=None, center=True, niter=2):
    """The q principal directions of A's rows, the columns of V of (U, S, V): svd_lowrank of A without its mean."""
    least = min(A.shape[-2:])
    if q is None:
        q = min(6, least)
    elif not 0 <= q <= least:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


_EPSILON = {float32: 1.2e-07, float64: 2.23e-16}


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """The k largest (or smallest) eigenvalues of A @ x = value * B @ x, and their vectors: (E, X).

    A and B are symmetric, B positive-definite, both perhaps batches. `method` and the ortho_ settings choose between
    ways to keep a basis orthonormal; there is one here.
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and B.shape != A.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    m, dtype = A.shape[-1], _working_dtype(A)
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    settings = {
        "k": k, "n": n, "m": m, "niter": 1000 if niter is None else niter,
        "tol": _EPSILON[dtype] ** 0.5 if tol is None else tol, "largest": largest is None or largest,
    }  # fmt: skip
    batch = A.shape[:-2]
    wanted = (m, n) if X is None else X.shape[-2:]
    if wanted != (m, n) or (X is not None and X.shape[:-2] != batch):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {(*batch, m, n)}")
    start = _ops.randn((*batch, m, n), dtype=dtype, device=A.device) if X is None else X
    return _Eigenpairs.apply(A.to(dtype), B, start, iK, settings, tracker)


class Lobpcg:
    """The search of one matrix's eigenpairs; what a tracker sees. (Knyazev, "Toward the optimal preconditioned
    eigensolver", 2001.)"""

    def __init__(self, A, B, X, iK, settings: dict, tracker, batch_index: int):
        self.A, self.B, self.X, self.iK, self.tracker = A, B, X, iK, tracker
        self.iparams = {name: settings[name] for name in ("m", "n", "k", "niter")}
        self.iparams["batch_index"] = batch_index
        self.fparams = {"tol": settings["tol"]}
        self.bparams = {"largest": settings["largest"]}
        self.ivars = {"istep": 0, "iterations_left": settings["niter"], "converged_count": 0}
        self.fvars, self.bvars, self.tvars = {}, {"force_stop": False}, {}
        self._direction = None
        self._take_best(self._orthonormal(X))
        size = X.norm().item()
        self.fvars = {
            "X_norm": size,
            "A_norm": (A @ X).norm().item() / size,
            "B_norm": self._by_b(X).norm().item() / size,
        }

    def run(self):
        self._finish_step()
        while not (
            self.bvars["force_stop"]
            or self.ivars["iterations_left"] == 0
            or self.ivars["converged_count"] >= self.iparams["k"]
        ):
            self._step()
            self._finish_step()
        return self

    def _step(self) -> None:
        wanted = self.R if self.iK is None else self.iK @ self.R
        others = wanted if self._direction is None else _ops.cat([wanted, self._direction], 1)
        for _ in range(2):  # the second time for what rounding has left
            others = others - self.X @ (self.X.mT @ self._by_b(others))
            others = self._orthonormal(others)
        self._take_best(_ops.cat([self.X, others], 1))

    def _take_best(self, basis) -> None:
        """X becomes the best that there is in the span of a basis whose first part is X."""
        n, largest = self.iparams["n"], self.bparams["largest"]
        values, vectors = _ops.linalg_eigh(basis.mT @ (self.A @ basis))
        if largest:
            values, vectors = values.flip(0), vectors.flip(1)
        self.S, self.E, self.X = basis, values[:n], basis @ vectors[:, :n]
        if basis.shape[1] > n:
            self._direction = basis[:, n:] @ vectors[n:, :n]

    def _finish_step(self) -> None:
        A_norm, B_norm = self.fvars["A_norm"], self.fvars["B_norm"]
        self.R = self.A @ self.X - self._by_b(self.X) * self.E
        errors = self.R.norm(dim=0) / (self.X.norm(dim=0) * (A_norm + self.E.abs() * B_norm))
        self.tvars["rerr"] = errors
        converged = (errors < self.fparams["tol"]).tolist()
        self.ivars["converged_count"] = (converged + [False]).index(False)
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1
        if self.tracker is not None:
            self.tracker(self)

    def _by_b(self, x):
        return x if self.B is None else self.B @ x

    def _orthonormal(self, x):
        """Columns that span what those of x do, without what is nearly nothing."""
        gram = x.mT @ self._by_b(x)
        scale = gram.diagonal().clamp_min(0).sqrt()
        scale = _ops.where(scale > 0, 1 / scale, 0)
        values, vectors = _ops.linalg_eigh(gram * scale * scale.unsqueeze(1))
        kept = values > values.abs().max() * _EPSILON[x.dtype] * 10
        return (x * scale) @ (vectors[:, kept] * values[kept].rsqrt())


class _Eigenpairs(Function):
    """E and X of each matrix, with the gradient that exact ones have."""

    @staticmethod
    def forward(ctx, A, B, X, iK, settings, tracker):
        k, batch = settings["k"], A.shape[:-2]
        parts = [_matrices(x, len(batch)) for x in (A, B, X, iK)]
        found = [
            Lobpcg(*each, settings, tracker, i).run()
            for i, each in enumerate(zip(*parts, strict=False))
        ]
        values = _ops.stack([one.E[:k] for one in found]).reshape((*batch, k))
        vectors = _ops.stack([one.X[:, :k] for one in found]).reshape((*A.shape[:-1], k))
        ctx.save_for_backward(A, vectors)
        ctx.largest, ctx.has_b = settings["largest"], B is not None
        return values, vectors

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_values, grad_vectors):
        if ctx.has_b:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        A, X = ctx.saved_tensors
        values, vectors = _ops.linalg_eigh(A)
        if ctx.largest:
            values, vectors = values.flip(-1), vectors.flip(-1)
        k = X.shape[-1]
        apart = values[..., None, :k] - values[..., :, None]  # of those found from all
        apart.diagonal(0, -2, -1).fill_(math.inf)
        moved = vectors @ (vectors.mT @ grad_vectors / apart)
        return (moved + X * grad_values.unsqueeze(-2)) @ X.mT, None, None, None, None, None


def _matrices(x, batch_dims: int):
    """The matrices of a batch; one that there is not, or that is alone, serves them all."""
    if x is None or x.dim() == 2 and batch_dims:
        return itertools.repeat(x)
    return x.flatten(0, -3).unbind() if batch_dims else [x]
