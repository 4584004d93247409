"""torch.autograd.profiler: what is not in torch.profiler."""

from __future__ import annotations

from .. import _ops
from ..profiler import record_function

__all__ = ["emit_nvtx", "record_function"]


class emit_nvtx:
    """Tells NVIDIA's tools of each kernel and each node of a backward inside a `with` block."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        if record_shapes:
            raise NotImplementedError("emit_nvtx: ranges have names alone; leave record_shapes out")
        self.enabled, self.entered = enabled, False

    def __enter__(self):
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        self.entered = True
        if self.enabled:
            _ops.profiler_emit_nvtx(True)
        return self

    def __exit__(self, *error):
        if self.enabled:
            _ops.profiler_emit_nvtx(False)
        return False
