from .. import _late
from .swap import swap_tensors

__getattr__, __dir__ = _late.names(
    __name__,
    "_pytree benchmark checkpoint data deterministic dlpack flop_counter hooks model_zoo tensorboard",
)

__all__ = ["checkpoint", "data", "dlpack", "hooks", "swap_tensors"]
