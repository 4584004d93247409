"""Large operations: here the arithmetic and the memory count."""

from __future__ import annotations

from measure import Row, Target

from rows.compare import compare

SQUARES = (64, 128, 256, 512, 1024, 2048)
FLOAT = 4  # bytes


def gemm_rows(dumbtorch, torch) -> list[Row]:
    result = []
    for m, n, k in [(s, s, s) for s in SQUARES] + [(4096, 64, 192)]:

        def make(library, m=m, n=n, k=k):
            a, b = library.randn(m, k), library.randn(k, n)
            return lambda: a @ b

        ours, rivals = compare(make, dumbtorch, torch)
        name = f"matmul {m}×{n}×{k}"
        row = Row("gemm", name, Target(ratio=0.95), ours, rivals, flops=2 * m * n * k)
        result.append(row)
    return result


# name, batch, channels in and out, height and width, what the ratio must be
CONVOLUTIONS = (
    ("1→8 28×28, batch 64", 64, 1, 8, 28, 1.5),
    ("8→16 14×14, batch 64", 64, 8, 16, 14, 1.5),
    ("64→64 56×56, batch 16", 16, 64, 64, 56, 0.8),
)


def conv(torch, batch: int, c_in: int, c_out: int, size: int, channels_last: bool = False):
    """Forward and both gradients of a 3×3 convolution."""
    x = torch.randn(batch, c_in, size, size)
    w = torch.randn(c_out, c_in, 3, 3)
    grad = torch.randn(batch, c_out, size, size)
    if channels_last:
        x, w, grad = (t.contiguous(memory_format=torch.channels_last) for t in (x, w, grad))
    x.requires_grad_()
    w.requires_grad_()

    def run():
        torch.nn.functional.conv2d(x, w, padding=1).backward(grad)
        x.grad = w.grad = None

    return run


def conv_rows(dumbtorch, torch) -> list[Row]:
    result = []
    rivals = {"eager": {}, "channels-last": {"channels_last": True}}
    for name, batch, c_in, c_out, size, ratio in CONVOLUTIONS:

        def make(library, shape=(batch, c_in, c_out, size), **options):
            return conv(library, *shape, **options)

        ours, theirs = compare(make, dumbtorch, torch, rivals=rivals)
        flops = 3 * 2 * batch * c_in * c_out * 9 * size * size
        row = Row("conv", f"conv {name}, fwd+bwd", Target(ratio=ratio), ours, theirs, flops=flops)
        result.append(row)
    return result


N, ROWS, COLUMNS = 1 << 24, 16384, 1024  # 16M floats, also as a matrix


def on_matrix(op):
    """A program that applies `op(library, x)` to 16M normal numbers, without recording."""

    def make(torch, compiled: bool = False):
        x = torch.randn(ROWS, COLUMNS)

        def apply(x):
            return op(torch, x)

        function = torch.compile(apply) if compiled else apply

        def run():
            with torch.no_grad():
                function(x)

        return run

    return make


# group, name, what it does, how many times it passes over 16M floats at least, the ratio
MEMORY = (
    ("pointwise", "add 16M", lambda torch, x: x + x, 2, 2),
    ("pointwise", "exp 16M", lambda torch, x: x.exp(), 2, 2),
    ("pointwise", "tanh 16M", lambda torch, x: x.tanh(), 2, 2),
    ("pointwise", "gelu 16M", lambda torch, x: torch.nn.functional.gelu(x), 2, 2),
    ("rowwise", "softmax 16384×1024", lambda torch, x: torch.softmax(x, 1), 2, 2),
    (
        "rowwise",
        "layer_norm 16384×1024",
        lambda torch, x: torch.nn.functional.layer_norm(x, (COLUMNS,)),
        2,
        2,
    ),
    ("random", "dropout 16M", lambda torch, x: torch.nn.functional.dropout(x, 0.5), 2, 10),
    ("random", "randn 16M", lambda torch, x: torch.randn(ROWS, COLUMNS), 1, 3),
)


def memory_rows(dumbtorch, torch, *, full: bool) -> list[Row]:
    rivals = {"eager": {}} | ({"compile": {"compiled": True}} if full else {})
    result = []
    for group, name, op, passes, ratio in MEMORY:
        ours, theirs = compare(on_matrix(op), dumbtorch, torch, rivals=rivals)
        moved = passes * N * FLOAT
        result.append(Row(group, name, Target(ratio=ratio), ours, theirs, bytes=moved))
    return result


def rows(dumbtorch, torch, *, full: bool) -> list[Row]:
    return [
        *gemm_rows(dumbtorch, torch),
        *conv_rows(dumbtorch, torch),
        *memory_rows(dumbtorch, torch, full=full),
    ]
