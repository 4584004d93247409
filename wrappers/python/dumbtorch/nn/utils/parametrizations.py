"""Parametrizations of weights: normalised lengths and spectra, orthogonal matrices."""

from __future__ import annotations

from ... import _ops, linalg
from ..._tensor_type import TensorBase
from ..._type_info import finfo
from ...autograd.grad_mode import no_grad
from ..functional import normalize
from ..modules import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, check_iterations, direction, output_dim
from .weight_norm import norm_except, normalized

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """The weight as lengths along dim, or one length if dim is None, and directions (arXiv 1602.07868): original0 and
    original1. State dicts of nn.utils.weight_norm are taken too."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict, prefix, *_):
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations: int, dim: int, eps: float):
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(_ops.detach(weight), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, direction(size, weight, eps))
            self._iterate(matrix, 15)

    @no_grad()
    def _iterate(self, matrix, count: int) -> None:
        for _ in range(count):
            self._u.copy_(normalize(_ops.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(_ops.mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # The graph keeps copies: the next forward writes the vectors.
        u, v = _ops.clone(self._u), _ops.clone(self._v)
        return weight / _ops.dot(u, _ops.mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight divided by its largest singular value (arXiv 1802.05957), which power iteration follows: at each look
    at the weight in training."""
    weight = getattr(module, name, None)
    if not isinstance(weight, TensorBase):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    norm = _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps)
    return register_parametrization(module, name, norm)


_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """A matrix with orthogonal columns, or rows if it is wide, of a matrix without constraints."""

    def __init__(self, weight, orthogonal_map: str, use_trivialization: bool):
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        is_wide = x.size(-2) < x.size(-1)
        x = x.mT if is_wide else x
        q = _reflected(x) if self.orthogonal_map == "householder" else self._rotation(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if is_wide else q

    def _rotation(self, x):
        """Of a tall matrix: the first columns of a rotation that is made of its lower triangle."""
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = _ops.cat([x, x.new_zeros(*x.shape[:-2], n, n - k)], -1)
        skew = x - x.mT
        if self.orthogonal_map == "matrix_exp":
            q = _ops.matrix_exp(skew)
        else:
            one = _ops.eye(n, dtype=x.dtype, device=x.device)
            q = linalg.solve(one - skew / 2, one + skew / 2)
        return q if n == k else q[..., :k]

    @no_grad()
    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        is_wide = q.size(-2) < q.size(-1)
        tall = q.mT if is_wide else q
        if hasattr(self, "base"):
            self.base = _completed(tall)
            start = _ops.zeros_like(q)  # where the map gives the first columns of 1
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        reflectors, tau = _ops.geqrf(tall)
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(_ops.where(tau == 0, -diagonal.sign(), diagonal.sign()))
        return reflectors.mT if is_wide else reflectors


def _reflected(x):
    """The product of reflections by the columns below the diagonal, which holds signs."""
    below = x.tril(-1)
    q = linalg.householder_product(below, 2.0 / (1.0 + below.square().sum(-2)))
    return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _completed(q):
    """A square matrix with orthogonal columns, of which q's, made orthogonal, are the first."""
    n, k = q.shape[-2:]
    one = _ops.eye(n, dtype=q.dtype, device=q.device)
    if n == k and _ops.allclose(q.mT @ q, one, atol=10 * n * finfo(q.dtype).eps):
        return _ops.clone(q)
    if n != k:
        others = _ops.randn((*q.shape[:-2], n, n - k), dtype=q.dtype, device=q.device)
        q = _ops.cat([q, others], -1)
    reflectors, tau = _ops.geqrf(q)
    signs = reflectors.diagonal(dim1=-2, dim2=-1).sgn()
    return linalg.householder_product(reflectors, tau) * signs.unsqueeze(-2)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """The weight as a matrix with orthogonal columns, or rows if it is wide (arXiv 1901.08428).

    Args:
        module: The layer.
        name: The weight's name.
        orthogonal_map: "matrix_exp" or "cayley" of a skew matrix, or "householder" reflections; by default the
            first of square matrices, the last of others.
        use_trivialization: Start from the weight itself, which is kept as a buffer beside what is trained.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, TensorBase):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
