"""Losses that call functions of the user's, or have a layer inside; the others are generated from the schema."""

from __future__ import annotations

import math
from collections import namedtuple

from ..._types import bfloat16, float16, float32, float64
from ..._warning import warn_each
from .. import functional
from .layers import Linear, NLLLoss, PairwiseDistance, _Loss, _WeightedLoss


class NLLLoss2d(NLLLoss):
    """The older name of NLLLoss for images."""

    def __init__(
        self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
    ):
        warn_each(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative)).

    Args:
        distance_function: How far two tensors are apart; the default is the norm of the difference.
        margin: By how much the negative should be farther away.
        swap: Take the negative's distance from the positive where that is less.
        reduction: How the elements' losses are joined.
    """

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        given = distance_function is not None
        self.distance_function = distance_function if given else PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative):
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


_SETTINGS = "allow_retain_graph batch_chunk_size chunking_method acc_policy acc_dtype"


class LinearCrossEntropyOptions(namedtuple("_Settings", _SETTINGS)):
    """How PyTorch divides linear_cross_entropy. Here the library chooses by itself, whatever these say.

    Args:
        allow_retain_graph: Whether a second backward is possible; here it is.
        batch_chunk_size: Rows of a chunk.
        chunking_method: "auto", or "aspect_ratio" with an optional factor, as in "aspect_ratio:2".
        acc_policy: "auto", "accurate", "balanced" or "compact".
        acc_dtype: The dtype of sums.
    """

    __slots__ = ()

    def __new__(
        cls,
        allow_retain_graph=False,
        batch_chunk_size=None,
        chunking_method="auto",
        acc_policy="auto",
        acc_dtype=None,
    ):
        if acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {acc_policy!r}")
        if chunking_method not in (None, "auto"):
            name, colon, factor = chunking_method.partition(":")
            is_factor = factor.isdigit() and int(factor) > 0 if colon else True
            if name != "aspect_ratio" or not is_factor:
                raise ValueError(f"invalid chunking_method: {chunking_method!r}")
        rows = batch_chunk_size
        if not (rows is None or isinstance(rows, int) and rows > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {rows!r}")
        if acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, "
                f"got {acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )
        return super().__new__(
            cls, allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """cross_entropy of a Linear layer of its own, without ever holding all logits.

    Args:
        in_features: Size of the input's last dimension.
        num_classes: How many classes there are.
        out_features: Further dimensions of the logits, behind the classes.
        bias: Whether the layer adds a bias.
        reduction: How the elements' losses are joined.
        weight: A factor for each class, or absent.
        ignore_index: A target class that counts nothing; absent: -100.
        label_smoothing: The share of the uniform distribution in the target.
        options: Changes nothing.
    """

    def __init__(
        self,
        in_features,
        num_classes,
        *,
        out_features=(),
        bias=False,
        device=None,
        dtype=None,
        reduction="mean",
        weight=None,
        ignore_index=None,
        label_smoothing=0.0,
        options=None,
    ):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options
        columns = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, columns, bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        sizes, linear = (self.num_classes, *self.out_features), self.linear
        return functional.linear_cross_entropy(
            input,
            linear.weight.reshape(*sizes, linear.in_features),
            target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self):
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
