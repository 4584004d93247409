from .. import _late
from .swap import swap_tensors

__getattr__, __dir__ = _late.names(
    __name__,
    "_pytree benchmark checkpoint data deterministic dlpack flop_counter hooks model_zoo tensorboard",
)

__all__ = ["checkpoint", "data", "dlpack", "hooks", "set_module", "swap_tensors"]


def set_module(obj, mod):
    """Says of which module a class or function is."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
