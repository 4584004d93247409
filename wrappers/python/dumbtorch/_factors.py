"""Old signatures of sums of products, where factors stand before what they multiply."""

from __future__ import annotations

import itertools
from functools import wraps

from . import _ops
from ._tensor_type import TensorBase
from ._warning import warn_once


def _warn_of_old_form(function, are_tensors, factors) -> None:
    """PyTorch's warning of a form where factors stand by position; of what writes in place it is the method's."""
    in_place = function.__name__.endswith("_")
    code = function.__code__
    tensors = [f"Tensor {name}" for name in code.co_varnames[: code.co_argcount]]
    rest = [] if in_place else ["Tensor out = None"]
    given = {True: iter(tensors), False: (f"Number {name}" for name in factors)}
    old = [next(given[is_tensor]) for is_tensor in are_tensors]
    if rest:
        old += ["*", *rest]
    new = [*tensors, "*", *(f"Number {name} = 1" for name in factors), *rest]
    old, new = (
        ", ".join(x for x in form if not in_place or x != tensors[0]) for form in (old, new)
    )
    name = function.__name__
    warn_once(
        "old form",
        f"This overload of {name} is deprecated:\n\t{name}({old})\n"
        f"Consider using one of the following signatures instead:\n\t{name}({new})",
        stacklevel=4,
    )


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
                _warn_of_old_form(function, are_tensors, factors)
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
        _warn_of_old_form(function, (True, False, True), ("alpha",))
        return function(input, old, alpha=other, **options)

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
} | {name: _also_alpha_first(name) for name in ("add", "add_", "sub", "sub_")}
