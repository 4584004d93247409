"""torch.overrides, for functions of programs' own that objects with `__torch_function__` may take over. The library's
functions ask no argument for it."""

from __future__ import annotations

import functools

from . import _missing
from ._tensor import Tensor

__getattr__ = _missing.getattr_of(__name__)
__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_tensor_like", "wrap_torch_function",
]  # fmt: skip


def _overloaded(args) -> list:
    """The first argument of each class that takes functions over, derived classes before their bases."""
    out: list = []
    for arg in args:
        kinds = [type(x) for x in out]
        if hasattr(type(arg), "__torch_function__") and type(arg) not in kinds:
            place = (i for i, kind in enumerate(kinds) if issubclass(type(arg), kind))
            out.insert(next(place, len(out)), arg)
    return out


def has_torch_function(args) -> bool:
    """Whether an argument's class has `__torch_function__`."""
    return bool(_overloaded(args))


def has_torch_function_unary(arg) -> bool:
    """has_torch_function of one."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args) -> bool:
    """has_torch_function of the arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the first `__torch_function__` gives that does not leave the call to others."""
    overloaded = _overloaded(relevant_args)
    kinds = tuple(map(type, overloaded))
    for arg in overloaded:
        result = arg.__torch_function__(public_api, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that implement "
        f"__torch_function__: {[*kinds]}"
    )


def is_tensor_like(inp) -> bool:
    """Whether it is a Tensor, or takes functions over."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher):
    """Has a function ask those of its arguments that `dispatcher` gives of them all."""

    def wrap(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return wrap
