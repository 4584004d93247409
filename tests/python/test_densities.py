"""Distributions against PyTorch's: densities, moments, entropies, divergences, their gradients, and samples by
their moments."""

import dumbtorch as dt
import numpy as np
import pytest

# A name, and its parameters: shapes broadcast with each other.
ROWS = {
    "Bernoulli": [{"probs": [0.2, 0.5, 0.9]}, {"logits": [-1.0, 0.0, 2.5]}],
    "Categorical": [{"probs": [[0.2, 0.5, 0.9], [1, 2, 3]]}, {"logits": [[-1.0, 0.3, 2.5]]}],
    "Cauchy": [{"loc": [0.5, -1], "scale": [1.5, 0.3]}],
    "Exponential": [{"rate": [0.5, 3]}],
    "Geometric": [{"probs": [0.2, 0.5, 1.0]}, {"logits": [-1.0, 0.0, 2.5]}],
    "Gumbel": [{"loc": [0.5, -1], "scale": [1.5, 0.3]}],
    "HalfCauchy": [{"scale": [0.5, 3]}],
    "HalfNormal": [{"scale": [0.5, 3]}],
    "Laplace": [{"loc": [0.5, -1], "scale": [1.5, 0.3]}],
    "LogNormal": [{"loc": [0.5, -1], "scale": [0.5, 0.3]}],
    "MultivariateNormal": [
        {"loc": [1.0, 2], "covariance_matrix": [[2, 0.3], [0.3, 1]]},
        {"loc": [[1.0, 2], [0, 1]], "precision_matrix": [[2, 0.3], [0.3, 1]]},
        {"loc": [1.0, 2], "scale_tril": [[2, 0], [0.3, 1]]},
    ],
    "Normal": [{"loc": [0.5, -1], "scale": [1.5, 0.3]}, {"loc": [[0.5], [2]], "scale": [1.5, 0.3]}],
    "OneHotCategorical": [{"probs": [[0.2, 0.5, 0.9], [1, 2, 3]]}],
    "OneHotCategoricalStraightThrough": [{"logits": [0.2, 0.5, 0.9]}],
    "Pareto": [{"scale": [0.5, 3], "alpha": [7.0, 6.5]}],
    "Poisson": [{"rate": [0.0, 0.7, 30.0]}],
    "Uniform": [{"low": [-1.0, 0], "high": [2.0, 0.5]}],
    "Weibull": [{"scale": [0.5, 3], "concentration": [1.5, 4.0]}],
    "Beta": [{"concentration1": [0.5, 3], "concentration0": [2.0, 1.5]}],
    "Binomial": [
        {"total_count": 5, "probs": [0.2, 0.5, 0.9]},
        {"total_count": 3, "logits": [-1.0, 0.0, 2.5]},
    ],
    "Chi2": [{"df": [1.5, 8.0]}],
    "ContinuousBernoulli": [{"probs": [0.2, 0.5, 0.9]}, {"logits": [-1.0, 0.001, 2.5]}],
    "Dirichlet": [{"concentration": [[0.5, 1.2, 4.0], [0.7, 0.2, 0.9]]}],
    "FisherSnedecor": [{"df1": [1.5, 9.0], "df2": [12.0, 20.0]}],
    "Gamma": [{"concentration": [0.3, 7.0], "rate": [2.0, 0.5]}],
    "InverseGamma": [{"concentration": [6.0, 7.0], "rate": [2.0, 0.5]}],
    "Kumaraswamy": [{"concentration1": [1.5, 3], "concentration0": [2.0, 1.5]}],
    "LKJCholesky": [{"dim": 3, "concentration": [0.5, 2.0]}],
    "LogisticNormal": [{"loc": [0.5, -1], "scale": [1.5, 0.3]}],
    "LowRankMultivariateNormal": [
        {
            "loc": [1.0, 2, 3],
            "cov_factor": [[[2], [0.3], [1]], [[1], [0], [-1]]],
            "cov_diag": [1.0, 0.5, 2],
        }
    ],
    "Multinomial": [
        {"total_count": 4, "probs": [[0.2, 0.5, 0.3], [0.1, 0.0, 0.9]]},
        {"total_count": 4, "logits": [[-1.0, 0.3, 2.5]]},
    ],
    "NegativeBinomial": [
        {"total_count": [5.0, 2.5], "probs": [0.2, 0.7]},
        {"total_count": 3.0, "logits": [-1.0, 0.0]},
    ],
    "RelaxedBernoulli": [{"temperature": 0.7, "probs": [0.2, 0.5, 0.9]}],
    "RelaxedOneHotCategorical": [{"temperature": 0.7, "logits": [[0.2, 0.5, 0.9]]}],
    "StudentT": [{"df": [5.0, 9.0], "loc": [0.5, -1], "scale": [1.5, 0.3]}],
    "Wishart": [
        {"df": [3.5, 6.0], "covariance_matrix": [[2, 0.3], [0.3, 1]]},
        {"df": 4.5, "precision_matrix": [[2, 0.3], [0.3, 1]]},
        {"df": 4.5, "scale_tril": [[2, 0], [0.3, 1]]},
    ],
}
# What samples have no moments to be compared by, or only in the limit of very many.
NO_MOMENTS = ["LKJCholesky", "LogisticNormal", "RelaxedBernoulli", "RelaxedOneHotCategorical"]
LACK_DIVERGENCE = """
    FisherSnedecor HalfCauchy Kumaraswamy LKJCholesky Multinomial NegativeBinomial
    OneHotCategoricalStraightThrough RelaxedBernoulli RelaxedOneHotCategorical StudentT Weibull
""".split()
CASES = [(name, given) for name, rows in ROWS.items() for given in rows]


def make(t, name, given):
    """A distribution, and its parameters as leaves."""
    whole = {k: v for k, v in given.items() if isinstance(v, int)}
    leaves = {
        k: t.tensor(v, dtype=t.float64).requires_grad_() for k, v in given.items() if k not in whole
    }
    return getattr(t.distributions, name)(**whole, **leaves), leaves


def numbers(x):
    """As NumPy."""
    return x.detach().numpy()


def close(ours, theirs, rtol=1e-9):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=rtol, atol=1e-12)


def close_with_gradients(pair, compute, rtol=1e-9):
    """What is computed of both libraries' distributions, and its gradients. The derivative of digamma, which
    those of entropies and divergences of gamma functions have, is right to nine digits in PyTorch."""
    results = [compute(distribution) for distribution, _ in pair]
    close(*results, rtol)
    if results[1].requires_grad:
        for result in results:
            result.sum().backward()
        for name, leaf in pair[0][1].items():
            theirs = pair[1][1][name].grad
            assert (leaf.grad is None) == (theirs is None)
            if theirs is not None:
                if (
                    name == "scale_tril" and "df" in pair[0][1]
                ):  # PyTorch's has entries for what is not read, too
                    theirs = theirs.tril()
                close(leaf.grad, theirs, 1e-8)


def has(pair, compute):
    """Whether there is such a quantity, in both libraries."""
    found = []
    for distribution, _ in pair:
        try:
            compute(distribution)
        except NotImplementedError:
            found.append(False)
        else:
            found.append(True)
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(("name", "given"), CASES)
def test_quantities(torch, name, given):
    events = make(torch, name, given)[0].sample((3,))
    for what in ("mean", "mode", "variance", "stddev"):
        pair = [make(t, name, given) for t in (dt, torch)]
        if has(pair, lambda d: getattr(d, what)):  # noqa: B023
            close(*(getattr(distribution, what) for distribution, _ in pair))
    pair = [make(t, name, given) for t in (dt, torch)]
    if has(pair, lambda d: d.entropy()):
        # PyTorch's Multinomial has a factorial in float32.
        close_with_gradients(pair, lambda d: d.entropy(), 1e-7 if name == "Multinomial" else 1e-9)
    pair = [make(t, name, given) for t in (dt, torch)]
    values = {id(pair[0][0]): dt.from_numpy(events.numpy()), id(pair[1][0]): events}
    close_with_gradients(pair, lambda d: d.log_prob(values[id(d)]))
    pair = [make(t, name, given) for t in (dt, torch)]
    assert repr(pair[0][0]) == repr(pair[1][0])
    assert pair[0][0].batch_shape == tuple(pair[1][0].batch_shape)
    wide = [d.expand((4,) + tuple(d.batch_shape)) for d, _ in pair]
    close(wide[0].log_prob(dt.from_numpy(events[0].numpy())), wide[1].log_prob(events[0]))


@pytest.mark.parametrize(("name", "given"), CASES)
def test_divergence(torch, name, given):
    if name in LACK_DIVERGENCE:
        return
    names = {"Uniform": "low", "MultivariateNormal": "loc", "LogNormal": "loc", "Normal": "loc"}
    moved = {
        k: v if isinstance(v, int) else np.array(v) * (1.5 if k != "probs" else 1)
        for k, v in given.items()
    }
    if "probs" in given:
        moved["probs"] = np.array(given["probs"])[..., ::-1].copy()
    elif name in names:
        moved[names[name]] = np.array(given[names[name]]) * 1.5
    pair = [make(t, name, given) for t in (dt, torch)]
    others = {t: make(t, name, moved)[0] for t in (dt, torch)}
    of = {id(pair[0][0]): (dt, others[dt]), id(pair[1][0]): (torch, others[torch])}
    close_with_gradients(pair, lambda d: of[id(d)][0].distributions.kl_divergence(d, of[id(d)][1]))


@pytest.mark.parametrize(
    "name",
    [
        "Cauchy",
        "Exponential",
        "Gumbel",
        "HalfCauchy",
        "HalfNormal",
        "Laplace",
        "LogNormal",
        "Normal",
        "Pareto",
        "Uniform",
        "Weibull",
        "ContinuousBernoulli",
        "Kumaraswamy",
    ],
)
def test_quantiles(torch, name):
    found = []
    for t in (dt, torch):
        distribution = make(t, name, ROWS[name][0])[0]
        probability = t.tensor([[0.1], [0.7]], dtype=t.float64)
        x = distribution.icdf(probability.expand((2, *distribution.batch_shape)))
        found.append((x, distribution.cdf(x)))
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs)


@pytest.mark.parametrize(("name", "given"), CASES)
def test_samples(torch, name, given):
    """The mean of many samples is the mean, within six standard errors, and a sample's gradient flows."""
    dt.manual_seed(3)
    distribution, leaves = make(dt, name, given)
    theirs = make(torch, name, given)[0]
    drawn = numbers(distribution.sample((20000,)))
    assert drawn.shape == tuple(theirs.sample((20000,)).shape)
    if name == "Categorical":
        shares = np.stack([(drawn == i).mean(0) for i in range(3)], -1)
        assert np.abs(shares - numbers(theirs.probs)).max() < 6 * 0.5 / 20000**0.5
    elif name == "Cauchy":
        assert np.abs(np.median(drawn, 0) - numbers(theirs.loc)).max() < 0.1
    elif name in NO_MOMENTS:
        assert distribution.support.check(dt.from_numpy(drawn)).all()
    elif name == "HalfCauchy":
        assert np.allclose(np.median(drawn, 0), numbers(theirs.scale), rtol=0.1)
    else:
        off = np.abs(drawn.mean(0) - numbers(theirs.mean))
        assert (off <= 6 * numbers(theirs.stddev) / 20000**0.5).all()
        assert np.allclose(drawn.std(0), numbers(theirs.stddev), rtol=0.15)
    assert distribution.has_rsample == theirs.has_rsample
    if distribution.has_rsample:
        distribution.rsample((2,)).sum().backward()
        assert all(leaf.grad is not None for leaf in leaves.values())


def mixtures(t, name, given):
    components = getattr(t.distributions, name)(
        **{k: t.tensor(v, dtype=t.float64) for k, v in given.items()}
    )
    mixture = t.distributions.Categorical(logits=t.tensor([0.3, -1], dtype=t.float64))
    return t.distributions.MixtureSameFamily(mixture, components)


def test_mixtures_and_independence(torch):
    x = [[0.3, 1.2], [0.1, -2]]
    for name, row in (("Normal", 0), ("MultivariateNormal", 1)):
        ours, theirs = (mixtures(t, name, ROWS[name][row]) for t in (dt, torch))
        assert repr(ours) == repr(theirs)
        close(ours.mean, theirs.mean)
        close(ours.variance, theirs.variance)
        close(ours.log_prob(dt.tensor(x).double()), theirs.log_prob(torch.tensor(x).double()))
        assert ours.sample((5,)).shape == tuple(theirs.sample((5,)).shape)
    pair = [
        t.distributions.Independent(make(t, "Normal", ROWS["Normal"][1])[0], 1) for t in (dt, torch)
    ]
    close(pair[0].log_prob(dt.ones(2, 2)), pair[1].log_prob(torch.ones(2, 2)))
    close(pair[0].entropy(), pair[1].entropy())
    assert repr(pair[0]) == repr(pair[1]) and pair[0].event_shape == (2,)


REFUSED = (
    "t.distributions.Normal(t.zeros(2), t.tensor([1.0, -1]))",
    "t.distributions.Categorical(logits=t.tensor([float('nan'), 1]))",
    "t.distributions.Categorical(t.tensor(1.0))",
    "t.distributions.Categorical(probs=t.tensor([1.0]), logits=t.tensor([1.0]))",
    "t.distributions.Bernoulli(t.tensor([0.5, 1.5]))",
    "t.distributions.Bernoulli(t.tensor([0.5])).log_prob(t.tensor([0.5]))",
    "t.distributions.Normal(0.0, 1.0).log_prob(3)",
    "t.distributions.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3))",
    "t.distributions.Categorical(t.ones(3)).log_prob(t.tensor(3))",
    "t.distributions.Uniform(t.ones(1), t.zeros(1))",
    "t.distributions.MultivariateNormal(t.zeros(2), t.ones(2, 2))",
    "t.distributions.MultivariateNormal(t.zeros(2))",
    "t.distributions.kl_divergence(t.distributions.Normal(0.0, 1.0), t.distributions.Cauchy(0.0, 1.0))",
    "t.distributions.Independent(t.distributions.Normal(0.0, 1.0), 1)",
)


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(refusals, text):
    ours, theirs = refusals(lambda t: eval(text, {"t": t}), ValueError, NotImplementedError)
    assert ours == theirs


def test_density_of_weibull_at_0():
    """Its limit there, which the exponential distribution has for a concentration of 1."""
    at = [
        dt.distributions.Weibull(2.0, k, validate_args=False).log_prob(dt.tensor(0.0)).item()
        for k in (0.5, 1.0, 2.0)
    ]
    assert at == [np.inf, pytest.approx(-np.log(2)), -np.inf]


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.distributions.OneHotCategorical(t.ones(2, 3)),
        lambda t: t.distributions.OneHotCategorical(t.ones(4)),
        lambda t: t.distributions.Independent(t.distributions.Bernoulli(t.full((2, 3), 0.5)), 0),
        lambda t: t.distributions.Independent(t.distributions.Bernoulli(t.full((2, 3), 0.5)), 1),
        lambda t: t.distributions.Normal(0.0, 1.0),
        lambda t: t.distributions.Geometric(0.5),
    ],
)
def test_all_events(make, expand, torch):
    def events(t):
        made = make(t)
        try:
            found = made.enumerate_support(expand)
        except NotImplementedError as error:
            return made.has_enumerate_support, str(error)
        return made.has_enumerate_support, tuple(found.shape), found.tolist()

    assert events(dt) == events(torch)


@pytest.mark.parametrize("name", ["Bernoulli", "Categorical", "OneHotCategorical"])
def test_what_was_not_given(name):
    """Densities by logits ask for no probabilities, samples by probabilities for no logits."""
    kind = getattr(dt.distributions, name)
    by_logits, by_probs = kind(logits=dt.zeros(2, 3)), kind(probs=dt.full((2, 3), 0.5))
    by_logits.log_prob(by_probs.sample())
    for d in (by_logits, by_probs):
        d.enumerate_support()
    for d, other in ((by_logits, "probs"), (by_probs, "logits")):
        assert other not in vars(d)
