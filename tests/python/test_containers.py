"""Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict: what their operations give and refuse."""

from collections import OrderedDict

import dumbtorch as dt
import pytest

torch = pytest.importorskip("torch")


def layer(t, number):
    made = t.nn.Identity()
    made.number = number
    return made


def layers(t, *numbers):
    return [layer(t, n) for n in numbers]


def sequence(t, *numbers):
    return t.nn.Sequential(*layers(t, *numbers))


def parameter(t, number):
    return t.nn.Parameter(t.full((2,), float(number)))


def shown(t, x):
    if isinstance(x, (t.nn.ParameterList, t.nn.ParameterDict)):
        return repr(x), [(name, p.tolist()) for name, p in x.named_parameters()]
    if isinstance(x, t.nn.Module):
        return type(x).__name__, [(name, m.number) for name, m in x.named_children()] or getattr(
            x, "number", None
        )
    if isinstance(x, t.Tensor):
        return type(x).__name__, x.tolist()
    return [shown(t, y) for y in x] if isinstance(x, (list, tuple)) else x


def outcome(t, make, use):
    it = make(t)
    try:
        result = use(t, it)
    except (TypeError, ValueError, IndexError, KeyError, AssertionError, RuntimeError) as error:
        result = type(error), str(error).replace("dumbtorch", "torch")
    return shown(t, result), shown(t, it)


LISTS = {
    "Sequential": lambda t: sequence(t, 1, 2, 3),
    "ModuleList": lambda t: t.nn.ModuleList(layers(t, 1, 2, 3)),
}
OF_BOTH = [
    lambda t, s: s.append(layer(t, 7)),
    lambda t, s: s.append(3),
    lambda t, s: s.extend(layers(t, 7, 8)),
    lambda t, s: s.extend(sequence(t, 7, 8)),
    lambda t, s: s.extend([3]),
    lambda t, s: s.extend(3),
    lambda t, s: s.insert(1, layer(t, 9)),
    lambda t, s: s.pop(0),
    lambda t, s: s.pop(-1),
    lambda t, s: s.pop(5),
    lambda t, s: s.__delitem__(-1),
    lambda t, s: s.__delitem__(slice(1, 3)),
    lambda t, s: s.__delitem__(9),
    lambda t, s: s[7],
    lambda t, s: s["a"],
    lambda t, s: s[1.5],
    lambda t, s: s[1:],
    lambda t, s: s.__setitem__(0, 3),
    lambda t, s: s + 3,
    lambda t, s: s.__iadd__(3),
    lambda t, s: s.__iadd__(sequence(t, 7)),
    lambda t, s: [name for name in dir(s) if name.isdigit()],
]
OF_SEQUENTIAL = [
    lambda t, s: s.insert(-1, layer(t, 9)),
    lambda t, s: s.insert(3, layer(t, 9)),
    lambda t, s: s.insert(4, layer(t, 9)),
    lambda t, s: s.insert(-4, layer(t, 9)),
    lambda t, s: s.insert(0, 3),
    lambda t, s: s + sequence(t, 7, 8),
    lambda t, s: s + t.nn.ModuleList(layers(t, 7)),
    lambda t, s: s.__iadd__(layers(t, 7)),
    lambda t, s: s * 2,
    lambda t, s: 2 * s,
    lambda t, s: s * 0,
    lambda t, s: s * 1.5,
    lambda t, s: s.__imul__(3),
    lambda t, s: s.__imul__(-1),
]


@pytest.mark.parametrize("use", OF_BOTH)
@pytest.mark.parametrize("name", LISTS)
def test_lists(name, use):
    assert outcome(dt, LISTS[name], use) == outcome(torch, LISTS[name], use)


@pytest.mark.parametrize("use", OF_SEQUENTIAL)
def test_sequential(use):
    make = LISTS["Sequential"]
    assert outcome(dt, make, use) == outcome(torch, make, use)


@pytest.mark.parametrize("index", [-4, -1, 0, 2, 3, 4])
def test_insert_into_a_module_list(index):
    """PyTorch's loses its place for negative indices."""
    numbers = [1, 2, 3]
    numbers.insert(index, 9)
    made = LISTS["ModuleList"](dt)
    made.insert(index, layer(dt, 9))
    assert [m.number for m in made] == numbers and list(made._modules) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "members", [3, [3], [["a"]], [("a", 3)], OrderedDict(z=1), [("a.b", None)]], ids=str
)
def test_module_dict(members):
    make = lambda t: t.nn.ModuleDict({"x": layer(t, 1)})  # noqa: E731
    use = lambda t, s: s.update(members)  # noqa: E731
    assert outcome(dt, make, use) == outcome(torch, make, use)


OF_PARAMETER_LIST = [
    lambda t, s: s.append(parameter(t, 4)),
    lambda t, s: s.append(t.ones(1, 3)),
    lambda t, s: s.append("a word"),
    lambda t, s: s.extend(3),
    lambda t, s: s[1:],
    lambda t, s: s[-1],
    lambda t, s: s.__setitem__(0, t.ones(1)),
    lambda t, s: s(1),
]


@pytest.mark.parametrize("use", OF_PARAMETER_LIST)
def test_parameter_list(use):
    make = lambda t: t.nn.ParameterList([parameter(t, 1), parameter(t, 2)])  # noqa: E731
    assert outcome(dt, make, use) == outcome(torch, make, use)


OF_PARAMETER_DICT = [
    lambda t, s: [s.popitem() for _ in range(9)],
    lambda t, s: s.update({"b": parameter(t, 1), "a": parameter(t, 2)}),
    lambda t, s: s.update(OrderedDict(b=parameter(t, 1), a=parameter(t, 2))),
    lambda t, s: s.update([("b", parameter(t, 1)), ("a", parameter(t, 2))]),
    lambda t, s: s.update([("b",)]),
    lambda t, s: s.update(t.ones(3, 4)),
    lambda t, s: t.nn.ParameterDict({"b": parameter(t, 1), "a": parameter(t, 2)}),
    lambda t, s: s.fromkeys(["b", "a"], parameter(t, 1)),
    lambda t, s: s.copy(),
    lambda t, s: s | {"w": parameter(t, 1), "v": parameter(t, 1)},
    lambda t, s: s.__delitem__("z"),
    lambda t, s: s.__delitem__("q"),
    lambda t, s: s(1),
]


@pytest.mark.parametrize("use", OF_PARAMETER_DICT)
def test_parameter_dict(use):
    make = lambda t: t.nn.ParameterDict([("z", parameter(t, 1)), ("y", parameter(t, 2))])  # noqa: E731
    assert outcome(dt, make, use) == outcome(torch, make, use)


def test_members_by_the_names_of_pytorchs_own_methods(both):
    """Containers that programs derive from these call them."""

    def run(t):
        net, several = t.nn.Sequential(t.nn.ReLU(), t.nn.Tanh()), t.nn.ModuleList([t.nn.ReLU()] * 3)
        found = [type(net._get_item_by_idx(net._modules.values(), i)).__name__ for i in (0, -1)]
        found += [net._get_item_by_idx(net._modules.keys(), 1)]
        found += [several._get_abs_string_index(i) for i in (0, 2, -1)]
        for call in (
            lambda: net._get_item_by_idx(iter(net), 2),
            lambda: several._get_abs_string_index(-4),
        ):
            with pytest.raises(IndexError) as error:
                call()
            found.append(str(error.value))
        return found

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("kind", ["ModuleList", "ModuleDict", "ParameterList", "ParameterDict"])
def test_an_empty_container_calls_no_method_of_a_subclass(kind, torch):
    def calls(t):
        seen = []

        class Mine(getattr(t.nn, kind)):
            def extend(self, *given):
                seen.append("extend")
                return super().extend(*given)

            def update(self, *given):
                seen.append("update")
                return super().update(*given)

        Mine()
        return seen

    assert calls(dt) == calls(torch) == []
