"""torch.__future__: how modules change their tensors when they are converted, or load them."""

from __future__ import annotations

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether Module.to and its kin put new parameters in the place of the old ones, which stay as they are."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What set_overwrite_module_params_on_conversion was called with; False at first."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether Module.to and its kin, and load_state_dict, swap tensors by utils.swap_tensors instead of writing."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What set_swap_module_params_on_conversion was called with; False at first."""
    return _swap
