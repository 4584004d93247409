"""Recurrent layers and cells in regions of autocast: dtypes, numbers and gradients are PyTorch's."""

import itertools

import dumbtorch as dt
import numpy as np
import pytest

torch = pytest.importorskip("torch")

LAYERS = {
    "rnn": ("RNN", {}), "gru": ("GRU", {}),
    "lstm": ("LSTM", {}), "projected": ("LSTM", {"proj_size": 2}),
    "deep": ("GRU", {"num_layers": 2, "bidirectional": True, "bias": False}),
}  # fmt: skip
CELLS = {"rnn": "RNNCell", "gru": "GRUCell", "lstm": "LSTMCell"}


def numbers(t, *shape):
    count = int(np.prod(shape))
    return t.from_numpy(((np.arange(count) * 37 % 101 - 50) / 60).astype("float32").reshape(shape))


def fill(t, module):
    with t.no_grad():
        for w in module.parameters():
            w.copy_(numbers(t, *w.shape))
    return module


def flat(result):
    """The tensors of a result, those of a packed sequence too."""
    if hasattr(result, "batch_sizes"):
        return [result.data]
    if isinstance(result, tuple):
        return [x for part in result for x in flat(part)]
    return [result]


def sizes_of_state(cell, packed_batch, options):
    layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    lead = (packed_batch,) if cell else (layers, packed_batch)
    return (*lead, options.get("proj_size", 3)), (*lead, 3)


def run(t, kind, options, given, state, lower, packed):
    cell = kind.endswith("Cell")
    module = fill(t, getattr(t.nn, kind)(4, 3, **options))
    before = fill(t, t.nn.Linear(4, 4))
    x = numbers(t, 2, 4) if cell else numbers(t, 5, 2, 4)
    with t.autocast("cpu", dtype=getattr(t, lower)):
        x = before(x) if given == "lower" else x
        if packed:
            x = t.nn.utils.rnn.pack_padded_sequence(x, t.tensor([5, 3]))
        args = (x,)
        if state:
            first = tuple(
                numbers(t, *s).to(getattr(t, state)) for s in sizes_of_state(cell, 2, options)
            )
            args += (first,) if kind.startswith("LSTM") else first[:1]
        results = flat(module(*args))
    total = sum((y.float() * (i + 1)).sum() for i, y in enumerate(results))
    return results, t.autograd.grad(total, list(module.parameters()))


def compare(kind, options, given, state, lower, packed):
    mine, theirs = (run(t, kind, options, given, state, lower, packed) for t in (dt, torch))
    assert [str(y.dtype)[-8:] for y in mine[0]] == [str(y.dtype)[-8:] for y in theirs[0]]
    # A gradient of weights is a sum over ten rows, each of them rounded a few times.
    step = {"bfloat16": 2.0**-8, "float16": 2.0**-11}[lower]
    for a, b in zip(mine[0] + list(mine[1]), theirs[0] + list(theirs[1]), strict=True):
        a, b = a.detach().float().numpy(), b.detach().float().numpy()
        np.testing.assert_allclose(a, b, rtol=0, atol=10 * step * max(1, np.abs(b).max()))


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("layer", LAYERS)
def test_layers(layer, packed, lower):
    kind, options = LAYERS[layer]
    # PyTorch gives an unpacked LSTM to oneDNN, which not every processor has in the half precision.
    one_op = layer == "lstm" and not packed
    for given, state in itertools.product(["float32", "lower"], [None, "float32", lower]):
        if not one_op or (given == "lower" and state != "float32"):
            compare(kind, options, given, state, lower, packed)


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("cell", CELLS)
def test_cells(cell, lower):
    for given, state in itertools.product(["float32", "lower"], [None, "float32", lower]):
        compare(CELLS[cell], {}, given, state, lower, False)


def test_a_recorded_backward():
    """Gradients of gradients go through what the region cast."""
    x = numbers(dt, 5, 2, 4).requires_grad_()
    layer = fill(dt, dt.nn.GRU(4, 3))
    with dt.autocast("cpu"):
        y = layer(x)[0]
    (g,) = dt.autograd.grad(y.float().square().sum(), x, create_graph=True)
    assert dt.autograd.grad(g.square().sum(), x)[0].isfinite().all()
