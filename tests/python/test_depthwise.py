"""Depthwise convolutions and their gradients, against PyTorch in float64: channels and rows that fill no vectors, and
images that are too many for the caches at once, in both orders of memory and for any number of threads."""

import dumbtorch as dt
import numpy as np
import processors
import pytest


def gradient(t, dtype, sizes, stride, last):
    rng = np.random.default_rng(7)
    x = t.tensor(rng.standard_normal(sizes).astype("float32"), dtype=dtype)
    weight = t.tensor(rng.standard_normal((sizes[1], 1, 3, 3)).astype("float32"), dtype=dtype)
    if last:
        x = x.contiguous(memory_format=t.channels_last)
    y = t.nn.functional.conv2d(x.requires_grad_(), weight, None, stride, 1, groups=sizes[1])
    g = t.arange(y.numel(), dtype=dtype).reshape(y.shape) % 7 - 3
    return t.autograd.grad(y, x, g)[0].double().numpy()


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(3, 51, 9, 8), (2, 48, 7, 13), (3, 40, 120, 121)])
def test_gradient_of_input(sizes, stride, torch):
    threads = dt.get_num_threads()
    truth = gradient(torch, torch.float64, sizes, stride, False)
    try:
        for last in (False, True):
            results = []
            for n in (1, 3):
                dt.set_num_threads(n)
                results.append(gradient(dt, dt.float32, sizes, stride, last))
            assert (results[0] == results[1]).all()
            assert np.abs(results[0] - truth).max() < 1e-5 * np.abs(truth).max()
    finally:
        dt.set_num_threads(threads)


def results(t, dtype, sizes, kernel, stride, padding, dilation):
    rng = np.random.default_rng(8)
    x, weight = (
        t.tensor(rng.standard_normal(shape).astype("float32"), dtype=dtype, requires_grad=True)
        for shape in (sizes, (sizes[1], 1, *kernel))
    )
    y = t.nn.functional.conv2d(x, weight, None, stride, padding, dilation, sizes[1])
    g = t.arange(y.numel(), dtype=dtype).reshape(y.shape) % 7 - 3
    return [r.detach().double().numpy() for r in (y, *t.autograd.grad(y, (x, weight), g))]


@pytest.mark.parametrize(
    "kernel, padding, dilation",
    [((3, 3), 1, 1), ((1, 3), (0, 4), 1), ((2, 3), 3, (1, 3)), ((5, 2), 0, 2)],
)
@pytest.mark.parametrize("stride", [1, 2, (1, 2), (3, 1)])
@pytest.mark.parametrize("sizes", [(2, 5, 9, 7), (3, 2, 12, 16), (1, 3, 14, 33), (2, 3, 65, 150)])
def test_planes(sizes, stride, kernel, padding, dilation, torch):
    compare(sizes, stride, kernel, padding, dilation, torch)


@pytest.mark.parametrize(
    "kernel, padding, dilation",
    [((3, 3), 1, 1), ((1, 3), (0, 4), 1), ((2, 3), 3, (1, 2)), ((4, 2), (3, 0), (2, 1))],
)
@pytest.mark.parametrize("stride", [1, 2, (1, 2), (3, 1)])
@pytest.mark.parametrize(
    "sizes",
    [(3, 170, 7, 7), (2, 5, 8, 16), (3, 2, 3, 5), (2, 4, 1, 3), (9, 33, 14, 11), (2, 17, 20, 32)],
)
def test_small_planes(sizes, stride, kernel, padding, dilation, torch):
    """Whose channels lie side by side while they are convolved."""
    compare(sizes, stride, kernel, padding, dilation, torch)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels", [4, 16, 37])
def test_parts_of_small_planes(channels, stride, torch):
    """Planes and rows that do not follow each other, weights and a bias with gaps; numbers that are not finite reach
    their neighbours alone."""
    found = []
    for t in (dt, torch):
        rng = np.random.default_rng(channels)
        drawn = [
            rng.standard_normal(s)
            for s in ((3, 2 * channels, 9, 12), (channels, 1, 6, 3), (2 * channels,))
        ]
        x, weight, bias = (t.tensor(d.astype("float32")) for d in drawn)
        x = x[:, ::2, 1:8, 2:9]
        x[1, 2, 3, 4], x[2, 3, 0, 0] = float("inf"), float("nan")
        found.append(
            t.nn.functional.conv2d(x, weight[:, :, ::2], bias[::2], stride, 1, groups=channels)
        )
    np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=1e-4, atol=1e-5)


def compare(sizes, stride, kernel, padding, dilation, torch):
    truth = results(torch, torch.float64, sizes, kernel, stride, padding, dilation)
    threads = dt.get_num_threads()
    found = []
    try:
        for n in (1, 3):
            dt.set_num_threads(n)
            found.append(results(dt, dt.float32, sizes, kernel, stride, padding, dilation))
    finally:
        dt.set_num_threads(threads)
    for one, three, right in zip(*found, truth):
        assert (one == three).all()
        assert np.abs(one - right).max() <= 1e-5 * np.abs(right).max()


@processors.others("v2", "v3")
def test_other_instructions(isa):
    assert " passed" in processors.run_tests(isa, __file__, "small_planes")
