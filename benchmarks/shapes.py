"""What a sweep goes through: classes of work, each over sizes of six decades.

A class makes the same program for both libraries at a point. Points of one curve lie beside each other in a picture;
lengths come in pairs, a round one and an odd one: rows that start at no multiple of 16 bytes are where kernels fall.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    curve: str
    x: int  # where it lies on the curve: a length, a count
    sizes: tuple[int, ...]
    bytes: float = 0  # that must pass through memory
    flops: float = 0  # that must be computed

    @property
    def label(self) -> str:
        return "x".join(map(str, self.sizes))


@dataclass(frozen=True)
class Class:
    """`make(t, device, sizes)` gives the function that does the work once, in the library t."""

    name: str
    axis: str
    make: Callable
    points: Callable[[Scale], Iterator[Point]]


@dataclass(frozen=True)
class Scale:
    """How many elements a device's largest arrays have, and what shapes are drawn from."""

    largest: int
    random: random.Random
    drawn: int

    def counts(self) -> list[int]:
        n = 1
        found = []
        while n <= self.largest:
            found += [n, n + 1] if n > 8 else [n]
            n *= 4
        return found + [self.draw(8, self.largest) for _ in range(self.drawn)]

    def draw(self, low: int, high: int) -> int:
        return round(math.exp(self.random.uniform(math.log(low), math.log(high))))


# ---- points


def arrays(curve: str, passes: float):
    """One-dimensional arrays of float32."""

    def points(scale: Scale):
        for n in scale.counts():
            yield Point(curve, n, (n,), bytes=4.0 * passes * n)

    return points


def rows(passes: float, along: int = 1):
    """As many elements in every shape, rows of 1 to 2**20. `along` 0 counts rows where the op goes down the columns."""

    def points(scale: Scale):
        total = scale.largest // 4
        lengths = [1, 2, 3, 7, 16, 31, 32, 37, 64, 100, 128, 130, 256, 257, 512, 768, 1000, 1023, 1024, 1025, 2048,
                   3001, 4096, 8191, 8192, 16384, 16385, 32768, 50257, 65536, 131071, 262144, 1 << 20]  # fmt: skip
        lengths += [scale.draw(1, 1 << 20) for _ in range(scale.drawn)]
        for n in lengths:
            m = max(1, total // n)
            sizes = (m, n) if along == 1 else (n, m)
            curve = "aligned" if n % 4 == 0 else "odd"
            yield Point(curve, n, sizes, bytes=4.0 * passes * m * n)

    return points


def products(scale: Scale):
    side = 4096 if scale.largest > 1 << 24 else 1024
    shapes = [(n, n, n) for n in (8, 16, 31, 64, 100, 128, 255, 256, 320, 512, 700, 1000, side)]
    shapes += [
        (1, side, side),
        (side, side, 1),
        (side, 16, side),
        (16, side, 16),
        (3000, 96, 200),
        (7, 1000, 513),
    ]
    shapes += [tuple(scale.draw(1, side) for _ in range(3)) for _ in range(4 * scale.drawn)]
    for m, k, n in shapes:
        curve = "square" if m == k == n else "other"
        bytes_moved = 4.0 * (m * k + k * n + m * n)
        yield Point(curve, round((m * k * n) ** (1 / 3)), (m, k, n), bytes_moved, 2.0 * m * k * n)


def batches(scale: Scale):
    shapes = [
        (48, 100, 100, 40),
        (512, 16, 16, 16),
        (96, 64, 64, 64),
        (12, 255, 64, 255),
        (1000, 3, 3, 3),
        (64, 1, 128, 128),
    ]
    shapes += [
        (scale.draw(1, 512), *(scale.draw(1, 256) for _ in range(3)))
        for _ in range(2 * scale.drawn)
    ]
    for b, m, k, n in shapes:
        bytes_moved = 4.0 * b * (m * k + k * n + m * n)
        yield Point(
            "batched", round((m * k * n) ** (1 / 3)), (b, m, k, n), bytes_moved, 2.0 * b * m * k * n
        )


# Channels in and out, side, window, stride, groups: the convolutions of ResNet-50 and MobileNetV2.
CONVOLUTIONS = (
    (3, 64, 224, 7, 2, 1), (64, 64, 56, 1, 1, 1), (64, 64, 56, 3, 1, 1), (64, 256, 56, 1, 1, 1), (256, 64, 56, 1, 1, 1),
    (256, 128, 56, 1, 1, 1), (128, 128, 56, 3, 2, 1), (256, 512, 56, 1, 2, 1), (128, 512, 28, 1, 1, 1),
    (512, 128, 28, 1, 1, 1), (128, 128, 28, 3, 1, 1), (512, 256, 28, 1, 1, 1), (256, 256, 28, 3, 2, 1),
    (256, 1024, 14, 1, 1, 1), (256, 256, 14, 3, 1, 1), (512, 512, 14, 3, 2, 1), (512, 2048, 7, 1, 1, 1),
    (512, 512, 7, 3, 1, 1), (3, 32, 224, 3, 2, 1), (32, 32, 112, 3, 1, 32), (96, 96, 112, 3, 2, 96),
    (144, 144, 56, 3, 1, 144), (192, 64, 14, 1, 1, 1), (960, 960, 7, 3, 1, 960), (320, 1280, 7, 1, 1, 1),
)  # fmt: skip


def convolutions(scale: Scale):
    images = 32 if scale.largest > 1 << 24 else 2
    for c, o, side, window, stride, groups in CONVOLUTIONS:
        out = (side + 2 * (window // 2) - window) // stride + 1
        flops = 2.0 * images * o * out * out * (c // groups) * window * window
        bytes_moved = 4.0 * images * (c * side * side + o * out * out)
        curve = "grouped" if groups > 1 else f"{window}x{window}"
        yield Point(curve, c, (images, c, o, side, window, stride, groups), bytes_moved, flops)


def few_arrays(curve: str, bytes_of_element: float):
    """Where a few lengths show what there is to see: in the first caches, in the last, and, odd, beyond."""

    def points(scale: Scale):
        for n in (1000, 16384, scale.largest // 4 + 1):
            yield Point(curve, n, (n,), bytes=bytes_of_element * n)

    return points


# ---- works


def random_of(t, device, *sizes):
    return t.randn(*sizes, device=device)


def of_one(f):
    def make(t, device, sizes):
        x = random_of(t, device, *sizes)
        return lambda: f(t, x)

    return make


def raised(t, device, sizes):
    x = random_of(t, device, *sizes).abs_()
    return lambda: x**2.5


def gradient_of(f):
    def make(t, device, sizes):
        x = random_of(t, device, *sizes).requires_grad_()
        y = f(t, x)
        g = t.ones_like(y)
        return lambda: t.autograd.grad(y, x, g, retain_graph=True)

    return make


LAYOUTS = "contiguous", "sliced", "transposed", "row"


def added(layout):
    def make(t, device, sizes):
        (n,) = sizes
        side = max(1, math.isqrt(n))
        if layout == "sliced":
            a, b = random_of(t, device, n + 1)[1:], random_of(t, device, n)
        elif layout == "transposed":
            a, b = random_of(t, device, side, side).t(), random_of(t, device, side, side)
        elif layout == "row":
            a, b = random_of(t, device, side, side), random_of(t, device, side)
        else:
            a, b = random_of(t, device, n), random_of(t, device, n)
        return lambda: a + b

    return make


def paired(dtype, f):
    """Of two arrays of small numbers, none of them 0."""

    def make(t, device, sizes):
        a, b = (t.randint(1, 100, sizes, device=device).to(getattr(t, dtype)) for _ in range(2))
        return lambda: f(a, b)

    return make


def in_rows(f, width: int = 64):
    """Of n numbers in rows."""

    def make(t, device, sizes):
        x = random_of(t, device, max(1, sizes[0] // width), width)
        return lambda: f(t, x)

    return make


def gathered(t, device, sizes):
    x = random_of(t, device, max(1, sizes[0] // 64), 64)
    index = t.randint(0, 64, tuple(x.shape), device=device)
    return lambda: x.gather(1, index)


def multiplied(transposed):
    def make(t, device, sizes):
        m, k, n = sizes
        a = random_of(t, device, k, m).t() if transposed == "left" else random_of(t, device, m, k)
        b = random_of(t, device, n, k).t() if transposed == "right" else random_of(t, device, k, n)
        return lambda: a @ b

    return make


def batch_multiplied(t, device, sizes):
    b, m, k, n = sizes
    x, y = random_of(t, device, b, m, k), random_of(t, device, b, k, n)
    return lambda: t.bmm(x, y)


def convolved(backward):
    def make(t, device, sizes):
        images, c, o, side, window, stride, groups = sizes
        x = random_of(t, device, images, c, side, side).requires_grad_(backward)
        w = random_of(t, device, o, c // groups, window, window).requires_grad_(backward)

        def forward():
            return t.nn.functional.conv2d(x, w, None, stride, window // 2, 1, groups)

        if not backward:
            return forward
        y = forward()
        g = t.ones_like(y)
        return lambda: t.autograd.grad(y, (x, w), g, retain_graph=True)

    return make


def picked(f):
    """Of n rows of 64 numbers, in any order."""

    def make(t, device, sizes):
        (n,) = sizes
        table = random_of(t, device, max(1, n // 64), 64)
        index = t.randperm(table.shape[0], device=device)
        return lambda: f(t, table, index)

    return make


def added_at(t, x, index):
    return t.zeros_like(x).index_add_(0, index, x)


def layer_norm(t, x):
    return t.nn.functional.layer_norm(x, x.shape[-1:])


def softmax(t, x):
    return t.softmax(x, -1)


NARROW = {"uint8": 1, "bool": 1, "int16": 2, "float16": 2, "bfloat16": 2}

CLASSES = (
    *(Class(f"add, {how}", "elements", added(how), arrays(how, 3)) for how in LAYOUTS),
    Class("exp", "elements", of_one(lambda t, x: x.exp()), arrays("contiguous", 2)),
    Class("gelu", "elements", of_one(lambda t, x: t.nn.functional.gelu(x)), arrays("contiguous", 2)),
    Class("pow 2.5", "elements", raised, arrays("contiguous", 2)),
    Class("randn", "elements", lambda t, d, sizes: lambda: t.randn(*sizes, device=d), arrays("contiguous", 1)),
    Class("sum of all", "elements", of_one(lambda t, x: x.sum()), arrays("contiguous", 1)),
    Class("cumsum of all", "elements", of_one(lambda t, x: x.cumsum(0)), arrays("contiguous", 2)),
    Class("sort", "elements", of_one(lambda t, x: x.sort()), arrays("contiguous", 4)),
    Class("nonzero", "elements", of_one(lambda t, x: (x > 0).nonzero()), arrays("contiguous", 3)),
    Class("masked_select", "elements", of_one(lambda t, x: x[x > 0]), arrays("contiguous", 2)),
    Class("index_select", "elements", picked(lambda t, x, i: x[i]), arrays("rows of 64", 2)),
    *(Class(f"mul, {dtype}", "elements", paired(dtype, lambda a, b: a * b), few_arrays(dtype, 3 * size))
      for dtype, size in NARROW.items()),
    Class("equal, uint8", "elements", paired("uint8", lambda a, b: a == b), few_arrays("uint8", 3)),
    Class("// of int64", "elements", paired("int64", lambda a, b: a // b), few_arrays("int64", 24)),
    Class("expand", "elements", in_rows(lambda t, x: x[:, :1].expand_as(x).contiguous()), few_arrays("rows of 64", 8)),
    Class("cat of columns", "elements", in_rows(lambda t, x: t.cat((x, x), 1)), few_arrays("rows of 64", 16)),
    Class("roll", "elements", in_rows(lambda t, x: t.roll(x, 3, 1)), few_arrays("rows of 64", 8)),
    Class("gather", "elements", gathered, few_arrays("rows of 64", 16)),
    Class("index_add", "elements", picked(added_at), arrays("rows of 64", 4)),
    Class("transposing copy", "row length", of_one(lambda t, x: x.t().contiguous()), rows(2)),
    Class("sum of rows", "row length", of_one(lambda t, x: x.sum(1)), rows(1)),
    Class("sum of columns", "column length", of_one(lambda t, x: x.sum(0)), rows(1, along=0)),
    Class("var of rows", "row length", of_one(lambda t, x: x.var(1)), rows(1)),
    Class("argmax of rows", "row length", of_one(lambda t, x: x.argmax(1)), rows(1)),
    Class("softmax", "row length", of_one(softmax), rows(2)),
    Class("softmax backward", "row length", gradient_of(softmax), rows(3)),
    Class("layer_norm", "row length", of_one(layer_norm), rows(2)),
    Class("layer_norm backward", "row length", gradient_of(layer_norm), rows(3)),
    Class("cumsum of rows", "row length", of_one(lambda t, x: x.cumsum(1)), rows(2)),
    Class("product", "side of a cube", multiplied(""), products),
    Class("product, left transposed", "side of a cube", multiplied("left"), products),
    Class("product, right transposed", "side of a cube", multiplied("right"), products),
    Class("batched product", "side of a cube", batch_multiplied, batches),
    Class("convolution", "channels", convolved(False), convolutions),
    Class("convolution backward", "channels", convolved(True), convolutions),
)  # fmt: skip
