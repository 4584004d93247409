"""torch.__future__ and utils.swap_tensors: what converting and loading a module does to its tensors."""

import importlib
import weakref

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")


def settings_of(t):
    return importlib.import_module(f"{t.__name__}.__future__")


@pytest.fixture(params=["", "overwrite", "swap"])
def way(request):
    """A way to convert modules, for both libraries."""
    names = f"set_{request.param}_module_params_on_conversion"
    for t in (dt, torch):
        if request.param:
            getattr(settings_of(t), names)(True)
    yield request.param
    for t in (dt, torch):
        if request.param:
            getattr(settings_of(t), names)(False)


def layer(t):
    layer = t.nn.BatchNorm1d(2)
    (layer(t.tensor([[1.0, 2.0], [4.0, 3.0]])) ** 2).sum().backward()
    return layer


def state(layer):
    entries = [*layer.named_parameters(), *layer.named_buffers()]
    return [
        (name, str(x.dtype), x.tolist(), x.requires_grad, type(x).__name__) for name, x in entries
    ]


CONVERSIONS = {
    "double": lambda t, x: x.double(),
    "to": lambda t, x: x.to(t.float64),
    "nothing": lambda t, x: x.to("cpu"),
    "load": lambda t, x: x.load_state_dict(t.nn.BatchNorm1d(2, dtype=t.float64).state_dict()),
    "assign": lambda t, x: x.load_state_dict(
        t.nn.BatchNorm1d(2, dtype=t.float64).state_dict(), assign=True
    ),
    "apply": lambda t, x: x._apply(lambda y: y.detach().clone()),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(name, way, both):
    def run(t):
        x = layer(t)
        weight, grad, kept = x.weight, x.weight.grad, x.weight.detach()
        CONVERSIONS[name](t, x)
        new = x.weight.grad
        with t.no_grad():
            x.weight.mul_(2)
        return (
            state(x), weight is x.weight, grad is new, new is None or (str(new.dtype), new.tolist()),
            kept.tolist(), str(weight.dtype), weight.tolist(),
        )  # fmt: skip

    mine, theirs = both(run)
    assert mine == theirs


def test_settings_are_told(both):
    def run(t):
        s = settings_of(t)
        return (
            s.get_overwrite_module_params_on_conversion(),
            s.get_swap_module_params_on_conversion(),
        )

    assert both(run) == ((False, False), (False, False))


def test_swapped_tensors(both):
    def run(t):
        x, y = t.ones(2, requires_grad=True), t.nn.Parameter(t.zeros(3))
        x.mark = "x"
        calls = []
        x.register_hook(lambda g: calls.append(g.tolist()))
        (x * 2).sum().backward()
        t.utils.swap_tensors(x, y)
        (y * 3).sum().backward()
        kinds = type(x) is t.nn.Parameter, type(y) is t.Tensor
        return (
            kinds, x.tolist(), y.tolist(), y.mark, hasattr(x, "mark"), x.grad, y.grad.tolist(), calls,
        )  # fmt: skip

    mine, theirs = both(run)
    assert mine == theirs


def test_a_tensor_with_a_weak_reference_is_not_swapped(refusals):
    def run(t):
        x = t.ones(1)
        kept = weakref.ref(x)
        t.utils.swap_tensors(x, t.ones(1))
        del kept

    mine, theirs = refusals(run, RuntimeError)
    assert mine == theirs


def test_a_parameter_that_cannot_be_swapped(way, refusals):
    if way != "swap":
        pytest.skip("only where tensors are swapped")

    def run(t):
        x = t.nn.Sequential(t.nn.Linear(1, 1))
        kept = weakref.ref(x[0].weight)
        x.double()
        del kept

    mine, theirs = refusals(run, RuntimeError)
    assert mine == theirs


@pytest.fixture
def swapping():
    """Modules of both libraries swap their tensors."""
    for t in (dt, torch):
        settings_of(t).set_swap_module_params_on_conversion(True)
    yield
    for t in (dt, torch):
        settings_of(t).set_swap_module_params_on_conversion(False)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.double(), lambda x: x.load_state_dict(x.state_dict()),
        lambda x: x.load_state_dict(x.state_dict(), assign=True),
    ],
)  # fmt: skip
def test_a_graph_of_before_the_swap_is_refused(change, swapping, both):
    def run(t):
        x = t.nn.Linear(2, 1)
        y = x(t.ones(2, 2))
        change(x)
        with pytest.raises(RuntimeError) as refused:
            y.sum().backward()
        del y
        x.double()(t.ones(2, 2, dtype=t.float64)).sum().backward()
        return str(refused.value), x.bias.grad.tolist()

    mine, theirs = both(run)
    assert mine == theirs


def loaded(t, module_load, **options):
    """A layer whose weight, which is frozen, loads itself by a function; what was said of it."""

    class Own(t.nn.Parameter):
        def module_load(self, other, assign=False):
            return module_load(t, self, other)

    x = t.nn.Linear(2, 1)
    x.weight = Own(t.zeros(1, 2), requires_grad=False)
    values = {"weight": t.nn.Parameter(t.ones(1, 2)), "bias": t.nn.Parameter(t.ones(1))}
    try:
        x.load_state_dict(values, **options)
        said = ""
    except RuntimeError as error:
        said = str(error).replace("dumbtorch.", "torch.")
    return x.weight.requires_grad, x.weight.tolist(), x.bias.tolist(), said


LOADS = {
    "parameter": lambda t, x, other: t.nn.Parameter(other.detach()),
    "tensor": lambda t, x, other: other.detach(),
    "other": lambda t, x, other: other,
    "self": lambda t, x, other: x,
}


@pytest.mark.parametrize("name", LOADS)
def test_modules_load_by_a_way_of_their_own(name, swapping, both):
    mine, theirs = both(lambda t: loaded(t, LOADS[name]))
    assert mine == theirs


def test_an_assigned_parameter_stays_frozen(both):
    mine, theirs = both(lambda t: loaded(t, LOADS["tensor"], assign=True))
    assert mine == theirs


def test_a_tensor_that_cannot_be_written(both):
    def run(t):
        x = t.nn.Linear(2, 2)
        x.bias = t.nn.Parameter(t.zeros(1).expand(2))
        with pytest.raises(RuntimeError) as refused:
            x.load_state_dict({"weight": t.ones(2, 2), "bias": t.ones(2)})
        return x.weight.tolist(), str(refused.value).partition("exception occurred")[0]

    mine, theirs = both(run)
    assert mine == theirs
