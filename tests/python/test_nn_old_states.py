"""Modules that are loaded from old or empty state dicts, lazy modules, and hooks that are pickled: as PyTorch's."""

import pickle
import warnings

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def quiet():
    """PyTorch warns that its lazy modules may change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def outcome(t, f):
    try:
        return f(t)
    except (RuntimeError, ValueError, TypeError) as error:
        return type(error), str(error).partition("\n")[0]


def plain(t, norm):
    """A state dict that tells no version."""
    state = dict(norm.state_dict())
    del state["num_batches_tracked"]
    return state


def of_version(version):
    def make(t, norm):
        state = norm.state_dict()
        del state["num_batches_tracked"]
        state._metadata[""]["version"] = version
        return state

    return make


@pytest.mark.parametrize("make", [plain, of_version(1), of_version(2)])
@pytest.mark.parametrize("name", ["BatchNorm1d", "BatchNorm2d", "InstanceNorm2d"])
def test_batch_norms_of_old_files(name, make):
    def load(t):
        norm = getattr(t.nn, name)(3, affine=True, track_running_stats=True)
        norm.num_batches_tracked.fill_(7)
        net = t.nn.Sequential(norm)
        state = make(t, norm)
        below = {f"0.{k}": v for k, v in state.items()}
        if hasattr(state, "_metadata"):
            below = type(state)(below)
            below._metadata = {"": {"version": 1}, "0": state._metadata[""]}
        return str(net.load_state_dict(below)), int(norm.num_batches_tracked)

    assert outcome(dt, load) == outcome(torch, load)


def test_the_version_of_norms():
    for name in ("BatchNorm3d", "InstanceNorm1d", "LazyBatchNorm2d"):
        ours, theirs = (getattr(t.nn, name)(*(() if "Lazy" in name else (3,))) for t in (dt, torch))
        assert ours.state_dict()._metadata == theirs.state_dict()._metadata


def lazy(t):
    class Net(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = t.nn.UninitializedParameter()

    return Net()


def from_lazy(t):
    a, b = t.nn.LazyLinear(3), t.nn.LazyLinear(3)
    return str(a.load_state_dict(b.state_dict())), a.has_uninitialized_params()


def made_from_lazy(t):
    a, b = lazy(t), lazy(t)
    a.w.materialize(4)
    return a.load_state_dict(b.state_dict())


def lazy_from_made(t):
    a, b = lazy(t), lazy(t)
    a.w.materialize((2, 3))
    b.load_state_dict(a.state_dict())
    return tuple(b.w.shape)


LAZY = {
    "from lazy": from_lazy,
    "made from lazy": made_from_lazy,
    "lazy from made": lazy_from_made,
    "share": lambda t: t.nn.LazyLinear(3).share_memory(),
    "weight_norm": lambda t: t.nn.utils.weight_norm(t.nn.LazyLinear(3)),
    "spectral_norm": lambda t: t.nn.utils.spectral_norm(t.nn.LazyConv2d(3, 2)),
    "output_size": lambda t: tuple(
        t.nn.LazyConvTranspose2d(4, 3, stride=2)(t.ones(2, 3, 4, 4), output_size=(10, 10)).shape
    ),
}


@pytest.mark.parametrize("name", LAZY)
def test_lazy(name):
    assert outcome(dt, LAZY[name]) == outcome(torch, LAZY[name])


SEEN = []


def hook(*given):
    SEEN.append(len(given))


@pytest.mark.parametrize("with_module", [False, True])
def test_hooks_are_pickled(with_module):
    counts = []
    for t in (dt, torch):
        SEEN.clear()
        layer = t.nn.Linear(2, 2)
        layer._register_load_state_dict_pre_hook(hook, with_module)
        loaded = pickle.loads(pickle.dumps(layer))
        loaded.load_state_dict(layer.state_dict())
        counts.append(list(SEEN))
    assert counts[0] == counts[1] and len(counts[0]) == 1


def test_a_packed_sequence_that_is_there_already():
    for t in (dt, torch):
        packed = t.nn.utils.rnn.pack_sequence([t.ones(2), t.ones(1)])
        assert packed.to("cpu") is packed and packed.cpu() is packed
        assert packed.to(t.float32) is packed and packed.to(t.float64) is not packed


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam",
                                  "RMSprop", "Rprop", "ASGD"])  # fmt: skip
def test_files_with_numbers_of_steps(name, kind, both, same):
    """Those of before PyTorch 1.12 count steps by Python's numbers, where a tensor is now."""

    def run(t):
        p = t.nn.Parameter(t.tensor([1.0, -2.0]))
        opt = getattr(t.optim, name)([p], lr=0.1)

        def steps():
            for _ in range(2):
                opt.zero_grad()
                (p**4).sum().backward()
                opt.step()

        steps()
        saved = opt.state_dict()
        saved["state"][0]["step"] = kind(saved["state"][0]["step"])
        opt.load_state_dict(saved)
        steps()
        return opt.state[p]["step"], p

    same(*both(run))


def test_a_class_of_ones_own_keeps_its_numbers_and_has_its_step(both):
    def run(t):
        class Own(t.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

        opt = Own([t.nn.Parameter(t.ones(1))])
        opt.load_state_dict({"state": {0: {"step": 3}}, "param_groups": [{"params": [0]}]})
        with pytest.raises(NotImplementedError):
            opt.step()
        return [state["step"] for state in opt.state.values()]

    assert run(dt) == [3] == both(run)[1]


# Modules in files of before they had a setting, and the setting.
OLDER = {
    "Softmax": ("dim", lambda nn: nn.Softmax(1)),
    "Softmin": ("dim", lambda nn: nn.Softmin(1)),
    "LogSoftmax": ("dim", lambda nn: nn.LogSoftmax(1)),
    "Conv1d": ("padding_mode", lambda nn: nn.Conv1d(2, 3, 1)),
    "ConvTranspose2d": ("padding_mode", lambda nn: nn.ConvTranspose2d(2, 3, 1)),
    "AvgPool3d": ("padding", lambda nn: nn.AvgPool3d(2)),
    "AvgPool3d of all": ("ceil_mode", lambda nn: nn.AvgPool3d(2)),
    "AvgPool3d of some": ("count_include_pad", lambda nn: nn.AvgPool3d(2, count_include_pad=False)),
    "LSTM": ("proj_size", lambda nn: nn.LSTM(2, 3)),
    "GRU": ("proj_size", lambda nn: nn.GRU(2, 3)),
    "MultiheadAttention": ("_qkv_same_embed_dim", lambda nn: nn.MultiheadAttention(4, 2)),
    "encoder": ("activation", lambda nn: nn.TransformerEncoderLayer(4, 2, 8)),
    "decoder": ("activation", lambda nn: nn.TransformerDecoderLayer(4, 2, 8)),
    "Linear": ("_non_persistent_buffers_set", lambda nn: nn.Linear(2, 3)),
}


@pytest.mark.parametrize("name", OLDER)
def test_whole_modules_of_old_files(name):
    setting, make = OLDER[name]
    found = []
    for t in (dt, torch):
        module = make(t.nn)
        state = {k: v for k, v in module.__dict__.items() if k != setting}
        again = type(module).__new__(type(module))
        again.__setstate__(state)
        value = getattr(again, setting)
        found.append(getattr(value, "__name__", value))
    assert found[0] == found[1]


def test_an_activation_that_is_a_module_stays():
    for t in (dt, torch):
        layer = t.nn.TransformerEncoderLayer(4, 2, 8, activation=t.nn.GELU())
        assert isinstance(pickle.loads(pickle.dumps(layer)).activation, t.nn.GELU)


LATER = "amsgrad maximize foreach capturable differentiable fused nesterov centered decoupled_weight_decay".split()
OPTIMIZERS = "Adam AdamW SGD RMSprop Adagrad Adadelta Adamax ASGD NAdam RAdam Rprop".split()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_whole_optimizers_of_old_files(name):
    found = []
    for t in (dt, torch):
        p = t.nn.Parameter(t.ones(3))
        kind = getattr(t.optim, name)
        optimizer = kind([p], lr=0.1)
        p.grad = t.full((3,), 0.5)
        optimizer.step()
        state = dict(optimizer.__getstate__())
        groups = state["param_groups"]
        state["param_groups"] = [
            {k: v for k, v in group.items() if k not in LATER} for group in groups
        ]
        again = kind.__new__(kind)
        again.__setstate__(state)
        p.grad = t.full((3,), 0.5)
        again.step()
        settings = {k: v or None for k, v in again.param_groups[0].items() if k != "params"}
        found.append((settings, p.tolist()))
    (ours, mine), (theirs, truth) = found
    assert ours == theirs
    assert mine == pytest.approx(truth, rel=1e-6)
