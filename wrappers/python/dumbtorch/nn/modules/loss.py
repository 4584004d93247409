"""Losses that call functions of the user's; the others are generated from the schema."""

from __future__ import annotations

from .. import functional
from .module import Module


class TripletMarginWithDistanceLoss(Module):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative)).

    Args:
        distance_function: How far two tensors are apart; the default is the norm of the difference.
        margin: By how much the negative should be farther away.
        swap: Take the negative's distance from the positive where that is less.
        reduction: How the elements' losses are joined.
    """

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        self.distance_function = distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

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
