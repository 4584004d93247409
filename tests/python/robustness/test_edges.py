"""NaN, infinities, signed zeros, denormals and the ends of the integers: PyTorch's results."""

import math

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

INF, NAN = math.inf, math.nan
TINY = {"float32": 1e-45, "float64": 5e-324}
SMALL = {"float32": 1e-39, "float64": 1e-310}
HUGE = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
FLOATS = ("float32", "float64")


def specials(dtype) -> list[float]:
    tiny, small, huge = TINY[dtype], SMALL[dtype], HUGE[dtype]
    ends = [0.0, tiny, small, 0.5, 1.0, 1.5, 2.5, 3.0, 88.5, 1e6, huge, INF]
    return [NAN, *(-x for x in ends), *ends]


def tensors(dtype, values):
    return [t.tensor(values, dtype=getattr(t, dtype)) for t in (dt, torch)]


def pairs(dtype):
    """Every special value with every other, in both libraries."""
    values = specials(dtype)
    a = [x for x in values for _ in values]
    b = [y for _ in values for y in values]
    return zip(tensors(dtype, a), tensors(dtype, b))


def flat(x) -> list:
    parts = x if isinstance(x, (tuple, list)) else [x]
    return [v for p in parts for v in p.reshape(-1).tolist()]


def agree(ours, theirs, inputs, rtol=0.0, atol=0.0, zero_signs=True):
    """Equal bits but for the payloads of NaN, or within the tolerance."""
    for x, y, *given in zip(flat(ours), flat(theirs), *inputs, strict=False):
        if isinstance(y, float) and math.isnan(y):
            same = math.isnan(x)
        elif isinstance(y, float) and math.isfinite(y) and rtol:
            same = math.isclose(x, y, rel_tol=rtol, abs_tol=atol)
        else:
            same = x == y
            if zero_signs and y == 0 and isinstance(y, float):
                same = same and math.copysign(1, x) == math.copysign(1, y)
        assert same, f"{given}: {x}, PyTorch {y}"


EXACT = {
    "neg": lambda t, x: -x, "abs": lambda t, x: x.abs(), "sign": lambda t, x: x.sign(),
    "floor": lambda t, x: x.floor(), "ceil": lambda t, x: x.ceil(), "round": lambda t, x: x.round(),
    "trunc": lambda t, x: x.trunc(), "square": lambda t, x: x.square(),
    "reciprocal": lambda t, x: x.reciprocal(), "relu": lambda t, x: x.relu(),
    "isnan": lambda t, x: x.isnan(), "isinf": lambda t, x: x.isinf(),
    "isfinite": lambda t, x: x.isfinite(), "not": lambda t, x: x.logical_not(),
    "bool": lambda t, x: x.bool(), "clamp": lambda t, x: x.clamp(-1, 1),
    "clamp min": lambda t, x: x.clamp(min=0.25), "clamp max": lambda t, x: x.clamp(max=-0.25),
    "clamp crossed": lambda t, x: x.clamp(2, 1), "clamp to nan": lambda t, x: x.clamp(NAN, 1),
    "clamp to inf": lambda t, x: x.clamp(-INF, INF), "leaky": lambda t, x: t.nn.functional.leaky_relu(x),
    "threshold": lambda t, x: t.where(x > 0, x, -x), "double": lambda t, x: x.double(),
    "float": lambda t, x: x.float(), "pow 2": lambda t, x: x**2, "pow 0": lambda t, x: x**0,
    "pow 1": lambda t, x: x**1, "pow -1": lambda t, x: x**-1,
    "copysign by division": lambda t, x: 1 / x, "frac": lambda t, x: x.frac(),
    "signbit": lambda t, x: x.signbit(), "isposinf": lambda t, x: x.isposinf(),
    "isneginf": lambda t, x: x.isneginf(), "nan_to_num": lambda t, x: x.nan_to_num(),
    "relu6": lambda t, x: t.nn.functional.relu6(x), "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "threshold of 1": lambda t, x: t.nn.functional.threshold(x, 1, 2),
}  # fmt: skip
CLOSE = {
    "exp": lambda t, x: x.exp(), "log": lambda t, x: x.log(), "log1p": lambda t, x: x.log1p(),
    "sigmoid": lambda t, x: x.sigmoid(), "tanh": lambda t, x: x.tanh(), "erf": lambda t, x: x.erf(),
    "rsqrt": lambda t, x: x.rsqrt(), "silu": lambda t, x: t.nn.functional.silu(x),
    "gelu": lambda t, x: t.nn.functional.gelu(x), "elu": lambda t, x: t.nn.functional.elu(x),
    "gelu tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "logsigmoid": lambda t, x: t.nn.functional.logsigmoid(x), "2**": lambda t, x: 2.0**x,
    "sin": lambda t, x: t.where(x.abs() < 1e7, x, x * INF).sin(),
    "cos": lambda t, x: t.where(x.abs() < 1e7, x, x * INF).cos(),
    "pow 2.5": lambda t, x: x**2.5, "sqrt": lambda t, x: x.sqrt(), "pow 0.5": lambda t, x: x**0.5,
    "pow 3": lambda t, x: x**3, "tan": lambda t, x: t.where(x.abs() < 1e7, x, x * INF).tan(),
    "asin": lambda t, x: x.asin(), "acos": lambda t, x: x.acos(), "atan": lambda t, x: x.atan(),
    "sinh": lambda t, x: x.sinh(), "cosh": lambda t, x: x.cosh(), "asinh": lambda t, x: x.asinh(),
    "acosh": lambda t, x: x.acosh(), "atanh": lambda t, x: x.atanh(), "exp2": lambda t, x: x.exp2(),
    "expm1": lambda t, x: x.expm1(), "log2": lambda t, x: x.log2(), "log10": lambda t, x: x.log10(),
    "logit": lambda t, x: x.logit(), "mish": lambda t, x: t.nn.functional.mish(x),
    "selu": lambda t, x: t.nn.functional.selu(x), "softsign": lambda t, x: t.nn.functional.softsign(x),
    "hardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x),
}  # fmt: skip
BINARY = {
    "add": lambda t, x, y: x + y, "sub": lambda t, x, y: x - y, "mul": lambda t, x, y: x * y,
    "div": lambda t, x, y: x / y, "maximum": lambda t, x, y: t.maximum(x, y),
    "minimum": lambda t, x, y: t.minimum(x, y), "eq": lambda t, x, y: x == y,
    "ne": lambda t, x, y: x != y, "lt": lambda t, x, y: x < y, "le": lambda t, x, y: x <= y,
    "gt": lambda t, x, y: x > y, "ge": lambda t, x, y: x >= y,
    "floor": lambda t, x, y: t.div(x, y, rounding_mode="floor"),
    "trunc": lambda t, x, y: t.div(x, y, rounding_mode="trunc"), "//": lambda t, x, y: x // y,
    "and": lambda t, x, y: t.logical_and(x, y),
    "xor": lambda t, x, y: t.logical_xor(x, y), "isclose": lambda t, x, y: t.isclose(x, y),
    "isclose nan": lambda t, x, y: t.isclose(x, y, equal_nan=True),
    "clamp_min": lambda t, x, y: t.clamp_min(x, 1.0) + y, "where": lambda t, x, y: t.where(x > y, x, y),
    "fmax": lambda t, x, y: t.fmax(x, y), "fmin": lambda t, x, y: t.fmin(x, y),
    "copysign": lambda t, x, y: t.copysign(x, y), "heaviside": lambda t, x, y: t.heaviside(x, y),
}  # fmt: skip
CLOSE_BINARY = {
    "atan2": lambda t, x, y: t.atan2(x, y), "hypot": lambda t, x, y: t.hypot(x, y),
    "xlogy": lambda t, x, y: t.xlogy(x, y), "logaddexp": lambda t, x, y: t.logaddexp(x, y),
    "logaddexp2": lambda t, x, y: t.logaddexp2(x, y),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EXACT)
def test_exact(name, dtype):
    x, y = tensors(dtype, specials(dtype) * 3)  # more than one vector, and a rest
    agree(EXACT[name](dt, x), EXACT[name](torch, y), [y.tolist()])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CLOSE)
def test_close(name, dtype):
    x, y = tensors(dtype, specials(dtype) * 3)
    rtol = {"float32": 1e-5, "float64": 1e-13}[dtype]
    # Results among the denormals have fewer digits.
    # In float64, since PyTorch's own float32 is off where gelu is close to 0.
    ours, theirs = CLOSE[name](dt, x), CLOSE[name](torch, y.double()).to(y.dtype)
    # gelu's 1 + tanh(...) has no more digits than 1.
    atol = 1e-6 if name == "gelu tanh" and dtype == "float32" else 10 * SMALL[dtype]
    agree(ours, theirs, [y.tolist()], rtol, atol, zero_signs=False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_pairs(name, dtype):
    (a, b), (ta, tb) = pairs(dtype)
    # Which zero is the larger one is open, and which zero a quotient is rounded to.
    signs = name not in ("maximum", "minimum", "where", "floor", "//")
    ours, theirs = BINARY[name](dt, a, b), BINARY[name](torch, ta, tb)
    agree(ours, theirs, [ta.tolist(), tb.tolist()], zero_signs=signs)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CLOSE_BINARY)
def test_close_pairs(name, dtype):
    (a, b), (ta, tb) = pairs(dtype)
    expected = CLOSE_BINARY[name](torch, ta.double(), tb.double()).to(ta.dtype)
    rtol = {"float32": 1e-6, "float64": 1e-14}[dtype]
    # A logarithm that is added to its argument has no more digits than that.
    atol = rtol if name.startswith("log") else 10 * SMALL[dtype]
    ours = CLOSE_BINARY[name](dt, a, b)
    agree(ours, expected, [ta.tolist(), tb.tolist()], rtol, atol, zero_signs=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainders_of_pairs(dtype):
    """Against NumPy: PyTorch's vectorised remainder is NaN where the quotient overflows."""
    np = pytest.importorskip("numpy")
    (a, b), (ta, tb) = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = np.remainder(ta.numpy(), tb.numpy())
    agree(a % b, torch.from_numpy(expected), [ta.tolist(), tb.tolist()], zero_signs=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_of_pairs(dtype):
    (a, b), (ta, tb) = pairs(dtype)
    rtol = {"float32": 1e-4, "float64": 1e-11}[dtype]
    agree(a**b, ta**tb, [ta.tolist(), tb.tolist()], rtol, 10 * SMALL[dtype])


ROWS = [
    [1.0, NAN, 3.0], [NAN, 1.0, NAN], [INF, -INF, 1.0], [-INF, -INF, -INF], [INF, INF, 1.0],
    [0.0, -0.0, 0.0], [-0.0, -0.0, -0.0], [2.0, 2.0, 1.0], [NAN, INF, -INF], [1e-45, 0.0, -1e-45],
    [3e38, 3e38, 3e38], [-3e38, -3e38, 1.0], [1.0], [NAN], [-INF], list(range(40)), [*range(39), NAN],
    [NAN, *range(70)], [5.0] * 33,
]  # fmt: skip
REDUCE = {
    "max": lambda t, x: x.max(0), "min": lambda t, x: x.min(0), "amax": lambda t, x: x.amax(0),
    "amin": lambda t, x: x.amin(0), "argmax": lambda t, x: x.argmax(0),
    "argmin": lambda t, x: x.argmin(0), "all max": lambda t, x: x.max(), "all min": lambda t, x: x.min(),
    "sum": lambda t, x: x.sum(), "mean": lambda t, x: x.mean(), "prod": lambda t, x: x.prod(),
    "any": lambda t, x: x.any(), "all": lambda t, x: x.all(), "cumsum": lambda t, x: x.cumsum(0),
    "var": lambda t, x: x.var(correction=0), "std": lambda t, x: x.std(correction=0),
    "norm": lambda t, x: x.norm(), "norm inf": lambda t, x: x.norm(INF), "norm -inf": lambda t, x: x.norm(-INF),
    "norm 0": lambda t, x: x.norm(0), "norm 0.5": lambda t, x: x.norm(0.5), "norm 1": lambda t, x: x.norm(1),
    "norm 3": lambda t, x: x.norm(3),
    "softmax": lambda t, x: x.softmax(0), "log_softmax": lambda t, x: x.log_softmax(0),
    "logsumexp": lambda t, x: x.logsumexp(0), "nonzero": lambda t, x: x.nonzero(),
    "pool": lambda t, x: t.nn.functional.max_pool2d(x.view(1, 1, -1), (1, 1)),
}  # fmt: skip


# Sums of nothing but -0 are 0, and so are norms. PyTorch's extrema of zeros depend on their number.
SIGNED = {"sum", "mean", "var", "std", "cumsum", *(name for name in REDUCE if "norm" in name)}


@pytest.mark.parametrize("name", REDUCE)
def test_reductions(name):
    """As a row, as a column of a matrix, and in float64."""
    for values in ROWS:
        if name in ("var", "std") and 3e38 in map(abs, values):
            continue  # PyTorch's float32 sums overflow; see test_results_that_fit
        for dtype in FLOATS:
            for shape in (lambda x: x, lambda x: x.view(-1, 1).expand(-1, 5)[:, 2]):
                x, y = (shape(v) for v in tensors(dtype, [float(v) for v in values]))
                ours, theirs = REDUCE[name](dt, x), REDUCE[name](torch, y)
                agree(ours, theirs, [[values] * 200], 1e-5, 1e-44, zero_signs=name in SIGNED)


@pytest.mark.parametrize(
    "name", ["max", "min", "amax", "softmax", "logsumexp", "norm", "relu", "clamp"]
)
def test_gradients(name):
    calls = REDUCE | EXACT
    for values in ROWS:
        if abs(values[0]) == 3e38:
            continue  # PyTorch's results are off here; see test_results_that_fit
        x, y = (v.requires_grad_() for v in tensors("float64", [float(v) for v in values]))
        for t, leaf in ((dt, x), (torch, y)):
            out = calls[name](t, leaf)
            out = out if hasattr(out, "sum") else out[0]
            (out * t.arange(1, out.numel() + 1).view(out.shape)).sum().backward()
        agree(x.grad, y.grad, [values], 1e-9, 1e-300, zero_signs=False)


REDUCED = {
    **{name: REDUCE[name] for name in REDUCE if name[:3] in ("max", "min", "ama", "ami", "all", "nor", "std", "var")},
    "all amax": lambda t, x: x.amax(), "std by 2": lambda t, x: x.std(correction=2),
    "var by 2": lambda t, x: x.var(correction=2), "var of each": lambda t, x: x.view(-1, 1).var(1, correction=2),
}  # fmt: skip
del REDUCED["all"]


@pytest.mark.parametrize("name", REDUCED)
def test_gradients_of_any_gradient(name):
    """0 times infinity is NaN where PyTorch multiplies, and 0 where it chooses."""
    for values in [*ROWS, [0.0, -2.0], [0.0, 2.0], [0.0, 0.0], [3.0], [3.0, 4.0]]:
        for factor in (1.0, INF, NAN):
            if abs(values[0]) == 3e38:
                continue
            grads = []
            for t, x in zip((dt, torch), tensors("float64", [float(v) for v in values])):
                y = REDUCED[name](t, x.requires_grad_())
                y = y if hasattr(y, "sum") else y[0]
                grads += t.autograd.grad(y, x, t.full_like(y, factor), allow_unused=True)
            assert (grads[0] is None) == (grads[1] is None)
            if grads[0] is not None:
                agree(*grads, [[(values, factor)] * 99], 1e-9, 1e-300, zero_signs=False)


def test_gradients_of_products_of_nothing():
    """They are 0, not absent."""
    for product in (
        lambda x: x[:0].prod(),
        lambda x: x[:0].prod(0),
        lambda x: x[:, :0].prod(1, True),
    ):
        for t in (dt, torch):
            x = t.ones(2, 3, requires_grad=True)
            (product(x) * 2).sum().backward()
            assert x.grad.tolist() == [[0.0] * 3] * 2


def test_results_that_fit():
    """Sums on the way are larger than what comes out; PyTorch gives inf."""
    assert dt.tensor([3e38, 3e38, 3e38]).var().item() == 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_denormals_are_kept(dtype):
    tiny = TINY[dtype]
    x, y = tensors(dtype, [tiny, -tiny, SMALL[dtype], SMALL[dtype] / 3] * 9)
    for f in (lambda x: x + x, lambda x: x * 0.5, lambda x: x / 2, lambda x: x.sum(),
              lambda x: x.view(6, 6) @ x.view(6, 6).T, lambda x: x.view(6, 6).sum(0)):  # fmt: skip
        agree(f(x), f(y), [[0] * 99], 1e-6, 2 * tiny)


# ---- integers

LIMITS = {"int64": (-(2**63), 2**63 - 1), "int32": (-(2**31), 2**31 - 1), "uint8": (0, 255)}
LIMITS |= {"int16": (-(2**15), 2**15 - 1), "int8": (-128, 127)}
WRAPPING = {
    "add": lambda t, x: x + x, "add 1": lambda t, x: x + 1, "sub 1": lambda t, x: x - 1,
    "mul": lambda t, x: x * x, "mul 3": lambda t, x: x * 3, "neg": lambda t, x: -x,
    "abs": lambda t, x: x.abs(), "square": lambda t, x: x.square(), "pow 3": lambda t, x: x**3,
    "sum": lambda t, x: x.sum(dtype=x.dtype), "sum to 64": lambda t, x: x.sum(),
    "prod": lambda t, x: x.prod(dtype=x.dtype), "cumsum": lambda t, x: x.cumsum(0, dtype=x.dtype),
    "not": lambda t, x: ~x, "max": lambda t, x: x.max(0), "argmin": lambda t, x: x.argmin(0),
    "// 3": lambda t, x: x // 3, "% 3": lambda t, x: x % 3, "% -3": lambda t, x: x % -3,
    "// -3": lambda t, x: x // -3, "trunc": lambda t, x: t.div(x, -3, rounding_mode="trunc"),
    "/ 3": lambda t, x: x / 3, "sign": lambda t, x: x.sign(), "clamp": lambda t, x: x.clamp(-5, 100),
    "float": lambda t, x: x.float(), "dot": lambda t, x: x.dot(x), "== 255": lambda t, x: x == 255,
    "byte": lambda t, x: x.byte(), "int": lambda t, x: x.int(), "alpha": lambda t, x: t.add(x, x, alpha=7),
}  # fmt: skip


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", WRAPPING)
def test_integers_wrap(name, dtype):
    low, high = LIMITS[dtype]
    values = [low, low + 1, low // 2, 0, 1, 7, high // 2 + 1, high - 1, high] * 4
    x, y = tensors(dtype, values)
    ours, theirs = WRAPPING[name](dt, x), WRAPPING[name](torch, y)
    if hasattr(ours, "dtype"):
        assert str(ours.dtype) == str(theirs.dtype)
    agree(ours, theirs, [values])


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_the_smallest_integer_by_minus_one(python, dtype):
    """Processors trap here, and PyTorch with them; two's complement says what is right."""
    low = LIMITS[dtype][0]
    code = f"""
        import dumbtorch as dt
        x = dt.tensor([{low}, {low}, 7, -7] * 5, dtype=dt.{dtype})
        y = dt.tensor([-1, 1, -1, -1] * 5, dtype=dt.{dtype})
        for b in (y, y.clone().view(5, 4).T.reshape(4, 5).T.reshape(-1)):
            print((x // b).tolist()[:4], (x % b).tolist()[:4])
        print(dt.div(x, y, rounding_mode="trunc").tolist()[:4])
        print((x // -1).tolist()[:4], (x % -1).tolist()[:4], (x.clone().floor_divide_(y)).tolist()[:4])
    """
    quotients, rests = [low, low, -7, 7], [0, 0, 0, 0]
    lines = python(code).splitlines()
    assert lines[0] == f"{quotients} {rests}" == lines[1]
    assert lines[2] == f"{quotients}"
    assert lines[3] == f"{[low, low, -7, 7]} {rests} {quotients}"


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, z: x // z, lambda t, x, z: x % z, lambda t, x, z: x // 0, lambda t, x, z: x % 0,
        lambda t, x, z: t.div(x, z, rounding_mode="trunc"), lambda t, x, z: 5 // z,
        lambda t, x, z: x.clone().floor_divide_(z), lambda t, x, z: x.clone().remainder_(z),
        lambda t, x, z: t.div(x, 0, rounding_mode="floor"),
    ],
)  # fmt: skip
def test_integers_by_zero(dtype, call):
    for library in (torch, dt):
        x = library.arange(1, 100).to(getattr(library, dtype))
        z = x.clone()
        z[57] = 0
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call(library, x, z)


@pytest.mark.parametrize("base", [0, 1, 2, -1, -2, 3])
def test_integer_powers(base):
    for exponent in (0, 1, 2, 31, 62, 63, 64, 100):
        x, y = tensors("int64", [base] * 9)
        agree(x**exponent, y**exponent, [[(base, exponent)] * 9])
        agree(base ** dt.tensor([exponent]), base ** torch.tensor([exponent]), [[base]])
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
            t.tensor([base]) ** -1
    exponents = [-1, -2, -3, 0]
    agree(
        dt.tensor([base] * 4) ** dt.tensor(exponents),
        torch.tensor([base] * 4) ** torch.tensor(exponents),
        [[base] * 4, exponents],
    )


def test_numbers_that_do_not_fit():
    for t in (dt, torch):
        for call in (
            lambda t: t.tensor(2**63), lambda t: t.full((2,), 300, dtype=t.uint8),
            lambda t: t.zeros(2, dtype=t.int32).fill_(2**31), lambda t: t.full((2,), 2**70),
            lambda t: t.arange(0, 10, 0), lambda t: t.arange(5, 1), lambda t: t.arange(0, INF),
            lambda t: t.arange(0, NAN), lambda t: t.ones(1, dtype=t.int64).fill_(NAN),
            lambda t: t.full((1,), INF, dtype=t.int32), lambda t: t.ones(1, dtype=t.bool).neg(),
        ):  # fmt: skip
            with pytest.raises((RuntimeError, ValueError, OverflowError)):
                call(t)


def test_comparisons_of_unlike_numbers():
    """int64 against float: both become float32, as in PyTorch."""
    for values in ([2**53 + 1, 2**24 + 1, 2**63 - 1, -(2**63)],):
        x, y = tensors("int64", values)
        for other in (2.0**53, 2.0**24, 2.0**63, NAN, INF, 16777217.0):
            agree(x == other, y == other, [values, [other] * 4])
            agree(x < other, y < other, [values, [other] * 4])


# ---- both libraries: the same tensor, or the same kind of error


def outcome(call, t):
    try:
        y = call(t)
    except Exception as error:
        return type(error).__name__
    if isinstance(y, t.Tensor):
        return str(y.dtype), tuple(y.shape), y.tolist()
    return y


def byte(t, *values):
    return t.tensor(values, dtype=t.uint8)


def short(t, *values):
    return t.tensor(values, dtype=t.int32)


CORNERS = {
    # A number or a 0-d tensor becomes uint8 before it is used.
    "byte >= 256": lambda t: byte(t, 0, 7) >= 256, "byte < -1": lambda t: byte(t, 0, 7) < -1,
    "byte == 257": lambda t: byte(t, 0, 1) == 257, "byte // 256": lambda t: byte(t, 7) // 256,
    "byte % -1": lambda t: byte(t, 4, 255) % -1, "byte //= -2": lambda t: byte(t, 255).floor_divide_(-2),
    "byte by 0-d": lambda t: t.div(byte(t, 4, 255), short(t, -4)[0], rounding_mode="trunc"),
    "byte by 0-d in place": lambda t: byte(t, 4, 255).remainder_(t.tensor(-6)),
    "byte clamp": lambda t: byte(t, 0, 9, 255).clamp(-10, -3), "-1 - byte": lambda t: -1 - byte(t, 0, 255),
    "0-d byte": lambda t: byte(t, 3)[0] < t.tensor([300]), "int32 // 2**40": lambda t: short(t, 7) // 2**40,
    # Bounds, choices and exponents must fit instead.
    "clamp_max": lambda t: short(t, 7).clamp_max(2**40), "clamp to float": lambda t: short(t, 7).clamp(0.5, 2**40),
    "where 2**31": lambda t: t.where(t.tensor([True]), 2**31, short(t, 1)), "pow 2**40": lambda t: short(t, 2) ** 2**40,
    "where 1e300": lambda t: t.where(t.tensor([True]), 1e300, t.ones(1)), "byte ** 300": lambda t: byte(t, 2) ** 300,
    "where byte": lambda t: t.where(t.tensor([True, False]), byte(t, 3), -1),
    "where not bool": lambda t: t.where(short(t, 1, 0), 1, 2),
    # So must what tensor() is given.
    "300": lambda t: t.tensor(300, dtype=t.uint8), "[-300]": lambda t: byte(t, -300), "[-1]": lambda t: byte(t, -1),
    "[-1.5]": lambda t: byte(t, -1.5), "[nan]": lambda t: short(t, NAN), "[2**31]": lambda t: short(t, 2**31),
    "[-2**31]": lambda t: short(t, -(2**31)), "1e30": lambda t: t.tensor([1e30], dtype=t.int64),
    "2**64": lambda t: t.tensor([[2**64], [1]], dtype=t.float64), "1.7": lambda t: short(t, 1.7, -1.7, True),
    # Conversion comes first.
    "sum": lambda t: t.tensor([0.5, 0.5, -1.5]).sum(dtype=t.int64),
    "sum 0": lambda t: t.tensor([[0.5, 2.5]]).sum(0, dtype=t.int32),
    "sum bool": lambda t: t.tensor([0.5, -0.5]).sum(dtype=t.bool),
    "equal": lambda t: t.equal(t.ones(2), t.ones(2, dtype=t.int64)),
    "sum to bool": lambda t: t.tensor([1, -1]).sum(dtype=t.bool),
    "sum of bool": lambda t: t.tensor([True, True]).sum(dtype=t.bool),
    "not equal": lambda t: t.equal(t.tensor([1, 2]), t.tensor([1.0, 2.5])),
    "mse": lambda t: t.nn.functional.mse_loss(t.tensor([1, 3]), t.tensor([0.5, 1.0])),
    "mse int": lambda t: t.nn.functional.mse_loss(t.tensor([1, 3]), t.tensor([1, 3])),
    "mask": lambda t: t.zeros(3).index_put_((t.tensor([True, False, True]),), t.tensor(1.5, dtype=t.float64)),
    # Nothing to reduce, or nothing to reduce over.
    "max of none": lambda t: t.ones(0, 4, 0).max(2), "argmin of none": lambda t: t.ones(0, 4, 0).argmin(0),
    "max": lambda t: t.ones(0, 4).max(1).values, "any ()": lambda t: t.tensor([[2, 0]]).any(dim=()),
    "all []": lambda t: byte(t, 2, 0).all(dim=[], keepdim=True),
    "amax None": lambda t: t.ones(2, 3).amax(None, keepdim=True),
    "norm inf": lambda t: t.ones(0).norm(INF), "norm -1": lambda t: t.ones(0, 2).norm(-1, dim=0),
    "norm of no rows": lambda t: t.ones(0, 2).norm(INF, dim=1), "norm 2": lambda t: t.ones(0).norm(),
    "% nothing": lambda t: t.ones(0, 2, dtype=t.int64) % t.tensor([0, 1]),
    "// nothing": lambda t: t.ones(0, dtype=t.int64) // 0,
    "floor_ of nothing": lambda t: t.ones(0, 1).expand(0, 2).floor_(), "cat": lambda t: t.cat([]),
    # A number is true or not where bools are added.
    "alpha -1": lambda t: t.add(t.tensor([False, True]), t.tensor([True, True]), alpha=-1),
    "alpha False": lambda t: t.tensor([False, True]).add_(t.tensor([True, True]), alpha=False),
    "bools index_add": lambda t: t.zeros(3, dtype=t.bool).index_add(0, t.tensor([0]), t.tensor([True]), alpha=0),
    "bools index_add 2": lambda t: t.zeros(3, dtype=t.bool).index_add(0, t.tensor([0]), t.tensor([True]), alpha=2),
    # Numbers of a tensor.
    "int()": lambda t: int(t.ones(2)), "float()": lambda t: float(t.ones(0)), "index": lambda t: "ab"[t.tensor([0, 1])],
    "target": lambda t: t.nn.functional.binary_cross_entropy(t.ones(1), t.tensor([1.5])),
    "nan target": lambda t: t.nn.functional.binary_cross_entropy(t.ones(1), t.tensor([NAN])),
    "masked_fill": lambda t: t.masked_fill(t.ones(2), t.tensor([True, False]), 3),
    # Bounds among integers.
    "threshold": lambda t: t.nn.functional.threshold(t.tensor([1, 5], dtype=t.int8), 3, 300),
    "threshold inf": lambda t: t.nn.functional.threshold(t.tensor([1, 5]), INF, 3),
    "hardtanh": lambda t: t.nn.functional.hardtanh(t.tensor([1, 5], dtype=t.int8), -1.0, 300.0),
    "hardtanh inf": lambda t: t.nn.functional.hardtanh(t.tensor([1, 5]), -1.0, INF),
    "hardtanh nan": lambda t: t.nn.functional.hardtanh(t.tensor([1.0]), -1.0, NAN).isnan().tolist(),
    "addcmul": lambda t: t.addcmul(t.tensor([1]), t.tensor([1]), t.tensor([1]), value=INF),
}  # fmt: skip


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name):
    ours, theirs = (outcome(CORNERS[name], t) for t in (dt, torch))
    assert ours == theirs


# Where a factor of a gradient vanishes or overflows: a function, its arguments, the gradient that arrives.
SLOPES = [
    (lambda t, x, y: t.xlogy(x, y), (1.0, INF), 0.0), (lambda t, x, y: t.xlogy(x, y), (1.0, 1e-42), 0.0),
    (lambda t, x, y: t.xlogy(x, y), (0.0, 0.0), 1.0), (lambda t, x, y: t.xlogy(x, y), (2.0, 0.0), 1.0),
    (lambda t, x, y: t.atan2(x, y), (0.0, 1e-30), 1.0), (lambda t, x, y: t.atan2(x, y), (0.0, 0.0), 1.0),
    (lambda t, x: t.sinc(x), (1e-30,), 1.0), (lambda t, x: t.sinc(x), (0.0,), 1.0),
]  # fmt: skip


@pytest.mark.parametrize("case", SLOPES, ids=range(len(SLOPES)))
def test_slopes_of_functions_at_their_ends(case):
    function, values, arriving = case
    found = []
    for t in (dt, torch):
        inputs = [t.tensor([v], requires_grad=True) for v in values]
        function(t, *inputs).backward(t.tensor([arriving]))
        found.append([x.grad.item() for x in inputs])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_strided_nothing(training):
    """Without elements any strides are contiguous, so that a copy would not have changed them."""
    shapes = []
    for t in (dt, torch):
        x = t.ones(5, 4, 0, 1).expand(5, 4, 0, 3).requires_grad_()
        y = t.nn.functional.batch_norm(x, t.zeros(4), t.ones(4), training=training)
        y.sum().backward()
        shapes.append((tuple(y.shape), tuple(x.grad.shape)))
    assert shapes[0] == shapes[1]
