"""Two GPUs at once: each op on the second one, copies and gradients between them, and that what happens on one leaves
the other alone. Everything is compared with the CPU."""

import threading

import dumbtorch as dt
import numpy as np
import pytest

F = dt.nn.functional
FIRST, SECOND = "cuda:0", "cuda:1"
DEVICES = (FIRST, SECOND)
if dt.cuda.device_count() < 2:
    pytest.skip("two CUDA devices are needed", allow_module_level=True)


@pytest.fixture(autouse=True)
def exact_floats():
    """Convolutions without TF32, so that they can be compared with the CPU's; the device that "cuda" means stays."""
    dt.backends.cudnn.allow_tf32 = False
    yield
    dt.backends.cudnn.allow_tf32 = True
    for device in DEVICES:
        dt.cuda.synchronize(device)
    dt.cuda.set_device(0)


def numbers(*sizes):
    return np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32)


def results(f, arrays, device):
    """f's results and the gradients of the first one with respect to the arguments, as arrays."""
    leaves = [dt.tensor(a).to(device).requires_grad_() for a in arrays]
    outputs = f(*leaves)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if outputs[0].requires_grad:
        outputs[0].backward(dt.tensor(numbers(*outputs[0].shape)).to(device))
    gradients = [x.grad for x in leaves if x.grad is not None]
    assert all(str(x.device) == device for x in (*outputs, *gradients))
    return [x.detach().cpu().numpy() for x in (*outputs, *gradients)]


def assert_close(got, right):
    assert len(got) == len(right)
    for a, b in zip(got, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5 * max(1.0, np.abs(b).max(initial=0)))


def keep_busy(device):
    """Work for a tenth of a second, so that what is sent to the device next begins late."""
    x = dt.full((4096, 4096), 1 / 4096, device=device)
    for _ in range(40):
        x = x @ x


def choose(x):
    return x.index_select(0, dt.tensor([3, 0, 3, 7], device=x.device))


def classify(x):
    return F.cross_entropy(x, dt.arange(x.shape[0], device=x.device) % x.shape[1])


def embed(weight):
    return F.embedding(dt.tensor([[1, 4], [4, 0]], device=weight.device), weight)


def normalize_batch(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, True)


def normalize_rows(x, weight, bias):
    return F.layer_norm(x, x.shape[1:], weight, bias)


# Rows of 8,192 and 16,384 floats in layer_norm, and the weight gradients of convolutions of few channels, take more
# shared memory than kernels get unasked: that is granted per device. The products and convolutions are large enough
# for their libraries, whose handles and plans belong to a device.
OPS = {
    "pointwise": (lambda x, y: (x * y + x).exp().tanh(), (70, 33), (33,)),
    "softmax": (lambda x: F.softmax(x, 1), (40, 3000)),
    "layer_norm 8192": (normalize_rows, (40, 8192), (8192,), (8192,)),
    "layer_norm 16384": (normalize_rows, (40, 16384), (16384,), (16384,)),
    "batch_norm": (normalize_batch, (8, 5, 9, 9), (5,), (5,)),
    "cross_entropy": (classify, (50, 1000)),
    "cumsum": (lambda x: dt.cumsum(x, 1), (7, 100_000)),
    "matmul": (lambda x, y: x @ y, (40, 50), (50, 60)),
    "large matmul": (lambda x, y: x @ y, (512, 300), (300, 700)),
    "bmm": (dt.bmm, (9, 40, 50), (9, 50, 60)),
    "linear": (F.linear, (64, 784), (128, 784), (128,)),
    "conv of few channels": (lambda *a: F.conv2d(*a, padding=1), (16, 3, 64, 64), (8, 3, 3, 3), (8,)),
    "conv 5x5": (lambda *a: F.conv2d(*a, padding=2), (4, 1, 90, 131), (6, 1, 5, 5), (6,)),
    "conv of many channels": (lambda *a: F.conv2d(*a, padding=1), (8, 64, 28, 28), (64, 64, 3, 3), (64,)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (4, 3, 28, 28)),
    "index_select": (choose, (9, 130)),
    "embedding": (embed, (5, 64)),
    "argmax": (lambda x: x.argmax(1), (40, 1000)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_ops(name):
    """On the first device, the second and the first again: what is set up once must be so on each."""
    f, *sizes = OPS[name]
    arrays = [numbers(*s) for s in sizes]
    truth = results(f, arrays, "cpu")
    for device in (FIRST, SECOND, FIRST):
        assert_close(results(f, arrays, device), truth)


def test_sorted_positions():
    """randperm sorts, and so do writes through many indices."""
    index = np.random.default_rng(1).integers(0, 50_000, 200_000)
    sums = np.zeros(50_000, np.float32)
    np.add.at(sums, index, 1)
    for device in (SECOND, FIRST):
        dt.manual_seed(4)
        order = dt.randperm(100_000, device=device)
        dt.manual_seed(4)
        assert dt.equal(order.cpu(), dt.randperm(100_000))
        ones = dt.ones(len(index), device=device)
        added = dt.zeros(50_000, device=device).index_add(0, dt.tensor(index).to(device), ones)
        assert (added.cpu().numpy() == sums).all()


def test_interleaved_work():
    """Op by op on both devices in turn, without waiting."""
    x = {d: dt.arange(1000.0, device=d) for d in ("cpu", *DEVICES)}
    for i in range(100):
        for device in x:
            x[device] = (x[device] * 3 + i).remainder(1001)
    assert all(dt.equal(x[d].cpu(), x["cpu"]) for d in DEVICES)


# ---- copies


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("way", [DEVICES, DEVICES[::-1]], ids=" to ".join)
def test_copies(dtype, way):
    here, there = way
    x = dt.arange(24, device=here).reshape(2, 3, 4).to(getattr(dt, dtype))
    views = (x, x.permute(2, 0, 1), x[:, ::2], x[:1].expand(5, 3, 4), x[0, 0, 1], x[:0])
    for view in views:
        for non_blocking in (False, True):
            y = view.to(there, non_blocking=non_blocking)
            assert str(y.device) == there and y.dtype == x.dtype and y.tolist() == view.tolist()
        assert view.to(there, dt.float64).tolist() == view.to(dt.float64).tolist()
    target = dt.zeros(4, 3, 2, device=there).permute(2, 1, 0)
    target.copy_(x)
    assert target.tolist() == x.float().tolist()
    target.copy_(x[:, :, :1])
    assert target.tolist() == x[:, :, :1].expand(2, 3, 4).float().tolist()


@pytest.mark.parametrize("way", [DEVICES, DEVICES[::-1]], ids=" to ".join)
def test_a_copy_is_of_what_was_there(way):
    """The destination is late, and the source is changed as soon as the copy was asked for."""
    here, there = way
    x = dt.ones(1 << 22, device=here)
    copies = [x.to(there) for _ in range(10)]
    keep_busy(there)
    for y in copies:
        y.copy_(x)
        x.add_(1)
    for i, y in enumerate(copies):
        assert y.amin().item() == y.amax().item() == i + 1


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("on_a_stream", [False, True])
def test_memory_waits_for_a_copy(step, on_a_stream):
    """The source, or what was made of it to be copied, is gone before the copy begins; its memory goes to others."""
    x = dt.full((1 << 22, 2), 7.0, device=FIRST)
    with dt.cuda.stream(dt.cuda.Stream(device=SECOND) if on_a_stream else None):
        x[:, ::step].to(SECOND)  # leaves memory for the next one: nothing waits for the driver
        keep_busy(SECOND)
        y = x[:, ::step].to(SECOND)
        del x
        others = [dt.full((1 << 22, i), 9.0, device=FIRST) for i in (1, 2)]
        assert y.amin().item() == y.amax().item() == 7
    assert all(x.amin().item() == 9 for x in others)


def test_pinned_memory_serves_both():
    x = dt.arange(1 << 16).pin_memory()
    back = dt.zeros(1 << 16, dtype=dt.int64).pin_memory()
    for device in DEVICES:
        y = x.to(device, non_blocking=True) + 1
        back.copy_(y, non_blocking=True)
        dt.cuda.synchronize(device)
        assert dt.equal(back, x + 1)
    assert dt.equal(x[:100].to(FIRST).to(SECOND).cpu(), x[:100])


# ---- gradients and training


def test_a_gradient_comes_by_two_ways():
    x = dt.arange(6.0, device=FIRST).requires_grad_()
    scale = dt.tensor(3.0, device=SECOND, requires_grad=True)
    y = (x.to(SECOND) * scale).to(FIRST) + x * x
    y.sum().backward()
    assert str(x.grad.device) == FIRST and x.grad.tolist() == [3 + 2 * i for i in range(6)]
    assert str(scale.grad.device) == SECOND and scale.grad.item() == 15


class TwoParts(dt.nn.Module):
    """The first half of a network on one device, the second half on another."""

    def __init__(self, first, second):
        super().__init__()
        dt.manual_seed(0)
        self.devices = first, second
        self.front = dt.nn.Sequential(
            dt.nn.Conv2d(1, 4, 3, padding=1), dt.nn.Tanh(), dt.nn.Flatten(), dt.nn.Linear(256, 32)
        ).to(first)
        self.back = dt.nn.Sequential(dt.nn.LayerNorm(32), dt.nn.Linear(32, 10)).to(second)

    def forward(self, x):
        return self.back(self.front(x.to(self.devices[0])).tanh().to(self.devices[1]))


def train(model, optimizers, steps=20, max_norm=None):
    """The losses, and the norms of the gradients if they are clipped."""
    dt.manual_seed(1)
    schedules = [dt.optim.lr_scheduler.StepLR(o, 7, 0.5) for o in optimizers]
    history = []
    for _ in range(steps):
        x, target = dt.randn(16, 1, 8, 8), dt.randint(0, 10, (16,))
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target.to(model.devices[1]))
        loss.backward()
        history.append(loss.item())
        if max_norm:
            history.append(dt.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item())
        for optimizer in optimizers:
            optimizer.step()
        for schedule in schedules:
            schedule.step()
    return history


def test_a_model_on_two_devices():
    """An optimizer for each device."""
    histories = []
    for first, second in (("cpu", "cpu"), DEVICES, DEVICES[::-1]):
        model = TwoParts(first, second)
        parts = (model.front, model.back)
        optimizers = [dt.optim.SGD(p.parameters(), lr=0.1, momentum=0.9) for p in parts]
        histories.append(train(model, optimizers))
    assert histories[1] == pytest.approx(histories[0], rel=1e-4)
    assert histories[2] == pytest.approx(histories[0], rel=1e-4)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("devices", [DEVICES, ("cpu", SECOND), (SECOND, "cpu")], ids=" and ".join)
def test_one_optimizer_for_two_devices(kind, devices):
    options = {"momentum": 0.9} if kind == "SGD" else {}
    histories = []
    for first, second in (("cpu", "cpu"), devices):
        model = TwoParts(first, second)
        optimizer = getattr(dt.optim, kind)(model.parameters(), lr=0.01, **options)
        histories.append(train(model, [optimizer]))
        assert {str(p.device) for p in model.parameters()} == {first, second}
    assert histories[1] == pytest.approx(histories[0], rel=1e-4)


def test_gradients_on_two_devices_are_clipped_together():
    histories = []
    for first, second in (("cpu", "cpu"), DEVICES):
        model = TwoParts(first, second)
        parts = (model.front, model.back)
        optimizers = [dt.optim.SGD(p.parameters(), lr=0.1) for p in parts]
        histories.append(train(model, optimizers, max_norm=0.5))
    assert histories[1] == pytest.approx(histories[0], rel=1e-4)


def test_a_model_moves_between_steps():
    """SGD without momentum has no state, so the parameters may go elsewhere."""
    model = dt.nn.Linear(3, 2)
    optimizer = dt.optim.SGD(model.parameters(), lr=0.5)
    for device in ("cpu", FIRST, SECOND, FIRST, "cpu"):
        model.to(device)
        model.zero_grad()
        before = model.bias.detach().clone()
        model(dt.ones(4, 3, device=device)).sum().backward()
        optimizer.step()
        assert str(model.bias.device) == device == str(model.bias.grad.device)
        assert (before - model.bias.detach()).tolist() == pytest.approx([2, 2])


# ---- the current device, random numbers


def test_the_current_device():
    seen = []
    dt.cuda.set_device(1)
    thread = threading.Thread(target=lambda: seen.append(dt.cuda.current_device()))
    thread.start()
    thread.join()
    assert seen == [0] and dt.cuda.current_device() == 1
    here = dt.ones(2, device="cuda")
    assert [str(x.device) for x in (here, dt.ones(2).cuda(), here.to(FIRST).cuda())] == [SECOND] * 3
    assert str(dt.nn.Linear(2, 2).cuda().weight.device) == SECOND
    assert str(dt.nn.Linear(2, 2).cuda(0).weight.device) == FIRST
    before = dt.cuda.memory_allocated()
    more = dt.ones(1 << 20, device=SECOND)
    assert dt.cuda.memory_allocated() - before == more.numel() * 4
    assert dt.cuda.Stream().device == dt.device(SECOND)
    with pytest.raises(RuntimeError, match="is not available: this machine has"):
        dt.cuda.set_device(dt.cuda.device_count())
    assert dt.cuda.current_device() == 1


def test_random_numbers_are_those_of_the_cpu():
    """Each device counts its own draws."""
    for draw in (
        lambda d: dt.rand(1000, device=d),
        lambda d: dt.randn(1001, device=d, dtype=dt.float64),
        lambda d: dt.randint(-50, 50, (999,), device=d),
        lambda d: dt.randperm(5000, device=d),
        lambda d: F.dropout(dt.ones(1003, device=d), 0.3, True),
    ):
        dt.manual_seed(3)
        here = [draw("cpu").tolist() for _ in range(2)]
        dt.manual_seed(3)
        there = {d: [] for d in DEVICES}
        for _ in range(2):
            for device in DEVICES:
                there[device].append(draw(device).tolist())
        assert there == {d: here for d in DEVICES}


# ---- streams, events, captured steps


def test_a_stream_waits_for_an_event_of_the_other_device():
    side = dt.cuda.Stream(device=SECOND)
    keep_busy(FIRST)
    ready = dt.cuda.Event(device=FIRST)
    ready.record()
    side.wait_event(ready)
    start, end = (dt.cuda.Event(enable_timing=True, device=SECOND) for _ in range(2))
    side.record_event(start)
    with dt.cuda.stream(side):
        x = dt.ones(1000, device=SECOND) * 2
    side.record_event(end)
    end.synchronize()
    assert ready.query() and x.tolist() == [2.0] * 1000 and start.elapsed_time(end) > 0
    other = dt.cuda.Stream(device=FIRST)
    other.wait_stream(side)
    other.synchronize()
    assert other.query()


def test_streams_and_events_of_another_device_are_refused():
    stream, x = dt.cuda.Stream(device=SECOND), dt.ones(3, device=FIRST)
    here, there = (dt.cuda.Event(enable_timing=True, device=d) for d in DEVICES)
    with pytest.raises(RuntimeError, match="the event belongs to 'cuda:0', the stream to 'cuda:1'"):
        here.record(stream)
    with pytest.raises(RuntimeError, match="the events belong to 'cuda:0' and 'cuda:1'"):
        here.elapsed_time(there)
    with pytest.raises(RuntimeError, match="the stream belongs to 'cuda:1', the tensor to"):
        x.record_stream(stream)


def test_streams_of_both_devices_are_current_at_once():
    with (
        dt.cuda.stream(dt.cuda.Stream(device=FIRST)),
        dt.cuda.stream(dt.cuda.Stream(device=SECOND)),
    ):
        x = dt.arange(1000.0, device=FIRST)
        for i in range(20):
            x = x.to(DEVICES[i % 2]) + 1
        assert x.tolist() == [i + 20.0 for i in range(1000)]
    assert (x * 2).to(FIRST).tolist()[:2] == [40.0, 42.0]


def make_steps(device):
    """A step of training with dropout on a device, after a first one; and batches."""
    dt.manual_seed(0)
    model = dt.nn.Sequential(
        dt.nn.Conv2d(1, 4, 3, padding=1), dt.nn.ReLU(), dt.nn.Flatten(), dt.nn.Dropout(0.3),
        dt.nn.Linear(256, 10),
    ).to(device)  # fmt: skip
    optimizer = dt.optim.AdamW(model.parameters(), lr=0.01)
    data = [(dt.randn(16, 1, 8, 8).to(device), (dt.arange(16) % 10).to(device)) for _ in range(30)]

    def step(x, target):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        dt.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    dt.manual_seed(2)
    step(*data[0])
    return step, data


def test_captured_steps_on_both_devices():
    """Replays in turn, with other work between them, against eager steps on the CPU's random numbers."""
    step, data = make_steps("cpu")
    truth = [step(*batch).item() for batch in data]
    captured, batches = {}, {}
    for device in DEVICES:
        step, batches[device] = make_steps(device)
        captured[device] = dt.capture(step, *batches[device][0], warmup=0, device=device)
    dt.manual_seed(2)
    for device in DEVICES:  # the counters that the first, eager step took
        F.dropout(dt.ones(16, 256, device=device), 0.3, True)
    losses = {device: [] for device in DEVICES}
    for i in range(len(data)):
        for device in DEVICES:
            losses[device].append(captured[device](*batches[device][i]).item())
            dt.ones(1000, device=device).mul_(i)
    for device in DEVICES:
        assert losses[device] == pytest.approx(truth, rel=1e-3)


def test_a_capture_without_a_device_is_where_its_inputs_are():
    x = dt.arange(1000.0, device=SECOND)
    captured = dt.capture(lambda x: x * 2 + 1, x)
    assert captured(x + 5).tolist() == ((x + 5) * 2 + 1).tolist()


# ---- memory and errors


def test_memory_is_counted_per_device():
    dt.cuda.empty_cache()
    for device in DEVICES:
        dt.cuda.reset_peak_memory_stats(device)
    before = [dt.cuda.memory_allocated(d) for d in DEVICES]
    held = [dt.cuda.memory_reserved(d) for d in DEVICES]
    x = dt.empty(1 << 24, device=SECOND)
    assert dt.cuda.memory_allocated(FIRST) == before[0]
    assert dt.cuda.memory_allocated(SECOND) - before[1] == 64 << 20
    del x
    assert dt.cuda.memory_reserved(SECOND) - held[1] == 64 << 20
    assert dt.cuda.max_memory_allocated(SECOND) - before[1] == 64 << 20
    assert dt.cuda.max_memory_allocated(FIRST) == before[0]
    y = dt.empty(1 << 24, device=FIRST)
    del y
    assert [dt.cuda.memory_reserved(d) - h for d, h in zip(DEVICES, held)] == [64 << 20] * 2
    dt.cuda.empty_cache()
    assert [dt.cuda.memory_reserved(d) - h for d, h in zip(DEVICES, held)] == [0, 0]


def test_one_device_runs_out_of_memory():
    x = dt.ones(1000, device=FIRST)
    with pytest.raises(dt.OutOfMemoryError, match="CUDA out of memory.* GPU 1 has a total"):
        dt.empty(dt.cuda.mem_get_info(SECOND)[1], device=SECOND)
    assert (x.to(SECOND) + 1).sum().item() == 2000 and x.sum().item() == 1000


def test_a_bad_index_is_reported_where_it_was():
    x = {d: dt.arange(10.0, device=d) for d in DEVICES}
    dt.cuda.synchronize(SECOND)
    x[SECOND].index_select(0, dt.tensor([3, 12], device=SECOND))
    dt.cuda.synchronize(FIRST)
    assert x[FIRST].tolist() == list(range(10))
    with pytest.raises(IndexError, match="index_select: index 12 is out of bounds.*size 10"):
        dt.cuda.synchronize(SECOND)
    for number, device in zip((20, 21), DEVICES):
        x[device].index_select(0, dt.tensor([number], device=device))
    for number, device in zip((21, 20), DEVICES[::-1]):
        with pytest.raises(IndexError, match=f"index_select: index {number} is out of bounds"):
            dt.cuda.synchronize(device)
    for device in DEVICES:
        dt.cuda.synchronize(device)
        assert x[device].index_select(0, dt.tensor([9], device=device)).tolist() == [9.0]


MIXED = {
    "add": lambda x, y: x + y,
    "matmul": lambda x, y: x @ y,
    "cat": lambda x, y: dt.cat([x, y]),
    "linear": lambda x, y: F.linear(x, y),
    "mse_loss": lambda x, y: F.mse_loss(x, y),
    "gather": lambda x, y: x.gather(0, y.long()),
    "layer_norm": lambda x, y: F.layer_norm(x, (4,), y[0]),
}


@pytest.mark.parametrize("name", MIXED)
def test_tensors_of_two_devices_do_not_mix(name):
    x, y = (dt.ones(4, 4, device=d) for d in DEVICES)
    sentence = "xpected all tensors to be on the same device, but found at least two devices, "
    with pytest.raises(RuntimeError, match=sentence + "cuda:[01] and cuda:[01]!"):
        MIXED[name](x, y)
    assert (x + x).sum().item() == 32 and (y + y).sum().item() == 32


# ---- other libraries, threads


def test_torch_sees_the_same_memory(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("PyTorch sees fewer than two devices")
    x = dt.arange(12.0, device=SECOND).reshape(3, 4)
    theirs = torch.from_dlpack(x)
    assert theirs.device == torch.device(SECOND) and theirs.data_ptr() == x.data_ptr()
    theirs.mul_(2)
    assert x.tolist() == theirs.tolist() == (dt.arange(12.0) * 2).reshape(3, 4).tolist()
    mine = dt.from_dlpack(torch.arange(6.0, device=SECOND))
    assert mine.device == dt.device(SECOND) and (mine + 1).to(FIRST).tolist() == [1, 2, 3, 4, 5, 6]


def test_torch_changes_the_device_behind_our_back(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("PyTorch sees fewer than two devices")
    f, *sizes = OPS["layer_norm 16384"]
    arrays = [numbers(*s) for s in sizes]
    truth = results(f, arrays, "cpu")
    for device in DEVICES:
        for other in range(2):
            with torch.cuda.device(other):
                torch.ones(3, device="cuda")
                assert_close(results(f, arrays, device), truth)


def in_threads(works):
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_a_thread_for_each_device():
    step, data = make_steps("cpu")
    truth = [step(*batch).item() for batch in data]
    made = {device: make_steps(device) for device in DEVICES}
    losses = {}

    def work(device):
        dt.cuda.set_device(device)
        step, data = made[device]
        with dt.cuda.stream(dt.cuda.Stream()):
            losses[device] = [step(*batch).item() for batch in data]

    for device in DEVICES:
        dt.cuda.synchronize(device)
    dt.manual_seed(2)
    for device in DEVICES:  # the counters that the first step took
        F.dropout(dt.ones(16, 256, device=device), 0.3, True)
        dt.cuda.synchronize(device)
    in_threads([lambda d=d: work(d) for d in DEVICES])
    for device in DEVICES:
        assert losses[device] == pytest.approx(truth, rel=1e-3)


def test_threads_ask_for_different_amounts_of_shared_memory():
    """The same kernel with rows of several lengths, from two threads for each device."""
    widths = (6400, 8192)
    truth = {}
    for width in widths:
        arrays = numbers(20, width), numbers(width), numbers(width)
        truth[width] = (arrays, results(normalize_rows, arrays, "cpu"))

    def work(device, width):
        arrays, right = truth[width]
        with dt.cuda.stream(dt.cuda.Stream(device=device)):
            x, weight, bias = (dt.tensor(a).to(device) for a in arrays)
            for _ in range(300):
                y = normalize_rows(x, weight, bias)
            assert_close([y.cpu().numpy()], right[:1])

    in_threads([lambda d=d, w=w: work(d, w) for d in DEVICES for w in widths])


def test_threads_send_to_each_other():
    """Each copies what the other made, in turn."""
    parcels = {FIRST: dt.zeros(1 << 18, device=FIRST), SECOND: dt.zeros(1 << 18, device=SECOND)}
    turn = threading.Barrier(2)

    def work(here, there):
        for i in range(30):
            x = parcels[there].to(here) + 1
            turn.wait(60)
            parcels[here] = x
            turn.wait(60)
            assert x.amin().item() == x.amax().item() == i + 1

    in_threads([lambda: work(FIRST, SECOND), lambda: work(SECOND, FIRST)])
