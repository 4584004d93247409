"""torch.linalg: products, norms and factorisations of vectors and matrices."""

from __future__ import annotations

from . import _missing, _ops
from ._complaints import MISSING, need_tensor
from ._ldl import ldl_factor, ldl_factor_ex, ldl_solve
from ._runtime import LinAlgError
from ._signatures import by_own_names, need_input

__getattr__ = _missing.getattr_of(__name__)

globals().update(_ops.NAMESPACES["linalg"])

__all__ = [*_ops.NAMESPACES["linalg"], "LinAlgError", "ldl_factor", "ldl_factor_ex", "ldl_solve"]


def matrix_norm(
    input=MISSING, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None, **names
):
    """Norm of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    if names:
        input, dim, keepdim = by_own_names(
            matrix_norm, names, input=input, dim=dim, keepdim=keepdim
        )
    need_input(matrix_norm, input)
    need_tensor("matrix_norm", input)
    if ord == "nuc":
        return _ops.nuclear_norm(input if dtype is None else input.to(dtype), dim, keepdim, out=out)
    return _ops.linalg_matrix_norm(input, _order_of(ord), dim, keepdim, dtype=dtype, out=out)


def norm(input=MISSING, ord=None, dim=None, keepdim=False, *, dtype=None, out=None, **names):
    """vector_norm of vectors, matrix_norm of matrices."""
    if names:
        input, dim, keepdim = by_own_names(norm, names, input=input, dim=dim, keepdim=keepdim)
    need_input(norm, input)
    need_tensor("norm", input)
    if not isinstance(ord, str):
        return _ops.linalg_norm(input, ord, dim, keepdim, dtype=dtype, out=out)
    if dim is None and input.ndim > 2:
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.ndim}D."
        )
    dim = (0, 1) if dim is None else (dim,) if isinstance(dim, int) else dim
    return matrix_norm(input, ord, dim, keepdim, dtype=dtype, out=out)


def cond(input=MISSING, p=None, *, out=None, **names):
    """norm(input, p) * norm(inv(input), p), by singular values where p is None, 2 or -2."""
    function = _ops.linalg_cond_named if isinstance(p, str) else _ops.linalg_cond
    return function(input, p, out=out, **names)


def pinv(input=MISSING, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None, **names):
    """The pseudo-inverse; `rcond` is an older name of `rtol`."""
    rtol = rcond if rtol is None else rtol
    return _ops.linalg_pinv(input, atol=atol, rtol=rtol, hermitian=hermitian, out=out, **names)


def matrix_rank(
    input=MISSING, tol=None, hermitian=False, *, atol=None, rtol=None, out=None, **names
):
    """How many singular values are not 0; `tol` is an older name of `atol`, with 0 for `rtol`."""
    if tol is not None:
        atol, rtol = tol, 0.0
    return _ops.linalg_matrix_rank(
        input, atol=atol, rtol=rtol, hermitian=hermitian, out=out, **names
    )


def _order_of(name):
    """The order of a norm as a number, None for "fro"."""
    if isinstance(name, str) and name != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {name} not supported.")
    return None if name == "fro" else name
