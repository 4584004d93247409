"""Old signatures of sums of products, where factors stand before what they multiply."""

from __future__ import annotations

from functools import wraps

from . import _ops
from ._tensor_type import TensorBase


def _also_factors_first(name: str, operands: int, *factors: str):
    """PyTorch's old form too, where factors stand by position before what they multiply: x.add_(2, y) is
    x.add_(y, alpha=2), addmm(beta, x, alpha, a, b) is addmm(x, a, b, beta=beta, alpha=alpha)."""
    function = getattr(_ops, name)

    @wraps(function)
    def call(*args, **options):
        if len(args) > operands and isinstance(args[-1], TensorBase):
            tensors = [x for x in args if isinstance(x, TensorBase)]
            numbers = [x for x in args if not isinstance(x, TensorBase)]
            if len(tensors) == operands and len(numbers) <= len(factors):
                return function(*tensors, **dict(zip(factors, numbers, strict=False)), **options)
        return function(*args, **options)

    return call


def _also_alpha_first(name: str):
    """The same for two operands, which costs less time."""
    function = getattr(_ops, name)

    @wraps(function)
    def call(input, other, old=None, **options):
        if old is None:
            return function(input, other, **options)
        return function(input, old, alpha=other, **options)

    return call


_FACTORS = {
    **dict.fromkeys(("addcmul", "addcdiv"), (3, "value")),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), (3, "beta", "alpha")),
}
FACTORS_FIRST = {
    name + end: _also_factors_first(name + end, *form)
    for name, form in _FACTORS.items()
    for end in ("", "_")
} | {name: _also_alpha_first(name) for name in ("add", "add_", "sub", "sub_")}
