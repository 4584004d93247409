"""Layers (generated from the schema), containers and the base class."""

from . import layers
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .module import Module
from .special import (  # take the places of the generated ones
    AvgPool2d,
    Conv2d,
    Embedding,
    MaxPool2d,
    Upsample,
)

__all__ = [
    "AvgPool2d", "Conv2d", "Embedding", "MaxPool2d", "Module", "ModuleDict", "ModuleList",
    "ParameterDict", "ParameterList", "Sequential", "Upsample",
]  # fmt: skip
__all__ += layers.__all__
