"""Attention as a layer; activations that are one function are generated from the schema."""

from __future__ import annotations

from ... import _ops
from .. import functional, init
from ..parameter import Parameter
from .layers import Linear
from .module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear; PyTorch gives the last projection of attention a class of its own."""


class MultiheadAttention(Module):
    """Attention of several heads (arXiv 1706.03762); functional.multi_head_attention_forward has the
    formulas.

    Args:
        embed_dim: Features of the query and of the output.
        num_heads: How many heads there are, each of embed_dim / num_heads features.
        dropout: Probability that a weight becomes 0, in training.
        bias: Whether projections have biases.
        add_bias_kv: Whether there is a further key, and its value, that are trained.
        add_zero_attn: Whether there is a further key of zeros, whose value is zeros.
        kdim: Features of the key; absent means embed_dim.
        vdim: Features of the value; absent means embed_dim.
        batch_first: Whether dimension 0 of inputs and output is the batch, and 1 the position.
    """

    _older = {"_qkv_same_embed_dim": True}

    def __init__(
        self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False,
        kdim=None, vdim=None, batch_first=False, device=None, dtype=None,
    ):  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        place = {"device": device, "dtype": dtype}

        def add(name, given, *sizes):
            value = Parameter(_ops.empty(sizes, **place)) if given else None
            self.register_parameter(name, value)

        together = self._qkv_same_embed_dim
        add("in_proj_weight", together, 3 * embed_dim, embed_dim)
        add("q_proj_weight", not together, embed_dim, embed_dim)
        add("k_proj_weight", not together, embed_dim, self.kdim)
        add("v_proj_weight", not together, embed_dim, self.vdim)
        add("in_proj_bias", bias, 3 * embed_dim)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **place)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = Parameter(_ops.empty((1, 1, embed_dim), **place))
            self.bias_v = Parameter(_ops.empty((1, 1, embed_dim), **place))
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for further in (self.bias_k, self.bias_v):
            if further is not None:
                init.xavier_normal_(further)

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """What both masks hide, and 2; of a mask of padding alone that mask, and 1; of neither (None, None)."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length)
            merged = merged + padding.expand(-1, self.num_heads, -1, -1)
        return merged, 2

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
        average_attn_weights=True, is_causal=False,
    ):  # fmt: skip
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = _turned(query, key, value)
        output, weights = functional.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias,
            self.bias_k, self.bias_v, bool(self.add_zero_attn), self.dropout, self.out_proj.weight,
            self.out_proj.bias, self.training, key_padding_mask, bool(need_weights), attn_mask,
            not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=bool(average_attn_weights), is_causal=bool(is_causal),
        )  # fmt: skip
        # Those who have positions first get them first in memory, as of PyTorch.
        return output.transpose(0, 1) if turned else output.contiguous(), weights


def _turned(query, key, value):
    """The first two dimensions of each the other way round; what was one tensor stays one."""
    q = query.transpose(0, 1)
    k = q if key is query else key.transpose(0, 1)
    return q, k, k if value is key else value.transpose(0, 1)
