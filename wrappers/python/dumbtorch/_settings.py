"""Settings that PyTorch has, and what they mean here: printing, precision of products, determinism."""

from __future__ import annotations

import warnings

from . import _ops, _warning, backends
from ._runtime import is_index

# ---- printing

_DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
_PROFILES = {
    "default": _DEFAULTS,
    "short": _DEFAULTS | {"precision": 2, "edgeitems": 2},
    "full": _DEFAULTS | {"threshold": 2**62},
}
_printing = dict(_DEFAULTS)


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
) -> None:
    """How tensors are printed: digits behind the point, how many elements at most, how many at the ends
    of what is longer, columns of a line; by name "default", "short" and "full"."""
    new = dict(_PROFILES.get(profile, _printing))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems}
    given |= {"linewidth": linewidth}
    new |= {name: int(min(n, 2**62)) for name, n in given.items() if n is not None}
    new["sci_mode"] = sci_mode
    _ops.set_print_options(*new.values())
    _printing.update(new)


# ---- products of matrices on a GPU

_PRECISIONS = ("highest", "high", "medium")
_precision = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """ "highest": products of float32 are exact; "high" and "medium": in TF32 where the GPU has it."""
    global _precision
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
            "setFloat32MatmulPrecision call has no effect.",
            stacklevel=2,
        )
        return
    _precision = precision
    backends.cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision was called with; "highest" where TF32 is off."""
    tf32 = backends.cuda.matmul.allow_tf32
    return (_precision if _precision != "highest" else "high") if tf32 else "highest"


# ---- determinism: 0 = off, 1 = a warning, 2 = an error

_MODES = ("default", "warn", "error")
_determinism = 0
_warn_only = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Whether every operation gives the same bits each time. On the CPU it does in any case, on any
    number of threads; on a GPU it does until this is called with False (see set_deterministic)."""
    if not isinstance(mode, bool):
        kind = type(mode).__name__
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
            f"{kind}"
        )
    if not isinstance(warn_only, bool):
        kind = type(warn_only).__name__
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'warn_only' must be bool, not {kind}"
        )
    global _warn_only
    set_deterministic_debug_mode((1 if warn_only else 2) if mode else 0)
    _warn_only = warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether use_deterministic_algorithms was asked for."""
    return _determinism > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether use_deterministic_algorithms was asked for a warning only, though it may be off."""
    return _warn_only


def set_deterministic_debug_mode(debug_mode) -> None:
    """use_deterministic_algorithms by a number or a word: 0 "default", 1 "warn", 2 "error"."""
    global _determinism, _warn_only
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in range(len(_MODES)):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    _determinism, _warn_only = debug_mode, debug_mode == 1
    _ops.set_deterministic(debug_mode != 0)


def get_deterministic_debug_mode() -> int:
    """What was asked for: 0, 1 or 2."""
    return _determinism


# ---- threads, warnings, denormal numbers

_interop_threads = 1


def get_num_interop_threads() -> int:
    """How many operations run at once: one, or what set_num_interop_threads was called with."""
    return _interop_threads


def set_num_interop_threads(n: int) -> None:
    """Remembers a number. Operations of one thread run one after the other."""
    global _interop_threads
    if not is_index(n):
        kind = type(n).__name__
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {kind}")
    if not -(2**31) <= n < 2**31:
        unit = "long" if -(2**63) <= n < 2**63 else "long long"
        raise ValueError(f"Overflow when unpacking {unit}")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _interop_threads = n


def set_warn_always(b: bool) -> None:
    """Whether what is warned of once per process is warned of each time."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _warning.always = b


def is_warn_always_enabled() -> bool:
    """What set_warn_always was called with."""
    return _warning.always


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers are treated as asked for: they are kept, so True asks in vain."""
    return not mode


# ---- new tensors


def set_default_device(device) -> None:
    """Sets the device of this thread's new tensors; None is the CPU."""
    _ops.set_default_device("cpu" if device is None else device)
