"""Functions and layers that no row of calls.py stands for: those of torch.linalg and torch.special, losses as layers,
layers of indices and of several inputs, derivatives of functions in other ways."""

from __future__ import annotations

import torch

from .fitting import FINITE
from .layers import DIFFERENTIATED, FILL
from .leaves import FLOATS
from .program import Program, Refused


def _floats(p: Program, shape: tuple[int, ...], kind: str) -> str:
    return p.tensor(
        lambda x: x.isfinite().all(), shape=shape, dtype=kind, values=p.choose("", FINITE)
    )


# ---- torch.linalg and torch.special


def linear_algebra(p: Program) -> None:
    """Norms and products."""
    kind, n, m = p.choose(*FLOATS), p.choose(1, 2, 3), p.choose(1, 2, 4)
    x, y = _floats(p, (m, n), kind), _floats(p, (n, m), kind)
    rows, vector = _floats(p, (2, 3), kind), _floats(p, (n,), kind)
    order = p.choose("", ", 1", ", 3.0", ", t.inf", ", -t.inf", ", 0")
    dim = p.choose("", ", dim=0", ", dim=-1", ", dim=-1, keepdim=True", ", dim=(0, 1)")
    p.assign(p.choose(
        f"t.linalg.vector_norm({x}{order}{dim})",
        f"t.linalg.norm({x}{p.choose('', ', dim=0', ', dim=1, keepdim=True')})",
        # A copy, since its elements are made equal: the gradient looks for the sum that it is.
        f"t.linalg.matrix_norm({x}{p.choose('', ', 1', ', t.inf', ', -1')}{p.choose('', ', keepdim=True')}).clone()",
        f"t.linalg.multi_dot([{x}, {y}, {x}])",
        f"t.linalg.multi_dot([{x}, {vector}])",
        f"t.linalg.vecdot({x}, {y}.mT{p.choose('', ', dim=0')})",
        f"t.linalg.cross({rows}, {rows} + 1)",
        f"t.linalg.diagonal({x}{p.choose('', ', offset=1')})",
        f"t.linalg.matmul({x}, {y})",
        f"t.linalg.vander({vector}.detach(){p.choose('', ', N=2', ', N=4')})",
    ))  # fmt: skip


SPECIAL = (
    "erf({0})", "erfc({0})", "erfcx({0})", "ndtr({0})", "log_ndtr({0})", "entr({0})", "expit({0})",
    "logit({0}.sigmoid())", "i0e({0})", "i1({0})", "i1e({0})", "xlog1py({0}, {0}.exp())", "log1p({0}.exp())",
    "expm1({0})", "exp2({0})", "sinc({0})", "ndtri({0}.detach().sigmoid())", "bessel_j0({0}.detach())",
    "bessel_j1({0}.detach())", "zeta({0}.detach().abs() + 2, {0}.detach().abs() + 1)",
    "gammainc({0}.detach().abs() + 1, {0}.exp())", "hermite_polynomial_h({0}.detach(), 3)",
    "chebyshev_polynomial_t({0}.detach(), 2)", "softmax({0}, -1)", "log_softmax({0}, 0)", "logsumexp({0}, 0)",
    "multigammaln({0}.abs() + 2, 2)", "psi({0}.abs() + 1)", "gammaln({0}.abs() + 1)", "digamma({0}.abs() + 1)",
    "polygamma(1, {0}.abs() + 1)", "round({0}, decimals=1)",
)  # fmt: skip


def special_function(p: Program) -> None:
    """Where numbers have no end no digits are promised."""
    x = _floats(p, (p.choose(1, 2), p.choose(1, 3)), p.choose(*FLOATS))
    p.assign(f"t.special.{p.rng.choice(SPECIAL).format(x)}")


# ---- layers


def loss_of_targets(p: Program) -> None:
    kind, rows, classes = p.choose(*FLOATS), p.choose(1, 2, 3), p.choose(2, 3)
    x, y = _floats(p, (rows, classes), kind), _floats(p, (rows, classes), kind)
    target = p.new((rows,), "int64", str(classes))
    sign = f"t.ones({rows}, dtype=t.{kind})"
    reduction = p.choose("", "reduction='sum'", "reduction='none'")
    more = f", {reduction}" if reduction else ""
    p.assign("t.nn." + p.choose(
        f"NLLLoss({reduction})({x}.log_softmax(1), {target})",
        f"NLLLoss(ignore_index=0{more})({x}.log_softmax(1), {target})",
        f"CrossEntropyLoss(label_smoothing=0.25{more})({x}, {target})",
        # Far from 0 and 1, where logarithms have no end.
        f"BCELoss({reduction})(({x}.sin() + 2) / 4, {y}.detach().sigmoid())",
        f"SmoothL1Loss(beta=0.5{more})({x}, {y})",
        f"HuberLoss(delta=0.5{more})({x}, {y})",
        f"KLDivLoss({reduction or 'reduction=' + repr('batchmean')})({x}.log_softmax(1), {y}.softmax(1))",
        f"PoissonNLLLoss({reduction})({x}, {y}.exp())",
        f"GaussianNLLLoss({reduction})({x}, {y}, {x}.exp())",
        f"MarginRankingLoss(0.5{more})({x}[:, 0], {y}[:, 0], {sign})",
        f"HingeEmbeddingLoss({reduction})({x}[:, 0], {sign})",
        f"CosineEmbeddingLoss({reduction})({x}, {y} + 3, {sign})",
        f"TripletMarginLoss({reduction})({x}, {y}, {x}.cos() * 3)",
        f"MultiMarginLoss({reduction})({x}, {target})",
        f"MultiLabelSoftMarginLoss({reduction})({x}, {y}.detach().sign().relu())",
        f"CTCLoss({reduction})({x}.log_softmax(1)[:, None].expand(-1, 2, -1), t.ones(2, 1).long(), [{rows}] * 2, "
        "[1, 1])",
    ))  # fmt: skip


def layer_of_inputs(p: Program) -> None:
    """Layers of indices, and of more than one input."""
    kind, n, batch = p.choose(*FLOATS), p.choose(1, 2, 3), p.choose(1, 2)
    rows = p.choose(2, 4)
    ids = p.new((batch, 2), "int64", str(rows))
    x, h = _floats(p, (batch, n), kind), _floats(p, (batch, 2), kind)
    line = _floats(p, (batch, 3, 4), kind)
    text, given = p.choose(
        (f"Embedding({rows}, {n}{p.choose('', ', padding_idx=0', ', scale_grad_by_freq=True')})", ids),
        (f"EmbeddingBag({rows}, {n}, mode={p.choose('sum', 'mean')!r})", ids),
        (f"GRUCell({n}, 2{p.choose('', ', bias=False')})", f"{x}, {h}"),
        (f"RNNCell({n}, 2, nonlinearity={p.choose('tanh', 'relu')!r})", f"{x}, {h}"),
        (f"LSTMCell({n}, 2)", f"{x}, ({h}, {h} * 0.5)"),
        (f"Bilinear({n}, 2, 3)", f"{x}, {h}"),
        (f"CosineSimilarity(dim={p.choose(0, 1)})", f"{line}, {line}.flip(1)"),
        (f"PairwiseDistance({p.choose(1, 2)})", f"{line}, {line}.cos() + 2"),
        (f"MultiheadAttention(4, {p.choose(1, 2, 4)}, batch_first=True{p.choose('', ', bias=False')})",
         f"{line}, {line}, {line}{p.choose('', ', need_weights=False')}"),
        ("TransformerDecoderLayer(4, 2, 3, dropout=0.0)", f"{line}, {line}.sin()"),
    )  # fmt: skip
    name = p.bind("m", f"t.nn.{text}.to(t.{kind}).apply(lambda m: [{FILL}])")
    # How attention of a batch lies in memory is another matter.
    first = {"LSTMCell": "[0]", "MultiheadAttention": "[0].contiguous()"}
    p.assign(f"{name}({given}){first.get(text.partition('(')[0], '')}")


SHAPED = (
    ("Hardswish()", 3), ("Hardsigmoid()", 3), ("SELU()", 2), ("CELU(0.5)", 2), ("Mish()", 3), ("Softsign()", 2),
    ("Tanhshrink()", 2), ("Softshrink(0.25)", 2), ("Hardshrink(0.25)", 2), ("Softmin(1)", 2),
    ("Unflatten(1, (1, -1))", 2), ("AdaptiveMaxPool1d(2)", 3), ("LPPool2d(2.0, 1)", 4),
    ("UpsamplingNearest2d(scale_factor=2)", 4),
    ("UpsamplingBilinear2d(scale_factor=2)", 4), ("ConstantPad1d(1, 0.5)", 3), ("ConstantPad2d((1, 0, 0, 2), -1.0)", 4),
    ("ReflectionPad1d(1)", 3), ("ReplicationPad1d((2, 0))", 3), ("ReplicationPad2d(1)", 4), ("CircularPad2d(1)", 4),
    ("ZeroPad1d((0, 2))", 3),
)  # fmt: skip


def layer_without_weights(p: Program) -> None:
    text, dims = p.rng.choice(SHAPED)
    shape = (p.choose(1, 2), *(p.choose(2, 3) for _ in range(dims - 1)))
    p.assign(f"t.nn.{text}({_floats(p, shape, p.choose(*FLOATS))})")


# ---- derivatives of functions


def other_derivative(p: Program) -> None:
    kind, n = p.choose(*FLOATS), p.choose(1, 2, 3)
    x, v = _floats(p, (n,), kind), _floats(p, (n,), kind)
    f = f"lambda a: {p.rng.choice(DIFFERENTIATED)}"
    g = f"lambda a: {p.choose('a.sin()', 'a * a.sum()', 'a.softmax(0)', 'a.cumsum(0).exp()')}"
    result = p.choose(
        f"t.func.jacfwd({g})({x})",
        f"t.func.jacfwd(t.func.grad({f}))({x})",
        # What PyTorch's gives is a constant for those around it.
        f"t.func.linearize({g}, {x}.detach())[1]({v}.detach())",
        f"t.autograd.functional.hvp({f}, {x}, {v})[1]",
        f"t.autograd.functional.vhp({f}, {x}, {v})[1]",
        f"t.autograd.functional.jvp({g}, {x}, {v})[1]",
        f"t.autograd.functional.vjp({g}, {x}, {v})[1]",
    )
    p.assign(f"{result}.contiguous().clone()")


def parameters_in_a_line(p: Program) -> None:
    def fits(x) -> bool:
        return x.dtype is torch.float32 and x.is_leaf and x.is_contiguous()

    names = p.tensors(fits)
    if not names:
        raise Refused("no parameters")
    chosen = ", ".join(p.rng.sample(names, min(len(names), 2)))
    call = p.choose("parameters_to_vector", "get_total_norm")
    p.assign(f"t.nn.utils.{call}([{chosen}])")
