"""The modules in which PyTorch's layers stand, for programs that import from them, as in
`from torch.nn.modules.conv import Conv2d`. Most layers here are generated into one module, so each of these
places has all of them."""

from __future__ import annotations

import sys
from types import ModuleType

from . import activation, layers, lazy

_PLACES = """
    activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy
    linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling
"""


# What stands in them besides: base classes, and one that is not exported.
_OTHERS = {
    "batchnorm": "_BatchNorm _LazyNormBase _NormBase",
    "conv": "_ConvNd _ConvTransposeNd _LazyConvXdMixin",
    "dropout": "_DropoutNd",
    "instancenorm": "_InstanceNorm _NormBase",
    "linear": "NonDynamicallyQuantizableLinear",
    "loss": "_Loss _WeightedLoss",
    "padding": "_CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd",
    "pooling": "_AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _LPPoolNd _MaxPoolNd _MaxUnpoolNd",
}


# What PyTorch's modules import, and programs from them.
_IMPORTED = "F init Parameter Tensor _single _pair _triple _quadruple _reverse_repeat_tuple".split()


def _imported(name: str):
    from ... import Tensor
    from .. import functional, init, parameter
    from . import utils

    found = {"F": functional, "init": init, "Parameter": parameter.Parameter, "Tensor": Tensor}
    return found[name] if name in found else getattr(utils, name)


def _layers_of(package: ModuleType, place: str):
    """The `__getattr__` of a place."""

    def __getattr__(name: str):
        if name in package.__all__:
            return getattr(package, name)
        if name in _IMPORTED:
            return _imported(name)
        raise AttributeError(f"module {place!r} has no attribute {name!r}")

    return __getattr__


def add_place(package: ModuleType, name: str) -> ModuleType:
    """Puts a place of that name into a package, which has all that stands in it."""
    place = f"{package.__name__}.{name}"
    module = sys.modules.setdefault(place, ModuleType(place, __doc__))
    module.__getattr__ = _layers_of(package, place)
    setattr(package, name, module)
    return module


def install(package: ModuleType) -> None:
    """Puts the places into the package of the layers."""
    for name in _PLACES.split():
        module = add_place(package, name)
        for other in _OTHERS.get(name, "").split():
            home = next(home for home in (layers, lazy, activation) if hasattr(home, other))
            setattr(module, other, getattr(home, other))
