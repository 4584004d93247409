"""Modules: layers, containers, losses."""

from . import functional, init, modules, parallel, utils
from .modules import *  # noqa: F403
from .parallel import DataParallel
from .parameter import Buffer, Parameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "functional",
    "init",
    "modules",
    "parallel",
    "utils",
]
__all__ += modules.__all__
