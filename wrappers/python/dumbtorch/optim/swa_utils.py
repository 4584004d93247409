"""Averages of a model's parameters on the way: stochastic weight averaging (arXiv 1803.05407), exponential means."""

from __future__ import annotations

import itertools
import math
from copy import deepcopy

from .. import _missing, _ops
from .._types import int64
from ..autograd.grad_mode import no_grad
from ..nn.modules import Module
from ..nn.modules.batchnorm import _BatchNorm
from .optimizer import Optimizer
from .schedule import LRScheduler, per_group, warn_outside_of_step

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay=0.999):
    """A function of an average, a parameter and a count that gives the next exponential mean."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """A function of an average, a parameter and a count that gives the next mean."""

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay=0.999):
    """get_ema_avg_fn of lists, whose averages are written."""
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """get_swa_avg_fn of lists, whose averages are written."""
    return _of_lists(get_swa_avg_fn())


def _of_lists(average):
    @no_grad()
    def update(averages, current, num_averaged):
        for p, now in zip(averages, current, strict=True):
            _ops.copy_(p, average(p, now, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's: update_parameters(model) adds what they are
    now. The mean by default, or what avg_fn or multi_avg_fn say."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _ops.zeros((), dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model) -> None:
        """Adds the model's parameters, with use_buffers its buffers too, to the averages. Other buffers are copied."""
        pairs = [
            (mine, _ops.to(theirs, mine.device))
            for mine, theirs in zip(self._averaged(self.module), self._averaged(model))
        ]
        if self.n_averaged == 0:
            _copy(pairs)
        else:
            self._average(pairs)
        if not self.use_buffers:
            _copy(zip(self.module.buffers(), model.buffers(), strict=True))
        self.n_averaged += 1

    def _averaged(self, model):
        buffers = model.buffers() if self.use_buffers else ()
        return [_ops.detach(x) for x in itertools.chain(model.parameters(), buffers)]

    def _average(self, pairs: list) -> None:
        update = self.multi_avg_fn or _of_lists(self.avg_fn or get_swa_avg_fn())
        alike: dict = {}
        for pair in pairs:
            alike.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
        for (device, _), members in alike.items():
            update(*map(list, zip(*members, strict=True)), _ops.to(self.n_averaged, device))


def _copy(pairs) -> None:
    for mine, theirs in pairs:
        _ops.copy_(_ops.detach(mine), theirs)


@no_grad()
def update_bn(loader, model, device=None) -> None:
    """Takes the running statistics of a model's batch norms anew: means over the batches of a loader. Of a batch
    that is a list or a tuple, the first part is the input."""
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Moves the learning rate to a constant one, along half a cosine or a straight line."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr,
        anneal_epochs=10,
        anneal_strategy="cos",
        last_epoch=-1,
    ):
        rates = per_group(optimizer, "swa_lr", swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How much of the way is behind when this share of the epochs is."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def _way(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list:
        """Goes back to where the way began by what lies behind, and ahead from there."""
        warn_outside_of_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        behind, now = self._way(step - 1), self._way(step)
        out = []
        for group in self.optimizer.param_groups:
            lr, end = group["lr"], group["swa_lr"]
            begin = end if behind == 1 else (lr - behind * end) / (1 - behind)
            out.append(end * now + begin * (1 - now))
        return out
