"""Norms and what stands beside and behind them in networks, against PyTorch."""

import dumbtorch as dt
import numpy as np
import pytest


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("features", [1, 3, 8, 17, 300, 1025])
@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_gradients_beside_a_norm(norm, features, hooked, torch):
    """What goes around a norm has a gradient that the norm's is added to: in place, if nobody else sees it."""
    numbers = np.random.default_rng(features).standard_normal((3, 5, features))

    def program(t):
        x = t.tensor(numbers, requires_grad=True)
        y, seen = x * 2, []
        if hooked:
            y.register_hook(lambda g: seen.append(g.clone()))
            y.retain_grad()
        parameters = [t.ones(features, dtype=t.float64, requires_grad=True)]
        if norm == "layer_norm":
            parameters.append(t.zeros(features, dtype=t.float64, requires_grad=True))
        z = getattr(t.nn.functional, norm)(y, (features,), *parameters)
        ((y + z.sin()) * t.tensor(numbers + 1)).sum().backward()
        return [x.grad, *(p.grad for p in parameters), *seen, *([y.grad] if hooked else [])]

    for ours, theirs in zip(program(dt), program(torch), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(0, 5), (3, 0), (300, 1), (4099, 3), (1031, 9), (77, 300), (3, 40_001), (90, 4099)]
)
def test_gradients_of_parameters(shape, dtype, torch):
    """Sums over rows: of many short ones, and of a few so long that they are read a second time, each alone too."""
    draw = np.random.default_rng(shape[1]).standard_normal
    x, g, weight, bias = draw(shape), draw(shape), draw(shape[1]), draw(shape[1])

    def gradients(t, wanted, dtype):
        w, b = (
            t.tensor(p, dtype=dtype, requires_grad=name in wanted)
            for p, name in ((weight, "w"), (bias, "b"))
        )
        y = t.nn.functional.layer_norm(t.tensor(x, dtype=dtype), shape[1:], w, b, eps=0.1)
        y.backward(t.tensor(g, dtype=dtype))
        return [p.grad.double().numpy() for p in (w, b) if p.requires_grad]

    allowed = np.finfo(dtype).eps * (16 + 4 * np.abs(g) * (1 + np.abs(x))).sum(0)
    for wanted in ("w", "b", "wb"):
        ours, right = (
            gradients(dt, wanted, getattr(dt, dtype)),
            gradients(torch, wanted, torch.float64),
        )
        for got, truth in zip(ours, right, strict=True):
            assert (np.abs(got - truth) <= allowed).all()


def test_the_gradient_beside_a_norm_is_not_added_by_itself():
    x = dt.randn(4, 6, requires_grad=True)
    y = x * 1
    z = y + dt.nn.functional.layer_norm(y, (6,)).exp()
    loss = z.sin().sum()
    with dt.profiler.profile() as p:
        loss.backward()
    assert "add" not in [e.name for e in p.events()]


@pytest.mark.parametrize("dtype", [dt.float32, dt.bfloat16, dt.float16])
def test_the_kernel_of_group_norm_is_for_every_float(dtype):
    x = dt.randn(2, 6, 5, dtype=dtype, requires_grad=True)
    with dt.profiler.profile() as p:
        dt.nn.functional.group_norm(x, 3).sum().backward()
    assert {"group_norm", "group_norm_backward"} <= {e.name for e in p.events()}


@pytest.mark.parametrize("relu", ["ReLU", "ReLU6"])
@pytest.mark.parametrize("training", [True, False])
def test_norms_with_relus_in_a_sequential(relu, training, torch):
    """One function does both, unless somebody looks between: the same numbers, statistics and hooks' calls."""
    numbers = np.random.default_rng(0).standard_normal((4, 8, 3, 5)) * 4

    def program(t, looks):
        nn, seen = t.nn, []
        model = nn.Sequential(nn.BatchNorm2d(8), getattr(nn, relu)(inplace=True)).double()
        model.train(training)
        if looks:
            model[0].register_forward_hook(lambda m, i, y: seen.append(y.detach().clone()))
        x = t.tensor(numbers).to(memory_format=t.channels_last).requires_grad_()
        y = model(x)
        (y * y).sum().backward()
        norm = model[0]
        found = [y, x.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var]
        return [z.detach() for z in found], seen, norm.num_batches_tracked.item()

    for looks in (False, True):
        (ours, ours_seen, ours_count), (theirs, theirs_seen, theirs_count) = (
            program(t, looks) for t in (dt, torch)
        )
        assert ours_count == theirs_count and len(ours_seen) == len(theirs_seen) == looks
        for a, b in zip(ours + ours_seen, theirs + theirs_seen, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-9)


def test_instance_norm_of_nothing_is_a_result(both):
    def run(t):
        x = t.zeros(3, 1, 0, requires_grad=True)
        y = t.nn.functional.instance_norm(x)
        return y.is_leaf, y.requires_grad, tuple(y.shape)

    ours, theirs = both(run)
    assert ours == theirs


def test_instance_norm_takes_an_eps_of_0(both, same):
    """Which batch_norm refuses in training alone."""
    x = np.random.default_rng(7).standard_normal((2, 3, 4))

    def run(t):
        y = t.nn.InstanceNorm1d(3, eps=0)(t.tensor(x))
        refused = []
        for eps, training in ((0, True), (-1, False)):
            with pytest.raises(ValueError) as error:
                t.nn.functional.batch_norm(
                    t.tensor(x), t.zeros(3), t.ones(3), training=training, eps=eps
                )
            refused.append(str(error.value).removeprefix("batch_norm: "))
        return y, refused

    (ours, ours_refused), (theirs, theirs_refused) = both(run)
    same(ours, theirs, rtol=1e-9, atol=1e-9)
    assert ours_refused == theirs_refused


@pytest.mark.parametrize("size, channels", [(5, 3), (7, 4), (3, 2), (4, 2), (6, 3), (2, 1)])
def test_cross_map_lrn(size, channels, torch, same):
    """PyTorch's values where it takes no channel away again, and the gradient of its LocalResponseNorm, whose even
    windows are other ones."""
    odd = size - 1 + size % 2

    def run(layer, t):
        x = (t.arange(2 * channels * 4.0).view(2, channels, 2, 2) / 7).requires_grad_()
        y = layer(x)
        (y * y).sum().backward()
        return y, x.grad

    mine = run(dt.nn.CrossMapLRN2d(size, 0.1, 0.6, 2), dt)
    theirs = torch.nn.CrossMapLRN2d(size, 0.1, 0.6, 2)
    same(mine[0], run(theirs, torch)[0])
    same(mine, run(torch.nn.LocalResponseNorm(odd, 0.1 * odd / size, 0.6, 2), torch))
    assert repr(dt.nn.CrossMapLRN2d(size)) == repr(torch.nn.CrossMapLRN2d(size))


def test_cross_map_lrn_is_of_images(refusals):
    mine, theirs = refusals(lambda t: t.nn.CrossMapLRN2d(3)(t.ones(2, 3, 4)), ValueError)
    assert mine == theirs
