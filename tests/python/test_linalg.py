"""torch.linalg: what is refused, numbers at the ends, sizes that cross the blocks of the algorithms, threads."""

from __future__ import annotations

import math

import dumbtorch as dt
import pytest

np = pytest.importorskip("numpy")

REFUSED = """
linalg.inv(ones(3))
linalg.inv(ones(2, 3))
linalg.inv(ones(2, 2, dtype=int64))
linalg.inv(ones(2, 2, dtype=float16))
linalg.inv(S)
linalg.inv(BATCH)
inverse(S)
linalg.cholesky(ones(2, 3))
linalg.cholesky(ones(2, 2, dtype=float16))
linalg.cholesky(S)
linalg.cholesky(-BATCH)
linalg.cholesky(NAN)
cholesky_solve(ones(2), eye(2))
cholesky_inverse(zeros(1, 1))
cholesky_inverse(zeros(2, 2), upper=True)
cholesky_inverse(tensor([[1.0, 0.0], [2.0, 0.0]]))
cholesky_inverse(stack([eye(3), eye(3) - eye(3)[1]]))
linalg.solve(S, ones(2))
linalg.solve(BATCH, ones(2, 2))
linalg.solve(eye(2), ones(3))
linalg.solve(eye(2), ones(2, dtype=float64))
linalg.solve(eye(2), ones(2), left=False)
linalg.solve(ones(2, 2, dtype=int64), ones(2))
linalg.solve(ones(2, 3, 3), ones(3, 3, 3))
linalg.solve_triangular(eye(2), ones(2), upper=True)
linalg.solve_triangular(eye(2), ones(3, 1), upper=True)
linalg.solve_triangular(ones(2, 1), ones(2, 1), upper=True)
linalg.lu_factor(S)
linalg.lu_factor(BATCH)
linalg.lu_factor(ones(3))
linalg.lu_factor(eye(2), pivot=False)
linalg.lu(eye(2), pivot=False)
linalg.lu(ones(2, 2, dtype=int64))
linalg.lu_solve(eye(2), tensor([1, 2]), ones(2, 1))
linalg.lu_solve(eye(2), tensor([1, 2, 3], dtype=int32), ones(2, 1))
linalg.lu_solve(eye(2), tensor([1, 9], dtype=int32), ones(2, 1))
linalg.lu_solve(eye(2), tensor([1, 2], dtype=int32), ones(2))
lu_unpack(eye(2), tensor([1, 2]))
lu_unpack(eye(2), tensor([0, 2], dtype=int32))
linalg.det(ones(3))
linalg.det(ones(2, 3))
logdet(ones(2, 3))
linalg.slogdet(ones(2, 2, dtype=float16))
linalg.qr(ones(3))
linalg.qr(eye(2), mode='x')
linalg.eigh(ones(2, 3))
linalg.eigh(eye(2), UPLO='X')
linalg.eigh(ones(2, 2, dtype=int64))
linalg.eigh(ones(5, 5) * NAN[0, 0])
linalg.svd(ones(3))
linalg.svd(NAN)
linalg.svd(ones(2, 2, dtype=float16))
linalg.pinv(ones(2, 2, dtype=int64))
linalg.matrix_rank(ones(3))
linalg.matrix_rank(ones(0, 2, dtype=int64))
linalg.matrix_rank(ones(2, 2, dtype=float16), atol=1.0)
linalg.lstsq(ones(3), ones(3))
linalg.lstsq(ones(5, 3), ones(4))
linalg.lstsq(ones(1, 5, 3), ones(4, 5))
linalg.lstsq(ones(5, 3), ones(5), driver='x')
linalg.lstsq(ones(5, 3), ones(5, dtype=float64))
linalg.lstsq(tensor([[1., 0], [0, 0], [0, 0]]), ones(3, 1), driver='gels')
linalg.lstsq(tensor([[0., 1], [0, 2]]), ones(2, 1), driver='gels')
linalg.lstsq(tensor([[0., 1, 2], [0, 0, 0]]), ones(2), driver='gels')
linalg.lstsq(tensor([[[1., 0], [0, 1]], [[1, 0], [0, 0]]]), ones(2, 2, 1), driver='gels')
linalg.householder_product(ones(2, 3), ones(2))
linalg.householder_product(ones(3, 2), ones(2, dtype=float64))
linalg.householder_product(ones(4, 3, 2), ones(1, 2))
linalg.householder_product(ones(4, 3, 2), ones(2))
ormqr(ones(3, 2), ones(2), ones(3))
ormqr(ones(3, 2), ones(2), ones(2, 2))
ormqr(ones(9, 2), ones(9), ones(9, 3))
ormqr(ones(9, 2), ones(9), ones(3, 9), left=False)
ormqr(ones(4, 3, 2), ones(2), ones(4, 3, 3))
ormqr(ones(4, 3, 2), ones(1, 2), ones(4, 3, 3))
ormqr(ones(4, 3, 2), ones(4, 2), ones(3, 3))
ormqr(ones(4, 3, 2), ones(4, 2), ones(1, 3, 3))
ormqr(ones(3, 2), ones(2, dtype=float16), ones(3, 3))
ormqr(ones(3, 2), ones(2), ones(3, 3, dtype=float64))
linalg.matrix_exp(ones(2, 3))
linalg.tensorinv(ones(2, 3))
linalg.tensorinv(ones(2, 3), 0)
linalg.tensorsolve(ones(2, 3), ones(2))
linalg.cond(ones(3))
linalg.cond(ones(2, 2), 3)
linalg.cond(ones(2, 3), 1)
linalg.cond(ones(2, 3), -inf)
linalg.cond(ones(2, 2), 'x')
linalg.cond(ones(2, 3), 'fro')
linalg.cond(ones(2, 0, 3), 'nuc')
linalg.cond(ones(3), 'nuc')
matrix_power(S, -1)
""".strip().splitlines()


def outcome(t, text: str):
    names = {name: getattr(t, name) for name in dir(t) if name[0] != "_"}
    names["S"] = t.tensor([[1.0, 2.0], [2.0, 4.0]])
    names["BATCH"] = t.stack([t.eye(2), names["S"]])
    names["NAN"] = t.full((2, 2), float("nan"))
    try:
        return [], str(eval(text, names))
    except RuntimeError as error:
        kinds = (t.linalg.LinAlgError, NotImplementedError)
        return [isinstance(error, kind) for kind in kinds], str(error)


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    torch = pytest.importorskip("torch")
    (kinds, ours), (expected_kinds, theirs) = outcome(dt, text), outcome(torch, text)
    assert kinds == expected_kinds
    assert ours.endswith(theirs)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((1, 3, 3), (2, 3, 3)),
        ((1, 5, 3), (4, 5, 2)),
        ((2, 1, 3, 5), (2, 4, 3, 1)),
        ((3, 5, 3), (1, 5, 2)),
    ],
)
def test_ranks_and_singular_values_are_the_matrices(a, b, driver, torch):
    def parts(t):
        of = [
            t.arange(float(np.prod(s)), dtype=t.float64).square().mul(0.37).sin().reshape(s)
            for s in (a, b)
        ]
        return [x.numpy() for x in t.linalg.lstsq(*of, driver=driver)]

    for ours, theirs in zip(parts(dt), parts(torch), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-9)


def test_refused_before_sizes_are_read():
    """PyTorch refuses these by accident, of its vectors and its tables."""
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        dt.ormqr(dt.ones(3, 2), dt.tensor(1.0), dt.ones(3, 3))
    with pytest.raises(RuntimeError, match="LU_pivots with 1 or more dimensions"):
        dt.lu_unpack(dt.eye(2), dt.tensor(1, dtype=dt.int32))
    with pytest.raises(RuntimeError, match="B has 4 dimensions, but A only 2"):
        dt.linalg.tensorsolve(dt.ones(2, 2), dt.ones(2, 2, 2, 2))


def test_nan_goes_through():
    x = dt.full((3, 3), float("nan"))
    for f in (dt.linalg.inv, dt.linalg.det, dt.linalg.matrix_exp, lambda x: dt.linalg.qr(x)[0]):
        assert f(x).isnan().all().item()
    assert dt.linalg.lu_factor_ex(x).info.item() == 0


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_matrix_exp_of_16_bits(kind, torch):
    """PyTorch's is wrong: the truth is its float64."""

    def run(t, kind):
        x = t.tensor(
            [[0.0, 1.5, 3.0], [0.5, 2.0, 3.5], [0.75, 2.25, 3.75]],
            dtype=getattr(t, kind),
            requires_grad=True,
        )
        y = t.linalg.matrix_exp(x)
        y.sum().backward()
        return [z.detach().double().numpy() for z in (y, x.grad)]

    rounding = dt.finfo(getattr(dt, kind)).eps
    for ours, truth in zip(run(dt, kind), run(torch, "float64"), strict=True):
        np.testing.assert_allclose(ours, truth, rtol=rounding)


def test_ends_of_the_numbers():
    """Lengths whose squares a double cannot hold."""
    for scale in (1e200, 1e-200):
        x = dt.tensor([[3.0, 1.0], [4.0, 2.0]], dtype=dt.float64)
        q, r = dt.linalg.qr(x * scale)
        np.testing.assert_allclose(((q @ r) / scale).numpy(), x.numpy(), rtol=1e-14)
        u, s, vh = dt.linalg.svd(x * scale)
        np.testing.assert_allclose(((u * s @ vh) / scale).numpy(), x.numpy(), rtol=1e-14)
        w = dt.linalg.eigvalsh((x + x.mT) * scale) / scale
        np.testing.assert_allclose(w.numpy(), np.linalg.eigvalsh((x + x.mT).numpy()), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 130])
def test_reconstructions(n):
    """The factors' product is the matrix, to the rounding of a double."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n))
    spd = a @ a.T + np.eye(n)
    wide = rng.standard_normal((n, n + 7))
    near = {"rtol": 0, "atol": 1e-12 * n}
    x, s, w = dt.tensor(a), dt.tensor(spd), dt.tensor(wide)
    p, low, u = dt.linalg.lu(x)
    np.testing.assert_allclose((p @ low @ u).numpy(), a, **near)
    low = dt.linalg.cholesky(s)
    np.testing.assert_allclose((low @ low.mT).numpy(), spd, **near)
    for y in (w, w.mT):
        q, r = dt.linalg.qr(y)
        np.testing.assert_allclose((q @ r).numpy(), y.numpy(), **near)
        u, d, vh = dt.linalg.svd(y)
        k = d.shape[0]
        np.testing.assert_allclose((u[:, :k] * d @ vh[:k]).numpy(), y.numpy(), **near)
        for v in (u, vh):
            np.testing.assert_allclose((v @ v.mT).numpy(), np.eye(v.shape[0]), **near)
        np.testing.assert_allclose(d.numpy(), np.linalg.svd(y.numpy())[1], **near)
    d, v = dt.linalg.eigh(s)
    np.testing.assert_allclose((v * d @ v.mT).numpy(), spd, **near)
    np.testing.assert_allclose(d.numpy(), np.linalg.eigvalsh(spd), **near)
    upper = np.triu(a) + n * np.eye(n)
    b = rng.standard_normal((n, 3))
    y = dt.linalg.solve_triangular(dt.tensor(upper), dt.tensor(b), upper=True)
    np.testing.assert_allclose(upper @ y.numpy(), b, **near)


@pytest.mark.parametrize("n", [45, 300])
def test_float32_is_as_good_as_its_epsilon(n):
    """Float32 is calculated in float32: residuals of some epsilons of the matrix's norm, at sizes of several blocks."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n)).astype("float32")
    spd = (a @ a.T / n + np.eye(n)).astype("float32")
    x, s = dt.tensor(a), dt.tensor(spd)
    bound = 4 * np.sqrt(n) * np.finfo("float32").eps

    def residual(y, expected):
        exact = expected.astype("float64")
        return np.linalg.norm(y.astype("float64") - exact, 2) / np.linalg.norm(exact, 2)

    def product(*factors):
        return np.linalg.multi_dot([np.asarray(f.double()) for f in factors])

    p, low, u = dt.linalg.lu(x)
    assert residual(product(p, low, u), a) < bound
    low = dt.linalg.cholesky(s)
    assert residual(product(low, low.mT), spd) < bound
    q, r = dt.linalg.qr(x)
    assert residual(product(q, r), a) < bound
    w, v = dt.linalg.eigh(s)
    assert residual(product(v, dt.diag(w), v.mT), spd) < bound
    u, d, vh = dt.linalg.svd(x)
    assert residual(product(u, dt.diag(d), vh), a) < bound
    for y in (q, v, u, vh):
        assert residual(product(y, y.mT), np.eye(n)) < bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_spectra_that_repeat(dtype):
    """Zeros, ones and equal blocks, which split the iterations: residuals of some epsilons of the norm."""

    def check(y, x):
        bound = 4 * np.sqrt(len(x)) * np.finfo(dtype).eps * np.linalg.norm(x.numpy(), 2)
        assert np.linalg.norm((y - x).numpy(), 2) <= bound

    exact = {"dtype": getattr(dt, dtype)}
    zero, one = dt.zeros(9, 9, **exact), dt.eye(9, **exact)
    for x in (zero, one, one * 0 + 1, dt.block_diag(one[:3, :3], zero[:2, :2], zero[:4, :4] + 1)):
        u, s, vh = dt.linalg.svd(x)
        check(u * s @ vh, x)
        w, v = dt.linalg.eigh(x)
        check(v * w @ v.mT, x)
    bidiagonal = dt.diag(dt.tensor([1.0, 0, 2, 0, 3], **exact)) + dt.diag(dt.ones(4, **exact), 1)
    u, s, vh = dt.linalg.svd(bidiagonal)
    check(u * s @ vh, bidiagonal)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [65, 150, 300])
def test_spectra_of_many_scales(n, dtype):
    """Rows and columns from 1 to 1e-20, falling, rising and mixed: the first number of a spectrum converges late."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal((n, n))
    falling = 10.0 ** -np.linspace(0, 20, n)
    for scales in (falling, falling[::-1], rng.permutation(falling)):
        x = (scales[:, None] * (a @ a.T + n * np.eye(n)) * scales).astype(dtype)
        exact = x.astype("float64")
        bound = 4 * np.sqrt(n) * np.finfo(dtype).eps * np.linalg.norm(exact, 2)
        s = np.linalg.svd(exact, compute_uv=False)
        np.testing.assert_allclose(dt.linalg.svdvals(dt.tensor(x)).numpy(), s, rtol=0, atol=bound)
        w = np.linalg.eigvalsh(exact)
        np.testing.assert_allclose(dt.linalg.eigvalsh(dt.tensor(x)).numpy(), w, rtol=0, atol=bound)


def test_qr_of_an_infinity_is_no_number():
    """As LAPACK's: a column with an infinity has no direction."""
    for place in (0, 3, 4):
        x = dt.arange(9.0).reshape(3, 3).sin()
        x.view(-1)[place] = math.inf
        q, r = dt.linalg.qr(x)
        assert q.isnan().any().item() or r.isnan().any().item()


def test_any_number_of_threads():
    x = dt.randn(220, 220, dtype=dt.float64, generator=dt.Generator().manual_seed(3))
    many = dt.randn(400, 9, 9, generator=dt.Generator().manual_seed(4))

    def results():
        lu = dt.linalg.lu_factor(x).LU
        return [
            lu,
            *dt.linalg.svd(x),
            *dt.linalg.eigh(x + x.mT),
            *dt.linalg.qr(x),
            dt.linalg.cholesky(x @ x.mT + dt.eye(220)),
            dt.linalg.inv(x.float()),
            dt.linalg.inv(many),
        ]

    threads = dt.get_num_threads()
    try:
        dt.set_num_threads(1)
        alone = results()
        dt.set_num_threads(2)
        for y, expected in zip(results(), alone):
            assert y.eq(expected).all().item()
    finally:
        dt.set_num_threads(threads)


def test_gradient_of_a_singular_determinant():
    """The cofactors, which do not divide by the determinant."""
    x = dt.tensor(
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]], dtype=dt.float64, requires_grad=True
    )
    (g,) = dt.autograd.grad(dt.linalg.det(x), x)
    cofactors = [[3, -6, 3], [3, -6, 3], [-3, 6, -3]]
    np.testing.assert_allclose(g.numpy(), cofactors, atol=1e-12)


@pytest.mark.parametrize("way", ["values", "vectors", "both"])
def test_gradients_of_a_spectrum_are_symmetric(way):
    """Also where nothing on the way to the matrix makes them so."""
    torch = pytest.importorskip("torch")
    matrix = np.random.default_rng(1).standard_normal((2, 4, 4))  # whose upper triangle is not read
    weight = np.arange(16.0).reshape(4, 4)

    def found(t):
        x, weights = t.tensor(matrix, requires_grad=True), t.tensor(weight)
        values, vectors = t.linalg.eigh(x)
        y = 0 if way == "vectors" else values.exp().sum()
        y = y if way == "values" else y + (vectors**2 * weights).sum()
        (first,) = t.autograd.grad(y, x, create_graph=True)
        return first, *t.autograd.grad((first * weights).sum(), x)

    for ours, theirs in zip(found(dt), found(torch), strict=True):
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 2, 3), (0, 0)])
def test_strides_of_nothing(sizes):
    torch = pytest.importorskip("torch")

    def found(t):
        x = t.ones(*sizes)
        yield from t.linalg.svd(x)
        yield from t.linalg.svd(x, full_matrices=False)
        yield from t.svd(x)
        for mode in ("reduced", "complete", "r"):
            yield from t.linalg.qr(x, mode)

    for ours, theirs in zip(found(dt), found(torch), strict=True):
        assert ours.stride() == theirs.stride()
        assert ours.tolist() == theirs.tolist()
        assert ours._version == theirs._version


def test_older_forms():
    torch = pytest.importorskip("torch")
    a = np.random.default_rng(0).standard_normal((4, 3))
    for name, arguments in (("qr", ()), ("qr", (False,)), ("pinverse", ()), ("lu", ())):
        ours, theirs = (getattr(t, name)(t.tensor(a), *arguments) for t in (dt, torch))
        pairs = zip(ours, theirs) if isinstance(theirs, tuple) else ((ours, theirs),)
        for y, expected in pairs:
            np.testing.assert_allclose(y.numpy(), expected.numpy(), atol=1e-12)
    for options in ({"tol": 1.5}, {"tol": 0.1, "hermitian": True}):
        x = a[:3] + a[:3].T
        ours, theirs = (t.linalg.matrix_rank(t.tensor(x), **options) for t in (dt, torch))
        assert ours.item() == theirs.item()
    assert dt.linalg.cond(dt.ones(2, 2), "fro").item() == float("inf")


HALF = """
linalg.cholesky(S)
linalg.cholesky_ex(S).L
cholesky(S)
cholesky_solve(B, S)
cholesky_inverse(S)
lu_solve(B, eye(2), PIVOTS)
linalg.lu_solve(eye(2), PIVOTS, B)
linalg.lu_factor(S).LU
linalg.solve(S, B)
linalg.solve_ex(S, B).result
linalg.solve_triangular(S, B, upper=True)
triangular_solve(B, S).solution
linalg.inv(S)
inverse(S)
linalg.inv_ex(S).inverse
linalg.det(S)
linalg.slogdet(S).logabsdet
linalg.qr(S).R
geqrf(S).a
linalg.householder_product(S, B[:, 0])
orgqr(S, B[:, 0])
ormqr(S, B[:, 0], B)
linalg.eigh(S).eigenvalues
linalg.eigvalsh(S)
linalg.svd(S).S
linalg.svdvals(S)
svd(S).S
linalg.pinv(S)
linalg.matrix_rank(S)
linalg.matrix_rank(S, atol=2.0)
linalg.lstsq(S, B).solution
linalg.cond(S)
linalg.cond(S, 1)
linalg.cond(S, 'fro')
linalg.tensorinv(S, 1)
linalg.tensorsolve(S, B[:, 0])
matrix_power(S, -3)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("text", HALF)
def test_autocast(text, dtype):
    """Factorisations are in float32, also of half precisions, or refuse them."""

    def result(t):
        names = {name: getattr(t, name) for name in dir(t) if name[0] != "_"}
        names["S"] = t.tensor([[4.0, 1.0], [1.0, 3.0]]).to(names[dtype])
        names["B"] = t.tensor([[1.0, 2.0], [0.5, -1.0]]).to(names[dtype])
        names["PIVOTS"] = t.tensor([1, 2], dtype=t.int32)
        names["eye"] = lambda n: t.eye(n, dtype=names[dtype])
        with t.autocast("cpu"):
            try:
                y = eval(text, names)
            except RuntimeError as error:
                return type(error).__name__, None
        return str(y.dtype), y.detach().float().numpy()

    (ours, y), (theirs, expected) = result(dt), result(pytest.importorskip("torch"))
    assert ours == theirs
    if expected is not None:
        np.testing.assert_allclose(y, expected, rtol=1e-2 if "bfloat16" in theirs else 1e-5)


def test_no_reflectors():
    """The identity, which has a backward; PyTorch's leaves no gradient there, ours zeros."""
    for t in (dt, pytest.importorskip("torch")):
        x = t.ones(2, 3, 2, requires_grad=True)
        q = t.linalg.householder_product(x, t.ones(2, 0))
        assert q.eq(t.eye(3, 2)).all().item()
        q.sum().backward()
        assert x.grad is None if t is not dt else x.grad.eq(0).all().item()


def test_geqrf_of_a_vector(refusals):
    (_, ours), (_, theirs) = refusals(lambda t: t.geqrf(t.ones(2)), RuntimeError)
    assert ours == theirs


def test_geqrf_has_no_derivative():
    factors, tau = dt.geqrf(dt.ones(3, 2, requires_grad=True))
    assert factors.requires_grad and tau.requires_grad
    with pytest.raises(NotImplementedError, match="the derivative for 'geqrf' is not implemented."):
        tau.sum().backward()


SINGULAR = [
    [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0]],
    [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]],
]  # fmt: skip


@pytest.mark.parametrize("order", [1, -1, math.inf, -math.inf, "fro"])
@pytest.mark.parametrize("matrix", SINGULAR)
def test_condition_of_singular_matrices(matrix, order, both, same):
    """Infinite, even where a norm of the matrix is 0."""
    same(*both(lambda t: t.linalg.cond(t.tensor(matrix, dtype=t.float64), order)))


@pytest.mark.parametrize("matrix", [*SINGULAR[:3], [[1.0, 2.0], [3.0, 4.0]]])
def test_nuclear_condition(matrix, both, same):
    same(*both(lambda t: t.linalg.cond(t.tensor(matrix, dtype=t.float64), "nuc")))


@pytest.mark.parametrize("rcond", [-1.0, 0.3, 0.999, 1.0, 2.0])
@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]])
def test_tolerances_of_lstsq(matrix, driver, rcond, both, same):
    """gelsd takes those from 1 on for none; a negative one is machine precision."""

    def run(t):
        a, b = t.tensor(matrix, dtype=t.float64), t.tensor([[1.0], [3.0]], dtype=t.float64)
        out = t.linalg.lstsq(a, b, rcond=rcond, driver=driver)
        return out.solution, out.rank, out.singular_values

    same(*both(run))


@pytest.mark.parametrize("rcond", [0.3, 0.999, 1.0, 2.0, float("inf"), float("nan"), -1.0])
@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("matrix", [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]]])
def test_rank_of_lstsq_by_tolerance(matrix, driver, rcond, both):
    """By gelsy the largest counts whatever the tolerance."""

    def run(t):
        a = t.tensor(matrix, dtype=t.float64)
        return t.linalg.lstsq(a, t.ones(2, 1, dtype=t.float64), rcond=rcond, driver=driver).rank

    ours, theirs = both(run)
    assert ours.item() == theirs.item()


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("rows, columns", [(1, 1), (40, 3), (300, 20), (3, 40), (57, 57)])
def test_least_squares(rows, columns, driver, both, same):
    def run(t):
        a = t.arange(2.0 * rows * columns, dtype=t.float64).reshape(2, rows, columns)
        a = (a * a * 0.7).sin() + t.eye(rows, columns, dtype=t.float64)
        b = t.arange(4.0 * rows, dtype=t.float64).reshape(2, rows, 2).cos()
        out = t.linalg.lstsq(a, b, driver=driver)
        return out.solution, out.residuals, out.rank, out.singular_values

    same(*both(run))


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_of_zeros(driver, both, same):
    same(*both(lambda t: t.linalg.lstsq(t.zeros(3, 2), t.ones(3, 1), driver=driver).solution))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 21])
@pytest.mark.parametrize("columns", [1, 3, 5, 16])
def test_small_systems_in_a_batch(rows, columns, dtype):
    """Those that are worth no calls, and the first that are: against NumPy in double precision."""
    rng = np.random.default_rng(rows * 17 + columns)
    a = rng.normal(size=(40, rows, rows)) + 3 * rng.permutation(np.eye(rows))
    b = rng.normal(size=(40, rows, columns))
    x, y = (dt.tensor(v.astype(dtype)) for v in (a, b))
    a, b = (v.double().numpy() for v in (x, y))
    factors, pivots = dt.linalg.lu_factor(x)
    triangle = x + 6 * dt.eye(rows, dtype=x.dtype)
    exact = triangle.double().numpy()
    lower = np.tril(exact, -1) / 8 + np.eye(rows)
    half = dt.tensor(np.tril(exact, -1) / 8).to(x.dtype)
    square = x @ x.mT + dt.eye(rows, dtype=x.dtype)
    for got, wanted in (
        (dt.linalg.solve(x, y), np.linalg.solve(a, b)),
        (dt.linalg.solve(x, y.mT, left=False).mT, np.linalg.solve(a.swapaxes(1, 2), b)),
        (dt.linalg.lu_solve(factors, pivots, y, adjoint=True), np.linalg.solve(a.swapaxes(1, 2), b)),
        (dt.linalg.inv(x), np.linalg.inv(a)),
        (dt.linalg.det(x), np.linalg.det(a)),
        (dt.linalg.cholesky(square), np.linalg.cholesky(square.double().numpy())),
        (dt.linalg.solve_triangular(triangle, y, upper=True), np.linalg.solve(np.triu(exact), b)),
        (dt.linalg.solve_triangular(triangle.mT, y, upper=False), np.linalg.solve(np.triu(exact).swapaxes(1, 2), b)),
        (dt.linalg.solve_triangular(half, y, upper=False, unitriangular=True), np.linalg.solve(lower, b)),
    ):  # fmt: skip
        scale = np.abs(wanted).max()
        close = 1e-3 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(got.double().numpy(), wanted, rtol=close, atol=close * scale)


@pytest.mark.parametrize("rows", [2, 5, 12, 13, 20, 32])
def test_a_small_matrix_that_is_not_positive_says_which_minor(rows):
    for minor in (1, rows // 2 + 1, rows):
        x = dt.eye(rows)
        x[minor - 1, minor - 1] = -1
        assert dt.linalg.cholesky_ex(x)[1].item() == minor
        x[minor - 1, minor - 1] = math.nan
        assert dt.linalg.cholesky_ex(x)[1].item() == minor
