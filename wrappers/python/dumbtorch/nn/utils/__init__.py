"""Gradient clipping, and parameters as one vector."""

from __future__ import annotations

from ... import _ops
from ..._tensor_type import TensorBase
from ...autograd.grad_mode import no_grad
from . import rnn

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "rnn", "vector_to_parameters",
]  # fmt: skip


def _list(parameters) -> list:
    return [parameters] if isinstance(parameters, TensorBase) else list(parameters)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients so that their norm together is at most max_norm; gives the norm before."""
    return _ops.clip_grad_norm_(_list(parameters), max_norm, norm_type, error_if_nonfinite)


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None) -> None:
    """Limits each element of the gradients to [-clip_value, clip_value]."""
    for p in _list(parameters):
        if p.grad is not None:
            p.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters):
    """All parameters' elements, one after another."""
    return _ops.cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec, parameters) -> None:
    """The reverse of parameters_to_vector."""
    start = 0
    for p in parameters:
        p.copy_(vec[start : start + p.numel()].view_as(p))
        start += p.numel()
