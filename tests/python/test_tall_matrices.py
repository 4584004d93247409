"""Factorisations of very tall and very wide matrices take memory like their elements, not like the square of a side."""

import resource

import dumbtorch as dt
import pytest

ROWS = 2**17
ROOM = 8 << 30  # the square of a side takes 8 times as much in float32


@pytest.fixture
def limited():
    """Little memory, so that nothing is asked for which only looks free."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def agree(x, wanted, atol=1e-3):
    assert dt.allclose(x, wanted, rtol=1e-4, atol=atol)


def orthonormal(q):
    agree(q.mT @ q, dt.eye(q.shape[-1]))


@pytest.mark.parametrize("cols", [1, 3, 33])
def test_qr(limited, cols):
    x = dt.randn(ROWS, cols)
    q, r = dt.linalg.qr(x)
    orthonormal(q)
    agree(q @ r, x)
    assert (r.tril(-1) == 0).all()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("cols", [1, 3])
def test_svd(limited, cols, turned):
    x = dt.randn(ROWS, cols)
    u, s, vh = dt.linalg.svd(x.mT if turned else x, full_matrices=False)
    if turned:
        u, vh = vh.mT, u.mT
    orthonormal(u)
    agree((u * s) @ vh, x)
    agree(dt.linalg.svdvals(x), s, atol=1e-1)


def test_least_squares(limited):
    x, wanted = dt.randn(ROWS, 4), dt.randn(4, 2)
    agree(dt.linalg.lstsq(x, x @ wanted).solution, wanted)
    agree(dt.linalg.pinv(x) @ (x @ wanted), wanted)


def test_wide(limited):
    x = dt.randn(4, ROWS)
    q, r = dt.linalg.qr(x)
    agree(q @ r, x)
