"""Steps that are captured: the same as eager ones, in the order that memory asks for. All of it needs a GPU."""

import random

import dumbtorch as dt
import pytest

F = dt.nn.functional
needs_gpu = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)


def small_model(seed=0, dropout=0.0):
    dt.manual_seed(seed)
    return dt.nn.Sequential(
        dt.nn.Conv2d(1, 8, 3, padding=1), dt.nn.ReLU(), dt.nn.MaxPool2d(2), dt.nn.Flatten(),
        dt.nn.Dropout(dropout), dt.nn.Linear(8 * 49, 10),
    ).to("cuda")  # fmt: skip


def train_step(model, optimizer):
    def step(x, target):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        dt.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step


def batches(n):
    dt.manual_seed(7)
    return [(dt.randn(16, 1, 14, 14), dt.randint(0, 10, (16,))) for _ in range(n)]


# Those whose step is a row's kernel; the others are Python over tensors, and some read values on the host.
OPTIMIZERS = sorted(
    name
    for name in set(dt.optim.__all__) - {"Optimizer", "Adafactor", "LBFGS", "Muon", "SparseAdam"}
    if isinstance(getattr(dt.optim, name), type)
)


@needs_gpu
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_captured_steps_equal_eager_ones(optimizer, dropout):
    """100 steps with a schedule; random numbers go on from replay to replay."""
    losses = {}
    for captured in (False, True):
        model = small_model(dropout=dropout)
        options = {"momentum": 0.9} if optimizer == "SGD" else {}
        opt = getattr(dt.optim, optimizer)(model.parameters(), lr=0.01, **options)
        schedule = dt.optim.lr_scheduler.StepLR(opt, 30, 0.5)
        data = [(x.cuda(), y.cuda()) for x, y in batches(101)]
        dt.manual_seed(5)
        run = step = train_step(model, opt)
        step(*data[0])
        if captured:
            run = dt.capture(step, *data[1], warmup=0)
        losses[captured] = []
        for x, y in data[1:]:
            losses[captured].append(run(x, y).item())
            schedule.step()
    assert losses[True] == pytest.approx(losses[False], rel=1e-4)


def scales_of_pytorch(torch, finite, **options):
    """The scale after each step, of gradients that are finite or not."""
    p = torch.ones(3, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([p], lr=0.1), torch.amp.GradScaler("cpu", **options)
    scales = []
    for good in finite:
        optimizer.zero_grad()
        scaler.scale(p.sum() * (1.0 if good else float("inf"))).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales


@needs_gpu
@pytest.mark.parametrize("optimizer", ["Adam", "AdamW", "RMSprop"])
def test_captured_scaled_losses(torch, optimizer):
    """The GPU decides on each replay whether the step is left out, and what the next scale is."""
    options = {"init_scale": 2.0**10, "growth_interval": 3}
    finite = [i not in (4, 5, 13, 20) for i in range(30)]
    found = {}
    for captured in (False, True):
        model = small_model()
        opt = getattr(dt.optim, optimizer)(model.parameters(), lr=0.01)
        scaler = dt.amp.GradScaler("cuda", **options)

        def step(x, target, model=model, opt=opt, scaler=scaler):
            opt.zero_grad()
            with dt.autocast("cuda", dtype=dt.float16):
                loss = F.cross_entropy(model(x), target)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            dt.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            return loss.detach()

        data = [(x.cuda(), y.cuda()) for x, y in batches(len(finite))]
        run = step
        found[captured] = losses, scales, weights = [], [], []
        for i, (x, y) in enumerate(data):
            if captured and i == 1:
                run = dt.capture(step, x, y, warmup=0)
            before = [p.detach().clone() for p in model.parameters()]
            losses.append(run(x if finite[i] else x * float("inf"), y).item())
            scales.append(scaler.get_scale())
            stays = all(dt.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
            assert stays == (not finite[i])
        weights += [p.detach().cpu() for p in model.parameters()]
    assert found[True][1] == found[False][1] == scales_of_pytorch(torch, finite, **options)
    assert found[True][0] == pytest.approx(found[False][0], rel=1e-3, nan_ok=True)
    for a, b in zip(found[True][2], found[False][2], strict=True):
        assert dt.allclose(a, b, rtol=1e-2, atol=1e-3)


@needs_gpu
def test_captured_kernels_wait_for_what_they_read():
    """In a graph a kernel may start before the last one is done: tiny ones behind long ones that write what they read,
    with copies, sorts and matrix products, which libraries start, between them."""

    def work(x):
        last = x[0, :1000]
        for _ in range(5):
            x = x * 0.5 + 1
            last = last + x[-1, -1000:]
            x = x.clone()
            last = last.index_add(0, (last * 7).long() % 1000, x[0, :1000])
            last = last @ x[:1000, :1000]
            last = last / last.abs().sum()
        return last * x[:, -1].sum()

    inputs = [dt.randn(4096, 4096, device="cuda") for _ in range(8)]
    captured = dt.capture(work, inputs[0])
    for x in inputs:
        assert captured(x).tolist() == work(x).tolist()


# Of two matrices; what changes the first one in place.
MAKE = [
    lambda x, y, index: x @ y / 8,
    lambda x, y, index: x.softmax(1) + y,
    lambda x, y, index: x.cumsum(0).tanh() * y.sum(0).tanh(),
    lambda x, y, index: x.sort(dim=1)[0] * y.tanh(),
    lambda x, y, index: dt.where(x > 0, y, x),
    lambda x, y, index: x[index].sum(0) / 8 + y,
]
CHANGE = [
    lambda x, y, index: x.copy_(y.tanh()),
    lambda x, y, index: x[::2].mul_(0.5),
    lambda x, y, index: x[:, 3:40].copy_(y[:, :37].sigmoid()),
    lambda x, y, index: x.index_add_(0, index, y[index].tanh()).tanh_(),
]


def random_calls(seed, n):
    """Calls on tensors that live on, on parts of them and on what calls before have made, in the order of a program."""
    rng = random.Random(seed)
    state = [dt.randn(n, n, device="cuda") for _ in range(6)]
    index = dt.randint(0, n, (200,), device="cuda")

    def part(x):
        first = rng.randrange(n // 2 + 1)
        return rng.choice(
            [x, x.t(), x[:, ::2].repeat(1, 2), x[first : first + n // 2].repeat(2, 1)]
        )

    def calls():
        tensors = list(state)
        for _ in range(60):
            made = rng.choice(MAKE)(part(rng.choice(tensors)), part(rng.choice(tensors)), index)
            if rng.random() < 0.5:
                tensors.append(made)
            else:
                rng.choice(CHANGE)(rng.choice(tensors), made, index)

    return state, calls


@needs_gpu
@pytest.mark.parametrize("n", [64, 1024])
@pytest.mark.parametrize("seed", range(8))
def test_captured_calls_keep_their_order(seed, n):
    """A graph runs calls at the same time that have nothing to do with each other, and only those; also where the
    memory of large ones is taken again."""
    results = {}
    for captured in (False, True):
        dt.manual_seed(seed)
        state, calls = random_calls(seed, n)
        run = dt.capture(calls, warmup=0) if captured else calls
        run()
        results[captured] = [x.tolist() for x in state]
    assert results[True] == results[False]


@needs_gpu
def test_a_capture_reuses_memory():
    """What is freed while a graph is recorded serves its next kernels; what was there before stays untouched."""
    x = dt.ones(1 << 20, device="cuda")
    before = dt.cuda.memory_allocated()

    def work():
        y = x * 2 + x * 3
        for _ in range(20):
            y = y * 2 - 5
        return y

    captured = dt.capture(work, warmup=1)
    assert dt.cuda.memory_allocated() - before <= 3 * x.numel() * 4
    other = dt.full((1 << 20,), 7.0, device="cuda")
    assert captured().tolist()[:3] == [5.0] * 3
    assert other.sum().item() == 7 << 20


@needs_gpu
def test_what_a_capture_refuses():
    model = small_model()
    opt = dt.optim.Adam(model.parameters())
    x, y = (t.cuda() for t in batches(1)[0])
    with pytest.raises(RuntimeError, match="run it once before"):
        dt.capture(train_step(model, opt), x, y, warmup=0)
    step = train_step(model, opt)
    with pytest.raises(RuntimeError, match="captur"):
        dt.capture(lambda x, y: step(x, y).item(), x, y)
    captured = dt.capture(step, x, y)
    with pytest.raises(RuntimeError, match=r"captured with input 0 of size \[16, 1, 14, 14\]"):
        captured(x[:8], y)
    assert captured(x, y).item() > 0
    graph = dt.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="has not been captured"):
        graph.replay()


def capture_with_a_tensor_of_its_own():
    x = dt.ones(1000, device="cuda")
    captured = dt.capture(lambda: x * 2, warmup=1)
    return captured.graph, captured.outputs


@needs_gpu
def test_a_graph_outlives_what_it_uses():
    graph, y = capture_with_a_tensor_of_its_own()
    dt.ones(1000, device="cuda").mul_(9)  # would take x's memory
    graph.replay()
    assert y.tolist() == [2.0] * 1000
    del graph
    assert y.tolist() == [2.0] * 1000  # the pool lives as long as its blocks
