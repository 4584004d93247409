"""Every row × dtype × layout against PyTorch: values, in-place twins, gradients of order 1 to 3."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
import pytest
from by_op import by_op
from harness import (
    arrays,
    as_list,
    assert_close,
    derivatives,
    dumbtorch,
    needs_torch,
    scalar_of,
    tensors,
    to_numpy,
    torch,
)
from layouts import LAYOUTS, applies
from rows import ROWS
from table import ALL, NARROW_FLOATS

pytestmark = needs_torch


def layouts_of(row):
    return [
        x
        for x in LAYOUTS
        if x == "contiguous" or (row.layouts and any(applies(x, i.sizes) for i in row.inputs))
    ]


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{k}-{r.id}") for k, r in enumerate(ROWS)])
def test_values(row):
    for dtype in row.all_dtypes:
        for layout in layouts_of(row):
            _, ours = tensors(dumbtorch, row, dtype, layout, grad=False)
            _, theirs = tensors(torch, row, dtype, layout, grad=False)
            results = zip(
                as_list(row.call(dumbtorch, *ours)), as_list(row.call(torch, *theirs)), strict=True
            )
            for k, (y, expected) in enumerate(results):
                assert_close(y, expected, row, f"{dtype}, {layout}, output {k}")


@by_op([r for r in ROWS if r.inplace])
def test_inplace_values(row):
    """The in-place twin gives what PyTorch's gives in every dtype, or is refused like it."""
    for dtype in ALL:
        ours, theirs = (write_in_place(t, row, dtype) for t in (dumbtorch, torch))
        assert (ours is None) == (theirs is None), dtype
        if ours is not None:
            assert_close(ours, theirs, row, f"{dtype}, in place")


def write_in_place(library, row, dtype):
    _, arguments = tensors(library, row, dtype, "contiguous", grad=False)
    try:
        row.inplace(library, *arguments)
    except RuntimeError:
        return None
    return arguments[0]


@by_op([r for r in ROWS if r.inplace and r.orders])
def test_inplace(row):
    """It writes into the same memory, and its gradients are those of PyTorch's."""
    for layout in ("contiguous", "transposed", "sliced"):
        check_inplace(row, layout)


def check_inplace(row, layout):
    results = []
    for library in (dumbtorch, torch):
        leaves, arguments = tensors(library, row, "float64", layout, grad=True)
        target = arguments[0] * 1  # a leaf cannot be written
        view = target[:1] if target.dim() else target
        address = target.data_ptr()
        row.inplace(library, target, *arguments[1:])
        assert target.data_ptr() == address
        grads = library.autograd.grad(scalar_of(library, [target], 1), leaves, allow_unused=True)
        results.append([target, view, *grads])
    for y, expected in zip(*results):
        assert (y is None) == (expected is None)
        if y is not None:
            assert_close(y, expected, row, f"{layout}, in place")


@by_op([r for r in ROWS if min(r.orders, r.torch_orders)])
def test_gradients(row):
    for layout in layouts_of(row):
        check_gradients(row, "float64", layout, min(row.orders, row.torch_orders))
    check_gradients(row, "float32", "contiguous", 1)


@by_op([r for r in ROWS if min(r.orders, r.torch_orders) and "float32" in r.dtypes])
def test_narrow_gradients(row):
    """Every step of a backward is rounded: the result is as near to the one in float64 as PyTorch's is, or by twice
    the rounding of one number."""
    for dtype in NARROW_FLOATS:
        check_narrow_gradients(row, dtype)


def check_narrow_gradients(row, dtype):
    exact = derivatives(torch, row, "float64", "contiguous", 1, rounded_to=dtype)
    ours, theirs = (derivatives(t, row, dtype, "contiguous", 1) for t in (dumbtorch, torch))
    for y, expected, truth in zip_longest(*(sum(d, []) for d in (ours, theirs, exact))):
        if y is None or expected is None:
            known = y if y is not None else expected
            assert known is None or not np.any(to_numpy(known))
            continue
        assert str(y.dtype) == str(expected.dtype) == f"torch.{dtype}"
        assert_as_near(
            *map(to_numpy, (y, expected, truth)), 2 * torch.finfo(getattr(torch, dtype)).eps
        )


def assert_as_near(y, expected, truth, rounding):
    """Where PyTorch's number is finite. Where it is not, and should not be, ours need not overflow."""
    np.testing.assert_array_equal(np.isnan(y) | np.isinf(y) | np.isfinite(truth), True)
    finite = np.isfinite(expected) & np.isfinite(truth)
    y, expected, truth = y[finite], expected[finite], truth[finite]
    far, allowed = np.abs(y - truth), np.abs(expected - truth).max(initial=0)
    scale = max(1.0, np.abs(truth).max(initial=0))
    assert far.max(initial=0) <= 2 * allowed + rounding * scale


def check_gradients(row, dtype, layout, orders):
    ours, theirs = (derivatives(t, row, dtype, layout, orders) for t in (dumbtorch, torch))
    assert_gradients_close(ours, theirs, row, f"{dtype}, {layout}")


def assert_gradients_close(ours, theirs, row, what):
    # A derivative that one library knows to be constant has no orders after it.
    for order, (a, b) in enumerate(zip_longest(ours, theirs, fillvalue=()), 1):
        for k, (g, expected) in enumerate(zip_longest(a, b)):
            if g is None or expected is None:  # one library may know that a derivative is zero
                known = g if g is not None else expected
                assert known is None or not np.any(to_numpy(known)), (
                    f"{what}, order {order}, input {k}"
                )
                continue
            assert_close(g, expected, row, f"{what}, gradient of order {order}, input {k}")


@pytest.mark.parametrize("lost", [[], [[None]], [[torch.zeros(2)]]] if torch else [])
def test_a_lost_gradient_is_seen(lost):
    for ours, theirs in ((lost, [[torch.ones(2)]]), ([[torch.ones(2)]], lost)):
        with pytest.raises(AssertionError):
            assert_gradients_close(ours, theirs, ROWS[0], "contiguous")
    assert_gradients_close(lost, [[torch.zeros(2)]], ROWS[0], "contiguous")


def test_the_row_that_fails_is_named():
    def fails(row):
        assert row is not ROWS[1]

    with pytest.raises(AssertionError) as caught:
        by_op(ROWS)(fails)(ROWS[:2])
    assert ROWS[1].id in caught.value.__notes__[0]


@by_op([r for r in ROWS if r.orders and r.differentiable])
def test_gradients_against_finite_differences(row):
    """The derivative of each order along one direction, against the difference quotient of the order before."""
    step = 1e-5

    def scalar_at(shift: float, order: int) -> float:
        leaves, arguments = shifted(row, shift)
        current = as_list(row.call(dumbtorch, *arguments))
        for k in range(1, order):
            scalar = scalar_of(dumbtorch, current, k)
            current = list(
                dumbtorch.autograd.grad(scalar, leaves, create_graph=True, allow_unused=True)
            )
        scalar = scalar_of(dumbtorch, current, order)
        return 0.0 if scalar is None else scalar.item()

    grads = derivatives(dumbtorch, row, "float64", "contiguous", row.orders)
    for order, gradient in enumerate(grads, 1):
        slope = sum(
            float((to_numpy(g) * d).sum())
            for g, d in zip(gradient, directions(row))
            if g is not None
        )
        ahead, behind = scalar_at(step, order), scalar_at(-step, order)
        quotient = (ahead - behind) / (2 * step)
        # Where the derivative is small beside the scalar, the quotient is made of its roundings.
        rounding = 16 * np.finfo(np.float64).eps * max(abs(ahead), abs(behind)) / step
        assert slope == pytest.approx(
            quotient, rel=2e-5, abs=2e-5 * max(1.0, abs(quotient)) + rounding, nan_ok=True
        ), f"order {order}"


def directions(row) -> list[np.ndarray]:
    values = [a for i, a in zip(row.inputs, arrays(row, "float64")) if i.kind == "value"]
    return [np.sin(1.0 + np.arange(a.size)).reshape(a.shape) for a in values]


def shifted(row, amount: float):
    leaves, arguments, along = [], [], iter(directions(row))
    for i, array in zip(row.inputs, arrays(row, "float64")):
        if i.kind == "value":
            array = array + amount * next(along)
        x = dumbtorch.tensor(np.asarray(array))
        if i.kind == "value":
            leaves.append(x.requires_grad_())
        arguments.append(x)
    return leaves, arguments


@by_op([r for r in ROWS if r.orders])
def test_fast_backward_equals_the_formulas(row):
    """Without a graph of the backward, gradients come from kernels; with one, from formulas over tensors."""
    for dtype in ("float32", "float64"):
        check_fast_backward(row, dtype)


def check_fast_backward(row, dtype):
    results = []
    for create_graph in (False, True):
        leaves, arguments = tensors(dumbtorch, row, dtype, "contiguous", grad=True)
        scalar = scalar_of(dumbtorch, as_list(row.call(dumbtorch, *arguments)), 1)
        if scalar is None:
            return
        results.append(
            dumbtorch.autograd.grad(scalar, leaves, create_graph=create_graph, allow_unused=True)
        )
    for k, (fast, formula) in enumerate(zip(*results)):
        assert (fast is None) == (formula is None)
        if fast is not None:
            assert_close(fast, torch.tensor(to_numpy(formula)), row, f"input {k}")
