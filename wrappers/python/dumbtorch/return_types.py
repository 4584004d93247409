"""torch.return_types: the classes of named results, by the functions that give them."""

from __future__ import annotations

from . import _missing, _ops

__getattr__ = _missing.getattr_of(__name__)

all_return_types = [kind for name, kind in vars(_ops).items() if name.endswith("_result")]
globals().update({kind.__name__: kind for kind in all_return_types})
