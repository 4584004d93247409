"""Convolutions that the CPU computes another way, against PyTorch in float64: windows as large as the image are matrix
products, images of few pixels and many channels are channels-last meanwhile. In both orders of memory and for any
number of threads."""

import dumbtorch as dt
import numpy as np
import pytest

WHOLE = [  # images, channels in and out, window and image, stride, padding
    (5, 24, 10, (4, 4), (4, 4), 1, 0),
    (3, 7, 1, (5, 3), (5, 3), 2, 0),
    (1, 1, 6, (3, 3), (3, 3), 1, 0),
    (4, 9, 17, (1, 1), (1, 1), 1, 0),
    (0, 3, 2, (2, 2), (2, 2), 1, 0),
]
FEW_PIXELS = [
    (8, 192, 64, (3, 3), (4, 4), 1, 1),
    (4, 128, 96, (3, 3), (7, 5), 2, 1),
    (6, 64, 128, (4, 4), (8, 8), 2, 1),
    (3, 80, 112, (5, 3), (6, 9), (2, 1), (2, 0)),
    (9, 1, 512, (4, 4), (6, 6), 1, 0),
    (2, 96, 48, (3, 3), (5, 5), 3, 0),
]
FEW_WEIGHTS = [  # images, channels in and out, image
    (2, 16, 96, (40, 37)),
    (3, 24, 17, (33, 31)),
    (1, 33, 8, (47, 50)),
    (8, 40, 9, (3, 5)),
    (5, 100, 130, (1, 1)),
    (1, 9, 10, (1, 2)),
]


def results(t, dtype, case, transposed, last):
    n, c, o, window, image, stride, padding = case
    rng = np.random.default_rng(11)
    tensor = lambda *sizes: t.tensor(rng.standard_normal(sizes).astype("float32"), dtype=dtype)  # noqa: E731
    low = [
        (i + 2 * p - k) // s + 1
        for i, p, k, s in zip(image, pair(padding), window, pair(stride), strict=True)
    ]
    x = tensor(n, o, *low) if transposed else tensor(n, c, *image)
    weight, bias = tensor(o, c, *window), tensor(c if transposed else o)
    if last:
        x = x.contiguous(memory_format=t.channels_last)
    name = "conv_transpose2d" if transposed else "conv2d"
    x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_()
    y = getattr(t.nn.functional, name)(x, weight, bias, stride, padding)
    g = (t.arange(y.numel(), dtype=dtype).reshape(y.shape) % 7 - 3).requires_grad_()
    first = t.autograd.grad(y, [x, weight, bias], g, create_graph=True)
    if n == 0:  # PyTorch's gradients are constants
        return [y, *first]
    second = t.autograd.grad(
        (first[0] * first[0]).sum() + (first[1] * first[1]).sum(), [x, weight, g]
    )
    return [y, *first, *second]


def pair(number):
    return number if isinstance(number, tuple) else (number, number)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("case", WHOLE + FEW_PIXELS, ids=str)
def test_another_way(case, transposed, last, torch):
    truth = results(torch, torch.float64, case, transposed, last)
    threads = dt.get_num_threads()
    try:
        for dtype, tolerance in ((dt.float32, 1e-5), (dt.float64, 1e-13)):
            each = []
            for n in (1, 3):
                dt.set_num_threads(n)
                each.append(results(dt, dtype, case, transposed, last))
            for one, three, want in zip(*each, truth, strict=True):
                assert (one == three).all().item()
                got, want = one.detach().double().numpy(), want.detach().numpy()
                assert got.shape == want.shape
                assert np.abs(got - want).max(initial=0) <= tolerance * np.abs(want).max(initial=0)
            assert each[0][0].stride() == truth[0].stride()
    finally:
        dt.set_num_threads(threads)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("case", FEW_WEIGHTS, ids=str)
def test_weights_of_a_kernel_of_one_element(case, cut, torch):
    """With channels last both sides are read where they are, and what lies between channels that are cut out of more is
    not theirs."""
    n, c, o, image = case
    rng = np.random.default_rng(5)
    arrays = rng.standard_normal((n, c, *image)), rng.standard_normal((n, o, *image))

    def side(t, array, dtype):
        if not cut:
            return t.tensor(array, dtype=dtype).contiguous(memory_format=t.channels_last)
        wide = t.full((n, array.shape[1] + 7, *image), float("nan"), dtype=dtype)
        wide = wide.contiguous(memory_format=t.channels_last)
        wide[:, 3:-4] = t.tensor(array, dtype=dtype)
        return wide[:, 3:-4]

    def gradient(t, dtype):
        x, g = (side(t, array, dtype) for array in arrays)
        weight = t.ones(o, c, 1, 1, dtype=dtype, requires_grad=True)
        return t.autograd.grad(t.nn.functional.conv2d(x, weight), weight, g)[0]

    want = gradient(torch, torch.float64).numpy()
    threads = dt.get_num_threads()
    try:
        for dtype, tolerance in ((dt.float32, 1e-5), (dt.float64, 1e-13)):
            dt.set_num_threads(1)
            alone = gradient(dt, dtype).numpy()
            dt.set_num_threads(3)
            assert np.array_equal(alone, gradient(dt, dtype).numpy())
            assert np.abs(alone - want).max() <= tolerance * np.abs(want).max()
    finally:
        dt.set_num_threads(threads)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("apart", [7, 10_000, 1_000_000_000])
@pytest.mark.parametrize("groups", [1, 4])
def test_taps_that_reach_no_pixel(groups, apart, stride, last, torch):
    """They are as far apart as the padding is wide: one of each direction meets the image, or some of small ones."""

    def gradients(t):
        rng = np.random.default_rng(5)
        tensor = lambda *sizes: t.tensor(rng.standard_normal(sizes), requires_grad=True)  # noqa: E731
        x, weight, bias = tensor(2, 4, 5, 6), tensor(8, 4 // groups, 3, 5), tensor(8)
        laid = x.contiguous(memory_format=t.channels_last) if last else x
        padding = (apart, 2 * apart)
        y = t.nn.functional.conv2d(laid, weight, bias, stride, padding, apart, groups)
        g = t.arange(y.numel(), dtype=t.float64).reshape(y.shape) % 7 - 3
        return [y, *t.autograd.grad(y, (x, weight, bias), g)]

    for ours, theirs in zip(gradients(dt), gradients(torch), strict=True):
        ours, theirs = (z.detach().numpy() for z in (ours, theirs))
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max()


def test_weights_of_other_ranks(refusals):
    mine, theirs = refusals(
        lambda t: t.nn.functional.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2, 2)), RuntimeError
    )
    assert mine[1] == f"conv1d: {theirs[1]}"
