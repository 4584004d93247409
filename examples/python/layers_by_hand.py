"""One step of training with every number on the page: linear, relu, linear, mean square error.

python layers_by_hand.py

One sees what each layer gives going forward and what each formula of the backward gives going back,
compared with autograd; then one step of gradient descent, after which the loss is smaller.
docs/learn.md explains the lines. examples/c/layers_by_hand.c is the same program.
"""

import dumbtorch as torch


def linear(x, w, b):
    """x @ w.T + b: w has a row for each output."""
    return x @ w.T + b


def linear_backward(grad, x, w):
    """The gradients of x, w and b, given that of the output."""
    return grad @ w, grad.T @ x, grad.sum(0)


def relu(x):
    return torch.where(x > 0, x, 0)


def relu_backward(grad, x):
    return torch.where(x > 0, grad, 0)


def show(name: str, value) -> None:
    print(f"{name}\n{value.detach()}")


def compare(name: str, by_hand, leaf) -> None:
    same = torch.allclose(by_hand, leaf.grad, rtol=0, atol=1e-6)
    print(f"{name}: autograd {'agrees' if same else 'DISAGREES'}\n{by_hand}")


x = torch.tensor([[1.0, 2.0], [-1.0, 0.5]])
target = torch.tensor([[1.0], [0.0]])
w1 = torch.tensor([[0.5, -0.25], [0.25, 0.5], [-0.5, 1.0]]).requires_grad_()
b1 = torch.tensor([0.1, 0.0, -0.1]).requires_grad_()
w2 = torch.tensor([[1.0, -1.0, 0.5]]).requires_grad_()
b2 = torch.tensor([0.2]).requires_grad_()

print("forward")
h = linear(x, w1, b1)
show("h = x @ w1.T + b1", h)
a = relu(h)
show("a = relu(h)", a)
y = linear(a, w2, b2)
show("y = a @ w2.T + b2", y)
loss = ((y - target) ** 2).mean()
print(f"loss = mean((y - target)^2) = {loss.item():.6f}")

print("\nbackward")
loss.backward()  # autograd's gradients, to compare with
with torch.no_grad():
    grad_y = 2 * (y - target) / y.numel()
    show("grad_y = 2 (y - target) / 2", grad_y)
    grad_a, grad_w2, grad_b2 = linear_backward(grad_y, a, w2)
    show("grad_a = grad_y @ w2", grad_a)
    compare("grad_w2 = grad_y.T @ a", grad_w2, w2)
    compare("grad_b2 = sum of grad_y's rows", grad_b2, b2)
    grad_h = relu_backward(grad_a, h)
    show("grad_h = grad_a where h > 0", grad_h)
    _, grad_w1, grad_b1 = linear_backward(grad_h, x, w1)
    compare("grad_w1 = grad_h.T @ x", grad_w1, w1)
    compare("grad_b1 = sum of grad_h's rows", grad_b1, b1)

    print("\nstep")
    for parameter, grad in ((w1, grad_w1), (b1, grad_b1), (w2, grad_w2), (b2, grad_b2)):
        parameter -= 0.1 * grad
    show("w1 - 0.1 grad_w1", w1)
    y = linear(relu(linear(x, w1, b1)), w2, b2)
    print(f"loss after the step = {((y - target) ** 2).mean().item():.6f}")
