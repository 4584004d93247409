"""linear_cross_entropy with more classes than features: the rows go through it in chunks."""

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

ROWS, FEATURES, CLASSES = 600, 24, 2001
SETTINGS = [
    {},
    {"reduction": "sum", "linear_bias": True},
    {"reduction": "none", "linear_bias": True, "weight": True},
    {"ignore_index": 7, "weight": True, "label_smoothing": 0.1, "linear_bias": True},
    {"ignore_index": 7, "reduction": "none", "label_smoothing": 0.1},
]


def operands(rng, dtype):
    """input, linear_weight, linear_bias, weight, target, and the gradient of losses, as arrays"""
    arrays = [rng.normal(size=s) for s in ((ROWS, FEATURES), (CLASSES, FEATURES), (CLASSES,))]
    arrays.append(rng.uniform(0.5, 1.5, CLASSES))
    target = rng.integers(0, CLASSES, ROWS)
    target[::5] = 7
    return [a.astype(dtype) for a in arrays], target, rng.normal(size=ROWS).astype(dtype)


def run(t, operands, settings, second=False):
    """The loss, and the gradients; those of the gradients' norm if `second`"""
    arrays, target, grad = operands
    x, w, b, factors = (t.from_numpy(a.copy()) for a in arrays)
    wanted = [x, w] + ([b] if settings.get("linear_bias") else [])
    for p in wanted:
        p.requires_grad_()
    given = {**settings, "linear_bias": b, "weight": factors}
    given = {k: v for k, v in given.items() if settings.get(k) is not None}
    y = t.nn.functional.linear_cross_entropy(x, w, t.from_numpy(target.copy()), **given)
    loss = (y * t.from_numpy(grad.copy())).sum() if y.dim() else 3 * y
    grads = t.autograd.grad(loss, wanted, create_graph=second)
    if second:
        grads = t.autograd.grad(sum((g * g).sum() for g in grads), wanted)
    return [r.detach().numpy() for r in (y, *grads)]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_chunks(settings, dtype):
    given = arrays, target, grad = operands(np.random.default_rng(0), dtype)
    # In float32 PyTorch's own rounding depends on the processor, and can be more than is allowed here.
    exact = [a.astype("float64") for a in arrays], target, grad.astype("float64")
    tolerance = {"float32": 2e-5, "float64": 1e-10}[dtype]
    for got, wanted in zip(run(dt, given, settings), run(torch, exact, settings), strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("settings", SETTINGS[:3])
def test_second_order(settings):
    given = operands(np.random.default_rng(1), "float64")
    pairs = zip(run(dt, given, settings, True), run(torch, given, settings, True), strict=True)
    for got, wanted in pairs:
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_nothing_counts():
    (x, w, _, _), _, _ = operands(np.random.default_rng(2), "float32")
    target = np.full(ROWS, -100)
    grads = []
    for t in (dt, torch):
        a = t.from_numpy(x.copy()).requires_grad_()
        y = t.nn.functional.linear_cross_entropy(a, t.from_numpy(w), t.from_numpy(target))
        y.backward()
        assert np.isnan(y.item())
        grads.append(a.grad.numpy())
    np.testing.assert_array_equal(*grads)


def test_bfloat16_adds_up_in_float32():
    """The weight's gradient is as near to the exact one as that of one product."""
    (x, w, _, _), target, _ = operands(np.random.default_rng(3), "float64")

    def gradient(loss, dtype):
        rows, weight = (dt.from_numpy(a).bfloat16().to(dtype) for a in (x, w))
        weight.requires_grad_()
        loss(rows, weight, dt.from_numpy(target)).backward()
        return weight.grad.double()

    def whole(rows, weight, target):
        functional = dt.nn.functional
        return functional.cross_entropy(functional.linear(rows, weight), target)

    chunked = dt.nn.functional.linear_cross_entropy
    exact = gradient(whole, dt.float64)
    errors = [(gradient(f, dt.bfloat16) - exact).norm().item() for f in (chunked, whole)]
    assert errors[0] < 1.01 * errors[1]


def test_logits_are_never_held():
    """What is made on the way is far smaller than the logits [rows, classes]."""
    rows, classes = 8192, 8192
    x, w = dt.randn(rows, 32, requires_grad=True), dt.randn(classes, 32, requires_grad=True)
    target = dt.randint(0, classes, (rows,))
    dt._ops.reset_peak_memory_stats("cpu")
    before = dt._ops.memory_stats("cpu").peak
    dt.nn.functional.linear_cross_entropy(x, w, target).backward()
    assert dt._ops.memory_stats("cpu").peak - before < rows * classes * 4 / 4


def test_refusals():
    x, w, target = np.ones((3, 2), "float32"), np.ones((4, 2), "float32"), np.zeros(3, "int64")

    def call(t, x=x, w=w, target=target, **settings):
        given = [t.from_numpy(np.asarray(a)) for a in (x, w, target)]
        return t.nn.functional.linear_cross_entropy(*given, **settings)

    for wrong in (
        {"x": np.ones((1, 3, 2), "float32")},
        {"w": np.ones(2, "float32")},
        {"w": np.ones((4, 3), "float32")},
        {"x": np.ones(2, "float32"), "w": np.ones((4, 5, 2), "float32")},
        {"target": np.ones((3, 4), "float32"), "ignore_index": 1},
    ):
        with pytest.raises(RuntimeError) as wanted:
            call(torch, **wrong)
        with pytest.raises(RuntimeError) as got:
            call(dt, **wrong)
        assert str(wanted.value).split("(")[0].split("[")[0] in str(got.value)


def test_shapes():
    """More dimensions of classes, one row alone, and probabilities"""
    rng = np.random.default_rng(4)
    for x, w, target in (
        ((3, 2), (4, 5, 2), rng.integers(0, 4, (3, 5))),
        ((2,), (4, 2), np.array(3)),
        ((3, 2), (4, 2), rng.uniform(size=(3, 4)).astype("float32")),
    ):
        given = [rng.normal(size=s).astype("float32") for s in (x, w)] + [target]
        got, wanted = (
            t.nn.functional.linear_cross_entropy(*map(t.from_numpy, given)) for t in (dt, torch)
        )
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5)
