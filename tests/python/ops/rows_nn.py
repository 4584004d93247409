"""Linear algebra, layers and losses in functional form."""

from table import FLOATS, NUMBERS, Row, fixed, index, value, whole, widened

ROWS: list[Row] = []


def F(t):  # noqa: N802
    return t.nn.functional


# Normalisation divides by small variances. PyTorch's third derivatives of it are wrong (its issue 186256): they are
# compared with finite differences alone.
NORM = {"float32": 2e-4, "float64": 1e-9}


def row(op, call, *inputs, dtypes=FLOATS, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


# ---- linear algebra
for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
             ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((4, 1, 2, 3), (5, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3)),
             ((33, 17), (17, 70))):  # fmt: skip
    row("matmul", lambda t, a, b: a @ b, value(*a), value(*b), dtypes=NUMBERS,
        orders=3 if a != (33, 17) else 1)  # fmt: skip
row("mm", lambda t, a, b: t.mm(a, b), value(2, 3), value(3, 4), dtypes=NUMBERS)
row("bmm", lambda t, a, b: t.bmm(a, b), value(5, 2, 3), value(5, 3, 4), dtypes=NUMBERS)
row("mv", lambda t, a, b: t.mv(a, b), value(2, 3), value(3))
row("dot", lambda t, a, b: t.dot(a, b), value(7), value(7), dtypes=NUMBERS)
for c in ((2, 4), (4,), (2, 1), ()):
    row("addmm", lambda t, c, a, b: t.addmm(c, a, b), value(*c), value(2, 3), value(3, 4))
row(
    "addmm",
    lambda t, c, a, b: t.addmm(c, a, b, beta=0.5, alpha=2),
    value(2, 4),
    value(2, 3),
    value(3, 4),
)
for x in ((5,), (3, 5), (2, 3, 5), (0, 5)):
    row("linear", lambda t, x, w, b: F(t).linear(x, w, b), value(*x), value(4, 5), value(4))
    row("linear", lambda t, x, w: F(t).linear(x, w), value(*x), value(4, 5))
# Not all gradients are wanted; layers from the shortcut's size to the products'.
row("linear", lambda t, x, w, b: F(t).linear(x, w, b), fixed(3, 5), value(4, 5), value(4))
row("linear", lambda t, x, w, b: F(t).linear(x, w, b), value(3, 5), fixed(4, 5), value(4))
row("linear", lambda t, x, w, b: F(t).linear(x, w, b), value(3, 5), value(4, 5), fixed(4))
row("linear", lambda t, x, w, b: F(t).linear(x, w, b), fixed(3, 5), fixed(4, 5), value(4))
row("linear", lambda t, x, w, b: F(t).linear(x, w, b), value(3, 5), value(4, 5), value(1))
for n, inputs, outputs in ((16, 16, 16), (17, 16, 16), (64, 100, 30), (300, 120, 150),
                           (40, 260, 120), (64, 784, 63)):  # fmt: skip
    row("linear", lambda t, x, w, b: F(t).linear(x, w, b), value(n, inputs), value(outputs, inputs), value(outputs),
        orders=1)  # fmt: skip


def activated(t, x, w, b, activation):
    """linear_activation; PyTorch has the two steps only."""
    if hasattr(F(t), "linear_activation"):
        return F(t).linear_activation(x, w, b, activation)
    return getattr(t, activation)(F(t).linear(x, w, b))


for name in ("relu", "sigmoid", "tanh"):
    for x in ((5,), (3, 5), (2, 3, 5), (0, 5)):
        row(
            "linear_activation",
            lambda t, x, w, b, a=name: activated(t, x, w, b, a),
            value(*x),
            value(4, 5),
            value(4),
        )
    for given in (
        (fixed, value, value),
        (value, fixed, value),
        (fixed, fixed, value),
        (value, value, fixed),
    ):
        x, w, b = (make(*sizes) for make, sizes in zip(given, ((3, 5), (4, 5), (4,)), strict=True))
        row(
            "linear_activation",
            lambda t, x, w, b, a=name: activated(t, x, w, b, a),
            x,
            w,
            b,
        )
    row(
        "linear_activation",
        lambda t, x, w, a=name: activated(t, x, w, None, a),
        value(3, 5),
        value(4, 5),
    )
    row(
        "linear_activation",
        lambda t, x, w, a=name: activated(t, x, w, None, a),
        value(3, 5),
        value(5),
        orders=1,
    )
    # Every way in which a backend computes products: small, thin (whole and cut), deep, by tiles or a library. The
    # inputs are scaled so that the activations of sums of so many terms are not all at their ends.
    for n, inputs, outputs in ((17, 16, 16), (64, 100, 30), (600, 700, 3), (1, 300, 70), (3, 9000, 4), (64, 784, 63),
                               (300, 120, 150)):  # fmt: skip
        row("linear_activation", lambda t, x, w, b, a=name, s=inputs**-0.5: activated(t, x * s, w, b, a),
            value(n, inputs), value(outputs, inputs), value(outputs), orders=1)  # fmt: skip

# ---- normalisation and softmax
for sizes in ((4, 3), (4, 3, 5), (3, 2, 4, 4)):
    c = sizes[1]
    row("batch_norm", lambda t, x, w, b: F(t).batch_norm(x, None, None, w, b, True), value(*sizes), value(c), value(c),
        rtol=NORM, torch_orders=2)  # fmt: skip
    row("batch_norm", lambda t, x: F(t).batch_norm(x, None, None, training=True), value(*sizes),
        rtol=NORM, torch_orders=2)  # fmt: skip
    row("batch_norm", lambda t, x, m, v, w, b: F(t).batch_norm(x, m, v, w, b, False), value(*sizes), fixed(c),
        fixed(c, low=0.5), value(c), value(c), rtol=NORM, torch_orders=2)  # fmt: skip
for sizes in ((4, 6), (2, 3, 6), (6,)):
    row("layer_norm", lambda t, x, w, b: F(t).layer_norm(x, (6,), w, b), value(*sizes), value(6), value(6),
        rtol=NORM, torch_orders=2)  # fmt: skip
row(
    "layer_norm", lambda t, x: F(t).layer_norm(x, (3, 4)), value(2, 3, 4), rtol=NORM, torch_orders=2
)
for sizes, shape in (
    ((4, 6), (6,)),
    ((2, 3, 6), (3, 6)),
    ((6,), (6,)),
    ((0, 6), (6,)),
    ((3, 2000), (2000,)),
):
    # Expanded, the row of six holds equal numbers: its third derivative is what cancellation leaves.
    limits = {"rtol": NORM, "orders": {(3, 2000): 1, (6,): 2}.get(sizes, 3)}
    row(
        "rms_norm",
        lambda t, x, w, s=shape: F(t).rms_norm(x, s, w),
        value(*sizes),
        value(*shape),
        **limits,
    )
    row("rms_norm", lambda t, x, s=shape: F(t).rms_norm(x, s, eps=0.1), value(*sizes), **limits)
for sizes, groups in (
    ((4, 6), 2),
    ((2, 6, 5), 3),
    ((3, 4, 2, 3), 4),
    ((2, 4, 3, 3), 1),
    ((0, 4, 2), 2),
    ((2, 64, 40), 8),
):
    c, limits = sizes[1], {"rtol": NORM, "torch_orders": 2, "orders": 3 if sizes[1] < 64 else 1}
    row(
        "group_norm",
        lambda t, x, w, b, g=groups: F(t).group_norm(x, g, w, b),
        value(*sizes),
        value(c),
        value(c),
        **limits,
    )
    row(
        "group_norm",
        lambda t, x, b, g=groups: F(t).group_norm(x, g, bias=b),
        value(*sizes),
        fixed(c),
        **limits,
    )
    row(
        "group_norm", lambda t, x, g=groups: F(t).group_norm(x, g, eps=0.1), value(*sizes), **limits
    )
for sizes in ((3, 4, 5), (2, 3, 4, 4), (1, 2, 2, 3, 2)):
    c = sizes[1]
    row("instance_norm", lambda t, x, w, b: F(t).instance_norm(x, weight=w, bias=b), value(*sizes), value(c), value(c),
        rtol=NORM, torch_orders=2)  # fmt: skip
    row("instance_norm", lambda t, x, m, v, w: F(t).instance_norm(x, m, v, w, use_input_stats=False), value(*sizes),
        fixed(c), fixed(c, low=0.5), value(c), rtol=NORM, torch_orders=2)  # fmt: skip
for sizes, size in (((2, 5, 4), 3), ((2, 4, 3, 2), 2), ((1, 3, 2, 2, 2), 7), ((0, 3, 2), 2)):
    # PyTorch's views some layouts cannot be seen in.
    row("local_response_norm",
        lambda t, x, n=size: widened(t, lambda x: F(t).local_response_norm(x, n, 0.5, 0.6, 2.0), x), value(*sizes),
        layouts=len(sizes) < 5)  # fmt: skip
for sizes, dim in (
    ((5,), 0),
    ((3, 5), 1),
    ((3, 5), 0),
    ((2, 3, 4), 1),
    ((0, 3), 1),
    ((20, 300), 1),
):
    orders = 3 if sizes != (20, 300) else 1
    row("softmax", lambda t, x, d=dim: F(t).softmax(x, d), value(*sizes), orders=orders)
    row("log_softmax", lambda t, x, d=dim: F(t).log_softmax(x, d), value(*sizes), orders=orders)
row(
    "softmax",
    lambda t, x: t.softmax(x, 0, dtype=t.float64),
    value(3, 2),
    dtypes=("float32", "int64"),
    orders=0,
)
row("embedding", lambda t, i, w: F(t).embedding(i, w), index(2, 3, below=5), value(5, 4))
row("embedding", lambda t, i, w: F(t).embedding(i, w, padding_idx=1), index(6, below=5), value(5, 4),
    differentiable=False)  # fmt: skip


def batch_norm_relu(t, x, w, b, addend=None, running=(None, None), limit=None, last=False):
    """batch_norm_relu; PyTorch has the steps only. `last`: with channels last in memory, for which a GPU has a kernel."""
    x, addend = (
        y.to(memory_format=t.channels_last) if last and y is not None else y for y in (x, addend)
    )
    if last:  # PyTorch's gradient takes a weight and statistics with gaps for others without
        w, *running = (y if y is None else y.contiguous() for y in (w, *running))
    training = running[0] is None
    if hasattr(F(t), "batch_norm_relu"):
        return F(t).batch_norm_relu(x, *running, w, b, training, addend=addend, limit=limit)
    y = F(t).batch_norm(x, *running, w, b, training)
    y = y if addend is None else y + addend
    return F(t).relu(y) if limit is None else F(t).hardtanh(y, 0, limit)


for sizes, last in [((3, 4), 0), ((2, 4, 5, 3), 0), ((3, 8, 3, 2), 1), ((6, 8, 1, 1), 1)]:
    c = sizes[1]
    for limit in (None, 1):
        row("batch_norm_relu", lambda t, x, w, b, a=(limit, last): batch_norm_relu(t, x, w, b, limit=a[0], last=a[1]),
            value(*sizes), value(c), value(c), rtol=NORM, torch_orders=2)  # fmt: skip
        row("batch_norm_relu", lambda t, x, w, b, y, a=(limit, last): batch_norm_relu(t, x, w, b, y, limit=a[0], last=a[1]),
            value(*sizes), value(c), value(c), value(*sizes), rtol=NORM, torch_orders=2)  # fmt: skip
    row("batch_norm_relu", lambda t, x, m, v, w, b, y, a=last: batch_norm_relu(t, x, w, b, y, (m, v), last=a),
        value(*sizes), fixed(c), fixed(c, low=0.5), value(c), value(c), value(*sizes), rtol=NORM, torch_orders=2)  # fmt: skip
    row("batch_norm_relu", lambda t, x, y, a=last: batch_norm_relu(t, x, None, None, y, last=a),
        fixed(*sizes), value(*sizes), rtol=NORM, torch_orders=2)  # fmt: skip


def bags(t, i, w, offsets=None, **how):
    offsets = None if offsets is None else t.tensor(offsets)
    return F(t).embedding_bag(i, w, offsets, **how)


for offsets in ((0, 2, 2, 5), (0, 7)):
    for mode in ("sum", "mean", "max"):
        row("embedding_bag", lambda t, i, w, o=offsets, m=mode: bags(t, i, w, o, mode=m), index(7, below=5),
            value(5, 3), torch_orders=1)  # fmt: skip
for mode in ("sum", "mean", "max"):
    row("embedding_bag", lambda t, i, w, m=mode: bags(t, i, w, mode=m), index(4, 3, below=6), value(6, 5),
        torch_orders=1)  # fmt: skip
    row("embedding_bag", lambda t, i, w, m=mode: bags(t, i, w, mode=m, padding_idx=-2), index(4, 3, below=4),
        value(4, 2), torch_orders=1)  # fmt: skip
row("embedding_bag", lambda t, i, w, f: bags(t, i, w, (0, 2, 5), mode="sum", per_sample_weights=f),
    index(7, below=5), value(5, 3), value(7), torch_orders=1)  # fmt: skip
row("embedding_bag", lambda t, i, w: bags(t, i, w, (0, 2, 5), include_last_offset=True), index(5, below=5),
    value(5, 3), torch_orders=1)  # fmt: skip


def fractional(t, pool, x, u, **how):
    """PyTorch rounds the places of windows to narrow floats."""
    if t.__name__ != "torch" or x.dtype not in (t.float16, t.bfloat16):
        return getattr(F(t), pool)(x, _random_samples=u, **how)
    found = getattr(F(t), pool)(x.float(), _random_samples=u.float(), **how)
    return (found[0].to(x.dtype), found[1]) if "return_indices" in how else found.to(x.dtype)


FRACTIONAL = {
    2: ("fractional_max_pool2d", "fractional_max_pool2d_with_indices"),
    3: ("fractional_max_pool3d", "fractional_max_pool3d_with_indices"),
}
for sizes, how in (
    ((2, 3, 8, 9), {"kernel_size": 2, "output_size": (4, 5)}),
    ((2, 2, 7, 6), {"kernel_size": (2, 3), "output_ratio": (0.5, 0.4)}),
    ((1, 2, 5, 5), {"kernel_size": 3, "output_size": (1, 3)}),
    ((1, 2, 5, 6, 5), {"kernel_size": 2, "output_size": (2, 3, 3)}),
    ((2, 1, 4, 4, 5), {"kernel_size": (1, 2, 2), "output_ratio": (0.5, 0.6, 0.5)}),
):
    dims = len(sizes) - 2
    samples = fixed(*sizes[:2], dims, low=0.0, high=1.0)
    op, op_with_indices = FRACTIONAL[dims]
    row(op, lambda t, x, u, f=op, h=how: fractional(t, f, x, u, **h), value(*sizes), samples,
        layouts=False)  # fmt: skip
    row(op_with_indices,
        lambda t, x, u, f=op, h=how: fractional(t, f, x, u, return_indices=True, **h),
        value(*sizes), samples, layouts=False)  # fmt: skip
row("dropout", lambda t, x: F(t).dropout(x, 0.3, training=False), value(3, 4))
row("dropout", lambda t, x: F(t).dropout(x, 1.0), value(3, 4), orders=0,
    inplace=lambda t, x: F(t).dropout(x, 1.0, inplace=True))  # fmt: skip
for name, sizes in (("dropout1d", (2, 3, 4)), ("dropout2d", (2, 3, 4, 4)), ("dropout3d", (2, 3, 4, 1, 2)),
                    ("alpha_dropout", (3, 4)), ("feature_alpha_dropout", (2, 3, 4))):  # fmt: skip
    row(name, lambda t, x, f=name: getattr(F(t), f)(x, 0.3, training=False), value(*sizes))
    row(name, lambda t, x, f=name: getattr(F(t), f)(x, 1.0, training=True), value(*sizes), orders=0,
        inplace=lambda t, x, f=name: getattr(F(t), f)(x, 1.0, training=True, inplace=True))  # fmt: skip
row(
    "rrelu",
    lambda t, x: F(t).rrelu(x, 0.2, 0.4),
    value(3, 4),
    inplace=lambda t, x: F(t).rrelu(x, 0.2, 0.4, inplace=True),
)
row("rrelu", lambda t, x: widened(t, lambda x: F(t).rrelu(x, 0.3, 0.3, training=True), x), value(3, 4),
    inplace=lambda t, x: F(t).rrelu(x, 0.3, 0.3, training=True, inplace=True))  # fmt: skip
# With a temperature this high the noise does not show.
row("gumbel_softmax", lambda t, x: F(t).gumbel_softmax(x * 0, 1e12, dim=0), value(3, 4), orders=0)

# ---- losses


def logits_loss(t, x, y, pos_weight, reduction):
    """With a pos_weight that is differentiated. PyTorch refuses to: it is given the definition."""
    if t.__name__ != "torch":
        return F(t).binary_cross_entropy_with_logits(
            x, y, pos_weight=pos_weight, reduction=reduction
        )
    loss = -pos_weight * y * F(t).logsigmoid(x) - (1 - y) * F(t).logsigmoid(-x)
    return {"mean": loss.mean, "sum": loss.sum, "none": loss.clone}[reduction]()


for reduction in ("mean", "sum", "none"):
    k = {"reduction": reduction}
    for sizes in ((), (5,), (3, 4)):
        for op in ("mse_loss", "l1_loss"):
            row(
                op,
                lambda t, x, y, f=op, k=k: getattr(F(t), f)(x, y, **k),
                value(*sizes),
                value(*sizes),
            )
        # PyTorch's second derivatives are not exact: it adds 1e-12 to divisors.
        row("binary_cross_entropy", lambda t, x, y, k=k: F(t).binary_cross_entropy(x, y, **k),
            value(*sizes, low=0.1, high=0.9), value(*sizes, low=0.1, high=0.9), orders=2,
            torch_orders=1)  # fmt: skip
        row("binary_cross_entropy_with_logits", lambda t, x, y, k=k: F(t).binary_cross_entropy_with_logits(x, y, **k),
            value(*sizes), value(*sizes, low=0, high=1))  # fmt: skip
    # Many elements, and operands that do not lie side by side.
    row(
        "mse_loss",
        lambda t, x, y, k=k: F(t).mse_loss(x, y, **k),
        value(300, 401),
        value(300, 401),
        orders=1,
    )
    row("mse_loss", lambda t, x, y, k=k: F(t).mse_loss(x.T, y, **k), value(3, 4), value(4, 3))
    for op in ("mse_loss", "l1_loss", "huber_loss"):
        row(op, lambda t, x, y, w, f=op, k=k: getattr(F(t), f)(x, y, weight=w, **k), value(3, 4), value(3, 4),
            fixed(3, 4, low=0.5))  # fmt: skip
    row("binary_cross_entropy", lambda t, x, y, w, k=k: F(t).binary_cross_entropy(x, y, w, **k),
        value(3, 4, low=0.1, high=0.9), fixed(3, 4, low=0.1, high=0.9), fixed(4), torch_orders=2)  # fmt: skip
    row("binary_cross_entropy_with_logits",
        lambda t, x, y, w, p, k=k: F(t).binary_cross_entropy_with_logits(x, y, w, pos_weight=p, **k),
        value(3, 4), fixed(3, 4, low=0, high=1), fixed(4), fixed(4, low=0.5))  # fmt: skip
    # Equal numbers, and probabilities of 0 and 1, whose logarithms are bounded.
    row("l1_loss", lambda t, x, y, k=k: F(t).l1_loss(x, y, **k), whole(5, 6), whole(5, 6),
        differentiable=False)  # fmt: skip
    row("binary_cross_entropy", lambda t, x, y, k=k: F(t).binary_cross_entropy(x, y, **k),
        whole(5, 6, low=0, high=1), value(5, 6, low=0.1, high=0.9), orders=1, differentiable=False)  # fmt: skip
    row("binary_cross_entropy_with_logits", lambda t, x, y, p, r=reduction: logits_loss(t, x, y, p, r),
        whole(5, 6), value(5, 6, low=0, high=1), value(6, low=0.5))  # fmt: skip
    for sizes, target in (((4, 5), (4,)), ((5,), ()), ((2, 5, 3), (2, 3)), ((300, 40), (300,))):
        classes = sizes[0] if len(sizes) == 1 else sizes[1]
        limits = {
            "orders": 3 if sizes != (300, 40) else 1,
            # "grad_input must be contiguous", says PyTorch to second derivatives of permuted images.
            "torch_orders": 3 if len(sizes) < 3 else 1,
        }
        row(
            "nll_loss",
            lambda t, x, y, k=k: F(t).nll_loss(x, y, **k),
            value(*sizes),
            index(*target, below=classes),
            **limits,
        )
        row("cross_entropy", lambda t, x, y, k=k: F(t).cross_entropy(x, y, **k), value(*sizes), index(*target, below=classes),
            **limits)  # fmt: skip
        row("cross_entropy", lambda t, x, y, w, k=k: F(t).cross_entropy(x, y, w, ignore_index=1, **k), value(*sizes),
            index(*target, below=classes), fixed(classes, low=0.5), **limits)  # fmt: skip
        row("nll_loss", lambda t, x, y, w, k=k: F(t).nll_loss(x, y, w, ignore_index=1, **k), value(*sizes),
            index(*target, below=classes), fixed(classes, low=0.5), **limits)  # fmt: skip
    row(
        "cross_entropy",
        lambda t, x, y, k=k: F(t).cross_entropy(x, y, label_smoothing=0.2, **k),
        value(4, 5),
        index(4, below=5),
    )
    row("cross_entropy", lambda t, x, y, w, k=k: F(t).cross_entropy(x, y, w, label_smoothing=0.2, ignore_index=2, **k),
        value(4, 5), index(4, below=5), fixed(5, low=0.5))  # fmt: skip
    row(
        "cross_entropy",
        lambda t, x, y, k=k: F(t).cross_entropy(x, y, **k),
        value(4, 5),
        value(4, 5, low=0, high=1),
    )
    row("linear_cross_entropy", lambda t, x, w, y, k=k: F(t).linear_cross_entropy(x, w, y, **k), value(4, 3), value(5, 3),
        index(4, below=5))  # fmt: skip
    row("linear_cross_entropy", lambda t, x, w, y, b, c, k=k: F(t).linear_cross_entropy(
            x, w, y, linear_bias=b, weight=c, ignore_index=2, label_smoothing=0.2, **k),
        value(4, 3), value(5, 3), index(4, below=5), value(5), fixed(5, low=0.5))  # fmt: skip
    # The weight of probabilities is differentiated; that of classes is refused.
    for smoothing in (0.0, 0.2):
        row("cross_entropy", lambda t, x, y, w, k={**k, "label_smoothing": smoothing}: F(t).cross_entropy(x, y, w, **k),
            value(2, 3, 4), value(2, 3, 4, low=0, high=1), value(3))  # fmt: skip

# ---- rounding as quantized numbers are
ROUNDED = {"orders": 2, "differentiable": False}
for sizes in ((), (0,), (7,), (2, 3), (2, 3, 4)):
    for scale, zero in ((0.1, 3), (0.25, -8), (-0.5, 0)):
        row("fake_quantize_per_tensor_affine",
            lambda t, x, s=scale, z=zero: t.fake_quantize_per_tensor_affine(x, s, z, -8, 7), value(*sizes), **ROUNDED)  # fmt: skip
row("fake_quantize_per_tensor_affine",
    lambda t, x: t.fake_quantize_per_tensor_affine(x.log() / x, t.tensor(0.1), t.tensor([4]), quant_min=0, quant_max=255),
    whole(9), orders=0)  # fmt: skip
for zero, dtype in (
    ([0, 1, -3], "int32"),
    ([0.4, -20.0, 2.0], "float32"),
    ([1.5, 0.0, 0.25], "float16"),
):
    for sizes, axis in (((2, 3), 1), ((3, 2, 2), 0), ((0, 3), 1)):
        row("fake_quantize_per_channel_affine", lambda t, x, z=zero, d=dtype, a=axis: t.fake_quantize_per_channel_affine(
            x, t.tensor([0.1, 0.25, 0.5]), t.tensor(z, dtype=getattr(t, d)), a, -8, 7), value(*sizes), **ROUNDED)  # fmt: skip
