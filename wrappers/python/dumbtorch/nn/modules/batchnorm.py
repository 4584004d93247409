"""The batch norm of several processes; the others are generated from the schema."""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from .layers import _BatchNorm, _NormBase  # noqa: F401  where PyTorch has them


class SyncBatchNorm(_BatchNorm):
    """A BatchNorm whose statistics are those of all processes that train together; here each is alone.

    Args:
        num_features: Size of dimension 1.
        eps: Added to the variance.
        momentum: The share of a batch in the running statistics; absent: they are the mean over all batches so far.
        affine: Whether there are a weight and a bias.
        track_running_stats: Keep running statistics, for evaluation.
        process_group: Changes nothing.
        bias: Whether there is a bias.
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 process_group=None, device=None, dtype=None, *, bias=True):  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        self._check_non_zero_input_channels(input)

    def _check_non_zero_input_channels(self, input):
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with a SyncBatchNorm, of the same tensors, in the place of each batch norm in it."""
        out = _converted(module, process_group) if isinstance(module, _BatchNorm) else module
        for name, child in module.named_children():
            out.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return out


def _converted(norm: _BatchNorm, process_group) -> SyncBatchNorm:
    settings = norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats
    out = SyncBatchNorm(*settings, process_group)
    with no_grad():
        if norm.affine:
            out.weight, out.bias = norm.weight, norm.bias
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            setattr(out, name, getattr(norm, name))
    out.training = norm.training
    return out
