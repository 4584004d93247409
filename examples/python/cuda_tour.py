"""What a GPU asks of a program: its order, streams, copies, a captured step, and where the time goes.

python cuda_tour.py

Without a GPU it says what is missing. One sees that calls return before the work is done, that two streams
wait for each other by an event, that copies from page-locked memory are faster, that a captured step costs one
launch, and a table of the kernels that took longest. docs/cuda.md has the words; examples/c/cuda_tour.c is
the same program.
"""

import time

import dumbtorch as torch
from dumbtorch import nn


def order() -> None:
    """Twenty products are sent in less time than the GPU takes for them."""
    x = torch.randn(2048, 2048, device="cuda") / 45
    torch.cuda.synchronize()
    begun = time.perf_counter()
    y = x
    for _ in range(20):
        y = y @ x
    sent = time.perf_counter() - begun
    torch.cuda.synchronize()  # reading y would wait too
    print("order: calls return before the work is done")
    print(
        f"  sent after {1000 * sent:.2f} ms, done after {1000 * (time.perf_counter() - begun):.2f} ms"
    )


def streams() -> None:
    """Work of one stream runs in order; between two, an event says what comes first."""
    x = torch.ones(1000, 1000, device="cuda")
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    side, ready, made = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()
    begin.record()
    ready.record()  # x is there
    with torch.cuda.stream(side):
        ready.wait()
        y = x @ x
        made.record()
    made.wait()  # the main stream goes on when y is there
    y.record_stream(torch.cuda.current_stream())
    z = y + 1
    end.record()
    end.synchronize()
    print("streams: 1000 ones times 1000 ones, and 1 =", int(z[0, 0].item()))
    print(f"  between the two events {begin.elapsed_time(end):.2f} ms")


def copies() -> None:
    """The GPU fetches page-locked memory by itself; other memory is copied there first."""
    ordinary = torch.ones(16_000_000)
    pinned = ordinary.pin_memory()
    target = torch.empty(16_000_000, device="cuda")
    print("copies: 64 MB to the GPU")
    for name, source in (("ordinary", ordinary), ("page-locked", pinned)):
        target.copy_(source)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()
        print(f"  {name} memory {1000 * (time.perf_counter() - begun):.2f} ms")
    print("  they arrive:", bool((target == 1).all().item()))


class Training:
    """A network of three layers, whose step is a few dozen short kernels."""

    def __init__(self):
        torch.manual_seed(0)
        layers = (nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
        self.model = nn.Sequential(*layers).to("cuda")
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.x = torch.randn(32, 64).to("cuda")
        self.target = (torch.arange(32) & 7).to("cuda")

    def step(self):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(self.x), self.target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def timed(run, steps: int) -> float:
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(steps):
        run()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - begun) / steps


def capture() -> None:
    """The same steps one by one and as a graph: the same loss."""
    eager, training = Training(), Training()
    eager.step()  # the first step makes the optimizer's state
    training.step()
    graph = torch.cuda.CUDAGraph()
    with graph:  # recorded, not run
        loss = training.step()
    one_by_one, replayed = timed(eager.step, 100), timed(graph.replay, 100)
    print("capture: a step of training, one by one and as a graph")
    print(f"  {one_by_one:.2f} ms and {replayed:.2f} ms")
    print("  both learn the same:", abs(eager.step().item() - replay(graph, loss)) < 1e-4)


def replay(graph, loss) -> float:
    graph.replay()
    return loss.item()


def profile() -> None:
    """Where the time of a step goes."""
    training = Training()
    training.step()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as found:
        for _ in range(10):
            training.step()
    print("profile: the kernels of ten steps that took the GPU longest")
    print(found.key_averages().table(sort_by="self_device_time_total", row_limit=5))


def main() -> None:
    if not torch.cuda.is_available():
        print("cuda_tour needs an NVIDIA GPU:", torch.cuda.why_unavailable())
        return
    order()
    streams()
    copies()
    capture()
    profile()


if __name__ == "__main__":
    main()
