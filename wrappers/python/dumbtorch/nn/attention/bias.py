"""Masks of attention that hide what comes later, of which a query and a key may have other lengths."""

from __future__ import annotations

import warnings
from enum import IntEnum

from ... import _missing, _ops
from ..._tensor import Tensor
from ..._types import bool_

__getattr__ = _missing.getattr_of(__name__)
__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """The corner that the diagonal begins or ends in."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """True where a query may look: the mask itself, which functional.scaled_dot_product_attention takes."""

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        is_right = variant is CausalVariant.LOWER_RIGHT
        if is_right and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                stacklevel=2,
            )
        diagonal = seq_len_kv - seq_len_q if is_right else 0
        mask = _ops.tril(_ops.full((seq_len_q, seq_len_kv), True, dtype=bool_), diagonal)
        self = mask.as_subclass(cls)
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        return self


def _of_two(name: str, variant: CausalVariant, size: tuple) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size) -> CausalBias:
    """A lower triangle that begins in the upper left corner."""
    return _of_two("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size) -> CausalBias:
    """A lower triangle that ends in the lower right corner."""
    return _of_two("causal_lower_right", CausalVariant.LOWER_RIGHT, size)
