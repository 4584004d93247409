"""What a test row is. Every differentiable op of the schema has rows; the tests expand each one over dtypes, layouts,
instruction sets and orders of derivative, and compare with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

FLOATS = ("float32", "float64")
INTEGERS = ("int64", "int32", "uint8")
# What behaves like another dtype is tried wherever that one is.
LIKE = {"float32": ("float16", "bfloat16"), "int32": ("int16", "int8")}
NARROW_FLOATS = LIKE["float32"]
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + ("bool",)


@dataclass(frozen=True)
class Input:
    """A tensor argument: its sizes and where its values lie. `kind` is "value" (takes the row's dtype, is
    differentiated), "index" (int64 in [low, high)), "mask" (bool) or "fixed" (takes the dtype, not differentiated).
    `whole` numbers meet each other and the bounds of an op, which random fractions never do."""

    sizes: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    kind: str = "value"
    whole: bool = False

    def array(self, dtype: str, random: np.random.Generator) -> np.ndarray:
        if self.kind == "index":
            return random.integers(int(self.low), int(self.high), self.sizes, dtype=np.int64)
        if self.kind == "mask" or dtype == "bool":
            return random.random(self.sizes) < 0.5
        stored = "float32" if dtype in NARROW_FLOATS else dtype  # NumPy has no bfloat16
        if dtype in INTEGERS + LIKE["int32"] or self.whole:
            low = max(int(self.low), 0) if dtype == "uint8" else int(self.low)
            return random.integers(low, int(self.high) + 1, self.sizes).astype(stored)
        return random.uniform(self.low, self.high, self.sizes).astype(stored)


@dataclass(frozen=True)
class Row:
    op: str  # the schema's name, without a trailing underscore
    call: Callable  # (torch or dumbtorch, *tensors) -> a tensor or several
    inputs: tuple[Input, ...]
    dtypes: tuple[str, ...] = FLOATS
    orders: int = 3  # how many derivatives are compared; 0: not differentiable
    inplace: Callable | None = None  # the same op, written into the first tensor
    torch_orders: int = 3  # how many of them PyTorch gets right
    differentiable: bool = True  # False: the gradient is not the derivative, by definition
    layouts: bool = True  # whether inputs are also given as views
    rtol: dict[str, float] = field(
        default_factory=dict
    )  # where an op's own accuracy is less than usual

    @property
    def all_dtypes(self) -> list[str]:
        return [d for name in self.dtypes for d in (name, *LIKE.get(name, ()))]

    @property
    def id(self) -> str:
        return self.op + "-" + "_".join("x".join(map(str, i.sizes)) or "0d" for i in self.inputs)


def value(*sizes: int, low: float = -2.0, high: float = 2.0) -> Input:
    return Input(sizes, low, high)


def whole(*sizes: int, low: int = -2, high: int = 2) -> Input:
    return Input(sizes, low, high, whole=True)


def fixed(*sizes: int, low: float = -2.0, high: float = 2.0) -> Input:
    return Input(sizes, low, high, "fixed")


def index(*sizes: int, below: int) -> Input:
    return Input(sizes, 0, below, "index")


def mask(*sizes: int) -> Input:
    return Input(sizes, kind="mask")


def widened(t, loss, x, *others):
    """PyTorch has some functions of float32 and float64 alone: what they mean for narrow floats."""
    if t.__name__ != "torch" or x.dtype not in (t.float16, t.bfloat16):
        return loss(x, *others)
    others = [y.float() if y.is_floating_point() else y for y in others]
    return loss(x.float(), *others).to(x.dtype)
