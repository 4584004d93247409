"""Programs import torch.onnx for the end of their training. Nothing is exported here."""

from __future__ import annotations

from . import _missing

__getattr__ = _missing.getattr_of(__name__)


def export(*arguments, **settings):
    """Not supported."""
    raise NotImplementedError(
        "onnx.export: networks are not exported; torch.save and safetensors.save_file write their weights, "
        "which other programs read (docs/files.md)"
    )


def is_in_onnx_export() -> bool:
    """False."""
    return False


__all__ = ["export", "is_in_onnx_export"]
