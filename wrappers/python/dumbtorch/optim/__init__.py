"""Optimizers and learning rate schedules."""

from . import lr_scheduler, optimizers
from .optimizer import Optimizer
from .optimizers import *  # noqa: F403

__all__ = [*optimizers.__all__, "Optimizer", "lr_scheduler"]
