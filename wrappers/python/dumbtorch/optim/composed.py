"""Schedules made of other schedules, and the one that goes by a measure."""

from __future__ import annotations

from bisect import bisect_right

from .schedule import LRScheduler, check_optimizer, rates_of, set_rate, warn_of_epoch, with_last


def _check_members(owner, optimizer, schedulers, some: str) -> None:
    name = type(owner).__name__
    if not schedulers:
        raise ValueError(f"{name} expects at least one scheduler{some}, but got no scheduler.")
    for i, s in enumerate(schedulers):
        if not hasattr(s, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(s, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                f"kwargs to be specified when calling `step`, but got one at index {i} in the given "
                "schedulers sequence."
            )
        if s.optimizer is not (optimizer or schedulers[0].optimizer):
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(s).__name__} at index {i} has {s.optimizer}, which is different from "
                f"{type(optimizer or schedulers[0].optimizer).__name__}."
            )


class _Composed(LRScheduler):
    """Its state has those of its members."""

    def state_dict(self) -> dict:
        members = [s.state_dict() for s in self._schedulers]
        return with_last(super().state_dict(), "_schedulers", members)

    def load_state_dict(self, state_dict: dict) -> None:
        self.__dict__.update((k, v) for k, v in state_dict.items() if k != "_schedulers")
        for schedule, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            schedule.load_state_dict(state)


class ChainedScheduler(_Composed):
    """Steps several schedules, one after another, each epoch."""

    def __init__(self, schedulers, optimizer=None):
        _check_members(self, optimizer, schedulers, " to be chained")
        self._schedulers = schedulers
        self.optimizer = optimizer or schedulers[0].optimizer
        self._last_lr = self._rates()

    def step(self) -> None:
        """Moves on to the next epoch's learning rates."""
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._rates()


class SequentialLR(_Composed):
    """One schedule after another: the next one begins at each milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch: int = -1):
        _check_members(self, optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # Each schedule took its first step when it was made: that is undone, but for the one that begins.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Moves on to the next epoch's learning rates."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            schedule._update_lr(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()

    def recursive_undo(self, sched=None) -> None:
        """Takes back the first steps of schedules and of those that they are made of: of its own, or another's."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for member in sched._schedulers:
                self.recursive_undo(member)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by factor when a measure has not become better for some epochs."""

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr, self.min_lrs = None, min_lr
        if not isinstance(min_lr, (list, tuple)):
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * len(optimizer.param_groups)
        elif len(min_lr) != len(optimizer.param_groups):
            raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
        self.min_lrs = list(self.min_lrs)
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch, self._last_lr = 0, rates_of(optimizer)
        self.mode_worse = float("inf") if mode == "min" else -float("inf")
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _is_better(self, measure: float, best: float) -> bool:
        """Whether it is beyond the best by the threshold, a share of the best or a difference."""
        sign = 1 if self.mode == "max" else -1
        relative = self.threshold_mode == "rel"
        bound = best * (1 + sign * self.threshold) if relative else best + sign * self.threshold
        return measure > bound if self.mode == "max" else measure < bound

    def step(self, metrics, epoch=None) -> None:
        """Looks at an epoch's measure."""
        warn_of_epoch(epoch)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        measure = float(metrics)
        if self._is_better(measure, self.best):
            self.best, self.num_bad_epochs = measure, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to "
                    "a new param group being added to the optimizer. Please modify the `min_lrs` "
                    "field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_rate(group, new)
