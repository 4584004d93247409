"""Layers (generated from the schema), containers and the base class."""

import sys as _sys

from ... import _missing
from . import batchnorm as batchnorm
from . import layers, lazy
from . import places as _places
from . import utils as utils
from .activation import MultiheadAttention
from .adaptive import AdaptiveLogSoftmaxWithLoss
from .bases import RNNCellBase
from .batchnorm import SyncBatchNorm
from .container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .cross_map import CrossMapLRN2d
from .layers import *  # noqa: F403
from .lazy import *  # noqa: F403
from .loss import (
    LinearCrossEntropyLoss,
    LinearCrossEntropyOptions,
    NLLLoss2d,
    TripletMarginWithDistanceLoss,
)
from .module import Module
from .rnn import GRU, LSTM, RNN, RNNBase
from .transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__getattr__ = _missing.getattr_of(__name__)

__all__ = [
    "AdaptiveLogSoftmaxWithLoss", "Container", "CrossMapLRN2d", "GRU", "LSTM", "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions", "Module", "ModuleDict", "ModuleList", "MultiheadAttention", "NLLLoss2d",
    "ParameterDict", "ParameterList", "RNN", "RNNBase", "RNNCellBase", "Sequential", "SyncBatchNorm",
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer", "TripletMarginWithDistanceLoss",
]  # fmt: skip
__all__ += layers.__all__ + lazy.__all__

_places.install(_sys.modules[__name__])
