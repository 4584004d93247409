"""Arguments that speak of dimensions and sizes."""

from __future__ import annotations

import torch

from .arguments import first, rule
from .program import Program, Refused
from .tensors import dtype_name

# ---- dimensions


def some_dim(p: Program, x: torch.Tensor) -> int:
    n = x.dim()
    if p.chance(0.03):
        return p.choose(n, -n - 1)
    return p.rng.randrange(-n, n) if n else p.choose(0, -1)


@rule("dim", "dimension", "dim0", "dim1", "dim2", "start_dim", "end_dim")
def _(p, given):
    return str(some_dim(p, first(given)))


@rule(*(f"{op}.dim" for op in ("sum", "mean", "amax", "amin", "var", "std", "norm", "any", "all", "logsumexp",
                               "squeeze")))  # fmt: skip
def _(p, given):
    x = first(given)
    if p.chance(0.5) or not x.dim():
        return str(some_dim(p, x))
    # PyTorch's gradients of var and std over an empty list are wrong.
    least = 0 if p.chance(0.2) and given["function"] not in ("var", "std") else 1
    return str(tuple(p.rng.sample(range(x.dim()), p.rng.randint(least, x.dim()))))


@rule("unsqueeze.dim", "stack.dim")
def _(p, given):
    n = first(given).dim()
    return str(p.rng.randint(-n - 1, n))


@rule("cat.tensors")
def _(p, given):
    start = p.tensor()
    x = p.value(start)
    if not x.dim():
        raise Refused("cat of numbers")
    dim = p.rng.randrange(x.dim())
    names = [start]
    for _ in range(p.choose(0, 1, 1, 2)):
        shape = list(x.shape)
        shape[dim] = p.rng.choice((1, *p.sizes))
        kind = dtype_name(x) if p.chance(0.8) else None
        names.append(p.tensor(shape=shape if p.chance(0.9) else (0,), dtype=kind))
    given["dim"] = dim
    return f"[{', '.join(names)}]"


@rule("cat.dim")
def _(p, given):
    return str(given["dim"])


@rule("movedim.source", "movedim.destination")
def _(p, given):
    n = first(given).dim()
    source = given.get("source")
    if isinstance(source, tuple):
        return str(tuple(p.rng.sample(range(n), min(len(source), n))))
    if source is not None or p.chance(0.6):
        return str(some_dim(p, first(given)))
    return str(tuple(p.rng.sample(range(n), p.rng.randint(1, n)) if n else ()))


@rule("permute.dims")
def _(p, given):
    n = first(given).dim()
    order = [d - n if p.chance(0.3) else d for d in range(n)]
    p.rng.shuffle(order)
    return str(tuple(order))


@rule("flip.dims")
def _(p, given):
    n = first(given).dim()
    return str(tuple(p.rng.sample(range(-n, 0), p.rng.randint(0, n))))


def _factors(p: Program, count: int) -> list[int]:
    """Sizes whose product is the count."""
    sizes, rest = [], count
    for _ in range(p.choose(0, 1, 1, 2)):
        size = p.rng.choice([n for n in (1, 2, 3, 4, 5, 6, 8, 10) if rest % n == 0])
        sizes.append(size)
        rest //= size
    sizes.insert(p.rng.randint(0, len(sizes)), rest)
    return [] if sizes == [1] and p.chance(0.5) else sizes


@rule("view.size", "reshape.shape")
def _(p, given):
    sizes = _factors(p, first(given).numel())
    if sizes and p.chance(0.3):
        sizes[p.rng.randrange(len(sizes))] = -1
    return str(tuple(sizes))


@rule("view_as.other", "reshape_as.other")
def _(p, given):
    return p.tensor(lambda x: x.numel() == first(given).numel())


@rule("expand.size", "broadcast_to.size")
def _(p, given):
    sizes = [
        p.rng.choice(p.sizes) if n == 1 else (-1 if p.chance(0.3) else n)
        for n in first(given).shape
    ]
    return str((*([p.rng.choice(p.sizes)] if p.chance(0.4) else []), *sizes))


@rule("expand_as.other")
def _(p, given):
    shape = tuple(p.rng.choice(p.sizes) if n == 1 else n for n in first(given).shape)
    return p.tensor(shape=shape if p.chance(0.6) else (2, *shape))


@rule("unflatten.dim")
def _(p, given):
    return str(some_dim(p, first(given)))


@rule("unflatten.sizes")
def _(p, given):
    sizes = _factors(p, size_of(given)) or [1]
    if p.chance(0.4):
        sizes[p.rng.randrange(len(sizes))] = -1
    return str(tuple(sizes))


@rule("as_strided.size")
def _(p, given):
    return str(tuple(p.rng.choice((1, 2, 3)) for _ in range(p.choose(0, 1, 2, 2))))


@rule("as_strided.stride")
def _(p, given):
    return str(tuple(p.rng.choice((1, 1, 2, 3, 0)) for _ in given["size"]))


@rule("size")
def _(p, given):
    return str(p.shape())


@rule("repeats")
def _(p, given):
    n = first(given).dim() + p.choose(0, 0, 1)
    return str(tuple(0 if p.chance(0.03) else p.rng.choice((1, 1, 2, 3)) for _ in range(n)))


@rule("split_sizes")
def _(p, given):
    x = first(given)
    left = x.shape[0] if x.dim() else 1
    dim = 0
    sizes = []
    while left and len(sizes) < 3:
        sizes.append(p.rng.randint(0 if p.chance(0.1) else 1, left))
        left -= sizes[-1]
    given["dim"] = dim
    return str([*sizes, left] if left else sizes)


@rule("split_with_sizes.dim")
def _(p, given):
    return str(given["dim"])


@rule("select.index")
def _(p, given):
    return str(_below(p, size_of(given)))


@rule("narrow.start")
def _(p, given):
    return str(_below(p, size_of(given) + 1))


@rule("length")
def _(p, given):
    start, size = given["start"], size_of(given)
    start = start + size if start < 0 else start
    return str(p.rng.randint(0, max(size - start, 0)))


def dim_of(given: dict) -> int:
    """The dimension that was given, if there is one."""
    dim = given.get("dim", 0)
    if not -first(given).dim() <= dim < first(given).dim():
        raise Refused("no such dimension")
    return dim


def size_of(given: dict) -> int:
    return first(given).shape[dim_of(given)]


def _below(p: Program, size: int) -> int:
    if p.chance(0.03):
        return p.choose(size, -size - 1)
    return p.rng.randrange(-size, size) if size else 0


@rule("eye.n", "eye.m")
def _(p, given):
    return str(p.rng.choice((1, *p.sizes)))
