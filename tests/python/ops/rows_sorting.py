"""Sorting, searching and order statistics."""

from table import ALL, FLOATS, INTEGERS, NUMBERS, Row, fixed, index, value, whole

ROWS: list[Row] = []


def row(op, call, *inputs, dtypes=ALL, orders=2, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


def chosen(t, x, dim, result):
    """Values, and what lies at the indices: of equal elements PyTorch chooses any."""
    values, indices = result
    at = indices if values.dim() == x.dim() else indices.unsqueeze(dim)
    return values, t.gather(x, dim, at), indices * 0


def logs(t, x, call):
    """Of logarithms, many of which are NaN."""
    return chosen(t, x.log(), 0, call(x.log()))


SHAPES = (((7,), 0), ((3, 5), -1), ((5, 3), 0), ((2, 4, 3), 1), ((), 0), ((1,), 0))

# ---- sort
for sizes, dim in SHAPES:
    V, W = value(*sizes), whole(*sizes)
    for X in (V, W):
        row("sort", lambda t, x, d=dim: t.sort(x, dim=d, stable=True), X, differentiable=X is V)
        row("sort", lambda t, x, d=dim: x.sort(stable=True, dim=d, descending=True), X,
            differentiable=X is V)  # fmt: skip
        row("argsort", lambda t, x, d=dim: t.argsort(x, dim=d, stable=True), X, orders=0)
    row("sort", lambda t, x, d=dim: chosen(t, x, d, t.sort(x, d, True)), W, orders=0)
    row("sort", lambda t, x, d=dim: t.sort(x, d), V, dtypes=FLOATS, layouts=False)
    row("argsort", lambda t, x, d=dim: x.argsort(d, True), V, dtypes=FLOATS, orders=0,
        layouts=False)  # fmt: skip
row("msort", lambda t, x: t.msort(x), value(5, 3))
row("msort", lambda t, x: x.msort(), whole(200, 2), orders=0)
for n in (65, 300, 5000):
    row("sort", lambda t, x: x.sort(stable=True), whole(n, low=-30, high=30), orders=1,
        differentiable=False)  # fmt: skip
    row(
        "sort", lambda t, x: x.sort(stable=True, descending=True), value(n), dtypes=FLOATS, orders=0
    )
row("sort", lambda t, x: x.sort(stable=True), whole(70001, low=-100, high=100), orders=0)
row("sort", lambda t, x: x.sort(dim=0, stable=True), whole(90, 40), orders=0)
row("sort", lambda t, x: x.log().sort(stable=True), value(40), dtypes=FLOATS, orders=0)
row(
    "sort",
    lambda t, x: (x / 0).sort(descending=True, stable=True),
    whole(90),
    dtypes=FLOATS,
    orders=0,
)

# ---- the first ones
for sizes, dim in SHAPES:
    for largest in (True, False):
        k = 1 if 1 in sizes or not sizes else 2
        row("topk", lambda t, x, k=k, d=dim, g=largest: x.topk(k, d, g), value(*sizes),
            dtypes=FLOATS, layouts=False)  # fmt: skip
        row("topk", lambda t, x, k=k, d=dim, g=largest: chosen(t, x, d, t.topk(x, k, d, g)),
            whole(*sizes), dtypes=NUMBERS, orders=0)  # fmt: skip
for n, k in ((3000, 10), (3000, 2500), (3000, 3000), (4, 0), (70001, 700)):
    row("topk", lambda t, x, k=k: chosen(t, x, 0, t.topk(x, k)), whole(n, low=-99, high=99),
        dtypes=NUMBERS, orders=0)  # fmt: skip
    row("topk", lambda t, x, k=k: t.topk(x, k, largest=False)[0], value(n), dtypes=FLOATS,
        orders=0)  # fmt: skip
row("topk", lambda t, x: logs(t, x, lambda y: y.topk(30)), value(40), dtypes=FLOATS, orders=0)

# ---- order statistics


def select(*args, **more):
    """PyTorch selects wrongly in expanded tensors: it permutes the one element's memory."""
    row(*args, layouts=False, **more)


for sizes, dim in SHAPES:
    V, W = value(*sizes), whole(*sizes)
    for keepdim in (False, True):
        k = 1 if 1 in sizes or not sizes else 2
        more = {"dim": dim, "keepdim": keepdim}
        select("kthvalue", lambda t, x, k=k, m=more: t.kthvalue(x, k, **m), V, dtypes=FLOATS)  # fmt: skip
        select("median_dim", lambda t, x, m=more: x.median(**m), V, dtypes=FLOATS)  # fmt: skip
        select("nanmedian_dim", lambda t, x, m=more: t.nanmedian(x, **m), V, dtypes=FLOATS)  # fmt: skip
        select("mode", lambda t, x, m=more: t.mode(x, **m), W, differentiable=False)
    select("kthvalue", lambda t, x, k=k, d=dim: chosen(t, x, d, x.kthvalue(k, d)), W, dtypes=NUMBERS,
        orders=0)  # fmt: skip
    select(
        "median_dim", lambda t, x, d=dim: chosen(t, x, d, x.median(d)), W, dtypes=NUMBERS, orders=0
    )
    select("nanmedian_dim", lambda t, x, d=dim: chosen(t, x, d, x.nanmedian(d)), W, dtypes=NUMBERS,
        orders=0)  # fmt: skip
    select("median", lambda t, x: t.median(x), V, dtypes=NUMBERS)
    select("median", lambda t, x: x.median(), W, dtypes=NUMBERS, differentiable=False)
    select("nanmedian", lambda t, x: t.nanmedian(x), V, dtypes=NUMBERS)
for n in (100, 5000, 300001):
    select("median", lambda t, x: x.median(), whole(n, low=-99, high=99), dtypes=NUMBERS, orders=0)
    select("median", lambda t, x: x.median(), value(n), dtypes=FLOATS, orders=0)
    select("nanmedian", lambda t, x: x.log().nanmedian(), value(n), dtypes=FLOATS, orders=0)
    select("nanmedian_dim", lambda t, x: chosen(t, x, 0, (x / 0).nanmedian(0)), whole(n), dtypes=FLOATS,
        orders=0)  # fmt: skip
    for k in (1, n // 7, n):
        select("kthvalue", lambda t, x, k=k: chosen(t, x, 0, x.kthvalue(k)), whole(n, low=-99, high=99),
            dtypes=NUMBERS, orders=0)  # fmt: skip
select("median_dim", lambda t, x: x.log().median(1), value(6, 3), dtypes=FLOATS, orders=0)
select("median", lambda t, x: x.log().median(), value(7), dtypes=FLOATS, orders=0)
select(
    "kthvalue",
    lambda t, x: logs(t, x, lambda y: y.kthvalue(35)),
    value(40),
    dtypes=FLOATS,
    orders=0,
)
for view in (lambda x: x[1::2], lambda x: x.transpose(0, 1), lambda x: x[:, 1:]):
    select("median_dim", lambda t, x, v=view: t.median(v(x), 0), value(7, 5), dtypes=FLOATS)
    select("kthvalue", lambda t, x, v=view: t.kthvalue(v(x), 2), value(7, 5), dtypes=FLOATS)

# ---- quantiles
for mode in ("linear", "lower", "higher", "midpoint", "nearest"):
    for op in ("quantile", "nanquantile"):
        row(op, lambda t, x, o=op, m=mode: getattr(t, o)(x, 0.3, interpolation=m), value(3, 5),
            dtypes=("float64",))  # fmt: skip
        row(op, lambda t, x, o=op, m=mode: getattr(x, o)(0.77, 1, True, interpolation=m),
            value(2, 6, 2), dtypes=("float64",))  # fmt: skip
        row(op, lambda t, x, o=op, m=mode: getattr(x.log(), o)(0.5, 1, interpolation=m),
            value(6, 3), orders=0, dtypes=("float64",))  # fmt: skip
for op in ("quantile", "nanquantile"):
    row(op, lambda t, x, q, o=op: getattr(t, o)(x, q, dim=0), value(5, 3),
        value(4, low=0.05, high=0.95), dtypes=("float64",))  # fmt: skip
    row(op, lambda t, x, q, o=op: getattr(t, o)(x, q, keepdim=True), value(5, 3),
        fixed(2, low=0, high=1), dtypes=("float64",))  # fmt: skip
    row(op, lambda t, x, o=op: getattr(x, o)(1), value(), dtypes=("float64",))
    row(op, lambda t, x, o=op: getattr(x.to(t.float32), o)(0.3, 1), whole(3, 6), dtypes=INTEGERS,
        orders=0)  # fmt: skip

# ---- so far
for sizes, dim in (*SHAPES, ((1000,), 0), ((2, 300), 1), ((300, 3), 0)):
    for op in ("cummax", "cummin"):
        row(op, lambda t, x, o=op, d=dim: getattr(t, o)(x, d), value(*sizes))
        row(op, lambda t, x, o=op, d=dim: getattr(x, o)(d), whole(*sizes), orders=0)
        row(op, lambda t, x, o=op, d=dim: getattr(x.log(), o)(d), value(*sizes), dtypes=FLOATS,
            orders=0)  # fmt: skip

# ---- what occurs
BOTH = {"return_inverse": True, "return_counts": True}
for sizes in ((), (0,), (1,), (9,), (4, 5), (3000,)):
    W = whole(*sizes)
    for op in ("unique", "unique_consecutive"):
        row(op, lambda t, x, o=op: getattr(t, o)(x), W, orders=0)
        row(op, lambda t, x, o=op: getattr(x, o)(**BOTH), W, orders=0)
        row(op, lambda t, x, o=op: getattr(x, o)(return_counts=True), W, orders=0)
for sizes, dim in (((6, 2), 0), ((2, 6), 1), ((2, 7, 2), -2), ((9,), 0), ((40, 1), 0), ((0, 2), 0)):
    W = whole(*sizes, low=0, high=1)
    for op in ("unique", "unique_consecutive"):
        row(op, lambda t, x, o=op, d=dim: getattr(t, o)(x, dim=d), W, orders=0)
        row(op, lambda t, x, o=op, d=dim: getattr(x, o)(**BOTH, dim=d), W, orders=0)
row("unique", lambda t, x: t.unique(x.log(), **BOTH), whole(9), dtypes=FLOATS, orders=0)

# ---- searching
for right in (False, True):
    for rows, sizes in (((6,), (4,)), ((6,), (2, 3)), ((6,), ()), ((3, 6), (3, 4)), ((0,), (3,))):
        row("searchsorted", lambda t, s, x, r=right: t.searchsorted(s.sort()[0], x, right=r),
            whole(*rows), whole(*sizes), dtypes=NUMBERS, orders=0)  # fmt: skip
        row("searchsorted", lambda t, s, x, r=right:
            t.searchsorted(s, x, side="right" if r else "left", sorter=s.argsort(stable=True)),
            value(*rows), value(*sizes), dtypes=NUMBERS, orders=0)  # fmt: skip
    row("searchsorted", lambda t, s, r=right: t.searchsorted(s.sort()[0], 1.5, right=r),
        whole(6), dtypes=NUMBERS, orders=0)  # fmt: skip
    row("searchsorted", lambda t, s, x, r=right: t.searchsorted(s.log().sort()[0], x.log(), right=r),
        whole(9), whole(9), dtypes=FLOATS, orders=0)  # fmt: skip
    row("bucketize", lambda t, x, s, r=right: t.bucketize(x, s.sort()[0], out_int32=True, right=r),
        whole(2, 3), whole(5), dtypes=NUMBERS, orders=0)  # fmt: skip
row("bucketize", lambda t, s: t.bucketize(1, s.sort()[0]), whole(5), dtypes=NUMBERS, orders=0)
row("searchsorted", lambda t, s, x: t.searchsorted(s.sort()[0], x), value(300), index(4, below=3),
    dtypes=FLOATS, orders=0)  # fmt: skip
for invert in (False, True):
    for sizes, others in (((3, 4), (5,)), ((), (3,)), ((3,), ()), ((0,), (3,)), ((3,), (0,))):
        row("isin", lambda t, x, y, i=invert: t.isin(x, y, invert=i), whole(*sizes), whole(*others),
            dtypes=NUMBERS, orders=0)  # fmt: skip
row("isin", lambda t, x, y: t.isin(x, y, assume_unique=True), value(5), value(50), dtypes=FLOATS,
    orders=0, layouts=False)  # fmt: skip
row("isin", lambda t, x: t.isin(x, 1), whole(5), dtypes=NUMBERS, orders=0)
row("isin", lambda t, x: t.isin(1.5, x), whole(5), dtypes=NUMBERS, orders=0)
row("isin", lambda t, x, y: t.isin(x.log(), y.log()), whole(5), whole(40),
    dtypes=FLOATS, orders=0)  # fmt: skip

# ---- counting
for n in (0, 9, 300):
    row("bincount", lambda t, i: t.bincount(i), index(n, below=5), orders=0, layouts=False)
    row("bincount", lambda t, i: i.bincount(minlength=7), index(n, below=5), orders=0)
    row("bincount", lambda t, i, w: i.bincount(w), index(n, below=5), value(n), orders=0)
for sizes in ((), (0,), (9,), (4, 5)):
    V, W = value(*sizes), whole(*sizes)
    row("histc", lambda t, x: t.histc(x, 7), V, dtypes=FLOATS, orders=0)
    row("histc", lambda t, x: x.histc(4, -2, 2), W, dtypes=FLOATS, orders=0)
    row("histc", lambda t, x: x.histc(5, 0, 1), V, dtypes=FLOATS, orders=0)
    row("histogram", lambda t, x: t.histogram(x, 7), V, dtypes=("float64",), orders=0)
for sizes in ((9,), (4, 5)):
    for how in ({}, {"density": True}):
        row(
            "histogram",
            lambda t, x, h=how: t.histogram(x, 5, range=(-1, 1), **h),
            value(*sizes),
            orders=0,
            dtypes=FLOATS,
        )
        row("histogram", lambda t, x, e, w, h=how: t.histogram(x, e.sort()[0], weight=w, **h),
            value(*sizes), value(4), value(*sizes, low=0), dtypes=FLOATS, orders=0, layouts=False)  # fmt: skip
row("histc", lambda t, x: x.log().histc(5, -1, 1), W, dtypes=FLOATS, orders=0)
row("bincount", lambda t, i: i.to(t.uint8).bincount(), index(9, below=5), orders=0)
