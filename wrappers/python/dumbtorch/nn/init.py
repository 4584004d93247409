"""Initial values: functions that fill a tensor in place and return it."""

from __future__ import annotations

import functools
import math
import warnings

from .. import _missing, _ops
from .._types import float64
from ..autograd.grad_mode import no_grad

__getattr__ = _missing.getattr_of(__name__)

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0,
    "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


def calculate_gain(nonlinearity, param=None) -> float:
    """The recommended gain for a nonlinearity."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform numbers in [a, b)."""
    return _ops.uniform_(tensor, a, b, generator=generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal numbers."""
    return _ops.normal_(tensor, mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal numbers between a and b: those outside are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    inside = math.erf((b - mean) / (std * math.sqrt(2))) - math.erf(
        (a - mean) / (std * math.sqrt(2))
    )
    draw = _normal_candidates if inside > 0.6 else _uniform_candidates
    rejected = draw(tensor, tensor, mean, std, a, b, generator)
    while _ops.any(rejected).item():
        fresh = _ops.empty_like(tensor)
        again = draw(fresh, tensor, mean, std, a, b, generator)
        tensor.copy_(_ops.where(rejected, fresh, tensor))
        rejected = _ops.logical_and(rejected, again)
    return tensor


def _normal_candidates(to, like, mean, std, a, b, generator):
    """Normal numbers; gives which of them lie outside."""
    _ops.normal_(to, mean, std, generator=generator)
    return _ops.logical_or(to < a, to > b)


def _uniform_candidates(to, like, mean, std, a, b, generator):
    """Uniform numbers, for bounds that few normal ones lie between; gives which of them are
    rejected, as often as the density is below its peak.
    """
    _ops.uniform_(to, a, b, generator=generator)
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    density = _ops.exp(((to - mean) / std) ** 2 * -0.5 - peak)
    return _ops.uniform_(_ops.empty_like(like), generator=generator) > density


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


@no_grad()
def eye_(tensor):
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_ops.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def _calculate_fan_in_and_fan_out(tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit has."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = 1
    for n in tensor.shape[2:]:
        field *= n
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform numbers that keep the variance in both directions (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal numbers that keep the variance in both directions (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform numbers that keep the variance through rectifiers (He et al., 2015)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = (
        math.sqrt(3.0)
        * calculate_gain(nonlinearity, a)
        / math.sqrt(_calculate_correct_fan(tensor, mode))
    )
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal numbers that keep the variance through rectifiers (He et al., 2015)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


@no_grad()
def dirac_(tensor, groups=1):
    """Convolution weights that keep as many channels as they can, in each group."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out = tensor.shape[0]
    if out % groups:
        raise ValueError("dim 0 must be divisible by groups")
    _ops.zero_(tensor)
    center = tuple(n // 2 for n in tensor.shape[2:])
    for first in range(0, out, out // groups):
        for d in range(min(out // groups, tensor.shape[1])):
            tensor[(first + d, d, *center)] = 1
    return tensor


@no_grad()
def orthogonal_(tensor, gain=1, generator=None):
    """Rows, or columns if there are more rows than columns, that are orthogonal and of length
    gain (Saxe et al., 2013).
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    short, long = min(rows, columns), max(rows, columns)
    basis = _ops.empty((short, long), dtype=float64, device=tensor.device)
    _ops.normal_(basis, generator=generator)
    for i in range(short):  # Gram and Schmidt's way; the second time takes away what rounding left
        row, done = basis[i], basis[:i]
        for _ in range(2):
            row -= (done @ row) @ done
        row /= _ops.norm(row)
    basis = basis if rows <= columns else basis.t()
    return tensor.copy_(_ops.reshape(basis * gain, tensor.shape))


@no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers, of which a share of each column is 0 (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    _ops.normal_(tensor, 0, std, generator=generator)
    for column in range(columns):
        tensor[_ops.randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


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
