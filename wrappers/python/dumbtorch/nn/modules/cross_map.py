"""CrossMapLRN2d: the older name of LocalResponseNorm for images."""

from __future__ import annotations

from ... import _ops
from .module import Module


class CrossMapLRN2d(Module):
    """LocalResponseNorm of a batch of images.

    Args:
        size: How many neighbouring channels count.
        alpha: Factor of the mean of their squares.
        beta: The exponent.
        k: Added before it is taken.
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        # Windows have a channel in their middle: one of an even size lacks its last one, and is divided by the size.
        width = self.size - 1 + self.size % 2
        alpha = self.alpha * width / self.size
        return _ops.local_response_norm(input, width, alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
