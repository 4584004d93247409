"""What random programs have found of slopes at NaN, of arguments and of layouts, reduced; the others are in
test_found.py."""

import dumbtorch
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "a NaN reaches the classes that take no part": """
x1 = t.tensor([[0.0, 1.0, 2.0, -9.0]], requires_grad=True)
t.nn.functional.multi_margin_loss(x1, t.tensor([1])).backward(t.tensor(t.nan))
x2 = x1.detach().requires_grad_()
t.nn.functional.multi_margin_loss(x2, t.tensor([1]), p=2, weight=t.ones(4)).backward(t.tensor(t.inf))
x3 = x1.detach().requires_grad_()
t.nn.functional.multilabel_margin_loss(x3, t.tensor([[1, 2, -1, 0]])).backward(t.tensor(t.nan))
""",
    "an infinite slope of a loss of classes": """
x1 = t.tensor([[0.0, 1.0, 2.0]], requires_grad=True)
t.nn.functional.cross_entropy(x1, t.tensor([1])).backward(t.tensor(t.inf))
""",
    "the slope of a row that renorm leaves alone": """
x1 = t.tensor([[t.nan, 1.0], [3.0, 4.0], [0.0, 0.0]], requires_grad=True)
x2 = x1.renorm(1, 0, 2.0)
x2.sum().backward()
x3 = (x1 * 1).renorm_(2, 0, 0.0)
x3.square().sum().backward()
""",
    "what the derivative of renorm has forgotten": """
x1 = t.tensor([[[0.0]]], requires_grad=True)
x2 = x1.renorm(1, 0, 0.0)
x3, = t.autograd.grad(x2, x1, create_graph=True)
x3.backward()
x2.backward()
""",
    "the slope of elu at NaN, by place": """
x1 = t.arange(34.0).requires_grad_()
x2 = t.atanh(x1)
x3 = t.nn.functional.elu(x2)
x3.sum().backward()
x4 = t.full((35,), t.nan, requires_grad=True)
x5 = t.nn.functional.celu(x4) + t.nn.functional.selu(x4)
x5.sum().backward()
""",
    "the mean of nothing but NaN has no slope": """
x1 = t.tensor([[t.nan, t.nan], [1.0, t.nan]], requires_grad=True)
x1.nanmean(1).sum().backward()
""",
    "products of one element": """
x1 = t.ones(1, 2, requires_grad=True)
x1.cumprod(0).sum().backward(create_graph=True)
x2 = t.ones(0, requires_grad=True)
x2.cumprod(0).sum().backward(create_graph=True)
""",
    "a factor that is summed before it is multiplied": """
x1, x2 = t.ones(2, 1), t.ones(1, 2, requires_grad=True)
x3 = t.tensordot(x1, x2, dims=1)
x1.mul_(2)
x3.sum().backward()
""",
    "the constant slope of fractional pooling": """
x1 = t.arange(16.0).reshape(1, 2, 2, 2, 2).requires_grad_()
x2 = t.nn.functional.fractional_max_pool3d(x1, 1, output_size=1, _random_samples=t.zeros(1, 2, 3))
x2.backward(t.ones_like(x2), create_graph=True)
x3 = x1[0].detach().requires_grad_()
x4, x5 = t.nn.functional.fractional_max_pool2d(x3, 2, output_size=1, _random_samples=t.zeros(2, 2, 2))
x6, = t.autograd.grad(x4.sum(), x3, create_graph=True)
x6.sum().backward()
""",
    "pairs of elements are row-major": "x1 = t.tensordot(t.ones(2, 2), t.ones(2, 3).t(), dims=0)",
    "weights of observations that are NaN": """
x1 = t.ones(2, 2).cov(aweights=t.tensor([t.nan, 1.0]))
""",
    "a number that lies in the tensor that it fills": """
x1 = t.tensor([2.0, 3.0])
x1.index_fill_(0, t.tensor([1, 0]), x1[0])
x2 = t.tensor([2.0, 3.0], requires_grad=True) * 1
x2.index_fill_(0, t.tensor([1]), x2[0].detach().requires_grad_())
x2.square().sum().backward()
""",
    "a number that fills a slice twice is there once": """
x1 = t.tensor(2.0, requires_grad=True)
x2 = t.zeros(5).index_fill(0, t.tensor([0, 1, 1]), x1)
x2.sum().backward()
x3 = t.zeros(2, 3, requires_grad=True)
x3.index_fill(1, t.tensor([2, 0, 2, 2]), x1).square().sum().backward()
x4 = t.zeros(()).index_fill(0, t.tensor(0), x1)
x4.backward()
""",
    "zero points have no gradient": """
x1 = t.zeros(1, requires_grad=True)
x2 = t.fake_quantize_per_tensor_affine(t.ones(2), t.tensor(1.0), x1[0], 0, 255)
x3 = t.fake_quantize_per_channel_affine(t.ones(1, 2), t.ones(1), x1, 0, 0, 255)
""",
    "powers that do not fit": """
x1 = t.logspace(t.inf, 0, 1, dtype=t.int64)
x2 = t.logspace(4, 1, 1, dtype=t.uint8)
x3 = t.logspace(t.inf, 0, 2, dtype=t.int32)
x4 = t.logspace(2, t.nan, 3, dtype=t.uint8)
x5 = t.logspace(300, 1, 0, dtype=t.uint8)
x6 = t.logspace(50, 1, 1)
""",
    "both distances of an integral, also of nothing": """
x1 = t.trapezoid(t.zeros(2, 0), x=t.zeros(0), dx=1)
x2 = t.cumulative_trapezoid(t.zeros(2), x=t.zeros(2), dx=1, dim=7)
""",
    "a tensor of one number that does not fit": """
x1 = t.zeros(2, dtype=t.uint8).index_fill(0, t.tensor([0]), t.tensor(-0.5))
x2 = t.zeros(2, dtype=t.uint8).index_fill_(0, t.tensor([0]), t.tensor(300))
x3 = t.zeros(2).index_fill(0, t.tensor([0]), t.tensor(1e300, dtype=t.float64))
x4 = t.zeros(2).index_fill(0, t.tensor([0]), t.tensor(t.inf, dtype=t.float64))
""",
    "nothing is rolled along any dimension": """
x1 = t.zeros(0).roll(0, 1)
x2 = t.zeros(0, 2).roll((1, 1), (0, 7))
x3 = t.zeros(0).roll((1, 2), (0,))
""",
    "a bias of another dtype": """
x1 = t.ones(1, 1, dtype=t.float64)
x2 = t.nn.functional.bilinear(x1, x1, t.ones(1, 1, 1, dtype=t.float64), t.ones(1))
""",
    "a triangular system from the right is solved column by column": """
x1 = t.linalg.solve_triangular(t.eye(3), t.ones(2, 3), upper=True, left=False)
x2 = t.linalg.solve_triangular(t.eye(3), t.ones(2, 4, 3), upper=False, left=False)
""",
    "the memory of what is factorised and solved": """
x1 = t.eye(2)
x2, x3 = t.linalg.qr(t.arange(6.0).reshape(2, 3))
x4, x5 = t.linalg.qr(t.arange(6.0).reshape(3, 2) + 1)
x6 = t.linalg.lu_solve(*t.linalg.lu_factor(x1), t.ones(2, 3), adjoint=True)
x7 = t.linalg.lu_solve(*t.linalg.lu_factor(x1), t.ones(3, 2), left=False)
""",
    "elements are found beside NaN": """
x1 = t.tensor([[0.0, t.nan], [t.nan, t.inf]])
x2 = t.isin(x1, x1)
x3 = t.isin(t.tensor([t.inf, 0.0]), x1.flatten()[:3])
""",
    "integers cannot hold an incomplete Gamma": """
x1 = t.tensor([1, 2])
x1.igamma_(t.tensor(0.5))
""",
    "the other incomplete Gamma cannot either": """
x1 = t.tensor([1, 2])
x1.igammac_(t.tensor(0.5, dtype=t.float64))
""",
    "the first power is row-major": """
x1 = t.linalg.matrix_power(t.arange(4.0).reshape(2, 2).t(), 1)
""",
    "the sign of a determinant is part of the graph": """
x1 = t.eye(2, requires_grad=True)
x2, x3 = x1.slogdet()
x2.sum().backward()
x3.backward()
""",
    "atan2 of integers whose squares overflow": """
x1, x2 = t.tensor([[127]], dtype=t.int8), t.tensor(0.0, requires_grad=True)
x3 = t.atan2(x1, x2)
x3.backward()
x4 = t.atan2(x2, t.tensor([300], dtype=t.int16))
x4.backward()
""",
    "a third derivative of layer_norm": """
x1 = t.tensor([[0.0, 0.25, 0.5]], dtype=t.float64, requires_grad=True)
x2 = t.nn.functional.layer_norm(x1, (3,))
x3, = t.autograd.grad(x2.exp().sum(), x1, create_graph=True)
x4, = t.autograd.grad(x3.square().sum(), x1, create_graph=True)
(x4 * t.tensor([[-1.0, 1.0, 3.0]], dtype=t.float64)).sum().backward()
""",
    "the mean of infinities and of what cancels beside the variance": """
x1 = t.tensor([[t.inf, -1e+30], [0.0, 0.0], [0.0, 1e+30]], dtype=t.float64)
x2, x3 = t.var_mean(x1, 0)
""",
    "a half power where the root's slopes have signs of their own": """
x1 = t.tensor([-0.0, 0.0, -t.inf, 4.0], requires_grad=True)
x2 = x1**0.5
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
x4.sum().backward()
""",
    "a Hessian that overflows on the way": """
x1 = t.arange(15).mul(43).remainder(101).sub(50).to(t.float64).div(8)
x2 = x1.exp()
x3 = t.func.hessian(lambda a: a.exp().prod())(x2).contiguous().clone()
""",
    "the gradient by distances of the gradient of these": """
x1 = t.tensor([[0.5]], requires_grad=True)
x2 = t.div(x1, 2)
x3 = t.cdist(x2, x1, compute_mode='use_mm_for_euclid_dist')
x4, = t.autograd.grad(x3, x1, create_graph=True)
x4.backward(inputs=[x3])
""",
    "the second derivative of rows by their frequency": """
x1, x2 = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), t.tensor([0, 0, 1])
x3 = t.nn.functional.embedding(x2, x1, scale_grad_by_freq=True)
x4 = x3.sin().sum()
x5, = t.autograd.grad(x4, x1, create_graph=True)
x6 = x5.square().sum()
x6.backward()
""",
    "a hook of what a view is divided by": """
x1, x2 = t.tensor([0.0])[()], t.tensor(1.0, requires_grad=True)
s3 = []
x2.register_hook(lambda g: s3.append(g))
x1.floor_divide_(x2)
x4, = t.autograd.grad(x1, [x2], allow_unused=True)
""",
    "a second derivative of rms_norm, and then the first one again": """
x1 = t.tensor([[0.5, 1.0]], requires_grad=True) * 1
x2 = t.nn.functional.rms_norm(x1, (2,))
x3, = t.autograd.grad(x2.sum(), [x1], create_graph=True)
x3.backward(t.ones(1, 2))
x4, = t.autograd.grad(x2.mean(), [x1])
""",
    "floats of 16 bits": """
x1 = t.tensor([1.0, 2.0, 0.1], dtype=t.bfloat16, requires_grad=True)
x2 = x1.exp() * x1.tanh()
x3 = t.tensor([1.0, 0.5, 0.1], dtype=t.float16, requires_grad=True)
x4 = (x3 * x1).softmax(0)
x4.square().sum().backward()
x5 = x3.logit(1e-5)
x6 = t.special.hermite_polynomial_h(x1, 0)
x7 = t.tensor([[0.5, 1.0], [0.0, -1.0]], dtype=t.float16).logit_(1e-5)
x8 = t.tensor([[0.0, 0.0], [0.0, 0.5]], dtype=t.float16, requires_grad=True)
x9 = x8.matrix_exp()
""",
    "the running variance of large equal elements, which rounds to infinity": """
x1 = t.tensor([[[[-1e30]], [[1e30]], [[1.0]]]]).expand((2, 3, 3, 2))
x2, x3 = t.zeros(3), t.ones(3)
x4 = t.nn.functional.instance_norm(x1, x2, x3)
""",
    "a layer whose parameters wait for their shape": "m1 = t.nn.LazyLinear(2)\nx1 = t.ones(1)",
    "weights that cancel in a histogram, and elements at the ends of its bins": """
x1 = t.arange(40).mul(41).remainder(101).sub(2).to(t.float64).div(25).reshape((4, 2, 5))
x2 = t.nn.functional.instance_norm(x1)
x3, x4 = x1.histogram(weight=x2)
""",
    "a weight that is NaN in the middle of a histogram": """
x1 = t.tensor([[[0.0]]])
x3, x4 = x1.histogram(weight=True % x1)
""",
    "a scatter into memory before a slice": """
x1 = t.tensor([0.0, 0.5, 1.0])[1:].requires_grad_()
x2 = t.tensor([7.0], requires_grad=True)
x3 = t.as_strided_scatter(x1, x2, (1,), (1,), 0)
x3.backward(t.tensor([2.0, 3.0]))
x4 = t.as_strided_scatter(x1, x2, (1,), (1,), 1)
x4.backward(t.tensor([2.0, 3.0]))
""",
    "a gradient that goes twice through a scatter into memory": """
x1 = t.tensor([[[0.0], [1e30]]], requires_grad=True)
x3 = t.as_strided_scatter(x1, t.tensor([0.0]), (1,), (0,))
x3.sum().backward()
x3.backward(x1)
""",
    "the derivative of a scatter keeps nothing": """
x1 = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
x3 = t.select_scatter(x1, t.tensor([True, False]), 0, 1)
x4, x5 = t.autograd.grad(x3, [x1, x3], x1, create_graph=True)
x4.backward(t.ones(2, 2))
x4.backward(t.ones(2, 2))
x6 = t.diagonal_scatter(x1, x1[0]) + t.slice_scatter(x1, x1[:, :1], 1, 1)
x7, = t.autograd.grad(x6.square().sum(), x1, create_graph=True)
x7.square().sum().backward()
""",
    "classes that are written after the derivative": """
x1 = t.tensor([[0.0, 1.0]]).requires_grad_()
x2, x3 = t.tensor([0]), t.tensor([1.0, 2.0])
x4 = t.nn.functional.cross_entropy(x1, x2)
x5, = t.autograd.grad(x4, [x1], create_graph=True)
x2[:] = x2
x5.sum().backward()
x6 = t.nn.functional.nll_loss(x1.log_softmax(1)[:, :, None], x2[None], x3)
x7, = t.autograd.grad(x6, [x1], create_graph=True)
x3.mul_(1)
x7.sum().backward()
""",
    "a scatter into memory that the graph is kept of": """
x1 = t.tensor([[0.0, 0.5]], requires_grad=True)
x3 = t.index_select(x1, 0, t.tensor([0, 0]))
x4 = x3.as_strided_scatter(t.tensor([0, 0]), (2,), (2,))
x4.backward(x3, retain_graph=True)
""",
    "a sum of small integers, of floats beyond them": """
x1 = t.arange(80).to(t.float64)
x2 = t.exp(x1)
x3 = x2.sum(dtype=t.uint8)
""",
    "a derivative that shares steps with that of sigmoid": """
x1 = t.tensor(0.0).requires_grad_()
x2 = x1.sigmoid()
x3, = t.autograd.grad(x2, [x1], x2, create_graph=True)
x4, x5 = t.autograd.grad(x3 * 1, [x1, x3], create_graph=True)
x4.backward()
n7, x8 = t.autograd.grad(x3, [x3, x2])
""",
    "a norm of groups of one image with channels last, twice": """
m1 = t.nn.GroupNorm(1, 2)
x2 = t.arange(8).to(t.float32).reshape((1, 2, 2, 2)).permute((0, 3, 1, 2))
x3 = m1(m1(x2))
n1, n2, n3, n4 = m1(x2).stride()
""",
    "mvlgamma of bfloat16": """
x1 = t.arange(33).sub(50).to(t.bfloat16).div(25)
x2 = x1.mvlgamma(2)
x1.mvlgamma_(2)
""",
    "the gradient of a margin whose exponential overflows": """
x1 = t.tensor([-1e30]).requires_grad_()
x3 = t.nn.functional.soft_margin_loss(x1, t.tensor([0.5]))
x4, x5 = t.autograd.grad(x3, [x3, x1])
""",
    "the gradient by a transposed convolution's bias alone": """
m1 = t.nn.ConvTranspose2d(4, 1, 1).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x3 = m1(t.ones(4, 1, 1))
x4 = m1.bias
x3.backward(create_graph=True, inputs=[x4])
""",
    "a pool of a gradient with a dimension of size 1": """
x1 = t.tensor([[[[0.0, 0.0]], [[0.0, 0.0]]]]).permute((0, 3, 2, 1)).requires_grad_()
x2 = t.clamp_max(x1, x1)
x3, = t.autograd.grad(x2.sum(), [x1])
x4 = t.nn.functional.avg_pool2d(x3, 1)
""",
    "a scatter into memory with a graph": """
x1 = t.tensor([0.0], requires_grad=True)
x3 = x1.as_strided_scatter(t.tensor([0.0]), (1,), (0,))
x3.exp().sum().backward(create_graph=True)
""",
    "an operand of a product that was mapped twice": """
x2 = t.zeros((2, 2), dtype=t.float64)
x3 = t.zeros((2, 2), dtype=t.float64).requires_grad_()
x4 = t.vmap(t.vmap(lambda a, b: a @ b, in_dims=(None, 0)), in_dims=(0, None))(x2, x3)
x2.logical_or_(x2)
x4.mean().backward()
""",
    "zeros of a whole quotient in another order": """
x1 = t.arange(26).to(t.float32).reshape((26, 1))
x2 = t.cdist(x1, x1)
x4 = t.tensor([0.0], requires_grad=True)
x2.index_put_((t.tensor([0]),), x4)
x2.divide_(0, rounding_mode="trunc")
x2.exp().sum().backward(create_graph=True)
""",
    "what is written by an index shares memory with what is read": """
x1 = t.arange(6)[0::2,]
x2 = t.unsqueeze(x1, 0)
x3 = [True]
x4 = [1, 0, 1]
x2[x3, x4] = x1
""",
    "the weight of a norm of nothing is repeated, too": """
m1 = t.nn.InstanceNorm3d(1, affine=True)
x2 = t.zeros((1, 0, 0, 0)).requires_grad_()
x3 = m1(x2)
m1.load_state_dict(m1.state_dict())
x3.mean().backward()
""",
    "slopes of Bessel functions beside 0": """
x1 = t.tensor([0.0, 1e-30, -1e-30, 0.5, -3.0], dtype=t.float64, requires_grad=True)
x2 = t.special.i0(x1) + t.special.i1(x1) + t.special.i0e(x1) + t.special.i1e(x1)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
""",
    "slopes of xlog1py where there is no logarithm": """
x1 = t.tensor([0.0, 0.0, 0.0, 1.0, 2.0], requires_grad=True)
x2 = t.tensor([-1.5, -1.0, t.inf, -1.5, 0.5], requires_grad=True)
x3, x4 = t.autograd.grad(t.special.xlog1py(x1, x2).sum(), [x1, x2], create_graph=True)
x5, x6 = t.autograd.grad((x3 + x4).nan_to_num(0).sum(), [x1, x2])
""",
    "xlog1py of a gradient that is 0, and of one that is wider": """
x1 = t.tensor([0.5, 0.0, 2.0], dtype=t.float64, requires_grad=True)
x2 = t.tensor([t.inf, -3.0, 0.3])
x3, = t.autograd.grad(t.special.xlog1py(x1, x2), x1, t.zeros(3, dtype=t.float64))
x4, = t.autograd.grad(t.special.xlog1py(x1, x2).sum(), x1, create_graph=True)
""",
    "the slope of finite elements in an infinite norm": """
x1 = t.tensor([[t.inf, 1.0, 0.0], [2.0, -t.inf, t.nan], [3.0, 4.0, 0.0]], requires_grad=True)
x2 = t.linalg.vector_norm(x1, 3, 1) + t.linalg.vector_norm(x1, 2.5, 1)
x2.sum().backward()
""",
    "a target that came to require grad": """
x1, x2 = t.tensor([0.5, -1.0], requires_grad=True), t.tensor([1.0, -1.0])
x3 = t.nn.functional.soft_margin_loss(x1, x2)
x2.requires_grad_()
x4, = t.autograd.grad(x3, x1, retain_graph=True)
x5, = t.autograd.grad(x3, x1, create_graph=True)
""",
    "the product of a row of no bools with a vector of none": """
x1, x2 = t.zeros((1, 0), dtype=t.bool), t.zeros((0,), dtype=t.bool)
x3 = x1.inner(x2)
""",
    "the gradient of a hypotenuse that overflows on the way": """
x1 = t.tensor([[0.5], [1e30]], requires_grad=True)
x2 = t.hypot(x1, x1)
x3, = t.autograd.grad(x2.square().sum(), x1, create_graph=True)
""",
    "a row of a layer's weight whose squares overflow": """
x2 = t.tensor([[1e30, 0], [3, 4]])
m1 = t.nn.Embedding(2, 2, max_norm=1.0).apply(lambda m: [w.data.copy_(x2) for w in m.parameters()])
x1 = m1(t.tensor([[0, 1]]))
""",
    "the gradient by a huge logcumsumexp": """
x1 = t.tensor([[1e+30]], requires_grad=True)
x2 = t.logcumsumexp(x1, 0)
x2.retain_grad()
x3, = t.autograd.grad(x2.mul(2), x1, create_graph=True)
x3.backward()
""",
    "the curve of a margin that is far away": """
x1 = t.tensor([[-3.0, 0.1, 0.5, 3.0]], dtype=t.float64).requires_grad_()
x2 = t.tensor([[127, 1, 30, -30]])
x3 = t.nn.functional.soft_margin_loss(x1, x2)
x4, = t.autograd.grad(x3, x1, create_graph=True)
x5, = t.autograd.grad(x4.sum(), x1, create_graph=True)
x5.sum().backward()
""",
    "a step of quantization that a fused sum decides": """
x1 = t.tensor([1.05, 1.06, 0.95, 1.0, -0.25], requires_grad=True)
x2 = t.fake_quantize_per_channel_affine(x1[None], t.tensor([0.1]), t.tensor([-3.0]), 0, 0, 7)
x2.sum().backward()
""",
    "the third step of NAdam in float64": """
x1 = t.tensor([0.0], dtype=t.float64).requires_grad_()
x1.backward()
o1 = t.optim.NAdam([x1], lr=0.1)
o1.step()
o1.step()
o1.step()
x2 = x1 * 1
""",
    "a quotient of 16 bits by a number between two of them": """
x1 = t.tensor([16.5, -15.0, 0.5, 3.0], dtype=t.bfloat16)
x2, x3 = x1 // 2.07, x1.div(0.3, rounding_mode="trunc")
x4 = x1.half().div(0.3, rounding_mode="trunc")
x1.floor_divide_(1.01)
""",
    "numbers beyond the dtype, with a graph": """
x1 = t.tensor([0.5, 2.0], requires_grad=True)
x2 = x1 * 1e300 + x1 / 1e300 + 1e300 / x1 + t.xlogy(x1, 1e300) + t.special.xlog1py(1e300, x1)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x4 = t.pow(1e300, x1)
x5, = t.autograd.grad(x4.sum(), x1, create_graph=True)
""",
    "the square of a divisor vanishes": """
x1, x2 = t.zeros(2, dtype=t.float64), t.tensor([1e-30, 1.0], requires_grad=True)
x3 = t.addcdiv(x1, x1, x2)
x3.sum().backward()
""",
    "an angle between sides whose squares overflow": """
x1 = t.tensor([1e30, 1.0], requires_grad=True)
x2 = x1.arctan2(x1)
x2.backward(x1)
""",
    "pooling by an infinite norm": """
x1 = t.tensor([[[-3.0, 1.0, 2.0, -2.0]]], requires_grad=True)
x2 = t.nn.functional.lp_pool1d(x1, t.inf, 2) + t.nn.functional.lp_pool1d(x1, -t.inf, 2)
x2.backward(t.tensor([[[1.0, 10.0]]]))
x3 = t.nn.functional.lp_pool2d(x1.detach(), t.inf, (1, 3), ceil_mode=True)
x4 = t.nn.functional.lp_pool3d(x1.detach()[None], -t.inf, (1, 1, 2), 1)
m1 = t.nn.LPPool1d(t.inf, 2, stride=1)
x5 = m1(x1)
""",
    "a factor of 16 bits without dimensions": """
x1 = t.tensor([1.0, 2.5, -7.3, 999.0, 0.0], dtype=t.float16).requires_grad_()
x2, x3 = t.tensor(70000.0), t.tensor(0.1, dtype=t.float64).requires_grad_()
x4 = [x1 * x2, x1 / x2, x2 * x1, x1 * x3, x1 // x3, x1.div(x3, rounding_mode="trunc"), x1 + x3, x1 - x3]
x5, x6 = t.autograd.grad((x1 * x3).sum(), (x1, x3), create_graph=True)
x7, x8 = t.autograd.grad((x1 / x3).sum(), (x1, x3))
x9 = x1.detach().mul_(x2).div_(x2)
x10 = x1.detach() * t.tensor([16777217]) / t.tensor([[70001]])
x11 = x1.bfloat16() / t.tensor(3.3333333)
""",
    "powers that vanish": """
x1, x2 = t.tensor([0.5]), t.tensor([0.0], requires_grad=True)
x3 = t.dist(x1, x2, p=2147483647)
x3.backward()
x4 = t.tensor([0.002, -0.0001], dtype=t.float16).requires_grad_()
x5 = t.linalg.vector_norm(x4, 3)
x5.backward()
""",
    "a view of nothing, by an index": """
x1 = t.zeros((2, 0, 2)).requires_grad_()
with t.set_grad_enabled(False):
    x2 = x1[:]
    x3, x4 = t.tensor([0, 0]), t.zeros(2, 2, 2)
    x2.index_add_(-2, x3, x4)
""",
    "a transposed convolution of nothing with more padding than a stride": """
x1, x2 = t.zeros((0, 3, 2, 2)), t.ones((3, 1, 1, 1))
x3 = t.conv_transpose2d(x1, x2, output_padding=1)
""",
    "a histogram of no float16": """
x1 = t.zeros((0,), dtype=t.float16)
x2, x3 = x1.histogram()
""",
    "what the factor of a derivative was made of": """
x1 = t.tensor([0.3], requires_grad=True)
x2 = t.nn.functional.smooth_l1_loss(x1, x1 * 2)
x3, = t.autograd.grad(x2.square(), x1, create_graph=True)
with t.no_grad():
    x1.sub_(x1)
x3.backward(inputs=[x2])
""",
    "truncated quotients of float16": """
x1 = t.tensor([0.10223, 2.998, 7.0], dtype=t.float16)
x2 = x1.div(t.tensor([0.0341, 0.9995, 2.334], dtype=t.float16), rounding_mode="trunc")
x3 = t.lerp(x1.float(), x1.float(), 1e300)
""",
    "the curve of logaddexp of two dtypes": """
x1, x2 = t.tensor([10.0], requires_grad=True), t.tensor([-1e5], dtype=t.float64).requires_grad_()
x3 = t.logaddexp(x1, x2)
x4, x5 = t.autograd.grad(x3.sum(), (x1, x2), create_graph=True)
x6, = t.autograd.grad(x4.sum(), x1)
""",
    "a Hurwitz zeta of uint8": """
x1, x2 = t.tensor([0.3, 2.7], requires_grad=True), t.tensor([3, 4], dtype=t.uint8)
x3 = t.special.zeta(x2, x1)
x3.sum().backward()
""",
    "a Hurwitz zeta of bools": """
x1, x2 = t.tensor([0.3, 2.7], requires_grad=True), t.tensor([True, False])
x3 = t.special.zeta(x2, x1)
x3.sum().backward()
""",
    "the curve of a loss at NaN": """
x1, x2 = t.tensor([0.3, 2.7], requires_grad=True), t.tensor([t.nan, 0.0])
x3 = t.nn.functional.smooth_l1_loss(x1, x2) + t.nn.functional.huber_loss(x1, x2, delta=0.1)
x4, = t.autograd.grad(x3, x1, create_graph=True)
x4.sum().backward()
""",
    "a product of zeros, differentiated again": """
x1, x2 = t.tensor([1.0], requires_grad=True), t.zeros(2, requires_grad=True)
x3 = t.scatter_reduce(x1, 0, t.tensor([0, 0]), x2, "prod")
x4, x5 = t.autograd.grad(x3.sum(), (x1, x2), create_graph=True)
x6, = t.autograd.grad(x5.sum() + x4.sum(), x1)
""",
    "numbers of which more dtypes are taken for results": """
x1 = t.tensor([2.0])
x2 = t.float_power(x1, 2, out=t.empty(1))
x3 = t.floor_divide(t.tensor([3]), x1.requires_grad_(), out=t.empty(1))
""",
    "a logarithm of integers in a derivative of float64": """
x1, x2 = t.tensor([3, 5], dtype=t.int32), t.tensor([0.5, 2.0], dtype=t.float64).requires_grad_()
x3 = t.pow(x1, x2) + t.pow(x1[0], x2)
x4, = t.autograd.grad(x3.sum(), x2, create_graph=True)
x5, = t.autograd.grad(x4.sum(), x2)
""",
    "a base that float16 does not hold": """
x1 = t.tensor([3e-06, 50.0, -10.0], dtype=t.float16).requires_grad_()
x2 = t.pow(70000, x1)
x2.sum().backward()
""",
    "a difference from what float16 does not hold": """
x1 = t.tensor([t.inf, -0.001], dtype=t.float16)
x2 = 70000 - x1
""",
    "a factor that float32 takes for 0": """
x1 = t.tensor([1.0, 0.0, -2.0], requires_grad=True)
x2 = t.xlogy(x1, 1e-300)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
""",
    "an exponent that float32 takes for 0": """
x1 = t.tensor([1.0, t.nan], requires_grad=True)
x2 = x1 ** 1e-300
x2.sum().backward()
x3 = t.tensor([2e-20, -1e-21] * 8)
x4 = t.pow(x3, 1e-46)
""",
    "powers of bfloat16 that overflow": """
x1 = t.tensor([[-0.0, 30.0, -20.0], [30.0, -10.0, 1.0]], dtype=t.bfloat16).requires_grad_()
x2 = t.linalg.vector_norm(x1, 30, dim=0)
x2.sum().backward()
""",
}


# On whatever device the other tests run, these compare on the CPU: they are about the graph and arguments.
@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_a_derivative_with_a_graph_is_rounded_to_16_bits_once(norm):
    def slope(library, dtype):
        x = (
            library.tensor([[0.001, 0.003, -0.002]], dtype=library.float16)
            .to(dtype)
            .requires_grad_()
        )
        y = getattr(library.nn.functional, norm)(x, (3,), eps=1e-7)[0, 0]
        return library.autograd.grad(y, x, create_graph=True)[0].tolist()[0]

    ours, exact = slope(dumbtorch, dumbtorch.float16), slope(torch, torch.float64)
    assert ours == pytest.approx(exact, rel=torch.finfo(torch.float16).eps)
