"""gradcheck: compares gradients with finite differences."""

from __future__ import annotations

from .. import _ops
from .._tensor_type import TensorBase
from .._types import float64


class GradcheckError(RuntimeError):
    """A gradient is not what finite differences say."""


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
    if check_forward_ad or check_batched_forward_grad or check_batched_grad or masked:
        raise NotImplementedError(
            "gradcheck: there is no forward mode, batch of gradients or sparse tensor to check"
        )
    if not check_backward_ad:
        return True
    try:
        _check(func, _tuple(inputs), eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func, inputs, grad_outputs=None, *, gen_non_contig_grad_outputs=False, **options
) -> bool:
    """gradcheck of the gradient: whether second derivatives agree with finite differences."""
    inputs = _tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        grad_outputs = [_ops.tensor_requires_grad_(_ops.randn_like(y)) for y in outputs]
    grad_outputs = _tuple(grad_outputs)
    count = len(inputs)

    def gradient(*args):
        from . import grad

        outputs = _differentiable(func(*args[:count]))
        wanted = [a for a in args[:count] if _wants_grad(a)]
        return grad(outputs, wanted, args[count:], create_graph=True, allow_unused=True)

    return gradcheck(gradient, (*inputs, *grad_outputs), **options)


def _tuple(x) -> tuple:
    return (x,) if isinstance(x, TensorBase) else tuple(x)


def _wants_grad(x) -> bool:
    return isinstance(x, TensorBase) and x.requires_grad


def _differentiable(result) -> list:
    """The outputs that carry a graph."""
    return [y for y in _tuple(result) if isinstance(y, TensorBase) and y.requires_grad]


def _check(func, inputs: tuple, eps, atol, rtol, nondet_tol) -> None:
    wanted = [i for i, x in enumerate(inputs) if _wants_grad(x)]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them "
            "have requires_grad=True."
        )
    for i in wanted:
        _check_layout(i, inputs[i])
    result = _tuple(func(*inputs))
    for number, y in enumerate(result):
        if not isinstance(y, TensorBase) or not y.is_floating_point():
            continue
        analytic = _analytic(y, [inputs[i] for i in wanted])
        again = _analytic(_tuple(func(*inputs))[number], [inputs[i] for i in wanted])
        for place, i in enumerate(wanted):
            numeric = _numeric(func, inputs, i, number, eps)
            _compare_repeated(analytic[place], again[place], nondet_tol)
            _compare(analytic[place], numeric, atol, rtol, number, i)


def _check_layout(number: int, x) -> None:
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        raise RuntimeError(
            f"The {number}th input has a dimension with stride 0. gradcheck only supports inputs that are "
            "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous on "
            "the input before passing it to gradcheck."
        )


def _analytic(y, inputs: list) -> list:
    """For each input the Jacobian [elements of the input][elements of y] by backward."""
    from . import grad

    columns = [[] for _ in inputs]
    for k in range(y.numel()):
        if y.requires_grad:
            direction = _ops.zeros(y.numel(), dtype=y.dtype, device=y.device)
            direction[k] = 1
            grads = grad(
                y, inputs, direction.reshape(y.shape), retain_graph=True, allow_unused=True
            )
        else:
            grads = [None] * len(inputs)
        for column, g, x in zip(columns, grads, inputs, strict=True):
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            flat = [0.0] * x.numel() if g is None else g.detach().reshape(-1).tolist()
            column.append(flat)
    return columns


def _numeric(func, inputs: tuple, which: int, number: int, eps: float) -> list:
    """The same Jacobian by central differences. The input itself is moved, since the function may know it from
    elsewhere, as a module knows its parameters."""
    rows = []
    for element in _elements(inputs[which]):
        before = element.item()
        try:
            above, below = (
                _value(func, inputs, number, element, before + step) for step in (eps, -eps)
            )
        finally:
            element.fill_(before)
        rows.append([(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)])
    return rows


def _elements(x):
    """A view of each element of x, in order, to be written behind the graph's back."""
    x = x.detach().data
    if x.dim() == 0:
        yield x
        return
    for part in x:
        yield from _elements(part)


def _value(func, inputs: tuple, number: int, element, value: float) -> list:
    """The elements of output `number` where an element of an input is this one."""
    element.fill_(value)
    return _tuple(func(*inputs))[number].detach().to(float64).reshape(-1).tolist()


def _compare(analytic: list, numeric: list, atol, rtol, number: int, which: int) -> None:
    """analytic is [output element][input element], numeric the transpose."""
    for j, row in enumerate(analytic):
        for k, a in enumerate(row):
            n = numeric[k][j]
            if not abs(a - n) <= atol + rtol * abs(n):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {which},\n"
                    f"at output element {j}, input element {k}: numerical:{n}, analytical:{a}\n"
                )


def _compare_repeated(first: list, second: list, tolerance: float) -> None:
    for row, other in zip(first, second, strict=True):
        if any(abs(a - b) > tolerance for a, b in zip(row, other, strict=True)):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values"
            )
