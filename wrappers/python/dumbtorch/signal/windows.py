"""Windows as SciPy has them: M weights that fall towards both ends, the same from either (`sym`) or one period
of what goes on for ever. n is 0, 1, ... M - 1; N, where the formulas reach their end, M - 1 or of a period M."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .. import _missing, _ops
from .._complaints import need
from .._types import float32, float64, strided

__getattr__ = _missing.getattr_of(__name__)

__all__ = (
    "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall"
).split()


def _window(shape, name, M, sym, *, dtype=None, layout=strided, device=None, requires_grad=False):
    """shape(n, N), computed in float64."""
    need(name, "M:i64", M)
    dtype = dtype or _ops.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    n = _ops.arange(0, M, dtype=float64, device=device)
    weights = shape(n, M - 1 if sym else M) if M > 1 else _ops.ones_like(n)
    return _ops.tensor_requires_grad_(_ops.to(weights, dtype=dtype), requires_grad)


def bartlett(M, *, sym=True, **options):
    """A triangle: 1 - |2n/N - 1|."""
    return _window(lambda n, N: 1 - _ops.abs(2 * n / N - 1), "bartlett", M, sym, **options)


def cosine(M, *, sym=True, **options):
    """Half a wave that ends before it is 0: sin(pi (n + 1/2) / (N + 1))."""
    return _window(
        lambda n, N: _ops.sin(math.pi * (n + 0.5) / (N + 1)), "cosine", M, sym, **options
    )


def exponential(M, *, center=None, tau=1.0, sym=True, **options):
    """exp(-|n - center| / tau); the center is N / 2 unless a periodic one says another."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(n, N):
        return _ops.exp(-_ops.abs(n - (N / 2 if center is None else center)) / tau)

    return _window(shape, "exponential", M, sym, **options)


def gaussian(M, *, std=1.0, sym=True, **options):
    """exp(-((n - N/2) / std)^2 / 2)."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        lambda n, N: _ops.exp(-_ops.square((n - N / 2) / std) / 2), "gaussian", M, sym, **options
    )


def kaiser(M, *, beta=12.0, sym=True, **options):
    """i0(beta sqrt(1 - (2n/N - 1)^2)) / i0(beta)."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(n, N):
        inside = _ops.clamp_min(1 - _ops.square(2 * n / N - 1), 0)
        return _ops.i0(beta * _ops.sqrt(inside)) / _ops.i0(_ops.scalar_tensor(beta, dtype=float64))

    return _window(shape, "kaiser", M, sym, **options)


def _cosines(name, M, a, sym, options):
    def shape(n, N):
        signs = ((-1) ** k * weight for k, weight in enumerate(a))
        return sum(weight * _ops.cos(2 * math.pi * k / N * n) for k, weight in enumerate(signs))

    return _window(shape, name, M, sym, **options)


def general_cosine(M, *, a, sym=True, **options):
    """a[0] - a[1] cos(2 pi n/N) + a[2] cos(4 pi n/N) - ..."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines("general_cosine", M, a, sym, options)


def general_hamming(M, *, alpha=0.54, sym=True, **options):
    """alpha - (1 - alpha) cos(2 pi n/N)."""
    return _cosines("general_hamming", M, (alpha, 1 - alpha), sym, options)


def hamming(M, *, sym=True, **options):
    """0.54 - 0.46 cos(2 pi n/N)."""
    return _cosines("hamming", M, (0.54, 0.46), sym, options)


def hann(M, *, sym=True, **options):
    """(1 - cos(2 pi n/N)) / 2."""
    return _cosines("hann", M, (0.5, 0.5), sym, options)


def blackman(M, *, sym=True, **options):
    """0.42 - 0.5 cos(2 pi n/N) + 0.08 cos(4 pi n/N)."""
    return _cosines("blackman", M, (0.42, 0.5, 0.08), sym, options)


def nuttall(M, *, sym=True, **options):
    """Four terms whose side lobes are lowest (Nuttall, 1981)."""
    return _cosines("nuttall", M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), sym, options)
