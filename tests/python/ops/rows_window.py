"""What slides a window over lines, images and volumes: convolution and pooling."""

from table import FLOATS, NUMBERS, Row, value

ROWS: list[Row] = []


def F(t):  # noqa: N802
    return t.nn.functional


def row(op, call, *inputs, dtypes=FLOATS, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


def unpooled(t, x, dims):
    y, indices = getattr(F(t), f"max_pool{dims}d")(x, 2, return_indices=True)
    return getattr(F(t), f"max_unpool{dims}d")(y * 2, indices, 2, output_size=x.shape[-dims:])


for sizes, weight, arguments in (
    ((2, 3, 5, 6), (4, 3, 3, 3), {}),
    ((2, 3, 5, 6), (4, 3, 3, 3), {"padding": 1}),
    ((2, 3, 7, 6), (4, 3, 3, 2), {"stride": 2, "padding": (1, 0)}),
    ((1, 2, 7, 7), (2, 2, 3, 3), {"dilation": 2, "padding": 2}),
    ((2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    ((2, 4, 5, 5), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    ((2, 3, 4, 4), (5, 3, 1, 1), {}),
    ((3, 5, 5), (2, 3, 3, 3), {}),
    ((0, 3, 5, 5), (2, 3, 3, 3), {}),
):
    if len(sizes) == 3:
        weight = (2, 3, 3, 3)
    dtypes = FLOATS if "dilation" in arguments else NUMBERS
    row("conv2d", lambda t, x, w, b, k=arguments: F(t).conv2d(x, w, b, **k), value(*sizes), value(*weight), value(weight[0]),
        dtypes=dtypes, rtol={"float32": 1e-4})  # fmt: skip
    row("conv2d", lambda t, x, w, k=arguments: F(t).conv2d(x, w, **k), value(*sizes), value(*weight),
        dtypes=dtypes, rtol={"float32": 1e-4})  # fmt: skip
for op, sizes, weight, arguments in (
    ("conv1d", (2, 3, 9), (4, 3, 3), {}),
    ("conv1d", (2, 4, 20), (6, 2, 5), {"stride": 3, "padding": 2, "dilation": 2, "groups": 2}),
    ("conv1d", (4, 9), (4, 1, 2), {"groups": 4}),
    ("conv1d", (0, 3, 9), (4, 3, 3), {"padding": 1}),
    ("conv3d", (2, 3, 4, 5, 3), (4, 3, 2, 3, 2), {}),
    (
        "conv3d",
        (1, 4, 5, 4, 6),
        (6, 2, 2, 2, 3),
        {"stride": (2, 1, 3), "padding": (1, 0, 2), "groups": 2},
    ),
    ("conv3d", (2, 6, 4, 4), (3, 2, 3, 2, 2), {"dilation": (2, 1, 2), "padding": 1}),
    ("conv3d", (0, 2, 4, 4, 4), (3, 2, 3, 3, 3), {}),
    ("conv3d", (2, 2, 3, 3, 3), (3, 2, 1, 1, 1), {"stride": 2}),
    ("conv_transpose1d", (2, 4, 5), (4, 3, 3), {}),
    (
        "conv_transpose1d",
        (4, 5),
        (4, 3, 4),
        {"stride": 3, "padding": 1, "output_padding": 2, "groups": 2},
    ),
    ("conv_transpose2d", (2, 3, 4, 5), (3, 4, 3, 3), {}),
    (
        "conv_transpose2d",
        (2, 4, 3, 4),
        (4, 3, 2, 3),
        {"stride": (2, 3), "padding": (0, 1), "output_padding": (1, 2)},
    ),
    (
        "conv_transpose2d",
        (4, 5, 4),
        (4, 1, 3, 3),
        {"groups": 4, "dilation": 2, "output_padding": 1},
    ),
    ("conv_transpose2d", (0, 3, 4, 4), (3, 2, 3, 3), {"stride": 2}),
    (
        "conv_transpose2d",
        (2, 3, 4, 4),
        (3, 2, 3, 3),
        {"padding": (1, 0), "output_padding": (2, 1), "dilation": (3, 2)},
    ),
    ("conv_transpose3d", (2, 3, 2, 3, 4), (3, 2, 2, 3, 2), {}),
    (
        "conv_transpose3d",
        (4, 3, 2, 3),
        (4, 2, 3, 2, 2),
        {
            "stride": 2,
            "padding": (1, 0, 1),
            "output_padding": 1,
            "groups": 2,
            "dilation": (2, 1, 1),
        },
    ),
):
    outputs = weight[1] * arguments.get("groups", 1) if "transpose" in op else weight[0]
    dtypes = FLOATS if "transpose" in op or "dilation" in arguments else NUMBERS
    # PyTorch's second derivative raises where an output was padded.
    orders = 1 if "output_padding" in arguments else 3
    row(op, lambda t, x, w, b, f=op, k=arguments: getattr(F(t), f)(x, w, b, **k), value(*sizes), value(*weight),
        value(outputs), dtypes=dtypes, orders=orders, rtol={"float32": 1e-4})  # fmt: skip
    row(op, lambda t, x, w, f=op, k=arguments: getattr(F(t), f)(x, w, **k), value(*sizes), value(*weight),
        dtypes=dtypes, orders=orders, rtol={"float32": 1e-4})  # fmt: skip
for padding in ("same", "valid"):
    row("conv1d_padding", lambda t, x, w, p=padding: F(t).conv1d(x, w, padding=p), value(2, 3, 11),
        value(2, 3, 4), dtypes=NUMBERS, rtol={"float32": 1e-4})  # fmt: skip
    row("conv3d_padding", lambda t, x, w, b, p=padding: F(t).conv3d(x, w, b, padding=p), value(1, 3, 4, 3, 5),
        value(2, 3, 2, 3, 1), value(2), dtypes=NUMBERS, rtol={"float32": 1e-4})  # fmt: skip
    row("conv2d_padding", lambda t, x, w, b, p=padding: F(t).conv2d(x, w, b, padding=p), value(1, 3, 4, 6),
        value(2, 3, 3, 1), value(2), dtypes=NUMBERS, rtol={"float32": 1e-4})  # fmt: skip
for sizes, arguments in (
    ((2, 3, 6, 6), {"kernel_size": 2}),
    ((2, 3, 7, 5), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((1, 2, 7, 7), {"kernel_size": (2, 3), "stride": (1, 2)}),
    ((3, 5, 5), {"kernel_size": 2}),
):
    row("max_pool2d", lambda t, x, k=arguments: F(t).max_pool2d(x, **k), value(*sizes))
    row("avg_pool2d", lambda t, x, k=arguments: F(t).avg_pool2d(x, **k), value(*sizes))
    row("max_pool2d_with_indices", lambda t, x, k=arguments: F(t).max_pool2d(x, return_indices=True, **k), value(*sizes),
        orders=1)  # fmt: skip
row("max_pool2d", lambda t, x: F(t).max_pool2d(x, 3, 2, dilation=2), value(2, 2, 9, 9))
POOLS = {
    1: ("max_pool1d", "avg_pool1d", "max_pool1d_with_indices"),
    3: ("max_pool3d", "avg_pool3d", "max_pool3d_with_indices"),
}
ADAPTIVE_POOLS = {
    1: ("adaptive_max_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d_with_indices"),
    2: ("adaptive_max_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d_with_indices"),
    3: ("adaptive_max_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d_with_indices"),
}


def pool(t, function, x, *args, **options):
    """In PyTorch, means over volumes want wide floats."""
    is_narrow = (
        t.__name__ == "torch" and function.endswith("pool3d") and x.dtype in (t.float16, t.bfloat16)
    )
    if is_narrow and "max" not in function:
        return getattr(F(t), function)(x.float(), *args, **options).to(x.dtype)
    return getattr(F(t), function)(x, *args, **options)


def pool_row(op, sizes, *args, **options):
    function = op.removesuffix("_with_indices")
    if op != function:
        options = {**options, "return_indices": True}
    row(
        op,
        lambda t, x: pool(t, function, x, *args, **options),
        value(*sizes),
        orders=3 if op == function else 1,
    )


for dims, sizes, arguments in (
    (1, (2, 3, 9), {"kernel_size": 2}),
    (1, (2, 3, 10), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    (1, (3, 7), {"kernel_size": 3, "stride": 1}),
    (1, (0, 3, 7), {"kernel_size": 3}),
    (3, (2, 3, 4, 5, 6), {"kernel_size": 2}),
    (
        3,
        (1, 2, 5, 6, 4),
        {"kernel_size": (2, 3, 2), "stride": (1, 2, 2), "padding": (1, 1, 0), "ceil_mode": True},
    ),
    (3, (2, 4, 4, 5), {"kernel_size": (3, 2, 2)}),
    (3, (0, 2, 4, 4, 4), {"kernel_size": 2}),
):
    for op in POOLS[dims]:
        pool_row(op, sizes, **arguments)
row("max_pool1d", lambda t, x: F(t).max_pool1d(x, 3, 2, dilation=2), value(2, 2, 9))
row("max_pool3d", lambda t, x: F(t).max_pool3d(x, 2, 2, dilation=(2, 1, 3)), value(2, 2, 5, 6, 7))
row(
    "avg_pool3d",
    lambda t, x: pool(t, "avg_pool3d", x, 3, 2, 1, count_include_pad=False),
    value(2, 2, 5, 6, 7),
)
row(
    "avg_pool3d", lambda t, x: pool(t, "avg_pool3d", x, 2, divisor_override=3), value(2, 2, 5, 6, 7)
)
row("avg_pool1d", lambda t, x: F(t).avg_pool1d(x, 3, 2, 1, True, False), value(2, 2, 8))
for dims, sizes, output in (
    (1, (2, 3, 8), 4), (1, (3, 7), 3), (1, (2, 3, 5), 8), (1, (0, 3, 5), 2),
    (2, (2, 3, 6, 8), (3, 2)), (2, (2, 3, 7, 8), (3, 4)), (2, (3, 5, 7), (4, 7)), (2, (2, 3, 5, 4), 1),
    (2, (1, 2, 3, 3), (7, 2)), (3, (2, 3, 4, 5, 6), (2, 3, 6)), (3, (2, 4, 4, 3), 2),
):  # fmt: skip
    for op in ADAPTIVE_POOLS[dims]:
        pool_row(op, sizes, output)
LP_POOLS = {
    1: ("lp_pool1d", "max_unpool1d"),
    2: ("lp_pool2d", "max_unpool2d"),
    3: ("lp_pool3d", "max_unpool3d"),
}
for dims, sizes in ((1, (2, 3, 9)), (2, (2, 3, 5, 6)), (2, (3, 5, 6)), (3, (2, 2, 4, 5, 6))):
    op, inverse = LP_POOLS[dims]
    for p in (2, 3):
        row(op, lambda t, x, f=op, p=p: pool(t, f, x, p, 2), value(*sizes, low=0.5))
    row(inverse, lambda t, x, n=dims: unpooled(t, x, n), value(*sizes))
row(
    "avg_pool2d",
    lambda t, x: F(t).avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    value(2, 2, 7, 7),
)
row("avg_pool2d", lambda t, x: F(t).avg_pool2d(x, 2, divisor_override=3), value(2, 2, 6, 6))
