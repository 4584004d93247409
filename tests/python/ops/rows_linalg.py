"""Products, norms, distances, statistics, differences."""

import math

from table import ALL, FLOATS, NUMBERS, Row, fixed, value

ROWS: list[Row] = []


def row(op, call, *inputs, dtypes=FLOATS, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


def F(t):  # noqa: N802
    return t.nn.functional


# ---- matrices

BATCH = value(2, 3, 4), value(2, 4, 5)
for added in ((2, 3, 5), (3, 5), (1, 5), (2, 1, 1), (5,), ()):
    row("baddbmm", lambda t, c, a, b: t.baddbmm(c, a, b), value(*added), *BATCH, dtypes=NUMBERS)
row("baddbmm", lambda t, c, a, b: c.baddbmm(a, b, beta=0.5, alpha=2), value(2, 3, 5), *BATCH,
    inplace=lambda t, c, a, b: c.baddbmm_(a, b, beta=0.5, alpha=2))  # fmt: skip
row("baddbmm", lambda t, c, a, b: (c / 0).baddbmm(a, b, beta=0), fixed(5), *BATCH)
row("baddbmm", lambda t, c, a, b: c.baddbmm(a, b), value(5), value(2, 3, 0), value(2, 0, 5))
for added in ((3, 5), (3, 1), (5,)):
    row("addbmm", lambda t, c, a, b: t.addbmm(c, a, b), value(*added), *BATCH, dtypes=NUMBERS)
row("addbmm", lambda t, c, a, b: c.addbmm(a, b, beta=0.5, alpha=2), value(3, 5), *BATCH,
    inplace=lambda t, c, a, b: c.addbmm_(a, b, beta=0.5, alpha=2))  # fmt: skip
for added in ((3,), (1,), ()):
    row(
        "addmv",
        lambda t, c, a, b: t.addmv(c, a, b),
        value(*added),
        value(3, 4),
        value(4),
        dtypes=NUMBERS,
    )
row("addmv", lambda t, c, a, b: c.addmv(a, b, beta=0.5, alpha=2), value(3), value(3, 4), value(4),
    inplace=lambda t, c, a, b: c.addmv_(a, b, beta=0.5, alpha=2))  # fmt: skip
row("linalg_matmul", lambda t, a, b: t.linalg.matmul(a, b), value(2, 3, 4), value(4, 5))
for n in (0, 1, 2, 5):
    row(
        "matrix_power",
        lambda t, x, n=n: x.matrix_power(n),
        value(3, 3),
        dtypes=NUMBERS,
        rtol={"float32": 1e-4},
    )
    row(
        "matrix_power",
        lambda t, x, n=n: t.linalg.matrix_power(x, n),
        value(2, 3, 3),
        rtol={"float32": 1e-4},
    )
CHAIN = value(2, 5), value(5, 3), value(3, 7), value(7, 4)
row(
    "linalg_multi_dot",
    lambda t, *x: t.linalg.multi_dot(x),
    *CHAIN,
    dtypes=NUMBERS,
    rtol={"float32": 1e-4},
)
row(
    "linalg_multi_dot",
    lambda t, *x: t.linalg.multi_dot(x),
    value(5),
    *CHAIN[1:],
    value(4),
    rtol={"float32": 1e-4},
)
row("linalg_multi_dot", lambda t, *x: t.linalg.multi_dot(x), value(5), value(5))
row("chain_matmul", lambda t, *x: t.chain_matmul(*x), *CHAIN[:3], rtol={"float32": 1e-4})
row("trace", lambda t, x: x.trace(), value(3, 4), dtypes=NUMBERS)
row("linalg_diagonal", lambda t, x: t.linalg.diagonal(x, offset=1), value(2, 3, 4), dtypes=ALL)

# ---- vectors

row("vdot", lambda t, a, b: a.vdot(b), value(5), value(5), dtypes=NUMBERS)
for name in ("outer", "ger"):
    row(name, lambda t, a, b, n=name: getattr(t, n)(a, b), value(3), value(4), dtypes=ALL)
for added in ((3, 4), (4,), ()):
    row("addr", lambda t, c, a, b: t.addr(c, a, b), value(*added), value(3), value(4), dtypes=ALL)
row("addr", lambda t, c, a, b: c.addr(a, b, beta=2, alpha=3), value(3, 4), value(3), value(4), dtypes=ALL,
    inplace=lambda t, c, a, b: c.addr_(a, b, beta=2, alpha=3))  # fmt: skip
row("addr", lambda t, c, a, b: (c / 0).addr(a, b, beta=0, alpha=0.5), fixed(4), value(3), value(4))
for a, b in (((3,), (3,)), ((2, 3), (4, 3)), ((2, 5, 3), (3,)), ((), (2, 3)), ((2, 0), (4, 0))):
    row("inner", lambda t, a, b: a.inner(b), value(*a), value(*b), dtypes=NUMBERS)
for a, b, dim in (((3,), (3,), -1), ((2, 3), (1, 3), 1), ((3, 4), (3, 4), 0)):
    row(
        "linalg_cross",
        lambda t, a, b, d=dim: t.linalg.cross(a, b, dim=d),
        value(*a),
        value(*b),
        dtypes=NUMBERS,
    )
    row("cross", lambda t, a, b, d=dim: t.cross(a, b, d), value(*a), value(*b))
row("cross", lambda t, a, b: a.cross(b), value(2, 3, 3), value(2, 3, 3))
for a, b, dim in (((3,), (3,), -1), ((2, 3), (3,), -1), ((3, 4), (3, 1), 0), ((0, 2), (0, 2), 0)):
    row("linalg_vecdot", lambda t, a, b, d=dim: t.linalg.vecdot(a, b, dim=d), value(*a), value(*b))
for a, b in (((2, 3), (4, 5)), ((2, 3), (4,)), ((), (4,)), ((2, 1, 3), (3, 2)), ((0, 2), (3, 2))):
    row("kron", lambda t, a, b: t.kron(a, b), value(*a), value(*b), dtypes=ALL,
        layouts=False)  # PyTorch's refuses some views  # fmt: skip

# ---- products over named dimensions

EINSUM = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,kj->ki": ((2, 3), (4, 3)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "bhqd,bhkd->bhqk": ((2, 2, 3, 4), (2, 2, 5, 4)),
    "bhqk,bkhd->bqhd": ((2, 2, 3, 5), (2, 5, 2, 4)),
    "i,j->ij": ((3,), (4,)),
    "i,i->": ((3,), (3,)),
    "i,i": ((1,), (3,)),
    "ij,ij->ij": ((2, 3), (2, 1)),
    "ij->ji": ((2, 3),),
    "ij->": ((2, 3),),
    "ii": ((3, 3),),
    "iji->ji": ((3, 2, 3),),
    "iii->i": ((3, 3, 3),),
    "ij,j": ((2, 3), (3,)),
    "...ij,...jk->...ik": ((2, 1, 3, 4), (5, 4, 2)),
    "...a,...b": ((2, 3), (4, 2, 5)),
    "i...->...": ((2, 3),),
    "bn,anm,bm->ba": ((2, 3), (4, 3, 5), (2, 5)),
    "ab,bc,cd,da->": ((2, 3), (3, 4), (4, 2), (2, 2)),
    "ij,k->k": ((2, 3), (4,)),
    "ijk,jil->kl": ((2, 3, 4), (3, 2, 5)),
    "aB, aC -> BC": ((2, 3), (2, 4)),
    ",i->i": ((), (3,)),
    "ij,jk->ki": ((2, 0), (0, 3)),
}
for equation, operands in EINSUM.items():
    # In a chain of products, terms of one sign: what narrow types round between them must not cancel.
    low = 0.5 if len(operands) > 2 else -2.0
    row(
        "einsum", lambda t, *x, e=equation: t.einsum(e, *x), *(value(*s, low=low) for s in operands)
    )
row("einsum", lambda t, a, b: t.einsum("ij,jk->ki", a, b), value(2, 3), value(3, 4), dtypes=NUMBERS)
row("einsum", lambda t, a, b: t.einsum("ij,ij->ij", a, b), value(2, 3), value(2, 3), dtypes=ALL)
row("einsum", lambda t, a: t.einsum("ij->j", a), value(2, 3), dtypes=ALL)
row("einsum", lambda t, a, b: t.einsum("i,j", [a, b]), value(2), value(3))
row("einsum", lambda t, a, b: t.einsum(a, [0, 1], b, [1, 30], [30, 0]), value(2, 3), value(3, 4))
row("einsum", lambda t, a, b: t.einsum(a, [..., 1], b, [1, 0]), value(2, 3), value(3, 4))
for dims, a, b in (
    (2, (4, 2, 3), (2, 3, 5)),
    (0, (2, 3), (4,)),
    (1, (2, 3), (3, 4)),
    (1, (2, 1), (3, 4)),
):
    row(
        "tensordot",
        lambda t, a, b, d=dims: t.tensordot(a, b, d),
        value(*a),
        value(*b),
        dtypes=NUMBERS,
    )
for dims, a, b in ((([0, -1], [2, 0]), (2, 4, 3), (3, 5, 2)), (([1], [0]), (2, 3), (1, 4))):
    row(
        "tensordot_dims",
        lambda t, a, b, d=dims: t.tensordot(a, b, d),
        value(*a),
        value(*b),
        dtypes=NUMBERS,
    )
for sizes in ((4,), (2, 4), (2, 3, 4)):
    row("bilinear", lambda t, a, b, w, c: F(t).bilinear(a, b, w, c), value(*sizes), value(*sizes[:-1], 5),
        value(3, 4, 5), value(3))  # fmt: skip
row("bilinear", lambda t, a, b, w: F(t).bilinear(a, b, w), value(2, 4), value(2, 5), value(3, 4, 5))

# ---- norms and distances

AWAY = {"low": 0.3, "high": 2.0}
for order in (2, 1, 3, math.inf, -math.inf):
    row("linalg_vector_norm", lambda t, x, p=order: t.linalg.vector_norm(x, p, dim=1, keepdim=True),
        value(3, 4, **AWAY), rtol={"float32": 1e-4})  # fmt: skip
row("linalg_vector_norm", lambda t, x: t.linalg.vector_norm(x, dtype=t.float64), value(3, 4), orders=1,
    dtypes=("float32",))  # fmt: skip
for order in (1, -1, math.inf, -math.inf, "fro"):
    row(
        "linalg_matrix_norm",
        lambda t, x, p=order: t.linalg.matrix_norm(x, p),
        value(2, 3, 4, **AWAY),
    )
    row(
        "linalg_matrix_norm",
        lambda t, x, p=order: t.linalg.matrix_norm(x, p, (2, 0), True),
        value(2, 3, 4, **AWAY),
    )
    row("linalg_norm", lambda t, x, p=order: t.linalg.norm(x, p), value(3, 4, **AWAY))
row("linalg_norm", lambda t, x: t.linalg.norm(x), value(2, 3, 4))
row(
    "linalg_norm",
    lambda t, x: t.linalg.norm(x, 3, 1),
    value(2, 3, 4, **AWAY),
    rtol={"float32": 1e-4},
)
for a, b, dim in (((2, 3), (2, 3), 1), ((2, 3), (3,), -1), ((3, 1, 4), (2, 4), 0), ((3,), (), 0)):
    row("cosine_similarity", lambda t, a, b, d=dim: F(t).cosine_similarity(a, b, d), value(*a, **AWAY),
        value(*b, **AWAY), rtol={"float32": 1e-4})  # fmt: skip
row("cosine_similarity", lambda t, a, b: t.cosine_similarity(a, b, eps=3.0), value(2, 3), value(2, 3),
    differentiable=False)  # fmt: skip
for p in (2.0, 1.0, 3.0):
    row("pairwise_distance", lambda t, a, b, p=p: F(t).pairwise_distance(a, b, p, keepdim=True), value(2, 3, **AWAY),
        value(2, 3, low=3, high=5), rtol={"float32": 1e-4})  # fmt: skip
    row(
        "dist",
        lambda t, a, b, p=p: a.dist(b, p),
        value(2, 3, **AWAY),
        value(3, low=3, high=5),
        rtol={"float32": 1e-4},
    )


def wide(t, function, *inputs):
    """PyTorch's knows no narrow dtypes: float32's result, rounded."""
    dtype = inputs[0].dtype
    is_narrow = t.__name__ == "torch" and dtype in (t.float16, t.bfloat16)
    return function(*(x.float() for x in inputs)).to(dtype) if is_narrow else function(*inputs)


for p in (2.0, 1.0, 3.0, math.inf, 0.0):
    row("cdist", lambda t, a, b, p=p: wide(t, lambda a, b: t.cdist(a, b, p), a, b), value(2, 3, 4, low=3, high=5), value(2, 5, 4), dtypes=FLOATS,
        torch_orders=1, rtol={"float32": 1e-4}, layouts=False)  # fmt: skip
    row(
        "pdist",
        lambda t, x, p=p: wide(t, lambda x: F(t).pdist(x, p), x),
        value(5, 3),
        torch_orders=1,
        rtol={"float32": 1e-4},
        layouts=False,
    )
row("cdist", lambda t, a, b: t.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), value(3, 4), value(2, 5, 4, low=3, high=5),
    torch_orders=1, rtol={"float32": 1e-4}, layouts=False)  # fmt: skip
row("cdist", lambda t, a, b: t.cdist(a, b), value(30, 4), value(3, 4, low=3, high=5), torch_orders=1,
    rtol={"float32": 1e-4}, layouts=False)  # fmt: skip
for p, dim in ((2, 0), (1, 1), (3, -1), (math.inf, 0)):
    row("renorm", lambda t, x, p=p, d=dim: x.renorm(p, d, 2.5), value(3, 4, 2, **AWAY), rtol={"float32": 1e-4},
        inplace=lambda t, x, p=p, d=dim: x.renorm_(p, d, 2.5))  # fmt: skip

# ---- statistics


def some_nan(t, x):
    return t.where(x > 1, x / 0 * 0, x) if x.dtype.is_floating_point else x


for dim in (None, 0, (0, 1)):
    row("nansum", lambda t, x, d=dim: some_nan(t, x).nansum(d), value(3, 4), dtypes=ALL, orders=0)
    row("nanmean", lambda t, x, d=dim: some_nan(t, x).nanmean(d, True), value(3, 4), orders=0)
    row("count_nonzero", lambda t, x, d=dim: x.count_nonzero(d), value(3, 4), dtypes=ALL, orders=0)
row("nansum", lambda t, x: x.nansum(1), value(3, 4))
row("nanmean", lambda t, x: x.nanmean(1), value(3, 4))
for options in ({}, {"dim": 0}, {"dim": -1, "keepdim": True}):
    row("aminmax", lambda t, x, o=options: x.aminmax(**o), value(3, 4), dtypes=ALL)
row("aminmax", lambda t, x: x.aminmax(dim=0), value(), dtypes=ALL)
for name in ("var_mean", "std_mean"):
    row(name, lambda t, x, n=name: getattr(t, n)(x), value(3, 4))
    row(name, lambda t, x, n=name: getattr(t, n)(x, 1, correction=0, keepdim=True), value(3, 4))
    row(name, lambda t, x, n=name: getattr(t, n)(x, (0, 1), False), value(3, 4))
row("cov", lambda t, x: x.cov(), value(3, 5), dtypes=NUMBERS)
row("cov", lambda t, x: t.cov(x, correction=0), value(5), dtypes=NUMBERS)
row("cov", lambda t, x, w: t.cov(x, fweights=t.tensor([1, 0, 3, 2]), aweights=w), value(3, 4), value(4, **AWAY),
    layouts=False)  # fmt: skip
row("cov", lambda t, x, w: t.cov(x, aweights=w, correction=0), value(3, 4), value(4, **AWAY),
    layouts=False)  # fmt: skip
row("corrcoef", lambda t, x: x.corrcoef(), value(3, 5), dtypes=NUMBERS)
row("corrcoef", lambda t, x: t.corrcoef(x), value(3), orders=0)

# ---- differences

for options in ({}, {"n": 2}, {"dim": 0}, {"n": 0}, {"n": 9}):
    row("diff", lambda t, x, o=options: x.diff(**o), value(3, 4), dtypes=ALL)
row(
    "diff",
    lambda t, x, a, b: t.diff(x, prepend=a, append=b),
    value(3, 4),
    value(3, 2),
    value(3, 1),
    dtypes=ALL,
)
for options in (
    {},
    {"dim": 0},
    {"dim": (1, 0), "edge_order": 2},
    {"spacing": 0.5},
    {"spacing": [2.0, 0.5]},
):
    row(
        "gradient",
        lambda t, x, o=options: t.gradient(x, **o),
        value(3, 4),
        dtypes=FLOATS + ("int64",),
    )
for order in (1, 2):
    row("gradient_at", lambda t, x, a, b, o=order: t.gradient(x, spacing=(t.cumsum(a, 0), t.cumsum(b, 0)), edge_order=o),
        value(3, 4), value(3, **AWAY), value(4, **AWAY), rtol={"float32": 1e-4}, layouts=False)  # fmt: skip
for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
    row(name, lambda t, y, n=name: getattr(t, n)(y, dx=0.5), value(3, 4), dtypes=NUMBERS)
    row(name, lambda t, y, n=name: getattr(t, n)(y, dim=0), value(3, 4))
    row(name, lambda t, y, x, n=name: getattr(t, n)(y, x), value(3, 4), value(4), dtypes=NUMBERS)
    row(name, lambda t, y, x, n=name: getattr(t, n)(y, x, dim=0), value(3, 4), value(3, 1))

# ---- segments


def segments(reduce, initial, axis=0, **given):
    def call(t, x):
        tensors = {name: t.tensor(places) for name, places in given.items()}
        return t.segment_reduce(x, reduce, **tensors, axis=axis, initial=initial)

    return call


for reduce in ("sum", "mean", "max", "min", "prod"):
    # PyTorch does not divide a negative gradient among equal extremes, which an expanded layout has.
    more = {"torch_orders": 1, "layouts": reduce not in ("max", "min")}
    for initial in (None, 1.5):
        # Segments of nothing have no finite mean and extreme.
        finite = {"differentiable": initial is not None or reduce in ("sum", "prod")}
        row("segment_reduce", segments(reduce, initial, lengths=[1, 4]), value(5, 3), **more)
        for sizes, axis, lengths in (((6,), 0, [2, 0, 3, 1]), ((2, 4), 1, [[1, 3], [4, 0]]), ((0, 3), 0, [0, 0]),
                                     ((2, 3, 2), -2, [[1, 0, 2], [0, 3, 0]])):  # fmt: skip
            row(
                "segment_reduce",
                segments(reduce, initial, axis, lengths=lengths),
                value(*sizes),
                **more,
                **finite,
            )
        row("segment_reduce", segments(reduce, initial, 1, offsets=[[0, 1, 1, 4], [0, 0, 2, 4]]), value(2, 4),
            **more, **finite)  # fmt: skip
        row("segment_reduce", segments(reduce, initial, offsets=[1, 2, 5]), value(7), **more)
        row("segment_reduce", segments(reduce, initial, lengths=[3, 1]), value(4, 0), **more)
row("segment_reduce", lambda t, x: t.segment_reduce(x, "amax", lengths=t.tensor([3, 2], dtype=t.int32), unsafe=True),
    value(5), torch_orders=1, layouts=False)  # fmt: skip
