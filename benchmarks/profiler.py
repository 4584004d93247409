"""How much a profiler slows down training from Python: the steps of c/profiler.c, without one and with one in turns,
and PyTorch's steps under its own.

    python benchmarks/profiler.py [TURNS]

Times are the thread's own: what a busy machine does meanwhile does not count.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "wrappers" / "python"))

# rows, inputs, hidden, outputs, steps in a turn
NETWORKS = {"XOR": (4, 2, 4, 1, 500), "MLP 64-64-10": (72, 64, 64, 10, 200)}


def training(torch, rows: int, inputs: int, hidden: int, outputs: int):
    x, y = torch.randn(rows, inputs), torch.randn(rows, outputs)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, outputs))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step


def microseconds(step, steps: int, profiler) -> float:
    """Of a step; the profiler's start and stop do not count."""
    with profiler:
        start = time.thread_time_ns()
        for _ in range(steps):
            step()
        took = time.thread_time_ns() - start
    return took / 1000 / steps


def measure(torch, name: str, turns: int) -> None:
    *sizes, steps = NETWORKS[name]
    step = training(torch, *sizes)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    microseconds(step, steps, nullcontext())
    off, on = [], []
    for _ in range(turns):
        off.append(microseconds(step, steps, nullcontext()))
        on.append(microseconds(step, steps, torch.profiler.profile(activities=cpu)))
    ratio = statistics.median(b / a for a, b in zip(off, on, strict=True))
    print(
        f"{torch.__name__:10} {name:14} best {min(off):7.2f} and {min(on):7.2f} us ({min(on) / min(off) - 1:+.1%}), "
        f"median {statistics.median(off):7.2f} us ({ratio - 1:+.1%})"
    )


def main() -> None:
    import dumbtorch

    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    libraries = [(dumbtorch, turns)]
    try:
        import torch
    except ImportError:
        pass
    else:
        libraries.append((torch, max(3, turns // 10)))  # whose profiler takes long to stop
    for library, its_turns in libraries:
        library.set_num_threads(1)
        for name in NETWORKS:
            measure(library, name, its_turns)


if __name__ == "__main__":
    main()
