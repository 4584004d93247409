"""Loaders that are left, fail, or outlive what they read from."""

import gc
import threading

import dumbtorch as dt
import pytest
from dumbtorch.utils.data import DataLoader, Dataset, TensorDataset


class Counting(Dataset):
    """Fails at the indices of `bad`, with the errors that stand there."""

    def __init__(self, n, bad=()):
        self.n, self.bad, self.read = n, bad, 0

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.read += 1
        if i in self.bad:
            raise self.bad[i]("item")
        return dt.full((3,), float(i))


@pytest.fixture(autouse=True)
def no_threads_left():
    """What a loader starts ends with it."""
    before = threading.active_count()
    yield
    gc.collect()
    assert threading.active_count() == before


def kinds(n):
    return TensorDataset(dt.arange(n)), Counting(n)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("kind", [0, 1])
def test_left_in_the_middle(workers, kind):
    data = kinds(50)[kind]
    for taken in (0, 1, 7, 50):
        batches = iter(DataLoader(data, batch_size=1, num_workers=workers))
        for _ in range(taken):
            next(batches)
        del batches
    # Two at once, one of them left, the loader itself gone.
    a, b = (iter(DataLoader(data, batch_size=5, num_workers=workers)) for _ in range(2))
    next(a)
    del a
    assert len(list(b)) == 10


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("size", "workers"), [(1, 4), (3, 8), (0, 2), (5, 16)])
def test_more_workers_than_items(kind, size, workers):
    data = kinds(size)[kind]
    loader = DataLoader(data, batch_size=2, num_workers=workers, prefetch_factor=5)
    assert len(list(loader)) == (size + 1) // 2 == len(list(loader))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("error", [KeyError, ValueError, MemoryError])
def test_errors_of_the_dataset(workers, error):
    """What is raised comes out at its batch, the iteration ends, the next one starts afresh."""
    data = Counting(8, {4: error})
    loader = DataLoader(data, batch_size=2, num_workers=workers)
    for _ in range(2):
        got = []
        with pytest.raises(error, match="item"):
            for batch in loader:
                got.append(batch)
        assert len(got) == 2
    data.bad = {}
    assert len(list(loader)) == 4


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit])
def test_what_ends_a_worker(error):
    """In this process it comes out; a worker dies of it."""
    data = Counting(8, {4: error})
    with pytest.raises(error, match="item"):
        list(DataLoader(data, batch_size=2))
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(DataLoader(data, batch_size=2, num_workers=2))


def test_errors_of_the_collation():
    def collate(items):
        raise LookupError("no batch")

    for workers in (0, 2):
        with pytest.raises(LookupError, match="no batch"):
            list(DataLoader(Counting(4), num_workers=workers, collate_fn=collate))
    with pytest.raises(RuntimeError, match="stack|size"):
        list(DataLoader([dt.ones(1), dt.ones(2)], batch_size=2, num_workers=1))


def test_errors_of_the_start_of_a_worker():
    def start(number):
        raise LookupError("no worker")

    with pytest.raises(Exception, match="no worker|initializer"):
        list(DataLoader(Counting(4), num_workers=2, worker_init_fn=start))


def test_the_dataset_changes_underneath():
    """Batches are gathered from the tensors as they are; the loader's own list does not change."""
    x = dt.zeros(100)
    data = TensorDataset(x)
    batches = iter(DataLoader(data, batch_size=10, num_workers=2))
    next(batches)
    x.fill_(1)
    del x, data
    rest = [b[0].sum().item() for b in batches]
    assert len(rest) == 9 and rest[-1] in (0.0, 10.0)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_inside_a_loader(workers):
    """Items that are made with the library, even by another loader."""
    inner = DataLoader(TensorDataset(dt.arange(6.0)), batch_size=3, num_workers=workers)

    class Nested(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return dt.cat([b[0] for b in inner]) * i

    total = dt.cat(list(DataLoader(Nested(), num_workers=workers)))
    assert total.sum(1).tolist() == [0, 15, 30, 45]


@pytest.mark.parametrize("kind", ["TensorDataset(dt.arange(1000))", "range(1000)"])
def test_the_interpreter_ends_first(python, kind):
    """Iterators, threads and tensors are alive when the interpreter ends."""
    python(f"""
        import dumbtorch as dt
        from dumbtorch.utils.data import DataLoader, TensorDataset

        loader = DataLoader({kind}, batch_size=2, num_workers=3)
        batches = iter(loader)
        x = dt.randn(200, 200, requires_grad=True)
        y = (x @ x).sum()
        y.register_hook(lambda g: g)
        next(batches)
        class Late:
            def __del__(self, y=y):
                y.backward()
        late = Late()
    """)


def test_the_interpreter_ends_by_an_error(python):
    with pytest.raises(AssertionError, match="exit 1\n(.|\n)*the end"):
        python("""
            import threading, time
            import dumbtorch as dt
            from dumbtorch.utils.data import DataLoader, TensorDataset

            batches = iter(DataLoader(TensorDataset(dt.arange(1000)), num_workers=2))
            next(batches)
            def work():
                while True:
                    dt.randn(100, 100).exp()
            threading.Thread(target=work, daemon=True).start()
            raise ValueError("the end")
        """)
