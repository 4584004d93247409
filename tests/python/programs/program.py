"""A program while it is written: its lines, and what its names hold when PyTorch runs them."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable

import torch
from oracle import is_older

from .leaves import DTYPES, FLOATS, NARROW, leaf

# Tensors stay small: what matters is that many different things happen.
MAX_ELEMENTS = 20_000
# What PyTorch refuses is refused here too. Few such statements do for that.
KEPT_REFUSALS = 0.15
# What it says of names that it has not, as an older one has not all of ours.
LACKS = re.compile("has no attribute|got an unexpected keyword argument")


class Refused(Exception):
    """PyTorch refused the statement that was to be added, or there is nothing to make one of."""


class Program:
    def __init__(self, seed: int, taste: str = ""):
        self.taste = taste  # one of leaves.TASTES
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.names: dict[str, object] = {"t": torch}
        self.modules: dict[str, tuple] = {}  # names, and the shape and dtype of their inputs
        self.optimizers: list[str] = []
        self.hooks: list[str] = []
        self._indent = ""
        self._count = 0
        self.narrow = self.rng.random() < 0.15
        # Few sizes, so that many tensors fit each other.
        large = self.rng.random() < 0.12
        pool = (1, 2, 5, 17, 33, 64, 130) if large else (1, 1, 2, 2, 3, 3, 4, 5)
        self.sizes = [self.rng.choice(pool) for _ in range(3)]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"

    # ---- choices

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def choose(self, *options):
        return self.rng.choice(options)

    def shape(self, least: int = 0, most: int = 4) -> tuple[int, ...]:
        rank = self.rng.choice([n for n in (0, 1, 1, 2, 2, 2, 3, 3, 4) if least <= n <= most])
        sizes = [
            0 if self.chance(0.015) else self.rng.choice([1, *self.sizes]) for _ in range(rank)
        ]
        while len(sizes) > least and _product(sizes) > MAX_ELEMENTS // 4:
            sizes.pop()
        return tuple(sizes)

    def dtype(self) -> str:
        narrow = 2 * NARROW if self.narrow else ()
        return self.rng.choice((*FLOATS, *FLOATS, "float32", *DTYPES, *narrow))

    # ---- tensors there are

    def tensors(self, fits: Callable = lambda x: True) -> list[str]:
        """The names of tensors that fit."""
        return [n for n, x in self.names.items() if isinstance(x, torch.Tensor) and _holds(fits, x)]

    def existing(self, fits: Callable = lambda x: True) -> str:
        names = self.tensors(fits)
        if not names:
            raise Refused("there is no such tensor")
        return self.rng.choice(names[-6:] if self.chance(0.6) else names)

    def tensor(self, fits: Callable = lambda x: True, *, shape=None, dtype=None, values="") -> str:
        """A tensor that fits, new if there is none or by chance."""

        def suits(x) -> bool:
            right = shape is None or tuple(x.shape) == tuple(shape)
            right = right and (dtype is None or str(x.dtype) == "torch." + dtype)
            return right and fits(x)

        if not values and self.chance(0.85):
            with contextlib.suppress(Refused):
                return self.existing(suits)
        return self.new(shape, dtype, values, suits)

    def new(self, shape=None, dtype=None, values="", fits=lambda x: True) -> str:
        for _ in range(8):
            kind = dtype or self.dtype()
            trained = kind in FLOATS + NARROW and self.chance(0.45)
            text = self.leaf(self.shape() if shape is None else shape, kind, values, trained)
            if fits(eval(text, self.names)):
                return self.assign(text)[0]
        raise Refused("no new tensor fits")

    def leaf(self, shape, dtype: str, values: str = "", trained: bool = False) -> str:
        return leaf(self.rng, shape, dtype, values, trained, self.taste)

    # ---- statements

    def name(self, prefix: str = "x") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def value(self, text: str):
        """What an expression gives; it is not added."""
        try:
            return eval(text, self.names)
        except Exception as error:
            raise Refused(str(error)) from None

    def line(self, text: str) -> None:
        """Adds a statement as it is."""
        self._attempt(text, lambda: exec(text, self.names))

    def assign(self, text: str, prefix: str = "x") -> list[str]:
        """Adds the names for what an expression gives."""
        result = self._attempt(
            f"{self._next(prefix)} = {text}", lambda: eval(text, self.names), False
        )
        several = isinstance(result, (tuple, list)) and not isinstance(result, torch.Size)
        values = list(result) if several else [result]
        if len(values) > 6 or any(_elements(v) > MAX_ELEMENTS for v in values):
            raise Refused("too large")
        names = [self.name(prefix if _is_kept(v) else "n") for v in values]
        targets = ", ".join(names) + ("," if several and len(names) == 1 else "")
        self._write(f"{targets or '_'} = {text}")
        self.names.update((n, v) for n, v in zip(names, values) if _is_kept(v))
        return names

    def bind(self, prefix: str, text: str) -> str:
        """Adds a name for an object that is no tensor."""
        name = self.name(prefix)
        self.line(f"{name} = {text}")
        return name

    def block(self, opening: str, fill: Callable[[], None]) -> None:
        """Adds a `with`, whose statements `fill` adds."""
        before = len(self.lines)
        self._write(opening + ":")
        outer, self._indent = self._indent, self._indent + "    "
        try:
            with eval(opening.removeprefix("with "), self.names):
                fill()
        finally:  # what was to be in it may be refused
            self._indent = outer
            if len(self.lines) == before + 1:
                self.lines.pop()

    def _next(self, prefix: str) -> str:
        return f"{prefix}{self._count + 1}"

    def _write(self, text: str) -> None:
        self.lines.append(self._indent + text)

    def _attempt(self, text: str, run: Callable, write: bool = True):
        try:
            result = run()
        except Exception as error:
            if self.chance(KEPT_REFUSALS) and not _lacks(error):
                self._count += not write
                self._write(text)
            raise Refused(str(error)) from None
        if write:
            self._write(text)
        return result


def _lacks(error: Exception) -> bool:
    """Whether it refuses what an older PyTorch has not yet: that says nothing about ours."""
    return is_older(torch) and LACKS.search(str(error)) is not None


def _holds(fits: Callable, x: torch.Tensor) -> bool:
    try:
        return bool(fits(x))
    except (
        RuntimeError
    ):  # a view of multi-output functions that was changed says nothing about itself
        return False


def _is_kept(value) -> bool:
    """Whether later statements may use it: tensors, and objects such as modules."""
    return not isinstance(value, (bool, int, float, str, tuple, list, type(None), torch.dtype))


def _elements(value) -> int:
    return value.numel() if isinstance(value, torch.Tensor) else 0


def _product(sizes) -> int:
    out = 1
    for n in sizes:
        out *= n
    return out
