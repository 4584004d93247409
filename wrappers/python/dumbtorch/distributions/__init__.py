"""Distributions of random tensors: their samples, densities, entropies and divergences."""

import sys as _sys

from .. import _missing
from ..nn.modules.places import add_place as _add_place
from . import constraints, mixed_divergence, transforms, utils  # noqa: F401
from .choices import Bernoulli, Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .circular import VonMises
from .constraint_registry import biject_to, transform_to
from .counts import Binomial, Geometric, Multinomial, NegativeBinomial, Poisson
from .distribution import Distribution, Independent
from .divergence import kl_divergence, register_kl
from .exp_family import ExponentialFamily
from .gammas import Beta, Chi2, Dirichlet, FisherSnedecor, Gamma, InverseGamma, StudentT
from .made import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    Weibull,
)
from .matrices import LKJCholesky, Wishart
from .mixture import MixtureSameFamily
from .numbers import Cauchy, Exponential, GeneralizedPareto, Laplace, Normal, Uniform
from .relaxed import (
    ContinuousBernoulli,
    ExpRelaxedCategorical,
    LogitRelaxedBernoulli,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from .transformed import TransformedDistribution
from .transforms import *  # noqa: F403
from .vectors import LowRankMultivariateNormal, MultivariateNormal

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "kl_divergence", "register_kl", "transform_to",
    *(name for name in transforms.__all__ if not name.startswith("_")),
]  # fmt: skip

__getattr__ = _missing.getattr_of(__name__)

# The modules in which PyTorch's distributions stand, for programs that import from them.
for _name in """
    bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exponential fishersnedecor gamma
    generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma kl kumaraswamy laplace
    lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal mixture_same_family multinomial
    multivariate_normal negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli
    relaxed_categorical studentT transformed_distribution uniform von_mises weibull wishart
""".split():
    _add_place(_sys.modules[__name__], _name)
    for _word in __all__:
        if _word.lower() == _name.replace("_", "").lower():
            globals()[_word].__module__ = f"{__name__}.{_name}"
for _kind in (_value for _value in vars(transforms).values() if isinstance(_value, type)):
    if issubclass(_kind, transforms.Transform):
        _kind.__module__ = transforms.__name__
_sys.modules[f"{__name__}.relaxed_bernoulli"].LogitRelaxedBernoulli = LogitRelaxedBernoulli
_sys.modules[f"{__name__}.relaxed_categorical"].ExpRelaxedCategorical = ExpRelaxedCategorical
