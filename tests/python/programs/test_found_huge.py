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
    "a mean of gradients that forgets a huge one, or half of what it was": """
x1 = t.ones(2, requires_grad=True)
o2 = t.optim.Adam([x1], lr=0.1, betas=(0.0, 0.0))
x3 = t.ones(2, requires_grad=True)
o4 = t.optim.RAdam([x3], lr=0.1, betas=(0.5, 0.9))
x1.grad, x3.grad = t.full((2,), 1e10), t.ones(2)
o2.step()
o4.step()
x1.grad, x3.grad = t.ones(2), t.tensor([t.inf, 2.0])
o2.step()
o4.step()
""",
    "the square of a mean of gradients, which overflows": """
x1 = t.zeros(2, requires_grad=True)
o2 = t.optim.RMSprop([x1], centered=True)
x1.grad = t.tensor([1e30, 1.0])
o2.step()
""",
    "a product of a convolution, which overflows beside an infinity": """
x1 = t.tensor([[[0.0, 0.0, t.inf], [0.0, 0.0, -1e30]]])
x2 = t.nn.functional.conv1d(x1, t.tensor([[[-0.5], [-1e30]]]))
m3 = t.nn.Conv1d(2, 1, 1).apply(lambda m: [w.data.fill_(-1e30) for w in m.parameters()])
x4 = m3(x1)
""",
    "the slopes of a logarithm of ndtr at NaN": """
x1 = t.tensor([t.nan, -1.0, -2.5, 0.5], requires_grad=True)
x2 = t.special.log_ndtr(x1)
x2.backward(t.ones(4))
x3 = t.tensor([t.nan, -1e30], requires_grad=True)
x4 = t.special.log_ndtr(x3)
x4.backward(t.full((2,), 1e3))
""",
    "the least length of a vector in a loss": """
x1 = t.zeros(2, 3, dtype=t.float64).requires_grad_()
x2 = t.tensor([[0.5, 1.5, 0.0], [0.0, 1.5, 0.5]], dtype=t.float64)
x3 = t.nn.functional.cosine_embedding_loss(x1, x2, t.tensor([1, -1]))
x3.backward()
""",
    "a slope of Bessel's function at NaN": """
x1 = t.tensor([t.nan, 0.5, 0.0], requires_grad=True)
x2, = t.autograd.grad(t.special.i0(x1).sum(), x1, create_graph=True)
x2.sum().backward()
""",
    "the other's": """
x1 = t.tensor([t.nan, 0.5, 0.0], requires_grad=True)
x2 = t.special.i1e(x1)
x2.sum().backward()
""",
    "Bessel's function at infinity": """
x1 = t.tensor([t.inf, 0.5])
x2 = t.special.i1(x1)
""",
    "the root of -infinity": """
x1 = t.tensor([-t.inf, 0.5, -0.0], requires_grad=True)
x2 = x1.pow(1.5)
x2.sum().backward()
""",
    "a squared length that overflows": """
x1 = t.tensor([[0.0, -0.0], [-1e30, 0.5]], requires_grad=True)
x2 = t.nn.functional.rms_norm(x1, (2,))
x2.sum().backward()
""",
    "a distance that overflows, of which PyTorch has no slope": """
x1 = t.tensor([[0.5, 1.5, 0.0]], requires_grad=True)
x2 = t.nn.functional.triplet_margin_loss(x1, x1.detach() + 1, t.tensor([[0.5, 1.5, -1e30]]))
x3 = t.nn.functional.triplet_margin_loss(x1, t.tensor([[0.5, 1.5, -1e30]]), x1.detach() + 1)
x3.backward()
""",
    "a product of NaN and zeros, whose slope has another one": """
x1 = t.tensor([0.0, t.nan, -1e30], requires_grad=True)
x2, = t.autograd.grad(x1.prod(dim=0), x1, create_graph=True)
x2.sum().backward()
""",
    "the second slope of a margin loss": """
x1 = t.tensor([[0.5, -0.25, 0.0]], requires_grad=True)
x2 = t.nn.functional.multilabel_margin_loss(x1, t.tensor([[1, 2, 0]]))
x3, = t.autograd.grad(x2, x1, create_graph=True)
x3.sum().backward()
""",
    "the gradients of equal logits that are huge": """
x1 = t.tensor([[[0.0, 2.0], [0.0, -1e30]], [[-1e30, 0.0], [-1e30, 0.5]]], requires_grad=True)
x2 = t.nn.functional.cross_entropy(x1, t.tensor([[0, 1], [1, 0]]))
x2.backward()
x3 = t.full((3, 5), -1e30, requires_grad=True)
x4 = t.nn.functional.cross_entropy(x3, t.tensor([0, 1, 4]), label_smoothing=0.1)
x4.backward()
""",
    "infinite gradients of running products of 0, which are written into a view": """
x1 = t.tensor([0.0, 2.0, 2.0], requires_grad=True)
x2 = x1 * 1.5
x3 = x2[...]
x3.cumprod_(0)
x3.backward(t.full((3,), t.inf))
""",
    "the slope of running products that were 0 and NaN": """
x1 = t.tensor([1e-10, t.nan, 0.0], dtype=t.float64, requires_grad=True)
x2 = x1 * 1.5
x3 = x2[...]
x3.cumprod_(0)
x4, = t.autograd.grad((x3 * x2).sum(), x2, create_graph=True)
x4.sum().backward()
""",
    "a gradient of a product that overflows beside zeros, of bfloat16": """
x1 = t.tensor([[1e30, 2.0], [0.0, 0.0]], requires_grad=True)
x2 = x1.prod(dtype=t.bfloat16)
x3, = t.autograd.grad(x2 * 1e30, x1, create_graph=True)
""",
    "a norm whose order is NaN": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = x1.dist(t.zeros(1), t.nan)
x2.backward()
x3 = t.linalg.vector_norm(x1, t.nan)
x3.backward()
""",
    "settings that are NaN where they have to be positive": """
x1 = t.tensor([[0.5], [2.0]], requires_grad=True)
x2 = t.nn.functional.batch_norm(x1, None, None, training=True, eps=t.nan)
x3 = t.nn.functional.triplet_margin_loss(x1, x1 + 1, x1 - 1, margin=t.nan)
x4 = t.nn.functional.smooth_l1_loss(x1, x1 + 1, beta=t.nan)
x3.backward()
""",
    "a product beside an infinity, which addcmul does not round": """
x1, x2 = t.tensor([-t.inf, t.inf, 0.0, -1.0]), t.tensor([1e30, -1e30, 1e30, 2.0])
x3 = t.addcmul(x1, x2, x2.abs())
x4 = t.addcmul(x1[1:], x2[1:], x2[1:], value=-2, out=t.zeros(3))
x5 = x1.double()
x5.addcmul_(x2.double() * 1e200, x2.abs().double(), value=2)
""",
    "a power of what squares leave of a norm's gradient": """
x1 = t.tensor([[-2.0]])
x2 = t.tensor([[0.0, 0.5]], requires_grad=True)
x3 = t.nn.functional.group_norm(x2, 1)
x4, = t.autograd.grad(x3.square().sum(), x2, create_graph=True)
x5 = x4 ** x1
x5.sum().backward()
""",
    "the norm of a tiny element, whose square vanishes": """
x1 = t.tensor([[0.0, 1e-30]], requires_grad=True)
x2 = t.linalg.matrix_norm(x1).clone()
x2.backward()
""",
    "a product of many that overflows before it is 0": """
x1 = t.tensor([[[0.0], [1e30]], [[0.0], [1e30]], [[t.nan], [0.0]]])
x2 = x1.prod(dim=0)
""",
    "an infinity that arrives at a product of three matrices": """
x1 = t.tensor([[0.0, 0.0], [0.0, 0.5]], dtype=t.float64).requires_grad_()
x2 = t.tensor([[0.0, 0.5], [0.0, 0.0]], dtype=t.float64)
x3 = t.linalg.multi_dot([x1, x2, x1])
x4 = t.tensor([[0.0, 0.0], [0.0, t.inf]])
x3.backward(x4)
""",
    "a wider gradient that is handed in": """
x1 = t.tensor(0.0, requires_grad=True)
x2, x3 = t.max(x1, 0)
x4 = t.tensor(2.2, dtype=t.float64, requires_grad=True)
x5, x6, n7 = t.autograd.grad(x2, [x1, x2, x1], x4)
""",
}


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None


BESSEL = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")
MODIFIED = ("i1", "modified_bessel_i0", "modified_bessel_i1")


@pytest.mark.parametrize("name", BESSEL + MODIFIED)
def test_bessel_functions(name):
    """Where PyTorch's have few digits, at infinity, and before they overflow."""
    line = "t.linspace(-20, 20, 81, dtype=t.float64)"
    for x in (line, f"t.cat([{line}, t.tensor([t.inf])])", "t.tensor([88.0, 89.0, 91.0, -91.0])"):
        assert compare(f"x1 = {x}\nx2 = t.special.{name}(x1)") is None
