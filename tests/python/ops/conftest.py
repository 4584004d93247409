"""Thousands of rows: leaks are looked for once per file, not once per test (a collection takes longer than a row)."""

import gc
import pathlib
import sys

import dumbtorch as dt
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_leaks():
    dt.manual_seed(0)


@pytest.fixture(autouse=True, scope="module")
def no_leaks_in_this_file():
    gc.collect()
    before = dt.live_handles()
    yield
    gc.collect()
    assert dt.live_handles() == before
