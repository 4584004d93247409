"""gradcheck: compares gradients with finite differences. The comparison is the library's (core/ops/gradcheck.cpp);
that of products with a Jacobian, and of gradients for several weights at once, is _more_checks.py's."""

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
    inputs. Gradients always have their tensor's dtype; `check_undefined_grad` changes nothing, and
    sparse tensors are refused. `fast_mode` looks along random directions, and at each element only where
    these disagree. `check_forward_ad` asks for products of the Jacobian with random vectors, as
    torch.func.jvp makes them.
    """
    _refuse(masked)
    _require(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    _require(
        check_backward_ad or not check_batched_grad,
        "Setting check_batched_grad=True requires check_backward_ad to be True",
    )
    _require(
        check_forward_ad or not check_batched_forward_grad,
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
    )
    inputs = _tuple(inputs)
    _warn_of_rounding(inputs)
    more = _checks(func, inputs, eps, atol, rtol)
    is_checked = not check_backward_ad or (fast_mode and more.slopes_agree())
    if not is_checked and not _ops.gradcheck(
        _closed(func, inputs),
        _tensors(inputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        raise_exception=raise_exception,
    ):
        return False
    try:
        if check_forward_ad:
            more.check_products()
        if check_batched_forward_grad:
            more.check_batched_products()
        if check_batched_grad:
            more.check_batched_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


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
    _refuse(masked)
    _require(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    for name, is_asked_for in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        _require(
            check_rev_over_rev or not is_asked_for,
            f"Setting {name}=True requires check_rev_over_rev to be True",
        )
    inputs = _tuple(inputs)
    grad_outputs = () if grad_outputs is None else _tuple(grad_outputs)
    _warn_of_rounding((*inputs, *grad_outputs))
    is_checked = not check_rev_over_rev
    if fast_mode and check_rev_over_rev:
        gradient, arguments = _gradient_of(func, inputs, grad_outputs)
        is_checked = _checks(gradient, arguments, eps, atol, rtol).slopes_agree()
    if not is_checked and not _ops.gradgradcheck(
        _closed(func, inputs),
        _tensors(inputs),
        grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        gen_non_contig_grad_outputs=gen_non_contig_grad_outputs,
        nondet_tol=nondet_tol,
        raise_exception=raise_exception,
    ):
        return False
    if not (check_fwd_over_rev or check_batched_grad):
        return True
    gradient, arguments = _gradient_of(func, inputs, grad_outputs)
    return gradcheck(
        gradient,
        arguments,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _checks(func, inputs: tuple, eps: float, atol: float, rtol: float):
    from ._more_checks import Checks

    return Checks(func, inputs, eps, {"atol": atol, "rtol": rtol})


def _gradient_of(func, inputs: tuple, grad_outputs: tuple):
    """The gradient of func as a function of the inputs and of what arrives at its outputs, and these."""
    from . import enable_grad, grad
    from ._more_checks import is_linked

    outputs = [y for y in _tuple(func(*inputs)) if is_linked(y)]
    weights = grad_outputs or tuple(_ops.randn_like(y).requires_grad_() for y in outputs)
    linked = [i for i, x in enumerate(inputs) if is_linked(x)]

    def gradient(*arguments):
        xs, ws = list(arguments[: len(inputs)]), arguments[len(inputs) :]
        with enable_grad():
            for i in linked:
                xs[i] = xs[i] if xs[i].requires_grad else xs[i].detach().requires_grad_()
            ys = [y for y in _tuple(func(*xs)) if is_linked(y)]
            found = grad(ys, [xs[i] for i in linked], ws, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradient, (*inputs, *weights)


def _refuse(is_asked_for) -> None:
    if is_asked_for:
        raise NotImplementedError("gradcheck: there are no sparse tensors to check")


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(sentence)


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
