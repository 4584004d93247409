"""Constraints, and the transforms that make of real numbers what satisfies them, against PyTorch's."""

import dumbtorch as dt
import numpy as np
import pytest

CONSTRAINTS = [
    "c.real", "c.boolean", "c.positive", "c.nonnegative", "c.unit_interval", "c.nonnegative_integer",
    "c.positive_integer", "c.greater_than(0.5)", "c.greater_than_eq(1.)", "c.less_than(v)", "c.interval(-1, v)",
    "c.half_open_interval(-1., 1.)", "c.integer_interval(-1, 1)", "c.simplex", "c.one_hot", "c.multinomial(2)",
    "c.real_vector", "c.lower_triangular", "c.lower_cholesky", "c.corr_cholesky", "c.square", "c.symmetric",
    "c.positive_semidefinite", "c.positive_definite", "c.independent(c.positive, 2)",
    "c.cat([c.positive, c.unit_interval], -1, [1, 2])", "c.stack([c.positive, c.real, c.boolean], -1)",
    "c.MixtureSameFamilyConstraint(c.interval(-1, v))",
]  # fmt: skip
S = 0.6
VALUES = [
    np.eye(3), np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 2]]), np.array([[0.2, 0.3, 0.5]] * 3),
    np.array([[1.0, 0, 0], [0.8, S, 0], [S, 0, 0.8]]), np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 1]]),
    np.array([[1.0, -2, 0.5], [0, np.nan, 1], [2, 0, -0.25]]), np.zeros((3, 3)), -np.ones((3, 3)),
]  # fmt: skip


def constraint(t, text):
    v = t.tensor([0.5, 1, 2], dtype=t.float64)
    return eval(text, {"c": t.distributions.constraints, "v": v})


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_checks(text, torch):
    ours, theirs = (constraint(t, text) for t in (dt, torch))
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)
    if "cat" not in text and "stack" not in text:  # which PyTorch prints by their classes
        assert repr(ours) == repr(theirs)
    for value in VALUES:
        for batch in (value, np.stack([value, value + 1])):
            a, b = ours.check(dt.from_numpy(batch)), theirs.check(torch.from_numpy(batch))
            assert a.dtype is dt.bool and a.tolist() == b.tolist()


def test_all_names(torch):
    for module in ("constraints", "transforms", "utils", "constraint_registry", "kl", "exp_family"):
        theirs = getattr(torch.distributions, module)
        for name in theirs.__all__:
            assert hasattr(getattr(dt.distributions, module), name), (module, name)
    assert set(torch.distributions.__all__) == set(dt.distributions.__all__)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("text", CONSTRAINTS)
def test_registries(text, registry, torch):
    found = []
    data = np.random.default_rng(5).normal(size=(3, 3))
    for t in (dt, torch):
        wanted = constraint(t, text)
        try:
            transform = getattr(t.distributions, registry)(wanted)
        except NotImplementedError as error:
            found.append(str(error))
            continue
        x = t.tensor(data, dtype=t.float64)
        y = transform(x)
        if "stack" not in text or t is dt:  # whose check PyTorch cannot do of nested ones
            assert wanted.check(y).all()
        found.append((type(transform).__name__, y.numpy(), transform(transform.inv(y)).numpy()))
    ours, theirs = found
    if isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    for a, b in zip(ours[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def test_registration():
    class Odd(dt.distributions.constraints.Constraint):
        pass

    registry = dt.distributions.constraint_registry.ConstraintRegistry()
    with pytest.raises(NotImplementedError, match="Cannot transform Odd constraints"):
        registry(Odd())
    registry.register(Odd)(lambda constraint: "made")
    assert registry(Odd()) == "made"
    with pytest.raises(TypeError, match="Expected constraint to be either"):
        registry.register(3, None)(lambda constraint: None)


def test_dependent():
    """What a class knows of its support, and what only a distribution does."""
    D = dt.distributions
    c = D.constraints
    assert c.is_dependent(D.Uniform.support) and not c.is_dependent(D.Uniform(0.0, 1.0).support)
    assert D.Uniform.support.event_dim == 0 and D.Binomial.support.is_discrete
    with pytest.raises(NotImplementedError, match=".event_dim cannot be determined statically"):
        D.TransformedDistribution.support.event_dim  # noqa: B018
    with pytest.raises(ValueError, match="Cannot determine validity of dependent constraint"):
        c.dependent.check(dt.zeros(1))
    assert c.dependent(event_dim=3).event_dim == 3


@pytest.mark.parametrize("diag", [-2, -1, 0, 1])
def test_triangles(diag, torch):
    for shape in ((4, 4), (2, 3, 3)):
        matrix = np.random.default_rng(1).normal(size=shape)
        vectors = [
            t.distributions.utils.tril_matrix_to_vec(t.from_numpy(matrix), diag)
            for t in (dt, torch)
        ]
        assert vectors[0].tolist() == vectors[1].tolist()
        whole = dt.distributions.utils.vec_to_tril_matrix(vectors[0], diag)
        assert whole.tolist() == np.tril(matrix, diag).tolist()


def test_classes_of_ones_own():
    """A program's own distribution: by the house's pattern for expand, with a lazy property, and without a support."""
    D = dt.distributions

    class Shifted(D.Normal):
        def __init__(self, loc, extra, validate_args=None):
            self.extra = extra
            super().__init__(loc, 1.0, validate_args=validate_args)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Shifted, _instance)
            new.extra = self.extra + 1
            return super().expand(batch_shape, _instance=new)

        @D.utils.lazy_property
        def twice(self):
            return 2 * self.loc

    leaf = dt.zeros(2, requires_grad=True)
    mine = Shifted(leaf, 3)
    wide = mine.expand((4, 2))
    assert wide.extra == 4 and wide.loc.shape == (4, 2) and type(wide) is Shifted
    with dt.no_grad():
        assert mine.twice.requires_grad and mine.twice is mine.twice

    class Bare(D.Distribution):
        arg_constraints = {}

    with pytest.warns(UserWarning, match="does not define `support`"):
        Bare()._validate_sample(dt.zeros(()))
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        D.Distribution()
    with pytest.raises(ValueError, match="Input arguments must all be instances of Number"):
        D.Normal("0", 1)
