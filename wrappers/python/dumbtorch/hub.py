"""Programs import torch.hub for weights that others have trained. Nothing is downloaded here."""

from __future__ import annotations

import os

from . import _missing

__getattr__ = _missing.getattr_of(__name__)
__all__ = ["get_dir", "load", "load_state_dict_from_url", "set_dir"]

_dir = None


def get_dir() -> str:
    """Where PyTorch keeps what it has downloaded: in the folder hub of $TORCH_HOME or of the cache's folder torch."""
    if _dir is not None:
        return _dir
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.join(os.path.expanduser(os.getenv("TORCH_HOME", cache)), "hub")


def set_dir(d) -> None:
    """Sets what get_dir gives."""
    global _dir
    _dir = os.path.expanduser(d)


def load(*arguments, **settings):
    """Not supported."""
    raise NotImplementedError(
        "hub.load: nothing is downloaded; torch.load and safetensors.load_file read files of weights (docs/files.md)"
    )


def load_state_dict_from_url(url, *arguments, **settings):
    """Not supported."""
    raise NotImplementedError(
        f"hub.load_state_dict_from_url: nothing is downloaded; fetch {url} and read it by torch.load (docs/files.md)"
    )
