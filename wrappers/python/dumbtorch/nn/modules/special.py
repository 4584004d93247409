"""Layers with what PyTorch adds in Python: how they print, padding="same", given embeddings."""

from __future__ import annotations

from ..._runtime import int_list
from .. import functional
from ..parameter import Parameter
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
        try:
            weight, bias = self._parameters["weight"], self._parameters["bias"]
        except KeyError:  # deleted: a plain attribute may stand for it
            weight, bias = self.weight, self.bias
        return functional.conv2d(
            input, weight, bias, self.stride, self.padding, self.dilation, self.groups
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

    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode="nearest",
        align_corners=None,
        recompute_scale_factor=None,
    ):
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor)
        super().__init__(size, scale_factor, mode)
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self):
        given = "size" if self.scale_factor is None else "scale_factor"
        return f"{given}={getattr(self, given)}, mode={self.mode!r}"


class Embedding(layers.Embedding):
    __doc__ = layers.Embedding.__doc__

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None,
                 norm_type=2.0, scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False,
                 device=None, dtype=None):  # fmt: skip
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        if _weight is not None and tuple(_weight.shape) != (num_embeddings, embedding_dim):
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        # Nothing is drawn for rows that are given.
        rows, zeroed = (num_embeddings, padding_idx) if _weight is None else (0, None)
        super().__init__(rows, embedding_dim, zeroed, max_norm, norm_type, scale_grad_by_freq,
                         sparse, device, dtype)  # fmt: skip
        self.num_embeddings, self.padding_idx = num_embeddings, padding_idx
        if _weight is None:
            self.weight.requires_grad_(not _freeze)
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None,
                        norm_type=2.0, scale_grad_by_freq=False, sparse=False):  # fmt: skip
        """An Embedding over given rows, [num_embeddings, embedding_dim]; trained only if not frozen."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        return cls(*embeddings.shape, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                   _weight=embeddings, _freeze=freeze)  # fmt: skip

    def extra_repr(self):
        parts = [super().extra_repr()]
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            parts.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq:
            parts.append("scale_grad_by_freq=True")
        return ", ".join(parts)
