"""Python's integers from 2^63 on, which are unsigned numbers of 64 bits, beside tensors: as PyTorch's."""

import operator

import dumbtorch as dt
import pytest

NUMBERS = [2**63, 2**63 + 1, 0x9E3779B97F4A7C15, 2**64 - 1]
BEYOND = [2**64, 2**70, -(2**63) - 1]
OPERATORS = (
    "add sub mul truediv floordiv mod pow eq ne lt le gt ge and_ or_ xor lshift rshift".split()
)
CALLS = [
    "t.add(x, n)", "t.add(x, x, alpha=1.0 * n) if x.is_floating_point() else x", "t.mul(x, n)", "t.eq(x, n)",
    "t.full((2,), n, dtype=x.dtype)", "t.full_like(x, n)", "x.new_full((2,), n)", "t.full((2,), n)",
    "x.clone().fill_(n)",
    "t.clamp(x, max=n)", "t.clamp(x, min=n)", "x.clone().clamp_(0, n)", "t.where(x > 0, x, n)",
    "t.where(x > 0, 1.0, n)", "t.where(x > 0, 1, n)",
    "x.masked_fill(x > 0, n)",
    "x.clone().add_(n)", "x.clone().mul_(n)", "x.clone().eq_(n)", "t.remainder(x, n)", "t.fmod(x, n)", "t.div(x, n)",
    "t.bitwise_and(x, n)", "t.bitwise_xor(n, x)", "t.rsub(x, n)", "t.addcmul(x, x, x, value=n)", "t.result_type(x, n)",
    "x.index_fill(0, t.tensor([0]), n)", "x.scatter(0, t.tensor([0]), n)", "t.tensor(n)", "t.tensor([n, 1])",
    "t.linspace(0, n, 3)",
]  # fmt: skip


def result_of(t, call, dtype, n):
    x = t.tensor([1, 0, 3], dtype=getattr(t, dtype))
    try:
        y = call(t, x, n)
    except (RuntimeError, OverflowError, ValueError, NotImplementedError) as error:
        return type(error)
    return (str(y.dtype), y.tolist()) if isinstance(y, t.Tensor) else str(y)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"])
def test_operators(dtype, torch):
    for name in OPERATORS:
        op = getattr(operator, name)
        for n in NUMBERS + BEYOND:
            for call in (lambda t, x, n, op=op: op(x, n), lambda t, x, n, op=op: op(n, x)):
                ours, theirs = result_of(dt, call, dtype, n), result_of(torch, call, dtype, n)
                refused = isinstance(ours, type) and isinstance(theirs, type)
                assert refused or str(ours) == str(theirs), (name, n)


@pytest.mark.parametrize("text", CALLS)
def test_calls(text, torch):
    code = compile(text, text, "eval")
    for dtype in ("float32", "float64", "int64", "int32", "bool"):
        for n in NUMBERS + BEYOND:
            ours, theirs = (
                result_of(t, lambda t, x, n: eval(code, {"t": t, "x": x, "n": n}), dtype, n)
                for t in (dt, torch)
            )
            refused = isinstance(ours, type) and isinstance(theirs, type)
            assert refused or str(ours) == str(theirs), (dtype, n)


def test_gradients(torch):
    for t in (dt, torch):
        x = t.ones(2, dtype=t.float64, requires_grad=True)
        (x * 2**63 + x / (2**64 - 1)).sum().backward()
        assert x.grad.tolist() == [2.0**63 + 2.0**-64] * 2
