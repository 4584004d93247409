"""Thousands of rows: leaks are looked for once per file, not once per test (a collection takes longer than a row)."""

import gc
import os
import pathlib
import sys

import dumbtorch as dt
import pytest
from by_op import unconfirmed

sys.path.insert(0, str(pathlib.Path(__file__).parent))


DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")
SHARD, SHARDS = map(int, os.environ.get("DT_TEST_SHARD", "0/1").split("/"))


@pytest.fixture(autouse=True)
def no_leaks():
    dt.manual_seed(0)


@pytest.fixture(autouse=True, scope="module")
def on_the_device():
    before = dt.get_default_device()
    dt.set_default_device(DEVICE)
    yield
    dt.set_default_device(before)


def pytest_collection_modifyitems(items):
    """DT_TEST_SHARD=2/8 runs every eighth test, the third onwards: for machines with many cores."""
    items[:] = items[SHARD::SHARDS]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """What an older PyTorch lacks, it cannot confirm."""
    try:
        return (yield)
    except Exception as error:
        if reason := unconfirmed(error):
            pytest.skip(reason)
        raise


def pytest_terminal_summary(terminalreporter):
    """What the op rows did not do, counted in rows: test_values has one test for each."""

    def rows(outcome):
        reports = terminalreporter.getreports(outcome)
        return sum("test_ops.py::test_values[" in r.nodeid for r in reports)

    if rows("skipped"):
        terminalreporter.write_line(
            f"{rows('skipped')} op rows were not compared with anything: PyTorch is not installed"
        )
    elif DEVICE == "cpu" and rows("passed") and not dt.cuda.is_available():
        terminalreporter.write_line(
            f"{rows('passed')} op rows ran on the CPU only: {dt.cuda.why_unavailable()}"
        )


@pytest.fixture(autouse=True, scope="module")
def no_leaks_in_this_file():
    gc.collect()
    before = dt.live_handles()
    yield
    gc.collect()
    assert dt.live_handles() == before
