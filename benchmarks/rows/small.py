"""What a small operation costs: here the library's own work counts, not the arithmetic."""

from __future__ import annotations

from measure import Row, Target, Variant

from rows.compare import compare
from rows.training import xor

ADDS = 100  # in one run, so that the loop around it does not count


def add(torch):
    a, b = torch.randn(8), torch.randn(8)
    hundred = [None] * ADDS

    def run():
        for _ in hundred:
            a + b

    return run


def mul_sum_backward(torch):
    x, a = torch.randn(8, requires_grad=True), torch.randn(8)

    def run():
        (x * a).sum().backward()
        x.grad = None

    return run


def rows(machine, dumbtorch, torch) -> list[Row]:
    def native(case: str) -> Variant:
        return Variant("dumbtorch", lambda seconds: machine.native.seconds(case, seconds))

    add_ours, add_rivals = compare(add, dumbtorch, torch, calls=ADDS)
    sum_ours, sum_rivals = compare(mul_sum_backward, dumbtorch, torch)
    xor_ours, xor_rivals = compare(xor, dumbtorch, torch)
    return [
        Row("small", "add 8 floats, C", Target(value=0.3e-6), native("add_8")),
        Row("small", "add 8 floats, Python", Target(ratio=2), add_ours, add_rivals),
        Row("small", "mul, sum, backward of 8 floats", Target(ratio=5), sum_ours, sum_rivals),
        Row("small", "XOR step, C", Target(ratio=25), native("xor_step"), xor_rivals),
        Row("small", "XOR step, Python", Target(ratio=10), xor_ours, xor_rivals),
    ]
