"""BatchNorm1d and BatchNorm2d as modules: their running statistics, in every setting."""

import dumbtorch as dt
import numpy as np
import processors
import pytest

SHAPES = {"BatchNorm1d": [(6, 3), (4, 3, 5)], "BatchNorm2d": [(4, 3, 2, 5)]}
CASES = [(kind, shape) for kind, shapes in SHAPES.items() for shape in shapes]


def inputs(t, shape, count=3):
    """Different batches, the same for both libraries."""
    n = 1
    for size in shape:
        n *= size
    for i in range(count):
        yield (t.arange(0, n, dtype=t.float32) * (0.7 + i)).sin().mul(2).add(i).reshape(shape)


@pytest.mark.parametrize(("kind", "shape"), CASES)
@pytest.mark.parametrize("momentum", [None, 0.1, 0.0, 1.0, 1])
@pytest.mark.parametrize("track", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_running_statistics(kind, shape, momentum, track, affine, both, same):
    def run(t):
        net = getattr(t.nn, kind)(3, momentum=momentum, track_running_stats=track, affine=affine)
        outputs = [net(x) for x in inputs(t, shape)]
        state = net.state_dict()
        net.eval()
        outputs += [net(x) for x in inputs(t, shape)]
        net.train()
        return list(state), list(state.values()), outputs

    same(*both(run))


def test_cumulative_average_goes_on_after_loading(both, same):
    def run(t):
        first, second = t.nn.BatchNorm1d(3, momentum=None), t.nn.BatchNorm1d(3, momentum=None)
        for x in inputs(t, (6, 3)):
            first(x)
        second.load_state_dict(first.state_dict())
        for x in inputs(t, (6, 3)):
            second(x * 3)
        return second.running_mean, second.running_var, second.num_batches_tracked

    same(*both(run))


@pytest.mark.parametrize("shape", [(2, 1, 4, 6), (48, 1), (3, 1, 7)])
def test_a_recorded_gradient_of_a_constant_is_nothing(shape):
    """As that which is not recorded: no rounding of the mean is left."""
    x = dt.full(shape, -1.51)
    weight = dt.ones(1, requires_grad=True)
    y = dt.nn.functional.batch_norm(x, None, None, weight, training=True)
    gradient = dt.autograd.grad(y.sum(), weight, create_graph=True)[0]
    assert gradient.item() == 0


@pytest.mark.parametrize("value", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("eps", [1e-5, 1e-3, 0.3])
def test_variance_of_a_constant(value, eps, both, same):
    """It is nothing, and never a little less."""

    def run(t):
        net = t.nn.BatchNorm1d(2, eps=eps, momentum=1.0)
        net(t.full((7, 2), value))
        return net.running_mean, net.running_var, bool((net.running_var >= 0).all())

    same(*both(run))


@pytest.mark.parametrize(
    "shape", [(3, 5, 7, 9), (1, 33, 1, 3), (45, 19), (3, 5, 37, 29), (811, 19)]
)
@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_variance_around_a_large_mean(shape, mean):
    """With channels last positions are added as floats, relative to one of them: no digits are lost."""
    x = (np.random.default_rng(2).standard_normal(shape) + mean).astype(np.float32)
    moments = [dt.zeros(shape[1]), dt.ones(shape[1])]
    images = dt.tensor(x)
    if len(shape) == 4:
        images = images.contiguous(memory_format=dt.channels_last)
    dt.nn.functional.batch_norm(images, *moments, training=True, momentum=1.0)
    axes = (0, *range(2, len(shape)))
    truth = x.astype(np.float64)
    np.testing.assert_allclose(moments[0].numpy(), truth.mean(axes), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(moments[1].numpy(), truth.var(axes, ddof=1), rtol=2e-6)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_stays_in_its_channel(bad, both, same):
    def run(t):
        net = t.nn.BatchNorm1d(2)
        x = t.arange(0, 8, dtype=t.float32).reshape(4, 2)
        x[0, 0] = bad
        y = net(x)
        return y, net.running_mean[1], net.running_var, net.num_batches_tracked

    same(*both(run))


def test_gradients_of_3d_input(both, same):
    def run(t):
        net = t.nn.BatchNorm1d(3, momentum=None)
        (x,) = inputs(t, (4, 3, 5), 1)
        x.requires_grad_()
        (net(x) ** 3).sum().backward()
        return x.grad, net.weight.grad, net.bias.grad

    same(*both(run))


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("BatchNorm1d", (3,)),
        ("BatchNorm1d", (2, 3, 4, 5)),
        ("BatchNorm2d", (2, 3, 4)),
        ("BatchNorm3d", (2, 3, 4, 5)),
        ("InstanceNorm1d", (4, 5)),
        ("InstanceNorm1d", (3,)),
        ("InstanceNorm2d", (2, 1, 4, 5)),
        ("InstanceNorm2d", (2, 3, 4, 5, 6)),
        ("InstanceNorm3d", (2, 3, 4)),
    ],
)
def test_refused_inputs(kind, shape, refusals):
    mine, theirs = refusals(
        lambda t: getattr(t.nn, kind)(3, affine=True)(t.zeros(shape)), ValueError
    )
    assert mine == theirs


def test_one_value_per_channel(both):
    def run(t):
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            t.nn.BatchNorm1d(3)(t.zeros(1, 3))

    both(run)


@pytest.mark.parametrize("shape", [(1, 0), (1, 0, 1)])
def test_one_value_for_each_of_no_channels(shape, both):
    def run(t):
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            t.nn.functional.batch_norm(t.zeros(shape), None, None, training=True)

    both(run)


def test_repr(both, same):
    def run(t):
        return "momentum=None" in repr(t.nn.BatchNorm2d(3, momentum=None))

    same(*both(run))


# Channels that fill vectors and packets of flags, and do not; more of them than are handled at once; positions that are
# taken together, and some that are left; sums of several parts of the batch, by one thread and by several.
IMAGES = (
    (2, 8, 3, 5),
    (3, 12, 7, 7),
    (2, 520, 3, 3),
    (4, 36, 9, 1),
    (2, 6, 4, 4),
    (1, 4, 1, 5),
    (5, 8, 40, 41),
    (3, 24, 19, 21),
)


def norm_and_relu(t, arrays, last, training, limit, added, dtype):
    """Result, gradients and running statistics, in float64."""
    leaves = [t.tensor(a).to(dtype).requires_grad_() for a in arrays[: 4 if added else 3]]
    x, weight, bias, *addend = leaves
    x = x.to(memory_format=t.channels_last) if last else x
    running = [t.tensor(np.abs(a) + 0.5).to(dtype) for a in arrays[1:3]]
    options = (weight, bias, training)
    F = t.nn.functional
    if t is dt:
        y = F.batch_norm_relu(
            x, *running, *options, addend=addend[0] if added else None, limit=limit
        )
    else:
        y = F.batch_norm(x, *running, *options)
        y = y + addend[0] if added else y
        y = F.relu(y) if limit is None else F.hardtanh(y, 0, limit)
    y.backward(t.tensor(arrays[4]).to(dtype))
    return [z.detach().double().numpy() for z in (y, *running, *(leaf.grad for leaf in leaves))]


@pytest.mark.parametrize("shape", IMAGES)
@pytest.mark.parametrize("last", (True, False))
@pytest.mark.parametrize("training", (True, False))
@pytest.mark.parametrize("limit", (None, 0.6))
@pytest.mark.parametrize("added", (True, False))
def test_norm_and_relu(torch, shape, last, training, limit, added):
    """One kernel does both, on any number of threads; in float64 each step is an op."""
    random = np.random.default_rng(0)
    sizes = (shape, shape[1:2], shape[1:2], shape, shape)
    arrays = [random.standard_normal(s).astype(np.float32) for s in sizes]
    before, ours = dt.get_num_threads(), []
    try:
        for threads in (1, 3):
            dt.set_num_threads(threads)
            ours.append(norm_and_relu(dt, arrays, last, training, limit, added, dt.float32))
    finally:
        dt.set_num_threads(before)
    theirs = norm_and_relu(torch, arrays, last, training, limit, added, torch.float64)
    for one, many, truth in zip(*ours, theirs, strict=True):
        assert np.array_equal(one, many)
        np.testing.assert_allclose(one, truth, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("last", (True, False))
def test_gradients_of_gradients_of_norm_and_relu(torch, last):
    """What composes the gradient reads the kernel's flags: in planes of 15 the last packet of four has three."""
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(s) for s in ((2, 8, 3, 5), (8,), (8,), (2, 8, 3, 5))]

    def second(t, dtype):
        x, weight, bias, g = (t.tensor(a).to(dtype).requires_grad_() for a in arrays)
        at = x.to(memory_format=t.channels_last) if last else x
        if t is dt:
            y = t.nn.functional.batch_norm_relu(at, None, None, weight, bias, True, limit=0.6)
        else:
            y = t.nn.functional.batch_norm(at, None, None, weight, bias, True).clamp(0, 0.6)
        first = t.autograd.grad(y, (x, weight, bias), g, create_graph=True)
        total = sum((f * f).sum() for f in first)
        return [z.double().numpy() for z in t.autograd.grad(total, (x, weight, g))]

    for ours, truth in zip(second(dt, dt.float32), second(torch, torch.float64), strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("activation", ("ReLU", "ReLU6"))
@pytest.mark.parametrize("training", (True, False))
def test_a_gradient_of_norm_and_relu_is_flat_in_the_bias(both, same, activation, training):
    def run(t):
        net = t.nn.Sequential(t.nn.BatchNorm2d(2), getattr(t.nn, activation)()).train(training)
        x = (t.arange(16.0).reshape(2, 2, 2, 2) - 5).requires_grad_()
        gradient = t.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        gradient.square().sum().backward()
        return net[0].bias.grad, net[0].weight.grad, x.grad

    same(*both(run))


@processors.others("v2", "v3")
def test_norm_and_relu_on_other_processors(torch, isa):
    printed = processors.run_tests(isa, __file__, "test_norm_and_relu and not other")
    assert f"{16 * len(IMAGES)} passed" in printed


@pytest.mark.parametrize("shape", ((8, 16, 5, 5), (5, 24, 19, 21)))
def test_elements_whose_squares_are_no_floats(shape):
    """In channels last, too, variances are those of float64."""
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    large = dt.tensor(x * np.float32(1e19)).contiguous(memory_format=dt.channels_last)
    y = dt.nn.functional.batch_norm(large, None, None, training=True).double().numpy()
    x = x.astype(float)
    want = (x - x.mean((0, 2, 3), keepdims=True)) / x.std((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels", (1, 3, 16, 100))
@pytest.mark.parametrize("apart", ((True, False), (False, True), (False, False)))
def test_few_channels(torch, channels, apart):
    """Positions follow each other in memory in both operands, in one of them, or in none."""
    random = np.random.default_rng(3)
    shape = (3, channels, 61, 53)
    images, g = (random.standard_normal(shape).astype(np.float32) for _ in range(2))

    def laid_out(t, x, is_apart):
        """Channels last, of a larger image if need be."""
        larger = np.concatenate([x] * 2, 1) if is_apart else x
        return t.tensor(larger).contiguous(memory_format=t.channels_last)[:, :channels]

    def run(t, dtype):
        x = laid_out(t, images, apart[0]).to(dtype).detach().requires_grad_()
        y = t.nn.functional.batch_norm(x, None, None, None, None, True)
        y.backward(laid_out(t, g, apart[1]).to(dtype))
        return [z.detach().double().numpy() for z in (y, x.grad)]

    before, ours = dt.get_num_threads(), []
    try:
        for threads in (1, 3):
            dt.set_num_threads(threads)
            ours.append(run(dt, dt.float32))
    finally:
        dt.set_num_threads(before)
    for one, many, truth in zip(*ours, run(torch, torch.float64), strict=True):
        assert np.array_equal(one, many)
        np.testing.assert_allclose(one, truth, rtol=1e-5, atol=1e-5)


SHORT_PLANES = [
    (100, 3, 5),
    (9, 64, 7, 7),
    (300, 1, 2),
    (8, 1000, 2, 2),
    (40, 80, 64),
    (7, 3, 5),
    (2000, 6, 3),
]


def of_short_planes(t, x, weight, bias, grad, training, mean, var):
    leaves = [v.clone().requires_grad_() for v in (x, weight, bias)]
    mean, var = mean.clone(), var.clone()
    y = t.nn.functional.batch_norm(leaves[0], mean, var, *leaves[1:], training=training)
    y.backward(grad)
    return [y.detach(), *(v.grad for v in leaves), mean, var]


@pytest.mark.parametrize("shape", SHORT_PLANES, ids=str)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_planes(shape, training, dtype):
    """An image is one run there: against float64, with a mean that is far away, and with gaps between images."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    channels = shape[1]
    wide = rng.normal(size=(shape[0], 2, *shape[1:])) + 30
    numbers = [
        wide,
        *rng.normal(size=(2, channels)),
        rng.normal(size=shape),
        rng.normal(size=channels) + 30,
    ]
    numbers.append(rng.uniform(0.5, 2, size=channels))
    narrow = np.float32 if dtype == "float32" else np.float64
    numbers = [np.asarray(v).astype(narrow) for v in numbers]

    def run(t, wanted):
        v = [t.tensor(n).to(wanted) for n in numbers]
        for x in (v[0][:, 0], v[0][:, 1].contiguous()):
            yield from of_short_planes(t, x, v[1], v[2], v[3], training, v[4], v[5])

    close = 3e-5 if dtype == "float32" else 1e-11
    for got, want in zip(run(dt, getattr(dt, dtype)), run(torch, torch.float64), strict=True):
        np.testing.assert_allclose(
            got.numpy(), want.numpy(), rtol=close, atol=close * max(1, abs(want).max())
        )


def test_short_planes_on_any_number_of_threads():
    x = dt.sin(dt.arange(200 * 40 * 49, dtype=dt.float32)).reshape(200, 40, 7, 7).requires_grad_()
    results, threads = [], dt.get_num_threads()
    for count in (1, 2, 5):
        dt.set_num_threads(count)
        y = dt.nn.functional.batch_norm(x, None, None, training=True)
        results.append([y.detach(), *dt.autograd.grad(y, x, x.detach() * 2)])
    dt.set_num_threads(threads)
    for other in results[1:]:
        assert all(dt.equal(a, b) for a, b in zip(results[0], other, strict=True))


NARROW = [
    (40, 32, 12, 12), (5, 3, 23, 25), (9, 64, 7, 7), (3, 40, 7, 7), (6, 5, 2, 3), (300, 7), (33, 50, 1, 1),
    (2, 600, 3, 3),
]  # fmt: skip


@pytest.mark.parametrize("shape", NARROW, ids=str)
@pytest.mark.parametrize("order", ["rows", "channels last", "gaps", "turned"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_images(shape, order, training, dtype):
    """Floats of 16 bits in any order: rounded once, against float64."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    channels, narrow = shape[1], getattr(dt, dtype)
    images = [dt.tensor(rng.normal(size=shape) + k).to(narrow) for k in (2, 0)]
    numbers = [dt.tensor(rng.uniform(0.5, 2, size=channels)).to(narrow) for _ in range(4)]

    def placed(t, x):
        if order == "channels last" and x.ndim == 4:
            return x.contiguous(memory_format=t.channels_last)
        if order == "gaps":
            return t.stack([x, x], -1)[..., 0]
        return x.transpose(0, 1).contiguous().transpose(0, 1) if order == "turned" else x

    def run(t, convert):
        (x, grad), (weight, bias, mean, var) = map(convert, images), map(convert, numbers)
        x, grad = placed(t, x), placed(t, grad)
        return of_short_planes(t, x, weight, bias, grad, training, mean, var)

    close = 2.0 ** (-11 if dtype == "float16" else -8)  # half of the last place
    exact = run(torch, lambda x: torch.tensor(x.double().numpy()))
    for got, want in zip(run(dt, lambda x: x), exact, strict=True):
        assert got.dtype == narrow
        scale = 1e-5 * max(1, abs(want).max())
        np.testing.assert_allclose(
            got.double().numpy(), want.numpy(), rtol=close * 1.01, atol=scale
        )


@processors.others("v2", "v3")
def test_narrow_images_on_other_processors(torch, isa):
    printed = processors.run_tests(isa, __file__, "test_narrow_images and not other")
    assert f"{16 * len(NARROW)} passed" in printed


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_elements_of_short_planes_become_nothing(dtype):
    x = dt.full((20, 3, 7), 0.1, dtype=getattr(dt, dtype))
    y = dt.nn.functional.batch_norm(x, None, None, training=True)
    assert y.abs().max().item() == 0
