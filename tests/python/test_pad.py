"""functional.pad against PyTorch: every mode, number of dimensions, layout and dtype; gradients to the second order."""

import random

import dumbtorch
import numpy
import pytest

torch = pytest.importorskip("torch")

MODES = ("constant", "reflect", "replicate", "circular")


def laid_out(library, x, layout: str):
    """A view of x, or a copy, whose memory is another one than that of a new tensor."""
    if layout == "channels last":
        return x.contiguous(memory_format=library.channels_last) if x.ndim == 4 else x
    if layout == "transposed":
        return x.transpose(-1, -2)
    return x[..., 1:-1] if layout == "sliced" else x


def widths(draw: random.Random, sizes, dims: int, mode: str):
    """What goes before and behind each of the last dimensions, as far as the mode can reach."""
    most = {"reflect": -1, "circular": 0}
    pad = []
    for size in reversed(sizes[-dims:]):
        limit = min(size + most[mode], 4) if mode in most else 4
        pad += [draw.randint(0, limit), draw.randint(0, limit)]
    return pad


@pytest.mark.parametrize("layout", ["new", "channels last", "transposed", "sliced"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_values_and_gradients(mode, dims, layout):
    draw, random_numbers = random.Random(dims), numpy.random.default_rng(dims)
    for _ in range(6):
        sizes = [draw.randint(1, 3), draw.randint(1, 5), *(draw.randint(3, 9) for _ in range(dims))]
        array = random_numbers.standard_normal(sizes)
        pad, results = None, []
        for library in (torch, dumbtorch):
            x = library.from_numpy(array.copy()).requires_grad_()
            view = laid_out(library, x, layout)
            pad = pad or widths(draw, tuple(view.shape), dims, mode)
            y = library.nn.functional.pad(view, pad, mode)
            (first,) = library.autograd.grad((y * y * y).sum(), x, create_graph=True)
            (first * first).sum().backward()
            results.append([t.detach().numpy() for t in (y, first, x.grad)])
        for expected, ours in zip(*results):
            numpy.testing.assert_allclose(ours, expected, 1e-12, 1e-12, err_msg=str(pad))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "bfloat16"])
@pytest.mark.parametrize("mode", MODES)
def test_elements_of_any_width(mode, dtype):
    results = []
    for library in (torch, dumbtorch):
        x = (library.arange(60).reshape(1, 3, 4, 5) % 7).to(getattr(library, dtype))
        y = library.nn.functional.pad(x, (2, 1, 0, 3), mode)
        results.append(y.to(library.float64).tolist())
    assert results[1] == results[0]


@pytest.mark.parametrize("value", [0, -0.0, 2.5])
def test_numbers_around(value):
    """Also around nothing, and around more dimensions than the other modes pad."""
    for sizes, pad in (
        ((2, 0, 3), (1, 2, 1, 0)),
        ((2, 3, 2, 3, 2), (1, 0) * 5),
        ((1,) * 6, (1, 1)),
    ):
        results = []
        for library in (torch, dumbtorch):
            y = library.nn.functional.pad(library.ones(sizes), pad, "constant", value)
            results.append((library.copysign(library.ones(()), y) + y).tolist())
        assert results[1] == results[0]
