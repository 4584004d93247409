"""`out=`: of which dtype it may be. What no row here names is computed in its own dtype and goes into each that this
can be cast to, as formulas do in PyTorch."""

from __future__ import annotations

from ._tensor_type import TensorBase
from ._types import bool_, casts, uint8

# Sentences over {name}, the words of the dtypes of the result and of `out` (Float), and those of C++ (float). Where
# there is one for each result of a function, they are a tuple.
_SENTENCE = "Expected out tensor to have dtype {cpp_result}, but got {cpp_out} instead"
_UNCASTABLE = "result type {result} can't be cast to the desired output type {out}"
_UNSAFE = (
    "Expected {what} to be safely castable from {{result}} dtype, but got {what} with dtype {{out}}"
)
_FOUND = "Found dtype {out} but expected {result}"
_OF_JOINS = "torch.cat(): input types can't be cast to the desired output type {out}"
_OF_MEDIANS = " (while checking arguments for median)"

# What makes tensors of nothing, or like others, makes them of the dtype of `out`.
MAKERS = (
    "arange empty empty_like empty_strided eye full full_like linspace logspace ones ones_like rand rand_like randint "
    "randint_like randn randn_like randperm range scalar_tensor tril_indices triu_indices zeros zeros_like"
)
_COMPUTED_IN_IT = frozenset(f"{MAKERS} cumprod cumsum nansum prod sum".split())
_MEANS = ("mean", "nanmean")

# Of which the arguments decide.
_OF_TRUTH, _EXTREMES = ("all", "any"), ("max", "min")
_CLAMPS = ("clamp", "clamp_max", "clamp_min", "clip")

# Those whose result goes into its own dtype alone.
_EXACT = {
    _SENTENCE: (
        "addmm addmv alias_copy aminmax argmax argmin argsort as_strided_copy avg_pool2d avg_pool3d baddbmm bmm cross "
        "cumprod cumsum detach_copy diag diagonal_copy expand_copy gather index_add index_copy index_reduce inverse "
        "isin ldl_factor ldl_factor_ex ldl_solve linalg_cholesky linalg_cholesky_ex linalg_cross linalg_det "
        "linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor linalg_lu_factor_ex "
        "linalg_lu_solve linalg_matmul linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_svd "
        "linalg_svdvals linalg_vector_norm linear log_softmax lu_solve lu_unpack matmul mm msort mv narrow_copy norm "
        "permute_copy prod renorm scatter scatter_add scatter_reduce select_copy slice_copy slice_scatter slogdet "
        "softmax sort split_copy split_with_sizes_copy squeeze_copy sum svd t_copy take_along_dim topk transpose_copy "
        "triangular_solve tril triu unbind_copy unfold_copy unsqueeze_copy view_copy"
    ),
    _FOUND: (
        "abs absolute bitwise_not ceil conj_physical fix floor frac gelu hardshrink neg negative round sgn sign "
        "softplus softshrink trunc"
    ),
    "dtype {result} does not match dtype of out parameter ({out})": MAKERS,
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype.": (
        "amax amin"
    ),
    "Expected out type to be {result} but got {out}": "where",
    "expected scalar_type {result} but found {out}": "cummax cummin logcumsumexp",
    "expected scalar type {result} but found {out}": "linalg_solve_triangular logsigmoid",
    "self and mat2 must have the same dtype, but got {out} and {result}": "addbmm",
    "result dtype {out} does not match input dtype {result}": "dot vdot",
    "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}": (
        "inner tensordot"
    ),
    "multi_dot(): expected out tensor to have dtype {cpp_result} but got {cpp_out}": (
        "chain_matmul linalg_multi_dot"
    ),
    "linalg.norm expected out tensor dtype {result} but got: {out}": "linalg_norm",
    "linalg.matrix_norm expected out tensor dtype {result} but got: {out}": (
        "linalg_matrix_norm nuclear_norm"
    ),
    "linalg.vecdot: Expected out of dtype{result} but found {out}": "linalg_vecdot",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{result} and result has dtype "
    "{out}": "ormqr",
    "quantile() out tensor must be same dtype as the input tensor": "nanquantile quantile",
    "{name}: Expected out tensor to have scalar type {result} but got scalar type{out}": (
        "nonzero nonzero_static"
    ),
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True, but we got output tensor's dtype {out} and out_int32 flag is {is_int32}": (
        "bucketize searchsorted"
    ),
    "take(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}": "take",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "{name} does not support non-boolean outputs.": "isneginf isposinf signbit",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "nan_to_num: dtype of out: {out} should be same as input: {result}": "nan_to_num",
    "the output given to float_power has dtype {out} but the operation's result requires dtype {result}": "float_power",
    "multinomial expects {result} tensor out, got: {out}": "multinomial",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {cpp_result} and hist "
    "{cpp_out}": "histc",
    (
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {cpp_result} and hist "
        "{cpp_out}",
        "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input {cpp_result} and "
        "bin_edges {cpp_out} for dimension 0",
    ): "histogram",
    (
        "output values must be of same type as input",
        "output indices must be of scalar type {result}",
    ): "kthvalue",
    (
        "expected scalar type '{result}' but got '{out}' for values output",
        "expected scalar type '{result}' but got '{out}' for indices output",
    ): "mode",
    (
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
        "torch.{out}Tensor does not equal torch.{result}Tensor" + _OF_MEDIANS,
        "Expected tensor for argument #1 'indices' to have scalar type {result}; but got torch.{out}Tensor instead"
        + _OF_MEDIANS,
    ): "median nanmedian",
    (
        "torch.frexp() expects mantissa to have dtype {cpp_result} but got {cpp_out}",
        "torch.frexp() expects exponent to have {cpp_result} dtype but got {cpp_out}",
    ): "frexp",
}  # fmt: skip

# What is said of others where the result cannot be cast.
_CASTABLE = {
    _OF_JOINS: (
        "cat column_stack concat concatenate dstack hstack row_stack stack vstack"
    ),
    "logsumexp(): Expected floating point type for result tensor, but got: {out}": "logsumexp",
    "ldexp can't be cast to the desired output type {out}": "ldexp",
    "mvlgamma: " + _UNCASTABLE: "mvlgamma",
    "{name}: " + _UNSAFE.format(what="result"): (
        "cholesky cholesky_inverse cholesky_solve matrix_power"
    ),
    "linalg.cond: " + _UNSAFE.format(what="result"): "linalg_cond linalg_cond_named",
    "linalg.pinv: " + _UNSAFE.format(what="result"): "linalg_pinv",
    "tensorinv: " + _UNSAFE.format(what="result"): "linalg_tensorinv",
    "tensorsolve: " + _UNSAFE.format(what="result"): "linalg_tensorsolve",
    "torch.linalg.householder_product: " + _UNSAFE.format(what="result"): (
        "linalg_householder_product orgqr"
    ),
    "torch.linalg.matrix_rank: " + _UNSAFE.format(what="result"): "linalg_matrix_rank",
    tuple("torch.geqrf: " + _UNSAFE.format(what=what) for what in ("a", "tau")): "geqrf",
    tuple(
        "torch.linalg.lstsq: " + _UNSAFE.format(what=what)
        for what in ("solution", "solution", "rank", "singular_values")
    ): "linalg_lstsq",
}  # fmt: skip


def _by_name(rows: dict) -> dict:
    return {name: sentence for sentence, names in rows.items() for name in names.split()}


_EXACT, _CASTABLE = _by_name(_EXACT), _by_name(_CASTABLE)


def dtype_for(function, out, dtype, input=None):
    """The dtype that a function shall compute in: some take that of `out` where none is given."""
    if dtype is not None or not isinstance(out, TensorBase):
        return dtype
    name = function.__name__
    of_floats = name in _MEANS and isinstance(input, TensorBase) and input.is_floating_point()
    if name in _COMPUTED_IN_IT or (of_floats and out.is_floating_point()):
        return out.dtype
    return None


def check_dtype(function, args: tuple, results: tuple, place: int, out) -> None:
    """Refuses the dtype `out` for one of the results of function(*args)."""
    name, result = function.__name__, results[place].dtype
    if out is result or (name in _OF_TRUTH and out in (bool_, uint8)):
        return
    exact, is_castable = _exact_sentence(name, args, len(results)), casts(result, out)
    if name in _MEANS and (is_castable or result is not args[0].dtype):
        exact = _SENTENCE  # another dtype was given: else means are computed in that of `out`
    if is_castable and not exact:
        return
    sentence = exact or _CASTABLE.get(name, _UNCASTABLE)
    raise (TypeError if sentence is _OF_JOINS else RuntimeError)(
        (sentence[place] if isinstance(sentence, tuple) else sentence).format(
            name=name, result=result.word, out=out.word, cpp_result=result.cpp, cpp_out=out.cpp,
            is_int32=result.itemsize == 4,
        )
    )  # fmt: skip


def _exact_sentence(name: str, args: tuple, count: int):
    """The sentence that refuses another dtype than the result's; nothing where it may be cast."""
    if name in _OF_TRUTH:
        return "{name} only supports bool tensor for result, got: {out}"
    if name in _EXTREMES:
        return _SENTENCE if count == 2 else None
    if name in _CLAMPS:
        return None if any(isinstance(x, TensorBase) for x in args[1:]) else _FOUND
    if name == "lerp":
        return _FOUND if isinstance(args[2], TensorBase) else None
    return _EXACT.get(name)
