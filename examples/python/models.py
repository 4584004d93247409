"""Networks that people know, ready made: a ResNet-18 that trains, and a GPT-2 that writes.

python models.py train [steps] [cpu or cuda]
python models.py write FILE COUNT TOKEN...

`train` makes up eight images of four classes; one sees the loss fall as the network learns them by heart.
`write` reads a safetensors file of GPT-2 of any size, as it is published, and goes on from the tokens:
gpt2.py writes texts with it. examples/c/models.c is the same program.
"""

import sys

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.models import gpt2, resnet18
from dumbtorch.safetensors import load_file


def train(steps: int = 10, device: str = "cpu") -> None:
    torch.manual_seed(0)
    model = resnet18(num_classes=4).to(device)
    images = torch.randn(8, 3, 32, 32).to(device)
    classes = (torch.arange(8) & 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def gpt2_of(state: dict):
    """A GPT-2 of the sizes that a file's tensors have."""
    sizes = {name.removeprefix("transformer."): x.shape for name, x in state.items()}
    layers = sum(name.endswith(".attn.c_attn.weight") for name in sizes)
    if not layers or not sizes.keys() >= {"wte.weight", "wpe.weight"}:
        sys.exit(
            "the weights are no GPT-2's, which have wte.weight, wpe.weight and h.0.attn.c_attn.weight"
        )
    vocabulary, width = sizes["wte.weight"]
    context = sizes["wpe.weight"][0]
    return gpt2(
        vocabulary=vocabulary, context=context, width=width, layers=layers, heads=width // 64
    )


def write(path: str, count: int, tokens: list[int]) -> None:
    state = load_file(path)
    model = gpt2_of(state).eval()
    model.load_state_dict(state)
    torch.manual_seed(0)
    text = model.generate(torch.tensor([tokens]), count, temperature=0.8, top_k=40)
    print(*text[0].tolist())


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] == "train":
        train(int(sys.argv[2]) if len(sys.argv) > 2 else 10, *sys.argv[3:])
    elif len(sys.argv) > 4 and sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]), [int(token) for token in sys.argv[4:]])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
