"""gradcheck: compares gradients with finite differences. The comparison is the library's (core/ops/gradcheck.cpp)."""

from __future__ import annotations

import warnings

from .. import _ops
from .._runtime import GradcheckError as GradcheckError
from .._tensor_type import TensorBase
from .._types import float64


def gradcheck(
    func,
    inputs,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of func(*inputs) agree with central differences.

    Inputs that require grad should be float64; the function must give the same result for the same
    inputs. Gradients always have their tensor's dtype; `check_undefined_grad` and `fast_mode` change
    nothing, and forward mode, batches of gradients and sparse tensors are refused.
    """
    _refuse(check_forward_ad or check_batched_forward_grad or check_batched_grad or masked)
    if not check_backward_ad:
        return True
    inputs = _tuple(inputs)
    _warn_of_rounding(inputs)
    return _ops.gradcheck(
        _closed(func, inputs),
        _tensors(inputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        raise_exception=raise_exception,
    )


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradient: whether second derivatives agree with finite differences."""
    _refuse(check_fwd_over_rev or check_batched_grad or masked)
    if not check_rev_over_rev:
        return True
    inputs = _tuple(inputs)
    grad_outputs = () if grad_outputs is None else _tuple(grad_outputs)
    _warn_of_rounding((*inputs, *grad_outputs))
    return _ops.gradgradcheck(
        _closed(func, inputs),
        _tensors(inputs),
        grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        gen_non_contig_grad_outputs=gen_non_contig_grad_outputs,
        nondet_tol=nondet_tol,
        raise_exception=raise_exception,
    )


def _refuse(is_asked_for) -> None:
    if is_asked_for:
        raise NotImplementedError(
            "gradcheck: there is no forward mode, batch of gradients or sparse tensor to check"
        )


def _tuple(x) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _closed(func, inputs: tuple):
    """The function of these very objects, whatever aliases of them the library calls it with."""
    return lambda _: _tuple(func(*inputs))


def _tensors(inputs: tuple) -> list:
    return [x if isinstance(x, TensorBase) else None for x in inputs]


def _warn_of_rounding(inputs: tuple) -> None:
    for i, x in enumerate(inputs):
        if isinstance(x, TensorBase) and x.requires_grad and x.dtype != float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
