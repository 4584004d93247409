"""Faults that a rule for a documented difference might hide: in programs that look like those it was made for."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

pytestmark = pytest.mark.usefixtures("fault")

# In each something is as in the program that a rule was made for, and something is wrong here that this rule does not
# explain: what differs.
PLANTED = {
    "a query with scores": (
        "values",
        """
x1 = t.tensor([[[[0.5, 1.0]]]])
x2 = t.tensor([[[[0.0, t.inf], [0.0, 1.0]]]])
x3 = t.nn.functional.scaled_dot_product_attention(x1, x1, x1 * 0) * t.fault(1, t.nan)
""",
    ),
    "the slope of a product of what is scattered": (
        "values",
        """
x1 = t.tensor([2.0, 1.0], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(t.nan, 1))
x2 = t.scatter_reduce(x1, 0, t.tensor([0]), t.ones(1), 'prod')
x3 = x2.sum()
x3.backward()
""",
    ),
    "what no rounding moves": (
        "values",
        """
x1 = t.tensor([1.8, -3.0], dtype=t.float64)
x2 = x1.softmax(0)
x3 = x2.sum() - t.fault(1, 1 + 1e-5)
x4 = x3.sqrt()
""",
    ),
    "a number that is exact": (
        "values",
        """
x1 = t.tensor([0.5, 1.0], dtype=t.float16)
x2 = (x1 - 1.0) * t.fault(1, -t.inf)
""",
    ),
    "the slope of a determinant": (
        "values",
        """
x1 = t.tensor([[0.5, 1.0], [0.5, 2.0]], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(0, 1))
x2 = t.det(x1)
x2.backward(gradient=t.fault(t.ones(()), t.tensor(2.0)))
""",
    ),
    "the condition of a matrix": (
        "values",
        """
x1 = t.tensor([[0.5, 0.5], [1.0, 2.0]])
x2 = t.linalg.cond(x1) * t.fault(1, 2)
""",
    ),
    "zeta of a number at a pole": (
        "values",
        """
x1, x2 = t.tensor([2.0, 3.0]), t.tensor([-2.0, 1.0])
x3 = t.special.zeta(x1, x2) * t.fault(1, t.nan)
""",
    ),
    "the slope of log_ndtr": (
        "values",
        """
x1 = t.tensor([-1e5, 0.5], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(1, 2))
x2 = t.special.log_ndtr(x1)
x2.sum().backward()
""",
    ),
    "the slope of a norm whose powers all fit": (
        "values",
        """
x1 = t.tensor([0.5, 2.0], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(t.nan, 1))
x2 = t.dist(x1, t.zeros(2), p=3)
x2.backward()
""",
    ),
    "a change that nobody notices, of what the op itself reads": (
        "raised",
        """
x1 = t.tensor([0.5], requires_grad=True)
x2 = t.nn.functional.smooth_l1_loss(x1, t.zeros(1))
x3, = t.autograd.grad(x2.square(), x1, create_graph=True)
with t.no_grad():
    x1.sub_(x1)
x3.backward(inputs=[t.fault(x1, x2)])
""",
    ),
    "the curve of a row that renorm scales": (
        "values",
        """
x1 = t.tensor([[3.0, 4.0]], requires_grad=True)
x2, = t.autograd.grad(x1.renorm(2, 0, 1.0).sum(), x1, create_graph=True)
x1.register_hook(lambda g: g * t.fault(t.nan, 0))
x2.sum().backward()
""",
    ),
    "a power by a number that the dtype holds": (
        "values",
        """
x1 = t.tensor([2.0, 3.0], dtype=t.float16).requires_grad_()
x2 = 3e4 ** (x1 * 0)
x1.register_hook(lambda g: g * t.fault(t.inf, 1))
x2.sum().backward()
""",
    ),
    "a power by a number that the dtype does not hold has no slope": (
        "values",
        """
x1 = t.tensor([2.0], dtype=t.float16).requires_grad_()
x2 = 7e4 ** x1
x1.register_hook(lambda g: g * t.fault(1, t.nan))
x2.backward()
""",
    ),
    "a loss whose terms overflow is doubled": (
        "values",
        """
x1 = t.tensor([300.0, 1.0, 1.0, 1.0], dtype=t.float16)
x2 = t.nn.functional.mse_loss(x1, x1 * 0) * t.fault(1, 2)
""",
    ),
    "a product without what was there has another slope": (
        "values",
        """
x1 = t.tensor([1e-30, 2.0], requires_grad=True)
x2 = x1.scatter_reduce(0, t.tensor([0]), t.tensor([1.64]), "prod", include_self=False)
x3, = t.autograd.grad(x2.exp().sum(), x1, create_graph=True)
x1.register_hook(lambda g: g + t.fault(t.zeros(2), t.tensor([5.0, 0.0])))
x3.sum().backward()
""",
    ),
    "a step by a slope whose square vanishes is too long": (
        "values",
        """
x1 = t.tensor([1e-5, 1.0], dtype=t.float16).requires_grad_()
x1.square().sum().backward()
o1 = t.optim.Adagrad([x1], lr=t.fault(0.1, 0.2))
o1.step()
""",
    ),
    "a factor of 16 bits is a copy, beside what was sampled": (
        "raised",
        """
x1 = t.tensor([[[[0.0]]]], dtype=t.bfloat16)
x2 = t.tensor([[[[0.0, 0.0]]]], dtype=t.bfloat16).requires_grad_()
x3 = t.nn.functional.grid_sample(x1, x2)
x4 = x2 * t.fault(x1, x1.clone())
x1.add_(1)
(x3 + x4).sum().backward()
""",
    ),
    "the curve of an inverse is doubled": (
        "values",
        """
x1 = t.tensor([[0.5]]).requires_grad_()
x2 = t.cholesky_inverse(x1)
x4, = t.autograd.grad(x2, x1, create_graph=True)
x4.backward(t.fault(t.ones(1, 1), t.ones(1, 1) * 2))
""",
    ),
    "a difference of what the dtype holds": (
        "values",
        """
x1 = t.tensor([t.inf, 1.0], dtype=t.float16)
x2 = 3e4 - x1 - t.fault(-t.inf, 0)
""",
    ),
    "the curve of a loss of numbers": (
        "values",
        """
x1 = t.tensor([0.5], requires_grad=True)
x2, = t.autograd.grad(t.nn.functional.smooth_l1_loss(x1, t.zeros(1)), x1, create_graph=True)
x2.backward(t.fault(t.zeros(1), t.ones(1)))
""",
    ),
    "the curve of a loss of numbers beside NaN": (
        "values",
        """
x1 = t.tensor([0.5, 0.25], requires_grad=True)
x2 = t.nn.functional.smooth_l1_loss(x1, t.tensor([t.nan, 0.0]))
x3, = t.autograd.grad(x2, x1, create_graph=True)
x3.backward(t.fault(t.zeros(2), t.ones(2)))
""",
    ),
    "products by half of alpha": (
        "values",
        """
x1 = t.ones((1, 2, 2), dtype=t.float16)
x2 = t.baddbmm(x1, x1, x1 * t.fault(t.nan, 1), alpha=0.5)
""",
    ),
    "a slope of zeta by integers": (
        "values",
        """
x1 = t.tensor([0.5], requires_grad=True)
x2 = t.special.zeta(t.tensor([3], dtype=t.uint8), x1)
x2.backward(t.fault(t.ones(1), t.ones(1) * 2))
""",
    ),
    "a number is refused that the dtype holds": (
        "raised",
        """
x1, number = t.ones(2), t.fault(1e300, 0.5)
x2 = t.lerp(x1, x1, number)
""",
    ),
    "a quotient of 16 bits is one too large": (
        "values",
        """
x1 = t.tensor([16.5, -15.0], dtype=t.bfloat16)
x2 = t.fault(x1, x1 + 4).div(x1 / 4, rounding_mode="trunc")
""",
    ),
    "a graph is lost, and a tensor that takes no part is empty": (
        "requires_grad",
        """
x9 = t.zeros(0)
x1 = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
x2 = x1 * 1
x2[:2].mul_(3.0)
x3, = t.autograd.grad(x2.exp().sum(), x1, create_graph=t.fault(True, False))
""",
    ),
    "a convolution of no images has the wrong size": (
        "shape",
        """
x1 = t.ones(0, 1, 3, 3)
x2 = t.nn.functional.conv2d(x1, t.ones(1, 1, 2, 2), padding=t.fault(0, 1))
""",
    ),
    "the gradient of what was written is doubled, beside a window that was not": (
        "values",
        """
x1 = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
x2 = x1 * 1
x3 = x2.unfold(0, 2, 1)
x2[0] = 5.0
x1.register_hook(lambda g: g * t.fault(1, 2))
x2.sum().backward()
""",
    ),
    "batch_norm keeps a copy of what lies as channels": (
        "raised",
        """
x1 = t.arange(16.0).reshape(2, 2, 2, 2).contiguous(memory_format=t.channels_last)
m1 = t.nn.BatchNorm2d(2)
x2 = m1(t.fault(x1, x1.clone()))
x1 += 1
x2.sum().backward()
""",
    ),
    "a factor of int32 that is kept in a view is a copy": (
        "raised",
        """
x1 = t.tensor([0, 1], dtype=t.int32)
x2 = t.ones(3, requires_grad=True) * 1
x2[:2].mul_(t.fault(x1, x1.clone()))
x1 += 1
x2.sum().backward()
""",
    ),
    "a factor is a copy, of the shape of probabilities": (
        "raised",
        """
x1 = t.tensor([0.5, 0.5], requires_grad=True)
x2 = t.tensor([1.0, 2.0])
x3 = x1 * t.fault(x2, x2.clone())
x4 = t.nn.functional.binary_cross_entropy(x3 / 4, x1)
x2 += 1
x4.backward()
""",
    ),
    "an exponential has forgotten nothing, whose input alone was asked": (
        "raised",
        """
x1 = t.tensor([0.0, 1.0]).requires_grad_()
x2, x3 = t.std_mean(x1)
x4 = x3.exp()
x5, = t.autograd.grad(x4, [x3], retain_graph=t.fault(False, True))
x4.backward()
""",
    ),
    "a third derivative of a norm of channels is doubled": (
        "values",
        """
x1 = t.tensor([[0.5, 1.0], [0.0, -1.0], [2.0, 0.25]], dtype=t.float64, requires_grad=True)
x2 = t.nn.functional.batch_norm(x1, None, None, training=True).exp()
x3, = t.autograd.grad(x2, x1, x2, create_graph=True)
x5 = x3 * t.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])
x4, = t.autograd.grad(x5.sum(), x2, create_graph=True)
(x4.mean() * t.fault(1, 2)).backward()
""",
    ),
    "batches that are multiplied and added are copies, also in their own order": (
        "raised",
        """
x1, x2 = t.zeros(2, 3), t.ones(2, 2, 5, requires_grad=True)
x3 = t.ones(2, 5, 3)
x4 = x1.addbmm(x2, t.fault(x3, x3.clone()))
x3.floor_()
x4.sum().backward()
""",
    ),
    "what a matrix and a batch gave has no gradient": (
        "type",
        """
x1, x2 = t.ones(1, 1, requires_grad=True), t.ones(1, 1, 1)
x3 = t.matmul(x1, x2)
x3.mul_(2)
x3.backward(inputs=[x1]) if t.fault(True, False) else None
""",
    ),
    "a step by Adafactor is too long": (
        "values",
        """
x1 = t.tensor([0.0, 1e30], requires_grad=True)
x2 = t.tensor([0.0, 1.0], requires_grad=True)
(x1.mean() + x2.mean()).backward()
o1 = t.optim.Adafactor([x2], lr=t.fault(0.01, 0.1))
o1.step()
""",
    ),
    "volumes of no channels have another shape": (
        "shape",
        """
x1 = t.zeros((2, 0, 3, 2, 3))
m1 = t.nn.InstanceNorm3d(0, track_running_stats=True)
x2 = m1(x1).reshape(t.fault((2, 0), (0, 2)))
""",
    ),
    "images of nothing that are shuffled have another shape": (
        "shape",
        """
x1 = t.zeros((2, 4, 2, 0))
x2 = t.nn.PixelShuffle(2)(x1).reshape(t.fault((0, 4), (4, 0)))
""",
    ),
    "a running variance is lost, and a tensor that takes no part is large": (
        "values",
        """
x9 = t.tensor([1e30])
x1 = t.tensor([[[1.0, 2.0, 4.0]]])
x2, x3 = t.zeros(1), t.zeros(1)
x4 = t.nn.functional.instance_norm(x1, x2, x3, momentum=t.fault(1.0, 0.0))
""",
    ),
    "large groups are doubled": (
        "values",
        """
x1 = t.tensor([[1e30, 1e30, 1.0, 2.0]])
x2 = t.nn.functional.group_norm(x1, 2) * t.fault(1, 2)
""",
    ),
    "zeta of NaN is 0, and a tensor that takes no part is large": (
        "values",
        """
x9 = t.tensor([1e30])
x1 = t.tensor([float("nan"), 2.0])
x2 = t.special.zeta(t.fault(x1, x1.nan_to_num(1e30)), t.ones(2) * 2)
""",
    ),
    "a derivative forwards has no graph that is no constant": (
        "requires_grad",
        """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
x2 = t.func.jacfwd(lambda a: a.exp())(t.fault(x1, x1.detach()))
""",
    ),
    "a constant that a transform made of what requires grad has a graph": (
        "requires_grad",
        """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(1, t.tensor(1.0, requires_grad=True)))
x2 = t.func.vjp(lambda a: a * 2, x1)[0]
x2.backward(x1.detach(), create_graph=True)
""",
    ),
    "a factor is kept that nobody reads, beside a transform of what requires grad": (
        "raised",
        """
x1, x2 = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0])
x3 = x1 * 1
x4 = t.func.vjp(lambda a: a + 1, x3)[0]
x5 = x4 * t.fault(x2.clone(), x2)
x3 += 1
x2 += 1
x5.sum().backward()
""",
    ),
    "what two batches gave, written since, has no gradient": (
        "type",
        """
x1, x2 = t.ones(1, 1, 1, requires_grad=True), t.zeros(1, 1, 1)
x3 = t.matmul(x1, x2)
x3.mul_(2)
x3.backward(inputs=[x1]) if t.fault(True, False) else None
""",
    ),
    "a factor of the shape of heads' rows is kept that nobody reads": (
        "raised",
        """
x1, x2 = t.ones(1, 2, 1), t.ones(2, 1)
m1 = t.nn.MultiheadAttention(1, 1, batch_first=True).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters(False)])
x1 += 1
x3 = m1(x1, x1, x1)[0].contiguous()
x4 = x3 * t.fault(x2.clone(), x2)
x2 += 1
x4.sum().backward()
""",
    ),
    "the gradient of the bias of heads has a graph, beside a copy of something else": (
        "requires_grad",
        """
x1 = t.ones(1, 2, 1)
m1 = t.nn.MultiheadAttention(1, 1, batch_first=True).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters(False)])
m1.out_proj.bias.register_hook(lambda g: g * t.fault(1, t.tensor(1.0, requires_grad=True)))
x2 = x1.contiguous()
x3 = m1(x1, x1, x1)[0]
x3.sum().backward(create_graph=True)
""",
    ),
    "an element lies in a bin far from its own": (
        "values",
        """
x1, x2 = t.tensor([0.1, 0.5, 1.5, 3.9]), t.tensor([1.0, 2.0, 3.0, 4.0])
x3, x4 = t.histogram(x1, 4, range=(0.0, 4.0), weight=t.fault(x2, x2.flip(0)))
""",
    ),
    "another rate of LBFGS's second step": (
        "values",
        """
x1 = t.tensor([1.0, -2.0], requires_grad=True)
x1.pow(4).sum().backward()
o1 = t.optim.LBFGS([x1], lr=0.1, max_iter=1)
o1.step(lambda: x1.pow(4).sum())
x1.pow(4).sum().backward()
o1.param_groups[0]["lr"] = t.fault(0.1, 0.2)
o1.step(lambda: x1.pow(4).sum())
""",
    ),
    "a factor is a copy, beside what was mapped": (
        "raised",
        """
x1, x2 = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0])
x3 = t.vmap(lambda a: a * 2)(x1)
x4 = x3 * t.fault(x2, x2.clone())
x2 += 1
x4.sum().backward()
""",
    ),
    "a returned gradient in another order, beside an image": (
        "strides",
        """
x1, x9 = t.ones(2, 3, requires_grad=True), t.ones(1, 1, 2, 3)
x2, = t.autograd.grad(x1.square().sum(), x1)
x3 = (x2 + x9.sum()).t().contiguous().t() if t.fault(True, False) else x2 + x9.sum()
""",
    ),
    "a sum of large floats that fit is doubled": (
        "values",
        """
x1 = t.tensor([1e10, 3.0], dtype=t.float64)
x2 = x1.sum(dtype=t.int64) * t.fault(1, 2)
""",
    ),
    "what windows are read as, which nobody wrote": (
        "values",
        "x1 = t.tensor([1.0, 2.0, 3.0]).unfold(0, 2, 1)\nx2 = x1.sin()\nx3 = x1 * t.fault(1, 2)",
    ),
    "a gradient through a view that was made again is doubled, beside what is expanded": (
        "values",
        """
x1, x9 = t.tensor([1.0, 2.0], requires_grad=True), t.zeros(1).expand(3)
x2 = x1 * 1
x3 = x2[:1]
x2.mul_(3)
x1.register_hook(lambda g: g * t.fault(1, 2))
x3.backward()
""",
    ),
    "the second derivative of rows by their frequency is doubled": (
        "values",
        """
x1, x2 = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), t.tensor([0, 0, 1])
x3 = t.nn.functional.embedding(x2, x1, scale_grad_by_freq=True)
x4 = x3.sin().sum()
x5, = t.autograd.grad(x4, x1, create_graph=True)
x6 = x5.square().sum()
x6.backward(t.tensor(t.fault(1.0, 2.0)))
""",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_not_known(name):
    aspect, program = PLANTED[name]
    found = compare(program, Settings(errors="type"))
    assert found is not None and found.aspect == aspect


# Where only the infinite may differ: NaN from what is not, beside what is.
SMALL = {
    "norm": "x2 = t.tensor([1.0, 2.0]).norm() * t.fault(1, t.nan)",
    "cdist": "x1 = t.tensor([[1.0, 2.0]])\nx2 = t.cdist(x1, x1 + 1) * t.fault(1, t.nan)",
    "layer_norm": "x2 = t.nn.functional.layer_norm(t.tensor([1.0, 2.0]), [2]) * t.fault(1, t.nan)",
    "interpolate": """
x1 = t.arange(4.0).reshape(1, 1, 2, 2)
x2 = t.nn.functional.interpolate(x1, size=(2, 3)) * t.fault(1, t.nan)
""",
    "a transformer": """
m1 = t.nn.TransformerEncoderLayer(2, 1, 3, 0.0).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters(False)])
x1 = t.tensor([[1.0, 2.0], [3.0, 5.0]])
x2 = m1(x1)
x3 = m1(x1 * t.fault(1, t.nan))
""",
    "groups beside one that overflows": """
x1 = t.tensor([[1e30, 1e30, 1.0, 2.0]])
x2 = t.nn.functional.group_norm(x1, 2) * t.fault(1, t.tensor([1, 1, t.nan, 1]))
""",
    "an exponential of a matrix of 16 bits": """
x1 = t.tensor([[0.0, 0.0], [0.0, 0.5]], dtype=t.float16)
x2 = x1.matrix_exp() * t.fault(1, 2)
""",
    "a running variance": """
x1, x2, x3 = t.arange(8.0).reshape(2, 2, 2), t.zeros(2), t.ones(2)
x4 = t.nn.functional.instance_norm(x1, x2, x3, momentum=t.fault(0.1, t.inf))
""",
    "channels beside one that overflows": """
x1 = t.tensor([[1e30, 1.0], [2e30, 2.0]])
x2 = t.nn.functional.batch_norm(x1, None, None, training=True) * t.fault(1, t.tensor([1, t.nan]))
""",
    "the gradient of an image that was sampled": """
x1 = t.arange(4.0).reshape(1, 1, 2, 2).requires_grad_()
x1.register_hook(lambda g: g * t.fault(1, t.nan))
x2 = t.nn.functional.grid_sample(x1, t.tensor([[[[0.3, 0.1]]]]))
x2.sum().backward()
""",
    "the gradient of an image that was convolved": """
x1 = t.arange(4.0).reshape(1, 1, 2, 2).requires_grad_()
x1.register_hook(lambda g: g * t.fault(1, t.nan))
x2 = t.nn.functional.conv2d(x1, t.ones(1, 1, 2, 2))
x2.sum().backward()
""",
    "the gradient of a product": """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(1, t.inf))
x2 = x1.prod()
x2.backward()
""",
    "a transposed convolution": """
x1 = t.arange(4.0).reshape(1, 1, 2, 2)
x2 = t.nn.functional.conv_transpose2d(x1, t.ones(1, 1, 2, 2)) * t.fault(1, t.nan)
""",
    "gelu of NaN": """
x1 = t.tensor([t.nan, 1.0, t.inf])
x2 = t.nn.functional.gelu(t.fault(x1, x1.nan_to_num(0.0, t.inf)))
""",
    "the second derivative of elu": """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
x2 = t.nn.functional.elu(x1)
x2.backward(t.fault(t.tensor([t.nan, 1.0]), t.ones(2)))
""",
    "a polygamma": "x1 = t.tensor([1.0, 2.5])\nx2 = t.polygamma(1, x1) * t.fault(1, t.nan)",
    "a logit of 16 bits": """
x1 = t.tensor([0.5, 1.0], dtype=t.float16)
x2 = x1.logit() if t.fault(True, False) else x1.logit(0.25)
""",
    "a variance": """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
x1.register_hook(lambda g: g * t.fault(1, t.nan))
x2 = x1.var()
x2.backward()
""",
}


@pytest.mark.parametrize("name", SMALL)
def test_what_is_not_finite_comes_of_what_may_overflow(name):
    found = compare(f"x9 = t.tensor([1e30, t.inf])\n{SMALL[name]}")
    assert found is not None and found.aspect == "values"
