"""Losses of distributions and of margins, in functional form."""

from functools import partial

from table import FLOATS, NUMBERS, Row, fixed, index, value, whole, widened

ROWS: list[Row] = []


def F(t):  # noqa: N802
    return t.nn.functional


def row(op, call, *inputs, dtypes=FLOATS, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


SIGNS = {"low": -1, "high": 1}  # of targets: 0 among them, which is neither


def sign(*sizes):
    return whole(*sizes, **SIGNS)


for reduction in ("mean", "sum", "none"):
    k = {"reduction": reduction}
    for sizes in ((), (5,), (3, 4)):
        for beta in (1.0, 0.3, 0.0):
            row("smooth_l1_loss", lambda t, x, y, k={**k, "beta": beta}: F(t).smooth_l1_loss(x, y, **k),
                value(*sizes), value(*sizes))  # fmt: skip
        for delta in (1.0, 0.3):
            row("huber_loss", lambda t, x, y, k={**k, "delta": delta}: F(t).huber_loss(x, y, **k),
                value(*sizes), value(*sizes))  # fmt: skip
        row("soft_margin_loss", lambda t, x, y, k=k: F(t).soft_margin_loss(x, y, **k), value(*sizes),
            fixed(*sizes), torch_orders=2)  # fmt: skip
        row(
            "kl_div",
            lambda t, x, y, k=k: F(t).kl_div(x, y, log_target=True, **k),
            value(*sizes),
            value(*sizes),
        )
        row(
            "kl_div",
            lambda t, x, y, k=k: F(t).kl_div(x, y, **k),
            value(*sizes),
            value(*sizes, low=0.1),
        )
        row("poisson_nll_loss", lambda t, x, y, k=k: F(t).poisson_nll_loss(x, y, full=True, **k), value(*sizes),
            value(*sizes, low=0.1, high=5))  # fmt: skip
        row("poisson_nll_loss", lambda t, x, y, k=k: F(t).poisson_nll_loss(x, y, False, eps=0.1, **k),
            value(*sizes, low=0.1), value(*sizes))  # fmt: skip
        row("hinge_embedding_loss", lambda t, x, y, k=k: F(t).hinge_embedding_loss(x, y, 0.7, **k),
            value(*sizes, low=0), sign(*sizes), differentiable=False)  # fmt: skip
        row("margin_ranking_loss", lambda t, x, y, z, k=k: F(t).margin_ranking_loss(x, y, z, 0.7, **k),
            value(*sizes), value(*sizes), value(*sizes))  # fmt: skip
    for name in ("smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div", "poisson_nll_loss",
                 "multilabel_soft_margin_loss"):  # fmt: skip
        row(name, lambda t, x, y, k=k, name=name: getattr(F(t), name)(x, y, **k), value(0, 3), fixed(0, 3), orders=1,
            differentiable=False)  # fmt: skip
    row("huber_loss", lambda t, x, y, w, k=k: F(t).huber_loss(x, y, delta=0.5, weight=w, **k), value(3, 4),
        value(3, 4), value(3, 4))  # fmt: skip
    row("kl_div", lambda t, x, y, k=k: F(t).kl_div(x, y, **k), value(3, 4), value(4, low=0.1))
    for sizes, var in (((3, 4), (3, 4)), ((3, 4), (3,)), ((2, 3, 4), (2, 1, 4)), ((), ())):
        row("gaussian_nll_loss", lambda t, x, y, v, k=k: F(t).gaussian_nll_loss(x, y, v, True, **k), value(*sizes),
            value(*sizes), value(*var, low=0.3))  # fmt: skip
    row(
        "gaussian_nll_loss",
        lambda t, x, y, k=k: F(t).gaussian_nll_loss(x, y, 0.5, **k),
        value(3, 4),
        value(3, 4),
    )
    for sizes, target in (((3, 4), (3,)), ((4,), ())):
        row("cosine_embedding_loss", lambda t, x, y, z, k=k: F(t).cosine_embedding_loss(x, y, z, 0.1, **k),
            value(*sizes), value(*sizes), sign(*target), differentiable=False)  # fmt: skip
    for sizes in ((4,), (3, 4), (2, 3, 4)):
        for p in (2.0, 1.0, 3.5):
            how = {"p": p, "swap": p == 2, **k}
            row("triplet_margin_loss", lambda t, x, y, z, k=how: F(t).triplet_margin_loss(x, y, z, **k), value(*sizes),
                value(*sizes), value(*sizes), rtol={"float32": 1e-4})  # fmt: skip
    # PyTorch's gradients of these cannot be differentiated.
    for sizes, target in (((5, 4), (5,)), ((4,), ()), ((4,), (1,)), ((), ())):
        classes = sizes[-1] if sizes else 1
        for p in (1, 2):
            row("multi_margin_loss",
                lambda t, *x, k={**k, "p": p, "margin": 0.7}: widened(t, partial(F(t).multi_margin_loss, **k), *x),
                value(*sizes), index(*target, below=classes), torch_orders=1)  # fmt: skip
        row("multi_margin_loss",
            lambda t, x, y, w, k=k: widened(t, lambda x, w: F(t).multi_margin_loss(x, y, weight=w, **k), x, w),
            value(*sizes), index(*target, below=classes), fixed(classes), torch_orders=1)  # fmt: skip
    for sizes in ((5, 4), (4,), ()):
        row("multilabel_margin_loss",
            lambda t, x, y, k=k: widened(t, lambda x: F(t).multilabel_margin_loss(x, y - 1, **k), x),
            value(*sizes), index(*sizes, below=1 + (sizes[-1] if sizes else 1)), torch_orders=1)  # fmt: skip
    for sizes in ((4,), (3, 4), (2, 3, 4)):
        row("multilabel_soft_margin_loss", lambda t, x, y, w, k=k: F(t).multilabel_soft_margin_loss(x, y, w, **k),
            value(*sizes), value(*sizes, low=0, high=1), value(*sizes[-1:]))  # fmt: skip
    row("multilabel_soft_margin_loss", lambda t, x, y, k=k: F(t).multilabel_soft_margin_loss(x, y, **k), value(3, 4),
        whole(3, 4, low=0, high=1))  # fmt: skip
row(
    "kl_div",
    lambda t, x, y: F(t).kl_div(x, y, reduction="batchmean"),
    value(3, 4),
    value(3, 4, low=0.1),
)
row("kl_div", lambda t, x, y: F(t).kl_div(x, y, reduction="batchmean"), value(), value(low=0.1))
# Numbers that meet: the bend, the margin, probabilities and counts of 0.
row(
    "smooth_l1_loss",
    lambda t, x, y: F(t).smooth_l1_loss(x, y),
    whole(5, 6),
    whole(5, 6),
    differentiable=False,
)
row(
    "huber_loss",
    lambda t, x, y: F(t).huber_loss(x, y),
    whole(5, 6),
    whole(5, 6),
    differentiable=False,
)
row(
    "kl_div",
    lambda t, x, y: F(t).kl_div(x, y, reduction="none"),
    whole(5, 6),
    whole(5, 6, low=0),
    orders=0,
)
row("poisson_nll_loss", lambda t, x, y: F(t).poisson_nll_loss(x, y, full=True), whole(5, 6), whole(5, 6, low=0, high=4),
    dtypes=NUMBERS, orders=1, differentiable=False)  # fmt: skip
row("margin_ranking_loss", lambda t, x, y, z: F(t).margin_ranking_loss(x, y, z, 1, reduction="none"), whole(5, 6),
    whole(5, 6), sign(5, 6), dtypes=("float32", "float64", "int64", "int32"), differentiable=False)  # fmt: skip
row("hinge_embedding_loss", lambda t, x, y: F(t).hinge_embedding_loss(x, y, reduction="sum"), whole(5, 6), sign(5, 6),
    dtypes=("float32", "float64", "int64", "int32"), differentiable=False)  # fmt: skip


def ctc(t, x, targets, *lengths, **how):
    """Of what log_softmax gives: PyTorch's gradient is by its argument."""
    x = F(t).log_softmax(x, -1)
    return widened(t, lambda y: F(t).ctc_loss(y, targets, *lengths, **how), x)


for reduction in ("none", "mean", "sum"):
    row("ctc_loss", lambda t, x, y, r=reduction: ctc(t, x, y, [7, 5, 7], [3, 2, 0], reduction=r),
        value(7, 3, 4), index(3, 3, below=3), orders=1)  # fmt: skip
row("ctc_loss", lambda t, x, y: ctc(t, x, y + 1, t.tensor([6, 5]), t.tensor([4, 1])), value(6, 2, 5),
    index(5, below=2), orders=1)  # fmt: skip
row("ctc_loss", lambda t, x, y: ctc(t, x, y, [6, 2], [2, 3], zero_infinity=True, blank=4), value(6, 2, 5),
    index(2, 4, below=4), orders=1)  # fmt: skip
row("ctc_loss", lambda t, x, y: ctc(t, x, y, t.tensor(8), t.tensor(3)), value(8, 6), index(3, below=6),
    orders=1)  # fmt: skip
