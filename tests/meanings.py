"""What the layers, optimizers and schedules mean that PyTorch does not have, in PyTorch's words: as rows of
ops say it with a lambda. `class_of` finds them for the tests of all languages."""

import importlib
import inspect

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
    class Schedule(torch.optim.lr_scheduler.LRScheduler):
        def __init__(self, optimizer, *settings):
            self.settings = settings
            super().__init__(optimizer)

        def get_lr(self):
            rates = [(group["lr"], group["initial_lr"]) for group in self.optimizer.param_groups]
            if self.last_epoch == 0:
                return [lr for lr, _ in rates]
            return [rate(lr, self.last_epoch, first, *self.settings) for lr, first in rates]

    return Schedule
