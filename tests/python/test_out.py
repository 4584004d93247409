"""`out=`: results are written into given tensors by PyTorch's rules."""

import pickle
import warnings

import dumbtorch as dt
import pytest
from dumbtorch import _ops

DTYPES = ("float32", "float64", "float16", "int64", "int32", "bool")

# Calls over t, x (float32), i (int64) and b (bool), all 2 x 2.
CALLS = (
    "exp(x", "add(x, x", "add(x, i, alpha=2", "mul(x, 2", "div(i, i", "pow(x, 2", "sqrt(i",
    "clamp(x, 0, 1", "round(x, decimals=1", "lerp(x, x, 0.5", "addcmul(x, x, x", "maximum(x, x",
    "eq(x, i", "logical_and(x, b", "bitwise_and(i, i", "floor_divide(i, i", "where(b, x, x",
    "sum(x, 0", "sum(i, (0, 1)", "mean(x, 1", "prod(x, 0", "cumsum(x, 0", "var(x, 0", "std(x, 1",
    "amax(x, 0", "norm(x, 2, 0", "logsumexp(x, 0", "argmax(x, 0", "any(x, 0", "max(x", "max(x, x",
    "mm(x, x", "matmul(x, x[0]", "bmm(x[None], x[None]", "addmm(x, x, x", "mv(x, x[0]", "dot(x[0], x[0]",
    "cat([x, x]", "stack([x, x], 1", "gather(x, 0, i * 0", "index_select(x, 0, i[0] * 0",
    "scatter(x, 0, i * 0, x", "tril(x", "triu(x, 1", "nonzero(x", "masked_select(x, b", "softmax(x, 0",
    "zeros(2, 2", "zeros((3,)", "ones(2", "full((2, 2), 2", "arange(4", "arange(1, 4", "arange(0, 3, 2",
    "linspace(0, 1, 4", "eye(2", "empty(0, 3", "isneginf(x",
    "linalg.norm(x", "linalg.vector_norm(x, 2, 0", "linalg.matrix_norm(x",
    "linalg.norm(x, 'fro'",
)  # fmt: skip


def outcome(call):
    """What a call gives, or its error with the sentence behind the op's name."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def sentence(error):
    """What is said behind the op's name."""
    return error[1].removeprefix(error[1].partition(": ")[0] + ": ")


def operands(t):
    x = t.tensor([[1.5, 2.25], [-3.0, 4.0]])
    return {
        "t": t,
        "x": x,
        "i": t.tensor([[1, 2], [3, 5]]),
        "b": t.tensor([[True, False], [True, True]]),
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
def test_values(torch, same, call, dtype):
    def run(t):
        names = operands(t)
        names["out"] = out = t.empty(0, dtype=getattr(t, dtype))
        made = outcome(lambda: eval(f"t.{call}, out=out)", names))
        assert isinstance(made, tuple) or made is out
        return made

    mine, theirs = run(dt), run(torch)
    if isinstance(theirs, tuple):
        assert issubclass(mine[0], (RuntimeError, TypeError))
    elif "empty" in call:
        assert tuple(mine.shape) == tuple(theirs.shape)
    else:
        same(mine, theirs, rtol=1e-3)


@pytest.mark.parametrize(
    "call",
    [
        "gelu(x", "gelu(x, approximate='tanh'", "softplus(x, 2, 1", "softshrink(x, 0.5", "logsigmoid(x", "hardshrink(x",
        "linear(x, x", "linear(x, x, x[0]", "avg_pool2d(x[None], 2", "avg_pool3d(x[None, None], (1, 2, 1)",
    ],
)  # fmt: skip
def test_functional(both, same, call):
    """What `functional` alone shows has `out=` where PyTorch's has it."""

    def run(t):
        names = operands(t)
        f, x = t.nn.functional, names["x"]
        out, view = t.empty(0), t.zeros(4, 3)
        assert eval(f"f.{call}, out=out)", {"f": f, "x": x, "out": out}) is out
        if out.shape == (2, 2) and call != "gelu(x":  # which PyTorch's oneDNN does not write
            eval(f"f.{call}, out=view[1:3, 1:])", {"f": f, "x": x, "view": view})
        leaf = x.clone().requires_grad_()
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            eval(f"f.{call}, out=out)", {"f": f, "x": leaf, "out": out})
        return out, view

    same(*both(run))


@pytest.mark.parametrize(
    "call", ["max(x, 0", "min(x, 1, True", "median(x, 0", "topk(x, 1", "sort(x"]
)
def test_several_results(both, same, call):
    def run(t):
        names = operands(t)
        names["out"] = out = (t.empty(0), t.empty(0, dtype=t.int64))
        made = eval(f"t.{call}, out=out)", names)
        assert made[0] is out[0] and made.indices is out[1]
        return made

    same(*map(tuple, both(run)))


SEVERAL = (
    "sort(x, 0", "topk(x, 2, 0", "max(x, 0", "min(x, dim=0", "max(x, axis=0", "kthvalue(x, 1, 0", "median(x, 0",
    "nanmedian(x, axis=0", "mode(x, 0", "cummax(x, 0", "cummin(x, 0", "aminmax(x", "aminmax(x, dim=0", "frexp(x",
    "svd(x", "qr(x", "slogdet(x", "triangular_solve(x, x", "geqrf(x", "lu_unpack(x, i[0].int()", "histogram(x, 3",
    "var_mean(x, 0", "std_mean(x, 0", "histogramdd(x, 2", "linalg.svd(x", "linalg.qr(x", "linalg.slogdet(x",
    "linalg.eigh(x", "linalg.lu(x", "linalg.lu_factor(x", "linalg.lu_factor_ex(x", "linalg.inv_ex(x",
    "linalg.cholesky_ex(x @ x.T", "linalg.solve_ex(x, x", "linalg.lstsq(x, x", "linalg.ldl_factor(x @ x.T",
    "linalg.ldl_factor_ex(x @ x.T", "split_copy(x, 1", "unbind_copy(x", "split_with_sizes_copy(x, (1, 1)",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", SEVERAL)
def test_what_is_no_place_for_several_results(torch, call):
    """Refused as PyTorch does, and nothing is written: of no wrong place, and of none beside one."""

    def run(t, make):
        names = operands(t)
        out = names["out"] = make(t, len(eval(f"t.{call})", names)))
        places = [p for p in (out if isinstance(out, tuple) else (out,)) if p is not None]
        before = [(p.tolist(), p._version) for p in places]
        made = outcome(lambda: eval(f"t.{call}, out=out)", names))
        return made, [(p.tolist(), p._version) for p in places] == before

    def some(t, n, **options):
        return tuple(t.full((2,), 7.0, **options) for _ in range(n))

    made = {
        **{f"one of {n} dimensions": lambda t, _, n=n: t.full((2,) * n, 7.0) for n in (0, 1, 2)},
        "too few": lambda t, n: some(t, n - 1),
        "too many": lambda t, n: some(t, n + 1),
        "none": lambda t, n: (),
        "None behind": lambda t, n: (*some(t, n - 1), None),
        "None before": lambda t, n: (None, *some(t, n - 1)),
        "bools": lambda t, n: some(t, n, dtype=t.bool),
        "the last of bools": lambda t, n: (*some(t, n - 1), *some(t, 1, dtype=t.bool)),
    }
    takes_none = call.startswith(("var_mean", "std_mean", "histogramdd"))  # in PyTorch
    for what, make in made.items():
        (error, _), untouched = run(dt, make)
        theirs, _ = run(torch, make)
        may_differ = takes_none or (call.startswith("split_copy") and "bools" in what)
        assert issubclass(error, (TypeError, RuntimeError)), what
        assert untouched, what
        assert may_differ or error is theirs[0], what


def test_memory(both, same):
    """It is written where it lies: views, strides, inputs; what has to grow has memory of its own."""

    def run(t):
        x = t.arange(6.0).reshape(2, 3)
        base = t.zeros(3, 4)
        t.add(x, 1, out=base[1:, 1:])
        turned = t.zeros(3, 2)
        t.exp(x, out=turned.t())
        t.mul(x, x, out=x)
        with pytest.warns(UserWarning, match="was resized since it had shape"):
            grown = t.neg(x, out=t.zeros(5))
        scalar = t.sum(x, 0, out=t.zeros(3))
        version = base._version
        t.zeros(3, 4, out=base)
        return base, turned, x, grown, scalar, base._version > version

    same(*both(run))


def test_views_of_another_size(both, same):
    """A view is resized within the memory that it shows, so that the base sees what is written."""

    def run(t):
        base = t.zeros(9)
        t.ones(2, out=base[:0])
        t.add(t.ones(2), 1, out=base[3:3])
        with pytest.warns(UserWarning, match="was resized since it had shape"):
            t.mul(t.ones(2), 5, out=base[6:9])
        square = t.zeros(2, 3)
        turned = t.add(square.t(), 2, out=square.view(-1)[:0])
        return base, square, t.tensor(turned.stride())

    same(*both(run))


@pytest.mark.parametrize(
    "call", ["arange(4", "arange(0, 8, 2", "linspace(0, 3, 4", "logspace(0, 1, 4", "range(0, 3"]
)
def test_sequences_into_tensors_of_any_shape(both, same, call):
    """A row of numbers fills what has as many elements, in row-major order."""

    def run(t):
        base, square = t.zeros(2, 3), t.zeros(2, 2)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.range is deprecated")
            for out in (base.narrow(1, 1, 2), square.t()):
                assert eval(f"t.{call}, out=out)", {"t": t, "out": out}).shape == (2, 2)
        return base, square

    same(*both(run))


MAKERS = {
    "arange": (3.0,),
    "empty": (3,),
    "eye": (3,),
    "full": ((3,), 2.0),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "normal": (0.0, 1.0, (3,)),
    "ones": (3,),
    "rand": (3,),
    "randint": (5, (3,)),
    "randn": (3,),
    "randperm": (3,),
    "range": (0, 2),
    "zeros": (3,),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_makes_tensors_says_whether_the_place_requires_grad(both, same, name):
    def run(t, requires_grad, length):
        out = t.zeros(length)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made = getattr(t, name)(*MAKERS[name], out=out, requires_grad=requires_grad)
        assert made is out
        texts = [str(warning.message).partition(" (Triggered")[0] for warning in said]
        return out.requires_grad, out.is_leaf, tuple(out.shape), texts

    for case in ((True, 2), (False, 2), (True, 3)):
        same(*both(lambda t: run(t, *case)))  # noqa: B023


@pytest.mark.parametrize("name", sorted(MAKERS.keys() - {"empty", "randn"}))
def test_what_makes_tensors_writes_a_leaf_without_gradients(both, same, name):
    """It requires none afterwards."""

    def run(t):
        out = t.zeros(3, requires_grad=True)
        with t.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(t, name)(*MAKERS[name], out=out)
        return out.requires_grad

    same(*both(run))


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("name", MAKERS)
def test_what_makes_tensors_writes_no_leaf_whose_gradient_is_recorded(name):
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        getattr(dt, name)(*MAKERS[name], out=dt.zeros(3, requires_grad=True))


@pytest.mark.parametrize("call", ["bernoulli(t.ones(3)", "multinomial(t.ones(3), 3"])
def test_draws_into_a_place_that_grows(both, same, call):
    def run(t):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return eval(f"t.{call}, out=t.zeros(2, dtype=t.int64))", {"t": t}).shape

    same(*both(run))


def test_normal_numbers_are_a_leaf(both, same):
    def run(t):
        x = t.normal(1.0, 2.0, (3,), requires_grad=True)
        x.sum().backward()
        return x.is_leaf, x.grad

    same(*both(run))


def test_the_warning_of_a_resize_names_the_line_that_calls():
    for call in ("exp(x", "var(x", "max(x", "norm(x", "linalg.norm(x", "nn.functional.normalize(x"):
        with pytest.warns(UserWarning, match="was resized") as warned:
            eval(compile(f"t.{call}, out=t.ones(7))", "here", "eval"), operands(dt) | {"t": dt})
        assert warned[0].filename == "here", call


@pytest.mark.parametrize(
    "call",
    [
        "zeros(2, 3", "ones((2, 3)", "empty(2, 3", "full((2, 3), 1.0", "rand(2, 3", "randn(2, 3", "randint(5, (2, 3)",
        "randperm(7", "eye(3", "linspace(0, 1, 5", "logspace(0, 1, 5", "range(0, 4", "arange(7", "arange(2.0, 7.5",
        "normal(0.0, 1.0, (2, 3)", "normal(t.ones(2), t.ones(2)", "bernoulli(t.ones(2)", "multinomial(t.ones(2), 1",
        "addbmm(t.eye(3), t.eye(3)[None], t.eye(3)[None]", "narrow_copy(t.ones(3), 0, 0, 2", "add(t.ones(2), 1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(0, 2), (2, 2), (7,)])
def test_which_resizes_are_warned_of(both, call, shape):
    """What makes tensors resizes without a word."""

    def run(t):
        is_int = call.startswith(("randperm", "multinomial"))
        out = t.zeros(shape, dtype=t.int64 if is_int else t.float32)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            shape_of_it = eval(f"t.{call}, out=out)", {"t": t, "out": out}).shape
        return shape_of_it, [str(w.message).partition(" (Triggered")[0] for w in seen]

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("length", [0, 1])
def test_a_leaf_is_resized_where_no_gradients_are_recorded(both, same, length):
    def run(t):
        out = t.zeros(length, requires_grad=True)
        with t.no_grad():
            t.add(t.ones(2, 2), 1, out=out)
        assert out.is_leaf and out.requires_grad
        return out.detach()

    same(*both(run))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float64"])
def test_bernoulli_into_any_dtype(both, same, dtype):
    same(
        *both(
            lambda t: t.bernoulli(
                t.tensor([0.0, 1.0, 1.0]), out=t.zeros(3, dtype=getattr(t, dtype))
            )
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "t.mm(x, y, out=x)", "t.mm(x, y, out=y)", "t.cumsum(x, 0, out=x)", "t.add(x.t(), y, out=x)",
        "t.matmul(x, x, out=x.t())", "t.addmm(x, x, y, out=x)", "t.lerp(x, y, x, out=x)", "t.sum(x, 0, out=x[0])",
        "t.softmax(x, 0, out=x)", "t.cat([x[:1], y[:2]], out=x)", "t.stack(list(x.t()), out=x)",
        "t.where(x > 0, x.t(), y, out=x)", "t.index_select(x, 0, t.tensor([2, 1, 0]), out=x)", "t.pow(x[0], y, out=x)",
        "t.add(x, x[:, :1], alpha=x[0, 0].item(), out=x)", "t.linalg.inv(x, out=x)", "t.tril(x, out=x.detach())",
        "t.linalg.multi_dot([x, y, x], out=x)", "t.eq(x, x.t(), out=x)",
    ],
)  # fmt: skip
def test_results_over_what_they_are_computed_from(both, same, text):
    """PyTorch reads some of it after it was written: there, it is computed first."""

    def run(t):
        x = t.arange(9.0).reshape(3, 3) ** 2 - 3
        names = {"t": t, "x": x, "y": x.sin() + 1}
        if t is dt:
            eval(text, names)
        else:
            call, _, place = text[:-1].rpartition(", out=")
            eval(place, names).copy_(eval(call + ")", names))
        return x, names["y"]

    same(*both(run), rtol=1e-4)


@pytest.mark.parametrize(
    "call, dtype",
    [
        ("add(i, 1", "float64"), ("mul(i.int(), 3", "float32"), ("eq(x, i", "uint8"),
        ("mul(i.short(), 2", "float16"), ("cat([i, i]", "float64"), ("cumsum(i.t(), 0", "float64"),
    ],
)  # fmt: skip
def test_a_place_of_another_dtype_with_as_many_bytes(both, same, call, dtype):
    def run(t):
        names = {"t": t, "x": t.tensor([[0.0, 1], [2, 5]]), "i": t.tensor([[3, 1], [5, 6]])}
        out = t.zeros_like(eval(f"t.{call})", names), dtype=getattr(t, dtype))
        return eval(f"t.{call}, out=out)", names | {"out": out})

    same(*both(run))


@pytest.mark.parametrize(
    "call",
    ["t.mm(x, x[:2], out=c)", "t.index_select(x, 0, t.tensor([7]), out=c)", "t.exp(3, 4, out=c)"],
)
def test_what_failed_leaves_no_trace(call):
    """The memory of `out` is not given to what is computed next."""
    c, x = dt.zeros(3, 3), dt.ones(3, 3)
    with pytest.raises((RuntimeError, TypeError, IndexError)):
        eval(call, {"t": dt, "x": x, "c": c})
    c.zero_()
    y = x + 1
    assert c.sum().item() == 0 and y.data_ptr() != c.data_ptr()


def test_memory_is_given_once():
    c, x = dt.zeros(3, 3), dt.ones(3, 3)
    address = c.data_ptr()
    version = c._version
    assert dt.mm(x, x, out=c) is c and c.data_ptr() == address and c._version > version
    y = dt.mm(x, x)
    assert y.data_ptr() != address
    view = dt.linalg.multi_dot([x, x, x, x], out=c)
    z = x * 2
    assert view is c and z.data_ptr() != address and c.sum().item() == 27 * 9


def test_a_saved_tensor_that_was_written(both):
    def run(t):
        x, w, c = t.ones(3, 3), t.ones(3, 3, requires_grad=True), t.zeros(3, 3)
        y = (w * c).sum()
        t.mm(x, x, out=c)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()

    both(run)


def test_autocast_leaves_results_that_are_given_alone(both, same):
    def run(t):
        x, c = t.arange(9.0).reshape(3, 3) / 7, t.zeros(3, 3)
        with t.autocast("cpu", dtype=t.bfloat16):
            return t.mm(x, x, out=c)

    same(*both(run))


def test_refusals(torch):
    calls = (
        "t.add(x, x, out=i)", "t.exp(x, out=b)", "t.exp(x, out=3)", "t.exp(x, out=(x, x))",
        "t.add(g, x, out=t.empty(0))", "t.exp(x, out=g)", "t.mm(g, x, out=t.empty(0))",
        "t.zeros(2, dtype=t.float64, out=t.empty(2))", "t.add(x, x, out=x[0, 0].expand(2, 2))",
    )  # fmt: skip

    def run(t, text):
        names = operands(t)
        names["g"] = t.ones(2, 2, requires_grad=True)
        return outcome(lambda: eval(text, names))

    for text in calls:
        mine, theirs = run(dt, text), run(torch, text)
        assert mine[0] is theirs[0], text
        if "expand" in text:
            assert "more than one element of the written-to tensor" in mine[1]
        else:
            assert sentence(mine) == sentence(theirs), text
    with dt.no_grad():
        assert dt.exp(dt.ones(2, requires_grad=True), out=dt.empty(0)).shape == (2,)
        dt.exp(dt.ones(2), out=dt.ones(2, requires_grad=True))


@pytest.mark.parametrize("space", ["", "linalg"])
def test_every_function_that_pytorch_has_it_for(torch, space):
    """As far as PyTorch's documentation says."""
    import inspect

    ours, theirs = (getattr(t, space) if space else t for t in (dt, torch))
    missing = []
    for name in sorted(n for n in vars(ours) if callable(getattr(ours, n)) and n[0] != "_"):
        if "out=None" in (getattr(getattr(theirs, name, None), "__doc__", None) or ""):
            parameters = inspect.signature(getattr(ours, name)).parameters
            if not {"out", "options"} & set(parameters):
                missing.append(name)
    # PyTorch itself refuses them.
    assert missing == ([] if space else ["empty_permuted", "from_file"])


def test_functions_in_place(torch):
    """What PyTorch has as a function in place is one here, and the method's."""
    for name in sorted(vars(dt.Tensor)):
        if name.endswith("_") and name[0] != "_" and hasattr(torch, name):
            assert getattr(dt, name) in (getattr(dt.Tensor, name), _ops.METHODS.get(name)), name
    for name in ("relu_", "elu_", "leaky_relu_", "hardtanh_", "celu_", "selu_", "threshold_"):
        if hasattr(dt.nn.functional, name[:-1]):
            assert hasattr(dt.nn.functional, name)
    x = dt.tensor([-1.0, 2.0])
    assert dt.relu_(x) is x and x.tolist() == [0.0, 2.0]
    assert dt.nn.functional.leaky_relu_(dt.tensor([-1.0]), 0.5).tolist() == [-0.5]
    assert dt.round_(dt.tensor([1.26]), decimals=1).tolist() == dt.tensor([1.3]).tolist()


@pytest.mark.parametrize(
    ("dtype", "call"),
    [
        ("int32", lambda t, o: t.add(t.ones(3), t.ones(3), out=o)),
        ("int64", lambda t, o: t.exp(t.ones(3, dtype=t.float64), out=o)),
        ("int32", lambda t, o: t.div(t.ones(3), 2, out=o)),
        ("int32", lambda t, o: t.cat([t.ones(1), t.ones(2)], out=o)),
        ("int32", lambda t, o: t.mv(t.ones(3, 3), t.ones(3), out=o)),
        ("int32", lambda t, o: t.linalg.eigvalsh(t.ones(3, 3), out=o)),
    ],
)
def test_a_refused_result_is_not_written(dtype, call):
    for t in (dt, pytest.importorskip("torch")):
        o = t.tensor([7, 7, 7], dtype=getattr(t, dtype))
        with pytest.raises((RuntimeError, TypeError)):
            call(t, o)
        assert o.tolist() == [7, 7, 7]


def test_what_a_failing_function_wrote_counts_as_a_change():
    """Here `out` has the values by then; what a backward needs of it is gone, and that is said."""
    w, o = dt.ones(3, requires_grad=True), dt.full((3,), 7.0)
    z = w * o
    with pytest.raises(IndexError):
        dt.gather(dt.ones(3), 0, dt.tensor([0, 1, 9]), out=o)
    if o.tolist() == [7.0] * 3:
        z.sum().backward()
        assert w.grad.tolist() == [7.0] * 3
    else:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_a_transposed_out():
    libraries = (dt, pytest.importorskip("torch"))
    ours, theirs = (t.zeros(3, 2).t() for t in libraries)
    for t, out in zip(libraries, (ours, theirs), strict=True):
        assert t.exp(t.arange(6.0).reshape(2, 3), out=out) is out
    assert ours.stride() == theirs.stride()
    for mine, other in zip(ours.tolist(), theirs.tolist(), strict=True):
        assert mine == pytest.approx(other)


@pytest.mark.parametrize(
    "text",
    ["t.topk(x, 2, out=(f, i))", "t.sort(x, out=(f, i))", "t.max(x, 1, out=(f, i))", "x.cummin(1)",
     "t.aminmax(x, out=(f, g))", "t.linalg.qr(x, out=(f, g))", "t.qr(x, out=(f, g))", "t.qr(x)",
     "t.linalg.slogdet(x, out=(f, g))", "t.slogdet(x, out=(f, g))", "t.linalg.ldl_factor(x)",
     "t.linalg.ldl_factor(x, out=(f, i.int()))", "t.histogramdd(x, [2, 2])"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:torch.qr is deprecated", "ignore:__floordiv__")
def test_names_of_results_that_are_given(text, both):
    """Results that were written into `out` have a class of their own, which can be pickled."""

    def run(t):
        given = {"f": t.empty(0), "g": t.empty(0), "i": t.empty(0, dtype=t.int64)}
        result = eval(text, {"t": t, "x": t.eye(2) + 1, **given})
        kind = type(result)
        again = pickle.loads(pickle.dumps(result))
        is_public = getattr(t.return_types, kind.__name__) is kind is type(again)
        return kind.__name__, repr(result).partition("(")[0], kind.__match_args__, is_public

    mine, theirs = both(run)
    assert mine == theirs


def test_copies_of_parts_return_nothing(both):
    def run(t):
        x, outs = t.arange(6.0).reshape(3, 2), [[t.empty(2) for _ in range(3)] for _ in range(1)]
        outs += [[t.empty(1, 2), t.empty(2, 2)], [t.empty(2, 2), t.empty(1, 2)]]
        made = [
            t.unbind_copy(x, out=outs[0]),
            t.split_with_sizes_copy(x, [1, 2], out=outs[1]),
            t.split_copy(x, 2, out=outs[2]),
        ]
        return made, [y.tolist() for out in outs for y in out]

    mine, theirs = both(run)
    assert mine == theirs
