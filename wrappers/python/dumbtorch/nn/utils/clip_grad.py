"""Gradients that are made smaller."""

from __future__ import annotations

from types import GeneratorType

from ... import _ops
from ..._tensor_type import TensorBase
from ..._warning import warn_each
from ...autograd.grad_mode import no_grad


def _list(tensors) -> list:
    return [tensors] if isinstance(tensors, TensorBase) else list(tensors)


def _gradients(parameters) -> list:
    grads = (p.grad for p in _list(parameters))
    return [grad for grad in grads if grad is not None]


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients so that their norm together is at most max_norm; gives the norm before."""
    order, refuses = float(norm_type), bool(error_if_nonfinite)
    those = _list(parameters)
    if not those and isinstance(parameters, GeneratorType):
        warn_each("`parameters` is an empty generator, no gradient clipping will occur.")
    return _ops.clip_grad_norm_(those, float(max_norm), order, refuses)


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The older name of clip_grad_norm_."""
    warn_each(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of tensors together, as if they were one vector."""
    tensors, order = _list(tensors), float(norm_type)
    if not tensors:
        return _ops.zeros(())
    norms = [_ops.linalg_vector_norm(x, order) for x in tensors]
    total = _ops.linalg_vector_norm(_ops.stack([_ops.to(n, norms[0].device) for n in norms]), order)
    if error_if_nonfinite and not _ops.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
            "anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None) -> None:
    """Scales gradients as clip_grad_norm_ does, by a norm that is known."""
    scale = _ops.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in _gradients(parameters):
        _ops.mul_(grad, _ops.to(scale, grad.device))


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None) -> None:
    """Limits each element of the gradients to [-clip_value, clip_value]."""
    bound = float(clip_value)
    for grad in _gradients(parameters):
        _ops.clamp_(grad, -bound, bound)
