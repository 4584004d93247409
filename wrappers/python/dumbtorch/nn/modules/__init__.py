"""Layers (generated from the schema), containers and the base class."""

from . import layers, special
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .module import Module

# These take the places of the generated ones that they derive from.
Conv2d = special.Conv2d
MaxPool2d = special.MaxPool2d
AvgPool2d = special.AvgPool2d

__all__ = [
    "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential",
    *layers.__all__,
]  # fmt: skip
