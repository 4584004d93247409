"""Small PyTorch scripts run after changing one line: each runs with PyTorch and with dumbtorch."""

import math
import sys
import types

import dumbtorch as dt
import pytest

SCRIPTS = {}

SCRIPTS["polynomial by hand"] = """
import torch, math
dtype, device = torch.float, torch.device("cpu")
x = torch.linspace(-math.pi, math.pi, 2000, device=device, dtype=dtype)
y = torch.sin(x)
a, b, c, d = (torch.full((), v, device=device, dtype=dtype, requires_grad=True) for v in (.1, .2, .3, .4))
for t in range(300):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 1e-6 * p.grad
            p.grad = None
result = [loss.item(), a.item(), b.item(), c.item(), d.item()]
"""

SCRIPTS["polynomial with nn"] = """
import torch, math
x = torch.linspace(-math.pi, math.pi, 2000)
y = torch.sin(x)
p = torch.tensor([1, 2, 3])
xx = x.unsqueeze(-1).pow(p)
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
with torch.no_grad():
    for q in model.parameters():
        q.zero_()
loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for t in range(200):
    y_pred = model(xx)
    loss = loss_fn(y_pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
linear_layer = model[0]
result = [loss.item(), linear_layer.bias.item(), linear_layer.weight[:, 0].item()]
"""

SCRIPTS["custom function and module"] = """
import torch, math
class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input ** 3 - 3 * input)
    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input ** 2 - 1)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.zeros(()))
        self.b = torch.nn.Parameter(-torch.ones(()))
        self.c = torch.nn.Parameter(torch.zeros(()))
        self.d = torch.nn.Parameter(torch.full((), 0.3))
    def forward(self, x):
        return self.a + self.b * LegendrePolynomial3.apply(self.c + self.d * x)
model = Model()
x = torch.linspace(-math.pi, math.pi, 200)
optimizer = torch.optim.SGD(model.parameters(), lr=5e-5, momentum=0.9)
for t in range(200):
    loss = (model(x) - torch.sin(x)).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
result = [loss.item()] + [float(v) for v in model.state_dict().values()]
text = f"{model.b.item():.3f} {model.d.item():.3f}"
"""

SCRIPTS["classifier"] = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import torch.nn.functional as F
device = "cuda" if torch.cuda.is_available() and False else "cpu"
X = (torch.arange(400.).view(100, 4) * 0.7).sin()
y = (X.sum(dim=1) > 0).long()
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 2)])
        self.dropout = nn.Dropout(0.0)
        for i, layer in enumerate(self.layers):
            nn.init.constant_(layer.bias, 0.1)
            with torch.no_grad():
                n = layer.weight.numel()
                layer.weight.copy_((torch.arange(float(n)) * (i + 1)).cos().view_as(layer.weight) * 0.3)
    def forward(self, x):
        x = x.view(x.size(0), -1)
        for layer in self.layers[:-1]:
            x = self.dropout(F.relu(layer(x)))
        return F.log_softmax(self.layers[-1](x), dim=1)
model = Net().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.9)
loader = DataLoader(TensorDataset(X, y), batch_size=32, shuffle=False)
losses = []
for epoch in range(8):
    model.train()
    for batch, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        optimizer.step()
    scheduler.step()
    losses.append(loss.item())
model.eval()
correct = 0
with torch.no_grad():
    for data, target in loader:
        output = model(data)
        pred = output.argmax(dim=1, keepdim=True)
        correct += pred.eq(target.view_as(pred)).sum().item()
        _, other = torch.max(output.data, 1)
        assert (other == pred.squeeze(1)).all()
        assert (output.argmax(1) == target).type(torch.float).sum().item() >= 0
result = losses + [correct / len(loader.dataset), optimizer.param_groups[0]["lr"]]
text = repr(model)
"""

SCRIPTS["recurrent cell by hand"] = """
import torch
torch.set_default_dtype(torch.float64)
try:
    W = (torch.arange(16).reshape(4, 4) / 10 - 0.8).requires_grad_()
    h = torch.zeros(1, 4)
    out = []
    for t in range(5):
        x = torch.nn.functional.one_hot(torch.tensor([t % 4]), num_classes=4).to(W.dtype)
        h = torch.tanh(h @ W + x @ W.T)
        out.append(h)
    seq = torch.stack(out, dim=1)
    loss = (seq[:, 1:] - seq[:, :-1]).abs().mean() + seq[0, -1, 2] ** 2
    loss.backward()
    result = [loss.item()] + W.grad.flatten().tolist() + torch.cat([h, x], dim=-1)[0].tolist()
finally:
    torch.set_default_dtype(torch.float32)
"""


def run(script, name):
    """The script's `result` and `text`, with `torch` being the module of that name."""
    script = script.replace("import torch, math", f"import {name} as torch, math")
    script = script.replace("import torch\n", f"import {name} as torch\n")
    script = script.replace("from torch", f"from {name}")
    script = script.replace("import torch.nn.functional", f"import {name}.nn.functional")
    module = types.ModuleType("script")
    exec(compile(script, name, "exec"), module.__dict__)
    return module.result, getattr(module, "text", "")


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name):
    ours, text = run(SCRIPTS[name], "dumbtorch")
    assert all(math.isfinite(v) for v in ours)
    if "torch" not in sys.modules:
        pytest.importorskip("torch")
    theirs, expected = run(SCRIPTS[name], "torch")
    assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-5)
    assert text == expected
    assert dt.get_default_dtype() is dt.float32
