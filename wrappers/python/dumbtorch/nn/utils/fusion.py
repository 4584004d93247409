"""A batch norm in evaluation mode as part of the layer before it."""

from __future__ import annotations

from copy import deepcopy

from ... import _ops
from ..parameter import Parameter


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of a convolution, with transpose of a transposed one, that does what it and the norm do."""
    return _fused(conv, bn, lambda *args: fuse_conv_bn_weights(*args, transpose))


def fuse_linear_bn_eval(linear, bn):
    """A copy of a Linear that does what it and the norm do."""
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer, bn, fuse):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    out = deepcopy(layer)
    out.weight, out.bias = fuse(
        out.weight, out.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return out


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of a convolution whose outputs a norm scales and shifts."""
    return _scaled(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a Linear whose outputs a norm scales and shifts."""
    return _scaled(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _scaled(weight, bias, mean, var, eps, scale, shift, channels: int) -> tuple:
    """The dimension `channels` of the weight is that of the outputs."""
    factor = _ops.rsqrt(var + eps) * (1 if scale is None else scale)
    shape = [1] * weight.ndim
    shape[channels] = -1
    given = _ops.zeros_like(mean) if bias is None else bias
    kind = weight.dtype if bias is None else bias.dtype
    moved = (given - mean) * factor + (0 if shift is None else shift)
    return (
        Parameter(
            _ops.to(weight * factor.reshape(shape), dtype=weight.dtype), weight.requires_grad
        ),
        Parameter(_ops.to(moved, dtype=kind), given.requires_grad),
    )
