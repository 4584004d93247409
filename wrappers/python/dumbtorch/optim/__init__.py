"""Optimizers and learning rate schedules."""

import sys

from .. import _missing
from ..nn.modules.places import add_place
from . import lr_scheduler, optimizers, swa_utils
from .lbfgs import LBFGS
from .of_matrices import Adafactor, Muon, SparseAdam
from .optimizer import Optimizer
from .optimizers import *  # noqa: F403
from .swap_in import swap_in_optimizer_params_and_state

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["Adafactor", "LBFGS", "Muon", "Optimizer", "SparseAdam", "lr_scheduler", "swa_utils"]
__all__ += ["swap_in_optimizer_params_and_state"]
__all__ += optimizers.__all__

# Where PyTorch's optimizers stand, for programs that import from there, as in `from torch.optim.adam import Adam`.
for _place in "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd".split():
    add_place(sys.modules[__name__], _place)
for (
    _name
) in optimizers.__all__:  # of one that PyTorch has not, the generated module stays its place
    if f"{__name__}.{_name.lower()}" in sys.modules:
        globals()[_name].__module__ = f"{__name__}.{_name.lower()}"
for _kind in (Adafactor, Muon):
    _kind.__module__ = __name__
for _kind in map(vars(lr_scheduler).get, lr_scheduler.__all__):
    _kind.__module__ = lr_scheduler.__name__
