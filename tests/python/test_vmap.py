"""vmap: functions that are called once for all entries, and those that are called for each, give what PyTorch's vmap
gives, and what their function gives for each entry."""

import operator

import dumbtorch as dt
import dumbtorch.func  # noqa: F401
import pytest


def names(t):
    """What texts may use: m has three entries of four elements, w weights that they share."""
    m = t.linspace(-1.5, 2.0, 12, dtype=t.float64).reshape(3, 4)
    w = t.linspace(0.5, -1.0, 20, dtype=t.float64).reshape(5, 4)
    return {"t": t, "f": t.func, "F": t.nn.functional, "m": m, "w": w, "k": t.tensor([2, 0, 1]),
            "i": t.tensor([[1, 3], [0, 0], [2, 1]]), "c": m.reshape(3, 2, 2),
            "s": t.tensor([2.0, -1.0, 0.5])}  # fmt: skip


# What is computed by one call of the function.
ONCE = [
    "t.vmap(lambda x: x * 2 - 3 / (x * x + 1))(m)", "t.vmap(lambda x: 2**x // 1 % 3)(m)",
    "t.vmap(lambda x: w @ x)(m)", "t.vmap(lambda x: (x > 0) & ~(x > 1))(m)",
    "t.vmap(lambda x: -abs(x), out_dims=1)(m)", "t.vmap(t.mul, (0, 0))(m, k)", "t.vmap(lambda x: x.T, in_dims=1)(c)",
    "t.vmap(lambda x: x @ x)(c)", "t.vmap(lambda x, y: x @ y)(c, c[:, 0])", "t.vmap(lambda x: x.sum())(m)",
    "t.vmap(lambda x: x.sum(-1, keepdim=True))(c)", "t.vmap(lambda x: x.max(0).indices)(c)",
    "t.vmap(lambda x: (x.amax(), x.std(), x.prod(), x.argmin()))(c)", "t.vmap(lambda x: x.mean((0, 1)))(c)",
    "t.vmap(lambda x: x[1:].cumsum(0)[None, ..., -1])(m)", "t.vmap(lambda x: x[[0, 2]])(m)",
    "t.vmap(lambda i: w[i])(k)", "t.vmap(lambda x, i: x[i - 1])(m, k)", "t.vmap(lambda i: w[1:, i])(k)",
    "t.vmap(lambda x, i: x[..., i, None])(c, k % 2)", "t.vmap(lambda x, i: x[i, None, i.int()])(c, k % 2)",
    "t.vmap(lambda i: w[i, :, None][i])(k)", "t.vmap(lambda x, i: t.where(i > 0, x, 0.0))(s, k)",
    "t.vmap(lambda x, i: x.half() + i * w[0, 0])(s, k)", "t.vmap(lambda i, x: i / (x > 0))(k, s)",
    "t.vmap(t.vmap(lambda x, i, j: x + w[i, j] - i * j, (0, None, 0)), (0, 0, None))(m[:, :3], k, k)",
    "t.vmap(lambda i: w[i[None]])(k)", "t.vmap(lambda x, i: x[i])(m, i)", "t.vmap(lambda x, i: x.gather(0, i))(m, i)",
    "t.vmap(lambda x: F.embedding(x, w))(i)", "t.vmap(lambda x: t.cat([x, x[:1], w[0]]))(m)",
    "t.vmap(lambda x: t.stack([x, w[0]], -1))(m)", "t.vmap(t.dot)(m, m)",
    "t.vmap(lambda x: x.view(2, -1).t().reshape(4, 1).expand(4, 2))(m)",
    "t.vmap(lambda x: x.squeeze().unsqueeze(-1))(c)",
    "t.vmap(lambda x: [*x.unbind()][1] + x.split(2)[0][1] + x.chunk(2)[1][0])(m)",
    "t.vmap(lambda x: t.einsum('ij,j', w, x))(m)", "t.vmap(lambda x: t.outer(x, x))(m)",
    "t.vmap(lambda x: x.flip(0).roll(1))(m)", "t.vmap(lambda x: t.where(x > 0, x, 0))(m)",
    "t.vmap(lambda x: t.zeros_like(x) + x.new_ones(4))(m)",
    "t.vmap(lambda x: F.pad(x, (1, 1), mode='reflect'))(c)", "t.vmap(lambda x: F.pad(x[None], (1, 0), 'circular'))(c)",
    "t.vmap(lambda x: x.softmax(0).log() + F.log_softmax(x, -1))(m)",
    "t.vmap(lambda x: F.layer_norm(x, (4,), w[0], x))(m)", "t.vmap(lambda x, y: F.cross_entropy(x, y))(m, k)",
    "t.vmap(lambda x: F.mse_loss(x, w[0]))(m)",
    "t.vmap(lambda x, y: F.cross_entropy(x, y, ignore_index=1, reduction='sum'))(t.stack([w[:2]] * 3), i)",
    "t.vmap(lambda x: F.linear(x, w, w[:, 0]))(m)",
    "t.vmap(lambda x, y: F.linear(w, x, y))(c.repeat(1, 1, 2), m[:, :2])",
    "t.vmap(lambda x, y: F.conv1d(x, y, padding=1))(w.expand(3, 1, 5, 4), w.view(2, 5, 2) * s.view(3, 1, 1, 1))",
    "t.vmap(lambda x: F.max_pool2d(F.pad(x[None], (1, 1, 1, 1)), 2))(c)",
    "t.vmap(lambda x: F.scaled_dot_product_attention(x, x, x))(c)", "t.vmap(lambda x: x.clone().mul_(x).add_(1))(m)",
    "t.vmap(lambda x: x.as_strided((2, 2), (1, 1), 1))(m)", "t.vmap(lambda x: x.t().as_strided((3,), (1,)))(c)",
    "t.vmap(t.vmap(lambda x: t.as_strided_copy(x, (2,), (0,), 1)), 1)(c)",
    "t.vmap(lambda x: x.sin().t_() if x.ndim > 5 else x.sin().exp_())(m)",
    "t.vmap(lambda x: x.sum() if x.shape[0] > 3 and len(x) == 4 else x)(m)",
    "t.vmap(lambda d: {'a': d['x'] + d['y'], 'b': d['x']})({'x': m, 'y': m})['a']", "t.vmap(lambda x: (x, x))(m)[1]",
    # an element of a wider dtype without dimensions counts less
    "t.vmap(lambda x, y: x.half() * y)(m, s)", "t.vmap(lambda x, y: x.float() + y)(m, m[:, 0])",
    "t.vmap(lambda x: x.int() * 2.5)(s)", "t.vmap(t.vmap(lambda x, y: x * y, (0, None)), (None, 0))(m[0], m[1])",
    "t.vmap(t.vmap(t.vmap(t.sin)))(c)", "t.vmap(lambda x: t.vmap(lambda y: (x * y).sum())(w))(m)",
    "t.vmap(t.vmap(lambda x: w @ x, in_dims=1, out_dims=1), out_dims=2)(m[:, :, None])",
    "t.vmap(f.grad(lambda x: x.sin().sum()))(m)",
    "t.vmap(f.grad(lambda v, x: (v @ x).square().sum()), (None, 0))(w, m)",
    "t.vmap(f.grad(f.grad(lambda x: x**3)))(m[0])", "t.vmap(f.jacrev(lambda x: w @ x.sin()))(m)",
    "t.vmap(f.hessian(lambda x: (x**3).sum()))(m)", "t.vmap(f.jacfwd(lambda x: x * x))(m)",
    "t.vmap(lambda x, v: f.vjp(t.sin, x)[1](v)[0])(m, m)", "t.vmap(lambda x: f.jvp(t.sin, (x,), (x,))[1])(m)",
    "t.vmap(lambda x: f.grad(lambda v: (v * x[0]).sum().sin())(w))(m)",
    "t.vmap(f.grad(lambda x: t.vmap(lambda y: (x * y).sum())(w).sin().sum()))(m)",
    "f.jacrev(t.vmap(lambda x: x.sin().sum()))(m)",
    "f.grad(lambda x: t.vmap(lambda v: (v * x).sum())(w).square().sum())(m[0])",
]  # fmt: skip
# What the function needs to be called for each entry for: where PyTorch refuses it, for what it gives for each.
FOR_EACH = {
    "t.vmap(lambda x: x if x.sum() > 1 else -x)(m)": "t.where(m.sum(1, keepdim=True) > 1, m, -m)",
    "t.vmap(lambda x: x * x[0].item())(m)": "m * m[:, :1]", "t.vmap(lambda x: t.tensor(x.tolist()))(m)": "m.float()",
    "t.vmap(lambda i: w[int(i)] + w[i])(k)": "w[k] * 2", "t.vmap(lambda x: x if x.abs().sum() > 0 else -x)(m)": "m",
    "t.vmap(lambda x: x.cumsum(0).as_strided((2,), (2,)))(m)": "m.cumsum(1)[:, ::2]",
    "t.vmap(lambda x: (y := t.zeros(4, dtype=x.dtype)).add_(x))(m)": "m",
    "t.vmap(lambda x: x.add_(1))(m.clone())": "m + 1",
    "t.vmap(lambda x: x.clone().view(2, 2).fill_diagonal_(0))(m)": "m.view(3, 2, 2) * (1 - t.eye(2))",
    "t.vmap(lambda x, j: x.clone().index_fill_(0, j, 0))(m, i)": "m.scatter(1, i, 0)",
    # along no dimensions: PyTorch's vmap takes them for all
    "t.vmap(lambda x: (x > 0).all(()))(c)": "c > 0", "t.vmap(lambda x: t.any(x > 0, dim=()))(c)": "c > 0",
    # sums, and a square, that float16 does not hold
    "t.vmap(lambda x: F.cross_entropy((x * 9).half().expand(12000, 4), t.zeros(12000, dtype=t.int64)))(m)":
        "F.cross_entropy((m * 9).half().float(), t.tensor([0, 0, 0]), reduction='none').half()",
    "t.vmap(lambda x: F.nll_loss((x * 9 - 20).half().expand(12000, 4), t.zeros(12000, dtype=t.int64)))(m)":
        "(20 - m[:, 0] * 9).half()",
    "t.vmap(lambda x: F.mse_loss((x * t.tensor([0, 0, 0, 150])).half(), t.zeros(4).half()))(m)":
        "((m[:, 3] * 150).half().float().square() / 4).half()",
}  # fmt: skip


@pytest.mark.parametrize("text", ONCE)
def test_functions_that_are_called_once(text, both, same, monkeypatch):
    from dumbtorch import _vmap

    made = []
    at_once = _vmap._at_once
    monkeypatch.setattr(_vmap, "_at_once", lambda *a: made.append(at_once(*a)) or made[-1])
    same(*both(lambda t: eval(text, names(t))))
    assert made and None not in made


@pytest.mark.parametrize("text", FOR_EACH)
def test_functions_that_are_called_for_each(text, same, torch):
    same(eval(text, names(dt)), eval(FOR_EACH[text], names(torch)))


def test_arguments_are_not_written_twice():
    x = dt.zeros(3, 2)
    assert dt.vmap(lambda a: a.add_(1) * (1 if a.sum() > 1 else 2))(x).tolist() == [[1, 1]] * 3
    assert x.tolist() == [[1, 1]] * 3


@pytest.mark.parametrize("start", [None, 0, 1, 2, 6])
def test_strided_parts_beyond_an_entry(start, torch):
    def run(t):
        x = t.arange(12.0).reshape(4, 3)[1:]
        try:
            return t.vmap(lambda a: a.as_strided((2, 2), (1, 1), start))(x).tolist()
        except RuntimeError as error:
            return str(error)

    assert run(dt) == run(torch)


def test_strided_parts_of_each_entry():
    x, src = dt.arange(18.0).reshape(2, 3, 3), dt.zeros(2, 2)
    for start in (None, 0, 1):
        got = dt.vmap(lambda a: dt.as_strided_scatter(a, src, (2, 2), (1, 2), start))(x)  # noqa: B023
        for entry, row in zip(x, got, strict=True):
            assert row.equal(dt.as_strided_scatter(entry.clone(), src, (2, 2), (1, 2), start or 0))


def test_results_have_memory_of_their_own():
    x = dt.ones(3, 2)
    a, b, c = dt.vmap(lambda x: (x, x, x[:1]))(x)
    a.zero_()
    assert x.sum() == 6 and b.sum() == 6 and c.sum() == 3


@pytest.mark.parametrize(
    "text",
    [
        "F.linear(x, v, v[:, 0])", "F.linear(x, v, v[:, 0]).relu()", "v @ x", "x.dot(x)", "t.outer(x, x)",
        "F.conv1d(x[None, None], v[:, None, :3], v[:, 1])", "F.layer_norm(x, (4,), v[0], v[1])",
        "F.group_norm(x[None], 2, v[0], v[1])", "F.cross_entropy(x, v[0].abs().argmax())", "F.mse_loss(x, v[0])",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mixed", [False, True])
def test_dtypes(text, mixed, torch, same):
    """Those of each entry: under autocast, and of bfloat16 beside float32."""

    def inputs(t):
        x, v = t.linspace(-1, 1, 12).view(3, 4), t.linspace(1, -2, 60).view(3, 5, 4)
        return x.bfloat16() if mixed else x, v

    def call(t, x, v):
        with t.autocast("cpu", dtype=t.bfloat16, enabled=not mixed):
            return eval(text, {"t": t, "F": t.nn.functional, "x": x, "v": v})

    try:
        expected = torch.stack([call(torch, *row) for row in zip(*inputs(torch), strict=True)])
    except RuntimeError:
        with pytest.raises(RuntimeError):
            dt.vmap(lambda x, v: call(dt, x, v))(*inputs(dt))
        return
    same(dt.vmap(lambda x, v: call(dt, x, v))(*inputs(dt)), expected, rtol=2e-2, atol=2e-2)


def test_errors_that_no_entry_has(torch, same):
    """The function does not see them: entries whose results differ in shape."""

    def total(x):
        try:
            return x.nonzero().sum()
        except Exception:
            return x.sum() * 0 - 1

    rows = [[1.0, 0, 2], [0, 0, 3]]
    same(dt.vmap(total)(dt.tensor(rows)), torch.stack([*map(total, torch.tensor(rows))]))


def test_rules():
    from dumbtorch import _batch_rules, _ops

    assert _batch_rules._RULES.keys() <= vars(_ops).keys()
    # These write what they are given.
    assert not _batch_rules._MAKERS & {"out_offer", "out_finish"}


def test_tensors_that_are_kept():
    kept = []
    dt.vmap(lambda x: kept.append(x) or x.sin())(dt.ones(3))
    with pytest.raises(RuntimeError, match="used after its call"):
        kept[0] + 1


@pytest.mark.parametrize("name", ["add", "mul", "sub", "truediv", "pow"])
def test_operators_in_place(name, torch):
    """They write what all entries share, for each entry: never a tensor of their own."""

    def call(t, x):
        y = t.full((4,), 2.0, dtype=x.dtype)
        z = y.view(2, 2)
        y = getattr(operator, f"i{name}")(y, x)
        return z + y.sum()

    theirs = torch.stack([call(torch, x) for x in names(torch)["m"].abs()])
    ours = dt.vmap(lambda x: call(dt, x))(names(dt)["m"].abs())
    torch.testing.assert_close(torch.tensor(ours.tolist(), dtype=theirs.dtype), theirs)


@pytest.mark.parametrize(
    "text",
    [
        "F.linear(x[0, 0], v)", "F.pad(x[0, 0], (1, 1))", "t.stack([x, x]).t()", "F.layer_norm(x[0, 0], (3,))",
        "F.scaled_dot_product_attention(x[0], x[0], x[0])", "x.sum(2)", "x.sum(-3)", "x.unsqueeze(-4)", "x.dot(x)",
        "t.bmm(t.ones(3, 2, 2), x[None])", "x.expand(-1, 2, 2)", "t.broadcast_to(x, (-1, 2, 2))",
        "F.group_norm(x[None], 2, x[0, :1])", "F.layer_norm(x, (2,), x[0, :1])", "F.layer_norm(x, (2,), x[0], x)",
        "F.linear(x[0], x, x)", "F.linear(x[0], t.ones(2, 2), t.ones(3, 2))", "F.linear(x, v[0, :2], v[0, 0])",
        "F.conv1d(v[None], t.ones(2, 3, 2), x[0, :1])", "F.pad(x[0], (1, 1), 'reflect')",
        "F.pad(x, (1, 1, 1, 1), 'circular')", "F.pad(x, (1, 1, 1, 1), 'reflect')",
        "x[2]", "t.cat([x, x[0]])", "x.view(5)", "x.expand(2)", "x[0].mT", "F.conv1d(x[0], v)",
    ],
)  # fmt: skip
def test_entries_have_fewer_dimensions(text, torch):
    """What an entry is refused for does not hold for the tensor of all."""

    def call(t, x):
        return eval(text, {"t": t, "F": t.nn.functional, "x": x, "v": t.ones(3, 3)})

    refused = (RuntimeError, IndexError, ValueError)
    with pytest.raises(refused):
        call(torch, torch.ones(2, 2))
    with pytest.raises(refused):
        dt.vmap(lambda x: call(dt, x))(dt.ones(3, 2, 2))


OUTSIDE = {
    "one": lambda t, x, y: t.vmap(lambda v: t.autograd.grad(y, x, v))(t.eye(3)),
    "two": lambda t, x, y: t.vmap(lambda v: t.autograd.grad([y, y * 2], x, [v, t.ones(3)]))(
        t.eye(3)
    ),
    "nested": lambda t, x, y: t.vmap(t.vmap(lambda v: t.autograd.grad(y, x, v)[0]))(
        t.ones(2, 2, 3)
    ),
    "unused": lambda t, x, y: t.vmap(
        lambda v: t.autograd.grad(y, [x, x * 1], v, allow_unused=True)[0]
    )(t.eye(3)),
    "kept": lambda t, x, y: [
        t.vmap(lambda v: t.autograd.grad(y, x, v, retain_graph=True)[0])(t.eye(3)),
        t.autograd.grad(y.sum(), x)[0],
    ],
    "graph": lambda t, x, y: t.autograd.grad(
        t.vmap(lambda v: t.autograd.grad(y, x, v, create_graph=True)[0])(t.eye(3)).sum(), x
    ),
    "random": lambda t, x, y: t.vmap(
        lambda v: t.autograd.grad(y, x, v)[0] + 0 * t.rand(3), randomness="different"
    )(t.eye(3)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_gradients_through_a_graph_from_outside(name, both, same):
    """Rows of a Jacobian, as PyTorch's documentation has them: each entry goes through the one graph."""

    def run(t):
        x = t.arange(3.0).requires_grad_()
        return OUTSIDE[name](t, x, x**3)

    same(*both(run))


def test_results_of_different_shapes(refusals):
    """Entries that a mask chooses, of which each has as many as it has."""
    mine, theirs = refusals(
        lambda t: t.vmap(lambda i, x: x[i == 0])(t.arange(3), t.ones(3, 4)), RuntimeError
    )
    sentence = "vmap: We do not support batching operators that can support dynamic shape."
    assert mine[1].startswith(sentence) and theirs[1].startswith(sentence)
    assert mine[1].endswith("have the shapes [1, 4], [0, 4].")
