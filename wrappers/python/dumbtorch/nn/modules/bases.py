"""Base classes of layers that are written by hand; those that a row of the schema makes stand in `layers`."""

from __future__ import annotations

import math

from ... import _ops
from ...autograd.grad_mode import no_grad
from .. import init
from ..functional import _output_padding
from ..parameter import Parameter
from .module import Module
from .utils import _reverse_repeat_tuple, _single

_PADDING_MODES = "zeros", "reflect", "replicate", "circular"
_PADDING_WORDS = "valid", "same"


class _ConvNd(Module):
    """What convolutions have in common, of any number of dimensions: settings as tuples, a weight and a bias."""

    _older = {"padding_mode": "zeros"}

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed,
        output_padding, groups, bias, padding_mode, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        _check_channels(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.padding, self.padding_mode = padding, padding_mode
        self.transposed, self.output_padding = transposed, output_padding
        self._reversed_padding_repeated_twice = _margins(padding, kernel_size, dilation)
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        place = {"device": device, "dtype": dtype}
        weight = _ops.empty((first, second // groups, *kernel_size), **place)
        self.register_parameter("weight", Parameter(weight))
        bias = Parameter(_ops.empty((out_channels,), **place)) if bias else None
        self.register_parameter("bias", bias)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws initial values."""
        fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        with no_grad():
            _ops.uniform_(self.weight, -bound, bound)
            if self.bias is not None:
                _ops.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        parts.append(f"stride={self.stride}")
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            parts += [f"{name}={value}"] if value != (usual,) * len(value) else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)


def _check_channels(in_channels, out_channels, groups) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups:
            raise ValueError(f"{name} must be divisible by groups")


def _check_padding(padding, stride, padding_mode) -> None:
    if isinstance(padding, str):
        if padding not in _PADDING_WORDS:
            words = ", ".join(map(repr, _PADDING_WORDS))
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{{words}}}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        modes = ", ".join(map(repr, _PADDING_MODES))
        raise ValueError(
            f"padding_mode must be one of {{{modes}}}, but got padding_mode={padding_mode!r}"
        )


def _margins(padding, kernel_size, dilation):
    """Padding as `pad` takes it, which fills it with other things than zeros."""
    if padding == "valid":
        return [0, 0] * len(kernel_size)
    if padding != "same":
        return _reverse_repeat_tuple(padding, 2)
    sums = [d * (k - 1) for d, k in zip(reversed(dilation), reversed(kernel_size), strict=True)]
    return [margin for both in sums for margin in (both // 2, both - both // 2)]


class _ConvTransposeNd(_ConvNd):
    """What transposed convolutions have in common."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed,
        output_padding, groups, bias, padding_mode, device=None, dtype=None,
    ):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed,
            output_padding, groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None
    ):
        """What is added to the smallest size that a result may have, so that it has output_size."""
        steps = dilation or (1,) * num_spatial_dims
        given = _single(self.output_padding)
        return _output_padding(input, output_size, given, stride, padding, kernel_size, steps)


class RNNCellBase(Module):
    """What cells have in common: one step of a network whose weights stand for num_chunks gates each."""

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            given = bias or name.startswith("weight")
            tensor = Parameter(_ops.empty(shape, device=device, dtype=dtype)) if given else None
            self.register_parameter(name, tensor)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws initial values."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        with no_grad():
            for weight in self.parameters():
                _ops.uniform_(weight, -bound, bound)

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"bias={self.bias}"] if self.bias is not True else []
        kind = self.__dict__.get("nonlinearity", "tanh")
        parts += [f"nonlinearity={kind}"] if kind != "tanh" else []
        return ", ".join(parts)


class _WithStatistics(Module):
    """What norms have in common that may keep running statistics."""

    _version = 2

    def reset_running_stats(self) -> None:
        """Means of 0 and variances of 1, of no batches."""
        if self.track_running_stats:
            _ops.zero_(self.running_mean)
            _ops.fill_(self.running_var, 1)
            _ops.zero_(self.num_batches_tracked)

    def _check_input_dim(self, input):
        """To be written by a class: refuses an input of other dimensions."""
        raise NotImplementedError

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *lists) -> None:
        """State dicts of the first version have no number of batches, nor have those that tell no version."""
        name = prefix + "num_batches_tracked"
        if self.track_running_stats and local_metadata.get("version", 1) < 2:
            state_dict.setdefault(name, self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)
