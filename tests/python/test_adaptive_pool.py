"""Means of windows that cover lines, images and volumes, against PyTorch in float64: of any number and size, also wider
than what a kernel has at hand at once, in both orders of memory and for any number of threads."""

import dumbtorch as dt
import numpy as np
import pytest

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
COVERS = {  # of dimensions: sizes and windows
    1: [((2, 3, 7), 3), ((2, 3, 1300), 7), ((2, 3, 1300), 2), ((3, 5), 17)],
    2: [
        ((2, 3, 7, 7), 7), ((2, 3, 14, 14), 7), ((2, 40, 13, 9), (6, 4)), ((1, 2, 4, 4), (7, 9)), ((3, 33, 8), (5, 8)),
        ((1, 2, 3, 1300), (2, 2)), ((1, 2, 3, 1300), (2, 3)), ((1, 2, 5, 1100), (5, 600)), ((2, 3, 1, 520), (3, 519)),
    ],
    3: [((2, 3, 4, 14, 15), (2, 7, 4)), ((2, 3, 9, 5, 3), (4, 6, 2)), ((3, 9, 5, 3), 2)],
}  # fmt: skip


def value_and_gradient(t, array, dims, windows, dtype, last):
    x = t.tensor(array, dtype=dtype)
    if last:
        x = x.contiguous(memory_format=t.channels_last)
    x = x.requires_grad_()
    y = getattr(t.nn.functional, f"adaptive_avg_pool{dims}d")(x, windows)
    weight = t.arange(y.numel(), dtype=dtype).reshape(y.shape) % 5 - 2
    return [r.detach().double().numpy() for r in (y, *t.autograd.grad((y * weight).sum(), x))]


@pytest.mark.parametrize("name", EPSILON)
@pytest.mark.parametrize("dims", COVERS)
def test_covers(dims, name, torch):
    for sizes, windows in COVERS[dims]:
        array = np.random.default_rng(7).standard_normal(sizes).astype(name)
        for last in (False, True) if len(sizes) == 4 and dims == 2 else (False,):
            ours = value_and_gradient(dt, array, dims, windows, getattr(dt, name), last)
            truth = value_and_gradient(torch, array, dims, windows, torch.float64, last)
            for got, right in zip(ours, truth, strict=True):
                assert got.shape == right.shape
                allowed = 16 * EPSILON[name] * (1 + np.abs(right).max())
                assert np.abs(got - right).max() <= allowed, (sizes, windows)


def test_threads_do_not_matter():
    array = np.random.default_rng(7).standard_normal((2, 40, 45, 57)).astype("float32")
    threads = dt.get_num_threads()
    results = []
    try:
        for n in (1, 3):
            dt.set_num_threads(n)
            for last in (False, True):
                results.append(value_and_gradient(dt, array, 2, (4, 7), dt.float32, last))
    finally:
        dt.set_num_threads(threads)
    for one, three in zip(results[:2], results[2:], strict=True):
        assert all((a == b).all() for a, b in zip(one, three, strict=True))
