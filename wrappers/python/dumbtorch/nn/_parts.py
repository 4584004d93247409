"""Steps of attention that programs take from PyTorch's nn.functional for layers of their own. The library's layers take
them in one op."""

from __future__ import annotations

import warnings

from .. import _ops
from .._tensor_type import TensorBase
from .._types import bool_

__all__ = ["_canonical_mask", "_in_projection", "_in_projection_packed", "_none_or_dtype"]


def _none_or_dtype(input):
    """A tensor's dtype, if there is one."""
    if input is None:
        return None
    if isinstance(input, TensorBase):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask as what is added to scores: -infinity where one of bools hides."""
    if mask is None:
        return None
    if not mask.is_floating_point() and mask.dtype is not bool_:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    if mask.is_floating_point():
        return mask
    return _ops.masked_fill_(_ops.zeros_like(mask, dtype=target_type), mask, float("-inf"))


def _in_projection_packed(q, k, v, w, b=None):
    """The projections of query, key and value, whose weights, and biases, lie one above the other."""
    weights = _ops.chunk(w, 3)
    biases = (None,) * 3 if b is None else _ops.chunk(b, 3)
    if not (k is v and q is k):
        return tuple(map(_ops.linear, (q, k, v), weights, biases))
    return tuple(_ops.contiguous(x) for x in _ops.chunk(_ops.linear(q, w, b), 3, -1))


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """The projections of query, key and value by weights of their own."""
    size = q.size(-1)
    for name, x, w in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        if w.shape != (wanted := (size, x.size(-1))):
            raise AssertionError(f"expecting {name} weights shape of {wanted}, but got {w.shape}")
    for name, b in (("query", b_q), ("key", b_k), ("value", b_v)):
        if b is not None and b.shape != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {b.shape}")
    return _ops.linear(q, w_q, b_q), _ops.linear(k, w_k, b_k), _ops.linear(v, w_v, b_v)
