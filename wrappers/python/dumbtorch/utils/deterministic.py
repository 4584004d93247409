"""torch.utils.deterministic: a setting that is remembered. Memory that is not initialised is never filled."""

import sys
import types


class _Deterministic(types.ModuleType):
    _fills = True

    @property
    def fill_uninitialized_memory(self) -> bool:
        return _Deterministic._fills

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        _Deterministic._fills = mode


sys.modules[__name__].__class__ = _Deterministic
