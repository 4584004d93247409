"""What scripts ask about CUDA before they use it."""

from . import _ops

__all__ = ["device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether there is a CUDA device."""
    return _ops.device_is_available("cuda")


def device_count() -> int:
    """How many CUDA devices there are."""
    count = 0
    while _ops.device_is_available(f"cuda:{count}"):
        count += 1
    return count


def synchronize(device=None) -> None:
    """Waits until the device has done everything it was asked to."""
    _ops.synchronize("cuda" if device is None else device)
