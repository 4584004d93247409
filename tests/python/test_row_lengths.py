"""What goes along rows, at lengths that no vector fits and in groups of rows that none does, dense and as slices that
start anywhere, against PyTorch in float64."""

import dumbtorch as dt
import numpy as np
import pytest

LENGTHS = [*range(1, 10), 15, 16, 17, 31, 32, 33, 64, 65, 128, 129, 257, 1023, 1025, 2049, 4100, 18437]  # fmt: skip
ROWS = [1, 7, 19, 70]
SUMS = "sum", "sum of columns", "cumsum"  # their errors are measured by what is added up
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}

# Of a matrix, along its rows. Values and, where there is one, the gradient by the matrix.
OPS = {
    "sum": lambda t, x: x.sum(1),
    "mean": lambda t, x: x.mean(1),
    "amax": lambda t, x: x.amax(1),
    "max": lambda t, x: x.max(1)[0],
    "var": lambda t, x: x.var(1, correction=0),
    "norm": lambda t, x: (x + 3).norm(dim=1),
    "sum of columns": lambda t, x: x.t().sum(0),
    "cumsum": lambda t, x: x.cumsum(1),
    "softmax": lambda t, x: t.softmax(x, 1),
    "log_softmax": lambda t, x: t.log_softmax(x, 1),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(
        x, x.shape[1:], t.linspace(1, 2, x.shape[1], dtype=x.dtype), eps=0.5
    ),
    "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, x.shape[1:], eps=0.5),
}


def value_and_gradient(t, op, array, dtype, offset, length):
    x = t.tensor(array, dtype=dtype)[:, offset : offset + length].detach().requires_grad_()
    y = op(t, x)
    weight = t.arange(y.numel(), dtype=dtype).reshape(y.shape) % 5 - 2
    return [r.detach().double().numpy() for r in (y, *t.autograd.grad((y * weight).sum(), x))]


@pytest.mark.parametrize("name", EPSILON)
@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("op", OPS)
def test_rows(op, name, offset, torch):
    for length in LENGTHS:
        whole = np.random.default_rng(length).standard_normal((ROWS[-1], length + 2 * offset))
        for rows in ROWS if length < 300 else ROWS[:2]:
            array = whole[:rows].astype(name)
            ours = value_and_gradient(dt, OPS[op], array, getattr(dt, name), offset, length)
            truth = value_and_gradient(torch, OPS[op], array, torch.float64, offset, length)
            for got, right in zip(ours, truth, strict=True):
                size = 1 + np.abs(right).max() + (np.abs(array).sum(1).max() if op in SUMS else 0)
                allowed = EPSILON[name] * (16 + length**0.5) * size
                assert np.abs(got - right).max() <= allowed, (rows, length)


@pytest.mark.parametrize(
    "op", ["sum", "amax", "max", "cumsum", "softmax", "log_softmax", "layer_norm"]
)
def test_nan_stays_in_its_row(op, torch):
    """At any place of a row, and beside the lanes that a short row leaves empty."""
    for length in (1, 2, 5, 9, 33, 300):
        array = np.random.default_rng(length).standard_normal((40, length)).astype(np.float32)
        for row in range(0, 40, 3):
            array[row, row % length] = np.nan
        ours, right = (OPS[op](t, t.tensor(array)).numpy() for t in (dt, torch))
        assert np.array_equal(np.isnan(ours), np.isnan(right)), length


@pytest.mark.parametrize("name", ["int8", "int32", "int64", "bool"])
def test_integers(name, torch):
    for length in LENGTHS[:-5]:
        array = np.random.default_rng(length).integers(0, 100, (70, length + 1)).astype(name)
        for f in (
            lambda x: x.sum(1),
            lambda x: x.any(1),
            lambda x: x.cumsum(1),
            lambda x: x.amax(1),
        ):
            ours, right = (f(t.tensor(array)[:, 1:]).numpy() for t in (dt, torch))
            assert np.array_equal(ours, right), length


COLUMNS = {
    "sum": lambda t, x: x.sum(0),
    "prod": lambda t, x: x.prod(0),
    "amax": lambda t, x: x.amax(0),
    "amin": lambda t, x: x.amin(0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("op", COLUMNS)
def test_few_rows_of_any_width(op, dtype, torch):
    """NaN and infinities among them; integers are exact."""
    for rows in (1, 2, 3, 4, 5, 7, 8, 9, 17):
        for width in (*range(33, 42), 63, 64, 65, 257):
            array = np.random.default_rng(width).integers(-3, 4, (rows, width)).astype(dtype)
            if dtype.startswith("float"):
                array[rows // 2, ::7] = np.nan
                array[rows - 1, ::5] = np.inf
            ours, right = (COLUMNS[op](t, t.tensor(array)).numpy() for t in (dt, torch))
            np.testing.assert_array_equal(ours, right)


SCANS = "cumsum", "cumprod", "logcumsumexp"
LINES = (
    ((200_001,), 0),
    ((2, 131_075), 1),
    ((3, 5, 70), 1),
    ((9, 31), 1),
    ((9, 32), 1),
    ((5, 1030), 1),
    ((700, 2), 0),
    ((3, 301, 3), 1),
    ((301, 6), 0),
)
NEAR = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-12}


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("scan", SCANS)
def test_scans_of_long_and_short_lines(scan, dtype, torch):
    """Lines that are cut, that lie beside each other, and with gaps."""
    for sizes, dim in LINES:
        array = np.random.default_rng(3).standard_normal(sizes)
        if scan == "cumprod":
            array = 1 + array / 1000
        views = (
            lambda x: x,
            lambda x: x.transpose(0, -1),
            lambda x: x[..., ::2],
            lambda x: x[..., 1:],
        )
        for view in views:
            ours, theirs = (view(t.tensor(array, dtype=getattr(t, dtype))) for t in (dt, torch))
            got = getattr(ours, scan)(dim).double().numpy()
            right = getattr(theirs.double(), scan)(dim).numpy()
            sums = 0 if scan == "cumprod" else NEAR[dtype] * np.abs(right).max()
            np.testing.assert_allclose(got, right, rtol=NEAR[dtype], atol=sums)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_sums_of_what_lies_far_apart(dtype, torch):
    rng = np.random.default_rng(5)
    far = rng.uniform(-2000, 2000, 300)
    holes = np.where(rng.random(300) < 0.3, -np.inf, far / 100)
    late = np.concatenate([np.full(70, -np.inf), far])
    infinite, undefined = far.copy(), far.copy()
    infinite[100], undefined[90] = np.inf, np.nan
    for array in (
        far,
        holes,
        late,
        infinite,
        undefined,
        -far * 1e30,
        np.sort(far),
        np.sort(far)[::-1].copy(),
    ):
        x = array.astype(dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            right = np.logaddexp.accumulate(x.astype(np.float64))
        for sizes in ((-1,), (2, -1), (-1, 2)):
            if len(sizes) == 2:
                pair, along = np.stack([x, x], sizes.index(-1) ^ 1), sizes.index(-1)
            else:
                pair, along = x, 0
            got = dt.tensor(pair).logcumsumexp(along).numpy()
            right_pair = right if len(sizes) == 1 else np.stack([right, right], along ^ 1)
            np.testing.assert_allclose(
                got, right_pair.astype(dtype), rtol=1e-6 if dtype == "float32" else 1e-13
            )


def test_every_half_and_what_rounds_to_it(torch):
    """As many elements as fill vectors and some more, dense and with gaps; NaN is NaN."""
    halves = torch.arange(1 << 16).to(torch.int32).to(torch.int16).view(torch.float16)
    whole = halves.float()
    between = torch.nextafter(whole, whole.sign() * torch.inf)
    for x in (whole, between, (whole + halves.roll(1).float()) / 2, whole * 1.0001):
        ours = dt.tensor(x.numpy()).half()
        assert np.array_equal(ours.float().numpy(), x.half().float().numpy(), equal_nan=True)
        assert np.array_equal(
            ours[3:].float().numpy(), x[3:].half().float().numpy(), equal_nan=True
        )
    ours = dt.tensor(halves.numpy())
    assert np.array_equal(ours.float().numpy(), whole.numpy(), equal_nan=True)
    assert np.array_equal(ours.neg().float().numpy(), -whole.numpy(), equal_nan=True)


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "bool"])
def test_bytes(name, torch):
    array = (
        np.random.default_rng(1).integers(0, 2 if name == "bool" else 100, (7, 301)).astype(name)
    )
    for f in (
        lambda x: x * x,
        lambda x: x[:, 1:] * x[:, :-1],
        lambda x: x.float().to(x.dtype),
        lambda x: x.t() * x.t(),
    ):
        ours, right = (f(t.tensor(array)).numpy() for t in (dt, torch))
        assert np.array_equal(ours, right)


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "int16"])
def test_sorted_rows(name):
    """Few elements are merged, many counted; equal ones keep their order."""
    for length in LENGTHS:
        for most in (3, 1000, 30000):
            array = np.random.default_rng(length).integers(-most, most, (3, length)).astype(name)
            x, right = dt.tensor(array), np.sort(array, axis=1)
            values, indices = dt.sort(x, dim=1, stable=True)
            assert (values.numpy() == right).all()
            order = np.argsort(array, axis=1, kind="stable")
            assert (indices.numpy() == order).all(), (length, most)
            falling = dt.sort(x, dim=1, stable=True, descending=True)[0]
            assert (falling.numpy() == right[:, ::-1]).all()
            assert (dt.median(x, 1)[0].numpy() == right[:, (length - 1) // 2]).all()


@pytest.mark.parametrize("name", ["float32", "int64"])
def test_sorts_beyond_the_caches(name):
    """Keys that spread over their range, crowd at few places, or are all the same."""
    generator = np.random.default_rng(7)
    n = 150_001
    crowds = generator.integers(0, 3, n) * 1e6 + generator.integers(0, 50, n)
    for array in (generator.standard_normal(n) * 1e5, crowds, np.arange(n) // 70_000, np.ones(n)):
        array = array.astype(name)
        values, indices = dt.sort(dt.tensor(array), stable=True)
        assert (values.numpy() == np.sort(array)).all()
        assert (indices.numpy() == np.argsort(array, kind="stable")).all()
        assert (dt.sort(dt.tensor(array), descending=True)[0].numpy() == values.numpy()[::-1]).all()


@pytest.mark.parametrize("sizes", [(3000, 1), (900, 3), (40, 3, 19), (2, 1, 3, 700), (5, 2049)])
def test_places_in_short_rows(sizes):
    """Dense, with gaps, and in another order than that of the memory."""
    generator = np.random.default_rng(11)
    for share in (0.02, 0.5, 1.0):
        whole = generator.random((*sizes[:-1], sizes[-1] + 2)) < share
        views = lambda x: x, lambda x: x[..., 1:-1], lambda x: x.transpose(0, -1)
        for ours in (view(dt.tensor(whole)) for view in views):
            mask = ours.numpy()
            right = np.stack(np.nonzero(mask), 1)
            assert (ours.nonzero().numpy() == right).all()
            filled = np.zeros(mask.shape, np.float32)
            filled[mask] = np.arange(1, len(right) + 1)
            source = dt.arange(1, mask.size + 1, dtype=dt.float32)
            assert (dt.zeros(mask.shape).masked_scatter(ours, source).numpy() == filled).all()
