"""The modules in which PyTorch's layers stand, for programs that import from them, as in
`from torch.nn.modules.conv import Conv2d`. Most layers here are generated into one module, so each of these
places has all of them. A class names its place as its `__module__`, as programs print and pickle it."""

from __future__ import annotations

import re
import sys
from types import ModuleType

from . import activation, layers, lazy

_PLACES = """
    activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy
    linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling
"""


# Where a layer stands that is in a module with others here, by a part of its name: the first that fits, or else
# among the activations.
_HOMES = {
    "loss": "Loss", "conv": "Conv", "batchnorm": "BatchNorm", "instancenorm": "InstanceNorm",
    "normalization": "Norm|CrossMap", "pooling": "[Pp]ool", "padding": "Pad", "dropout": "Drop", "rnn": "RNN|LSTM|GRU",
    "distance": "Distance|Similarity", "upsampling": "Upsampl", "sparse": "Embedding", "fold": "[Ff]old",
    "pixelshuffle": "^Pixel", "channelshuffle": "^Channel", "flatten": "latten", "linear": "inear|Identity",
}  # fmt: skip


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
    """Puts the places into the package of the layers, and has all classes name theirs."""
    for name in _PLACES.split():
        module = add_place(package, name)
        for other in _OTHERS.get(name, "").split():
            home = next(home for home in (layers, lazy, activation) if hasattr(home, other))
            kind = getattr(home, other)
            if kind.__module__ == home.__name__:  # or it stands in another place, too
                kind.__module__ = module.__name__
            setattr(module, other, kind)
    homes = {f"{package.__name__}.{name}" for name in ("bases", "cross_map", "layers", "lazy")}
    for kind in (getattr(package, name) for name in package.__all__):
        if kind.__module__ in homes:
            fits = (home for home, part in _HOMES.items() if re.search(part, kind.__name__))
            kind.__module__ = f"{package.__name__}.{next(fits, 'activation')}"
