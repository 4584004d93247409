"""Transformers (arXiv 1706.03762): layers of attention and linear layers, encoders and decoders."""

from __future__ import annotations

import copy
import math

from ... import _ops
from ..._types import bool_
from .. import functional, init
from .activation import MultiheadAttention
from .container import ModuleList
from .layers import GELU, Dropout, LayerNorm, Linear, ReLU
from .module import Module


def _get_activation_fn(activation: str):
    """What a name stands for."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(functional, activation)


def _causal_mask(size, device=None, dtype=None):
    never = _ops.full((size, size), -math.inf, device=device, dtype=dtype)
    return never.triu(1)


def _is_causal(mask, is_causal, size) -> bool:
    """Whether a mask is that of is_causal, if nobody has said so."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    if mask.shape != (size, size):
        return False
    if not mask.is_floating_point() and mask.dtype != bool_:
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


def _length(x, batch_first) -> int:
    """How many positions an input has."""
    return x.shape[1] if batch_first and x.dim() == 3 else x.shape[0]


class _Layer(Module):
    """What the layers of encoders and decoders share: parts that are added to what they are applied to,
    with a norm before or after that."""

    _older = {"activation": functional.relu}

    def __init__(
        self, attentions, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
        batch_first, norm_first, bias, device, dtype,
    ):  # fmt: skip
        super().__init__()
        place = {"bias": bias, "device": device, "dtype": dtype}
        for name in attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, **place
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **place)
        self.norm_first = norm_first
        parts = range(1, len(attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, **place))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        is_name = isinstance(activation, str)
        self.activation = _get_activation_fn(activation) if is_name else activation

    def _add(self, x, norm, part):
        if self.norm_first:
            return x + part(norm(x))
        return norm(x + part(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        """Attention of an input to itself."""
        return self.dropout1(_attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def _attend(attention, x, memory, mask, padding_mask, is_causal):
    result = attention(
        x, memory, memory, attn_mask=mask, key_padding_mask=padding_mask, is_causal=is_causal,
        need_weights=False,
    )  # fmt: skip
    return result[0]


class TransformerEncoderLayer(_Layer):
    """Attention of an input to itself, then two linear layers, each added to what it is applied to.

    Args:
        d_model: Features of inputs and outputs.
        nhead: How many heads attention has.
        dim_feedforward: Features between the two linear layers.
        dropout: Probability of a 0, in training.
        activation: What is between the two linear layers: relu, gelu or a function.
        layer_norm_eps: eps of the norms.
        batch_first: Whether dimension 0 of inputs and output is the batch, and 1 the position.
        norm_first: Whether norms stand before attention and linear layers, or after the sums.
        bias: Whether linear layers and norms have biases.
    """

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=functional.relu,
        layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            ("self_attn",), d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
            batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip
        is_relu = self.activation is functional.relu or isinstance(self.activation, ReLU)
        is_gelu = self.activation is functional.gelu or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def attend(x):
            return self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal)

        x = self._add(src, self.norm1, attend)
        return self._add(x, self.norm2, self._ff_block)

    def _ff_block(self, x):
        """The two linear layers."""
        return self.dropout2(self._feed_forward(x))


class TransformerDecoderLayer(_Layer):
    """Attention of an input to itself, then to memory, then two linear layers, each added to what it is
    applied to.

    Args:
        d_model: Features of inputs and outputs.
        nhead: How many heads attention has.
        dim_feedforward: Features between the two linear layers.
        dropout: Probability of a 0, in training.
        activation: What is between the two linear layers: relu, gelu or a function.
        layer_norm_eps: eps of the norms.
        batch_first: Whether dimension 0 of inputs and output is the batch, and 1 the position.
        norm_first: Whether norms stand before attention and linear layers, or after the sums.
        bias: Whether linear layers and norms have biases.
    """

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=functional.relu,
        layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            ("self_attn", "multihead_attn"), d_model, nhead, dim_feedforward, dropout, activation,
            layer_norm_eps, batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
        memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False,
    ):  # fmt: skip
        def attend(x):
            return self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def look(x):
            return self._mha_block(
                x, memory, memory_mask, memory_key_padding_mask, memory_is_causal
            )

        x = self._add(tgt, self.norm1, attend)
        x = self._add(x, self.norm2, look)
        return self._add(x, self.norm3, self._ff_block)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        """Attention to memory."""
        return self.dropout2(
            _attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal)
        )

    def _ff_block(self, x):
        """The two linear layers."""
        return self.dropout3(self._feed_forward(x))


def _get_clones(module, N):
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


class TransformerEncoder(Module):
    """Copies of a TransformerEncoderLayer, one after another.

    Args:
        encoder_layer: The layer.
        num_layers: How many copies of it there are.
        norm: What is applied last, or None.
        enable_nested_tensor: No effect: there are no nested tensors.
        mask_check: No effect.
    """

    def __init__(
        self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True
    ):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = False

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(mask, is_causal, _length(src, batch_first))
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """Copies of a TransformerDecoderLayer, one after another.

    Args:
        decoder_layer: The layer.
        num_layers: How many copies of it there are.
        norm: What is applied last, or None.
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
        memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False,
    ):  # fmt: skip
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        x = tgt
        for layer in self.layers:
            x = layer(
                x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it gives, each with a norm at its end.

    Args:
        d_model: Features of inputs and outputs.
        nhead: How many heads attention has.
        num_encoder_layers: How many layers read the source.
        num_decoder_layers: How many layers make the target.
        dim_feedforward: Features between the two linear layers.
        dropout: Probability of a 0, in training.
        activation: What is between the two linear layers: relu, gelu or a function.
        custom_encoder: A module in the place of the encoder.
        custom_decoder: A module in the place of the decoder.
        layer_norm_eps: eps of the norms.
        batch_first: Whether dimension 0 of inputs and output is the batch, and 1 the position.
        norm_first: Whether norms stand before attention and linear layers, or after the sums.
        bias: Whether linear layers and norms have biases.
    """

    def __init__(
        self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048,
        dropout=0.1, activation=functional.relu, custom_encoder=None, custom_decoder=None,
        layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        settings = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first
        place = {"bias": bias, "device": device, "dtype": dtype}

        def stack(stack_class, layer_class, count):
            layer = layer_class(*settings, norm_first, **place)
            return stack_class(layer, count, LayerNorm(d_model, eps=layer_norm_eps, **place))

        self.encoder, self.decoder = custom_encoder, custom_decoder
        if custom_encoder is None:
            encoder = stack(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
            self.encoder = encoder
        if custom_decoder is None:
            decoder = stack(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
            self.decoder = decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
        tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None,
        tgt_is_causal=None, memory_is_causal=False,
    ):  # fmt: skip
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """[sz, sz]: -inf above the diagonal, where a position would see a later one, 0 elsewhere."""
        return _causal_mask(sz, device, dtype)
