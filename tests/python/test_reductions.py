"""Reductions over dimensions that do not lie together, and of integers narrower than what they are computed in."""

from __future__ import annotations

import dumbtorch as dt
import processors
import pytest

np = pytest.importorskip("numpy")

# Reduced are short runs that lie apart: the images of a channel, rows of a slice, a repeated axis.
SHAPES = [
    ((37, 3, 9), (0, 2)),
    ((5, 64, 7, 7), (0, 2, 3)),
    ((3, 4, 5, 6), (1, 3)),
    ((2, 3, 300), (0, 2)),
]
DTYPES = ["float32", "float64", "bfloat16", "int64", "int8", "uint8", "bool"]


def numbers(shape, kind: str, seed: int = 0):
    drawn = np.random.default_rng(seed).integers(0 if kind == "uint8" else -9, 10, shape)
    return drawn > 5 if kind == "bool" else drawn


def layouts(x):
    """The same elements, dense, and as every second one, with a gap behind each row, of a transposed tensor."""
    rows = dt.zeros(*x.shape[:-1], x.shape[-1] + 3, dtype=x.dtype)
    rows[..., 1:-2] = x
    steps = dt.zeros(*x.shape[:-1], x.shape[-1] * 2, dtype=x.dtype)
    steps[..., ::2] = x
    return x, rows[..., 1:-2], steps[..., ::2], x.transpose(0, 1).contiguous().transpose(0, 1)


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_outer_and_inner(shape, dims, kind):
    """Small integers, of which every sum is exact."""
    drawn = numbers(shape, kind)
    for x in layouts(dt.tensor(drawn).to(getattr(dt, kind))):
        for keepdim in (False, True):
            total = dt.sum(x, dims, keepdim=keepdim)
            expected = drawn.sum(dims, keepdims=keepdim)
            assert total.shape == expected.shape
            rounded = dt.tensor(expected).to(total.dtype)
            assert (total == rounded).all().item()
            for name, of_numpy in (
                ("amax", np.max),
                ("amin", np.min),
                ("any", np.any),
                ("all", np.all),
            ):
                best = getattr(dt, name)(x, dims, keepdim=keepdim)
                assert (
                    best.to(dt.float64).numpy() == of_numpy(drawn, dims, keepdims=keepdim)
                ).all()
        assert x.sum().item() == dt.tensor(drawn.sum()).to(x.sum().dtype).item()
    if kind in ("float32", "float64"):
        x = dt.tensor(drawn).to(getattr(dt, kind))
        np.testing.assert_allclose(x.mean(dims).numpy(), drawn.mean(dims), rtol=1e-6)
        norm = dt.linalg.vector_norm(x, dim=dims).numpy()
        np.testing.assert_allclose(norm, np.sqrt((drawn * drawn).sum(dims)), rtol=1e-6)


def test_same_bits_on_any_number_of_threads():
    x = dt.randn(64, 48, 17, 13)
    threads, found = dt.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            dt.set_num_threads(n)
            found.append(
                dt.cat([x.sum((0, 2, 3)), x[:, :, 1:, :5].sum((0, 2, 3)), x.mean((0, 3)).flatten()])
            )
    finally:
        dt.set_num_threads(threads)
    assert all(dt.equal(found[0], f) for f in found)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "bool"])
@pytest.mark.parametrize("n", [1, 3, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 1000, 5000])
def test_narrow_extrema(n, kind):
    """One extreme element at every place where vectors of some width begin or end."""
    low, high = (0, 1) if kind == "bool" else (np.iinfo(kind).min, np.iinfo(kind).max)
    at = {
        0,
        n - 1,
        n // 2,
        min(15, n - 1),
        min(16, n - 1),
        min(32, n - 1),
        min(63, n - 1),
        min(64, n - 1),
    }
    for place in sorted(at):
        for edge, rest in ((high, low), (low, high)):
            drawn = np.full((4, n), rest, kind)
            drawn[2, place] = edge
            x = dt.tensor(drawn)
            for layout in (x, x.T.contiguous().T):
                for name, of_numpy in (("amax", np.max), ("amin", np.min)):
                    for dim in (0, 1):
                        ours = getattr(dt, name)(layout, dim).numpy()
                        assert (ours == of_numpy(drawn, dim)).all(), (name, dim, place)
                    assert getattr(dt, name)(layout).item() == of_numpy(drawn)
                for dim in (0, 1):
                    assert (dt.any(layout, dim).numpy() == drawn.any(dim)).all()
                    assert (dt.all(layout, dim).numpy() == drawn.all(dim)).all()


def test_rows_of_squares():
    """Norms of short and long rows of doubles with a gap behind each."""
    for n in (3, 5, 40, 3000):
        drawn = np.random.default_rng(n).standard_normal((9, n + 3))
        ours = dt.linalg.vector_norm(dt.tensor(drawn)[:, 1:-2], dim=-1).numpy()
        np.testing.assert_allclose(ours, np.sqrt((drawn[:, 1:-2] ** 2).sum(-1)), rtol=1e-14)


@pytest.mark.parametrize("dtype, last", [("float32", 1e-6), ("float64", 1e-15)])
@pytest.mark.parametrize("n", [511, 512, 1023, 1024, 1025, 1033, 2047, 2048, 5000, 20000])
def test_a_long_row_has_one_sum(n, dtype, last):
    """Rows of 4 KB and more that are far away are added up four at a time: each as if alone, to the last bit."""
    drawn = np.random.default_rng(n).standard_normal((7, n + 1)).astype(dtype)
    x = dt.tensor(drawn)
    for rows, exact in ((x, drawn), (x[:, 1:], drawn[:, 1:])):
        sums = rows.sum(1)
        np.testing.assert_allclose(
            sums.numpy(), exact.astype("longdouble").sum(1).astype(dtype), rtol=0, atol=n * last
        )
        for few in (1, 2, 3, 5):
            assert rows[:few].sum(1).tolist() == sums[:few].tolist()
        assert [row.sum().item() for row in rows] == sums.tolist()
        assert (far_away(rows).sum(-1) == sums).all().item()


FAR_BYTES = 8 << 20  # what is larger is read in other orders


def far_away(x):
    """The same so many times that all of it does not fit into caches."""
    return x.repeat(FAR_BYTES // (x.numel() * x.element_size()) + 1, 1, 1)


@pytest.mark.parametrize("n", [1, 3, 9, 40, 130, 200, 700, 1030])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32"])
def test_columns_far_away_have_the_same_sums(n, dtype):
    drawn = np.random.default_rng(n).standard_normal((30000 // n + 5, n)) * 9
    x = dt.tensor(drawn).to(getattr(dt, dtype))
    exact = x.to(dt.float64).numpy().sum(0)
    bound = len(drawn) * 9 * {"float32": 1e-6, "float64": 1e-15, "bfloat16": 1e-2}.get(dtype, 0)
    np.testing.assert_allclose(x.sum(0).to(dt.float64).numpy(), exact, rtol=0, atol=bound)
    for reduce in (dt.sum, dt.amax, dt.amin, dt.prod):
        assert (reduce(far_away(x), 1) == reduce(x, 0)).all().item()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 100, 127, 128, 129, 256, 300])
def test_columns_of_narrow_rows(n, dtype):
    """They are taken several rows at a time, in whole lines where that is possible; the last ones fill no group."""
    for rows in (1, 5, 64, 1000, 4099):
        drawn = np.random.default_rng(n).standard_normal((rows, n)).astype(dtype)
        x = dt.tensor(drawn)
        exact = drawn.astype("longdouble").sum(0).astype(dtype)
        bound = {"float32": 1e-6, "float64": 1e-15}[dtype] * rows
        np.testing.assert_allclose(x.sum(0).numpy(), exact, rtol=0, atol=bound)
        assert (x.amax(0).numpy() == drawn.max(0)).all()
        assert (x.amin(0).numpy() == drawn.min(0)).all()
        drawn[rows // 2, n // 2], drawn[-1, 0] = np.nan, -np.inf
        x = dt.tensor(drawn)
        for name, of_numpy in (("sum", np.sum), ("amax", np.max), ("amin", np.min)):
            ours, right = getattr(dt, name)(x, 0).numpy(), of_numpy(drawn, 0)
            np.testing.assert_allclose(ours, right, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("n", [1, 3, 5, 8, 15, 16, 17, 40, 3000])
def test_sums_of_negative_zeros_are_zero(n, dtype):
    x = dt.full((17, n), -0.0, dtype=getattr(dt, dtype))
    for layout in (x, x.T.contiguous().T):
        for dim in (0, 1):
            for reduce in (dt.sum, dt.mean):
                assert not dt.signbit(reduce(layout, dim)).any().item()
    assert not dt.signbit(x.sum()).item()


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("p", [2.0, 2.5, 3.0, 4.0])
def test_gradients_of_norms_whose_powers_do_not_fit(p, size):
    """They are those of a row of ordinary size."""
    row = [0.0, 3.0, -4.0]
    x = dt.tensor([e * size for e in row], requires_grad=True)
    (slope,) = dt.autograd.grad(dt.linalg.vector_norm(x, p), x)
    norm = sum(abs(e) ** p for e in row) ** (1 / p)
    exact = [np.sign(e) * (abs(e) / norm) ** (p - 1) for e in row]
    assert np.allclose(slope.tolist(), exact, rtol=1e-5)


@processors.others("v2", "v3")
def test_other_instructions(isa):
    assert " passed" in processors.run_tests(
        isa, __file__, "narrow_rows or negative_zeros or long_row"
    )
