"""What schedules have in common, and those that call a function; the others are rows of the schema, or in cycles.py
and composed.py."""

from __future__ import annotations

import types
import warnings

from .. import _ops
from .._tensor_type import TensorBase
from .optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please "
    "use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. Please open an issue if you are "
    "unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER_WARNING = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result "
    "in PyTorch skipping the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_OVERRIDDEN_WARNING = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make "
    "sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def own(value):
    """A setting that nobody else writes: a tensor is copied."""
    return _ops.clone(value) if isinstance(value, TensorBase) else value


def rates_of(optimizer: Optimizer, name: str = "lr") -> list:
    """A setting of each group, the schedule's own."""
    return [own(group[name]) for group in optimizer.param_groups]


def warn_of_epoch(epoch) -> None:
    if epoch is not None:
        warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)


def warn_outside_of_step(schedule) -> None:
    """What get_lr() says is the rate that is to come."""
    if not schedule._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=3,
        )


def set_rate(group: dict, value) -> None:
    """Sets a group's learning rate, in place if it is a tensor."""
    if isinstance(group["lr"], TensorBase):
        _ops.fill_(group["lr"], float(value))
    else:
        group["lr"] = value


def per_group(optimizer: Optimizer, name: str, value) -> list:
    """A setting that is one number, or one for each group, as a list of the schedule's own."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [own(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {count}."
        )
    return [own(v) for v in value]


def check_optimizer(optimizer) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class: get_lr() says the rate of each group for self.last_epoch. A class may have
    _get_closed_form_lr() besides, which says it without those of the epochs before."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, (group, lr) in enumerate(
            zip(optimizer.param_groups, rates_of(optimizer), strict=True)
        ):
            if last_epoch == -1:
                group.setdefault("initial_lr", lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                    "for a fresh training run (not recommended)"
                )
        self.base_lrs = rates_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        optimizer._step_of_its_own = vars(optimizer).get("step")
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self._get_lr_called_within_step = False  # it is part of PyTorch's state
        self.step()
        self._is_initial = False

    def get_lr(self) -> list:
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Moves on to the next epoch's learning rates, or to those of an epoch."""
        if self._step_count == 1:
            if vars(self.optimizer).get("step") is not self.optimizer._step_of_its_own:
                warnings.warn(_OVERRIDDEN_WARNING, UserWarning, stacklevel=2)
            elif not self.optimizer._has_stepped:
                warnings.warn(_ORDER_WARNING, UserWarning, stacklevel=2)
        warn_of_epoch(epoch)
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        jumps = epoch is not None and hasattr(self, "_get_closed_form_lr")
        self._set_rates(self._get_closed_form_lr() if jumps else self._next_rates())

    def _next_rates(self) -> list:
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _set_rates(self, rates) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, lr)
        self._last_lr = self._rates()

    def get_last_lr(self) -> list:
        """The rates now in force."""
        return self._last_lr

    def state_dict(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        self.__dict__.update(state_dict)

    def _rates(self) -> list:
        return rates_of(self.optimizer)


class _LRScheduler(LRScheduler):
    """The base class's name in programs of before PyTorch 2.0; the schedules here derive from the other."""


class _OfFunctions(LRScheduler):
    """A function of the epoch for each group, or one for all. State is kept of objects, not of functions."""

    def __init__(self, optimizer, lr_lambda, last_epoch: int = -1):
        check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * count
        if len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _factors(self) -> list:
        return [function(self.last_epoch) for function in self.lr_lambdas]

    def state_dict(self) -> dict:
        functions = [function_state(f) for f in self.lr_lambdas]
        return with_last(super().state_dict(), "lr_lambdas", functions)

    def load_state_dict(self, state_dict: dict) -> None:
        self.__dict__.update((k, v) for k, v in state_dict.items() if k != "lr_lambdas")
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if state is not None:
                function.__dict__.update(state)


def with_last(state: dict, name: str, value) -> dict:
    """A state with one of its entries last, where PyTorch has those that are not numbers."""
    return {k: v for k, v in state.items() if k != name} | {name: value}


def function_state(function) -> dict | None:
    """What is kept of a callable: an object's attributes, nothing of a function."""
    return None if isinstance(function, types.FunctionType) else dict(function.__dict__)


class LambdaLR(_OfFunctions):
    """Multiplies the first learning rate by a function of the epoch."""

    def get_lr(self):
        warn_outside_of_step(self)
        return [base * f for base, f in zip(self.base_lrs, self._factors(), strict=True)]


class MultiplicativeLR(_OfFunctions):
    """Multiplies the learning rate by a function of the epoch, each epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch: int = -1):
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        warn_outside_of_step(self)
        if self._is_initial:
            return self._rates()
        return [lr * f for lr, f in zip(self._rates(), self._factors(), strict=True)]
