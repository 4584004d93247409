"""The special functions: errors, Gamma and its kin, Bessel's, the bits of numbers."""

from rows_math import ROWS, function, method
from rows_pointwise import at_jumps, binary, unary
from table import ALL, FLOATS, NUMBERS, Row, fixed, value, whole, widened


def special(name):
    """A function that PyTorch has for float32 and float64 alone, or for all: it means the same for narrow floats."""
    return lambda t, x: widened(t, getattr(t.special, name), x)


# PyTorch's trigamma ends its series early: it is right to nine digits. test_special.py knows them all.
NINE_DIGITS = {"float64": 1e-8}
for name, low, high in (("erfc", -2, 4), ("erfinv", -0.9, 0.9), ("i0", -4, 4)):
    unary(name, function(name), dtypes=ALL, low=low, high=high, inplace=method(name + "_"))
for name, low, high in (("lgamma", 0.4, 5), ("digamma", 0.2, 5)):
    unary(
        name,
        function(name),
        dtypes=ALL,
        low=low,
        high=high,
        inplace=method(name + "_"),
        rtol=NINE_DIGITS,
    )
for name in ("lgamma", "digamma"):
    unary(
        name,
        lambda t, x, name=name: getattr(-1.25 - x, name)(),
        low=0.02,
        high=0.5,
        rtol=NINE_DIGITS,
    )
for name, low, high in (
    ("erfcx", -1, 9),
    ("ndtri", 0.02, 0.98),
    ("ndtr", -3, 3),
    ("log_ndtr", -5, 2),
    ("i0e", 0.2, 4),
    ("i1", 0.2, 4),
    ("i1e", -4, -0.2),
    ("entr", 0.1, 3),
):
    unary(name, special(name), dtypes=ALL, low=low, high=high)
for name in ("erfcx", "log_ndtr"):
    unary(name, special(name), low=5, high=60)
for name in ("i0", "i0e", "i1", "i1e"):
    unary(name, special(name), low=15, high=40)

for n in (0, 1, 2, 3):
    unary(
        "polygamma",
        lambda t, x, n=n: t.polygamma(n, x),
        dtypes=ALL,
        low=0.9,
        high=6,
        rtol=NINE_DIGITS,
    )
    unary(
        "polygamma",
        lambda t, x, n=n: t.polygamma(n, -2.25 - x),
        low=0.02,
        high=0.6,
        rtol=NINE_DIGITS,
    )
unary(
    "polygamma",
    lambda t, x: x.polygamma(2),
    low=1,
    high=9,
    inplace=lambda t, x: x.polygamma_(2),
    rtol=NINE_DIGITS,
)
for p in (1, 2, 5):
    unary("mvlgamma", lambda t, x, p=p: t.mvlgamma(x, p), low=2.2, high=9,
          inplace=lambda t, x, p=p: x.mvlgamma_(p), rtol=NINE_DIGITS)  # fmt: skip

for sizes in ((3, 4), (5,), (), (0,), (700,)):
    ROWS += [
        Row("zeta", lambda t, s, q: widened(t, t.special.zeta, s, q),
            (fixed(*sizes, low=1.5, high=9), value(*sizes, low=0.3, high=30)), NUMBERS),
        Row("zeta", lambda t, q: widened(t, lambda q: t.special.zeta(3, q), q), (value(*sizes, low=0.3, high=4),)),
        Row("zeta", lambda t, s: widened(t, lambda s: t.special.zeta(s, 1.5), s), (fixed(*sizes, low=1.5, high=4),), orders=0),
    ]  # fmt: skip
binary("xlog1py", lambda t, a, b: t.special.xlog1py(a, b), dtypes=ALL, low2=-0.7, high2=3)
unary("xlog1py", lambda t, x: t.special.xlog1py(2.5, x), dtypes=ALL, low=-0.5, high=3)
unary("xlog1py", lambda t, x: t.special.xlog1py(x, 2), dtypes=ALL)

binary("nextafter", lambda t, a, b: t.nextafter(a, b), dtypes=FLOATS, orders=1, differentiable=False,
       inplace=lambda t, a, b: a.nextafter_(b))  # fmt: skip
binary("nextafter", lambda t, a, b: t.nextafter(a.sign() * 0, b), dtypes=FLOATS, orders=0)
unary("frexp", lambda t, x: t.frexp(x), dtypes=FLOATS, low=-20, high=20, differentiable=False)
for factor in (2.0**-140, 2.0**-20, 2.0**100):
    unary("frexp", lambda t, x, f=factor: x.mul(f).frexp(), dtypes=FLOATS, orders=0)

# ---- where a derivative jumps, or a function has no value
for name in ("i0", "i0e", "i1", "i1e", "entr"):
    at_jumps(name, special(name), whole(30), torch_orders=1)
at_jumps("xlog1py", lambda t, a, b: t.special.xlog1py(a, b), whole(6, 7), whole(6, 7), orders=0)
for name in ("erfc", "erfinv", "erfcx", "ndtri", "ndtr"):
    unary(
        name,
        lambda t, x, name=name: getattr(t.special, name)(x * 15),
        low=-2,
        high=2,
        dtypes=("float64",),
        orders=0,
    )
    unary(
        name,
        lambda t, x, name=name: getattr(t.special, name)(1 / (x - x.trunc())),
        dtypes=("float64",),
        orders=0,
    )

# ---- functions without derivatives. PyTorch's J, Y and Ai have six digits in places, its incomplete Gammas eight;
# test_special.py knows them all.
SIX_DIGITS, EIGHT_DIGITS = {"float64": 3e-6}, {"float64": 1e-7}
for name, low, high in (
    ("bessel_j0", -30, 30), ("bessel_j1", -30, 30), ("bessel_y0", 0.2, 60), ("bessel_y1", 0.2, 60),
    ("modified_bessel_k0", 0.01, 20), ("modified_bessel_k1", 0.01, 20), ("scaled_modified_bessel_k0", 0.01, 90),
    ("scaled_modified_bessel_k1", 0.01, 90), ("spherical_bessel_j0", -30, 30), ("airy_ai", -9, 6),
):  # fmt: skip
    ROWS += [
        Row(name, special(name), (fixed(*sizes, low=low, high=high),), FLOATS, 0, rtol=SIX_DIGITS)
        for sizes in ((3, 4), (), (0,), (700,))
    ]


def polynomial(name):
    return lambda t, x, n: widened(t, getattr(t.special, name), x, n)


CHEBYSHEV = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)  # fmt: skip
OTHERS = (
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
)
for names, degrees in ((CHEBYSHEV, (3, 12)), (OTHERS, (3, 7))):
    for name in names:
        for degree in degrees:
            inputs = fixed(3, 1, low=-1.2, high=1.2), fixed(4, low=degree - 4, high=degree)
            ROWS.append(Row(name, polynomial(name), inputs, FLOATS, 0))

for name, twin in (("igamma", "igamma_"), ("igammac", "igammac_")):
    for low, high in ((0.2, 3), (1, 30)):
        for sizes in ((3, 4), (700,)):
            inputs = fixed(*sizes, low=low, high=high), value(sizes[-1], low=low, high=high)
            ROWS.append(
                Row(name, function(name), inputs, FLOATS, inplace=method(twin), rtol=EIGHT_DIGITS)
            )
for name in ("gammainc", "gammaincc"):
    inputs = fixed(low=1, high=3), value(5, low=1, high=3)
    ROWS.append(
        Row(
            name,
            lambda t, a, x, f=name: getattr(t.special, f)(a, x),
            inputs,
            FLOATS,
            rtol=EIGHT_DIGITS,
        )
    )
