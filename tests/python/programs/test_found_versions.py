"""What another PyTorch, or another device, makes of programs: here it is made up."""

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
