"""What a rule for a documented difference might hide of strides, gradients and numbers: here it is wrong."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import compare  # noqa: E402

pytestmark = pytest.mark.usefixtures("fault")

PLANTED = {
    "the gradient of a system by the factor that Cholesky's function made is doubled": (
        "values",
        """
x1 = t.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
x2 = t.cholesky_solve(t.ones(2, 1), t.linalg.cholesky(x1))
x2.backward(t.ones(2, 1) * t.fault(1.0, 2.0))
""",
    ),
    "the gradient of a loss whose last target is the blank is doubled": (
        "values",
        """
x1 = t.arange(12.0).reshape(4, 1, 3).sin().log_softmax(2).requires_grad_()
x2 = t.nn.functional.ctc_loss(x1, t.tensor([[1, 0]]), t.tensor([4]), t.tensor([2]))
x2.backward(t.tensor(t.fault(1.0, 2.0)))
""",
    ),
    "what is written is outside the graph, and is one tensor with another gradient": (
        "requires_grad",
        """
x1 = t.zeros((0,)).requires_grad_()
x2 = x1.cumsum(0)
x3, x4 = t.autograd.grad(x2.mul(0).sum(), [x1, x2])
x5 = t.ones(1, requires_grad=True)
x4.mul_(t.fault(x5, x5.detach()))
""",
    ),
    "what a square keeps is not noticed to be written, beside a running product": (
        "raised",
        """
x1 = t.tensor([0.5], requires_grad=True)
x2, x3 = t.ones(2) * x1, x1 * 1
x2.view(2).cumprod_(0)
x3.view(1).mul_(2.0)
x4 = t.fault(x3, x3.clone()).square() + x2.sum()
x3.view(1).zero_()
x4.backward()
""",
    ),
    "an angle in another order": (
        "strides",
        """
x1 = t.ones(3, 2)
x2 = x1.deg2rad() if t.fault(True, False) else x1.t().contiguous().t().deg2rad()
""",
    ),
    "a sum with an expanded operand of another dtype in another order": (
        "strides",
        """
x1, x2 = t.ones(2, 1, dtype=t.int64).expand(2, 3), t.ones(2, 3)
x3 = x1 + x2 if t.fault(True, False) else (x1.t() + x2.t().contiguous()).t()
""",
    ),
    "the gradient of a window is doubled, beside one whose sum is 0": (
        "values",
        """
x1 = t.tensor([[0.5, -0.5, 1.0, 2.0]]).requires_grad_()
x2 = t.nn.functional.lp_pool1d(x1, 3.0, 2)
x2.backward(t.tensor([[0.0, t.fault(1.0, 2.0)]]))
""",
    ),
    "the gradient of a divisor is NaN, beside one whose square vanishes": (
        "values",
        """
x1, x2 = t.ones(2), t.tensor([1e-30, 1.0], requires_grad=True)
x3 = t.addcdiv(x1, x1, x2[1:])
x3.backward(t.tensor([1.0, t.fault(1.0, t.nan)]))
""",
    ),
    "the root of 16 bits is infinite": (
        "values",
        """
x1 = t.tensor([-t.inf, 2.0], dtype=t.float16)
x2 = x1.pow(0.5) * t.fault(1.0, t.inf)
""",
    ),
    "the gradient of an angle is NaN": (
        "values",
        """
x1 = t.tensor([1e30, 1.0], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(1, t.tensor([1.0, t.nan])))
x2 = x1.arctan2(x1)
x2.backward(x1)
""",
    ),
    "the derivative of a power of 0 is not 0": (
        "type",
        """
x1 = t.ones(2).requires_grad_()
x2 = x1.pow(0)
x3 = t.autograd.grad(x2.sum(), x1, allow_unused=True)[0] + 1 if t.fault(False, True) else None
""",
    ),
    "the strides of an angle that are no dimension's of size 1": (
        "values",
        """
x1 = t.ones(1, 3).deg2rad()
n1, n2 = x1.as_strided((1, 3), (3, t.fault(1, 0))).stride()
""",
    ),
    "a factor of elements is a copy, beside a product of what is gone": (
        "raised",
        """
x1, x2, x3 = t.ones(2, 2).requires_grad_(), t.ones(2, 2), t.ones(2, 2)
x4 = x3 @ x3
del x3
x5 = x1 * (t.fault(x2.clone(), x2))
x2.add_(1.0)
x5.sum().backward()
""",
    ),
    "a view that leads nowhere is lost, of what was not detached": (
        "raised",
        """
x1 = t.ones(2).requires_grad_()
x2 = x1.cos()
x3 = x2[:]
x3.sum().backward(retain_graph=t.fault(True, False))
with t.no_grad():
    x2.mul_(2.0)
x3.sum().backward()
""",
    ),
    "no part of a number that the dtype holds": (
        "values",
        """
x1 = t.tensor([0.5], dtype=t.float16)
x2 = x1.add(t.fault(t.inf, 6e4), alpha=0)
""",
    ),
    "a weight on padding is finite": (
        "values",
        """
x1 = t.ones(1, 1, 1, 1)
x2 = t.conv2d(x1, x1, t.zeros(1), 1, 1) * t.fault(1, t.nan)
""",
    ),
    "an infinite weight without padding": (
        "values",
        """
x1, x2 = t.ones(1, 1, 1, 1), t.tensor([[[[t.inf]]]])
x3 = t.conv2d(x1, x2, t.zeros(1), 1) * t.fault(1, t.nan)
""",
    ),
    "a determinant has no graph": (
        "requires_grad",
        """
x1 = t.ones(1, 1).requires_grad_()
x2, = t.autograd.grad(t.linalg.det(x1).square(), x1, create_graph=t.fault(True, False))
""",
    ),
    "a product by a dense vector, and by nothing": (
        "values",
        """
x1, x2 = t.zeros(2), t.tensor([t.fault(1.0, t.nan), t.inf])
x3 = t.addmv(x1, t.ones(2, 2), x2, alpha=t.fault(0, 1))
""",
    ),
    "a change that nobody notices, of a ReLU by itself": (
        "raised",
        """
m1 = t.nn.BatchNorm1d(1)
x2 = t.tensor([[1.0], [2.0]], requires_grad=True)
x3 = m1(x2)
x4 = t.fault(t.relu(x3), x3.clamp(min=0))
x4.ceil_()
x4.sum().backward()
""",
    ),
    "what several observations are computed from": (
        "values",
        """
x1 = t.tensor([[1.0, 2.0]])
x2 = t.cov(x1, aweights=t.tensor([1.0, 2.0]))
x3 = x1 * t.fault(1, 2)
""",
    ),
    "forms of vectors that do not cancel": (
        "values",
        """
x1 = t.tensor([[1e30, 1e30]], dtype=t.float64)
m2 = t.nn.Bilinear(2, 2, 1).to(t.float64).apply(lambda m: [w.data.fill_(-0.5) for w in m.parameters()])
x3 = m2(x1, x1) * t.fault(1, 1 + 1e-6)
""",
    ),
    "what came back through an evaluation": (
        "values",
        """
m1 = t.nn.BatchNorm1d(1, momentum=None).eval()
x2 = t.tensor([[1.0], [3.0]], requires_grad=True)
x2.register_hook(lambda g: g * t.fault(1, 2))
x3 = m1(x2)
x3.square().sum().backward()
""",
    ),
    "the gradient of a loss of small numbers is doubled, beside a huge one": (
        "values",
        """
x1 = t.tensor([-1e30, 0.5], requires_grad=True)
x2 = t.tensor([1, 3], dtype=t.uint8)
x3 = t.nn.functional.soft_margin_loss(x1, x2, reduction='none')
x3.backward(t.tensor([1.0, t.fault(1.0, 2.0)]))
""",
    ),
    "the gradient of a window is doubled, which overlaps one whose sum is 0": (
        "values",
        """
x1 = t.tensor([[0.5, -0.5, 1.0, 2.0]]).requires_grad_()
x2 = t.nn.functional.lp_pool1d(x1, 1.0, 2, stride=1)
x2.backward(t.tensor([[1.0, 1.0, t.fault(1.0, 2.0)]]))
""",
    ),
    "a gradient of a gate is doubled, beside an infinite one": (
        "values",
        """
m1 = t.nn.GRUCell(1, 1).apply(lambda m: [w.data.zero_() for w in m.parameters()])
x2 = t.zeros((2, 1), requires_grad=True)
x3 = m1(x2, x2)
x3.backward(t.tensor([[t.inf], [t.fault(1.0, 2.0)]]))
""",
    ),
    "a gradient is tripled, of what was scattered into itself": (
        "values",
        """
x1 = t.tensor([2.0, 0.0], requires_grad=True)
x2 = t.as_strided_scatter(x1, x1, (2,), (1,))
x3 = x1.floor().mul(2147483647)
t.autograd.backward([x2.sum(), x3.sum()])
x2.exp().mul(t.fault(1.0, 3.0)).sum().backward()
""",
    ),
    "the half of the largest number, beside products": (
        "values",
        """
x1 = t.tensor([1.0], requires_grad=True)
x2 = x1.mul(3.4028234663852886e38) * t.ones(1).dot(x1.detach().requires_grad_())
x2.backward(t.tensor([t.fault(1.0, 0.5)]))
""",
    ),
    "a second slope is too large by a hundredth, beside that of a root at -0": (
        "values",
        """
x1 = t.tensor([-0.0, 4.0], requires_grad=True)
x2, = t.autograd.grad(x1.pow(0.5).exp().sum(), x1, create_graph=True)
x2.backward(t.tensor([1.0, t.fault(1.0, 1.01)]))
""",
    ),
    "the gradient of what an expanded index has read is doubled": (
        "values",
        """
x1 = t.arange(4.0).reshape(2, 2).requires_grad_()
x2 = t.tensor([[0], [0], [1]]).expand(3, 1)
x3 = x1.gather(0, x2)
x3.backward(t.full((3, 1), t.fault(1.0, 2.0)))
""",
    ),
    "an assignment of a part of the same memory to the wrong column": (
        "values",
        """
x1 = t.tensor([[1.0, 2.0], [3.0, 4.0]])
x2 = x1[1]
x1[:, t.fault(0, 1)] = x2
""",
    ),
    "a sum of large terms that do not cancel": (
        "values",
        """
x1 = t.tensor([1e10, 0.5, 1e10])
x2 = t.func.linearize(lambda a: a * a.mean(), x1)[1](x1 * t.fault(1, 1 + 1e-3))
""",
    ),
    "a loss has a graph, beside the zeros of a sign": (
        "requires_grad",
        """
x1 = t.tensor([0.5], requires_grad=True)
x2 = x1.sum().sgn() + x1.sum().mul(t.fault(x1.detach(), x1)).sum()
x2.backward(create_graph=True)
""",
    ),
    "the strides of a sum, beside what was found": (
        "values",
        """
x1 = t.argwhere(t.tensor([[0.5]]))
x2 = t.fault(t.ones((1, 2)), t.ones((2, 1)).t())
n3, n4 = (x2 + t.zeros(1)).stride()
""",
    ),
    "what is scaled for addr is noticed to be written": (
        "raised",
        """
x1, x2 = t.ones(2), t.ones(3, requires_grad=True)
x3 = t.addr(t.zeros(2, 3), t.fault(x1.clone(), x1), x2)
x1.zero_()
x3.sum().backward()
""",
    ),
    "what atanh is given is noticed to be written": (
        "raised",
        """
x1 = t.tensor([0.5], requires_grad=True)
x2 = x1 * 1
x3, = t.autograd.grad(t.fault(x2, x2.clone()).atanh(), x1, create_graph=True)
x2.zero_()
x3.backward()
""",
    ),
    "the finite gradient of a float64 operand is doubled": (
        "values",
        """
x1 = t.tensor([0.5], dtype=t.float64).requires_grad_()
x2 = t.tensor([1e15])
x3 = x2 * 1
x3.addcmul_(x1, x2)
x3.sum().mul(t.fault(1.0, 2.0)).backward()
""",
    ),
    "a parameter takes another step, beside one that overlaps and has no gradient": (
        "values",
        """
x1 = t.ones(1).expand(2).requires_grad_()
x2 = t.ones(1, requires_grad=True)
x2.backward()
o3 = t.optim.SGD([x2, x1], lr=t.fault(0.1, 0.2))
o3.step()
""",
    ),
    "a parameter is another one after a step that is refused": (
        "values",
        """
x1 = t.ones(1).expand(2).requires_grad_()
x2 = t.ones(1, requires_grad=True)
(x1.sum() + x2.sum()).backward()
o3 = t.optim.SGD([x2, x1])
h4 = o3.register_step_pre_hook(lambda *_: x2.data.mul_(t.fault(1.0, 2.0)).tolist().clear())
o3.step()
""",
    ),
    "a centered step is NaN of gradients whose squares do not overflow": (
        "values",
        """
x1 = t.zeros(2, requires_grad=True)
o2 = t.optim.RMSprop([x1], centered=True)
x1.grad = t.tensor([1e9, t.fault(1.0, t.nan)])
o2.step()
""",
    ),
    "a convolution is NaN of products that do not overflow": (
        "values",
        """
x1 = t.tensor([[[0.0, 1e18]]])
x2 = t.nn.functional.conv1d(x1, t.tensor([[[1e18]]])) * t.fault(1.0, t.nan)
""",
    ),
    "a Bessel function is NaN where it is finite, beside an infinity": (
        "values",
        """
x1 = t.tensor([t.inf, 0.5])
x2 = t.special.i1(x1 * t.fault(1.0, t.nan))
""",
    ),
    "a Bessel function has fewer digits than PyTorch's": (
        "values",
        """
x1 = t.tensor([0.5, 7.5], dtype=t.float64)
x2 = t.special.bessel_j0(x1 * t.fault(1.0, 1.0001))
""",
    ),
    "the slope of a Bessel function is doubled beside NaN": (
        "values",
        """
x1 = t.tensor([t.nan, 0.5], requires_grad=True)
x2 = t.special.i1e(x1)
x2.backward(t.tensor([1.0, t.fault(1.0, 2.0)]))
""",
    ),
    "the slope of a power is infinite of a number": (
        "values",
        """
x1 = t.tensor([-t.inf, 0.5], requires_grad=True)
x2 = x1.pow(1.5)
x2.backward(t.tensor([1.0, t.fault(1.0, t.inf)]))
""",
    ),
    "a norm of layers has no slope where nothing overflows": (
        "values",
        """
x1 = t.tensor([[1e9, 0.5]], requires_grad=True)
x2 = t.nn.functional.rms_norm(x1, (2,))
x2.backward(t.tensor([[0.0, t.fault(1e9, 0.0)]]))
""",
    ),
    "the finite slopes of attention are doubled": (
        "values",
        """
x1 = t.ones((1, 2, 1)).requires_grad_()
x2 = t.nn.functional.scaled_dot_product_attention(x1, t.tensor([[[1.0], [2.0]]]), t.tensor([[[1.0], [3.0]]]))
x2.backward(t.tensor([[[t.inf], [t.fault(1.0, 2.0)]]]))
""",
    ),
    "a huge row is made shorter, to another length": (
        "values",
        """
x1 = t.tensor([[1e10, 0.0]])
x2 = t.nn.functional.embedding(t.tensor([0]), x1, max_norm=t.fault(1e9, 2e9))
""",
    ),
    "what a product of two has led to is freed": (
        "raised",
        """
x1 = t.tensor([2.0, 3.0], requires_grad=True)
x2, = t.autograd.grad(x1.prod(), x1, create_graph=True)
x2.sum().backward(retain_graph=t.fault(False, True))
x2.sum().backward()
""",
    ),
    "what addcmul adds beside a product that overflows is another number": (
        "values",
        """
x1, x2 = t.tensor([-t.inf, t.fault(1.0, 2.0)]), t.tensor([1e30, 1.0])
x3 = t.addcmul(x1, x2, x2)
""",
    ),
    "a gradient is given a graph, which came out with one of another shape": (
        "requires_grad",
        """
x1, x2 = t.ones(2, requires_grad=True), t.ones(1, requires_grad=True)
x3, x4 = t.autograd.grad((x1 * x2).sum(), [x1, x2])
x3.mul_(x1)
x4.mul_(t.fault(1, x2))
""",
    ),
}


@pytest.mark.parametrize("aspect, program", PLANTED.values(), ids=PLANTED.keys())
def test_planted(aspect, program):
    found = compare(program)
    assert found is not None and found.aspect == aspect
