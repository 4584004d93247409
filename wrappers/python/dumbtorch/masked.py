"""torch.masked: reductions and normalisations of those elements alone where a mask is True. Tensors that carry a
mask with them (`masked_tensor`) are not here."""

from __future__ import annotations

import math

from . import _missing, _ops, _type_info
from ._types import float32, int64

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


def _dims(dim, ndim: int) -> tuple:
    """Dimensions counted from the front; None and () mean all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        size = max(ndim, 1)
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -size <= d < size:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {d})"
            )
        found.append(d % size)
    return tuple(sorted(found))


def _whole_mask(input, mask):
    """The mask as bools of the input's shape."""
    if mask.dim() > input.dim():
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
        )
    return mask.expand(input.shape).bool()


def _filled(input, mask, value):
    """The input with a value in the places that are masked out."""
    if mask is None:
        return input
    return _ops.where(_whole_mask(input, mask), input, _ops.full_like(input, value))


def _lowest(input):
    """What no element is below."""
    floats = input.is_floating_point()
    return -math.inf if floats else _type_info.iinfo(input.dtype).min


def _highest(input):
    """What no element is above."""
    floats = input.is_floating_point()
    return math.inf if floats else _type_info.iinfo(input.dtype).max


def _sum_dtype(input, dtype):
    if dtype is not None:
        return dtype
    return input.dtype if input.is_floating_point() else int64


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):  # noqa: A001
    """The sum; 0 of no elements."""
    dims = _dims(dim, input.dim())
    return _filled(input, mask, 0).sum(dims, bool(keepdim), dtype=_sum_dtype(input, dtype))


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product; 1 of no elements."""
    result = _filled(input, mask, 1).to(_sum_dtype(input, dtype))
    for d in reversed(_dims(dim, input.dim())):
        result = result.prod(d, bool(keepdim))
    return result


def cumsum(input, dim, *, dtype=None, mask=None):
    """Sums up to each place."""
    (d,) = _dims(dim, input.dim())[:1]
    return _filled(input, mask, 0).cumsum(d, dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Products up to each place."""
    (d,) = _dims(dim, input.dim())[:1]
    return _filled(input, mask, 1).cumprod(d, dtype=dtype or input.dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest element; the lowest number of the dtype, of none."""
    dims = _dims(dim, input.dim())
    return _filled(input, mask, _lowest(input)).amax(dims, bool(keepdim)).to(dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest element; the highest number of the dtype, of none."""
    dims = _dims(dim, input.dim())
    return _filled(input, mask, _highest(input)).amin(dims, bool(keepdim)).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the largest element, in the input's dtype unless another is given."""
    filled = _filled(input, mask, _lowest(input))
    return filled.argmax(dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the smallest element, in the input's dtype unless another is given."""
    filled = _filled(input, mask, _highest(input))
    return filled.argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input, dim, keepdim, mask):
    """How many elements take part."""
    if mask is None:
        mask = _ops.ones_like(input, dtype=int64)
    else:
        mask = _whole_mask(input, mask)
    return mask.sum(_dims(dim, input.dim()), bool(keepdim))


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean; NaN of no elements."""
    source, dtype = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if not dtype.is_floating_point:
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {dtype}"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median, of an even number of elements the lower one; NaN of none."""
    (d,) = _dims(dim, input.dim())[:1]
    wanted = dtype or input.dtype
    floats = input.is_floating_point()
    filled = _filled(input if floats else input.float(), mask, math.nan)
    result = filled.nanmedian(d, keepdim).values
    if floats:
        return result
    if result.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(wanted)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of exp; -inf of no elements."""
    filled = _filled(input, mask, _lowest(input))
    return filled.logsumexp(_dims(dim, input.dim()), keepdim=keepdim).to(dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), of which each may be masked."""
    one, two = _filled(input, input_mask, -math.inf), _filled(other, other_mask, -math.inf)
    return _ops.logaddexp(one, two).to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of vectors; 0 of no elements, and infinite by the order -inf."""
    filled = _filled(input, mask, math.inf if ord == -math.inf else 0)
    dims = _dims(dim, input.dim())
    return _ops.linalg_vector_norm(filled, ord, dims, bool(keepdim), dtype=dtype or input.dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance, by the number of elements less the correction."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    dtype = dtype or (input.dtype if input.is_floating_point() else float32)
    compute = dtype if dtype.is_floating_point else float32
    centre = sum(input, dim, keepdim=True, dtype=compute, mask=mask) / _count(
        input, dim, True, mask
    )
    square = (input - centre).square()
    total = sum(square, dim, keepdim=keepdim, dtype=compute, mask=mask)
    count = (_count(input, dim, keepdim, mask).to(compute) - correction).clamp(min=0)
    return (total / count).to(dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation."""
    square = var(
        input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask
    )
    return square.sqrt()


def _normalized(function, input, dim, dtype, mask, fill):
    (d,) = _dims(dim, input.dim())[:1]
    return function(_filled(input, mask, fill), d, dtype=dtype or input.dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax; 0 where the mask is False, and NaN in rows of no elements."""
    return _normalized(_ops.softmax, input, dim, dtype, mask, _lowest(input))


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax; -inf where the mask is False, and NaN in rows of no elements."""
    return _normalized(_ops.log_softmax, input, dim, dtype, mask, _lowest(input))


def softmin(input, dim, *, dtype=None, mask=None):
    """softmax of what is negated."""
    fill = _highest(input)
    return _normalized(lambda x, *a, **k: _ops.softmax(-x, *a, **k), input, dim, dtype, mask, fill)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The input divided by its norm, or by eps where that is smaller; 0 where the mask is False."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / length.clamp(min=eps)
