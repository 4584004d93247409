"""What batch norms have in common, besides what the schema says of each."""

from __future__ import annotations

from ... import _ops
from .layers import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from .module import Module


class _Group(type):
    """Several classes, for isinstance and issubclass."""

    def __instancecheck__(cls, x) -> bool:
        return isinstance(x, cls._members)

    def __subclasscheck__(cls, kind) -> bool:
        return issubclass(kind, cls._members)


class _BatchNorm(metaclass=_Group):
    """The batch norms."""

    _members = BatchNorm1d, BatchNorm2d, BatchNorm3d


class SyncBatchNorm:
    """Not supported: its statistics are those of several processes."""

    _REFUSAL = (
        "SyncBatchNorm: programs run in one process, where BatchNorm's statistics are the same"
    )

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 process_group=None, device=None, dtype=None, *, bias=True):  # fmt: skip
        raise NotImplementedError(self._REFUSAL)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Not supported."""
        raise NotImplementedError(cls._REFUSAL)


class _NormBase(metaclass=_Group):
    """The layers with running statistics."""

    _members = *_BatchNorm._members, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d


def reset_running_stats(self) -> None:
    """Means of 0 and variances of 1, of no batches."""
    if self.track_running_stats:
        _ops.zero_(self.running_mean)
        _ops.fill_(self.running_var, 1)
        _ops.zero_(self.num_batches_tracked)


def _load_from_state_dict(self, state_dict, prefix, local_metadata, *lists) -> None:
    """State dicts of the first version have no number of batches, nor have those that tell no version."""
    name = prefix + "num_batches_tracked"
    if self.track_running_stats and local_metadata.get("version", 1) < 2:
        state_dict.setdefault(name, self.num_batches_tracked)
    Module._load_from_state_dict(self, state_dict, prefix, local_metadata, *lists)


for _cls in _NormBase._members:
    _cls.reset_running_stats = reset_running_stats
    _cls._load_from_state_dict = _load_from_state_dict
    _cls._version = 2
