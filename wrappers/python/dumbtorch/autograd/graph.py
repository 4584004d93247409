"""The graph, to look at. What ops save for backward cannot be replaced."""

from __future__ import annotations

from typing import NamedTuple

from .. import _missing, _ops
from .._tensor import GradFn as Node

__getattr__ = _missing.getattr_of(__name__)


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: the operation, and which of its outputs the tensor is."""

    node: object
    output_nr: int


def get_gradient_edge(tensor) -> GradientEdge:
    """Where the gradient of a tensor that requires grad goes."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return GradientEdge(Node(_ops.tensor_node(tensor)), tensor.output_nr)


class saved_tensors_hooks:
    """Not supported: ops keep their tensors in the library. torch.utils.checkpoint saves memory."""

    def __init__(self, pack_hook, unpack_hook):
        raise NotImplementedError(
            "saved_tensors_hooks: what ops save for backward cannot be replaced; "
            "torch.utils.checkpoint saves memory in another way"
        )


class save_on_cpu(saved_tensors_hooks):
    """Not supported, as saved_tensors_hooks."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(None, None)
