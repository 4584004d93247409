from .. import _late

__getattr__, __dir__ = _late.names(
    __name__, "_pytree benchmark checkpoint data dlpack hooks model_zoo"
)

__all__ = ["checkpoint", "data", "dlpack", "hooks"]
