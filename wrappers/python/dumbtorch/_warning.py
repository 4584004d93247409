"""Warnings that PyTorch's core gives once per process, or each time after set_warn_always(True)."""

from __future__ import annotations

import warnings

from ._tensor_type import TensorBase

always = False
_given: set[str] = set()


def warn_once(about: str, message: str, stacklevel: int = 3) -> None:
    """Warns the first time that `about` comes up."""
    if always or about not in _given:
        _given.add(about)
        warnings.warn(message, UserWarning, stacklevel=stacklevel)


def warn_each(message: str, category=UserWarning, stacklevel: int = 3) -> None:
    """Warns each time that a function, or a class, is used."""
    warnings.warn(message, category, stacklevel=stacklevel)


OLDER_MEAN = "elementwise_mean"  # what the reduction "mean" was called


def warn_of_older_mean(stacklevel: int) -> None:
    """Of that word."""
    warn_each(
        f"reduction='{OLDER_MEAN}' is deprecated. Please use reduction='mean' instead.",
        stacklevel=stacklevel + 1,
    )


def warn_of_cycle() -> None:
    """Of a backward that records itself."""
    warn_once(
        "create_graph",
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak.",
        stacklevel=4,
    )


def warn_of_copy(function: str) -> None:
    """Of a function that is given a tensor to make one of."""
    warn_each(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        f"sourceTensor.detach().clone().requires_grad_(True), rather than {function}(sourceTensor).",
        stacklevel=4,
    )


def warn_of_sizes(input, target) -> None:
    """Of a loss whose tensors broadcast."""
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )


def warn_of_old_form(function, are_tensors, factors, stacklevel: int = 4) -> None:
    """PyTorch's warning of a form where factors stand by position; of what writes in place it is the method's."""
    in_place = function.__name__.endswith("_")
    code = function.__code__
    names = [
        name for name in code.co_varnames[: code.co_argcount] if name not in ("third", "out_dtype")
    ]
    tensors = [f"Tensor {name}" for name in names]
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
        stacklevel=stacklevel,
    )


def alpha_by_position(function, input, second, third, given, **options):
    """f(input, number, alpha), and of add and sub the old form f(input, alpha, other), where alpha is not given by
    name as well. A tensor without dimensions may stand for the number."""
    name = function.__name__
    if given != 1:
        raise TypeError(f"{name}() got multiple values for argument 'alpha'")
    is_old = name.rstrip("_") in ("add", "sub")
    if isinstance(second, TensorBase) and not (second.ndim or second.requires_grad):
        second = second.item()
    if isinstance(second, TensorBase) or (isinstance(third, TensorBase) and not is_old):
        raise TypeError(f"{name}() takes 2 positional arguments but 3 were given")
    if not is_old:
        return function(input, second, alpha=third, **options)
    warn_of_old_form(function, (True, False, True), ("alpha",), stacklevel=5)
    return function(input, third, alpha=second, **options)
