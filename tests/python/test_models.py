"""dumbtorch.models against the architectures written down in PyTorch's functions.

The formulas read weights by torchvision's names (GPT-2: the published checkpoint's); each must be there,
and none may be left over. The numbers of parameters are those that torchvision and OpenAI publish.
"""

import inspect

import dumbtorch as dt
import pytest
from dumbtorch import _ops, models
from model_rows import LARGE, MODELS

torch = pytest.importorskip("torch")
nets = pytest.importorskip("architectures")


class Weights(dict):
    """A state dict of PyTorch's tensors that knows which of them have been read."""

    def __init__(self, model):
        state = model.state_dict().items()
        super().__init__((name, torch.from_numpy(value.detach().numpy())) for name, value in state)
        self.read = set()

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)

    def left(self):
        return {name for name in self if not name.endswith("num_batches_tracked")} - self.read


def of_row(formula, *settings):
    return lambda weights, x: getattr(nets, formula)(weights, x, *settings)


GPT2_SIZES = dict(vocabulary=50, context=16, width=32, layers=3, heads=4)
# Name, options with the arguments among them, what it is applied to, and what comes out.
CASES = [
    (
        name,
        dict(zip(inspect.signature(getattr(models, name)).parameters, args, strict=False))
        | options,
        size,
        of_row(*formula),
    )
    for name, args, options, size, formula in MODELS + LARGE
]
NAMES = [case[0] for case in CASES]


def signature(name):
    return inspect.signature(getattr(models, name)).parameters


class CoreModel:
    """The core's module, as Python's class is used."""

    def __init__(self, name, options):
        self.module = getattr(_ops, f"models_{name}")(**options)
        self.module.train(False)

    def state_dict(self):
        names, tensors = self.module.state_dict()
        return dict(zip(names, tensors, strict=True))

    def __call__(self, *inputs):
        return self.module.forward_outputs(list(inputs))[0]


def of_python(name, options):
    return getattr(models, name)(**options).eval()


def with_weights_of_all_kinds(model):
    """Biases, norms and heads begin with zeros or ones, which hide much."""
    for key, value in model.state_dict().items():
        if key.endswith("num_batches_tracked"):
            continue
        value = value.detach()
        if len(value.shape) == 1 or not value.any():
            value.uniform_(0.5, 1.0) if key.endswith("var") else value.normal_(0.5, 0.1)
    return model


@pytest.mark.parametrize("make", [of_python, CoreModel], ids=["python", "core"])
@pytest.mark.parametrize(("name", "options", "size", "formula"), CASES, ids=NAMES)
def test_outputs_are_those_of_the_architecture(make, name, options, size, formula):
    dt.manual_seed(0)
    model = with_weights_of_all_kinds(make(name, options))
    generator = torch.Generator().manual_seed(0)
    if len(size) == 2:
        x = torch.randint(0, 11, size, generator=generator)
    else:
        x = torch.randn(size, generator=generator)
    with dt.no_grad():
        found = model(dt.from_numpy(x.numpy()))
    found = found[0] if isinstance(found, tuple) else found
    weights = Weights(model)
    with torch.no_grad():
        expected = formula(weights, x)
    torch.testing.assert_close(
        torch.from_numpy(found.numpy()), expected, rtol=1e-4, atol=1e-5 * expected.abs().max()
    )
    assert not weights.left()


@pytest.mark.parametrize(("name", "options"), [case[:2] for case in CASES], ids=NAMES)
def test_python_and_the_core_draw_the_same_weights(name, options):
    dt.manual_seed(3)
    ours = of_python(name, options).state_dict()
    dt.manual_seed(3)
    core = CoreModel(name, options).state_dict()
    assert list(ours) == list(core)
    for key, value in ours.items():
        assert value.equal(core[key]), key


@pytest.mark.parametrize(
    ("name", "options"),
    [case[:2] for case in CASES if case[0] not in ("alexnet", "vgg11")],
)
def test_gradients_are_those_of_the_architecture(name, options):
    """One step in training: the core's and Python's, from the same weights."""
    _, _, size, _ = next(case for case in CASES if case[0] == name)
    options = options | ({"dropout": 0.0} if "dropout" in signature(name) else {})
    dt.manual_seed(0)
    ours, core = of_python(name, options), CoreModel(name, options)
    ours.train()
    core.module.train()
    core.module.load_state_dict(list(ours.state_dict()), list(ours.state_dict().values()))
    x = dt.randint(0, 11, size) if len(size) == 2 else dt.randn(size)
    for model in (ours, core):
        y = model(x)
        (y[0] if isinstance(y, tuple) else y).square().mean().backward()
    for (key, p), (other, q) in zip(
        ours.named_parameters(), zip(*core.module.named_parameters(), strict=True), strict=True
    ):
        assert key == other
        assert (p.grad is None) == (q.grad is None), key
        if p.grad is not None:
            torch.testing.assert_close(
                torch.from_numpy(p.grad.numpy()), torch.from_numpy(q.grad.numpy()), msg=key
            )


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("alexnet", 61_100_840),
        ("vgg11", 132_863_336),
        ("resnet18", 11_689_512),
        ("resnet34", 21_797_672),
        ("resnet50", 25_557_032),
        ("mobilenet_v2", 3_504_872),
        ("vit_b_16", 86_567_656),
        ("gpt2", 124_439_808),
    ],
)
def test_numbers_of_parameters_are_the_published_ones(name, parameters):
    assert sum(p.numel() for p in getattr(models, name)().parameters()) == parameters


def test_resnet_names_come_in_torchvisions_order():
    names = list(models.resnet18().state_dict())
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    assert names[:6] == ["conv1.weight", *(f"bn1.{part}" for part in norm)]
    assert names[6:12] == ["layer1.0.conv1.weight", *(f"layer1.0.bn1.{part}" for part in norm)]
    assert names[-2:] == ["fc.weight", "fc.bias"] and len(names) == 122
    begin = list(models.vit_b_16(image_size=32, num_layers=1).state_dict())[:5]
    layer = "encoder.layers.encoder_layer_0.ln_1.weight"
    expected = ["class_token", "conv_proj.weight", "conv_proj.bias", "encoder.pos_embedding", layer]
    assert begin == expected


def test_gpt2_takes_published_files():
    dt.manual_seed(0)
    first, second = models.gpt2(**GPT2_SIZES), models.gpt2(**GPT2_SIZES)
    core = CoreModel("gpt2", GPT2_SIZES)
    state = {f"transformer.{name}": value for name, value in first.state_dict().items()}
    state["lm_head.weight"] = state["transformer.wte.weight"]
    state["transformer.h.0.attn.bias"] = dt.ones(1, 1, 16, 16)  # the mask
    second.load_state_dict(state)
    tokens = dt.arange(8).reshape(1, 8)
    assert second.eval()(tokens).equal(first.eval()(tokens))
    core.module.load_state_dict(list(state), list(state.values()))
    assert core(tokens).equal(first(tokens))
    del state["transformer.ln_f.bias"]
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "ln_f.bias"'):
        second.load_state_dict(state)
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "ln_f.bias"'):
        core.module.load_state_dict(list(state), list(state.values()))


def test_gpt2_refuses_what_is_no_state_dict():
    for wrong in ([1], None):
        with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class"):
            models.gpt2(**GPT2_SIZES).load_state_dict(wrong)


def test_hooks_of_gpt2s_layers_see_the_versions_of_a_state_dict():
    model, seen = models.gpt2(**GPT2_SIZES), []
    model.ln_f.register_load_state_dict_pre_hook(
        lambda _, state, prefix, meta, *rest: seen.append(meta)
    )
    model.load_state_dict(model.state_dict())
    assert [meta["version"] for meta in seen] == [1]


def test_gpt2_draws_tokens():
    dt.manual_seed(0)
    model = models.gpt2(**GPT2_SIZES).eval()
    start = dt.tensor([[1, 2, 3]])
    likely = model.generate(start, 20, temperature=0)
    assert likely.shape == (1, 23) and likely[:, :3].equal(start)
    assert likely.equal(model.generate(start, 20, top_k=1))
    with pytest.raises(ValueError, match="17 tokens are more than the context of 16"):
        model(dt.zeros(1, 17, dtype=dt.int64))


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="image_size 30 is no multiple of patch_size 16"):
        models.vit_b_16(image_size=30)
    with pytest.raises(ValueError, match="width 30 is no multiple of heads 4"):
        models.gpt2(width=30, heads=4)
    with pytest.raises(ValueError, match="expected images of 32 x 32, given 32 x 48"):
        models.vit_b_16(image_size=32, num_layers=1)(dt.zeros(1, 3, 32, 48))


@pytest.mark.parametrize("make", [of_python, CoreModel], ids=["python", "core"])
def test_each_model_says_what_it_was_given(make):
    for name in ("lenet", "alexnet", "vgg11", "resnet50", "mobilenet_v2", "vit_b_16"):
        with pytest.raises(ValueError, match="num_classes must be positive, given 0"):
            make(name, {"num_classes": 0})
    for option in ("vocabulary", "context", "layers", "heads"):
        with pytest.raises(ValueError, match=f"GPT2: {option} must be positive, given -1"):
            make("gpt2", {option: -1})
    with pytest.raises(ValueError, match="GPT2: width 30 is no multiple of heads 4"):
        make("gpt2", {"width": 30, "heads": 4})
    with pytest.raises(ValueError, match="tied weights need width 4 and hidden 5 to be equal"):
        make("lstm_lm", {"vocabulary": 9, "width": 4, "hidden": 5, "tie_weights": True})
    with pytest.raises(ValueError, match="image_size 30 is no multiple of patch_size 16"):
        make("vit_b_16", {"image_size": 30})
    with pytest.raises(ValueError, match="image_size 8589934592 is too large"):
        make("vit_b_16", {"image_size": 2**33, "patch_size": 1, "num_layers": 0})
    vit = make("vit_b_16", {"image_size": 32, "num_layers": 1})
    with pytest.raises(ValueError, match="expected images of 32 x 32, given 32 x 48"):
        vit(dt.zeros(1, 3, 32, 48))
    with pytest.raises(ValueError, match="17 tokens are more than the context of 16"):
        make("gpt2", GPT2_SIZES)(dt.zeros(1, 17, dtype=dt.int64))


@pytest.mark.parametrize("make", [of_python, CoreModel], ids=["python", "core"])
def test_models_are_made_where_they_are_told(make):
    for name, options in (("lenet", {}), ("gpt2", GPT2_SIZES), ("vit_b_16", {"num_layers": 1})):
        state = make(name, options | {"dtype": dt.float64, "device": "cpu"}).state_dict()
        assert {x.dtype for x in state.values()} == {dt.float64}


def test_the_core_writes_as_python_does():
    """Also beyond the context; test_generation.py compares Python's with PyTorch."""
    dt.manual_seed(0)
    ours = of_python("gpt2", GPT2_SIZES)
    core = CoreModel("gpt2", GPT2_SIZES)
    for p in ours.parameters():
        if p.ndim > 1:
            p.data.normal_(std=0.3)
    core.module.load_state_dict(list(ours.state_dict()), list(ours.state_dict().values()))
    start = dt.tensor([[3, 1, 4], [1, 5, 9]])
    for options in ({"temperature": 0.0}, {"temperature": 0.8, "top_k": 10, "top_p": 0.9}):
        dt.manual_seed(5)
        expected = ours.generate(start, 30, **options)
        dt.manual_seed(5)
        assert core.module.generate(start, 30, **options).equal(expected)
    for write in (ours.generate, core.module.generate):
        with pytest.raises(ValueError, match="count must not be negative, but got -1"):
            write(start, -1)
        with pytest.raises(ValueError, match=r"a token to go on from, but got \[2, 0\]"):
            write(start[:, :0], 1)
    with pytest.raises(
        TypeError, match="expected a module that writes, such as a GPT2, but got a LeNet"
    ):
        CoreModel("lenet", {}).module.generate(start, 1)


@pytest.mark.parametrize("make", [of_python, CoreModel], ids=["python", "core"])
def test_a_model_with_another_block_writes_with_a_cache_for_that_too(make):
    dt.manual_seed(0)
    model, other = make("gpt2", GPT2_SIZES), make("gpt2", GPT2_SIZES)
    if make is CoreModel:
        model.module.child(3).register_module("3", other.module.child(3).child(0))
        model.generate = model.module.generate
    else:
        model.h.append(other.h[0])
    with dt.no_grad():
        for name, value in model.state_dict().items():
            if name.endswith("weight") and value.ndim > 1:
                value.normal_(std=0.3)
    text = start = dt.tensor([[3, 1, 4]])
    for _ in range(10):
        text = dt.cat([text, model(text)[:, -1:].argmax(-1)], 1)
    assert model.generate(start, 10, temperature=0.0).equal(text)


def test_caches_follow_a_place():
    """As steps on a GPU do that are recorded: what the place says counts, and what lies behind it does not."""
    dt.manual_seed(0)
    model = with_weights_of_all_kinds(of_python("gpt2", GPT2_SIZES))
    capacity = GPT2_SIZES["context"]
    text = dt.randint(0, GPT2_SIZES["vocabulary"], (2, capacity))
    caches = [dt.nn.KVCache(capacity) for _ in range(GPT2_SIZES["layers"])]
    place = dt.tensor([3])
    with dt.no_grad():
        assert model(text[:, :3], caches).allclose(model(text[:, :3]), atol=1e-5)
        for i in range(3, capacity):
            place.fill_(i)
            seen = (dt.arange(capacity) <= place)[None]
            for cache in caches:
                cache.follow(place, seen)
            step = model(text[:, i : i + 1], caches)
            assert step.allclose(model(text[:, : i + 1])[:, -1:], atol=1e-5)
        for cache in caches:
            cache.settle(3)
        assert model(text[:, 3:5], caches).allclose(model(text[:, :5])[:, 3:], atol=1e-5)


def test_what_caches_cannot_follow():
    cache, place, seen = dt.nn.KVCache(4), dt.tensor([0]), dt.ones(1, 4, dtype=dt.bool)
    with pytest.raises(RuntimeError, match="holds nothing"):
        cache.follow(place, seen)
    cache.update(dt.ones(2, 1, 3), dt.ones(2, 1, 3))
    for wrong in ((place.int(), seen), (dt.tensor(0), seen), (place, seen[0]), (place, seen.int())):
        with pytest.raises(RuntimeError, match="expected (place|seen) of size"):
            cache.follow(*wrong)
    assert cache.place is None and cache.seen is None
    for most in (1, 4):  # what it holds, then what may have come
        for length in (-1, 5):
            with pytest.raises(IndexError, match=f"expected a length from 0 to {most}"):
                cache.settle(length)
        cache.follow(place, seen)


def test_each_block_takes_one_cache():
    model = of_python("gpt2", GPT2_SIZES)
    with pytest.raises(ValueError, match="expected 3 caches, one for each block, but got 2"):
        model(dt.arange(4).reshape(1, 4), [dt.nn.KVCache(), dt.nn.KVCache()])


def test_tied_weights_are_one():
    options = {"vocabulary": 9, "width": 4, "hidden": 4, "tie_weights": True}
    core = CoreModel("lstm_lm", options)
    assert len(core.module.named_parameters()[0]) + 1 == len(core.state_dict())
    ours = of_python("lstm_lm", options)
    assert ours.decoder.weight is ours.encoder.weight


def test_summary():
    model = models.lenet()
    printed = models.summary(model, dt.zeros(2, 1, 28, 28)).splitlines()
    assert printed[0].split() == ["layer", "output", "parameters"]
    assert printed[2].split() == ["conv1", "(Conv2d)", "[2,", "6,", "28,", "28]", "156"]
    assert printed[-1] == "61,706 parameters, 61,706 of them trained"
    assert model.training


def test_summary_counts_shared_parameters_once_and_those_of_no_layer():
    shared = dt.nn.Linear(3, 3)
    model = dt.nn.Sequential(shared, dt.nn.ReLU(), shared)
    model.register_parameter("scale", dt.nn.Parameter(dt.ones(5)))
    printed = models.summary(model, dt.zeros(1, 3)).splitlines()
    assert [line.split()[-1] for line in printed[2:-1]] == ["12", "0", "0", "5"]
    assert printed[-1] == "17 parameters, 17 of them trained"
