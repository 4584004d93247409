"""torch.return_types: the classes of named results, by the functions that give them."""

from __future__ import annotations

from . import _histogramdd, _ldl, _missing, _ops, _overloads
from ._named_results import written

_missing_name = _missing.getattr_of(__name__)

all_return_types = [kind for name, kind in vars(_ops).items() if name.endswith("_result")]
all_return_types += [_ldl.Factors, _ldl.FactorsAndInfo, _histogramdd.Histogram, _overloads.Qr]
globals().update({kind.__name__: kind for kind in all_return_types})


def __getattr__(name: str):
    """The classes of results that are written into `out`, too: topk_out beside topk."""
    kind = globals().get(name.removesuffix("_out"))
    return written(kind) if kind in all_return_types else _missing_name(name)
