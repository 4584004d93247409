"""The older name of torch.hub's function."""

from __future__ import annotations

from .. import _missing
from ..hub import load_state_dict_from_url as load_url

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["load_url"]
