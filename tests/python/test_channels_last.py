"""Convolutions of many channels, against PyTorch in float64: what their kernels leave out around images, and weights
that are packed from lines of taps, in both orders of memory, forward and transposed and for any number of threads."""

import dumbtorch as dt
import numpy as np
import pytest

CASES = [  # images, channels in and out, kernel, stride, padding, dilation
    ((2, 200, 9, 7), 48, (3, 3), 1, 1, 1),
    ((2, 64, 6, 5), 64, (7, 7), 1, 3, 1),
    ((3, 33, 8, 16), 70, (5, 5), 1, (4, 0), 1),
    ((1, 64, 4, 4), 80, (4, 4), 2, 3, 1),
    ((2, 48, 11, 12), 32, (5, 4), (2, 3), (2, 4), 1),
    ((1, 40, 3, 9), 31, (17, 16), 1, (12, 9), 1),
    ((1, 32, 2, 300), 48, (1, 270), 1, (0, 130), 1),
    ((1, 32, 40, 3), 32, (29, 11), 2, (14, 7), 1),
    ((1, 256, 1, 2), 32, (3, 3), 1, 6, 1),
    ((2, 96, 13, 10), 32, (3, 2), 1, 2, 2),
]


def results(t, dtype, case, last):
    sizes, channels, kernel, stride, padding, dilation = case
    rng = np.random.default_rng(9)
    x, weight, bias = (
        t.tensor(rng.standard_normal(s).astype("float32"), dtype=dtype)
        for s in (sizes, (channels, sizes[1], *kernel), (channels,))
    )
    if last:
        x = x.contiguous(memory_format=t.channels_last)
    y = t.nn.functional.conv2d(x.requires_grad_(), weight, bias, stride, padding, dilation)
    g = t.tensor(rng.standard_normal(tuple(y.shape)).astype("float32"), dtype=dtype)
    if last:
        g = g.contiguous(memory_format=t.channels_last)
    gradient = t.autograd.grad(y, x, g)[0]
    return [v.detach().double().numpy() for v in (y, gradient)]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case, last, torch):
    threads = dt.get_num_threads()
    truth = results(torch, torch.float64, case, False)
    try:
        one, three = [], []
        for n, out in ((1, one), (3, three)):
            dt.set_num_threads(n)
            out += results(dt, dt.float32, case, last)
    finally:
        dt.set_num_threads(threads)
    for a, b, c in zip(one, three, truth, strict=True):
        assert (a == b).all()
        assert np.abs(a - c).max() < 1e-5 * np.abs(c).max()
    for ours, theirs in zip(results(dt, dt.float64, case, last), truth, strict=True):
        assert np.abs(ours - theirs).max() < 1e-13 * np.abs(theirs).max()
