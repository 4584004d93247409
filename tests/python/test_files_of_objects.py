"""Files that hold more than tensors: storages, layouts and whole modules, in both formats, against PyTorch."""

import io
import pickle

import dumbtorch as dt
import pytest

FORMATS = [{}, {"_use_new_zipfile_serialization": False}]


def written(torch, obj, options) -> bytes:
    file = io.BytesIO()
    torch.save(obj, file, **options)
    return file.getvalue()


def told(x):
    """What a loaded object is, in words of both libraries."""
    if isinstance(x, (list, tuple)):
        return [told(v) for v in x]
    if hasattr(x, "tolist"):
        return type(x).__name__, str(x.dtype), x.tolist()
    return type(x).__name__, str(x)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_storages_and_layouts(torch, both, options, weights_only):
    x = torch.arange(4.0)
    objects = [
        x[1:],
        x.storage(),
        torch.tensor([True]).storage(),
        torch.strided,
        torch.zeros(0).storage(),
    ]
    if not options:  # PyTorch cannot write bytes in the legacy format
        objects.append(torch.arange(3, dtype=torch.uint8).untyped_storage())
    content = written(torch, objects, options)

    def run(t):
        loaded = t.load(io.BytesIO(content), weights_only=weights_only)
        loaded[0].mul_(2)  # the storage is the tensor's
        return told(loaded)

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_a_layout_that_is_not_here(torch, options):
    content = written(torch, [torch.sparse_coo], options)
    with pytest.raises(NotImplementedError, match="layout torch.sparse_coo"):
        dt.load(io.BytesIO(content))


def test_pytorch_reads_storages_and_layouts(torch):
    x = dt.arange(4.0)
    file = io.BytesIO()
    dt.save([x, x.storage(), dt.arange(3, dtype=dt.uint8).untyped_storage(), dt.strided], file)
    for t in (dt, torch):
        file.seek(0)
        loaded = t.load(file)
        loaded[0].mul_(2)
        kinds = ["Tensor", "TypedStorage", "TypedStorage", "layout"]
        assert [type(x).__name__ for x in loaded] == kinds
        assert [x.tolist() for x in loaded[:3]] == [[0, 2, 4, 6], [0, 2, 4, 6], [0, 1, 2]]
        assert str(loaded[3]) == "torch.strided"


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_whole_modules_of_pytorch(torch, same, options):
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.ReLU()
    ).eval()
    net[0].bias.data = net[0].weight.data[0, :2]  # one storage, two tensors
    content = written(torch, {"net": net}, options)
    ours = dt.load(io.BytesIO(content), weights_only=False)["net"]
    assert isinstance(ours, dt.nn.Sequential) and not ours.training
    x = torch.randn(4, 3)
    same(ours(dt.tensor(x.numpy())), net(x))
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL torch.nn.modules"):
        dt.load(io.BytesIO(content))


def test_legacy_modules_that_are_cut_off(torch):
    content = written(torch, torch.nn.Linear(3, 2), FORMATS[1])
    for end in range(0, len(content), 7):
        with pytest.raises((EOFError, pickle.UnpicklingError, ValueError)):
            dt.load(io.BytesIO(content[:end]), weights_only=False)


TOWER = b")" + b"\x85" * 300000  # of tuples, whose hash ends the process


def test_legacy_storages_whose_names_are_towers(torch):
    content = written(torch, torch.ones(2), FORMATS[1])
    keys = content.rindex(b"\x80\2]")
    with pytest.raises(pickle.UnpicklingError, match="has no name"):
        dt.load(io.BytesIO(content[:keys] + b"\x80\2]" + TOWER + b"a."))


def test_storages_whose_places_are_towers(torch):
    content = written(torch, torch.ones(2), FORMATS[1])
    place = b"X\3\0\0\0cpu"
    assert content.count(place) == 1
    with pytest.raises(pickle.UnpicklingError, match="has no name"):
        dt.load(io.BytesIO(content.replace(place, TOWER)), map_location={"cuda:0": "cpu"})


@pytest.mark.parametrize("options", FORMATS, ids=["zip", "legacy"])
def test_a_pickle_module_alone(torch, both, options):
    """It says that the file is trusted, unless weights_only says something else."""
    content = written(torch, [torch.ones(2), torch.nn.ReLU()], options)

    def run(t):
        x, layer = t.load(io.BytesIO(content), pickle_module=pickle)
        with pytest.raises(RuntimeError) as caught:
            t.load(io.BytesIO(content), pickle_module=pickle, weights_only=True)
        return x.tolist(), repr(layer), str(caught.value)

    ours, theirs = both(run)
    assert ours == theirs
