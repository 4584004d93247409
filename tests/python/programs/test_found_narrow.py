"""What random programs have found of floats of 16 bits, and of losses and powers at their ends, reduced; the others are
in test_found.py."""

import dumbtorch
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "an incomplete Gamma of NaN in place": """
x1 = t.tensor([0.0, t.nan, 2.0])
x2 = x1.igamma_(t.tensor(0.0))
""",
    "ignored classes whose weight is infinite or NaN, differentiated with a graph": """
x1 = t.arange(6).to(t.float64).reshape(3, 2).requires_grad_()
x2 = t.nn.functional.nll_loss(x1, t.tensor([0, 1, 0]), t.tensor([t.inf, 1.0], dtype=t.float64), ignore_index=0)
x3, = t.autograd.grad(x2, x1, create_graph=True)
x4 = t.nn.functional.nll_loss(x1, t.tensor([0, 1, 1]), t.tensor([t.nan, 1.0], dtype=t.float64), ignore_index=0)
x5, = t.autograd.grad(x4, x1, create_graph=True)
""",
    "kl_div to its own distribution, differentiated three times": """
x1 = t.arange(36).mul(2).to(t.float16).div(8).requires_grad_()
x2 = t.nn.functional.kl_div(x1.log_softmax(0), x1.softmax(0))
x3, = t.autograd.grad(x2, x1, create_graph=True)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
x4.sum().backward()
""",
    "the root of what is infinite below 0": """
x1 = t.tensor([-t.inf, 2.0], dtype=t.float16)
x2 = x1 ** 0.5
""",
    "noise of 16 bits is finite": """
x1 = t.nn.functional.gumbel_softmax(t.zeros(100000, 1, dtype=t.bfloat16))
x2 = t.nn.functional.gumbel_softmax(t.zeros(1000000, 1, dtype=t.float16))
""",
    "no part of a number that float16 cannot hold": """
x1 = t.tensor([[0.5]], dtype=t.float16)
x2 = x1.add(1e+30, alpha=0)
""",
    "the length of a row is not rounded before it is too long": """
x1 = t.tensor([[0.0, 0.18, 1.0], [0.19, 0.0, 0.31]], dtype=t.bfloat16).requires_grad_()
x2 = x1.renorm(1, 0, 0.5)
x2.sum().backward()
x3 = t.tensor([[1.0, 0.125]], dtype=t.bfloat16).requires_grad_()
x4 = (x3 * 1).renorm_(3, 0, 1.0)
x4.square().sum().backward()
""",
    "the slope of a row that float16 cannot square": """
x1 = t.tensor([[0.67, -0.95, 1.66, 30000.0]], dtype=t.float16).requires_grad_()
x2 = x1.renorm(t.inf, 0, 2.0)
x2.square().sum().backward()
""",
    "the mean of squares of which float16 cannot hold one": """
x1, x2 = t.tensor([300.0, 1.0], dtype=t.float16), t.zeros(2, dtype=t.float16)
x3 = t.nn.functional.mse_loss(x1, x2)
m1 = t.nn.MSELoss()
x4 = m1(x1, x2)
""",
    "the mean of losses of which float16 cannot hold the sum": """
x1 = t.tensor([[6e4, -6e4], [1.0, 2.0], [1.0, 2.0]], dtype=t.float16)
x2, x3 = t.tensor([1, 1, 1]), t.tensor([2.0, 2.0], dtype=t.float16)
x4 = t.nn.functional.cross_entropy(x1, x2)
x5 = t.nn.functional.nll_loss(x1, x2, weight=x3)
""",
    "where a point lies in an image of bfloat16": """
x1 = t.tensor([[[[0.0]]], [[[1.0]]]], dtype=t.bfloat16)
x2 = t.tensor([[[[0.0, 0.0]]], [[[0.0, 0.5]]]], dtype=t.bfloat16)
x3 = t.nn.functional.grid_sample(x1, x2, "bicubic", "border")
""",
    "a probability that is certain and right, in float16": """
x1, x2 = (t.tensor([0.0, 1.0], dtype=t.float16, requires_grad=b) for b in (True, False))
x3 = t.nn.functional.binary_cross_entropy(x1, x2)
x3.backward()
""",
    "the step by a slope whose square vanishes, or overflows": """
x1 = t.tensor([0.0, 1e-5, 1.0, 3e4], dtype=t.float16).requires_grad_()
x2 = x1 * 1
x2.backward(x1.detach())
o1 = t.optim.Adagrad([x1], lr=0.1)
o1.step()
""",
    "what was sampled and pooled of 16 bits has been copied": """
x1 = t.tensor([[[[0.0], [0.5], [0.0]]]], dtype=t.bfloat16)
x2 = t.tensor([[[[0.0, 0.0]]]], dtype=t.bfloat16).requires_grad_()
x3 = t.nn.functional.grid_sample(x1, x2) + t.nn.functional.lp_pool2d(x2, 2, 1).sum()
x1.add_(1)
x3.backward()
""",
    "the curve of what was pooled and written": """
x1 = t.ones(1, 2, dtype=t.float16).requires_grad_()
x2 = x1 * 1
m1 = t.nn.LPPool1d(2, 2)
x3 = m1(x2)
x2.add_(1)
x3.sum().backward()
""",
    "a bound that float16 rounds": """
x1 = t.tensor([0.1, 0.5, 1.0], dtype=t.float16).requires_grad_()
x2 = x1.logit(eps=0.1)
x2.sum().backward()
x3 = x1.detach().logit_(1e-5)
""",
    "a product of three that overflows on the way back": """
x1 = t.tensor([[3e4, 2.0, 0.0]], dtype=t.float16).requires_grad_()
x2, x3 = t.tensor([[1.0, 0.5, -2.25]], dtype=t.float16), t.ones(2, 3, 3, dtype=t.float16)
x4 = t.bilinear(x1, x2, x3, None)
x4.square().sum().backward()
""",
    "a slope of bfloat16 beside one that overflows": """
x1 = t.tensor([-0.8, 30000.0, 1.94], dtype=t.bfloat16).requires_grad_()
x2 = t.tensor([-2.36, -2.02, 1.48], dtype=t.bfloat16)
x3 = t.nn.functional.soft_margin_loss(x1, x2)
x3.backward()
""",
    "slopes and curves whose squares float16 cannot hold": """
x1 = t.tensor([2.0, 1e-3], dtype=t.float16).requires_grad_()
x2 = t.tensor([3e4, 1e-3], dtype=t.float16).requires_grad_()
x3 = t.atan2(x1, x2)
x3.sum().backward()
x4, x5 = x1.detach().sub(4.5).requires_grad_(), x1.detach()
x6 = t.nn.functional.soft_margin_loss(x4, x5)
x7, = t.autograd.grad(x6, x4, create_graph=True)
x7.sum().backward()
""",
    "what the derivative of bilinear has forgotten": """
x1, x2 = t.ones(1, 1), t.ones(1, 1, requires_grad=True)
x3 = t.bilinear(x1, x2, t.ones(1, 1, 1, requires_grad=True), None)
x4, = t.autograd.grad(x3, x2, create_graph=True)
x4.backward()
x3.backward()
""",
    "a distance whose powers float16 cannot hold": """
x1 = t.tensor([[2.0, 1.0]], dtype=t.float16).requires_grad_()
x2 = t.tensor([[3e4, 0.5]], dtype=t.float16)
x3 = t.nn.functional.pairwise_distance(x1, x2, p=3)
x3.sum().backward()
""",
    "the mean of logarithms of odds of which float16 cannot hold one": """
x1 = t.tensor([3e4, 1.0, 1.0], dtype=t.float16)
x2 = t.nn.functional.binary_cross_entropy_with_logits(x1, x1 * -3)
""",
    "a row of zeros beside one of more digits": """
x1, x2 = t.zeros(1, 2, dtype=t.float16), t.tensor([[1.0, -1.5]])
x3 = t.nn.functional.cosine_similarity(x1, x2)
""",
    "a source that is longer than the index": """
x1, x2 = t.ones(2, 3, requires_grad=True), t.ones(1, 3, requires_grad=True)
x3 = x1.scatter_add(0, t.tensor([[0]]), x2)
x3.sum().backward()
""",
    "what comes to an inverse in its curve": """
x1 = t.tensor([[0.5]]).requires_grad_()
x2 = t.cholesky_inverse(x1)
s3 = []
x2.register_hook(lambda g: s3.append(g))
x4, = t.autograd.grad(x2, x1, create_graph=True)
x4.backward()
""",
    "a root of -0 that float16 divides by": """
x1 = t.tensor([-0.0], dtype=t.float16)
x2 = x1.pow(-0.5)
x1.pow_(-0.5)
""",
    "a cell whose biases have fewer digits": """
x1, x2, x3 = t.ones(2, 3), t.ones(2, 3), t.ones(2, dtype=t.float16)
x6 = t.rnn_tanh_cell(x1, t.ones(2, 2), x2, t.ones(2, 2), x3, None)
x7 = t.gru_cell(x1, t.ones(2, 2), x2.repeat(3, 1), t.ones(6, 2), None, x3.repeat(3))
x8, x9 = t.lstm_cell(x1, (t.ones(2, 2), t.ones(2, 2)), x2.repeat(4, 1), t.ones(8, 2), x3.repeat(4), None)
""",
    "the curve of a probability that is certain": """
x1 = t.tensor([0.0, 1.0, 0.0, 1.0, 0.25], dtype=t.float64).requires_grad_()
x2 = t.tensor([0.5, 0.25, 0.0, 1.0, 0.75], dtype=t.float64).requires_grad_()
x3 = t.nn.functional.binary_cross_entropy(x1, x2, reduction="none")
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
x4.sum().backward()
x5 = x1.detach().float().requires_grad_()
x6, = t.autograd.grad(t.nn.functional.binary_cross_entropy(x5, x2.detach().float()), x5, create_graph=True)
x6.sum().backward()
""",
    "the curve of a product without what was there": """
x1 = t.tensor([-0.01, 2.0], dtype=t.float16).requires_grad_()
x2 = t.tensor([1.64], dtype=t.float16)
x3 = x1.scatter_reduce(0, t.tensor([0]), x2, "prod", include_self=False)
x4, = t.autograd.grad(x3.exp().sum(), x1, create_graph=True)
x4.sum().backward()
""",
    "the same by indices, in place": """
x1 = t.tensor([1e-30, 2.0]).requires_grad_()
x2 = (x1 * 1).index_reduce_(0, t.tensor([0]), t.tensor([1.64]), "prod", include_self=False)
x3, = t.autograd.grad(x2.exp().sum(), x1, create_graph=True)
x3.sum().backward()
""",
    "a divisor of the least integer, as bytes": """
x1 = t.tensor([-32768], dtype=t.int16)
x2 = t.arange(25).to(t.uint8)
x2.gcd_(x1)
x3 = t.arange(25).to(t.int8).gcd_(x1)
""",
    "a number beyond the dtype of those that it is sought among": """
x1 = t.zeros(20, dtype=t.uint8)
x2 = t.isin(2147483648, x1)
x3 = t.isin(256, x1, invert=True)
x4 = t.isin(t.tensor(256), x1)
""",
    "windows that are written where PyTorch lets nobody look": """
x1 = t.tensor([0.0, 0.5, 0.0], requires_grad=True)
with t.no_grad():
    x2 = x1.unfold(0, 2, 1)
    x2.arcsinh_()
""",
    "windows whose writes PyTorch does not count": """
x1 = t.tensor([[0.0, 0.0, 0.0, 0.0, 0.0]])
x2 = x1.unfold(1, 3, 1)
x3 = t.tensor([0, 1])
x4 = t.zeros(2, 3, 3)
x4[0, 2, 2] = 0.5
x2.index_reduce_(0, x3, x4, 'mean')
""",
    "a power of a matrix that overflows": """
x1 = t.zeros(4, 4)
x1[0, 3], x1[3, 0], x1[3, 3] = -t.inf, 0.5, 1e30
x2 = t.matrix_power(x1, 2)
""",
    "targets that cancel": """
x1 = t.tensor(0.5).requires_grad_()
x2 = t.median(x1)
x3 = t.tensor([[[[1e+30]], [[0.0]], [[-1e+30]]]])
x4 = t.nn.functional.kl_div(x3, x2, log_target=True)
x4.backward()
""",
    "the slope of a divisor that is wider than what it divides": """
x1 = t.tensor([1e-30], dtype=t.float64).requires_grad_()
x2 = t.ones(1).addcdiv_(t.ones(1), x1)
x2.backward()
x3 = t.ones(1).div_(x1)
x3.backward()
x4 = t.ones(1, dtype=t.float16).atan2_(x1)
x4.backward()
""",
    "a product by an expanded vector, and by nothing": """
x1, x2 = t.zeros(2, dtype=t.float64), t.tensor([t.inf], dtype=t.float64).expand(2)
x3 = t.addmv(x1, t.ones(2, 2, dtype=t.float64), x2, alpha=0)
""",
    "the curve of an infinite row, by its frequency": """
x1 = t.tensor([[1], [1]])
x2 = t.tensor([[0.0, 0.0], [0.5, t.inf]], requires_grad=True)
x3 = t.nn.functional.embedding(x1, x2, scale_grad_by_freq=True)
x4, = t.autograd.grad(x3.square().sum(), x2, create_graph=True)
x5 = (x4 * x4).sum()
x5.backward()
""",
    "places that no window reaches, after an error in a block": """
x1 = 0.0
with t.no_grad():
    x2 = x1[:]
    x3 = t.arange(1).to(t.float64).reshape((1, 1, 1))
    x4 = t.tensor([[[[0.0], [t.inf]]]], dtype=t.float64)
    x5 = t.conv_transpose2d(x3, x4, dilation=2)
""",
    "counts beside narrow rates": """
x1 = t.tensor([3, 0])
x2 = t.tensor([0.5, 2.0], dtype=t.float16).requires_grad_()
x3 = t.nn.functional.poisson_nll_loss(x2, x1, full=True)
x3.backward()
x4 = t.nn.functional.poisson_nll_loss(x2.detach(), x1, log_input=False, full=True, reduction='none')
""",
    "a window that sums up to nothing, or nearly": """
x1 = t.arange(192).mul(43).remainder(101).sub(50).div(25).reshape((2, 6, 4, 4)).requires_grad_()
x2 = t.nn.functional.lp_pool3d(x1, 1.0, 2)
x2.sum().backward()
""",
    "small gradients of a wider parameter": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = t.tensor([0.0, 2.0], dtype=t.float64, requires_grad=True)
(x1.sum() + (x2 * 1e-9).sum()).backward()
o3 = t.optim.Adafactor([x1, x2])
o3.step()
""",
    "incomplete Gammas of almost nothing": """
x1 = t.tensor([t.nan, 5.0000000158553844e-31, 0.0])
x2 = t.igamma(x1, t.tensor([0.0, 0.5, 0.5]))
""",
    "one observation with a weight": """
x1 = t.ones(1, 1, dtype=t.float64)
x2 = x1.cov(aweights=x1[0])
x3 = t.tensor([[5.0], [2.0]])
x4 = t.cov(x3, fweights=t.tensor([2]))
""",
    "one element that is filled with what is beyond its dtype": """
x1 = t.tensor(0.0, dtype=t.float16)
x1.fill_(2147483647)
x2 = t.full((1, 1), -1e39, dtype=t.bfloat16)
x3 = t.ones(1, 1, dtype=t.float16).new_full((1,), 1e30)
""",
    "forms of large vectors that cancel": """
x1 = t.tensor([[1e30, -1e30]], dtype=t.float64)
x2 = t.linspace(1, 0, 4, dtype=t.float64).reshape(1, 2, 2)
m3 = t.nn.Bilinear(2, 2, 1, bias=False).double().apply(lambda m: m.weight.data.copy_(x2))
x4 = m3(x1, x1)
""",
    "powers of what rounding leaves of nothing, mostly NaN": """
x1 = t.arange(36).mul(37).remainder(101).sub(50).to(t.float64).div(8).reshape((3, 3, 4)).requires_grad_()
x2 = t.nn.functional.rms_norm(x1, (4,))
x3, = t.autograd.grad(x2.square().sum(), x1, create_graph=True)
x4, = t.autograd.grad(x3.sin().sum(), x1, create_graph=True)
x4.square().sum().backward(retain_graph=True)
x5, x6 = x4.pow(-0.5), t.reciprocal(x4)
x5.backward(t.ones_like(x5), create_graph=True)
""",
    "a loss of huge numbers by a target that is unsigned": """
x1 = t.tensor([-1e30, 1e30, -2.0, 0.5]).requires_grad_()
x2 = t.tensor([1, 1, 2, 3], dtype=t.uint8)
x3 = t.nn.functional.soft_margin_loss(x1, x2, reduction='sum')
x3.backward()
""",
    "signs of sums that are nearly 0, of windows that overlap": """
x1 = t.arange(216).mul(43).remainder(101).sub(50).to(t.float32).div(25).reshape(3, 3, 4, 6).requires_grad_()
x2 = t.nn.functional.lp_pool3d(x1, 1.0, 3, stride=2, ceil_mode=True)
x2.sum().backward()
""",
    "an infinite gradient comes to a gate": """
m1 = t.nn.GRU(1, 1, bidirectional=True).apply(lambda m: [w.data.zero_() for w in m.parameters()])
x2 = t.zeros((2, 2, 1))
x3 = m1(x2)[0]
x3.backward(t.tensor([[[0.0, 0.0], [0.0, 0.0]], [[0.0, t.inf], [0.0, 0.0]]]))
m1 = t.nn.GRUCell(1, 1).apply(lambda m: [w.data.zero_() for w in m.parameters()])
x4 = m1(t.zeros((1, 1)))
x4.backward(t.tensor([[t.inf]]))
""",
    "a tensor scattered into itself, whose graph is gone back through twice": """
x1 = t.tensor([2.0, 0.0], requires_grad=True)
x2 = t.as_strided_scatter(x1, x1, (2,), (1,))
x3 = x1.floor().mul(2147483647)
t.autograd.backward([x2.sum(), x3.sum()])
x2.exp().sum().backward()
""",
    "what cancels is multiplied beyond all numbers": """
x1 = t.tensor([[0.0], [0.5], [1e30], [-1e30]])
x2 = t.zeros((1, 4), requires_grad=True)
x3 = t.linalg.multi_dot([x1, x2, x1])
x3.sum().backward()
""",
    "the second slope of a root at -0, and of what is made of it": """
x1 = t.tensor([-0.0, 0.0, 4.0], requires_grad=True)
x2, = t.autograd.grad(x1.float_power(0.5).exp().sum(), x1, create_graph=True)
x2.sum().backward()
""",
    "the gradient of a scatter by an expanded index, gone back through": """
x1 = t.zeros((2, 123)).scatter(0, t.tensor([0, 0, 0, 1]).reshape(4, 1).expand(4, 122), 1)
x2 = t.tensor([0, 0, 0, 1]).reshape(4, 1).expand(4, 122)
x3 = t.arange(488).div(488).reshape(4, 122).requires_grad_()
x4 = x1.scatter(0, x2, x3)
x5, = t.autograd.grad(x4.exp().sum(), x3, create_graph=True)
x5.square().sum().backward()
""",
    "what huge terms leave, forwards": """
x1 = t.tensor([-1e30, 0.5, 1e30])
x2 = t.func.linearize(lambda a: a * a.sum(), x1)[1](x1)
""",
    "what huge terms leave, multiplied with one": """
x1 = t.tensor([-1e30, 0.5, 1e30])
x2 = x1 * x1.sum()
""",
    "what huge terms leave, forwards by jvp": """
x1 = t.tensor([-1e30, 0.5, 1e30])
x2 = t.func.jvp(lambda a: a * a.sum(), (x1,), (x1,))[1]
""",
    "inner products that overflow": """
x1 = t.tensor([[[0.0, 0.0], [-t.inf, -1e30]], [[0.0, 0.0], [0.5, -1e30]]])
x2 = t.inner(x1, x1)
""",
    "cross products of what lies as images do": """
x1 = t.arange(12).reshape((3, 1, 2, 2)).permute((1, 3, 0, 2))
x2 = t.linalg.cross(x1, x1, dim=2)
""",
    "remainders whose quotient overflows": """
x1 = t.tensor([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2147483647]])
x2 = x1.remainder(1e-30)
""",
    "sums of large integers as floats": """
x1 = t.tensor([[-2147483648, 2147483647, 1]])
x2 = t.sum(x1, dtype=t.float32)
""",
    "a triangle written over what it is cut from": """
x1 = t.tensor([[0.0, 0.5], [0.25, 0.0]])
x2 = t.zeros(2, 2)
x3 = t.add(x1, x1, out=x2)
x4 = x2.T
x5 = t.tril(x4, out=x3)
""",
    "a constant derivative before an infinite slope": """
x1 = t.tensor([0.0, 0.5], requires_grad=True)
x2 = t.pow(x1, -1)
x3, x4 = t.autograd.grad(x2.square().sum(), [x1, x2], create_graph=True)
x5, = t.autograd.grad(x3.sum(), [x2], create_graph=True)
x6, = t.autograd.grad(x5.sum(), [x1])
""",
    "factors that vanish in the dtype of their products": """
x1 = t.tensor([-0.5, 3.0, 1e-10, 2.0], dtype=t.bfloat16, requires_grad=True)
x2 = x1.cumprod(0, dtype=t.float16)
x2.sum().backward()
""",
    "terms that the dtype of their sum cannot hold": """
x1 = t.tensor([1.0, -t.inf, 1e30])
x2 = x1.sum(dtype=t.float16)
""",
    "the mean of terms that its dtype cannot hold": """
x1 = t.tensor([7e4, -7e4])
x2 = x1.mean(dtype=t.float16)
""",
    "an order that float16 cannot hold, beside NaN": """
x1 = t.tensor([t.nan, 0.0, 1.0], dtype=t.float16, requires_grad=True)
x2 = t.norm(x1, 1e30)
x2.backward()
""",
    "a bound that float16 cannot hold, beside NaN": """
x1 = t.tensor([2.0, -0.5], dtype=t.float16)
x2 = x1.clamp(t.nan, 1e30)
""",
}


# On whatever device the other tests run, these compare on the CPU.
@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None


@pytest.mark.parametrize(
    "exponential", ["t.matrix_exp(x1)", "t.linalg.matrix_exp(x1)", "x1.matrix_exp()"]
)
def test_exponentials_of_matrices_that_16_bits_do_not_hold(exponential):
    program = f"x1 = t.full((2, 2), 6.0, dtype=t.float16)\nx2 = {exponential}"
    assert compare(program) is None


@pytest.mark.parametrize("row", [[200.0, 100.0], [0.001, 0.002]])
def test_powers_that_are_pooled_are_not_rounded(row):
    def pooled(library, dtype):
        x = library.tensor([row], dtype=library.float16).to(dtype).requires_grad_()
        y = library.nn.functional.lp_pool1d(x, 3.0, 2)
        return y.tolist()[0] + library.autograd.grad(y.sum(), x)[0].tolist()[0]

    ours, exact = pooled(dumbtorch, dumbtorch.float16), pooled(torch, torch.float64)
    assert ours == pytest.approx(exact, rel=torch.finfo(torch.float16).eps)


# The first parameter says whether they are all of the input's dtype, or all of float32.
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("first", ["None", "t.ones(3)", "t.ones(3, dtype=t.float16)"])
@pytest.mark.parametrize(
    "second", ["t.ones(3)", "t.ones(3, dtype=t.float16)", "t.ones(3).double()"]
)
def test_dtypes_of_parameters(dtype, first, second):
    program = f"""
x1, f1 = t.ones(2, 3, 3, dtype=t.{dtype}), t.nn.functional
x2 = f1.layer_norm(x1, (3,), {first}, {second})
x3 = f1.group_norm(x1, 3, {first}, {second})
x4 = f1.batch_norm(x1, None, None, {first}, {second}, True)
x5 = f1.batch_norm(x1, {second}, {second}, {first}, None)
x6 = f1.instance_norm(x1, None, None, {first}, {second})
x7 = f1.instance_norm(x1, {second}, {second}, {first}, None, False)
"""
    assert compare(program, Settings(errors="text")) is None
