"""Weight normalisation by a hook (arXiv 1602.07868); parametrizations.weight_norm is the newer way."""

from __future__ import annotations

from ... import _ops
from ..._warning import warn_each
from ..parameter import Parameter
from ._derived import Derived, check_is_made, check_is_new, take_off


def norm_except(v, dim: int):
    """The 2-norm over all dimensions but one, which keep size 1; over all of them if dim is -1."""
    if dim == -1:
        return _ops.norm(v)
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return _ops.norm(v, dim=others, keepdim=True) if others else _ops.abs(v)


def normalized(v, g, dim: int):
    """v with the lengths g."""
    return v * (g / norm_except(v, dim))


class WeightNorm(Derived):
    """The weight as a length and a direction."""

    def __init__(self, name: str, dim: int | None):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute(self, module):
        return normalized(
            getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim
        )


def weight_norm(module, name="weight", dim=0):
    """Makes a parameter of lengths name_g along dim, or one length if dim is None, and directions name_v."""
    warn_each(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    check_is_new(module, WeightNorm, name, "weight_norm")
    check_is_made(module, name, WeightNorm, "weight")
    hook, weight = WeightNorm(name, dim), _ops.detach(getattr(module, name))
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except(weight, hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Makes one parameter of it again."""
    hook = take_off(module, WeightNorm, name, f"weight_norm of '{name}' not found in {module}")
    weight = _ops.detach(hook.compute(module))
    for each in (name, name + "_g", name + "_v"):
        delattr(module, each)
    setattr(module, name, Parameter(weight))
    return module
