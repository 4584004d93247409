"""The base classes that PyTorch's layers have, for programs that derive from them: which layers have which, and where
it comes from. One is printed from a layer's row, the parts of it that the layers have in common, or written by hand
(nn/modules/bases.py)."""

from __future__ import annotations

import re
from typing import NamedTuple


class Printed(NamedTuple):
    """A class that is made of a row."""

    base: str
    row: str
    parts: str  # which methods: the layers have those that are not the same
    doc: str
    keeps: str = ""  # an argument of its constructor, where this does nothing else


PRINTED = {
    "_NormBase": Printed(
        "_WithStatistics", "BatchNorm1d", "__init__ reset_parameters extra_repr",
        "What batch and instance norms have in common.",
    ),
    "_BatchNorm": Printed(
        "_NormBase", "BatchNorm1d", "forward _forward_relu",
        "A batch norm of inputs that _check_input_dim lets pass.",
    ),
    "_InstanceNorm": Printed(
        "_NormBase", "InstanceNorm1d", "__init__ forward",
        "An instance norm of inputs that _check_input_dim lets pass, of _get_no_batch_dim dimensions without a batch.",
    ),
    "_DropoutNd": Printed(
        "Module", "Dropout", "__init__ extra_repr", "What the layers that drop have in common."
    ),
    "_Loss": Printed("Module", "MSELoss", "__init__", "What losses have in common."),
    "_WeightedLoss": Printed(
        "_Loss", "BCELoss", "__init__", "What losses with a factor for each class have in common."
    ),
    "_MaxPoolNd": Printed(
        "Module", "MaxPool1d", "__init__ extra_repr", "What the layers MaxPool have in common."
    ),
    "_MaxUnpoolNd": Printed(
        "Module", "MaxUnpool1d", "extra_repr", "What the layers MaxUnpool have in common."
    ),
    "_AvgPoolNd": Printed(
        "Module", "AvgPool1d", "extra_repr", "What the layers AvgPool have in common."
    ),
    "_LPPoolNd": Printed(
        "Module", "LPPool1d", "__init__ extra_repr", "What the layers LPPool have in common."
    ),
    "_ConstantPadNd": Printed(
        "Module", "ConstantPad1d", "forward extra_repr", "What the layers ConstantPad have in common.",
        keeps="value",
    ),
    "_ReflectionPadNd": Printed(
        "Module", "ReflectionPad1d", "forward extra_repr", "What the layers ReflectionPad have in common."
    ),
    "_ReplicationPadNd": Printed(
        "Module", "ReplicationPad1d", "forward extra_repr",
        "What the layers ReplicationPad have in common.",
    ),
    "_CircularPadNd": Printed(
        "Module", "CircularPad1d", "forward extra_repr", "What the layers CircularPad have in common."
    ),
    "_AdaptiveAvgPoolNd": Printed(
        "Module", "AdaptiveAvgPool1d", "__init__ extra_repr",
        "What the layers AdaptiveAvgPool have in common.",
    ),
    "_AdaptiveMaxPoolNd": Printed(
        "Module", "AdaptiveMaxPool1d", "__init__ extra_repr",
        "What the layers AdaptiveMaxPool have in common.",
    ),
}  # fmt: skip

_CONV = (
    "in_channels, out_channels, kernel_size, stride, padding, dilation, {}, "
    "groups, bias, padding_mode, device, dtype"
)
_CELL = "input_size, hidden_size, bias, {}, device, dtype"
# What rows may read of the one by hand.
_ATTRIBUTES = {"_ConvNd": ("_reversed_padding_repeated_twice",)}
# The first that matches a layer's name: its base, and what the constructor of one that is written by hand gets, which
# makes all that the row says of checks and state.
_BASES = (
    (r"Conv\dd", "_ConvNd", _CONV.format("False, (0,) * len(kernel_size)")),
    (r"ConvTranspose\dd", "_ConvTransposeNd", _CONV.format("True, output_padding")),
    ("RNNCell", "RNNCellBase", _CELL.format(1)),
    ("LSTMCell", "RNNCellBase", _CELL.format(4)),
    ("GRUCell", "RNNCellBase", _CELL.format(3)),
    (r"BatchNorm\dd", "_BatchNorm", ""),
    (r"InstanceNorm\dd", "_InstanceNorm", ""),
    (r"\w*Dropout\w*", "_DropoutNd", ""),
    ("NLLLoss|BCELoss|CrossEntropyLoss|MultiLabelSoftMarginLoss|MultiMarginLoss", "_WeightedLoss", ""),
    (r"\w+Loss", "_Loss", ""),
    (r"(MaxPool|MaxUnpool|AvgPool|LPPool|AdaptiveAvgPool|AdaptiveMaxPool)\dd", r"_\1Nd", ""),
    (r"ConstantPad\dd", "_ConstantPadNd", "value"),
    (r"((Reflection|Replication|Circular)Pad)\dd", r"_\1Nd", ""),
    # Those that are another layer with settings of their own have its forward.
    (r"ZeroPad(\dd)", r"ConstantPad\1", "padding, 0.0"),
    ("ReLU6", "Hardtanh", "0.0, 6.0, inplace"),
    ("UpsamplingNearest2d", "Upsample", "size, scale_factor, mode='nearest'"),
    ("UpsamplingBilinear2d", "Upsample", "size, scale_factor, mode='bilinear', align_corners=True"),
)  # fmt: skip


# The last step of reset_parameters, where programs call it alone.
LAST_STEPS = dict.fromkeys(("Embedding", "EmbeddingBag"), "_fill_padding_idx_with_zero")


class Base(NamedTuple):
    name: str
    given: str = ""  # to a constructor by hand


def base_of(layer: str) -> Base:
    for pattern, base, given in _BASES:
        if match := re.fullmatch(pattern, layer):
            return Base(match.expand(base), given)
    return Base("Module")


def attributes(layer: str) -> tuple[str, ...]:
    return _ATTRIBUTES.get(base_of(layer).name, ())
