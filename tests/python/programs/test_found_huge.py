"""What random programs have found of huge numbers and infinities, and of steps that are refused, reduced."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "an infinite slope of attention, which PyTorch composes": """
x1 = t.tensor([[[0.5]], [[0.0]]], dtype=t.float64)
x2 = t.tensor([[[0.0], [0.5]], [[0.0], [0.0]]], dtype=t.float64).requires_grad_()
x3 = t.tensor([[[-0.5], [0.5]], [[0.0], [0.0]]], dtype=t.float64)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3)
x5 = t.true_divide(x4, False)
x5.backward(t.ones_like(x5))
""",
    "a row of a huge number, which is made shorter": """
x1 = t.tensor([[2]])
x2 = t.tensor([[0.0, 0.0], [0.0, 0.0], [1.0000000150474662e+30, 0.0]])
x3 = t.nn.functional.embedding(x1, x2, 0, 0.5)
""",
    "one in a bag": """
m1 = t.nn.EmbeddingBag(2, 2, 0.5).apply(lambda m: [w.data.fill_(1e30) for w in m.parameters()])
x2 = m1(t.tensor([[1, 0]]))
""",
    "a parameter that overlaps, after another": """
x1 = t.tensor([[0.0]]).expand((3, 2)).requires_grad_()
x1.mean().backward()
x2 = t.tensor([0.5], requires_grad=True)
x2.backward()
o3 = t.optim.Rprop([x2, x1])
o3.step()
""",
    "the gradients of equal logits that are huge": """
x1 = t.tensor([[[0.0, 2.0], [0.0, -1e30]], [[-1e30, 0.0], [-1e30, 0.5]]], requires_grad=True)
x2 = t.nn.functional.cross_entropy(x1, t.tensor([[0, 1], [1, 0]]))
x2.backward()
x3 = t.full((3, 5), -1e30, requires_grad=True)
x4 = t.nn.functional.cross_entropy(x3, t.tensor([0, 1, 4]), label_smoothing=0.1)
x4.backward()
""",
}


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
