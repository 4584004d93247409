"""Old signatures of sums of products, where factors stand before what they multiply."""

from __future__ import annotations

import itertools
from functools import wraps

from . import _ops
from ._tensor_type import TensorBase
from ._warning import warn_of_old_form


def _also_factors_first(name: str, forms: set, *factors: str):
    """PyTorch's old forms too, where factors stand by position before what they multiply: addmm(beta, x, alpha, a, b)
    is addmm(x, a, b, beta=beta, alpha=alpha). A form has an x for a tensor and a 1 for a number."""
    function = getattr(_ops, name)

    @wraps(function)
    def call(*args, **options):
        if len(args) > 3 and isinstance(args[-1], TensorBase):
            are_tensors = [isinstance(x, TensorBase) for x in args]
            if "".join("1x"[is_tensor] for is_tensor in are_tensors) in forms:
                tensors = itertools.compress(args, are_tensors)
                numbers = (x for x in args if not isinstance(x, TensorBase))
                warn_of_old_form(function, are_tensors, factors)
                return function(*tensors, **dict(zip(factors, numbers, strict=False)), **options)
        return function(*args, **options)

    return call


_FACTORS = {
    **dict.fromkeys(("addcmul", "addcdiv"), ({"x1xx"}, "value")),
    **dict.fromkeys(
        ("addmm", "addmv", "addr", "addbmm", "baddbmm"),
        ({"1xxx", "1x1xx", "x1xx", "x11xx"}, "beta", "alpha"),
    ),
}
FACTORS_FIRST = {
    name + end: _also_factors_first(name + end, *form)
    for name, form in _FACTORS.items()
    for end in ("", "_")
}
