"""dumbtorch against PyTorch on one GPU, in one run, in turns:

    python3 benchmarks/gpu.py [bandwidth gemm ...] [--save]

Each row is one piece of work, given to both libraries on tensors of the same sizes. The time is the
median over turns, each of as many repetitions as fill 20 ms or more, between two synchronisations.
PyTorch's time is that of its best variant.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "wrappers" / "python"))

import dumbtorch  # noqa: E402
import gpu_attention  # noqa: E402
import gpu_models  # noqa: E402
import torch  # noqa: E402
from rows import breadth  # noqa: E402

GIB = 1 << 30
TURNS, SECONDS = 7, 0.02


@dataclass
class Row:
    """ours() and each of theirs() do the work once. `amount` is bytes or operations, `unit` what a second's worth of
    1e9 of them is called; the target is a rate, or a ratio when `unit` is empty."""

    group: str
    name: str
    ours: object
    theirs: dict
    target: float = 0.0
    amount: float = 0.0
    unit: str = ""
    longest: float = 0.0  # microseconds that are the target, for steps
    times: dict = field(default_factory=dict)


def synchronize() -> None:
    dumbtorch.cuda.synchronize()
    torch.cuda.synchronize()


def seconds_of(work, repetitions: int) -> float:
    synchronize()
    started = time.perf_counter()
    for _ in range(repetitions):
        work()
    synchronize()
    return (time.perf_counter() - started) / repetitions


def measure(row: Row) -> None:
    works = {"ours": row.ours, **row.theirs}
    repetitions = {}
    for name, work in list(works.items()):
        try:
            for _ in range(3):
                work()
            once = seconds_of(work, 3)
            repetitions[name] = max(1, min(10000, int(SECONDS / max(once, 1e-7))))
        except Exception as error:  # a variant that fails is shown as such
            print(f"  {row.name}, {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            del works[name]
    samples = {name: [] for name in works}
    for _ in range(TURNS):
        for name, work in works.items():
            samples[name].append(seconds_of(work, repetitions[name]))
    row.times = {name: statistics.median(s) for name, s in samples.items()}


# ---- rows


def on_both(make):
    """The work on dumbtorch's tensors and on PyTorch's."""
    return make(dumbtorch), make(torch)


def bandwidth_rows():
    def row(name, amount, make, target, **variants):
        ours, theirs = on_both(make)
        more = {k: torch.compile(make(torch)) for k in variants if variants[k]}
        return Row("bandwidth", name, ours, {"eager": theirs, **more}, target, amount, "GB/s")

    n = GIB // 4
    big = {t: t.randn(n, device="cuda") for t in (dumbtorch, torch)}
    other = {t: t.randn(n, device="cuda") for t in (dumbtorch, torch)}
    wide = {t: t.randn(16384, 8192, device="cuda") for t in (dumbtorch, torch)}
    grad = {t: t.randn(16384, 8192, device="cuda") for t in (dumbtorch, torch)}
    m = 16384 * 8192 * 4.0

    yield row("copy 1 GiB", 2.0 * GIB, lambda t: lambda: big[t].clone(), 0)
    yield row("add", 3.0 * GIB, lambda t: lambda: big[t] + other[t], 0.97)
    yield row("exp", 2.0 * GIB, lambda t: lambda: big[t].exp(), 0.97)
    yield row("gelu", 2.0 * GIB, lambda t: lambda: t.nn.functional.gelu(big[t]), 0.97)
    yield row("tanh", 2.0 * GIB, lambda t: lambda: big[t].tanh(), 0.97)
    yield row("sum", 1.0 * GIB, lambda t: lambda: big[t].sum(), 0.97)
    yield row("sum over dim 0", m, lambda t: lambda: wide[t].sum(0), 0.97)
    yield row("sum over dim 1", m, lambda t: lambda: wide[t].sum(1), 0.97)
    yield row("add a row", 2 * m, lambda t: lambda: wide[t] + grad[t][0], 0.97)
    yield row("transpose copy", 2 * m, lambda t: lambda: wide[t].t().contiguous(), 2500)
    yield row("cumsum", 2 * m, lambda t: lambda: wide[t].cumsum(1), 2500)
    yield row("argmax over dim 1", m, lambda t: lambda: wide[t].argmax(1), 0)
    yield row("dropout", 2 * m, lambda t: lambda: t.nn.functional.dropout(wide[t], 0.3, True), 0)
    yield row("randn", m, lambda t: lambda: t.randn(16384, 8192, device="cuda"), 0)

    def forward(f):
        return lambda t: lambda: f(t, wide[t])

    def backward(f, of=lambda y, t: grad[t]):
        def make(t):
            x = wide[t].clone().requires_grad_()
            y = f(t, x)
            g = of(y, t)
            return lambda: t.autograd.grad(y, x, g, retain_graph=True)

        return make

    weight = {t: t.randn(8192, device="cuda") for t in (dumbtorch, torch)}
    target = {t: t.randint(0, 8192, (16384,), device="cuda") for t in (dumbtorch, torch)}
    norms = {
        "softmax": lambda t, x: t.softmax(x, 1),
        "log_softmax": lambda t, x: t.log_softmax(x, 1),
        "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (8192,), weight[t], weight[t]),
    }
    for name, f in norms.items():
        yield row(f"{name} forward", 2 * m, forward(f), 3200, compiled=True)
        yield row(f"{name} backward", 3 * m, backward(f), 3200)

    def entropy(t, x):
        return t.nn.functional.cross_entropy(x, target[t])

    yield row("cross_entropy forward", m, forward(entropy), 3200, compiled=True)
    ones = {t: t.ones((), device="cuda") for t in (dumbtorch, torch)}
    yield row("cross_entropy backward", 2 * m, backward(entropy, lambda y, t: ones[t]), 3200)

    images = {t: t.randn(256, 64, 91, 91, device="cuda") for t in (dumbtorch, torch)}
    i = 256 * 64 * 91 * 91 * 4.0
    scale = {t: t.randn(64, device="cuda") for t in (dumbtorch, torch)}

    def batch_norm(t, x):
        return t.nn.functional.batch_norm(x, None, None, scale[t], scale[t], True)

    def batch_norm_backward(t):
        x = images[t].clone().requires_grad_()
        y = batch_norm(t, x)
        g = images[t]
        return lambda: t.autograd.grad(y, x, g, retain_graph=True)

    yield row("batch_norm forward", 3 * i, lambda t: lambda: batch_norm(t, images[t]), 3200)
    yield row("batch_norm backward", 5 * i, batch_norm_backward, 3200)
    pool = lambda t: lambda: t.nn.functional.max_pool2d(images[t], 2)  # noqa: E731
    # Reads x, writes y and its int64 positions.
    yield row("max_pool2d", i * (1 + 0.25 + 0.5), pool, 2500)


def table_rows():
    table = {t: t.randn(50000, 512, device="cuda").requires_grad_() for t in (dumbtorch, torch)}
    words = torch.randint(0, 50000, (65536,), device="cuda")
    index = {torch: words, dumbtorch: dumbtorch.tensor(words.tolist(), device="cuda")}

    def make(t):
        y = t.nn.functional.embedding(index[t], table[t])
        g = t.ones_like(y)
        return lambda: t.autograd.grad(y, table[t], g, retain_graph=True)

    ours, theirs = on_both(make)
    yield Row("table", "embedding backward 65536x512", ours, {"eager": theirs}, 4)

    params = {t: [t.randn(1 << 20, device="cuda") for _ in range(150)] for t in (dumbtorch, torch)}

    def adamw(t, **options):
        for p in params[t]:
            p.requires_grad_()
            p.grad = t.ones_like(p)
        optimizer = t.optim.AdamW(params[t], **options)
        optimizer.step()
        return optimizer.step

    bytes_moved = 150 * (1 << 20) * 4.0 * 7  # reads p, g, m, v; writes p, m, v
    yield Row("table", "AdamW, 150 x 1M", adamw(dumbtorch), {"fused": adamw(torch, fused=True)}, 3600,
              bytes_moved, "GB/s")  # fmt: skip


def gemm_rows():
    for n in (1024, 4096, 8192):
        for kind in ("fp32", "tf32"):

            def make(t, n=n, kind=kind):
                a, b = t.randn(n, n, device="cuda"), t.randn(n, n, device="cuda")

                def work():
                    t.backends.cuda.matmul.allow_tf32 = kind == "tf32"
                    return a @ b

                return work

            ours, theirs = on_both(make)
            yield Row("gemm", f"{kind} {n}", ours, {"eager": theirs}, 0.98, 2.0 * n**3, "GFLOP/s")
    for t in (dumbtorch, torch):
        t.backends.cuda.matmul.allow_tf32 = False


def conv_rows():
    def make(t):
        x = t.randn(256, 64, 56, 56, device="cuda").requires_grad_()
        w = t.randn(64, 64, 3, 3, device="cuda").requires_grad_()
        y = t.nn.functional.conv2d(x, w, padding=1)
        g = t.ones_like(y)
        forward = lambda: t.nn.functional.conv2d(x, w, padding=1)  # noqa: E731
        return forward, lambda: t.autograd.grad(y, (x, w), g, retain_graph=True)

    torch.backends.cudnn.benchmark = True
    (ours, ours_back), (theirs, theirs_back) = on_both(make)
    flops = 2.0 * 256 * 56 * 56 * 64 * 64 * 9
    yield Row("conv", "64->64 56x56 b256 forward", ours, {"eager": theirs}, 0.98, flops, "GFLOP/s")
    yield Row("conv", "64->64 56x56 b256 backward", ours_back, {"eager": theirs_back}, 0.98,
              2 * flops, "GFLOP/s")  # fmt: skip


# ---- whole train steps


def xor_model(t):
    return t.nn.Sequential(t.nn.Linear(2, 4), t.nn.Sigmoid(), t.nn.Linear(4, 1)).to("cuda")


def cnn_model(t):
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10),
    ).to("cuda")  # fmt: skip


def xor_batch(t):
    x = t.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], device="cuda")
    return x, t.tensor([[0.0], [1.0], [1.0], [0.0]], device="cuda")


def image_batch(size):
    def make(t):
        x = t.randn(size, 1, 28, 28, device="cuda")
        return x, t.randint(0, 10, (size,), device="cuda")

    return make


def make_step(t, model, batch, loss, optimizer, forward=None):
    model = model(t)
    x, y = batch(t)
    opt = optimizer(t, model.parameters())
    run = forward(model) if forward else model

    def step():
        opt.zero_grad(set_to_none=True)
        value = loss(t)(run(x), y)
        value.backward()
        opt.step()
        return value

    return step


def captured_by_torch(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    # PyTorch's graph does not keep what it uses: the step, whose tensors they are, lives as long.
    return lambda _keep=step: graph.replay()


def sgd(t, parameters):
    return t.optim.SGD(parameters, lr=0.5)


def adam(t, parameters):
    options = {"fused": True, "capturable": True} if t is torch else {}
    return t.optim.Adam(parameters, lr=1e-3, **options)


def train_rows():
    mse = lambda t: t.nn.functional.mse_loss  # noqa: E731
    entropy = lambda t: t.nn.functional.cross_entropy  # noqa: E731
    cases = (
        ("XOR", xor_model, xor_batch, mse, sgd, 9),
        ("MNIST CNN b64", cnn_model, image_batch(64), entropy, adam, 120),
        ("MNIST CNN b1024", cnn_model, image_batch(1024), entropy, adam, 400),
    )
    for name, *parts, longest in cases:
        theirs = make_step(torch, *parts)
        yield Row("train", f"{name} eager", make_step(dumbtorch, *parts), {"eager": theirs}, 2)
        variants = {"graph": captured_by_torch(make_step(torch, *parts))}
        try:
            compiled = make_step(torch, *parts, forward=torch.compile)
            variants["compiled graph"] = captured_by_torch(compiled)
        except Exception as error:
            print(f"  {name}, compiled graph: {str(error)[:200]}")
        ours = dumbtorch.capture(make_step(dumbtorch, *parts), warmup=3).graph.replay
        yield Row("train", f"{name} captured", ours, variants, longest=longest)


def overhead_rows():
    def make(t):
        a, b = t.randn(8, device="cuda"), t.randn(8, device="cuda")
        return lambda: t.add(a, b)

    ours, theirs = on_both(make)
    yield Row("overhead", "add of 8 floats", ours, {"eager": theirs}, longest=3.5)


def narrow_rows():
    """The same work in 16 bits."""
    for name in ("bfloat16", "float16"):
        yield from rows_in(name)


def rows_in(name):
    def random(*sizes):
        return {t: t.randn(*sizes, device="cuda").to(getattr(t, name)) for t in (dumbtorch, torch)}

    def row(work, amount, unit, f):
        ours, theirs = on_both(lambda t: lambda: f(t))
        return Row("narrow", f"{work}, {name}", ours, {"eager": theirs}, 0, amount, unit)

    x = random(1 << 16, 1024)
    m = 2.0 * (1 << 26)
    yield row("add", 3 * m, "GB/s", lambda t: x[t] + x[t])
    yield row("gelu", 2 * m, "GB/s", lambda t: t.nn.functional.gelu(x[t]))
    yield row("sum", m, "GB/s", lambda t: x[t].sum())
    yield row("softmax", 2 * m, "GB/s", lambda t: t.softmax(x[t], 1))
    yield row("layer_norm", 2 * m, "GB/s", lambda t: t.nn.functional.layer_norm(x[t], (1024,)))
    yield row("to float32", 3 * m, "GB/s", lambda t: x[t].float())
    for name_of_op, f in (
        ("softmax", lambda t, x: t.softmax(x, 1)),
        ("layer_norm", lambda t, x: t.nn.functional.layer_norm(x, (1024,))),
    ):
        yield row(f"{name_of_op}, its backward", 3 * m, "GB/s", backward_of(f, x))
    images, weights = random(64, 64, 56, 56), random(64, 64, 3, 3)
    conv = lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1)  # noqa: E731
    products = 2.0 * 64 * 56 * 56 * 64 * 64 * 9
    yield row("conv", products, "GFLOP/s", lambda t: conv(t, images[t], weights[t]))
    yield row("conv, its backward", 2 * products, "GFLOP/s", backward_of(conv, images, weights))
    for n in (1024, 4096, 8192):
        a = random(n, n)
        yield row(f"product of {n}", 2.0 * n**3, "GFLOP/s", lambda t, a=a: a[t] @ a[t])


def backward_of(f, *operands):
    """A function of the library that computes the gradients of f(library, *operands)."""
    ready = {}
    for t in (dumbtorch, torch):
        inputs = [x[t].detach().requires_grad_() for x in operands]
        result = f(t, *inputs)
        ready[t] = result, inputs, t.ones_like(result)

    def backward(t):
        result, inputs, gradient = ready[t]
        return t.autograd.grad(result, inputs, gradient, retain_graph=True)

    return backward


def varying(work):
    """The work with kernels whose sums have no fixed order, PyTorch's default."""

    def run():
        dumbtorch._ops.set_deterministic(False)
        work()
        dumbtorch._ops.set_deterministic(True)

    return run


def breadth_rows():
    torch.backends.cudnn.benchmark = True
    for case in breadth.CASES:
        for size in case.sizes:
            yield breadth_row(case, case.batch_on("cuda", size))
    yield from ordered_rows()
    yield from linear_cross_entropy_rows()


def ordered_rows():
    for work, sizes, f, target in breadth.ORDERED:
        for size in sizes:
            x = {t: t.randn(*size, device="cuda") for t in (dumbtorch, torch)}
            ours, theirs = on_both(lambda t, f=f, x=x: lambda: f(x[t]))
            name = f"{work} {'×'.join(map(str, size))}"
            yield Row("breadth", name, ours, {"eager": theirs}, target)


def breadth_row(case, size):
    ours, theirs = on_both(lambda t: case.make(t, size, "cuda"))
    return Row("breadth", case.name_at(size), ours, {"eager": theirs}, case.cuda or 0.0)


def linear_cross_entropy_rows():
    """The loss of a vocabulary, from the features before it, and its gradients."""
    sizes = (8192, 2048), (50304, 2048)
    rows, words, features = sizes[0][0], sizes[1][0], sizes[0][1]

    def composed(t, h, w, y):
        return t.nn.functional.cross_entropy(t.nn.functional.linear(h, w), y)

    def fused(t, h, w, y):
        return t.nn.functional.linear_cross_entropy(h, w, y)

    def make(t, loss):
        h, w = (t.randn(*s, device="cuda").mul_(0.02).bfloat16().requires_grad_() for s in sizes)
        y = t.randint(0, words, (rows,), device="cuda")
        return lambda: t.autograd.grad(loss(t, h, w, y), (h, w))

    theirs = {"linear and cross_entropy": make(torch, composed)}
    if hasattr(torch.nn.functional, "linear_cross_entropy"):
        theirs["linear_cross_entropy"] = make(torch, fused)
    products = 6.0 * rows * words * features
    name = f"linear_cross_entropy {rows}×{features}×{words} bfloat16"
    yield Row("breadth", name, make(dumbtorch, fused), theirs, 1.3, products)


GROUPS = {
    "overhead": overhead_rows,
    "train": train_rows,
    "bandwidth": bandwidth_rows,
    "table": table_rows,
    "gemm": gemm_rows,
    "conv": conv_rows,
    "narrow": narrow_rows,
    "attention": lambda: gpu_attention.rows(Row, backward_of, varying),
    "breadth": breadth_rows,
    "models": lambda: gpu_models.rows(Row, captured_by_torch),
}


# ---- what else is measured


def first_op_seconds() -> float:
    """From the start of a process to the end of its first op on the GPU, less what Python takes to start."""
    path = f"import sys; sys.path.insert(0, {str(ROOT / 'wrappers' / 'python')!r}); "
    work = "import dumbtorch as t; (t.ones(8, device='cuda') + 1).tolist()"

    def seconds(program: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return time.perf_counter() - started

    empty = statistics.median(seconds("pass") for _ in range(3))
    return statistics.median(seconds(path + work) for _ in range(3)) - empty


def peak_memory(t) -> dict[str, float]:
    """MiB at the peak of ten eager steps, by model."""
    peaks = {}
    for name, batch in (("CNN b64", 64), ("CNN b1024", 1024)):
        t.cuda.synchronize()
        t.cuda.empty_cache()
        t.cuda.reset_peak_memory_stats()
        before = t.cuda.memory_allocated()
        loss = lambda t: t.nn.functional.cross_entropy  # noqa: E731
        step = make_step(t, cnn_model, image_batch(batch), loss, adam)
        for _ in range(10):
            step()
        t.cuda.synchronize()
        peaks[name] = (t.cuda.max_memory_allocated() - before) / 2**20
        del step
    return peaks


# ---- the table


def verdict(row: Row, copy_rate: float) -> tuple[str, str]:
    """(target, whether it was met)"""
    ours = row.times["ours"]
    best = min((s for name, s in row.times.items() if name != "ours"), default=0.0)
    if row.longest:
        return f"<= {row.longest:g} us", "yes" if ours * 1e6 <= row.longest else "no"
    if not row.target:
        return "", ""
    if row.unit == "GB/s" and row.target > 10:
        return f">= {row.target:g} GB/s", "yes" if row.amount / ours * 1e-9 >= row.target else "no"
    if row.unit == "GB/s":
        rate = row.amount / ours * 1e-9
        return f">= {row.target:g} copy", "yes" if rate >= row.target * copy_rate else "no"
    return f">= {row.target:g}x", "yes" if best and best / ours >= row.target else "no"


def line(row: Row, copy_rate: float) -> list[str]:
    if "ours" not in row.times:
        return [row.name, "failed", "", "", "", "", ""]
    ours = row.times["ours"]
    rivals = {k: v for k, v in row.times.items() if k != "ours"}
    name = min(rivals, key=rivals.get) if rivals else ""
    rate = f"{row.amount / ours * 1e-9:,.0f} {row.unit}" if row.unit else ""
    theirs = f"{rivals[name] * 1e6:,.1f} ({name})" if name else ""
    ratio = f"{rivals[name] / ours:.2f}" if name else ""
    return [row.name, f"{ours * 1e6:,.1f}", rate, theirs, ratio, *verdict(row, copy_rate)]


HEADINGS = ["work", "us", "rate", "PyTorch us", "ratio", "target", "met"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--save", metavar="FILE", help="write the table as Markdown")
    options = parser.parse_args()
    name = torch.cuda.get_device_name()
    title = f"{name}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
    print(title)
    lines, copy_rate = [], 0.0
    for group in options.groups or GROUPS:
        try:
            for row in GROUPS[group]():
                measure(row)
                if row.name.startswith("copy") and "ours" in row.times:
                    copy_rate = row.amount / min(row.times.values()) * 1e-9
                lines.append(line(row, copy_rate))
                print(" | ".join(lines[-1]), flush=True)
        except Exception as error:
            print(f"{group}: {type(error).__name__}: {error}", flush=True)
        torch._dynamo.reset()
        torch.cuda.empty_cache()
        dumbtorch.cuda.empty_cache()
    notes = []
    if not options.groups:
        notes.append(f"First op after the start of a process: {first_op_seconds():.2f} s.")
        ours, theirs = peak_memory(dumbtorch), peak_memory(torch)
        notes += [f"Peak memory of {k}: {ours[k]:.1f} MiB, PyTorch {theirs[k]:.1f}." for k in ours]
        print("\n".join(notes))
    if options.save:
        rows = ["| " + " | ".join(r) + " |" for r in (HEADINGS, ["---"] * len(HEADINGS), *lines)]
        head = [
            f"# {title}, {datetime.date.today()}",
            "",
            "`python3 benchmarks/gpu.py --save FILE`",
        ]
        Path(options.save).write_text("\n".join([*head, "", *rows, "", *notes]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
