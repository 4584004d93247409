"""Many threads, the same tensors: every result is right or an error, and nothing is lost."""

import sys
import threading

import dumbtorch as dt
import pytest
from dumbtorch import _native


def together(*jobs):
    """Runs the jobs in threads that start at one moment; raises what they raise."""
    errors = []
    barrier = threading.Barrier(len(jobs))

    def run(job):
        barrier.wait()
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def test_shared_tensors_are_read():
    x = dt.arange(10_000.0).view(100, 100) / 10_000
    expected = (x @ x).exp().sum(0).tolist()
    results = []

    def job():
        for _ in range(30):
            results.append((x @ x).exp().sum(0).tolist() == expected)

    together(*[job] * 6)
    assert len(results) == 180 and all(results)


def test_disjoint_parts_are_written():
    x = dt.zeros(8, 1000)

    def job(i):
        row = x[i]
        for _ in range(200):
            row.add_(1)
            x[i, ::2].mul_(1)

    together(*[lambda i=i: job(i) for i in range(8)])
    assert x.eq(200).all().item()
    assert x._version == 8 * 400


def test_one_place_is_written():
    """Who wins is open; what is read is one of the values, not a mixture of handles or shapes."""
    x = dt.zeros(100)

    def write(value):
        for _ in range(300):
            x.fill_(value)
            x.copy_(dt.full((100,), value))

    def read():
        for _ in range(300):
            assert set(x.clone().tolist()) <= {0.0, 1.0, 2.0}

    together(lambda: write(1.0), lambda: write(2.0), read, read)


def test_handles_are_released_while_others_use_them():
    """Views, graphs and lists die in one thread while the next still computes with their base."""
    base = dt.ones(1000, requires_grad=True)
    box = [base * 1 for _ in range(50)]

    def use():
        for k in range(400):
            view = box[k % 50][k % 500 :]
            assert view.sum().item() == 1000 - k % 500

    def replace():
        for k in range(400):
            box[k % 50] = base * 1

    def split():
        for k in range(100):
            assert len(dt.cat(box[k % 50].split(100)).unbind()) == 1000

    together(use, use, replace, replace, split)


def test_stale_handles():
    """A handle that another thread releases is right or an error in this one, never a crash."""
    lib = _native.lib
    x = dt.ones(50)
    current = [lib.py_alias(x._h)]
    seen = {"right": 0, "stale": 0}
    stop = threading.Event()

    def release():
        while not stop.is_set():
            old, current[0] = current[0], lib.py_alias(x._h)
            lib.py_tensor_release(old)

    def use():
        try:
            for _ in range(3000):
                handle = current[0]
                try:
                    lib.py_cat([handle], 1, 0)
                    seen["right"] += 1
                except TypeError as error:
                    seen["stale"] += 1
                    assert "released" in str(error)
        finally:
            stop.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads change places as often as they can
    try:
        together(release, use, use)
    finally:
        sys.setswitchinterval(interval)
        lib.py_tensor_release(current[0])
    assert seen["right"]


def test_one_module_in_many_threads():
    """Forward and backward of one module: gradients accumulate as if done one after another."""
    net = dt.nn.Sequential(
        dt.nn.Linear(8, 16), dt.nn.Tanh(), dt.nn.LayerNorm(16), dt.nn.Linear(16, 1)
    )
    inputs = [dt.randint(-4, 5, (16, 8)).float() for _ in range(6)]
    for x in inputs:
        net(x).sum().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()

    def job(x):
        for _ in range(20):
            net(x).sum().backward()

    together(*[lambda x=x: job(x) for x in inputs])
    for p, e in zip(net.parameters(), expected, strict=True):
        assert dt.allclose(p.grad / 20, e, rtol=1e-4, atol=1e-4)


def test_one_leaf_is_summed_exactly():
    """No gradient is lost between threads: small integers add up without rounding."""
    leaf = dt.zeros(1000, requires_grad=True)

    def job():
        for _ in range(100):
            (leaf * 3).sum().backward()

    together(*[job] * 5)
    assert leaf.grad.eq(1500).all().item()


def test_one_graph_in_two_threads():
    """Each backward through a retained graph is right, or an error says that it is in use."""
    leaf = dt.zeros(10, requires_grad=True)
    y = leaf
    for _ in range(200):
        y = y * 1
    total = y.sum()
    done = []

    def job():
        for _ in range(50):
            try:
                (grad,) = dt.autograd.grad(total, leaf, retain_graph=True)
            except RuntimeError as error:
                assert "running" in str(error) or "thread" in str(error), str(error)
                continue
            assert grad.tolist() == [1.0] * 10
            done.append(1)

    together(job, job, job)
    assert done


def test_a_graph_is_freed_once():
    """Several threads drop the last reference, or run backward and free buffers, at one moment."""
    for _ in range(20):
        y = dt.ones(10, requires_grad=True)
        for _ in range(100):
            y = y * 1
        total = y.sum()
        outcomes = []

        def job(total=total, outcomes=outcomes):
            try:
                total.backward()
                outcomes.append("done")
            except RuntimeError:
                outcomes.append("refused")

        together(job, job, job)
        assert outcomes.count("done") == 1


def test_optimizers_and_hooks_in_threads():
    """Every thread has a model of its own; hooks run in the thread whose backward calls them."""

    def job():
        net = dt.nn.Linear(3, 1)
        seen = []
        net.weight.register_hook(lambda g: seen.append(threading.get_ident()))
        opt = dt.optim.Adam(net.parameters())
        for _ in range(30):
            opt.zero_grad()
            net(dt.ones(2, 3)).sum().backward()
            opt.step()
        assert set(seen) == {threading.get_ident()} and len(seen) == 30

    together(*[job] * 5)


def test_the_default_generator_is_shared():
    """Threads that draw from one generator get disjoint parts of its sequence, none twice."""
    g = dt.Generator().manual_seed(3)
    drawn = []

    def job():
        for _ in range(50):
            drawn.append(tuple(dt.rand(4, generator=g, dtype=dt.float64).tolist()))

    together(*[job] * 6)
    assert len(set(drawn)) == 300
    g.manual_seed(3)
    alone = {tuple(dt.rand(4, generator=g, dtype=dt.float64).tolist()) for _ in range(300)}
    assert set(drawn) == alone


def test_thread_count_changes_while_others_compute():
    before = dt.get_num_threads()
    x = dt.randn(200, 200)
    expected = (x @ x).tolist()

    def compute():
        for _ in range(20):
            assert (x @ x).tolist() == expected

    def change():
        for k in range(100):
            dt.set_num_threads(k % 4 + 1)

    try:
        together(compute, compute, change)
    finally:
        dt.set_num_threads(before)
    with pytest.raises(RuntimeError):
        dt.set_num_threads(0)


def test_training_with_generators_of_ones_own():
    """Initial values, dropout, shuffling and draws: the same alone and beside other threads."""

    def train(seed, losses):
        dt.manual_seed(seed)
        net = dt.nn.Sequential(dt.nn.Linear(8, 16), dt.nn.Dropout(), dt.nn.Linear(16, 1))
        opt = dt.optim.SGD(net.parameters(), lr=0.01)
        x = dt.randn(40, 8)
        data = dt.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
        for _ in range(3):
            for batch, target in dt.utils.data.DataLoader(data, batch_size=8, shuffle=True):
                opt.zero_grad()
                loss = dt.nn.functional.mse_loss(net(batch + dt.randn_like(batch)), target)
                loss.backward()
                opt.step()
                losses.append(loss.item())

    def job(seed, losses):
        dt.set_own_generators(True)
        assert dt.has_own_generators()
        train(seed, losses)

    company = [(seed, []) for seed in (1, 2, 1, 3)]
    together(*[lambda c=c: job(*c) for c in company])
    assert not dt.has_own_generators()
    for seed, losses in company:
        alone = []
        train(seed, alone)
        assert len(alone) == 15 and losses == alone
