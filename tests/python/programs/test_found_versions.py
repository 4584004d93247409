"""What another PyTorch, or another device, makes of programs: here it is made up."""

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs import known_versions  # noqa: E402
from programs.compare import compare  # noqa: E402

MASKED = "masked_scatter: expected self and source to have same dtypes but gotFloat and Double"


@pytest.mark.parametrize("dtype, known", [("dtype=t.float64", True), ("", False)])
@pytest.mark.parametrize("call", ["x1.cumprod(0, {})", "t.cumprod(x1, dim=0, {})"])
@pytest.mark.parametrize(
    "step",
    [
        "x2.backward(x2)",
        "x2.mean().backward()",
        "x3, = t.autograd.grad(x2.sum(), [x1])",
        "t.autograd.backward([x2.sum()])",
    ],
)
def test_a_running_product_that_converts(dtype, known, call, step, monkeypatch):
    def refuse(*given, **named):
        raise RuntimeError(MASKED)

    monkeypatch.setattr(known_versions, "is_older", lambda torch: True)
    monkeypatch.setattr(torch.Tensor, "backward", refuse)
    monkeypatch.setattr(torch.autograd, "backward", refuse)
    monkeypatch.setattr(torch.autograd, "grad", refuse)
    program = f"x1 = t.tensor([0.0, 0.0], requires_grad=True)\nx2 = {call.format(dtype)}\n{step}"
    assert (compare(program) is None) is known


# The squares of its second row overflow on some devices, where no forward tells: beside a huge input all is rounding.
HUGE = """
x1 = t.tensor([[[0.0, 0.0, 0.5]], [[1e30, 0.0, -1e30]]])
x2, x3 = t.ones(1), t.zeros(1)
{}.requires_grad_()
x4 = t.nn.functional.instance_norm(x1, None, None, x2, x3)
x4.exp().sum().backward()
"""


@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize("leaf", ["x1", "x2", "x3"])
def test_a_norm_whose_squares_do_not_overflow(leaf, factor, monkeypatch):
    norm = dt.nn.functional.instance_norm

    def wide(x, mean, var, weight, bias):
        y = norm(x.double(), mean, var, weight.double(), bias.double()).float()
        y.register_hook(lambda gradient: gradient * factor)
        return y

    monkeypatch.setattr(dt.nn.functional, "instance_norm", wide)
    assert (compare(HUGE.format(leaf)) is None) is (factor == 1.0)
