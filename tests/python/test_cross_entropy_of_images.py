"""cross_entropy of images and of rows of few classes, where the kernel goes along planes in tiles of places, and of
large logits. Against PyTorch in float64."""

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

# Fewer places than go side by side, one tile of them, parts of another, many classes, many images.
SIZES = [
    (3, 4, 2, 5),
    (2, 5, 16),
    (2, 3, 7, 100),
    (1, 2, 512),
    (1, 40, 1031),
    (9, 2, 4, 3, 3),
    (2, 1, 30),
    (1100, 2),
    (1, 3),
    (513, 17),
    (600, 32),
    (70, 33),
    (4096, 1),
]
SETTINGS = [
    {},
    {"reduction": "sum", "weight": True},
    {"reduction": "none", "ignore_index": 0},
    {"ignore_index": -7, "weight": True, "label_smoothing": 0.2},
    {"ignore_index": 0, "reduction": "none", "label_smoothing": 0.3, "weight": True},
]


def operands(sizes, dtype):
    """Logits, weights, targets and the gradient of losses: what is ignored holds what no loss may see."""
    rng = np.random.default_rng(sum(sizes))
    x, places = 5 * rng.normal(size=sizes), (sizes[0], *sizes[2:])
    target = rng.integers(0, sizes[1], places)
    return (
        x.astype(dtype),
        rng.uniform(0.5, 1.5, sizes[1]).astype(dtype),
        target,
        rng.normal(size=places).astype(dtype),
    )


def run(t, given, settings, dtype, second=False):
    x, weight, target, grad = (t.from_numpy(a.copy()) for a in given)
    x, weight, grad = (a.to(getattr(t, dtype)) for a in (x, weight, grad))
    x.requires_grad_()
    y = t.nn.functional.cross_entropy(
        x, target, **{**settings, "weight": weight if settings.get("weight") else None}
    )
    (gx,) = t.autograd.grad((y * grad).sum() if y.ndim else 3 * y, x, create_graph=second)
    if second:
        (gx,) = t.autograd.grad((gx * gx).sum(), x)
    return [a.detach().double().numpy() for a in (y, gx)]


def assert_alike(ours, theirs, tolerance):
    for got, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            got, wanted, rtol=tolerance, atol=tolerance * max(1, np.abs(wanted).max())
        )


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 2e-6), ("float64", 1e-13), ("bfloat16", 2.0**-8)]
)
def test_values_and_gradients(sizes, settings, dtype, tolerance):
    given = operands(sizes, "float32" if dtype == "bfloat16" else dtype)
    if dtype == "bfloat16":
        given = [
            dt.from_numpy(a).bfloat16().float().numpy() if a.dtype.kind == "f" else a for a in given
        ]
    assert_alike(run(dt, given, settings, dtype), run(torch, given, settings, "float64"), tolerance)


@pytest.mark.parametrize("sizes", SIZES[:3], ids=str)
@pytest.mark.parametrize("settings", SETTINGS)
def test_second_order(sizes, settings):
    given = operands(sizes, "float64")
    ours, theirs = (run(t, given, settings, "float64", second=True) for t in (dt, torch))
    assert_alike(ours, theirs, 1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_ignored_places_may_hold_anything(smoothing):
    x, _, target, _ = operands((2, 3, 7, 100), "float32")
    target[:, ::2, 1::3] = -100
    ignored = np.broadcast_to((target == -100)[:, None], x.shape)
    clean = run(dt, (x, x[0, 0, 0], target, x[:, 0]), {"label_smoothing": smoothing}, "float32")
    x[ignored] = np.resize([np.inf, -np.inf, np.nan, 1e38], ignored.sum())
    got = run(dt, (x, x[0, 0, 0], target, x[:, 0]), {"label_smoothing": smoothing}, "float32")
    assert got[0] == clean[0] and np.array_equal(got[1], clean[1])
    assert (got[1][ignored] == 0).all()


def test_threads_layouts_and_targets():
    x, _, target, _ = operands((3, 6, 40, 41), "float32")
    leaf, classes, before = (
        dt.from_numpy(x).requires_grad_(),
        dt.from_numpy(target),
        dt.get_num_threads(),
    )

    def both(input):
        y = dt.nn.functional.cross_entropy(input, classes, label_smoothing=0.1)
        return [y.item(), dt.autograd.grad(y, leaf)[0].numpy()]

    results = []
    for threads in (1, 2, 3):
        dt.set_num_threads(threads)
        results.append(both(leaf))
    dt.set_num_threads(before)
    assert all(r[0] == results[0][0] and np.array_equal(r[1], results[0][1]) for r in results)
    for other in (
        leaf.contiguous(memory_format=dt.channels_last),
        leaf.transpose(0, 1).contiguous().transpose(0, 1),
    ):
        assert_alike(map(np.asarray, both(other)), map(np.asarray, results[0]), 1e-6)
    classes[1, 39, 40] = 6
    with pytest.raises(IndexError, match="Target 6 is out of bounds"):
        both(leaf)


def test_many_classes():
    """What each of them adds is far below the sum."""
    rng = np.random.default_rng(0)
    x = rng.normal(scale=1e-3, size=(1, 50_000, 16)).astype(np.float32)
    target = rng.integers(0, 50_000, (1, 16))
    for settings in ({}, {"label_smoothing": 0.1}):
        found = [
            t.nn.functional.cross_entropy(
                t.from_numpy(a), t.from_numpy(target), reduction="none", **settings
            )
            for t, a in ((dt, x), (torch, x.astype(np.float64)))
        ]
        np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=3e-7)


@pytest.mark.parametrize("settings", SETTINGS[:4])
@pytest.mark.parametrize("sizes", [(3, 4), (2, 1500), (2, 3, 40)])
@pytest.mark.parametrize("offset", [1e5, -3e6, -1e30])
def test_gradients_of_large_logits(offset, sizes, settings):
    """The logarithm of their sum of exponentials has few digits behind the point, or none."""
    x, *others = operands(sizes, "float32")
    given = (x.round() + np.float32(offset), *others)
    ours, theirs = (run(t, given, settings, d) for t, d in ((dt, "float32"), (torch, "float64")))
    assert_alike(ours[1:], theirs[1:], 1e-5)
