"""torch.autograd.profiler: what is not in torch.profiler."""

from __future__ import annotations

from .. import _missing, _ops
from ..profiler import EventList, ProfilerActivity, record_function
from ..profiler import profile as _Profile

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["emit_nvtx", "profile", "record_function"]


class profile(_Profile):
    """torch.profiler.profile under its older name, and itself its table. What else may be set has no effect."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        **without_effect,
    ):
        wanted = {ProfilerActivity.CPU}
        wanted |= {ProfilerActivity.CUDA} if use_cuda or use_device == "cuda" else set()
        super().__init__(
            activities=wanted, record_shapes=record_shapes, profile_memory=profile_memory
        )
        self.enabled = enabled

    def __enter__(self):
        return super().__enter__() if self.enabled else self

    def __exit__(self, *error) -> None:
        if self.enabled:
            super().__exit__(*error)

    @property
    def function_events(self) -> EventList | None:
        return self.events() if self.enabled else None

    def table(self, sort_by: str | None = None, row_limit: int = 100, **unused) -> str:
        """A line for each activity."""
        return self.events().table(sort_by, row_limit)

    def total_average(self):
        """All activities together."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.events().self_cpu_time_total

    def __str__(self) -> str:
        return (
            self.table()
            if self.enabled and self._profiler
            else "<unfinished torch.autograd.profile>"
        )


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
