"""Who runs which test, where several processes do (`pytest -n`), and on how many threads PyTorch does."""

import gc
import os
import sys
from collections import Counter

import pytest

# For PyTorch, also of processes that tests begin: waiting for a second thread takes longer than what it would do.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nor do these compile the package again, each of some hundred: that takes longer than the rest of the import.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Of tests/python: few tests that take long each. All that compiles or trains lies elsewhere.
LONG = tuple(f"tests/python/{name}" for name in ("ops/test_isa", "programs/", "samples/"))

try:
    from xdist.scheduler import LoadFileScheduling
except ModuleNotFoundError:
    LoadFileScheduling = object


class ByFile(LoadFileScheduling):
    """A file's tests go to one process. What is left of its files is kept as such: xdist looks through all that it has
    given away after each of a hundred thousand tests, and for each of them through the list of all.

    Files go by their number of tests, but first come those whose tests are few and long, with which one process would
    be left alone at the end."""

    def add_node_collection(self, node, collection):
        sizes = Counter(map(self._split_scope, collection))

        def turn(nodeid):
            file = self._split_scope(nodeid)
            short = file.startswith("tests/python/") and not file.startswith(LONG)
            return short, -sizes[file], file

        super().add_node_collection(node, sorted(collection, key=turn))
        self.config.option.loadscopereorder = False  # xdist would count them again
        self.nodeids = collection
        self.places = {nodeid: k for k, nodeid in enumerate(collection)}

    def mark_test_complete(self, node, item_index, duration=0):
        nodeid = self.nodeids[item_index]
        work, file = self.assigned_work[node], self._split_scope(nodeid)
        del work[file][nodeid]
        if not work[file]:
            del work[file]
        self._reschedule(node)

    def _pending_of(self, workload):
        return sum(map(len, workload.values()))

    def _assign_work_unit(self, node):
        file, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][file] = tests
        node.send_runtest_some([self.places[nodeid] for nodeid in tests])


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """A hundred thousand tests that all stay: there is nothing to collect among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None
