"""What random programs have found of views that were written and of what was detached, reduced."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "a hook of a view that a block wrote": """
m1 = t.nn.LazyInstanceNorm2d()
x2 = t.tensor([[[[0.0, 0.0]]]])
x3 = m1(x2)
h4 = x3.register_hook(lambda g: t.zeros_like(g))
with t.no_grad():
    x3.sinh_()
x3.sum().backward()
""",
    "a written view that is an input of a backward": """
m1 = t.nn.Flatten()
x2 = t.arange(1).to(t.float32).reshape((1, 1, 1))
x3 = m1(x2)
x4 = t.tensor(0.0).requires_grad_()
x3.le_(x4)
x5 = x2
t.autograd.backward([x3, x5], inputs=[x5])
""",
    "a part of attention's result that was detached": """
x1 = t.tensor([[[0.0]]], dtype=t.float64)
x2 = t.tensor([[[0.0]]], dtype=t.float64)
x3 = t.tensor([[[0.0]]], dtype=t.float64).requires_grad_()
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3)
x5, x6 = x4.max(0)
x4.detach_()
x5.backward(create_graph=True)
""",
    "a weighted observation in a view of a leaf": """
x1 = t.tensor([[0.5]], requires_grad=True)
with t.no_grad():
    x2 = t.transpose(x1, 0, 0)
    x3 = t.tensor([0.5])
    x4 = x2.cov(aweights=x3)
""",
    "a target of truth values that was written": """
x1 = t.tensor([[0.0]]).requires_grad_()
x2 = t.tensor([[True]])
x3 = t.nn.functional.huber_loss(x1, x2)
x4 = t.zeros(())
x2[()] = x4
x3.backward()
""",
    "what was multiplied by a power in place, in the view that a layer gives": """
m1 = t.nn.Linear(1, 1)
x2 = m1(t.ones(1, 1, 1))
x2.ldexp_(t.tensor([0]))
x3 = x2.polygamma_(0)
x3.backward()
""",
    "the index of what was written into the view of a product, written": """
x1 = t.tensor([[[0.0, 0.0]]], dtype=t.float64).requires_grad_()
x2 = x1.matmul(t.tensor([[[0.0], [0.0]]], dtype=t.float64))
x3 = t.tensor([0])
x2[x3, 0::2] = t.tensor([0.0], dtype=t.float64)
x3[:] = 0
x2.backward(inputs=[x2])
""",
    "a view from before its base required a gradient, as the target of a loss": """
x1 = t.tensor([[0.0]])
x2 = x1.unfold(0, 0, 1)
x1.requires_grad = True
x3 = t.nn.functional.soft_margin_loss(x2, x2)
""",
    "a hook of the view that a product gives, which was written": """
x1 = t.tensor([[0.5]])
x2 = t.tensor([[0.0]], requires_grad=True)
x3 = t.linalg.multi_dot([x2, x1])
h4 = x3.register_hook(lambda g: g + 1)
x3[()] = 0.0
x3.backward()
""",
    "an integral, backward twice, first from what was detached since": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = t.trapz(x1)
x3 = t.dstack([x2])
x3.backward()
x3.detach_()
x2.backward()
""",
    "a factor that was detached, of which a view is kept": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = t.tensor([0.0], requires_grad=True)
x3 = x1.matmul(x2)
x1.detach_()
x4, = t.autograd.grad(x3, x2, create_graph=True)
""",
}


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
