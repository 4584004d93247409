"""How new tensors are spelled: `t.tensor([[1.0, -2.5]], dtype=t.float64).t().requires_grad_()`."""

from __future__ import annotations

import math
import random

FLOATS = ("float32", "float64")
NARROW = ("float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
LARGEST = {"int16": ("32767", "-32768"), "int8": ("127", "-128")}
DTYPES = (*FLOATS, *INTEGERS, "bool")

# Longer tensors are computed, not listed.
MAX_LISTED = 24

SPECIAL = {
    "float": ("t.inf", "-t.inf", "t.nan", "-0.0", "0.0", "1e30", "-1e30", "1e-30", "1.0"),
    "narrow": ("t.inf", "-t.inf", "t.nan", "-0.0", "0.0", "3e4", "-3e4", "1e-3", "1.0"),
    "int": ("0", "1", "-1", "2147483647", "-2147483648", "4294967297", "255", "3"),
}


# What tensors may mostly be: without elements, with dimensions of size 1, of special values, floats of 16 bits, or of
# another dtype than what they meet.
TASTES = ("nothing", "ones", "special", "narrow", "mixed")


def leaf(
    rng: random.Random, shape, dtype: str, values: str = "", trained: bool = False, taste: str = ""
) -> str:
    """An expression for a tensor. `values` is what may be in it: "" (anything), "unit" (0 to 1), "positive", "mask", or
    a number n (whole numbers below n). Trained ones require grad."""
    if taste in ("nothing", "ones") and shape and rng.random() < 0.35:
        d = rng.randrange(len(shape))
        shape = (*shape[:d], int(taste == "ones"), *shape[d + 1 :])
    if taste == "narrow" and dtype in FLOATS and rng.random() < 0.8:
        dtype = rng.choice(NARROW)
    if taste == "mixed" and dtype in FLOATS + NARROW and rng.random() < 0.5:
        dtype = rng.choice(FLOATS + NARROW)
    if taste == "special" and not values and dtype != "bool" and rng.random() < 0.7:
        values = "special"
    layout = _layout(rng, len(shape), math.prod(shape))
    stored, suffix = _stored(rng, tuple(shape), layout)
    text = _spell(rng, stored, dtype, values or _flavour(rng, dtype)) + suffix
    # Not a view that is made to require grad: PyTorch loses those.
    return text + (".data" if suffix else "") + ".requires_grad_()" if trained else text


def number(rng: random.Random, dtype: str = "float32", values: str = "") -> str:
    """A number that an element of the dtype may be."""
    return _element(rng, dtype, values or _flavour(rng, dtype))


def _flavour(rng, dtype: str) -> str:
    if dtype == "bool":
        return "mask"
    if rng.random() < 0.08:
        return "special"
    if dtype in FLOATS + NARROW:
        return rng.choice(("whole", "quarters", "decimals", "decimals"))
    return "whole"


def _element(rng, dtype: str, values: str) -> str:
    if values.isdigit():
        return str(rng.randrange(int(values)) if int(values) else 0)
    if values == "mask" or dtype == "bool":
        return str(rng.random() < 0.6)
    if dtype == "uint8":
        return str(rng.choice((0, 1, 2, 3, 7, 255)) if values == "special" else rng.randrange(6))
    if dtype in INTEGERS:
        if values == "special":
            fitting = SPECIAL["int"] if dtype == "int64" else SPECIAL["int"][:5]
            return rng.choice(SPECIAL["int"][:3] + LARGEST[dtype] if dtype in LARGEST else fitting)
        return str(rng.randint(0 if values in ("unit", "positive") else -3, 4))
    if values == "special":
        return rng.choice(SPECIAL["narrow" if dtype in NARROW else "float"])
    if values == "unit":
        return str(round(rng.uniform(0.05, 0.95), 2))
    if values == "positive":
        return str(round(rng.uniform(0.25, 3), 2))
    if values == "whole":
        return str(float(rng.randint(-3, 3)))
    if values == "quarters":
        return str(rng.randint(-12, 12) / 4)
    return str(round(rng.uniform(-2.5, 2.5), 2))


def _spell(rng, shape: tuple, dtype: str, values: str) -> str:
    """A contiguous tensor."""
    count = math.prod(shape)
    named = f", dtype=t.{dtype}"
    if count == 0:
        return f"t.zeros({shape}{named})"
    if count > MAX_LISTED:
        return _computed(rng, shape, dtype, values)
    if rng.random() < 0.05 and values in ("whole", "mask", "positive"):
        return f"t.ones({shape}{named})"

    def listed(sizes) -> str:
        if not sizes:
            return _element(rng, dtype, values)
        return "[" + ", ".join(listed(sizes[1:]) for _ in range(sizes[0])) + "]"

    inferred = {"float32": False, "int64": False, "bool": True}
    return f"t.tensor({listed(shape)}{'' if inferred.get(dtype) else named})"


def _computed(rng, shape: tuple, dtype: str, values: str) -> str:
    """Many elements: multiples of a prime modulo another, which come in no visible order."""
    text = f"t.arange({math.prod(shape)}).mul({rng.choice((37, 41, 43))}).remainder(101)"
    if values.isdigit():
        text += f".remainder({max(int(values), 1)})"
    elif values == "mask" or dtype == "bool":
        text += ".gt(40)"
    elif values in ("unit", "positive"):
        text += f".add(1).to(t.{dtype}).div(102)"
    elif dtype in FLOATS + NARROW:
        text += f".sub(50).to(t.{dtype}).div({rng.choice((8, 16, 25))})"
    elif dtype != "uint8":
        text += ".sub(50)"  # which int8 holds, too
    return f"{text}.reshape({shape}).to(t.{dtype})"


# ---- memory that is not row-major


def _layout(rng, ndim: int, count: int) -> str:
    if not count or rng.random() < 0.75:
        return "contiguous"
    if ndim == 0:
        return rng.choice(("selected", "expanded"))
    return rng.choice(("permuted", "stepped", "offset", "selected", "expanded"))


def _stored(rng, shape: tuple, layout: str) -> tuple[tuple, str]:
    """The shape of the memory, and the view of it that has the shape that is wanted."""
    if layout == "permuted":
        order = list(range(len(shape)))
        rng.shuffle(order)
        stored = [0] * len(shape)
        for i, d in enumerate(order):
            stored[d] = shape[i]
        return tuple(stored), f".permute({_tuple(order)})"
    if layout == "stepped":
        return (*shape[:-1], 2 * shape[-1]), f"[..., {rng.randrange(2)}::2]"
    if layout == "offset":
        return (shape[0] + 1, *shape[1:]), "[1:]"
    if layout == "selected":
        return (*shape, 2), f"[..., {rng.randrange(2)}]"
    if layout == "expanded":
        kept = tuple(1 if rng.random() < 0.6 else n for n in shape)
        return kept, f".expand({_tuple(shape)})"
    return shape, ""


def _tuple(numbers) -> str:
    return str(tuple(numbers))
