"""What gradcheck compares besides the rows of Jacobians."""

from __future__ import annotations

import functools
import math

from .. import _ops
from .._runtime import GradcheckError
from .._tensor_type import TensorBase
from ..func import jvp, vmap
from . import grad


def is_linked(x) -> bool:
    return isinstance(x, TensorBase) and x.requires_grad


def _outputs(out) -> tuple:
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


class Checks:
    """What is looked at besides the rows of Jacobians: products by their columns, and several rows at once."""

    def __init__(self, func, inputs: tuple, eps: float, tolerance: dict):
        self.func, self.inputs, self.eps, self.tolerance = func, inputs, eps, tolerance
        self.wanted = [i for i, x in enumerate(inputs) if is_linked(x)]

    @functools.cached_property
    def linked(self) -> list:
        """Which outputs have a graph."""
        return [is_linked(y) for y in _outputs(self.func(*self.inputs))]

    def of_one(self, i: int):
        """The differentiable outputs as a function of one input."""

        def call(x):
            ys = _outputs(self.func(*self.inputs[:i], x, *self.inputs[i + 1 :]))
            return tuple(y for y, is_one in zip(ys, self.linked, strict=True) if is_one)

        return call

    def products(self, i: int, direction) -> tuple:
        x = self.inputs[i].detach()
        return jvp(self.of_one(i), (x,), (direction,))[1]

    def differences(self, i: int, direction) -> list:
        """What the outputs change by along a direction of one input. It is moved in place, behind the graph's back,
        since the function may hold it itself."""
        x = self.inputs[i].data
        middle, step = x.clone(), direction * self.eps
        try:
            ends = [self._moved(x, middle + step), self._moved(x, middle - step)]
        finally:
            x.copy_(middle)
        return [(above - below) / (2 * self.eps) for above, below in zip(*ends, strict=True)]

    def _moved(self, x, value) -> list:
        """The differentiable outputs where x has this value; clones, as they may be x itself, which moves on."""
        x.copy_(value)
        ys = _outputs(self.func(*self.inputs))
        return [y.detach().clone() for y, is_one in zip(ys, self.linked, strict=True) if is_one]

    def slopes_agree(self) -> bool:
        """Whether weighted sums of the outputs change along random directions as their gradients say."""
        outputs = _outputs(self.func(*self.inputs))
        wanted = [self.inputs[i] for i in self.wanted]
        is_dense = all(
            stride or n <= 1 for x in wanted for n, stride in zip(x.shape, x.stride(), strict=True)
        )
        if not (outputs and wanted and all(self.linked) and is_dense):
            return False
        weights = [_ops.randn_like(y) for y in outputs]
        rows = [
            grad(y, wanted, w, retain_graph=True, allow_unused=True)
            for y, w in zip(outputs, weights, strict=True)
        ]
        for n, i in enumerate(self.wanted):
            direction = _ops.randn_like(self.inputs[i])
            changes = self.differences(i, direction)
            for row, w, change in zip(rows, weights, changes, strict=True):
                slope = 0.0 if row[n] is None else (row[n] * direction).sum().item()
                # Each element of the Jacobian may be off by atol.
                spread = (w.abs().sum() * direction.abs().sum()).item()
                if not math.isclose(
                    slope,
                    (w * change).sum().item(),
                    rel_tol=self.tolerance["rtol"],
                    abs_tol=self.tolerance["atol"] * spread,
                ):
                    return False
        return True

    def check_products(self) -> None:
        for i in self.wanted:
            direction = _ops.randn_like(self.inputs[i])
            pairs = zip(self.products(i, direction), self.differences(i, direction), strict=True)
            for o, (y, expected) in enumerate(pairs):
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
