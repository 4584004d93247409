"""torch.nn.grad: the gradients of convolutions as functions, which can be differentiated again."""

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

SETTINGS = [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2, "groups": 2}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_conv_gradients(dims, settings):
    rng = np.random.default_rng(0)
    groups = settings.get("groups", 1)
    x, w = rng.normal(size=(2, 4) + (7,) * dims), rng.normal(size=(6, 4 // groups) + (3,) * dims)

    def run(t):
        a, b = (t.from_numpy(v).requires_grad_() for v in (x, w))
        y = getattr(t.nn.functional, f"conv{dims}d")(a, b, None, **settings)
        g = t.from_numpy(np.cos(np.arange(y.numel())).reshape(tuple(y.shape))).requires_grad_()
        by_input = getattr(t.nn.grad, f"conv{dims}d_input")(a.shape, b, g, **settings)
        by_weight = getattr(t.nn.grad, f"conv{dims}d_weight")(a, b.shape, g, **settings)
        again = t.autograd.grad((by_input**2).sum() + (by_weight**2).sum(), (a, b, g))
        with t.no_grad():
            plain = getattr(t.nn.grad, f"conv{dims}d_input")(a.shape, b, g, **settings)
        assert not plain.requires_grad and by_input.requires_grad
        return [v.detach().numpy() for v in (by_input, by_weight, plain, *again)]

    for ours, theirs in zip(run(dt), run(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_it_is_found_through_functional():
    assert dt.nn.functional.grad is dt.nn.grad
