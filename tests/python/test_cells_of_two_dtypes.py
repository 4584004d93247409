"""Cells whose input has another dtype than their state: its part is rounded to the state's, and added to it."""

import itertools

import dumbtorch as dt
import pytest

FLOATS = ("bfloat16", "float16", "float32", "float64")


def cell(t, name, of_input, of_state, biased):
    """What a cell gives, and its gradients by all that it is made of."""

    def numbers(*shape, step, dtype):
        count = shape[0] * shape[-1] if len(shape) > 1 else shape[0]
        x = (t.arange(count) * step % 101 - 50).to(t.float64) / 60
        return x.reshape(shape).to(getattr(t, dtype)).requires_grad_()

    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[name] * 3
    leaves = [
        numbers(2, 5, step=37, dtype=of_input), numbers(2, 3, step=41, dtype=of_state),
        numbers(gates, 5, step=43, dtype=of_input), numbers(gates, 3, step=47, dtype=of_state),
    ]  # fmt: skip
    if biased:
        leaves += [
            numbers(gates, step=53, dtype=of_input),
            numbers(gates, step=59, dtype=of_state),
        ]
    x, h, *weights = leaves
    if name == "lstm":
        c = numbers(2, 3, step=61, dtype=of_state)
        y, cells = t.lstm_cell(x, (h, c), *weights)
        y = y + cells
        leaves.append(c)
    else:
        y = getattr(t, f"{name}_cell")(x, h, *weights)
    return [y, *t.autograd.grad(y.sum(), leaves)]


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh"])
def test_against_pytorch(torch, name, biased):
    narrow = {"bfloat16": 2**-6, "float16": 2**-9}
    compared = 0
    for of_input, of_state in itertools.permutations(FLOATS, 2):
        try:
            theirs = cell(torch, name, of_input, of_state, biased)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                cell(dt, name, of_input, of_state, biased)
            continue
        ours = cell(dt, name, of_input, of_state, biased)
        tolerance = max(narrow.get(d, 1e-6) for d in (of_input, of_state))
        for a, b in zip(ours, theirs, strict=True):
            assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape)
            a, b = torch.tensor(a.double().tolist()), b.double()
            assert (a - b).abs().max() <= tolerance * b.abs().max(), (of_input, of_state)
        compared += 1
    assert compared >= 4


def test_a_bias_of_the_inputs_dtype_is_no_state_s():
    x, h = dt.ones(1, 2), dt.ones(1, 3, dtype=dt.float64)
    w, u = dt.ones(3, 2), dt.ones(3, 3, dtype=dt.float64)
    with pytest.raises(RuntimeError, match="must have the same dtype, but got Float and Double"):
        dt.gru_cell(x, h, dt.ones(9, 2), dt.ones(9, 3, dtype=dt.float64), dt.ones(9), dt.ones(9))
    y = dt.rnn_tanh_cell(x, h, w, u)
    assert y.dtype is dt.float64 and (y - dt.tanh(dt.tensor(5.0))).abs().max() < 1e-6
