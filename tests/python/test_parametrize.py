"""Parametrizations, weight and spectral norms: the same weights, gradients, names and sentences as PyTorch's."""

import copy
import math
import pickle

import dumbtorch as dt
import pytest


def filled(t, module):
    for k, p in enumerate(module.parameters()):
        with t.no_grad():
            p.copy_((t.arange(float(p.numel())) * 0.7 + k + 1).sin().reshape(p.shape))
    return module


def doubling(t, inverse=True):
    class Double(t.nn.Module):
        def forward(self, x):
            return 2 * x

        if inverse:

            def right_inverse(self, x):
                return x / 2

    return Double()


def split(t):
    """A matrix as the product of two."""

    class Product(t.nn.Module):
        def forward(self, a, b):
            return a @ b

        def right_inverse(self, x):
            return x, t.eye(x.shape[1])

    return Product()


def cube(t):
    class Cube(t.nn.Module):
        def forward(self, x):
            return x**3

    return Cube()


def seen(net):
    return [
        list(net.state_dict()),
        *net.state_dict().values(),
        [n for n, _ in net.named_parameters()],
    ]


def trained(t, net, steps=3, shape=(5, 4)):
    x = (t.arange(float(5 * shape[1])) * 0.3).cos().reshape(shape)
    opt = t.optim.SGD(net.parameters(), lr=0.05)
    out = []
    for _ in range(steps):
        opt.zero_grad()
        y = net(x)
        y.square().mean().backward()
        out += [y, *[p.grad for p in net.parameters()]]
        opt.step()
    return out


CHAINS = {
    "double": lambda t: [doubling(t)],
    "no inverse": lambda t: [doubling(t, False)],
    "two": lambda t: [doubling(t), cube(t)],
    "product": lambda t: [split(t)],
    "product and more": lambda t: [split(t), doubling(t), cube(t)],
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name, both, same):
    def run(t):
        P = t.nn.utils.parametrize
        net = filled(t, t.nn.Linear(4, 3))
        kind = type(net)
        for each in CHAINS[name](t):
            assert P.register_parametrization(net, "weight", each) is net
        out = [
            seen(net),
            trained(t, net),
            repr(net),
            type(net).__name__,
            len(net.parametrizations.weight),
        ]
        out += [
            P.is_parametrized(net),
            P.is_parametrized(net, "bias"),
            P.type_before_parametrizations(net) is kind,
        ]
        out += [net.parametrizations.weight.is_tensor, net.parametrizations.weight.ntensors]
        P.remove_parametrizations(net, "weight")
        out += [
            seen(net),
            trained(t, net, 1),
            type(net) is kind,
            isinstance(net.weight, t.nn.Parameter),
        ]
        return out

    same(*both(run))


def test_originals_stay_the_optimizers(both, same):
    def run(t):
        P = t.nn.utils.parametrize
        net = filled(t, t.nn.Linear(4, 3))
        weight = net.weight
        P.register_parametrization(net, "weight", doubling(t))
        kept = net.parametrizations.weight.original is weight
        P.remove_parametrizations(net, "weight", leave_parametrized=False)
        return kept, net.weight is weight, net.weight

    same(*both(run))


def test_assignment(both, same):
    def run(t):
        P = t.nn.utils.parametrize
        net = filled(t, t.nn.Linear(4, 3))
        P.register_parametrization(net, "weight", doubling(t))
        net.weight = t.full((3, 4), 6.0)
        out = [net.weight, net.parametrizations.weight.original]
        P.register_parametrization(net, "bias", split_vector(t))
        net.bias = t.full((3,), 5.0)
        return [*out, net.bias, seen(net)]

    same(*both(run))


def split_vector(t):
    class Sum(t.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x / 4, x * 3 / 4

    return Sum()


def test_buffers(both, same):
    def run(t):
        P = t.nn.utils.parametrize
        net = t.nn.Module()
        net.register_buffer("x", t.arange(3.0))
        P.register_parametrization(net, "x", doubling(t))
        out = [net.x, list(net.state_dict()), list(net.parameters())]
        P.remove_parametrizations(net, "x")
        return [*out, net.x, list(net.state_dict())]

    same(*both(run))


def test_cached(both):
    def run(t):
        P, calls = t.nn.utils.parametrize, []

        class Count(t.nn.Module):
            def forward(self, x):
                calls.append(1)
                return x * 2

        net = t.nn.Linear(2, 2)
        P.register_parametrization(net, "weight", Count())
        calls.clear()
        with P.cached():
            same_object = net.weight is net.weight
            with P.cached():
                net(t.ones(1, 2))
            inside = len(calls)
        net(t.ones(1, 2))
        return same_object, inside, len(calls)

    mine, theirs = both(run)
    assert mine == theirs


def test_copies_and_pickles(both, same):
    """A copy may lose its parametrization, and the first one keeps it."""

    def run(t):
        P = t.nn.utils.parametrize
        net = filled(t, t.nn.Linear(4, 3))
        P.register_parametrization(net, "weight", doubling(t))
        twin = copy.deepcopy(net)
        with t.no_grad():
            twin.parametrizations.weight.original.zero_()
        out = [net.weight, twin.weight, seen(twin)]
        with pytest.raises(RuntimeError) as error:
            pickle.dumps(net)
        state = net.state_dict()
        twin.load_state_dict(state)
        return [*out, str(error.value), twin.weight, net(t.ones(1, 4)), twin(t.ones(1, 4))]

    same(*both(run))
    net = dt.nn.Linear(2, 2)
    dt.nn.utils.parametrize.register_parametrization(net, "weight", doubling(dt))
    twin = copy.deepcopy(net)
    dt.nn.utils.parametrize.remove_parametrizations(twin, "weight")
    assert (
        type(twin) is dt.nn.Linear and net(dt.ones(1, 2)).tolist() == twin(dt.ones(1, 2)).tolist()
    )


def test_transfer(both, same):
    def run(t):
        P = t.nn.utils.parametrize
        net, other = filled(t, t.nn.Linear(4, 3)), t.nn.Linear(4, 3)
        P.register_parametrization(net, "weight", split(t))
        P.register_parametrization(net, "bias", doubling(t))
        P.transfer_parametrizations_and_params(net, other)
        return net.weight, other.weight, net.bias, other.bias, list(other.state_dict())

    same(*both(run))


def of(t, forward, inverse=None):
    members = {"forward": lambda self, *x: forward(t, *x)}
    if inverse:
        members["right_inverse"] = lambda self, x: inverse(t, x)
    return type("Own", (t.nn.Module,), members)()


REFUSALS = {
    "unknown name": lambda t, P, n: P.register_parametrization(n, "w", doubling(t)),
    "no list": lambda t, P, n: P.ParametrizationList([], n.weight),
    "dtype": lambda t, P, n: P.register_parametrization(
        n, "weight", of(t, lambda t, x: x.double())
    ),
    "shape": lambda t, P, n: P.register_parametrization(n, "weight", of(t, lambda t, x: x[:1])),
    "no tensor": lambda t, P, n: P.register_parametrization(n, "weight", of(t, lambda t, x: 3)),
    "inverse's dtype": lambda t, P, n: P.register_parametrization(
        n, "weight", of(t, lambda t, x: x, lambda t, x: x.double())
    ),
    "inverse is no tensor": lambda t, P, n: P.register_parametrization(
        n, "weight", of(t, lambda t, x: x, lambda t, x: 3)
    ),
    "inverse of others": lambda t, P, n: P.register_parametrization(
        n, "weight", of(t, lambda t, x, y: x, lambda t, x: [x, 3])
    ),
    "further dtype": lambda t, P, n: further(t, P, n, lambda t, x: x.double()),
    "further shape": lambda t, P, n: further(t, P, n, lambda t, x: x[:1]),
    "further no tensor": lambda t, P, n: further(t, P, n, lambda t, x: None),
    "further inverse's shape": lambda t, P, n: further(t, P, n, lambda t, x: x, lambda t, x: x[:1]),
    "further inverse's dtype": lambda t, P, n: further(
        t, P, n, lambda t, x: x, lambda t, x: x.double()
    ),
    "further inverse is no tensor": lambda t, P, n: further(
        t, P, n, lambda t, x: x, lambda t, x: 1
    ),
    "assigned": lambda t, P, n: assigned(t, P, n, doubling(t, False), t.ones(3, 4)),
    "assigned dtype": lambda t, P, n: assigned(t, P, n, doubling(t), t.ones(3, 4).double()),
    "remove": lambda t, P, n: P.remove_parametrizations(n, "weight"),
    "remove several": lambda t, P, n: P.remove_parametrizations(
        P.register_parametrization(n, "weight", split(t)), "weight", leave_parametrized=False
    ),
    "spectral iterations": lambda t, P, n: t.nn.utils.parametrizations.spectral_norm(
        n, n_power_iterations=0
    ),
    "spectral dim": lambda t, P, n: t.nn.utils.parametrizations.spectral_norm(n, dim=2),
    "spectral name": lambda t, P, n: t.nn.utils.parametrizations.spectral_norm(n, "w"),
    "old spectral iterations": lambda t, P, n: t.nn.utils.spectral_norm(n, n_power_iterations=0),
    "old spectral twice": lambda t, P, n: t.nn.utils.spectral_norm(t.nn.utils.spectral_norm(n)),
    "old weight twice": lambda t, P, n: t.nn.utils.weight_norm(t.nn.utils.weight_norm(n)),
    "no old spectral": lambda t, P, n: t.nn.utils.remove_spectral_norm(n),
    "no old weight": lambda t, P, n: t.nn.utils.remove_weight_norm(n),
}


def further(t, P, net, *functions):
    P.register_parametrization(net, "weight", doubling(t))
    P.register_parametrization(net, "weight", of(t, *functions))


def assigned(t, P, net, parametrization, value):
    P.register_parametrization(net, "weight", parametrization)
    net.weight = value


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name, both):
    def run(t):
        with pytest.raises((ValueError, RuntimeError, IndexError)) as error:
            REFUSALS[name](t, t.nn.utils.parametrize, t.nn.Linear(4, 3))
        return type(error.value), str(error.value)

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("keeps_base", [True, False])
def test_orthogonal(sizes, kind, keeps_base, both, same):
    def run(t):
        layer = t.nn.Module()
        numbers = t.arange(24, dtype=t.float64)[: math.prod(sizes)]
        start = (numbers * numbers * 0.7).sin()
        layer.weight = t.nn.Parameter(start.reshape(sizes))
        t.nn.utils.parametrizations.orthogonal(layer, "weight", kind, use_trivialization=keeps_base)
        made = layer.parametrizations.weight
        if keeps_base and sizes[-1] != sizes[-2]:  # the columns that complete it are drawn
            made[0].base = t.eye(max(sizes[-2:]), dtype=t.float64)
        before = layer.weight
        with t.no_grad():
            made.original.add_(
                t.linspace(-0.3, 0.4, start.numel(), dtype=t.float64)[: math.prod(sizes)]
                .reshape(sizes)
                .tril(-1)
            )
        (layer.weight * start.reshape(sizes)).sum().backward()
        return before, layer.weight, made.original.grad, sorted(layer.state_dict())

    same(*both(run))


def test_assigning_to_orthogonal_weights(both, same):
    def run(t):
        f, out = t.nn.utils.parametrizations.orthogonal, []
        layer = f(t.nn.Linear(3, 3).double())
        with t.no_grad():
            layer.weight = t.tensor([[1.0, 2, 3], [0, 1, 4], [5, 6, 0]], dtype=t.float64)
        out.append(layer.weight)
        tall = f(t.nn.Linear(2, 3).double(), use_trivialization=False)
        with t.no_grad():
            tall.weight = t.tensor([[1.0, 2], [0, 1], [5, 6]], dtype=t.float64)
        out.append(tall.weight)
        for refused in (lambda: f(t.nn.Linear(2, 2), "bias"), lambda: f(t.nn.Linear(2, 2), orthogonal_map="x"),
                        lambda: f(t.nn.Linear(2, 2), "nothing")):  # fmt: skip
            with pytest.raises(ValueError) as caught:
                refused()
            out.append(str(caught.value))
        cayley = f(t.nn.Linear(2, 2), orthogonal_map="cayley", use_trivialization=False)
        with pytest.raises(NotImplementedError, match="It is not possible to assign"):
            cayley.weight = t.eye(2)
        return out

    same(*both(run))


# ---- norms of weights

LAYERS = {
    "linear": (lambda t: t.nn.Linear(4, 3), (5, 4)),
    "conv": (lambda t: t.nn.Conv1d(2, 3, 2), (5, 2, 2)),
    "transposed": (lambda t: t.nn.ConvTranspose1d(2, 3, 2), (5, 2, 2)),
}


def layer_of(t, name):
    make, shape = LAYERS[name]
    return filled(t, make(t)), (5, 4) if shape == (5, 4) else shape


def runs(t, net, shape, steps=3):
    size = 1
    for n in shape:
        size *= n
    x = (t.arange(float(size)) * 0.3).cos().reshape(shape)
    opt, out = t.optim.SGD(net.parameters(), lr=0.05), []
    for _ in range(steps):
        opt.zero_grad()
        y = net(x)
        (y.square().mean() + (net(2 * x) ** 3).mean()).backward()
        out += [y, *[p.grad for p in net.parameters()]]
        opt.step()
    net.eval()
    return [*out, net(x), net(x)]


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dim", [0, 1, None, -1])
@pytest.mark.parametrize("old", [True, False])
def test_weight_norm(name, dim, old, both, same):
    def run(t):
        net, shape = layer_of(t, name)
        norm = t.nn.utils.weight_norm if old else t.nn.utils.parametrizations.weight_norm
        norm(net, dim=dim)
        out = [seen(net), runs(t, net, shape), net.weight]
        if old:
            t.nn.utils.remove_weight_norm(net)
        else:
            t.nn.utils.parametrize.remove_parametrizations(net, "weight")
        return [*out, seen(net), net.weight.requires_grad]

    same(*both(run), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_old_weight_norms_load(both, same):
    def run(t):
        old = t.nn.utils.weight_norm(filled(t, t.nn.Linear(4, 3)))
        new = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(4, 3))
        new.load_state_dict(old.state_dict())
        return new.weight, list(new.state_dict())

    same(*both(run))


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    "settings", [{}, {"n_power_iterations": 3}, {"dim": 1}, {"eps": 0.1}], ids=str
)
@pytest.mark.parametrize("old", [True, False])
def test_spectral_norm(name, settings, old, both, same):
    """From the same singular vectors on."""

    def run(t):
        net, shape = layer_of(t, name)
        norm = t.nn.utils.spectral_norm if old else t.nn.utils.parametrizations.spectral_norm
        norm(net, **settings)
        names, lengths = list(net.state_dict()), [b.norm() for b in net.buffers()]
        with t.no_grad():
            for buffer in net.buffers():
                x = (t.arange(float(buffer.numel())) + 0.5).cos()
                buffer.copy_(x / x.norm())
        out = [
            names,
            lengths if "eps" not in settings else 0,
            runs(t, net, shape),
            net.weight,
            seen(net),
        ]
        if old:
            t.nn.utils.remove_spectral_norm(net)
        else:
            t.nn.utils.parametrize.remove_parametrizations(net, "weight")
        return [*out, seen(net)]

    same(*both(run), rtol=1e-4, atol=1e-5)


def test_spectral_norm_finds_the_singular_value(torch):
    """The first vectors are random: after some steps they are the matrix's."""
    net = filled(dt, dt.nn.Linear(4, 3))
    weight = net.weight.tolist()
    dt.nn.utils.parametrizations.spectral_norm(net, n_power_iterations=100)
    largest = torch.linalg.matrix_norm(torch.tensor(weight), 2).item()
    torch.testing.assert_close(
        torch.tensor(net.weight.tolist()), torch.tensor(weight) / largest, rtol=1e-4, atol=1e-5
    )


def test_spectral_norm_of_a_vector(both, same):
    def run(t):
        net = filled(t, t.nn.LayerNorm(3))
        t.nn.utils.parametrizations.spectral_norm(net)
        return net.weight, list(net.state_dict())

    same(*both(run))
