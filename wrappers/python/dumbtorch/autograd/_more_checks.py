"""What gradcheck compares besides the rows of Jacobians."""

from __future__ import annotations

from .. import _ops
from .._runtime import GradcheckError
from .._tensor_type import TensorBase
from ..func import jvp, vmap
from . import grad, no_grad


def is_linked(x) -> bool:
    return isinstance(x, TensorBase) and x.requires_grad


def _outputs(out) -> tuple:
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


class Checks:
    """What is looked at besides the rows of Jacobians: products by their columns, and several rows at once."""

    def __init__(self, func, inputs: tuple, eps: float, tolerance: dict):
        self.func, self.inputs, self.eps, self.tolerance = func, inputs, eps, tolerance
        self.wanted = [i for i, x in enumerate(inputs) if is_linked(x)]
        self.linked = [is_linked(y) for y in _outputs(func(*inputs))]

    def of_one(self, i: int):
        """The differentiable outputs as a function of one input."""

        def call(x):
            ys = _outputs(self.func(*self.inputs[:i], x, *self.inputs[i + 1 :]))
            return tuple(y for y, is_one in zip(ys, self.linked, strict=True) if is_one)

        return call

    def products(self, i: int, direction) -> tuple:
        x = self.inputs[i].detach()
        return jvp(self.of_one(i), (x,), (direction,))[1]

    def check_products(self) -> None:
        for i in self.wanted:
            x = self.inputs[i].detach()
            direction = _ops.randn_like(x)
            found, call = self.products(i, direction), self.of_one(i)
            with no_grad():
                step = direction * self.eps
                ends = call(x + step), call(x - step)
            for o, (y, above, below) in enumerate(zip(found, *ends, strict=True)):
                expected = ((above - below) / (2 * self.eps)).detach()
                self.compare(
                    f"Jacobian computed with forward mode mismatch for output {o} with respect to input {i}",
                    y,
                    expected,
                )

    def check_batched_products(self) -> None:
        for i in self.wanted:
            x = self.inputs[i].detach()
            directions = _ops.stack([_ops.randn_like(x), _ops.randn_like(x)])
            rows = [self.products(i, d) for d in directions]
            together = vmap(lambda d, i=i: self.products(i, d))(directions)
            self.compare_rows(together, rows, lambda o, i=i: (o, i))

    def check_batched_gradients(self) -> None:
        outputs = _outputs(self.func(*self.inputs))
        wanted = [self.inputs[i] for i in self.wanted]
        for o, y in enumerate(outputs):
            if not is_linked(y):
                continue
            weights = _ops.stack([_ops.randn_like(y), _ops.randn_like(y)])
            rows = [grad(y, wanted, w, retain_graph=True, allow_unused=True) for w in weights]
            together = grad(
                y, wanted, weights, retain_graph=True, allow_unused=True, is_grads_batched=True
            )
            self.compare_rows(together, rows, lambda n, o=o: (o, self.wanted[n]))

    def compare_rows(self, together: tuple, rows: list, places) -> None:
        for n, (found, *expected) in enumerate(zip(together, *rows, strict=True)):
            if found is None:
                continue
            o, i = places(n)
            self.compare(
                f"For output {o} and input {i}: gradcheck or gradgradcheck failed while testing batched gradient "
                "computation",
                found,
                _ops.stack(expected),
            )

    def compare(self, sentence: str, found, expected) -> None:
        if not _ops.allclose(found, expected, **self.tolerance):
            raise GradcheckError(f"gradcheck: {sentence}.\nGot:\n{found}\nExpected:\n{expected}")
