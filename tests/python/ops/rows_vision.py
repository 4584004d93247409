"""Resizing images and reading them at places between their elements."""

from table import FLOATS, Row, value, widened

ROWS: list[Row] = []


def F(t):  # noqa: N802
    return t.nn.functional


def resized_wide(t, x, **how):
    """PyTorch's antialias is of float32 and float64 alone."""
    if t.__name__ == "torch" and x.dtype in (t.float16, t.bfloat16):
        return F(t).interpolate(x.float(), **how).to(x.dtype)
    return F(t).interpolate(x, **how)


def row(op, call, *inputs, dtypes=FLOATS, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


for sizes, how in (
    ((2, 3, 4), {"size": 7}),
    ((1, 2, 3, 4), {"size": (5, 2)}),
    ((1, 2, 3, 4), {"scale_factor": 2, "mode": "nearest-exact"}),
    ((2, 3, 4, 5), {"scale_factor": (1.7, 0.6)}),
    ((1, 2, 2, 3, 2), {"scale_factor": 1.5, "mode": "nearest-exact"}),
    ((0, 2, 3), {"size": 2}),
    ((2, 3, 5), {"size": 7, "mode": "linear"}),
    ((2, 3, 4, 5), {"size": (7, 3), "mode": "bilinear"}),
    ((2, 2, 3, 4), {"scale_factor": 2, "mode": "bilinear"}),
    ((1, 2, 4, 5), {"size": (3, 8), "mode": "bicubic"}),
    ((1, 2, 3, 2, 4), {"scale_factor": (1.5, 2, 0.7), "mode": "trilinear"}),
    ((0, 2, 3, 4), {"size": 2, "mode": "bilinear"}),
    ((1, 2, 3, 4), {"size": (3, 4), "mode": "bilinear"}),
):
    row("interpolate", lambda t, x, how=how: F(t).interpolate(x, **how), value(*sizes))
for sizes, how in (
    ((2, 3, 5), {"size": 3}),
    ((1, 2, 3), {"size": 20}),
    ((1, 2, 4, 6), {"scale_factor": 0.5}),
    ((1, 2, 3, 4, 4), {"size": (2, 5, 2)}),
):
    row(
        f"adaptive_avg_pool{len(sizes) - 2}d",
        lambda t, x, how=how: F(t).interpolate(x, mode="area", **how),
        value(*sizes),
    )
for sizes, how in (
    ((2, 3, 5), {"size": 8, "mode": "linear"}),
    ((2, 2, 4, 5), {"size": (7, 1), "mode": "bilinear"}),
    ((1, 2, 4, 5), {"size": (3, 8), "mode": "bicubic"}),
    ((1, 2, 3, 2, 4), {"size": (4, 2, 1), "mode": "trilinear"}),
):
    row(
        "interpolate_aligned",
        lambda t, x, how=how: F(t).interpolate(x, align_corners=True, **how),
        value(*sizes),
    )
for sizes, size, mode in (
    ((1, 2, 9, 7), (3, 4), "bilinear"),
    ((1, 2, 9, 3), (4, 7), "bicubic"),
    ((1, 2, 11, 8), (3, 5), "lanczos"),
):
    row(
        "interpolate_aligned",
        lambda t, x, s=size, m=mode: resized_wide(t, x, size=s, mode=m, antialias=True),
        value(*sizes),
    )

# Finite differences do not see the kinks at the elements: the places lie between them.
PLACES = (0.13, -0.81, 0.57, 0.93, -0.37, 1.21, -1.33, 0.71, -0.06, 0.31, -0.59, 0.44)


def places(t, x, *sizes):
    """A grid that depends on x [1] by an even shift."""
    count = 1
    for n in sizes:
        count *= n
    numbers = [PLACES[i * 5 % 12] * (1 - i // 12 * 0.05) for i in range(count)]
    return t.tensor(numbers, dtype=x.dtype).reshape(sizes) + x * 0.01


def sampled(t, x, shift, *sizes, **how):
    """PyTorch rounds between the steps of narrow floats."""
    return widened(t, lambda y, s: F(t).grid_sample(y, places(t, s, *sizes), **how), x, shift)


for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for align in (False, True):
            how = {"mode": mode, "padding_mode": padding, "align_corners": align}
            row("grid_sample", lambda t, x, s, h=how: sampled(t, x, s, 2, 3, 2, 2, **h),
                value(2, 2, 4, 5), value(1), orders=2, torch_orders=1)  # fmt: skip
            if mode != "bicubic":
                row("grid_sample", lambda t, x, s, h=how: sampled(t, x, s, 1, 2, 2, 1, 3, **h),
                    value(1, 2, 3, 4, 3), value(1), orders=2, torch_orders=1)  # fmt: skip
for size, align in (((2, 3, 4, 5), False), ((2, 1, 3, 2), True), ((1, 1, 1, 3), True)):
    row("affine_grid",
        lambda t, x, s=size, a=align: widened(t, lambda y: F(t).affine_grid(y, s, align_corners=a), x),
        value(size[0], 2, 3))  # fmt: skip
row(
    "affine_grid",
    lambda t, x: F(t).affine_grid(x, (2, 1, 2, 3, 4), align_corners=False),
    value(2, 3, 4),
)
