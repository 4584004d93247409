"""A program that learns while it simulates: a network replaces the costly part of a solver.

python surrogate.py [steps] [folder for the network]

A pendulum with friction is followed by the method of Runge and Kutta with 100 small steps for each
output. While the solver runs, its outputs train a network that does the same 100 steps at once; then the
saved network is read back and takes the solver's place in the loop. One sees the loss fall and, at the
end, both motions side by side and how far they are apart. examples/c/surrogate.c is the same program.
"""

import math
import os
import sys

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.safetensors import load_file, save_file

STEP, FRICTION, BATCH = 0.1, 0.2, 64


def solve(angle: float, speed: float) -> tuple[float, float]:
    """The pendulum STEP seconds later: angle' = speed, speed' = -sin(angle) - friction * speed."""
    h = STEP / 100
    for _ in range(100):
        a1 = -math.sin(angle) - FRICTION * speed
        v2 = speed + h / 2 * a1
        a2 = -math.sin(angle + h / 2 * speed) - FRICTION * v2
        v3 = speed + h / 2 * a2
        a3 = -math.sin(angle + h / 2 * v2) - FRICTION * v3
        v4 = speed + h * a3
        a4 = -math.sin(angle + h * v3) - FRICTION * v4
        angle += h / 6 * (speed + 2 * v2 + 2 * v3 + v4)
        speed += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return angle, speed


def make_network():
    return nn.Sequential(
        nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2)
    )


def train(network, steps: int) -> None:
    """Each step: solve from new random states, and learn how they change."""
    from progress import ProgressBar

    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    bar = ProgressBar(steps)
    for step in range(1, steps + 1):
        start = (torch.rand(BATCH, 2) * 4 - 2).tolist()
        change = [[b - a for a, b in zip(state, solve(*state))] for state in start]
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(torch.tensor(start)), torch.tensor(change) / STEP)
        loss.backward()
        optimizer.step()
        schedule.step()
        bar.update(step, f"loss {loss.item():.6f}")
        if step == 1 or step % max(steps // 10, 1) == 0:
            bar.write(f"step {step} loss {loss.item():.6f}")


def foretell(network, angle: float, speed: float) -> tuple[float, float]:
    """What solve() gives, as the network has learned it."""
    change = network(torch.tensor([[angle, speed]])).tolist()[0]
    return angle + STEP * change[0], speed + STEP * change[1]


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    path = os.path.join(sys.argv[2] if len(sys.argv) > 2 else ".", "pendulum.safetensors")
    torch.manual_seed(0)
    network = make_network()
    train(network, steps)
    save_file(network.state_dict(), path)

    network = make_network()
    network.load_state_dict(load_file(path))
    true = guess = (1.5, 0.0)
    farthest = 0.0
    with torch.no_grad():
        for i in range(1, 101):
            true, guess = solve(*true), foretell(network, *guess)
            farthest = max(farthest, abs(true[0] - guess[0]))
            if i % 10 == 0:
                print(f"t {i * STEP:4.1f}  solver {true[0]:7.4f}  network {guess[0]:7.4f}")
    print(f"farthest apart {farthest:.4f}")


if __name__ == "__main__":
    main()
