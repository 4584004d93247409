"""Initial values: functions that fill a tensor in place and return it."""

from __future__ import annotations

import functools
import warnings

from .. import _missing, _ops
from ..autograd.grad_mode import no_grad

__getattr__ = _missing.getattr_of(__name__)


def calculate_gain(nonlinearity, param=None) -> float:
    """The recommended gain for a nonlinearity."""
    if nonlinearity != "leaky_relu":
        param = None
    elif isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
        raise ValueError(f"negative_slope {param} not a valid number")
    return _ops.calculate_gain(nonlinearity, param)


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform numbers in [a, b)."""
    return _ops.uniform_(tensor, a, b, generator=generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal numbers."""
    return _ops.normal_(tensor, mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal numbers between a and b: those outside are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    return _ops.trunc_normal_(tensor, mean, std, a, b, generator=generator)


@no_grad()
def constant_(tensor, val):
    """One number."""
    return _ops.fill_(tensor, val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity matrix."""
    return _ops.eye_(tensor)


def _calculate_fan_in_and_fan_out(tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit has."""
    return tuple(_ops.calculate_fan_in_and_fan_out(tensor))


def _calculate_correct_fan(tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform numbers that keep the variance in both directions (Glorot and Bengio, 2010)."""
    return _ops.xavier_uniform_(tensor, gain, generator=generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal numbers that keep the variance in both directions (Glorot and Bengio, 2010)."""
    return _ops.xavier_normal_(tensor, gain, generator=generator)


def _kaiming(fill, tensor, a, mode, nonlinearity, generator):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    calculate_gain(nonlinearity, a)  # which refuses slopes that are no numbers
    return fill(tensor, a, mode.lower(), nonlinearity, generator=generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform numbers that keep the variance through rectifiers (He et al., 2015)."""
    return _kaiming(_ops.kaiming_uniform_, tensor, a, mode, nonlinearity, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal numbers that keep the variance through rectifiers (He et al., 2015)."""
    return _kaiming(_ops.kaiming_normal_, tensor, a, mode, nonlinearity, generator)


def dirac_(tensor, groups=1):
    """Convolution weights that keep as many channels as they can, in each group."""
    return _ops.dirac_(tensor, groups)


def orthogonal_(tensor, gain=1, generator=None):
    """Rows, or columns if there are more rows than columns, that are orthogonal and of length
    gain (Saxe et al., 2013).
    """
    return _ops.orthogonal_(tensor, gain, generator=generator)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers, of which a share of each column is 0 (Martens, 2010)."""
    return _ops.sparse_(tensor, sparsity, std, generator=generator)


def _make_deprecate(function):
    """PyTorch's first names, without the underscore, which it still has."""

    name = function.__name__

    @functools.wraps(function)
    def old(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = name[:-1]
    return old


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)

# What PyTorch's are made of, which programs call.
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
