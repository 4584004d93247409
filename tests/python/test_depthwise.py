"""Depthwise convolutions and their gradients, against PyTorch in float64: channels and rows that fill no vectors, and
images that are too many for the caches at once, in both orders of memory and for any number of threads."""

import dumbtorch as dt
import numpy as np
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
@pytest.mark.parametrize("sizes", [(3, 170, 7, 7), (2, 5, 8, 16), (3, 2, 3, 5), (2, 3, 1, 3)])
def test_small_planes(sizes, stride, kernel, padding, dilation, torch):
    """Which lie among zeros while they are convolved."""
    compare(sizes, stride, kernel, padding, dilation, torch)


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
