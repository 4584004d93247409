"""What random programs have found of graphs of gradients, and of images that are not there, reduced; the others are in
test_found.py."""

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

from programs.compare import Settings, compare  # noqa: E402

LU_WRITTEN = """
x1 = t.tensor([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])[:t.ones({0}).numel()].reshape({0}).requires_grad_()
x2 = t.linalg.lu(x1)
x3 = x2[1].sum() + x2[2].sum()
with t.no_grad():
    x2[{1}].mul_(1)
x3.backward()
"""

FOUND = {
    "a power of a number whose exponent is written": """
x1 = t.tensor([[1.0, -1.0]], requires_grad=True)
x2 = x1 * 2
x3 = x2.movedim(0, 1)
x4 = 0.0**x3
x2[x2 < 0] = 0.0
x5, = t.autograd.grad(x4.sum(), [x1], t.tensor(1.0))
""",
    "a comparison with what a matrix and a batch gave, written there": """
x1 = t.tensor([[0.0]], dtype=t.float64).requires_grad_()
x2 = t.tensor([[[0.0]]], dtype=t.float64, requires_grad=True)
x3 = t.matmul(x1, x2)
x3.gt_(x2)
x4, = t.autograd.grad(x3.exp(), x1, create_graph=True)
x4.backward()
""",
    "zeros that are added to the gradient of an image that was sampled": """
x1 = t.tensor([[[[[0.0]]]]], dtype=t.float64).requires_grad_()
x2 = t.tensor([[[[[0.0, 0.0, 0.0]]]]], dtype=t.float64)
x3 = t.nn.functional.grid_sample(x1, x2)
x3.backward(retain_graph=True)
x4 = x1.grad
x5, = t.autograd.grad(x3, x1, create_graph=True)
x5.backward()
""",
    "the bias of heads whose result was written, of a batch that comes first": """
x1 = t.tensor([[[0.0], [0.0]], [[0.0], [0.0]]], requires_grad=True)
m1 = t.nn.MultiheadAttention(1, 1, batch_first=True).apply(lambda m: [w.data.zero_() for w in m.parameters()])
x2 = m1(x1, x1, x1)[0].contiguous()
x2.fill_(0.0)
x2.backward(x1, create_graph=True)
""",
    "batches that were written after they were multiplied and added": """
x1 = t.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=t.float64)
x2 = t.zeros(2, 2, 5, dtype=t.float64).requires_grad_()
x3 = t.arange(30).to(t.float64).reshape((5, 2, 3)).permute((1, 0, 2))
x1.addbmm_(x2, x3)
x3.floor_()
x1.sum().backward()
""",
    "an incomplete Gamma of a bool": """
x1 = t.tensor(0.0, requires_grad=True)
x2 = t.igammac(t.tensor([[True]]), x1)
x2.sum().backward()
""",
    "distances to none, of another dtype": """
x1, x2 = t.zeros((0, 2), requires_grad=True), t.ones((3, 2), dtype=t.float64, requires_grad=True)
x3 = t.cdist(x1, x2)
x3.sum().backward()
x4 = t.cdist(x2, t.zeros(0, 2, dtype=t.float32))
x5 = t.cdist(t.zeros(2, 0), t.zeros(3, 0, dtype=t.float64), 1.0)
x6 = t.cdist(x2, t.zeros(3, 2))
""",
    "the bias of a vector's product, asked for a second time": """
x1 = t.tensor([0.0], requires_grad=True)
x2 = x1.broadcast_to((3,))
x3 = t.nn.functional.linear(x1, t.ones(3, 1), bias=x2)
x3.sum().backward()
x4, = t.autograd.grad(x3.mean(), [x2])
""",
    "the loss of no rows, whose derivative was gone through": """
x1 = t.zeros((0, 1)).requires_grad_()
x2 = t.nn.functional.cross_entropy(x1, t.zeros((0,), dtype=t.int64))
x3, = t.autograd.grad(x2, x1, create_graph=True)
x3.sum().backward()
x2.backward()
""",
    "images of nothing that are shuffled, and volumes of no channels with statistics": """
x1 = t.zeros((2, 4, 2, 0)).requires_grad_()
x2 = t.nn.PixelShuffle(2)(x1)
x3 = t.zeros((2, 0, 3, 2, 3), dtype=t.float64)
m1 = t.nn.InstanceNorm3d(4, track_running_stats=True).double()
x4 = m1(x3)
""",
    "groups in another order are written once they are normalised": """
x1 = t.arange(3.0).reshape((1, 3))[..., 0::2].requires_grad_()
x2 = t.nn.functional.group_norm(x1, 1)
with t.no_grad():
    x1.sub_(x1)
x2.sum().backward()
""",
    "a derivative forwards that is a constant": """
x1, x2 = t.zeros(1), t.zeros(1, requires_grad=True)
x3 = t.func.jacfwd(lambda a, b: a * b, argnums=1)(x1, x2).clone()
""",
    "a derivative forwards by what it does not depend on": """
x1, x2 = t.zeros((1, 1), requires_grad=True), t.zeros((1, 1), requires_grad=True)
x3 = t.func.jacfwd(lambda a, b: a * b)(x1, x2)
t.autograd.backward([x3])
""",
    "what a transform made of an argument without a gradient": """
x1, x2 = t.zeros(1), t.zeros(1, requires_grad=True)
x3 = t.func.jvp(lambda a, b: a.sum() * b, (x1, x2), (x2, x1))[0]
x3.backward(create_graph=True)
""",
    "what a transform made is differentiated after an operand was written": """
x1 = t.tensor([[1.0, 2.0]], requires_grad=True) * 1
x2 = t.tensor([[3.0, 1.0]])
x3 = t.func.jvp(lambda a, b: t.outer(a, b), (x1[0], x2[0]), (x2[0], x1[0]))[0]
x1.mul_(2.0)
x3.sum().backward()
""",
    "a determinant of nothing, with a graph": """
x1, x2 = t.zeros(2, 0, 0, requires_grad=True), t.ones(3, 3, requires_grad=True)
x3 = x1.det().sum() + x2[:0, :0].det()
x3.backward(create_graph=True)
""",
    "the running variance of large equal elements": """
x1 = t.full((1, 1, 3, 1), 1e30, dtype=t.float64)
x2, x3 = t.zeros(1, dtype=t.float64), t.zeros(1, dtype=t.float64)
x4 = t.nn.functional.instance_norm(x1, x2, running_var=x3)
""",
    "the weight of a norm of groups of nothing": """
m1 = t.nn.GroupNorm(1, 1).to(t.float64)
x1 = m1(t.zeros((1, 1, 0), dtype=t.float64))
x1.sum().backward()
""",
    "the gradient of images of nothing that are shuffled": """
x1 = t.zeros((2, 4, 2, 0)).requires_grad_()
t.nn.PixelShuffle(2)(x1).sum().backward()
""",
    "a constant that GroupNorm has normalised": """
m1 = t.nn.GroupNorm(1, 2)
x1 = t.tensor([[1.0, 2.0]])
x2 = m1(x1)
x2.mean().backward(create_graph=True)
""",
    "a third derivative of what is normalised": """
x1 = t.tensor([[[0.0, 0.5, 2.0]]], requires_grad=True)
m1 = t.nn.InstanceNorm1d(1)
x2 = m1(x1)
x3, = t.autograd.grad(x2.exp().sum(), x1, create_graph=True)
x4, = t.autograd.grad(x3.square().sum(), x1, create_graph=True)
(x4 * t.tensor([-1.0, 1.0, 3.0])).sum().backward()
""",
    "a threshold in expanded memory": """
x1 = t.zeros(1, 1).expand(1, 2)
x2 = t.nn.functional.threshold(x1, 0.0, 0.0, inplace=True)
""",
    "the logits of one row are written": """
x1 = t.tensor([0.5, 1.0], requires_grad=True)
x2 = t.nn.functional.cross_entropy(x1, t.tensor(0))
with t.no_grad():
    x1.sub_(x1)
x2.backward()
""",
    "what has been padded by its own elements is written": """
m1, m2 = t.nn.ReplicationPad3d(0), t.nn.ReflectionPad2d(1)
x1, x2 = t.ones(1, 1, 1, 1, requires_grad=True), t.ones(1, 2, 2, requires_grad=True)
x3, x4 = m1(x1), m2(x2)
with t.no_grad():
    _ = x1.log_(), x2.log_()
x3.backward()
x4.sum().backward()
""",
    "a constant that RMSNorm has normalised": """
m1 = t.nn.RMSNorm(2)
x1 = t.tensor([[1.0, 2.0]])
x2 = m1(x1)
x2.sum().backward(create_graph=True)
""",
    "what takes no part in an extreme is written": """
x1, x2 = t.ones(1, 1, requires_grad=True), t.zeros(1, 1)
x3 = t.scatter_reduce(x2, 0, t.tensor([[0]]), x1, "amax", include_self=False)
x2 += 1
x3.backward()
""",
    "what index_copy has copied is written": """
x1, x2 = t.zeros(2), t.tensor([0])
x3 = t.ones(1, requires_grad=True)
x4 = t.index_copy(x1, 0, x2, x3)
x5 = t.zeros(2)
x5[:1].index_copy_(0, x2, x3)
with t.no_grad():
    x3.clamp_(0.0)
x4.sum().backward()
""",
    "what index_copy has copied into a view is written": """
x2, x3 = t.tensor([0]), t.ones(1, requires_grad=True)
x5 = t.zeros(2)
x5[:1].index_copy_(0, x2, x3)
with t.no_grad():
    x3.clamp_(0.0)
x5.sum().backward()
""",
    "an optimizer of a tensor and a view of it": """
x1 = t.ones(4)
x2 = x1[:2].requires_grad_()
x1.requires_grad_()
o3 = t.optim.SGD([x1, x2], lr=0.1, momentum=0.9)
x4 = x1.sum() + x2.sum()
x4.backward()
o3.step()
""",
    "what a gradient of nothing was added to leads back to it": """
x1 = t.ones(1, 4, requires_grad=True)
x2 = t.ones(4, 3, requires_grad=True)
x3 = x1.gather(0, t.zeros((0, 4), dtype=t.int64)) @ x2
x4, = t.autograd.grad(x3.square().sum(), x1, create_graph=True)
x4.sum().backward()
""",
    "nor has it a graph of its own": """
x1 = t.ones(2, requires_grad=True)
x2 = x1.gather(0, t.zeros((0,), dtype=t.int64)).sum()
x3, = t.autograd.grad(x2, x1, create_graph=True)
x4 = x3.requires_grad
x5 = t.ones((), requires_grad=True)
x6 = t.ones(1).scatter_add(0, t.zeros((0,), dtype=t.int64), x5).sum()
x7, = t.autograd.grad(x6, x5, create_graph=True)
x8 = x7.requires_grad
""",
    "a norm of order 0 that has run in vain": """
x1 = t.ones(1, 1, requires_grad=True)
x2 = x1.nanmean()
x3 = t.nn.functional.pairwise_distance(t.ones(1), x2, 0.0)
x3.backward()
x2.backward()
""",
    "parts that tensor_split gives are slices, each by itself": """
x1 = t.tensor([0.0, 1.0, 2.0], requires_grad=True)
for x2, x3 in [x1.tensor_split(3)[:2], x1.hsplit(3)[:2], x1[:, None].vsplit(3)[:2], x1[None, None].dsplit(3)[:2]]:
    x4 = x3.exp()
    x4.floor_()
    n5, = t.autograd.grad(x4.sum(), [x2], allow_unused=True)
""",
    "the factors of a matrix are kept": LU_WRITTEN.format("2, 2", 0),
    "the factors of a wide matrix are kept": LU_WRITTEN.format("2, 3", 1),
    "the factors of a tall matrix are kept": LU_WRITTEN.format("3, 2", 2),
    "no residuals have a place in the graph": """
x1, x2 = t.ones(2, 2, requires_grad=True), t.ones(2, 1, requires_grad=True)
x3 = t.linalg.lstsq(x1, x2).residuals
x4, x5 = t.autograd.grad(x3.sum(), [x1, x2], allow_unused=True)
""",
    "an instance_norm of nothing is a tensor of its own": """
x1 = t.zeros((0, 2, 3), requires_grad=True)
x2 = t.nn.functional.instance_norm(x1)
x2.mul_(2)
x2.sum().backward()
with t.no_grad():
    x3 = t.nn.functional.instance_norm(x1)
    x3.zero_()
""",
    "a leaf is no place for a scatter, whatever the index": """
x1 = t.zeros(4, 0, 3).requires_grad_()
x2 = x1.index_reduce_(-2, t.tensor([0, 0]), t.ones(4, 2, 3), 'amax', include_self=False)
x3 = x1.scatter_reduce_(1, t.zeros(4, 2, 3, dtype=t.int64), t.ones(4, 2, 3), 'amax')
""",
    "the product of one matrix is a tensor of its own": """
x1 = t.ones(2, 2, requires_grad=True)
x2 = t.chain_matmul(x1)
x2.mul_(2)
""",
    "the largest of no sums is a constant": """
x1, x2 = t.zeros(2, 0, requires_grad=True), t.zeros(2, 0, 3, requires_grad=True)
x3, x4, x5 = t.linalg.matrix_norm(x1, 1), t.linalg.norm(x1, 2), t.linalg.matrix_norm(x2, t.inf, keepdim=True)
x6 = t.linalg.matrix_norm(x1, t.inf)
""",
    "the steps of soft_margin_loss": """
x1 = t.tensor([[[0.0]]], requires_grad=True)
x2 = t.nn.functional.soft_margin_loss(x1, t.tensor([0.0]))
x3, = t.autograd.grad(x2, x1, create_graph=True)
x3.backward()
x2.backward()
""",
    "soft_margin_loss and its gradient keep what each needs": """
x1 = t.tensor([0.5, -1.0, 2.0], requires_grad=True)
x2 = t.nn.functional.soft_margin_loss(x1, t.tensor([1.0, -1.0, 1.0]))
x3, = t.autograd.grad(x2, x1, create_graph=True)
x3.sum().backward()
x2.backward()
""",
    "soft_margin_loss keeps its input and its target": """
x1 = t.tensor([0.5, -1.0], requires_grad=True)
x2, x3 = x1 * 1, t.tensor([1.0, -1.0])
x4 = t.nn.functional.soft_margin_loss(x2, x3)
x3.zero_()
x4.backward()
""",
    "the determinant of an element is the element": """
x1 = t.tensor([[[0.5]], [[0.0]]], requires_grad=True)
x2 = x1.det()
x3, = t.autograd.grad(x2, x1, x2, create_graph=True)
x4, = t.autograd.grad(x3.sum(), x2, retain_graph=True)
x5, = t.autograd.grad(x2, x1, t.ones(2), create_graph=True)
""",
    "a sum to fewer dimensions is a view of one to as many": """
x1 = t.tensor([[0.0]], requires_grad=True)
x2 = x1.sum_to_size(1)
n3 = x2._is_view()
x2.div_(2.0, rounding_mode='trunc')
x4, = t.autograd.grad(x2, [x1], x2, create_graph=True)
x5, x6, x7 = t.ones(2, 3).sum_to_size(1, 3), t.ones(2, 3).sum_to_size(3), t.ones(2, 3).sum_to_size()
n8, n9, n10 = [x._is_view() for x in (x5, x6, x7)]
""",
    "parts that count as no views": """
x1 = t.arange(10.0).reshape(5, 2).requires_grad_()
x2, x3, x4 = x1.unsafe_chunk(3)
x5, x6 = t.unsafe_split(x1, 1, dim=1)
n7, n8 = x3._is_view(), x5._is_view()
x3.mul_(2)
n9, n10, n11, n12 = [x._version for x in (x1, x2, x3, x5)]
(x3 * x6[1:3]).sum().backward(create_graph=True)
x1.grad.square().sum().backward()
""",
    "what histogramdd counts, and its edges, require a gradient": """
x1, x2 = t.tensor([[0.5, 1.0], [1.5, 2.0]]), t.tensor([0.0, 1.0, 2.0])
x3, x4 = [x.clone().requires_grad_() for x in (x1, x2)]
x5, (x6, x7) = t.histogramdd(x3, 2)
x8, (x9, x10) = t.histogramdd(x1, [x4, x2])
x11, (x12, x13) = t.histogramdd(x1, [x2, x2], weight=x4[:2])
x5.sum().backward()
""",
    "the divisor of the least integer": """
x1, x2 = t.tensor([-128, 15], dtype=t.int8), t.tensor([126, -128], dtype=t.int8)
x3 = x1.gcd(x2)
""",
    "the least integer as an exponent": """
x1 = t.tensor([0.0, -1e30], requires_grad=True)
x2 = t.tensor([-2147483648, -2147483648], dtype=t.int32)
x3 = x1.pow(x2)
x3.sum().backward()
""",
    "the mean of a whole line has a constant gradient": """
x1 = t.ones(2, 3, 4, requires_grad=True)
t.adaptive_avg_pool1d(x1, 1).sum().backward(create_graph=True)
x2 = t.ones(2, 3, 4, requires_grad=True)
t.adaptive_avg_pool1d(x2, 2).sum().backward(create_graph=True)
""",
    "the second derivative of pooled volumes ends there": """
x1 = t.arange(36.0).reshape(1, 3, 3, 4).requires_grad_()
x2, = t.autograd.grad(t.max_pool3d(x1, 2).sum(), x1, create_graph=True)
x3, = t.autograd.grad((x2 * x2).sum(), x1, create_graph=True)
x4, = t.autograd.grad(t.nn.functional.avg_pool3d(x1, 2).sum(), x1, create_graph=True)
x5, = t.autograd.grad((x4 * x4).sum(), x1, create_graph=True)
x6, = t.autograd.grad(t.nn.functional.adaptive_max_pool3d(x1, 2).sum(), x1, create_graph=True)
x7, = t.autograd.grad((x6 * x6).sum(), x1, create_graph=True)
x8, = t.autograd.grad(t.max_pool3d(x1, 2).square().sum(), x1, create_graph=True)
x9, = t.autograd.grad(x8.square().sum(), x1, create_graph=True)
""",
    "a place at the border has no slope, also with a graph": """
x1 = t.arange(1.0, 5.0, dtype=t.float64).reshape(1, 1, 1, 4)
x2 = t.tensor([[[[0.0, 0.0], [-0.75, 0.5], [0.75, 0.0], [0.1, 0.0]]]], dtype=t.float64, requires_grad=True)
t.nn.functional.grid_sample(x1, x2, padding_mode='border', align_corners=False).sum().backward(create_graph=True)
x3 = x2.detach().requires_grad_()
t.nn.functional.grid_sample(x1, x3, padding_mode='reflection', align_corners=False).sum().backward(create_graph=True)
x4 = t.tensor([[[[1.0, 0.0], [-1.0, 0.5]]]], dtype=t.float64, requires_grad=True)
t.nn.functional.grid_sample(x1, x4, padding_mode='reflection', align_corners=True).sum().backward(create_graph=True)
x5 = x4.detach().requires_grad_()
t.nn.functional.grid_sample(x1, x5, padding_mode='border', align_corners=True).sum().backward(create_graph=True)
""",
    "the weight of rms_norm is written, and its gradient alone is asked": """
m1 = t.nn.RMSNorm(6)
x2 = t.arange(6).to(t.float32).reshape((1, 6))
x3 = m1(x2)
m1.load_state_dict(m1.state_dict())
x3.sum().backward()
""",
    "what rms_norm has put in another order is written": """
x1 = t.ones(2, 2, 1).permute((1, 0, 2)).requires_grad_()
x2 = t.nn.functional.rms_norm(x1, (1,))
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
with t.no_grad():
    x1.mul_(2)
x3.sum().backward()
""",
    "what lies before a norm of order 0 is written": """
x1 = t.tensor([[0.0]], dtype=t.float64)
x2 = t.tensor([[1.0]], dtype=t.float64, requires_grad=True)
x3 = x2 / 2
x4 = t.linalg.solve_triangular(x3, x1, upper=False)
x3[x3 > 0] = 1.0
x5 = t.nn.functional.triplet_margin_loss(x4, x4, x4, p=0.0)
x5.backward()
""",
    "the index of a filled value is written": """
x1, x2 = t.zeros(2), t.tensor([0])
x3 = t.tensor(0.0, requires_grad=True)
x1.index_fill_(0, x2, x3)
x2.fill_(1)
x1.sum().backward()
""",
    "the index of a value filled into a view is written": """
x1, x2 = t.zeros(2), t.tensor([0])
x3 = t.tensor(0.0, requires_grad=True)
x1[:].index_fill_(0, x2, x3)
x2.fill_(1)
x1.sum().backward()
""",
    "integers are filled with what requires grad": """
x1 = t.tensor(1.0, requires_grad=True)
x2 = t.tensor([[0]], dtype=t.int16).index_fill(0, t.tensor(0), x1)
""",
    "8-bit integers get a slice that requires grad": """
x1 = t.tensor([1.0], requires_grad=True)
x2 = t.tensor([[0]], dtype=t.int8).select_scatter(x1, 0, 0)
""",
    "a gradient with a graph stays itself in another order": """
m1 = t.nn.Conv2d(4, 1, 1).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x1 = m1(t.ones(1, 4, 1, 1))
x1.sum().backward(create_graph=True)
m1.to(memory_format=t.channels_last)
m1.double()
""",
    "a batch is taken out of the graph after addbmm": """
x1, x2 = t.ones(1, 1, 1, requires_grad=True), t.ones(1, 1, 1, requires_grad=True)
x3 = t.addbmm(t.zeros(1), x2, x1)
x2.detach_()
x3.backward(create_graph=True)
""",
    "the weight of a linear layer is frozen after it": """
m1 = t.nn.Linear(1, 1).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x1 = t.ones(1, 1, requires_grad=True)
x2 = m1(x1)
m1.requires_grad_(False)
x2.backward(create_graph=True)
""",
    "circular padding goes backward twice": """
x1 = t.ones(1, 1, 3, requires_grad=True)
x2 = t.nn.functional.pad(x1, (1, 0), mode='circular').sum()
x2.backward()
x2.backward()
""",
    "a layer of circular padding goes backward twice": """
m1 = t.nn.CircularPad1d(0)
x1 = t.ones(1, 1, 3, requires_grad=True)
x2 = m1(x1).sum()
x2.backward()
x2.backward()
""",
    "a convolution's weight is written, by which alone was derived": """
x1, x2 = t.ones(2, 1, 4), t.ones(2, 1, 1, requires_grad=True)
x3 = t.conv1d(x1, x2)
x4, = t.autograd.grad((x3 * x3).mean(), x2, create_graph=True)
with t.no_grad():
    x2.mul_(1)
x4.square().sum().backward()
""",
    "a convolved constant is written after the gradient of a sum": """
x1, x2 = t.ones(2, 1, 4, requires_grad=True), t.ones(1, 1, 2, requires_grad=True)
x3 = t.conv_transpose1d(x1, x2)
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
with t.no_grad():
    x1.mul_(1)
x4.square().sum().backward()
""",
    "what was converted before a running product is written": """
x1 = t.tensor([[2.25, 2.25], [-2.25, 1.75]], requires_grad=True)
x2 = x1.cumprod(0, dtype=t.float64)
x3, = t.autograd.grad(x2.square().sum(), x1, create_graph=True)
with t.no_grad():
    x1.mul_(1)
x3.square().sum().backward()
""",
    "a constant slope of hardswish's is written": """
x1 = t.tensor([[-1.93]], requires_grad=True)
x2 = t.nn.functional.hardswish(x1)
x3, = t.autograd.grad(x2.sum(), x1, create_graph=True)
with t.no_grad():
    x1.mul_(1)
x3.square().sum().backward()
""",
    "the second derivative of layer_norm by its bias alone": """
x1 = t.tensor([[1.0, 2.0]], requires_grad=True)
x2 = t.tensor([1.0, 2.0], requires_grad=True)
x3 = t.nn.functional.layer_norm(x1, (2,), bias=x2)
x4, = t.autograd.grad(x3.sum(), x2, create_graph=True)
x5, = t.autograd.grad(x4.square().sum(), x2, create_graph=True)
""",
    "the target of binary_cross_entropy is written, by which alone is derived": """
x1, x2 = t.tensor([0.5]), t.tensor([0.0], requires_grad=True)
x3 = t.nn.functional.binary_cross_entropy(x1, x2)
with t.no_grad():
    x2.fill_(1.0)
x3.backward()
""",
    **{
        f"{name} is written between its derivatives": f"""
x1, x2 = t.tensor([0.25, 0.75], requires_grad=True), t.tensor([0.5, 0.125], requires_grad=True)
x3 = {call}
x4, = t.autograd.grad(x3.sum(), x1, create_graph=True)
with t.no_grad():
    {written}.mul_(1)
x4.square().sum().backward()
"""
        for name, call, written in [
            ("the input of mse_loss", "t.nn.functional.mse_loss(x1, x2)", "x1"),
            ("the target of smooth_l1_loss", "t.nn.functional.smooth_l1_loss(x1, x2)", "x2"),
            ("the target of huber_loss", "t.nn.functional.huber_loss(x1, x2)", "x2"),
            ("the input of soft_margin_loss", "t.nn.functional.soft_margin_loss(x1, x2)", "x1"),
            (
                "the target of binary_cross_entropy",
                "t.nn.functional.binary_cross_entropy(x1, x2)",
                "x2",
            ),
            ("the weight of prelu", "t.nn.functional.prelu(x1.expand(1, 2), x2)", "x2"),
            ("the factor of addcdiv", "t.addcdiv(t.zeros(2), x1, x2)", "x2"),
            ("the input of logsigmoid", "t.nn.functional.logsigmoid(x1)", "x1"),
            ("the input of softplus", "t.nn.functional.softplus(x1)", "x1"),
            ("what renorm has scaled", "t.renorm(x1[None], 2, 0, 0.5)", "x1"),
            ("a side of atan2", "t.atan2(x1, x2.detach())", "x2"),
        ]
    },
    "operands of which others are derived are written": """
x1, x2 = t.tensor([0.25, 0.75], requires_grad=True), t.tensor([0.5, 0.125], requires_grad=True)
x3, x4 = t.remainder(x1, x2), t.vdot(x1, x2)
with t.no_grad():
    x1.mul_(1)
x5, = t.autograd.grad(x3.sum(), x1)
x6, = t.autograd.grad(x4, x1)
""",
    "an outer product is added after the gradient by the sum": """
x1, x2 = t.ones(2, 2, requires_grad=True), t.ones(2, requires_grad=True)
x3 = t.addr(x1, t.ones(2), x2).sum()
x3.backward(inputs=[x1])
x3.backward()
""",
    "what the second derivative of a square leads to": """
x1 = t.ones(1, 1, 1, requires_grad=True)
m1 = t.nn.Conv1d(1, 1, 1).apply(lambda m: [w.data.fill_(0.5) for w in m.parameters()])
x2 = m1(x1)
x3, = t.autograd.grad(x2.square(), x2, create_graph=True)
(x3 * x3).backward(create_graph=True)
x4, = t.autograd.grad(x1.grad.sum(), x3, create_graph=True)
t.autograd.backward([x4])
x2.backward()
""",
    "an area of no windows goes backward": """
x1 = t.ones(1, 1, 1, 1, requires_grad=True)
x2 = t.nn.functional.interpolate(x1, scale_factor=(0.0, 0.0), mode='area')
x2.sum().backward()
""",
    "statistics require grad after batch_norm": """
x1, x2 = t.ones(2, 3, requires_grad=True), t.ones(3)
x3 = t.nn.functional.batch_norm(x1, x2, x2, training=False)
x2.requires_grad_()
x3.square().sum().backward(create_graph=True)
""",
    "a transposed convolution goes backward after its bias did": """
x1, x2 = t.ones(1, 1, 2, requires_grad=True), t.ones(1, 1, 2, requires_grad=True)
x3 = t.ones(1, requires_grad=True)
x4 = t.conv_transpose1d(x1, x2, x3).sum()
x4.backward(inputs=[x3])
x4.backward()
""",
    "a convolution goes backward after its bias did": """
x1, x2 = t.ones(1, 1, 2, requires_grad=True), t.ones(1, 1, 2, requires_grad=True)
x3 = t.ones(1, requires_grad=True)
x4 = t.conv1d(x1, x2, x3).sum()
x4.backward(inputs=[x3])
x4.backward()
""",
    "another result of aminmax was asked": """
x1 = t.tensor([-2.0, 3.0, -1.0], requires_grad=True)
x2, x3 = x1.aminmax(dim=-1)
x4 = x3.exp().sum()
x4.backward(inputs=[x2])
x4.backward()
""",
    "the second derivative of group_norm by its weight alone": """
x1, x2 = t.tensor([[0.25, 0.75]]), t.ones(2, requires_grad=True)
x3 = t.nn.functional.group_norm(x1, 1, x2)
x4, = t.autograd.grad(x3.sum(), x2, create_graph=True)
x4.square().sum().backward()
""",
    "no images are convolved, whatever their size": """
x1 = t.zeros(0, 1, 0, 1, requires_grad=True)
x2 = t.ones(2, 1, 1, 2, requires_grad=True)
x3 = t.nn.functional.conv2d(x1, x2, padding=1)
x3.sum().backward()
x4 = t.nn.functional.conv1d(t.zeros(0, 1, 0), t.ones(2, 1, 1), padding=1)
x5 = t.nn.functional.conv3d(t.zeros(0, 1, 3, 0, 2), t.ones(2, 1, 1, 1, 1), t.ones(2), padding=1)
""",
}


# On whatever device the other tests run, these compare on the CPU: they are about the graph.
@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in FOUND.items()])
def test_found(program):
    assert compare(program, Settings(errors="type")) is None
