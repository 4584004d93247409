"""Windows of signal processing: weights that fall towards both ends."""

from __future__ import annotations

import math

from . import _ops
from ._complaints import need

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(name: str, shape, window_length: int, periodic: bool, options: dict):
    """shape(t) for t from 0 to 1 in so many steps; a periodic one leaves the last out."""
    need(name, "window_length:i64 periodic:bool", window_length, periodic)
    kind, requires_grad = options.get("dtype"), options.pop("requires_grad", None)
    need(name, "dtype:dtype? requires_grad:bool?", kind, requires_grad)
    kind = _ops.get_default_dtype() if kind is None else kind
    requires_grad = requires_grad is True
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if window_length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={window_length}"
        )
    options["dtype"] = kind
    if window_length < 2:
        return _ops.tensor_requires_grad_(_ops.ones((window_length,), **options), requires_grad)
    steps = window_length if periodic else window_length - 1
    t = _ops.linspace(0, 1, steps + 1, **options)[:window_length]
    return _ops.tensor_requires_grad_(_ops.clone(shape(t)), requires_grad)


def bartlett_window(window_length, periodic=True, **options):
    """A triangle: 1 - |2t - 1|, for t from 0 to 1."""
    return _window(
        "bartlett_window", lambda t: 1 - _ops.abs(2 * t - 1), window_length, periodic, options
    )


def hann_window(window_length, periodic=True, **options):
    """(1 - cos(2 pi t)) / 2, for t from 0 to 1."""
    return hamming_window(window_length, periodic, 0.5, 0.5, _name="hann_window", **options)


def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, _name="hamming_window", **options
):
    """alpha - beta cos(2 pi t), for t from 0 to 1."""
    need(_name, "alpha:f64 beta:f64", alpha, beta)
    return _window(
        _name, lambda t: alpha - beta * _ops.cos(2 * math.pi * t), window_length, periodic, options
    )


def blackman_window(window_length, periodic=True, **options):
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t), for t from 0 to 1."""

    def shape(t):
        return 0.42 - 0.5 * _ops.cos(2 * math.pi * t) + 0.08 * _ops.cos(4 * math.pi * t)

    return _window("blackman_window", shape, window_length, periodic, options)


def kaiser_window(window_length, periodic=True, beta=12.0, **options):
    """i0(beta sqrt(1 - (2t - 1)^2)) / i0(beta), for t from 0 to 1."""
    need("kaiser_window", "beta:f64", beta)

    def shape(t):
        inside = _ops.clamp_min(1 - _ops.square(2 * t - 1), 0)
        return _ops.i0(beta * _ops.sqrt(inside)) / _ops.i0(_ops.scalar_tensor(beta, dtype=t.dtype))

    return _window("kaiser_window", shape, window_length, periodic, options)
