"""Loaders with worker processes: batches, orders, seeds and errors are PyTorch's."""

import collections
import copy
import gc
import multiprocessing
import os
import random
import signal
import warnings

import dumbtorch as dt
import pytest
from dumbtorch.utils.data import messages

Pair = collections.namedtuple("Pair", "x y")


def squares(t, n, make=None):
    class Squares(t.utils.data.Dataset):
        def __len__(self):
            return n

        def __getitem__(self, i):
            return make(t, i) if make else {"x": t.tensor([float(i)]), "y": i * i, "name": str(i)}

    return Squares()


def stream(t, *sizes):
    """A part for each worker, or all of them."""

    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            info = t.utils.data.get_worker_info()
            parts = range(len(sizes)) if info is None else [info.id]
            for part in parts:
                for k in range(sizes[part]):
                    yield t.tensor([part, k])

    return Stream()


def plain(t, x):
    if isinstance(x, t.Tensor):
        return str(x.dtype), x.tolist()
    if isinstance(x, dict):
        return {k: plain(t, v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [plain(t, v) for v in x]
    return x


@pytest.fixture
def agree(torch):
    """agree(f): f(library, its DataLoader) gives the same in both."""

    def compare(run):
        mine, theirs = (plain(t, run(t, t.utils.data.DataLoader)) for t in (dt, torch))
        assert mine == theirs
        return mine

    return compare


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_sampler": [[0, 5], [1], [9, 2, 2]]},
        {"sampler": [3, 1, 4], "batch_size": 2},
        {"batch_size": 4, "collate_fn": len},
    ],
    ids=str,
)
def test_batches(workers, options, agree):
    agree(lambda t, loader: list(loader(squares(t, 10), num_workers=workers, **options)))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("sizes", [(4, 4), (1, 7), (5, 0), (0, 0)], ids=str)
@pytest.mark.parametrize(
    "options",
    [{"batch_size": 2}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}],
    ids=str,
)
def test_streams(workers, sizes, options, agree):
    agree(lambda t, loader: list(loader(stream(t, *sizes), num_workers=workers, **options)))


def kinds_of_items(t, i):
    import numpy

    return [
        t.full((2, 3), i), t.arange(6.0).reshape(2, 3).t(), t.zeros(0, 2), t.tensor(float(i)).to(t.bfloat16),
        numpy.full((2,), i, dtype="float64"), numpy.int32(i), i, i / 2, i > 1, str(i), bytes([i]), (i, "a"),
        Pair(i, t.ones(1)), {"k": [i, 2.0]}, collections.OrderedDict(z=i),
    ]  # fmt: skip


@pytest.mark.parametrize("workers", [0, 1])
def test_kinds_of_items(workers, agree):
    pytest.importorskip("numpy")

    def run(t, loader):
        whole = list(loader(squares(t, 3, kinds_of_items), batch_size=2, num_workers=workers))
        single = list(loader(squares(t, 1, kinds_of_items), batch_size=None, num_workers=workers))
        return whole, single

    agree(run)


def test_large_batches(agree):
    """They go through memory that both processes see."""

    def item(t, i):
        return t.arange(50_000.0) + i, "x" * 20_000

    def run(t, loader):
        out = list(loader(squares(t, 4, item), batch_size=2, num_workers=2))
        out[0][0].add_(1)  # it is the program's own
        return [x[:, ::9999] for x, _ in out], [[len(s) for s in names] for _, names in out]

    agree(run)


def test_indices_that_are_long(agree):
    """More than a connection holds, while workers have much to say."""

    def run(t, loader):
        indices = [list(range(k, k + 3000)) for k in range(40)]
        data = squares(t, 10_000, lambda t, i: i)
        return [
            b.sum() for b in loader(data, batch_sampler=indices, num_workers=2, prefetch_factor=4)
        ]

    agree(run)


def broken(kind):
    def make(t, i):
        if i == 2:
            raise kind("item 2")
        return i

    return make


class Strange(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize("kind", [KeyError, ValueError, IndexError, ZeroDivisionError])
def test_errors(kind, agree):
    """The type, the words, and that the loader goes on."""

    def run(t, loader):
        batches = iter(loader(squares(t, 6, broken(kind)), batch_size=2, num_workers=2))
        first = next(batches)
        with pytest.raises(kind) as error:
            next(batches)
        text = str(error.value)
        assert "in make" in text and f"{kind.__name__}: " in text
        return first, text.splitlines()[:2], list(batches)

    agree(run)


def test_errors_that_cannot_be_made_again(agree):
    def item(t, i):
        raise Strange(1, 2)

    def run(t, loader):
        with pytest.raises(RuntimeError) as error:
            list(loader(squares(t, 1, item), num_workers=1))
        return str(error.value).splitlines()[0]

    agree(run)


def test_errors_of_streams(agree):
    def run(t, loader):
        class Stream(t.utils.data.IterableDataset):
            def __iter__(self):
                yield 1
                raise ValueError("spring")

        batches = iter(loader(Stream(), num_workers=1))
        first = next(batches)
        with pytest.raises(ValueError, match="spring"):
            next(batches)
        return first, list(batches)

    agree(run)


def test_errors_of_a_start(agree):
    def run(t, loader):
        def init(number):
            raise ValueError(f"no {number}")

        with pytest.raises(ValueError) as error:
            list(loader(squares(t, 4), num_workers=1, worker_init_fn=init))
        return str(error.value).splitlines()[0], str(error.value).splitlines()[-1]

    agree(run)


def test_batches_that_cannot_be_sent():
    loader = dt.utils.data.DataLoader(
        squares(dt, 1), num_workers=1, collate_fn=lambda items: lambda: items
    )
    with pytest.raises(Exception, match=r"in DataLoader worker process 0(?s:.*)pickle"):
        list(loader)


def test_workers_know_themselves(agree):
    def item(t, i):
        info = t.utils.data.get_worker_info()
        return (
            info.id,
            info.num_workers,
            info.worker_method,
            info.seed % 1000 - info.id,
            t.get_num_threads(),
        )

    def run(t, loader):
        out = list(loader(squares(t, 8, item), batch_size=None, num_workers=3))
        assert len({row[3] for row in out}) == 1
        return [(*row[:3], row[4]) for row in out], t.utils.data.get_worker_info()

    agree(run)


def test_the_dataset_is_the_workers_own(agree):
    def run(t, loader):
        class Who(t.utils.data.Dataset):
            count = 0

            def __getitem__(self, index):
                self.count += 1
                return t.utils.data.get_worker_info().dataset is self, self.count, os.getpid()

            def __len__(self):
                return 4

        data = Who()
        out = list(loader(data, batch_size=None, num_workers=2))
        assert len({pid for *_, pid in out} - {os.getpid()}) == 2
        return [row[:2] for row in out], data.count

    agree(run)


def test_init_of_workers(agree):
    """It runs in the worker, before the dataset is asked; also for a TensorDataset."""

    def run(t, loader):
        def init(number):
            t.utils.data.get_worker_info().dataset.tensors[0].fill_(number + 5)

        data = t.utils.data.TensorDataset(t.arange(4))
        return [b[0] for b in loader(data, num_workers=2, worker_init_fn=init)], data.tensors

    agree(run)


def draws(t, i):
    return t.rand(()).item(), random.random()


def test_seeds():
    """Workers, and epochs, draw different numbers, and the same ones again after the same seed."""

    def epochs():
        dt.manual_seed(3)
        loader = dt.utils.data.DataLoader(squares(dt, 4, draws), batch_size=None, num_workers=2)
        return [list(loader) for _ in range(2)]

    first, again = epochs(), epochs()
    assert first == again
    for k in range(2):
        assert len({pair[k] for epoch in first for pair in epoch}) == 8
    state = dt.get_rng_state().tolist()
    list(dt.utils.data.DataLoader(squares(dt, 4, draws), num_workers=2))
    assert dt.get_rng_state().tolist() == state  # nothing is drawn here


@pytest.mark.parametrize("persistent", [False, True])
def test_persistent_workers(persistent, agree):
    def item(t, i):
        return os.getpid()

    def run(t, loader):
        data = loader(
            squares(t, 4, item), batch_size=None, num_workers=2, persistent_workers=persistent
        )
        epochs = [list(data) for _ in range(3)]
        left_early = iter(data)
        next(left_early)
        epochs.append(list(data))
        return len({pid for epoch in epochs for pid in epoch}), [len(e) for e in epochs]

    agree(run)


def test_persistent_workers_of_streams(agree):
    def run(t, loader):
        data = loader(stream(t, 3, 1), batch_size=2, num_workers=2, persistent_workers=True)
        return [list(data) for _ in range(3)]

    agree(run)


def test_out_of_order():
    """The first worker waits until the second's batch has come."""
    go = multiprocessing.Event()

    def item(t, i):
        if i == 0:
            go.wait()
        return i

    loader = dt.utils.data.DataLoader(
        squares(dt, 2, item), batch_size=None, num_workers=2, in_order=False
    )
    batches = iter(loader)
    assert next(batches) == 1
    go.set()
    assert next(batches) == 0 and list(batches) == []


def test_timeout(agree):
    stuck = multiprocessing.Event()

    def item(t, i):
        stuck.wait()
        return i

    def run(t, loader):
        stuck.clear()
        batches = iter(loader(squares(t, 1, item), num_workers=1, timeout=0.05))
        with pytest.raises(RuntimeError) as error:
            next(batches)
        stuck.set()
        return str(error.value)

    agree(run)


def test_a_worker_that_dies():
    def item(t, i):
        if i == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    batches = iter(dt.utils.data.DataLoader(squares(dt, 4, item), batch_size=None, num_workers=1))
    assert next(batches) == 0
    with pytest.raises(
        RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"
    ):
        next(batches)


def test_workers_end_with_their_iterator():
    loader = dt.utils.data.DataLoader(squares(dt, 100), num_workers=2)
    a, b = iter(loader), iter(loader)
    assert next(a)["y"].item() == next(b)["y"].item() == 0
    processes = [*a._processes, *b._processes]
    assert all(p.is_alive() for p in processes)
    del a, b
    gc.collect()
    assert not any(p.is_alive() for p in processes)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ways_to_start(method):
    """Where nothing is inherited, the dataset is pickled."""
    data = dt.utils.data.ConcatDataset([[1, 2], [3]])
    for context in (method, multiprocessing.get_context(method)):
        loader = dt.utils.data.DataLoader(
            data, num_workers=1, batch_size=2, multiprocessing_context=context
        )
        assert [b.tolist() for b in loader] == [[1, 2], [3]]


REFUSED = [
    {"multiprocessing_context": "fork"},
    {"num_workers": 1, "multiprocessing_context": "spoon"},
    {"num_workers": 1, "multiprocessing_context": 3},
    {"num_workers": 1, "prefetch_factor": -1},
    {"batch_size": None, "drop_last": True},
    {"sampler": [1], "shuffle": True},
]


@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_refusals(options, agree):
    def run(t, loader):
        with pytest.raises((ValueError, TypeError)) as error:
            loader([1, 2], **options)
        return str(error.value)

    agree(run)


def test_refusals_of_streams(agree):
    def run(t, loader):
        out = []
        for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
            with pytest.raises(ValueError) as error:
                loader(stream(t, 1), **options)
            out.append(str(error.value))
        return out

    agree(run)


def test_what_is_fixed(agree):
    def run(t, loader):
        data, out = loader([1, 2]), []
        for name in (
            "batch_size",
            "sampler",
            "dataset",
            "drop_last",
            "batch_sampler",
            "persistent_workers",
        ):
            with pytest.raises(ValueError) as error:
                setattr(data, name, None)
            out.append(str(error.value))
        data.generator = None
        return out, data.prefetch_factor, loader([1], num_workers=1).prefetch_factor

    agree(run)


def test_copies_have_workers_of_their_own():
    loader = dt.utils.data.DataLoader(squares(dt, 2), num_workers=1, persistent_workers=True)
    assert len(list(loader)) == len(list(copy.deepcopy(loader))) == len(list(loader)) == 2


def test_pinned_batches():
    """Without a GPU there is nothing to pin for; with one, every tensor in a batch is."""
    loader = dt.utils.data.DataLoader(squares(dt, 2), num_workers=1, pin_memory=True)
    assert all(b["x"].is_pinned() == dt.cuda.is_available() for b in loader)

    class Batch:
        def pin_memory(self):
            return "pinned"

    pin = dt.utils.data.collate.pin_memory
    assert pin({"a": (1, "b"), "c": [Batch(), Pair(Batch(), 2.0)]}) == {
        "a": (1, "b"),
        "c": ["pinned", ("pinned", 2.0)],
    }


def test_samples_for_several_processes(agree):
    def run(t, loader):
        sampler, out = t.utils.data.DistributedSampler, []
        for n, parts, drop in (
            (10, 3, False),
            (10, 3, True),
            (9, 3, True),
            (2, 5, False),
            (1, 4, False),
        ):
            for rank in range(parts):
                s = sampler(range(n), parts, rank, shuffle=False, drop_last=drop)
                out.append((list(s), len(s)))
        for wrong in ((2, 2), (2, -1)):
            with pytest.raises(ValueError) as error:
                sampler(range(3), *wrong)
            out.append(str(error.value))
        return out

    agree(run)
    parts = [dt.utils.data.DistributedSampler(range(6), 2, rank, seed=1) for rank in range(2)]
    orders = []
    for epoch in range(3):
        for s in parts:
            s.set_epoch(epoch)
        orders.append([list(s) for s in parts])
        assert sorted(sum(orders[-1], [])) == list(range(6))
    assert orders[0] != orders[1] or orders[1] != orders[2]
    with pytest.raises(RuntimeError, match="Requires distributed package"):
        dt.utils.data.DistributedSampler(range(3))


def test_subsets_at_once(agree):
    def run(t, loader):
        class AtOnce(t.utils.data.Dataset):
            def __len__(self):
                return 10

            def __getitem__(self, i):
                return i

            def __getitems__(self, indices):
                return [100 + i for i in indices]

        d, at_once = t.utils.data, AtOnce()
        sets = [d.Subset(at_once, [4, 2, 7]), d.Subset(range(10), [4, 2, 7]), d.StackDataset(at_once, range(10)),
                d.StackDataset(a=range(10), b=at_once)]  # fmt: skip
        return [list(loader(s, batch_size=2)) for s in sets], [s[1] for s in sets]

    agree(run)


def test_messages():
    """What arrives is what was sent, also from memory with gaps, and it can be written."""
    here, there = multiprocessing.Pipe()
    x = dt.arange(60_000.0).reshape(200, 300)
    sent = [
        x,
        x.t(),
        x[:, ::2],
        dt.zeros(0, 3),
        dt.tensor(3),
        {"a": [x[0].bool(), None]},
        x[0].to(dt.bfloat16),
    ]
    messages.send(here, sent)
    out = messages.receive(there)
    assert repr(out) == repr(sent) and [y.dtype for y in out[:5]] == [y.dtype for y in sent[:5]]
    for y in (*out[:3], out[4]):
        before = y.clone()
        assert (y.add_(1) == before + 1).all()
    assert x[0, 0].item() == 0
    small = dt.ones(3, requires_grad=True)
    messages.send(here, small)
    assert messages.receive(there).requires_grad
    with pytest.raises(Exception, match="pickle"):
        messages.send(here, lambda: 1)
    messages.send(here, None)
    assert messages.receive(there) is None


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 1, 3])
def test_streams_that_are_longer_than_they_say(both, workers, batch_size):
    """A warning for each batch too many, if the length was asked for before."""

    def run(t):
        class Stream(t.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(10))

            def __len__(self):
                return 3

            def __repr__(self):
                return "Stream"

        loader = t.utils.data.DataLoader(Stream(), batch_size, num_workers=workers)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            counts = [len(loader) if epoch == 1 else 0 for epoch in range(3) for _ in loader]
        return counts, [str(w.message) for w in seen if "IterableDataset" in str(w.message)]

    ours, theirs = both(run)
    assert ours == theirs
