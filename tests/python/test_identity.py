"""What gives back its argument gives back that very object, where PyTorch does."""

import copy
import gc
import io
import pickle
import re
import warnings
import weakref

import dumbtorch as dt
import pytest
from dumbtorch._native import lib

# Each is True where the result is x itself.
CALLS = [
    "x.cpu()", "x.cpu(memory_format=t.preserve_format)", "t.as_tensor(x)", "t.asarray(x)",
    "t.as_tensor(x, dtype=x.dtype, device='cpu')",
    "t.asarray(x, copy=False)", "t.asarray(x, copy=True)", "x.to(x)", "x.to(x.dtype)", "x.to('cpu')",
    "x.to('cpu', x.dtype)", "x.to()", "x.to(dtype=x.dtype)", "x.to('cpu', copy=True)", "x.to(t.float64)",
    "x.to(memory_format=t.contiguous_format)", "x.type_as(x)", "x.type(x.dtype)", "x.type(x.type())", "x.float()",
    "x.contiguous()", "x.contiguous(memory_format=t.contiguous_format)", "x.t().contiguous()", "x.expand_as(x)",
    "x.view_as(x)", "x.reshape(x.shape)", "x.flatten()", "x.flatten(0, 0)", "x[0].flatten()", "x.ravel()",
    "x.requires_grad_(x.requires_grad)", "x.detach()", "x.positive()", "+x", "t.real(x)", "x.sum_to_size(3, 4)",
    "x.sum_to_size(3, 1)", "x.broadcast_to(3, 4)", "t.broadcast_tensors(x)[0]", "t.broadcast_tensors(x, x[0])[0]",
    "t.broadcast_tensors(x, x[0])[1]", "t.atleast_1d(x)", "t.atleast_2d(x)", "t.atleast_3d(x)",
    "t.atleast_1d([x, x])[1]",
    "F.dropout(x, 0.5, False)", "F.dropout(x, 0.0, True)", "t.dropout(x, 0.5, False)", "F.dropout2d(x, 0.5, False)",
    "F.alpha_dropout(x, 0.5, False)", "F.feature_alpha_dropout(x, 0.5, False)", "t.nn.Dropout().eval()(x)",
    "t.nn.Flatten()(x)", "t.nn.Flatten(1)(x)", "x.clone()", "t.cat([x])", "x.abs()",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["plain", "leaf", "parameter", "computed"])
def test_results_are_the_argument(kind, torch):
    makers = {
        "plain": lambda t: t.ones(3, 4),
        "leaf": lambda t: t.ones(3, 4, requires_grad=True),
        "parameter": lambda t: t.nn.Parameter(t.ones(3, 4)),
        "computed": lambda t: t.ones(3, 4, requires_grad=True) * 1,
    }
    for text in CALLS:
        if kind == "computed" and "requires_grad_" in text:
            continue
        found = []
        for t in (dt, torch):
            x = makers[kind](t)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                y = eval(text, {"t": t, "x": x, "F": t.nn.functional})
            found.append((y is x, isinstance(y, t.nn.Parameter), y.requires_grad))
        assert found[0] == found[1], text


def test_vectors_and_other_dtypes(torch):
    for text in (
        "x.flatten()",
        "t.cartesian_prod(x)",
        "x.long()",
        "x.to(t.int64)",
        "x.int()",
        "t.atleast_1d(x)",
    ):
        found = []
        for t in (dt, torch):
            x = t.arange(3)
            found.append(eval(text, {"t": t, "x": x}) is x)
        assert found[0] == found[1], text


def test_what_has_no_elements(torch):
    found = []
    for t in (dt, torch):
        x = t.zeros(0, 2, 3)
        norms = t.nn.functional.local_response_norm(x, 1), t.nn.LocalResponseNorm(1)(x)
        found.append([y is x for y in norms])
    assert found[0] == found[1]


def test_modules_keep_parameters_and_buffers(torch):
    for call in (
        "m.cpu()",
        "m.to('cpu')",
        "m.to(t.float32)",
        "m.float()",
        "m.double()",
        "m.to_empty(device='cpu')",
    ):
        found = []
        for t in (dt, torch):
            m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
            before = [*m.parameters(), *m.buffers()]
            assert eval(call, {"t": t, "m": m}) is m
            after = [*m.parameters(), *m.buffers()]
            found.append([a is b for a, b in zip(before, after, strict=True)])
        assert found[0] == found[1], call


def test_attributes_stay(torch):
    for t in (dt, torch):
        p = t.nn.Parameter(t.ones(2))
        p.note = "kept"
        assert p.to(t.float32).note == p.cpu().note == t.as_tensor(p).note == "kept"


GRADIENTS = {
    "each look": "x.sum().backward(); r = x.grad is x.grad",
    "accumulation": "x.sum().backward(); g = x.grad; x.sum().backward(); r = x.grad is g, g.tolist()",
    "attribute": "x.sum().backward(); x.grad.mark = [1]; x.sum().backward(); r = x.grad.mark",
    "assignment": "g = t.zeros(3); x.grad = g; r = x.grad is g",
    "subclass": "g = t.nn.Parameter(t.zeros(3)); x.grad = g; r = x.grad is g",
    "none": "x.sum().backward(); x.grad.mark = 1; x.grad = None; x.sum().backward(); r = hasattr(x.grad, 'mark')",
    "deletion": "x.sum().backward(); del x.grad; r = x.grad",
    "graph": "(x**2).sum().backward(create_graph=True); g = x.grad; (x**2).sum().backward(); r = x.grad is g",
    "retained": "y = x * 2; y.retain_grad(); y.sum().backward(); y.grad.mark = 1; r = y.grad.mark, y.grad is y.grad",
    "zeros": "o = t.optim.SGD([x]); x.sum().backward(); g = x.grad; o.zero_grad(False); r = x.grad is g, g.tolist()",
    "zeros of views": "f = t.ones(4); x.grad = f[1:]; o = t.optim.SGD([x], 0.1); o.zero_grad(False); r = f.tolist()",
    "no grad": "o = t.optim.SGD([x], 0.1); x.sum().backward(); x.grad; o.zero_grad(); r = x.grad",
    "copy": "x.mark = [1]; y = copy.copy(x); r = y.mark is x.mark, y.grad",
    "deep copy": "x.sum().backward(); x.grad.mark = 1; y = copy.deepcopy(x); r = y.grad.mark, y.grad is x.grad",
    "deep attribute": "x.mark = [1]; y = copy.deepcopy(x); r = y.mark, y.mark is x.mark",
    "pickle": "y = t.ones(3); y.mark = [1]; r = pickle.loads(pickle.dumps(y)).mark",
    "file": "x.mark = 7; f = io.BytesIO(); t.save(x, f); f.seek(0); r = t.load(f).mark",
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_is_one_object(name, torch):
    found = []
    for t in (dt, torch):
        names = {
            "t": t,
            "x": t.ones(3, requires_grad=True),
            "copy": copy,
            "pickle": pickle,
            "io": io,
        }
        exec(GRADIENTS[name], names)
        found.append(names["r"])
    assert found[0] == found[1]


def test_gradients_that_are_taken_away_are_freed():
    gc.collect()
    before = lib.dt_live_handles(b"tensor")
    model = dt.nn.Linear(3, 2)
    optimizer = dt.optim.SGD(model.parameters(), 0.1)
    for forget in (optimizer.zero_grad, model.zero_grad):
        held = lib.dt_live_handles(b"tensor")
        model(dt.ones(1, 3)).sum().backward()
        marks = [weakref.ref(p.grad) for p in model.parameters()]
        assert all(mark() is not None for mark in marks)
        forget()
        assert all(mark() is None for mark in marks)
        assert lib.dt_live_handles(b"tensor") == held
    weight = model.weight
    weight.grad = dt.zeros(2, 3)
    weight.grad.owner = weight  # a circle that the collector sees
    del model, optimizer, weight, forget
    gc.collect()
    assert lib.dt_live_handles(b"tensor") == before


VIEWS = [
    "x.view(12)", "x.view(-1)[2:]", "x.view_as(x)", "x.reshape(12)", "x.T", "x.mT", "x.H", "x.t()", "x[1]", "x[:, 1:3]",
    "x[None]", "x[..., 0]", "list(x)[1]", "x.transpose(0, 1)", "x.swapaxes(0, 1)", "x.movedim(0, 1)", "x.permute(1, 0)",
    "x.expand(2, 3, 4)", "x.expand_as(t.ones(2, 3, 4))", "x.broadcast_to(2, 3, 4)", "x.diagonal()", "x.flatten()",
    "x.narrow(0, 1, 2)", "x.select(0, 1)", "x.unsqueeze(0)", "x.unsqueeze(0).squeeze()", "x.unfold(1, 2, 2)",
    "x.unflatten(1, (2, 2))", "x.as_strided((2, 2), (1, 1))", "x.unbind()[2]", "x.chunk(2)[1]", "x.split(2)[0]",
    "x.split([1, 2])[1]", "x.tensor_split(2)[0]", "x.hsplit(2)[0]", "t.broadcast_tensors(x, t.ones(2, 1, 1))[0]",
    "t.atleast_3d(x)", "t.linalg.diagonal(x)", "t.meshgrid(x[0], x[1], indexing='ij')[1]", "t.nn.Flatten(0)(x)",
    "x", "x.clone()", "x.detach()", "x.data", "x.reshape(3, 4)", "x.contiguous()", "x.T.contiguous()", "x + 1",
    "x[[0, 1]]",
]  # fmt: skip


SEVERAL = re.compile(r"list|unbind|chunk|split|tensors")  # PyTorch refuses writes to one of them


@pytest.mark.parametrize("kind", ["plain", "parameter", "computed", "no grad", "written"])
def test_the_base_of_a_view_is_that_object(kind, torch):
    for text in VIEWS:
        found = []
        for t in (dt, torch):
            x = t.ones(3, 4)
            if kind == "parameter":
                x = t.nn.Parameter(x)
            elif kind != "plain":
                x = x.requires_grad_() * 1
            with t.set_grad_enabled(kind != "no grad"):
                y = eval(text, {"t": t, "x": x})
            if kind == "written" and y._is_view() and y.numel() <= 12 and not SEVERAL.search(text):
                y.add_(1)
            found.append((y._base is x, y._base is None, y._is_view()))
        assert found[0] == found[1], text


def test_bases_live_as_long_as_their_views():
    gc.collect()
    before = lib.dt_live_handles(b"tensor")
    x = dt.ones(2, 2)
    x.part = x[0]  # a circle that the collector sees
    mark, other = weakref.ref(x), dt.ones(2, 2)[0]
    assert other._base is other._base and other[:1]._base is other._base
    dt.utils.swap_tensors(x.part, other)
    assert other._base is x and x.part._base is not x
    part, other = other, None
    del x
    gc.collect()
    assert part._base is mark()
    del part
    gc.collect()
    assert mark() is None
    assert lib.dt_live_handles(b"tensor") == before


def test_a_tensor_as_another_class(both, same):
    """torch.Tensor._make_subclass, by which older programs make parameters of their own."""

    def run(t):
        class Scale(t.nn.Parameter):
            def __new__(cls, data, requires_grad=True):
                return t.Tensor._make_subclass(cls, data, requires_grad)

        data = t.ones(2)
        scale = Scale(data * 1)
        (scale * 3).sum().backward()
        layer = t.nn.Module()
        layer.scale = scale
        shared = t.Tensor._make_subclass(Scale, data)
        data.fill_(5)
        errors = []
        for given in ((int, data), (t.Tensor, 3)):
            with pytest.raises(TypeError) as caught:
                t.Tensor._make_subclass(*given)
            errors.append(str(caught.value))
        kinds = type(scale).__name__, scale.is_leaf, len(list(layer.parameters()))
        return scale, scale.grad, shared, shared.requires_grad, kinds, errors

    same(*both(run))
