"""Tests of the Python wrapper. What is compared with PyTorch is skipped where PyTorch is absent."""

import contextlib
import gc
import importlib

import dumbtorch as dt
import pytest


@pytest.fixture(autouse=True, scope="module")
def young_heap():
    """A collection after each test looks at the module's objects only, not at the imports and the kept reports."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch")
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def no_leaks():
    """Every test gives back the handles that it made, and leaves the settings as they were."""
    before = dt.live_handles()
    dt.manual_seed(0)
    yield
    if dt.live_handles() != before:  # some may be in cycles; a collection takes longer than a test
        gc.collect()
    assert dt.live_handles() == before
    assert dt.is_grad_enabled()
    assert dt.get_default_dtype() is dt.float32


@pytest.fixture
def same(torch):
    """same(x, y): a dumbtorch and a PyTorch tensor, or nested tuples of them, agree."""

    def compare(x, y, rtol=1e-5, atol=1e-6):
        if isinstance(y, (tuple, list)):
            assert len(x) == len(y)
            for a, b in zip(x, y, strict=True):
                compare(a, b, rtol, atol)
        elif isinstance(y, torch.Tensor):
            assert str(x.dtype) == str(y.dtype)
            assert tuple(x.shape) == tuple(y.shape)
            got = torch.tensor(x.detach().tolist(), dtype=y.dtype).reshape(y.shape)
            torch.testing.assert_close(got, y.detach(), rtol=rtol, atol=atol, equal_nan=True)
        else:
            assert x == y

    return compare


@pytest.fixture
def both(torch):
    """both(f): f(dumbtorch) and f(torch), after the same seeds."""

    def call(f):
        return f(dt), f(torch)

    return call


@pytest.fixture
def refusals(both):
    """refusals(f, *errors): for f(dumbtorch) and f(torch), which must be refused, the error and its first line."""

    def call(f, *errors):
        def said(t):
            with pytest.raises(errors) as caught:
                f(t)
            return caught.type, str(caught.value).partition("\n")[0]

        return both(said)

    return call
