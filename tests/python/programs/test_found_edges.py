"""What random programs, and readers, have found of single functions at their edges: the two libraries must agree."""

import dumbtorch as dt
import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "a last target that is the blank": """
x1 = t.arange(30.0).reshape(5, 2, 3).sin().log_softmax(2).requires_grad_()
x2 = t.nn.functional.ctc_loss(x1, t.tensor([[1, 0], [0, 2]]), t.tensor([5, 4]), t.tensor([2, 1]))
x2.backward()
m1 = t.nn.CTCLoss(blank=2, reduction='sum')
x3 = t.arange(12.0).reshape(4, 3).cos().log_softmax(1).requires_grad_()
m1(x3, t.tensor([2]), t.tensor(3), t.tensor(1)).backward()
""",
    "zeta of the least number": """
x1 = t.special.zeta(t.tensor([2.0, 3.0, 1.5, 1.0, t.inf, -1.0]), t.tensor(-t.inf))
x3 = t.special.zeta(t.tensor([t.inf, 1e300], dtype=t.float64), t.tensor([[-0.5], [-1.1]]))
x2 = t.special.zeta(t.tensor([2.5, 1.5]), t.tensor([-1e300, -0.5], dtype=t.float64))
""",
    "a gradient of log_ndtr far below 0": """
x1 = t.tensor([-1e5, -1e19, -1e30, 2.0], requires_grad=True)
x2 = t.special.log_ndtr(x1)
x2.sum().backward()
""",
    "what is left where terms cancel, in units of itself": """
x1 = t.tensor([2.7, 2.78], dtype=t.float64).expand((3, 3, 2)).requires_grad_()
x2 = t.nn.functional.instance_norm(x1)
x3 = x2 / x2.sum()
x4 = t.tensor([1.8, -3.0], dtype=t.float64).expand((3, 3, 2)).requires_grad_()
x5, = t.autograd.grad(x4.softmax(2).square().sum(), x4)
x6 = x5.sum().sqrt()
""",
    "an infinite unit of what is left where terms cancel": """
x1 = t.tensor([-2.06, 0.6746, 1.58]).expand((2, 2, 3)).requires_grad_()
x2, = t.autograd.grad(x1[0].corrcoef().square().sum(), x1, create_graph=True)
x3 = x2 / x2.sum()
""",
    "a third derivative where terms cancel, along a dimension that is expanded": """
x1 = t.tensor([-1.1071, 0.35, 2.7, -1.0413, 2.2259, -1.8], dtype=t.float64).reshape((3, 2))
x1 = x1.expand((2, 3, 2)).requires_grad_()
x2 = x1.norm(3, 0)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
x5 = t.nn.functional.normalize(x4, 2, 0)
x5.sum().backward()
""",
    "integers that are pooled": """
x1 = t.ones((1, 2, 2, 2), dtype=t.int64)
x2 = t.nn.functional.local_response_norm(x1, 2)
x3 = t.ones((0, 1, 1), dtype=t.int64)
x4 = t.nn.functional.avg_pool1d(x3, 1)
x5 = t.nn.functional.max_pool1d(x3, 1)
x6 = t.ones((2, 2, 2, 2), dtype=t.uint8)
x7 = t.nn.functional.lp_pool2d(x6, 1, 1)
""",
    "the gradient of a product with infinities": """
x1 = t.tensor([-t.inf, 1.0], requires_grad=True)
x2 = t.scatter_reduce(x1, 0, t.zeros((0,), dtype=t.int64), t.zeros((0,)), 'prod')
x3 = x2.sum()
x3.backward()
""",
    "a path of NaN": """
x1 = t.tensor([[t.nan, 0.0]])
x2 = t.nn.functional.ctc_loss(x1, t.tensor([0]), t.tensor([1]), t.tensor([1]), blank=1)
x3 = t.nn.functional.ctc_loss(x1, t.tensor([1]), t.tensor([1]), t.tensor([1]))
x4 = t.tensor([[0.5, -1.0], [t.nan, -t.inf]])
x5 = t.nn.functional.ctc_loss(x4, t.tensor([1]), t.tensor([2]), t.tensor([1]), zero_infinity=True)
""",
    "the gradient of a determinant that is 0": """
x1 = t.tensor([[[0.5, 1.0], [0.5, 1.0]]], requires_grad=True)
x2 = t.linalg.det(x1)
x3 = x2.sum()
x3.backward()
""",
    "addmv of an infinity by 0": """
x1 = t.zeros((1,), dtype=t.float16)
x2 = t.addmv(x1, t.tensor([[-t.inf]], dtype=t.float16), x1, alpha=0)
x3, x4 = t.zeros((1,)), t.zeros((0, 3))
x5 = t.addmv(x3, x4, t.zeros((3,)))
""",
    "zeta of NaN at a pole": """
x1 = t.tensor([t.nan, 2.0])
x2 = t.special.zeta(x1, t.tensor(-2.0))
""",
    "attention of more or fewer values than keys": """
x1, x2 = t.ones((1, 2, 1, 1)), t.ones((1, 2, 2, 1))
x3 = t.nn.functional.scaled_dot_product_attention(x1, x1, x2)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x1)
""",
    "a mask of one dimension": """
x1, x2 = t.ones((2, 1, 1, 1)), t.ones((1,))
x3 = t.nn.functional.scaled_dot_product_attention(x1, x1, x1, attn_mask=x2)
""",
    "the slope of what a row without a score hides": """
x1, x2 = t.tensor([[[0.0, 1.0]]]), t.tensor([[[t.inf, -1.0], [0.0, 1.0]]])
x3 = t.tensor([[[-1.0], [0.5]]], requires_grad=True)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3, is_causal=True)
x4.sum().backward()
""",
    "scores that are all the least, where keys broadcast": """
x1, x2 = t.tensor([[-1.0], [1.0]])[:, None, None], t.tensor([[[[t.inf]]]])
x3 = t.tensor([[[[0.5]]]], requires_grad=True)
x4 = t.nn.functional.scaled_dot_product_attention(x1[:1], x2, x3)
x5 = t.nn.functional.scaled_dot_product_attention(x1[:1].expand(3, 1, 1, 1), x2, x3)
x6 = t.nn.functional.scaled_dot_product_attention(x1, x2.neg(), x3)[1:]
x5.sum().backward()
""",
    "a product by a source of which a part alone is read": """
x1 = t.tensor([[0.5, 2.0], [1.5, 0.25]], requires_grad=True)
x2, x3 = t.tensor([[0, 1]]), x1 * 1
x4 = t.scatter_reduce(x1, 0, x2, x3, 'prod')
x4.sum().backward()
""",
    "a slope of soft_margin_loss that is infinite": """
x1 = t.tensor([0.0, 0.5, -0.5], requires_grad=True)
x2 = t.nn.functional.soft_margin_loss(x1, t.tensor([0.0, -t.inf, -t.inf]), reduction='sum')
x2.backward()
""",
    "the condition of a singular matrix": """
x1 = t.tensor([[0.5, 0.5], [1.0, 1.0]])
x2 = t.linalg.cond(x1)
""",
    "a query without a score": """
x1 = t.tensor([[[[t.nan, 1.0]]]])
x2 = t.tensor([[[[-1.0, 0.0], [1.0, 0.0]]]])
x3 = t.nn.functional.scaled_dot_product_attention(x1, x2, x2, is_causal=True)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x2)
""",
    "classes that nobody reads": """
x1 = t.tensor([[[0.0]]])
x2 = t.nn.functional.ctc_loss(x1, t.tensor([[1]]), t.full((), 0), t.full((), 1))
""",
    "a mask of one image for no batch of them": """
x1 = t.ones((1, 1))
x2 = t.nn.functional.scaled_dot_product_attention(x1, x1, x1, attn_mask=t.ones((1, 1, 1, 1)))
""",
    "a mask with more dimensions than the scores": """
x1 = t.ones((1, 1, 2, 2))
x2 = t.nn.functional.scaled_dot_product_attention(x1, x1, x1, t.zeros((3, 1, 2, 2)))
""",
    "an integer factor of 16-bit floats that is written": """
x1 = t.tensor([0.5, 2.0], dtype=t.bfloat16, requires_grad=True)
x2 = t.arange(2)
x3 = x1 * x2
x2.add_(1)
x3.sum().backward()
""",
    "integers in formulas over 16-bit floats": """
x1 = t.tensor([0.5, 2.0], dtype=t.float16, requires_grad=True)
x2 = t.tensor([2049, 3])
x3 = x1 * x2 + t.atan2(x2, x1) + x2.xlogy(x1)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
x4.sum().backward()
""",
    "a normalisation by an infinite weight": """
x1, x2, x3 = t.tensor([[0.0], [0.5]]), t.tensor([t.inf]), t.ones(1)
x4 = t.nn.functional.batch_norm(x1, t.zeros(1), t.ones(1), x2)
x5 = t.nn.functional.batch_norm(x1, x3, x3, x2, x3)
""",
    "the running variance of large equal elements": """
m1 = t.nn.LazyBatchNorm3d().to(t.float64)
x1 = t.tensor([[[[[0.0]]], [[[0.0]]], [[[1e+30]]]]], dtype=t.float64).expand((1, 3, 3, 1, 1))
x2 = m1(x1)
""",
    "an exponent that is an integer, in the memory of a normalisation": """
m1 = t.nn.InstanceNorm3d(0)
x1 = t.tensor([[[[[0.5], [0.0]]]]], requires_grad=True)
x2 = m1(x1)
x3 = t.tensor([[[-1]]])
x2.ldexp_(x3)
x2.backward(x2)
""",
    "weights of bags in another order that are written later": """
x1, x2 = t.tensor([[0.0]], requires_grad=True), t.zeros(2, 2)[..., 0]
x3 = t.nn.functional.embedding_bag(t.tensor([0, 0]), x1, mode="sum", offsets=t.tensor([0]), per_sample_weights=x2)
x2.add_(x2.add(1))
x3.backward()
""",
    "an overflow of float16 that PyTorch's gradient meets alone": """
x1, x2 = t.tensor([[0.0]], requires_grad=True), t.tensor([[0.5]], dtype=t.float16)
x3 = x1.mul(2)
x3.addcmul_(x2, x1, value=2147483648)
x3.backward()
""",
    "a product that overflows before its factor, which is 0": """
x1 = t.tensor([0.0, 1e30])
x2 = t.zeros(2, 2).addr_(x1, x1, alpha=0)
x3 = t.addr(x2, t.tensor([1e20]), x1, alpha=1e-20)
x4 = t.addr(t.ones(2, 2, dtype=t.int64), t.tensor([3, 200], dtype=t.uint8), t.tensor([1, 2]), alpha=300)
""",
    "a narrow index that is written later": """
x1, x2 = t.tensor([[[0.0]]]), t.tensor([0], dtype=t.int32)
x3 = t.tensor([0.0], requires_grad=True)
x1[0:0, x2] = x3
x2[[0]] = 0
x1.backward()
""",
    "what is left of two large distances": """
x1 = t.arange(17)
x2 = t.nn.functional.triplet_margin_loss(x1, x1, x1, p=0.1, eps=1e-05)
""",
    "two distances of a layer whose squares overflow": """
x1, x2 = t.tensor([[0.0, 1e30]]), t.tensor([[0.0]])
x3 = t.nn.TripletMarginLoss()(x1, x2, x1.cos())
""",
    "equal elements that a layer normalises with other weights": """
m1 = t.nn.BatchNorm2d(3)
x1 = t.full((2, 3, 3, 2), 2.0).sin()
x2 = t.func.functional_call(m1, {n: w * 2 for n, w in m1.named_parameters()}, (x1,))
""",
    "an infinity that has no weight": """
m1 = t.nn.Upsample(size=2, mode="linear")
x1 = t.tensor([[[t.inf]], [[-1.0]]])
x2 = m1(x1)
x3 = t.nn.functional.interpolate(x1[..., None], size=(2, 3), mode="bilinear", align_corners=True)
""",
    "what cancels in the gradient of a quotient": """
x1 = t.arange(27).mul(2).sub(50).div(25).reshape((9, 3)).requires_grad_()
x2 = x1.relu() / x1
x3 = t.nn.functional.log_softmax(x2, 0)
x4, = t.autograd.grad(x3.square().sum(), x2, create_graph=True)
x4.square().sum().backward()
""",
    "an infinity is made one element by a layer": """
m1 = t.nn.Upsample(size=1, mode="linear")
x1 = t.tensor([[[t.inf]]])
x2 = m1(x1)
""",
    "a margin of a number that wraps around": """
x1, x2 = t.zeros(1, 1, dtype=t.uint8), t.zeros(1, dtype=t.int64)
x3 = t.nn.functional.pad(x1, (0, 1), value=255)
x4 = t.nn.functional.pad(x1, (0, 1), value=-1)
x5 = t.constant_pad_nd(x1, (0, 1), -1)
x6 = t.constant_pad_nd(x1, (0, 1), -1.0)
x7 = t.nn.functional.pad(x2, (0, 1), value=2**53 + 1)
x8 = t.constant_pad_nd(x2, (0, 1), 2**53 + 1)
""",
    "nothing is infinitely far from a volume": """
x1 = t.arange(8.0).add(1).reshape(1, 1, 2, 2, 2).requires_grad_()
x2 = t.tensor([[0.3, 0.1, 0.2], [t.inf, 0.1, 0.2], [0.1, t.nan, 0.2], [0.1, 0.2, -t.inf], [1e30, 0.1, 0.2]])
x3 = x2.reshape(1, 5, 1, 1, 3).requires_grad_()
x4 = t.nn.functional.grid_sample(x1, x3, align_corners=False)
x4.square().sum().backward(retain_graph=True)
x5, x6 = t.autograd.grad(x4.square().sum(), [x1, x3], create_graph=True)
x7 = t.nn.functional.grid_sample(x1[:, :, 0], x2.reshape(1, 5, 1, 3)[..., :2], align_corners=True)
""",
    "the remainder of a part by a denormal number": """
x1, x2 = t.ones(3, 4), t.tensor([1e-310, 1.0], dtype=t.float64)
x3 = x1[0, :2] % x2
""",
    "nothing whose channels are shuffled": """
m1 = t.nn.ChannelShuffle(1)
x1 = t.zeros((0, 0, 0)).requires_grad_()
x2 = m1(x1)
x2.sum().backward()
""",
    "hooks of what LU factors solve": """
x1 = t.tensor([[1.0, 2.0, -1.0], [0.5, -1.0, 2.0], [3.0, 1.0, 0.25]], dtype=t.float64)
x2, x3 = t.linalg.lu_factor(x1)
x2.requires_grad_()
x4 = t.arange(9.0, dtype=t.float64).sin().reshape(3, 3).requires_grad_()
x5 = t.linalg.lu_solve(x2, x3, x4)
x6 = t.linalg.lu_solve(x2, x3, x4, left=False)
x7 = t.linalg.lu_solve(x2, x3, x4, adjoint=True)
x8 = t.linalg.lu_solve(x2, x3, x4, left=False, adjoint=True)
x9, x10, x11, x12 = [x.register_hook(lambda g: g * 2) and x for x in [x5, x6, x7, x8]]
x13 = x5.square().sum() + x6.exp().sum() - x7.square().sum() * x8.sin().sum()
x14, x15 = t.autograd.grad(x13, [x2, x4], create_graph=True)
x16, x17 = t.autograd.grad(x14.square().sum() + x15.sum(), [x2, x4], create_graph=True)
x16.square().sum().backward()
""",
    "batch_norm by position, without eps": """
x1 = t.tensor([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]], dtype=t.float64, requires_grad=True)
x2, x3 = t.tensor([2.0, 3.0], dtype=t.float64), t.tensor([0.5, 0.25], dtype=t.float64)
x4, x5 = t.zeros(2, dtype=t.float64), t.ones(2, dtype=t.float64)
x6 = t.batch_norm(x1, x2, x3, x4, x5, True, 0.1, 0.0, False)
x6.square().sum().backward()
x7 = t.batch_norm(x1[:1], x2, x3, x4, x5, True, 0.1, 0.0, False)
x8 = t.batch_norm(x1, x2, x3, x4, x5, False, 0.1, 0.0, False)
""",
    "beside a pole": """
x1 = t.tensor([-1.0000001, -2.9999998, 0.3, -2.0, 0.0, t.inf], requires_grad=True)
x2 = x1.lgamma()
x3, = t.autograd.grad(x2[:3].sum(), [x1], create_graph=True)
x4 = t.special.polygamma(2, x1)
x5 = x1.polygamma(1)
x3[:3].sum().backward(retain_graph=True)
x6 = t.mvlgamma(x1[:3].abs() + 3, 2)
x6.sum().backward()
x7 = x1.detach().clone()
x7.polygamma_(1)
x8 = t.special.psi(t.tensor([-2.999999999999996, -0.9999999999, 1e-10], dtype=t.float64))
""",
    "equal elements are 0, also without eps": """
x1 = t.full((2, 3, 4), 7.0, requires_grad=True)
x2 = t.nn.functional.instance_norm(x1, eps=0.0)
x2.sum().backward()
x3 = t.ones(1, 2, 3, 3, requires_grad=True)
x4 = t.nn.functional.instance_norm(x3, t.zeros(2), t.ones(2), eps=0.0)
x5, = t.autograd.grad(x4.sum(), x3, create_graph=True)
x5.sum().backward()
x6 = t.zeros(2)
x7 = t.nn.functional.instance_norm(t.ones(1, 2, 3), t.zeros(2), x6, eps=0.0)
""",
    "matrices of NaN have no inverse": """
x1 = t.tensor([[[1.0, 2.0], [t.nan, 4.0]], [[1.0, t.inf], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
x2, x3, x4 = t.linalg.cond(x1, "fro"), t.linalg.cond(x1, 1), t.linalg.cond(x1, -t.inf)
""",
    "products that overflow, of which one is taken from the other": """
x1 = t.tensor([[1e30], [0.0], [1e30]])
x2 = t.cross(x1, x1, 0)
""",
    "powers whose exponents are far apart": "x1 = t.logspace(-2147483648, 0, 12, dtype=t.int32)",
    "a bound that is NaN": """
x1 = t.arange(50.0).requires_grad_()
x2 = t.nn.functional.hardshrink(x1, lambd=t.nan)
x2.sum().backward()
""",
    "the sign of a zero goes on from vector to vector": """
x1 = t.tensor([-0.0] + [1.0] * 40)
x2 = 1 / x1.cumprod(0)
x3 = 1 / x1.double().cumprod(0)
x4 = 1 / x1.cumsum(0)[:1]
x5 = 1 / x1.expand(5, 41).cumprod(1)
""",
    "what is added to no products of bools has a shape": """
x1 = t.zeros(1, 1, 0, dtype=t.bool)
x2 = t.addmm(x1, x1[0], t.zeros(0, 0, dtype=t.bool))
x3 = t.addbmm(x1, t.ones(1, 1, 1, dtype=t.bool), x1)
x4 = t.baddbmm(x1[None], t.ones(1, 1, 1, dtype=t.bool), x1)
""",
    "the exponential of a matrix beside others": """
x1 = t.zeros(5, 5, dtype=t.float64)
x1[4] = 43.0
x2 = t.matrix_exp(t.stack([x1 * t.nan, x1]))[1].log1p()
x3 = t.matrix_exp(t.stack([x1 * t.inf, x1, -t.eye(5, dtype=t.float64) * 1e30, x1 / 50]))[1:].log1p()
x4 = t.matrix_exp(t.stack([x1, x1 / 43, x1 / 1e9]))[1:]
""",
    "the logarithm of a determinant that is 0 has an infinite slope": """
x1 = t.tensor([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]], requires_grad=True)
x2 = t.linalg.slogdet(x1)[1]
x3, = t.autograd.grad(x2[:2].sum(), x1)
x4 = x3[:2]
t.logdet(x1[:2]).sum().backward()
""",
    "the gradient of a singular matrix's determinant beside others": """
x1 = t.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[t.nan, 0.0], [0.0, 1.0]]], dtype=t.float64)
x1.requires_grad_()
x2 = x1.det()
x3, = t.autograd.grad(x2[:2].sum(), x1, create_graph=True)
x4 = x3[:2]
x5, = t.autograd.grad(x4.square().sum(), x1)
x6 = x5[:2]
""",
    "functions whose names say that they give indices": """
x1 = t.arange(16.0).reshape(1, 1, 4, 4)
x2 = t.nn.functional.adaptive_max_pool2d_with_indices(x1, 2, 0)
x3 = t.nn.functional.adaptive_max_pool1d_with_indices(x1[0], 2, False)
x4 = t.nn.functional.adaptive_max_pool3d_with_indices(x1[None], (1, None, 2))
x5 = t.nn.functional.fractional_max_pool2d_with_indices(x1, 2, 2, None, False, t.full((1, 1, 2), 0.5))
x6 = t.nn.functional.fractional_max_pool3d_with_indices(x1[None], 1, 1, _random_samples=t.full((1, 1, 3), 0.5))
""",
    "numbers where the density of Weibull and Pareto begins": """
x1, x2 = [t.distributions.Weibull(2.0, k).cdf(t.zeros(2)) for k in (0.5, 2.0)]
x3 = 1 / t.distributions.Pareto(2.0, 1.5).cdf(t.tensor(2.0))
x4 = t.distributions.Weibull(2.0, 1.5).log_prob(t.zeros(1))
""",
    "numbers beyond the dtype of what is searched": """
x1 = t.tensor([0, 1, 44], dtype=t.uint8)
x2 = t.isin(x1, 2147483648)
x3 = t.isin(300, x1)
x4 = t.searchsorted(x1, 300)
x5 = t.bucketize(2**40 + 1, t.tensor([1, 2], dtype=t.int32))
x6 = t.searchsorted(t.tensor([1.0, 2.0]), 1e39)
x7 = t.isin(t.tensor([t.inf, 1.0]), 1e39)
""",
    "what is found along a dimension lies slice by slice": """
x1 = t.tensor([[1, 1, 2], [1, 1, 2], [3, 3, 4]])
x2 = t.unique(x1, dim=1)
x3 = t.unique_consecutive(x1, dim=-1)
x4 = t.unique_consecutive(t.arange(24).reshape(2, 3, 4).permute(2, 0, 1), dim=1)
x5 = t.unique(x1.t(), dim=0)
x3.mul_(2)
""",
    "solutions lie in columns as long as those of what was given": """
x1 = t.arange(12.0).remainder(7).reshape(4, 3) + t.eye(4, 3)
x2 = t.linalg.lstsq(x1, t.ones(4, 2)).solution
x3 = t.linalg.lstsq(x1.t(), t.ones(3, 2)).solution
x4 = t.linalg.lstsq(x1.expand(2, 4, 3), t.ones(2, 4)).solution
x5 = t.linalg.lstsq(x1, t.ones(4, 1), driver="gels").solution
""",
    "a target of integers is written after a loss": """
x1 = t.tensor([0.5, 1.5], requires_grad=True)
x2 = t.tensor([1, 1])
x3 = t.nn.functional.huber_loss(x1, x2)
x2.zero_()
x3.backward()
""",
    "a target of bytes is written after a loss": """
x1 = t.tensor([0.5, 1.5], requires_grad=True)
x2 = t.tensor([1, 1], dtype=t.uint8)
x3 = t.nn.functional.smooth_l1_loss(x1, x2)
x2.zero_()
x3.backward()
""",
    "batch_norm checks eps first, and nothing of no elements": """
x1 = t.nn.functional.batch_norm(t.ones(2, 3), t.zeros(3), t.ones(3), eps=-1.0)
x2 = t.nn.functional.batch_norm(t.ones(2, 3), t.zeros(2), t.ones(3), eps=-1.0)
x3 = t.nn.functional.batch_norm(t.ones(1, 3), t.zeros(2), t.ones(3), training=True)
x4 = t.nn.functional.batch_norm(t.ones(0, 3), None, t.ones(2), t.ones(2))
x5 = t.nn.functional.batch_norm(t.ones(2, 3), None, t.ones(2), training=True)
""",
    "BatchNorm without one of its statistics": """
x1 = t.arange(12.0).reshape(4, 3)
m1 = t.nn.BatchNorm1d(3)
m1.running_mean = None
x2 = m1(x1)
x3 = m1.eval()(x1)
x4 = t.nn.Sequential(m1, t.nn.ReLU())(x1)
m2 = t.nn.BatchNorm1d(3)
m2.running_var = None
x5 = m2.eval()(x1)
""",
    "weights of samples that come to require grad": """
x1, x2 = t.tensor([[0.5], [2.0]], requires_grad=True), t.tensor([3.0, 5.0])
x3 = t.nn.functional.embedding_bag(t.tensor([1, 1]), x1, t.tensor([0]), mode="sum", per_sample_weights=x2)
x2.requires_grad_()
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
x4.square().sum().backward()
""",
    "BatchNorm that stops to keep track": """
x1 = t.arange(12.0).reshape(4, 3)
m1 = t.nn.BatchNorm1d(3)
m1.track_running_stats = False
x2 = m1(x1)
x3 = m1.eval()(x1)
m1.train()
x4 = t.nn.Sequential(m1, t.nn.ReLU6())(x1)
""",
    "the curve of a row of zeros that renorm leaves alone": """
x1 = t.zeros(2, 3, requires_grad=True)
x2, = t.autograd.grad(x1.renorm(2, 0, 1.0).sum(), x1, create_graph=True)
x3, = t.autograd.grad(x2.sum(), x1)
""",
    "a row whose powers vanish in renorm": """
x1 = t.tensor([[2e-30], [-1e-30]], dtype=t.float64).requires_grad_()
x2 = x1.renorm(30, -1, 0.0)
x2.sum().backward()
""",
    "infinite products of 16 bits that count for nothing": """
x1, x2 = t.ones(1, 2, dtype=t.bfloat16), t.tensor([[t.inf], [1.0]], dtype=t.bfloat16)
x3 = t.addmm(t.ones(1, dtype=t.bfloat16), x1, x2, alpha=0)
""",
    "a solution of no float16": """
x1 = t.zeros(0, 2, 2, dtype=t.float16)
x2 = t.linalg.solve(x1, x1)
""",
}

# What only a part of a predicate's sentence is about, and must be found still.
WRONG = {
    "the gradient of a quotient": (
        "true_divide",
        """
x1 = t.tensor([-1.0, 0.08], requires_grad=True)
t.true_divide(x1.relu(), x1).sum().backward()
""",
    ),
    "a gradient of hardshrink whose bound is NaN": (
        "nn.functional.hardshrink",
        """
x1 = t.arange(40.0).requires_grad_()
t.nn.functional.hardshrink(x1, lambd=t.nan).sum().backward()
""",
    ),
    "a gradient of lgamma beside a pole": (
        "lgamma",
        "x1 = t.tensor([-1.0000001, 0.5], requires_grad=True)\nt.lgamma(x1).sum().backward()",
    ),
    "an infinite gradient of interpolate to another size": (
        "nn.functional.interpolate",
        """
x1 = t.ones(1, 1, 2, requires_grad=True)
t.nn.functional.interpolate(x1, scale_factor=2).backward(t.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
""",
    ),
    "a gradient of cumprod that is NaN": (
        "cumprod",
        """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
t.cumprod(x1, 0).sum().backward()
""",
    ),
    "a second derivative of atan2 that is NaN": (
        "atan2",
        """
x1, x2 = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([1.0, 2.0])
x3, = t.autograd.grad(t.atan2(x1, x2).sum(), x1, create_graph=True)
""",
    ),
    "a gradient of atan2 by integers": (
        "atan2",
        """
x1, x2 = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([1, 2], dtype=t.int8)
t.atan2(x1, x2).sum().backward()
""",
    ),
    "a second derivative of a half power that is NaN": (
        "Tensor.pow",
        """
x1 = t.tensor([-0.0, 4.0], requires_grad=True)
x3, = t.autograd.grad(x1.pow(0.5).sum(), x1, create_graph=True)
x3.sum().backward()
""",
    ),
    "an arc sine far from the ends": (
        "asin",
        """
x1 = t.tensor([[1.0, 2.0, 4.0], [2.0, 1.0, 3.0]], requires_grad=True)
x2 = t.corrcoef(x1)
t.asin(x2[0, 1]).backward()
""",
    ),
    "the gradient of addcmul by integers that fit": (
        "addcmul",
        """
x1 = t.tensor([1.0, 2.0], requires_grad=True)
x2 = t.tensor([1, 2], dtype=t.int32)
x3 = t.addcmul(x1, x1, x2, value=2)
x3.sum().backward()
""",
    ),
}


# On whatever device the other tests run, these compare on the CPU: they are about the graph and arguments.
@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None


@pytest.mark.parametrize("name, program", [pytest.param(*w, id=name) for name, w in WRONG.items()])
def test_what_is_known_hides_nothing_beside_it(name, program, monkeypatch):
    """A gradient that is NaN."""
    assert compare(program) is None
    module = dt
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    op = getattr(module, last)

    def wrong(x, *others, **options):
        x = x.clone()
        x.register_hook(lambda g: g * dt.nan)
        return op(x, *others, **options)

    monkeypatch.setattr(module, last, wrong)
    assert compare(program) is not None


@pytest.mark.parametrize(
    "name, program",
    [
        (
            "cross",
            "x1 = t.tensor([[1e10, 2.0, 3.0], [2.0, 1.0, 4.0]])\nx2 = t.cross(x1, x1.flip(0), 1)",
        ),
        (
            "mm",
            "x1, x2 = t.tensor([[1e10, 0.0], [0.0, 2.0]]), t.tensor([[1.0, 0.0], [0.0, 1e5]])\nx3 = t.mm(x1, x2)",
        ),
        ("logspace", "x1 = t.logspace(-2147483648, 0, 12, dtype=t.int32)"),
    ],
)
def test_what_large_terms_leave_hides_no_small_ones(name, program, monkeypatch):
    assert compare(program) is None
    op = getattr(dt, name)

    def wrong(*given, **options):
        y = op(*given, **options)
        return dt.where(y.abs() < 100, y + 10**7, y)

    monkeypatch.setattr(dt, name, wrong)
    assert compare(program) is not None


def test_products_that_overflow_hide_no_others(monkeypatch):
    program = """
x1, x2 = t.tensor([1e20, 1e20, 0.0]), t.tensor([1e20, 2e20, 1.0])
x3 = t.linalg.cross(x1, x2)"""
    assert compare(program) is None
    op = dt.linalg.cross
    monkeypatch.setattr(dt.linalg, "cross", lambda *given: op(*given) * 2)
    assert compare(program) is not None
