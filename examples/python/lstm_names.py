"""An LSTM that invents first names, one character at a time.

python lstm_names.py NAMES [steps] [cpu or cuda]

NAMES is a file with a name on each line. One sees the loss fall and, at the end, names that the file does
not have but might: with 32,000 English names 2000 steps are half a minute on a CPU.
examples/c/lstm_names.c is the same program.
"""

import sys

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.nn import functional as F

WIDTH, BATCH, LONGEST = 128, 64, 20


class Names(nn.Module):
    """Token 0 begins and ends a name; 1 to 26 are the letters."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(27, 32)
        self.lstm = nn.LSTM(32, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, 27)

    def forward(self, tokens, state=None):
        hidden, state = self.lstm(self.embedding(tokens), state)
        return self.head(hidden), state


def loss_of(model, tokens):
    """The cross-entropy of each token given those before it; -1 fills the lines of short names."""
    scores, _ = model(tokens[:, :-1].clamp(min=0))
    return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=-1)


def read_names(path: str) -> list[str]:
    with open(path) as file:
        names = [line.strip().lower() for line in file]
    names = [name for name in names if 0 < len(name) <= LONGEST]
    for number, name in enumerate(names, 1):
        if not all("a" <= letter <= "z" for letter in name):
            sys.exit(f"{path}: name {number} is not made of letters a to z")
    return names


def encode(names: list[str]):
    """[names, 22]: 0, the letters, 0, then -1."""
    rows = []
    for name in names:
        row = [0, *(ord(letter) - ord("a") + 1 for letter in name), 0]
        rows.append(row + [-1] * (LONGEST + 2 - len(row)))
    return torch.tensor(rows)


def train(model, tokens, steps: int) -> None:
    from progress import ProgressBar

    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    bar = ProgressBar(steps)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = loss_of(model, tokens[torch.randint(0, len(tokens), (BATCH,))])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        bar.update(step, f"loss {loss.item():.4f}")
        if step == 1 or step % max(steps // 10, 1) == 0:
            bar.write(f"step {step} loss {loss.item():.4f}")


@torch.no_grad()
def invent(model) -> str:
    """A name: each letter drawn with the probability that the model gives it after those before."""
    token, state, name = torch.tensor([[0]]), None, ""
    while len(name) < LONGEST:
        scores, state = model(token, state)
        token = torch.multinomial(F.softmax(scores[:, -1], dim=-1), 1)
        if token.item() == 0:
            break
        name += chr(ord("a") + token.item() - 1)
    return name


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    torch.set_default_device(sys.argv[3] if len(sys.argv) > 3 else "cpu")
    names = read_names(sys.argv[1])
    if not names:
        sys.exit(f"{sys.argv[1]}: has no names")
    print(f"{len(names)} names")
    torch.manual_seed(0)
    model = Names()
    train(model, encode(names), steps)
    for _ in range(10):
        print(invent(model))


if __name__ == "__main__":
    main()
