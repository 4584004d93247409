"""What PyTorch's layers are of, and what they have: base classes, attributes, registries."""

import inspect
import warnings

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")
LAYERS = sorted(
    name
    for name, kind in vars(torch.nn).items()
    if inspect.isclass(kind) and issubclass(kind, torch.nn.Module)
)
# By a beginning of the name, the longest that there is: the arguments of a simple instance.
ARGUMENTS = {
    name: given
    for names, given in (
        ("", ()),
        ("CircularPad ReflectionPad ReplicationPad ZeroPad", (1,)),
        (
            "Adaptive AvgPool ChannelShuffle CrossMapLRN2d LocalResponseNorm MaxPool MaxUnpool Pixel",
            (2,),
        ),
        ("Unfold Upsampl", (2,)),
        ("BatchNorm InstanceNorm LayerNorm LazyLinear RMSNorm SyncBatchNorm", (3,)),
        ("ConstantPad", (1, 2.0)),
        ("LazyConv", (2, 1)),
        ("FractionalMaxPool LPPool", (2, 2)),
        ("Threshold", (1, 2)),
        ("GRU LSTM Linear RNN", (2, 3)),
        ("Embedding", (3, 2)),
        ("Fold MultiheadAttention", (4, 2)),
        ("GroupNorm", (2, 4)),
        ("Conv", (2, 3, 1)),
        ("Bilinear", (2, 3, 4)),
        ("AdaptiveLogSoftmax", (4, 6, [2])),
        ("RNNBase", ("LSTM", 2, 3)),
        ("RNNCellBase", (2, 3, True, 4)),
        ("Transformer", (4, 2, 1, 1, 8)),
        ("TransformerDecoderLayer TransformerEncoderLayer", (4, 2, 8)),
        ("Unflatten", (1, (2, 2))),
    )
    for name in names.split() or [""]
}
# What holds how PyTorch runs on several devices.
ELSEWHERE = {"DataParallel"}


def bases(kind) -> list:
    """Those that PyTorch has, too, under a name of its own."""
    places = [torch.nn, *(m for m in vars(torch.nn.modules).values() if inspect.ismodule(m))]
    names = [base.__name__ for base in kind.__mro__]
    return [name for name in names if any(hasattr(place, name) for place in places)]


@pytest.mark.parametrize("name", LAYERS)
def test_bases(name):
    assert bases(getattr(dt.nn, name)) == bases(getattr(torch.nn, name))


def test_bases_are_where_programs_import_them():
    for place in (m for m in vars(torch.nn.modules).values() if inspect.ismodule(m)):
        here = getattr(dt.nn.modules, place.__name__.rpartition(".")[2], None)
        for name, kind in vars(place).items():
            is_base = inspect.isclass(kind) and issubclass(kind, torch.nn.Module)
            if is_base and kind.__module__ == place.__name__ and name != "_ConvTransposeMixin":
                assert inspect.isclass(getattr(here, name)), (place.__name__, name)


def instance(t, name):
    if name in ("TransformerDecoder", "TransformerEncoder"):
        return getattr(t.nn, name)(getattr(t.nn, name + "Layer")(4, 2, 8), 1)
    beginning = max((b for b in ARGUMENTS if name.startswith(b)), key=len)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(t.nn, name)(*ARGUMENTS[beginning])


def shown(value):
    """A number, a text or a list of them; of other things whether they are there."""
    is_plain = isinstance(value, (bool, int, float, str, tuple, list, type(None)))
    return value if is_plain and "object at" not in repr(value) else "..."


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in ELSEWHERE])
def test_attributes(name):
    found = []
    for t in (dt, torch):
        module = instance(t, name)
        own = {k: shown(v) for k, v in vars(module).items() if not k.startswith("_")}
        registries = [list(getattr(module, r)) for r in ("_parameters", "_buffers", "_modules")]
        found.append((own, registries, repr(module)))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["UninitializedBuffer", "UninitializedParameter"])
def test_bases_of_uninitialized_tensors(name):
    for t in (dt, torch):
        kind = getattr(t.nn, name)
        assert issubclass(kind, t.nn.parameter.UninitializedTensorMixin)
        assert isinstance(kind(), (t.nn.Buffer, t.nn.Parameter))


SETTINGS = {
    "ReLU6": lambda t, x, m: setattr(m, "max_val", 0.5),
    "ZeroPad1d": lambda t, x, m: setattr(m, "value", 0.5),
    "UpsamplingNearest2d": lambda t, x, m: setattr(m, "mode", "bicubic"),
    "PairwiseDistance": lambda t, x, m: setattr(m, "norm", 1.0),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_base_have_an_effect(name, both, same):
    def run(t):
        module, x = instance(t, name), t.arange(16.0).reshape(1, 1, 4, 4) / 8
        SETTINGS[name](t, x, module)
        return module(x, x + 1) if name == "PairwiseDistance" else module(x)

    same(*both(run))


@pytest.mark.parametrize("output_size", [None, (9,), [9], (2, 3, 10), (8,), (11,), (1, 2)])
def test_output_padding(output_size, refusals, both):
    def run(t):
        m = t.nn.ConvTranspose1d(2, 3, 3, 2, dilation=1)
        x, n = t.zeros(1, 2, 4), 1
        return m._output_padding(x, output_size, m.stride, m.padding, m.kernel_size, n, m.dilation)

    try:
        expected = list(run(torch))
    except ValueError:
        ours, theirs = refusals(run, ValueError)
        assert ours == theirs
    else:
        assert list(run(dt)) == expected


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["BatchNorm", "InstanceNorm"])
def test_lazy_norms_become_others(kind, dims, both):
    def run(t):
        m = getattr(t.nn, f"Lazy{kind}{dims}d")()
        full = getattr(t.nn, f"{kind}{dims}d")
        before = isinstance(m, full)
        m(t.arange(2.0 * 3 * 4**dims).reshape(2, 3, *[4] * dims))
        return before, type(m) is full, m.num_features

    ours, theirs = both(run)
    assert ours == theirs


def test_older_names():
    found = []
    for t in (dt, torch):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            container = t.nn.Container(a=t.nn.Identity())
            loss = t.nn.NLLLoss2d(ignore_index=1)
            limited = t.nn.Hardtanh(min_value=-2, max_value=2)
            chosen = t.nn.modules.rnn.apply_permutation(t.ones(2, 2), t.tensor([1, 0]))
        said = [(w.category, str(w.message)) for w in given]
        names = [name for name, _ in container.named_children()]
        found.append((names, loss.ignore_index, limited.min_val, chosen.tolist(), said))
    assert found[0] == found[1]
    assert len(found[0][-1]) == 5


def test_parameter_dicts_behind_dicts():
    for t in (dt, torch):
        joined = {"a": 1} | t.nn.ParameterDict({"b": t.ones(1)})
        assert type(joined) is dict and list(joined) == ["a", "b"]


def test_instance_norms_of_programs(both, same):
    def run(t):
        class Norm(t.nn.modules.instancenorm._InstanceNorm):
            def _get_no_batch_dim(self):
                return 2

            def _check_input_dim(self, input):
                if input.dim() not in (2, 3):
                    raise ValueError("lines only")

        m, x = Norm(3, affine=True), t.arange(24.0).reshape(2, 3, 4)
        with pytest.raises(ValueError, match="lines only"):
            m(x[0, 0])
        return m(x), m(x[0])

    same(*both(run))


def test_margins_of_ones_own(both, same):
    def run(t):
        class Margin(t.nn.modules.padding._ConstantPadNd):
            def __init__(self, padding, value):
                super().__init__(value)
                self.padding = padding

        layer = Margin((1, 2), 2.0)
        return layer(t.ones(2, 2)), repr(layer), repr(t.nn.ConstantPad1d(1, 3))

    same(*both(run))
