"""grouped_mm: products of groups, as PyTorch's."""

import math

import dumbtorch as dt
import pytest

# the operands' sizes, and where groups end
CASES = {
    "rows": ((8, 16), (3, 16, 4), [2, 5, 8]),
    "rows, one group empty": ((8, 16), (3, 16, 4), [0, 5, 8]),
    "columns": ((3, 8, 16), (16, 8), [2, 5, 8]),
    "terms": ((8, 16), (16, 4), [2, 5, 16]),
    "terms, one group empty": ((8, 16), (16, 4), [4, 4, 16]),
    "stacks": ((3, 8, 16), (3, 16, 4), None),
}


def operand(t, sizes, dtype):
    return (
        t.arange(float(math.prod(sizes)))
        .mul(0.37)
        .sin()
        .reshape(sizes)
        .to(getattr(t, dtype))
        .requires_grad_()
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_grouped_mm(case, dtype, torch):
    a, b, ends = CASES[case]
    b = (*b[:-1], 8)  # PyTorch wants strides of 16 bytes

    def run(t):
        offs = None if ends is None else t.tensor(ends, dtype=t.int32)
        return t.nn.functional.grouped_mm(operand(t, a, dtype), operand(t, b, dtype), offs=offs)

    ours, theirs = run(dt), run(torch)
    assert ours.dtype == getattr(dt, dtype) and ours.shape == theirs.shape
    epsilon = dt.finfo(ours.dtype).eps
    assert dt.allclose(
        ours.double(),
        dt.from_numpy(theirs.detach().double().numpy()),
        rtol=4 * epsilon,
        atol=16 * epsilon,
    )


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_the_products(case):
    a, b, ends = CASES[case]
    x, y = operand(dt, a, "float64"), operand(dt, b, "float64")
    offs = None if ends is None else dt.tensor(ends, dtype=dt.int32)
    assert dt.autograd.gradcheck(lambda x, y: dt.nn.functional.grouped_mm(x, y, offs=offs), (x, y))


def test_what_no_group_has_is_zero():
    x, w = dt.ones(8, 2, requires_grad=True), dt.ones(3, 2, 4)
    y = dt.nn.functional.grouped_mm(x, w, offs=dt.tensor([1, 3, 6], dtype=dt.int32))
    assert y.tolist() == [[2.0] * 4] * 6 + [[0.0] * 4] * 2
    y.sum().backward()
    assert x.grad.sum(1).tolist() == [8.0] * 6 + [0.0] * 2


REFUSALS = [
    "f(r(3, 8, 16), r(3, 16, 4), offs=o)", "f(r(8, 16), r(3, 16, 4))", "f(r(8, 16), r(3, 16, 4), offs=o.long())",
    "f(r(8, 16), r(3, 16, 4), offs=o[:2])", "f(r(8, 16), r(3, 12, 4), offs=o)",
    "f(r(8, 16), r(3, 16, 4), offs=o, bias=r(4))", "f(r(8, 16), r(3, 16, 4), offs=o, out_dtype=t.bfloat16)",
    "f(r(16), r(3, 16, 4), offs=o)", "f(r(8, 16), r(3, 16, 4), offs=o.view(3, 1))",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text, refusals):
    def product(t):
        ends = t.tensor([2, 5, 8], dtype=t.int32)
        eval(text, {"t": t, "f": t.nn.functional.grouped_mm, "r": t.ones, "o": ends})

    (_, ours), (_, theirs) = refusals(product, RuntimeError)
    assert ours == "grouped_mm: " + theirs


@pytest.mark.parametrize("ends", [[2, 5, 9], [5, 2, 8], [-1, 2, 8]])
def test_offsets_beyond_the_matrix_are_refused(ends):
    with pytest.raises(RuntimeError, match="offsets must increase from 0 to 8"):
        dt.nn.functional.grouped_mm(
            dt.ones(8, 2), dt.ones(3, 2, 4), offs=dt.tensor(ends, dtype=dt.int32)
        )


def test_stacks_and_ends_that_do_not_fit():
    f = dt.nn.functional.grouped_mm
    with pytest.raises(RuntimeError, match="batched dimension has to match"):
        f(dt.ones(1, 8, 8), dt.ones(5, 8, 8))
    with pytest.raises(RuntimeError, match="offs must have an end for each group"):
        f(dt.ones(8, 8), dt.ones(8, 8), offs=dt.zeros(0, dtype=dt.int32))
