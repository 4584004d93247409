"""Autograd: the graph of a loss, its gradients, and a check of them by finite differences.

python autograd.py

One sees the graph from the loss down to the leaves, the gradients that backward() leaves there, and
whether they are (f(w + h) - f(w - h)) / 2h. examples/c/autograd.c is the same program.
"""

import dumbtorch as torch


def loss_of(w, b, x, target):
    """The mean square error of tanh(x @ w + b)."""
    return ((torch.tanh(x @ w + b) - target) ** 2).mean()


def print_graph(node, depth: int = 0) -> None:
    """The node and, indented, what its inputs came from."""
    print("  " * depth + node.name())
    for parent, _ in node.next_functions:
        if parent is not None:
            print_graph(parent, depth + 1)


torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # differences need many digits
x, target = torch.randn(4, 3), torch.randn(4, 2)
w = torch.randn(3, 2).requires_grad_()
b = torch.zeros(2).requires_grad_()

loss = loss_of(w, b, x, target)
print("the graph of the loss")
print_graph(loss.grad_fn, 1)
loss.backward()
print(f"loss {loss.item():.6f}\ngradient of w\n{w.grad}\ngradient of b\n{b.grad}")

# Where they do not agree, an error shows both.
if torch.autograd.gradcheck(lambda w, b: loss_of(w, b, x, target), (w, b)):
    print("w and b: finite differences agree")
