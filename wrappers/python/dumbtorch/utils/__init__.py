from importlib import import_module as _import_module

from .. import _missing
from . import checkpoint, data, dlpack, hooks

_missing_name = _missing.getattr_of(__name__)


def __getattr__(name: str):
    return _import_module(f"{__name__}.{name}") if name == "model_zoo" else _missing_name(name)


__all__ = ["checkpoint", "data", "dlpack", "hooks"]
