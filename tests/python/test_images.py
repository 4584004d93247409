"""Kernels of images: elements that come from elsewhere, places of a grid, windows that are not equal, copies in another
order. On the CPU and on a GPU against PyTorch."""

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])


def numbers(*sizes, seed=0):
    return np.random.default_rng(seed).standard_normal(sizes)


@pytest.fixture
def agree(torch):
    """agree(f, device, arrays): f's value and its gradients by all arrays are PyTorch's on the CPU."""

    def compare(f, device, *arrays, channels_last=False, tolerance=1e-10):
        results = []
        for t, place in ((torch, "cpu"), (dt, device)):
            leaves = [t.tensor(a).to(place).requires_grad_() for a in arrays]
            given = list(leaves)
            if channels_last:
                given[0] = given[0].contiguous(memory_format=t.channels_last)
            y = f(t.nn.functional, *given)
            weight = t.linspace(-1, 1, y.numel(), dtype=y.dtype).to(place).reshape(y.shape)
            (y * weight).sum().backward()
            results.append([x.detach().cpu().numpy() for x in (y, *(x.grad for x in leaves))])
        for truth, ours in zip(*results):
            np.testing.assert_allclose(ours, truth, tolerance, tolerance)

    return compare


# The last sizes give every thread several elements.
SIZES = [(2, 3, 7, 9), (1, 1, 5, 4), (3, 8, 40, 33), (16, 64, 64, 64)]


@on_both
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding(agree, device, mode, sizes, channels_last):
    agree(
        lambda F, x: F.pad(x, (3, 1, 0, 2), mode),
        device,
        numbers(*sizes),
        channels_last=channels_last,
    )


@on_both
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_repetition(agree, device, mode, sizes, channels_last):
    for factor in (2, 0.6, (1.3, 3.1)):
        agree(
            lambda F, x, factor=factor: F.interpolate(x, scale_factor=factor, mode=mode),
            device,
            numbers(*sizes),
            channels_last=channels_last,
        )


@on_both
@pytest.mark.parametrize("dims", [1, 3])
def test_lines_and_volumes(agree, device, dims):
    x = numbers(2, 3, *(5, 6, 7)[:dims])
    for mode in ("constant", "reflect", "replicate", "circular"):
        agree(lambda F, x, mode=mode: F.pad(x, (2, 1) * dims, mode), device, x)
    agree(lambda F, x: F.interpolate(x, scale_factor=1.7), device, x)


@on_both
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "volume"])
def test_places_of_a_grid(agree, device, mode, padding, align_corners):
    dims = 3 if mode == "volume" else 2
    x, grid = numbers(3, 6, *(5, 6, 7)[:dims]), numbers(3, *(9, 8, 4)[:dims], dims)
    agree(
        lambda F, x, grid: F.grid_sample(
            x, grid, "bilinear" if dims == 3 else mode, padding, align_corners
        ),
        device,
        x,
        grid,
    )


@on_both
@pytest.mark.parametrize("places", [9, 300])
@pytest.mark.parametrize("reach", [0.001, 1.0, 3.0])
def test_crowds_of_places(agree, device, reach, places):
    """An element that many places are made of is summed by a block; and always to the same bits."""
    x, grid = numbers(4, 5, 16, 16), reach * numbers(4, places, places, 2)
    agree(
        lambda F, x, grid: F.grid_sample(x, grid, padding_mode="border"),
        device,
        x,
        grid,
        tolerance=1e-7,
    )
    seen = set()
    for _ in range(4):
        leaf = dt.tensor(x, dtype=dt.float32, device=device).requires_grad_()
        places_of = dt.tensor(grid, dtype=dt.float32, device=device)
        dt.nn.functional.grid_sample(leaf, places_of, padding_mode="border").sum().backward()
        seen.add(leaf.grad.cpu().numpy().tobytes())
    assert len(seen) == 1


@on_both
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("windows", [(5, 5), (3, 7), (1, 4), (32, 9)])
def test_windows_that_are_not_equal(agree, device, windows, channels_last):
    x = numbers(3, 8, 32, 30)
    x[0, 0, 3, 4] = np.nan
    agree(lambda F, x: F.adaptive_max_pool2d(x, windows), device, x, channels_last=channels_last)
    agree(lambda F, x: F.adaptive_max_pool1d(x, 7), device, x[0])


@on_both
@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "int64"])
def test_copies_in_another_order(device, dtype):
    x = (np.arange(2 * 3 * 4 * 5 * 6) % 251).reshape(2, 3, 4, 5, 6)
    y = dt.tensor(x, dtype=getattr(dt, dtype), device=device)
    for order in ((0, 3, 1, 4, 2), (4, 3, 2, 1, 0), (0, 2, 4, 1, 3), (1, 0, 2, 4, 3)):
        ours = y.permute(*order).contiguous().long().cpu().numpy()
        np.testing.assert_array_equal(ours, x.transpose(order))
    np.testing.assert_array_equal(y.flip(4, 1).long().cpu().numpy(), x[:, ::-1, :, :, ::-1])
    np.testing.assert_array_equal(y[..., ::2].contiguous().long().cpu().numpy(), x[..., ::2])
    np.testing.assert_array_equal(y.tril(-1).long().cpu().numpy(), np.tril(x, -1))
