"""`make demo`: trains a small CNN on real images, shows what it gets wrong, and has a C program check the result.

The images are Fashion-MNIST (Debian's package dataset-fashion-mnist), or any folder with the four IDX files of MNIST,
plain or .gz, named by DATA. Pictures and the trained model go to demo-out/.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import time

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.nn import functional as F
from dumbtorch.safetensors import save_file
from dumbtorch.utils.data import DataLoader, TensorDataset, read_idx

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_DATA = "/usr/share/datasets/fashion-mnist"
CLOTHES = (
    "T-shirt",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def find_idx(folder: pathlib.Path, name: str) -> str:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.exists():
            return str(candidate)
    sys.exit(
        f"{folder} has neither {name} nor {name}.gz (DATA=dir names a folder with the four IDX files)"
    )


def load(folder: pathlib.Path, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    """(images [N, 1, 28, 28] in [0, 1], labels [N])."""
    images = read_idx(find_idx(folder, f"{part}-images-idx3-ubyte"))
    labels = read_idx(find_idx(folder, f"{part}-labels-idx1-ubyte"))
    return images.to(dtype=torch.float32).div(255).unsqueeze(1), labels.to(dtype=torch.int64)


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


class ProgressBar:
    """One line that is rewritten a few times a second; on anything but a terminal, only its last state."""

    def __init__(self, title: str, total: int):
        self.title, self.total = title, total
        self.started = self.shown = time.perf_counter()
        self.live = sys.stdout.isatty()

    def update(self, done: int, text: str) -> None:
        now = time.perf_counter()
        finished = done == self.total
        if not finished and (not self.live or now - self.shown < 0.1):
            return
        self.shown = now
        filled = 30 * done // self.total
        bar = "█" * filled + "░" * (30 - filled)
        end = "\n" if finished else ""
        start = "\r" if self.live else ""
        print(f"{start}{self.title} {bar} {text}", end=end, flush=True)


def make_step(model, optimizer):
    """One step of training: (loss, how many answers were right)."""

    def step(x, target):
        optimizer.zero_grad()
        output = model(x)
        loss = F.cross_entropy(output, target)
        loss.backward()
        optimizer.step()
        return loss.detach(), output.detach().argmax(1).eq(target).sum()

    return step


class CapturedSteps:
    """The same step recorded as a CUDA graph; a batch of another size, the last one, runs as it is."""

    def __init__(self, step):
        self.step, self.size, self.captured = step, 0, None

    def __call__(self, x, target):
        if self.captured is None:  # the first step makes the optimizer's state
            self.size, result = len(x), self.step(x, target)
            self.captured = torch.capture(self.step, x, target, warmup=0)
            return result
        return self.captured(x, target) if len(x) == self.size else self.step(x, target)


def train_epoch(step, loader, device: str, title: str, losses: list[float]) -> None:
    bar = ProgressBar(title, len(loader))
    seen = right = 0
    for number, (x, target) in enumerate(loader, 1):
        loss, hits = step(x.to(device), target.to(device))
        losses.append(loss.item())
        seen += len(target)
        right += hits.item()
        rate = seen / (time.perf_counter() - bar.started)
        mean = sum(losses[-100:]) / len(losses[-100:])
        bar.update(
            number, f"loss {mean:.4f}  accuracy {100 * right / seen:5.2f} %  {rate:,.0f} images/s"
        )


def predict(model, images: torch.Tensor, device: str) -> torch.Tensor:
    with torch.no_grad():
        parts = [model(part.to(device)).argmax(1) for part in images.split(1000)]
        return torch.cat(parts).cpu()


def draw_losses(losses: list[float], path: pathlib.Path) -> None:
    from matplotlib import pyplot

    smooth, average = [], losses[0]
    for loss in losses:
        average += 0.02 * (loss - average)
        smooth.append(average)
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    axes.plot(losses, linewidth=0.5, alpha=0.3, label="each step")
    axes.plot(smooth, linewidth=2, label="running mean")
    axes.set(xlabel="step", ylabel="cross-entropy", title="Training loss", yscale="log")
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def draw_mistakes(images, labels, answers, names, path: pathlib.Path) -> None:
    from matplotlib import pyplot

    wrong = answers.ne(labels).nonzero().flatten().tolist()[:40]
    figure, grid = pyplot.subplots(5, 8, figsize=(12, 9))
    for axes in grid.flat:
        axes.axis("off")
    for axes, i in zip(grid.flat, wrong):
        axes.imshow(images[i, 0].tolist(), cmap="gray_r")
        axes.set_title(f"is {names[labels[i].item()]}\nsaid {names[answers[i].item()]}", fontsize=8)
    figure.suptitle("Test images that the network gets wrong")
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def check_in_c(model_file: pathlib.Path, folder: pathlib.Path, answers: torch.Tensor) -> None:
    """A C program reads the same model and must give the same answer for every test image."""
    program = ROOT / "build" / "examples" / "c" / "predict"
    images = find_idx(folder, "t10k-images-idx3-ubyte")
    result = subprocess.run([program, model_file, images], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{program.name} failed: {result.stderr.strip()}")
    same = [int(line) for line in result.stdout.split()] == answers.tolist()
    print(
        f"examples/c/predict.c gives {'the same' if same else 'DIFFERENT'} answers for all {len(answers):,} test images"
    )
    if not same:
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        default=os.environ.get("DATA") or DEFAULT_DATA,
        help="folder with the four IDX files",
    )
    parser.add_argument("--device", default=os.environ.get("DEVICE") or "cpu", help="cpu or cuda")
    parser.add_argument(
        "--capture", action="store_true", help="record the step as one CUDA graph (with cuda)"
    )
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", default=str(ROOT / "demo-out"), help="folder for the pictures and the model"
    )
    options = parser.parse_args()
    folder, out = pathlib.Path(options.data), pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)

    images, labels = load(folder, "train")
    test_images, test_labels = load(folder, "t10k")
    is_fashion = "fashion" in str(folder)
    names = CLOTHES if is_fashion else [str(digit) for digit in range(10)]
    print(f"{len(images):,} training and {len(test_images):,} test images from {folder}")

    torch.manual_seed(options.seed)
    model = make_model().to(options.device)  # drawn on the CPU: the same on every device
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)
    loader = DataLoader(TensorDataset(images, labels), batch_size=options.batch, shuffle=True)
    step = make_step(model, optimizer)
    if options.capture:
        step = CapturedSteps(step)
    losses: list[float] = []
    for epoch in range(1, options.epochs + 1):
        title = f"epoch {epoch}/{options.epochs}"
        train_epoch(step, loader, options.device, title, losses)
        schedule.step()
        answers = predict(model, test_images, options.device)
        accuracy = answers.eq(test_labels).to(dtype=torch.float32).mean().item()
        print(f"epoch {epoch}/{options.epochs} test accuracy {100 * accuracy:.2f} %")

    model_file = out / "fashion.safetensors"
    save_file(model.state_dict(), model_file)
    draw_losses(losses, out / "loss.png")
    draw_mistakes(test_images, test_labels, answers, names, out / "mistakes.png")
    print(f"wrote {model_file}, loss.png and mistakes.png")
    check_in_c(model_file, folder, answers)


if __name__ == "__main__":
    main()
