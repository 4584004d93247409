"""LBFGS: a quasi-Newton method that evaluates the loss itself, as often as it needs to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .. import _ops
from .._tensor_type import TensorBase
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer, check_one_rate

# What a walk hands to the next one, by way of the state and in its order.
_OF_A_WALK = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal, Math. Programming 45, 503), as torch.optim.LBFGS: step(closure) takes up
    to max_iter steps along directions that the last history_size of them suggest. One group of parameters, whose state
    is the first one's."""

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_rate(lr, "Invalid learning rate: {}")
        settings = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure):
        """Updates the parameters; closure clears the gradients, computes the loss and its gradients, and gives the
        loss. What it gives at first is returned."""
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        state["func_evals"] += 1
        begin = _Point(0.0, float(first), self._gradient())
        if not _all_within(begin.grad, self.param_groups[0]["tolerance_grad"]):
            walk = {name: state.get(name) for name in _OF_A_WALK}
            self._walk(closure, state, walk, begin)
            state.update(walk)
        return first

    @property
    def _params(self) -> list:
        return self.param_groups[0]["params"]

    def _walk(self, closure, state: dict, walk: dict, here: _Point) -> None:
        """Steps from here, of which `walk` keeps what the next ones need."""
        group = self.param_groups[0]
        max_iter, smallest = group["max_iter"], group["tolerance_change"]
        left = group["max_eval"] - 1
        for number in range(1, max_iter + 1):
            state["n_iter"] += 1
            d = walk["d"] = _direction(state, walk, here.grad, group["history_size"])
            walk["prev_flat_grad"], walk["prev_loss"] = here.grad, here.loss
            t = walk["t"] = float(group["lr"]) * _caution(state, here.grad)
            here = here._replace(t=0.0, slope=float(_ops.dot(here.grad, d)))
            if here.slope > -smallest:
                return
            before = here
            here, evaluations = self._advance(closure, before, d, t, left, number == max_iter)
            walk["t"] = here.t
            state["func_evals"] += evaluations
            left -= evaluations
            if (
                number == max_iter
                or left <= 0
                or _all_within(here.grad, group["tolerance_grad"])
                or _all_within(d * here.t, smallest)
                or abs(here.loss - before.loss) < smallest
            ):
                return

    def _advance(
        self, closure, start: _Point, d, t: float, left: int, last: bool
    ) -> tuple[_Point, int]:
        """Goes along d: where to, and how often that took the closure. The last of a fixed length is not evaluated."""
        search = self.param_groups[0]["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        if search is None:
            self._move(t, d)
            return (start._replace(t=t), 0) if last else (self._evaluate(closure, t, d), 1)
        origin = [_ops.clone(p) for p in self._params]

        def look(t: float) -> _Point:
            self._move(t, d)
            point = self._evaluate(closure, t, d)
            for p, value in zip(self._params, origin, strict=True):
                _ops.copy_(p, value)
            return point

        found, evaluations = _Search(look, start, left).run(t, float(_ops.amax(_ops.abs(d))))
        self._move(found.t, d)
        return found, evaluations

    def _evaluate(self, closure, t: float, d) -> _Point:
        loss = float(closure())
        grad = self._gradient()
        return _Point(t, loss, grad, float(_ops.dot(grad, d)))

    def _gradient(self):
        """The gradients of all parameters as one vector of its own; absent ones are 0."""
        parts = [(p, p.grad) for p in self._params]
        return _ops.cat(
            [_ops.reshape(_ops.zeros_like(p) if grad is None else grad, (-1,)) for p, grad in parts]
        )

    def _move(self, t: float, d) -> None:
        """Adds t * d to the parameters."""
        start = 0
        for p in self._params:
            end = start + p.numel()
            _ops.add_(p, _ops.reshape(d[start:end], p.shape), alpha=t)
            start = end


def check_rate(lr, sentence: str) -> None:
    """PyTorch's words about learning rates that some optimizers of whole tensors refuse."""
    check_one_rate(lr)
    if not lr >= 0:
        raise ValueError(sentence.format(lr))


def _all_within(x, bound: float) -> bool:
    return float(_ops.amax(_ops.abs(x))) <= bound


def _caution(state: dict, grad) -> float:
    """The very first direction is the gradient, whose length says nothing."""
    total = float(_ops.sum(_ops.abs(grad))) if state["n_iter"] == 1 else 0.0
    return min(1.0, 1.0 / total) if total else 1.0


def _direction(state: dict, walk: dict, grad, history_size: int):
    """Minus the gradient times an estimate of the inverse Hessian, by the two loops of Nocedal (Math. Comp. 35,
    773)."""
    if state["n_iter"] == 1:
        walk.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return _ops.neg(grad)
    _remember(walk, grad, history_size)
    changes, steps, inverses = walk["old_dirs"], walk["old_stps"], walk["ro"]
    shares = state.setdefault("al", [None] * history_size)
    d = _ops.neg(grad)
    for i in reversed(range(len(changes))):
        shares[i] = _ops.dot(steps[i], d) * inverses[i]
        _ops.addcmul_(d, changes[i], shares[i], value=-1)
    d = d * walk["H_diag"]
    for i in range(len(changes)):
        share = shares[i] - _ops.dot(changes[i], d) * inverses[i]
        _ops.addcmul_(d, steps[i], share)
    return d


def _remember(walk: dict, grad, history_size: int) -> None:
    """Adds the last step, and how the gradient changed on it, to the history, if the loss is convex along it."""
    change, step = grad - walk["prev_flat_grad"], walk["d"] * walk["t"]
    curvature = _ops.dot(change, step)
    if not float(curvature) > 1e-10:
        return
    history = [walk[name] for name in ("old_dirs", "old_stps", "ro")]
    for values, value in zip(history, (change, step, 1.0 / curvature), strict=True):
        if len(values) == history_size:
            values.pop(0)
        values.append(value)
    walk["H_diag"] = curvature / _ops.dot(change, change)


# ---- the line search


class _Point(NamedTuple):
    """A place along a direction."""

    t: float
    loss: float
    grad: TensorBase
    slope: float = math.nan


class _Search:
    """Looks for a point that meets the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, 3.5):
    a loss that has fallen by its share of the first slope, and a slope that has become flat."""

    ENOUGH, FLAT = 1e-4, 0.9
    SHORTEST = 1e-9

    def __init__(self, look: Callable[[float], _Point], start: _Point, most: int):
        self.look, self.start = look, start
        self.left = most  # steps of the search; its first look is none

    def run(self, t: float, longest: float) -> tuple[_Point, int]:
        """The point, and how many were looked at. `longest` is the direction's largest element."""
        most = self.left
        bracket = self._bracket(t)
        point = bracket[0] if len(bracket) == 1 else self._zoom(bracket, longest)
        return point, 1 + max(most, 0) - max(self.left, 0)

    def _next(self, t: float) -> _Point:
        self.left -= 1
        return self.look(t)

    def _is_high(self, point: _Point) -> bool:
        return point.loss > self.start.loss + self.ENOUGH * point.t * self.start.slope

    def _is_flat(self, point: _Point) -> bool:
        return abs(point.slope) <= -self.FLAT * self.start.slope

    def _bracket(self, t: float) -> list[_Point]:
        """A point that will do, or two with one between them."""
        before, point, steps = self.start, self.look(t), 0
        while self.left > 0:
            if self._is_high(point) or (steps > 1 and point.loss >= before.loss):
                return [before, point]
            if self._is_flat(point):
                return [point]
            if point.slope >= 0:
                return [before, point]
            bounds = point.t + 0.01 * (point.t - before.t), 10 * point.t
            before, point = point, self._next(_lowest_between(before, point, bounds))
            steps += 1
        return [self.start, point]

    def _zoom(self, bracket: list[_Point], longest: float) -> _Point:
        low, near_edge = _lower(bracket), False
        while self.left > 0:
            first, last = sorted(p.t for p in bracket)
            if (last - first) * longest < self.SHORTEST:
                break
            t, near_edge = _inside(_lowest_between(*bracket, (first, last)), first, last, near_edge)
            point = self._next(t)
            if self._is_high(point) or point.loss >= bracket[low].loss:
                bracket[1 - low] = point
                low = _lower(bracket)
                continue
            if self._is_flat(point):
                return point
            if point.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = point
        return bracket[low]


def _lower(bracket: list[_Point]) -> int:
    return 0 if bracket[0].loss <= bracket[1].loss else 1


def _inside(t: float, first: float, last: float, near_edge: bool) -> tuple[float, bool]:
    """The step, away from the edges of the bracket if it is at one, or close to one for a second time; and whether it
    is close for the first time."""
    margin = 0.1 * (last - first)
    if min(last - t, t - first) >= margin:
        return t, False
    if not near_edge and first < t < last:
        return t, True
    return (last - margin if abs(t - last) < abs(t - first) else first + margin), False


def _lowest_between(a: _Point, b: _Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through two points with their slopes is lowest, within bounds (Nocedal and Wright, 3.59)."""
    a, b = sorted((a, b), key=lambda p: p.t)
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = mean * mean - a.slope * b.slope
    if not square >= 0:
        return sum(bounds) / 2
    root = math.sqrt(square)
    rise, bend = b.slope + root - mean, b.slope - a.slope + 2 * root
    if bend == 0:  # a straight line, which goes on falling
        return bounds[rise < 0]
    lowest = b.t - (b.t - a.t) * rise / bend
    return min(max(lowest, bounds[0]), bounds[1])
