"""The dtypes beside each other: conversion of every 16-bit number, promotion, what other libraries read and write."""

import copy
import itertools
import operator
import pickle

import dumbtorch as dt
import numpy as np
import pytest

NARROW = ["float16", "bfloat16"]
DTYPES = [*NARROW, "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
NUMBERS = [0.0, -0.0, 1.0, -2.5, 3.1415, 0.1, 65504.0, 70000.0, 1e-7, 6e-8, 1e39]
NUMBERS += [float("inf"), float("nan")]


def assert_same_bits(ours, theirs, torch):
    assert str(ours.dtype) == str(theirs.dtype)
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    bits = kinds[theirs.element_size()]
    assert torch.from_dlpack(ours).contiguous().view(bits).tolist() == theirs.view(bits).tolist()


def all_patterns(name, torch):
    """Every number of a 16-bit dtype but its NaNs, of which one stands for all."""
    patterns = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    numbers = patterns.view(getattr(torch, name))
    return numbers[~numbers.isnan()]


@pytest.mark.parametrize("name", NARROW)
def test_every_number_widens(name, torch):
    theirs = all_patterns(name, torch)
    ours = dt.from_dlpack(theirs)
    for wide in ("float32", "float64"):
        assert_same_bits(ours.to(getattr(dt, wide)), theirs.to(getattr(torch, wide)), torch)
    assert_same_bits(ours.float().to(ours.dtype), theirs, torch)


@pytest.mark.parametrize("name", NARROW)
def test_rounding_is_to_the_nearest_and_to_even(name, torch):
    exact = all_patterns(name, torch).double().sort().values
    middles = (exact[1:] + exact[:-1]) / 2
    middles = middles[middles.isfinite()].float()
    up, down = (middles.nextafter(torch.tensor(to)) for to in (float("inf"), -float("inf")))
    for values in (middles, up, down, torch.tensor(NUMBERS)):
        ours = dt.from_dlpack(values).to(getattr(dt, name))
        theirs = values.to(getattr(torch, name))
        ours, theirs = (x.float() for x in (ours, theirs))
        assert dt.isnan(ours).tolist() == theirs.isnan().tolist()
        assert_same_bits(ours[~dt.isnan(ours)], theirs[~theirs.isnan()], torch)


@pytest.mark.parametrize("a, b", itertools.product(DTYPES, DTYPES))
def test_promotion(a, b, torch):
    ours, theirs = (
        t.ones(2, dtype=getattr(t, a)) + t.ones(2, dtype=getattr(t, b)) for t in (dt, torch)
    )
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("a, b", itertools.product(DTYPES, DTYPES))
def test_conversion(a, b, torch, same):
    """Numbers that both dtypes have, or that are cut or rounded the same everywhere."""
    values = [0.0, 1.0, 2.5, 3.0, 100.0, 127.0]
    values += [] if "uint8" in (a, b) else [-1.0, -3.75, -128.0]
    same(*(t.tensor(values).to(getattr(t, a)).to(getattr(t, b)) for t in (dt, torch)))


@pytest.mark.parametrize("name", DTYPES)
def test_making_showing_and_keeping(name, torch):
    ours, theirs = (t.tensor([[0, 1], [2, 3]], dtype=getattr(t, name)) for t in (dt, torch))
    assert repr(ours) == repr(theirs)
    assert ours.tolist() == theirs.tolist()
    assert ours[1, 1].item() == theirs[1, 1].item()
    assert ours.type() == theirs.type()
    assert (ours.dtype.itemsize, ours.dtype.is_signed) == (
        theirs.dtype.itemsize,
        theirs.dtype.is_signed,
    )
    for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), ours.clone()):
        assert again.dtype is ours.dtype and dt.equal(again, ours)
    assert dt.zeros(3, dtype=ours.dtype).tolist() == [0, 0, 0]
    if name != "bool":
        assert dt.arange(3, dtype=ours.dtype).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "method", ["half", "bfloat16", "short", "char", "byte", "int", "long", "float", "double"]
)
def test_methods_named_after_dtypes(method, torch):
    assert str(getattr(dt.ones(1), method)().dtype) == str(getattr(torch.ones(1), method)().dtype)


@pytest.mark.parametrize("name", [n for n in DTYPES if n != "bfloat16"])
def test_numpy_shares_memory(name):
    x = dt.ones(2, dtype=getattr(dt, name))
    array = x.numpy()
    assert array.dtype == np.dtype(name)
    array[0] = 0
    assert x.tolist() == [0, 1]
    assert dt.from_numpy(array).data_ptr() == x.data_ptr()


def test_numpy_has_no_bfloat16(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        dt.ones(2, dtype=dt.bfloat16).numpy()


def test_ml_dtypes_has_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = dt.tensor([1.5, -2.0], dtype=dt.bfloat16)
    array = x.numpy()
    assert array.dtype == ml_dtypes.bfloat16 and array.tolist() == [1.5, -2.0]
    array[0] = 3
    assert dt.from_numpy(array).tolist() == x.tolist() == [3.0, -2.0]


@pytest.mark.parametrize("name", DTYPES)
def test_safetensors(name, torch, tmp_path):
    files = pytest.importorskip("safetensors.torch")
    theirs = {"x": torch.tensor([0, 1, 2], dtype=getattr(torch, name))}
    files.save_file(theirs, tmp_path / "theirs")
    ours = dt.safetensors.load_file(tmp_path / "theirs")
    assert_same_bits(ours["x"], theirs["x"], torch)
    dt.safetensors.save_file(ours, tmp_path / "ours")
    assert_same_bits(ours["x"], files.load_file(tmp_path / "ours")["x"], torch)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64"])
def test_default_dtype(name, torch):
    seen = []
    for t in (dt, torch):
        t.set_default_dtype(getattr(t, name))
        try:
            made = [t.tensor([0.1, 2.0]), t.rand(2), t.tensor([1]) / 2]
            seen.append([repr(made[0]), *[str(x.dtype) for x in made]])
        finally:
            t.set_default_dtype(t.float32)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize(
    "view", ["x", "x.t()", "x[::2, 1::2]", "x[:1].expand(6, 8)", "x[:, None, :]", "x[0, 0]"]
)
def test_kernels_without_narrow_floats_see_views(name, view, torch):
    """`run` widens operands as they lie, and rounds what was written into them."""
    results = []
    for t in (dt, torch):
        x = (t.arange(48).reshape(6, 8) / 8).to(getattr(t, name))
        seen = eval(view, {"x": x})
        results.append([t.softmax(seen, -1), t.log_softmax(seen, 0)])
        part = x[::2, 1::2]
        part.scatter_(1, t.tensor([[2], [0], [1]]), 0.7)  # the rest of x stays
        results[-1].append(x)
    for ours, theirs in zip(*results):
        assert str(ours.dtype) == str(theirs.dtype)
        assert ours.stride() == theirs.stride()
        tolerance = 2 * torch.finfo(theirs.dtype).eps
        torch.testing.assert_close(
            torch.tensor(ours.tolist()), theirs.float(), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW", "Adagrad"])
def test_training_in_bfloat16(optimizer, torch):
    """Losses follow PyTorch's as far as 8 bits go."""
    losses = []
    weights = None
    for t in (torch, dt):
        torch.manual_seed(0)
        f = t.nn
        model = f.Sequential(f.Linear(8, 16), f.LayerNorm(16), f.ReLU(), f.Linear(16, 3)).bfloat16()
        if weights is None:
            weights = {k: v.clone() for k, v in model.state_dict().items()}
            data = torch.randn(32, 8)
        else:
            model.load_state_dict({k: dt.from_dlpack(v) for k, v in weights.items()})
        x = (data if t is torch else dt.from_dlpack(data)).bfloat16()
        y = t.tensor([0, 1, 2, 1] * 8)
        steps = getattr(t.optim, optimizer)(model.parameters(), lr=0.05)
        losses.append([])
        for _ in range(10):
            steps.zero_grad()
            loss = f.functional.cross_entropy(model(x), y)
            loss.backward()
            steps.step()
            losses[-1].append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=0.05)
    assert losses[1][-1] < 0.95 * losses[1][0]


COMPARISONS = {
    "a number is rounded before it is compared": "tensor([0.1, 257.0, 0.0], dtype=D) == 0.1",
    "an integer, too": "tensor([256.0, 257.0], dtype=D) == 257",
    "what is below the smallest number is 0": "tensor([0.0, 1.0], dtype=D) < 1e-46",
    "a 0-d tensor of a wider dtype": "tensor([1.0, 2.0], dtype=D) == t.tensor(1.001)",
    "the divisor of a remainder": "tensor([100.0, 1.0], dtype=D) % 0.1",
    "an exponent": "tensor([-2.0, 3.0], dtype=D) ** 1e-9",
    "an integer tensor": "tensor([-2.0, 3.0], dtype=D) / t.tensor([70001, 3], dtype=t.int32)",
    "but not the factor of a product": "tensor([1.5, 2.0, 300.0], dtype=D) * 0.1",
    "nor a summand": "tensor([1.5, 2.0, 300.0], dtype=D) + 0.1003",
    "NaN": "tensor([1.0], dtype=D) == float('nan')",
}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("expression", COMPARISONS.values(), ids=COMPARISONS)
def test_operands_meet_in_a_narrow_dtype(expression, name, same, torch):
    same(
        *(eval(f"t.{expression}", {"t": t, "D": getattr(t, name)}) for t in (dt, torch)),
        rtol=0,
        atol=0,
    )


@pytest.mark.parametrize(
    "expression",
    [
        "t.tensor([5, -1], dtype=t.int8) < t.tensor(200, dtype=t.uint8)",
        "t.tensor([-128, 5], dtype=t.int8).maximum(t.tensor(200, dtype=t.uint8))",
        "t.tensor(-128, dtype=t.int8) // t.tensor([2], dtype=t.uint8)",
        "t.tensor(-128, dtype=t.int8) % t.tensor([7], dtype=t.uint8)",
    ],
)
def test_a_0d_integer_wraps_into_the_others_dtype(expression, same, torch):
    same(*(eval(expression, {"t": t}) for t in (dt, torch)))


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("low, high", [(0, 1), (2, 3), (100, 101), (-1, 0)])
def test_the_upper_bound_of_random_numbers_is_excluded(name, low, high):
    x = dt.empty(20000, dtype=getattr(dt, name)).uniform_(low, high)
    assert low <= x.min().item() and x.max().item() < high
    assert dt.rand(20000, dtype=x.dtype).max().item() < 1


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("layer", ["LayerNorm", "BatchNorm1d"])
def test_parameters_of_norms_may_be_float32(name, layer, torch):
    results = []
    for t in (dt, torch):
        x = (t.arange(24.0).reshape(4, 6).remainder(5) / 3).to(getattr(t, name)).requires_grad_()
        module = getattr(t.nn, layer)(6)
        y = module(x)
        (y * y * y).sum().backward()
        results.append([y, x.grad, module.weight.grad, module.bias.grad])
    for ours, theirs in zip(*results):
        assert str(ours.dtype) == str(theirs.dtype)
        eps = torch.finfo(getattr(torch, name)).eps
        torch.testing.assert_close(
            torch.tensor(ours.tolist()), theirs.float(), rtol=8 * eps, atol=8 * eps
        )


# What a list may hold that has a dtype of its own, and what it meets.
ENTRIES = {
    "0-d": lambda t, name: t.tensor(1).to(getattr(t, name)),
    "numpy": lambda t, name: np.dtype(name).type(1),
}


@pytest.mark.parametrize("kind, name", itertools.product(ENTRIES, DTYPES))
def test_lists_keep_the_dtypes_of_their_entries(kind, name, torch, same, both):
    if (kind, name) == ("numpy", "bfloat16"):
        pytest.skip("NumPy has none")

    def run(t):
        one = ENTRIES[kind](t, name)
        others = (
            [2, 2.5] if (kind, name) != ("numpy", "bool") else [2.5]
        )  # PyTorch refuses that one
        lists = [[one, one], [[one], [one]], *([one, other] for other in others)]
        lists.append([t.tensor(0.5, dtype=t.float64), one])
        return [t.tensor(entries) for entries in lists]

    same(*both(run))


@pytest.mark.filterwarnings("ignore:__array_wrap__")  # of PyTorch's
@pytest.mark.parametrize("name, other", itertools.product(["float32", "int64", "int8"], DTYPES))
def test_a_tensor_and_an_array_meet_as_in_numpy(name, other, torch, same, both):
    if other == "bfloat16":
        pytest.skip("NumPy has none")

    def run(t):
        x = t.tensor([3, 2]).to(getattr(t, name))
        arrays = [np.array([1, 2]).astype(other), np.array(1).astype(other)]
        return [y for a in arrays for y in (x + a, x / a, x * a, x == a)]

    same(*both(run))


def test_arrays_have_no_gradient():
    x = dt.ones(2, requires_grad=True)
    y = np.array([2.0, 3.0]) * x
    y.sum().backward()
    assert y.dtype is dt.float64 and x.grad.tolist() == [2, 3]


@pytest.mark.parametrize("function", ["logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize(
    "name, number",
    [("int8", 256), ("uint8", 65536), ("int16", 65536), ("int32", 2**32), ("float16", 1e-10)],
)
def test_a_0d_tensor_wraps_before_its_truth_is_asked(function, name, number, same, both):
    def run(t):
        x = t.tensor([1, 0]).to(getattr(t, name))
        wide = t.tensor(number, dtype=t.float64 if isinstance(number, float) else t.int64)
        call = getattr(t, function)
        return call(x, wide), call(wide, x), call(wide, wide), call(x, wide[None])

    same(*both(run))


@pytest.mark.parametrize("name, weight", [("float16", "float32"), ("float32", "float64")])
def test_weights_of_probabilities_are_promoted(name, weight, torch, same, both):
    def run(t):
        x = t.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.5]]).to(getattr(t, name)).requires_grad_()
        target = t.tensor([[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
        weights = t.tensor([1.0, 2.0, 3.0], dtype=getattr(t, weight))
        loss = t.nn.functional.cross_entropy(x, target, weights)
        loss.backward()
        return loss, x.grad

    same(*both(run), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["int8", "int64", "uint8"])
def test_integers_that_are_refused(name, both):
    """By the same error, and by the same sentence behind the function's name."""

    def run(t):
        kind, lookup = getattr(t, name), t.nn.functional.embedding
        calls = [
            lambda: t.ones(3, dtype=kind).uniform_(),
            lambda: lookup(t.tensor([0, 1]), t.ones(3, 2, dtype=kind), max_norm=1.0),
            lambda: lookup(t.tensor([0, 1], dtype=t.int8), t.ones(3, 2), max_norm=1.0),
            lambda: lookup(t.tensor([0, 1], dtype=t.int8), t.ones(3, 2)),
        ]
        sentences = []
        for call in calls:
            with pytest.raises((RuntimeError, NotImplementedError)) as caught:
                call()
            message = str(caught.value).removeprefix("uniform_: ").removeprefix("embedding: ")
            sentences.append((caught.type, message))
        return sentences

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("op", ["//", "%"])
def test_integer_division_at_the_edges(op, name):
    """Against Python's integers, which wrap around here; PyTorch dies of the least number by -1."""
    dtype, divide = getattr(dt, name), operator.floordiv if op == "//" else operator.mod
    info = dt.iinfo(dtype)
    numbers = [-1_000_003, -7, -3, -2, -1, 0, 1, 2, 3, 7, 1_000_003]
    for edge in (info.min, info.min // 2, info.max // 2, info.max):
        numbers += [edge - 1, edge, edge + 1]
    numbers = [n for n in numbers if info.min <= n <= info.max]
    divisors = [n for n in numbers if n != 0]

    def wrapped(a, b):
        return (divide(a, b) - info.min) % 2**info.bits + info.min

    x, y = dt.tensor(numbers, dtype=dtype), dt.tensor(divisors, dtype=dtype)
    both = divide(x.unsqueeze(1).expand(-1, len(divisors)).contiguous(), y)
    assert both.tolist() == [[wrapped(a, b) for b in divisors] for a in numbers]
    for b in divisors:
        assert divide(x, b).tolist() == [wrapped(a, b) for a in numbers]
    for a in numbers:
        assert divide(a, y).tolist() == [wrapped(a, b) for b in divisors]


def test_dtype_of_addr(both):
    """That which all three promote to, also where a bool is multiplied by a number."""
    names = ["float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool"]

    def run(t):
        made = [t.ones(2, dtype=getattr(t, name)) for name in names]
        return {
            (a, b, c): str(t.addr(x.expand(2, 2), y, z).dtype)
            for (a, x), (b, y), (c, z) in itertools.product(zip(names, made, strict=True), repeat=3)
        }

    ours, theirs = both(run)
    assert ours == theirs


DIVISIONS = {
    "down": lambda t, x, y: x // y,
    "towards zero": lambda t, x, y: t.div(x, y, rounding_mode="trunc"),
    "remainder": lambda t, x, y: x % y,
    "fmod": lambda t, x, y: t.fmod(x, y),
}


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("divide", DIVISIONS.values(), ids=DIVISIONS)
def test_integers_are_divided_exactly(divide, dtype, torch):
    """Multiples and their neighbours, up to the ends of the range and of what a double holds exactly."""
    ends = np.iinfo(dtype)
    exact = [end + i for end in (1 << 50, 1 << 51, 1 << 53) for i in (-1, 0, 1)]
    sizes = [1, 2, 3, 7, 10, 127, 1 << 15, 3**19, 1 << 31, *exact, 1 << 62, ends.max]
    divisors = [s * y for y in sizes if y <= ends.max for s in (1, -1)]
    pairs = [
        (x, y)
        for y in divisors
        for k in (0, 1, -1, 2, 3, -5, (1 << 50) // y, (1 << 53) // y, ends.max // y, ends.min // y)
        for x in (k * y - 1, k * y, k * y + 1)
        if ends.min <= x <= ends.max and (x, y) != (ends.min, -1)
    ]
    for n in (1, 2, 3, 5, 9, len(pairs)):
        for first in range(0, len(pairs), max(n, len(pairs) // 9)):
            x, y = np.array(pairs[first : first + n], dtype=dtype).T.copy()
            ours, theirs = (divide(t, t.tensor(x), t.tensor(y)) for t in (dt, torch))
            assert ours.tolist() == theirs.tolist()
    for number in divisors[:9:2]:
        ours, theirs = (divide(t, t.tensor(x), number) for t in (dt, torch))
        assert ours.tolist() == theirs.tolist()
