"""Functions whose PyTorch signature is several signatures: each sorts its arguments out and calls
the generated function in `_ops.py`."""

from __future__ import annotations

from . import _checked, _ops, _reductions, _types
from ._complaints import MISSING, need
from ._factors import FACTORS_FIRST
from ._fill import copy_
from ._named_results import result_type, written
from ._out import need_tuple
from ._runtime import shape_list
from ._signatures import by_own_names, by_signature, need_input
from ._tensor_type import TensorBase, into


def arange(*args, **options):
    """arange(end), arange(start, end), arange(start, end, step)."""
    given = by_signature(
        "arange", args, options, ("end",), ("start", "end"), ("start", "end", "step")
    )
    return _ops.arange(*(given if given[1:] else (0, *given)), **options)


def randint(*args, **options):
    """randint(high, size) and randint(low, high, size)."""
    *low, high, size = by_signature(
        "randint", args, options, ("high", "size"), ("low", "high", "size")
    )
    return _ops.randint(*(low or [0]), high, size, **options)


def randint_like(input, *args, **options):
    """randint_like(input, high) and randint_like(input, low, high)."""
    *low, high = by_signature("randint_like", args, options, ("high",), ("low", "high"))
    return _ops.randint_like(input, *(low or [0]), high, **options)


def normal(mean=MISSING, std=MISSING, size=MISSING, *, generator=None, out=None, **options):
    """Normal numbers: of given mean and standard deviation (numbers, or tensors without a size)."""
    if size is MISSING:
        of_numbers = not isinstance(std, TensorBase)
        std = 1.0 if std is MISSING else std
        need("normal", f"mean:{'tensor' if of_numbers else 'operand'} std:operand", mean, std)
        if options:
            raise TypeError(f"normal() got an unexpected keyword argument '{next(iter(options))}'")
    else:
        need("normal", "mean:f64 std:f64 size:i64[]", mean, std, size)
    if out is not None:
        options = {"device": None, **options} if size is not MISSING else options
        return into(out, normal, mean, std, size, generator=generator, **options)
    if not isinstance(std, TensorBase) and not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if size is not MISSING:
        requires_grad = options.pop("requires_grad", None)
        made = _ops.randn(size, generator=generator, **options) * std + mean
        return _ops.tensor_requires_grad_(made, requires_grad) if requires_grad else made
    if isinstance(std, TensorBase) and std.device.type == "cpu" and (std < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    like = mean if isinstance(mean, TensorBase) else std
    shape = _ops.add(like, std if like is mean else mean).shape
    noise = _ops.empty(shape, dtype=like.dtype, device=like.device)
    _ops.normal_(noise, generator=generator)
    return _ops.to(noise * std + mean, dtype=like.dtype)


def bernoulli(input=MISSING, p=MISSING, *, generator=None, out=None, **names):
    """1 with the probability that the input says, or with probability p; else 0."""
    if names:
        (input,) = by_own_names(bernoulli, names, input=input)
    if out is not None:
        return into(out, _ops.to, bernoulli(input, p, generator=generator), dtype=out.dtype)
    if p is MISSING:
        return _ops.bernoulli(input, generator=generator)
    return _ops.bernoulli_p(input, p, generator=generator)


def bernoulli_(input, p=0.5, *, generator=None):
    """In place: 1 with probability p, a number or a tensor; else 0."""
    fill = _ops.bernoulli_tensor_ if isinstance(p, TensorBase) else _ops.bernoulli_
    return fill(input, p, generator=generator)


def random_(input, *bounds, generator=None, **named):
    """random_(), random_(to) and random_(from, to), where to may be None: the dtype's largest."""
    if bounds or named:
        *low, high = by_signature("random_", bounds, named, ("to",), ("from", "to"))
    else:
        low, high = [], None
    if named:
        raise TypeError(f"random_() got an unexpected keyword argument '{next(iter(named))}'")
    if high is None:
        return _ops.random_from_(input, *low, generator=generator)
    return _ops.random_(input, *(low or [0]), high, generator=generator)


def uniform_(input, *bounds, generator=None, **named):
    """uniform_(from, to): uniform numbers between the two, 0 and 1 by default."""
    if len(bounds) > 2:
        raise TypeError(
            f"uniform_() takes from 0 to 2 positional arguments but {len(bounds)} were given"
        )
    given = dict(zip(("low", "high"), bounds, strict=False))
    for word, name in (("from", "low"), ("to", "high")):
        if word in named:
            if name in given:
                raise TypeError(f"uniform_() got multiple values for argument '{word}'")
            given[name] = named.pop(word)
    if named:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(named))}'")
    return _ops.uniform_(input, **given, generator=generator)


def resize_(input, *sizes, size=None, memory_format=None):
    """Gives the tensor another shape, row-major or in the order that `memory_format` names."""
    return _ordered(_ops.resize_(input, *sizes, size=size), memory_format)


def resize_as_(input, the_template, *, memory_format=None):
    """resize_ to the shape of another tensor, in the order that `memory_format` names; preserve_format is its own."""
    if memory_format is _types.preserve_format:
        last = the_template.is_contiguous(memory_format=_types.channels_last)
        memory_format = _types.channels_last if last and the_template.ndim == 4 else None
    _ops.resize_as_(input, the_template)
    return _ordered(input, memory_format)


def _ordered(x, memory_format):
    """The tensor, which is row-major, with the strides of a memory format over the same memory."""
    if memory_format in (None, _types.contiguous_format):
        return x
    if memory_format is _types.preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    strides = _ops.empty(x.shape, dtype=x.dtype, memory_format=memory_format).stride()
    return _ops.as_strided_(x, x.shape, strides)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """What occurs; with return_inverse, return_counts a tuple with what was asked for."""
    results = _ops.unique(input, sorted, return_inverse, return_counts, dim)
    return _asked_for(results, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of each run; with return_inverse, return_counts a tuple with what was asked for."""
    results = _ops.unique_consecutive(input, return_inverse, return_counts, dim)
    return _asked_for(results, return_inverse, return_counts)


def _asked_for(results, return_inverse, return_counts):
    output, inverse, counts = results
    if not (return_inverse or return_counts):
        return output
    return (output, *(inverse,) * bool(return_inverse), *(counts,) * bool(return_counts))


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """1-d convolution. padding is numbers, "valid" (none) or "same" (the output is as large)."""
    function = _ops.conv1d_padding if isinstance(padding, str) else _ops.conv1d
    return function(input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """2-d convolution. padding is numbers, "valid" (none) or "same" (the output is as large)."""
    function = _ops.conv2d_padding if isinstance(padding, str) else _ops.conv2d
    return function(input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """3-d convolution. padding is numbers, "valid" (none) or "same" (the output is as large)."""
    function = _ops.conv3d_padding if isinstance(padding, str) else _ops.conv3d
    return function(input, weight, bias, stride, padding, dilation, groups)


def lstm(*args, **options):
    """lstm(input, hx, params, ...) and lstm(data, batch_sizes, hx, params, ...) of packed sequences."""
    return _recurrent(_ops.lstm, _ops.lstm_packed, args, options)


def gru(*args, **options):
    """gru(input, hx, params, ...) and gru(data, batch_sizes, hx, params, ...) of packed sequences."""
    return _recurrent(_ops.gru, _ops.gru_packed, args, options)


def rnn_tanh(*args, **options):
    """rnn_tanh(input, hx, params, ...), and (data, batch_sizes, hx, params, ...) of packed sequences."""
    return _recurrent(_ops.rnn_tanh, _ops.rnn_tanh_packed, args, options)


def rnn_relu(*args, **options):
    """rnn_relu(input, hx, params, ...), and (data, batch_sizes, hx, params, ...) of packed sequences."""
    return _recurrent(_ops.rnn_relu, _ops.rnn_relu_packed, args, options)


def _recurrent(plain, packed, args, options):
    is_packed = "batch_sizes" in options or (len(args) > 3 and isinstance(args[3], (list, tuple)))
    return (packed if is_packed else plain)(*args, **options)


def split(tensor, split_size_or_sections, dim=0, *, axis=None):
    """Pieces of one size, or of the sizes in a list."""
    return _split_method(tensor, split_size_or_sections, dim, axis=axis)


def _split_method(input, split_size, dim=0, *, axis=None):
    """split, by the method's names."""
    dim = dim if axis is None else axis
    if isinstance(split_size, (list, tuple)):
        return _ops.split_with_sizes(input, split_size, dim)
    return _ops.split(input, split_size, dim)


def lu(A, pivot=True, get_infos=False, out=None):
    """The older form of linalg.lu_factor: (LU, pivots), and codes of failure where they are asked for."""
    count = 3 if get_infos else 2
    if out is not None:
        need_tuple("lu", out, count)
        return into(tuple(out), _lu_method, A, pivot, get_infos)
    made = _lu_method(A, pivot, get_infos)
    return _FactorsAndInfo(made) if get_infos else made


def _lu_method(A, pivot=True, get_infos=False):
    """lu, whose results have no names."""
    factors, pivots, info = _ops.linalg_lu_factor_ex(A, pivot=pivot)
    return (factors, pivots, info) if get_infos else (factors, pivots)


_FactorsAndInfo = result_type("_lu_with_info", "LU pivots info")


Qr = result_type("qr", "Q R")


def qr(input, some=True, *, out=None):
    """The older form of linalg.qr."""
    need("qr", "input:tensor some:bool", input, some)
    factors = _ops.linalg_qr(input, "reduced" if some else "complete", out=out)
    return (Qr if out is None else written(Qr))(factors)


def pinverse(input, rcond=1e-15):
    """The older form of linalg.pinv."""
    need("pinverse", "input:tensor rcond:f64", input, rcond)
    return _ops.linalg_pinv(input, rtol=rcond)


def einsum(*args):
    """einsum(equation, *operands), einsum(equation, [operands]), and einsum(operand, its subscripts, ...,
    subscripts of the result), where subscripts are lists of numbers."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], TensorBase):
        equation = ",".join(_subscripts(numbers) for numbers in args[1::2])
        has_output = len(args) % 2 == 1
        equation += "->" + _subscripts(args[-1]) if has_output else ""
        return _ops.einsum(equation, args[: -1 if has_output else None : 2])
    equation, *operands = args
    listed = len(operands) == 1 and isinstance(operands[0], (list, tuple))
    return einsum(equation, *operands[0]) if listed else _ops.einsum(equation, operands)


def _subscripts(numbers) -> str:
    """[0, Ellipsis, 27] is "A...b"."""
    letters = []
    for n in numbers:
        if n is not Ellipsis and not 0 <= n < 52:
            message = "subscript in subscript list is not within the valid range [0, 52)"
            raise ValueError(f"einsum(): {message}")
        letters.append(
            "..." if n is Ellipsis else chr(ord("A") + n if n < 26 else ord("a") + n - 26)
        )
    return "".join(letters)


def tensordot(a, b, dims=2, out=None):
    """tensordot over so many dimensions, or over two lists of them."""
    if out is not None:
        return into(out, tensordot, a, b, dims)
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = dims
        return _ops.tensordot_dims(a, b, dims_a, dims_b)
    if not isinstance(dims, int):
        wanted = "int or tuple[list[int], list[int]] or list[list[int]] containing two lists"
        raise RuntimeError(f"tensordot expects dims to be {wanted}, but got dims={dims}")
    return _ops.tensordot(a, b, int(dims))


def gradient(input=MISSING, *, spacing=None, dim=None, edge_order=1, **names):
    """Estimates of the derivatives along dimensions; spacing is a number, numbers or coordinates."""
    if names:
        input, dim = by_own_names(gradient, names, input=input, dim=dim)
    need("gradient", "input:tensor", input)
    if spacing is not None and isinstance(spacing, (list, tuple)):
        if any(isinstance(part, TensorBase) for part in spacing):
            return tuple(_ops.gradient_at(input, spacing, dim=dim, edge_order=edge_order))
    elif spacing is not None:
        count = input.ndim if dim is None else 1 if isinstance(dim, int) else len(dim)
        spacing = [spacing] * count
    return tuple(_ops.gradient(input, spacing=spacing, dim=dim, edge_order=edge_order))


def round(input=MISSING, *, decimals=MISSING, out=None, **names):
    """round(input), and to so many decimals."""
    if names:
        (input,) = by_own_names(round, names, input=input)
    if out is not None:
        return into(out, round, input, decimals=decimals)
    return (
        _ops.round(input) if decimals is MISSING else _ops.round_decimals(input, decimals=decimals)
    )


def round_(input, *, decimals=MISSING):
    """In-place version of round."""
    if decimals is MISSING:
        return _ops.round_(input)
    return _ops.round_decimals_(input, decimals=decimals)


def where(condition, input=MISSING, other=MISSING, *, out=None, **names):
    """where(condition, input, other); where(condition) is nonzero(as_tuple=True)."""
    if names:
        input, other = by_own_names(where, names, input=input, other=other)
    if input is MISSING and other is MISSING:
        return nonzero(condition, as_tuple=True)
    return _ops.where(_checked.condition(condition), input, other, out=out)


def nonzero(input=MISSING, *, as_tuple=False, out=None, **names):
    """Positions of nonzero elements: [count, dimensions], or one tensor for each dimension."""
    if names:
        (input,) = by_own_names(nonzero, names, input=input)
    if not isinstance(as_tuple, bool):
        need("nonzero", "input:tensor as_tuple:bool", input, as_tuple)
    if not as_tuple:
        return _ops.nonzero(input, out=out)
    if out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    need_input(nonzero, input)
    # A number stands for a list of one: its position has one dimension, not none.
    return _ops.unbind(_ops.nonzero(input if input.ndim else _ops.unsqueeze(input, 0)), 1)


def scatter(
    input=MISSING, dim=MISSING, index=MISSING, src=MISSING, *, value=MISSING, reduce=MISSING, out=None, **names,
):  # fmt: skip
    """scatter(input, dim, index, src), or value=number for src; with reduce "add" or "multiply"."""
    if names:
        input, dim = by_own_names(scatter, names, input=input, dim=dim)
    src = _src_of("scatter", src, value)
    if reduce is MISSING:
        return _ops.scatter(input, dim, index, src, out=out)
    src, reduce = _scattered(input, index, src, reduce)
    return _ops.scatter_reduce(input, dim, index, src, reduce, out=out)


def scatter_(
    input=MISSING, dim=MISSING, index=MISSING, src=MISSING, *, value=MISSING, reduce=MISSING, **names
):  # fmt: skip
    """In-place version of scatter."""
    if names:
        input, dim = by_own_names(scatter_, names, input=input, dim=dim)
    src = _src_of("scatter_", src, value)
    if reduce is MISSING:
        return _ops.scatter_(input, dim, index, src)
    src, reduce = _scattered(input, index, src, reduce)
    return _ops.scatter_reduce_(input, dim, index, src, reduce)


def _src_of(function: str, src, value):
    if src is MISSING:
        return value
    if value is not MISSING:
        raise TypeError(f"{function}() takes src or value, not both")
    return src


def _scattered(input, index, src, reduce) -> tuple:
    """A tensor for a number, and scatter_reduce's word for what happens to it."""
    need("scatter", "src:operand reduce:str", src, reduce)
    words = {"add": "sum", "multiply": "prod"}
    if reduce not in words:
        raise RuntimeError("reduce argument must be either add or multiply.")
    need_input(scatter, input)
    if not isinstance(src, TensorBase):
        src = _ops.full(index.shape, src, dtype=input.dtype, device=input.device)
    return src, words[reduce]


def _view_method(input, *args, size=None, dtype=None):
    """view(size) and view(dtype)."""
    if dtype is None and len(args) == 1 and isinstance(args[0], _types.dtype):
        (dtype,) = args
    return _ops.view(input, *args, size=size) if dtype is None else _ops.view_dtype(input, dtype)


def repeat_interleave(input=MISSING, repeats=MISSING, dim=None, *, output_size=None, **names):
    """repeat_interleave(input, repeats, dim); repeat_interleave(repeats) is of 0, 1, 2, ..."""
    if names:
        input, dim = by_own_names(repeat_interleave, names, input=input, dim=dim)
    if input is MISSING and dim is None:
        input, repeats = repeats, MISSING
    if repeats is MISSING and dim is None and isinstance(input, TensorBase):
        if input.dim() != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        places = _ops.arange(0, input.shape[0], dtype=input.dtype, device=input.device)
        return _ops.repeat_interleave(places, input, 0, output_size=output_size)
    if repeats is not MISSING and not isinstance(repeats, TensorBase):
        need("repeat_interleave", "input:tensor repeats:i64", input, repeats)
        (repeats,) = shape_list([repeats])
    return _ops.repeat_interleave(input, repeats, dim, output_size=output_size)


def tensor_split(
    input=MISSING, indices_or_sections=None, dim=0, *, sections=None, indices=None,
    tensor_indices_or_sections=None, **names,
):  # fmt: skip
    """Pieces of nearly equal sizes, or those that begin at given places."""
    if names:
        input, dim = by_own_names(tensor_split, names, input=input, dim=dim)
    given = _one_of(indices_or_sections, sections, indices, tensor_indices_or_sections)
    if isinstance(given, TensorBase):
        if given.dim() > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given.dim()} dims"
            )
        if given.dtype != _types.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{given.dtype.word}"
            )
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        return _ops.split_at(input, given, dim)
    return _ops.split_sections(input, given, dim)


def hsplit(input, *indices_or_sections, sections=None, indices=None):
    """Splits dimension 1, of a vector dimension 0."""
    given = _parts_of(indices_or_sections, sections, indices)
    is_vector = isinstance(input, TensorBase) and input.ndim == 1
    return _split_along(_ops.hsplit, input, given, 0 if is_vector else 1)


def vsplit(input, *indices_or_sections, sections=None, indices=None):
    """Splits dimension 0 of two or more."""
    given = _parts_of(indices_or_sections, sections, indices)
    return _split_along(_ops.vsplit, input, given, 0)


def dsplit(input, *indices_or_sections, sections=None, indices=None):
    """Splits dimension 2 of three or more."""
    given = _parts_of(indices_or_sections, sections, indices)
    return _split_along(_ops.dsplit, input, given, 2)


def _parts_of(listed: tuple, sections, indices):
    """The argument that was given; indices may come one by one."""
    return listed if len(listed) > 1 else _one_of(*listed, sections, indices)


def _one_of(*given):
    """The argument that was given, by whatever name."""
    return next((x for x in given if x is not None), None)


def _split_along(equally, input, given, dim):
    if not isinstance(given, (list, tuple)):
        return equally(input, given)
    equally(input, 1)  # refuses too few dimensions
    return _ops.split_at(input, given, dim)


def _listed(tensors) -> tuple:
    """f(a, b) and f([a, b])."""
    is_list = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
    return tensors[0] if is_list else tensors


def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid: for each vector a tensor that changes along one dimension; by default "ij"."""
    return _ops.meshgrid(_listed(tensors), _checked.indexing(indexing))


def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape."""
    return _ops.broadcast_tensors(tensors)


def block_diag(*tensors):
    """The matrix with the tensors as blocks along the diagonal."""
    return _ops.block_diag(tensors)


def cartesian_prod(*tensors):
    """All ways to choose one element of each vector."""
    return _ops.cartesian_prod(tensors)


def atleast_1d(*tensors):
    """A number as a vector; of several tensors a tuple."""
    return _each(_ops.atleast_1d, tensors)


def atleast_2d(*tensors):
    """A number or a vector as a matrix of one row; of several tensors a tuple."""
    return _each(_ops.atleast_2d, tensors)


def atleast_3d(*tensors):
    """A number, a vector or a matrix with three dimensions; of several tensors a tuple."""
    return _each(_ops.atleast_3d, tensors)


def _each(function, tensors):
    is_one = len(tensors) == 1 and isinstance(tensors[0], TensorBase)
    return function(tensors[0]) if is_one else tuple(map(function, _listed(tensors)))


def roll(input=MISSING, shifts=MISSING, dims=None, *, out=None, **names):
    """Moves elements along dimensions; those that leave at the end come back at the start."""
    if names:
        (input,) = by_own_names(roll, names, input=input)
    return _ops.roll(input, shifts, () if dims is None else dims, out=out)


def _where_method(self, condition, other):
    """self where the condition holds, other elsewhere."""
    return _ops.where(_checked.condition(condition), self, other)


def _polygamma_method(self, n):
    """The derivative of order n of digamma."""
    return _ops.polygamma(n, self)


_LISTED = (
    arange, randint, randint_like, normal, bernoulli, split, einsum, tensordot, gradient, where, nonzero, round,
    repeat_interleave, tensor_split, hsplit, vsplit, dsplit, meshgrid, broadcast_tensors, block_diag,
    cartesian_prod, atleast_1d, atleast_2d, atleast_3d, unique, unique_consecutive, scatter, scatter_, lu, qr,
    pinverse, round_, bernoulli_, random_, uniform_, resize_, resize_as_, roll, conv1d, conv2d, conv3d, lstm, gru,
    rnn_tanh, rnn_relu,
)  # fmt: skip
FUNCTIONS = (
    {f.__name__: f for f in _LISTED} | FACTORS_FIRST | _checked.FUNCTIONS | _reductions.FUNCTIONS
)
METHODS = {
    f.__name__: f
    for f in (
        *(nonzero, scatter, scatter_, round, round_),
        *(repeat_interleave, tensor_split, hsplit, vsplit, dsplit),
        *(unique, unique_consecutive),
        *(bernoulli, bernoulli_, random_, qr, pinverse),
        *(uniform_, resize_, resize_as_, copy_, roll),
    )
}
METHODS["split"], METHODS["where"], METHODS["view"] = _split_method, _where_method, _view_method
METHODS["lu"] = _lu_method
METHODS |= {"polygamma": _polygamma_method} | FACTORS_FIRST | _checked.METHODS | _reductions.METHODS
