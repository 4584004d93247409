"""Captured steps: what a function does on a GPU, recorded once and launched again as a whole."""

from __future__ import annotations

import threading

from . import _ops
from ._tensor_type import TensorBase

__all__ = ["CapturedStep", "Graph", "before_each_replay", "capture"]


class _Recording(threading.local):
    """The graphs that a thread is capturing: like the work that they record, they are its own."""

    def __init__(self):
        self.graphs = []


_recording = _Recording()


def before_each_replay(refresh) -> None:
    """While this thread captures a graph: has the graph's replays call a function first."""
    for graph in _recording.graphs:
        graph._before[refresh] = None


class Graph(_ops.Graph):
    """A recorded run of work on a CUDA device; torch.cuda.CUDAGraph."""

    __slots__ = ("_before",)

    def __new__(cls, device="cuda"):
        self = cls.take(_ops.graph_new(device))
        self._before = {}  # the functions to call, in order
        return self

    def begin(self) -> None:
        """From here on, what this thread does on the device is recorded, not run."""
        super().begin()
        self._before = {}
        _recording.graphs.append(self)

    def end(self) -> None:
        """Ends the recording."""
        self._leave()
        super().end()

    def abandon(self) -> None:
        """Ends the recording and throws it away."""
        self._leave()
        super().abandon()

    def _leave(self) -> None:
        if self in _recording.graphs:
            _recording.graphs.remove(self)

    def replay(self) -> None:
        """Runs the recorded work, on what its tensors hold now."""
        for refresh in tuple(self._before):
            refresh()
        super().replay()

    capture_begin = begin
    capture_end = end

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.end()
        else:
            self.abandon()


class CapturedStep:
    """A function whose work on the GPU was recorded. Calling it runs that work on other inputs."""

    def __init__(self, step, inputs, warmup: int, device):
        self._inputs = [_ops.clone(_ops.detach(x)) for x in inputs]
        for _ in range(warmup):
            step(*self._inputs)
        self.graph = Graph(device)
        with self.graph:
            self.outputs = step(*self._inputs)

    def replay(self, *inputs):
        """Runs the step on inputs of the captured sizes. The outputs are the same tensors each time:
        clone what must last."""
        if inputs and len(inputs) != len(self._inputs):
            raise TypeError(
                f"the captured step takes {len(self._inputs)} inputs, got {len(inputs)}"
            )
        for i, (held, given) in enumerate(zip(self._inputs, inputs)):
            _check_input(i, held, given)
            if given is not held:
                _ops.copy_(held, given, non_blocking=True)
        self.graph.replay()
        return self.outputs

    __call__ = replay


def capture(step, *inputs, warmup: int = 1, device=None) -> CapturedStep:
    """Records what step(*inputs) does on a CUDA device: forward, backward and the optimizer. The
    device is that of the first input that lies on one, unless another is named.

    The step runs `warmup` times for real first, on copies of the inputs, since first steps make
    state; then it is recorded. Nothing in it may read a tensor's values (item(), printing).
    """
    if warmup < 0:
        raise ValueError(f"warmup must not be negative, got {warmup}")
    if device is None:
        device = next((x.device for x in inputs if isinstance(x, TensorBase) and x.is_cuda), "cuda")
    return CapturedStep(step, inputs, warmup, device)


def _check_input(i: int, held, given) -> None:
    if not isinstance(given, TensorBase):
        raise TypeError(f"input {i} must be a Tensor, not {type(given).__name__}")
    if given.shape != held.shape or given.dtype != held.dtype:
        raise RuntimeError(
            f"the step was captured with input {i} of size {list(held.shape)} and {held.dtype}, "
            f"got {list(given.shape)} and {given.dtype}"
        )
