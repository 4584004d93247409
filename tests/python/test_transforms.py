"""Transforms of random numbers and what they make of distributions, against PyTorch's."""

import importlib

import dumbtorch as dt
import numpy as np
import pytest

TRANSFORMS = [
    "D.ExpTransform()", "D.SigmoidTransform()", "D.SoftplusTransform()", "D.TanhTransform()",
    "D.AffineTransform(0.5, -2.0)", "D.AffineTransform(p, p * 2, 1)", "D.AffineTransform(p, p * 2)",
    "D.ComposeTransform([D.AffineTransform(0.5, p), D.TanhTransform()])", "D.TanhTransform().inv",
    "D.ComposeTransform([D.AffineTransform(0.5, p, 1), D.ExpTransform()])", "D.ExpTransform().inv",
    "D.ComposeTransform([D.ExpTransform(), D.PowerTransform(p)])", "D.identity_transform",
    "D.ComposeTransform([D.SigmoidTransform(), D.AffineTransform(-1., 2.)]).inv",
]  # fmt: skip


def made(t, text):
    """What a text means, and the leaf that it uses."""
    leaf = t.tensor([0.7, 1.5, 2.0], dtype=t.float64).requires_grad_()
    return eval(text, {"D": t.distributions, "t": t, "p": leaf}), leaf


def close(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("text", TRANSFORMS)
def test_transforms(text, torch):
    found = []
    for t in (dt, torch):
        transform, leaf = made(t, text)
        x = t.tensor([[0.2, 0.9, 0.4], [0.1, 0.3, 0.8]], dtype=t.float64).requires_grad_()
        y = transform(x)
        stretch = transform.log_abs_det_jacobian(x, y)
        (y.sum() + stretch.sum()).backward()
        gradients = [g for g in (x.grad, leaf.grad) if g is not None]
        values = [y, stretch, transform.inv(y), *gradients]
        sign = transform.sign
        values.append(sign if isinstance(sign, t.Tensor) else t.tensor(float(sign)))
        found.append(
            (values, [transform.domain, transform.codomain], transform, transform.bijective)
        )
    for ours, theirs in zip(found[0][0], found[1][0], strict=True):
        close(ours, theirs)
    assert list(map(repr, found[0][1])) == list(map(repr, found[1][1]))
    assert repr(found[0][2]) == repr(found[1][2]) and found[0][3] == found[1][3]
    assert found[0][2].event_dim == found[1][2].event_dim
    assert found[0][2].forward_shape((4, 1)) == tuple(found[1][2].forward_shape((4, 1)))


DISTRIBUTIONS = [
    "D.TransformedDistribution(D.Normal(p, 1.5), [D.TanhTransform()])",
    "D.TransformedDistribution(D.Normal(p, 1.5), D.ExpTransform())",
    "D.TransformedDistribution(D.Normal(p, 1.5), [D.AffineTransform(0.5, p), D.SigmoidTransform()])",
    "D.TransformedDistribution(D.Normal(t.zeros(2, 3).double(), p), [D.AffineTransform(p, p, 1)])",
    "D.TransformedDistribution(D.Independent(D.Normal(p, 1.5), 1), [D.TanhTransform()])",
    "D.TransformedDistribution(D.Uniform(p - p, p), [D.SigmoidTransform().inv])",
    "D.TransformedDistribution(D.Normal(t.zeros(()).double(), 1.), [D.AffineTransform(p, -p)])",
    "D.TransformedDistribution(D.Normal(p, 1.), [])",
]


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_transformed_distributions(text, torch):
    events = made(torch, text)[0].sample((4,))
    found = []
    for t, values in ((dt, dt.from_numpy(events.numpy())), (torch, events)):
        d, leaf = made(t, text)
        density = d.log_prob(values)
        density.sum().backward()
        row = [density, leaf.grad]
        if "Independent" not in text and "p, p, 1" not in text:
            row += [d.cdf(values), d.icdf(d.cdf(values))]
        wide = d.expand((2, *d.batch_shape))
        found.append((row + [wide.log_prob(values[:2])], d, wide))
    for ours, theirs in zip(found[0][0], found[1][0], strict=True):
        close(ours, theirs)
    (_, ours, wide), (_, theirs, theirs_wide) = found
    assert repr(ours) == repr(theirs) and repr(ours.support) == repr(theirs.support)
    assert ours.has_rsample == theirs.has_rsample
    for a, b in ((ours, theirs), (wide, theirs_wide)):
        assert a.batch_shape == tuple(b.batch_shape) and a.event_shape == tuple(b.event_shape)
    sample = ours.rsample((5,))
    assert tuple(sample.shape) == tuple(theirs.rsample((5,)).shape) and sample.requires_grad
    assert not ours.sample().requires_grad and ours.log_prob(sample.detach()).isfinite().all()


def test_divergence(torch):
    for text in DISTRIBUTIONS[:3]:
        moved = text.replace("1.5)", "0.5)")
        close(*(t.distributions.kl_divergence(made(t, text)[0], made(t, moved)[0]) for t in (dt, torch)))  # fmt: skip
    p, q = (made(dt, text)[0] for text in DISTRIBUTIONS[:2])
    with pytest.raises(NotImplementedError):
        dt.distributions.kl_divergence(p, q)


def test_caches():
    """What is near 1 has no inverse in float32; the cache knows it."""
    transform, x = dt.distributions.TanhTransform(cache_size=1), dt.tensor([20.0])
    y = transform(x)
    assert transform(x) is y and transform.inv(y) is x
    assert dt.distributions.TanhTransform()(x).atanh().isinf().all()
    for text in TRANSFORMS:
        plain = made(dt, text)[0]
        cached = plain.with_cache()
        assert cached == plain and cached.with_cache(1) == cached


def test_equality():
    D = dt.distributions
    assert D.TanhTransform() == D.TanhTransform() != D.ExpTransform()
    assert D.AffineTransform(0, 1) == D.AffineTransform(0.0, dt.ones(2)) != D.AffineTransform(0, 2)
    assert D.ExpTransform().inv == D.ExpTransform().inv


# A transform, and the shapes of what it takes and makes.
STRUCTURED = {
    "D.SoftmaxTransform()": [(2, 4), (2, 4)],
    "D.StickBreakingTransform()": [(2, 3), (2, 4)],
    "D.LowerCholeskyTransform()": [(2, 3, 3), (2, 3, 3)],
    "D.PositiveDefiniteTransform()": [(2, 3, 3), (2, 3, 3)],
    "D.CorrCholeskyTransform()": [(2, 6), (2, 4, 4)],
    "D.ReshapeTransform((2, 3), (6,))": [(4, 2, 3), (4, 6)],
    "D.IndependentTransform(D.ExpTransform(), 1)": [(2, 3), (2, 3)],
    "D.IndependentTransform(D.SoftmaxTransform(), 1)": [(2, 3), (2, 3)],
    "D.StackTransform([D.ExpTransform(), D.TanhTransform(), D.AffineTransform(1, p[0])], 1)": [(2, 3), (2, 3)],
    "D.CatTransform([D.ExpTransform(), D.SoftplusTransform()], 1, [1, 2])": [(2, 3), (2, 3)],
    "D.CatTransform([D.ExpTransform(), D.StickBreakingTransform().inv.inv], -2, [1, 1])": None,
    "D.ComposeTransform([D.ExpTransform(), D.SoftmaxTransform()])": [(2, 3), (2, 3)],
    "D.ComposeTransform([D.StickBreakingTransform(), D.PowerTransform(p[1])])": [(2, 3), (2, 4)],
    "D.CumulativeDistributionTransform(D.Normal(p[0], p[1]))": [(2, 3), (2, 3)],
    "D.ComposeTransform([D.CumulativeDistributionTransform(D.Normal(0., 1.)), D.ExpTransform()])": [(2, 3), (2, 3)],
}  # fmt: skip


@pytest.mark.parametrize("text", [text for text, shapes in STRUCTURED.items() if shapes])
def test_structured_transforms(text, torch):
    shape, result = STRUCTURED[text]
    data = np.random.default_rng(3).normal(size=shape)
    found = []
    for t in (dt, torch):
        transform, leaf = made(t, text)
        x = t.tensor(data, dtype=t.float64).requires_grad_()
        y = transform(x)
        values = [y, transform.inv(y)]
        try:
            values.append(transform.log_abs_det_jacobian(x, y))
        except NotImplementedError:
            assert not transform.bijective or "Lower" in text
        (sum(v.square().sum() for v in values)).backward()
        values += [g for g in (x.grad, leaf.grad) if g is not None]
        shapes = (
            tuple(transform.forward_shape(t.Size(shape))),
            tuple(transform.inverse_shape(y.shape)),
        )
        said = [repr(x) for x in (transform, transform.domain, transform.codomain)]
        found.append((values, [shapes, transform.bijective, transform.codomain.event_dim, *said]))
        assert transform.codomain.check(y).all() and transform.inv.inv is transform
    ours, theirs = found
    assert ours[1][:3] == theirs[1][:3] and ours[1][0] == (result, shape)
    if "Stack" not in text and "Cat" not in text:
        assert ours[1] == theirs[1]
    for a, b in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("text", [text for text, shapes in STRUCTURED.items() if shapes])
def test_structured_caches(text):
    shape, _ = STRUCTURED[text]
    plain = made(dt, text)[0]
    cached = plain.with_cache(1)
    x = dt.randn(shape, dtype=dt.float64)
    y = cached(x)
    assert cached(x) is y and cached.inv(y) is x and plain(x) is not y


def test_structured_distributions(torch):
    texts = [
        "D.TransformedDistribution(D.Normal(p, 1.5), [D.StickBreakingTransform()])",
        "D.TransformedDistribution(D.Normal(t.zeros(3, 3).double(), p), [D.LowerCholeskyTransform()])",
        "D.TransformedDistribution(D.Dirichlet(p), [D.StickBreakingTransform().inv, D.ExpTransform()])",
        "D.TransformedDistribution(D.Normal(t.zeros(2, 6).double(), 1.), [D.CorrCholeskyTransform()])",
        "D.TransformedDistribution(D.Normal(p, 1.), [D.ReshapeTransform((3,), (3, 1))])",
    ]
    for text in texts:
        events = made(torch, text)[0].sample((4,))
        ours, theirs = (made(t, text)[0] for t in (dt, torch))
        assert (ours.batch_shape, ours.event_shape) == (theirs.batch_shape, theirs.event_shape)
        assert repr(ours.support) == repr(theirs.support)
        wide = ours.expand((5, *ours.batch_shape))
        assert wide.rsample((2,)).shape == (2, 5, *ours.batch_shape, *ours.event_shape)
        if "Lower" not in text:
            close(ours.log_prob(dt.from_numpy(events.numpy())), theirs.log_prob(events))


REFUSED = [
    "D.TransformedDistribution(D.Normal(0., 1.), 3)", "D.TransformedDistribution(D.Normal(0., 1.), [3])",
    "D.TransformedDistribution(D.Normal(0., 1.), [D.TanhTransform()]).log_prob(t.tensor(2.))",
    "D.TransformedDistribution(D.Normal(0., 1.), [D.AffineTransform(0., 1., 1)])", "D.Transform(cache_size=3)",
    "D.AbsTransform().log_abs_det_jacobian(1, 2)", "D.AbsTransform().sign",
    "D.ReshapeTransform((2, 3), (5,))", "D.ReshapeTransform((2, 3), (6,)).forward_shape(t.Size((6,)))",
    "D.ReshapeTransform((2, 3), (6,)).inverse_shape(t.Size((5,)))", "D.CorrCholeskyTransform().forward_shape((5,))",
    "D.CorrCholeskyTransform().inverse_shape((5, 4))",
    "D.StickBreakingTransform().event_dim + D.CorrCholeskyTransform().event_dim",
    "D.IndependentTransform(D.ExpTransform(), 1)(t.tensor(1.))",
    "D.LowerCholeskyTransform().log_abs_det_jacobian(1, 2)",
    "D.TransformedDistribution(D.Normal(0., 1.), [D.TanhTransform()]).entropy()",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text, refusals):
    said = refusals(lambda t: made(t, text), ValueError, NotImplementedError)
    ours, theirs = ((kind, words.replace("torch.Size([])", "()")) for kind, words in said)
    assert ours == theirs


def test_places(torch):
    """Programs import from the modules in which PyTorch's classes stand."""
    for name in dt.distributions.__all__:
        theirs = getattr(torch.distributions, name)
        place = getattr(theirs, "__module__", "").rpartition(".")[2]
        if isinstance(theirs, type):
            ours = importlib.import_module(f"dumbtorch.distributions.{place}")
            assert getattr(ours, name) is getattr(dt.distributions, name)
    from dumbtorch.distributions.kl import kl_divergence

    assert kl_divergence is dt.distributions.kl_divergence


def test_absolute_values():
    transform, x = dt.distributions.AbsTransform(), dt.tensor([-2.0, 3])
    assert transform(x).tolist() == [2, 3] == transform.inv(transform(x)).tolist()
