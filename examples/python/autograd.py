"""Autograd: the graph of a loss, its gradients, and a check of them by finite differences.

python autograd.py

One sees the graph from the loss down to the leaves, the gradients that backward() leaves there, and
how far they are from (f(w + h) - f(w - h)) / 2h. examples/c/autograd.c is the same program.
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


def finite_differences(f, parameter):
    """The gradient of the number f() with respect to the parameter, one element at a time."""
    h = 1e-6
    flat = parameter.detach().reshape(-1)  # a view: writing into it changes the parameter
    result = torch.zeros_like(flat)
    with torch.no_grad():
        for i in range(len(flat)):
            kept = flat[i].item()
            flat[i] = kept + h
            above = f().item()
            flat[i] = kept - h
            below = f().item()
            flat[i] = kept
            result[i] = (above - below) / (2 * h)
    return result.reshape(parameter.shape)


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

for name, parameter in (("w", w), ("b", b)):
    expected = finite_differences(lambda: loss_of(w, b, x, target), parameter)
    error = (parameter.grad - expected).abs().max().item()
    print(f"{name}: finite differences {'agree' if error < 1e-8 else f'DIFFER by {error}'}")
