"""CrossMapLRN2d: the older name of LocalResponseNorm for images."""

from __future__ import annotations

from .layers import LocalResponseNorm


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm of a batch of images.

    Args:
        size: How many neighbouring channels count.
        alpha: Factor of the mean of their squares.
        beta: The exponent.
        k: Added before it is taken.
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return super().forward(input)
