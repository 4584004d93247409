"""Loss curves of dumbtorch and of PyTorch from the same weights on the same batches: they must lie on each other.

python benchmarks/curves.py [--steps 200] [--save FOLDER] [char_gpt gpt2 lstm]

char_gpt is the program of that name and lstm a language model of two layers, both on the characters of docs/learn.md;
gpt2 is a small GPT-2 on random tokens of a fixed seed. PyTorch's side is written in its own layers and functions: the
program's source on torch, tests/architectures.py, and torch.nn.LSTM.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import dumbtorch
import torch
from dumbtorch import models

ROOT = Path(__file__).resolve().parents[1]


class Task(NamedTuple):
    """A model in both libraries. `scores` are functions of tokens [N, time]; `weights` are of the same names."""

    vocabulary: int
    scores: tuple[Callable, Callable]
    weights: tuple[dict, dict]
    batch: tuple[int, int]  # texts, and tokens of each
    lr: float
    text: list[int] | None  # None: random tokens


def characters() -> tuple[list[int], int]:
    data = (ROOT / "docs" / "learn.md").read_bytes()
    kinds = sorted(set(data))
    return [kinds.index(c) for c in data], len(kinds)


def program(name: str, on_torch: bool) -> ModuleType:
    """A program of examples/python as a module, over either library."""
    source = (ROOT / "examples" / "python" / f"{name}.py").read_text()
    if on_torch:
        source = source.replace("import dumbtorch as torch", "import torch")
        source = source.replace("from dumbtorch", "from torch")
    module = ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    return module


def architectures() -> ModuleType:
    path = ROOT / "tests" / "architectures.py"
    spec = importlib.util.spec_from_file_location("architectures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pair_of_modules(ours, theirs) -> tuple[dict, dict]:
    """Their parameters by name, PyTorch's with our values."""
    state = {name: torch.from_numpy(value.numpy()) for name, value in ours.state_dict().items()}
    theirs.load_state_dict(state)
    return dict(ours.named_parameters()), dict(theirs.named_parameters())


def char_gpt(small: bool) -> Task:
    text, vocabulary = characters()
    ours, theirs = (program("char_gpt", t).CharGPT(vocabulary) for t in (False, True))
    batch = (2, 16) if small else (16, 64)
    return Task(vocabulary, (ours, theirs), pair_of_modules(ours, theirs), batch, 0.003, text)


def gpt2(small: bool) -> Task:
    sizes = dict(vocabulary=50, width=32) if small else dict(vocabulary=512, width=128)
    ours = models.gpt2(**sizes, context=64, layers=2, heads=4, dropout=0.0)
    state = ours.state_dict().items()
    theirs = {name: torch.from_numpy(v.numpy()).clone().requires_grad_() for name, v in state}
    whole = architectures().gpt2
    scores = (ours, lambda tokens: whole(theirs, tokens, 2, 4))
    batch = (2, 16) if small else (8, 64)
    return Task(
        sizes["vocabulary"], scores, (dict(ours.named_parameters()), theirs), batch, 6e-4, None
    )


class TorchLSTM(torch.nn.Module):
    def __init__(self, vocabulary: int, width: int):
        super().__init__()
        self.encoder = torch.nn.Embedding(vocabulary, width)
        self.rnn = torch.nn.LSTM(width, width, 2, batch_first=True)
        self.decoder = torch.nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


def lstm(small: bool) -> Task:
    text, vocabulary = characters()
    width = 64 if small else 128
    ours = models.lstm_lm(vocabulary, width=width, hidden=width, dropout=0.0)
    theirs = TorchLSTM(vocabulary, width)
    scores = (lambda tokens: ours(tokens)[0], theirs)
    batch = (6, 12) if small else (16, 64)
    return Task(vocabulary, scores, pair_of_modules(ours, theirs), batch, 0.003, text)


TASKS = {"char_gpt": char_gpt, "gpt2": gpt2, "lstm": lstm}


def batches(task: Task, steps: int):
    """Tokens [texts, time + 1] for each step, as lists."""
    generator = torch.Generator().manual_seed(0)
    texts, time = task.batch
    for _ in range(steps):
        if task.text is None:
            yield torch.randint(task.vocabulary, (texts, time + 1), generator=generator).tolist()
        else:
            starts = torch.randint(len(task.text) - time, (texts,), generator=generator).tolist()
            yield [task.text[s : s + time + 1] for s in starts]


def curve(t, task: Task, side: int, steps: int) -> list[float]:
    """The losses of a training by AdamW."""
    losses = []
    optimizer = t.optim.AdamW(task.weights[side].values(), lr=task.lr)
    for tokens in batches(task, steps):
        tokens = t.tensor(tokens)
        scores = task.scores[side](tokens[:, :-1])
        loss = t.nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def curves(name: str, steps: int, small: bool = False) -> tuple[list[float], list[float]]:
    """Our losses and PyTorch's."""
    dumbtorch.manual_seed(0)
    task = TASKS[name](small)
    return curve(dumbtorch, task, 0, steps), curve(torch, task, 1, steps)


def farthest(ours: list[float], theirs: list[float]) -> float:
    """The largest difference, as a part of the loss."""
    return max(abs(a - b) / b for a, b in zip(ours, theirs, strict=True))


def table(name: str, ours: list[float], theirs: list[float]) -> str:
    shown = sorted({0, *range(len(ours) // 10 - 1, len(ours), len(ours) // 10)})
    lines = [f"## {name}", "", "| step | dumbtorch | PyTorch |", "|---|---|---|"]
    lines += [f"| {i + 1} | {ours[i]:.6f} | {theirs[i]:.6f} |" for i in shown]
    lines += [
        "",
        f"Largest difference in {len(ours)} steps: {farthest(ours, theirs):.1e} of the loss.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="task", help=f"any of {', '.join(TASKS)}")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save", type=Path, help="write a page into this folder")
    options = parser.parse_args()
    for name in options.names:
        if name not in TASKS:
            parser.error(f"there is no {name}")
    if options.steps < 10:
        parser.error("at least 10 steps")
    tables = []
    for name in options.names or TASKS:
        tables.append(table(name, *curves(name, options.steps)))
        print(tables[-1] + "\n", flush=True)
    if options.save:
        today = datetime.date.today()
        head = f"# Loss curves, {today}\n\nThe same weights and batches in float32: `python benchmarks/curves.py`,"
        versions = f"dumbtorch {dumbtorch.version.release} and PyTorch {torch.__version__}"
        head += f" {versions} on a CPU.\n\n"
        path = options.save / f"{today}-curves.md"
        path.write_text(head + "\n\n".join(tables) + "\n")
        print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
