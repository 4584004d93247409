"""Switches of the GPU libraries: torch.backends.cuda.matmul.allow_tf32 and cudnn.allow_tf32."""

from __future__ import annotations

from . import _ops


class _Switch:
    """One of the two switches that set_tf32 takes."""

    def __init__(self, position: int):
        self._position = position

    @property
    def allow_tf32(self) -> bool:
        return _ops.get_tf32()[self._position]

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        both = list(_ops.get_tf32())
        both[self._position] = bool(value)
        _ops.set_tf32(*both)


class _Cuda:
    matmul = _Switch(0)


cuda = _Cuda()
cudnn = _Switch(1)
