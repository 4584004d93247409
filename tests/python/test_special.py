"""torch.special: its names, closed forms where PyTorch has fewer digits, and what sits at the ends of the numbers."""

from __future__ import annotations

import math

import dumbtorch as dt
import pytest

np = pytest.importorskip("numpy")


def real(*numbers):
    return dt.tensor(numbers, dtype=dt.float64)


def test_names():
    torch = pytest.importorskip("torch")
    theirs = set(torch.special.__all__)
    assert set(dt.special.__all__) == theirs
    x = dt.rand(5) * 0.8 + 0.1
    for name, of_torch in {"expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma"}.items():
        assert getattr(dt.special, name)(x).eq(getattr(dt, of_torch)(x)).all().item()
    for name in ("erf", "erfinv", "exp2", "expm1", "log1p", "logit", "round", "sinc", "digamma"):
        assert getattr(dt.special, name)(x).eq(getattr(dt, name)(x)).all().item()
    assert dt.special.multigammaln(x + 3, 2).eq(dt.mvlgamma(x + 3, 2)).all().item()
    assert dt.special.round(x, decimals=1).eq(x.round(decimals=1)).all().item()


def close(ours, *expected):
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-14)


def test_closed_forms():
    """Abramowitz and Stegun, chapters 6 and 7; zeta(3) is Apery's number."""
    pi, euler, apery = math.pi, 0.5772156649015329, 1.2020569031595942
    close(dt.digamma(real(1, 0.5, 2)), -euler, -euler - 2 * math.log(2), 1 - euler)
    close(
        dt.polygamma(1, real(1, 0.5, 0.25 - 1)),
        pi**2 / 6,
        pi**2 / 2,
        pi**2 + 8 * 0.915965594177219 + 16 / 9,
    )
    close(dt.polygamma(2, real(1, 0.5)), -2 * apery, -14 * apery)
    close(dt.polygamma(3, real(1, 0.5)), pi**4 / 15, pi**4)
    # Halfway between two poles these are -n! zeta(n + 1, 1 - x), whose first term is nearly all of a high order.
    close(
        dt.polygamma(50, real(-0.5)),
        -math.factorial(50) * sum((1.5 + k) ** -51.0 for k in range(100)),
    )
    close(
        dt.polygamma(50, real(-20.5)),
        -math.factorial(50) * sum((21.5 + k) ** -51.0 for k in range(100)),
    )
    close(dt.special.zeta(real(2, 4, 3), real(1, 1, 2)), pi**2 / 6, pi**4 / 90, apery - 1)
    close(
        dt.lgamma(real(0.5, -0.5, 171)),
        math.log(pi) / 2,
        math.log(2 * math.sqrt(pi)),
        math.lgamma(171),
    )
    close(dt.erfc(real(0.5, 5, 26)), math.erfc(0.5), math.erfc(5), math.erfc(26))
    x = dt.linspace(-5, 5, 1001, dtype=dt.float64)
    close(dt.erfinv(dt.erf(x * 0.2)), *(x * 0.2).numpy())
    below = x[:991] - 5  # up to -0.1: nearer to 0 a unit of the share is more than one of the place
    close(dt.special.ndtri(dt.special.ndtr(below)), *below.numpy())


def test_roots_are_the_nearest_numbers():
    """Of numbers whose roots lie nearly in the middle of two: q is odd, and q^2 = c + x 2^54."""
    x = []
    for c in [*range(1, 2000, 8), *range(-7, -2000, -8)]:
        q = 1
        for bit in range(3, 54):  # one bit more of a root of c modulo 2^54 (Hensel)
            q += ((q * q - c) >> bit & 1) << (bit - 1)
        for root in (q % 2**54, -q % 2**54, (q + 2**53) % 2**54, (2**53 - q) % 2**54):
            if root >= 2**53 and (root * root - c) % 2**54 == 0:
                x.append(float((root * root - c) >> 54))
    assert len(x) > 500
    for numbers in (x, [[value, 0.0] for value in x]):
        numbers = dt.tensor(numbers, dtype=dt.float64)
        assert dt.sqrt(numbers).flatten().tolist() == [
            math.sqrt(value) for value in numbers.flatten().tolist()
        ]


def test_digits_near_the_zeros_of_lgamma():
    """lgamma(1 + x) = -euler x + pi^2 / 12 x^2 - ..., and lgamma(2 + x) is log(1 + x) more."""
    x = dt.tensor([2.0**-k for k in range(20, 50)], dtype=dt.float64)
    first = -0.5772156649015329 * x + 0.8224670334241132 * x * x - 0.40068563438653143 * x**3
    close(dt.lgamma(1 + x), *first.numpy())
    close(dt.lgamma(2 + x), *(first + dt.log1p(x)).numpy())


def test_ends_of_the_numbers():
    inf, nan = math.inf, math.nan
    x = real(0, -0.0, -1, -2, inf, -inf, nan)
    for function, expected in {
        dt.lgamma: (inf, inf, inf, inf, inf, inf, nan),
        dt.digamma: (-inf, inf, nan, nan, inf, nan, nan),
        dt.erfc: (1, 1, math.erfc(-1), math.erfc(-2), 0, 2, nan),
        dt.erfinv: (0, 0, -inf, nan, nan, nan, nan),
        dt.special.erfcx: (1, 1, math.e * math.erfc(-1), math.e**4 * math.erfc(-2), 0, inf, nan),
        dt.special.ndtri: (-inf, -inf, nan, nan, nan, nan, nan),
        dt.special.entr: (0, 0, -inf, -inf, -inf, -inf, nan),
    }.items():
        np.testing.assert_allclose(function(x).numpy(), expected, rtol=1e-14)
    np.testing.assert_array_equal(dt.i0(real(inf, -inf, 800, nan)).numpy(), (inf, inf, inf, nan))
    np.testing.assert_array_equal(dt.special.i1e(real(inf, -inf, nan)).numpy(), (0, 0, nan))
    assert dt.special.log_ndtr(real(-1e15)).item() == -5e29
    np.testing.assert_array_equal(dt.polygamma(1, real(0, -1, -7)).numpy(), (inf, inf, inf))


@pytest.mark.parametrize("name", ["erf", "erfinv", "tanh"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_odd_functions_keep_the_sign_of_zero(name, dtype):
    zeros = dt.full((40,), -0.0, dtype=getattr(dt, dtype))
    assert dt.signbit(getattr(dt, name)(zeros)).all().item()


def bessel_i(x, order):
    """The power series, whose terms have one sign."""
    terms = [(0.5 * x) ** order]
    while abs(terms[-1]) > 1e-20 * abs(terms[0]) or len(terms) < abs(x):
        k = len(terms)
        terms.append(terms[-1] * (0.5 * x) ** 2 / (k * (k + order)))
    return math.fsum(terms)


def test_modified_bessel_functions():
    """Around the places where formulas change, far from them, and where exp(x) is infinite but the function is not."""
    near = [0.0, -0.0, 1e-300, 1e-9, 0.3, -1.0, 7.5, 7.999, 8.0, -8.001, 9.99, 10.0, 10.01]
    x = real(*near, -25.0, 60.0, 300.0, -700.0)
    for order, plain, scaled in ((0, dt.i0, dt.special.i0e), (1, dt.special.i1, dt.special.i1e)):
        expected = np.array([bessel_i(v, order) for v in x.tolist()])
        without = expected * np.exp(-np.abs(x.numpy()))
        np.testing.assert_allclose(plain(x).numpy(), expected, rtol=2e-15)
        np.testing.assert_allclose(scaled(x).numpy(), without, rtol=2e-15)
        short = x.float()[:-2]
        np.testing.assert_allclose(plain(short).numpy(), expected[:-2], rtol=1e-5, atol=1e-38)
        np.testing.assert_allclose(scaled(short).numpy(), without[:-2], rtol=1e-6, atol=1e-38)
    assert dt.special.i1(real(-0.0)).signbit().item() and not dt.special.i1e(real(0.0)).signbit()
    assert dt.i0(real(713.0)).isfinite().item() and dt.i0(real(720.0)).isinf().item()


def test_a_far_negative_number_is_no_longer_way():
    x = real(-1e9 + 0.25)
    assert dt.polygamma(2, x).isfinite().item() and dt.digamma(x).isfinite().item()


def test_gradient_of_vander():
    x = dt.tensor([2.0, 3.0], requires_grad=True)
    (g,) = dt.autograd.grad((dt.vander(x, 3) * dt.tensor([1.0, 10.0, 100.0])).sum(), x)
    assert g.tolist() == [14.0, 16.0]


def test_what_is_refused():
    for call, message in (
        (lambda: dt.polygamma(-1, real(1)), "polygamma(n, x) does not support negative n."),
        (lambda: dt.mvlgamma(real(1), 0), "p has to be greater than or equal to 1"),
        (
            lambda: dt.mvlgamma(dt.tensor([True]), 1),
            "The input tensor may not be a boolean tensor.",
        ),
        (lambda: dt.frexp(dt.tensor([1])), "torch.frexp() only supports floating-point dtypes"),
        (lambda: dt.vander(dt.ones(2, 2)), "x must be a one-dimensional tensor."),
        (lambda: dt.vander(dt.ones(2), -1), "N must be non-negative."),
        (lambda: dt.linalg.vander(dt.ones(2), N=1), "N must be greater than 1."),
    ):
        with pytest.raises(
            RuntimeError, match="(?s).*" + message.replace("(", r"\(").replace(")", r"\)")
        ):
            call()
    with pytest.raises(NotImplementedError, match="nextafter_cpu"):
        dt.nextafter(dt.tensor([1]), dt.tensor([2]))
    with pytest.raises(NotImplementedError, match="logcumsumexp_out_cpu"):
        dt.logcumsumexp(dt.tensor([1]), 0)


# ---- all digits, where PyTorch has fewer

BESSEL = {
    "bessel_j0": lambda mp, x: mp.besselj(0, x),
    "bessel_j1": lambda mp, x: mp.besselj(1, x),
    "bessel_y0": lambda mp, x: mp.bessely(0, x),
    "bessel_y1": lambda mp, x: mp.bessely(1, x),
    "modified_bessel_k0": lambda mp, x: mp.besselk(0, x),
    "modified_bessel_k1": lambda mp, x: mp.besselk(1, x),
    "scaled_modified_bessel_k0": lambda mp, x: mp.besselk(0, x) * mp.exp(x),
    "scaled_modified_bessel_k1": lambda mp, x: mp.besselk(1, x) * mp.exp(x),
    "spherical_bessel_j0": lambda mp, x: mp.sin(x) / x,
    "airy_ai": lambda mp, x: mp.airyai(x),
}


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions(name):
    mp = pytest.importorskip("mpmath").mp
    points = [1e-20, 1e-6, 9e-4, 0.3, 0.99, 1.01, 2.5, 7, 14, 24.9, 25.1, 60, 300]
    points += [-x for x in points[3:]] if name in ("airy_ai", "bessel_j0", "bessel_j1") else []
    with mp.workdps(40):
        truth = [float(BESSEL[name](mp, x)) for x in points]
    ours = getattr(dt.special, name)(real(*points)).numpy()
    np.testing.assert_allclose(ours, truth, rtol=2e-13, atol=2e-14 if name[0] in "ba" else 0)


@pytest.mark.parametrize("a", [1e-5, 0.4, 1, 3.7, 19.9, 20.1, 150, 1999, 2001, 5000])
def test_incomplete_gammas(a):
    mp = pytest.importorskip("mpmath").mp
    spread = math.sqrt(a)
    points = [1e-3 * a, 0.3, 0.9 * a, a, a + spread, a + 4 * spread, 1.05 * a, 1.15 * a, 2 * a + 1]
    with mp.workdps(40):
        lower = [float(mp.gammainc(a, 0, x, regularized=True)) for x in points]
        upper = [float(mp.gammainc(a, x, mp.inf, regularized=True)) for x in points]
    for ours, truth in ((dt.special.gammainc, lower), (dt.special.gammaincc, upper)):
        np.testing.assert_allclose(
            ours(real(a), real(*points)).numpy(), truth, rtol=4e-13, atol=1e-290
        )


def test_ends_of_bessel_functions_and_gammas():
    inf, nan = math.inf, math.nan
    for name in BESSEL:
        f = getattr(dt.special, name)
        assert f(real(inf)).item() == 0 and math.isnan(f(real(nan)))
    assert dt.special.bessel_y1(real(0.0, -1.0)).tolist()[0] == -inf
    assert dt.special.modified_bessel_k0(real(0.0)).item() == inf
    p, q = (f(real(0, 0, 2, 2, inf, inf, -1, nan), real(0, 3, 0, inf, 2, inf, 2, 1))
            for f in (dt.igamma, dt.igammac))  # fmt: skip
    np.testing.assert_array_equal(p.numpy(), [nan, 1, 0, 1, 0, nan, nan, nan])
    np.testing.assert_array_equal(q.numpy(), [nan, 0, 1, 0, 1, nan, nan, nan])


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_a_slope_of_an_incomplete_gamma_depends_on_both(name, both, same):
    def run(t):
        a = t.tensor([2.0, 3.5], dtype=t.float64, requires_grad=True)
        x = t.tensor([1.5, 2.0], dtype=t.float64, requires_grad=True)
        (slope,) = t.autograd.grad(getattr(t, name)(a, x).sum(), x, create_graph=True)
        return t.autograd.grad(slope.sum(), [a, x])

    same(*both(run))


def test_incomplete_gammas_refuse(both, same):
    def run(t):
        a, x, said = t.tensor([2.0], requires_grad=True), t.tensor([1.0], requires_grad=True), []
        y = t.igammac(a, x)
        said.append(t.autograd.grad(y.sum(), x, retain_graph=True)[0])
        for refused in (y.sum().backward, lambda: t.igamma(t.tensor([2]), t.tensor([1]))):
            with pytest.raises(NotImplementedError) as caught:
                refused()
            said.append(str(caught.value).removeprefix("igamma: ").removeprefix("backward: "))
        z = t.tensor([2.0, 3.0])
        return (
            said,
            z.igamma_(t.tensor([1.0, 2.0])),
            z,
            z.igammac_(t.tensor(0.5)),
            t.igamma(z, t.tensor([2])),
        )

    same(*both(run))


def test_polynomials_are_constants(both, same):
    def run(t):
        x = t.tensor([0.5, -1.0, 1.0, -1.5, 2.0, 0.0], dtype=t.float64, requires_grad=True)
        names = [n for n in sorted(t.special.__all__) if "polynomial" in n]
        out = []
        for name in names:
            f = getattr(t.special, name)
            y = f(x, 7)
            assert not y.requires_grad
            out += [
                y,
                f(x, t.tensor([-2.0, 0, 1, 2.9, 30, 3])),
                f(0.25, t.tensor([2, 5])),
                f(t.tensor([3]), 2),
            ]
        return out

    same(*both(run))


def test_polynomials_of_what_is_no_number():
    x = real(math.nan, math.inf)
    for n in (0, 1, 3, 9):
        y = dt.special.chebyshev_polynomial_u(x, n).tolist()
        assert y[0] == 1 if n == 0 else math.isnan(y[0])
    assert math.isnan(dt.special.hermite_polynomial_h(real(0.5), 513).item())


def beside_multiples_of_a_right_angle():
    """Doubles next to k * pi/2, where all but the last digits of the angle cancel."""
    for k in [*range(1, 3000), *range(3000, 600_000, 997)]:
        x = k * (math.pi / 2)
        yield from (math.nextafter(x, 0), x, math.nextafter(x, math.inf))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_beside_multiples_of_a_right_angle(name):
    """Against the C library, which is right to a unit in the last place."""
    x = [
        *beside_multiples_of_a_right_angle(),
        642615.9188844458,
        871790.3905748408,
        91.106186954104,
    ]
    found = getattr(dt, name)(dt.tensor(x, dtype=dt.float64)).tolist()
    for angle, ours in zip(x, found, strict=True):
        true = getattr(math, name)(angle)
        assert abs(ours - true) <= 3 * math.ulp(true), angle


def test_quotients_of_large_integers():
    """Against Python's integers, which have no end: float64 holds 53 of the 64 bits."""
    ends = [
        2**63 - 1,
        -(2**63),
        2**53 + 1,
        -(2**53) - 1,
        2**62 + 1,
        3,
        -3,
        1,
        -1,
        7,
        -7,
        10**15 + 1,
    ]
    pairs = [(a, b) for a in ends for b in ends if (a, b) != (-(2**63), -1)] * 3  # whole vectors
    a, b = (dt.tensor(list(column)) for column in zip(*pairs, strict=True))
    assert (a // b).tolist() == [x // y for x, y in pairs]
    assert (a % b).tolist() == [x % y for x, y in pairs]
    assert dt.fmod(a, b).tolist() == [x - y * _toward_zero(x, y) for x, y in pairs]


def _toward_zero(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
