"""torch.distributed: a program asks whether processes work together. Here each is alone."""

from __future__ import annotations

import enum
import sys

from . import _missing
from .nn.modules.places import add_place

__getattr__ = _missing.getattr_of(__name__)


def is_available() -> bool:
    """False: there are no groups of processes."""
    return False


is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = is_available
is_ucc_available = is_xccl_available = is_torchelastic_launched = is_available


class ReduceOp(enum.Enum):
    """How numbers of several processes become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ProcessGroup:
    """A group of processes: there is none."""


class group:
    """The group of all processes, before there is one."""

    WORLD = None


def init_process_group(*arguments, **settings):
    """Not supported."""
    raise NotImplementedError(
        "distributed.init_process_group: processes do not work together; a program that asks is_available() first "
        "goes on alone"
    )


class ZeroRedundancyOptimizer:
    """An optimizer whose state lies in parts on several processes: there is none."""

    def __init__(self, *arguments, **settings):
        raise NotImplementedError(
            "distributed.optim.ZeroRedundancyOptimizer: processes do not work together; the optimizer that it would "
            "wrap does the same in one"
        )


class DTensor:
    """A tensor whose parts lie on several processes: there is none."""

    def __init__(self, *arguments, **settings):
        raise NotImplementedError("distributed.tensor.DTensor: processes do not work together")


_OF_A_GROUP = [
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend",
    "get_rank", "get_world_size", "irecv", "isend", "monitored_barrier", "new_group", "recv", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
]  # fmt: skip
_WHY = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
_NEEDS = "Needs a group of processes, which there is not."
globals().update({name: _missing.refused(name, _WHY, ValueError, _NEEDS) for name in _OF_A_GROUP})

__all__ = [
    "DTensor", "ProcessGroup", "ReduceOp", "ZeroRedundancyOptimizer", "group", "init_process_group", "is_available",
    "is_gloo_available", "is_initialized",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", *_OF_A_GROUP,
]  # fmt: skip

# Where those that pass gradients on stand in PyTorch; these refuse alike.
_nn = add_place(sys.modules[__name__], "nn")
_nn.__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip
add_place(_nn, "functional").__all__ = _nn.__all__

# Libraries import these to ask what they were given.
add_place(sys.modules[__name__], "optim").__all__ = ["ZeroRedundancyOptimizer"]
add_place(sys.modules[__name__], "tensor").__all__ = ["DTensor"]
