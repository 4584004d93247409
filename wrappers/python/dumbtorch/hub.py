"""Programs import torch.hub for weights that others have trained. Nothing is downloaded here."""

from __future__ import annotations

from . import _missing

__getattr__ = _missing.getattr_of(__name__)
__all__ = ["load", "load_state_dict_from_url"]


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
