"""Modules: layers, containers, losses."""

from .. import _late
from . import _reduction, attention, functional, grad, init, modules, parallel, utils
from .kv_cache import KVCache
from .modules import *  # noqa: F403
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

functional.grad, functional._Reduction = grad, _reduction  # as PyTorch has them
__getattr__, __dir__ = _late.names(__name__, "common_types")

__all__ = [
    "Buffer",
    "DataParallel",
    "KVCache",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "utils",
]
__all__ += modules.__all__
