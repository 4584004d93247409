"""Many ops at three sizes, each beside PyTorch's: finds what nobody thought of, where sweep.py measures a few well.

    python benchmarks/survey.py [softmax ...] [--device cuda] [--dtype bfloat16] [--sizes 1000 4999] [--save FOLDER]

A row is an expression that both libraries evaluate: as it is, and with its backward where it has one. Names before the
first size are prefixes of rows. Times are those of sweep.py: turns, of which the smallest counts.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import statistics
import sys
from pathlib import Path

from sweep import LARGEST, Clock

ROOT = Path(__file__).resolve().parent.parent
SIZES = (1000, 100_003, 8_000_000)

# With a gradient. x: numbers; p: between 0.1 and 0.9; rows, batch, images, volumes, signal, of n elements together;
# classes, index, order, mask, boxes as what they are for.
SMOOTH = """
sin p.sin(); cos p.cos(); tan p.tan(); exp p.exp(); log p.log(); sigmoid p.sigmoid(); tanh p.tanh(); erf p.erf()
lgamma p.lgamma(); digamma p.digamma(); sqrt p.sqrt(); rsqrt p.rsqrt(); expm1 p.expm1(); log1p p.log1p(); abs x.abs()
square x.square(); reciprocal p.reciprocal(); atan p.atan(); asinh p.asinh(); pow x**2; power p**2.5; powers p**p
relu F.relu(x); gelu F.gelu(x); silu F.silu(x); mish F.mish(x); elu F.elu(x); selu F.selu(x); celu F.celu(x)
softplus F.softplus(x); hardswish F.hardswish(x); hardsigmoid F.hardsigmoid(x); leaky_relu F.leaky_relu(x)
logsigmoid F.logsigmoid(x); hardtanh F.hardtanh(x); softsign F.softsign(x); glu F.glu(images, 1)
lerp t.lerp(x, p, 0.3); addcmul t.addcmul(x, x, p, value=0.5); where t.where(p > 0.5, x, p); clamp x.clamp(-0.5, 0.5)
atan2 t.atan2(x, p); divide rows / (rows.abs().sum(1, keepdim=True) + 1)
sum.1 rows.sum(1); sum.0 rows.sum(0); sum x.sum(); mean.1 rows.mean(1); mean.0 rows.mean(0); prod.1 rows.prod(1)
prod.0 rows.prod(0); std.1 rows.std(1); var.0 rows.var(0); logsumexp.1 rows.logsumexp(1); amax.1 rows.amax(1)
amin.0 rows.amin(0); norm.1 t.linalg.vector_norm(rows, dim=1); norm.0 t.linalg.vector_norm(rows, dim=0)
max rows.max(1)[0]; median rows.median(1)[0]; kthvalue rows.kthvalue(5, 1)[0]; sort rows.sort(1)[0]
topk rows.topk(10, 1)[0]; cumsum.1 rows.cumsum(1); cumsum.0 rows.cumsum(0); cumprod rows.cumprod(1)
cummax rows.cummax(1)[0]; logcumsumexp rows.logcumsumexp(1)
softmax.1 rows.softmax(1); softmax.0 rows.softmax(0); log_softmax rows.log_softmax(1)
layer_norm F.layer_norm(rows, (1000,)); rms_norm F.rms_norm(rows, (1000,)); normalize F.normalize(rows)
cosine F.cosine_similarity(rows, rows + 1)
cat.0 t.cat([rows, rows], 0); cat.1 t.cat([rows, rows], 1)
cat.thin t.cat([rows[:, :3], rows[:, 3:8], rows[:, 9:10]], 1)
cat.many t.cat(rows.chunk(40, 1), 1); stack.0 t.stack([rows, rows], 0); stack.last t.stack([x, x, x], -1)
roll x.roll(3); roll.1 rows.roll(3, 1); roll.both rows.roll((1, 3), (0, 1)); flip rows.flip(1); rot90 rows.rot90()
transposed rows.t().contiguous(); repeat rows.repeat(2, 2); repeat_interleave rows.repeat_interleave(3, 1)
tril rows.tril(); diag_embed x[:2000].diag_embed(); gather x.gather(0, index); index_select x.index_select(0, index)
take_along t.take_along_dim(rows, rows.argsort(1), 1); scatter_add t.zeros_like(x).scatter_add(0, index, x)
index_copy t.zeros_like(x).index_copy(0, order, x); masked_select x[mask]; masked_fill x.masked_fill(mask, 0.0)
unfold x.unfold(0, 8, 4) * 1
max_pool F.max_pool2d(images, 2); avg_pool F.avg_pool2d(images, 3, 1, 1); adaptive_avg F.adaptive_avg_pool2d(images, 5)
adaptive_max F.adaptive_max_pool2d(images, 5); lp_pool F.lp_pool2d(images, 2, 2)
nearest F.interpolate(images, scale_factor=2); bilinear F.interpolate(images, scale_factor=2, mode='bilinear')
bicubic F.interpolate(images, scale_factor=1.5, mode='bicubic')
grid_sample F.grid_sample(images, grid, align_corners=False)
reflect F.pad(images, (2, 2, 2, 2), 'reflect'); replicate F.pad(images, (2, 2, 2, 2), 'replicate')
circular F.pad(images, (2, 2, 2, 2), 'circular'); constant F.pad(images, (1, 1, 1, 1))
group_norm F.group_norm(images, 4); instance_norm F.instance_norm(images); lrn F.local_response_norm(images, 5)
batch_norm F.batch_norm(images, None, None, training=True); unfold2d F.unfold(images, 3, padding=1)
pixel_shuffle F.pixel_shuffle(images, 2); pixel_unshuffle F.pixel_unshuffle(images, 2)
channel_shuffle F.channel_shuffle(images, 4)
conv2d F.conv2d(images, filters, padding=1); conv.stride F.conv2d(images, filters, stride=2)
conv.dilated F.conv2d(images, filters, dilation=2); conv.depthwise F.conv2d(images, depthwise, padding=1, groups=16)
conv.colours F.conv2d(colours, of_colours, stride=2, padding=1)
conv.transposed F.conv_transpose2d(images, turned, stride=2)
conv1d F.conv1d(signal, filters1d); conv3d F.conv3d(volumes, filters3d, padding=1)
mm square @ square.t(); mv rows @ t.ones_like(rows[0]); bmm.40 batch40 @ batch40.mT; bmm.30 batch30 @ batch30
bmm.8 batch8 @ batch8; bmm.3 batch3 @ batch3; einsum t.einsum('bij,bjk->bik', batch30, batch30)
outer t.outer(x[:1500], x[:1500]); linear F.linear(rows, weight); cdist t.cdist(points, points)
attention F.scaled_dot_product_attention(heads, heads, heads)
attention.causal F.scaled_dot_product_attention(odd_heads, odd_heads, odd_heads, is_causal=True)
embedding F.embedding(tokens, table); cross_entropy F.cross_entropy(rows, classes); nll F.nll_loss(rows, classes)
mse F.mse_loss(x, p); smooth_l1 F.smooth_l1_loss(x, p); huber F.huber_loss(x, p)
bce F.binary_cross_entropy_with_logits(x, p); kl_div F.kl_div(rows, rows.softmax(1), reduction='batchmean')
triplet F.triplet_margin_loss(rows, rows + 1, rows - 1)
"""

# Without one, or whose gradient is another row's.
FLAT = """
floor x.floor(); sign x.sign(); argmax rows.argmax(1); any rows.any(1); all rows.all(1); argsort x.argsort()
sort.line x.sort()[0]; sort.integers index.sort()[0]; unique index.unique(); bincount index.bincount()
nonzero mask.nonzero(); searchsorted t.searchsorted(p.sort()[0], x); histc x.histc(100); isin t.isin(index, index[:50])
randn t.randn(n, device=device); rand t.rand(n, device=device); randint t.randint(0, 10, (n,), device=device)
randperm t.randperm(n, device=device); bernoulli t.bernoulli(p); multinomial t.multinomial(rows.abs(), 5)
dropout F.dropout(x, 0.3); normal_ t.empty_like(x).normal_(); exponential_ t.empty_like(x).exponential_()
arange t.arange(n, device=device); zeros t.zeros(n, device=device); linspace t.linspace(0, 1, n, device=device)
one_hot F.one_hot(tokens, 1000); eye t.eye(square.shape[0], device=device)
integers.add index + index; integers.multiply index * 3; integers.floor_divide index // 3; integers.remainder index % 7
integers.sum index.sum(); integers.compare index < 5; bools.and mask & ~mask; bools.sum mask.sum()
to.half x.half(); to.long x.long(); brain.add brain + brain; brain.sum brain_rows.sum(1)
brain.softmax brain_rows.softmax(1); brain.layer_norm F.layer_norm(brain_rows, (1000,))
double.sum double_rows.sum(1); double.exp double_rows.exp(); double.mm double_square @ double_square.t()
inv t.linalg.inv(systems); solve t.linalg.solve(systems, systems); det t.linalg.det(systems)
cholesky t.linalg.cholesky(systems); qr t.linalg.qr(systems)[1]
"""


def rows_of(text: str) -> list[tuple[str, str]]:
    rows = [row.strip() for line in text.splitlines() for row in line.split(";") if row.strip()]
    return [tuple(row.split(" ", 1)) for row in rows]


def operands(torch, n: int) -> dict:
    """PyTorch's, on the CPU: what expressions name, made when it is asked for."""
    side, many = min(int(n**0.5), 1500), max(n // 16384, 1)
    draw, integers = torch.randn, torch.randint

    return {
        "x": lambda: draw(n),
        "p": lambda: torch.rand(n) * 0.8 + 0.1,
        "rows": lambda: draw(max(n // 1000, 1), 1000),
        "square": lambda: draw(side, side + 1),
        "points": lambda: draw(side, 16),
        "images": lambda: draw(many, 16, 32, 32),
        "grid": lambda: torch.rand(many, 32, 32, 2) * 2 - 1,
        "colours": lambda: draw(max(n // 3072, 1), 3, 32, 32),
        "volumes": lambda: draw(max(n // 65536, 1), 8, 16, 16, 16),
        "signal": lambda: draw(many, 16, 1000),
        "filters": lambda: draw(32, 16, 3, 3),
        "turned": lambda: draw(16, 32, 3, 3),
        "depthwise": lambda: draw(16, 1, 3, 3),
        "of_colours": lambda: draw(32, 3, 3, 3),
        "filters1d": lambda: draw(32, 16, 5),
        "filters3d": lambda: draw(8, 8, 3, 3, 3),
        "weight": lambda: draw(100, 1000),
        "table": lambda: draw(1000, 64),
        **{f"batch{k}": lambda k=k: draw(max(n // (k * k), 1), k, k) for k in (3, 8, 30, 40)},
        "heads": lambda: draw(1, max(n // 16384, 1), 256, 64),
        "odd_heads": lambda: draw(1, max(n // 16384, 1), 201, 40),
        "systems": lambda: draw(max(n // 10000, 1), 16, 16) * 0.1 + 16 * torch.eye(16),
        "index": lambda: integers(0, max(n // 2, 2), (n,)),
        "order": lambda: torch.randperm(n),
        "mask": lambda: draw(n) > 0,
        "tokens": lambda: integers(0, 1000, (max(n // 64, 1),)),
        "classes": lambda: integers(0, 1000, (max(n // 1000, 1),)),
        "brain": lambda: draw(n).bfloat16(),
        "brain_rows": lambda: draw(max(n // 1000, 1), 1000).bfloat16(),
        "double_rows": lambda: draw(max(n // 1000, 1), 1000).double(),
        "double_square": lambda: draw(min(side, 700), 300).double(),
    }


def moved(t, x, device: str, dtype: str):
    """x in the library t on the device, in `dtype` where it is float32."""
    wanted = dtype if x.dtype.itemsize == 4 and x.is_floating_point() else str(x.dtype)[6:]
    if t.__name__ != "torch":  # bfloat16 is not in NumPy
        x = t.from_numpy((x.float() if x.dtype.itemsize == 2 else x).numpy().copy())
    return x.to(device).clone().to(getattr(t, wanted))


def work(t, expression: str, given: dict, n: int, clock: Clock, dtype: str, backward: bool):
    device = clock.device
    names = {k: moved(t, x, device, dtype) for k, x in given.items()}
    code = compile(expression, expression, "eval")
    scope = {"t": t, "F": t.nn.functional, "n": n, "device": device, **names}
    if not backward:
        return lambda: eval(code, scope)
    leaves = [x.requires_grad_() for x in names.values() if x.is_floating_point()]
    slope = t.ones_like(eval(code, scope))

    def step():
        for x in leaves:
            x.grad = None
        eval(code, scope).backward(slope)

    return step


def survey(clock: Clock, torch, prefixes: list[str], sizes: list[int], dtype: str):
    """(name, size, seconds of dumbtorch, seconds of PyTorch) of each row that PyTorch has in the dtype."""
    rows = [(name, e, b) for name, e in rows_of(SMOOTH) for b in (False, True)]
    rows += [(name, e, False) for name, e in rows_of(FLAT)]
    for n in sizes:
        makers = operands(torch, n)
        for name, expression, backward in rows:
            if prefixes and not any(name.startswith(p) for p in prefixes):
                continue
            used = compile(expression, name, "eval").co_names
            given = {k: makers[k]() for k in used if k in makers}
            works = {}
            try:
                for t in reversed(clock.libraries):
                    step = work(t, expression, given, n, clock, dtype, backward)
                    step()
                    works[t] = step
            except RuntimeError as error:
                if works:
                    print(f"  {name} {n}, in dumbtorch: {str(error)[:200]}")
                continue
            theirs, ours = clock.best(works).values()
            yield name + (" backward" if backward else ""), n, ours, theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="prefixes of rows; all by default")
    parser.add_argument("--device", default="cpu", choices=LARGEST)
    parser.add_argument("--threads", type=int, default=0, help="of both libraries; all by default")
    parser.add_argument("--dtype", default="float32", help="of what is float32 in the rows")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="elements of operands")
    parser.add_argument("--save", type=Path, help="a folder for all figures, as .csv")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "wrappers" / "python"))
    import dumbtorch
    import torch

    for t in (dumbtorch, torch):
        if options.threads:
            t.set_num_threads(options.threads)
        t.manual_seed(0)
    clock = Clock(options.device, (dumbtorch, torch))
    found = list(survey(clock, torch, options.names, options.sizes, options.dtype))
    ratios = [theirs / ours for *_, ours, theirs in found]
    for (name, n, ours, theirs), ratio in sorted(zip(found, ratios), key=lambda pair: pair[1]):
        if ratio < 0.95:
            print(f"{ratio:5.2f}  {name} {n}: {ours * 1e6:.1f} us, PyTorch {theirs * 1e6:.1f}")
    print(f"{len(ratios)} points: {sum(r >= 0.95 for r in ratios)} at 0.95 of PyTorch or more, "
          f"{sum(r >= 1 for r in ratios)} at 1 or more, "
          f"geometric mean {statistics.geometric_mean(ratios):.2f}")  # fmt: skip
    if options.save:
        path = options.save / f"{datetime.date.today()}-survey-{options.device}.csv"
        with path.open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(("row", "size", "ours", "theirs"))
            out.writerows((name, n, f"{a:.4g}", f"{b:.4g}") for name, n, a, b in found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
