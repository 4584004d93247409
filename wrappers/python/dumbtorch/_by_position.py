"""Functions of torch that torch.nn.functional has, too, in another order: all arguments by position, reductions as the
numbers 0 (none, the default), 1 (mean) and 2 (sum)."""

from __future__ import annotations

from . import _ops
from ._functions import broadcast_shapes
from ._runtime import is_index
from .nn import functional


def _word(number, words: tuple, what: str, name: str, position: int) -> str:
    """What a number stands for; PyTorch takes some that stand for nothing."""
    if not is_index(number):
        raise TypeError(
            f"{name}(): argument '{what}' (position {position}) must be int, not {type(number).__name__}"
        )
    if number not in range(len(words)):
        raise ValueError(f"{number} is not a valid value for {what}")
    return words[number]


def _reduction(number, name: str, position: int) -> str:
    return _word(number, ("none", "mean", "sum"), "reduction", name, position)


def _rate(p):
    """A rate that nn.functional would refuse with another type of error."""
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    return p


def dropout(input, p, train):
    """nn.functional.dropout."""
    return functional.dropout(input, _rate(p), train)


def dropout_(input, p, train):
    """dropout, in place."""
    return functional.dropout(input, _rate(p), train, True)


def alpha_dropout(input, p, train):
    """nn.functional.alpha_dropout."""
    return functional.alpha_dropout(input, _rate(p), train)


def alpha_dropout_(input, p, train):
    """alpha_dropout, in place."""
    return functional.alpha_dropout(input, _rate(p), train, True)


def feature_alpha_dropout(input, p, train):
    """nn.functional.feature_alpha_dropout."""
    return functional.feature_alpha_dropout(input, _rate(p), train)


def feature_alpha_dropout_(input, p, train):
    """feature_alpha_dropout, in place."""
    return functional.feature_alpha_dropout(input, _rate(p), train, True)


def feature_dropout(input, p, train):
    """nn.functional.dropout2d, of any dimensions after the channels."""
    return functional.dropout2d(input, _rate(p), train)


def feature_dropout_(input, p, train):
    """feature_dropout, in place."""
    return functional.dropout2d(input, _rate(p), train, True)


def affine_grid_generator(theta, size, align_corners):
    """nn.functional.affine_grid."""
    return functional.affine_grid(theta, size, align_corners)


def spmm(input, mat2):
    """mm: there are no sparse matrices."""
    return _ops.mm(input, mat2)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """nn.functional.embedding; a padding_idx of -1 means that there is none."""
    padding_idx = None if padding_idx == -1 else padding_idx
    return functional.embedding(indices, weight, padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """nn.functional.batch_norm; `cudnn_enabled` changes nothing, and in training `eps` may be 0."""
    if training and eps == 0 and input.dim() > 1 and input.numel() > 0:
        # All images as one, of which functional.instance_norm takes that.
        one = input.transpose(0, 1).reshape(1, input.size(1), -1)
        out = functional.instance_norm(
            one, running_mean, running_var, weight, bias, True, momentum, eps
        )
        turned = input.transpose(0, 1)
        return out.reshape(turned.shape).transpose(0, 1).contiguous()
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


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """nn.functional.layer_norm; `cudnn_enable` changes nothing."""
    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """nn.functional.group_norm; `cudnn_enabled` changes nothing."""
    return functional.group_norm(input, num_groups, weight, bias, eps)


def adaptive_max_pool1d(input, output_size):
    """nn.functional.adaptive_max_pool1d with its indices."""
    return functional.adaptive_max_pool1d(input, output_size, True)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """nn.functional.grid_sample, with the numbers of its modes."""
    how = _word(
        interpolation_mode,
        ("bilinear", "nearest", "bicubic"),
        "interpolation_mode",
        "grid_sampler",
        3,
    )
    beyond = _word(
        padding_mode, ("zeros", "border", "reflection"), "padding_mode", "grid_sampler", 4
    )
    return functional.grid_sample(input, grid, how, beyond, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """nn.functional.max_pool1d with its indices."""
    stride = None if stride == () else stride
    return functional.max_pool1d(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True
    )


def kl_div(input, target, reduction=0, *, log_target=False):
    """nn.functional.kl_div."""
    return _ops.kl_div(
        input, target, reduction=_reduction(reduction, "kl_div", 3), log_target=log_target
    )


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """nn.functional.binary_cross_entropy_with_logits; the input broadcasts."""
    shape = broadcast_shapes(input.shape, target.shape)
    if shape != target.shape:
        sizes = f"{list(target.shape)} doesn't match the broadcast shape {list(shape)}"
        raise RuntimeError(f"output with shape {sizes}")
    input = input.expand(shape)
    return functional.binary_cross_entropy_with_logits(
        input,
        target,
        weight,
        reduction=_reduction(reduction, "binary_cross_entropy_with_logits", 5),
        pos_weight=pos_weight,
    )


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.cosine_embedding_loss."""
    return functional.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction(reduction, "cosine_embedding_loss", 5)
    )


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """nn.functional.hinge_embedding_loss."""
    return functional.hinge_embedding_loss(
        input, target, margin, reduction=_reduction(reduction, "hinge_embedding_loss", 4)
    )


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.margin_ranking_loss, with broadcasting."""
    operands = _ops.broadcast_tensors([input1, input2, target])
    return functional.margin_ranking_loss(
        *operands, margin, reduction=_reduction(reduction, "margin_ranking_loss", 5)
    )


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """nn.functional.poisson_nll_loss."""
    return functional.poisson_nll_loss(
        input,
        target,
        log_input,
        full,
        eps=eps,
        reduction=_reduction(reduction, "poisson_nll_loss", 6),
    )


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=0
):
    """nn.functional.triplet_margin_loss, whose margin may be 0 or less."""
    if margin <= 0:
        near = _ops.pairwise_distance(anchor, positive, p, eps)
        far = _ops.pairwise_distance(anchor, negative, p, eps)
        if swap:
            far = _ops.minimum(far, _ops.pairwise_distance(positive, negative, p, eps))
        losses = _ops.clamp_min(margin + near - far, 0)
        how = _reduction(reduction, "triplet_margin_loss", 8)
        return losses if how == "none" else losses.mean() if how == "mean" else losses.sum()
    return functional.triplet_margin_loss(
        anchor,
        positive,
        negative,
        margin,
        p,
        eps,
        swap,
        reduction=_reduction(reduction, "triplet_margin_loss", 8),
    )


def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False
):
    """nn.functional.ctc_loss."""
    return functional.ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        _reduction(reduction, "ctc_loss", 6),
        zero_infinity,
    )


def embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=None,
):  # fmt: skip
    """nn.functional.embedding_bag, with mode 0 (sum), 1 (mean) or 2 (max): the bags, which bag each index is in, how
    many indices each bag has, and of a maximum the rows that it is of. Sums leave these empty, or 0."""
    bags = functional.embedding_bag(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
        mode=_word(mode, ("sum", "mean", "max"), "mode", "embedding_bag", 5), per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    count = bags.shape[0]
    if mode == 0 and padding_idx is None:
        nothing = _ops.zeros(count, dtype=offsets.dtype, device=offsets.device)
        return (
            bags,
            _ops.empty(0, dtype=offsets.dtype, device=offsets.device),
            nothing,
            nothing.clone(),
        )
    places = _ops.arange(0, indices.numel(), dtype=offsets.dtype, device=offsets.device)
    bag_of = (_ops.searchsorted(offsets[:count], places, right=True) - 1).to(offsets.dtype)
    padding = None if padding_idx is None else padding_idx % weight.shape[0]
    counted = _ops.ones_like(places) if padding is None else (indices != padding).to(places.dtype)
    sizes = _ops.zeros(count, dtype=offsets.dtype, device=offsets.device)
    if mode != 0:
        sizes = sizes.index_add(0, bag_of, counted)
    if mode != 2:
        return bags, bag_of, sizes, sizes.clone()
    return bags, bag_of, sizes, _rows_of_maxima(weight, indices, bags, bag_of, counted)


def _rows_of_maxima(weight, indices, bags, bag_of, counted):
    """For each bag and column the first row that the maximum is of; 0 of an empty bag."""
    rows, none = _ops.detach(weight)[indices], indices.numel()
    found = (rows == _ops.detach(bags)[bag_of]) & (counted != 0).unsqueeze(1)
    places = _ops.where(found, _ops.arange(0, none, device=weight.device).unsqueeze(1), none)
    first = _ops.full_like(bags, none, dtype=places.dtype)
    first = first.index_reduce(0, bag_of, places, "amin")
    rows_and_none = _ops.cat([indices, _ops.zeros_like(indices[:1])])
    return rows_and_none[first]
