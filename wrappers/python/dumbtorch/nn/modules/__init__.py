"""Layers (generated from the schema), containers and the base class."""

from . import batchnorm as batchnorm
from . import layers
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .loss import TripletMarginWithDistanceLoss
from .module import Module

__all__ = [
    "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip
__all__ += layers.__all__
