"""The ops that programs use beside products and softmax: each at three sizes, one of them odd.

The same cases serve both machines: a GPU gets a batch eight times as large, and targets of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from measure import Row, Target, Variant

from rows.compare import compare, lazily


@dataclass(frozen=True)
class Case:
    """`make(library, size, device)` prepares the work; the targets are ratios."""

    name: str
    sizes: tuple
    make: Callable
    cpu: float | None = None
    cuda: float | None = None

    def name_at(self, size) -> str:
        return f"{self.name} {'×'.join(map(str, size))}"

    def batch_on(self, device: str, size: tuple) -> tuple:
        """The first size is the batch."""
        return (size[0] * 8, *size[1:]) if device == "cuda" else size


def forward(f, *shapes):
    """The work f(library, *operands). A shape is a function of the size."""

    def make(t, size, device):
        operands = [t.randn(*shape(size), device=device) for shape in shapes]
        return lambda: f(t, *operands)

    return make


def trained(f, *shapes):
    """f and its gradients at all operands."""

    def make(t, size, device):
        operands = [t.randn(*shape(size), device=device).requires_grad_() for shape in shapes]
        ones = t.ones_like(f(t, *operands))
        return lambda: t.autograd.grad(f(t, *operands), operands, ones)

    return make


def whole(size):
    return size


def channels(size):
    return (size[1],)


def last(size):
    return (size[-1],)


def kernel(out, *window):
    """Weights of a convolution to `out` channels."""
    return lambda size: (out, size[1], *window)


def functional(name, *arguments, **options):
    """t.nn.functional's function, with arguments after the operands."""

    def call(t, *operands):
        return getattr(t.nn.functional, name)(*operands, *arguments, **options)

    return call


def multinomial(t, size, device):
    weights = t.randn(*size, device=device).softmax(-1)
    return lambda: t.multinomial(weights, 1)


def embedding_bag(t, size, device):
    bags, per_bag, features = size
    table = t.randn(50000, features, device=device).requires_grad_()
    words = t.randint(0, 50000, (bags, per_bag), device=device)
    ones = t.ones(bags, features, device=device)
    bag = t.nn.functional.embedding_bag
    return lambda: t.autograd.grad(bag(words, table, mode="mean"), table, ones)


def grid_sample(t, size, device):
    batch, channel, height, width = size
    x = t.randn(*size, device=device).requires_grad_()
    grid = t.rand(batch, height, width, 2, device=device) * 2 - 1
    ones = t.ones(batch, channel, height, width, device=device)
    sample = t.nn.functional.grid_sample
    return lambda: t.autograd.grad(sample(x, grid, align_corners=False), x, ones)


def group_norm(t, x, weight, bias):
    return t.nn.functional.group_norm(x, 8, weight, bias)


def rms_norm(t, x, weight):
    return t.nn.functional.rms_norm(x, weight.shape, weight)


def einsum(t, q, k):
    return t.einsum("bhqd,bhkd->bhqk", q, k)


IMAGES = ((8, 64, 64, 64), (2, 32, 128, 128), (7, 24, 57, 61))
VOCABULARY = ((256, 50257), (32, 131072), (999, 1001))
BILINEAR = functional("interpolate", scale_factor=2, mode="bilinear")
TRANSPOSED = functional("conv_transpose2d", None, 2, 1)

CASES = (
    Case("multinomial of rows", VOCABULARY, multinomial, 20, 4),
    Case("cumprod of rows", VOCABULARY, forward(lambda t, x: x.cumprod(-1), whole), 3),
    Case("bilinear ×2", IMAGES, trained(BILINEAR, whole), 5, 4),
    Case("conv_transpose2d to 32, 4×4, stride 2", IMAGES,
         trained(TRANSPOSED, whole, lambda size: (size[1], 32, 4, 4)), 3, 1),
    Case("unfold 3×3", IMAGES, forward(functional("unfold", 3), whole), 6, 2),
    Case("rms_norm", ((32768, 64), (4096, 1024), (1001, 777)), trained(rms_norm, whole, last), 8, 1.3),
    Case("group_norm of 8", IMAGES, trained(group_norm, whole, channels, channels), 1.2, 1.3),
    Case("instance_norm", IMAGES, trained(functional("instance_norm"), whole), 1.2, 1.3),
    Case("conv1d to 128, 5", ((16, 64, 1024), (8, 32, 4096), (5, 48, 777)),
         trained(functional("conv1d", padding=2), whole, kernel(128, 5)), 1.5, 1),
    Case("conv3d to 32, 3×3×3", ((2, 16, 16, 32, 32), (1, 32, 16, 28, 28), (3, 12, 9, 27, 31)),
         trained(functional("conv3d", padding=1), whole, kernel(32, 3, 3, 3)), 1.3, 1),
    Case("embedding_bag", ((4096, 20, 128), (512, 100, 64), (777, 13, 200)), embedding_bag, 3, 1.3),
    Case("cdist to 3000", ((2000, 64), (500, 512), (777, 33)),
         forward(lambda t, a, b: t.cdist(a, b), whole, lambda size: (3000, size[1])), 1.2),
    Case("grid_sample", IMAGES, grid_sample, 2, 2),
    Case("einsum bhqd,bhkd->bhqk", ((8, 8, 128, 64), (2, 12, 512, 64), (3, 7, 99, 33)),
         forward(einsum, whole, whole), 0.98, 0.98),
)  # fmt: skip


# What is put in order on a GPU: sizes of which one is odd, the work, a ratio. sorting.py has the CPU's.
ORDERED = (
    ("sort", ((1 << 24,), (9_999_999,), (4096, 4097)), lambda x: x.sort(), 1),
    ("unique", ((1 << 24,), (9_999_999,), (1 << 20,)), lambda x: (x * 1e6).int().unique(), 1),
    ("topk 50", ((256, 50257), (33, 50001), (1, 50000)), lambda x: x.topk(50), 5),
    ("median of rows", ((256, 50257), (999, 10001), (8192, 1024)), lambda x: x.median(-1), 4),
    ("median", ((1 << 24,), (9_999_999,), (1 << 20,)), lambda x: x.median(), 4),
)


def rows(dumbtorch, torch) -> list[Row]:
    result = []
    for case in CASES:
        for size in case.sizes:

            def make(library, case=case, size=size):
                return case.make(library, size, "cpu")

            ours, theirs = compare(make, dumbtorch, torch)
            result.append(Row("breadth", case.name_at(size), Target(ratio=case.cpu), ours, theirs))
    return [
        *result,
        *linear_cross_entropy_rows(dumbtorch, torch),
        *einsum_rows(dumbtorch),
        *narrow_rows(dumbtorch),
    ]


def linear_cross_entropy_rows(dumbtorch, torch) -> list[Row]:
    """With the gradients by the features and by the weight, against PyTorch's own and its two steps."""

    def row(size):
        rows, features, classes = size

        def make(t, fused=True):
            x = t.randn(rows, features).requires_grad_()
            weight = (t.randn(classes, features) * 0.02).requires_grad_()
            target = t.randint(0, classes, (rows,))
            f = t.nn.functional

            def loss():
                if fused:
                    return f.linear_cross_entropy(x, weight, target)
                return f.cross_entropy(f.linear(x, weight), target)

            return lambda: t.autograd.grad(loss(), (x, weight))

        rivals = {"its own": {}, "two steps": {"fused": False}}
        ours, theirs = compare(make, dumbtorch, torch, rivals=rivals)
        name = f"linear_cross_entropy {'×'.join(map(str, size))}"
        return Row("breadth", name, Target(ratio=1), ours, theirs)

    return [row(size) for size in ((512, 256, 8192), (128, 512, 32000), (333, 77, 5001))]


def einsum_rows(dumbtorch) -> list[Row]:
    """einsum against the product that it is, both of ours."""

    def row(size):
        def measured(f):
            return lazily(lambda: forward(f, whole, whole)(dumbtorch, size, "cpu"))

        ours = Variant("dumbtorch", measured(einsum))
        product = Variant("matmul", measured(lambda t, q, k: q @ k.mT))
        return Row(
            "breadth", f"einsum {'×'.join(map(str, size))}", Target(ratio=0.98), ours, (product,)
        )

    return [row(size) for size in ((8, 8, 128, 64), (2, 12, 512, 64), (3, 7, 99, 33))]


NARROW = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "relu": lambda x, y: x.relu(),
    "exp": lambda x, y: x.exp(),
}


def narrow_rows(dumbtorch) -> list[Row]:
    """Elementwise ops of 16 bits against those of float32: half of the memory, half of the time."""

    def row(name, dtype, n):
        def measured(kind):
            def make():
                x, y = (dumbtorch.randn(n).to(kind) for _ in range(2))
                return lambda: NARROW[name](x, y)

            return lazily(make)

        ours = Variant("dumbtorch", measured(getattr(dumbtorch, dtype)))
        wide = Variant("float32", measured(dumbtorch.float32))
        return Row("breadth", f"{name} {n} {dtype}", Target(ratio=2), ours, (wide,))

    sizes = (1 << 16, 1 << 24, 777_777)
    return [
        row(name, dtype, n) for name in NARROW for dtype in ("float16", "bfloat16") for n in sizes
    ]
