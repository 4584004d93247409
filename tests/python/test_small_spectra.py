"""Eigenvalues and singular values of small matrices, of which a GPU solves many at a time: sizes about those at which a
row of registers ends, and matrices whose spectra repeat or vanish. The truth is NumPy, and what factors must be."""

import dumbtorch as dt
import numpy as np
import pytest

needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)
on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
SIZES = [1, 2, 3, 7, 8, 9, 16, 17, 24, 25, 31, 32, 33]
BOUND = {"float64": 1e-13, "float32": 5e-6}


def matrices(kind, batch, rows, cols):
    random = np.random.default_rng(rows + 100 * cols)
    x = random.standard_normal((batch, rows, cols))
    return {
        "drawn": x,
        "of rank 1": x[:, :, :1] @ random.standard_normal((batch, 1, cols)),
        "ones": np.ones_like(x),
        "zeros": np.zeros_like(x),
        "diagonal": np.eye(rows, cols) * (1 + np.arange(cols)) + 0 * x,
        "graded": x * 10.0 ** -np.arange(cols),
        "graded both ways": x
        * np.outer(10.0 ** (-15 * np.arange(rows)), 10.0 ** (-15 * np.arange(cols))),
        "huge": x * 1e30,
    }[kind]


KINDS = ["drawn", "of rank 1", "ones", "zeros", "diagonal", "graded", "graded both ways", "huge"]


def parts(tensors):
    return [x.cpu().numpy().astype(np.float64) for x in tensors]


def check(pairs, bound):
    for found, expected, scale in pairs:
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound * scale)


def turned(x):
    return np.swapaxes(x, -1, -2)


@on_both
@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors(n, kind, dtype, device):
    x = matrices(kind, 5, n, n)
    x = ((x + turned(x)) / 2).astype(dtype)
    w, v = parts(dt.linalg.eigh(dt.tensor(x, device=device)))
    (alone,) = parts([dt.linalg.eigvalsh(dt.tensor(x, device=device))])
    x = x.astype(np.float64)
    scale = max(np.abs(x).max() * n, 1e-300)
    truth = np.linalg.eigvalsh(x)
    assert (np.diff(w) >= 0).all()
    products = [(turned(v) @ v, np.broadcast_to(np.eye(n), x.shape), 1)]
    values = [(w, truth, scale), (alone, truth, scale), (v * w[:, None] @ turned(v), x, scale)]
    check(products + values, BOUND[dtype])


@on_both
@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rows, cols", [(n, n) for n in SIZES] + [(32, 9), (9, 32), (20, 1), (7, 5)]
)
def test_singular_vectors(rows, cols, kind, dtype, device):
    x = matrices(kind, 5, rows, cols).astype(dtype)
    k = min(rows, cols)
    given = dt.tensor(x, device=device)
    u, s, vh = parts(dt.linalg.svd(given))
    (alone,) = parts([dt.linalg.svdvals(given)])
    x = x.astype(np.float64)
    scale = max(np.abs(x).max() * max(rows, cols), 1e-300)
    truth = np.linalg.svd(x, compute_uv=False)
    assert (np.diff(s) <= 0).all() and (s >= 0).all()
    products = [
        (turned(u) @ u, np.eye(rows) + 0 * u, 1),
        (vh @ turned(vh), np.eye(cols) + 0 * vh, 1),
    ]
    whole = u[:, :, :k] * s[:, None] @ vh[:, :k]
    values = [(s, truth, scale), (alone, truth, scale), (whole, x, scale)]
    check(products + values, BOUND[dtype])


@on_both
def test_many_of_several_in_a_warp(device):
    x = np.random.default_rng(1).standard_normal((1003, 6, 6))
    s = dt.linalg.svdvals(dt.tensor(x, device=device)).cpu().numpy()
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=0, atol=1e-13)
    x = x + turned(x)
    w = dt.linalg.eigvalsh(dt.tensor(x, device=device)).cpu().numpy()
    np.testing.assert_allclose(w, np.linalg.eigvalsh(x), rtol=0, atol=1e-13)


@on_both
@pytest.mark.parametrize("n", [3, 20])
def test_what_is_not_finite(n, device):
    x = np.tile(np.eye(n), (4, 1, 1))
    x[2, n - 1, 0] = np.nan
    given = dt.tensor(x, device=device)
    for solve in (dt.linalg.eigh, dt.linalg.svd):
        with pytest.raises(RuntimeError, match=r"\(Batch element 2\)"):
            solve(given)
