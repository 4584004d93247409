"""The CNN of the demo, written out by hand; the programs in C, C++, Lua, Go and Fortran are the same and print the
same losses.

python train_cnn.py [folder with the four IDX files] [steps] [cpu or cuda]

One sees the loss of every tenth step, from 2.3 down to 0.7 after 100 steps of Fashion-MNIST.
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

images = read_idx(f"{folder}/train-images-idx3-ubyte.gz").to(device, torch.float32)
images = images.div(255).unsqueeze(1)
labels = read_idx(f"{folder}/train-labels-idx1-ubyte.gz").to(device, torch.int64)

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10),
)  # fmt: skip
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

for step in range(steps):
    first = step * batch % (len(images) - batch)
    x, target = images[first : first + batch], labels[first : first + batch]
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
    if step % 10 == 0 or step == steps - 1:
        print(f"step {step} loss {loss.item():.4f}")
