"""autocast: regions, weights that are cast once, training, threads, functions of the user's; as PyTorch."""

import threading
import warnings

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

BOTH = pytest.mark.parametrize("t", [torch, dt], ids=["torch", "dumbtorch"])
LOWER = pytest.mark.parametrize("lower", ["bfloat16", "float16"])


def name(x) -> str:
    return str(x.dtype).removeprefix("torch.")


# ---- regions


@BOTH
def test_regions_lie_in_each_other(t):
    x = t.ones(2, 2)
    seen = []

    def look():
        seen.append((name(x @ x), t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu"))))

    look()
    with t.autocast("cpu"):
        look()
        with t.autocast("cpu", t.float16):
            look()
            with t.autocast("cpu", enabled=False):
                look()
            with t.autocast(device_type="cpu"):
                look()
        look()
    look()
    assert [s[0] for s in seen] == [
        "float32",
        "bfloat16",
        "float16",
        "float32",
        "float16",
        "bfloat16",
        "float32",
    ]
    assert [s[1] for s in seen] == [False, True, True, False, True, True, False]
    assert seen[3][2] == "torch.float16" and seen[-1][2] == "torch.bfloat16"


@BOTH
def test_a_region_ends_with_an_error(t):
    region = t.autocast("cpu", t.float16)
    with pytest.raises(ValueError, match="stop"), region:
        raise ValueError("stop")
    with region:
        assert name(t.ones(1, 1) @ t.ones(1, 1)) == "float16"
    assert not t.is_autocast_enabled("cpu") and t.get_autocast_dtype("cpu") is t.bfloat16


def test_one_object_within_itself():
    region = dt.autocast("cpu", dt.float16)
    with region, region:
        assert name(dt.ones(1, 1) @ dt.ones(1, 1)) == "float16"
    assert not dt.is_autocast_enabled("cpu")  # PyTorch's stays on


@BOTH
def test_decorator(t):
    @t.autocast("cpu")
    def product(x, *, other):
        """Words."""
        return x @ other

    x = t.ones(2, 2)
    assert name(product(x, other=x)) == "bfloat16" and product.__doc__ == "Words."
    assert name(x @ x) == "float32"
    with pytest.raises(TypeError, match="requires a callable, but got Tensor"):
        t.autocast("cpu")(x)


@BOTH
def test_settings(t):
    before = t.get_autocast_dtype("cpu")
    t.set_autocast_enabled("cpu", True)
    t.set_autocast_dtype("cpu", t.float16)
    t.set_autocast_cache_enabled(False)
    try:
        assert name(t.ones(1, 1) @ t.ones(1, 1)) == "float16"
        assert t.is_autocast_enabled("cpu") and not t.is_autocast_enabled("cuda")
        assert not t.is_autocast_cache_enabled()
    finally:
        t.set_autocast_enabled("cpu", False)
        t.set_autocast_dtype("cpu", before)
        t.set_autocast_cache_enabled(True)
        t.clear_autocast_cache()
    assert t.amp.is_autocast_available("cpu") and not t.amp.is_autocast_available("meta")


OTHER_DEVICES = (
    ", ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, "
    "hpu, mtia, privateuseone"
)


def test_refusals():
    def refusals(t):
        out = []
        for call in (
            lambda: t.autocast("meta", dtype=t.bfloat16),
            lambda: t.autocast(1),
            lambda: t.amp.custom_fwd(device_type=1),
            lambda: t.amp.custom_bwd(device_type=None),
        ):
            with pytest.raises((RuntimeError, ValueError)) as error:
                call()
            out.append((error.type, str(error.value)))
        with pytest.warns(UserWarning) as caught:
            region = t.autocast("cpu", t.float64)
        with region:
            out.append((name(t.ones(1, 1) @ t.ones(1, 1)), [str(w.message) for w in caught]))
        return out

    assert refusals(dt) == refusals(torch)


@pytest.mark.parametrize("place", ["cpu:0", "cpu:1", "cuda:0", "nope", "cpu:", "cpu:x", "CPU", ""])
def test_devices_with_a_number(place, torch):
    """Which `str(x.device)` may be."""

    def run(t):
        def enter():
            with t.autocast(place) as region:
                return (
                    region.device,
                    str(region.fast_dtype),
                    name(t.ones(2, 2) @ t.ones(2, 2)),
                )

        out = []
        for call in (
            enter,
            lambda: t.amp.is_autocast_available(place),
            lambda: t.is_autocast_enabled(place),
            lambda: str(t.get_autocast_dtype(place)),
            lambda: t.set_autocast_dtype(place, t.get_autocast_dtype(place)),
            lambda: t.set_autocast_enabled(place, False),
        ):
            try:
                out.append(call())
            except RuntimeError as error:
                out.append(str(error).replace(OTHER_DEVICES, ""))
        return out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there may be no GPU
        assert run(dt) == run(torch)


def test_old_names():
    with dt.cpu.amp.autocast(dtype=dt.float16):
        assert name(dt.ones(1, 1) @ dt.ones(1, 1)) == "float16"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no GPU
        with dt.cuda.amp.autocast():
            assert name(dt.ones(1, 1) @ dt.ones(1, 1)) == "float32"
        assert dt.cuda.amp.GradScaler(enabled=False).get_scale() == 1
    assert dt.get_autocast_gpu_dtype() is dt.float16 and dt.get_autocast_cpu_dtype() is dt.bfloat16
    assert not dt.is_autocast_enabled() and not dt.is_autocast_cpu_enabled()


def test_a_thread_begins_without():
    seen = {}

    def look(key):
        x = dt.ones(2, 2)
        seen[key] = name(x @ x), dt.is_autocast_enabled("cpu")

    def inside():
        look("before")
        with dt.autocast("cpu", dt.float16):
            look("inside")
        look("after")

    with dt.autocast("cpu"):
        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        look("here")
    off = ("float32", False)
    assert seen == {
        "before": off,
        "inside": ("float16", True),
        "after": off,
        "here": ("bfloat16", True),
    }


# ---- what is not cast


@BOTH
def test_what_is_written_stays(t):
    x = t.ones(2, 2)
    with t.autocast("cpu"):
        out = t.empty(2, 2)
        assert t.mm(x, x, out=out) is out and name(out) == "float32"
        assert name(x.clone().addmm_(x, x)) == "float32"
        assert name(x + x) == "float32" and name(x.double() @ x.double()) == "float64"
        assert name(t.ones(2, 2, dtype=t.int64) @ t.ones(2, 2, dtype=t.int64)) == "int64"
        assert name(t.rand(2)) == "float32" and name(t.zeros(2)) == "float32"
        with pytest.raises(RuntimeError, match="dtype"):
            x.bfloat16().addmm_(x, x)


# ---- weights


def test_a_weight_is_cast_once():
    w = dt.ones(2, 2).requires_grad_()
    handles = dt.live_handles()
    with dt.autocast("cpu"):
        with dt.no_grad():
            assert not (dt.ones(2, 2) @ w).requires_grad
        y = dt.ones(2, 2) @ w
        assert y.requires_grad  # the cast was made where nothing is recorded
        y.sum().backward()
        (dt.ones(2, 2) @ w).sum().backward()  # through the same cast again
    assert w.grad.dtype is dt.float32 and w.grad.tolist() == [[4, 4], [4, 4]]
    del y
    assert dt.live_handles() <= handles + 1


def test_a_weight_that_changes_is_cast_again():
    w = dt.ones(2, 2).requires_grad_()
    x = dt.ones(2, 2)
    with dt.autocast("cpu"):
        assert (x @ w).tolist() == [[2, 2], [2, 2]]
        with dt.no_grad():
            w.mul_(3)
        assert (x @ w).tolist() == [[6, 6], [6, 6]]
        with dt.autocast("cpu", dt.float16):
            assert name(x @ w) == "float16"


# ---- training


def network(t):
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 16), nn.ReLU(), nn.Dropout(0.0),
        nn.Linear(16, 5),
    )  # fmt: skip


def train(t, state, images, labels, lower, steps=30):
    net = network(t)
    net.load_state_dict({k: t.tensor(v) for k, v in state.items()})
    optimizer = t.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = t.tensor(images), t.tensor(labels)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with t.autocast("cpu", getattr(t, lower)):
            out = net(x)
            loss = t.nn.functional.cross_entropy(out, y)
        assert name(out) == lower and name(loss) == "float32"
        loss.backward()
        assert all(p.grad.dtype is t.float32 for p in net.parameters())
        optimizer.step()
        losses.append(loss.item())
    return losses


@LOWER
def test_losses_lie_on_pytorchs(lower):
    torch.manual_seed(0)
    state = {k: v.numpy() for k, v in network(torch).state_dict().items()}
    random = np.random.default_rng(0)
    images = random.standard_normal((16, 1, 8, 8)).astype("float32")
    labels = random.integers(0, 5, 16)
    ours, theirs = (train(t, state, images, labels, lower) for t in (dt, torch))
    assert theirs[-1] < theirs[0] / 2
    # Each step may add a place forward and one backward to how far the losses are apart.
    places = 2 * torch.finfo(getattr(torch, lower)).eps * np.arange(1, len(theirs) + 1)
    distance = np.abs(np.subtract(ours, theirs))
    np.testing.assert_array_less(distance, places * theirs)


# ---- functions of the user's


def square(t, cast_inputs, region):
    seen = []

    class Square(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, x):
            seen.append((name(x), t.is_autocast_enabled("cpu")))
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append(
                (name(grad), t.is_autocast_enabled("cpu"), name(t.ones(1, 1) @ t.ones(1, 1)))
            )
            return grad @ x.T.to(grad.dtype)

    x = t.ones(2, 2).requires_grad_()
    with t.autocast("cpu", enabled=region):
        y = Square.apply(x)
    y.sum().backward()
    return seen, name(y), name(x.grad), x.grad.tolist()


@pytest.mark.parametrize("region", [True, False])
@pytest.mark.parametrize("cast", [None, "float32", "float16"])
def test_custom_functions(cast, region):
    ours, theirs = (square(t, cast and getattr(t, cast), region) for t in (dt, torch))
    assert ours == theirs


# ---- cross_entropy, which widens what it reads

LOSSES = {
    "mean": {},
    "none": {"reduction": "none"},
    "sum, weighted": {"reduction": "sum", "weight": True},
    "smooth": {"label_smoothing": 0.1, "weight": True, "ignore_index": 2},
}


@LOWER
@pytest.mark.parametrize("options", LOSSES.values(), ids=LOSSES)
def test_cross_entropy_is_that_of_wide_logits(options, lower):
    """Bit for bit: the loss is float32, the gradient is rounded once."""
    lower = getattr(dt, lower)
    rng = np.random.default_rng(0)
    logits = dt.from_numpy(rng.normal(size=(7, 33)).astype("float32") * 3).to(lower)
    target = dt.from_numpy(rng.integers(0, 33, 7))
    weight = dt.from_numpy(rng.uniform(0.5, 2, 33).astype("float32"))
    given = {**options, "weight": weight} if "weight" in options else options
    found = []
    for is_cast in (False, True):
        x = logits.clone().requires_grad_()
        if is_cast:
            loss = dt.nn.functional.cross_entropy(x.float(), target, **given)
        else:
            with dt.autocast("cpu", lower):
                loss = dt.nn.functional.cross_entropy(x, target, **given)
        loss.sum().backward()
        assert loss.dtype == dt.float32 and x.grad.dtype == lower
        found.append((loss.detach().numpy(), x.grad.float().numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@LOWER
def test_cross_entropy_of_probabilities(lower):
    for t in (torch, dt):
        x = t.ones(2, 3, dtype=getattr(t, lower))
        with t.autocast("cpu", getattr(t, lower)):
            loss = t.nn.functional.cross_entropy(x, t.full((2, 3), 1 / 3))
        assert name(loss) == "float32"
        assert abs(loss.item() - np.log(3)) < 1e-6
