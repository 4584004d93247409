"""The gradients of convolutions by their input and by their weight."""

from __future__ import annotations

from .. import _missing, _ops
from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from . import functional

__getattr__ = _missing.getattr_of(__name__)


def _by(x, convolve, grad_output):
    """The gradient by x, which can be differentiated again where gradients are recorded."""
    create_graph = _ops.is_grad_enabled()
    with enable_grad():
        x = x.detach().requires_grad_()
        return grad(convolve(x), x, grad_output, create_graph=create_graph)[0]


def _pair(dims: int):
    convolution = getattr(functional, f"conv{dims}d")

    def by_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        input = _ops.zeros(tuple(input_size), dtype=weight.dtype, device=weight.device)
        settings = stride, padding, dilation, groups
        return _by(input, lambda x: convolution(x, weight, None, *settings), grad_output)

    def by_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = _ops.zeros(tuple(weight_size), dtype=input.dtype, device=input.device)
        settings = stride, padding, dilation, groups
        return _by(weight, lambda x: convolution(input, x, None, *settings), grad_output)

    for name, function in (("input", by_input), ("weight", by_weight)):
        function.__name__ = function.__qualname__ = f"conv{dims}d_{name}"
        function.__doc__ = f"The gradient of conv{dims}d by its {name}."
    return by_input, by_weight


conv1d_input, conv1d_weight = _pair(1)
conv2d_input, conv2d_weight = _pair(2)
conv3d_input, conv3d_weight = _pair(3)
