"""What a GPU adds: copies, streams, events, memory, late index errors, captured steps. On a machine without one, what
is said about it."""

import threading

import dumbtorch as dt
import numpy as np
import pytest
from dumbtorch import _graph, _ops

F = dt.nn.functional
needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)


def test_availability():
    assert dt.cuda.is_available() == (dt.cuda.device_count() > 0)
    assert bool(dt.cuda.why_unavailable()) != dt.cuda.is_available()


@pytest.mark.skipif(dt.cuda.is_available(), reason="there is a GPU")
def test_absence_is_explained():
    for call in (lambda: dt.ones(2, device="cuda"), lambda: dt.cuda.Stream(device="cuda:1"),
                 lambda: dt.cuda.set_device(0), lambda: dt.set_default_device("cuda")):  # fmt: skip
        with pytest.raises(RuntimeError, match="device 'cuda:.' is not available: .*CUDA"):
            call()
    with pytest.raises(RuntimeError, match="is not available"):
        dt.capture(lambda: None)
    # What is no tensor has no device, and is refused by what wants one.
    with pytest.raises(TypeError, match="detach.*must be Tensor"):
        dt.capture(lambda x: x, [1, 2])


@pytest.mark.skipif(dt.cuda.is_available(), reason="there is a GPU")
def test_what_scripts_ask_without_a_gpu(both):
    """Scripts that measure memory and seed all devices run on the CPU too."""

    def run(t):
        cuda = t.cuda
        return (
            cuda.is_available(), cuda.device_count(), cuda.memory_allocated(),
            cuda.memory_reserved(0), cuda.max_memory_allocated("cuda:0"),
            cuda.max_memory_reserved(), cuda.empty_cache(), cuda.manual_seed(1),
            cuda.manual_seed_all(1), cuda.set_device(-1),
        )  # fmt: skip

    mine, theirs = both(run)
    assert mine == theirs
    assert dt.cuda.synchronize() is None  # PyTorch refuses; nothing has been asked of the device
    for call in (dt.cuda.mem_get_info, dt.cuda.get_device_name):
        with pytest.raises(RuntimeError, match="device 'cuda:0' is not available: "):
            call()


def test_streams_and_events_of_the_cpu():
    stream = dt.cuda.Stream(device="cpu")
    first, second = (dt.cuda.Event(enable_timing=True, device="cpu") for _ in range(2))
    first.record(stream)
    second.record(stream)
    assert stream.query() and first.query() and first.elapsed_time(second) >= 0
    with pytest.raises(RuntimeError, match="cannot be captured|can be captured"):
        dt.capture(lambda: None, device="cpu", warmup=0)


def test_current_streams_belong_to_threads():
    """Blocks that overlap in two threads leave nothing behind in either."""
    before = dt.live_handles()
    inside, leave = threading.Event(), threading.Event()

    def first():
        with dt.cuda.stream(dt.cuda.Stream(device="cpu")):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with dt.cuda.stream(dt.cuda.Stream(device="cpu")):
        leave.set()
        thread.join()
    assert dt.live_handles() == before


@pytest.fixture
def idle_graph(monkeypatch):
    """Makes graphs whose recordings and replays do nothing, so that they need no GPU."""
    for name in ("begin", "end", "abandon", "replay"):
        monkeypatch.setattr(_ops.Graph, name, lambda self: None)

    def make():
        graph = object.__new__(_graph.Graph)
        graph._before = {}
        return graph

    return make


def test_what_replays_refresh_belongs_to_one_graph(idle_graph):
    """Each thread's captured step refreshes its own learning rate, and no other's."""
    both_capture = threading.Barrier(2)
    calls = {name: [] for name in "ab"}
    graphs = {name: idle_graph() for name in "ab"}

    def work(name):
        def refresh():
            calls[name].append(1)

        with graphs[name]:
            both_capture.wait()
            _graph.before_each_replay(refresh)
            both_capture.wait()
            _graph.before_each_replay(refresh)
        both_capture.wait()
        for _ in range({"a": 2, "b": 3}[name]):
            graphs[name].replay()

    threads = [threading.Thread(target=work, args=name) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: len(c) for name, c in calls.items()} == {"a": 2, "b": 3}


def test_an_abandoned_graph_refreshes_nothing_more(idle_graph):
    kept, failed = idle_graph(), idle_graph()
    calls = []
    with pytest.raises(ZeroDivisionError), failed:
        raise ZeroDivisionError
    _graph.before_each_replay(lambda: calls.append("outside"))
    with kept:
        _graph.before_each_replay(lambda: calls.append("kept"))
    kept.begin()  # captured again: what was recorded before counts no more
    _graph.before_each_replay(lambda: calls.append("again"))
    kept.end()
    failed.replay()
    kept.replay()
    assert calls == ["again"]


def test_tf32_switches():
    assert not dt.backends.cuda.matmul.allow_tf32 and dt.backends.cudnn.allow_tf32
    dt.backends.cuda.matmul.allow_tf32 = True
    assert dt.backends.cuda.matmul.allow_tf32 and dt.backends.cudnn.allow_tf32
    dt.backends.cuda.matmul.allow_tf32 = False


# ---- on a GPU


@needs_gpu
def test_copies():
    x = dt.arange(24.0).reshape(2, 3, 4)
    for view in (x, x.permute(2, 0, 1), x[:, ::2], x[:1].expand(5, 3, 4), x[0, 0, 0]):
        there = view.to("cuda")
        assert there.is_cuda and there.tolist() == view.tolist()
        assert there.cpu().tolist() == view.tolist()
        assert view.to("cuda", dt.int64).tolist() == view.to(dt.int64).tolist()
    target = dt.zeros(4, 3, 2, device="cuda").permute(2, 1, 0)
    target.copy_(x)
    assert target.tolist() == x.tolist()
    assert (x.cuda() + x[0, 0, 1]).tolist() == (x + 1).tolist()  # a 0-dim CPU tensor is a number
    with pytest.raises(RuntimeError, match="add: Expected all tensors to be on the same device"):
        x.cuda() + x
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        x.cuda().numpy()


@needs_gpu
def test_gradients_cross_devices():
    x = dt.ones(3, requires_grad=True)
    scale = dt.tensor(2.0, requires_grad=True)
    (x.cuda() * scale).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0] and not x.grad.is_cuda
    assert scale.grad.item() == 3.0 and not scale.grad.is_cuda


@needs_gpu
def test_random_numbers_are_those_of_the_cpu():
    for draw in (
        lambda d: dt.rand(1000, device=d),
        lambda d: dt.randn(1001, device=d, dtype=dt.float64),
        lambda d: dt.randn(1003, device=d),
        lambda d: dt.randn(2_200_005, device=d),  # a thread makes several blocks
        lambda d: dt.randint(-50, 50, (999,), device=d),
        lambda d: dt.randperm(5000, device=d),
        lambda d: F.dropout(dt.ones(1003, device=d), 0.3, True),
    ):
        dt.manual_seed(3)
        here = draw("cpu")
        dt.manual_seed(3)
        assert draw("cuda").tolist() == here.tolist()


@needs_gpu
def test_a_bad_index_is_reported_and_the_device_goes_on():
    x = dt.arange(10.0, device="cuda")
    x.index_select(0, dt.tensor([3, 12], device="cuda"))
    with pytest.raises(IndexError, match="index_select: index 12 is out of bounds.*size 10"):
        dt.cuda.synchronize()
    dt.cuda.synchronize()
    assert x.index_select(0, dt.tensor([3, 9], device="cuda")).tolist() == [3.0, 9.0]


@needs_gpu
@pytest.mark.parametrize("steps, lengths", [((6, 7), (2, 2)), ((6, 6), (2, 3)), ((6, 6), (-1, 2))])
def test_lengths_that_lie_are_reported(steps, lengths):
    """The host does not wait for lengths on the device: targets that are not there are not read."""
    x = dt.randn(6, 2, 5, device="cuda").log_softmax(2)
    targets = dt.tensor([1, 2, 3, 4], device="cuda")
    on = [dt.tensor(n, device="cuda") for n in (steps, lengths)]
    F.ctc_loss(x, targets, *on)
    with pytest.raises(IndexError, match="ctc_loss: index .* is out of bounds"):
        dt.cuda.synchronize()


@needs_gpu
@pytest.mark.parametrize("bad", [7, -1])
def test_classes_out_of_range_are_reported(bad):
    """With their number given, one_hot does not wait to look at them."""
    F.one_hot(dt.tensor([0, bad], device="cuda"), 3)
    with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
        dt.cuda.synchronize()


@needs_gpu
@pytest.mark.parametrize("offsets", [(0, 7), (0, -1)])
def test_offsets_that_lie_are_reported(offsets):
    rows = dt.tensor([0, 1, 2], device="cuda")
    F.embedding_bag(rows, dt.ones(4, 3, device="cuda"), dt.tensor(offsets, device="cuda"))
    with pytest.raises(IndexError, match="embedding_bag: index .* is out of bounds"):
        dt.cuda.synchronize()


@needs_gpu
@pytest.mark.parametrize("row", [-1, 4])
def test_rows_of_no_table_are_reported(row):
    rows = dt.tensor([0, row], device="cuda")
    F.embedding_bag(rows, dt.ones(4, 3, device="cuda"), dt.tensor([0], device="cuda"))
    with pytest.raises(IndexError, match="embedding_bag: index .* is out of bounds"):
        dt.cuda.synchronize()


@needs_gpu
def test_a_negative_variance_is_refused_unless_work_is_recorded():
    x, var = dt.zeros(2, device="cuda"), dt.tensor([1.0, 2.0], device="cuda")
    with pytest.raises(ValueError, match="gaussian_nll_loss: var has negative entry/entries"):
        F.gaussian_nll_loss(x, x, -var)
    step = dt.capture(F.gaussian_nll_loss, x, x, var)
    assert step(x, x, var).item() == F.gaussian_nll_loss(x, x, var).item()


@needs_gpu
def test_indices_may_lie_on_the_cpu():
    x = dt.arange(10.0, device="cuda")
    mask = dt.arange(10) > 7
    assert x[dt.tensor([3, -1])].tolist() == [3.0, 9.0] and x[mask].tolist() == [8.0, 9.0]
    x[dt.tensor([0, 1])] = 5.0
    x[mask] = 6.0
    assert x.tolist() == [5.0, 5.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 6.0, 6.0]


@needs_gpu
def test_memory():
    dt.cuda.empty_cache()
    before = dt.cuda.memory_allocated()
    dt.cuda.reset_peak_memory_stats()
    x = dt.empty(1 << 20, device="cuda")
    assert dt.cuda.memory_allocated() - before == 4 << 20
    del x
    assert dt.cuda.memory_allocated() == before
    assert dt.cuda.max_memory_allocated() - before == 4 << 20
    free, total = dt.cuda.mem_get_info()
    with pytest.raises(dt.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        dt.empty(total, device="cuda")
    assert (dt.ones(5, device="cuda") * 2).sum().item() == 10 and 0 < free <= total


@needs_gpu
def test_two_streams():
    side = dt.cuda.Stream()
    x = dt.ones(1 << 22, device="cuda")
    ready = dt.cuda.Event()
    ready.record()
    side.wait_event(ready)
    with dt.cuda.stream(side):
        for _ in range(20):
            x.mul_(1.5).div_(1.5)
        event = side.record_event()
    x.record_stream(side)
    event.wait()
    assert x.sum().item() == pytest.approx(1 << 22, rel=1e-4)
    start, end = dt.cuda.Event(enable_timing=True), dt.cuda.Event(enable_timing=True)
    start.record()
    x.mul_(1.0)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


@needs_gpu
def test_a_backward_follows_the_streams_of_its_forward():
    side = dt.cuda.Stream()
    x = dt.full((1 << 22,), 2.0, device="cuda", requires_grad=True)
    ready = dt.cuda.Event()
    ready.record()
    side.wait_event(ready)
    with dt.cuda.stream(side):
        y = x
        for _ in range(50):  # late, so that a backward that does not wait reads too early
            y = y * 1.0
        loss = (y * y).sum()
    loss.backward()
    assert x.grad.amin().item() == x.grad.amax().item() == 4.0


@needs_gpu
def test_threads():
    errors = []

    def work(seed):
        try:
            with dt.cuda.stream(dt.cuda.Stream()):
                x = dt.full((1000,), float(seed), device="cuda")
                for _ in range(100):
                    x = (x * 2 + 1 - 1) / 2
                assert x.tolist() == [float(seed)] * 1000
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


@needs_gpu
def test_the_first_loss_is_that_of_the_cpu():
    losses = []
    for device in ("cpu", "cuda"):
        dt.manual_seed(0)
        model = dt.nn.Sequential(dt.nn.Linear(20, 50), dt.nn.ReLU(), dt.nn.Linear(50, 5)).to(device)
        x, y = dt.randn(8, 20).to(device), dt.randint(0, 5, (8,)).to(device)
        losses.append(F.cross_entropy(model(x), y).item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("width", [512, 130, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_of_chosen_slices(device, width, axis):
    """Slices that many, few and no indices name, against a product with a matrix of zeros and ones. The numbers are
    small integers, so the order of sums does not matter."""
    n, index = 300, dt.tensor([7] * 1000 + list(range(20, 280, 3)) + [0, 299, 40, 40])
    g = dt.randint(-9, 9, (2, index.numel(), width) if axis else (index.numel(), width)).float()
    x = dt.zeros(*((2, n, width) if axis else (n, width)), device=device).requires_grad_()
    x.index_select(axis, index.to(device)).backward(g.to(device))
    chosen = (dt.arange(n).unsqueeze(1) == index).float()
    assert dt.equal(x.grad.cpu(), chosen @ g)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize(
    "n, inputs, outputs", [(4, 3, 5), (600, 700, 3), (64, 784, 64), (300, 120, 150)]
)
@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh"])
def test_activations_of_products_keep_nan(device, n, inputs, outputs, activation):
    """However a product is computed: by kernels for few elements, for thin and for deep matrices, by a library."""
    x = dt.zeros(n, inputs)
    x[1, 2] = float("nan")
    w, b = dt.ones(outputs, inputs), dt.zeros(outputs)
    y = F.linear_activation(x.to(device), w.to(device), b.to(device), activation)
    assert y.isnan().sum(1).tolist() == [outputs * (i == 1) for i in range(n)]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("count", [512, 513, 32_769, 131_072, 262_144, 262_145])
@pytest.mark.parametrize("rows", [5, 50_000, 300_000])
def test_writes_through_many_indices(device, count, rows):
    """Positions that a GPU sorts in one tile, in many of each size, or in another way, by keys of one to three
    digits, against NumPy. The numbers are small integers, so the order of sums does not matter; the last assignment
    wins."""
    rng = np.random.default_rng(count + rows)
    index = np.minimum(rng.integers(0, rows, count), rng.integers(0, rows, count))
    values = rng.integers(-9, 10, count).astype(np.float32)
    sums, last = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    np.add.at(sums, index, values)
    for i, value in dict(zip(index, values)).items():
        last[i] = value
    there, given = dt.tensor(index).to(device), dt.tensor(values).to(device)
    zeros = dt.zeros(rows, device=device)
    assert (zeros.index_add(0, there, given).cpu().numpy() == sums).all()
    assert (zeros.index_put((there,), given).cpu().numpy() == last).all()


def results(t, f, arrays, device):
    """f's results and the gradients of its first one with respect to its arguments."""
    leaves = [t.tensor(a).to(device).requires_grad_() for a in arrays]
    outputs = f(t, *leaves)
    y = outputs[0] if isinstance(outputs, tuple) else outputs
    y.backward(t.tensor(numbers(*y.shape)).to(device, y.dtype))
    outputs = outputs if isinstance(outputs, tuple) else (y,)
    return [v.detach().cpu().numpy() for v in (*outputs, *(leaf.grad for leaf in leaves))]


def numbers(*sizes):
    return np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32)


# Images, channels in, channels out, height, width, kernel, padding: whole images and tiles, several images in a block
# and several blocks in an image, copies of 4, 8 and 16 bytes.
FEW_CHANNELS = (
    (1, 1, 8, 28, 28, 3, 1),
    (70, 8, 16, 14, 14, 3, 1),
    (3, 16, 8, 13, 15, 3, 0),
    (2, 3, 16, 20, 131, 3, 1),
    (1, 2, 4, 300, 132, 3, 1),
    (300, 5, 7, 4, 3, 3, 2),
    (2, 32, 8, 9, 9, 3, 4),
    (9, 6, 16, 14, 14, 5, 0),
    (2, 1, 6, 28, 28, 5, 2),
    (1, 9, 21, 33, 70, 5, 2),
)


@needs_gpu
@pytest.mark.parametrize("case", FEW_CHANNELS, ids=str)
@pytest.mark.parametrize("channels_last", (False, True))
def test_convolutions_of_few_channels(torch, case, channels_last):
    n, c, o, height, width, kernel, padding = case

    def convolve(t, x, w, b):
        if channels_last:
            x = x.contiguous(memory_format=t.channels_last)
        return t.nn.functional.conv2d(x, w, b, padding=padding)

    arrays = numbers(n, c, height, width), numbers(o, c, kernel, kernel), numbers(o)
    mine = results(dt, convolve, arrays, "cuda")
    again = results(dt, convolve, arrays, "cuda")
    truth = results(torch, convolve, [a.astype(np.float64) for a in arrays], "cpu")
    for got, repeated, right in zip(mine, again, truth, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=2e-6 * np.abs(right).max())
        np.testing.assert_array_equal(got, repeated)


# Odd rows, overlapping windows, and images so large that a thread takes several rows.
POOLS = (
    ((2, 3, 91, 91), {"kernel_size": 2}),
    ((40, 8, 129, 129), {"kernel_size": 2}),
    ((40, 8, 128, 132), {"kernel_size": 2}),
    ((5, 4, 113, 112), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((11, 8, 225, 223), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((3, 8, 17, 19), {"kernel_size": 3, "stride": 1, "padding": 1}),
    ((3, 2, 31, 40), {"kernel_size": (5, 2), "stride": (3, 1), "padding": (2, 1)}),
)


@needs_gpu
@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("channels_last", (False, True))
def test_pools(torch, case, channels_last):
    sizes, arguments = case

    def pool(t, x):
        if channels_last:
            x = x.contiguous(memory_format=t.channels_last)
        return t.nn.functional.max_pool2d(x, return_indices=True, **arguments)

    def mean(t, x):
        return t.nn.functional.avg_pool2d(x, **arguments)

    x = numbers(*sizes)
    mine, truth = results(dt, pool, [x], "cuda"), results(torch, pool, [x], "cpu")
    for got, right in zip(mine[:2], truth[:2], strict=True):
        np.testing.assert_array_equal(got, right)
    np.testing.assert_allclose(mine[2], truth[2], rtol=1e-6, atol=1e-6)
    mine, truth = results(dt, mean, [x], "cuda"), results(torch, mean, [x], "cpu")
    for got, right in zip(mine, truth, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)
