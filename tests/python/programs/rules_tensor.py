"""Tensors that must fit the arguments before them."""

from __future__ import annotations

import math

import torch

from .arguments import first, like, rule, scalar
from .leaves import FLOATS, number
from .program import Program, Refused
from .rules_shape import dim_of, size_of, some_dim
from .tensors import dtype_name

# ---- masks and indices


@rule("where.condition")
def _(p, given):
    return p.tensor(dtype="bool")


@rule("mask")
def _(p, given):
    shape = tuple(first(given).shape)
    if p.chance(0.3):
        shape = tuple(1 if p.chance(0.3) else n for n in shape)[p.rng.randint(0, len(shape)) :]
    return p.tensor(shape=shape, dtype="bool", values="mask" if p.chance(0.4) else "")


@rule("where.input")
def _(p, given):
    return like(p, first(given)) if p.chance(0.8) else scalar(p, given)


def index_tensor(p: Program, shape, below: int, *, distinct: bool = False, dtype: str = "") -> str:
    """A new tensor of whole numbers below a number, all different on wish."""
    count = math.prod(shape)
    dtype = dtype or ("int64" if p.chance(0.85) else "int32")
    if distinct and count <= min(below, 24):
        numbers = iter(p.rng.sample(range(below), count))

        def listed(sizes) -> str:
            return (
                f"[{', '.join(listed(sizes[1:]) for _ in range(sizes[0]))}]"
                if sizes
                else str(next(numbers))
            )

        text = (
            f"t.tensor({listed(shape)}, dtype=t.{dtype})"
            if count
            else f"t.zeros({tuple(shape)}, dtype=t.{dtype})"
        )
        return p.assign(text)[0]
    if distinct:
        raise Refused("so many different indices there are not")
    return p.new(shape, dtype, str(below))


@rule("gather.index", "scatter.index", "scatter_.index", "scatter_add.index", "scatter_add_.index")
def _(p, given):
    x, dim = first(given), dim_of(given)
    shape = [p.rng.randint(0 if p.chance(0.05) else min(n, 1), n) for n in x.shape]
    size = x.shape[dim]
    if p.chance(0.3):  # the same numbers everywhere, so different along the dimension
        shape[dim] = p.rng.randint(0, size)
        line = index_tensor(p, [shape[dim]], size, distinct=True, dtype="int64")
        ones = [1] * x.dim()
        ones[dim] = shape[dim]
        return p.assign(f"{line}.reshape({tuple(ones)}).expand({tuple(shape)})")[0]
    if given.get("writes"):
        shape[dim] = min(shape[dim], 1)
    return index_tensor(p, shape, size, dtype="int64")


@rule("scatter.dim", "scatter_.dim")
def _(p, given):
    given["writes"] = True  # which of two values for one place wins is nobody's promise
    return str(some_dim(p, first(given)))


@rule("scatter.src", "scatter_.src", "scatter_add.src", "scatter_add_.src")
def _(p, given):
    if isinstance(given["index"], torch.Tensor) and p.chance(0.7):
        return p.tensor(shape=tuple(given["index"].shape), dtype=dtype_name(first(given)))
    return number(p.rng, dtype_name(first(given)))


@rule("index_select.index", "index_add.index", "index_add_.index")
def _(p, given):
    return index_tensor(p, [p.rng.randint(0 if p.chance(0.1) else 1, 4)], size_of(given))


@rule("index_add.source", "index_add_.source")
def _(p, given):
    shape = list(first(given).shape)
    if not shape:
        raise Refused("index_add of a number")
    shape[dim_of(given)] = given["index"].numel()
    return p.tensor(shape=shape, dtype=dtype_name(first(given)))


@rule("index_put.indices", "index_put_.indices")
def _(p, given):
    x = first(given)
    if not x.dim():
        raise Refused("index_put of a number")
    if p.chance(0.3):
        return f"({p.tensor(shape=tuple(x.shape)[: p.rng.randint(1, x.dim())], dtype='bool', values='mask')},)"
    count = p.rng.randint(1, min(x.shape[0], 3) or 1)
    names = [index_tensor(p, [count], x.shape[0], distinct=True)]
    if x.dim() > 1 and p.chance(0.4):
        names.append(index_tensor(p, [count] if p.chance(0.7) else [1], x.shape[1]))
    return f"({', '.join(names)},)"


@rule("index_put.values", "index_put_.values")
def _(p, given):
    try:
        indexed = first(given).detach()[given["indices"]]
    except IndexError:
        raise Refused("an index that does not fit") from None
    shape = tuple(indexed.shape)[p.rng.randint(0, indexed.dim()) if p.chance(0.4) else 0 :]
    return p.tensor(shape=shape, dtype=dtype_name(first(given)))


@rule("one_hot.input")
def _(p, given):
    return p.new(p.shape(most=2), "int64", str(p.choose(1, 3, 5)))


# ---- products


@rule("matmul.input", "linear.input")
def _(p, given):
    return p.tensor(lambda x: x.dim() > 0 and (x.is_floating_point() or p.chance(0.2)))


@rule("mm.input", "mv.input", "bmm.input", "dot.input", "addmm.mat1", "addmm_.mat1")
def _(p, given):
    rank = {"bmm": 3, "dot": 1}.get(given["function"], 2)
    return p.tensor(lambda x: x.dim() == rank and (x.is_floating_point() or p.chance(0.2)))


@rule("matmul.other", "mm.mat2", "bmm.mat2", "mv.vec", "dot.tensor", "addmm.mat2", "addmm_.mat2")
def _(p, given):
    x = given.get("mat1", given.get("input"))
    k, m = x.shape[-1] if x.dim() else 1, p.rng.choice(p.sizes)
    shapes = {"mm": [(k, m)], "addmm": [(k, m)], "addmm_": [(k, m)], "bmm": [(*x.shape[:1], k, m)], "mv": [(k,)],
              "dot": [(k,)]}  # fmt: skip
    batch = tuple(1 if p.chance(0.2) else n for n in x.shape[:-2])
    anything = [(k,), (k, m), (k, m), (*batch, k, m), (2, *batch, k, m)]
    return p.tensor(
        shape=p.rng.choice(shapes.get(given["function"], anything)), dtype=dtype_name(x)
    )


@rule("addmm_.mat1")
def _(p, given):
    n = first(given).shape[0] if first(given).dim() else 1
    return p.tensor(shape=(n, p.rng.choice(p.sizes)), dtype=dtype_name(first(given)))


@rule("addmm.input")
def _(p, given):
    return p.tensor(lambda x: x.dim() <= 2 and x.is_floating_point())


@rule("linear.weight")
def _(p, given):
    x = first(given)
    shape = (p.rng.choice(p.sizes), x.shape[-1] if x.dim() else 1)
    return p.tensor(shape=shape if p.chance(0.95) else shape[1:], dtype=dtype_name(x))


@rule("linear.bias")
def _(p, given):
    return p.tensor(shape=tuple(given["weight"].shape[:-1]), dtype=dtype_name(first(given)))


@rule(
    "addbmm.batch1",
    "addbmm_.batch1",
    "baddbmm.batch1",
    "baddbmm_.batch1",
    "addmv.mat",
    "addmv_.mat",
)
def _(p, given):
    x = first(given)
    rank = 2 if "addmv" in given["function"] else 3
    rows = x.shape[-1 if rank == 2 else -2] if x.dim() >= rank - 1 else p.rng.choice(p.sizes)
    batch = x.shape[:1] if x.dim() == 3 else (p.choose(1, 2, 3),)
    shape = (rows, p.rng.choice(p.sizes))
    return p.tensor(shape=shape if rank == 2 else (*batch, *shape), dtype=dtype_name(x))


@rule(
    "addbmm.batch2",
    "addbmm_.batch2",
    "baddbmm.batch2",
    "baddbmm_.batch2",
    "addmv.vec",
    "addmv_.vec",
)
def _(p, given):
    x, factor = first(given), given.get("batch1", given.get("mat"))
    if factor.dim() == 2:
        return p.tensor(shape=factor.shape[-1:], dtype=dtype_name(x))
    columns = x.shape[-1] if x.dim() else p.rng.choice(p.sizes)
    return p.tensor(shape=(factor.shape[0], factor.shape[2], columns), dtype=dtype_name(x))


@rule("addr.vec1", "addr.vec2", "addr_.vec1", "addr_.vec2")
def _(p, given):
    x = first(given)
    if x.dim() != 2:
        raise Refused("addr of no matrix")
    return p.tensor(shape=(x.shape["vec1" in given],), dtype=dtype_name(x))


@rule("tensordot.b")
def _(p, given):
    x = first(given)
    return p.tensor(shape=tuple(reversed(x.shape)), dtype=dtype_name(x))


# ---- order


@rule("searchsorted.sorted_sequence", "bucketize.boundaries")
def _(p, given):
    x = p.tensor(lambda x: x.is_floating_point() and x.numel() > 0)
    kind = dtype_name(first(given)) if "input" in given else ""
    if isinstance(given.get("input"), torch.Tensor):
        x = p.tensor(lambda x: x.dim() == 1, dtype=kind)
    return p.assign(f"{x}.detach().sort().values")[0]


@rule("searchsorted.input")
def _(p, given):
    x = first(given)
    shape = (*x.shape[:-1], p.rng.choice(p.sizes))
    return p.tensor(shape=shape, dtype=dtype_name(x)) if p.chance(0.8) else scalar(p, given)


@rule("searchsorted.sorter")
def _(p, given):
    return "None"


# ---- images


def image(p: Program) -> str:
    """[batch, channels, height, width], or without the batch."""
    if p.chance(0.5):
        return p.tensor(lambda x: x.dim() in (3, 4) and x.is_floating_point())
    shape = (p.choose(1, 2, 3), p.choose(1, 2, 4), p.choose(3, 4, 6), p.choose(3, 5, 6))
    return p.tensor(
        shape=shape if p.chance(0.85) else shape[1:], dtype=p.choose("float32", "float64")
    )


for _name in ("conv2d", "max_pool2d", "max_pool2d_with_indices", "avg_pool2d", "interpolate"):
    rule(f"{_name}.input")(lambda p, given: image(p))
rule("conv_transpose2d.input")(lambda p, given: image(p))


def _signal(p: Program, rank: int) -> str:
    shape = (p.choose(1, 2), p.choose(1, 2, 4), *(p.choose(3, 4, 6) for _ in range(rank)))
    shape = shape if p.chance(0.85) else shape[1:]
    return p.tensor(shape=shape, dtype=p.choose("float32", "float64"))


for _rank in (1, 3):
    for _name in (
        *(f"conv{_rank}d", f"conv_transpose{_rank}d"),
        *(
            f"max_pool{_rank}d",
            f"max_pool{_rank}d_with_indices",
            f"avg_pool{_rank}d",
            f"lp_pool{_rank}d",
        ),
        *(f"adaptive_{kind}_pool{_rank}d" for kind in ("avg", "max")),
        f"adaptive_max_pool{_rank}d_with_indices",
    ):
        rule(f"{_name}.input")(lambda p, given, rank=_rank: _signal(p, rank))


# A window of padding alone has the index -1, and PyTorch's backward writes there: beyond the tensor.
@rule(*(f"max_pool{n}d{more}.dilation" for n in (1, 2, 3) for more in ("", "_with_indices")))
def _(p, given):
    padding = given.get("padding", 0)
    return "1" if padding else p.choose("1", "1", "2")


@rule("conv1d.weight", "conv2d.weight", "conv3d.weight")
def _(p, given):
    x, rank = first(given), int(given["function"][4])
    channels = x.shape[-rank - 1] if x.dim() > rank else 1
    groups = p.choose(1, 1, 2, channels or 1)
    groups = groups if channels % groups == 0 else 1
    given["wanted_groups"] = groups
    window = [p.choose(1, 2, 3) for _ in range(rank)]
    shape = (groups * p.choose(1, 2, 3), channels // groups, *window)
    return p.tensor(shape=shape, dtype=dtype_name(x))


@rule("conv1d.bias", "conv2d.bias", "conv3d.bias")
def _(p, given):
    return p.tensor(shape=tuple(given["weight"].shape[:1]), dtype=dtype_name(first(given)))


@rule("conv_transpose1d.weight", "conv_transpose2d.weight", "conv_transpose3d.weight")
def _(p, given):
    x, rank = first(given), int(given["function"][14])
    channels = x.shape[-rank - 1] if x.dim() > rank else 1
    given["wanted_groups"] = 2 if channels % 2 == 0 and p.chance(0.3) else 1
    window = [p.choose(1, 2, 3) for _ in range(rank)]
    return p.tensor(shape=(channels, p.choose(1, 2, 3), *window), dtype=dtype_name(x))


@rule("conv_transpose1d.bias", "conv_transpose2d.bias", "conv_transpose3d.bias")
def _(p, given):
    groups = given["wanted_groups"]
    shape = (given["weight"].shape[1] * groups,)
    return p.tensor(shape=shape, dtype=dtype_name(first(given)))


@rule("groups")
def _(p, given):
    return str(given.get("wanted_groups", p.choose(1, 2)))


@rule("fold.input")
def _(p, given):
    return p.tensor(shape=(p.choose(1, 2), p.choose(4, 8), 6), dtype=p.choose(*FLOATS))


@rule("fold.output_size")
def _(p, given):
    return "(3, 4)"  # six windows of 2 x 2


@rule("fold.kernel_size")
def _(p, given):
    return "2"


@rule("fold.dilation", "fold.stride")
def _(p, given):
    return "1"


@rule("meshgrid.tensors")
def _(p, given):
    kind = p.dtype()
    lines = [p.tensor(lambda x: x.dim() < 2, dtype=kind) for _ in range(p.choose(1, 2, 3))]
    return f"[{', '.join(lines)}]"


@rule("interpolate.size")
def _(p, given):
    given["sized"] = True
    return p.choose("4", "(2, 5)", "(3, 3)", "1", "7")


@rule("scale_factor")
def _(p, given):
    if given.get("sized"):
        return "None"
    return p.choose("2", "2.0", "1.5", "(1, 2)", "0.5", "(3.0, 0.7)")


# ---- layers and losses


@rule("instance_norm.input", "local_response_norm.input")
def _(p, given):
    return image(p)


@rule("local_response_norm.size")
def _(p, given):
    return p.choose("1", "2", "3")


@rule(*(f"adaptive_{kind}_pool{n}d{more}.output_size"
        for n in (1, 2, 3) for kind, more in (("avg", ""), ("max", ""), ("max", "_with_indices"))))  # fmt: skip
def _(p, given):
    return p.choose("1", "2", "3", "5")


@rule("multi_margin_loss.input")
def _(p, given):
    return p.tensor(shape=(p.choose(1, 2, 3), p.choose(2, 3, 4)), dtype=p.choose(*FLOATS))


@rule("multi_margin_loss.p")
def _(p, given):
    return p.choose("1", "2")


@rule("batch_norm.input")
def _(p, given):
    return p.tensor(lambda x: x.dim() >= 2 and x.is_floating_point())


@rule(
    "running_mean",
    "running_var",
    "batch_norm.weight",
    "batch_norm.bias",
    "instance_norm.weight",
    "instance_norm.bias",
)
def _(p, given):
    channels = first(given).shape[1] if first(given).dim() > 1 else 1
    return p.tensor(
        shape=(channels,),
        dtype=dtype_name(first(given)),
        values="positive" if p.chance(0.7) else "",
    )


@rule("normalized_shape")
def _(p, given):
    x = first(given)
    if not x.dim():
        raise Refused("layer_norm of a number")
    return str(tuple(x.shape[p.rng.randrange(x.dim()) :]))


@rule("layer_norm.input")
def _(p, given):
    return p.tensor(lambda x: x.dim() >= 1 and x.is_floating_point())


@rule("layer_norm.weight", "layer_norm.bias")
def _(p, given):
    return p.tensor(shape=given["normalized_shape"], dtype=dtype_name(first(given)))


@rule("embedding.input")
def _(p, given):
    given["rows"] = p.choose(2, 3, 5)
    return p.new(p.shape(most=2), p.choose("int64", "int64", "int32"), str(given["rows"]))


@rule("embedding.weight")
def _(p, given):
    return p.tensor(shape=(given["rows"], p.rng.choice(p.sizes)), dtype=p.choose(*FLOATS))


@rule("mse_loss.input", "l1_loss.input", "binary_cross_entropy_with_logits.input", "nll_loss.input",
      "cross_entropy.input")  # fmt: skip
def _(p, given):
    return p.tensor(lambda x: x.is_floating_point() and (x.dim() > 0 or p.chance(0.2)))


@rule("binary_cross_entropy.input")
def _(p, given):
    return p.new(p.shape(), p.choose(*FLOATS), "unit")


@rule("mse_loss.target", "l1_loss.target")
def _(p, given):
    return p.tensor(shape=tuple(first(given).shape), dtype=dtype_name(first(given)))


# Their sum is a divisor: where it is nearly 0, all digits are rounding.
@rule("mse_loss.weight", "l1_loss.weight")
def _(p, given):
    shape = tuple(first(given).shape)
    return p.tensor(shape=shape, dtype=dtype_name(first(given)), values="positive")


@rule("binary_cross_entropy.target", "binary_cross_entropy_with_logits.target")
def _(p, given):
    return p.tensor(shape=tuple(first(given).shape), dtype=dtype_name(first(given)), values="unit")


@rule("pos_weight", "binary_cross_entropy.weight", "binary_cross_entropy_with_logits.weight")
def _(p, given):
    shape = tuple(first(given).shape)[p.choose(0, 0, -1) :]
    return p.tensor(shape=shape, dtype=dtype_name(first(given)), values="positive")


@rule("nll_loss.target", "cross_entropy.target", "multi_margin_loss.target")
def _(p, given):
    x = first(given)
    if given["function"] == "cross_entropy" and p.chance(0.3):
        return p.tensor(shape=tuple(x.shape), dtype=dtype_name(x), values="unit")
    batch, classes = (
        ((), x.shape[:1]) if x.dim() < 2 else ((x.shape[0], *x.shape[2:]), x.shape[1:2])
    )
    return index_tensor(p, batch, classes[0] if classes else 1, dtype="int64")


@rule("nll_loss.weight", "cross_entropy.weight", "multi_margin_loss.weight")
def _(p, given):
    x = first(given)
    return p.tensor(
        shape=tuple(x.shape[1:2] if x.dim() > 1 else x.shape),
        dtype=dtype_name(x),
        values="positive",
    )
