"""Distributions of random tensors: their samples, densities, entropies and divergences."""

from .. import _missing
from . import constraints
from .choices import Bernoulli, Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .distribution import Distribution, Independent
from .divergence import kl_divergence, register_kl
from .mixture import MixtureSameFamily
from .numbers import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, LogNormal, Normal, Uniform
from .vectors import MultivariateNormal

__all__ = [
    "Bernoulli", "Categorical", "Cauchy", "Distribution", "Exponential", "Gumbel", "HalfNormal",
    "Independent", "Laplace", "LogNormal", "MixtureSameFamily", "MultivariateNormal", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Uniform", "constraints",
    "kl_divergence", "register_kl",
]  # fmt: skip

__getattr__ = _missing.getattr_of(__name__)
