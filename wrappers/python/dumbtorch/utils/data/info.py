"""What a worker process knows about itself."""

from __future__ import annotations

from typing import NamedTuple


class WorkerInfo(NamedTuple):
    """What a worker knows about itself."""

    id: int
    num_workers: int
    seed: int
    dataset: object
    rng: object = None
    worker_method: str = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader calls; None outside of one."""
    return _info


def set_worker_info(info: WorkerInfo) -> None:
    """Makes this process a worker."""
    global _info
    _info = info
