"""What random programs have found of what ops keep for their gradients, reduced."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "indices of rows in another order, which are written": """
x1 = t.tensor([[0, 1], [1, 0]]).t()
x2 = t.ones(2, 3).requires_grad_()
x3 = t.nn.functional.embedding(x1, x2)
x1.ge_(0)
x3.sum().backward()
""",
    "what the derivative of a derivative multiplies with": """
x1 = t.tensor([0.5], dtype=t.float64).requires_grad_()
x2, x3 = t.tanh(x1), t.sigmoid(x1)
x4, = t.autograd.grad(x2.exp(), x1, create_graph=True)
x5, = t.autograd.grad(x3.exp(), x1, create_graph=True)
x6 = t.ones(1, dtype=t.float64).requires_grad_()
x7, = t.autograd.grad(x2, x1, x6, create_graph=True)
x8, = t.autograd.grad(x3, x1, x6, create_graph=True)
with t.no_grad():
    x2.mul_(2.0)
    x3.mul_(2.0)
x9, = t.autograd.grad(x7, x6)
x10, = t.autograd.grad(x8, x6)
x4.backward()
""",
    "a gradient without memory, whose ops are looked at": """
x1 = t.tensor([[0.0]], requires_grad=True)
x2, x3 = t.var_mean(x1, 0)
x4 = x2.sgn()
x4.backward()
""",
    "a batch that comes first in memory": """
x1 = t.ones((2, 3, 4), dtype=t.float64).permute((1, 0, 2))
m2 = t.nn.TransformerDecoderLayer(4, 1, dropout=0.0).to(t.float64)
m2 = m2.apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x3 = m2(x1, x1)
x4 = t.nn.functional.elu(x1, inplace=True)
x3.square().sum().backward()
""",
    "zeros that come to a grid by the nearest elements": """
x1 = t.tensor([[[[[0.0]]]]], dtype=t.float64)
x2 = t.zeros((1, 1, 1, 1, 3), dtype=t.float64).requires_grad_()
x3 = t.nn.functional.grid_sample(x1, x2, 'nearest')
x3.backward(create_graph=True)
x4 = x2.grad
x5 = x2.grad.clone()
x5.sum().backward()
""",
    "a power without a graph, which a hook hears of": """
x1 = t.tensor([[[0.5]]], requires_grad=True)
x2 = t.nn.functional.conv_transpose1d(x1, x1)
x3, = t.autograd.grad(x2.square(), x1, create_graph=True)
s4 = []
x2.register_hook(lambda g: s4.append(g))
x5, = t.autograd.grad(x3, x2, create_graph=True)
x5.backward()
""",
    "indices that are written, behind a view of what was detached": """
x1 = t.tensor(0.0, requires_grad=True)
x2, x3 = x1.median(0)
x4 = t.flatten(x2)
x2.detach_()
x3.add_(x3)
x2.trunc_()
x4.backward()
""",
    "a recurrent layer after the derivative of its derivative": """
m1 = t.nn.LSTM(1, 1).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x2 = t.tensor([[[0.5]]], requires_grad=True)
x3 = m1(x2)[0]
x4, = t.autograd.grad(x3, x2, create_graph=True)
x4.backward()
x3.backward()
""",
    "a product whose derivative forwards is constant": """
x1, x2 = t.ones(1, 1).requires_grad_(), t.ones(1, 1).requires_grad_()
x3 = t.func.jacfwd(lambda a, b: a * b)(x1, x2)
x4, = t.autograd.grad(x3, [x1])
""",
    "whole numbers that are written into a view, and gradients of them": """
x1 = t.ones(1, 3, 2, 3)
x2 = t.zeros(2, 3, requires_grad=True)
x3 = t.tensor([0.5], requires_grad=True)
x4 = x1.addcmul(x2, x3)
x5, = t.autograd.grad(x4, [x2], x1, create_graph=True)
x6 = x5.ceil_()
x5.backward(x5, create_graph=True)
""",
    "addr keeps its left vector": """
x1 = t.tensor([[0.0]])
x2 = t.tensor([0.0])
x3 = t.tensor([0.0]).requires_grad_()
x4 = x1.addr(x2, x3)
x2.arctanh_()
x4.backward()
""",
    "a norm and a ReLU that are one kernel": """
m1 = t.nn.Sequential(t.nn.BatchNorm2d(2), t.nn.ReLU())
x2 = t.arange(8.0).reshape(1, 2, 2, 2).requires_grad_()
x3 = m1(x2)
x3.ceil_()
x3.backward(x3.detach())
""",
    "zeros that are added to the gradient of a constant convolution": """
x1 = t.ones(1, 1, 1, 1, dtype=t.float64).requires_grad_()
x2 = t.ones(1, 1, 1, 1, 1, dtype=t.float64)
x3 = t.conv3d(x1, x2)
x3.backward(create_graph=True)
x4 = x1.grad
x5 = x4.mul(0)
x5.backward()
""",
    "the index of a number in its curve": """
x1 = t.tensor(0.0, requires_grad=True)
x2, x3 = t.min(x1, 0)
x4, x5 = t.autograd.grad(x2, [x1, x2], x2, create_graph=True)
x3.negative_()
x4.backward()
""",
    "a norm of channels in its curve": """
x1 = t.tensor([[[0.0]]], requires_grad=True)
x2 = t.nn.functional.local_response_norm(x1, 1)
x3, = t.autograd.grad(x2.square(), x1, create_graph=True)
x3.backward(retain_graph=True)
o4 = t.optim.Adafactor([x1])
o4.step()
x5 = t.autograd.grad(x3, [x2])
""",
    "a triangle from the right that comes to require a gradient": """
x1 = t.tensor([[[[0.0]]]], dtype=t.float64).requires_grad_()
x2 = t.tensor([[[[0.0]]]], dtype=t.float64)
x3 = t.linalg.solve_triangular(x2, x1, upper=True, left=False)
x2.requires_grad_()
x3.backward(create_graph=True)
""",
    "the divisor of a view, which is not forgotten": """
x1 = t.arange(1).to(t.float32).reshape(())
x2 = t.tensor(0.0, requires_grad=True)
x1 //= x2
x3, = t.autograd.grad(x1, x2)
""",
    "what an argument of vmap is known to require later": """
x1 = t.tensor([[0.5]], requires_grad=True)
x2 = t.tensor([[0.5]])
x3 = t.vmap(lambda a, b: a * b)(x1, x2)
x2.requires_grad_()
x3.backward(create_graph=True)
""",
    "a place in what was copied": """
import copy
x1 = copy.deepcopy(t.arange(2)[1:])
x2 = t.as_strided_scatter(x1, t.tensor([0.0]), (1,), (0,), storage_offset=0)
""",
    "what lies before the elements of a view that is copied": """
import copy
x1 = t.tensor([[0, 0], [0, 0.5]])[1:]
x2 = copy.deepcopy(x1)
x3 = x2.as_strided_scatter(t.tensor([0.0, 0.0]), (2,), (1,), 0)
x4, x5 = copy.deepcopy([x1, x1[0, 1:]])
x4.add_(1)
x6 = x5.storage_offset()
""",
    "what the divisor of a view was made of, and is changed": """
x1 = t.tensor([[1.0]], dtype=t.float64).requires_grad_()
x2 = t.tensor([[1.0]], dtype=t.float64)
x3 = t.linalg.solve_triangular(x2, x1, upper=True)
x4 = x2.expand((0, 0))
x4.floor_divide_(x3)
t.autograd.backward([x4.sum()], inputs=[x1])
""",
    "a power of 0, which leads to nothing": """
x1 = t.tensor([[0.0, 1.0]], requires_grad=True)
x2 = t.tensor([0.5, 0.0], requires_grad=True)
x3 = x1 @ x2
x4 = x3 ** 0.0
x5, = t.autograd.grad(x4.mean(), x1, create_graph=True)
x5.sum().backward()
x6 = (x2 * 1).pow_(0)
x7, = t.autograd.grad(x6.sum(), x2, create_graph=True)
x8 = t.ones(2, 3).t().requires_grad_().pow(0)
""",
    "what comes to an inverse that its derivative is made of": """
x1 = t.tensor([[0.5]]).requires_grad_()
x2 = t.cholesky_inverse(x1)
x3, = t.autograd.grad(x2, x1, create_graph=True)
x4, = t.autograd.grad(x3, x2)
x5 = t.tensor([[2.0, 0.5], [0.0, 1.0]], dtype=t.float64, requires_grad=True)
x6 = t.cholesky_inverse(x5, upper=True)
x7, = t.autograd.grad(x6.square().sum(), x5, create_graph=True)
x8, x9 = t.autograd.grad(x7.triu().square().sum(), [x5, x6])
x10 = x8.triu()
""",
    "what a gate lets through, and is written": """
x1, x2, x3 = t.ones(1, 2), t.ones(1, 1), t.ones(1, 1)
x4 = t.ones(4, requires_grad=True)
x5, x6 = t.lstm_cell(x1, (x2, x3), t.ones(4, 2), t.ones(4, 1), x4)
x7, = t.autograd.grad(x6.sum(), [x4], create_graph=True)
x3.rsqrt_()
x7.sum().backward()
""",
    "indices with gaps of a table whose norms are limited": """
x1 = t.tensor([[0, 1], [1, 0]], dtype=t.int32)[..., 0]
x2 = t.tensor([[0.0], [2.0]], requires_grad=True)
x3 = t.nn.functional.embedding(x1, x2, max_norm=1.0)
x1.eq_(0)
x3.sum().backward()
""",
    "a roll, twice": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = x1.roll(0)
x2.backward()
x2.backward()
""",
    "a threshold, twice": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = t.threshold(x1, 0.0, 0.0)
x3, = t.autograd.grad(x2, x1, create_graph=True)
x3.backward()
x3.backward()
""",
    "attention whose result was written": """
x1, x2 = t.ones(1, 1, 1), t.ones(1, 1, 1)
x3 = t.tensor([[[0.0]]], requires_grad=True)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3)
x5 = x2 * x4
x4.exp_()
x5.backward(create_graph=True)
""",
    "gradients of nothing that are one tensor": """
x1 = t.zeros((0, 0)).requires_grad_()
x2 = x1.cumsum(0)
x3, x4 = t.autograd.grad(x2.mul(0).sum(), [x1, x2])
x5 = t.tensor([[0.0]], requires_grad=True)
x4.addcmul_(x5, t.arange(0))
x3.sum().backward()
""",
    "an op without a derivative before a view that was written": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = x1.t()
x3 = x2 ** 0.5
with t.no_grad():
    x1.add_(1)
x3.igammac_(x1)
x3.backward(inputs=[x2])
""",
    "a running product in place, of a view": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = x1.sum()
x3, x4 = x2.view(1, 1), x2.view(1, 1)
x4.cumprod_(0)
x3.zero_()
x3.backward()
""",
    "statistics that are views, whose changes only ours counts": """
x1 = t.zeros(4, 4)
x2, x3, x4, x5 = x1
x6 = t.nn.functional.batch_norm(x1, x2, x3, training=True)
""",
    "statistics that move on after an evaluation": """
m1 = t.nn.BatchNorm1d(1, momentum=None).eval()
x2 = t.tensor([[1.0], [3.0]], requires_grad=True)
x3 = m1(x2)
m1.train()
x4 = m1(x2.detach())
x3.square().sum().backward()
""",
    "what addr multiplies with alpha, written": """
x1 = t.tensor([1.0, 2.0])
x2 = t.ones(3, requires_grad=True)
x3 = t.addr(t.zeros(2, 3), x1, x2, alpha=0.5)
x1.zero_()
x3.sum().backward()
""",
    "what arrived at the derivative of atanh, written": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = x1.arctanh()
x3, x4 = t.autograd.grad(x2, [x1, x2], create_graph=True)
x4.copysign_(x1)
x3.backward()
""",
    "a view of a constant that a tangent was made of, written": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = t.tensor([[2.0]])[0]
x3 = t.func.jvp(lambda a, b: a * b, (x1, x2), (x2, x1))[1]
x2[()] = x3
x2.backward()
""",
    "zeros of a sign beside another gradient": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = t.nn.BCEWithLogitsLoss()(x1, x1).sgn_()
x3 = x2 * 1 + x1.sum()
x3.backward(create_graph=True)
""",
    "products of float32 for a gradient of float64": """
x1 = t.tensor([0.5], dtype=t.float64).requires_grad_()
x2 = t.tensor([1e30])
x3 = x2 * 1
x3.addcmul_(x1, x2)
x3.square().backward()
""",
    "bools that are taken from zeros without memory": """
x1 = t.tensor([0.0]).requires_grad_()
x2, = t.autograd.grad(x1.sgn(), x1)
x3 = x2 - False
""",
    "the middle between two steps from a zero of float16": """
x1 = t.tensor([[1.05, 0.45]], requires_grad=True)
x2 = t.fake_quantize_per_channel_affine(x1, t.tensor([0.1]), t.tensor([-3], dtype=t.float16), 0, 0, 7)
x2.sum().backward()
""",
    "what nextafter goes towards, which is written": """
x1 = t.ones(1, 1).requires_grad_()
x2 = x1 * 1
x3 = x2[...]
x3.nextafter_(x2)
x2.sum().backward()
""",
    "what nextafter begins from, which is written": """
x1 = t.ones(1).requires_grad_() * 1
x2 = t.nextafter(x1, t.zeros(1))
x3 = t.nextafter(t.zeros(1), x1)
x1.zero_()
x3.backward()
x2.backward()
""",
    "zeros that a derivative forwards adds to a gradient": """
x1, x2 = t.zeros(2, 1), t.zeros(1)
x1.requires_grad_(), x2.requires_grad_()
x3 = t.func.jacfwd(lambda a, b: t.outer(a, b))(x1[0], x2)
t.autograd.backward([x1.sum()])
x3.exp().sum().backward(create_graph=True)
x4 = x1.grad
""",
    "a volume's gradient, which does not depend on the volume": """
x1 = t.ones((1, 1, 1, 1, 1)).requires_grad_()
x2 = t.ones((1, 1, 1, 1, 1)).requires_grad_()
x3 = t.nn.functional.conv3d(x1, x2)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
x5 = (x4 * x4).sum()
x5.backward()
x6 = t.autograd.grad(x5, [x1], allow_unused=True)
""",
    "attention with a graph, whose key is written": """
x1 = t.ones((1, 1, 1, 2), dtype=t.float64).requires_grad_()
x2 = t.ones((1, 1, 2, 2), dtype=t.float64)
x3 = t.ones((1, 1, 2, 1), dtype=t.float64)
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3)
x5, = t.autograd.grad(x4, x1, create_graph=True)
x2[...] = 0.0
x5.backward(x5)
""",
    "drawn slopes, whose input is written": """
x1 = t.tensor(0.5, requires_grad=True)
x2 = x1 * 1.0
x3 = t.nn.functional.rrelu(x2, training=True)
x4, = t.autograd.grad(x3.exp(), x1, create_graph=True)
x2 /= 1.0
x4.backward()
""",
    "what a transform made of an argument that requires no gradient, forgotten": """
x1 = t.tensor([[0.0]])
x2 = t.tensor([[0.0]]).requires_grad_()
x3 = t.func.vjp(lambda a, b: a.softmax(0) + b, x1, x2)[0]
x3.backward()
x3.backward()
""",
    "an index of nothing": """
x1 = t.zeros((0, 2, 1)).requires_grad_()
x2 = t.tensor([0])
x3 = t.index_reduce(x1, -1, x2, t.zeros((0, 2, 1)), 'mean', include_self=False)
x2[...] = t.tensor([0])
x3.sum().backward()
""",
    "a norm of nothing, whose weight is written": """
m1 = t.nn.GroupNorm(1, 4).to(t.float64)
x2 = t.zeros((0, 4), dtype=t.float64)
x3 = m1(x2)
m1.load_state_dict(m1.state_dict())
x3.backward(x3)
""",
    "zeros forwards, which a hook hears of": """
x1 = t.tensor([[0.0]], requires_grad=True)
x2 = t.tensor([[0.0, 0.0], [0.0, 0.0]], requires_grad=True)
x3 = t.func.jacfwd(lambda a, b: a * b, argnums=1)(x1, x2).contiguous()
h4 = x2.register_hook(lambda g: g + 1)
x3.sum().backward()
""",
    "a weight of a cell, which comes to require a gradient": """
x1 = t.ones((1, 1))
x2 = t.ones((1, 1)).requires_grad_()
x3 = t.ones((1, 1))
x4 = t.rnn_relu_cell(x1, x2, x1, x3)
x3.requires_grad = True
x5, = t.autograd.grad(x4, x2, create_graph=True)
x5.backward()
""",
    "a vector of addr, which comes to require a gradient": """
x1 = t.tensor([[0.5]])
x2 = t.tensor([0.5])
x3 = t.tensor([0.5], requires_grad=True)
x4 = t.addr(x1, x2, x3)
x2.requires_grad = True
x4.backward(create_graph=True)
""",
    "a weight of lerp that no gradient reads": """
x1 = t.tensor([[[[0.5]]]]).requires_grad_()
x2 = t.tensor([[[0]]])
x3 = t.mean(x1)
x4 = t.lerp(x2, x2, x3)
x3.zero_()
x4.backward()
""",
    "the input of a loss, which is detached": """
x1 = t.tensor([[0.5, 0.0], [0.0, 0.0]]).requires_grad_()
x2 = t.tensor([[0.0]]).add(x1)
x3 = t.nn.functional.cross_entropy(x2, t.tensor([0, 0]))
x2.detach_()
t.autograd.backward([x3, x1.square().sum()], create_graph=True)
""",
    "the slope of the determinant of an element does not lead to it": """
x1, x2 = t.ones(1, 1, requires_grad=True), t.ones((), requires_grad=True)
x3, = t.autograd.grad(x1.det() * x2, x1, create_graph=True)
x4 = t.autograd.grad(x3.sum(), [x1, x2], allow_unused=True)
""",
    "a batch of addbmm that comes to require grad later": """
x1, x2 = t.zeros(1, 1), t.ones(1, 1, 1)
x3 = t.ones(1, 1, 1, requires_grad=True)
x1.addbmm_(x2, x3)
x2.requires_grad = True
t.autograd.backward([x1], create_graph=True)
""",
    "what an element's product has led to is freed": """
x1 = t.tensor([2.0], requires_grad=True)
x2, = t.autograd.grad(x1.prod(), x1, create_graph=True)
x2.sum().backward()
x2.sum().backward()
""",
    "a running product of bfloat16 in a view, whose base is written": """
x1 = t.tensor([0.0, 3.0, -0.5, 2.0], dtype=t.bfloat16, requires_grad=True)
x2 = x1 * 1.5
x3 = x2[...]
x4 = x3.cumprod_(0)
x2.zero_()
x4.sum().backward()
""",
    "a number whose product was taken is written": """
x1 = t.tensor(2.0, requires_grad=True)
x2 = x1 * 1.5
x3, x4 = x2.prod(), x2.prod(0)
x2.zero_()
x3.backward()
x4.backward()
""",
    "the input of log_ndtr, which chooses what it reads of it": """
x1 = t.tensor([[0.0]], requires_grad=True)
x2 = t.special.log_ndtr(x1)
with t.no_grad():
    x1.deg2rad_()
x2.backward()
""",
    "what was converted before a product gets other elements": """
x1 = t.tensor([1.0, 3.0, 0.5], dtype=t.float64, requires_grad=True)
x2 = x1 * 1
x3 = x2.prod(dtype=t.float32)
x2.data = x2.detach() * 2
x3.backward()
""",
    "a batch that comes first, written through a view": """
x1 = t.ones(2, 2, 1).requires_grad_()
m2 = t.nn.MultiheadAttention(1, 1, batch_first=True)
m2 = m2.apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x3 = m2(x1, x1, x1)[0]
with t.no_grad():
    x4 = x1[()]
    x4.frac_()
x3.sum().backward()
""",
    "a layer that functional_call pads by, backward twice": """
m1 = t.nn.CircularPad1d((0, 0))
x2 = t.tensor([[[0.0]]], requires_grad=True)
x3 = t.func.functional_call(m1, {}, (x2,))
x3.backward()
x3.backward()
""",
    "the input of a softmax that was derived forwards": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = t.func.jacfwd(lambda a: a.softmax(0))(x1)
x3, x4 = t.func.jvp(lambda a: a.log_softmax(0), (x1,), (t.ones(1),))
with t.no_grad():
    x1.add_(1.0)
t.autograd.backward([x2, x4])
""",
    "the gradient of a bias alone, and then the others'": """
x1 = t.ones(1, 1, 1).expand(1, 1, 2)
x2, x3 = t.ones(1, 2, requires_grad=True), t.ones(1, requires_grad=True)
x4 = t.nn.functional.linear(x1, x2, x3)
x5, = t.autograd.grad(x4, x3)
x4.backward()
""",
    "a Bessel function in its own derivative, written": """
x1 = t.tensor([[0.5]], requires_grad=True)
x2 = t.special.i0e(x1)
x3, = t.autograd.grad(x2, x1, create_graph=True)
x2.greater_(t.tensor([[0.0]]))
x3.backward()
""",
    "another in its own derivative, written": """
x1 = t.tensor([[0.5]], requires_grad=True)
x2 = t.special.i1e(x1)
x3, = t.autograd.grad(x2, x1, create_graph=True)
with t.no_grad():
    x2.zero_()
x3.backward()
""",
    "a gradient that came out with another is given a graph": """
x1 = t.tensor(0.0).requires_grad_()
x2, x3 = x1.max(0)
x4, x5 = t.autograd.grad(x2, [x1, x2])
x4.not_equal_(x1)
x6 = x5 + 1
""",
    "a gradient of what was made of another that came out with it": """
x1 = t.tensor(0.0).requires_grad_()
x2, x3 = x1.max(0)
x4, x5 = t.autograd.grad(x2, [x2, x1], x1.clone(), create_graph=True)
x6 = (x4 - x1).sigmoid()
n7, x8 = t.autograd.grad(x6, [x5, x1], allow_unused=True)
""",
    "a hook of what a system from the right has for its solution": """
x1 = t.tensor([[0.5]], dtype=t.float64)
x2 = t.tensor([[0.5]], dtype=t.float64).requires_grad_()
x3 = t.linalg.solve_ex(x2, x1, left=False)[0]
h4 = x3.register_hook(lambda g: g + 1)
x3.backward(create_graph=True)
x5 = x2.grad
x6, = t.autograd.grad(x5, [x2])
""",
    "and of a triangle's": """
x1 = t.tensor([[0.5, 0.0], [1.0, 2.0]], dtype=t.float64, requires_grad=True)
x2 = t.linalg.solve_triangular(x1, t.tensor([[1.0, 3.0]], dtype=t.float64), upper=False, left=False)
h3 = x2.register_hook(lambda g: g * 2 + 1)
x4, = t.autograd.grad(x2.square().sum(), x1, create_graph=True)
x5, = t.autograd.grad(x4.square().sum(), x1)
""",
    "of a system of vectors, written": """
x1 = t.tensor([[0.5]], dtype=t.float64, requires_grad=True)
x2 = t.linalg.solve(x1, t.tensor([0.25], dtype=t.float64))
x2.mul_(2)
x2.backward(t.ones(1, dtype=t.float64))
""",
    "what a factor of Cholesky has beyond the triangle that is read": """
x1 = t.tensor([[0.5, 0.0], [0.5, 0.5]], requires_grad=True)
x2 = t.cholesky_solve(t.ones(2, 1), x1).square().sum()
x3, = t.autograd.grad(x2, x1)
""",
    "what arrives at a sum of exponentials, written": """
x1 = t.tensor([[[0.0]]]).requires_grad_()
x2 = x1.logcumsumexp(0)
x3, x4 = t.autograd.grad(x2, [x2, x1], create_graph=True)
x5 = x3.mul_(0)
x4.backward()
""",
    "and at the largest of a source that is longer than the index": """
x1 = t.tensor([0.5, 1.0, 2.0], requires_grad=True)
x2 = t.scatter_reduce(t.zeros(2), 0, t.tensor([0, 1]), x1, 'amax')
x2.sum().backward()
""",
    "of a system by Cholesky's factor": """
x1 = t.tensor([[0.5, 0.0], [1.0, 2.0]], dtype=t.float64, requires_grad=True)
x2 = t.tensor([[1.0], [3.0]], dtype=t.float64, requires_grad=True)
x3 = t.cholesky_solve(x2, x1)
x4 = []
h5 = x3.register_hook(lambda g: x4.append(g))
x6, = t.autograd.grad(x3.square().sum(), x2, create_graph=True)
x7, = t.autograd.grad(x6.square().sum(), x2)
""",
}


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
