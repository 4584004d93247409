"""torch.nn.functional: ops as functions of their inputs and weights."""

from __future__ import annotations

import functools
import operator
import warnings

from .. import _grouped, _missing, _ops, _overloads, _reductions
from .._runtime import is_index, reduction_of
from .._tensor_type import TensorBase, into
from .._warning import warn_each
from ._parts import _canonical_mask, _in_projection, _in_projection_packed, _none_or_dtype  # noqa: F401

__getattr__ = _missing.getattr_of(__name__)

for _name, _function in _ops.NAMESPACES["functional"].items():
    if _function.__name__ != _name:  # Python's errors tell it, and files of modules
        _function.__name__ = _function.__qualname__ = _name
        _function.__module__ = __name__
del _name, _function

globals().update(_ops.NAMESPACES["functional"])

__all__ = list(_ops.NAMESPACES["functional"])

conv1d = _overloads.conv1d
conv2d = _overloads.conv2d
conv3d = _overloads.conv3d


def _dim_of_classes(name, input):
    """Where programs older than `dim` mean it, as PyTorch takes it, with its warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def elu_(input, alpha=1.0, scale=1.0, input_scale=1.0):
    """In-place version of elu; all is multiplied by `scale`, and before exp by `input_scale`."""
    if scale == input_scale == 1 or not input.is_floating_point():  # which elu_ refuses
        return _ops.elu_(input, alpha)
    return _ops.elu_scaled_(input, alpha=alpha, scale=scale, input_scale=input_scale)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) / sum(exp(input)) along a dimension."""
    dim = _dim_of_classes("softmax", input) if dim is None else dim
    return _ops.softmax(input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax."""
    dim = _dim_of_classes("log_softmax", input) if dim is None else dim
    return _ops.log_softmax(input, dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -input."""
    dim = _dim_of_classes("softmin", input) if dim is None else dim
    return _ops.softmin(input, dim, dtype=dtype)


def max_pool1d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum of each window; with return_indices also where it is."""
    function = _ops.max_pool1d_with_indices if return_indices else _ops.max_pool1d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum of each window; with return_indices also where it is."""
    function = _ops.max_pool2d_with_indices if return_indices else _ops.max_pool2d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Maximum of each window; with return_indices also where it is."""
    function = _ops.max_pool3d_with_indices if return_indices else _ops.max_pool3d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode)


def fractional_max_pool2d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """Maximum of windows at pseudo-random distances; with return_indices also where it is."""
    pool = _ops.fractional_max_pool2d_with_indices if return_indices else _ops.fractional_max_pool2d
    return pool(input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """Maximum of windows at pseudo-random distances; with return_indices also where it is."""
    pool = _ops.fractional_max_pool3d_with_indices if return_indices else _ops.fractional_max_pool3d
    return pool(input, kernel_size, output_size, output_ratio, _random_samples)


def _sizes(input, output_size, dims):
    """The output's sizes; None stands for the input's."""
    is_list = isinstance(output_size, (tuple, list))
    sizes = list(output_size) if is_list else [operator.index(output_size)] * dims
    if not isinstance(input, TensorBase):
        return sizes  # the function itself refuses the input
    if is_list and input.ndim <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    if len(sizes) != dims:
        raise RuntimeError(f"output_size must be {dims}")
    if input.ndim < dims:
        return sizes
    return [n if size is None else size for size, n in zip(sizes, input.shape[-dims:], strict=True)]


def _output_padding(input, output_size, given, stride, padding, kernel_size, dilation):
    """What a transposed convolution adds at one end to give these sizes; `given` where there are none."""
    if output_size is None:
        return given
    dims = len(kernel_size)
    outer = 2 if input.ndim == dims + 2 else 1
    sizes = output_size[outer:] if len(output_size) == outer + dims else output_size
    if len(sizes) != dims:
        raise ValueError(
            f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or {outer + dims} elements "
            f"(got {len(sizes)})"
        )
    windows = zip(input.shape[outer:], stride, padding, kernel_size, dilation, strict=True)
    least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, k, d in windows]
    most = [size + s - 1 for size, s in zip(least, stride, strict=True)]
    if not all(a <= n <= b for a, n, b in zip(least, sizes, most, strict=True)):
        raise ValueError(
            f"requested an output size of {sizes}, but valid sizes range from {least} to {most} (for an input of "
            f"{input.shape[2:]})"
        )
    return [n - size for n, size in zip(sizes, least, strict=True)]


def adaptive_avg_pool1d(input, output_size):
    """Mean of windows that are as equal as can be."""
    return _ops.adaptive_avg_pool1d(input, output_size)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Maximum of windows that are as equal as can be, and where it is."""
    function = _ops.adaptive_max_pool1d_with_indices if return_indices else _ops.adaptive_max_pool1d
    return function(input, output_size)


def adaptive_avg_pool2d(input, output_size):
    """Mean of windows that are as equal as can be; None keeps a size."""
    return _ops.adaptive_avg_pool2d(input, _sizes(input, output_size, 2))


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Maximum of windows that are as equal as can be, and where it is; None keeps a size."""
    function = _ops.adaptive_max_pool2d_with_indices if return_indices else _ops.adaptive_max_pool2d
    return function(input, _sizes(input, output_size, 2))


def adaptive_avg_pool3d(input, output_size):
    """Mean of windows that are as equal as can be; None keeps a size."""
    return _ops.adaptive_avg_pool3d(input, _sizes(input, output_size, 3))


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Maximum of windows that are as equal as can be, and where it is; None keeps a size."""
    function = _ops.adaptive_max_pool3d_with_indices if return_indices else _ops.adaptive_max_pool3d
    return function(input, _sizes(input, output_size, 3))


def _with_indices(pool):
    """The same, with return_indices whatever is given for it."""
    place = pool.__code__.co_varnames.index("return_indices")

    @functools.wraps(pool)
    def call(*args, **named):
        if len(args) > place:
            return pool(*args[:place], True, *args[place + 1 :], **named)
        return pool(*args, **{**named, "return_indices": True})

    call.__name__ += "_with_indices"
    return call


adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d)
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d)
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d)


def _is_whole(n) -> bool:
    return is_index(n) and not (isinstance(n, TensorBase) and n.is_floating_point())


def _check_dimensions(input, numbers, name: str, got: str, wanted: str) -> None:
    """A number stands for all dimensions, a list of one does not."""
    if isinstance(numbers, (list, tuple)) and len(numbers) != input.dim() - 2:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and {got} {numbers}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            f"format and {wanted} format."
        )


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resizes images."""
    _check_dimensions(input, size, "output", "output size of", "output size in (o1, o2, ...,oK)")
    named = "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)"
    _check_dimensions(input, scale_factor, "scale_factor", *named)
    if isinstance(size, (list, tuple)) and not all(map(_is_whole, size)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
            f"with types {[type(n) for n in size]}"
        )
    return _ops.interpolate_aligned(
        input, size, scale_factor, mode, align_corners, recompute_scale_factor, bool(antialias)
    )


_OLDER = "`nn.functional.{}` is deprecated. Use `nn.functional.interpolate` instead."


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The older name of interpolate."""
    warn_each(_OLDER.format("upsample"))
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate to the nearest element."""
    warn_each(_OLDER.format("upsample_nearest"))
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate in two dimensions, with the corners' centres aligned."""
    warn_each(_OLDER.format("upsample_bilinear"))
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def _warn_of_corners() -> None:
    warn_each(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        stacklevel=4,
    )


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The input at places between its elements."""
    if align_corners is None:
        _warn_of_corners()
    return _ops.grid_sample(input, grid, mode, padding_mode, align_corners)


def affine_grid(theta, size, align_corners=None):
    """The grid that grid_sample takes for a map of the output's places to the input's."""
    if align_corners is None:
        _warn_of_corners()
    grid = _ops.affine_grid(theta, size, align_corners)
    if align_corners and 1 in grid.shape[1:-1]:
        warn_each(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details."
        )
    return grid


def _warn_of_dimensions(input, dims: int) -> None:
    """What dropout of whole channels with so many dimensions has may lack the batch, and nothing else."""
    name, n = f"dropout{dims}d", input.dim()
    if n not in (dims + 1, dims + 2):
        warn_each(
            f"{name}: Received a {n}-D input to {name}, which is deprecated and will result in an error in a future "
            f"release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
            f"exists to provide channel-wise dropout on inputs with {dims} spatial dimensions, a channel dimension, "
            f"and an optional batch dimension (i.e. {dims + 1}D or {dims + 2}D inputs).",
            stacklevel=4,
        )


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [batch, channels, ...]."""
    _warn_of_dimensions(input, 2)
    if input.dim() == 3:
        warn_each(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _ops.functional_dropout2d(input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [batch, channels, depth, height, width], or without the batch."""
    _warn_of_dimensions(input, 3)
    return _ops.functional_dropout3d(input, p, training, inplace)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of a softened categorical distribution."""
    if eps != 1e-10:
        warn_each("`eps` parameter is deprecated and has no effect.")
    return _ops.gumbel_softmax(logits, tau, hard, eps, dim)


def conv_tbc(input, weight, bias, pad=0):
    """conv1d of [length, batch, channels], with a weight [width, in, out]."""
    out = _ops.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return out.permute(2, 0, 1)


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """mat_a @ mat_b for each group; `offs` says where the groups of a matrix of two dimensions end. What lies beyond
    the last one is 0 in the result.

    [rows, k] with [groups, k, n] has groups of rows, [groups, m, k] with [k, columns] of columns, two matrices
    of the terms of the sum; two stacks of matrices are multiplied one by one.
    """
    _grouped.check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a @ mat_b
    ends = offs.tolist()
    groups = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    if mat_b.ndim == 3:
        parts = [mat_a[rows] @ b for rows, b in zip(groups, mat_b, strict=True)]
        return _grouped.filled(parts, 0, mat_a.shape[0])
    if mat_a.ndim == 3:
        parts = [a @ mat_b[:, columns] for a, columns in zip(mat_a, groups, strict=True)]
        return _grouped.filled(parts, 1, mat_b.shape[1])
    return _ops.stack([mat_a[:, terms] @ mat_b[terms] for terms in groups])


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images as columns."""
    return _ops.im2col(input, kernel_size, dilation, padding, stride)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input / max(norm(input), eps) along a dimension."""
    if out is not None:
        return into(out, normalize, input, p, dim, eps)
    size = _reductions.norm(input, p, dim, True)
    return input / _ops.clamp_min(size, eps).expand_as(input)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence: target * (log(target) - input)."""
    if size_average is not None or reduce is not None:
        reduction = reduction_of(size_average, reduce)
    elif reduction == "mean":
        warn_each(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release."
        )
    return _ops.kl_div(input, target, reduction=reduction, log_target=log_target)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative))."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative "
            f"{negative.dim()}D inputs"
        )
    distance = distance_function or _ops.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _ops.minimum(far, distance(positive, negative))
    losses = _ops.clamp_min(margin + near - far, 0)
    return losses if reduction == "none" else getattr(losses, reduction)()


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """-log of the probability of a target, over all paths; lengths are tensors or lists."""
    lengths = [
        _ops.from_ints(list(n), device="cpu") if isinstance(n, (list, tuple)) else n
        for n in (input_lengths, target_lengths)
    ]
    return _ops.ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)
