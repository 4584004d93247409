"""dumbtorch against PyTorch and against the machine over sizes, to find cliffs: `make bench ARGS=--sweep`, or

    python benchmarks/sweep.py [softmax product ...] [--device cuda] [--drawn 2] [--some 30] [--seed 0] [--save FOLDER]

Every point is measured in both libraries in turns; the smallest time counts, since what a machine can do is asked. Its
share of the limit is (start + bytes / copy rate, or flops / best rate) / time: `start` is what the smallest work takes,
the rates are measured in the same run. A cliff is a point below 0.95 of PyTorch's speed, or one below PyTorch's and
below 0.8 of its neighbours' mean share on the curve. `--draw FILE` draws the pictures of a saved run; that needs
matplotlib only.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import random
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from measure import REST_SECONDS
from shapes import CLASSES, Point, Scale

ROOT = Path(__file__).resolve().parent.parent
LARGEST = {"cpu": 1 << 22, "cuda": 1 << 28}
SECONDS = {"cpu": 0.01, "cuda": 0.003}
TURNS = 5


@dataclass(frozen=True)
class Limits:
    """Bytes and floating-point operations per second, and the seconds of the smallest work."""

    bytes: float
    flops: float
    start: float

    def of(self, point: Point) -> float:
        return self.start + max(point.bytes / self.bytes, point.flops / self.flops)


@dataclass(frozen=True)
class Result:
    name: str
    axis: str
    curve: str
    x: int
    sizes: str
    limit: float
    ours: float
    theirs: float

    @property
    def share(self) -> float:
        return self.limit / self.ours

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


# ---- measuring


class Clock:
    def __init__(self, device: str, libraries):
        self.device, self.libraries = device, libraries

    def seconds(self, t, work, times: int) -> float:
        wait = t.cuda.synchronize if self.device == "cuda" else lambda: None
        wait()
        start = time.perf_counter()
        for _ in range(times):
            work()
        wait()
        return (time.perf_counter() - start) / times

    def best(self, works: dict) -> dict:
        """Seconds by library, the smallest of turns."""
        times = {}
        for t, work in works.items():
            once = min(self.seconds(t, work, 1) for _ in range(3))
            times[t] = max(1, min(10000, int(SECONDS[self.device] / max(once, 1e-7))))
        samples = defaultdict(list)
        for _ in range(TURNS):
            for t, work in works.items():
                time.sleep(REST_SECONDS)
                samples[t].append(self.seconds(t, work, times[t]))
        return {t: min(found) for t, found in samples.items()}

    def of(self, make, sizes) -> dict:
        return self.best({t: make(t, self.device, sizes) for t in self.libraries})


def limits(clock: Clock, scale: Scale) -> Limits:
    """Of the faster library: what the machine can do."""
    side = 8192 if clock.device == "cuda" else 2048

    def copy(t, device, sizes):
        x = t.randn(*sizes, device=device)
        y = t.empty_like(x)
        return lambda: y.copy_(x)

    def product(t, device, sizes):
        a, b = t.randn(*sizes, device=device), t.randn(*sizes, device=device)
        return lambda: a @ b

    large = min(clock.of(copy, (scale.largest,)).values())
    square = min(clock.of(product, (side, side)).values())
    start = min(clock.of(copy, (1,)).values())
    return Limits(8.0 * scale.largest / large, 2.0 * side**3 / square, start)


def chosen(scale: Scale, names: list[str], some: int) -> dict:
    """The points of each class; `some` of all, drawn at random, unless that is 0."""
    classes = [c for c in CLASSES if not names or any(n in c.name for n in names)]
    pairs = [(work, point) for work in classes for point in work.points(scale)]
    if 0 < some < len(pairs):
        pairs = [pairs[i] for i in sorted(scale.random.sample(range(len(pairs)), some))]
    found = defaultdict(list)
    for work, point in pairs:
        found[work].append(point)
    return found


def sweep(clock: Clock, scale: Scale, classes: dict) -> list[Result]:
    limit = limits(clock, scale)
    print(
        f"copy {limit.bytes / 1e9:.0f} GB/s, product {limit.flops / 1e9:.0f} GFLOP/s, start {limit.start * 1e6:.1f} us"
    )
    found = []
    for work, points in classes.items():
        for point in points:
            ours, theirs = clock.of(work.make, point.sizes).values()
            found.append(
                Result(
                    work.name,
                    work.axis,
                    point.curve,
                    point.x,
                    point.label,
                    limit.of(point),
                    ours,
                    theirs,
                )
            )
        of_class = [r.ratio for r in found if r.name == work.name]
        print(f"{work.name:28} {len(of_class):4} points, ratio {min(of_class):.2f} to {max(of_class):.2f}, "
              f"geometric mean {statistics.geometric_mean(of_class):.2f}", flush=True)  # fmt: skip
    return found


# ---- what it says


def curves(results: list[Result]) -> dict:
    """Results by class and curve, along the axis."""
    found = defaultdict(list)
    for r in sorted(results, key=lambda r: r.x):
        found[r.name, r.curve].append(r)
    return found


def cliffs(results: list[Result]) -> list[tuple[Result, str]]:
    found = []
    for line in curves(results).values():
        for before, r, after in zip([None, *line[:-1]], line, [*line[1:], None], strict=True):
            neighbours = (
                statistics.mean(n.share for n in (before, after) if n)
                if before or after
                else r.share
            )
            if r.ratio < 0.95:
                found.append((r, "slower than PyTorch"))
            elif r.share < 0.8 * neighbours and r.ratio < 1:
                found.append((r, "below its neighbours"))
    return sorted(found, key=lambda pair: pair[0].ratio)


def table(results: list[Result]) -> list[str]:
    lines = ["| class | sizes | us | share of the limit | ratio | |", "|---|---|---|---|---|---|"]
    for r, why in cliffs(results):
        lines.append(
            f"| {r.name} | {r.sizes} | {r.ours * 1e6:.1f} | {r.share:.2f} | {r.ratio:.2f} | {why} |"
        )
    return lines


def summary(results: list[Result]) -> str:
    ratios = [r.ratio for r in results]
    return (f"{len(ratios)} points: {sum(x >= 0.95 for x in ratios) / len(ratios):.1%} at 0.95 of PyTorch or more, "
            f"{sum(x >= 1 for x in ratios) / len(ratios):.1%} at 1 or more, "
            f"geometric mean {statistics.geometric_mean(ratios):.2f}")  # fmt: skip


def save(results: list[Result], path: Path, heading: str) -> None:
    with path.with_suffix(".csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(Result.__dataclass_fields__)
        for r in results:
            numbers = (f"{v:.4g}" if isinstance(v, float) else v for v in vars(r).values())
            out.writerow(numbers)
    lines = [heading, "", summary(results), "", *table(results), ""]
    path.with_suffix(".md").write_text("\n".join(lines))


def load(path: Path) -> list[Result]:
    with path.open(newline="") as file:
        return [
            Result(
                **{
                    k: v if k in ("name", "axis", "curve", "sizes") else float(v)
                    for k, v in line.items()
                }
            )
            for line in csv.DictReader(file)
        ]


def draw(results: list[Result], path: Path) -> None:
    """All classes in one picture: the share of the limit over the size, ours and PyTorch's."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(r.name for r in results))
    across = 4
    figure, places = pyplot.subplots(
        -(-len(names) // across),
        across,
        figsize=(4 * across, 2.6 * -(-len(names) // across)),
        squeeze=False,
    )
    for place in places.flat[len(names) :]:
        place.axis("off")
    for name, place in zip(names, places.flat, strict=False):
        of_class = [r for r in results if r.name == name]
        for k, ((_, curve), line) in enumerate(curves(of_class).items()):
            x = [r.x for r in line]
            place.plot(x, [r.share for r in line], f"C{k}.-", lw=1, ms=3, label=curve)
            place.plot(x, [r.limit / r.theirs for r in line], f"C{k}--", lw=0.7, alpha=0.6)
        place.set(xscale="log", ylim=(0, None), xlabel=of_class[0].axis, title=name)
        place.legend(fontsize=6)
    figure.suptitle("Share of the limit; dashed: PyTorch")
    figure.tight_layout()
    figure.savefig(path, dpi=70)


# ---- the command


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of classes' names; all by default")
    parser.add_argument("--device", default="cpu", choices=LARGEST)
    parser.add_argument("--threads", type=int, default=0, help="of both libraries; all by default")
    parser.add_argument(
        "--drawn", type=int, default=2, help="shapes drawn at random for each class (2)"
    )
    parser.add_argument(
        "--some", type=int, default=0, help="only so many points, drawn at random from all"
    )
    parser.add_argument(
        "--seed", type=int, default=random.randrange(1 << 30), help="of these; printed"
    )
    parser.add_argument(
        "--save", type=Path, help="a folder for the figures, the cliffs and the picture"
    )
    parser.add_argument("--draw", type=Path, help="only draw the picture of a .csv file")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if options.draw:
        draw(load(options.draw), options.draw.with_suffix(".png"))
        return 0
    sys.path.insert(0, str(ROOT / "wrappers" / "python"))
    import dumbtorch
    import torch

    for t in (dumbtorch, torch):
        if options.threads:
            t.set_num_threads(options.threads)
        t.manual_seed(options.seed)
    torch.backends.cudnn.benchmark = True
    scale = Scale(LARGEST[options.device], random.Random(options.seed), options.drawn)
    heading = (f"# Sweep on {options.device}, {datetime.date.today()}, PyTorch {torch.__version__}, "
               f"{torch.get_num_threads()} threads, seed {options.seed}")  # fmt: skip
    print(heading)
    classes = chosen(scale, options.names, options.some)
    results = sweep(Clock(options.device, (dumbtorch, torch)), scale, classes)
    print("\n".join(table(results)))
    print(summary(results))
    if options.save:
        path = options.save / f"{datetime.date.today()}-sweep-{options.device}"
        save(results, path, heading)
        if options.device == "cpu":
            draw(results, path.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
