"""Kernels that read and write 16-bit floats as they are: windows, resampling, grids, sums through
indices, sorts and searches.

The truth is PyTorch in float64, rounded once.
"""

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")

IMAGES = [(2, 3, 8, 8), (1, 8, 7, 9), (2, 16, 12, 10), (3, 24, 5, 6), (1, 5, 33, 31)]
WINDOWS = [
    (2, {}),
    (3, {"stride": 2, "padding": 1}),
    (3, {"stride": 1, "padding": 1}),
    ((2, 4), {"stride": (1, 3)}),
]
SIZES = [{"scale_factor": 2}, {"size": (11, 5)}]
needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)


@pytest.fixture(autouse=True, params=["cpu", pytest.param("cuda", marks=needs_gpu)])
def device(request):
    """Where all of dumbtorch's tensors are."""
    dt.set_default_device(request.param)
    yield request.param
    dt.set_default_device("cpu")


def given(dtype, *shape):
    """The same numbers for both libraries: ours in the dtype, PyTorch's in float64. Many are equal."""
    torch.manual_seed(len(shape) + shape[-1])
    x = (torch.randn(shape, dtype=torch.float64) * 8).round() / 4
    return dt.tensor(x.tolist(), dtype=getattr(dt, dtype)), x


def rounded(x, dtype):
    return x.to(getattr(torch, dtype)).double().tolist()


def compare(function, ours, theirs, dtype):
    """Results, and gradients by a slope of few bits, so that sums in float32 are exact."""
    ours.requires_grad_()
    theirs.requires_grad_()
    got, want = function(dt, ours), function(torch, theirs)
    assert str(got.dtype) == f"torch.{dtype}"
    assert got.double().tolist() == rounded(want, dtype)
    slope = ((torch.arange(want.numel(), dtype=torch.float64) % 7) - 3).reshape(want.shape)
    want.backward(slope)
    got.backward(dt.tensor(slope.tolist(), dtype=getattr(dt, dtype)))
    assert ours.grad.dtype == ours.dtype
    return ours.grad.double().tolist(), rounded(theirs.grad, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("last", [False, True], ids=["planes", "channels_last"])
@pytest.mark.parametrize("shape", IMAGES, ids=str)
@pytest.mark.parametrize(("kernel", "options"), WINDOWS, ids=str)
def test_windows(kernel, options, shape, last, dtype):
    exact = {} if kernel == 2 else {"divisor_override": 8}  # a power of two, as 2 * 2 is
    for name, settings in (("max_pool2d", options), ("avg_pool2d", {**options, **exact})):
        ours, theirs = given(dtype, *shape)
        if last:
            ours = ours.contiguous(memory_format=dt.channels_last)

        def pool(t, x, name=name, settings=settings):
            return getattr(t.nn.functional, name)(x, kernel, **settings)

        got, want = compare(pool, ours, theirs, dtype)
        assert got == want


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_windows_that_hold_nan(dtype):
    ours, theirs = given(dtype, 1, 2, 6, 6)
    ours[0, 0, 3, 3] = theirs[0, 0, 3, 3] = float("nan")
    ours[0, 1, 0, 0] = theirs[0, 1, 0, 0] = float("inf")
    got, want = (
        t.nn.functional.max_pool2d(x, 2, return_indices=True)
        for t, x in ((dt, ours), (torch, theirs))
    )
    assert got[1].tolist() == want[1].tolist()
    assert str(got[0].double().tolist()) == str(want[0].tolist())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_resizing(mode, size, dtype):
    for shape in IMAGES:
        ours, theirs = given(dtype, *shape)
        got = dt.nn.functional.interpolate(ours, **size, mode=mode)
        want = torch.nn.functional.interpolate(theirs, **size, mode=mode)
        near = dt.tensor(want.tolist(), dtype=dt.float64)
        unit = 2.0**-11 if dtype == "float16" else 2.0**-8
        assert got.dtype == ours.dtype
        assert ((got.double() - near).abs() <= near.abs() * unit + 2e-6).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_grids(mode, padding, dtype):
    for shape in IMAGES:
        ours, theirs = given(dtype, *shape)
        torch.manual_seed(1)
        grid = ((torch.rand(shape[0], 6, 5, 2, dtype=torch.float64) * 2.4 - 1.2) * 64).round() / 64
        options = {"mode": mode, "padding_mode": padding, "align_corners": True}
        want = torch.nn.functional.grid_sample(theirs, grid, **options)
        got = dt.nn.functional.grid_sample(
            ours, dt.tensor(grid.tolist(), dtype=ours.dtype), **options
        )
        near = dt.tensor(want.tolist(), dtype=dt.float64)
        unit = 2.0**-11 if dtype == "float16" else 2.0**-8
        assert got.dtype == ours.dtype
        assert ((got.double() - near).abs() <= near.abs() * unit + 1e-5).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "shape", [(7,), (3, 40), (5, 1000), (2, 5000), (6, 5000), (20_000,)], ids=str
)
def test_sorts(shape, dtype):
    ours, theirs = given(dtype, *shape)
    ours.view(-1)[2:5] = dt.tensor([-0.0, float("nan"), float("inf")], dtype=ours.dtype)
    theirs.view(-1)[2:5] = torch.tensor([-0.0, float("nan"), float("inf")])
    for descending in (False, True):
        got = ours.sort(dim=-1, descending=descending, stable=True)
        want = theirs.sort(dim=-1, descending=descending, stable=True)
        assert got[1].tolist() == want[1].tolist()
        assert str(got[0].double().tolist()) == str(want[0].tolist())
    numbers = theirs.nan_to_num(0.5, 30.0)
    got = dt.tensor(numbers.tolist(), dtype=ours.dtype)
    assert got.median(-1)[0].double().tolist() == numbers.median(-1)[0].tolist()
    assert got.kthvalue(3)[0].double().tolist() == numbers.kthvalue(3)[0].tolist()
    line, values = numbers.reshape(-1).sort()[0], theirs.reshape(-1)
    for right in (False, True):
        places = dt.searchsorted(
            dt.tensor(line.tolist(), dtype=ours.dtype), ours.reshape(-1), right=right
        )
        assert places.tolist() == torch.searchsorted(line, values, right=right).tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape, dim", [((9,), 0), ((5, 7), 0), ((4, 6), -1), ((3, 900, 2), 1)])
@pytest.mark.parametrize("count", [1, 40, 800])
def test_slices_that_meet(shape, dim, count, dtype, device):
    if device == "cuda" and count == 800:
        pytest.skip("sums of many slices are rounded more than once on a GPU")
    ours, theirs = given(dtype, *shape)
    many = list(shape)
    many[dim] = count
    slices = given(dtype, *many[::-1])
    slices = [s.permute(*range(len(shape) - 1, -1, -1)) for s in slices]
    index = torch.arange(count) ** 2 % min(shape[dim], 7)
    for alpha in (1, 0.5):
        want = theirs.index_add(dim, index, slices[1], alpha=alpha)
        got = ours.index_add(dim, dt.tensor(index.tolist()), slices[0], alpha=alpha)
        assert got.double().tolist() == rounded(want, dtype)
    place = dt.zeros(*shape, 2, dtype=ours.dtype)[..., 1].copy_(ours)  # with gaps
    place.index_add_(dim, dt.tensor(index.tolist()), slices[0], alpha=0.5)
    assert place.double().tolist() == got.double().tolist() and place._version == 2
    for wrong in (-1, shape[dim]):
        index[count // 2] = wrong
        with pytest.raises(
            IndexError, match=f"^(synchronize: )?index_add_?: index {wrong} is out of bounds"
        ):
            place.index_add_(dim, dt.tensor(index.tolist()), slices[0])
            dt.cuda.synchronize()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n", [5, 4096, 100_003])
def test_draws(n, dtype):
    """The numbers are float32's, and are rounded once."""
    narrow = getattr(dt, dtype)
    x = dt.arange(n, dtype=dt.float32) % 251
    draws = {
        "dropout": lambda x: dt.nn.functional.dropout(x, 0.3),
        "bernoulli": lambda x: dt.bernoulli(x / 256),
        "rand": lambda x: dt.rand_like(x),
        "normal": lambda x: dt.empty_like(x).normal_(1, 3),
        "exponential": lambda x: dt.empty_like(x).exponential_(),
        "shifted": lambda x: dt.empty(n + 1, dtype=x.dtype)[1:].normal_(),
    }
    for name, draw in draws.items():
        found = []
        for given in (x, x.to(narrow)):
            dt.manual_seed(3)
            found.append(draw(given))
        want = torch.tensor(found[0].tolist(), dtype=torch.float64).to(getattr(torch, dtype))
        if name == "rand":  # which is below 1
            want[want == 1] = 0
        assert found[1].dtype == narrow, name
        assert found[1].double().tolist() == want.double().tolist(), name


def test_bernoulli_counts_half_a_step():
    """A number that is rounded to 16 bits before it is compared lies below p by half a step too seldom."""
    p, n = 231 / 256, 1 << 20
    dt.manual_seed(1)
    share = dt.bernoulli(dt.full((n,), p, dtype=dt.bfloat16)).float().mean().item()
    assert abs(share - p) < 5 * (p * (1 - p) / n) ** 0.5 < 2.0**-9


FORMULAS = {
    "hardswish": lambda t, x, y, z: t.nn.functional.hardswish(x),
    "clamp": lambda t, x, y, z: x.clamp(-1.75, 0.5),
    "clamp by tensors": lambda t, x, y, z: t.clamp(x, y, z),
    "relu6": lambda t, x, y, z: t.nn.functional.relu6(x),
    "lerp": lambda t, x, y, z: t.lerp(x, y, 0.25),
    "lerp from the end": lambda t, x, y, z: t.lerp(x, y, 0.75),
    "lerp by tensors": lambda t, x, y, z: t.lerp(x, y, (z > 0).to(z.dtype) * 0.5),
    "addcmul": lambda t, x, y, z: t.addcmul(x, y, z, value=0.5),
    "norm": lambda t, x, y, z: t.linalg.vector_norm(x, dim=-1),
    "norm of columns": lambda t, x, y, z: t.linalg.vector_norm(x, dim=0),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 7), (2, 8), (9, 12), (5, 17), (2, 777), (1, 4099), (3, 11)], ids=str
)
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name, shape, dtype):
    """Of what is dense, of every second column, of rows turned round, and of one row for all."""
    rows, n = shape
    ours, theirs = given(dtype, 3, rows, 2 * n)
    for layout in (
        lambda x: x[..., :n].clone(),
        lambda x: x[..., ::2],
        lambda x: x.transpose(1, 2),
        lambda x: x[:, :1, :n].expand(3, rows, n),
    ):
        got, want = (FORMULAS[name](t, *layout(x)) for t, x in ((dt, ours), (torch, theirs)))
        assert got.double().tolist() == rounded(want, dtype)
