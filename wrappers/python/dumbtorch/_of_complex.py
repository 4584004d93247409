"""What PyTorch has for complex numbers, of real ones: the tensor itself, or a refusal."""

from __future__ import annotations

import math

from . import _ops
from ._complaints import need_tensor
from ._tensor_type import into


def _itself(name: str, what: str):
    """A function that gives the tensor itself."""

    def function(input):
        return need_tensor(name, input)

    function.__name__, function.__doc__ = name, f"The {what}: the tensor itself."
    return function


def _never(name: str, what: str):
    """A function that says False of each tensor."""

    def function(input) -> bool:
        return need_tensor(name, input) is None

    function.__name__, function.__doc__ = name, f"Whether a tensor shows its memory {what}."
    return function


real = _itself("real", "real part")
conj = _itself("conj", "complex conjugate")
resolve_conj = _itself("resolve_conj", "tensor, conjugated in memory")
resolve_neg = _itself("resolve_neg", "tensor, negated in memory")
is_conj = _never("is_conj", "conjugated")
is_neg = _never("is_neg", "negated")


def imag(input):
    """The imaginary part, which real tensors have none of."""
    need_tensor("imag", input)
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


def conj_physical(input, *, out=None):
    """The complex conjugate: the tensor itself."""
    need_tensor("conj_physical", input)
    return input if out is None else into(out, conj_physical, input)


def angle(input, *, out=None):
    """0 for numbers that are not negative, pi for those that are, NaN for NaN."""
    need_tensor("angle", input)
    if out is not None:
        return into(out, angle, input)
    kind = input.dtype if input.is_floating_point() else _ops.get_default_dtype()
    angles = _ops.mul(_ops.to(_ops.lt(input, 0), dtype=kind), math.pi)
    if not input.is_floating_point():
        return angles
    no_slope = _ops.mul(_ops.sgn(input), 0)  # also where the number is NaN
    return _ops.add(_ops.where(_ops.isnan(input), input.detach(), angles), no_slope)


def adjoint(input):
    """A matrix, or each of a batch, with its dimensions swapped."""
    need_tensor("adjoint", input)
    return _swapped(input, "tensor.adjoint()")


def _swapped(input, what: str):
    if input.ndim == 1:
        raise RuntimeError(
            f"{what} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return _ops.transpose(input, -2, -1) if input.ndim else input


def matrix_transpose(input, name: str):
    """x.mT and x.mH."""
    return _swapped(input, f"tensor.{name}")


def hermitian(input):
    """x.H, of one matrix."""
    if input.ndim not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if input.ndim > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {input.ndim}-D tensor.{hint}"
        )
    return _ops.transpose(input, 0, 1) if input.ndim else input
