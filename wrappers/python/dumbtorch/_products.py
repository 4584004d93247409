"""Sums of products over dimensions that are named: einsum and tensordot."""

from __future__ import annotations

from . import _ops
from ._out import into
from ._tensor_type import TensorBase


def einsum(*args):
    """einsum(equation, *operands), einsum(equation, [operands]), and einsum(operand, its subscripts, ...,
    subscripts of the result), where subscripts are lists of numbers."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], TensorBase):
        equation = ",".join(_subscripts(numbers) for numbers in args[1::2])
        has_output = len(args) % 2 == 1
        equation += "->" + _subscripts(args[-1]) if has_output else ""
        return _ops.einsum(equation, args[: -1 if has_output else None : 2])
    equation, *operands = args
    listed = len(operands) == 1 and isinstance(operands[0], (list, tuple))
    return einsum(equation, *operands[0]) if listed else _ops.einsum(equation, operands)


def _subscripts(numbers) -> str:
    """[0, Ellipsis, 27] is "A...b"."""
    letters = []
    for n in numbers:
        if n is not Ellipsis and not 0 <= n < 52:
            message = "subscript in subscript list is not within the valid range [0, 52)"
            raise ValueError(f"einsum(): {message}")
        letters.append(
            "..." if n is Ellipsis else chr(ord("A") + n if n < 26 else ord("a") + n - 26)
        )
    return "".join(letters)


def tensordot(a, b, dims=2, out=None):
    """tensordot over so many dimensions, or over two lists of them."""
    if out is not None:
        return into(out, tensordot, a, b, dims)
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = dims
        return _ops.tensordot_dims(a, b, dims_a, dims_b)
    if not isinstance(dims, int):
        wanted = "int or tuple[list[int], list[int]] or list[list[int]] containing two lists"
        raise RuntimeError(f"tensordot expects dims to be {wanted}, but got dims={dims}")
    return _ops.tensordot(a, b, int(dims))
