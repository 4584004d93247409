"""Arguments of the ops that lay elements out anew, and of those that write at positions."""

from __future__ import annotations

import torch

from .arguments import first, rule
from .program import Refused
from .rules_shape import size_of, some_dim
from .rules_tensor import index_tensor
from .tensors import dtype_name

# ---- padding and arrangements


@rule("pad.pad")
def _(p, given):
    pairs = p.rng.randint(0, first(given).dim())
    return str(tuple(p.choose(0, 1, 1, 2, -1) for _ in range(2 * pairs)))


@rule("pad.mode")
def _(p, given):
    return repr(p.choose("constant", "constant", "reflect", "replicate", "circular"))


@rule("roll.shifts")
def _(p, given):
    return str(p.choose(0, 1, -2, 5))


@rule("roll.dims", "unfold.dimension", "swapaxes.axis0", "swapaxes.axis1")
def _(p, given):
    return str(some_dim(p, first(given)))


@rule("rot90.dims")
def _(p, given):
    n = first(given).dim()
    if n < 2:
        raise Refused("a turn needs a plane")
    return str(tuple(p.rng.sample(range(-n, 0), 2)))


@rule("repeat_interleave.repeats")
def _(p, given):
    return str(p.choose(0, 1, 2, 3))


@rule("repeat_interleave.output_size")
def _(p, given):
    raise Refused("the size follows")


@rule("unfold.size")
def _(p, given):
    given["dim"] = given["dimension"]
    return str(p.rng.randint(0, size_of(given) if first(given).dim() else 1))


@rule("unfold.step", "split_sections.sections")
def _(p, given):
    return str(p.choose(1, 2, 3))


@rule("hsplit.sections", "vsplit.sections", "dsplit.sections")
def _(p, given):
    return str(p.choose(1, 1, 2))


@rule("moveaxis.source", "moveaxis.destination")
def _(p, given):
    return str(some_dim(p, first(given)))


@rule("narrow_copy.start")
def _(p, given):
    return str(p.rng.randint(0, size_of(given) if first(given).dim() else 0))


@rule("sum_to_size.size")
def _(p, given):
    shape = tuple(1 if p.chance(0.5) else n for n in first(given).shape)
    return str(shape[p.rng.randint(0, len(shape)) :] if p.chance(0.3) else shape)


@rule("meshgrid.tensors")
def _(p, given):
    start = p.tensor(lambda x: x.dim() < 2)
    names = [p.tensor(shape=p.choose((), (1,), (2,), (3,)), dtype=dtype_name(p.value(start)))]
    return f"[{', '.join([start, *names])}]"


@rule("combinations.input")
def _(p, given):
    return p.tensor(shape=(p.choose(1, 2, 3, 4),))


@rule("combinations.r")
def _(p, given):
    return str(p.choose(0, 1, 2, 3))


@rule("unravel_index.indices")
def _(p, given):
    return p.tensor(dtype="int64")


@rule("tril_indices.row", "tril_indices.col", "triu_indices.row", "triu_indices.col")
def _(p, given):
    return str(p.choose(0, 1, 2, 4))


# ---- copies with a part written


@rule("select_scatter.src")
def _(p, given):
    x = first(given)
    given["place"] = d = p.rng.randrange(x.dim()) if x.dim() else 0
    return p.tensor(shape=(*x.shape[:d], *x.shape[d + 1 :]))


@rule("select_scatter.dim")
def _(p, given):
    return str(given["place"])


@rule("select_scatter.index")
def _(p, given):
    n = size_of(given) if first(given).dim() else 1
    return str(p.rng.randrange(-n, n) if n else 0)


@rule("slice_scatter.src")
def _(p, given):
    return p.tensor(shape=tuple(first(given).shape))


@rule("slice_scatter.start", "slice_scatter.end")
def _(p, given):
    return "None"


@rule("slice_scatter.step")
def _(p, given):
    return "1"


@rule("diagonal_scatter.src")
def _(p, given):
    x = first(given)
    if x.dim() < 2:
        raise Refused("no diagonal")
    return p.tensor(shape=tuple(x.detach().diagonal().shape))


@rule("diagonal_scatter.offset", "diagonal_scatter.dim1")
def _(p, given):
    return "0"


@rule("diagonal_scatter.dim2")
def _(p, given):
    return "1"


@rule("as_strided_scatter.src")
def _(p, given):
    return p.tensor(shape=(2,))


@rule("as_strided_scatter.size")
def _(p, given):
    return "(2,)"


@rule("as_strided_scatter.stride")
def _(p, given):
    return p.choose("(1,)", "(2,)")


# ---- windows


@rule("im2col.input", "pixel_shuffle.input", "pixel_unshuffle.input", "channel_shuffle.input")
def _(p, given):
    return p.tensor(shape=p.choose((4, 2, 4), (1, 4, 4, 2)))


@rule("fold.input")
def _(p, given):
    return p.tensor(shape=p.choose((4, 6), (2, 8, 6)))


@rule("fold.output_size")
def _(p, given):
    return "(3, 4)"


@rule("fold.kernel_size")
def _(p, given):
    return "2"


@rule("fold.dilation", "fold.stride")
def _(p, given):
    return "1"


@rule("fold.padding")
def _(p, given):
    return "0"


@rule("upscale_factor", "downscale_factor", "channel_shuffle.groups")
def _(p, given):
    return p.choose("1", "2")


# ---- positions


@rule("index_fill.index", "index_fill_.index", "index_copy.index", "index_copy_.index")
def _(p, given):
    count = p.rng.randint(0 if p.chance(0.1) else 1, 3)
    return index_tensor(p, [count], size_of(given), distinct=True, dtype="int64")


@rule("index_reduce.index", "index_reduce_.index")
def _(p, given):
    return index_tensor(p, [p.rng.randint(1, 4)], size_of(given), dtype="int64")


@rule("index_fill.value", "index_fill_.value")
def _(p, given):
    return p.choose("0", "1", "2") if p.chance(0.7) else p.tensor(shape=())


@rule("index_copy.source", "index_copy_.source", "index_reduce.source", "index_reduce_.source")
def _(p, given):
    x = first(given)
    if not x.dim():
        raise Refused("slices of a number")
    shape = list(x.shape)
    shape[given["dim"]] = given["index"].numel()
    return p.tensor(shape=shape, dtype=dtype_name(x))


@rule("index_reduce.reduce", "index_reduce_.reduce")
def _(p, given):
    return repr(p.choose("mean", "amax", "amin"))


@rule("scatter_reduce.index", "scatter_reduce_.index")
def _(p, given):
    shape = [p.rng.randint(min(n, 1), n) for n in first(given).shape]
    return index_tensor(p, shape, size_of(given), dtype="int64")


@rule("scatter_reduce.src", "scatter_reduce_.src")
def _(p, given):
    return p.tensor(shape=tuple(given["index"].shape), dtype=dtype_name(first(given)))


@rule("scatter_reduce.reduce", "scatter_reduce_.reduce")
def _(p, given):
    return repr(p.choose("sum", "mean", "amax", "amin"))


@rule("masked_scatter.source", "masked_scatter_.source")
def _(p, given):
    x = first(given)
    count = torch.broadcast_tensors(x, given["mask"])[0].numel()
    return p.tensor(shape=(count + p.choose(0, 2),), dtype=dtype_name(x))


@rule("take.index", "put.index", "put_.index")
def _(p, given):
    return index_tensor(p, [p.choose(1, 2, 3)], first(given).numel(), distinct=True, dtype="int64")


@rule("put.source", "put_.source")
def _(p, given):
    return p.tensor(shape=tuple(given["index"].shape), dtype=dtype_name(first(given)))


@rule("take_along_dim.indices")
def _(p, given):
    x = first(given)
    return index_tensor(p, [1] * x.dim(), min(x.shape, default=1), dtype="int64")


@rule("nonzero_static.size")
def _(p, given):
    return p.choose("0", "2", "9")
