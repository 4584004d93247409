"""torch.linalg: products and norms of vectors and matrices."""

from __future__ import annotations

from . import _ops

globals().update(_ops.NAMESPACES["linalg"])

__all__ = list(_ops.NAMESPACES["linalg"])


def matrix_norm(input, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """Norm of matrices: "fro", 1, -1, inf or -inf."""
    return _ops.linalg_matrix_norm(input, _order_of(ord), dim, keepdim, dtype=dtype, out=out)


def norm(input, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    """vector_norm of vectors, matrix_norm of matrices."""
    if not isinstance(ord, str):
        return _ops.linalg_norm(input, ord, dim, keepdim, dtype=dtype, out=out)
    if dim is None and input.ndim > 2:
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.ndim}D."
        )
    dim = (0, 1) if dim is None else (dim,) if isinstance(dim, int) else dim
    return matrix_norm(input, ord, dim, keepdim, dtype=dtype, out=out)


def _order_of(name):
    """The order of a norm as a number, None for "fro"."""
    if name == "nuc":
        message = "order nuc is made of singular values, which are not supported"
        raise NotImplementedError(f"linalg.matrix_norm: {message}")
    if isinstance(name, str) and name != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {name} not supported.")
    return None if name == "fro" else name
