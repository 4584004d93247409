"""Weights of convolutions in another order of memory."""

from __future__ import annotations

from ... import _ops
from ..modules import Conv2d, ConvTranspose2d


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lays out the weights of all Conv2d and ConvTranspose2d in a module anew; gives the module."""
    for layer in module.modules():
        if isinstance(layer, (Conv2d, ConvTranspose2d)):
            weight = _ops.detach(layer.weight)
            _ops.tensor_set_data(layer.weight, _ops.contiguous(weight, memory_format=memory_format))
    return module


def convert_conv3d_weight_memory_format(module, memory_format):
    """Not supported: volumes have one order of memory here."""
    raise NotImplementedError(
        "convert_conv3d_weight_memory_format: volumes have no channels_last_3d order here"
    )
