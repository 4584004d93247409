"""Layers that read the size of their input off the first one, against PyTorch's."""

import copy
import io
import operator
import pickle
import warnings

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

LAYERS = [
    ("LazyLinear", (3,), {"bias": False}, (2, 5)),
    ("LazyConv1d", (4, 3), {}, (2, 6, 7)),
    ("LazyConv1d", (4, 3), {"stride": 2}, (6, 7)),
    ("LazyConv2d", (4, 3), {"groups": 2, "padding": 1}, (2, 6, 7, 7)),
    ("LazyConv3d", (4, 2), {}, (2, 3, 4, 4, 4)),
    ("LazyConvTranspose1d", (4, 3), {}, (2, 6, 7)),
    ("LazyConvTranspose2d", (4, 3), {"groups": 2}, (2, 6, 7, 7)),
    ("LazyConvTranspose3d", (4, 2), {"bias": False}, (2, 3, 4, 4, 4)),
    ("LazyBatchNorm1d", (), {}, (4, 5)),
    ("LazyBatchNorm2d", (), {"affine": False}, (4, 5, 3, 3)),
    ("LazyBatchNorm3d", (1e-3,), {}, (4, 5, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), {}, (4, 5, 6)),
    ("LazyInstanceNorm2d", (), {"affine": False}, (4, 5, 6, 6)),
    ("LazyInstanceNorm3d", (), {"track_running_stats": False}, (4, 5, 2, 2, 2)),
]
SIZES = ("in_features", "in_channels", "num_features")


@pytest.fixture(autouse=True)
def quiet():
    """PyTorch warns that its lazy modules may change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(("name", "args", "kwargs", "sizes"), LAYERS)
def test_layer(name, args, kwargs, sizes):
    x = np.random.default_rng(0).normal(size=sizes).astype("float32")
    ours, theirs = (getattr(t.nn, name)(*args, **kwargs) for t in (dt, torch))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [repr(v) for v in ours.state_dict().values()] == [
        repr(v) for v in theirs.state_dict().values()
    ]
    wanted = theirs(torch.from_numpy(x))
    ours.load_state_dict({k: dt.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    state = {k: v.numpy().copy() for k, v in theirs.state_dict().items()}
    got = ours(dt.from_numpy(x))
    assert type(ours) is getattr(dt.nn, name.removeprefix("Lazy")) and repr(ours) == repr(theirs)
    if "Norm" not in name:  # those have taken another step
        np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), atol=1e-5)
    assert {k: v.shape for k, v in ours.state_dict().items()} == {
        k: v.shape for k, v in state.items()
    }


@pytest.mark.parametrize(("name", "args", "kwargs", "sizes"), LAYERS)
def test_first_call_makes_what_the_layer_makes(name, args, kwargs, sizes):
    lazy = getattr(dt.nn, name)(*args, **kwargs)
    parameters = list(lazy.parameters())
    x = dt.randn(sizes)
    dt.manual_seed(1)
    y = lazy(x)
    dt.manual_seed(1)
    size = next(v for k, v in vars(lazy).items() if k in SIZES)
    full = getattr(dt.nn, name.removeprefix("Lazy"))(size, *args, **{**defaults(name), **kwargs})
    np.testing.assert_array_equal(y.detach().numpy(), full(x).detach().numpy())
    assert all(a is b for a, b in zip(parameters, lazy.parameters(), strict=True))
    assert all(type(p) is dt.nn.Parameter and p.requires_grad for p in parameters)


def defaults(name):
    return {"affine": True, "track_running_stats": True} if "InstanceNorm" in name else {}


def test_optimizer_holds_the_parameters():
    """As PyTorch's advice says: an optimizer may be made before the first call."""
    model = dt.nn.Sequential(dt.nn.LazyLinear(4), dt.nn.ReLU(), dt.nn.LazyLinear(1))
    optimizer = dt.optim.SGD(model.parameters(), lr=0.1)
    x = dt.randn(8, 3)
    model(x).sum().backward()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.step()
    assert any((a != b).any() for a, b in zip(before, model.parameters(), strict=True))
    assert model[0].in_features == 3 and model[2].in_features == 4


def test_before_the_first_call():
    for t in (dt, torch):
        assert t.nn.LazyLinear(3, dtype=t.float64).weight.dtype == t.float64
        layer = t.nn.LazyLinear(3)
        assert repr(layer.weight) == "<UninitializedParameter>"
        with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
            _ = layer.weight.shape
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            layer.weight.numel()
        with pytest.raises(RuntimeError, match="Expected 3D .unbatched. or 4D .batched. input to"):
            t.nn.LazyConv2d(4, 3)(t.ones(5, 5))
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert twin.has_uninitialized_params()
            assert twin(t.ones(2, 5)).shape == (2, 3)
        assert layer.has_uninitialized_params()


@pytest.mark.parametrize("again", ["deepcopy", "pickle", "save"])
def test_copies_before_the_first_call(again):
    """Files of them, too; what is frozen stays so."""

    def twin_of(t, layers):
        if again == "deepcopy":
            return copy.deepcopy(layers)
        if again == "pickle":
            return pickle.loads(pickle.dumps(layers))
        file = io.BytesIO()
        t.save(layers, file)
        file.seek(0)
        return t.load(file, weights_only=False)

    def run(t):
        layers = t.nn.ModuleList([t.nn.LazyLinear(2), t.nn.LazyConv2d(2, 1)])
        layers[0].weight.requires_grad = False
        twins = twin_of(t, layers)
        seen = [(n, repr(p), p.requires_grad) for n, p in twins.named_parameters()]
        return seen, twins[0](t.ones(1, 3)).shape, twins[1](t.ones(1, 3, 4, 4)).shape

    assert str(run(dt)) == str(run(torch))


def test_copies_of_buffers_before_the_first_call():
    for t in (dt, torch):
        for wish in (None, False, True):
            buffer = t.nn.UninitializedBuffer(**{} if wish is None else {"requires_grad": wish})
            assert buffer.requires_grad is bool(wish)
        file = io.BytesIO()
        t.save({"mean": buffer}, file)
        file.seek(0)
        assert repr(t.load(file, weights_only=False)["mean"]) == "<UninitializedBuffer>"


OPERATORS = (
    lambda x: x + 1, lambda x: 1 + x, lambda x: x @ x, lambda x: -x, lambda x: x[0], lambda x: x == 1, lambda x: 2**x,
    lambda x: operator.iadd(x, 1), abs, len, list, bool, int, float,
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(OPERATORS)))
@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
def test_operators_before_the_first_call(kind, number):
    for t in (dt, torch):
        x = getattr(t.nn.parameter, kind)()
        with pytest.raises(ValueError, match="Attempted to use an uninitialized .* objects"):
            OPERATORS[number](x)
        assert x in {x}


METHODS = (
    lambda x: x.sum(), lambda x: x.exp(), lambda x: x.view(-1), lambda x: x.clone(), lambda x: x.zero_(),
    lambda x: x.stride(), lambda x: x.max(dim=0), lambda x: x.requires_grad_(), lambda x: x.numpy(), lambda x: x.dim(),
    lambda x: x.backward(), lambda x: x.normal_(std=2.0),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(METHODS)))
def test_methods_before_the_first_call(number):
    for t in (dt, torch):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            METHODS[number](t.nn.UninitializedParameter())


def scale(t):
    """A lazy module as users write them"""

    class Scale(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = t.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            self.factor.materialize(x.shape[-1:])
            with t.no_grad():
                self.factor.fill_(2)

        def forward(self, x):
            return x * self.factor

    return Scale()


def test_own_module():
    for t in (dt, torch):
        layer = scale(t)
        assert layer(t.ones(3)).tolist() == [2, 2, 2] and not layer.has_uninitialized_params()


@pytest.mark.parametrize("to", ["float32", "float64"])
@pytest.mark.parametrize(("name", "args", "kwargs", "sizes"), LAYERS)
def test_converted_before_its_sizes_are_known(name, args, kwargs, sizes, to):
    made = []
    for t in (dt, torch):
        m = t.nn.Sequential(getattr(t.nn, name)(*args, **kwargs)).to(getattr(t, to)).to("cpu")
        state = [*m.parameters(), *m.buffers()]
        kinds = [(type(x).__name__, str(x.dtype).partition(".")[2]) for x in state]
        y = m(t.ones(sizes, dtype=getattr(t, to)))
        after = [
            (tuple(x.shape), str(x.dtype).partition(".")[2]) for x in (y, *m.state_dict().values())
        ]
        made.append((kinds, after))
    assert made[0] == made[1]
