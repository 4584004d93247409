"""The short-time Fourier transform of real signals, whose real and imaginary parts lie in a last dimension."""

from __future__ import annotations

import math

from . import _ops
from ._types import float64, int64

__all__ = ["stft"]


def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """What frequencies a signal [..., length] has in windows that begin every `hop_length` elements:
    [..., frequencies, windows, 2]. It is a product with the matrix of the transform; `return_complex` must be False.
    """
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    _check_result(return_complex)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        input = _with_margins(input, n_fft // 2, pad_mode)
    _check(input, n_fft, hop_length, win_length, window)
    before = (n_fft - win_length) // 2
    if align_to_window:
        input = _ops.pad(input, (before, n_fft - win_length - before))
    windowed = slice(before, before + win_length)
    waves = _waves(n_fft, onesided is None or onesided, input)[windowed]
    if window is not None:
        waves = waves * window.unsqueeze(-1)
    if normalized:
        waves = waves / math.sqrt(n_fft)
    frames = input.unfold(-1, n_fft, hop_length)[..., windowed]
    return (frames.to(waves.dtype) @ waves).unflatten(-1, (-1, 2)).transpose(-3, -2)


def _with_margins(x, margin: int, pad_mode: str):
    """A signal, or each of a batch, with `margin` elements more at both ends."""
    rows = x.reshape(
        (1,) * (3 - x.ndim) + tuple(x.shape)
    )  # what pad takes: [batch, channels, length]
    rows = _ops.pad(rows, (margin, margin), pad_mode)
    return rows.reshape(tuple(x.shape[:-1]) + (rows.shape[-1],))


def _check_result(return_complex) -> None:
    if return_complex is None:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if return_complex:
        raise RuntimeError(
            "stft: there are no complex numbers; return_complex=False gives real and imaginary parts"
        )


def _check(input, n_fft, hop_length, win_length, window) -> None:
    if not input.is_floating_point():
        raise RuntimeError("stft: expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError("stft: expected a 1D or 2D tensor")
    if not 0 < n_fft <= input.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}")
    if hop_length <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"stft: expected 0 < win_length <= n_fft, but got win_length={win_length}"
        )
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(
            f"stft: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.shape)}"
        )


def _waves(n: int, onesided: bool, like):
    """exp(-2 pi i t k / n) for all times t [rows] and frequencies k: cosine and minus sine beside each other."""
    turns = _ops.arange(0, n, dtype=int64, device=like.device)
    frequencies = turns[: n // 2 + 1] if onesided else turns
    # In whole numbers, so that no angle is rounded twice.
    places = _ops.outer(turns, frequencies) % n
    angles = turns.to(float64) * (-2 * math.pi / n)
    circle = _ops.stack([_ops.cos(angles), _ops.sin(angles)], 1).to(like.dtype)
    return circle[places].flatten(1)
