"""How functions of `_ops.py` are called with batches: `_RULES` says which rule holds for a function.

A rule calls the function once, on the tensors of all entries. Without one a function that makes new tensors is called
for each entry. What can be done in neither way ends in EntryByEntry: vmap then calls its own function for each entry.
"""

from __future__ import annotations

import functools
import string

from . import _ops
from ._batching import (
    EntryByEntry,
    Op,
    Refused,
    entry,
    listed,
    of_each,
    running,
    storage,
    storage_offset,
    strides,
)
from ._types import bfloat16, float16, int32, int64


def called(function, arguments: dict):
    """What function(**arguments) gives, of which some are batches. Never an error, which may be no entry's."""
    op = Op(function, arguments)
    if op.level > len(running.sizes):
        raise RuntimeError("vmap: a tensor of the mapped function was used after its call")
    try:
        return _RULES.get(function.__name__, _of_makers)(op)
    except Exception as error:
        raise EntryByEntry(function.__name__) from error


def _of_makers(op: Op):
    """A call for each entry."""
    if op.function.__name__ not in _MAKERS:
        raise EntryByEntry(op.function.__name__)
    return op.for_each()


def _elementwise(op: Op):
    """Dimensions broadcast from the right, behind that of the entries."""
    if _meets_a_number(op):
        if op.rank:
            return op.for_each()
        return op.called(**{n: op.whole(x) for n, x in op.tensors.items()})  # all are alike
    return op.called(**{n: op.value(x, op.rank) for n, x in op.tensors.items()})


def _meets_a_number(op: Op) -> bool:
    """Whether a tensor without dimensions is of another dtype, which then counts less."""
    tensors = op.tensors.values()
    return len({x.dtype for x in tensors}) > 1 and not all(x.ndim for x in tensors)


def _has_steps(op: Op) -> bool:
    """Whether several functions give what one gives: there is one dtype, and autocast changes none between them."""
    casts = any(map(_ops.is_autocast_enabled, ("cpu", "cuda")))
    return not casts and len({x.dtype for x in op.tensors.values()}) == 1


def _elementwise_in_place(op: Op):
    x = next(iter(op.tensors.values()))
    if not op.is_batch(x) or x.ndim < op.rank or _meets_a_number(op) or _is_given(x):
        raise EntryByEntry
    op.called(**{n: op.value(y, op.rank) for n, y in op.tensors.items()})
    return x


def _is_given(x) -> bool:
    """Whether it looks at an argument of vmap's function: written, it could not be called again."""
    return any(storage(x) in given for given in running.given)


def _place(dim: int, rank: int) -> int:
    """A dimension of an entry, among those of all."""
    if not -rank <= dim < rank:
        raise EntryByEntry  # which says what is wrong
    return dim % rank + 1


def _placed(dim, rank: int):
    return [_place(d, rank) for d in dim] if isinstance(dim, (list, tuple)) else _place(dim, rank)


_DIMS = frozenset(
    "dim dims dim0 dim1 dim2 axis0 axis1 source destination dimension start_dim end_dim".split()
)


def _along(op: Op, new: int = 0):
    """What has dimensions among its arguments. All its tensors have as many."""
    ranks = {x.ndim for x in op.tensors.values()}
    rank = op.rank + new
    if len(ranks) > 1 or not rank:
        return _of_makers(op)
    dims = {n: _placed(x, rank) for n, x in op.arguments.items() if n in _DIMS}
    return op.called(**{n: op.whole(x) for n, x in op.tensors.items()}, **dims)


def _reduction(op: Op):
    """Along some dimensions, or all, which for most no dimensions mean."""
    if op["dim"] is None or op["dim"] in ((), []) and op.function not in (_ops.all, _ops.any):
        op.arguments["dim"] = tuple(range(op.rank))
    return _along(op)


def _reduction_of_line(op: Op):
    """Along one dimension, or all as one."""
    if op["dim"] is not None:
        return _along(op)
    if not op.rank or op["keepdim"]:
        return op.for_each()
    return op.called(input=_ops.flatten(op["input"].value, 1), dim=1)


def _extreme_of_all(op: Op, function):
    return function(op["input"], tuple(range(op.rank))) if op.rank else op.for_each()


def _shaped(op: Op, name: str):
    return op.called(input=op["input"].value, **{name: (op.size, *op[name])})


def _expanded(op: Op, name: str, first: int):
    """To a shape, or so often, which may have more dimensions."""
    sizes = op[name]
    if len(sizes) < op.rank or -1 in sizes[: len(sizes) - op.rank]:
        raise EntryByEntry
    return op.called(input=op.value(op["input"], len(sizes)), **{name: (first, *sizes)})


def _like_other(op: Op, function):
    return function(op["input"], op["other"].shape)


def _permute(op: Op):
    x = op["input"]
    return (
        op.called(input=x.value, dims=[0, *_placed(op["dims"], x.ndim)])
        if x.ndim
        else _of_makers(op)
    )


def _as_strided(op: Op):
    """`storage_offset` is that of the first entry. The others lie behind it as the batch says."""
    x = op["input"]
    _check_memory(x, op["size"], op["stride"], op["storage_offset"])
    return op.called(
        input=x.value, size=(op.size, *op["size"]), stride=(strides(x.value)[0], *op["stride"])
    )


def _check_memory(x, size, stride, start) -> None:
    """What lies beyond an entry is another one's, or nobody's."""

    def end(sizes, steps, start):
        return start + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True)) + 1

    own = storage_offset(x)
    first = own if start is None else start
    last, own_end = end(size, stride, first), end(x.shape, strides(x), own)
    if 0 not in size and (first < own or last > own_end):
        raise Refused(
            RuntimeError(
                f"result = tensor.as_strided({list(size)}, {list(stride)}, {first}) can access memory outside of "
                f"`tensor`. `result` can access some memory in range [{first}, {last}], but `tensor` can only access "
                f"some memory in range [{own}, {own_end}]. This is not supported inside of vmap, please try to rewrite "
                "the `as_strided` call as a sequence of PyTorch view operations"
            )
        )


def _as_strided_scatter(op: Op):
    start, x = op["storage_offset"], op["input"]
    if start is None or not op.is_batch(x):
        return op.for_each()
    step = strides(x.value)[0]
    places = [op.row(i) | {"storage_offset": start + i * step} for i in range(op.size)]
    return op.stacked([op.function(**row) for row in places])


def _index_select(op: Op):
    if op.is_batch(op["index"]) or not op["input"].ndim:
        return op.for_each()
    return op.called(input=op["input"].value, dim=_place(op["dim"], op["input"].ndim))


def _index(op: Op):
    """Indices, which broadcast with the entries' numbers: of the first dimensions, or without dimensions."""
    x, indices = op["input"], op["indices"]
    given = [k for k, i in enumerate(indices) if i is not None]
    rank = max(indices[k].ndim for k in given)
    if any(indices[k].dtype not in (int64, int32) for k in given) or (
        rank and len(given) < len(indices)
    ):
        return op.for_each()
    placed = [i if i is None else op.value(i, rank) for i in indices]
    where = given[0] if given[-1] - given[0] < len(given) else 0  # together they stay in place
    if op.is_batch(x):
        entries = _ops.arange(0, op.size, device=x.device)
        placed, where = [_ops.reshape(entries, (-1, *(1,) * rank)), *placed], 0
    made = op.function(**(op.arguments | {"input": op.value(x), "indices": placed}))
    return op.wrapped(_ops.movedim(made, where, 0))


def _squeeze(op: Op):
    x, dim = op["input"], op["dim"]
    dims = range(x.ndim) if dim is None else listed(dim)
    return op.called(dim=[_place(d, x.ndim) for d in dims], input=x.value)


def _contiguous(op: Op):
    x = op["input"]
    return (
        x
        if entry(x, 0).is_contiguous(memory_format=op["memory_format"])
        else op.called(input=x.value)
    )


def _transposed(op: Op):
    if op.rank > 2:
        raise EntryByEntry
    return _ops.transpose(op["input"], 0, 1) if op.rank == 2 else op["input"]


def _pad(op: Op):
    if op["mode"] != "constant":
        return _of_images(op, len(op["pad"]) // 2 + 2)
    return op.called(input=op["input"].value) if 2 * op.rank >= len(op["pad"]) else op.for_each()


def _matrices(op: Op):
    """What is a stack of matrices anyway."""
    if any(x.ndim < 2 for x in op.tensors.values()):
        raise EntryByEntry
    return _elementwise(op)


def _of_list(op: Op, new: int):
    """What joins tensors of one rank."""
    rank = op["tensors"][0].ndim + new
    if len({x.ndim for x in op["tensors"]}) > 1 or not rank:
        return op.for_each()
    return op.called(tensors=[op.whole(x) for x in op["tensors"]], dim=_place(op["dim"], rank))


def _matmul(op: Op, ranks: tuple | None = None):
    """A vector is a matrix of one row, or of one column. Without ranks stacks broadcast."""
    a, b = op.tensors.values()
    if not (a.ndim and b.ndim) or not _has_steps(op):
        return op.for_each()
    if ranks and ((a.ndim, b.ndim) != ranks or a.shape[:-2] != b.shape[:-2]):
        return op.for_each()
    rank = max(a.ndim, b.ndim, 2)
    row, column = a.ndim == 1, b.ndim == 1
    a, b = _ops.unsqueeze(a, 0) if row else a, _ops.unsqueeze(b, 1) if column else b
    made = op.wrapped(_ops.matmul(op.value(a, rank), op.value(b, rank)))
    made = _ops.squeeze(made, -1) if column else made
    return _ops.squeeze(made, -1 if column else -2) if row else made


def _einsum(op: Op):
    """One letter more."""
    terms, arrow, out = op["equation"].replace(" ", "").partition("->")
    letters = terms.replace(",", "")
    if "." in letters:
        return op.for_each()
    out = out if arrow else "".join(sorted(c for c in letters if letters.count(c) == 1))
    new = next(c for c in string.ascii_letters if c not in letters)
    tensors = op["operands"]
    terms = [new * op.is_batch(x) + t for x, t in zip(tensors, terms.split(","), strict=True)]
    return op.called(
        equation=f"{','.join(terms)}->{new}{out}", operands=list(map(op.value, tensors))
    )


def _outer(op: Op):
    a, b = op.tensors.values()
    if (a.ndim, b.ndim) != (1, 1) or not _has_steps(op):
        return op.for_each()
    return _ops.mul(_ops.unsqueeze(a, 1), _ops.unsqueeze(b, 0))


def _has_shape(x, shape) -> bool:
    """Whether a weight or bias, if there is one, has this shape. Others broadcast with more than an entry's do."""
    return x is None or tuple(x.shape) == tuple(shape)


def _linear(op: Op):
    x, weight, bias = op["input"], op["weight"], op["bias"]
    if not x.ndim or not _has_shape(bias, weight.shape[:1]):
        return op.for_each()
    if not op.is_batch(weight) and not op.is_batch(bias):
        return op.called(input=op.value(x))
    if weight.ndim != 2 or not _has_steps(op):
        return op.for_each()
    made = _ops.matmul(x, _ops.transpose(weight, 0, 1))
    return made if bias is None else _ops.add(made, bias)


def _linear_activation(op: Op):
    word = op.arguments.pop("activation")
    return getattr(_ops, word)(_ops.linear(**op.arguments))


def _convolution(op: Op, dims: int):
    """Entries are images of one batch, or channels in groups where they have filters of their own."""
    x, weight, bias = op["input"], op["weight"], op["bias"]
    if x.ndim == dims + 1:
        return _ops.squeeze(op.function(**(op.arguments | {"input": _ops.unsqueeze(x, 0)})), 0)
    if x.ndim != dims + 2 or weight.ndim != dims + 2:
        raise EntryByEntry
    if not op.is_batch(weight) and not op.is_batch(bias):
        return _of_images(op, x.ndim)
    if not _has_shape(bias, weight.shape[:1]) or (bias is not None and not _has_steps(op)):
        return op.for_each()
    if bias is not None:
        made = op.function(**(op.arguments | {"bias": None}))
        return _ops.add(made, _ops.reshape(bias, (-1, *(1,) * dims)))
    if not op.is_batch(weight):
        return _of_images(op, x.ndim)
    images = _ops.flatten(_ops.movedim(op.whole(x), 0, 1), 1, 2)
    filters = _ops.flatten(op.whole(weight), 0, 1)
    made = op.function(
        **(op.arguments | {"input": images, "weight": filters, "groups": op["groups"] * op.size})
    )
    parts = _ops.unflatten(made, 1, (op.size, weight.shape[0]))
    return op.wrapped(_ops.movedim(parts, 1, 0))


def _batch_norm_relu(op: Op):
    if any(op.arguments.pop(name) is not None for name in ("addend", "limit")):
        raise EntryByEntry
    return _ops.relu(_ops.batch_norm(**op.arguments))


def _of_images(op: Op, rank: int):
    """What goes over a batch of its own, of inputs of so many dimensions (0: any); one of fewer is one image."""
    x = op["input"]
    rank = rank or x.ndim
    if any(op.is_batch(y) for n, y in op.tensors.items() if n != "input") or x.ndim > rank:
        return op.for_each()
    if x.ndim < rank:
        return op.called(input=x.value) if x.ndim == rank - 1 else op.for_each()
    made = op.function(**(op.arguments | {"input": _ops.flatten(x.value, 0, 1)}))
    parts = [_ops.unflatten(y, 0, (op.size, x.shape[0])) for y in listed(made)]
    return op.wrapped(type(made)(parts) if isinstance(made, tuple) else parts[0])


def _dropout(op: Op):
    if op["training"] and op["p"]:
        raise EntryByEntry  # which refuses random numbers
    return op["input"]


def _embedding(op: Op):
    if op["max_norm"] is not None:
        raise EntryByEntry  # which writes the weight
    return op.for_each() if op.is_batch(op["weight"]) else op.called(input=op["input"].value)


def _norm(op: Op, by_channels: bool):
    """Weights of each entry's own multiply what is normalized without."""
    x, own = op["input"], {n: op.arguments.get(n) for n in ("weight", "bias")}
    least = 2 if by_channels else len(listed(op["normalized_shape"]))
    if x.ndim < least:
        return op.for_each()
    if not any(map(op.is_batch, own.values())):
        return _of_images(op, 0) if by_channels else op.called(input=x.value)
    shape = x.shape[1:2] if by_channels else listed(op["normalized_shape"])
    if not _has_steps(op) or not all(_has_shape(y, shape) for y in own.values()):
        return op.for_each()
    made = op.function(**(op.arguments | {n: None for n in own if n in op.arguments}))
    for function, y in zip((_ops.mul, _ops.add), own.values(), strict=True):
        if y is not None and by_channels:
            y = _ops.reshape(y, (-1, *(1,) * (x.ndim - 2)))
        made = made if y is None else function(made, y)
    return made


def _batch_norm(op: Op):
    """The channels of all entries, of one batch."""
    x = op["input"]
    if op["training"] and op["running_mean"] is not None:
        raise EntryByEntry  # which are written
    if x.ndim < 2:
        return op.for_each()
    whole = {n: _ops.flatten(op.whole(y)) for n, y in op.tensors.items() if n != "input"}
    channels = _ops.flatten(_ops.movedim(op.whole(x), 0, 1), 1, 2)
    made = op.function(**(op.arguments | whole | {"input": channels}))
    parts = _ops.unflatten(made, 1, (op.size, x.shape[1]))
    return op.wrapped(_ops.movedim(parts, 1, 0))


def _is_reduced(op: Op) -> bool:
    """Whether the plain mean or sum of a loss is what it gives: a mean of 16 bits is divided before it is rounded."""
    word = op["reduction"]
    is_narrow = any(x.dtype in (float16, bfloat16) for x in op.tensors.values())
    return word in ("none", "sum") or (word == "mean" and not is_narrow)


def _loss(op: Op):
    """The mean or the sum of what each element loses."""
    word = op["reduction"]
    is_weighted = op.function in (_ops.mse_loss, _ops.l1_loss) and op["weight"] is not None
    if word == "mean" and is_weighted:  # which divides by the sum of weights
        return op.for_each()
    if not _is_reduced(op) or len({x.shape for x in op.tensors.values()}) > 1:
        return op.for_each()
    made = op.called(**{n: op.whole(x) for n, x in op.tensors.items()}, reduction="none")
    return _ops.mean(made) if word == "mean" else _ops.sum(made) if word == "sum" else made


def _loss_of_classes(op: Op):
    """A row of scores for each class that is named; ignored ones do not count in the mean."""
    x, target, word = op["input"], op["target"], op["reduction"]
    is_plain = op["weight"] is None and not op.arguments.get("label_smoothing") and x.ndim in (1, 2)
    if (
        not is_plain
        or target.is_floating_point()
        or target.ndim != x.ndim - 1
        or not _is_reduced(op)
    ):
        return op.for_each()
    if target.shape != x.shape[:-1]:
        raise EntryByEntry
    scores = _ops.reshape(op.whole(x), (-1, x.shape[-1]))
    classes = _ops.reshape(op.whole(target), (-1,))
    made = op.function(**(op.arguments | {"input": scores, "target": classes, "reduction": "none"}))
    made = op.wrapped(_ops.reshape(made, (op.size, *target.shape)))
    if word == "none" or not target.ndim and word == "sum":
        return made
    total = _ops.sum(made)
    counted = _ops.to(_ops.ne(target, op["ignore_index"]), dtype=total.dtype)
    return total if word == "sum" else _ops.div(total, _ops.sum(counted))


def _attention(op: Op):
    rank = op["query"].ndim
    if op["dropout_p"] or rank < 2 or any(op[n].ndim != rank for n in ("key", "value")):
        return op.for_each()
    if op.rank > rank:  # a mask would have more dimensions
        return op.for_each()
    tensors = {
        n: op.whole(x) if n != "attn_mask" else op.value(x, rank) for n, x in op.tensors.items()
    }
    return op.called(**tensors)


def _of_all(op: Op):
    """What is the same for the tensor of all entries."""
    made = op.function(**(op.arguments | {"input": op["input"].value}))
    return op["input"] if op.function.__name__.endswith("_") else op.wrapped(made)


def _of_first(op: Op):
    """What does not depend on the elements."""
    return op.function(**op.row(0))


def _of_elements(op: Op):
    return of_each(lambda x: op.function(**(op.arguments | {"input": x})), op["input"])


def _gradients(op: Op):
    """Entries do not depend on one another: a backward of all gives each its gradient. Through a graph that they share
    each goes alone, and leaves it to the next, or to the function, if that has to be called again."""
    outputs, inputs, weights = op["outputs"], op["inputs"], op["grad_outputs"]
    if not any(map(op.is_batch, [*outputs, *inputs])):
        return op.for_each(retain_graph=True)
    if not all(map(op.is_batch, [*outputs, *inputs])):
        raise EntryByEntry
    weights = weights or (None,) * len(outputs)
    if any(w is None and y.ndim for y, w in zip(outputs, weights, strict=True)):
        raise EntryByEntry
    ones = [
        _ops.ones_like(y.value) if w is None else op.whole(w)
        for y, w in zip(outputs, weights, strict=True)
    ]
    return op.called(
        outputs=[y.value for y in outputs], inputs=[x.value for x in inputs], grad_outputs=ones
    )


# ---- which rule

_BY_RULE = {
    _elementwise: "absolute addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_not celu "
    "clamp clip clone deg2rad detach div divide empty_like entr fix float_power floor_divide fmod full_like gelu "
    "greater greater_equal hardtanh heaviside i0 i0e i1 i1e igamma igammac isclose isneginf isposinf isreal lerp "
    "less less_equal logit masked_fill multiply nan_to_num ndtr negative nextafter not_equal ones_like positive pow "
    "rad2deg relu6 remainder round_decimals selu sgn softshrink softsign subtract tanhshrink threshold to where "
    "xlog1py zeros_like",
    _elementwise_in_place: "clamp_ copy_ div_ fill_ floor_divide_ lerp_ masked_fill_ pow_ zero_",
    _along: "argsort chunk cosine_similarity cumprod cumsum diagonal diff flatten flip gather glu kthvalue "
    "log_softmax logcumsumexp max_dim median_dim min_dim mode moveaxis movedim nanmedian_dim narrow scatter "
    "scatter_add select slice softmax softmin sort split split_at split_sections split_with_sizes swapaxes swapdims "
    "topk transpose unbind unflatten unfold",
    _permute: "permute",
    _as_strided: "as_strided",
    _as_strided_scatter: "as_strided_scatter",
    _index_select: "index_select",
    _index: "index",
    functools.partial(_along, new=1): "unsqueeze",
    _reduction: "all amax amin any count_nonzero linalg_vector_norm logsumexp mean nanmean nansum norm std std_mean "
    "sum var var_mean",
    _reduction_of_line: "argmax argmin prod",
    functools.partial(_extreme_of_all, function=_ops.amax): "max",
    functools.partial(_extreme_of_all, function=_ops.amin): "min",
    functools.partial(_shaped, name="shape"): "reshape",
    functools.partial(_shaped, name="size"): "view",
    functools.partial(_expanded, name="size", first=-1): "broadcast_to expand",
    functools.partial(_expanded, name="repeats", first=1): "repeat",
    functools.partial(_like_other, function=_ops.expand): "expand_as",
    functools.partial(_like_other, function=_ops.reshape): "reshape_as",
    functools.partial(_like_other, function=_ops.view): "view_as",
    _squeeze: "squeeze",
    _contiguous: "contiguous",
    _transposed: "t",
    _pad: "pad",
    _matrices: "det inverse linalg_cholesky linalg_det linalg_inv linalg_matrix_exp matrix_exp tril triu",
    functools.partial(_of_list, new=0): "cat concat concatenate",
    functools.partial(_of_list, new=1): "stack",
    _matmul: "linalg_matmul matmul",
    functools.partial(_matmul, ranks=(2, 2)): "mm",
    functools.partial(_matmul, ranks=(3, 3)): "bmm",
    functools.partial(_matmul, ranks=(2, 1)): "mv",
    functools.partial(_matmul, ranks=(1, 1)): "dot",
    _einsum: "einsum",
    _outer: "ger outer",
    _linear: "linear",
    _linear_activation: "linear_activation",
    functools.partial(_convolution, dims=1): "conv1d",
    functools.partial(_convolution, dims=2): "conv2d",
    functools.partial(_convolution, dims=3): "conv3d",
    functools.partial(_of_images, rank=3): "adaptive_avg_pool1d avg_pool1d max_pool1d max_pool1d_with_indices",
    functools.partial(_of_images, rank=4): "adaptive_avg_pool2d avg_pool2d max_pool2d max_pool2d_with_indices",
    functools.partial(_of_images, rank=0): "interpolate",
    functools.partial(_of_images, rank=5): "adaptive_avg_pool3d avg_pool3d max_pool3d",
    _dropout: "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
    _embedding: "embedding",
    functools.partial(_norm, by_channels=False): "layer_norm rms_norm",
    functools.partial(_norm, by_channels=True): "group_norm",
    _batch_norm: "batch_norm",
    _batch_norm_relu: "batch_norm_relu",
    _loss: "binary_cross_entropy huber_loss l1_loss mse_loss smooth_l1_loss",
    _loss_of_classes: "cross_entropy nll_loss",
    _attention: "scaled_dot_product_attention",
    _of_all: "tensor_data tensor_node tensor_requires_grad_ tensor_version",
    _of_first: "tensor_device tensor_dim tensor_dtype tensor_element_size tensor_numel tensor_size",
    _of_elements: "tensor_item",
    _gradients: "autograd_grad",
}  # fmt: skip
_RULES = {name: rule for rule, names in _BY_RULE.items() for name in names.split()}
_RULES |= {n: _elementwise_in_place if n[-1] == "_" else _elementwise for n in _ops.ELEMENTWISE}
# What writes something besides, calls a function of the program, or looks at the same memory is not called for each.
_MAKERS = {n for n in _ops.MAKERS if n[-1] != "_"} - {"custom_function", "out_finish", "view_dtype"}
