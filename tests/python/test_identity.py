"""What gives back its argument gives back that very object, where PyTorch does."""

import warnings

import dumbtorch as dt
import pytest

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
