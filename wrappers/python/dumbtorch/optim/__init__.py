"""Optimizers and learning rate schedules."""

from . import lr_scheduler, optimizers, swa_utils
from .lbfgs import LBFGS
from .of_matrices import Adafactor, Muon, SparseAdam
from .optimizer import Optimizer
from .optimizers import *  # noqa: F403

__all__ = ["Adafactor", "LBFGS", "Muon", "Optimizer", "SparseAdam", "lr_scheduler", "swa_utils"]
__all__ += optimizers.__all__
