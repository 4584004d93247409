"""Optimizers whose step is not one of each element by itself, and those that there are not."""

from __future__ import annotations

import math

from .. import _ops
from .._type_info import finfo
from .._types import bfloat16, float32
from ..autograd.grad_mode import no_grad
from .lbfgs import check_rate
from .optimizer import Optimizer


class Adafactor(Optimizer):
    """Adafactor (arXiv 1804.04235), as torch.optim.Adafactor: of the squares of a matrix's gradients the means of
    rows and columns are kept."""

    def __init__(
        self,
        params,
        lr=0.01,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        settings = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    @no_grad()
    def _update(self, group: dict) -> None:
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            state = self.state[p] or self._first_state(p, grad)
            state["step"] += 1
            self._step_of(p, -grad if group["maximize"] else grad, state, group)

    def _first_state(self, p, grad) -> dict:
        _ops.optimizer_check_not_capturing()
        state = self.state[p]
        state["step"] = _ops.zeros((), dtype=float32)
        if grad.ndim > 1:
            rows, columns = [*grad.shape], [*grad.shape]
            rows[-1] = columns[-2] = 1
            state["row_var"] = _ops.zeros(rows, dtype=grad.dtype, device=grad.device)
            state["col_var"] = _ops.zeros(columns, dtype=grad.dtype, device=grad.device)
        else:
            state["variance"] = _ops.zeros_like(grad)
        return state

    def _step_of(self, p, grad, state: dict, group: dict) -> None:
        lr, step = float(group["lr"]), float(state["step"])
        least, least_size = group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        rate = _at_least(least_size, _root_mean_square(p)) * min(lr, step**-0.5)
        if group["weight_decay"] != 0:
            _ops.mul_(p, 1 - lr * group["weight_decay"])
        variance = _variance(grad, state, step ** group["beta2_decay"], least)
        update = _ops.rsqrt(_ops.clamp(variance, min=least * least)) * grad
        clipping = _at_least(1.0, _root_mean_square(update) / group["d"])
        _ops.addcmul_(p, update, rate / clipping, value=-1)


def _at_least(least: float, x):
    """As Python's max, in which NaN is not larger than a number: the other elements take their step."""
    return _ops.fmax(x, _ops.full_like(x, least))


def _root_mean_square(x):
    return _ops.norm(x) / math.sqrt(max(x.numel(), 1))


def _variance(grad, state: dict, weight: float, least: float):
    """The running mean of the squares; that of a matrix is a product of its rows' and its columns'."""
    if grad.ndim < 2:
        return _ops.lerp_(state["variance"], grad * grad, weight)
    rows, columns = state["row_var"], state["col_var"]
    for means, dim in ((rows, -1), (columns, -2)):
        squares = _ops.square(_ops.norm(grad, dim=dim, keepdim=True))
        _ops.lerp_(means, squares / grad.shape[dim], weight)
    return rows @ columns / _ops.clamp(_ops.mean(rows, dim=-2, keepdim=True), min=least)


class Muon(Optimizer):
    """Muon, as torch.optim.Muon: steps along the nearest orthogonal matrix of the momentum, by Newton and Schulz's
    iteration (K. Jordan 2024, kellerjordan.github.io/posts/muon; arXiv 2502.16982)."""

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.775, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        if not momentum >= 0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        settings = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, settings)
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                )

    @no_grad()
    def _update(self, group: dict) -> None:
        lr = float(group["lr"])
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if "momentum_buffer" not in self.state[p]:
                _ops.optimizer_check_not_capturing()
                self.state[p]["momentum_buffer"] = _ops.zeros_like(grad)
            update = _ops.lerp_(self.state[p]["momentum_buffer"], grad, 1 - group["momentum"])
            if group["nesterov"]:
                update = _ops.lerp(grad, update, group["momentum"])
            update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            _ops.mul_(p, 1 - lr * group["weight_decay"])
            _ops.add_(p, update, alpha=-lr * _share(group["adjust_lr_fn"], *p.shape))


def _share(rule: str | None, rows: int, columns: int) -> float:
    """What the learning rate of a matrix is multiplied by."""
    if rule == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(x, coefficients, steps: int, eps: float):
    """About the nearest orthogonal matrix: steps of an odd polynomial that takes the singular values towards 1."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    is_tall = x.shape[0] > x.shape[1]
    out = _ops.to(x.t() if is_tall else x, dtype=bfloat16)
    out = out / _ops.clamp(_ops.norm(out), min=eps)
    for _ in range(steps):
        gram = out @ out.t()
        out = _ops.addmm(out, _ops.addmm(gram, gram, gram, beta=b, alpha=c), out, beta=a)
    return out.t() if is_tall else out


class SparseAdam:
    """Not supported: gradients are dense."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "SparseAdam: there are no sparse gradients here; Adam takes dense ones"
        )
