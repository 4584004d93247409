"""What random programs have found of memory, factors and promotion, reduced; the others are in test_found.py."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

FOUND = {
    "the strides of a view that requires no gradient": """
x1 = t.tensor([[0.0]], requires_grad=True)
x2 = x1.detach().pow(2)
with t.no_grad():
    x3 = x1.transpose(0, 1)
    n4, n5 = x3.stride()
""",
    "what a backward through renorm has forgotten": """
x1 = t.tensor([[3.0, 4.0]], requires_grad=True)
x2 = x1.renorm(2, 0, 1.0)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x4 = x2.mul_(2)
x4.backward(x2.detach())
x3.backward(t.ones_like(x3))
""",
    "what derivatives of sums with products and of losses have forgotten": """
x1 = t.tensor([[0.5, 2.0], [1.5, 0.25]], requires_grad=True)
x2 = t.addr(x1, x1[0], x1[1])
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x2.sum().backward()
x3.sum().backward()
""",
    "what a loss of classes has forgotten": """
x1 = t.tensor([[0.5, 2.0], [1.5, 0.25]], requires_grad=True)
x2 = t.nn.functional.cross_entropy(x1, t.tensor([0, 1]))
x3, = t.autograd.grad(x2, x1, create_graph=True)
x2.backward()
x4 = x3.sum()
x4.backward()
""",
    "what a derivative of bilinear has forgotten": """
x1, x2 = t.tensor([[0.5]]), t.tensor([[2.0]], requires_grad=True)
x3 = t.tensor([[[0.5]]], requires_grad=True)
x4 = t.nn.functional.bilinear(x1, x2, x3)
x5, = t.autograd.grad(x4.sum(), x2, create_graph=True)
x5.backward()
x4.sum().backward()
""",
    "strides of what has dimensions of size 1": """
x1 = t.ones((2, 1, 3)).transpose(0, 1)
x2 = t.tensordot(t.ones((1, 1)), x1, dims=0)
x3 = x1.renorm(2, 0, 0.5)
x4 = t.ones((2, 1)).t().renorm(2, 1, 0.5)
x5 = t.renorm(t.ones((2, 3, 1, 1)).to(memory_format=t.channels_last), 2, 0, 0.5)
""",
    "strides of inverse powers": """
x1 = t.eye(2).expand(1, 2, 2)
x2 = t.linalg.matrix_power(x1, -1)
x3 = t.linalg.matrix_power(x1, -2)
x4 = t.linalg.matrix_power(t.full((2, 1, 1), 2.0), -1)
""",
    "a transposed convolution with more of an output than fits a stride": """
x1 = t.ones(1, 1, 2).movedim(-1, 1)
x2 = t.nn.functional.conv_transpose1d(t.ones(2, 1, 5), x1, output_padding=1, dilation=2)
x3 = t.nn.functional.conv_transpose1d(t.ones(1, 1, 1), x1, output_padding=1, dilation=2)
x4 = t.ones(2, 2, 3, 3).to(memory_format=t.channels_last)
x5 = t.nn.functional.conv_transpose2d(t.ones(2, 2, 5, 5), x4, output_padding=1, dilation=2, padding=1)
x6 = t.nn.functional.conv_transpose2d(t.ones(2, 2, 5, 5), x4[:, :, :, :1], output_padding=2, dilation=3)
""",
    "the memory order of volumes that are convolved": """
x1, x2 = t.ones(1, 4, 3, 2, 2), t.ones(2, 2, 2, 3, 4).permute(0, 4, 1, 2, 3)[:, :, :1]
x3 = t.nn.functional.conv3d(x1, x2)
x4 = t.nn.functional.conv_transpose3d(x1[:, :2], x2, groups=2)
""",
    "the memory order of powers by a number": """
x1 = t.arange(4.0).reshape(2, 1, 1, 2).permute(2, 3, 1, 0)
x2, x3, x4, x5 = x1.pow(1.0), x1.pow(0), x1.pow(1.7), x1.float_power(1.5)
x6 = t.nn.functional.lp_pool2d(x1, 1.0, 1)
""",
    "the memory order of channels that are normalised": """
x1 = t.arange(6.0).reshape(1, 2, 3, 1)
x2 = t.arange(48.0).reshape(2, 3, 4, 2).permute(0, 3, 1, 2)[:, :1, :, 1:]
x3 = t.arange(6.0).reshape(1, 1, 2, 3).permute(0, 3, 1, 2)
for x4 in [x1.permute(0, 2, 1, 3), x1.permute(0, 3, 1, 2), x2, x3]:
    x5 = t.nn.functional.batch_norm(x4, None, None, training=True)
""",
    "the memory order of means of whole images": """
x1 = t.arange(24.0).reshape(2, 3, 2, 2).contiguous(memory_format=t.channels_last)
x2 = t.nn.functional.adaptive_avg_pool2d(x1, 1)
""",
    "the memory order of what is made of attention": """
x1 = t.arange(3.0).reshape(1, 3, 1, 1)
x2 = t.deg2rad(t.nn.functional.scaled_dot_product_attention(x1, x1, x1))
n3, n4, n5, n6 = x2.stride()
""",
    "what index_copy gives is row-major": """
x1 = t.index_copy(t.zeros(3, 2).t(), 0, t.tensor([0, 1]), t.ones(2, 3))
x2 = t.arange(12.0).reshape(2, 3, 2).permute(2, 0, 1).index_copy(1, t.tensor([1]), t.ones(2, 1, 3))
""",
    "the memory of coordinates": """
x1, x2 = t.unravel_index(t.arange(8).reshape(2, 2, 2).permute(2, 0, 1), (2, 4))
x3, x4 = t.unravel_index(t.tensor(5, dtype=t.int32), (3, 2))
x5, x6 = t.unravel_index(t.zeros(0, 3, dtype=t.uint8), (3, 2))
""",
    "in which order a matrix is multiplied thrice": """
x1 = t.tensor([[-0.5, 1.0], [t.inf, 2.0]]).matrix_power(3)
x2 = t.tensor([[1.0, -t.inf], [0.5, 2.0]]).matrix_power(3)
x3 = t.tensor([[1.0, -t.inf], [0.5, 2.0]]).matrix_power(7)
""",
    "the norm of one element is its magnitude": """
x1 = t.tensor([[3.0], [-4.0]], requires_grad=True)
x2 = x1[0].norm(1e-30)
x3 = x1.norm(-1e30, dim=1)
x4 = t.linalg.vector_norm(x1, 1e-300, dim=1)
x5 = x1.renorm(1e-30, 0, 1.0)
x6 = t.dist(x1[0], x1[1], 1e30)
x7 = x1.norm(0, dim=1)
""",
    "a batch mean of a number adds": """
x1 = t.tensor(1.0, requires_grad=True)
x2 = t.nn.functional.kl_div(x1, t.tensor([0.5, 2.0]), reduction="batchmean")
x2.backward()
""",
    "the memory of what broadcasts": """
x1 = t.nextafter(t.ones(4, 1, 3), t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1))
x2 = t.nextafter(t.ones(2, 3), t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1))
x3 = t.special.xlog1py(t.arange(4.0).expand(2, 3, 4).permute(2, 0, 1), t.ones(2, 3, 4).permute(2, 0, 1))
""",
    "the mean of bools, of none": """
x1 = t.tensor([True]).scatter_reduce(0, t.zeros(0, dtype=t.int64), t.tensor([True]), "mean")
""",
    "the derivative of mvlgamma is one factor": """
x1 = t.tensor([0.0, 1.5, -t.inf], requires_grad=True)
x2 = x1.mvlgamma(2)
x2.exp().sum().backward()
x3 = x1.mvlgamma(3).sum()
x4 = x1.clone().mvlgamma_(2).sum()
x4.backward()
with t.no_grad():
    x1.add_(1)
x3.backward()
""",
    "images that are pooled, shuffled and normalised keep their order": """
x1 = t.arange(48.0).reshape(2, 6, 1, 4).permute(0, 3, 1, 2)
x2 = t.nn.functional.adaptive_avg_pool2d(x1, 3)
x3 = t.nn.functional.adaptive_avg_pool2d(x1, (4, 1))
x4 = t.nn.functional.adaptive_max_pool2d(x1, (4, 1))
x5 = t.nn.functional.pixel_unshuffle(x1, 1)
x6 = t.nn.functional.pixel_shuffle(x1, 1)
x7 = t.nn.functional.channel_shuffle(x1, 2)
x8 = t.nn.functional.group_norm(x1, 2)
x9 = t.nn.functional.group_norm(t.arange(48.0).reshape(6, 2, 4).permute(1, 2, 0), 2)
x10 = t.nn.functional.adaptive_avg_pool3d(x1, (2, 3, 1))
""",
    "lines that are pooled lie as images, those that are convolved do not": """
x1 = t.arange(48.0).reshape(2, 6, 4).permute(0, 2, 1)
x2 = t.nn.functional.adaptive_avg_pool1d(x1, 3)
x3 = t.nn.functional.adaptive_max_pool1d(x1, 4)
x4 = t.nn.functional.max_pool1d(x1, 2)
x5 = t.nn.functional.max_pool1d(x1.clone().requires_grad_(), 2)
x6 = t.nn.functional.conv1d(x1, t.ones(3, 4, 2))
x7 = t.nn.functional.conv_transpose1d(x1, t.ones(4, 3, 2))
""",
    "volumes of a batch of one whose channels lie last, and are normalised": """
m1 = t.nn.BatchNorm3d(4)
x1 = t.arange(32).to(t.float32).reshape((2, 2, 1, 2, 4)).permute((2, 4, 0, 1, 3))
x2 = m1(x1)
""",
    "what a product forwards used was written": """
x1 = t.tensor([[0.0]])
x2 = t.tensor([[0.0]], requires_grad=True)
x3 = t.func.jvp(lambda a, b: a * b, (x1[0], x2[0]), (x2[0], x1[0]))[1]
x1.copy_(x2)
t.autograd.backward([x3])
""",
    "targets of positions in another order were written": """
x1 = t.arange(12).to(t.float32).reshape((6, 1, 2))[1:].requires_grad_()
x2 = t.zeros(5, 2, 2, dtype=t.int64)[..., 0]
x3 = t.nn.functional.nll_loss(x1, x2)
x2.cumsum_(0)
x3.backward()
""",
    "parts of numbers keep their order": """
x1, x2 = t.frexp(t.tensor([[0.5, 3.0, t.inf], [0.0, -2.0, 7.5]]).t())
""",
    "losses expand their operands before these are promoted": """
x1 = t.tensor([[[0.0]]], requires_grad=True)
x2 = t.tensor(0.5, dtype=t.float64)
x3 = t.nn.functional.smooth_l1_loss(x1, x2)
x4 = t.nn.functional.l1_loss(x1, x2, reduction='none')
x5 = t.nn.functional.mse_loss(x2, x1)
x6 = t.nn.functional.mse_loss(x1, x2, reduction='none')
x7 = t.nn.functional.huber_loss(x1, x2)
x3.backward()
x6.sum().backward()
""",
    "a power of 0 lies row by row": """
x1 = t.zeros(2, 2).t().matrix_power(0)
""",
    "a grid keeps nothing for its gradient": """
x1 = t.tensor([[[1.0, 0.5, -1.0], [0.0, 2.0, 0.25]]], requires_grad=True)
x2 = t.nn.functional.affine_grid(x1, (1, 1, 2, 3))
x2.square().sum().backward(create_graph=True)
x2.sum().backward()
x2.sum().backward()
""",
    "bools have a product of elements, but none over no dimension": """
x1 = t.tensordot(t.zeros(0, dtype=t.bool), t.tensor([True]), 0)
x2 = t.einsum('i,j->ij', t.tensor([True]), t.tensor([True, False]))
x3 = t.tensordot(t.tensor([[True]]), t.tensor([[True, True]]), 0)
""",
    "what is added 0 times has its say in the memory order": """
x1 = t.addr(t.zeros(3, 2).t(), t.ones(2), t.ones(3), beta=0)
x2 = t.addr(t.zeros(3, 2).t(), t.ones(2), t.ones(3), beta=0, alpha=2)
x3 = t.addr(t.zeros(3, 2, dtype=t.bool).t(), t.ones(2, dtype=t.bool), t.ones(3, dtype=t.bool), beta=0)
x4 = t.addr(t.zeros(()), t.ones(2), t.ones(3), beta=0)
""",
    "padding may take all of one dimension away, not of each": """
x1 = t.nn.functional.pad(t.ones(2, 1, 1), (0, -1, 0, 0), "reflect")
x2 = t.nn.functional.pad(t.ones(2, 1, 1, 1), (0, 0, 0, 0, -1, 0), "replicate")
x3 = t.nn.functional.pad(t.ones(2, 1, 2, requires_grad=True), (1, 1, -1, 0), "reflect")
x3.sum().backward()
x4 = t.nn.functional.pad(t.ones(2, 1), (0, -1), "reflect")
x5 = t.nn.functional.pad(t.ones(2, 1, 1), (0, -1, -1, 0), "replicate")
""",
    "an inverse keeps itself, not the matrix": """
x1 = t.tensor([[2.0, 1.0], [0.5, -1.0]], requires_grad=True)
x2 = x1 * 1
x3, x4 = t.linalg.inv(x2), t.linalg.inv_ex(x2)[0]
x2.zero_()
(x3 * x4).sum().backward(create_graph=True)
x5, = t.autograd.grad(x4.square().sum(), x4)
""",
    "the graph of windows that overlap knows nothing of their copies": """
x1 = t.tensor([[[0.0, 2.0, 1.0]]], requires_grad=True)
x2 = t.nn.functional.adaptive_max_pool2d(x1, 2)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
x2.sum().backward()
x4, = t.autograd.grad(x3.sum(), [x1])
x5 = t.nn.functional.adaptive_max_pool1d(x1, 2)
x5.backward(x5.detach())
x6 = t.nn.functional.adaptive_max_pool3d(x1[None], (1, 3, 2))
x6.backward(x6.detach())
""",
    "one mean of a line is a mean": """
x1 = t.ones(1, 2, 3, requires_grad=True)
x2 = t.nn.functional.adaptive_avg_pool1d(x1, 1)
x2.backward(t.ones(1, 2, 1), create_graph=True)
x3 = t.nn.functional.adaptive_avg_pool1d(t.ones(2, 0), 1)
x4 = t.nn.functional.adaptive_avg_pool1d(t.ones(2, 0), 2)
x5 = t.nn.functional.adaptive_avg_pool1d(t.ones(2), 1)
""",
    "images that are unpooled keep their order": """
x1 = t.arange(16.0).reshape(2, 2, 2, 2).permute(0, 3, 1, 2)
x2, x3 = t.nn.functional.max_pool2d(x1, 1, return_indices=True)
x4 = t.nn.functional.max_unpool2d(x2, x3, 2)
x5 = t.nn.functional.max_unpool2d(x2[0], x3[0], 2)
x6, x7 = t.nn.functional.max_pool3d(x1[None].requires_grad_(), 1, return_indices=True)
x8 = t.nn.functional.max_unpool3d(x6, x7, 1)
""",
    "recurrent layers are computed again where their gradient has a graph": """
m1 = t.nn.LSTM(2, 3, dtype=t.float64).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters(False)])
x1 = t.ones(3, 2, 2, dtype=t.float64, requires_grad=True)
x2 = x1 * 1
x3 = m1(x2)[0]
x2.mul_(2)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True, allow_unused=True)
""",
    "the exponential of a matrix of one element": """
x1 = t.tensor([[[-t.inf, 0.5]], [[t.inf, -2.0]]], requires_grad=True)
x2 = t.matrix_exp(x1[:, :, :1])
x3 = t.matrix_exp(x1[:, :, 1:])
x3.sum().backward()
""",
    "a zero point beside a number is one": """
x1 = t.fake_quantize_per_tensor_affine(t.tensor([0.0, 5.0]), t.tensor(1.0), t.tensor(0), 1, 3)
x2 = t.fake_quantize_per_tensor_affine(t.tensor([0.0, 5.0]), 1.0, t.tensor(2), 1, 3)
x3 = t.fake_quantize_per_tensor_affine(t.tensor([0.0, 5.0]), 1.0, t.tensor(0), 1, 3)
""",
    "einsum walks in the order of its result": """
x1, x2 = t.arange(12.0).reshape(3, 4), t.arange(15.0).reshape(3, 5)
x3, x4, x5 = t.einsum('ec,ea->ac', x1, x2), t.einsum('ec,ea->ca', x1, x2), t.einsum('ce,ae', x1.t(), x2.t())
x6, x7 = t.einsum('bce,bea->bac', x1[None], x2[None].mT.mT), t.einsum('abc->ca', t.ones(2, 3, 4).permute(2, 1, 0))
x8 = t.einsum('cbe,dcb->dcbe', t.arange(75.0).reshape(5, 3, 5).permute(1, 2, 0), t.ones(3, 3, 5))
x9 = t.einsum('abc,->ca', t.arange(30.0).reshape(3, 5, 2).permute(2, 1, 0), t.tensor(2.0))
x10 = t.einsum('adf,ac->cd', t.ones(3, 5, 2), x1)
""",
    "the settings of channels have no say in the order": """
x1 = t.tensor([[[0.0]], [[0.0]]]).permute(2, 1, 0)
x2 = t.fake_quantize_per_channel_affine(x1, t.tensor([1.0, 1.0]), t.tensor([0, 0], dtype=t.int32), 2, 0, 0)
x3 = t.ones(2, 3, 4).permute(2, 0, 1)[:1].expand(4, 2, 3)
x4 = t.fake_quantize_per_channel_affine(x3, t.ones(3), t.zeros(3, dtype=t.int32), 2, 0, 1)
n5, n6 = x2.stride(), x4.stride()
""",
    "what a view writes at which PyTorch lets nobody look": """
x1 = t.tensor([0.0, 0.5, 0.0]).requires_grad_()
x2, x3 = t.split(x1, 2)
with t.no_grad():
    x2.subtract_(1e+30, alpha=3)
""",
    "rms_norm keeps the order of images": """
x1 = t.ones(2, 3, 2, 4).contiguous(memory_format=t.channels_last)
x2 = t.nn.functional.rms_norm(x1, (4,))
x3 = t.nn.functional.rms_norm(x1, (2, 4), t.ones(2, 4)).is_contiguous(memory_format=t.channels_last)
x4 = t.nn.functional.rms_norm(x1[:, :1], (4,)).stride()
x5 = t.nn.functional.rms_norm(x1.double().requires_grad_(), (3, 2, 4))
x6 = t.nn.functional.rms_norm(x1.permute((0, 2, 3, 1)), (3,))
x5.square().sum().backward()
""",
    "isin of elements in another order": """
x1 = t.tensor([[0.0, 1.0], [2.0, 3.0]]).permute((1, 0))
x2 = t.isin(x1, x1)
""",
    "the strides of what vmap gives": """
x1 = t.tensor([[0.0, 0.0]])
x2 = t.vmap(lambda a: a, out_dims=1)(x1)
n3, n4 = x2.stride()
""",
    "one of several views of what was written and then detached": """
x1 = t.tensor([0.0, 0.0], requires_grad=True)
x2 = t.nn.functional.tanh(x1)
with t.no_grad():
    x3, x4 = x2
x5 = x2.log2_()
x5.detach_()
x4.erfc_()
""",
    "what was asked for another result has forgotten its steps": """
x1 = t.tensor([0.0, 1.0]).requires_grad_()
x2, x3 = t.std_mean(x1)
x4 = x3.sigmoid()
x5, n6 = t.autograd.grad(x4, [x4, x2], allow_unused=True)
x4.backward()
""",
    "an input with unequal margins is written": """
x1 = t.tensor([[[0.0, 1.0]]])
x2 = t.ones(2, 1, 2, requires_grad=True)
x3 = t.nn.functional.conv1d(x1, x2, t.zeros(2), 1, "same")
x1.i0_()
x3.mean().backward()
""",
    "images whose columns come first are written after they were normalised": """
m1 = t.nn.BatchNorm2d(1)
x2 = t.arange(4.0).reshape((1, 1, 2, 2)).permute((0, 1, 3, 2))
x3 = m1(x2)
x2 += 1
x3.sum().backward()
""",
    "the order of a volume's maxima": """
x1 = t.arange(64).reshape((2, 4, 2, 2, 2)).permute((0, 4, 1, 2, 3))
x2, x3 = t.nn.functional.max_pool3d(x1, 2, return_indices=True)
""",
    "a reduction into itself with gaps": """
x1 = t.tensor([[[0.0, 0.0], [0.0, 0.0]]])[..., 0]
x2 = x1.expand((1, -1)).index_reduce_(1, t.tensor([0, 0]), x1, "mean")
""",
    "the gradient of windows that were written": """
x1 = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
x2 = x1 * 1
x3 = x2.unfold(0, 2, 1)
x3.put_(t.tensor([0]), t.tensor([0.0]))
x2.sum().backward()
""",
    "a third derivative of a norm of channels, by its result first": """
x1 = t.tensor([[0.5, 1.0], [0.0, -1.0], [2.0, 0.25]], dtype=t.float64, requires_grad=True)
x2 = t.nn.functional.batch_norm(x1, None, None, training=True).exp()
x3, = t.autograd.grad(x2, x1, x2, create_graph=True)
x5 = x3 * t.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])
x4, = t.autograd.grad(x5.sum(), x2, create_graph=True)
x4.mean().backward()
""",
    "the bias of a convolution by what requires grad later": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = t.ones(1, 1, 1)
x3 = t.nn.functional.conv1d(t.ones(1, 1, 1), x2, x1)
x2.requires_grad_()
x3.backward(create_graph=True)
""",
    "a state that lies by columns, in a layer": """
x1 = t.tensor([[0.0, 1.0], [2.0, 3.0]]).permute((1, 0))
m1 = t.nn.LSTMCell(1, 2).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x2, x3 = m1(t.ones(2, 1), (x1, x1))
""",
    "a layer of circular padding, asked for a second time": """
x1 = t.tensor([[[0.0]]], requires_grad=True)
x2 = t.nn.CircularPad2d(0)(x1)
x2.backward()
x3 = t.autograd.grad(x2, [x1])
""",
    "the derivative of a Bessel function by its result": """
x1 = t.tensor([0.5], requires_grad=True)
x2 = t.special.i0e(x1)
x3, = t.autograd.grad(x2.square(), [x1], create_graph=True)
x4, = t.autograd.grad(x3, x2)
""",
    "a batch is written after its heads have looked at it": """
x1 = t.tensor([[[0.0], [0.0]], [[0.0], [0.0]]])
m1 = t.nn.MultiheadAttention(1, 1, batch_first=True).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters(False)])
x2 = m1(x1, x1, x1)[0].contiguous()
x1 += 1
x2.mean().backward()
""",
    "zeta of large numbers": """
x1 = t.tensor([2.0, 1e30])
x2 = t.special.zeta(x1, x1.flip(0).nan_to_num(posinf=1.0))
x3 = t.special.zeta(x1, x1)
""",
    "an index of int32 that is kept in a view is written": """
x1 = t.tensor([0, 1], dtype=t.int32)
x2 = t.ones(3, requires_grad=True) * 1
x3 = t.ones(2, requires_grad=True) * 1
x2[:2].index_add_(0, x1, x3)
x1 += 1
x2.sum().backward()
""",
    "the hidden view of several products is written": """
x1, x2 = t.zeros(1, 2), t.zeros(2, 2, requires_grad=True)
x3 = t.linalg.multi_dot([x1, x2])
x4 = x3.copy_(x1)
x4.exp().sum().backward(create_graph=True)
""",
    "the statistics of no images": """
m1 = t.nn.InstanceNorm1d(1, track_running_stats=True)
x2 = t.zeros(0, 1, 0)
x3 = m1(x2)
""",
    "attention with a graph needs nothing of its first one": """
x1 = t.tensor([[[0.5]]], requires_grad=True)
x2 = t.tensor([[[1.0]]])
x3 = t.tensor([[[2.0]]])
x4 = t.nn.functional.scaled_dot_product_attention(x1, x2, x3)
x5, = t.autograd.grad(x4, [x1], create_graph=True)
x4.backward()
x5.backward()
""",
    "columns by one of them": """
x1 = t.tensor([[0.5, 1.0, 2.0], [3.0, 0.25, 4.0], [1.5, 7.0, 1.0]]).requires_grad_()
x2 = x1.t().clone(memory_format=t.preserve_format)
x3, x4, x5 = x2
x2.arctan2_(x5)
""",
    "put into itself with gaps": """
x1 = t.zeros(5)[0::2]
x2 = x1[()]
x2.put_(t.tensor([0, 0, 0]), x1)
""",
    "the distance of a layer does not overflow": """
x1, x2 = t.tensor([[0.0]]), t.tensor([[0.0, 1e30]])
x3 = t.nn.TripletMarginLoss(reduction="sum")(x1, x2, x1)
""",
    "the gradient of a product that overflows in float32": """
x1 = t.arange(288).remainder(101).sub(2).to(t.float64).div(8).requires_grad_()
x2 = x1.prod(dtype=t.float32)
x2.backward()
""",
    "a number that does not fit": """
x1 = t.tensor(4294967294.0, dtype=t.float64)
x2 = x1.to(t.uint8)
""",
    "an image of one element per channel, which no pooling takes for channels last": """
x1 = t.tensor([[[1.0, 2.0]]]).T
x2 = t.nn.functional.adaptive_avg_pool2d(x1, 2)
x3 = t.nn.functional.adaptive_max_pool2d(x1, 2)
x4, x5 = t.nn.functional.max_pool2d(x1, 1, return_indices=True)
x6 = t.nn.functional.avg_pool2d(x1, 1)
x7 = t.nn.functional.adaptive_max_pool2d(x1, (5, 3))
""",
    "a line of one channel that is padded at its end": """
x1 = t.zeros(2, 2, 1, dtype=t.float64).permute(0, 2, 1)
x2 = t.nn.functional.conv1d(x1, t.zeros(2, 1, 2, dtype=t.float64), padding='same')
x3 = t.nn.functional.conv1d(x1, t.zeros(2, 1, 3, dtype=t.float64), padding='same')
""",
    "a mantissa and an exponent of one element, or of a line, with gaps": """
x1, x2 = t.frexp(t.zeros(2, 1, 2)[:1, :, 0])
n1, n2 = x1.stride()
n3, n4 = x2.stride()
x3, x4 = t.frexp(t.zeros(2, 3, 4).permute(2, 0, 1)[1:2])
n5, n6, n7 = x3.stride()
n8, n9, n10 = x4.stride()
""",
    "a group of large equal elements": """
m1 = t.nn.GroupNorm(1, 0, affine=False)
x1 = t.tensor([[[[1e30]]]]).expand((1, 1, 1, 2))
x2 = m1(x1)
""",
    "a rate that is the norm of a large parameter": """
x1 = t.tensor([0.0, 1e30], requires_grad=True)
x1.mean().backward()
o1 = t.optim.Adafactor([x1])
o1.step()
""",
    "remainders in windows, by themselves": """
x1 = t.tensor([[2.75]]).expand((1, 4)).fix()
x2 = x1.unfold(1, 3, 1)
x2.fmod_(x2)
""",
    "one element with the strides of what it was part of": """
x1 = t.tensor([[[0.0, 0.0]]])[..., 0]
x2 = t.nn.functional.hardtanh(x1)
n1, n2 = x2.stride()
x3 = t.nn.functional.prelu(x1, t.ones(1)).nan_to_num()
n3, n4 = x3.stride()
""",
    "a direction that was written, beside one of another dtype": """
x1 = t.tensor([[1.5, 2.0]]).requires_grad_()
x2 = x1 * 1
x3 = t.nn.functional.cosine_similarity(x2, t.ones(1, 2, dtype=t.float64))
x2.arccosh_()
x3.backward()
""",
    "a factor of one element that was written": """
x1, x2 = t.tensor([2.0]).requires_grad_(), t.tensor([3.0])
x3 = t.inner(x2, x1)
x2.cosh_()
x3.backward()
""",
    "a batch that was multiplied and written, and has no name any more": """
x1 = t.ones(1, 3).requires_grad_()
x2 = t.ones(2, 3, 2)
x3 = x1 @ x2
x2.log1p_()
del x2
x3.sum().backward()
""",
    "a view of what was taken out of the graph, and written": """
x1 = t.tensor([0.0]).requires_grad_()
x2 = x1.cos()
x3 = x2[()]
t.autograd.backward([x2])
with t.no_grad():
    x2.detach_()
    x3[()] = 0.0
x3.backward()
""",
    "infinite weights on padding, by position": """
x1, x2 = t.ones(1, 1, 1, 1), t.tensor([[[[t.inf]]]])
x3 = t.conv2d(x1, x2, t.zeros(1), 1, 1)
""",
    "strides of one element that takes several steps": """
x1 = t.arange(40.0).as_strided((3, 1, 2), (1, 9, 3))
x2 = x1.deg2rad()
n1, n2, n3 = x2.stride()
x3 = t.special.entr(x1)
n4, n5, n6 = x3.stride()
x5 = t.conv1d(t.ones(1, 1, 3), t.ones(1, 2, 1).permute(0, 2, 1))
n10, n11, n12 = x5.stride()
x6 = t.zeros(4, 1, 1)[:, ::2, [0]]
n13, n14, n15 = x6.stride()
x4 = t.nn.functional.hardtanh(x1.to(t.int64))
n7, n8, n9 = x4.stride()
""",
    "a weight of rows with gaps that was written": """
x1 = t.ones(2, 4)[..., ::2].requires_grad_()
x2 = t.nn.functional.layer_norm(x1, (2, 2), x1)
with t.no_grad():
    x1.mul_(2.0)
x2.backward(x2)
""",
    "a weight of channels with gaps that was written": """
x1, x2 = t.ones(2, 2, 2, 2).requires_grad_(), t.ones(4)[::2]
x3 = t.nn.functional.batch_norm(x1, None, None, x2, training=True)
x2.mul_(2.0)
x3.sum().backward()
""",
    "the order of neighbours": """
x1, x2 = t.ones(2, 1).expand(2, 3), t.ones(3, 2).t()
x3 = t.nextafter(x1, x2)
""",
    "the constant derivative of a power of what is a factor": """
x1, x2 = t.ones(1, 1, 1, 2), t.zeros(1, 2, 1, 2).requires_grad_()
x3 = t.nn.functional.scaled_dot_product_attention(x1, x2, x1.expand(1, 2, 1, 2))
x4 = t.pow(x3, 0)
x5, = t.autograd.grad(x4.sum(), [x2], create_graph=True)
n1, n2 = t.autograd.grad(x5.sum(), [x3, x4], allow_unused=True)
""",
    "remainders by what lies beside 0": """
x1 = t.tensor([0.0] * 8 + [-0.5], dtype=t.float64)
x2 = t.nn.functional.relu(x1)
x2.nextafter_(t.full((9,), -1.0, dtype=t.float64))
x3 = 1 % x2
""",
}


# On whatever device the other tests run, these compare on the CPU: they are about the graph and arguments.
@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
