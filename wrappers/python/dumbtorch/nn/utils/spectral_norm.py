"""Spectral normalisation by a hook (arXiv 1802.05957); parametrizations.spectral_norm is the newer way."""

from __future__ import annotations

from ... import _ops
from ...autograd.grad_mode import no_grad
from ..functional import normalize
from ..modules import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter
from ._derived import Derived, check_is_made, check_is_new, take_off


def as_matrix(weight, dim: int):
    """A weight with one dimension as rows."""
    return _ops.flatten(_ops.movedim(weight, dim, 0), 1)


def direction(size: int, like, eps: float):
    """A random vector of length 1."""
    out = _ops.normal_(_ops.empty((size,), dtype=like.dtype, device=like.device), 0, 1)
    return normalize(out, dim=0, eps=eps)


def output_dim(module, dim: int | None) -> int:
    """The dimension of a module's outputs in its weight, unless another is named."""
    if dim is not None:
        return dim
    return int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))


def check_iterations(count: int) -> None:
    if count <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={count}"
        )


class SpectralNorm(Derived):
    """The weight divided by its largest singular value, which a step of power iteration follows at each forward in
    training."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float):
        check_iterations(n_power_iterations)
        self.name, self.n_power_iterations = name, n_power_iterations
        self.dim, self.eps = dim, eps

    def compute(self, module):
        weight = getattr(module, self.name + "_orig")
        matrix = as_matrix(weight, self.dim)
        u, v = (getattr(module, self.name + end) for end in ("_u", "_v"))
        if module.training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(_ops.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(_ops.mv(matrix, v), dim=0, eps=self.eps))
        u, v = _ops.clone(u), _ops.clone(v)  # the graph keeps them; the next step writes the others
        return weight / _ops.dot(u, _ops.mv(matrix, v))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a parameter by its spectral norm: the parameter is then name_orig, the singular vectors are the buffers
    name_u and name_v."""
    check_is_new(module, SpectralNorm, name, "spectral_norm")
    check_is_made(module, name, SpectralNorm, "spectral")
    hook = SpectralNorm(name, n_power_iterations, output_dim(module, dim), eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with no_grad():
        u, v = (direction(size, weight, eps) for size in as_matrix(weight, hook.dim).shape)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, _ops.detach(weight))
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


@no_grad()
def remove_spectral_norm(module, name="weight"):
    """Makes the divided weight the parameter."""
    hook = take_off(module, SpectralNorm, name, f"spectral_norm of '{name}' not found in {module}")
    training, module.training = module.training, False
    weight = _ops.detach(hook.compute(module))
    module.training = training
    for end in ("", "_u", "_v", "_orig"):
        delattr(module, name + end)
    module.register_parameter(name, Parameter(weight))
    return module
