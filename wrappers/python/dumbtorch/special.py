"""torch.special: error functions, Gamma and its kin, Bessel functions, entropies."""

from __future__ import annotations

from . import _missing, _ops, _overloads

__getattr__ = _missing.getattr_of(__name__)

# Where torch.special has a name of its own for a function of torch.
_NAMES = {
    "expit": _ops.sigmoid,
    "gammaln": _ops.lgamma,
    "modified_bessel_i0": _ops.i0,
    "modified_bessel_i1": _ops.i1,
    "multigammaln": _ops.mvlgamma,
    "psi": _ops.digamma,
}

globals().update(_ops.NAMESPACES["special"] | _NAMES)
round = _overloads.round

__all__ = [*_ops.NAMESPACES["special"], *_NAMES]
