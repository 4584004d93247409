"""Factorisations of matrices and what is solved with them. Vectors that have a sign of their own, or a basis, are
compared by what does not depend on it."""

from table import Row, fixed, value

ROWS: list[Row] = []
# A gradient goes through an inverse, or several.
LOOSE = {"float32": 5e-4, "float64": 1e-9}


def row(op, call, *inputs, orders=2, rtol=LOOSE, **more):
    ROWS.append(Row(op, call, inputs, orders=orders, rtol=rtol, **more))


def real(x):
    """PyTorch factors no narrow floats, and neither do we."""
    return x.float() if x.element_size() == 2 else x


def regular(t, x):
    """A matrix far from a singular one, whose rows are exchanged when it is factored."""
    x = real(x)
    return x + 5 * t.eye(x.shape[-1], dtype=x.dtype).flip(0)


def definite(t, x):
    x = real(x)
    return x @ x.mT + t.eye(x.shape[-2], dtype=x.dtype)


def lower(t, x):
    x = real(x)
    return x.tril() + 3 * t.eye(x.shape[-1], dtype=x.dtype)


MATRIX, BATCH, EMPTY = value(4, 4), value(2, 3, 3), value(2, 0, 0)

# ---- Cholesky

for x in (MATRIX, BATCH, value(1, 1), EMPTY):
    row("linalg_cholesky", lambda t, x: t.linalg.cholesky(definite(t, x)), x)
row("linalg_cholesky", lambda t, x: t.linalg.cholesky(definite(t, x), upper=True), BATCH)
row("linalg_cholesky", lambda t, x: t.linalg.cholesky(definite(t, x)), value(70, 70), orders=1)
row("linalg_cholesky_ex", lambda t, x: t.linalg.cholesky_ex(definite(t, x)), BATCH)
row("linalg_cholesky_ex", lambda t, x: t.linalg.cholesky_ex(-definite(t, x)).info, BATCH, orders=0)
row("cholesky", lambda t, x: definite(t, x).cholesky(True), MATRIX)
for upper in (False, True):
    row("cholesky_solve", lambda t, b, x, u=upper: real(b).cholesky_solve(lower(t, x).mT if u else lower(t, x), u),
        value(3, 2), BATCH)  # fmt: skip
    row(
        "cholesky_inverse",
        lambda t, x, u=upper: (lower(t, x).mT if u else lower(t, x)).cholesky_inverse(u),
        BATCH,
    )
row("cholesky_inverse", lambda t, x: t.cholesky_inverse(lower(t, x)), value(0, 0))

# ---- LU

for sizes in ((4, 4), (2, 3, 5), (2, 5, 3), (0, 3), (2, 0, 0)):
    row("linalg_lu_factor", lambda t, x: t.linalg.lu_factor(real(x)), value(*sizes), layouts=False)
    row(
        "linalg_lu_factor_ex",
        lambda t, x: t.linalg.lu_factor_ex(real(x)),
        value(*sizes),
        layouts=False,
    )
    row("linalg_lu", lambda t, x: t.linalg.lu(real(x)), value(*sizes), layouts=False)
for sizes in ((70, 70), (90, 40), (40, 90)):
    row(
        "linalg_lu_factor",
        lambda t, x: t.linalg.lu_factor(real(x)),
        value(*sizes),
        orders=0,
        layouts=False,
    )
row(
    "lu_unpack",
    lambda t, x: t.lu_unpack(*t.linalg.lu_factor(real(x))),
    value(2, 4, 3),
    layouts=False,
)
row(
    "lu_unpack",
    lambda t, x: t.lu_unpack(*t.linalg.lu_factor(real(x)), unpack_data=False)[0],
    value(4, 3),
    orders=0,
    layouts=False,
)
for adjoint in (False, True):
    for left in (False, True):
        row("linalg_lu_solve", lambda t, x, b, a=adjoint, s=left: t.linalg.lu_solve(*t.linalg.lu_factor(regular(t, x)), real(b), left=s, adjoint=a),
            BATCH, value(3, 3))  # fmt: skip
row(
    "lu_solve",
    lambda t, b, x: real(b).lu_solve(*t.linalg.lu_factor(regular(t, x))),
    value(4, 2),
    MATRIX,
)

# ---- systems

for a, b in (((4, 4), (4, 2)), ((4, 4), (4,)), ((2, 3, 3), (2, 3)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 1, 3, 2)),
             ((0, 0), (0, 3)), ((2, 3, 3), (2, 3, 0))):  # fmt: skip
    row(
        "linalg_solve", lambda t, a, b: t.linalg.solve(regular(t, a), real(b)), value(*a), value(*b)
    )
row(
    "linalg_solve",
    lambda t, a, b: t.linalg.solve(regular(t, a), real(b), left=False),
    BATCH,
    value(2, 2, 3),
)
row(
    "linalg_solve",
    lambda t, a, b: t.linalg.solve(regular(t, a) + 10 * t.eye(80, dtype=real(a).dtype), real(b)),
    value(80, 80),
    value(80, 3),
    orders=1,
)
row(
    "linalg_solve_ex",
    lambda t, a, b: t.linalg.solve_ex(regular(t, a), real(b)),
    BATCH,
    value(2, 3, 2),
)
for upper in (False, True):
    for left in (False, True):
        for unit in (False, True):
            row("linalg_solve_triangular", lambda t, a, b, u=upper, s=left, i=unit: t.linalg.solve_triangular(
                lower(t, a).mT if u else lower(t, a), real(b), upper=u, left=s, unitriangular=i), BATCH, value(3, 3))  # fmt: skip
    # The other triangle is not read.
    row("linalg_solve_triangular", lambda t, a, b, u=upper: t.linalg.solve_triangular(regular(t, a) + 5 * t.eye(3, dtype=real(a).dtype), real(b), upper=u),
        value(3, 3), value(2, 3, 1))  # fmt: skip
    row("linalg_solve_triangular", lambda t, a, b, u=upper: t.linalg.solve_triangular(real(a) / 80 + 2 * t.eye(80, dtype=real(a).dtype), real(b), upper=u),
        value(80, 80), value(80, 5), orders=1)  # fmt: skip
    for transpose in (False, True):
        row("triangular_solve", lambda t, b, a, u=upper, s=transpose: t.triangular_solve(real(b), regular(t, a) + 5 * t.eye(4, dtype=real(a).dtype), u, s),
            value(4, 2), MATRIX, torch_orders=1)  # fmt: skip

# ---- inverse and determinant

for x in (MATRIX, BATCH, value(1, 1), EMPTY):
    row("linalg_inv", lambda t, x: t.linalg.inv(regular(t, x)), x)
    row("linalg_det", lambda t, x: t.linalg.det(real(x)), x, layouts=False)
    row("linalg_slogdet", lambda t, x: t.linalg.slogdet(regular(t, x)), x)
row("inverse", lambda t, x: regular(t, x).inverse(), BATCH)
row("linalg_inv_ex", lambda t, x: t.linalg.inv_ex(regular(t, x)), BATCH)
row("linalg_det", lambda t, x: t.linalg.det(real(x) / 5), value(70, 70), orders=0)
row("det", lambda t, x: real(x).det(), BATCH)
row("slogdet", lambda t, x: regular(t, x).slogdet(), BATCH)
row("logdet", lambda t, x: definite(t, x).logdet(), BATCH)
row("logdet", lambda t, x: t.logdet(-definite(t, x)), fixed(2, 3, 3), orders=0)

# ---- QR

for sizes in ((4, 4), (2, 5, 3), (3, 5), (2, 0, 0), (0, 3), (1, 1)):
    row(
        "linalg_qr",
        lambda t, x: t.linalg.qr(real(x) + t.eye(*x.shape[-2:], dtype=real(x).dtype)),
        value(*sizes),
        layouts=False,
    )
    row(
        "linalg_qr",
        lambda t, x: t.linalg.qr(real(x), mode="complete"),
        value(*sizes),
        orders=0,
        layouts=False,
    )
    row(
        "linalg_qr",
        lambda t, x: t.linalg.qr(real(x), mode="r").R,
        value(*sizes),
        orders=0,
        layouts=False,
    )
    row("geqrf", lambda t, x: t.geqrf(real(x)), value(*sizes), orders=0, layouts=False)
row("linalg_qr", lambda t, x: t.linalg.qr(real(x)), value(80, 60), orders=0, layouts=False)
for name in ("orgqr", "linalg_householder_product"):
    row(
        name,
        lambda t, x, s, n=name: (t.orgqr if n == "orgqr" else t.linalg.householder_product)(
            real(x), real(s)
        ),
        value(2, 5, 3),
        value(2, 3),
    )
for left in (False, True):
    for transpose in (False, True):
        row("ormqr", lambda t, x, y, s=left, u=transpose: t.ormqr(*t.geqrf(real(x)), real(y), s, u),
            value(4, 2), value(4, 4), orders=0, layouts=False)  # fmt: skip
        row("ormqr",
            lambda t, v, s, y, a=left, b=transpose: t.ormqr(real(v), real(s), real(y), a, b),
            value(4, 2), value(2), value(4, 4))  # fmt: skip

# ---- eigenvalues and singular values


def symmetric(t, x):
    x = real(x)
    return x + x.mT + t.diag(t.arange(x.shape[-1], dtype=x.dtype)) * 3


def of_spectrum(w, v):
    """What does not depend on the vectors' signs."""
    return w, v * v, (v * w.unsqueeze(-2).cos()) @ v.mT


def of_singular(u, s, vh):
    k = s.shape[-1]
    return (
        s,
        u[..., :k] ** 2,
        vh[..., :k, :] ** 2,
        (u[..., :k] * s.cos().unsqueeze(-2)) @ vh[..., :k, :],
    )


for sizes in ((4, 4), (2, 3, 3), (1, 1), (2, 0, 0)):
    for uplo in "LU":
        row(
            "linalg_eigh",
            lambda t, x, u=uplo: of_spectrum(*t.linalg.eigh(symmetric(t, x), u)),
            value(*sizes),
            layouts=False,
        )
    row(
        "linalg_eigvalsh",
        lambda t, x: t.linalg.eigvalsh(symmetric(t, x)),
        value(*sizes),
        layouts=False,
    )
row(
    "linalg_eigh",
    lambda t, x: t.linalg.eigh(symmetric(t, x))[0],
    value(70, 70),
    orders=1,
    layouts=False,
)
for sizes in ((4, 4), (2, 5, 3), (3, 5), (1, 4), (4, 1), (2, 0, 3), (3, 0)):
    row(
        "linalg_svd",
        lambda t, x: of_singular(*t.linalg.svd(real(x), full_matrices=False)),
        value(*sizes),
        layouts=False,
    )
    row(
        "linalg_svd",
        lambda t, x: [y.mT @ y for y in t.linalg.svd(real(x))[::2]],
        value(*sizes),
        orders=0,
    )
    row("linalg_svdvals", lambda t, x: t.linalg.svdvals(real(x)), value(*sizes), layouts=False)
row(
    "linalg_svdvals", lambda t, x: t.linalg.svdvals(real(x)), value(70, 90), orders=1, layouts=False
)
row(
    "svd",
    lambda t, x: (lambda u, s, v: of_singular(u, s, v.mT))(*real(x).svd()),
    value(2, 5, 3),
    layouts=False,
)
row("svd", lambda t, x: t.svd(real(x), compute_uv=False), value(4, 3), orders=0)

# ---- rank

for sizes in ((4, 4), (2, 5, 3), (3, 5), (2, 0, 3)):
    row(
        "linalg_pinv",
        lambda t, x: t.linalg.pinv(real(x) + 3 * t.eye(*x.shape[-2:], dtype=real(x).dtype)),
        value(*sizes),
        layouts=False,
    )
    row("linalg_matrix_rank", lambda t, x: t.linalg.matrix_rank(real(x)), value(*sizes), orders=0)
row(
    "linalg_pinv",
    lambda t, x: t.linalg.pinv(symmetric(t, x), hermitian=True),
    value(3, 3),
    layouts=False,
)
row(
    "linalg_pinv",
    lambda t, x: t.linalg.pinv(real(x) @ real(x).mT, rtol=1e-3),
    value(2, 5, 3),
    orders=0,
    layouts=False,
)
for limit in ({"atol": 1.5}, {"rtol": 0.3}, {"atol": 1.0, "rtol": 0.5}):
    row(
        "linalg_matrix_rank",
        lambda t, x, o=limit: t.linalg.matrix_rank(real(x), **o),
        value(2, 4, 4),
        orders=0,
    )
row(
    "linalg_matrix_rank",
    lambda t, x: t.linalg.matrix_rank(symmetric(t, x), hermitian=True, atol=2.0),
    value(4, 4),
    orders=0,
)
for a, b in (((5, 3), (5, 2)), ((3, 5), (3, 2)), ((4, 4), (4,)), ((2, 5, 3), (2, 5))):
    row(
        "linalg_lstsq",
        lambda t, a, b: t.linalg.lstsq(real(a), real(b)).solution,
        value(*a),
        value(*b),
        layouts=False,
    )
    for driver in ("gelsy", "gelsd"):
        row(
            "linalg_lstsq",
            lambda t, a, b, d=driver: t.linalg.lstsq(real(a), real(b), driver=d),
            value(*a),
            value(*b),
            orders=0,
            layouts=False,
        )
for p in (None, 2, -2, 1, -1, float("inf"), "fro", "nuc"):
    row("linalg_cond_named" if isinstance(p, str) else "linalg_cond", lambda t, x, p=p: t.linalg.cond(regular(t, x), p), BATCH, layouts=False,
        torch_orders=2 if p in (None, 2, -2) else 0)  # PyTorch's writes what its gradient needs  # fmt: skip

# ---- functions of matrices

for scale in (0.01, 1.0, 30.0):
    row(
        "linalg_matrix_exp",
        lambda t, x, s=scale: t.linalg.matrix_exp((real(x) - real(x).mT) * s),
        value(2, 3, 3),
        orders=1,
    )
row("linalg_matrix_exp", lambda t, x: t.linalg.matrix_exp(real(x)), value(4, 4))
row("linalg_matrix_exp", lambda t, x: t.linalg.matrix_exp(real(x)), EMPTY)
row("matrix_exp", lambda t, x: real(x).matrix_exp(), value(3, 3))
row(
    "linalg_tensorinv",
    lambda t, x: t.linalg.tensorinv(
        (real(x) + 8 * t.eye(6, dtype=real(x).dtype)).reshape(2, 3, 6), 2
    ),
    value(6, 6),
)
row(
    "linalg_tensorsolve",
    lambda t, x, b: t.linalg.tensorsolve(
        (real(x) + 8 * t.eye(6, dtype=real(x).dtype)).reshape(2, 3, 6), real(b)
    ),
    value(6, 6),
    value(2, 3),
)
row(
    "linalg_tensorsolve",
    lambda t, x, b: t.linalg.tensorsolve(
        (real(x) + 8 * t.eye(6, dtype=real(x).dtype)).reshape(2, 6, 3), real(b), (1,)
    ),
    value(6, 6),
    value(2, 3),
)

# ---- norms by singular values

for order in (2, -2, "nuc"):
    row(
        "linalg_matrix_norm",
        lambda t, x, p=order: t.linalg.matrix_norm(real(x), p),
        value(2, 3, 4),
        layouts=False,
    )
    row(
        "linalg_matrix_norm",
        lambda t, x, p=order: t.linalg.matrix_norm(real(x), p, (2, 0), True),
        value(2, 3, 4),
        layouts=False,
    )
    row("linalg_norm", lambda t, x, p=order: t.linalg.norm(real(x), p), value(3, 4), layouts=False)
row("nuclear_norm", lambda t, x: t.nuclear_norm(real(x), (0, 1)), value(3, 4), layouts=False)
row("matrix_power", lambda t, x: regular(t, x).matrix_power(-3), BATCH)
