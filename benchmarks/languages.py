"""GPT-2 124M in Python, C and Lua: the same steps of training, and text written token by token.

    python3 benchmarks/languages.py [--device cuda]

Each program is a process of its own, and tells by a line when a turn is done; the time of a turn is the
median of those between two lines. The programs take turns, twice. PyTorch's figures for the same steps
are those of `gpu.py models`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DT_BUILD_DIR", ROOT / "build"))
VOCABULARY = 50304
WORDS = ["train|generate", "COUNT", "TURNS", "BATCH", "TIME", "LAYERS", "DEVICE"]

# what, count, turns, batch, time, layers: on a GPU, and a small one that shows on a CPU that it runs
WORK = {
    "cuda": [("train", 10, 6, 32, 1024, 12), ("generate", 700, 6, 1, 8, 12)],
    "cpu": [("train", 1, 3, 1, 32, 2), ("generate", 8, 3, 1, 8, 2)],
}


def run(what: str, count: int, turns: int, batch: int, time: int, layers: int, device: str):
    """What benchmarks/c/gpt2.c and benchmarks/lua/gpt2.lua do."""
    sys.path.insert(0, str(ROOT / "wrappers" / "python"))
    import dumbtorch as dt

    options = {"vocabulary": VOCABULARY, "layers": layers, "dropout": 0.0}
    model = dt.models.gpt2(**options, device=device)
    optimizer = dt.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = dt.randint(0, VOCABULARY, (batch, time), device=device)
    following = dt.randint(0, VOCABULARY, (batch, time), device=device)

    def step():
        optimizer.zero_grad()
        with dt.autocast(device, dtype=dt.bfloat16):
            scores = model(tokens).flatten(0, 1)
            loss = dt.nn.functional.cross_entropy(scores, following.flatten())
        loss.backward()
        optimizer.step()

    def write():
        model.generate(tokens, count)

    turn = write
    if what == "generate":
        model.to(dt.bfloat16).eval()
    else:
        replay = dt.capture(step, warmup=3).graph.replay if device == "cuda" else step

        def turn():
            for _ in range(count):
                replay()

    for _ in range(turns):
        turn()
        dt.cuda.synchronize()
        print("turn", flush=True)


def programs() -> dict[str, list[str]]:
    lua = {name: shutil.which(name) for name in ("luajit", "lua5.4")}
    lua = {name: path for name, path in lua.items() if path and (BUILD / name).is_dir()}
    found = {
        "Python": [sys.executable, __file__, "--run"],
        "C": [str(BUILD / "benchmarks" / "gpt2")],
    }
    return found | {
        name: [path, str(ROOT / "benchmarks/lua/gpt2.lua")] for name, path in lua.items()
    }


def seconds_of_turns(program: list[str], work: list[str], environment: dict[str, str]):
    """The first turn is not counted: memory is taken in it."""
    ends = []
    with subprocess.Popen(program + work, stdout=subprocess.PIPE, env=environment) as process:
        for _ in process.stdout:
            ends.append(time.perf_counter())
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(program)}: exit status {process.returncode}")
    return [b - a for a, b in zip(ends, ends[1:], strict=False)]


def compare(device: str) -> None:
    print("| work | program | a turn, ms | tokens a second | of Python's |")
    print("| --- | --- | --- | --- | --- |")
    for what, count, *rest in WORK[device]:
        _, batch, length, _ = rest
        items = count * (batch * length if what == "train" else batch)
        times: dict[str, list[float]] = {}
        for _ in range(2):
            for name, program in programs().items():
                places = f"{BUILD}/{name}/?.so;;"
                environment = os.environ | {"LUA_CPATH": places}
                work = [str(word) for word in (what, count, *rest, device)]
                times.setdefault(name, []).extend(seconds_of_turns(program, work, environment))
        reference = statistics.median(times["Python"])
        for name, seconds in times.items():
            median = statistics.median(seconds)
            print(
                f"| {what} | {name} | {median * 1e3:,.2f} | {items / median:,.0f} "
                f"| {reference / median:.3f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=WORK, default="cuda")
    parser.add_argument(
        "--run", nargs=len(WORDS), metavar=tuple(WORDS), help="Python's program alone"
    )
    options = parser.parse_args()
    if options.run:
        what, *numbers, device = options.run
        run(what, *map(int, numbers), device)
    else:
        compare(options.device)


if __name__ == "__main__":
    main()
