"""Adam and AdamW."""

from __future__ import annotations

from .. import _ops
from .._native import lib
from .._runtime import check, read_operand
from .._types import float32
from .optimizer import Gradients, Optimizer, check_not_capturing, check_variants


class Adam(Optimizer):
    """Adam (arXiv 1412.6980), as torch.optim.Adam."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if not lr >= 0.0:  # nor NaN
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        check_variants(type(self).__name__, foreach, fused, differentiable)
        settings = {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, settings)

    def _update(self, group: dict) -> None:
        given = Gradients(group["params"])
        try:
            if given.params:
                self._step(group, given)
        finally:
            given.release()

    def _step(self, group: dict, given: Gradients) -> None:
        amsgrad = group["amsgrad"]
        states = [self._state_of(p, amsgrad) for p in given.params]
        means = [s["exp_avg"]._h for s in states]
        squares = [s["exp_avg_sq"]._h for s in states]
        largest = [s["max_exp_avg_sq"]._h for s in states] if amsgrad else ()
        steps = [s["step"]._h for s in states]
        n = len(states)
        beta1, beta2 = group["betas"]
        check(
            lib.py_adam_step(
                given.handles,
                n,
                given.grads,
                n,
                means,
                n,
                squares,
                n,
                largest,
                len(largest),
                steps,
                n,
                *read_operand(self._rate(group, given.handles)),
                beta1,
                beta2,
                group["eps"],
                group["weight_decay"],
                amsgrad,
                group["maximize"],
                # AdamW's: applied to the parameter instead of the gradient.
                group["decoupled_weight_decay"],
            )  # fmt: skip
        )

    def _state_of(self, p, amsgrad: bool) -> dict:
        state = self.state[p]
        if not state:
            check_not_capturing()
            state["step"] = _ops.zeros((), dtype=float32, device=p.device)
            state["exp_avg"] = _ops.zeros_like(p)
            state["exp_avg_sq"] = _ops.zeros_like(p)
        if amsgrad and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = _ops.zeros_like(p)
        return state


class AdamW(Adam):
    """Adam with decoupled weight decay (arXiv 1711.05101), as torch.optim.AdamW."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip

    def load_state_dict(self, state_dict: dict) -> None:
        """Restores what state_dict gave. That of an Adam says that decay is not decoupled, and this
        stays an AdamW."""
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
