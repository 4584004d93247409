"""Resampling and sampling of images on a GPU, whose kernels find by themselves what elements are made of, against the
CPU's, which have tables and walk over places."""

import subprocess
import sys

import dumbtorch as dt
import numpy as np
import pytest

F = dt.nn.functional
pytestmark = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
ROUNDING = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3}


def numbers(*sizes, seed=0):
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def wide(x):
    return x.detach().double().cpu().numpy()


def agree(call, dtype, *given):
    """Values and gradients, which grow with their sizes."""
    results = []
    for device in ("cpu", "cuda"):
        operands = [dt.tensor(a, device=device).to(dtype).requires_grad_() for a in given]
        y = call(*operands)
        g = dt.tensor(numbers(*y.shape, seed=9), device=device).to(dtype)
        y.backward(g)
        results.append([y, *(x.grad for x in operands)])
    for truth, ours in zip(*map(lambda r: map(wide, r), results)):
        scale = max(1, np.abs(truth).max(initial=0))
        np.testing.assert_allclose(ours, truth, rtol=0, atol=ROUNDING[str(dtype)[6:]] * scale)


# As small as one element, to the same size in one dimension, larger and smaller by odd factors; strips of lines,
# several planes to a block, columns that more elements are made of than a thread keeps.
@pytest.mark.parametrize("sizes, to", [
    ((2, 3, 64, 64), (128, 128)), ((5, 9, 7, 7), (14, 14)), ((1, 3, 300, 401), (600, 802)),
    ((3, 5, 57, 61), (97, 103)), ((2, 4, 33, 40), (99, 120)), ((1, 2, 5, 3), (80, 200)),
    ((2, 3, 100, 131), (37, 40)), ((1, 2, 9, 1), (30, 17)), ((2, 2, 1, 6), (1, 33)),
    ((1, 700, 3, 2), (3, 5)), ((2, 2, 90, 8), (200, 8)), ((1, 1, 40, 300), (1, 1)),
])  # fmt: skip
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_resampled_images(sizes, to, mode, align_corners):
    for dtype in (dt.float32, dt.float64, dt.float16):
        how = {"size": to, "mode": mode, "align_corners": align_corners}
        agree(lambda x, how=how: F.interpolate(x, **how), dtype, numbers(*sizes))


@pytest.mark.parametrize("factor", [0.3, 0.77, 1.1, 1.7, 2.5, 9.4])
def test_images_by_a_factor(factor):
    for mode in ("bilinear", "bicubic"):
        for dtype in (dt.float32, dt.float64):
            how = {"scale_factor": factor, "mode": mode}
            agree(lambda x, how=how: F.interpolate(x, **how), dtype, numbers(2, 3, 41, 29))


def test_lines_and_volumes():
    agree(lambda x: F.interpolate(x, size=77, mode="linear"), dt.float32, numbers(3, 5, 30))
    agree(lambda x: F.interpolate(x, size=(9, 5, 31), mode="trilinear"), dt.float32,
          numbers(2, 3, 4, 11, 16))  # fmt: skip
    agree(
        lambda x: F.interpolate(
            x.contiguous(memory_format=dt.channels_last), scale_factor=2, mode="bilinear"
        ),
        dt.float32,
        numbers(2, 20, 9, 8),
    )


def test_an_infinite_element_reaches_its_neighbours_alone():
    x = np.ones((1, 1, 1, 9), np.float32)
    x[..., 4] = np.inf
    y = wide(F.interpolate(dt.tensor(x, device="cuda"), size=(1, 18), mode="bilinear"))
    assert np.isinf(y[..., 7:11]).all() and (np.delete(y, slice(7, 11), 3) == 1).all()


# Planes of 1, 2 and 4 channels fit into shared memory, or none; the last sorts with more places than one kernel takes.
@pytest.mark.parametrize("sizes, places", [
    ((2, 9, 20, 30), (25, 17)), ((3, 2, 7, 7), (7, 7)), ((1, 5, 128, 120), (128, 130)),
    ((1, 3, 300, 301), (200, 333)), ((1, 3, 30, 301), (300, 333)), ((2, 3, 200, 90), (2, 5)),
    ((2, 1, 8, 8), (520, 531)),
])  # fmt: skip
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_sampled_images(sizes, places, padding, align_corners):
    rng = np.random.default_rng(3)
    grid = rng.uniform(-1.2, 1.2, (sizes[0], *places, 2))
    for mode in ("bilinear", "nearest", "bicubic"):
        how = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
        agree(lambda x, g, how=how: F.grid_sample(x, g, **how), dt.float64, numbers(*sizes), grid)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_sampled_volumes(mode):
    grid = np.random.default_rng(4).uniform(-1.2, 1.2, (2, 9, 8, 7, 3))
    agree(lambda x, g: F.grid_sample(x, g, mode=mode, align_corners=False), dt.float64,
          numbers(2, 5, 6, 11, 8), grid)  # fmt: skip


# Next to one element, in a cell beside it, and in NaN's.
@pytest.mark.parametrize("place", [0.013, -1.0, 1.0, 5.0, np.nan])
def test_places_that_are_all_the_same(place):
    grid = np.full((1, 40, 50, 2), place)
    agree(lambda x: F.grid_sample(x, dt.tensor(grid, device=x.device).to(x.dtype),
                                  align_corners=False), dt.float64, numbers(1, 6, 9, 8))  # fmt: skip


# Enough of them that planes go through shared memory, but where places lie together. 7, 6 and 1
# channels leave groups incomplete; a plane of (130, 125) is too large for two at a time.
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("sizes", [(3, 7, 60, 70), (3, 6, 130, 125), (6, 1, 41, 33)])
def test_many_places_scattered_or_not(sizes, mode):
    rng = np.random.default_rng(5)
    grid = rng.uniform(-1.1, 1.1, (sizes[0], 230, 240, 2))
    grid[1, :, :, 0], grid[1, :, :, 1] = np.linspace(-1, 1, 240), np.linspace(-1, 1, 230)[:, None]
    grid[2] = 0.2
    agree(lambda x, g: F.grid_sample(x, g, mode=mode, align_corners=False), dt.float64,
          numbers(*sizes), grid)  # fmt: skip


def test_gradients_of_a_grid_repeat():
    def gradient():
        x = dt.tensor(numbers(4, 7, 31, 33), device="cuda").requires_grad_()
        places = np.tanh(numbers(4, 50, 61, 2, seed=1)).astype(np.float32)
        F.grid_sample(
            x, dt.tensor(places, device="cuda"), align_corners=False
        ).square().sum().backward()
        return wide(x.grad)

    assert np.array_equal(gradient(), gradient())


# Planes that nearly fill what a block gets of shared memory unasked, each the first that its process stages.
@pytest.mark.parametrize("channels, height, width", [(3, 54, 54), (2, 75, 77), (1, 106, 108)])
def test_planes_that_nearly_need_more_shared_memory(channels, height, width):
    program = f"""
import dumbtorch as dt
dt.manual_seed(0)
x = dt.randn(8, {channels}, 64, 64)
grid = dt.rand(8, {height}, {width}, 2) * 2 - 1
slopes = []
for device in ("cpu", "cuda"):
    leaf = x.detach().to(device).requires_grad_()
    dt.nn.functional.grid_sample(leaf, grid.to(device), align_corners=False).square().sum().backward()
    slopes.append(leaf.grad.cpu())
assert dt.allclose(*slopes, rtol=1e-4, atol=1e-4)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
