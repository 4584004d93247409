"""What programs seldom do: LBFGS, layers that learn their sizes, layers of nothing, results that are written into
tensors that are there, transforms of functions of several tensors."""

from __future__ import annotations

from .fitting import FINITE
from .layers import FILL, layer_and_shape
from .leaves import FLOATS
from .program import Program
from .rules_order import is_distinct
from .statements import use_module

# ---- LBFGS

CONVEX = (
    "({0} - 0.5).square().sum()", "{0}.cosh().sum()", "({0}.square() + {0}.square().sum()).sum()",
    "({0}.exp() - {0}).mean()", "{0}.square().sum().add(1).sqrt()",
)  # fmt: skip


def lbfgs(p: Program) -> None:
    """Steps towards the least value of a convex function, before rounding decides where they go."""
    x = p.new((p.choose(1, 2, 3),), p.choose(*FLOATS), FINITE, lambda x: x.requires_grad)
    search = p.choose("", ", line_search_fn='strong_wolfe'")
    options = p.choose(
        "", ", history_size=1", ", max_eval=2", ", tolerance_grad=0.5", ", tolerance_change=0.1"
    )
    o = p.bind("o", f"t.optim.LBFGS([{x}], lr=0.3, max_iter={p.choose(1, 2, 3)}{options}{search})")
    loss = p.rng.choice(CONVEX).format(x)
    closure = f"lambda: ({o}.zero_grad(), y := {loss}, y.backward(), y)[3]"
    for _ in range(p.choose(1, 2)):
        p.assign(f"{o}.step({closure})")


# ---- layers


def lazy_layer(p: Program) -> None:
    n, kind = p.choose(1, 2, 4), p.choose(*FLOATS)
    channels = p.choose(1, 2, 3)
    text, dims = p.choose(
        (f"LazyLinear({n}{p.choose('', ', bias=False')})", p.choose(1, 2, 3)),
        (f"LazyConv1d({n}, 2{p.choose('', ', padding=1', ', bias=False')})", 3),
        (f"LazyConv2d({n}, {p.choose(1, 2)}{p.choose('', ', stride=2')})", 4),
        (f"LazyConv3d({n}, 1)", 5),
        (f"LazyConvTranspose1d({n}, 2{p.choose('', ', stride=2')})", 3),
        (f"LazyConvTranspose2d({n}, 2)", 4),
        (f"LazyConvTranspose3d({n}, 1)", 5),
        (f"LazyBatchNorm1d({p.choose('', 'momentum=0.5')})", p.choose(2, 3)),
        ("LazyBatchNorm2d()", 4),
        ("LazyBatchNorm3d()", 5),
        (f"LazyInstanceNorm1d({p.choose('', 'affine=True')})", 3),
        ("LazyInstanceNorm2d(affine=True)", 4),
        ("LazyInstanceNorm3d(track_running_stats=True)", 5),
    )
    shape = (2, channels, 3, 2, 2)[:dims]
    made = f"t.nn.{text}.to(t.{kind})"
    filled = f"m.apply(lambda m: [{FILL}])"
    learnt = f"m(t.ones({shape}, dtype=t.{kind}))"
    name = p.bind("m", f"(lambda m: ({learnt}, {filled})[1])({made})")
    p.modules[name] = (shape, kind)
    p.assign(f"type({name}).__name__")
    use_module(p, name)


def layer_of_nothing(p: Program) -> None:
    text, shape = layer_and_shape(p)
    kind = p.choose(*FLOATS)
    at = p.rng.randrange(len(shape))
    shape = (*shape[:at], 0, *shape[at + 1 :])
    name = p.bind("m", f"t.nn.{text}.to(t.{kind}).apply(lambda m: [{FILL}])")
    p.modules[name] = (shape, kind)
    use_module(p, name)


# ---- out=

PAIRS = (
    "t.max({0}, {2}, out=({1}))", "t.min({0}, {2}, keepdim=True, out=({1}))", "t.sort({0}, {2}, out=({1}))",
    "t.cummax({0}, {2}, out=({1}))", "t.cummin({0}, {2}, out=({1}))", "t.kthvalue({0}, 1, {2}, out=({1}))",
    "t.topk({0}, 1, {2}, out=({1}))",
)  # fmt: skip
ALONE = (
    "t.cat([{0}, {0}], {2}, out={1})", "t.stack([{0}, {0}], {2}, out={1})", "t.sum({0}, {2}, out={1})",
    "t.mean({0}, {2}, out={1})", "t.prod({0}, {2}, out={1})", "t.amax({0}, {2}, out={1})", "t.triu({0}, out={1})",
    "t.cumprod({0}, {2}, out={1})", "t.index_select({0}, {2}, t.tensor([0, 0]), out={1})", "t.neg({0}, out={1})",
    "t.gather({0}, {2}, t.zeros({3}, dtype=t.int64), out={1})",
    "t.matmul({0}, {0}.mT, out={1})", "t.logsumexp({0}, {2}, out={1})", "t.var({0}, {2}, out={1})",
    "t.linalg.vector_norm({0}, dim={2}, out={1})", "t.softmax({0}, {2}, out={1})", "t.roll({0}, 1, out={1})",
    "t.take_along_dim({0}, t.zeros({3}, dtype=t.int64), {2}, out={1})", "t.reciprocal({0}, out={1})",
    "t.floor_divide({0}, 2, out={1})", "t.round({0}, out={1})", "t.renorm({0}, 2, {2}, 1.0, out={1})",
)  # fmt: skip


def written_results(p: Program) -> None:
    """Into tensors of the right size: one that numpy() has seen, as those of a comparison, cannot grow in PyTorch."""

    def fits(x) -> bool:
        plain = x.is_floating_point() and not x.requires_grad
        return (
            plain and x.dim() > 1 and x.numel() > 0 and is_distinct(x) and bool(x.isfinite().all())
        )

    x = p.existing(fits)
    kind = str(p.value(x).dtype).removeprefix("torch.")
    shape, dim = tuple(p.value(x).shape), p.choose(0, 1, -1)
    call = p.rng.choice(PAIRS + ALONE)
    into = "t.zeros(0, dtype=t.{})"
    kinds = (kind, "int64") if call in PAIRS else (kind,)
    given = p.value(call.format(x, ", ".join(map(into.format, kinds)), dim, shape))
    like = tuple((given[0] if call in PAIRS else given).shape)
    turned = len(like) > 1 and p.chance(0.3)
    sizes, mT = ((*like[:-2], like[-1], like[-2]), ".mT.clone()") if turned else (like, "")
    names = [p.assign(f"t.ones({sizes}, dtype=t.{k}){mT}")[0] for k in kinds]
    p.assign(call.format(x, ", ".join(names), dim, shape))


# ---- torch.func

OF_TWO = (
    "a * b", "a @ b", "(a - b).exp()", "t.where(a > b, a, b)", "a.softmax(0) + b", "t.outer(a, b)", "(a * b).sum()",
    "t.maximum(a, b)", "t.stack([a, b])", "(a - b).square().mean()", "t.cat([a, b])", "a.sum() * b",
)  # fmt: skip


def transform_of_two(p: Program) -> None:
    n, kind = p.choose(1, 2, 3), p.choose(*FLOATS)
    x = p.tensor(lambda x: x.isfinite().all(), shape=(n, n), dtype=kind, values=FINITE)
    y = p.tensor(lambda x: x.isfinite().all(), shape=(n, n), dtype=kind, values=FINITE)
    f = f"lambda a, b: {p.rng.choice(OF_TWO)}"
    g = f"lambda a, b: ({p.rng.choice(OF_TWO)}).square().sum()"
    which = p.choose(0, 1, (0, 1))
    one = "[0]" if isinstance(which, tuple) else ""
    result = p.choose(
        f"t.vmap({f})({x}, {y})",
        f"t.vmap({f}, in_dims=(0, 1))({x}, {y})",
        f"t.vmap({f}, in_dims=(None, 0))({x}[0], {y})",
        f"t.vmap({f}, in_dims=(1, None), out_dims=-1)({x}, {y}[0])",
        f"t.vmap({f}, chunk_size={p.choose(1, 2)})({x}, {y})",
        f"t.vmap(t.vmap({f}, in_dims=(None, 0)), in_dims=(0, None))({x}, {y})",
        f"t.func.grad({g}, argnums={which})({x}[0], {y}[0]){one}",
        f"t.func.grad_and_value({g}, argnums={which})({x}[0], {y}[0])[0]{one}",
        f"t.func.grad(lambda a, b: (({g})(a, b), a), has_aux=True)({x}[0], {y}[0])[{p.choose(0, 1)}]",
        f"t.vmap(t.func.grad({g}, argnums={which}))({x}, {y}){one}",
        f"t.vmap(t.func.grad({g}), in_dims=(0, None))({x}, {y}[0])",
        f"t.func.jacrev({f}, argnums={which})({x}[0], {y}[0]){one}",
        f"t.func.jacfwd({f}, argnums={which})({x}[0], {y}[0]){one}",
        f"t.func.jacrev(t.func.grad({g}), argnums=1)({x}[0], {y}[0])",
        f"t.func.vjp({f}, {x}[0], {y}[0])[0]",
        f"t.func.jvp({f}, ({x}[0], {y}[0]), ({y}[0].detach(), {x}[0].detach()))[{p.choose(0, 1)}]",
        f"t.func.grad(lambda a: t.func.grad(lambda b: (a * b).sin().sum())(a).sum())({x}[0])",
    )  # fmt: skip
    p.assign(f"{result}.contiguous().clone()")
