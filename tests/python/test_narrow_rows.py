"""Kernels that load 16-bit floats in packets, at lengths and places that no packet fits, against PyTorch in float64."""

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
in_both = pytest.mark.parametrize("name", ["float16", "bfloat16"])

# Half the distance of the numbers beside 1, relatively, and the distance of those beside 0.
SPACING = {"float16": (2.0**-11, 2.0**-24), "bfloat16": (2.0**-8, 2.0**-133)}
LENGTHS = [1, 7, 8, 9, 31, 64, 250, 768, 1000, 1024, 2047, 4096, 8200, 16_384, 33_000, 70_001]

# Of a matrix along a dimension, with a vector of the dimension's length.
OPS = {
    "softmax": lambda t, x, v, d: t.softmax(x, d),
    "log_softmax": lambda t, x, v, d: t.log_softmax(x, d),
    "layer_norm": lambda t, x, v, d: t.nn.functional.layer_norm(
        x.movedim(d, -1), v.shape, v, -v
    ).movedim(-1, d),
    "affine": lambda t, x, v, d: t.nn.functional.gelu(x * v.unsqueeze(1 - d) + x),
    "sum": lambda t, x, v, d: (x * 0.125).sum(d),
}


def narrow_arrays(name, rows, length, dim, offset):
    """A matrix inside of a larger one and a vector, of numbers that the dtype has."""
    generator = np.random.default_rng(length)
    sizes = (rows, length + offset) if dim == 1 else (length + offset, rows)
    arrays = generator.standard_normal(sizes), generator.standard_normal(length)
    return [
        dt.tensor(a, dtype=getattr(dt, name)).to(dt.float64).numpy().astype(np.float64)
        for a in arrays
    ]


def values_and_gradients(t, op, arrays, dtype, dim, offset, device):
    whole, vector = (
        t.tensor(a, dtype=dtype, device=device).requires_grad_(a.ndim == 1 or offset == 0)
        for a in arrays
    )
    matrix = whole.narrow(dim, offset, vector.shape[0])
    if offset:
        matrix = matrix.requires_grad_()
    y = op(t, matrix, vector, dim)
    y.backward(t.ones_like(y) if y.ndim == 1 else vector.detach().unsqueeze(1 - dim).expand_as(y))
    gradients = [(whole if offset == 0 else matrix).grad, vector.grad]
    return [x.detach().cpu().double().numpy() for x in (y, *gradients) if x is not None]


@on_both
@in_both
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("offset", [0, 3])
def test_rows(device, name, op, dim, offset, torch):
    epsilon, least = SPACING[name]
    for length in LENGTHS if device == "cuda" else LENGTHS[::4]:
        arrays = narrow_arrays(name, 5, length, dim, offset)
        ours = values_and_gradients(dt, OPS[op], arrays, getattr(dt, name), dim, offset, device)
        truth = values_and_gradients(torch, OPS[op], arrays, torch.float64, dim, offset, "cpu")
        assert len(ours) == len(truth)
        for got, right in zip(ours, truth, strict=True):
            np.testing.assert_allclose(
                got, right, rtol=0, atol=8 * epsilon * np.abs(right).max() + least
            )


# batch, channels, sizes, outputs, kernel, keywords
CONVOLUTIONS = [
    (4, 16, 12, 12, 32, 3, {"padding": 1}),
    (3, 5, 9, 14, 7, 3, {"stride": 2}),
    (2, 8, 11, 10, 16, 1, {}),
    (2, 64, 28, 28, 64, 3, {"padding": 1}),
    (2, 12, 10, 10, 12, 3, {"groups": 4, "padding": 2, "dilation": 2}),
    (0, 4, 8, 8, 4, 3, {}),
]


@on_both
@in_both
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
def test_convolutions(device, name, case, channels_last, torch):
    n, c, height, width, o, kernel, options = case
    generator = np.random.default_rng(n)
    sizes = (n, c, height, width), (o, c // options.get("groups", 1), kernel, kernel), (o,)
    arrays = [
        dt.tensor(generator.standard_normal(s), dtype=getattr(dt, name)).double().numpy()
        for s in sizes
    ]

    def run(t, dtype, device):
        x, w, b = (t.tensor(a, dtype=dtype, device=device) for a in arrays)
        if channels_last:
            x = x.contiguous(memory_format=t.channels_last)
        for operand in (x, w, b):
            operand.requires_grad_()
        y = t.nn.functional.conv2d(x, w, b, **options)
        y.backward(t.ones_like(y))
        return [z.detach().cpu().double().numpy() for z in (y, x.grad, w.grad, b.grad)]

    epsilon, _ = SPACING[name]
    for got, right in zip(
        run(dt, getattr(dt, name), device), run(torch, torch.float64, "cpu"), strict=True
    ):
        largest = np.abs(right).max(initial=0)
        np.testing.assert_allclose(got, right, rtol=0, atol=2 * epsilon * largest)
