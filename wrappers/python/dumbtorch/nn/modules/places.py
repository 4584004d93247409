"""The modules in which PyTorch's layers stand, for programs that import from them, as in
`from torch.nn.modules.conv import Conv2d`. Most layers here are generated into one module, so each of these
places has all of them."""

from __future__ import annotations

import sys
from types import ModuleType

from . import layers
from .batchnorm import _Group

_PLACES = """
    activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy
    linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling
"""


class _ConvTransposeNd(metaclass=_Group):
    """The transposed convolutions."""

    _members = layers.ConvTranspose1d, layers.ConvTranspose2d, layers.ConvTranspose3d


class _ConvNd(metaclass=_Group):
    """The convolutions."""

    _members = layers.Conv1d, layers.Conv2d, layers.Conv3d, *_ConvTransposeNd._members


class _InstanceNorm(metaclass=_Group):
    """The instance norms."""

    _members = layers.InstanceNorm1d, layers.InstanceNorm2d, layers.InstanceNorm3d


class _DropoutNd(metaclass=_Group):
    """The layers that drop."""

    _members = (
        layers.Dropout, layers.Dropout1d, layers.Dropout2d, layers.Dropout3d,
        layers.AlphaDropout, layers.FeatureAlphaDropout,
    )  # fmt: skip


_GROUPS = {
    "conv": [_ConvNd, _ConvTransposeNd],
    "instancenorm": [_InstanceNorm],
    "dropout": [_DropoutNd],
}


def _layers_of(package: ModuleType, place: str):
    """The `__getattr__` of a place."""

    def __getattr__(name: str):
        if name in package.__all__:
            return getattr(package, name)
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
        for group in _GROUPS.get(name, ()):
            setattr(module, group.__name__, group)
