"""How samples move with the parameters that they are drawn by: against differences of distribution functions, which
are integrated here, and against moments. And distributions whose PyTorch is approximate."""

import dumbtorch as dt
import numpy as np
import pytest

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def integral(f, low, high, power=1):
    """Of f from low to high; at low, f may grow like a power that t = s ** power makes smooth."""
    s = 0.5 * (NODES + 1)
    t = low + (high - low) * s**power
    return 0.5 * (high - low) * np.sum(WEIGHTS * f(t) * power * s ** (power - 1))


def slope(density, x, a, h):
    """dx/da where the probability of numbers up to x stays, by differences of the integral of the density."""
    share = [integral(lambda t: density(t, a + k * h), 0, x, 8) for k in (-2, -1, 1, 2)]  # noqa: B023
    change = (share[0] - 8 * share[1] + 8 * share[2] - share[3]) / (12 * h)
    return -change / density(x, a)


def gamma_density(t, a):
    from math import lgamma

    return np.exp((a - 1) * np.log(t) - t - lgamma(a))


def beta_density(b):
    from math import lgamma

    def density(t, a):
        norm = lgamma(a + b) - lgamma(a) - lgamma(b)
        return np.exp((a - 1) * np.log(t) + (b - 1) * np.log1p(-t) + norm)

    return density


@pytest.mark.parametrize("a", [0.3, 1.0, 2.5, 12.0, 80.0])
def test_gamma(a):
    concentration = dt.full((4,), a, dtype=dt.float64, requires_grad=True)
    x = dt.distributions.Gamma(concentration, 1.0).rsample()
    x.sum().backward()
    expected = [slope(gamma_density, v, a, 1e-3 * a) for v in x.tolist()]
    np.testing.assert_allclose(concentration.grad.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(("a", "b"), [(0.4, 0.7), (2.0, 3.0), (30.0, 1.5), (1.5, 20.0)])
def test_beta(a, b):
    first = dt.full((6,), a, dtype=dt.float64, requires_grad=True)
    x = dt.distributions.Beta(first, dt.full((6,), b, dtype=dt.float64)).rsample()
    x.sum().backward()
    inner = [(v, g) for v, g in zip(x.tolist(), first.grad.tolist(), strict=True) if v < 0.99]
    expected = [slope(beta_density(b), v, a, 1e-3 * a) for v, _ in inner]
    np.testing.assert_allclose([g for _, g in inner], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dirichlet(dtype):
    """Entries of a vector move so that their sum stays, and their mean as the formula of the mean says."""
    start = dt.tensor([0.5, 3.0, 1.5], dtype=getattr(dt, dtype))
    n, total = 20000, 5.0
    for i in range(3):
        concentration = start.expand(n, 3).clone().requires_grad_()
        x = dt.distributions.Dirichlet(concentration).rsample()
        x[:, i].sum().backward()
        moved = concentration.grad[:, i].double()
        expected = (total - start[i].item()) / total**2
        assert abs(moved.mean().item() - expected) < 6 * moved.std().item() / n**0.5
        x = dt.distributions.Dirichlet(concentration).rsample()
        (change,) = dt.autograd.grad(x.sum(), concentration)
        assert change.abs().max() < 1e-5


def test_small_concentrations():
    """Numbers that no float32 is near to are the smallest one; shares still have the sum 1."""
    for a in (1e-4, 1e-2):
        x = dt.distributions.Gamma(dt.full((1000,), a), 1.0).sample()
        assert (x > 0).all() and x.isfinite().all()
        x = dt.distributions.Dirichlet(dt.full((1000, 3), a)).sample()
        assert dt.distributions.constraints.simplex.check(x).all()
        assert 0.2 < (x[:, 0] > 0.5).float().mean().item() < 0.47


def test_von_mises(torch):
    """Whose Bessel functions PyTorch approximates to seven digits."""
    x = np.linspace(-3, 3, 7)
    for kappa in (0.1, 2.0, 50.0):
        d = dt.distributions.VonMises(dt.tensor(0.5).double(), dt.tensor(kappa).double())
        angles = np.linspace(-np.pi, np.pi, 4001)
        density = d.log_prob(dt.from_numpy(angles)).exp().numpy()
        assert np.trapezoid(density, angles) == pytest.approx(1, abs=1e-12)
        length = np.trapezoid(density * np.cos(angles - 0.5), angles)
        assert d.variance.item() == pytest.approx(1 - length, abs=1e-12)
        theirs = torch.distributions.VonMises(
            torch.tensor(0.5).double(), torch.tensor(kappa).double()
        )
        near = theirs.log_prob(torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(d.log_prob(dt.from_numpy(x)).numpy(), near, rtol=1e-5)
        drawn = d.sample((20000,)).numpy()
        assert drawn.min() >= -np.pi and drawn.max() <= np.pi
        part = np.cos(drawn - 0.5)
        assert abs(part.mean() - length) < 6 * part.std() / 20000**0.5
        assert d.expand((2, 3)).sample((4,)).shape == (4, 2, 3)


def test_generalized_pareto(torch):
    """Of which PyTorch has float32 alone."""
    found = []
    for t in (dt, torch):
        loc, scale, k = (
            t.tensor(v, requires_grad=True)
            for v in ([0.5, -1, 0], [1.5, 0.3, 2.0], [0.1, -0.4, 0.0])
        )
        d = t.distributions.GeneralizedPareto(loc, scale, k)
        x = d.icdf(t.tensor([[0.1], [0.7]]).expand(2, 3))
        values = [
            d.mean,
            d.mode,
            d.variance,
            d.entropy(),
            d.log_prob(x.detach()),
            d.cdf(x.detach()),
            x,
        ]
        sum(v.square().sum() for v in values).backward()
        values += [loc.grad, scale.grad, k.grad, d.expand((2, 3)).log_survival_function(x.detach())]
        found.append([v.detach().numpy() for v in values])
        assert d.rsample((5,)).shape == (5, 3) and repr(d.support)[:8] == "Interval"
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5)


@pytest.mark.parametrize("df", [2.5, 6.0])
def test_wishart_samples(df):
    """Their mean, and that all are positive definite."""
    scale = dt.tensor([[2.0, 0.3], [0.3, 1]], dtype=dt.float64)
    d = dt.distributions.Wishart(dt.tensor(df).double(), scale)
    drawn = d.sample((20000,))
    assert d.support.check(drawn).all()
    off = (drawn.mean(0) - d.mean).abs()
    assert (off < 6 * d.variance.sqrt() / 20000**0.5).all()


def test_correlations():
    """The correlation of LKJ's matrices of two is one of a beta distribution, stretched."""
    d = dt.distributions.LKJCholesky(2, 1.7)
    drawn = d.sample((20000,))
    assert d.support.check(drawn).all()
    beta = dt.distributions.Beta(1.7, 1.7)
    r = drawn[:, 1, 0]
    assert abs(r.std().item() - 2 * beta.stddev.item()) < 0.02 and abs(r.mean().item()) < 0.03
    density = beta.log_prob((r[:5] + 1) / 2) - np.log(
        2
    )  # the first row is (1, 0), r is the only number
    np.testing.assert_allclose(d.log_prob(drawn[:5]).numpy(), density.numpy(), rtol=1e-4, atol=1e-5)


def test_families():
    """Entropies by the normalizer's gradients are those by formulas."""
    D = dt.distributions
    one, two = dt.tensor([0.7, 2.0], dtype=dt.float64), dt.tensor([1.5, 0.4], dtype=dt.float64)
    matrix = dt.tensor([[2.0, 0.3], [0.3, 1]], dtype=dt.float64)
    for d in (
        D.Normal(one, two), D.Exponential(one), D.Gamma(one, two), D.Bernoulli(one / 3), D.Wishart(4.5, matrix)
    ):  # fmt: skip
        ours = D.ExponentialFamily.entropy(d)
        np.testing.assert_allclose(ours.detach().numpy(), d.entropy().numpy(), rtol=1e-9)
