"""Arguments of another kind than the function's: what PyTorch takes is taken, what it refuses is refused by the same
error."""

import re

import numpy as np
import pytest


def outcome(t, text: str):
    """What an expression gives, or how it fails."""
    try:
        value = eval(text, {"t": t, "nn": t.nn, "F": t.nn.functional})
    except Exception as error:
        return type(error).__name__, str(error)
    return value.tolist() if isinstance(value, t.Tensor) else value


# None and numbers where a name is expected: of every kind of names.
NAMES = [
    "F.gelu(t.ones(2), approximate={})",
    "F.mse_loss(t.ones(2), t.ones(2), reduction={})",
    "F.kl_div(t.ones(2), t.ones(2), reduction={})",
    "F.pad(t.ones(2), (1, 1), mode={})",
    "t.ones(2).contiguous(memory_format={})",
    "t.promote_types({}, t.float32)",
    "t.can_cast(t.float32, {})",
    "t.iinfo({})",
    "t.is_autocast_enabled({})",
    "t.set_autocast_dtype('cpu', {})",
]
OPTIONAL_NAMES = [
    "t.div(t.ones(2), 2, rounding_mode={})",
    "t.zeros(2, dtype={})",
    "t.zeros(2).clone(memory_format={})",
    "F.softmax(t.zeros(2), 0, dtype={})",
]


@pytest.mark.parametrize("text", NAMES)
@pytest.mark.parametrize("given", ["None", "3"])
def test_names(both, text, given):
    ours, theirs = both(lambda t: outcome(t, text.format(given)))
    assert ours[0] == theirs[0]
    place, _, rest = theirs[1].partition("' ")
    if "must be" in rest:
        assert f"{place}' " in ours[1]
        assert ours[1].endswith(rest.partition(") ")[2] or rest)
    else:
        assert f"{given} is not a valid value for" in ours[1]


@pytest.mark.parametrize("text", OPTIONAL_NAMES)
def test_optional_names(both, text):
    ours, theirs = both(lambda t: outcome(t, text.format("None")))
    assert ours == theirs
    ours, theirs = both(lambda t: outcome(t, text.format("3")))
    assert ours[0] == theirs[0] == "TypeError"


@pytest.mark.parametrize(
    "text",
    [
        "t.Size([1, 'a'])",
        "t.Size(['a'])",
        "t.Size([1, 2.5])",
        "t.Size([None])",
        "t.Size([t.tensor(2.5)])",
        "t.Size('ab')",
        "t.Size([[1]])",
        "[type(n) for n in t.Size([True, t.tensor(2), 3])]",
        "list(t.Size([True, t.tensor(2), 3]))",
        "list(t.Size()), list(t.Size((2, 3))[1:] + (4,)), list(t.ones(2, 3).shape)",
        "isinstance(t.ones(2, 3).shape, t.Size), t.ones(()).shape == ()",
    ],
)
def test_sizes(both, text):
    ours, theirs = both(lambda t: outcome(t, text))
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    [
        "t.zeros(2).copy_(2.5)",
        "t.zeros(2, dtype=t.float64).copy_(0.1, True)",
        "t.zeros(2, dtype=t.int64).copy_(2.5)",
        "t.zeros(2).copy_(True)",
        "t.zeros(2, dtype=t.bool).copy_(3)",
        "t.cat([t.zeros(0)], 1)",
        "t.cat([t.zeros(0), t.zeros(0)], -7)",
        "t.cat([t.zeros(0), t.ones(2, 2)], 1)",
        "t.ones(2, 3, 4)[..., ...]",
        "t.arange(24).reshape(2, 3, 4)[..., 0, ...]",
        "t.arange(24).reshape(2, 3, 4)[0, ..., 1, ..., 2]",
        "t.arange(24).reshape(2, 3, 4)[..., t.tensor([0, 1]), ...]",
        "t.ones(2)[..., None, ...]",
    ],
)
def test_taken(both, text):
    ours, theirs = both(lambda t: outcome(t, text))
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    [
        "t.ones(2, 3, 4)[..., ..., 0]",
        "t.ones(2, 3, 4)[0, ..., ..., 0]",
        "t.zeros(2).copy_('a')",
        "t.zeros(2).copy_([1, 2])",
        "t.cat([t.zeros(0), t.ones(2, 2)], 2)",
        "t.cat([t.zeros(0), t.tensor(1.0)])",
        "t.zeros(2, 2).view(None)",
        "t.tensor_split(t.ones(4), None)",
        "t.hsplit(t.ones(4), None)",
        "t.dsplit(t.ones(2, 2, 2), None)",
        "nn.Linear(2, 2, dtype=3)",
        "nn.ParameterList(3)",
        "nn.ParameterDict({1: 2})",
    ],
)
def test_refused(both, text):
    ours, theirs = both(lambda t: outcome(t, text))
    assert isinstance(ours, tuple) and ours[0] == theirs[0]


def test_containers_hold_any_object(both):
    def run(t):
        nn, mark = t.nn, object()
        numbers = nn.ParameterList([1, t.ones(2), mark, nn.Parameter(t.zeros(3)), None])
        seen = [list(numbers.state_dict()), [p.shape for p in numbers.parameters()]]
        seen += [len(numbers), numbers[2] is mark, numbers[-1], numbers[0]]
        numbers.append("x").extend([t.ones(1), 2.5])
        numbers[0] = t.ones(4)
        numbers.other = nn.Parameter(t.ones(1))  # no member of the list
        seen += [len(numbers), list(numbers.state_dict()), len(numbers[1:3])]
        seen.append([type(p).__name__ for p in numbers])
        named = nn.ParameterDict({"a": t.ones(2), "b": "text"})
        named["c"] = mark
        seen += [list(named), list(named.state_dict()), named.pop("b"), named.popitem()[0]]
        seen += [named.setdefault("d", 3), list(named.items())[1], "d" in named]
        named.clear()
        return [*seen, len(named), list(named.state_dict()), "Object of type: str" in str(numbers)]

    ours, theirs = both(run)
    assert str(ours) == str(theirs)


def test_containers_are_copied_and_moved(both):
    import copy

    def run(t):
        numbers = t.nn.ParameterList([t.ones(2), "x"])
        copied = copy.deepcopy(numbers).double()
        return [str(p.dtype) for p in copied.parameters()], copied[1], str(numbers[0].dtype)

    ours, theirs = both(run)
    assert ours == theirs


# One call for each kind of argument and way to C.
OF_KINDS = [
    "F.layer_norm(x, (2,), eps={})",
    "F.elu(x, {})",
    "t.add(x, 1, alpha={})",
    "t.cdist(x[None], x[None], p={})",
    "x.masked_fill(x > 0, {})",
    "x.clamp(max={})",
    "t.mul({}, x)",
    "t.mul({}, 3)",
    "t.remainder({}, i)",
    "t.remainder({}, 3)",
    "t.bitwise_and({}, 3)",
    "t.full({}, 1.0)",
    "t.as_strided(x, {}, (1,))",
    "x.sum({})",
    "x.unfold({}, 1, 1)",
    "F.conv1d(c, c, stride={})",
    "F.max_pool1d(c, 2, {})",
    "F.adaptive_avg_pool1d({}, 1)",
    "t.rand(2, generator={})",
    "t.zeros(2, requires_grad={})",
    "t.histogram(c[0, 0], 3, range={})",
    "t.hsplit({}, 2)",
    "x.clone().copy_({})",
    "x.clone().uniform_(to={})",
    "x.clone().uniform_(high={})",
]
VALUES = [
    *("'a'", "2.5", "True", "[1]", "[2.5]", "{{}}", "object()", "t.ones(2)", "t.ones(2, 3)", "t.tensor(1)"),
    *("t.tensor(1.5)", "t.tensor(1.5, requires_grad=True)", "t.ones(1)", "np.float32(1.5)", "np.int64(1)"),
    *("np.array([1, 2])", "2**70", "[2**70]", "range(2)", "t.float32", "t.Generator()"),
]  # fmt: skip


@pytest.mark.parametrize("text", OF_KINDS)
def test_values_of_other_kinds(both, text):
    for value in VALUES:
        call = text.format(value.format())

        def run(t, call=call):
            x = t.tensor([[1.0, 2.0]])
            names = {
                "t": t,
                "F": t.nn.functional,
                "np": np,
                "x": x,
                "i": t.tensor([[3, 4]]),
                "c": x[None],
            }
            t.manual_seed(0)
            try:
                y = eval(call, names)
            except Exception as error:
                return type(error).__name__
            return (
                [p.tolist() for p in y]
                if isinstance(y, tuple)
                else (str(y.dtype), tuple(y.shape), y.requires_grad)
            )

        ours, theirs = both(run)
        assert ours == theirs, call


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"t.zeros(2, device={v})"
            for v in ("2.5", "True", "()", "t.tensor(1)", "t.float32", "object()")
        ),
        *(f"t.device({v})" for v in ("2.5", "True", "None")),
        *(
            f"t.tensordot(x, x, {v})"
            for v in ("'a'", "2.5", "None", "[1]", "t.float32", "True", "[[1], [1]]")
        ),
        *(f"F.adaptive_avg_pool2d(x[None], {v})" for v in ("[1]", "[1, 1, 1]", "(None, 1)")),
        "F.adaptive_max_pool2d(x, [1, 1])",
        "F.batch_norm(x, x[0], x[0], eps=-1.0)",
        "F.cosine_similarity(x, x, eps=-1.0)",
        "t.linalg.matrix_norm(x.double(), 2, dtype=t.float32)",
        "t.linalg.matrix_norm(x.double(), 1, dtype=t.float32)",
        "t.linalg.matrix_norm(x, 2, dtype=t.float64)",
        "t.linalg.pinv(x, rtol=t.tensor(0.1, requires_grad=True))",
        "t.linalg.pinv(x, atol=t.tensor(0.1, requires_grad=True), hermitian=False)",
        "nn.Conv2d(1, 1, np.array([2, 3])).weight.shape",
        "nn.LayerNorm(np.array([2, 3])).weight.shape",
    ],
)
def test_refused_by_the_same_error(both, text):
    def run(t):
        names = {"t": t, "nn": t.nn, "F": t.nn.functional, "np": np, "x": t.ones(2, 2)}
        try:
            value = eval(text, names)
        except Exception as error:
            return type(error).__name__, str(error).partition("\n")[0].rpartition(": ")[2]
        return value.tolist() if isinstance(value, t.Tensor) else value

    ours, theirs = both(run)
    if isinstance(theirs, tuple) and "Error" in str(theirs[0]):
        assert ours[0] == theirs[0]
    else:
        assert ours == theirs


def test_gradients_that_there_are_not(both):
    """An operand without a derivative takes part in the graph, so that nobody trains it in vain."""

    def run(t):
        x, y = t.tensor([2.5, 3.0], requires_grad=True), t.tensor([1.0, 2.0], requires_grad=True)
        seen = []
        for value in (
            t.special.zeta(x, y),
            t.special.zeta(x, 2.0),
            t.igamma(x, y),
            t.unique(x),
            t.unique_consecutive(x),
        ):
            seen.append(value.requires_grad)
            try:
                value.sum().backward()
            except NotImplementedError as error:
                seen.append(str(error))
        z = t.special.zeta(x, y)
        seen += [
            t.autograd.grad(z.sum(), y)[0].tolist(),
            t.special.zeta(x.detach(), 2.0).requires_grad,
        ]
        return seen

    ours, theirs = both(run)
    assert ours[-2] == pytest.approx(theirs[-2])
    ours[-2] = theirs[-2]
    assert [re.sub("^[a-z0-9_]+: ", "", str(s)) for s in ours] == list(map(str, theirs))
