"""nn.Module and containers against PyTorch's semantics; layers against PyTorch's numbers."""

import copy
import math
import pickle

import dumbtorch as dt
import meanings
import pytest
from dumbtorch import nn
from layer_rows import LAYERS, PYTHON_LAYERS, identity, make, results_of
from meanings import layer_of


class Net(nn.Module):
    def __init__(self, t=dt):
        super().__init__()
        self.conv = t.nn.Conv2d(1, 2, 3, padding=1)
        self.norm = t.nn.BatchNorm2d(2)
        self.fc = t.nn.Linear(8, 3)
        self.scale = t.nn.Parameter(t.ones(1))
        self.register_buffer("shift", t.zeros(1))
        self.register_buffer("hidden", t.zeros(1), persistent=False)

    def forward(self, x):
        x = self.norm(self.conv(x)).relu()
        return self.fc(x.flatten(1)) * self.scale + self.shift


def torch_net(torch):
    return type("Net", (torch.nn.Module,), {"__init__": _init(torch), "forward": Net.forward})()


def _init(torch):
    def init(self):
        torch.nn.Module.__init__(self)
        self.conv = torch.nn.Conv2d(1, 2, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(2)
        self.fc = torch.nn.Linear(8, 3)
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("shift", torch.zeros(1))
        self.register_buffer("hidden", torch.zeros(1), persistent=False)

    return init


def copy_state(source, target):
    """The state of a dumbtorch module in a PyTorch module."""
    import torch

    target.load_state_dict(
        {
            n: torch.tensor(v.tolist(), dtype=getattr(torch, v.dtype.name))
            for n, v in source.state_dict().items()
        }
    )


def test_names_are_pytorchs(torch):
    ours, theirs = Net(), torch_net(torch)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for method in ("named_parameters", "named_buffers", "named_modules", "named_children"):
        assert [n for n, _ in getattr(ours, method)()] == [n for n, _ in getattr(theirs, method)()]
    assert repr(ours) == repr(theirs)


def test_training_a_net(torch, same):
    ours, theirs = Net(), torch_net(torch)
    copy_state(ours, theirs)
    x = dt.randn(4, 1, 2, 2)
    y = torch.tensor(x.tolist())
    for _ in range(2):
        ours(x).square().sum().backward()
        theirs(y).square().sum().backward()
    for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        same(a.grad, b.grad, rtol=1e-3, atol=1e-4), name
    for (_, a), (_, b) in zip(ours.named_buffers(), theirs.named_buffers(), strict=True):
        same(a, b)
    ours.eval(), theirs.eval()
    same(ours(x), theirs(y), rtol=1e-4, atol=1e-5)
    ours.zero_grad()
    assert all(p.grad is None for p in ours.parameters())


WEIGHTED = {
    "Linear": (lambda n: n.Linear(3, 4), (2, 3)),
    "Linear and ReLU": (lambda n: n.Sequential(n.Linear(3, 4), n.ReLU()), (2, 3)),
    "Conv2d": (lambda n: n.Conv2d(2, 3, 2), (1, 2, 4, 4)),
    "BatchNorm1d": (lambda n: n.BatchNorm1d(3), (4, 3)),
    "LayerNorm": (lambda n: n.LayerNorm(3), (4, 3)),
    "Embedding": (lambda n: n.Embedding(24, 3), (2, 3)),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_tensor_in_the_place_of_a_weight(name, torch, same):
    """As weight normalisation does: the weight becomes a function of another Parameter."""
    make, shape = WEIGHTED[name]
    results = []
    for t in (dt, torch):
        model = make(t.nn)
        layer = model[0] if isinstance(model, t.nn.Sequential) else model
        size = layer.weight.shape
        del layer.weight
        layer.v = t.nn.Parameter(t.arange(float(size.numel())).view(size) / 7)
        layer.weight = layer.v * layer.v
        if getattr(layer, "bias", None) is not None:
            t.nn.init.ones_(layer.bias)
        dtype = t.int64 if name == "Embedding" else t.float32
        x = (t.arange(math.prod(shape)).view(shape) % 5).to(dtype)
        y = model(x)
        (y * y).sum().backward()
        results.append((y, layer.v.grad, sorted(n for n, _ in layer.named_parameters())))
    (y, grad, names), (expected, expected_grad, expected_names) = results
    assert names == expected_names
    same((y, grad), (expected, expected_grad), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("row", LAYERS + PYTHON_LAYERS, ids=identity)
def test_layers(row, torch, same):
    name, args, kwargs, inputs = row
    ours, theirs = (layer_of(t, name, args, kwargs) for t in (dt, torch))
    assert repr(ours) == repr(theirs) or name in meanings.LAYERS
    assert [(n, tuple(v.shape)) for n, v in ours.state_dict().items()] == [
        (n, tuple(v.shape)) for n, v in theirs.state_dict().items()
    ]
    copy_state(ours, theirs)
    results = [_run(name, t, layer, inputs) for t, layer in ((dt, ours), (torch, theirs))]
    same(*results, rtol=1e-3, atol=1e-4)


def _run(name, t, layer, inputs: list[str]) -> list:
    """The results, and the gradients of the first input and of the parameters."""
    x, *others = [make(t, name) for name in inputs]
    x.requires_grad_(x.is_floating_point())
    y = results_of(name, layer, x, *others)
    if y[0].requires_grad:
        sum(part.square().sum() for part in y).backward()
    return [*y, x.grad, *(p.grad for p in layer.parameters())]


def test_losses_with_weights(both, same):
    def run(t):
        weight, x = t.tensor([1.0, 2.0, 3.0, 0.5]), make(t, "rows").requires_grad_()
        classes, shares = make(t, "classes"), make(t, "shares")
        layers = [
            (t.nn.CrossEntropyLoss(weight=weight, ignore_index=1), classes),
            (t.nn.NLLLoss(weight), classes),
            (t.nn.BCEWithLogitsLoss(pos_weight=weight), shares),
        ]
        losses = [layer(x, target) for layer, target in layers]
        sum(losses).backward()
        return [repr(layer) for layer, _ in layers], losses, x.grad

    same(*both(run))


def test_initial_values(torch):
    """Not PyTorch's numbers, but its distributions; and the seed decides."""
    dt.manual_seed(1)
    a = nn.Linear(100, 50)
    dt.manual_seed(1)
    assert nn.Linear(100, 50).weight.equal(a.weight)
    assert 0.095 < a.weight.abs().max().item() <= 0.1 and abs(a.weight.mean().item()) < 0.01
    e = nn.Embedding(50, 20, padding_idx=3)
    assert 0.9 < e.weight.std().item() < 1.1 and e.weight[3].abs().sum().item() == 0
    c = nn.Conv2d(4, 8, 5)
    assert 0.09 < c.weight.abs().max().item() <= 0.1 and 0.05 < c.bias.abs().max().item() <= 0.1


# ---- Module


def test_attributes():
    m = nn.Module()
    m.w = nn.Parameter(dt.ones(2))
    m.child = nn.Linear(1, 1)
    m.plain = 5
    assert m.w is m._parameters["w"] and m.child is m._modules["child"]
    assert "w" in dir(m) and "child" in dir(m)
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor' as parameter 'w'"):
        m.w = dt.ones(2)
    with pytest.raises(TypeError, match="child module"):
        m.child = 5
    m.w = None
    assert m.w is None and list(m.parameters()) == list(m.child.parameters())
    m.w = nn.Parameter(dt.zeros(1))
    del m.w
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'w'"):
        m.w  # noqa: B018
    m.plain = nn.Linear(1, 1)  # becomes a child
    assert "plain" in m._modules and "plain" not in m.__dict__
    m.b = nn.Buffer(dt.ones(1), persistent=False)
    assert "b" not in m.state_dict() and m.b is m._buffers["b"]
    with pytest.raises(KeyError):
        m.register_parameter("plain", nn.Parameter(dt.ones(1)))
    with pytest.raises(KeyError, match="contain"):
        m.register_buffer("a.b", None)
    with pytest.raises(ValueError, match="non-leaf"):
        m.register_parameter("q", _non_leaf())
    with pytest.raises(AttributeError, match="before Module.__init__"):
        _NoInit()


def _non_leaf():
    p = nn.Parameter(dt.ones(1), requires_grad=False)
    return p.mul_(nn.Parameter(dt.ones(1)))


class _NoInit(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(1, 1)


def test_weight_tying():
    m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    m[1].weight = m[0].weight
    assert len(list(m.parameters())) == 3 and len(m.state_dict()) == 4
    twin = copy.deepcopy(m)
    assert twin[1].weight is twin[0].weight and twin[0].weight is not m[0].weight
    again = pickle.loads(pickle.dumps(m))
    assert again[0].weight.equal(m[0].weight)
    m.double()
    assert m[1].weight is m[0].weight and m[0].weight.dtype is dt.float64


def test_to_keeps_parameters():
    m = nn.BatchNorm1d(2)
    weight, tracked = m.weight, m.num_batches_tracked
    m.weight.grad = dt.ones(2)
    opt = dt.optim.SGD(m.parameters(), lr=1.0)
    assert m.to(dt.float64) is m and m.weight is weight
    assert weight.dtype is dt.float64 and weight.requires_grad and weight.grad.dtype is dt.float64
    assert m.num_batches_tracked.dtype is dt.int64 and tracked.dtype is dt.int64
    opt.step()
    assert m.weight.tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="floating point"):
        m.to(dt.int64)


def test_modes_and_apply():
    m = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    assert m.eval() is m and not m[1][0].training and m(dt.ones(3)).tolist() == [1, 1, 1]
    m.train()
    assert m[1][0].training
    seen = []
    assert m.apply(lambda x: seen.append(type(x).__name__)) is m
    assert seen == ["Dropout", "Dropout", "Sequential", "Sequential"]
    f = nn.Linear(2, 2).requires_grad_(False)
    assert not any(p.requires_grad for p in f.parameters())


def test_hooks():
    m, calls = nn.Linear(2, 2), []
    pre = m.register_forward_pre_hook(lambda mod, args: (args[0] * 0,))
    post = m.register_forward_hook(
        lambda mod, args, out: calls.append(args[0].sum().item()) or out + 1
    )
    assert m(dt.ones(1, 2)).equal((m.bias + 1).reshape(1, 2)) and calls == [0]
    pre.remove()
    post.remove()
    with m.register_forward_hook(lambda mod, args, kwargs, out: kwargs["input"], with_kwargs=True):
        assert m(input=dt.ones(1, 2)).tolist() == [[1, 1]]
    first = []
    m.register_forward_hook(lambda *a: first.append("a"))
    m.register_forward_hook(lambda *a: first.append("b"), prepend=True)
    m(dt.ones(1, 2))
    assert first == ["b", "a"]


def test_load_state_dict():
    a, b = Net(), Net()
    result = b.load_state_dict(a.state_dict())
    assert result.missing_keys == [] and b.fc.weight.equal(a.fc.weight)
    assert b.fc.weight.data_ptr() != a.fc.weight.data_ptr()
    state = dict(a.state_dict())
    state["extra"] = state.pop("scale")
    before = b.fc.weight.clone()
    state["fc.weight"] = dt.zeros(3, 8)
    with pytest.raises(RuntimeError, match='Missing key.*"scale"(.|\n)*Unexpected key.*"extra"'):
        b.load_state_dict(state)
    assert b.fc.weight.equal(before)
    result = b.load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale"] and result.unexpected_keys == ["extra"]
    assert b.fc.weight.sum().item() == 0
    with pytest.raises(RuntimeError, match="size mismatch for fc.weight"):
        b.load_state_dict({"fc.weight": dt.zeros(2, 2)}, strict=False)
    b.load_state_dict({"fc.weight": dt.ones(3, 8)}, strict=False, assign=True)
    assert isinstance(b.fc.weight, nn.Parameter) and b.fc.weight.sum().item() == 24


def test_submodules():
    m = nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.Linear(2, 3)))
    assert m.get_submodule("1.0") is m[1][0] and m.get_parameter("1.0.weight") is m[1][0].weight
    with pytest.raises(AttributeError):
        m.get_submodule("1.5")
    assert nn.BatchNorm1d(1).get_buffer("running_mean").shape == (1,)


def test_sequential(torch):
    make = lambda n: n.Sequential(n.Linear(1, 2), n.ReLU(), n.Linear(2, 1))  # noqa: E731
    m = make(nn)
    assert (
        len(m) == 3
        and isinstance(m[-1], nn.Linear)
        and len(m[1:]) == 2
        and isinstance(m[:2], nn.Sequential)
    )
    m[1] = nn.Tanh()
    m.append(nn.Sigmoid())
    assert [type(x).__name__ for x in m] == ["Linear", "Tanh", "Linear", "Sigmoid"]
    del m[0]
    assert list(m._modules) == ["0", "1", "2"]
    assert repr(make(nn)) == repr(make(torch.nn))
    named = nn.Sequential({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    assert list(named.state_dict()) == ["a.weight", "a.bias"] and named.a is named[0]
    with pytest.raises(IndexError):
        m[7]


def layers_in_a_row(t, activation):
    net = t.nn.Sequential(t.nn.Linear(3, 4), activation(t.nn), t.nn.Linear(4, 2)).double()
    with t.no_grad():
        for p in net.parameters():
            p.copy_((t.arange(0, p.numel(), dtype=t.float64) * 0.7).sin().reshape(p.shape))
    return net, t.arange(0, 6, dtype=t.float64).reshape(2, 3) - 2


@pytest.mark.parametrize("name", ["ReLU", "Sigmoid", "Tanh", "GELU"])
def test_a_layer_and_its_activation(name, both, same):
    """Those that run as one kernel give PyTorch's numbers, as does one that does not."""

    def run(t):
        net, x = layers_in_a_row(t, lambda nn: getattr(nn, name)())
        y = net(x.requires_grad_())
        if t is dt:
            fused = {"GELU": "GeluErfBackward0"}.get(name, f"Linear{name.capitalize()}Backward0")
            assert net[:2](x).grad_fn.name() == fused
        y.square().sum().backward()
        return y, x.grad, [p.grad for p in net.parameters()]

    same(*both(run))


def test_what_is_between_a_layer_and_its_activation_can_be_seen(both, same):
    def run(t):
        net, x = layers_in_a_row(t, lambda nn: nn.ReLU())
        seen = []
        handle = net[0].register_forward_hook(lambda m, args, out: seen.append(out))
        net(x)
        handle.remove()
        net[1].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
        return seen, net(x)

    same(*both(run))


@pytest.mark.parametrize("attribute", ["forward", "__call__"])
def test_a_layer_that_is_watched_by_its_class(both, same, monkeypatch, attribute):
    def run(t):
        net, x = layers_in_a_row(t, lambda nn: nn.ReLU())
        original, seen = getattr(t.nn.Linear, attribute), []

        def traced(self, input):
            seen.append(original(self, input))
            return seen[-1]

        with monkeypatch.context() as patch:
            patch.setattr(t.nn.Linear, attribute, traced)
            net(x)
        return seen, net(x)

    same(*both(run))


def test_layers_with_a_forward_of_their_own_keep_it(both, same):
    def run(t):
        class Doubled(t.nn.Linear):
            def forward(self, input):
                return super().forward(input) * 2

        class Shifted(t.nn.Sigmoid):
            def forward(self, input):
                return super().forward(input) + 1

        net, x = layers_in_a_row(t, lambda nn: Shifted())
        first = Doubled(3, 4).double()
        first.load_state_dict(net[0].state_dict())
        by_class = t.nn.Sequential(first, t.nn.ReLU())
        plain, _ = layers_in_a_row(t, lambda nn: nn.Tanh())
        plain[1].forward = lambda input: input * 3
        return net(x), by_class(x), plain(x)

    same(*both(run))


def test_lists_and_dicts():
    layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(2)])
    layers.append(nn.ReLU()).extend([nn.Tanh()])
    layers.insert(0, nn.Identity())
    assert len(layers) == 5 and list(layers.state_dict())[0] == "1.weight" and layers[1] in layers
    assert isinstance(layers[1:3], nn.ModuleList) and isinstance(layers.pop(-1), nn.Tanh)
    layers += [nn.ReLU()]
    assert len(layers) == 5
    table = nn.ModuleDict({"a": nn.Linear(1, 1)})
    table["b"] = nn.ReLU()
    assert list(table) == ["a", "b"] and "a" in table and len(table) == 2 and table.a is table["a"]
    del table["b"]
    assert list(table.keys()) == ["a"]
    weights = nn.ParameterList([dt.ones(1), nn.Parameter(dt.zeros(2))])
    assert [n for n, _ in weights.named_parameters()] == ["0", "1"] and weights[1].shape == (2,)
    named = nn.ParameterDict({"w": dt.ones(1)})
    assert isinstance(named["w"], nn.Parameter) and list(named.state_dict()) == ["w"]


def test_module_errors():
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)
    with pytest.raises(ValueError, match="groups"):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="4D"):
        nn.BatchNorm2d(3)(dt.ones(2, 3))
    with pytest.raises(TypeError):
        nn.Linear(2)
    with pytest.raises(ValueError, match="boolean"):
        nn.Linear(1, 1).train(1)
    with pytest.raises(RuntimeError, match="linear"):
        nn.Linear(2, 2)(dt.ones(1, 3))


def test_utils(same, both):
    def run(t):
        t.manual_seed(0)
        m = t.nn.Linear(2, 1)
        with t.no_grad():
            m.weight.copy_(t.tensor([[1.0, 2.0]]))
            m.bias.fill_(0.5)
        (m(t.tensor([[3.0, 4.0]])) ** 2).sum().backward()
        total = t.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        vector = t.nn.utils.parameters_to_vector(m.parameters())
        t.nn.utils.vector_to_parameters(vector * 2, m.parameters())
        clipped = m.weight.grad.clone()
        t.nn.utils.clip_grad_value_(m.parameters(), 0.1)
        return total, clipped, vector, m.weight, m.weight.grad

    same(*both(run))


def test_functional_variants(both, same):
    def run(t):
        f = t.nn.functional
        x = t.tensor([[-1.0, 2.0], [0.5, -3.0]])
        y = x.clone()
        f.relu(y, inplace=True)
        values, indices = f.max_pool2d(x.view(1, 1, 2, 2), 2, return_indices=True)
        return (
            y,
            values,
            indices,
            f.normalize(x),
            f.softmax(x, dim=1),
            f.leaky_relu(x, 0.2),
            f.silu(x),
        )

    same(*both(run))


@pytest.mark.parametrize("kernel", [(3, 3), (2, 5), (4, 2), (1, 1)])
@pytest.mark.parametrize("dilation", [1, (2, 3)])
def test_named_padding(torch, same, kernel, dilation):
    for name in ("same", "valid"):
        results = []
        for t in (dt, torch):
            x = t.linspace(-1, 1, 2 * 3 * 8 * 14).sin().reshape(2, 3, 8, 14).requires_grad_()
            w = t.linspace(-1, 1, 6 * kernel[0] * kernel[1]).reshape(2, 3, *kernel)
            y = t.nn.functional.conv2d(x, w, padding=name, dilation=dilation)
            y.square().sum().backward()
            layer = t.nn.Conv2d(3, 2, kernel, padding=name, dilation=dilation)
            assert tuple(layer(x).shape) == tuple(y.shape) and layer.padding == name
            results.append((y, x.grad, t.conv2d(x[0], w, None, 1, name)))
        same(*results, rtol=1e-4, atol=1e-4)
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="not supported for strided"):
            t.conv2d(t.ones(1, 1, 3, 3), t.ones(1, 1, 3, 3), None, 2, "same")


def test_parameter_dictionaries(both):
    def run(t):
        d = t.nn.ParameterDict({"a": t.ones(1), "b": t.zeros(2)})
        other = d | {"c": t.ones(3)}
        d |= {"b": t.ones(4)}
        seen = [list(d), list(other), list(reversed(other)), d["b"].shape, len(d.copy())]
        seen += [d.get("x", 5), d.setdefault("e", t.ones(5)).shape, d.popitem()[0], list(d)]
        return [tuple(x) if isinstance(x, t.Size) else x for x in seen]

    ours, theirs = both(run)
    assert ours == theirs
