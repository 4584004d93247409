"""Arguments and spellings beside the usual ones, against PyTorch: numbers as first operands, weights of losses,
generators, given embeddings, hints about files."""

import pickle
from functools import partial

import dumbtorch as dt
import numpy as np
import pytest

DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool"]


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error)


# ---- torch.add(2, x)

FIRST = {
    "add": {"alpha": 3}, "sub": {"alpha": 3}, "mul": {}, "div": {"rounding_mode": "floor"},
    "true_divide": {}, "floor_divide": {}, "remainder": {}, "bitwise_and": {}, "bitwise_or": {},
    "bitwise_xor": {},
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FIRST)
def test_a_number_first(both, same, name, dtype):
    """Also with the options, and where the tensor has no dimensions."""

    def run(t):
        x = t.tensor([1, 1, 3]).to(getattr(t, dtype))
        f = getattr(t, name)
        return [
            outcome(partial(f, number, y, **options))
            for number in (5, 2.5, True)
            for y in (x, x[2])
            for options in {id(o): o for o in ({}, FIRST[name])}.values()
        ]

    for mine, theirs in zip(*both(run), strict=True):
        if isinstance(theirs, type):
            assert mine is theirs
        else:
            same(mine, theirs)


def test_gradients_behind_a_number(both, same):
    def run(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = t.add(2, t.mul(3, t.sub(1, t.div(5, x))), alpha=2)
        y.sum().backward()
        return y, x.grad

    same(*both(run))


def test_only_numbers_come_first():
    x = dt.ones(2)
    assert dt.add(2, 3).item() == 5 and dt.multiply(2, x).tolist() == [2.0, 2.0]
    for bad in ("2", None, [2]):
        with pytest.raises(
            TypeError, match=r"add\(\): argument 'input' \(position 1\) must be Ten"
        ):
            dt.add(bad, x)
    with pytest.raises(
        TypeError, match=r"add\(\): argument 'other' \(position 2\) must be Tensor or"
    ):
        dt.add(2, "x")
    with pytest.raises(TypeError, match=r"eq\(\): argument 'input'"):
        dt.eq(2, x)


# ---- weights of losses


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
def test_weighted_losses(both, same, name, reduction):
    rng = np.random.default_rng(0)
    data = [rng.normal(size=s) for s in ((4, 3), (4, 3), (4, 3), (3,))]

    def run(t):
        x, y, w, row = (t.tensor(d, requires_grad=True) for d in data)
        f = getattr(t.nn.functional, name)
        out = []
        for target in (y, row):
            loss = f(x, target, reduction=reduction, weight=w)
            (loss * loss).sum().backward()
            out += [loss, x.grad, w.grad, target.grad]
            x.grad = w.grad = None
        ints = t.tensor([1, 5, 3])
        return [*out, outcome(lambda: f(ints, ints + 2, reduction=reduction, weight=ints))]

    with pytest.warns(UserWarning, match="target size"):
        mine, theirs = both(run)
    same(mine, theirs, rtol=1e-10)


def test_a_weight_of_another_size(both):
    def run(t):
        x = t.ones(4, 3)
        with pytest.raises(ValueError, match="Weights and input must have the same size."):
            t.nn.functional.mse_loss(x, x, weight=t.ones(3))
        with pytest.raises(ValueError, match="Weights and input must have the same size."):
            t.nn.functional.l1_loss(x, x, weight=t.ones(3))

    both(run)


# ---- generators


@pytest.mark.parametrize("draw", [
    lambda g, x: dt.rand_like(x, generator=g),
    lambda g, x: dt.randn_like(x, generator=g),
    lambda g, x: dt.randint_like(x, 50, generator=g),
    lambda g, x: dt.randint_like(x, 3, 50, generator=g),
])  # fmt: skip
def test_generators_of_like_functions(draw):
    x = dt.zeros(5, 4)
    g = dt.Generator()
    before = dt.get_rng_state()
    first = draw(g.manual_seed(3), x)
    assert draw(g, x).tolist() != first.tolist() == draw(g.manual_seed(3), x).tolist()
    assert dt.get_rng_state().tolist() == before.tolist()
    dt.manual_seed(3)
    assert draw(None, x).tolist() == first.tolist()


# ---- embeddings


def test_given_embeddings(both, same):
    rows = np.arange(12.0).reshape(4, 3)

    def run(t):
        table = t.tensor(rows)
        e = t.nn.Embedding.from_pretrained(table, padding_idx=-1)
        free = t.nn.Embedding.from_pretrained(table, freeze=False, padding_idx=1)
        free(t.tensor([[1, 2], [3, 3]])).sum().backward()
        made = t.nn.Embedding(4, 3, _weight=table, _freeze=True)
        with t.no_grad():
            table[0, 0] = 7.0  # it is the same memory
        return [
            e(t.tensor([0, 3])), e.weight.requires_grad, e.padding_idx, free.weight.grad,
            made.weight, made.weight.requires_grad, len(list(e.parameters())),
            t.nn.Embedding.from_pretrained(t.tensor([[1, 2], [3, 4]]))(t.tensor([1])),
            outcome(lambda: t.nn.Embedding.from_pretrained(t.tensor([[1]]), freeze=False)),
            outcome(lambda: t.nn.Embedding(4, 3, _weight=t.ones(3, 3))),
            outcome(lambda: t.nn.Embedding.from_pretrained(t.ones(3))),
            outcome(lambda: t.nn.Embedding(4, 3, padding_idx=4)),
            t.nn.Embedding(4, 3, padding_idx=-4).weight[0],
        ]  # fmt: skip

    same(*both(run))


def test_embeddings_in_print(both):
    mine, theirs = both(lambda t: [
        repr(t.nn.Embedding(3, 4, **options))
        for options in ({}, {"padding_idx": 1}, {"padding_idx": -1, "max_norm": 2.0},
                        {"max_norm": 1, "norm_type": 1.0, "scale_grad_by_freq": True})
    ])  # fmt: skip
    assert mine == theirs


def test_given_rows_draw_nothing():
    before = dt.get_rng_state().tolist()
    dt.nn.Embedding.from_pretrained(dt.ones(4, 3))
    assert dt.get_rng_state().tolist() == before


# ---- optimizers and loaders


def test_adam_with_decoupled_decay_is_adamw(both, same):
    def run(t):
        out = []
        for make in (
            lambda p: t.optim.Adam(p, 0.1, weight_decay=0.3, decoupled_weight_decay=True),
            lambda p: t.optim.AdamW(p, 0.1, weight_decay=0.3),
            lambda p: t.optim.Adam(p, 0.1, weight_decay=0.3),
        ):
            x = t.tensor([1.0, -2.0], requires_grad=True)
            optimizer = make([x])
            for _ in range(3):
                optimizer.zero_grad()
                (x * x).sum().backward()
                optimizer.step()
            out += [x.detach(), optimizer.param_groups[0]["decoupled_weight_decay"]]
        return out

    same(*both(run))


def test_settings_in_print(both):
    """The lines that both have: PyTorch's say more about its implementations."""

    def run(t):
        x = [t.zeros(1, requires_grad=True)]
        text = [t.optim.SGD(x, 0.1), t.optim.Adam(x), t.optim.AdamW(x)]
        variants = ("foreach", "fused", "capturable", "differentiable")
        return [
            line
            for o in text
            for line in repr(o).splitlines()
            if not line.strip().startswith(variants)
        ]

    mine, theirs = both(run)
    assert mine == theirs


def test_arguments_of_loaders(both):
    def run(t):
        data = t.utils.data.TensorDataset(t.arange(6))
        with pytest.raises(ValueError, match="multiprocessing_context can only be used with"):
            t.utils.data.DataLoader(data, multiprocessing_context="fork")
        g = t.Generator()
        loader = t.utils.data.DataLoader(
            data, 3, False, None, None, 0, None, False, False, 0, None, None, g, in_order=False
        )
        assert loader.generator is g and loader.in_order is False
        return [b[0].tolist() for b in loader]

    mine, theirs = both(run)
    assert mine == theirs


# ---- files of other formats


def test_what_a_file_is_instead(torch, tmp_path):
    path = tmp_path / "x.safetensors"
    dt.safetensors.save_file({"a": dt.ones(3)}, str(path))
    for where in (None, "cpu", dt.device("cpu")):
        assert dt.load(path, where)["a"].tolist() == [1, 1, 1]
    for where, kind in (({}, "dict"), (lambda storage, where: storage, "callable")):
        for t in (dt, torch):
            with pytest.raises(RuntimeError, match=f"with {kind} map_location is not supported"):
                t.load(path, where)
    with open(path, "rb") as file, pytest.raises(pickle.UnpicklingError):
        dt.load(file)
    path.rename(tmp_path / "noise")
    with pytest.raises(pickle.UnpicklingError, match="Invalid magic number"):
        dt.load(tmp_path / "noise")
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="when explicit pickle_module is specified"):
            t.load(tmp_path / "noise", None, pickle, weights_only=True)


def test_memory_of_the_cpu():
    before = dt.memory_stats("cpu").allocated
    x = dt.empty(1 << 20)
    held = dt.memory_stats().allocated
    assert before + (4 << 20) <= held < before + (5 << 20) and dt.memory_stats().peak >= held
    del x
    dt.empty_cache()
    dt.reset_peak_memory_stats()
    assert dt.memory_stats().peak == dt.memory_stats().allocated == before
    asked = []
    dt.set_memory_hook(lambda n: bool(asked.append(n)))
    with pytest.raises(dt.OutOfMemoryError):
        dt.empty(1 << 58)
    dt.remove_memory_hook()
    assert len(asked) == 1 and asked[0] >= 4 << 58


# ---- names of arguments, NumPy on the right of @


@pytest.mark.parametrize(
    "text",
    [
        "x.split(split_size=2)", "x.split(split_size=[1, 2])", "x.split(split_size=3, dim=1)",
        "x.repeat_interleave(2, axis=1)", "t.repeat_interleave(x, t.tensor([1, 0, 2]), axis=0)",
        "t.tensor_split(x, 2, axis=1)", "x.tensor_split((1, 2), axis=1)", "t.linalg.norm(x, axis=0)",
        "t.linalg.norm(x, 'nuc', axis=(0, 1), keepdims=True)", "t.linalg.norm(x, axis=1, keepdims=True)",
        "t.linalg.vector_norm(x, 1, axis=1, keepdims=True)", "t.linalg.matrix_norm(x, axis=(1, 0))",
        "t.linalg.matrix_norm(x, 'nuc', keepdims=True)", "t.linalg.cross(x, x + 1, axis=0)",
        "t.linalg.vecdot(x, x, axis=0)", "t.angle(x, out=t.empty(0))", "t.chain_matmul(x, x.T, out=t.empty(3, 3))",
        "x @ np.eye(4, 2, dtype='float32')", "x @ np.arange(4)", "x.long() @ np.ones((4, 1), dtype='int32')",
        "x @ np.ones(3)", "x @ 5", "x @ np.float32(5)", "t.gather(x, axis=1, index=x.long().abs() % 3)",
        "t.narrow(x, axis=1, start=1, length=2)", "x.narrow(axis=0, start=t.tensor(1), length=2)",
        "x.select(axis=0, index=1)", "t.index_select(x, axis=1, index=t.tensor([2, 0]))", "t.gradient(x, axis=0)",
        "t.renorm(x, 2, axis=0, maxnorm=1)", "x.index_add_(axis=0, index=t.tensor([2, 0]), source=t.ones(2, 4))",
        "x.scatter(axis=1, index=t.tensor([[3, 1]]), src=t.ones(1, 2))", "x.size(axis=1)", "x.stride(axis=0)",
        "x.scatter_(axis=1, index=t.tensor([[3, 1]]), value=7)", "t.softmax(x, axis=0)", "t.cumsum(x, axis=1)",
        "t.scatter(x, axis=1, index=t.tensor([[3, 1]]), src=t.ones(1, 2), reduce='add')",
        "x.scatter_(axis=1, index=t.tensor([[3, 1]]), src=t.ones(1, 2), reduce='multiply')",
        "t.select_scatter(x, t.zeros(4), axis=0, index=1)", "t.unsafe_split(x, 2, axis=1)", "x.unsafe_chunk(2, axis=1)",
        "t.index_copy(x, axis=0, index=t.tensor([2]), source=t.ones(1, 4), out=t.empty(3, 4))",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings(
    "ignore:.*chain_matmul", "ignore:.*__array_wrap__", "ignore:.*reduce arg"
)
def test_arguments_by_other_names_and_kinds(text, both, same):
    def run(t):
        names = {"t": t, "np": np, "x": t.arange(-6.0, 6.0).view(3, 4)}
        return outcome(partial(eval, text, names))

    mine, theirs = both(run)
    if isinstance(theirs, type):
        # NumPy's ValueError is a RuntimeError here
        assert mine is theirs or "np.ones(3)" in text
    else:
        same(mine, theirs)


@pytest.mark.parametrize(
    "text",
    [
        "t.gather(x, 1)", "t.renorm(x, 2)", "x.select(0)", "x.scatter(src=x)",
        "t.index_add(x, 0)", "t.cumsum(x)", "t.index_select(x, 0, out=x)", "t.gather(x, 1, None)",
    ],
)  # fmt: skip
def test_arguments_that_are_missing(text, both):
    def run(t):
        with pytest.raises(TypeError) as error:
            eval(text, {"t": t, "x": t.ones(2, 3)})
        return str(error.value).partition("\n")[0]

    mine, theirs = both(run)
    # where there are several signatures, PyTorch names none of the arguments
    assert mine == theirs or "invalid combination" in theirs and "missing" in mine


# ---- NumPy's names of arguments


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.sum(x, axis=1, keepdims=True),
        lambda t, x: x.sum(axis=0),
        lambda t, x: x.argmax(axis=1),
        lambda t, x: x.var(axis=1, keepdims=True),
        lambda t, x: x.std(axis=0),
        lambda t, x: tuple(x.max(axis=1, keepdims=True)),
        lambda t, x: tuple(x.min(axis=1)),
        lambda t, x: t.cat([x, x], axis=1),
        lambda t, x: t.stack([x, x], axis=2),
        lambda t, x: t.softmax(x, axis=0),
        lambda t, x: x.log_softmax(axis=1),
        lambda t, x: x.cumsum(axis=1),
        lambda t, x: x.unsqueeze(axis=1).squeeze(axis=1),
        lambda t, x: x.chunk(2, axis=1),
        lambda t, x: x.unbind(axis=1),
        lambda t, x: t.sum(x=x, axis=0),
        lambda t, x: t.exp(a=x),
        lambda t, x: t.add(x1=x, x2=x, alpha=2),
        lambda t, x: x.mul(x2=x),
        lambda t, x: tuple(t.sort(x=x, axis=0, descending=True)),
        lambda t, x: tuple(t.max(x=x, axis=1, keepdims=True)),
        lambda t, x: t.max(x1=x, x2=x),
        lambda t, x: t.where(x > 3, x=x, x2=-x),
        lambda t, x: t.var(x=x, axis=0),
        lambda t, x: t.flip(x=x, dims=[0]),
        lambda t, x: t.reshape(x=x, shape=(4, 3)),
        lambda t, x: t.narrow(x=x, axis=1, start=1, length=2),
        lambda t, x: t.roll(x=x, shifts=1),
        lambda t, x: t.linalg.norm(x=x),
        lambda t, x: t.linalg.pinv(input=x, rcond=1e-3),
        lambda t, x: t.linalg.matrix_rank(x=x),
        lambda t, x: t.linalg.cond(input=(x * x).sin(), p=2),
        lambda t, x: t.linalg.cholesky(input=x @ x.mT + 20 * t.eye(3)),
        lambda t, x: tuple(t.linalg.cholesky_ex(x=x @ x.mT + 20 * t.eye(3))),
        lambda t, x: t.linalg.eigvalsh(input=t.ones(3, 3).tril()),
        lambda t, x: t.linalg.eigh(input=t.ones(3, 3).tril())[0],
        lambda t, x: t.linalg.matrix_exp(input=t.ones(3, 3)),
        lambda t, x: t.linalg.tensorinv(input=t.eye(6).reshape(2, 3, 6)),
        lambda t, x: t.repeat_interleave(repeats=x.long()[0]),
    ],
)
def test_axis(call, both, same):
    same(*both(lambda t: call(t, t.arange(0, 12, dtype=t.float32).reshape(3, 4))))


def test_neither_dim_nor_axis(both):
    def run(t):
        with pytest.raises(TypeError, match="dim"):
            t.ones(2).cumsum()

    both(run)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.exp(y=x),
        lambda t, x: t.exp(x, x=x),
        lambda t, x: t.add(x, x, x2=x),
        lambda t, x: t.add(x1=x),
        lambda t, x: t.sort(axis=0),
        lambda t, x: t.repeat_interleave(axis=0),
        lambda t, x: t.sum(x, 0, axis=0),
        lambda t, x: x.sum(dim=0, keepdim=True, keepdims=False),
        lambda t, x: x.softmax(0, axis=0),
        lambda t, x: t.sort(x, 0, axis=0),
        lambda t, x: t.var(x, 0, axis=0),
        lambda t, x: t.max(x, 0, axis=0),
        lambda t, x: t.max(x, dim=0, axis=0),
        lambda t, x: t.cat((x, x), -1, axis=-1),
        lambda t, x: t.nonzero(as_tuple=True),
        lambda t, x: t.linalg.norm(ord="fro"),
        lambda t, x: t.linalg.cond(A=t.eye(2)),
        lambda t, x: t.linalg.pinv(A=t.eye(2)),
        lambda t, x: t.linalg.cholesky(A=t.eye(2)),
        lambda t, x: t.linalg.matrix_rank(),
        lambda t, x: t.linalg.matrix_norm(ord="nuc", dtype=t.float64),
        lambda t, x: t.scatter(dim=0, index=x.long(), value=1.0, reduce="add"),
        lambda t, x: t.nn.functional.relu(x=x),
    ],
)
def test_names_that_do_not_fit(call, both):
    def run(t):
        with pytest.raises(TypeError):
            call(t, t.ones(2))

    both(run)
