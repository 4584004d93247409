"""Creation from tensors, views, joins, indexing, reductions."""

from table import ALL, FLOATS, INTEGERS, NUMBERS, Row, fixed, index, mask, value, whole, widened

ROWS: list[Row] = []


def row(op, call, *inputs, dtypes=ALL, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


# ---- copies
for sizes in ((), (0,), (3,), (2, 3), (2, 3, 4)):
    row("clone", lambda t, x: x.clone(), value(*sizes), dtypes=ALL)
    row("detach", lambda t, x: x.detach(), value(*sizes), dtypes=ALL, orders=0)
    row("contiguous", lambda t, x: x.contiguous(), value(*sizes))
    row(
        "copy_",
        lambda t, x, y: (x * 1).copy_(y),
        value(*sizes, low=0),
        value(*sizes, low=0),
        dtypes=FLOATS,
    )
    row("fill_", lambda t, x: (x * 1).fill_(3), value(*sizes), dtypes=NUMBERS)
    row("zero_", lambda t, x: (x * 1).zero_(), value(*sizes), dtypes=NUMBERS)
    for name in ("zeros_like", "ones_like"):
        row(name, lambda t, x, name=name: getattr(t, name)(x), value(*sizes), orders=0, dtypes=ALL)
    row("full_like", lambda t, x: t.full_like(x, 2), value(*sizes), orders=0, dtypes=NUMBERS)
    for target in ("float32", "float64", "int64", "int32", "uint8", "bool"):
        row("to", lambda t, x, d=target: x.to(getattr(t, d)), value(*sizes, low=0, high=5), dtypes=ALL,
            rtol={"float64": 1e-6} if target == "float32" else {},
            orders=0 if target == "float32" or not target.startswith("float") else 2)  # fmt: skip

# ---- views
V = value(2, 3, 4)
row("view", lambda t, x: x.clone().contiguous().view(6, -1), V)
row("view_as", lambda t, x, y: x.contiguous().view_as(y), value(2, 3, 4), fixed(6, 4))
row("reshape", lambda t, x: x.reshape(4, 6), V)
row("reshape", lambda t, x: x.reshape(-1), value(2, 3))
row("reshape", lambda t, x: x.reshape(0, 5), value(0, 3))
row("reshape_as", lambda t, x, y: x.reshape_as(y), value(2, 6), fixed(3, 4))
row("flatten", lambda t, x: x.flatten(), value())
row("flatten", lambda t, x: t.flatten(x, 1), V)
row("unflatten", lambda t, x: x.unflatten(1, (2, -1)), value(3, 6))
row("transpose", lambda t, x: x.transpose(0, -1), V, inplace=lambda t, x: x.transpose_(0, -1))
row("permute", lambda t, x: x.permute(2, 0, 1), V)
row("movedim", lambda t, x: t.movedim(x, 0, 2), V)
row("movedim", lambda t, x: t.movedim(x, (0, 1), (2, 0)), V)
row("t", lambda t, x: x.t(), value(3, 4), inplace=lambda t, x: x.t_())
row("t", lambda t, x: x.t(), value(3))
row("squeeze", lambda t, x: x.squeeze(), value(1, 3, 1), inplace=lambda t, x: x.squeeze_())
row("squeeze", lambda t, x: x.squeeze(0), value(1, 3, 1), inplace=lambda t, x: x.squeeze_(0))
row("squeeze", lambda t, x: x.squeeze(1), value(1, 3, 1))
row("unsqueeze", lambda t, x: x.unsqueeze(1), value(2, 3), inplace=lambda t, x: x.unsqueeze_(1))
row("unsqueeze", lambda t, x: x.unsqueeze(-1), value())
row("expand", lambda t, x: x.expand(2, 3, 4), value(3, 1))
row("expand_as", lambda t, x, y: x.expand_as(y), value(3, 1), fixed(3, 4))
row("broadcast_to", lambda t, x: t.broadcast_to(x, (2, 3)), value(3))
row("select", lambda t, x: x.select(1, -2), V)
row("narrow", lambda t, x: x.narrow(2, 1, 2), V)
row("slice", lambda t, x: x[:, 1:, ::3], V)
row("slice", lambda t, x: x[5:2], value(4, 2))
row(
    "as_strided",
    lambda t, x: x.contiguous().as_strided((2, 3), (1, 2), 1),
    value(3, 4),
    layouts=False,
)
row("as_strided", lambda t, x: x.contiguous().as_strided((3, 3), (1, 1)), value(5), layouts=False)
row("diagonal", lambda t, x: x.diagonal(), value(3, 4))
row("diagonal", lambda t, x: x.diagonal(-1, 0, 2), V)
row("chunk", lambda t, x: x.chunk(3, 1), value(2, 7))
row("split", lambda t, x: x.split(2, 1), value(2, 5))
row("split_with_sizes", lambda t, x: x.split([1, 0, 3]), value(4, 2))
row("unbind", lambda t, x: x.unbind(1), V)
row("cat", lambda t, x, y: t.cat([x, y], 1), value(2, 3), value(2, 1))
row("cat", lambda t, x, y: t.cat([x, y]), value(0, 3), value(2, 3))
row("stack", lambda t, x, y: t.stack([x, y], 1), value(2, 3), value(2, 3))
row("stack", lambda t, x, y: t.stack([x, y]), value(), value())
row("repeat", lambda t, x: x.repeat(2, 1, 3), value(2, 3))
row("flip", lambda t, x: x.flip([0, 2]), V)
row("flip", lambda t, x: x.flip([0]), value(0, 2))

# ---- indexing
row("index", lambda t, x, i: x[i], value(5, 3), index(4, below=5))
row("index", lambda t, x, i: x[:, i], value(3, 5), index(2, 2, below=5))
row("index", lambda t, x, i, j: x[i, j], value(4, 5), index(3, below=4), index(2, 1, below=5))
row("index", lambda t, x, i, j: x[i, :, j], value(4, 2, 5), index(3, below=4), index(3, below=5))
row("index", lambda t, x, i: x[-1 - i], value(5), index(4, below=5))
row("index", lambda t, x, m: x[m], value(3, 4), mask(3, 4), layouts=False)
row("index", lambda t, x, m: x[m], value(3, 4), mask(3), layouts=False)
row("index", lambda t, x, i: x[i], value(5, 3), index(0, below=5))
row("index_put", lambda t, x, i, v: t.index_put(x, (i,), v, True), value(5, 3), index(4, below=5), value(4, 3), dtypes=NUMBERS,
    inplace=lambda t, x, i, v: x.index_put_((i,), v, True))  # fmt: skip
row("index_put", lambda t, x, v: t.index_put(x, (t.tensor([3, 0, 2]),), v), value(5, 3), value(3), dtypes=NUMBERS,
    inplace=lambda t, x, v: x.index_put_((t.tensor([3, 0, 2]),), v))  # fmt: skip
row("index_select", lambda t, x, i: x.index_select(1, i), value(3, 5), index(4, below=5))
row("index_add", lambda t, x, i, s: x.index_add(0, i, s, alpha=2), value(5, 3), index(4, below=5), value(4, 3), dtypes=NUMBERS,
    inplace=lambda t, x, i, s: x.index_add_(0, i, s, alpha=2))  # fmt: skip
row("gather", lambda t, x, i: x.gather(1, i), value(3, 5), index(3, 2, below=5))
row("gather", lambda t, x, i: x.gather(0, i), value(3, 5), index(2, 4, below=3))
row("scatter", lambda t, x, s: x.scatter(1, t.tensor([[0, 2], [3, 1]]), s), value(2, 5), value(2, 2),
    inplace=lambda t, x, s: x.scatter_(1, t.tensor([[0, 2], [3, 1]]), s))  # fmt: skip
row("scatter", lambda t, x: x.scatter(1, t.tensor([[0, 2], [3, 1]]), 7), value(2, 5))
row("scatter_add", lambda t, x, i, s: x.scatter_add(1, i, s), value(2, 5), index(2, 4, below=5), value(2, 4), dtypes=NUMBERS,
    inplace=lambda t, x, i, s: x.scatter_add_(1, i, s))  # fmt: skip
P = lambda t: t.tensor([3, 0, -2])  # noqa: E731
I = lambda t: t.tensor([[0, 1, 1, 0], [2, 0, 0, 0]])  # noqa: E731, E741
for how in ("sum", "prod", "mean", "amax", "amin"):
    for own in (True, False):
        row("scatter_reduce", lambda t, x, s, r=how, o=own: x.scatter_reduce(1, I(t), s, r, include_self=o), value(2, 3), value(2, 4),
            dtypes=NUMBERS, orders=1, inplace=lambda t, x, s, r=how, o=own: x.scatter_reduce_(1, I(t), s, r, include_self=o))  # fmt: skip
        if how != "sum":
            row("index_reduce", lambda t, x, s, r=how, o=own: x.index_reduce(0, t.tensor([2, 0, 2]), s, r, include_self=o), value(4, 2), value(3, 2),
                dtypes=NUMBERS, orders=1, inplace=lambda t, x, s, r=how, o=own: x.index_reduce_(0, t.tensor([2, 0, 2]), s, r, include_self=o))  # fmt: skip
row(
    "scatter_reduce",
    lambda t, x, s: (x > 0).scatter_reduce(0, I(t), s > 0, "prod"),
    value(3, 4),
    value(2, 4),
    orders=0,
)
row(
    "scatter_reduce",
    lambda t, x, s: x.scatter(0, I(t), s, reduce="multiply"),
    value(3, 4),
    value(2, 4),
    orders=0,
    dtypes=NUMBERS,
)
row(
    "scatter_reduce",
    lambda t, x: x.scatter(0, I(t), 2, reduce="add"),
    value(3, 4),
    orders=0,
    dtypes=NUMBERS,
)
row(
    "index_fill",
    lambda t, x: x.index_fill(0, P(t), 2),
    value(5, 3),
    inplace=lambda t, x: x.index_fill_(0, P(t), 2),
)
row("index_fill", lambda t, x, v: x.index_fill(1, t.tensor(1), v), value(2, 5), value(),
    inplace=lambda t, x, v: x.index_fill_(1, t.tensor(1), v))  # fmt: skip
row("index_copy", lambda t, x, s: x.index_copy(1, t.tensor([3, 0, 2]), s), value(2, 5), value(2, 3),
    inplace=lambda t, x, s: x.index_copy_(1, t.tensor([3, 0, 2]), s))  # fmt: skip
row("index_copy", lambda t, x, s: x.index_copy(0, t.tensor([0]), s), value(), value())
row("masked_scatter", lambda t, x, m, s: x.masked_scatter(m, s), value(3, 4), mask(3, 4), value(13), layouts=False,
    inplace=lambda t, x, m, s: x.masked_scatter_(m, s))  # fmt: skip
row(
    "masked_scatter",
    lambda t, x, m, s: x.masked_scatter(m, s),
    value(4),
    mask(3, 1),
    value(3, 4),
    layouts=False,
)
row("take", lambda t, x, i: x.take(i), value(3, 4), index(2, 3, below=12))
row("take", lambda t, x, i: t.take(x, -1 - i), value(5), index(below=5))
row("take_along_dim", lambda t, x, i: t.take_along_dim(x, i, 1), value(3, 5), index(3, 2, below=5))
row("take_along_dim", lambda t, x, i: x.take_along_dim(i, dim=0), value(3, 1), index(2, 4, below=3))
row(
    "take_along_dim",
    lambda t, x, i: x.take_along_dim(i),
    value(3, 4),
    index(2, 3, below=12),
    layouts=False,
)
row(
    "put",
    lambda t, x, s: x.put(P(t), s),
    value(2, 5),
    value(3),
    inplace=lambda t, x, s: x.put_(P(t), s),
)
row("put", lambda t, x, i, s: x.put(i, s, accumulate=True), value(2, 5), index(2, 3, below=10), value(3, 2), dtypes=NUMBERS,
    inplace=lambda t, x, i, s: x.put_(i, s, accumulate=True))  # fmt: skip
for n in (0, 3, 20):
    row(
        "nonzero_static",
        lambda t, x, n=n: t.nonzero_static(x, size=n),
        value(3, 4),
        orders=0,
        dtypes=ALL,
    )
row(
    "nonzero_static",
    lambda t, x: x.nonzero_static(size=20, fill_value=7),
    value(3, 4),
    orders=0,
    dtypes=ALL,
)
row("masked_select", lambda t, x, m: x.masked_select(m), value(3, 4), mask(3, 4), layouts=False)
row("masked_select", lambda t, x, m: x.masked_select(m), value(3, 4), mask(4), layouts=False)
row("nonzero", lambda t, x: x.nonzero(), value(3, 4), orders=0, dtypes=ALL)
row("nonzero", lambda t, x: x.nonzero(), value(), orders=0, dtypes=ALL)
row(
    "one_hot",
    lambda t, i: t.nn.functional.one_hot(i, 6),
    index(2, 3, below=5),
    orders=0,
    dtypes=("int64",),
)
row(
    "one_hot",
    lambda t, i: t.nn.functional.one_hot(i),
    index(4, below=5),
    orders=0,
    dtypes=("int64",),
)
for sizes in ((3, 4), (2, 4, 3), (1, 1)):
    for k in (-1, 0, 2):
        row("tril", lambda t, x, k=k: x.tril(k), value(*sizes))
        row("triu", lambda t, x, k=k: x.triu(k), value(*sizes))

# ---- reductions
REDUCTIONS = (((), None), ((5,), None), ((3, 4), None), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), (0, 2)), ((2, 3, 4), 1),
              ((0, 3), 0), ((3, 0), 0), ((40, 70), 0), ((40, 70), 1))  # fmt: skip


def reduction(op, method, *, empty=True, dtypes=NUMBERS, orders=3, several=True, **more):
    for sizes, dim in REDUCTIONS:
        if (0 in sizes and not empty) or (isinstance(dim, tuple) and not several):
            continue
        few = orders if sizes not in ((40, 70),) else min(orders, 1)
        for keepdim in (False, True):
            if dim is None:
                if not keepdim:
                    row(
                        op,
                        lambda t, x: getattr(x, method)(),
                        value(*sizes),
                        dtypes=dtypes,
                        orders=few,
                        **more,
                    )
            else:
                row(op, lambda t, x, d=dim, k=keepdim: getattr(x, method)(dim=d, keepdim=k), value(*sizes), dtypes=dtypes,
                    orders=few, **more)  # fmt: skip


reduction("sum", "sum", dtypes=ALL)
reduction("mean", "mean", dtypes=FLOATS, empty=False)
reduction("prod", "prod", dtypes=NUMBERS, several=False)
reduction("amax", "amax", empty=False)
reduction("amin", "amin", empty=False)
reduction("any", "any", dtypes=ALL, orders=0)
reduction("all", "all", dtypes=ALL, orders=0)
reduction("var", "var", dtypes=FLOATS, empty=False)
reduction("std", "std", dtypes=FLOATS, empty=False)
row("sum", lambda t, x: x.sum(dtype=t.float64), value(3, 4), dtypes=("float32", "int32"), orders=0)
for kind in ("int32", "uint8", "float64"):
    row(
        "prod",
        lambda t, x, k=kind: x.prod(dtype=getattr(t, k)),
        value(3, 4),
        dtypes=("int32", "uint8"),
        orders=0,
    )
row(
    "prod",
    lambda t, x: (x * t.tensor([1.0, 0.0, 1.0], dtype=x.dtype)).prod(),
    value(3),
    dtypes=FLOATS,
)
row(
    "prod",
    lambda t, x: (x * t.tensor([0.0, 0.0, 1.0], dtype=x.dtype)).prod(),
    value(3),
    dtypes=FLOATS,
)
row("var", lambda t, x: t.var(x, dim=1, correction=0), value(3, 5), dtypes=FLOATS)
for p in (2, 1, 3, 0.5, float("inf")):
    row(
        "norm",
        lambda t, x, p=p: x.norm(p),
        value(3, 4, low=0.3),
        dtypes=FLOATS,
        rtol={"float32": 1e-4},
    )
    row(
        "norm",
        lambda t, x, p=p: x.norm(p, dim=1),
        value(3, 4, low=0.3),
        dtypes=FLOATS,
        rtol={"float32": 1e-4},
    )
for name, along, place in (("max", "max_dim", "argmax"), ("min", "min_dim", "argmin")):
    row(name, lambda t, x, n=name: getattr(x, n)(), value(3, 4), dtypes=NUMBERS)
    for dim in (0, 1):
        row(
            along,
            lambda t, x, n=name, d=dim: getattr(x, n)(dim=d),
            value(3, 4),
            dtypes=FLOATS,
        )
        row(
            along,
            lambda t, x, n=name, d=dim: getattr(x, n)(dim=d, keepdim=True)[0],
            value(3, 4),
            dtypes=NUMBERS,
        )
        row(
            place,
            lambda t, x, n=place, d=dim: getattr(x, n)(dim=d),
            value(30, 40),
            dtypes=FLOATS,
            orders=0,
        )
    row(
        place,
        lambda t, x, n=place: getattr(x, n)(),
        value(3, 4),
        dtypes=FLOATS,
        orders=0,
    )
row("logsumexp", lambda t, x: x.logsumexp(1), value(3, 4), dtypes=FLOATS)
row("logsumexp", lambda t, x: x.logsumexp((0, 2), keepdim=True), V, dtypes=FLOATS)
for dim in (0, 1, -1):
    row("cumsum", lambda t, x, d=dim: x.cumsum(d), value(3, 4), dtypes=ALL)
row("cumsum", lambda t, x: x.cumsum(0), value(), dtypes=FLOATS + INTEGERS)
for sizes, dim in (((3, 4), 0), ((3, 4), 1), ((2, 3, 5), -2), ((9,), 0), ((), 0), ((0, 3), 1)):
    X, ZEROS = value(*sizes, low=0.5), whole(*sizes, low=0, high=2)
    row(
        "cumprod",
        lambda t, x, d=dim: x.cumprod(d),
        X,
        dtypes=ALL,
        inplace=lambda t, x, d=dim: x.cumprod_(d),
    )
    row("cumprod", lambda t, x, d=dim: x.cumprod(d), ZEROS, dtypes=ALL, orders=2)
    row("cumprod", lambda t, x, d=dim: t.cumprod(x, d, dtype=t.float64), X, dtypes=ALL)
    row("logcumsumexp", lambda t, x, d=dim: t.logcumsumexp(x, d), value(*sizes, low=-9, high=9), dtypes=FLOATS,
        torch_orders=2)  # fmt: skip
    row(
        "logcumsumexp", lambda t, x, d=dim: (-1 / x).logcumsumexp(d), ZEROS, dtypes=FLOATS, orders=0
    )
for columns in (None, 1, 2, 5):
    for increasing in (True, False):
        row(
            "vander",
            lambda t, x, n=columns, i=increasing: t.vander(x, n, i),
            value(4),
            dtypes=ALL,
            orders=0,
        )
row(
    "vander", lambda t, x: t.vander(x), value(1), dtypes=ALL, orders=0
)  # PyTorch's backward is an error
for sizes in ((3,), (2, 4), (2, 1, 3)):
    row("linalg_vander", lambda t, x: widened(t, t.linalg.vander, x), value(*sizes), dtypes=NUMBERS)
    row(
        "linalg_vander",
        lambda t, x: widened(t, lambda x: t.linalg.vander(x, N=5), x),
        value(*sizes),
        dtypes=NUMBERS,
    )
row(
    "isclose",
    lambda t, x, y: t.isclose(x, y, rtol=0.5),
    value(3, 4),
    value(3, 4),
    dtypes=FLOATS,
    orders=0,
)
