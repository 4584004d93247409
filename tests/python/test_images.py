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
SIZES = [(2, 3, 7, 9), (1, 1, 5, 4), (3, 8, 40, 33), (4, 64, 64, 64)]


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


WINDOWS = [  # image, kernel, dilation, padding, stride
    ((7, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((17, 13), (3, 5), (2, 1), (2, 0), (1, 3)),
    ((40, 33), (2, 4), (3, 2), (1, 3), (5, 2)),
    ((64, 64), (5, 1), (1, 1), (0, 0), (2, 2)),
]


@on_both
@pytest.mark.parametrize(("image", "kernel", "dilation", "padding", "stride"), WINDOWS)
def test_windows_of_images(agree, device, image, kernel, dilation, padding, stride):
    slides = (kernel, dilation, padding, stride)
    agree(lambda F, x: F.unfold(x, *slides), device, numbers(3, 2, *image))
    columns = dt.nn.functional.unfold(dt.zeros(3, 2, *image), *slides).shape
    agree(lambda F, x: F.fold(x, image, *slides), device, numbers(*columns))
    agree(lambda F, x: F.fold(x.transpose(0, 2), image, *slides), device, numbers(*columns[::-1]))


@on_both
@pytest.mark.parametrize(
    ("sizes", "dim", "size", "step"),
    [
        ((1000,), 0, 8, 3),
        ((33, 40), 0, 5, 1),
        ((33, 40), 1, 7, 5),
        ((4, 50, 3, 6), 1, 20, 9),
        ((3, 3), 0, 3, 1),
    ],
)
def test_windows_of_a_dimension(agree, device, sizes, dim, size, step):
    agree(lambda F, x: x.unfold(dim, size, step), device, numbers(*sizes))
    agree(lambda F, x: x.unfold(dim, size, step).transpose(0, -1), device, numbers(*sizes))


@on_both
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
def test_windows_of_volumes(agree, device, stride, dilation):
    agree(
        lambda F, x, w: F.conv3d(x, w, stride=stride, padding=2, dilation=dilation),
        device,
        numbers(2, 3, 9, 8, 11),
        numbers(4, 3, 3, 2, 3, seed=1),
        tolerance=1e-5,
    )


@on_both
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("begin", [0, 1])
@pytest.mark.parametrize("order", [(2, 0, 1, 3), (1, 3, 0, 2), (0, 2, 1, 3)])
def test_copies_by_packets(device, dtype, begin, order):
    x = (
        (np.arange(5 * 7 * 6 * 40) % 251)
        .astype(dtype)
        .reshape(5, 7, 6, 40)[..., begin : begin + 32]
    )
    there = dt.tensor((np.arange(5 * 7 * 6 * 40) % 251).astype(dtype)).to(device)
    there = there.reshape(5, 7, 6, 40)[..., begin : begin + 32]
    copy = there.permute(order).contiguous()
    assert copy.cpu().numpy().tolist() == x.transpose(order).tolist()
    into = dt.zeros(copy.shape[:-1] + (copy.shape[-1] + 5,), dtype=copy.dtype, device=device)
    into[..., 5:].copy_(there.permute(order))
    assert into.cpu().numpy()[..., 5:].tolist() == x.transpose(order).tolist()
    assert not into.cpu().numpy()[..., :5].any()
