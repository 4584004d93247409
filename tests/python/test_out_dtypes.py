"""`out=`: which dtypes it may have of each function, and what is said of the others."""

import inspect
import warnings

import dumbtorch as dt
import pytest
from dumbtorch import _out_dtypes

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip

# Calls over t, x and s (float32, 2 x 2; s is positive definite), y (2 x 3), i (int64), b (bool) and p (int32).
OF_FLOATS = (
    # into each dtype that the result can be cast to
    "exp(x", "sqrt(i", "add(x, i", "mul(i, 2", "div(x, 2, rounding_mode='floor'", "pow(x, 2", "maximum(x, x",
    "atan2(x, x", "logit(x", "outer(x[0], x[0]", "kron(x, x", "diff(x", "polygamma(1, x", "special.i1e(x",
    "threshold(x, 1, 2", "addcmul(x, x, x", "angle(x", "nn.functional.normalize(x", "bitwise_and(i, i", "gcd(i, i",
    "max(x", "min(x", "std(x", "var(x, 0", "logsumexp(x, 0", "ldexp(x, x", "cholesky(s", "cholesky_inverse(s",
    "cholesky_solve(x, s", "orgqr(x, x[0]", "linalg.householder_product(x, x[0]", "linalg.cond(x", "linalg.pinv(x",
    "linalg.cond(x, 'fro'", "linalg.tensorinv(x[:, None]", "linalg.tensorsolve(x, x[0]", "linalg.matrix_rank(x",
    "linalg.matrix_power(x, 0", "linalg.matrix_power(x, 1",
    # into any
    "eq(x, i", "lt(x, 2", "logical_and(x, b", "logical_not(x", "zeros(2", "full((2,), 2.5", "empty(0, 3",
    # of that of `out`
    "sum(x, 0", "sum(i, 0", "prod(x, 0", "cumsum(x, 0", "cumprod(i, 0", "nansum(i", "mean(x, 0", "mean(x", "mean(i",
    "arange(4", "linspace(0, 1, 4", "logspace(0, 1, 3", "eye(2", "range(0, 3", "zeros(2, dtype=t.float64",
    "eye(2, dtype=t.float64", "arange(3, dtype=t.int64", "sum(x, 0, dtype=t.float64", "cumsum(x, 0, dtype=t.float64",
    "prod(i, 0, dtype=t.float32", "mean(i, 0, dtype=t.float64", "mean(x, 0, dtype=t.float64",
    # joined, or true
    "cat([x, x]", "cat([x, i]", "stack([i, i]", "hstack([x, x]", "vstack([x, i]", "dstack([x, x]",
    "column_stack([x, x]", "any(x", "any(x, 0", "all(x", "all(i.byte(), 0", "any(b, 1",
    # into their own alone
    "neg(x", "abs(i", "floor(x", "ceil(i", "round(x", "round(x, decimals=1", "trunc(x", "frac(x", "sign(x", "sgn(i",
    "fix(x", "negative(x", "absolute(x", "bitwise_not(i", "conj_physical(x", "hardshrink(x", "nn.functional.gelu(x",
    "nn.functional.softplus(x", "nn.functional.softshrink(x", "clamp(x, 0", "clip(x, 0, 1", "clamp_min(x, 0",
    "clamp_max(i, 1", "clamp(x, x", "clamp(x, x, x", "clamp_min(x, x", "clamp_max(x, i", "lerp(x, x, 0.5",
    "lerp(x, x, x",
    "aminmax(x", "argmax(x", "argmin(x, 0", "norm(x", "norm(x, 2, 0", "linalg.vector_norm(x", "softmax(x, 0",
    "log_softmax(x, 0", "softmax(x, 0, t.float64", "topk(x, 1", "sort(x", "msort(x", "argsort(x, stable=True",
    "renorm(x, 2, 0, 1", "alias_copy(x", "view_copy(x, (4,)", "as_strided_copy(x, (2,), (1,)", "detach_copy(x",
    "diagonal_copy(x", "expand_copy(x, (1, 2, 2)", "permute_copy(x, (1, 0)", "select_copy(x, 0, 0", "slice_copy(x, 0",
    "split_with_sizes_copy(x, (1, 1)", "squeeze_copy(x", "t_copy(x", "transpose_copy(x, 0, 1", "unbind_copy(x",
    "unfold_copy(x, 0, 1, 1", "unsqueeze_copy(x, 0", "slice_scatter(x, x", "svd(x", "slogdet(x", "inverse(x",
    "lu_solve(x, x, p", "lu_unpack(x, p", "triangular_solve(x, x", "take_along_dim(x, i * 0, 0", "gather(x, 0, i * 0",
    "scatter(x, 0, i * 0, x", "scatter(x, 0, i * 0, 1", "scatter_add(x, 0, i * 0, x",
    "scatter_reduce(x, 0, i * 0, x, 'sum'", "index_add(x, 0, i[0] * 0, x", "index_copy(x, 0, i[0] * 0, x",
    "index_reduce(x, 0, i[0] * 0, x, 'mean'", "tril(x", "triu(i", "cross(y, y", "mm(x, x", "mv(x, x[0]",
    "bmm(x[None], x[None]", "addmm(x, x, x", "addmv(x[0], x, x[0]", "baddbmm(x[None], x[None], x[None]",
    "addbmm(x, x[None], x[None]", "matmul(x, x", "matmul(i, i", "linalg.matmul(x, x", "linalg.cholesky(s",
    "linalg.cholesky_ex(s", "linalg.cross(y, y", "linalg.det(x", "linalg.eigh(s", "linalg.eigvalsh(s", "linalg.inv(x",
    "linalg.inv_ex(x", "linalg.ldl_factor(s", "linalg.ldl_factor_ex(s", "linalg.ldl_solve(s, p, x", "linalg.lu(x",
    "linalg.lu_factor(x", "linalg.lu_factor_ex(x", "linalg.lu_solve(x, p, x", "linalg.qr(x", "linalg.slogdet(x",
    "linalg.solve(x, x", "linalg.solve_ex(x, x", "linalg.solve_triangular(x, x, upper=True", "linalg.svd(x",
    "linalg.svdvals(x", "linalg.norm(x", "linalg.norm(x, 2", "linalg.norm(x, dtype=t.float64", "linalg.matrix_norm(x",
    "linalg.matrix_norm(x, 2", "nuclear_norm(x", "linalg.vecdot(x, x", "linalg.multi_dot([x, x, x]",
    "nn.functional.linear(x, x", "nn.functional.avg_pool2d(x[None], 2", "nn.functional.logsigmoid(x",
    "nn.functional.avg_pool3d(x[None, None], (1, 2, 1)", "max(x, 0", "min(i, 0", "max(x, x", "diag(x", "isin(x, x",
    "amax(x, 0", "amin(x", "where(b, x, x", "cummax(x, 0", "cummin(x, 0", "logcumsumexp(x, 0", "dot(x[0], x[0]",
    "vdot(i[0], i[0]", "tensordot(x, x, 1", "inner(x, x", "ormqr(x, x[0], x", "quantile(x, 0.5",
    "nanquantile(x, 0.5", "nonzero(x", "nonzero_static(x, size=4", "searchsorted(x[0], x",
    "searchsorted(x[0], x, out_int32=True", "bucketize(x, x[0]", "take(x, i", "index_select(x, 0, i[0] * 0",
    "masked_select(x, b", "isposinf(x", "isneginf(x", "signbit(x", "heaviside(x, x", "nan_to_num(x", "float_power(x, 2",
    "float_power(i, i", "multinomial(x, 1", "histc(x, 3", "histogram(x, 3", "kthvalue(x, 1, 0", "mode(x, 0",
    "frexp(x", "geqrf(x",
)  # fmt: skip

# PyTorch says something of its code, or names the wrong dtype.
# Vectors that may be turned round.
SIGNED = ("svd(", "linalg.svd(", "linalg.eigh(")
ODD = ("Could this error message be improved", "mean.dtype_out()")


def operands(t):
    x = t.tensor([[1.5, 2.25], [3.0, 4.0]])
    return {
        "t": t,
        "x": x,
        "s": t.tensor([[4.5, 1.0], [1.0, 5.0]]),
        "y": t.arange(6.0).reshape(2, 3),
        "i": t.tensor([[1, 0], [1, 1]]),
        "b": x > 2,
        "p": t.ones(2, dtype=t.int32),
    }


def outcome(t, call, dtypes):
    """What lies in `out` of these dtypes, or the error."""
    outs = tuple(t.empty(0, dtype=getattr(t, d)) for d in dtypes)
    names = operands(t) | {"out": outs if len(outs) > 1 else outs[0]}
    try:
        eval(f"t.{call}, out=out)", names)
    except Exception as error:
        return type(error), str(error)
    return outs if "empty" not in call else tuple(o.shape for o in outs)


def places(t, call):
    """The dtypes of the results, and then another dtype in the place of each of them in turn."""
    made = eval(f"t.{call})", operands(t))
    own = [
        str(x.dtype).removeprefix("torch.") for x in (made if isinstance(made, tuple) else [made])
    ]
    yield own
    for k in range(len(own)):
        yield from ([*own[:k], d, *own[k + 1 :]] for d in DTYPES if d != own[k])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", OF_FLOATS)
def test_dtypes(torch, same, call):
    of = call if not call.startswith("mean(i") else call.replace("(i", "(x")
    for dtypes in places(torch, of):
        theirs, mine = outcome(torch, call, dtypes), outcome(dt, call, dtypes)
        refused = isinstance(theirs[0], type)
        assert isinstance(mine[0], type) == refused, (dtypes, theirs, mine)
        if not refused:
            if call.startswith(SIGNED):
                mine, theirs = ([x.abs() for x in outs] for outs in (mine, theirs))
            if not call.startswith("multinomial"):
                same(mine, theirs, rtol=2e-2, atol=1e-5)
            continue
        assert mine[0] is theirs[0], (dtypes, theirs, mine)
        said = (
            theirs[1]
            .replace("CPUBFloat16Type", "torch.BFloat16Tensor")
            .replace("CPUBoolType", "torch.BoolTensor")
        )
        if not any(odd in said for odd in ODD):
            name = call.partition("(")[0].replace(".", "_")
            assert mine[1] in (said, f"{name}: {said}", said.replace("(): ", ": ")), dtypes


def test_every_name_of_the_table_is_a_function():
    from dumbtorch import _copies, _functions, _ldl, _of_complex, _ops, _overloads, _reductions

    modules = (_ops, _copies, _functions, _ldl, _of_complex, _overloads, _reductions)
    for name in [*_out_dtypes._EXACT, *_out_dtypes._CASTABLE, *_out_dtypes._COMPUTED_IN_IT]:
        assert (
            any(inspect.isfunction(getattr(m, name, None)) for m in modules)
            or name in _copies.FUNCTIONS
        ), name


def test_a_function_that_pytorch_gives_no_out_casts():
    """relu's lies where its dtype can be cast to."""
    out = dt.empty(0, dtype=dt.float64)
    dt.relu(dt.tensor([-1.0, 2.0]), out=out)
    assert out.tolist() == [0, 2]
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        dt.relu(dt.tensor([-1.0, 2.0]), out=dt.empty(0, dtype=dt.int64))


@pytest.mark.parametrize("call", ["exp(x", "mm(x, x", "argmax(x, 0", "sum(x, 0", "clamp(x, 0"])
def test_a_refused_place_is_not_resized(torch, call):
    for t in (dt, torch):
        out = t.full((7,), 3, dtype=t.bool)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if call.startswith("sum"):
                out = t.full((7,), 3.0, dtype=t.float16)
                call = "sum(x, 0, dtype=t.float64"
            with pytest.raises(RuntimeError):
                eval(f"t.{call}, out=out)", operands(t) | {"out": out})
        assert out.shape == (7,)
