"""The divergence of every pair of distributions of which PyTorch has one, with its gradients, against PyTorch's."""

import warnings

import dumbtorch as dt
import numpy as np
import pytest

ROWS = {
    "Bernoulli": "D.Bernoulli(a / 3)",
    "Beta": "D.Beta(a + 1, b + 2)",
    "Binomial": "D.Binomial(3, a / 3)",
    "Categorical": "D.Categorical(a + b)",
    "Cauchy": "D.Cauchy(a - 1, b)",
    "ContinuousBernoulli": "D.ContinuousBernoulli(a / 3)",
    "Dirichlet": "D.Dirichlet(a + b)",
    "Exponential": "D.Exponential(a)",
    "Gamma": "D.Gamma(a, b)",
    "Geometric": "D.Geometric(a / 3)",
    "Gumbel": "D.Gumbel(a - 1, b)",
    "HalfNormal": "D.HalfNormal(a)",
    "Independent": "D.Independent(D.Normal(a, b), 1)",
    "Laplace": "D.Laplace(a - 1, b)",
    "LogNormal": "D.LogNormal(a - 1, b)",
    "LowRankMultivariateNormal": "D.LowRankMultivariateNormal(a, b.unsqueeze(-1) * a, b)",
    "MultivariateNormal": "D.MultivariateNormal(b, a.diag_embed() + 0.1)",
    "Normal": "D.Normal(a - 1, b)",
    "OneHotCategorical": "D.OneHotCategorical(a + b)",
    "Pareto": "D.Pareto(a / 2, b + 3)",
    "Poisson": "D.Poisson(a)",
    "Uniform": "D.Uniform(a / 9, 0.5 + b / 9)",
    "Wide": "D.Uniform(a - 5, b + 5)",
    "Wishart": "D.Wishart(4.5, (a + b).diag_embed() + 0.1)",
}
PAIRS = [(p, q) for p in ROWS for q in ROWS]


def made(t, name, a, b):
    """A distribution, and the leaves that it is made of."""
    leaves = [t.tensor(x, dtype=t.float64).requires_grad_() for x in (a, b)]
    return eval(ROWS[name], {"D": t.distributions, "a": leaves[0], "b": leaves[1]}), leaves


def divergence(t, names):
    """The divergence of two distributions and its gradients, or how it is refused."""
    p, of_p = made(t, names[0], [0.7, 1.6, 2.0], [0.5, 1.5, 0.9])
    q, of_q = made(t, names[1], [0.9, 1.4, 1.7], [0.8, 1.1, 0.6])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            result = t.distributions.kl_divergence(p, q)
        except (NotImplementedError, RuntimeWarning) as error:
            return type(error), " ".join(str(error).split())
    if result.requires_grad:
        result.sum().backward()
    gradients = [leaf.grad for leaf in of_p + of_q]
    return result.detach().numpy(), [None if g is None else g.numpy() for g in gradients]


def test_all(torch):
    """In one test, since there are many and each is short."""
    unlike = []
    for pair in PAIRS:
        (ours, our_gradients), (theirs, their_gradients) = (
            divergence(t, pair) for t in (dt, torch)
        )
        if not isinstance(ours, np.ndarray) or not isinstance(theirs, np.ndarray):
            if ours is not theirs or our_gradients != their_gradients:
                unlike.append((pair, ours, our_gradients, theirs, their_gradients))
            continue
        if ours.shape != theirs.shape or not np.allclose(ours, theirs, 1e-9, 1e-11):
            unlike.append((pair, ours, theirs))
        if np.isfinite(theirs).all():
            for a, b in zip(our_gradients, their_gradients, strict=True):
                a, b = (np.zeros(3) if g is None else g for g in (a, b))
                if not np.allclose(a, b, 1e-7, 1e-9):
                    unlike.append((pair, "gradients", a, b))
    assert not unlike


def test_registration():
    D = dt.distributions

    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def _mine(p, q):
        return "mine"

    @D.register_kl(D.Normal, Mine)
    def _other(p, q):
        return "other"

    normal, mine = D.Normal(0.0, 1.0), Mine(0.0, 1.0)
    assert D.kl_divergence(mine, normal) == "mine" and D.kl_divergence(normal, mine) == "other"
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Mine\)"):
        assert D.kl_divergence(mine, mine) == "mine"
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass"):
        D.register_kl(5, D.Normal)


def test_a_kind_that_is_none_of_ours():
    """Libraries have distributions with a base of their own."""

    class Foreign:
        pass

    D = dt.distributions

    @D.register_kl(Foreign, D.Normal)
    def _foreign(p, q):
        return "foreign"

    assert D.kl_divergence(Foreign(), D.Normal(0.0, 1.0)) == "foreign"
