"""Parameters as one vector."""

from __future__ import annotations

from ... import _ops
from ..._tensor_type import TensorBase


def parameters_to_vector(parameters):
    """All parameters' elements, one after another."""
    return _ops.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters) -> None:
    """Gives each parameter its part of the vector, whose memory it then shares."""
    if not isinstance(vec, TensorBase):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        end = start + p.numel()
        _ops.tensor_set_data(p, _ops.detach(vec[start:end].view_as(p)))
        start = end
