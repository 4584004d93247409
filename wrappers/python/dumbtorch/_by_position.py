"""Functions of torch that torch.nn.functional has, too, in another order: all arguments by position, reductions as the
numbers 0 (none, the default), 1 (mean) and 2 (sum)."""

from __future__ import annotations

from .nn import functional

_REDUCTIONS = ("none", "mean", "sum")


def dropout(input, p, train):
    """nn.functional.dropout."""
    return functional.dropout(input, p, train)


def dropout_(input, p, train):
    """dropout, in place."""
    return functional.dropout(input, p, train, True)


def alpha_dropout(input, p, train):
    """nn.functional.alpha_dropout."""
    return functional.alpha_dropout(input, p, train)


def alpha_dropout_(input, p, train):
    """alpha_dropout, in place."""
    return functional.alpha_dropout(input, p, train, True)


def feature_alpha_dropout(input, p, train):
    """nn.functional.feature_alpha_dropout."""
    return functional.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input, p, train):
    """feature_alpha_dropout, in place."""
    return functional.feature_alpha_dropout(input, p, train, True)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """nn.functional.embedding; a padding_idx of -1 means that there is none."""
    padding_idx = None if padding_idx == -1 else padding_idx
    return functional.embedding(indices, weight, padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """nn.functional.batch_norm; `cudnn_enabled` changes nothing."""
    return functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
):
    """nn.functional.instance_norm; `cudnn_enabled` changes nothing."""
    return functional.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def adaptive_max_pool1d(input, output_size):
    """nn.functional.adaptive_max_pool1d with its indices."""
    return functional.adaptive_max_pool1d(input, output_size, True)


def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """nn.functional.max_pool1d with its indices."""
    stride = None if stride == () else stride
    return functional.max_pool1d(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True
    )


def kl_div(input, target, reduction=0, *, log_target=False):
    """nn.functional.kl_div."""
    return functional.kl_div(input, target, reduction=_REDUCTIONS[reduction], log_target=log_target)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """nn.functional.binary_cross_entropy_with_logits."""
    return functional.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight
    )


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.cosine_embedding_loss."""
    return functional.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_REDUCTIONS[reduction]
    )


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """nn.functional.hinge_embedding_loss."""
    return functional.hinge_embedding_loss(input, target, margin, reduction=_REDUCTIONS[reduction])


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.margin_ranking_loss."""
    return functional.margin_ranking_loss(
        input1, input2, target, margin, reduction=_REDUCTIONS[reduction]
    )


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """nn.functional.poisson_nll_loss."""
    return functional.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_REDUCTIONS[reduction]
    )


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=0
):
    """nn.functional.triplet_margin_loss."""
    return functional.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_REDUCTIONS[reduction]
    )
