"""The shortest training run there is: a 2-4-1 network learns exclusive or.

python xor.py

One sees the loss of every hundredth epoch, which falls from 0.23 to 0, and what the network answers to each
pair. examples/c/xor.c is the same program.
"""

import dumbtorch as torch
from dumbtorch import nn

torch.manual_seed(0)
x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])

model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(1, 1001):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 100 == 0:
        print(f"epoch {epoch} loss {loss.item():.6f}")
with torch.no_grad():
    for row, answer in zip(x.tolist(), model(x).tolist()):
        print(f"{row[0]:.0f} xor {row[1]:.0f} = {answer[0]:.3f}")
