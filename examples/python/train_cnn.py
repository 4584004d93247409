"""The CNN of the demo, written out by hand; the programs in C, C++, Lua, Go and Fortran are the same and print the
same losses and accuracy.

python train_cnn.py [folder with the four IDX files] [steps] [cpu or cuda]

One sees the loss of every tenth step, from 2.3 down, and how many images that it has not seen the network knows:
more than 99 % after 4500 steps of MNIST.
"""

import sys

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.utils.data import read_idx

folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/datasets/fashion-mnist"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
batch = 64
torch.set_default_device(device)


def read_files(name: str):
    images = read_idx(f"{folder}/{name}-images-idx3-ubyte.gz").to(device, torch.float32)
    labels = read_idx(f"{folder}/{name}-labels-idx1-ubyte.gz").to(device, torch.int64)
    return images.div(255).unsqueeze(1), labels


def accuracy(images, labels) -> float:
    """The share of images that the model knows, in percent."""
    right = 0
    with torch.no_grad():
        for x, target in zip(images.split(1000), labels.split(1000), strict=True):
            right += (model(x).argmax(1) == target).sum().item()
    return 100 * right / len(labels)


images, labels = read_files("train")
test = read_files("t10k")

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10),
)  # fmt: skip
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

for step in range(steps):
    first = step * batch % (len(images) - batch)
    x, target = images[first : first + batch], labels[first : first + batch]
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 10 == 0 or step == steps - 1:
        print(f"step {step} loss {loss.item():.4f}")
print(f"test accuracy {accuracy(*test):.2f} %")
