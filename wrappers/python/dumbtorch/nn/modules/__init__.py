"""Layers (generated from the schema), containers and the base class."""

from . import layers
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .loss import TripletMarginWithDistanceLoss
from .module import Module
from .rnn import GRU, LSTM, RNN, RNNBase

__all__ = [
    "GRU", "LSTM", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNN",
    "RNNBase", "Sequential", "TripletMarginWithDistanceLoss",
]  # fmt: skip
__all__ += layers.__all__
