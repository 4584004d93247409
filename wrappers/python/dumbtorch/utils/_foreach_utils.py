"""torch.utils._foreach_utils: what optimizers of others sort their tensors by."""

from __future__ import annotations

__all__: list[str] = []


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices: bool = False) -> dict:
    """Lists of tensors side by side, in groups whose first tensors have one device and dtype: {(device, dtype):
    (lists, the places that they had)}. A list may be empty."""
    groups: dict = {}
    for place, first in enumerate(tensorlistlist[0]):
        lists, places = groups.setdefault(
            (first.device, first.dtype), ([[] for _ in tensorlistlist], [])
        )
        for into, given in zip(lists, tensorlistlist, strict=True):
            into += given[place : place + 1]
        places += [place] * with_indices
    return groups
