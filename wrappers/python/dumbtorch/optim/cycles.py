"""Schedules that come back: they move the momentum too, or restart."""

from __future__ import annotations

import math
from functools import partial

from .schedule import (
    LRScheduler,
    check_optimizer,
    function_state,
    per_group,
    set_rate,
    warn_outside_of_step,
    with_last,
)


def _even(x) -> float:
    return 1.0


def _halved(x) -> float:
    return 2.0 ** (1 - x)


class _WithMomentum(LRScheduler):
    """Moves a group's momentum, or its beta1, against the learning rate."""

    def _begin_momentum(self, optimizer, base, largest, last_epoch: int) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch != -1:
            return
        for group, low, high in zip(optimizer.param_groups, base, largest, strict=True):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict, value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Moves the learning rate between two bounds, up and down in straight lines (arXiv 1506.01186)."""

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group(optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_rate(group, lr)
        self.max_lrs = per_group(optimizer, "max_lr", max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        own = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode if scale_fn is not None else own
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            base = per_group(optimizer, "base_momentum", base_momentum)
            largest = per_group(optimizer, "max_momentum", max_momentum)
            self._begin_momentum(optimizer, base, largest, last_epoch)
            self.base_momentums, self.max_momentums = base, largest
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x) -> float:
        """What a cycle's height is multiplied by, from the number of the cycle or of the step."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    @property
    def _scale_fn_ref(self):
        """The mode's own function of that."""
        if self.mode == "exp_range":
            return partial(pow, self.gamma)
        return _halved if self.mode == "triangular2" else _even

    def get_lr(self):
        warn_outside_of_step(self)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                self._set_momentum(group, high - (high - low) * height)
        return [
            low + (high - low) * height
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict:
        custom = self._scale_fn_custom
        kept = None if custom is None else function_state(custom)
        return with_last(super().state_dict(), "_scale_fn_custom", kept)

    def load_state_dict(self, state_dict: dict) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class OneCycleLR(_WithMomentum):
    """One way up and a longer one down, below where it began (arXiv 1708.07120)."""

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = self._phases(pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        largest = per_group(optimizer, "max_lr", max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, largest, strict=True):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(
                optimizer,
                per_group(optimizer, "base_momentum", base_momentum),
                per_group(optimizer, "max_momentum", max_momentum),
                last_epoch,
            )
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start: float, three_phase: bool) -> list[dict]:
        """The groups' settings between which each phase moves, and where it ends."""
        up = float(pct_start * self.total_steps)
        ways = [("initial_lr", "max_lr", "max_momentum", "base_momentum", up - 1)]
        if three_phase:
            ways.append(("max_lr", "initial_lr", "base_momentum", "max_momentum", 2 * up - 2))
            ways.append(("initial_lr", "min_lr", "max_momentum", "max_momentum", None))
        else:
            ways.append(("max_lr", "min_lr", "base_momentum", "max_momentum", None))
        return [
            {
                "end_step": self.total_steps - 1 if end is None else end,
                "start_lr": start,
                "end_lr": finish,
                "start_momentum": begin,
                "end_momentum": then,
            }
            for start, finish, begin, then, end in ways
        ]

    def _anneal(self, start, end, share: float):
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def _place(self) -> tuple[dict, float]:
        """The phase that the step is in, and how much of it is over."""
        start, phases = 0.0, iter(self._schedule_phases)
        phase = next(phases)
        while self.last_epoch > phase["end_step"] and phase is not self._schedule_phases[-1]:
            start, phase = phase["end_step"], next(phases)
        return phase, (self.last_epoch - start) / (phase["end_step"] - start)

    def get_lr(self):
        warn_outside_of_step(self)
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        phase, share = self._place()
        groups = self.optimizer.param_groups
        for group in groups if self.cycle_momentum else ():
            ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
            self._set_momentum(group, self._anneal(*ends, share))
        return [self._anneal(g[phase["start_lr"]], g[phase["end_lr"]], share) for g in groups]


def _total_steps(total_steps, epochs, steps_per_epoch) -> int:
    def positive(name, value):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        return value

    if total_steps is not None:
        return positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return positive("epochs", epochs) * positive("steps_per_epoch", steps_per_epoch)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down, again and again, each T_mult times as long (arXiv 1608.03983)."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):  # noqa: N803
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0, self.T_i, self.T_mult = T_0, T_0, T_mult
        self.eta_min, self.T_cur = eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        warn_outside_of_step(self)
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch=None) -> None:
        """Moves on to the next epoch's learning rates, or to those of an epoch, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self._next_rates())

    def _update_lr(self, epoch=None) -> None:
        self.step(epoch)

    def _go_to(self, epoch) -> None:
        self.T_cur, self.T_i = epoch, self.T_0
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
