"""Layers (generated from the schema), containers and the base class."""

from . import layers
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .module import Module
from .special import AvgPool2d, Conv2d, Embedding, MaxPool2d  # in place of generated ones

__all__ = [
    "AvgPool2d", "Conv2d", "Embedding", "MaxPool2d", "Module", "ModuleDict", "ModuleList", "ParameterDict",
    "ParameterList", "Sequential",
]  # fmt: skip
__all__ += layers.__all__
