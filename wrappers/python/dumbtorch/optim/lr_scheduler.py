"""Schedules that change an optimizer's learning rates, once per epoch."""

from __future__ import annotations

import math

from .optimizer import Optimizer


class LRScheduler:
    """Base class: get_lr() says the rate of each group for self.last_epoch."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group["initial_lr"] = group["lr"]
            elif "initial_lr" not in group:
                raise KeyError(
                    "param 'initial_lr' is not specified in param_groups when resuming an optimizer"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def get_lr(self) -> list[float]:
        raise NotImplementedError

    def step(self) -> None:
        """Moves on to the next epoch's learning rates."""
        self.last_epoch += 1
        for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = lr
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rates now in force."""
        return self._last_lr

    def state_dict(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        self.__dict__.update(state_dict)

    def _rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]


class StepLR(LRScheduler):
    """Multiplies the learning rate by gamma every step_size epochs."""

    def __init__(self, optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [lr * self.gamma for lr in self._rates()]


class LambdaLR(LRScheduler):
    """Multiplies the first learning rate by a function of the epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch: int = -1):
        count = len(optimizer.param_groups)
        self.lr_lambdas = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        )
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [
            base * f(self.last_epoch)
            for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class CosineAnnealingLR(LRScheduler):
    """Lowers the learning rate along half a cosine (arXiv 1608.03983)."""

    def __init__(self, optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """By recurrence, so that rates that others change in between are respected."""
        if self.last_epoch == 0:
            return self._rates()
        angle = math.pi * self.last_epoch / self.T_max
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            step = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                lr + (base - self.eta_min) * step
                for base, lr in zip(self.base_lrs, self._rates(), strict=True)
            ]
        before = math.pi * (self.last_epoch - 1) / self.T_max
        factor = (1 + math.cos(angle)) / (1 + math.cos(before))
        return [factor * (lr - self.eta_min) + self.eta_min for lr in self._rates()]
