"""Datasets, samplers, loaders and files."""

import copy
import gzip
import os
import pickle
import stat
import struct
import threading

import dumbtorch as dt
import numpy as np
import pytest
from dumbtorch import _ops
from dumbtorch._runtime import CALLBACKS
from dumbtorch.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return {"x": dt.tensor([float(i)]), "y": i * i, "name": str(i)}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("drop_last", [False, True])
def test_tensor_dataset(workers, drop_last):
    data = TensorDataset(dt.arange(10.0).view(10, 1), dt.arange(10))
    loader = DataLoader(data, batch_size=4, num_workers=workers, drop_last=drop_last)
    assert len(loader) == (2 if drop_last else 3)
    for _ in range(2):
        batches = list(loader)
        assert [y.tolist() for _, y in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]][
            : len(loader)
        ]
        assert batches[0][0].shape == (4, 1)


def test_shuffling_is_the_same_everywhere():
    """The library's loader, the Python loader and threads draw one order from one seed."""
    x = dt.arange(20)

    class Plain(Dataset):
        def __len__(self):
            return 20

        def __getitem__(self, i):
            return (x[i],)

    orders = []
    for data in (TensorDataset(x), Plain()):
        for workers in (0, 3):
            g = dt.Generator().manual_seed(7)
            loader = DataLoader(data, batch_size=6, shuffle=True, num_workers=workers, generator=g)
            orders.append([[b[0].tolist() for b in loader] for _ in range(2)])
    assert all(o == orders[0] for o in orders)
    first, second = (sum(o, []) for o in orders[0])
    assert sorted(first) == list(range(20)) and first != second


@pytest.mark.parametrize("workers", [0, 2])
def test_python_dataset(workers):
    loader = DataLoader(Squares(5), batch_size=2, num_workers=workers)
    batches = list(loader)
    assert [b["y"].tolist() for b in batches] == [[0, 1], [4, 9], [16]]
    assert batches[0]["x"].tolist() == [[0.0], [1.0]] and batches[2]["name"] == ["4"]
    assert [b["y"] for b in DataLoader(Squares(2), batch_size=None)] == [0, 1]


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_in_datasets(workers):
    class Broken(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            if i == 2:
                raise KeyError("item 2")
            return i

    loader = iter(DataLoader(Broken(), batch_size=2, num_workers=workers))
    assert next(loader).tolist() == [0, 1]
    with pytest.raises(KeyError, match="item 2"):
        next(loader)
    assert next(loader).tolist() == [4, 5]
    assert list(loader) == []


def test_loaders_can_be_left_early():
    data = TensorDataset(dt.arange(100))
    loader = DataLoader(data, batch_size=1, num_workers=2)
    a, b = iter(loader), iter(loader)
    assert next(a)[0].item() == next(b)[0].item() == 0
    del a, b
    for batch in DataLoader(Squares(100), num_workers=2):
        assert batch["y"].item() == 0
        break


def test_iterable_dataset():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [b.tolist() for b in DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError):
        DataLoader(Stream(), shuffle=True)


def test_options_of_the_loader():
    data = Squares(6)
    assert [b["y"].tolist() for b in DataLoader(data, sampler=[5, 0], batch_size=2)] == [[25, 0]]
    batches = DataLoader(data, batch_sampler=[[0], [1, 2]])
    assert [b["y"].tolist() for b in batches] == [[0], [1, 4]] and len(batches) == 2
    assert list(DataLoader(data, batch_size=3, collate_fn=len)) == [3, 3]
    for wrong in (
        {"num_workers": -1}, {"batch_size": 0}, {"batch_size": True}, {"drop_last": 1},
        {"shuffle": True, "sampler": [0]}, {"batch_sampler": [[0]], "batch_size": 2},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            list(DataLoader(data, **wrong))


@pytest.mark.parametrize(
    "arguments", [{"data_source": []}, {"num_samples": 0}, {"num_samples": 2.5}, {"replacement": 1}]
)
def test_what_random_samplers_refuse(refusals, arguments):
    given = {"data_source": range(3), **arguments}
    ours, theirs = refusals(lambda t: t.utils.data.RandomSampler(**given), TypeError, ValueError)
    assert ours == theirs


def test_samplers_and_subsets():
    assert sorted(RandomSampler(range(5))) == [0, 1, 2, 3, 4]
    assert len(list(RandomSampler(range(3), replacement=True, num_samples=10))) == 10
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    both = ConcatDataset([Subset(Squares(5), [4, 1]), Squares(2)])
    assert [both[i]["y"] for i in range(len(both))] == [16, 1, 0, 1] and both[-1]["y"] == 1
    parts = random_split(Squares(10), [7, 3], generator=dt.Generator().manual_seed(0))
    assert sorted(parts[0].indices + parts[1].indices) == list(range(10))
    assert [len(p) for p in random_split(Squares(10), [0.55, 0.45])] == [6, 4]
    with pytest.raises(ValueError):
        random_split(Squares(10), [3, 3])


def test_copies_of_generators(torch):
    """Copies shared the generator, and let go of it for the original too."""
    for t in (dt, torch):
        g = t.Generator().manual_seed(3)
        t.rand(2, generator=g)
        copies = [copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
        assert all(c.device == t.device("cpu") and c.initial_seed() == 3 for c in copies)
        expected = t.rand(4, generator=g).tolist()
        assert [t.rand(4, generator=c).tolist() for c in copies] == [expected] * 3


def test_copies_of_loaders():
    loader = DataLoader(Squares(20), shuffle=True, generator=dt.Generator().manual_seed(5))
    twin = copy.deepcopy(loader)
    assert twin.generator is twin.sampler.generator is not loader.generator
    order = [b["y"].item() for b in twin]
    del twin
    assert [b["y"].item() for b in loader] == order


def test_what_cannot_be_copied():
    before = dt.live_handles()
    for x in (dt.cuda.Stream("cpu"), dt.cuda.Event(device="cpu")):
        for how in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"cannot copy or pickle '{type(x).__name__}'"):
                how(x)
        assert x.query()
    del x
    assert dt.live_handles() == before


def test_collate():
    out = default_collate([(1, 2.5, "a", [dt.ones(2)]), (3, 4.5, "b", [dt.zeros(2)])])
    assert out[0].tolist() == [1, 3] and out[1].dtype is dt.float64 and out[2] == ("a", "b")
    assert out[3][0].shape == (2, 2)
    texts = np.array(["a", "b"])
    assert default_collate(texts) is texts and default_collate([np.bytes_(b"a")]) == [b"a"]
    with pytest.raises(TypeError):
        default_collate([object()])
    with pytest.raises(RuntimeError):
        default_collate([[1], [1, 2]])


@pytest.mark.parametrize("code, kind, dtype", [(9, "b", "int8"), (11, "h", "int16")])
def test_narrow_integers_in_idx(tmp_path, code, kind, dtype):
    path = tmp_path / "x.idx"
    numbers = [1, -2, 100, -128, 0, 127]
    path.write_bytes(struct.pack(f">HBBII6{kind}", 0, code, 2, 2, 3, *numbers))
    x = dt.utils.data.read_idx(str(path))
    assert str(x.dtype) == f"torch.{dtype}" and x.tolist() == [numbers[:3], numbers[3:]]


@pytest.mark.parametrize("packed", [False, True])
def test_read_idx(tmp_path, packed):
    content = struct.pack(">HBBII", 0, 8, 2, 2, 3) + bytes(range(6))
    path = tmp_path / "x.idx"
    path.write_bytes(gzip.compress(content) if packed else content)
    x = dt.utils.data.read_idx(str(path))
    assert x.dtype is dt.uint8 and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    path.write_bytes(content[:-1])
    with pytest.raises(OSError):
        dt.utils.data.read_idx(str(path))


# ---- files


def test_safetensors_both_ways(tmp_path, torch):
    library = pytest.importorskip("safetensors.torch")
    tensors = {
        "a": dt.randn(2, 3),
        "b.c": dt.arange(4),
        "empty": dt.zeros(0, 2),
        "flag": dt.tensor([True]),
    }
    dt.safetensors.save_file(tensors, tmp_path / "x.safetensors")
    theirs = library.load_file(tmp_path / "x.safetensors")
    assert sorted(theirs) == sorted(tensors)
    for name, x in tensors.items():
        assert theirs[name].tolist() == x.tolist() and str(theirs[name].dtype) == str(x.dtype)
    library.save_file({"w": torch.arange(6.0).view(2, 3)}, tmp_path / "y.safetensors")
    assert dt.safetensors.load_file(str(tmp_path / "y.safetensors"))["w"].tolist() == [
        [0, 1, 2],
        [3, 4, 5],
    ]


def test_some_tensors_of_a_file(tmp_path):
    path = tmp_path / "x.safetensors"
    dt.safetensors.save_file({"a": dt.ones(2), "b": dt.full((3,), 2.0)}, path)
    with dt.safetensors.safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == ["a", "b"]
        assert file.get_tensor("b").tolist() == [2, 2, 2]
        with pytest.raises(KeyError, match="File does not contain tensor nobody"):
            file.get_tensor("nobody")
    names, tensors = _ops.load_safetensors(str(path), ["b", "a"])
    assert names == ["b", "a"] and [len(t) for t in tensors] == [3, 2]
    with pytest.raises(IndexError, match="does not contain tensor 'nobody'"):
        _ops.load_safetensors(str(path), ["a", "nobody"])
    with pytest.raises(TypeError, match="'only' .* must be tuple of strs, but found .* int at pos"):
        _ops.load_safetensors(str(path), ["a", 1])


def test_an_open_file_stays_the_same(torch, tmp_path):
    """Its header is read once: a file that takes its place meanwhile is another one."""
    theirs = pytest.importorskip("safetensors")
    path, seen = str(tmp_path / "x.safetensors"), []
    for opened in (theirs.safe_open, dt.safetensors.safe_open):
        dt.safetensors.save_file({"a": dt.ones(2), "é\n": dt.arange(6).view(2, 3)}, path)
        with opened(path, "pt") as file:
            dt.safetensors.save_file({"a": dt.zeros(5)}, path)
            seen.append({name: file.get_tensor(name).tolist() for name in ("a", "é\n")})
        with pytest.raises(Exception, match="(?i)closed file|file is closed"):
            file.get_tensor("a")
    assert seen[1] == seen[0] == {"a": [1, 1], "é\n": [[0, 1, 2], [3, 4, 5]]}


LARGE = 5 << 20  # float32 elements: more than one piece of 16 MiB


def test_progress_of_files(tmp_path):
    path, seen = tmp_path / "x.safetensors", []
    watch = lambda done, total: seen.append((done, total))  # noqa: E731
    dt.safetensors.save_file({"x": dt.zeros(LARGE)}, path, progress=watch)
    dt.safetensors.load_file(path, progress=watch)
    assert seen == 2 * [(0, 4 * LARGE), (16 << 20, 4 * LARGE), (4 * LARGE, 4 * LARGE)]


class Unhappy(BaseException):
    """Not even an Exception."""


@pytest.mark.parametrize("how", ["stop", "raise"])
@pytest.mark.parametrize("after", [0, 16 << 20, 4 * LARGE])
def test_work_that_is_stopped(tmp_path, how, after):
    """The old file stays, nothing is left beside it, and a Python exception comes back as it is."""
    path, problem = tmp_path / "x.safetensors", Unhappy()

    def watch(done, total):
        if how == "raise" and done >= after:
            raise problem
        return done >= after

    dt.safetensors.save_file({"x": dt.zeros(LARGE)}, path)
    old, kept = path.read_bytes(), len(CALLBACKS)
    kind = Unhappy if how == "raise" else dt.safetensors.CancelledError
    with pytest.raises(kind) as caught:
        dt.safetensors.save_file({"y": dt.ones(LARGE)}, path, progress=watch)
    assert how == "stop" or caught.value is problem
    with pytest.raises(kind) as caught:
        dt.safetensors.load_file(path, progress=watch)
    assert how == "stop" or caught.value is problem
    assert path.read_bytes() == old and os.listdir(tmp_path) == ["x.safetensors"]
    assert len(CALLBACKS) == kept  # the function has been dropped


def test_a_progress_function_may_use_the_library(tmp_path):
    model, modes = dt.nn.Linear(2, 2), []

    def watch(done, total):
        modes.append(dt.is_grad_enabled())
        model(dt.ones(1, 2)).sum().backward()
        dt.safetensors.save_file({"inner": dt.ones(1)}, tmp_path / "inner")

    dt.safetensors.save_file(model.state_dict(), tmp_path / "x", progress=watch)
    assert modes == [True, True] and model.weight.grad.tolist() == [[2, 2], [2, 2]]
    assert sorted(dt.safetensors.load_file(tmp_path / "x")) == ["bias", "weight"]
    with pytest.raises(TypeError, match="'progress' .* must be a function, not int"):
        dt.safetensors.save_file({}, tmp_path / "x", progress=1)


@pytest.mark.parametrize("other", [(2,), (2000,), (0, 3)])
def test_a_progress_function_may_replace_the_data(tmp_path, other):
    """What is written is what the tensors held at first, as the header says."""
    path, tensors = str(tmp_path / "x"), [dt.arange(4.0), dt.full((3, 5), 7.0)]

    def watch(done, total):
        for x in tensors:
            x.data = dt.ones(other)

    _ops.save_safetensors(path, ["a", "b"], tensors, watch)
    assert tensors[0].shape == other
    saved = dt.safetensors.load_file(path)
    assert {n: x.tolist() for n, x in saved.items()} == {"a": [0, 1, 2, 3], "b": [[7.0] * 5] * 3}


def test_models_in_safetensors(tmp_path):
    a, b = dt.nn.Linear(3, 2), dt.nn.Linear(3, 2)
    dt.safetensors.save_model(a, tmp_path / "m.safetensors")
    dt.safetensors.load_model(b, tmp_path / "m.safetensors")
    assert b.weight.equal(a.weight) and b.bias.equal(a.bias)


def test_save_and_load(tmp_path):
    model = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.BatchNorm1d(3))
    opt = dt.optim.Adam(model.parameters())
    model(dt.randn(4, 2)).sum().backward()
    opt.step()
    path = tmp_path / "checkpoint.pt"
    dt.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": 3}, path)
    state = dt.load(path)
    assert state["epoch"] == 3 and state["model"]["0.weight"].equal(model[0].weight)
    dt.optim.Adam(model.parameters()).load_state_dict(state["opt"])
    assert os.listdir(tmp_path) == ["checkpoint.pt"]
    before = path.read_bytes()
    with pytest.raises(pickle.PicklingError):
        dt.save({"bad": lambda: 0}, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["checkpoint.pt"]


def test_views_without_elements_keep_their_storage(tmp_path):
    """They have no address that says whose views they are."""
    x, y = dt.arange(6.0), dt.arange(6.0) + 9
    dt.save((x[4:4], y[4:4], x, y), tmp_path / "x.pt")
    none, nothing, a, b = dt.load(tmp_path / "x.pt")
    assert (
        none.shape == nothing.shape == (0,)
        and none.storage_offset() == nothing.storage_offset() == 4
    )
    where = [t.untyped_storage().data_ptr() for t in (none, nothing, a, b)]
    assert where[:2] == where[2:] and where[0] != where[1]


def test_the_format_that_is_asked_for(torch, tmp_path):
    """There is one; both libraries read it."""
    path = tmp_path / "x.pt"
    for new in (True, False):
        dt.save({"x": dt.arange(3)}, path, _use_new_zipfile_serialization=new)
        assert torch.load(path)["x"].tolist() == dt.load(path)["x"].tolist() == [0, 1, 2]


def test_saved_files_keep_their_place(tmp_path):
    """A link stays a link, permissions stay, a new file has those of any other new file."""
    path, link, plain = (str(tmp_path / name) for name in ("a.pt", "link.pt", "plain"))
    with open(plain, "w"):
        pass
    dt.save([1], path)
    assert os.stat(path).st_mode == os.stat(plain).st_mode
    os.chmod(path, 0o640)
    os.symlink("a.pt", link)
    dt.save([2], link)
    assert os.path.islink(link) and dt.load(path) == [2]
    assert os.stat(path).st_mode & 0o7777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "link.pt", "plain"]


def test_save_into_a_pipe(tmp_path):
    """What is no file is written to, not replaced by one."""
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    dt.save([3], "/dev/null")
    writer = threading.Thread(target=dt.save, args=([1, 2], pipe))
    writer.start()
    with open(pipe, "rb") as file:
        assert dt.load(file) == [1, 2]
    writer.join()
    assert stat.S_ISFIFO(os.stat(pipe).st_mode) and not os.path.isfile("/dev/null")


def test_load_runs_no_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("true",)

    path = tmp_path / "evil.pt"
    dt.save(Evil(), path)
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        dt.load(path)


class Numbers(IterableDataset):
    def __init__(self, *numbers):
        self.numbers = numbers

    def __iter__(self):
        return iter(self.numbers)

    def __len__(self):
        return len(self.numbers)


def test_chained_and_stacked_datasets():
    chained = Numbers(1, 2) + Numbers(3)
    assert list(chained) == [1, 2, 3] and len(chained) == 3
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([Squares(5)]))
    squares = Squares(5)
    assert StackDataset([1, 2], [3, 4])[1] == (2, 4)
    assert StackDataset(x=[1, 2], y=[3, 4])[0] == {"x": 1, "y": 3}
    for wrong in (lambda: StackDataset(), lambda: StackDataset(squares, x=squares)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(ValueError, match="Size mismatch"):
        StackDataset(squares, Subset(squares, [0]))


def test_types_of_items():
    """Dataset[int] and its kin are bases and annotations."""

    class Typed(Dataset[int]):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return i

    class Backwards(Sampler[int]):
        def __iter__(self):
            return iter([2, 1, 0])

    loader: DataLoader[int] = DataLoader(Typed(), batch_size=3, sampler=Backwards())
    assert next(iter(loader)).tolist() == [2, 1, 0]
    assert isinstance(Subset[int](Typed(), [0]), Subset)


def test_streams_are_not_concatenated():
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        ConcatDataset([Squares(2), Numbers(1)])


def test_samplers_draw_when_they_are_first_asked():
    for sampler in (
        RandomSampler(range(9)), SubsetRandomSampler(range(9)), WeightedRandomSampler([1.0] * 9, 9),
        WeightedRandomSampler([1.0] * 9, 9, replacement=False),
    ):  # fmt: skip
        orders = []
        for indices in (iter(sampler), iter(sampler)):
            dt.manual_seed(5)
            orders.append(list(indices))
        assert orders[0] == orders[1]


def test_weighted_samples():
    """Each index comes as often as its weight says; without replacement, once at most."""
    weights = [1.0, 0.0, 3.0, 4.0]
    drawn = list(WeightedRandomSampler(weights, 8000))
    assert 1 not in drawn and len(drawn) == 8000
    for i, w in enumerate(weights):
        assert drawn.count(i) / 8000 == pytest.approx(w / 8, abs=0.03)
    firsts = []
    for _ in range(1000):
        order = list(WeightedRandomSampler(weights, 3, replacement=False))
        assert sorted(order) == [0, 2, 3]
        firsts.append(order[0])
    assert firsts.count(3) / 1000 == pytest.approx(0.5, abs=0.07)
    with pytest.raises(RuntimeError, match="not enough non-negative category"):
        list(WeightedRandomSampler(weights, 4, replacement=False))
    for wrong in ((weights, 0), (weights, 1.5), (weights, 1, 3), ([weights], 1)):
        with pytest.raises(ValueError):
            WeightedRandomSampler(*wrong)


def test_workers_know_themselves():
    class Who(Dataset):
        def __getitem__(self, index):
            info = get_worker_info()
            return info.id, info.num_workers, info.dataset is self

        def __len__(self):
            return 8

    seen = [
        tuple(map(int, item)) for batch in DataLoader(Who(), 1, num_workers=2) for item in [batch]
    ]
    assert {item[0] for item in seen} <= {0, 1} and all(item[1:] == (2, 1) for item in seen)
    assert get_worker_info() is None


def test_items_without_batches():
    numpy = pytest.importorskip("numpy")
    item = default_convert({"a": (numpy.ones(2), "text"), "b": numpy.float32(3)})
    assert item["a"][0].tolist() == [1, 1] and item["a"][1] == "text" and item["b"].item() == 3
