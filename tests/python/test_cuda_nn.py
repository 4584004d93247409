"""Products of a vector and batch_norm on a GPU, in the dtypes and layouts that training and writing meet, against
NumPy and PyTorch in float64."""

import dumbtorch as dt
import numpy as np
import pytest

F = dt.nn.functional
pytestmark = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
ROUNDING = {"float32": 2.0**-22, "bfloat16": 2.0**-8, "float16": 2.0**-11}


def numbers(*sizes, seed=0):
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def wide(x):
    return x.detach().double().cpu().numpy()


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("outputs, depth", [
    (768, 768), (2304, 768), (768, 3072), (50257, 768), (64, 40), (33, 24), (1000, 1001), (40, 100_000),
    (4000, 9000),
])  # fmt: skip
@pytest.mark.parametrize("is_transposed", [False, True])
def test_products_of_a_vector(outputs, depth, is_transposed, dtype):
    """Of weights [outputs, depth] as Linear keeps them, and of their transposes."""
    sizes = (depth, outputs) if is_transposed else (outputs, depth)
    given = (numbers(*sizes), numbers(1, depth, seed=1), numbers(outputs, seed=2))
    w, x, b = (dt.tensor(a, device="cuda").to(getattr(dt, dtype)) for a in given)
    matrix = w.t() if is_transposed else w
    exact = wide(matrix) @ wide(x)[0]
    scale = np.abs(wide(matrix)) @ np.abs(wide(x)[0])
    for ours, truth in (
        (F.linear(x, matrix, b)[0], exact + wide(b)),
        (F.linear(x[0], matrix), exact),
        (matrix @ x[0], exact),
        (F.linear_activation(x, matrix, b, "relu")[0], np.maximum(exact + wide(b), 0)),
    ):
        error = np.abs(wide(ours) - truth)
        assert (error <= ROUNDING[dtype] * (np.abs(truth) + 1) + 2.0**-20 * scale).all()


IMAGES = (
    (8, 64, 14, 14),
    (2, 8, 300, 301),
    (5, 24, 7, 7),
    (3, 5, 9, 11),  # channels that are no whole packets
    (1000, 32),
    (4, 600, 1, 1),
    (3, 2, 70_000),
)


@pytest.mark.parametrize("parameters", ["float32", "same"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("sizes", IMAGES, ids=str)
def test_batch_norm(torch, sizes, dtype, channels_last, training, parameters):
    if len(sizes) != 4 and channels_last:
        pytest.skip("four dimensions have that layout")
    kind = dtype if parameters == "same" else "float32"
    c = sizes[1]
    # A mean that is large beside the spread, and a first element far from the others.
    x = numbers(*sizes) + (100 if dtype == "float32" else 4)
    x.reshape(sizes[0], c, -1)[0, :, 0] += 50
    arrays = [x, 1 + 0.1 * numbers(c, seed=1), numbers(c, seed=2), numbers(c, seed=3)]
    arrays.append(1 + np.abs(numbers(c, seed=4)))
    g = numbers(*sizes, seed=5)
    kinds = [dtype] + [kind] * 4

    def run(t, device, exact):
        given = [t.tensor(a).to(getattr(t, k)) for a, k in zip([*arrays, g], [*kinds, dtype])]
        if exact:
            given = [a.double() for a in given]
        given = [a.to(device) for a in given]
        if channels_last:
            for i in (0, 5):
                given[i] = given[i].contiguous(memory_format=t.channels_last)
        x, w, b, mean, var, g_ = given
        for leaf in (x, w, b):
            leaf.requires_grad_()
        y = t.nn.functional.batch_norm(x, mean, var, w, b, training)
        grads = t.autograd.grad(y, (x, w, b), g_)
        return [y, *grads, mean, var]

    ours, again, truth = run(dt, "cuda", False), run(dt, "cuda", False), run(torch, "cpu", True)
    for name, mine, repeated, right in zip(("y", "x", "w", "b", "mean", "var"), ours, again, truth):
        assert dt.equal(mine, repeated), name
        right = right.detach().numpy()
        rounding = ROUNDING[str(mine.dtype).removeprefix("torch.")]
        # Gradients of weights are sums of many terms; what is near 0 has the error of what it is the difference of.
        tolerance = 2 * rounding * np.abs(right) + 2e-5 * np.abs(right).max() + 1e-6
        assert (np.abs(wide(mine) - right) <= tolerance).all(), name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lengths", [[9, 9, 9, 9], [9, 7, 7, 1]], ids=str)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(torch, kind, lengths, bias, dtype):
    """Both directions of two layers, of sequences that end early too."""
    torch.manual_seed(0)
    options = dict(num_layers=2, bidirectional=True, bias=bias)
    theirs = getattr(torch.nn, kind)(13, 37, **options).double()
    ours = getattr(dt.nn, kind)(13, 37, **options).to("cuda", getattr(dt, dtype))
    with dt.no_grad():
        for mine, other in zip(ours.parameters(), theirs.parameters()):
            mine.copy_(dt.tensor(other.detach().numpy()))
    x, g = numbers(9, 4, 13), numbers(sum(lengths), 74, seed=1)

    def run(t, module, kind, device):
        given = t.tensor(x).to(kind).to(device).requires_grad_()
        packed = t.nn.utils.rnn.pack_padded_sequence(given, t.tensor(lengths))
        y, last = module(packed)
        states = last if isinstance(last, tuple) else (last,)
        loss = (y.data * t.tensor(g).to(kind).to(device)).sum() + sum((s * s).sum() for s in states)
        leaves = [given, *module.parameters()]
        return [y.data, *states, *t.autograd.grad(loss, leaves)]

    found = run(dt, ours, getattr(dt, dtype), "cuda")
    truth = run(torch, theirs, torch.float64, "cpu")
    for mine, right in zip(found, truth, strict=True):
        right = right.detach().numpy()
        tolerance = (1e-12 if dtype == "float64" else 1e-5) * max(np.abs(right).max(), 1)
        assert np.abs(wide(mine) - right).max() <= tolerance


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("options", [
    {}, {"reduction": "none"}, {"weight": True, "label_smoothing": 0.1}, {"ignore_index": 1, "reduction": "sum"},
])  # fmt: skip
@pytest.mark.parametrize("rows, classes", [(5, 3), (64, 1000), (9, 50257), (2, 50304)])
def test_cross_entropy(rows, classes, options, dtype):
    """Of narrow logits: sums are wide, the loss and the gradient are rounded once."""
    torch = pytest.importorskip("torch")
    x = dt.tensor(numbers(rows, classes), device="cuda").to(getattr(dt, dtype)).requires_grad_()
    target = np.random.default_rng(1).integers(0, classes, rows)
    weight = np.random.default_rng(2).uniform(0.5, 2, classes).astype(np.float32)
    given = {k: v for k, v in options.items() if k != "weight"}
    ours = (
        {**given, "weight": dt.tensor(weight, device="cuda").to(x.dtype)}
        if "weight" in options
        else given
    )
    loss = F.cross_entropy(x, dt.tensor(target, device="cuda"), **ours)
    loss.sum().backward()
    exact = torch.tensor(wide(x), requires_grad=True)
    if "weight" in options:
        given["weight"] = torch.tensor(wide(ours["weight"]))
    truth = torch.nn.functional.cross_entropy(exact, torch.tensor(target), **given)
    truth.sum().backward()
    for a, b in ((loss, truth.detach().numpy()), (x.grad, exact.grad.numpy())):
        assert (abs(wide(a) - b) <= ROUNDING[dtype] * abs(b) + 2e-6 * abs(b).max()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows, classes", [(5, 3), (64, 1000), (2, 50304)])
@pytest.mark.parametrize("offset", [1e5, -3e6, -1e30])
def test_gradients_of_large_logits(offset, rows, classes, smoothing, dtype):
    """The logarithm of their sum of exponentials has few digits behind the point, or none."""
    torch = pytest.importorskip("torch")
    given = numbers(rows, classes).round() + np.float32(offset)
    target = np.random.default_rng(1).integers(0, classes, rows)

    def gradient(t, dtype, device):
        x = t.tensor(given).to(device, dtype).requires_grad_()
        losses = t.nn.functional.cross_entropy(
            x, t.tensor(target).to(device), reduction="sum", label_smoothing=smoothing
        )
        return wide(t.autograd.grad(losses, x)[0])

    ours, truth = gradient(dt, getattr(dt, dtype), "cuda"), gradient(torch, torch.float64, "cpu")
    np.testing.assert_allclose(ours, truth, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("sizes, out", [
    ((2, 3, 513, 517), (3, 2)), ((3, 5, 100, 99), (7, 5)), ((1, 4, 40, 700), (1, 3)), ((2, 8, 31, 33), (2, 2)),
])  # fmt: skip
def test_means_of_large_windows(sizes, out, is_last):
    """A window is added up by a warp or by a block; the truth by slices, in float64."""
    given = numbers(*sizes)
    x = dt.tensor(given, device="cuda")
    if is_last:
        x = x.to(memory_format=dt.channels_last)
    y = wide(F.adaptive_avg_pool2d(x, out))
    edges = [
        [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
        for n, m in zip(sizes[2:], out, strict=True)
    ]
    for i, (top, bottom) in enumerate(edges[0]):
        for j, (left, right) in enumerate(edges[1]):
            mean = given[:, :, top:bottom, left:right].astype(np.float64).mean((2, 3))
            np.testing.assert_allclose(y[:, :, i, j], mean, rtol=0, atol=1e-6)
    window, step, padding = (sizes[2] // 2, 20), (7, 5), (3, 4)
    mean = wide(F.avg_pool2d(x, window, step, padding, count_include_pad=False))
    torch = pytest.importorskip("torch")
    exact = torch.nn.functional.avg_pool2d(
        torch.tensor(given.astype(np.float64)), window, step, padding, count_include_pad=False
    )
    np.testing.assert_allclose(mean, exact.numpy(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("sizes", [(2, 3, 5), (3, 16, 4, 4)])
@pytest.mark.parametrize("channels_last", [True, False])
def test_nothing_is_left_of_equal_elements(sizes, channels_last):
    """Also where no eps is added to what they are divided by; other channels are as on the CPU."""
    x = dt.full(sizes, -1.51)
    x[:, 1:] = dt.tensor(numbers(sizes[0], sizes[1] - 1, *sizes[2:]))
    if channels_last and len(sizes) == 4:
        x = x.contiguous(memory_format=dt.channels_last)
    results = []
    for device in ("cpu", "cuda"):
        given = x.detach().clone().to(device).requires_grad_()
        weight, bias = (dt.full((sizes[1],), v, device=device).requires_grad_() for v in (2.0, 0.5))
        y = F.instance_norm(given, weight=weight, bias=bias, eps=0.0)
        g = dt.linspace(-1, 1, y.numel(), device=device).reshape(sizes)
        (y * g).sum().backward()
        results.append([y, given.grad, weight.grad, bias.grad])
    for ours, truth in zip(*reversed(results)):
        np.testing.assert_allclose(wide(ours), wide(truth), rtol=1e-4, atol=1e-4)
    assert (wide(results[1][0])[:, 0] == 0.5).all() and (wide(results[1][1])[:, 0] == 0).all()


def test_nothing_is_infinitely_far_from_a_volume():
    x = dt.arange(8.0, device="cuda").reshape(1, 1, 2, 2, 2).requires_grad_()
    far = [[0.3, 0.1, 0.2], [np.inf, 0.1, 0.2], [0.1, np.nan, 0.2], [0.1, 0.2, -np.inf]]
    grid = dt.tensor(far, device="cuda").reshape(1, 4, 1, 1, 3).requires_grad_()
    y = F.grid_sample(x, grid, align_corners=False)
    y.square().sum().backward()
    assert (wide(y).ravel()[1:] == 0).all() and np.isfinite(wide(y)).all()
    assert (wide(grid.grad).reshape(4, 3)[1:] == 0).all() and np.isfinite(wide(x.grad)).all()


@pytest.mark.parametrize("length", [2, 7, 100, 5000, 100_000])
def test_rms_norm_of_an_infinite_element(length):
    """The others are divided by infinity; infinity by itself is nothing known."""
    x = numbers(2, length)
    x[0, 1] = np.inf
    y = wide(F.rms_norm(dt.tensor(x, device="cuda"), (length,)))
    assert np.isnan(y[0, 1]) and (np.delete(y[0], 1) == 0).all()
    ours = x[1].astype(float)
    ours /= np.sqrt((ours * ours).mean() + np.finfo(np.float32).eps)
    np.testing.assert_allclose(y[1], ours, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16])
@pytest.mark.parametrize("sizes", [(4, 1), (5, 3, 1), (300, 7, 1, 1)])
def test_a_group_of_one_element_is_its_bias(sizes, dtype):
    """What lies as far from the mean as the mean itself; PyTorch leaves the error of a product with 316 there."""
    x, g = (dt.tensor(numbers(*sizes) * 3 + 1).to("cuda", dtype) for _ in range(2))
    weight, bias = (dt.tensor(numbers(sizes[1])).to("cuda", dtype) for _ in range(2))
    given = [v.requires_grad_() for v in (x, weight, bias)]
    y = dt.group_norm(x, sizes[1], weight, bias)
    by_x, by_weight, by_bias = dt.autograd.grad(y, given, g)
    spread = wide(bias).reshape(-1, *[1] * (len(sizes) - 2))
    assert (wide(y) == np.broadcast_to(spread, sizes)).all()
    assert (wide(by_weight) == 0).all()
    # What is left of g * w * 316 where it is taken from itself.
    left = 8 * dt.finfo(dt.promote_types(dtype, dt.float32)).eps * 317
    assert (np.abs(wide(by_x)) <= left * np.abs(wide(g)).max() * np.abs(wide(weight)).max()).all()
    sums = wide(g).sum((0, *range(2, len(sizes))))
    np.testing.assert_allclose(
        wide(by_bias), sums, rtol=2e-3 if dtype is dt.float16 else 1e-5, atol=1e-3
    )
