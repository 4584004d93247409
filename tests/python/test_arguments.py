"""Arguments of PyTorch's that concern devices and implementations: they work, or say why not."""

import array
import re

import dumbtorch as dt
import numpy as np
import pytest
from dumbtorch import _ops


def test_conversions_with_memory_format(both, same):
    def run(t):
        x = t.ones(2, 3, 4, 5)
        last = t.channels_last
        out = [x.to(t.float64, memory_format=last), x.double(memory_format=last), x.to(x.double())]
        out += [x.cpu(memory_format=last), x.float(memory_format=t.preserve_format), x.int()]
        out += [x.to("cpu", t.float64, True, True), x.type(t.int64, non_blocking=True)]
        return out, [y.stride() for y in out]

    same(*both(run))


@pytest.mark.parametrize(
    "text",
    [
        "'cpu', 'cpu'", "t.float, 'cpu'", "t.float, t.float", "'cpu', t.float, 3", "'cpu', False", "t.channels_last",
        "'cpu', t.float, False, t.channels_last", "'cpu', t.float, False, True, True", "[1]", "t.ones(2), 'cpu'",
        "t.ones(2), t.float64", "t.ones(2), dtype=t.float64", "t.float64, dtype=t.float32", "'cpu', device='cpu'",
        "t.float64, None", "foo=1", "t.ones(2), other=t.ones(2)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("what", ["t.ones(2)", "t.nn.Linear(2, 2)"])
def test_arguments_of_to(what, text, refusals):
    ours, theirs = refusals(lambda t: eval(f"{what}.to({text})", {"t": t}), TypeError)
    assert ours[0] is theirs[0]


def test_modules_are_not_copied(refusals):
    ours, theirs = refusals(lambda t: t.nn.Linear(2, 2).to("cpu", copy=True), RuntimeError)
    assert ours == theirs


def test_module_to_memory_format(both, same):
    def run(t):
        net = t.nn.Conv2d(3, 4, 3).to(memory_format=t.channels_last, non_blocking=True)
        return net.weight.stride(), net.bias.stride(), net.double().weight.stride()

    same(*both(run))


def test_volumes_have_no_order_of_images(refusals):
    def run(t):
        t.nn.ConvTranspose3d(2, 3, 1).to(memory_format=t.channels_last)

    ours, theirs = refusals(run, RuntimeError)
    assert ours[1].endswith(theirs[1])


@pytest.mark.parametrize(
    "move",
    [
        lambda: dt.ones(2).to("cuda"),
        lambda: dt.ones(2).cuda(non_blocking=True),
        lambda: dt.nn.Linear(2, 2).to("cuda"),
        lambda: dt.nn.Linear(2, 2).cuda(),
        lambda: dt.zeros(2, device="cuda:0"),
        lambda: dt.tensor([1.0], device="cuda"),
    ],
)
def test_absent_device(move):
    if dt.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(RuntimeError, match="^[a-z]+: device 'cuda:0' is not available: .*CUDA"):
        move()


def test_pin_memory():
    if dt.cuda.is_available():
        assert dt.tensor([1.0], pin_memory=True).is_pinned()
    else:
        with pytest.raises(RuntimeError, match="is not available: .*CUDA"):
            dt.tensor([1.0], pin_memory=True)
    assert dt.tensor([1.0], pin_memory=False).tolist() == [1.0]


def test_asarray_copy(both):
    def run(t):
        x = t.ones(2)
        assert t.asarray(x, copy=False).data_ptr() == x.data_ptr()
        assert t.asarray(x, copy=True).data_ptr() != x.data_ptr()
        assert t.asarray(x.numpy(), copy=False).data_ptr() == x.data_ptr()
        assert t.asarray(x.numpy(), copy=True).data_ptr() != x.data_ptr()
        for data, dtype in (([1, 2], None), (x, t.float64)):
            with pytest.raises(ValueError):
                t.asarray(data, dtype=dtype, copy=False)

    both(run)


def test_asarray_of_buffers(both, same):
    """A buffer's bytes are the elements of the dtype, and its memory is shared."""

    def run(t):
        numbers = array.array("d", [1, 2])
        shared = t.asarray(numbers, dtype=t.float64)
        numbers[1] = 7
        halves = t.asarray(np.array([1.5, 2], np.float16).data, dtype=t.float16)
        capsule = t.utils.dlpack.to_dlpack(t.ones(2))
        return (
            shared,
            halves,
            t.asarray(bytearray(8)),
            t.asarray(bytearray(b"abcd"), dtype=t.int16),
            t.asarray(capsule),
        )

    same(*both(run))


def test_asarray_and_graphs(both, same):
    def run(t):
        def leaf():
            return t.ones(2, requires_grad=True)

        made = [
            t.asarray(y, requires_grad=r) for r in (None, True, False) for y in (leaf(), leaf() * 2)
        ]
        plain = t.ones(2)
        t.asarray(plain, requires_grad=True)
        return [plain.requires_grad, *((y.requires_grad, y.is_leaf) for y in made)]

    same(*both(run))


@pytest.mark.parametrize(
    "call",
    [
        "t.asarray(t.ones(2), dtype=t.float64, copy=False)",
        "t.asarray(np.ones(2), dtype=t.float32, copy=False)",
        "t.asarray(np.float64(3), copy=False)",
        "t.asarray([1, 2], copy=False)",
        "t.asarray(t.ones(2), device='cuda', copy=False)",
        "t.asarray(bytearray(7))",
        "t.frombuffer([1, 2], dtype=t.int8)",
        "t.frombuffer('ab', dtype=t.int8)",
        "t.frombuffer(np.ones((2, 2)).T, dtype=t.float64)",
        "t.asarray(memoryview(bytearray(4))[::2], dtype=t.int8)",
        "t.nonzero(t.ones(2), as_tuple=True, out=t.zeros(2, dtype=t.int64))",
        "t.tensor_split(t.ones(4), t.tensor([1.0, 2.0]))",
        "'a' in t.ones(2)",
        "None in t.ones(2)",
        "t.ones(2).__delitem__(0)",
    ],
)
def test_refused_in_pytorchs_words(call, refusals):
    ours, theirs = refusals(lambda t: eval(call, {"t": t, "np": np}), Exception)
    assert ours == theirs


@pytest.mark.parametrize(
    "call", ["t.empty(2**62)", "t.empty(2**40, 2**40)", "t.ones(2).resize_(2**62)"]
)
def test_sizes_that_overflow(call, refusals):
    (kind, ours), theirs = refusals(lambda t: eval(call), RuntimeError)
    assert (kind, ours.partition(": ")[2]) == theirs


def test_shapes_before_dtypes_of_assigned_values(refusals):
    def assign(t):
        t.arange(3)[t.tensor([True, True, False])] = t.tensor([1.0, 2.0, 3.0])

    (kind, ours), theirs = refusals(assign, RuntimeError)
    assert (kind, ours.removeprefix("index_put_: ")) == theirs


def test_none_for_a_default(both, same):
    def run(t):
        t.set_default_device(None)
        x = t.arange(4).view(2, 2)
        return x.roll(1, None), t.roll(x, 1, dims=None), t.roll(x, 1, 0), t.roll(x, (1, 1), (0, 1))

    same(*both(run))


def test_blocks_with_a_device(both, same):
    def run(t):
        place = t.device("cpu")
        with place as seen, place:
            x = t.ones(2)
        with pytest.raises(ZeroDivisionError), place:
            raise ZeroDivisionError
        return seen == place, str(x.device), str(t.get_default_device())

    same(*both(run))


def test_a_block_with_a_device_ends_where_it_began(monkeypatch):
    set_to = []
    monkeypatch.setattr(_ops, "set_default_device", set_to.append)
    with dt.device("cuda", 1), dt.device("cuda"):
        pass
    assert list(map(str, set_to)) == ["cuda:1", "cuda", "cpu", "cpu"]


@pytest.mark.parametrize(
    ("place", "why"), [("meta", "tensors have memory here"), ("mps", "none for Apple's")]
)
def test_devices_that_are_not_here(place, why, tmp_path):
    dt.save(dt.ones(2), tmp_path / "x.pt")
    for call in (
        lambda: dt.device(place),
        lambda: dt.ones(2).to(place),
        lambda: dt.ones(2, device=place + ":0"),
        lambda: dt.ones(2).to(device=place),
        lambda: dt.ones(2).new_zeros(2, device=place),
        lambda: dt.tensor([1.0], device=place),
        lambda: dt.arange(2, device=place),
        lambda: dt.rand(2, device=place),
        lambda: dt.zeros_like(dt.ones(2), device=place),
        lambda: dt.UntypedStorage(2, device=place),
        lambda: dt.Generator(place),
        lambda: dt.set_default_device(place),
        lambda: dt.nn.Linear(1, 1).to(place),
        lambda: dt.nn.Linear(1, 1).to_empty(device=place),
        lambda: dt.nn.Linear(1, 1, device=place),
        lambda: dt.nn.LSTM(1, 1, device=place),
        lambda: dt.nn.LazyLinear(1, device=place),
        lambda: dt.nn.UninitializedParameter(device=place),
        lambda: dt.load(tmp_path / "x.pt", map_location=place),
        lambda: dt.load(tmp_path / "x.pt", map_location={"cpu": place}),
    ):
        with pytest.raises(RuntimeError, match=f"Expected one of cpu, cuda device type.*{why}"):
            call()


def test_the_default_generator_is_an_object(both, same):
    def run(t):
        t.manual_seed(3)
        state = t.default_generator.get_state()
        x = t.rand(2, generator=t.default_generator)
        t.default_generator.set_state(state)
        return (
            t.default_generator.initial_seed(),
            str(t.default_generator.device),
            bool((x == t.rand(2)).all()),
        )

    same(*both(run))


def test_sizes_are_tuples_that_stay_sizes(both):
    def run(t):
        size = t.Size([1, 2])
        made = [
            size + (3,),
            (3,) + size,
            size + size,
            size * 2,
            2 * size,
            size[:1],
            t.ones(2).shape * 2,
        ]
        assert all(type(x) is t.Size for x in made)
        return list(map(tuple, made))

    ours, theirs = both(run)
    assert ours == theirs


def test_reversed_and_empty(both, same):
    def run(t):
        x = t.arange(6).view(2, 3)
        where = [t.empty(0).data_ptr(), x[:0].data_ptr(), x.view(-1)[6:].data_ptr()]
        return reversed(x), reversed(t.tensor(1)), 3 in x, 7 in x, t.tensor(2) in x, where

    same(*both(run))


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("cpu", None),
        (dt.device("cpu"), None),
        ({"cuda:0": "cpu"}, None),
        ({"cpu": "mps"}, RuntimeError),
        (lambda storage, place: storage, None),
        ("nowhere", RuntimeError),
    ],
)
def test_map_location(where, error, tmp_path):
    path = tmp_path / "x.dt"
    dt.save({"x": dt.ones(2)}, path)
    if error is None:
        assert dt.load(path, map_location=where)["x"].tolist() == [1.0, 1.0]
    else:
        with pytest.raises(error):
            dt.load(path, map_location=where)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_implementations_of_optimizers(optimizer, both):
    def run(t):
        make = getattr(t.optim, optimizer)
        params = [t.ones(1, requires_grad=True)]
        for options in ({"foreach": True}, {"foreach": False, "fused": False}):
            make(params, lr=0.1, **options).step()
        with pytest.raises(RuntimeError, match="cannot be `True` together"):
            make(params, lr=0.1, foreach=True, fused=True)

    both(run)
    with pytest.raises(NotImplementedError, match="differentiable"):
        getattr(dt.optim, optimizer)([dt.ones(1, requires_grad=True)], differentiable=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"num_workers": -1}, "num_workers option should be non-negative"),
    ],
)
def test_refused_loader_options(options, message, both):
    def run(t):
        with pytest.raises(ValueError, match=message):
            t.utils.data.DataLoader([1, 2], **options)

    both(run)


def test_lists_of_tensors_are_lists(torch):
    """What a generator makes is gone when the library looks at it."""
    for t in (dt, torch):
        x = t.ones(2, 2)
        for several in (x, (x * i for i in range(3)), None, 1, {1: x}):
            with pytest.raises(TypeError, match="must be tuple of Tensors"):
                t.cat(several)
            with pytest.raises(TypeError, match="must be tuple of Tensors"):
                t.stack(several)


def test_silu_in_place(torch):
    """It wrote over what its own gradient reads."""
    results = []
    for t in (dt, torch):
        x = t.linspace(-3, 3, 7, dtype=t.float64).requires_grad_()
        y = t.nn.SiLU(inplace=True)(x * 2)
        (g,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
        results.append((g.tolist(), t.autograd.grad((g * g).sum(), x)[0].tolist()))
    for ours, theirs in zip(*results, strict=True):
        assert ours == pytest.approx(theirs)


def test_inplace_as_a_position(torch):
    for t in (dt, torch):
        f = t.nn.functional
        x = t.tensor([-1.0, 2.0])
        assert f.leaky_relu(x, 0.5, True) is x and x.tolist() == [-0.5, 2.0]
        assert f.elu(x, 0.0, True) is x and x.tolist() == [0.0, 2.0]


def test_normal_of_negative_deviation(torch):
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="normal expects std >= 0.0, but found std -1"):
            t.normal(0.0, -1.0, (2,))


# ---- what stands for a bool, an integer, a list of them

BOOLS = {
    "keepdim": lambda t, x, v: x.sum(1, keepdim=v),
    "by position": lambda t, x, v: x.max(1, v),
    "largest": lambda t, x, v: x.topk(1, 0, v),
    "unbiased": lambda t, x, v: x.var(1, unbiased=v),
    "training": lambda t, x, v: t.nn.functional.dropout(x, 0.0, v),
    "ceil_mode": lambda t, x, v: t.nn.functional.max_pool2d(x, 2, ceil_mode=v),
    "requires_grad": lambda t, x, v: t.zeros(2, requires_grad=v),
    "requires_grad_": lambda t, x, v: t.zeros(2).requires_grad_(v),
    "set_grad_enabled": lambda t, x, v: t.set_grad_enabled(v),
    "is_causal": lambda t, x, v: t.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=v),
}
INTS = {
    "cumsum": lambda t, x, v: x.cumsum(v),
    "softmax": lambda t, x, v: x.softmax(v),
    "diff": lambda t, x, v: x.diff(v),
    "tril": lambda t, x, v: x.tril(v),
    "groups": lambda t, x, v: t.nn.functional.conv1d(x, t.ones(3, 3, 1), groups=v),
    "repeat_interleave": lambda t, x, v: x.repeat_interleave(v, 1),
}
LISTS = {
    "sum": lambda t, x, v: x.sum(v),
    "flip": lambda t, x, v: x.flip(v),
    "zeros": lambda t, x, v: t.zeros(v, 2),
    "reshape": lambda t, x, v: x.reshape([v, -1]),
    "expand": lambda t, x, v: t.ones(1).expand(v),
    "stride": lambda t, x, v: t.nn.functional.conv1d(x, t.ones(3, 3, 1), stride=v),
    "max_pool2d": lambda t, x, v: t.nn.functional.max_pool2d(x, v),
}
GIVEN = {
    "0": lambda t: 0,
    "1": lambda t: 1,
    "True": lambda t: True,
    "1.0": lambda t: 1.0,
    "int64": lambda t: np.int64(1),
    "float32": lambda t: np.float32(1.5),
    "a tensor": lambda t: t.tensor(1),
    "a float tensor": lambda t: t.tensor(1.5),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", [*BOOLS, *INTS, *LISTS])
def test_bools_and_integers(name, given, both):
    """PyTorch takes neither for the other, and no number of floats for an integer."""
    call = {**BOOLS, **INTS, **LISTS}[name]

    def run(t):
        try:
            call(t, t.arange(24.0).reshape(2, 3, 4), GIVEN[given](t))
        except (TypeError, RuntimeError) as error:
            return type(error)
        finally:
            t.set_grad_enabled(True)
        return None

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("call", [
    lambda t: t.ones(2).sum(0, keepdim=1),
    lambda t: t.ones(2).cumsum(True),
    lambda t: t.ones(2).topk(True),
    lambda t: t.set_grad_enabled(0),
])  # fmt: skip
def test_what_is_said_of_them(call, both):
    def run(t):
        with pytest.raises(TypeError) as error:
            call(t)
        return re.findall("must be .*, not .*", str(error.value))

    ours, theirs = both(run)
    assert ours == theirs


def test_seeds_and_flags_that_python_converts(both):
    """These are Python's in PyTorch, too."""

    def run(t):
        t.manual_seed(1.5)
        x = t.ones(2, requires_grad=True)
        x.sum().backward(retain_graph=1)
        return t.autograd.grad(x.sum(), x, create_graph=1)[0].tolist(), t.initial_seed()

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("flag", [0, 1, None])
def test_numbers_are_flags_of_functions_that_are_python_in_pytorch(flag, both, same):
    """A function whose arguments C++ reads takes bools alone."""

    def run(t):
        t.manual_seed(0)
        x, layer = t.linspace(0, 1, 8).reshape(2, 1, 4), t.nn.MultiheadAttention(4, 2)
        for p in layer.parameters():
            p.data = t.linspace(-1, 1, p.numel()).reshape(p.shape)
        layer.add_zero_attn = flag
        attended = layer(x, x, x, need_weights=1, average_attn_weights=flag, is_causal=0)
        image = t.arange(16.0).reshape(1, 1, 4, 4)
        smaller = t.nn.functional.interpolate(image, size=2, mode="bilinear", antialias=flag)
        w = t.ones(2, requires_grad=True)
        w.sum().backward()
        norm = t.nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=flag)
        return *attended, smaller, norm, w.grad

    same(*both(run))
