"""torch.fft: its frequencies and shifts. The transforms give complex numbers, which there are not: `torch.stft` has
those of a signal's windows as pairs of reals."""

from __future__ import annotations

import math

from . import _missing, _ops

__getattr__ = _missing.getattr_of(__name__)

_TRANSFORMS = [
    "fft", "fft2", "fftn", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ihfft", "ihfft2", "ihfftn", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
]  # fmt: skip
__all__ = [*_TRANSFORMS, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]


_WHY = "there are no complex numbers; stft gives pairs of reals"
globals().update({name: _missing.refused(name, f"fft.{name}: {_WHY}") for name in _TRANSFORMS})


def fftfreq(n, d=1.0, *, out=None, requires_grad=False, **options):
    """The frequencies of a transform of n samples that lie d apart, in cycles: (0, 1, ..., -2, -1) / (n * d)."""
    counts = _ops.arange(0, n, **_floating("fftfreq", options))
    return _finished(
        _ops.where(counts < (n + 1) // 2, counts, counts - n), n, d, out, requires_grad
    )


def rfftfreq(n, d=1.0, *, out=None, requires_grad=False, **options):
    """Those of a transform of reals, whose other half is alike: (0, 1, ..., n // 2) / (n * d)."""
    counts = _ops.arange(0, n // 2 + 1, **_floating("rfftfreq", options))
    return _finished(counts, n, d, out, requires_grad)


def _floating(name: str, options: dict) -> dict:
    dtype = options.get("dtype") or _ops.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    return {**options, "dtype": dtype}


def _finished(counts, n: int, d: float, out, requires_grad: bool):
    frequencies = counts * (1.0 / (n * d) if n * d else math.inf)
    if out is not None:
        return out.resize_(frequencies.shape).copy_(frequencies)
    return frequencies.requires_grad_(requires_grad)


def fftshift(input, dim=None):
    """Rolls each dimension, or those of `dim`, by half its size, so that the frequency 0 comes into the middle."""
    return _rolled(input, dim, lambda size: size // 2)


def ifftshift(input, dim=None):
    """Undoes fftshift."""
    return _rolled(input, dim, lambda size: (size + 1) // 2)


def _rolled(input, dim, half):
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return _ops.roll(input, [half(input.size(d)) for d in dims], list(dims))
