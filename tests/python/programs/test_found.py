"""What random programs have found, reduced: programs in which the two libraries must agree."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "the step of a slice is its stride also where it takes one element": """
n1 = t.tensor([0.0, 1.0])[::2].stride()
n2 = t.ones(3, 3)[::4, ::2].stride()
n3 = t.tensor([0.0])[:0:3].stride()
""",
    "linspace of one or no step is no range": """
x1 = t.linspace(0, 1, 0, dtype=t.bool)
x2 = t.linspace(0.5, 1, 1, dtype=t.bool)
x3 = t.linspace(0, 1, 2, dtype=t.bool)
x4 = t.linspace(300, 0, 0, dtype=t.uint8)
""",
    "linspace of numbers that do not fit, one step": "x1 = t.linspace(300, 0, 1, dtype=t.uint8)",
    "linspace of numbers that do not fit": "x1 = t.linspace(0, 1e10, 3, dtype=t.int32)",
    "a fraction below the smallest integer": "x1 = t.full((1,), -0.5, dtype=t.uint8)",
    "a fraction above the largest integer": "x1 = t.zeros(1, dtype=t.uint8).fill_(255.5)",
    "empty memory preserves no format": "x1 = t.empty((), memory_format=t.preserve_format)",
    "plus of bools": "x1 = +t.tensor([True])",
    "a product of constants keeps nothing": """
x1 = t.zeros(2, requires_grad=True)
x2 = t.nn.functional.linear(t.ones(2, 1, 3), t.ones(2, 3), x1).sum()
x2.backward()
x2.backward()
x3 = t.addmm(x1, t.ones(4, 3), t.ones(3, 2), beta=2).sum()
x3.backward()
x3.backward()
""",
    "an index without elements is not kept": """
x1 = t.ones(1, 1, requires_grad=True)
x2 = t.zeros((0, 1), dtype=t.int64)
x3 = x1.scatter_add(0, x2, t.ones(0, 1))
x2.fill_(0)
x3.backward()
""",
    "parameters frozen before a backward with a graph": """
m1 = t.nn.BatchNorm2d(1)
x1 = t.arange(4.0).reshape(1, 1, 2, 2)
x2 = m1(x1)
m1.bias.requires_grad_(False)
x2.square().sum().backward(create_graph=True)
""",
    "convolutions of constants": """
x1 = t.arange(16.0).reshape(1, 1, 4, 4)
x2 = t.ones(1, 1, 2, 2, requires_grad=True)
x3 = t.nn.functional.conv2d(x1, x2)
x3.sum().backward(create_graph=True)
x4 = x1.clone().requires_grad_()
x5 = t.nn.functional.conv2d(x4, t.ones(1, 1, 2, 2))
x5.sum().backward(create_graph=True)
""",
    "a gradient by an index without elements": """
x1 = t.zeros((), requires_grad=True)
x2 = t.ones(1).scatter_add(0, t.zeros((0,), dtype=t.int64), x1)
x2.square().backward(create_graph=True)
""",
    "the product of a number is the number": """
x1 = t.tensor(2.0, requires_grad=True)
x2 = x1.prod()
x3, x4 = t.autograd.grad(x2, [x1, x2], x1)
x5, x6 = x1.prod(0), t.tensor(True).prod(0, keepdim=True)
""",
    "the target's gradient at infinity": """
x1 = t.tensor([-t.inf, t.inf, -1.0])
x2 = t.tensor([2.0, 0.5, 0.5], requires_grad=True)
t.nn.functional.binary_cross_entropy_with_logits(x1, x2, reduction="sum").backward()
""",
    "batch_norm without eps": """
x1 = t.ones(2, 3)
x2 = t.nn.functional.batch_norm(x1, t.zeros(3), t.ones(3), eps=0.0)
x3 = t.nn.functional.batch_norm(x1, t.zeros(3), t.ones(3), training=True, eps=0.0)
""",
    "images that are joined keep their order": """
x1 = t.arange(16.0).reshape(2, 2, 2, 2).permute(0, 3, 1, 2)
x2 = t.cat([x1, x1], 1)
x3 = t.cat([x1, x1.bool()])
x4 = t.cat([x1, x1.contiguous()])
x5 = t.cat([x1, t.ones(0)])
""",
    "a copy to itself": """
x1 = t.ones(()).expand(2)
x1.copy_(x1)
x1[:2] = x1
x2 = t.ones(2, requires_grad=True) * 2
x2.copy_(x2)
x2.sum().backward()
""",
    "a leaf that an op has written since": """
x1 = t.tensor([1.0], requires_grad=True)
x2 = t.sigmoid(x1)
x1.requires_grad_(False)
x1 += x2
x1.backward()
""",
    "a leaf that was detached, written and trained again": """
x1 = t.tensor([1.0], requires_grad=True)
x2 = x1 * 2
x1.detach_()
x1 += t.ones(1, requires_grad=True)
x1.detach_()
x1.requires_grad_()
x2.backward()
""",
    "roots and reciprocals of infinity and 0": """
x1 = t.tensor([-t.inf, t.inf, 0.0, -0.0], requires_grad=True)
x2 = t.ones(4)
x3, = t.autograd.grad(x1.pow(-0.5), x1, x2, create_graph=True)
x4, = t.autograd.grad(x3, x1, x2)
x5, = t.autograd.grad(x1.pow(-1), x1, x2, create_graph=True)
x6, = t.autograd.grad(x5, x1, x2)
""",
    "integers between ends that wrap around": """
x1 = t.linspace(-1, 0, 12, dtype=t.uint8)
x2 = t.linspace(5, -3, 9, dtype=t.uint8)
""",
    "the order of dimensions beside one of size 1": """
x1 = t.ones(2, 1, 1).permute(1, 2, 0)
x2 = x1 * t.ones(2, 1)
n3 = (x1 + 1).stride()
n4 = (x1 + x1).stride()
x5 = t.where(t.ones(2, 1).ge(0), t.ones(1), x1)
""",
    "a power of 0 and a gradient that is infinite": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = -0.0 ** x1
x2.rsqrt_()
x2.backward()
x3 = t.zeros(2, requires_grad=True)
(x3 ** t.tensor([0.0, 2.0], requires_grad=True)).backward(t.tensor([t.nan, t.inf]))
""",
    "a triangle of an expanded leaf": """
x1 = t.ones(1, 1).expand(1, 2).requires_grad_()
with t.no_grad():
    x1.triu_(1)
""",
    "a bias beside constants": """
x1 = t.ones(2, requires_grad=True)
x2 = t.nn.functional.conv2d(t.ones(1, 1, 3, 3), t.ones(2, 1, 2, 2), x1)
x2.sum().backward(create_graph=True)
""",
    "the second derivative of a loss of logits at infinity": """
x1, x2 = t.tensor([1e30], requires_grad=True), t.tensor([0.5], requires_grad=True)
x3, = t.autograd.grad(t.nn.functional.binary_cross_entropy_with_logits(x1, x2), x1, create_graph=True)
x4, = t.autograd.grad(x3, x2, t.tensor([t.inf]))
""",
    "a slice that is all of it": """
x1 = t.ones(1, requires_grad=True)
x2 = x1 * 2
x2[:1] = 0.0
x3, = t.autograd.grad(x2.square(), x1, create_graph=True)
x4 = t.ones(2, 3, requires_grad=True) * 2
x4[0:2:1, :5] = x1
x4.sum().backward(create_graph=True)
""",
    "a tensor of a number that does not fit": """
x1 = t.zeros(2, dtype=t.uint8).masked_fill(t.tensor([True, False]), t.tensor(-0.5))
x2 = t.zeros(2, dtype=t.int32).masked_fill(t.tensor([True, False]), t.tensor(1e10))
x3 = t.zeros(2, dtype=t.uint8).masked_fill(t.tensor([True, False]), t.tensor(-1))
x4 = t.zeros(2).masked_fill(t.tensor([True, False]), t.tensor(1e300, dtype=t.float64))
""",
    "norms of nothing without an identity": """
x1 = t.zeros(0, 0).norm(t.inf, dim=1)
x2 = t.zeros(0, 2).norm(-1, dim=1)
x3 = t.zeros(0, 2).norm(t.inf, dim=(0, 1))
""",
    "the steps of new dimensions": """
n1 = t.ones(3, 2).expand(1, 4, 1, 3, 2).stride()
n2 = t.ones(2).expand(1, 1, 2).stride()
n3 = t.ones(()).expand(1, 1).stride()
""",
    "a reshape that copies is no view": """
x1 = t.zeros(1, 2, requires_grad=True)
x2 = x1.expand(2, 2).reshape(-1)
x2.sign_()
x3, = t.autograd.grad(x2, x1, x2, create_graph=True)
with t.no_grad():
    x4 = x1.expand(2, 2).reshape(-1)
x4.add_(x1.sum())
""",
    "the gradient of a view, differentiated twice": """
x1 = t.ones(3, requires_grad=True)
x2 = t.ones(1, requires_grad=True)
x3, = t.autograd.grad(x1[1:2], x1, x2, create_graph=True)
x3.sum().backward()
x3.sum().backward()
""",
    "a gradient of another dtype": """
x1 = t.tensor(1.0, dtype=t.float64, requires_grad=True)
x1.backward(t.tensor(2.0, requires_grad=True))
""",
    "a copy of a module has no gradients": """
import copy
m1 = t.nn.LayerNorm(2)
m1(t.arange(2.0)).sum().backward(create_graph=True)
x2 = copy.deepcopy(m1).weight.grad
x3 = copy.deepcopy(m1.weight).grad
""",
    "logsumexp of an infinity": """
x1 = t.tensor([[1e30, t.inf], [0.0, -t.inf], [-t.inf, -t.inf]], requires_grad=True)
x2 = x1.logsumexp(1)
x3, = t.autograd.grad(x2.sum(), x1, retain_graph=True)
x4 = t.tensor([[1.0, 2.0]], requires_grad=True)
x5, = t.autograd.grad(x4.logsumexp((0, 1), True).sum(), x4, create_graph=True)
x5[0, 0].backward()
x4.detach().zero_()
""",
    "the derivative of a difference keeps nothing": """
x1, x2 = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
x3, = t.autograd.grad(x1.sub(x1 * x1), x1, x2, create_graph=True)
x4, = t.autograd.grad(x1 - x1, x1, x2, create_graph=True)
x4.sum().backward()
x4.sum().backward()
""",
    "a copy of a leaf whose gradient has a graph": """
import copy
x1 = t.ones(2, requires_grad=True)
x1.sum().backward()
x2 = copy.deepcopy(x1)
x1.square().sum().backward(create_graph=True)
x3 = copy.deepcopy(x1)
""",
    "the truth of elements is row-major": """
x1 = t.arange(6).reshape(2, 3).t()
x2 = t.all(x1, ())
x3 = x1.bool().any(())
""",
    "a part of a gradient is no view of it": """
x1 = t.zeros(2)
x2 = t.zeros(1, requires_grad=True)
x1[:1] = x2
x3 = t.ones(2)
x4, = t.autograd.grad(x1, x2, x3)
x4.zero_()
""",
    "a loss of logits is linear in the target": """
x1, x2 = t.zeros(1, requires_grad=True), t.zeros(1, requires_grad=True)
x3 = t.nn.functional.binary_cross_entropy_with_logits(x1, x2)
x4, = t.autograd.grad(x3, x1, create_graph=True)
x4.backward(create_graph=True)
""",
    "the derivative of softmax of a number keeps the result": """
x1 = t.tensor(0.0, requires_grad=True)
x2, x3 = t.softmax(x1, 0), t.log_softmax(x1, 0)
s4, s5 = [], []
x2.register_hook(lambda g: s4.append(g))
x3.register_hook(lambda g: s5.append(g))
x6, = t.autograd.grad(x2, x1, create_graph=True)
x6.backward()
x7, = t.autograd.grad(x3, x1, create_graph=True)
x7.backward()
x8, = t.autograd.grad(t.softmax(x1, -1), x1)
x9 = t.softmax(t.tensor(1.0, dtype=t.float64), -1, dtype=t.float32)
""",
    "a weight of lerp that is a number of another dtype": """
x1, x2 = t.ones(2, dtype=t.float64, requires_grad=True), t.tensor(0.5, requires_grad=True)
x3 = x1.lerp(x1 * 3, x2)
x3.sum().backward()
x4 = t.tensor(1.0).lerp(t.tensor(2.0), t.tensor(0.25, dtype=t.float64))
x5 = t.zeros(2).lerp_(t.ones(2), t.tensor(0.25, dtype=t.float64))
""",
    "integers have no NaN to replace, also in expanded memory": """
x1 = t.tensor([[0]]).expand((1, 2))
x1.nan_to_num_()
""",
    "xlogy of two numbers": "x1 = t.xlogy(0.0, 0.0)",
    "an infinite gradient of what nan_to_num has replaced": """
x1 = t.tensor([t.inf, t.nan, 1.0], requires_grad=True)
t.nan_to_num(x1).backward(t.full((3,), t.inf))
""",
    "the gradient of logit at -0 and of nothing": """
x1 = t.tensor([-0.0, 0.0, 1.0], requires_grad=True)
t.logit(x1).sum().backward()
x2 = t.tensor([-0.0, 0.0, 1.0], requires_grad=True)
t.logit(x2).backward(t.zeros(3))
""",
    "ldexp keeps the exponent, for the exponent's gradient the result": """
x1, x2 = t.arange(3), t.tensor(0.5, requires_grad=True)
x3 = x1.ldexp(x2)
with t.no_grad():
    x2 -= 0.5
x3.sum().backward()
x4, x5 = t.ones(2, requires_grad=True), t.ones(2)
x6 = x4.ldexp(x5)
x5.zero_()

""",
    "a power of 2 that only the product can hold": """
x1 = t.tensor([1e30, 1e-30, 0.0, t.inf, 1.0, t.nan])
x2 = x1.ldexp(t.tensor([-200, 200, 2000, -2000, 3000, 1])) * 1e30
x3 = x1.double().ldexp(t.tensor([-200, 2000, 20000, -20000, -2000, 1]))
""",
    "logit beyond its bounds, and bounds that cross": """
x1 = t.tensor([-1.0, 0.0, 0.5, 2.0, t.inf, t.nan], requires_grad=True)
x2, = t.autograd.grad(t.logit(x1).sum(), x1, create_graph=True)
x3, = t.autograd.grad(x2.sum(), x1)
x4, = t.autograd.grad(t.logit(x1, 0.1).sum(), x1)
x5, = t.autograd.grad(t.logit(x1[:5], 0.1).sum(), x1, create_graph=True)
x6, = t.autograd.grad(x5[:5].sum(), x1)
x7 = t.logit(t.tensor([0.1, 0.5, 0.8]), 0.7)
x8 = t.tensor([0.1, 0.5, 0.8]).logit_(0.7)
""",
    "the angle of no vector": """
x1, x2 = t.tensor([0.0, -0.0], requires_grad=True), t.zeros(2, requires_grad=True)
x3 = t.tensor([t.inf, 1.0], requires_grad=True)
x4, x5 = t.autograd.grad(t.atan2(x1, x2), [x1, x2], x3, create_graph=True)
x6, = t.autograd.grad((x4 + x5).sum(), x3)
""",
    "what an infinite gradient is not multiplied with": """
x1, x2 = t.tensor([0.0, 0.0, 2.0, t.nan], requires_grad=True), t.tensor([0.0, -1.0, 0.0, t.inf])
x3 = t.tensor([1.0, t.inf, 0.0, 0.0], requires_grad=True)
x4, = t.autograd.grad(t.xlogy(x1, x2), x1, x3, create_graph=True)
x5, = t.autograd.grad(x4.sum(), x3)
x6, = t.autograd.grad(t.copysign(x1, x2), x1, x3, create_graph=True)
x7, = t.autograd.grad(x6.sum(), x3)
x8, x9 = t.tensor([t.inf, 3.0], requires_grad=True), t.tensor([t.nan, t.inf], requires_grad=True)
x10 = t.ones(2, requires_grad=True)
x11, x12 = t.autograd.grad(t.prelu(x8.reshape(1, 2), x9).sum(0), [x8, x9], x10, create_graph=True)
x13, = t.autograd.grad((x11 + x12).sum(), x10)
""",
    "derivatives of activations at NaN, and of infinite gradients": """
x1 = t.tensor([t.nan, -4.0, 4.0, 1.0], requires_grad=True)
x2, = t.autograd.grad(t.nn.functional.hardswish(x1), x1, t.tensor([1.0, t.inf, t.inf, 1.0]), create_graph=True)
x3, = t.autograd.grad(x2.sum(), x1)
x4, = t.autograd.grad(t.nn.functional.selu(x1).sum(), x1, create_graph=True)
x5, = t.autograd.grad(x4.sum(), x1)
x6, = t.autograd.grad(t.nn.functional.elu(x1).sum(), x1, create_graph=True)
x7, = t.autograd.grad(x6.sum(), x1)
""",
    "the second derivative of prelu with a constant slope": """
x1 = t.tensor([1.0, -2.0], requires_grad=True)
x2, = t.autograd.grad(t.prelu(x1, t.tensor(0.5)).sum(), x1, create_graph=True)
x3, = t.autograd.grad(x2.sum(), x1)
""",
    "lerp of integers by a float without dimensions": """
x1 = t.lerp(t.tensor([1, 0]), t.tensor([0, 3]), t.tensor(0.5, dtype=t.float64))
x2 = t.lerp(t.tensor([True]), t.tensor([False]), t.tensor(0.25))
x3 = t.lerp(t.tensor([1, 0]), t.tensor([0, 3]), t.tensor([0.5, 0.5]))
x4 = t.tensor([1, 0]).lerp_(t.tensor([0, 3]), t.tensor(0.5))
""",
    "einsum of one operand is never the operand itself": """
x1 = t.ones(2, 2, requires_grad=True)
x2 = t.einsum('ij->ij', [x1])
x3 = t.einsum('...->...', [x1.detach().sum()])
x3.zero_()
""",
    "a histogram's edges, and weights of another shape": """
x1, x2 = t.tensor([0.0, 1.0, 1.5], requires_grad=True), t.tensor([[1.0, 2.0, 4.0]])
x3, x4 = t.histogram(x1, 2, weight=x2)
x5, x6 = t.histogram(x1.detach(), t.tensor([0.0, 1.0, 2.0], requires_grad=True))
x7, x8 = t.histogram(t.tensor(1.0), 2, weight=t.tensor([2.0]))
""",
    "steps of dimensions of size 1": """
n1 = t.zeros(1, 1, 2)[..., 0].view_as(t.zeros(1)).stride()
n2 = t.zeros(2, 3).t().reshape(1, 3, 2, 1).flatten(0, 1).stride()
n3 = t.zeros(8).as_strided((1, 2, 2, 2), (4, 4, 2, 1)).tanh().stride()
n4 = t.zeros(18).as_strided((3, 3, 1, 2), (6, 1, 18, 3)).neg().stride()
n5 = t.zeros(4).as_strided((1, 2, 2, 1), (1, 1, 2, 1)).tanh().stride()
x6 = t.max_pool2d(t.zeros(4).as_strided((1, 2, 2, 1), (1, 1, 2, 1)).tanh(), 1)
n7 = (t.zeros(6).as_strided((3, 1, 2), (1, 7, 3)) + t.zeros(6).as_strided((3, 1, 2), (1, 7, 3))).stride()
n8 = t.zeros(0, 1).expand(0, 3).view(0, 3).stride()
n9 = t.zeros(2).as_strided((1, 2, 1), (7, 1, 9))[:].stride()
n10 = t.zeros(2).as_strided((1, 2, 1), (7, 1, 9))[...].stride()
""",
    "windows that do not divide what they cover": """
x1 = t.tensor([[[0.0, 0.5]]])
x2 = t.nn.functional.adaptive_avg_pool1d(x1, 5)
x3 = t.nn.functional.adaptive_avg_pool2d(t.arange(21.0).reshape(1, 3, 7), (5, 4))
x4 = t.nn.functional.adaptive_max_pool2d(x1, 5)
x5 = t.nn.functional.adaptive_avg_pool1d(t.tensor([[[0.0, 1.0, t.inf, t.nan]]]), 5)
""",
    "one mean of an image needs no channels": """
x1 = t.nn.functional.adaptive_avg_pool2d(t.ones(5, 5), 1)
x2 = t.nn.functional.adaptive_avg_pool3d(t.ones(1, 2, 3, 4, 5, 6), 1)
""",
    "means of windows have a derivative of zeros": """
x1 = t.arange(6.0).reshape(1, 2, 3).requires_grad_()
x2 = t.nn.functional.adaptive_avg_pool1d(x1, 2)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x4, = t.autograd.grad(x3.sum(), x1)
""",
    "a copy with something else in a place keeps nothing": """
x1, x2 = t.zeros(2, 2, requires_grad=True), t.ones(2, requires_grad=True)
x3 = t.select_scatter(x1, x2, 0, 0) + x1.slice_scatter(x2.reshape(1, 2), 0, 1) + x1.diagonal_scatter(x2)
x3.sum().backward()
x3.sum().backward()
x4 = x1.as_strided_scatter(x2, (2,), (3,))
x5, = t.autograd.grad(x4.sum(), x2, retain_graph=True)
x6, = t.autograd.grad(x4.sum(), x2)
""",
    "a copy with something else in a place lies as it did": """
x1 = t.arange(8.0).reshape(2, 4)[:, ::2]
n2 = x1.select_scatter(t.ones(2), 0, 0).stride()
n3 = x1.slice_scatter(t.ones(2, 2)).stride()
n4 = x1.diagonal_scatter(t.ones(2)).stride()
n5 = x1.as_strided_scatter(t.ones(2), (2,), (3,)).stride()
x6 = x1.as_strided_scatter(t.ones(2), (2,), (3,), 1).as_strided((8,), (1,), 0)
x7 = t.zeros(2, 1).expand(2, 2).diagonal_scatter(t.ones(2))
""",
    "what is scattered out of place may be the tensor itself": """
x1, x2 = t.tensor([1.0, 2.0]), t.tensor([0, 0])
x3 = x1.index_reduce(0, x2, x1, "amax")
x4 = x1.scatter_reduce(0, x2, x1, "amin")
x5 = t.tensor([1, 2]).masked_scatter(t.tensor([False, True]), x2)
x2.masked_scatter_(t.tensor([False, True]), x2)
""",
    "margins of infinities": """
x1 = t.tensor([[-t.inf, -t.inf, 1.0], [t.inf, t.nan, 2.0]], requires_grad=True)
x2 = t.nn.functional.multi_margin_loss(x1, t.tensor([0, 1]), p=2, reduction="none")
x2.sum().backward()
x3 = t.nn.functional.multilabel_margin_loss(x1.detach(), t.tensor([[0, -1, -1], [1, -1, -1]]), reduction="none")
""",
    "gradients of margins are part of a graph": """
x1 = t.zeros(2, 2, requires_grad=True)
x2, = t.autograd.grad(t.nn.functional.multi_margin_loss(x1, t.tensor([0, 1])), x1, create_graph=True)
x3, = t.autograd.grad(t.nn.functional.multilabel_margin_loss(x1, t.tensor([[0, -1], [1, -1]])), x1, create_graph=True)
""",
    "a loss with targets of uint8, and weights of more dimensions": """
x1 = t.nn.functional.multilabel_soft_margin_loss(t.tensor([[0.5]]), t.tensor([[2]], dtype=t.uint8))
x2 = t.nn.functional.multilabel_soft_margin_loss(t.ones(2), t.ones(2), weight=t.ones(3, 2, 2))
""",
    "bent losses at NaN, and of bools": """
x1 = t.tensor([t.nan, t.inf, 1.0], requires_grad=True)
t.nn.functional.smooth_l1_loss(x1, t.zeros(3), reduction="sum").backward()
x2 = t.tensor([t.nan, t.inf, 1.0], requires_grad=True)
t.nn.functional.huber_loss(x2, t.zeros(3), reduction="sum").backward()
x3 = t.tensor([0.5], requires_grad=True)
t.nn.functional.smooth_l1_loss(t.tensor([True]), x3).backward(create_graph=True)
""",
    "a sum that its first term takes no part in": """
x1 = t.full((2, 2), t.nan, requires_grad=True)
x2 = t.addr(x1, t.ones(2), t.ones(2), beta=0)
x2.sum().backward()
""",
    "a first term of a sum keeps nothing": """
x1 = t.zeros(2, 2, requires_grad=True)
x2 = t.addr(x1, t.ones(2), t.ones(2), beta=2).sum()
x2.backward()
x2.backward()
""",
    "no index, and gradients of both": """
x1, x2 = t.zeros(0, 1, 3, requires_grad=True), t.zeros(0, 1, 3, requires_grad=True)
x1.index_reduce(-2, t.tensor([0]), x2, "amax").sum().backward()
""",
    "bools that have no order": """
x1 = t.tensor([True, False]).index_reduce(0, t.tensor([0]), t.tensor([True]), "amin")
""",
    "logspace of one step has its start's fraction": """
x1 = t.logspace(0.5, 0.0, 1, dtype=t.int64)
x2 = t.logspace(1.7, 2, 1, base=2.5, dtype=t.int32)
x3 = t.logspace(1.7, 2, 2, dtype=t.int32)
x4 = t.logspace(1.46, -3, 5, 0.5, dtype=t.uint8)
x5 = t.logspace(-1, 3, 3, 0.5, dtype=t.uint8)
""",
    "norms that are bounded are row-major": "x1 = t.ones(2, 3).t().renorm(1, 0, 1)",
    "transposed convolutions of constants": """
x1, x2 = t.ones(1, 1, 2, requires_grad=True), t.ones(1, 1, 1)
t.nn.functional.conv_transpose1d(x1, x2).sum().backward(create_graph=True)
x3, x4 = t.ones(1, 1, 2, 2, 2), t.ones(1, 1, 1, 1, 1, requires_grad=True)
t.nn.functional.conv_transpose3d(x3, x4).sum().backward(create_graph=True)
""",
    "dropout of channels without a batch": """
x1 = t.zeros(2, 3).requires_grad_()
x2 = t.nn.functional.dropout1d(x1, 0.0)
x3 = t.nn.functional.dropout3d(x1, 0.0)
x4 = t.nn.functional.dropout3d(t.tensor(0.0))
""",
    "places along a dimension that is not there": "x1 = t.take_along_dim(t.tensor(0), t.tensor(0), 0)",
    "the dtype of angles": "x1 = t.cosine_similarity(t.ones(1, 1), t.ones((), dtype=t.float64))",
    "a tensor without margins keeps its order": """
x1 = t.nn.functional.pad(t.arange(6.0).reshape(3, 2).t(), ())
n2 = t.nn.functional.pad(t.arange(6.0).reshape(3, 2).t(), (0, -1)).stride()
""",
    "Bessel functions that overflow, and what they keep": """
x1 = t.tensor([100.0, -100.0, 800.0, 1.0], requires_grad=True)
x2 = t.i0(x1)
x2.round_()
x3, = t.autograd.grad(x2.sum(), x1)
x4, = t.autograd.grad(t.i0(x1).sum(), x1, create_graph=True)
""",
    "a value for padding that takes none": """
x1 = t.nn.functional.pad(t.ones(1, 2, 3), (1, 1), "replicate", 0)
x2 = t.nn.functional.pad(t.ones(1, 2, 3), (1, 1), "circular", False)
x3 = t.nn.functional.pad(t.ones(1, 2, 3), (1, 1), "reflect", 1)
""",
    "the largest elements of no windows": """
x1 = t.ones(1, 3, 3, requires_grad=True)
x2 = t.nn.functional.adaptive_max_pool2d(x1, (0, 2))
x3 = t.nn.functional.adaptive_max_pool1d(x1 * 2, 0)
x4 = t.nn.functional.adaptive_max_pool3d(t.ones(1, 2, 3, 4, requires_grad=True), 0)
""",
    "the number after an integer": """
x1 = t.tensor([1, 2])
x1.nextafter_(t.ones(2))
x1.nextafter_(t.ones(2, dtype=t.float64))
x2 = t.ones(2).nextafter_(t.zeros(2, dtype=t.float64))
x3 = t.tensor([0.0, 2.0], requires_grad=True)
x4 = x1.nextafter(x3).sum()
x4.backward()
x4.backward()
""",
    "a mean does not look at what its deviation is made of": """
x1 = t.tensor([0.0, 1.0], requires_grad=True)
x2, x3 = t.std_mean(x1)
with t.no_grad():
    x1.sub_(1)
x3.backward()
""",
    "xlogy of 0 by a number that is NaN": """
x1 = t.zeros(2, requires_grad=True)
x2 = t.xlogy(x1, t.nan)
x2.sum().backward()
""",
    "expanded memory in a batch of products": """
x1 = t.ones(1).expand((3, 1, 1))
x1.baddbmm_(t.ones(3, 1, 1), t.ones(3, 1, 1))
""",
    "densities of narrow bins": """
x1 = t.tensor([-1.6])
x2, x3 = x1.histogram(density=True)
""",
    "what was solved from the right is no result of a factor": """
x1 = t.tensor([[2.0]], dtype=t.float64, requires_grad=True)
x2 = t.linalg.lu_solve(*t.linalg.lu_factor(x1 + 1), t.ones(1, 1, dtype=t.float64), left=False)
x3, = t.autograd.grad(x2, [x1], create_graph=True)
s4 = []
x2.register_hook(lambda g: s4.append(g.clone()))
x3.backward()
""",
    "what ran in vain has forgotten what it kept": """
x1 = t.tensor(0.0, requires_grad=True)
x2 = x1.tanh()
t.autograd.backward([x2], inputs=[x2])
x2.backward()
""",
    "the backward of cummin of nothing": """
x1 = t.zeros((0, 0), requires_grad=True)
x2 = t.hstack([x1])
x3, x4 = t.cummin(x2, 0)
x3.sum().backward()
x2.sum().backward()
""",
    "strides that attention has in dimensions of size 1": """
x1 = t.zeros((2, 1, 2, 1)).permute((1, 2, 0, 3))
x4 = t.nn.functional.scaled_dot_product_attention(x1, t.zeros((1, 2, 2, 1)), t.zeros((1, 2, 2, 1)))
n5, n6, n7, n8 = x4.stride()
""",
    "an operand of attention that requires grad later": """
x1 = t.zeros((2, 1, 4), dtype=t.float64, requires_grad=True)
x2 = t.zeros((2, 1, 4), dtype=t.float64)
x3 = t.zeros((2, 1, 4), dtype=t.float64)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3)
x3.requires_grad_()
x5, = t.autograd.grad(x4.mean(), [x1], create_graph=True)
x6, = t.autograd.grad(x5.sum(), [x1], create_graph=True)
x6.sum().backward()
""",
    "a view that was written goes on retaining its gradient": """
x1 = t.tensor([[[3.0]]], requires_grad=True)
x2 = t.sum(x1)
x3 = x2[None]
x4 = x3.broadcast_to((1,))
x3[0::1] = x2
t.autograd.backward([x3], inputs=[x3])
x5, = t.autograd.grad(x4.square(), [x2], create_graph=True)
""",
    "counts have no derivative": """
x1 = t.tensor([1.0, 1.0, 3.0], requires_grad=True)
x2 = t.histogram(x1, 2).hist
x2.sum().backward()
""",
}


# On whatever device the other tests run, these compare on the CPU: they are about the graph and arguments.
@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
