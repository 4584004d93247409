from .. import _missing
from . import checkpoint, data, dlpack, hooks

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["checkpoint", "data", "dlpack", "hooks"]
