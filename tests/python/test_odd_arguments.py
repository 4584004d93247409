"""Activations whose bounds and slopes are NaN, infinite or negative, beside PyTorch's."""

import itertools
import math

import pytest

pytest.importorskip("torch")

NAN = math.nan
ELEMENTS = [math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 3.0, -3.0, NAN]
DTYPES = ["float64", "float32", "float16", "bfloat16"]


def activated(t, dtype, function, *arguments):
    """The result and, but at NaN, the gradient, which PyTorch's vectors and its last few elements have in two ways: so
    each element is there often enough to fill vectors."""
    x = t.tensor(ELEMENTS, dtype=getattr(t, dtype))[:, None].repeat(1, 64).requires_grad_()
    y = function(x.clone(), *arguments)
    (gradient,) = t.autograd.grad(y.sum(), x)
    return y, gradient[:-1]


def signs(t, y):
    return t.signbit(y[:-1]) & (y[:-1] == 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["hardtanh", "hardtanh_", "clamp", "clamp_"])
def test_bounds_that_are_nan(name, dtype, both, same):
    bounds = [NAN, -1.0, 0.0, 2.0, math.inf, -math.inf]

    def run(t):
        of = t.nn.functional if "hardtanh" in name else t
        pairs = [pair for pair in itertools.product(bounds, repeat=2) if not pair[0] > pair[1]]
        return [activated(t, dtype, getattr(of, name), *pair) for pair in pairs]

    same(*both(run))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["elu", "celu", "leaky_relu"])
def test_slopes_that_are_nan(name, dtype, both, same):
    def run(t):
        function = getattr(t.nn.functional, name)
        found = [activated(t, dtype, function, a) for a in (NAN, math.inf, -2.0, 2.0)]
        return found, [signs(t, y) for y, _ in found]

    same(*both(run), rtol=1e-2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scales_of_elu_that_are_nan(dtype, both, same):
    """elu_ alone takes them."""

    def run(t):
        found = []
        for of in itertools.product((1.0, NAN, math.inf), (1.0, NAN, 0.5), (1.0, NAN, 0.5)):
            x = t.tensor(ELEMENTS, dtype=getattr(t, dtype))
            found.append(t.nn.functional.elu_(x, *of))
        return found, [signs(t, y) for y in found]

    same(*both(run), rtol=1e-2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_elu_with_scales(dtype, both, same):
    """Also where exp of an element is infinite. PyTorch's come from what was written, rounded."""

    def run(t):
        found = []
        for of in ((1.0, 2.0), (0.0, 2.0), (2.0, 3.0, 0.5), (1.0, 2.0, 3.0), (1, 2)):
            x = t.tensor([12.0, 100.0, -1.0, 0.0, 800.0], dtype=getattr(t, dtype)).requires_grad_()
            y = t.nn.functional.elu_(x * 1, *of)
            y.sum().backward()
            found.append((y, x.grad))
        return found

    same(*both(run), rtol=3e-2)


IN_PLACE = {
    "elu_": lambda t, x, slope: t.nn.functional.elu_(x, slope),
    "elu_ scaled": lambda t, x, slope: t.nn.functional.elu_(x, slope, 2.0),
    "celu_": lambda t, x, slope: t.nn.functional.celu_(x, slope),
    "leaky_relu_": lambda t, x, slope: t.nn.functional.leaky_relu_(x, slope),
    "rrelu_": lambda t, x, slope: t.nn.functional.rrelu_(x, slope, slope),
    "LeakyReLU": lambda t, x, slope: t.nn.LeakyReLU(slope, inplace=True)(x),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "name, slope", [(n, s) for n in IN_PLACE for s in (-1.0, NAN) if (n, s) != ("rrelu_", NAN)]
)
def test_negative_slopes_in_place_have_no_gradient(name, slope, create_graph, both, refusals):
    def run(t, slope):
        x = t.tensor([1.0, -2.0], requires_grad=True)
        y = IN_PLACE[name](t, x * 1, slope)
        return t.autograd.grad(y.sum(), x, create_graph=create_graph)[0].tolist()

    mine, theirs = refusals(lambda t: run(t, slope), RuntimeError)
    sentence = mine[1].removeprefix("grad: ")
    assert mine[0] is theirs[0] and theirs[1].startswith(sentence) and len(sentence) > 200
    mine, theirs = both(lambda t: run(t, 0.5))
    assert mine == pytest.approx(theirs, rel=1e-5)
