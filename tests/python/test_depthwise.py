"""Gradients of depthwise convolutions by their inputs, against PyTorch in float64: channels that fill no vectors, and
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
