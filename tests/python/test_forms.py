"""Forms of calls that PyTorch takes: names of arguments, their order, numbers for lists."""

import inspect

import dumbtorch as dt
import pytest

CALLS = [
    "t.softmax(x, 0, t.float64)", "t.log_softmax(x, 0, t.float64)", "x.softmax(0, t.float64)",
    "x.log_softmax(0, t.float64)", "t.special.softmax(x, 0, t.float64)", "t.result_type(tensor=x, other=2)",
    "t.result_type(scalar=1, tensor=x)", "t.result_type(scalar1=1, scalar2=2.5)",
    "t.tensor_split(x, tensor_indices_or_sections=t.tensor(2))", "t.tensor_split(x, indices=[1, 2])",
    "x.tensor_split(tensor_indices_or_sections=t.tensor([1, 2]))", "t.linalg.lstsq(m, b=m).solution",
    "t.linalg.lstsq(input=m, b=m).solution", "t.linalg.tensorsolve(input=m, other=x[:2])",
    "t.linalg.solve_triangular(input=m, B=m, upper=True)", "t.linalg.ldl_factor(input=m)",
    "t.linalg.ldl_factor_ex(input=m)", "t.linalg.diagonal(A=m)", "x.copy_(other=x * 2, non_blocking=False)",
    "x.is_set_to(tensor=x)", "x.is_pinned('cpu')", "x.is_pinned(device='cpu')", "x[:1].expand(2, implicit=True)",
    "x[:1].expand(size=(2,), implicit=False)", "t.expand_copy(x[:1], (3,), implicit=True)",
    "t.tril_indices(2, 3, requires_grad=False)", "t.triu_indices(2, 3, requires_grad=False)",
    "t.utils.data.default_convert(data=x)", "t.nn.functional.elu_(x - 2, 0.5, 2.0, 3.0)",
    "t.nn.functional.elu_(x - 2, 0.5)", "t.rrelu(x - 2, 0.1, 0.3, False, None)",
    "t.rrelu_(x - 2, 0.1, 0.3, False, None)", "len(list(two.modules(remove_duplicate=False)))",
    "len(list(two.modules()))", "t.subtract(x, 2, 3)", "x.subtract(2, 3)", "x.subtract_(1.5, 0)",
    "t.rsub(x, 2, 3)", "t.sub(x, 2, 3)", "x.add_(2, 3)", "x.hsplit(1, 2)", "m.hsplit(1, 1)", "m.vsplit(1, 1)",
    "c.dsplit(1, 2)", "m.hsplit((1,))", "x.hsplit(2)", "t.view_copy(x, t.int32)", "t.view_copy(x, dtype=t.int32)",
    "t.view_copy(n.t(), (6,))", "t.view_copy(n, size=(3, 2))", "t.norm(m, 2, 0, True, t.zeros(1, 2))",
    "t.norm(m, 2, 0, True, None, t.float64)", "m.norm(2, 0, True, t.float64)", "m.norm(p=1, dim=1, dtype=t.float64)",
    "t.lu(m, out=(t.zeros(2, 2), t.zeros(2, dtype=t.int32)))", "tuple(t.lu(m, get_infos=True))",
    "t.lu(m, get_infos=True).LU", "t.lu(m, True, False)", "m.lu(get_infos=True)",
    "t.adaptive_avg_pool1d(c, output_size=2)", "t.nn.functional.adaptive_avg_pool1d(c, 2)",
    "t.triplet_margin_loss(m, m * 2, m + 1, margin=0.0)",
    "t.triplet_margin_loss(m, m * 3, m + 1, -0.5, 2.0, 1e-6, True, 1)",
    "t.margin_ranking_loss(x, x * 2, t.tensor(1.0))", "t.margin_ranking_loss(n, n[0], t.tensor(-1.0), 0.5, 1)",
    "t.binary_cross_entropy_with_logits(x[:3], n, reduction=1)", "t.binary_cross_entropy_with_logits(x, x)",
    "t.nn.functional.hardtanh(t.tensor([1, 2], dtype=t.uint8), -0.5, 0.5)",
    "t.nn.functional.hardtanh(t.tensor([1, -2]), -1.5, 0.5)",
    "t.take_along_dim(x, t.tensor([1, 2], dtype=t.int32))", "t.take_along_dim(n, t.tensor([[5], [1]], dtype=t.int32))",
    "t.histogramdd(n.t(), [2, 2], None, None, True).hist", "t.nuclear_norm(m)", "t.nuclear_norm(m, True)",
    "t.nuclear_norm(c, keepdim=True)", "t.nuclear_norm(m, (0, 1), True)",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_calls(both, same, text):
    def run(t):
        x, m = t.tensor([1.0, 2, 3, 5]), t.tensor([[2.0, 1], [1, 3]])
        n, c = t.arange(6.0).reshape(2, 3), t.arange(8.0).reshape(1, 2, 4)
        one = t.nn.Linear(1, 1)
        names = {"t": t, "x": x, "m": m, "n": n, "c": c, "two": t.nn.Sequential(one, one)}
        out = eval(text, names)
        return (out, x) if type(out).__name__ != "dtype" else str(out).removeprefix("dumb")

    same(*both(run))


@pytest.mark.parametrize(
    "text",
    [
        "t.subtract(x, 2, x)", "t.rsub(x, x, 3)", "t.sub(x, x, 3)", "t.view_copy(x, 2, 2)",
        "t.view_copy(x, (3,))", "t.tril_indices(2, 2, requires_grad=True)", "t.result_type(x)",
        "t.binary_cross_entropy_with_logits(m, x[:2])", "t.take_along_dim(m, t.tensor([1.0]))",
        "t.linalg.lstsq(A=m, B=m)", "t.zeros(2).copy_(src=x)", "t.is_neg(5)", "t.conj([1])",
        "t.nuclear_norm(m, True, True)", "t.nuclear_norm(m, None)", "m.norm('nuc', 0)", "t.real('x')", "t.imag(5)",
        "t.resolve_neg('a')", "t.resolve_conj('a')", "t.is_conj(5)", "t.angle('a')",
        "t.adjoint('a')", "t.conj_physical('a')", "t.numel([1])", "t.get_device([1])",
    ],
)  # fmt: skip
def test_refused_calls(refusals, text):
    def run(t):
        eval(text, {"t": t, "x": t.ones(4), "m": t.ones(2, 2)})

    ours, theirs = refusals(run, TypeError, RuntimeError)
    assert ours[0] is theirs[0]


def test_rrelu_draws_from_a_generator():
    x = dt.linspace(-2, 2, 9)
    generator = dt.Generator().manual_seed(3)
    dt.manual_seed(3)
    expected = dt.rrelu(x, 0.1, 0.3, True)
    assert dt.equal(dt.rrelu(x, 0.1, 0.3, True, generator), expected)
    assert not dt.equal(dt.rrelu(x, 0.1, 0.3, True, generator), expected)
    y = x.clone()
    assert dt.rrelu_(y, 0.1, 0.3, True, dt.Generator().manual_seed(3)) is y
    assert dt.equal(y, expected)


PRODUCTS = {"mm": (2, 0), "bmm": (3, 0), "addmm": (2, 1), "baddbmm": (3, 1)}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16])
def test_products_of_16_bits_as_float32(name, dtype):
    ndim, added = PRODUCTS[name]
    factors = [dt.randn((2,) * ndim).to(dtype).requires_grad_() for _ in range(2 + added)]
    function = getattr(dt, name)
    wide = function(*(x.float() for x in factors))
    for got in (function(*factors, dt.float32), function(*factors, out_dtype=dt.float32)):
        assert dt.equal(got, wide)
    assert function(*factors, out_dtype=dtype).dtype is dtype
    function(*factors, out_dtype=dt.float32).sum().backward()
    assert all(x.grad.dtype is dtype for x in factors)
    with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
        function(*factors, out_dtype=dt.float64)
    out = dt.empty(0)
    assert function(*(x.detach() for x in factors), out_dtype=dt.float32, out=out) is out
    assert dt.equal(out, wide)


def test_numbers_that_stand_for_no_word():
    x = dt.ones(2, 2)
    for call in (
        lambda: dt.cosine_embedding_loss(x, x, x[0], 0.0, 3),
        lambda: dt.kl_div(x, x, -1),
        lambda: dt.grid_sampler(x[None, None], dt.zeros(1, 1, 1, 2), -1, 0, False),
    ):
        with pytest.raises(ValueError, match="is not a valid value for"):
            call()


def needed_of(function) -> list:
    """The names of the arguments, and whether each has to be given."""
    arguments = inspect.signature(function).parameters.values()
    return [(a.name, a.default is a.empty) for a in arguments]


# PyTorch's RNNBase leaves its forward to the layers.
LAYERS = [n for n in dir(dt.nn) if hasattr(getattr(dt.nn, n), "forward") and n != "RNNBase"]
LAYERS = [n for n in LAYERS if "args" not in dict(needed_of(getattr(dt.nn, n).forward))]


@pytest.mark.parametrize("name", LAYERS)
def test_arguments_of_forward(both, name):
    def run(t):
        return needed_of(getattr(t.nn, name).forward)

    ours, theirs = both(run)
    assert ours == theirs


CONTAINERS = {
    "Sequential": "append extend insert pop",
    "ModuleList": "append extend insert pop",
    "ModuleDict": "update pop",
    "ParameterList": "append extend",
    "ParameterDict": "get setdefault pop update fromkeys",
}


@pytest.mark.parametrize(
    "name, method", [(n, m) for n, methods in CONTAINERS.items() for m in methods.split()]
)
def test_arguments_of_containers(both, name, method):
    def run(t):
        return needed_of(getattr(getattr(t.nn, name), method))

    ours, theirs = both(run)
    assert ours == theirs


def test_containers_by_names(both):
    def run(t):
        nn = t.nn
        s = nn.Sequential(nn.ReLU()).append(module=nn.Tanh()).extend(sequential=[nn.ELU()])
        m = nn.ModuleList([nn.ReLU()])
        m.append(module=nn.Tanh())
        m.insert(index=0, module=nn.ELU())
        d = nn.ModuleDict({"a": nn.ReLU()})
        d.update(modules={"b": nn.Tanh()})
        p = nn.ParameterList().append(value=t.ones(1))
        q = nn.ParameterDict({"a": t.ones(1)})
        kept = q.setdefault(key="b", default=3), q.get(key="c", default=4), q.pop(key="b")
        return [repr(x) for x in (s, s.pop(key=0), m.pop(key=1), m, d.pop(key="a"), d, p, q)], kept

    ours, theirs = both(run)
    assert ours == theirs
