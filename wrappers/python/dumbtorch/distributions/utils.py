"""What distributions are written with: broadcasting of parameters, probabilities and logits, triangles of matrices."""

from __future__ import annotations

import functools
import math
from numbers import Number

from .. import _ops, _type_info
from .._tensor import Tensor
from .._types import Size
from ..autograd.grad_mode import enable_grad

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; numbers have the dtype and the device of the first tensor."""
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    like = next((v for v in values if isinstance(v, Tensor)), None)
    if like is None:
        tensors = [_ops.scalar_tensor(float(v)) for v in values]
    else:
        tensors = [
            v if isinstance(v, Tensor) else _ops.full((), v, dtype=like.dtype, device=like.device)
            for v in values
        ]
    return _ops.broadcast_tensors(tensors)


def sum_rightmost(value, dims: int):
    """The sum over the last `dims` dimensions."""
    return value if dims == 0 else value.reshape(value.shape[: value.dim() - dims] + (-1,)).sum(-1)


def clamp_probs(probs):
    """Probabilities whose logarithms are finite."""
    eps = _type_info.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits, is_binary=False):
    """Probabilities by their logarithms, or by their log odds."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs, is_binary=False):
    """The logarithms of probabilities, or their log odds."""
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property:  # noqa: N801, as PyTorch calls it
    """A property that is computed once, with a graph, where it was not given."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, kind=None):
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _triangle(n: int, diag: int, device):
    """Which entries of an n x n matrix lie on the diagonal `diag` or below."""
    count = _ops.arange(0, n, device=device)
    return count < count.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat, diag=0):
    """The entries on a diagonal and below, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag=0):
    """The matrix with these entries on a diagonal and below, and 0 elsewhere."""
    size, turn = vec.shape[-1], 1 + 2 * diag
    n = (-turn + math.sqrt(turn**2 + 8 * size + 4 * abs(diag) * (diag + 1))) / 2
    if round(n) - n > _type_info.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {size} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    matrix = _ops.zeros(tuple(vec.shape[:-1]) + (n, n), dtype=vec.dtype, device=vec.device)
    matrix[..., _triangle(n, diag, vec.device)] = vec
    return matrix


def shape_of_numbers(given, tensor) -> Size:
    """The batch of a distribution whose parameter came as `given` and is `tensor` now."""
    return Size(()) if isinstance(given, Number) else tensor.size()


def _standard_normal(shape, dtype, device):
    return _ops.randn(tuple(shape), dtype=dtype, device=device)


_sum_rightmost = sum_rightmost
