"""Optimizers and learning rate schedules."""

from .. import _missing
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
