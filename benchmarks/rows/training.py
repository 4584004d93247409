"""Whole training steps: zero_grad, forward, loss, backward, step."""

from __future__ import annotations

from measure import Row, Target

from rows.compare import compare


def step_of(torch, loss, optimizer, compiled: bool):
    """One training step; `loss()` runs the model."""
    forward = torch.compile(loss) if compiled else loss

    def step():
        optimizer.zero_grad()
        forward().backward()
        optimizer.step()

    return step


def xor(torch, compiled: bool = False):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return step_of(torch, lambda: nn.functional.mse_loss(model(x), y), optimizer, compiled)


def fused_adam(torch, parameters):
    """PyTorch's fastest Adam; ours is always fused and has no such argument."""
    if torch.__name__ == "torch":
        return torch.optim.Adam(parameters, lr=1e-3, fused=True)
    return torch.optim.Adam(parameters, lr=1e-3)


def cnn(torch, batch: int, channels_last: bool = False, compiled: bool = False):
    """The network of the demo."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
    x, target = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = fused_adam(torch, model.parameters())
    return step_of(
        torch, lambda: nn.functional.cross_entropy(model(x), target), optimizer, compiled
    )


def cnn_flops(batch: int) -> float:
    """Multiplications and additions of a step: the backward pass costs twice the forward pass, but
    for the gradient of the images, which nobody asks for."""
    first = 2 * 28 * 28 * 8 * 9
    second = 2 * 14 * 14 * 16 * 8 * 9
    linear = 2 * (784 * 64 + 64 * 10)
    return batch * (2 * first + 3 * second + 3 * linear)


def rows(dumbtorch, torch, *, full: bool) -> list[Row]:
    rivals = {"eager": {}, "channels-last": {"channels_last": True}}
    if full:
        rivals["compile"] = {"compiled": True}
        rivals["compile c.-last"] = {"channels_last": True, "compiled": True}
    result = []
    for batch in (64, 1024):
        ours, theirs = compare(
            lambda library, batch=batch, **options: cnn(library, batch, **options),
            dumbtorch, torch, rivals=rivals,
        )  # fmt: skip
        name = f"CNN step, batch {batch}"
        row = Row("cnn", name, Target(ratio=1.5), ours, theirs, flops=cnn_flops(batch))
        result.append(row)
    return result
