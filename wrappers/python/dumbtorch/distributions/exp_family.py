"""Distributions whose density is exp of a product with natural parameters."""

from __future__ import annotations

from ..autograd import grad
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """By the logarithm of the normalizer, as a function of the natural parameters, and its gradients."""

    @property
    def _natural_params(self) -> tuple:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def _normalizer_with_gradients(self):
        """The natural parameters as leaves, the normalizer of them, and its gradients."""
        leaves = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*leaves)
        return leaves, normalizer, grad(normalizer.sum(), leaves, create_graph=True)

    def entropy(self):
        result = -self._mean_carrier_measure
        leaves, normalizer, slopes = self._normalizer_with_gradients()
        result = result + normalizer
        for leaf, slope in zip(leaves, slopes, strict=True):
            result = result - (leaf * slope).reshape(tuple(self._batch_shape) + (-1,)).sum(-1)
        return result
