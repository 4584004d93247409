"""Kernels that load 16-bit floats in packets, at lengths and places that no packet fits, against PyTorch in float64."""

import itertools

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
in_both = pytest.mark.parametrize("name", ["float16", "bfloat16"])

# One rounding: half the distance of the numbers beside 1, relatively, and the distance of those beside 0.
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
    for length in LENGTHS if device == "cuda" else LENGTHS[:-4]:
        arrays = narrow_arrays(name, 5, length, dim, offset)
        ours = values_and_gradients(dt, OPS[op], arrays, getattr(dt, name), dim, offset, device)
        truth = values_and_gradients(torch, OPS[op], arrays, torch.float64, dim, offset, "cpu")
        assert len(ours) == len(truth)
        for k, (got, right) in enumerate(zip(ours, truth, strict=True)):
            size = np.abs(right)
            # Gradients are sums of what was rounded; gelu(x * v + x) is rounded in steps and cancels.
            steps = k > 0 or op == "affine"
            allowed = (4 if k else 2) * epsilon * size + 2.0**-16 * size.max() + least
            error = np.abs(got - right)
            assert (error <= allowed + steps * epsilon * size.max()).all(), (length, k)


# Of two matrices; a number stays a float beside them.
FORMULAS = {
    "add": lambda t, x, y: x + y,
    "add a multiple": lambda t, x, y: t.add(x, y, alpha=-0.5),
    "sub": lambda t, x, y: x - y,
    "mul": lambda t, x, y: x * y,
    "div": lambda t, x, y: x / y,
    "in place": lambda t, x, y: (x * 1).mul_(y),
    "a column": lambda t, x, y: y[:, :1] - x,
    "a row": lambda t, x, y: x / y[:1],
    "transposed": lambda t, x, y: x * y.t().reshape(x.shape),
    "one": lambda t, x, y: x * y[0, 0],
    "relu": lambda t, x, y: x.relu(),
    "tensor and number": lambda t, x, y: t.stack(
        [f for n in NUMBERS for f in (x + n, x - n, x * n, x / n)]
    ),
    "number and tensor": lambda t, x, y: t.stack(
        [f for n in NUMBERS for f in (n + x, n - x, n * x)]
    ),
    "number and column": lambda t, x, y: t.stack([n - x[:, :1].expand(x.shape) for n in NUMBERS]),
}
NUMBERS = [0.3, -2, 0.0, -0.0, 1e-9, 70_000, float("inf"), float("nan")]


def every_narrow(t, name):
    """Every number of the dtype, and all of them in another order."""
    bits = np.arange(2**16, dtype=np.uint16).view(np.int16)
    order = np.random.default_rng(0).permutation(2**16)
    return (t.tensor(b).view(getattr(t, name)) for b in (bits, bits[order]))


@in_both
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("columns", [1, 7, 8, 24, 257, 32_767, 2**16])
def test_formulas_calculate_in_floats(name, formula, columns, torch):
    op, count = FORMULAS[formula], 2**16 // columns * columns
    ours = op(dt, *(x[-count:].view(-1, columns) for x in every_narrow(dt, name)))
    truth = op(torch, *(x[-count:].view(-1, columns).float() for x in every_narrow(torch, name)))
    truth = truth.to(getattr(torch, name))
    assert ours.dtype is getattr(dt, name)
    np.testing.assert_array_equal(ours.float().numpy(), truth.float().numpy())
    zeros = (truth == 0).numpy()
    assert np.array_equal(ours.signbit().numpy()[zeros], truth.signbit().numpy()[zeros])


@in_both
@pytest.mark.parametrize("op", ["neg", "abs"])
def test_signs_of_every_narrow(name, op, torch):
    ours, theirs = (
        getattr(next(every_narrow(t, name)), op)().view(t.int16).numpy() for t in (dt, torch)
    )
    assert np.array_equal(ours, theirs)


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


# batch, rows, inner, columns: below, at and above the sizes of tiles and packets
PRODUCTS = list(
    itertools.product([1, 3], [1, 4, 12, 29, 250], [0, 1, 2, 31, 64, 515], [1, 4, 32, 47, 200])
)


def factor(random, sizes, layout):
    """A batch of matrices of random numbers; `layout` says how it lies in memory."""
    batch, rows, columns = sizes
    if layout == "transposed":
        return random(batch, columns, rows).mT
    if layout == "cut out":
        return random(batch, rows, columns + 3)[..., 1:-2]
    if layout == "shared":
        return random(1, rows, columns).expand(sizes)
    return random(*sizes)


def ours(x, device):
    """The same tensor, lying in memory alike."""
    if x.numel() == 0:
        return dt.zeros(*x.shape, dtype=getattr(dt, str(x.dtype)[6:]), device=device)
    base = dt.from_dlpack(x if x._base is None else x._base).to(device)
    return base.as_strided(x.shape, x.stride(), x.storage_offset())


@on_both
@in_both
@pytest.mark.parametrize("a_layout", ["dense", "transposed", "cut out"])
@pytest.mark.parametrize("b_layout", ["dense", "transposed", "cut out", "shared"])
def test_products(device, name, a_layout, b_layout, torch):
    epsilon, least = SPACING[name]
    generator = torch.Generator().manual_seed(0)

    def random(*sizes):
        return torch.randn(sizes, generator=generator).to(getattr(torch, name))

    for batch, rows, inner, columns in PRODUCTS[
        ["dense", "transposed", "cut out"].index(a_layout) :: 3
    ]:
        a = factor(random, (batch, rows, inner), a_layout)
        b = factor(random, (batch, inner, columns), b_layout)
        c = random(rows, columns)
        products, sizes = a.double() @ b.double(), a.double().abs() @ b.double().abs()
        got = [dt.matmul(ours(a, device), ours(b, device))]
        right, sums = [products], [sizes]
        if batch == 1:
            mine = [ours(x, device) for x in (c, a[0], b[0])]
            got.append(dt.addmm(*mine, beta=0.5, alpha=2))
            right.append(0.5 * c.double() + 2 * products[0])
            sums.append(c.double().abs() + 2 * sizes[0])
        for y, truth, size in zip(got, right, sums, strict=True):
            error = np.abs(y.cpu().double().numpy() - truth.numpy())
            allowed = (epsilon * truth.abs() + 2.0**-20 * size + least).numpy()
            assert (error <= allowed).all(), (batch, rows, inner, columns)


@in_both
@pytest.mark.parametrize("rows", [1, 3, 8, 9])
@pytest.mark.parametrize(
    ("columns", "inner"), [(1100, 515), (4500, 135), (8, 65_549), (5, 105_001)]
)
@pytest.mark.parametrize("flipped", [False, True])
def test_few_rows_of_a_layer(name, rows, columns, inner, flipped, torch):
    """Both operands go along k, as a layer's do, NaN around them, for any number of threads."""
    epsilon, least = SPACING[name]
    generator = torch.Generator().manual_seed(0)

    def inside(*sizes):
        whole = torch.full((sizes[0], sizes[1] + 5), torch.nan, dtype=getattr(torch, name))
        whole[:, 2:-3] = torch.randn(sizes, generator=generator)
        return whole, whole[:, 2:-3], ours(whole, "cpu")[:, 2:-3]

    (_, x, mine), (_, w, weight) = inside(rows, inner), inside(columns, inner)
    c = torch.randn(rows, columns, generator=generator).to(getattr(torch, name))
    bias = ours(c, "cpu")
    truth = 2 * (x.double() @ w.double().T) - c.double()
    size = 2 * (x.double().abs() @ w.double().abs().T) + c.double().abs()
    results = []
    before = dt.get_num_threads()
    for threads in (1, 2, 3):
        dt.set_num_threads(threads)
        y = (
            dt.addmm(bias.T, weight, mine.T, beta=-1, alpha=2).T
            if flipped
            else dt.addmm(bias, mine, weight.T, beta=-1, alpha=2)
        )
        results.append(y.double().numpy())
    dt.set_num_threads(before)
    assert all(np.array_equal(results[0], y) for y in results)
    error = np.abs(results[0] - truth.numpy())
    assert (error <= (epsilon * truth.abs() + 2.0**-20 * size + least).numpy()).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", ["gelu_tanh", "gelu", "softplus", "silu"])
def test_formulas_with_a_graph_are_rounded_once(torch, function, dtype):
    """The first two derivatives are those of float64 at the same numbers."""
    of = {"gelu_tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh")}
    call = of.get(function, lambda t, x: getattr(t.nn.functional, function)(x))
    numbers = [-400.0, -300.0, -40.0, -3.0, -0.5, 0.0, 1.0, 3.0, 40.0, 300.0, 400.0]

    def slopes(t, kind):
        x = t.tensor(numbers, dtype=getattr(t, kind), requires_grad=True)
        (first,) = t.autograd.grad(call(t, x).sum(), x, create_graph=True)
        (second,) = t.autograd.grad(first.sum(), x)
        return torch.tensor([first.tolist(), second.tolist()], dtype=torch.float64)

    eps = torch.finfo(getattr(torch, dtype)).eps
    torch.testing.assert_close(slopes(dt, dtype), slopes(torch, "float64"), rtol=eps, atol=1e-6)


PARTS = [
    ((700, 1000), 1),
    ((700, 1000), 0),
    ((3, 50, 1500), 2),
    ((3, 1500, 50), 1),
    ((1, 200_000), 1),
]


@in_both
@pytest.mark.parametrize(("shape", "dim"), PARTS)
def test_large_tensors_are_what_float32_says(name, shape, dim):
    """They go through float32 in parts of a size that depends on the threads; each op rounds once."""
    dtype = getattr(dt, name)
    x = dt.randn(shape, generator=dt.Generator().manual_seed(1)).to(dtype)
    g = x.flip(-1)
    ops = [lambda x: x.softmax(dim), lambda x: x.log_softmax(dim)]
    if dim == len(shape) - 1:
        weight = x.flatten()[: shape[-1]]

        def norm(x):
            return dt.nn.functional.layer_norm(
                x, shape[-1:], weight.to(x.dtype), weight.to(x.dtype)
            )

        ops.append(norm)
    transposed = x.transpose(0, 1).contiguous().transpose(0, 1)
    for op, at in itertools.product(ops, (x, transposed)):
        expected = op(at.float()).to(dtype)
        for threads in (1, 2, 3):
            before = dt.get_num_threads()
            dt.set_num_threads(threads)
            y = op(at)
            dt.set_num_threads(before)
            assert dt.equal(y, expected)
    for op in ops[:2]:
        leaf = x.detach().requires_grad_()
        op(leaf).backward(g)
        wide = x.float().requires_grad_()
        op(wide).backward(g.float())
        step = 2.0**-7 if name == "bfloat16" else 2.0**-10
        assert (leaf.grad.float() - wide.grad).abs().max() <= step * g.abs().max().float()
