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
        if isinstance(padding, str):
            _check_named_padding(padding, stride)
        else:
            padding = tuple(int_list(padding, 2))
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input):
        p = self._parameters
        return functional.conv2d(
            input, p["weight"], p["bias"], self.stride, self.padding, self.dilation, self.groups
        )

    def extra_repr(self):
        parts = [super().extra_repr()]
        if self.padding != (0, 0):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1, 1):
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


def _check_named_padding(name: str, stride: tuple) -> None:
    if name not in ("valid", "same"):
        raise ValueError(f"Invalid padding string {name!r}, should be one of {{'valid', 'same'}}")
    if name == "same" and any(s != 1 for s in stride):
        raise ValueError("padding='same' is not supported for strided convolutions")


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


class Upsample(layers.Upsample):
    __doc__ = layers.Upsample.__doc__

    def __init__(self, size=None, scale_factor=None, mode="nearest"):
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor)
        super().__init__(size, scale_factor, mode)

    def forward(self, input):
        return functional.interpolate(input, self.size, self.scale_factor, self.mode)

    def extra_repr(self):
        given = "size" if self.scale_factor is None else "scale_factor"
        return f"{given}={getattr(self, given)}, mode={self.mode!r}"
