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
        x = t.nn.Linear(1, 1)
        kept = weakref.ref(x.weight)
        x.double()
        del kept

    mine, theirs = refusals(run, RuntimeError)
    assert mine == theirs
