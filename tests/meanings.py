"""What the layers, optimizers and schedules mean that PyTorch does not have, in PyTorch's words: as rows of
ops say it with a lambda. `class_of` finds them for the tests of all languages."""

import functools
import importlib
import inspect

from layer_rows import Layer

# The result: forward(input, *settings). A layer with parameters is a function that, given torch, makes
# its class.
LAYERS = {}

# A step of one parameter: update(param, grad, state, **settings) changes param and state in place.
OPTIMIZERS = {}

# The rate of an epoch: rate(lr, epoch, initial_lr, *settings), where lr is that of the epoch before.
SCHEDULES = {}


def class_of(t, place: str, name: str):
    """A library's class; where PyTorch has none, one that does what is said above."""
    found = getattr(importlib.import_module(f"{t.__name__}.{place}"), name, None)
    if found:
        return found
    make, table = {
        "nn": (_layer, LAYERS),
        "optim": (_optimizer, OPTIMIZERS),
        "optim.lr_scheduler": (_schedule, SCHEDULES),
    }[place]
    return make(t, table[name])


def layer_of(t, name: str, args: tuple, named: dict):
    """A library's layer, of whose arguments some may be layers."""

    def value(x):
        return layer_of(t, *x) if isinstance(x, Layer) else x

    named = {key: value(x) for key, x in named.items()}
    return class_of(t, "nn", name)(*map(value, args), **named)


def _layer(torch, forward):
    if next(iter(inspect.signature(forward).parameters)) == "torch":
        return forward(torch)

    class Layer(torch.nn.Module):
        def __init__(self, *args, **kwargs):
            super().__init__()
            self.forward = lambda input: forward(input, *args, **kwargs)

    return Layer


def _optimizer(torch, update):
    class Optimizer(torch.optim.Optimizer):
        def __init__(self, params, **settings):
            super().__init__(params, settings)

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                # A schedule keeps the rate that it began with there.
                others = ("params", "initial_lr")
                settings = {name: value for name, value in group.items() if name not in others}
                for p in group["params"]:
                    if p.grad is not None:
                        update(p, p.grad, self.state[p], **settings)

    return Optimizer


def _schedule(torch, rate):
    names = [*inspect.signature(rate).parameters][3:]

    class Schedule(torch.optim.lr_scheduler.LRScheduler):
        def __init__(self, optimizer, *settings, last_epoch=-1):
            vars(self).update(zip(names, settings))
            super().__init__(optimizer, last_epoch)

        def after(self, lr, epoch, first):
            settings = [getattr(self, name) for name in names if hasattr(self, name)]
            return rate(lr, epoch, first, *settings)

        def get_lr(self):
            rates = [(group["lr"], group["initial_lr"]) for group in self.optimizer.param_groups]
            if self._is_initial:
                return [lr for lr, _ in rates]
            return [self.after(lr, self.last_epoch, first) for lr, first in rates]

        def _get_closed_form_lr(self):
            epochs = range(1, self.last_epoch + 1)
            return [
                functools.reduce(lambda lr, epoch: self.after(lr, epoch, first), epochs, first)
                for first in self.base_lrs
            ]

    return Schedule
