"""GPT-2: trained from scratch, or with its published weights, which continue a text.

python gpt2.py train STEPS [TOKENS or random] [124M or tiny] [cpu or cuda]
python gpt2.py write FOLDER TEXT [how many tokens]

`train` takes a file of 16-bit tokens, or makes some up: one sees the loss fall from ln(50257), 10.8. A step
of 124M takes seconds on a CPU. `write` wants a folder with model.safetensors or pytorch_model.bin, vocab.json
and merges.txt, as they are published for GPT-2 of any size; one sees the text and how it goes on.
examples/c/gpt2.c does the same; the network is written out there, and taken from dumbtorch.models here.
"""

import os
import sys
import time

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.models import gpt2
from dumbtorch.safetensors import load_file

SIZES = {
    "124M": dict(vocabulary=50257, context=1024, width=768, layers=12, heads=12),
    "tiny": dict(vocabulary=257, context=64, width=128, layers=2, heads=2),
}
BATCH, TIME = 4, 64  # so many tokens in a step


def read_tokens(path: str, vocabulary: int):
    """The tokens of a file, or 10000 random ones."""
    if path == "random":
        return torch.randint(0, vocabulary, (10000,))
    with open(path, "rb") as file:
        data = bytearray(file.read())
    tokens = torch.frombuffer(data, dtype=torch.int16).to(torch.int64).bitwise_and(0xFFFF)
    if len(tokens) <= TIME or tokens.max().item() >= vocabulary:
        sys.exit(f"{path}: too few tokens, or one that is not below {vocabulary}")
    return tokens


def train(steps: int, path: str = "random", size: str = "124M", device: str = "cpu") -> None:
    from progress import ProgressBar

    torch.manual_seed(0)
    model = gpt2(**SIZES[size], dropout=0.0)
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    tokens = read_tokens(path, SIZES[size]["vocabulary"])
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    bar, begun = ProgressBar(steps), time.perf_counter()
    for step in range(1, steps + 1):
        starts = torch.randint(0, len(tokens) - TIME, (BATCH, 1))
        batch = tokens[starts + torch.arange(TIME + 1)].to(device)
        optimizer.zero_grad()
        scores = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        bar.write(f"step {step} loss {loss.item():.4f}")
        rate = step * BATCH * TIME / (time.perf_counter() - begun)
        bar.update(step, f"{rate:.0f} tokens a second")


def read_weights(folder: str) -> dict:
    """The folder's weights, in whichever of the two files they were published."""
    path, pytorchs = f"{folder}/model.safetensors", f"{folder}/pytorch_model.bin"
    if os.path.exists(path):
        return load_file(path)
    if os.path.exists(pytorchs):
        return torch.load(pytorchs)
    sys.exit(f"{folder} has no model.safetensors and no pytorch_model.bin")


def load_model(folder: str):
    """The model that the weights are of: its sizes are those of the tensors."""
    state = {name.removeprefix("transformer."): x for name, x in read_weights(folder).items()}
    layers = sum(name.endswith(".attn.c_attn.weight") for name in state)
    if not layers or not state.keys() >= {"wte.weight", "wpe.weight"}:
        sys.exit(
            "the weights are no GPT-2's, which have wte.weight, wpe.weight and h.0.attn.c_attn.weight"
        )
    vocabulary, width = state["wte.weight"].shape
    context = len(state["wpe.weight"])
    model = gpt2(
        vocabulary=vocabulary, context=context, width=width, layers=layers, heads=width // 64
    )
    model.load_state_dict(state)
    return model.eval()


def write(folder: str, text: str, count: str = "50") -> None:
    from bpe import BPE

    bpe = BPE(f"{folder}/vocab.json", f"{folder}/merges.txt")
    model = load_model(folder)
    start = bpe.encode(text)
    if not start:
        sys.exit("there is no text to go on from")
    torch.manual_seed(0)
    tokens = model.generate(torch.tensor([start]), int(count), temperature=0.8, top_k=40)
    print(len(start), "tokens:", *start)
    print(bpe.decode(tokens[0].tolist()).decode(errors="replace"))


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "train":
        train(int(sys.argv[2]), *sys.argv[3:])
    elif len(sys.argv) > 3 and sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
