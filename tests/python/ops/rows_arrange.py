"""Ops that lay elements out anew: padding, rolling, repeating, diagonals, windows; and the views beside them."""

from table import ALL, FLOATS, NUMBERS, Row, index, value

ROWS: list[Row] = []


def row(op, call, *inputs, dtypes=ALL, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


V = value(2, 3, 4)

# ---- padding
for margins, sizes in (
    ((), (2, 3)), ((1, 2), (3,)), ((1, 2), (2, 3)), ((0, 1, 2, 0), (2, 3)), ((-1, 2, 1, -1), (3, 4)), ((1, 0) * 4, (2, 1, 2, 1)),
    ((1, 1), (2, 0)), ((-3, 0), (2, 3)), ((0, 0, 0, 0), (2, 3)),
):  # fmt: skip
    row("pad", lambda t, x, p=margins: t.nn.functional.pad(x, p), value(*sizes))
row("pad", lambda t, x: t.nn.functional.pad(x, (1, 2), value=1), V)
row("pad", lambda t, x: t.nn.functional.pad(x, (1, 2, 0, 1), "constant", 2.5), V, dtypes=FLOATS)
row("constant_pad_nd", lambda t, x: t.constant_pad_nd(x, (1, 2, 0, -1), 3), V)
for mode in ("reflect", "replicate", "circular"):
    for margins, sizes in (
        ((1, 2), (2, 3)), ((2, 0), (2, 3, 4)), ((1, 2, 2, 1), (2, 3, 4)), ((1, 0, 0, 3), (1, 2, 4, 3)),
        ((1, 1, 0, 2, 1, 1), (2, 2, 3, 4)), ((0, 1, 1, 0, 1, 1), (1, 2, 2, 3, 2)), ((0, 0), (2, 3)), ((-1, 2), (2, 5)), ((1, -2), (2, 5)),
        ((1, 1), (0, 3, 4)),
    ):  # fmt: skip
        if mode == "circular" and margins == (1, -2):
            continue  # PyTorch leaves memory as it was
        row(
            "pad",
            lambda t, x, p=margins, m=mode: t.nn.functional.pad(x, p, m),
            value(*sizes),
            dtypes=ALL if mode == "circular" else NUMBERS,
        )

# ---- arrangements
row("roll", lambda t, x: t.roll(x, 1), value(2, 3))
row("roll", lambda t, x: x.roll(-1, 1), V)
row("roll", lambda t, x: x.roll((1, 5, -2), (0, 2, -2)), V)
row("roll", lambda t, x: x.roll((1, 1), (2, 2)), V)
row("roll", lambda t, x: x.roll(4, 1), value(2, 0))
row("roll", lambda t, x: x.roll(2), value())
for k in range(-1, 4):
    row("rot90", lambda t, x, k=k: t.rot90(x, k), value(2, 3))
    row("rot90", lambda t, x, k=k: x.rot90(k, (2, 0)), V)
row("fliplr", lambda t, x: t.fliplr(x), value(2, 3))
row("flipud", lambda t, x: x.flipud(), value(2, 3))
row("tile", lambda t, x: t.tile(x, (2,)), value(2, 3))
row("tile", lambda t, x: x.tile(2, 1, 3), value(2, 3))
row("tile", lambda t, x: x.tile(()), value(2))
for dim in (None, 0, -1):
    row("repeat_interleave", lambda t, x, d=dim: t.repeat_interleave(x, 2, d), value(2, 3))
row("repeat_interleave", lambda t, x: x.repeat_interleave(t.tensor([1, 0, 3]), 1), V)
row("repeat_interleave", lambda t, x: x.repeat_interleave(t.tensor([2]), dim=1), V)
row("repeat_interleave", lambda t, x: x.repeat_interleave(t.tensor([2, 1]), 0, output_size=3), V)
row("repeat_interleave", lambda t, x: x.repeat_interleave(0, 0), value(2, 3))
row("repeat_interleave", lambda t, i: t.repeat_interleave(i), index(4, below=3), orders=0)

# ---- diagonals
for offset in (0, 1, -2):
    row("diag", lambda t, x, k=offset: t.diag(x, k), value(3))
    row("diag", lambda t, x, k=offset: x.diag(k), value(3, 4))
    row("diag_embed", lambda t, x, k=offset: x.diag_embed(k), value(2, 3))
    row("diagflat", lambda t, x, k=offset: x.diagflat(k), value(2, 2))
row("diag_embed", lambda t, x: t.diag_embed(x, 1, 0, 2), value(2, 3))
row("diag_embed", lambda t, x: t.diag_embed(x, 0, 3, 0), V)
row("block_diag", lambda t, x, y, z: t.block_diag(x, y, z), value(2, 3), value(2), value())
row("block_diag", lambda t, x, y: t.block_diag(x, y), value(0, 2), value(2, 1))

# ---- joins
for name in ("hstack", "vstack", "dstack", "column_stack"):
    for sizes in ((), (3,), (2, 3), (2, 3, 2)):
        row(
            name,
            lambda t, x, y, n=name: getattr(t, n)([x, y]),
            value(*sizes),
            value(*sizes),
        )
row("row_stack", lambda t, x, y: t.row_stack((x, y)), value(3), value(2, 3))
row("concat", lambda t, x, y: t.concat([x, y], dim=-1), value(2, 3), value(2, 1))
row("concatenate", lambda t, x, y: t.concatenate([x, y]), value(2), value(1))
row("cartesian_prod", lambda t, x, y: t.cartesian_prod(x, y), value(2), value(3))
row("cartesian_prod", lambda t, x: t.cartesian_prod(x), value(3))
row("combinations", lambda t, x: t.combinations(x), value(4))
row("combinations", lambda t, x: t.combinations(x, 3, with_replacement=True), value(3))
row("combinations", lambda t, x: t.combinations(x, 1), value(3))
row("combinations", lambda t, x: t.combinations(x, 0), value(3), orders=0)

# ---- coordinates
row("unravel_index", lambda t, i: t.unravel_index(i, (3, 4)), index(2, 3, below=12), orders=0)
row("unravel_index", lambda t, i: t.unravel_index(i, 12), index(3, below=12), orders=0)
row("argwhere", lambda t, x: x.argwhere(), value(3, 4), orders=0)

# ---- copies with a part written
row("select_scatter", lambda t, x, s: x.select_scatter(s, 1, -1), V, value(2, 4))
row("slice_scatter", lambda t, x, s: x.slice_scatter(s, 2, 1, step=2), V, value(2, 3, 2))
row("slice_scatter", lambda t, x, s: t.slice_scatter(x, s, start=-1), V, value(1, 3, 4))
row("diagonal_scatter", lambda t, x, s: x.diagonal_scatter(s, 1, 1, 2), V, value(2, 3))
row(
    "as_strided_scatter",
    lambda t, x, s: t.as_strided_scatter(x.contiguous(), s, (2, 2), (1, 3), 1),
    value(3, 4),
    value(2, 2),
    layouts=False,
    torch_orders=0,
)

# ---- windows
for arguments, sizes in (
    ((2,), (2, 3, 4, 5)), (((2, 3), (1, 2), (0, 1), (2, 1)), (1, 2, 5, 6)), ((3, 1, 1, 2), (2, 5, 4)), ((1, 1, 0, 2), (1, 1, 3, 3)),
):  # fmt: skip
    row(
        "im2col",
        lambda t, x, a=arguments: t.nn.functional.unfold(x, *a),
        value(*sizes),
        dtypes=(*FLOATS, "bool"),
    )
row("fold", lambda t, x: t.nn.functional.fold(x, (4, 5), 2), value(2, 8, 12), dtypes=FLOATS)
row(
    "fold",
    lambda t, x: t.nn.functional.fold(x, (5, 6), (2, 3), (1, 2), (0, 1), (2, 1)),
    value(12, 8),
    dtypes=FLOATS,
)
row("fold", lambda t, x: t.nn.functional.fold(x, 4, 2, stride=3), value(1, 4, 1), dtypes=FLOATS)
row("pixel_shuffle", lambda t, x: t.pixel_shuffle(x, 2), value(2, 8, 2, 3))
row("pixel_shuffle", lambda t, x: t.nn.functional.pixel_shuffle(x, 1), value(2, 2, 3))
row("pixel_unshuffle", lambda t, x: t.pixel_unshuffle(x, 2), value(2, 3, 4, 2))
row("pixel_unshuffle", lambda t, x: t.pixel_unshuffle(x, 3), value(2, 3, 3))
row("channel_shuffle", lambda t, x: t.channel_shuffle(x, 2), value(2, 6, 2, 3))
row("channel_shuffle", lambda t, x: t.nn.functional.channel_shuffle(x, 3), value(1, 3, 2))

# ---- views
for size, step in ((2, 1), (2, 3), (3, 2), (0, 1), (4, 1), (1, 1)):
    row("unfold", lambda t, x, n=size, s=step: x.unfold(2, n, s), V)
row("unfold", lambda t, x: x.unfold(0, 2, 1).unfold(1, 2, 1), value(3, 4))
row("unfold", lambda t, x: x.unfold(0, 1, 1), value())
row("swapaxes", lambda t, x: x.swapaxes(0, -1), V, inplace=lambda t, x: x.swapaxes_(0, -1))
row("swapdims", lambda t, x: t.swapdims(x, 0, 1), V, inplace=lambda t, x: x.swapdims_(0, 1))
row("moveaxis", lambda t, x: x.moveaxis((0, 1), (2, 0)), V)
row("split_sections", lambda t, x: x.tensor_split(3, 1), value(2, 7))
row("split_sections", lambda t, x: x.tensor_split(5, -1), value(2, 3))
row("split_at", lambda t, x: x.tensor_split((1, -1, 9), 1), value(2, 7))
row("split_at", lambda t, x: t.tensor_split(x, t.tensor([2, 1]), dim=0), value(4))
row("split_at", lambda t, x: t.hsplit(x, (1, 2)), value(2, 3))
row("hsplit", lambda t, x: x.hsplit(2), value(2, 4))
row("hsplit", lambda t, x: x.hsplit(2), value(4))
row("vsplit", lambda t, x: t.vsplit(x, 2), value(4, 2))
row("dsplit", lambda t, x: x.dsplit(2), value(1, 2, 4))
for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    for sizes in ((), (3,), (2, 3), (2, 3, 4)):
        row(name, lambda t, x, n=name: getattr(t, n)(x), value(*sizes))
row("atleast_2d", lambda t, x, y: t.atleast_2d(x, y), value(), value(1, 2, 3))
for sizes in ((), (3,), (2, 3), (0, 2)):
    row("ravel", lambda t, x: x.ravel(), value(*sizes))
row("broadcast_tensors", lambda t, x, y: t.broadcast_tensors(x, y), value(2, 1), value(3))
row("meshgrid", lambda t, x, y: t.meshgrid(x, y, indexing="ij"), value(2), value(3))
row(
    "meshgrid", lambda t, x, y, z: t.meshgrid([x, y, z], indexing="xy"), value(2), value(), value(4)
)
row("narrow_copy", lambda t, x: x.narrow_copy(1, 1, 2), V)
for size in ((), (3, 1), (1, 1, 4), (2, 3, 4)):
    row("sum_to_size", lambda t, x, s=size: x.sum_to_size(s), V, dtypes=NUMBERS)
row(
    "view_dtype",
    lambda t, x: x.clone().contiguous().view(t.int16).view(x.dtype),
    value(2, 4),
    dtypes=("float32", "float64", "int32", "int64"),
    orders=0,
)
row("view_dtype", lambda t, x: x.contiguous().view(t.uint8), value(2, 4), orders=0, layouts=False)
