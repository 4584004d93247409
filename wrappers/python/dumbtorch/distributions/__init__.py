"""Distributions of random tensors: their samples, densities, entropies and divergences."""

import sys as _sys

from .. import _missing
from ..nn.modules.places import add_place as _add_place
from . import constraints, transforms
from .choices import Bernoulli, Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .counts import Geometric, Poisson
from .distribution import Distribution, Independent
from .divergence import kl_divergence, register_kl
from .mixture import MixtureSameFamily
from .numbers import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, LogNormal, Normal, Uniform
from .tails import HalfCauchy, Pareto, Weibull
from .transformed import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from .vectors import MultivariateNormal

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Categorical", "Cauchy", "ComposeTransform",
    "Distribution", "ExpTransform", "Exponential", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "Laplace", "LogNormal", "MixtureSameFamily", "MultivariateNormal", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PowerTransform", "SigmoidTransform",
    "SoftplusTransform", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "Weibull",
    "constraints", "identity_transform", "kl_divergence", "register_kl", "transforms",
]  # fmt: skip

__getattr__ = _missing.getattr_of(__name__)

# The modules in which PyTorch's distributions stand, for programs that import from them.
for _name in """
    bernoulli categorical cauchy exponential geometric gumbel half_cauchy half_normal independent kl laplace log_normal
    mixture_same_family multivariate_normal normal one_hot_categorical pareto poisson transformed_distribution uniform
    weibull
""".split():
    _add_place(_sys.modules[__name__], _name)
