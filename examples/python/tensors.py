"""Tensors: how they are made, what they know about themselves, and what can be done to them.

python tensors.py

One sees each result under the line that made it. examples/c/tensors.c is the same program.
"""

import dumbtorch as torch


def show(text: str, result) -> None:
    print(f"{text}\n{result}\n")


torch.manual_seed(0)
x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
show("x = arange(6).reshape(2, 3)", x)
show("size of dimension 0, of dimension 1", f"{x.size(0)} {x.size(1)}")
show("stride: how far the next element of each dimension is", f"{x.stride(0)} {x.stride(1)}")

show("x * 2 + 1: element by element", x * 2 + 1)
row = torch.tensor([10.0, 20.0, 30.0])
show("x + [10, 20, 30]: the row is repeated for each row of x", x + row)
show("x @ x.T: the product of matrices", x @ x.T)
show("x.sum(), x.mean(dim=1): over everything, along each row", f"{x.sum()!r}\n{x.mean(dim=1)}")
show("x > 2: a mask of truth values", x > 2)
show("where(x > 2, x, 0)", torch.where(x > 2, x, 0))

y = x.T  # a view: other strides, the same memory
show("stride of y = x.T", f"{y.stride(0)} {y.stride(1)}")
y[0, 1] = 100
show("x after y[0, 1] = 100: y is a view of x", x)

show("int64 + float32 is float32", torch.tensor([1, 2]) + torch.tensor([0.5, 0.5]))
show("randn(2, 2) after manual_seed(0)", torch.randn(2, 2))
