"""Parametrizations of weights: normalised lengths and spectra."""

from __future__ import annotations

from ... import _ops
from ..._tensor_type import TensorBase
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


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Not supported: it is made of a QR decomposition and a matrix exponential."""
    raise NotImplementedError(
        "orthogonal: the QR decomposition and the matrix exponential that it is made of are not supported"
    )
