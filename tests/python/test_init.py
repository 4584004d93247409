"""nn.init against PyTorch."""

import math

import dumbtorch as dt
import pytest
from dumbtorch import nn

INITS = {
    "xavier_uniform_": (lambda i, w: i.xavier_uniform_(w), 0.1),
    "xavier_normal_": (lambda i, w: i.xavier_normal_(w, gain=2.0), 0.2),
    "kaiming_uniform_": (lambda i, w: i.kaiming_uniform_(w, nonlinearity="relu"), 0.1),
    "kaiming_normal_": (lambda i, w: i.kaiming_normal_(w, mode="fan_out"), 0.1),
    "normal_": (lambda i, w: i.normal_(w, 0.0, 3.0), 3.0),
    "uniform_": (lambda i, w: i.uniform_(w, -1.0, 1.0), 0.577),
    "trunc_normal_": (lambda i, w: i.trunc_normal_(w), 0.88),
}


@pytest.mark.parametrize("name", INITS)
def test_init(name):
    fill, _ = INITS[name]
    w = nn.Parameter(dt.zeros(200, 200))
    assert fill(nn.init, w) is w and w.requires_grad and w.is_leaf
    torch = pytest.importorskip("torch")
    other = torch.zeros(200, 200)
    fill(torch.nn.init, other)
    assert abs(w.std().item() / other.std().item() - 1) < 0.05


def test_init_plain():
    w = dt.zeros(2, 3)
    assert nn.init.constant_(w, 3).sum().item() == 18 and nn.init.eye_(w).sum().item() == 2
    assert nn.init.ones_(w).sum().item() == 6 and nn.init.zeros_(w).sum().item() == 0
    with pytest.raises(ValueError):
        nn.init.xavier_uniform_(dt.zeros(3))
    with pytest.raises(ValueError):
        nn.init.kaiming_normal_(w, mode="fan")


def test_orthogonal_weights():
    for sizes in ((5, 3), (3, 5), (4, 2, 3), (1, 7)):
        w = nn.init.orthogonal_(dt.empty(*sizes), gain=2.0).reshape(sizes[0], -1)
        short = w if w.shape[0] <= w.shape[1] else w.t()
        product = (short @ short.t()).tolist()
        for i, row in enumerate(product):
            assert row == pytest.approx([4.0 * (i == j) for j in range(len(row))], abs=1e-5)
    with pytest.raises(ValueError, match="2 or more dimensions"):
        nn.init.orthogonal_(dt.ones(3))


@pytest.mark.parametrize("sizes, groups", [((4, 2, 3), 2), ((3, 5, 3, 4), 1), ((6, 2, 1, 2, 3), 3)])
def test_dirac(sizes, groups, both, same):
    same(*both(lambda t: t.nn.init.dirac_(t.ones(sizes), groups)))


def test_dirac_refuses(both):
    def message(t, *args):
        with pytest.raises(ValueError) as error:
            t.nn.init.dirac_(*args)
        return str(error.value).removeprefix("dirac_: ")

    for args in (lambda t: (t.ones(2, 2),), lambda t: (t.ones(3, 2, 2), 2)):
        ours, theirs = both(lambda t, args=args: message(t, *args(t)))
        assert ours == theirs


def test_sparse_weights():
    w = nn.init.sparse_(dt.empty(10, 6), 0.35, std=3.0)
    assert (w == 0).sum(0).tolist() == [4] * 6 and w.std().item() > 1
    with pytest.raises(ValueError, match="2 dimensions"):
        nn.init.sparse_(dt.ones(3), 0.5)


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
@pytest.mark.parametrize(
    "mean, std, a, b", [(0, 1, -2, 2), (0, 1, 3, 3.5), (1, 2, -30, -3), (0, 1, -0.1, 0.1)]
)
def test_truncated_normal(mean, std, a, b, torch):
    """All lie between the bounds, and their mean is that of the truncated distribution."""
    w = nn.init.trunc_normal_(dt.empty(20000), mean, std, a, b)
    assert w.min().item() >= a and w.max().item() <= b
    x = torch.linspace(a, b, 100001, dtype=torch.float64)
    density = torch.exp(-0.5 * ((x - mean) / std) ** 2)
    expected = ((x * density).sum() / density.sum()).item()
    assert w.double().mean().item() == pytest.approx(expected, abs=4 * w.std().item() / 20000**0.5)


def test_old_names_of_initial_values():
    with pytest.warns(FutureWarning, match="`nn.init.constant` is now deprecated"):
        assert nn.init.constant(dt.zeros(2), 3).tolist() == [3, 3]


GAINS = [
    ("linear", None), ("conv_transpose2d", None), ("sigmoid", 3), ("tanh", None), ("relu", None),
    ("selu", None), ("leaky_relu", None), ("leaky_relu", 0.2), ("leaky_relu", True),
    ("leaky_relu", "x"), ("gelu", None),
]  # fmt: skip


def test_gains(both):
    def outcome(t, *args):
        try:
            return t.nn.init.calculate_gain(*args)
        except ValueError as error:
            return str(error).removeprefix("calculate_gain: ")

    for args in GAINS:
        ours, theirs = both(lambda t, args=args: outcome(t, *args))
        assert ours == theirs


def test_fans(both):
    for sizes in ((3, 4), (2, 3, 4), (5, 1, 2, 3), (2, 0)):
        ours, theirs = both(lambda t, s=sizes: t.nn.init._calculate_fan_in_and_fan_out(t.zeros(s)))
        assert ours == theirs


def test_bounds_are_pytorchs(torch):
    """Of the largest draw that there is: the bound itself."""
    for name, kwargs in (("xavier", {"gain": 1.7}), ("kaiming", {"a": 0.3, "mode": "FAN_OUT"})):
        spread = []
        for t in (dt, torch):
            w = t.zeros(300, 200, dtype=t.float64)
            getattr(t.nn.init, f"{name}_uniform_")(w, **kwargs)
            bound = w.abs().max().item()
            getattr(t.nn.init, f"{name}_normal_")(w, **kwargs)
            spread.append((bound, w.std().item() * math.sqrt(3)))
        assert spread[0] == pytest.approx(spread[1], rel=0.02)


@pytest.mark.parametrize("sizes, sentence", [((3,), "Fan in"), ((2, 3), "Mode fan not")])
def test_refusals(sizes, sentence, both):
    def message(t):
        with pytest.raises(ValueError) as error:
            t.nn.init.kaiming_normal_(t.zeros(sizes), mode="fan" if len(sizes) == 2 else "fan_in")
        return str(error.value).removeprefix("kaiming_normal_: ")

    ours, theirs = both(message)
    assert ours == theirs and theirs.startswith(sentence)


def test_empty_weights_are_left():
    for name in ("kaiming_uniform_", "kaiming_normal_"):
        with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
            assert getattr(nn.init, name)(dt.zeros(0, 3)).shape == (0, 3)
