"""Modules on several GPUs at once, which there are not."""

from __future__ import annotations

import sys

from .. import _missing, _ops
from .modules import Module
from .modules.places import add_place

__getattr__ = _missing.getattr_of(__name__)


class DataParallel(Module):
    """The module itself, under the name `module`: on one GPU, or on none. Several are refused."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        count = _ops.cuda_device_count()
        self.device_ids = list(range(min(count, 1))) if device_ids is None else list(device_ids)
        if len(self.device_ids) > 1:
            raise NotImplementedError(
                "DataParallel: a module runs on one device; processes with a device each share the work"
            )
        self.module, self.output_device, self.dim = module, output_device, dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`DataParallel(module)` of inputs, which are a tuple or one."""
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """A module that processes train together: there is none, which programs ask by isinstance."""

    def __init__(self, *arguments, **settings):
        raise NotImplementedError(
            "DistributedDataParallel: processes do not work together (distributed.is_available() is False)"
        )


# Where PyTorch's stands, for programs that import it from there.
add_place(sys.modules[__name__], "distributed")

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
