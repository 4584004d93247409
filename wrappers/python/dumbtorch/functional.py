"""torch.functional: the older place of some functions of torch."""

from __future__ import annotations

from importlib import import_module

from . import _missing

_NAMES = """
    Tensor atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
    chain_matmul einsum lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive
    unravel_index
""".split()
_missing_name = _missing.getattr_of(__name__)


def __getattr__(name: str):
    if name == "F":
        return import_module(f"{__package__}.nn.functional")
    return getattr(import_module(__package__), name) if name in _NAMES else _missing_name(name)


__all__ = [name for name in _NAMES if name != "Tensor"]
