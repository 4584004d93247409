"""Shapes large enough for the kernels' fast paths, against PyTorch: the rows in ops/ are small."""

import dumbtorch as dt
import pytest

DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool")


def pair(torch, dtype, *shape):
    """The same numbers in both libraries."""
    x = torch.randint(0, 100, shape) - 50
    x = x.abs() if dtype == "uint8" else x > 0 if dtype == "bool" else x
    x = x.to(getattr(torch, dtype))
    return dt.from_numpy(x.numpy().copy()), x


def indices(torch, below, *shape):
    i = torch.randint(0, below, shape)
    return dt.from_numpy(i.numpy().copy()), i


def equal(torch, ours, theirs):
    return torch.equal(torch.from_numpy(ours.numpy().copy()), theirs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", (1, 2, 3, 4, 5, 8, 15, 16, 17, 33))
def test_broadcast_of_one_element_per_short_row(torch, dtype, columns):
    rows = 1000
    for step in (1, 3):  # the column is dense, or strided
        x, xt = pair(torch, dtype, rows, columns)
        y, yt = pair(torch, dtype, rows, step)
        assert equal(torch, dt.where(x > 0, x, y[:, :1]), torch.where(xt > 0, xt, yt[:, :1]))
        if dtype != "bool":
            assert equal(torch, x + y[:, :1], xt + yt[:, :1])


@pytest.mark.parametrize("columns", (1, 3, 10, 31, 40))
def test_broadcast_of_a_short_row(torch, columns):
    x, xt = pair(torch, "float32", 3000, columns)
    y, yt = pair(torch, "float32", columns)
    assert equal(torch, x * y, xt * yt)
    assert equal(torch, y - x, yt - xt)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", (1, 2, 3, 4, 7, 16, 17, 100, 1025))
def test_selected_rows_of_any_length(torch, dtype, columns):
    x, xt = pair(torch, dtype, 50, columns)
    i, it = indices(torch, 50, 3000)
    assert equal(torch, dt.index_select(x, 0, i), torch.index_select(xt, 0, it))
    assert equal(torch, x[i - 50], xt[it - 50])
    assert equal(torch, dt.index_select(x.t(), 1, i), torch.index_select(xt.t(), 1, it))
    wide, wide_t = i.reshape(-1, 1).expand(3000, columns), it.reshape(-1, 1).expand(3000, columns)
    assert equal(torch, dt.gather(x, 0, wide), torch.gather(xt, 0, wide_t))
    y, yt = pair(torch, dtype, 3000, columns)
    if dtype != "bool":
        x.index_add_(0, i, y)
        xt.index_add_(0, it, yt)
        assert equal(torch, x, xt)


def test_selected_columns(torch):
    x, xt = pair(torch, "float32", 300, 5000)
    for n in (3, 700, 5000):
        i, it = indices(torch, 5000, n)
        assert equal(torch, dt.index_select(x, 1, i), torch.index_select(xt, 1, it))
    i, it = indices(torch, 5000, 300, 1)
    assert equal(torch, dt.gather(x, 1, i), torch.gather(xt, 1, it))


def test_two_indices_of_which_one_moves_with_the_rows(torch):
    x, xt = pair(torch, "float32", 40, 50, 6)
    i, it = indices(torch, 40, 700, 1)
    j, jt = indices(torch, 50, 30)
    assert equal(torch, x[i, j], xt[it, jt])
    assert equal(torch, x[:, j, 2:5], xt[:, jt, 2:5])


@pytest.mark.parametrize("rows", (1, 3, 4, 6, 9))
@pytest.mark.parametrize("columns", (1, 5, 512, 513, 1300))
def test_cumsum_of_several_rows(torch, rows, columns):
    for dtype in ("float32", "float64", "int64", "uint8"):
        x, xt = pair(torch, dtype, rows, columns)
        assert equal(torch, dt.cumsum(x, 1), torch.cumsum(xt, 1))


@pytest.mark.parametrize("columns", (2, 7, 16, 17, 28, 32, 33, 100, 2048, 2049))
def test_reductions_of_dense_rows(torch, columns):
    for dtype in ("float32", "float64", "int64"):
        x, xt = pair(torch, dtype, 131, columns)
        assert equal(torch, x.sum(1), xt.sum(1))
        assert equal(torch, dt.amax(x, 1), torch.amax(xt, 1))
        assert equal(torch, x.t().sum(0), xt.t().sum(0))
    x, xt = pair(torch, "float32", 131, columns)
    torch.testing.assert_close(torch.from_numpy(x.norm(dim=1).numpy()), xt.norm(dim=1))


def test_flip_of_long_rows(torch):
    for dtype in DTYPES:
        x, xt = pair(torch, dtype, 30, 100)
        assert equal(torch, dt.flip(x, [1]), torch.flip(xt, [1]))
        assert equal(torch, dt.flip(x, [0, 1]), torch.flip(xt, [0, 1]))


@pytest.mark.parametrize("exponent", (3, -1, -0.5))
def test_powers_that_are_cheaper_ops(torch, exponent):
    x = torch.rand(1000) + 0.1
    x[0], x[1] = 0.0, float("inf")
    ours, theirs = dt.from_numpy(x.numpy().copy()).requires_grad_(), x.clone().requires_grad_()
    y, yt = ours**exponent, theirs**exponent
    assert equal(torch, y.detach(), yt.detach())
    y.sum().backward()
    yt.sum().backward()
    torch.testing.assert_close(
        torch.from_numpy(ours.grad.numpy().copy()), theirs.grad, equal_nan=True
    )


def test_power_of_every_kind_of_base_and_scalar_exponent(torch):
    nan, inf = float("nan"), float("inf")
    base = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.3, -0.3, inf, -inf, nan] * 3)
    for exponent in (0.0, 1.0, 4.0, 5.0, -3.0, -4.0, 2.5, -1.5, inf, -inf, nan):
        for dtype in (torch.float32, torch.float64):
            x = base.to(dtype)
            ours = torch.from_numpy((dt.from_numpy(x.numpy().copy()) ** exponent).numpy().copy())
            theirs = x**exponent
            torch.testing.assert_close(ours, theirs, equal_nan=True)
            known = ~theirs.isnan()
            assert torch.equal(torch.signbit(ours[known]), torch.signbit(theirs[known]))


def test_bounds_keep_nan(torch):
    nan = float("nan")
    x = torch.tensor([nan, -3.0, 0.5, 3.0, -0.0, 0.0] * 20)
    ours = dt.from_numpy(x.numpy().copy())
    for low, high in ((-1.0, 1.0), (1.0, -1.0), (nan, 1.0), (-1.0, nan)):
        y = torch.from_numpy(dt.clamp(ours, low, high).numpy().copy())
        torch.testing.assert_close(y, torch.clamp(x, low, high), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("name", ("tanh", "sin", "erf", "expm1"))
def test_odd_functions_keep_the_sign_of_zero(torch, name):
    if not hasattr(dt, name):
        pytest.skip(f"there is no {name}")
    y = getattr(dt, name)(dt.from_numpy(torch.full((40,), -0.0).numpy()))
    assert bool(torch.signbit(torch.from_numpy(y.numpy().copy())).all())


def test_results_that_are_written_past_the_caches(torch):
    x = torch.rand(8200, 1032) - 0.5
    ours = dt.from_numpy(x.numpy())
    for cut, cut_t in ((ours, x), (ours[3:, 1:], x[3:, 1:]), (ours.t(), x.t())):
        assert equal(torch, cut * 2, cut_t * 2)
        assert equal(torch, cut + cut, cut_t + cut_t)
        assert equal(torch, dt.relu(cut), torch.relu(cut_t))
        assert equal(torch, cut - cut[:, :1], cut_t - cut_t[:, :1])
    assert equal(torch, ours.to(dt.float64), x.to(torch.float64))
    y, yt = ours.clone(), x.clone()
    assert equal(torch, y.mul_(3).add_(ours), yt.mul_(3).add_(x))


def results(t, x, f, *parameters):
    """f(x, *parameters) and all gradients, in float64."""
    operands = [t.tensor(v.tolist(), dtype=t.float64).requires_grad_() for v in (x, *parameters)]
    y = f(t, *operands)
    weights = t.arange(y.numel(), dtype=t.float64).reshape(y.shape).cos()
    return [y.detach(), *t.autograd.grad(y, operands, weights)]


def agree(torch, f, x, *parameters):
    ours, theirs = (results(t, x, f, *parameters) for t in (dt, torch))
    for y, z in zip(ours, theirs, strict=True):
        torch.testing.assert_close(torch.from_numpy(y.numpy().copy()), z)


# Groups that are finished one by one, and few large ones that are cut into pieces.
@pytest.mark.parametrize(
    ("shape", "groups"),
    [((3, 12, 7, 9), 4), ((2, 5, 2100), 5), ((1, 4, 30011), 1), ((2, 3, 171, 173), 3)],
)
def test_groups_of_channels(torch, shape, groups):
    x = torch.randn(shape, dtype=torch.float64) + 3
    agree(
        torch,
        lambda t, x, w, b: t.nn.functional.group_norm(x, groups, w, b),
        *(x, torch.randn(shape[1]), torch.randn(shape[1])),
    )


# Channels side by side, 16 or 4 at a time, and where an image has more elements than places, not.
@pytest.mark.parametrize("mode", ("bilinear", "nearest", "bicubic"))
@pytest.mark.parametrize("padding", ("zeros", "border", "reflection"))
@pytest.mark.parametrize(
    ("shape", "places"),
    [((2, 37, 9, 8), (11, 13)), ((1, 3, 12, 5), (9, 17)), ((2, 6, 40, 31), (3, 5))],
)
def test_places_of_a_grid(torch, shape, places, padding, mode):
    grid = torch.rand(shape[0], *places, 2, dtype=torch.float64) * 2.6 - 1.3
    how = {"mode": mode, "padding_mode": padding, "align_corners": False}
    agree(
        torch,
        lambda t, x, g: t.nn.functional.grid_sample(x, g, **how),
        *(torch.randn(shape, dtype=torch.float64), grid),
    )


# Rows long enough for vectors of every second element, in images that are dense or channels-last.
@pytest.mark.parametrize("channels_last", (False, True))
@pytest.mark.parametrize("groups", (1, 2, 4))
@pytest.mark.parametrize("width", (9, 16, 27))
def test_every_second_column(torch, width, groups, channels_last):
    def run(t, x, w):
        if channels_last:
            x = x.contiguous(memory_format=t.channels_last)
        return t.nn.functional.conv_transpose2d(x, w, None, 2, 1, groups=groups)

    x = torch.randn(2, 4, 5, width, dtype=torch.float64)
    agree(torch, run, x, torch.randn(4, 3, 4, 4))
