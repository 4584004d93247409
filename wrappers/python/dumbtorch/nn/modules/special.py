"""Layers with what PyTorch adds in Python: how they print, padding="same"."""

from __future__ import annotations

from ..._runtime import int_list
from .. import functional
from . import layers


class Conv2d(layers.Conv2d):
    __doc__ = (
        layers.Conv2d.__doc__
        + '\n    padding may also be "valid" (none) or "same" (the output has the input\'s size).\n'
    )

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        kernel_size, stride, dilation = (
            tuple(int_list(x, 2)) for x in (kernel_size, stride, dilation)
        )
        name = padding if isinstance(padding, str) else None
        if name is not None:
            padding = _named_padding(name, kernel_size, stride, dilation)
        padding = tuple(int_list(padding, 2))
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, device, dtype)  # fmt: skip
        self.padding_name = name

    def extra_repr(self):
        parts = [super().extra_repr()]
        if self.padding_name or self.padding != (0, 0):
            parts.append(f"padding={self.padding_name or self.padding}")
        if self.dilation != (1, 1):
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


def _named_padding(name: str, kernel_size: tuple, stride: tuple, dilation: tuple) -> tuple:
    if name == "valid":
        return (0, 0)
    if name != "same":
        raise ValueError(f"Invalid padding string {name!r}, should be one of {{'valid', 'same'}}")
    if any(s != 1 for s in stride):
        raise ValueError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel_size, dilation, strict=True)]
    if any(t % 2 for t in total):
        raise NotImplementedError("padding='same' needs an odd dilation * (kernel_size - 1) + 1")
    return tuple(t // 2 for t in total)


class MaxPool2d(layers.MaxPool2d):
    __doc__ = (
        layers.MaxPool2d.__doc__
        + "\n    return_indices: give back (maxima, where they are) instead.\n"
    )

    def __init__(
        self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False
    ):
        super().__init__(
            kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode
        )
        self.return_indices = return_indices

    def forward(self, input):
        if not self.return_indices:
            return super().forward(input)
        window = (self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)
        return functional.max_pool2d(input, *window, return_indices=True)


class AvgPool2d(layers.AvgPool2d):
    __doc__ = layers.AvgPool2d.__doc__

    def __init__(self, kernel_size, stride=None, *args, **options):
        super().__init__(kernel_size, kernel_size if stride is None else stride, *args, **options)
