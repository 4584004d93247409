"""A forked child has a pool, an allocator and a generator that work, whatever the parent's threads
were doing at that moment."""

FORKS = """
    import os, sys, threading
    import dumbtorch as dt

    dt.set_num_threads(3)
    net = dt.nn.Sequential(dt.nn.Linear(64, 128), dt.nn.ReLU(), dt.nn.Linear(128, 1))
    x, y = dt.randn(256, 64), dt.randn(256, 1)

    def step():
        opt = dt.optim.Adam(net.parameters())
        noise = dt.randn(500)
        loss = dt.nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return [loss.item(), noise.sum().item(), net[0].weight.sum().item()]
"""


def test_children_of_a_busy_parent(python):
    """Threads of the parent allocate, compute and draw while it forks. The children's numbers are
    those that the parent's main thread would have had."""
    code = (
        FORKS
        + """
    stop = threading.Event()
    own = [dt.Generator() for _ in range(2)]

    def work(generator):
        while not stop.is_set():
            a = dt.randn(200, 200, generator=generator)
            (a @ a).exp().sum().item()

    threads = [threading.Thread(target=work, args=(g,)) for g in own]
    for t in threads:
        t.start()
    results = []
    for _ in range(25):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.write(write, repr(step()).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        with os.fdopen(read) as pipe:
            results.append(pipe.read())
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    stop.set()
    for t in threads:
        t.join()
    assert set(results) == {repr(step())}, results
    """
    )
    python(code)


def test_multiprocessing(python):
    """Workers that multiprocessing forks send tensors back."""
    code = (
        FORKS
        + """
    import multiprocessing

    step()
    state = dt.get_rng_state()
    def job(seed):
        dt.manual_seed(seed)
        return dt.rand(3), step()[1]

    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.map(job, [1, 2, 1, 2])
    assert results[0][1] == results[2][1] != results[1][1]
    assert results[0][0].equal(results[2][0])
    assert dt.get_rng_state().equal(state)
    """
    )
    python(code)


def test_fork_inside_a_loader(python):
    """The child of a process with loader threads can use the same dataset; the parent goes on."""
    code = (
        FORKS
        + """
    from dumbtorch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(x, y)
    batches = iter(DataLoader(data, batch_size=16, num_workers=2))
    next(batches)
    pid = os.fork()
    if not pid:
        code = 1
        try:
            code = 0 if len(list(DataLoader(data, batch_size=16, num_workers=2))) == 16 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(list(batches)) == 15
    """
    )
    python(code)
