"""What random programs have found of calls that have nothing to compute: the two libraries must agree."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "a step of no elements": """
x1 = t.zeros((0,)).requires_grad_()
x1.sum().backward()
o1 = t.optim.Adafactor([x1])
o1.step()
""",
    "lines of no classes": """
x1 = t.zeros((1, 0, 1))
x2 = t.nn.functional.cross_entropy(x1, t.tensor([[0]]), ignore_index=0)
x3 = t.nn.functional.nll_loss(x1, t.tensor([[0]]), reduction="none")
""",
    "the largest of no rows": """
x1, x2 = t.zeros((0, 1)).requires_grad_(), t.zeros((0,), dtype=t.int64)
x3 = t.nn.functional.embedding_bag(x2, x1, mode='max', offsets=t.tensor([0]))
x4, = t.autograd.grad(x3, x1, x3.clone(), create_graph=True)
x3.backward()
""",
    "a derivative without elements leads to less": """
x1 = t.zeros((0,)).requires_grad_()
x2 = t.nn.functional.cross_entropy(x1, x1)
x3, = t.autograd.grad(x2.square(), x1, create_graph=True)
x3.sum().backward()
x3.backward(x3, inputs=[x2])
""",
    "a grid of another dtype where there is nothing to sample": """
x1 = t.zeros((1, 0, 1, 1), dtype=t.bfloat16)
x2 = t.nn.functional.grid_sample(x1, t.tensor([[[[0.0, 0.0]]]], dtype=t.float16))
x3 = t.tensor([[[[1.5]]]], requires_grad=True)
x4 = t.nn.functional.grid_sample(x3, t.zeros((1, 0, 0, 2), dtype=t.float64))
x4.sum().backward()
""",
    "integers where there is nothing to sample": """
x1, x2 = t.ones((1, 1, 1, 1), dtype=t.int64), t.zeros((1, 0, 1, 1), dtype=t.bool)
x3 = t.nn.functional.grid_sample(x1, t.zeros((1, 0, 0, 2), dtype=t.int64))
x4 = t.nn.functional.grid_sample(x2, t.zeros((1, 1, 1, 2)), mode="nearest")
x5 = t.nn.functional.grid_sample(x1[None], t.zeros((1, 0, 0, 0, 3)))
""",
    "attention of no values looks at no sizes": """
x1 = t.tensor([[[0.5]]], requires_grad=True)
x2 = t.tensor([[[0.25]]], requires_grad=True)
x3 = t.nn.functional.scaled_dot_product_attention(x1, x2, t.zeros((0, 1, 3)))
x3.sum().backward()
x4 = t.nn.functional.scaled_dot_product_attention(t.zeros((0, 2)), t.zeros((2, 0, 2)), t.ones((1, 4)))
x5 = t.nn.functional.scaled_dot_product_attention(t.ones((1, 3, 2)), t.ones((1, 5, 2)), t.ones((0, 5, 2)))
""",
    "attention of no features is a mean of the values": """
x1 = t.nn.functional.scaled_dot_product_attention(t.zeros((1, 1, 0)), t.zeros((2, 0)), t.tensor([[[0.5], [2.0]]]))
""",
    "the mean loss of no classes": """
x1 = t.zeros((0, 0), requires_grad=True)
x2 = t.nn.functional.cross_entropy(x1, t.zeros((0,), dtype=t.int64))
x3 = t.nn.functional.cross_entropy(t.zeros((2, 0, 0)), t.zeros((2, 0), dtype=t.int64), reduction='sum')
x3 = t.zeros((0, 1))
x4 = t.nn.functional.linear_cross_entropy(x3, x3, t.zeros((0,), dtype=t.int64), reduction='none')
x2.backward()
""",
    "a share of each of no classes": """
x1 = t.zeros((2, 0), requires_grad=True)
x2 = t.nn.functional.cross_entropy(x1, t.full((2,), -100), label_smoothing=0.1, reduction='none')
x3 = t.nn.functional.cross_entropy(x1, t.full((2,), -100), label_smoothing=0.1, reduction='sum')
x3.backward()
with t.autocast("cpu", t.bfloat16):
    x4 = t.nn.functional.cross_entropy(x1.bfloat16(), t.full((2,), -100), reduction='sum')
""",
    "attention of integers to nothing": """
x1, x2 = t.ones((2, 3), dtype=t.int64), t.zeros((0, 3), dtype=t.int64)
x3 = t.nn.functional.scaled_dot_product_attention(x1, x2, x2)
""",
    "a class of none": """
x1 = t.nn.functional.cross_entropy(t.zeros((2, 0)), t.zeros((2,), dtype=t.int64))
""",
    "the condition of no elements": """
x1 = t.linalg.cond(t.zeros((0, 1)), t.inf)
x2 = t.linalg.cond(t.zeros((2, 1, 0)), 1)
""",
    "no zero points": """
x1 = t.fake_quantize_per_channel_affine(t.zeros((0,)), t.zeros((0,)), t.zeros((0,), dtype=t.int32), 0, 0, 0)
""",
    "layers of no channels and of no rows": """
x1 = t.zeros((2, 0, 3))
x2 = t.nn.functional.conv1d(x1, t.ones((1, 0, 2), dtype=t.float64))
x3 = t.zeros((0,))
x4 = t.nn.functional.batch_norm(x3, None, None, training=True)
x5 = t.zeros((0, 1, 2))
x6 = t.nn.functional.fractional_max_pool2d(x5, 1, 1)
""",
    "a norm of nothing, of which a part is written": """
m1 = t.nn.InstanceNorm3d(0)
x2 = t.zeros((2, 0, 0, 0, 0)).requires_grad_()
x3 = m1(x2)
x4 = x3.triu_()
x5, x6 = x3
x5.sum().backward()
x3.backward(x3)
""",
    "a dimension that is not there, along which nothing is subtracted": """
x1 = t.tensor([[0.0]])
x2 = t.diff(x1, 0, dim=2)
x3 = x1.diff(0, -3)
""",
}


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
