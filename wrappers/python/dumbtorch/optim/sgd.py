"""Stochastic gradient descent."""

from __future__ import annotations

from .. import _ops
from .._native import lib
from .._runtime import check, read_operand
from .optimizer import Gradients, Optimizer, check_not_capturing, check_variants


class SGD(Optimizer):
    """Stochastic gradient descent with momentum, as torch.optim.SGD."""

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        for name, value in (
            ("learning rate", lr),
            ("momentum value", momentum),
            ("weight_decay value", weight_decay),
        ):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_variants(type(self).__name__, foreach, fused, differentiable)
        settings = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, settings)

    def _update(self, group: dict) -> None:
        if group["momentum"]:
            self._momentum_update(group)
            return
        handles = [p._h for p in group["params"]]
        lr = read_operand(self._rate(group, handles))
        weight_decay = group["weight_decay"]
        check(lib.py_sgd_update(handles, len(handles), *lr, weight_decay, group["maximize"]))

    def _momentum_update(self, group: dict) -> None:
        given = Gradients(group["params"])
        try:
            self._momentum_step(group, given)
        finally:
            given.release()

    def _momentum_step(self, group: dict, given: Gradients) -> None:
        """Buffers that are new start as their gradients, so they make a step of their own."""
        fresh, running = [], []
        for i, p in enumerate(given.params):
            state = self.state[p]
            (running if "momentum_buffer" in state else fresh).append(i)
            if "momentum_buffer" not in state:
                check_not_capturing()
                state["momentum_buffer"] = _ops.zeros_like(p)
        for which, first_step in ((fresh, True), (running, False)):
            if which:
                handles = [given.handles[i] for i in which]
                grads = [given.grads[i] for i in which]
                buffers = [self.state[given.params[i]]["momentum_buffer"]._h for i in which]
                self._step(group, handles, grads, buffers, first_step)

    def _step(self, group: dict, params, grads, buffers, first_step: bool) -> None:
        check(
            lib.py_sgd_step(
                params,
                len(params),
                grads,
                len(grads),
                buffers,
                len(buffers),
                *read_operand(self._rate(group, params)),
                group["momentum"],
                group["dampening"],
                group["weight_decay"],
                group["nesterov"],
                group["maximize"],
                first_step,
            )  # fmt: skip
        )
