"""Statements whose arguments must fit each other in more than their shapes: matrices that are well-conditioned,
sequences and their lengths, bags, grids, the weights of cells."""

from __future__ import annotations

from .leaves import FLOATS
from .program import Program

FINITE = "decimals"


def _floats(p: Program, shape: tuple[int, ...], kind: str) -> str:
    """Finite ones: what a factorisation makes of others is nobody's promise."""
    return p.new(shape, kind, FINITE)


# ---- matrices


def _matrix(p: Program, kind: str, batch: tuple[int, ...], n: int) -> str:
    """One whose diagonal dominates, so that it needs no pivots and its inverse is small."""
    x = _floats(p, (*batch, n, n), kind)
    return p.assign(f"{x} / {3 * n} + t.eye({n}, dtype=t.{kind})")[0]


def _positive(p: Program, kind: str, batch: tuple[int, ...], n: int) -> str:
    x = _matrix(p, kind, batch, n)
    return p.assign(f"{x} @ {x}.mT")[0]


def _sizes(p: Program) -> tuple[str, tuple[int, ...], int]:
    return p.choose(*FLOATS), p.choose((), (), (2,), (1, 2)), p.choose(1, 2, 3, 4)


def factorisation(p: Program) -> None:
    """What is unique, or an expression of it that is."""
    kind, batch, n = _sizes(p)
    if p.chance(0.4):
        x = _positive(p, kind, batch, n)
        upper = p.choose("", ", upper=True")
        p.assign(p.choose(
            f"t.linalg.cholesky({x}{upper})",
            f"t.linalg.cholesky_ex({x}{upper})[0]",
            f"t.cholesky({x}{upper})",
            f"t.cholesky_inverse(t.linalg.cholesky({x}))",
            f"t.logdet({x})",
            f"t.linalg.eigvalsh({x}{p.choose('', ', UPLO=' + repr('U'))})",
            f"t.linalg.eigh({x})[0]",
            f"t.linalg.pinv({x}, hermitian=True)",
        ))  # fmt: skip
        return
    x = _matrix(p, kind, batch, n)
    p.assign(p.choose(
        f"t.inverse({x})",
        f"t.linalg.inv({x})",
        f"t.linalg.inv_ex({x})[0]",
        f"{x}.det()",
        f"t.linalg.det({x})",
        f"{x}.slogdet()",
        f"t.linalg.slogdet({x})[1]",
        f"t.linalg.lu_factor({x})[0]",
        f"t.linalg.lu({x})",
        f"t.linalg.qr({x})",
        f"t.linalg.qr({x}, mode={p.choose('complete', 'r')!r})[1]",
        f"t.linalg.svdvals({x})",
        f"t.linalg.pinv({x})",
        f"t.linalg.matrix_exp({x})",
        f"t.linalg.cond({x}{p.choose('', ', 1', ', t.inf', ', 2')})",
        f"t.linalg.matrix_rank({x})",
    ))  # fmt: skip


def system(p: Program) -> None:
    """Equations, from the left and the right."""
    kind, batch, n = _sizes(p)
    k = p.choose(1, 2, 3)
    left = p.chance(0.6)
    b = _floats(p, (*batch, n, k) if left else (*batch, k, n), kind)
    side = "" if left else ", left=False"
    if left and p.chance(0.3):
        x = _positive(p, kind, batch, n)
        p.assign(f"t.cholesky_solve({b}, t.linalg.cholesky({x}))")
        return
    x = _matrix(p, kind, batch, n)
    upper = p.choose("upper=True", "upper=False")
    p.assign(p.choose(
        f"t.linalg.solve({x}, {b}{side})",
        f"t.linalg.solve_ex({x}, {b}{side})[0]",
        f"t.linalg.solve_triangular({x}, {b}, {upper}{side})",
        f"t.linalg.lu_solve(*t.linalg.lu_factor({x}), {b}{side})",
        f"t.linalg.lstsq({x}, {b})[0]" if left else f"t.linalg.solve({x}, {b}, left=False)",
        f"t.triangular_solve({b}, {x}, {upper})[0]" if left else f"{b} @ {x}.inverse()",
    ))  # fmt: skip


# ---- sequences


def cell(p: Program) -> None:
    kind = p.choose(*FLOATS)
    n, m, batch = p.choose(1, 2, 3), p.choose(1, 2, 3), p.choose((1,), (2,))
    name, gates = p.choose(("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))
    shapes = ((*batch, n), (*batch, m), (gates * m, n), (gates * m, m))
    x, h, w_ih, w_hh = (_floats(p, s, kind) for s in shapes)
    state = f"({h}, {_floats(p, (*batch, m), kind)})" if name == "lstm" else h
    biases = [_floats(p, (gates * m,), kind) for _ in range(2)] if p.chance(0.6) else []
    p.assign(f"t.{name}_cell({', '.join([x, state, w_ih, w_hh, *biases])})")


def recurrent(p: Program) -> None:
    kind = p.choose("float32", "float64")
    n, m, steps, batch = p.choose(1, 2), p.choose(1, 2, 3), p.choose(1, 2, 3), p.choose(1, 2)
    name = p.choose("LSTM", "GRU", "RNN")
    options = p.choose("", ", num_layers=2", ", bidirectional=True", ", bias=False")
    fill = "w.data.copy_(t.linspace(-1, 1, w.numel(), dtype=w.dtype).reshape(w.shape)) for w in m.parameters(False)"
    text = f"t.nn.{name}({n}, {m}{options}, dtype=t.{kind}).apply(lambda m: [{fill}])"
    module = p.bind("m", text)
    p.assign(f"{module}({_floats(p, (steps, batch, n), kind)})[0]")


def sequences_of_classes(p: Program) -> None:
    """ctc_loss: inputs are long enough for their targets, repeated classes and all."""
    kind = p.choose(*FLOATS)
    batch, classes, length = p.choose(1, 2), p.choose(2, 3, 4), p.choose(0, 1, 2)
    steps = 2 * length + p.choose(1, 2)
    x = _floats(p, (steps, batch, classes), kind)
    log_p = p.assign(f"{x}.log_softmax(2)")[0]
    targets = p.new((batch, length), "int64", str(classes - 1))
    options = p.choose("", ", reduction='sum'", ", reduction='none'", ", zero_infinity=True")
    p.assign(f"t.nn.functional.ctc_loss({log_p}, {targets} + 1, t.full(({batch},), {steps}), "
             f"t.full(({batch},), {length}){options})")  # fmt: skip


def bags(p: Program) -> None:
    kind = p.choose(*FLOATS)
    rows, width = p.choose(1, 2, 4), p.choose(1, 2, 3)
    weight = _floats(p, (rows, width), kind)
    mode = p.choose("sum", "mean", "max")
    options = f", mode={mode!r}"
    if p.chance(0.5):
        shape = (p.choose(1, 2, 3), p.choose(1, 2, 3))
        ids = p.new(shape, "int64", str(rows))
    else:
        shape = (p.choose(3, 4, 5),)
        ids = p.new(shape, "int64", str(rows))
        options += f", offsets=t.tensor([0, {p.choose(0, 1, 3)}])"
    if p.chance(0.2):
        options += f", padding_idx={p.rng.randrange(rows)}"
    if mode == "sum" and p.chance(0.4):
        options += f", per_sample_weights={_floats(p, shape, kind)}"
    p.assign(f"t.nn.functional.embedding_bag({ids}, {weight}{options})")


# ---- images


def samples(p: Program) -> None:
    kind = p.choose(*FLOATS)
    dims = p.choose(2, 2, 3)
    x = _floats(
        p, (p.choose(1, 2), p.choose(1, 2), *(p.choose(1, 2, 3) for _ in range(dims))), kind
    )
    batch = p.value(x).shape[0]
    grid = _floats(p, (batch, *(p.choose(1, 2) for _ in range(dims)), dims), kind)
    mode = p.choose("bilinear", "nearest", *(("bicubic",) if dims == 2 else ()))
    padding = p.choose("zeros", "border", "reflection")
    # Not where rounding decides between neighbours.
    p.assign(f"t.nn.functional.grid_sample({x}, {grid} * 0.4937, {mode!r}, {padding!r}, "
             f"align_corners={p.chance(0.5)})")  # fmt: skip


def unpooled(p: Program) -> None:
    dims = p.choose(1, 2, 2, 3)
    shape = [p.choose(1, 2), p.choose(1, 2), *(p.choose(2, 3, 4) for _ in range(dims))]
    x = _floats(p, tuple(shape), p.choose(*FLOATS))
    windows = p.choose("2", "2, 2", "2, 1")
    y, places = p.assign(f"t.nn.functional.max_pool{dims}d({x}, {windows}, return_indices=True)")
    size = f", output_size={shape[2:]}" if p.chance(0.5) else ""
    p.assign(f"t.nn.functional.max_unpool{dims}d({y}, {places}, {windows}{size})")


def fractional(p: Program) -> None:
    dims = p.choose(2, 2, 3)
    kind, batch, channels = p.choose(*FLOATS), p.choose(1, 2), p.choose(1, 2)
    x = _floats(p, (batch, channels, *(p.choose(3, 4, 5) for _ in range(dims))), kind)
    drawn = [p.choose(0.0, 0.25, 0.6, 0.99) for _ in range(batch * channels * dims)]
    samples = f"t.tensor({drawn}, dtype=t.{kind}).reshape({batch}, {channels}, {dims})"
    size = p.choose("output_size=2", "output_size=1", f"output_ratio=({', '.join(['0.5'] * dims)})")
    places = p.choose("", ", return_indices=True")
    p.assign(f"t.nn.functional.fractional_max_pool{dims}d({x}, {p.choose(1, 2)}, {size}{places}, "
             f"_random_samples={samples})")  # fmt: skip


# ---- channels rounded as quantized numbers are


def rounded_channels(p: Program) -> None:
    x = _floats(p, (p.choose(1, 2), p.choose(1, 3), 2), p.choose(*FLOATS))
    axis = p.choose(0, 1, 2)
    n = p.value(x).shape[axis]
    scale = [p.choose(0.1, 0.25, -0.5, 2.0) for _ in range(n)]
    zero_point = [p.choose(-3, 0, 1) for _ in range(n)]
    kind = p.choose("int32", "float32", "float16")
    p.assign(f"t.fake_quantize_per_channel_affine({x}, t.tensor({scale}), t.tensor({zero_point}, dtype=t.{kind}), "
             f"{axis}, {p.choose(-8, -4)}, {p.choose(1, 7)})")  # fmt: skip


# ---- attention, and the loss at the end


def attention(p: Program) -> None:
    kind = p.choose(*FLOATS)
    batch = p.choose((1,), (2,), (1, 2), (2, 1))
    length, source, width = p.choose(1, 2, 3), p.choose(1, 2, 3), p.choose(1, 2, 4)
    q = _floats(p, (*batch, length, width), kind)
    k, v = (_floats(p, (*batch, source, width), kind) for _ in range(2))
    options = p.choose("", ", is_causal=True", ", scale=0.5")
    if options != ", is_causal=True" and p.chance(0.3):
        options += f", attn_mask={_floats(p, (length, source), kind)}.detach()"
    p.assign(f"t.nn.functional.scaled_dot_product_attention({q}, {k}, {v}{options})")


def loss_of_products(p: Program) -> None:
    kind = p.choose(*FLOATS)
    rows, width, classes = p.choose(1, 2, 3), p.choose(1, 2, 3), p.choose(1, 2, 4)
    x, weight = _floats(p, (rows, width), kind), _floats(p, (classes, width), kind)
    target = p.new((rows,), "int64", str(classes))
    options = p.choose("", ", reduction='sum'", ", label_smoothing=0.25", ", ignore_index=0")
    if p.chance(0.4):
        options += f", linear_bias={_floats(p, (classes,), kind)}"
    p.assign(f"t.nn.functional.linear_cross_entropy({x}, {weight}, {target}{options})")
