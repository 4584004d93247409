"""Recurrent networks as functions of their weights."""

from contextlib import nullcontext

from table import FLOATS, Row, fixed, value

ROWS: list[Row] = []


# A narrow state is rounded at every time step and gate, after sums in another order than PyTorch's.
NARROW = {"float16": 2e-2, "bfloat16": 1e-1}


def row(op, call, *inputs, dtypes=FLOATS, orders=2, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, rtol=NARROW, **more))


def plain(t):
    """PyTorch's fast LSTM has no second derivative."""
    is_torch = t.__name__ == "torch"
    return t.backends.mkldnn.flags(enabled=False) if is_torch else nullcontext()


def weights(gates, features, hidden, passes=1, biases=True, projected=0):
    """Of each layer and direction. `passes` may name the features of each."""
    passes = [features] * passes if isinstance(passes, int) else passes
    out = projected or hidden
    for n in passes:
        yield value(gates * hidden, n, low=-0.5, high=0.5)
        yield value(gates * hidden, out, low=-0.5, high=0.5)
        if biases:
            yield value(gates * hidden, low=-0.5, high=0.5)
            yield value(gates * hidden, low=-0.5, high=0.5)
        if projected:
            yield value(projected, hidden)


def network(name, layers=1, bidirectional=False, biases=True, batch_first=False):
    """A call over the input, the states and the weights."""
    states = 2 if name == "lstm" else 1

    def call(t, x, *rest):
        first, params = rest[:states], list(rest[states:])
        with plain(t):
            return getattr(t, name)(x, first if states == 2 else first[0], params, biases, layers, 0.0, True, bidirectional, batch_first)  # fmt: skip

    return call


GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
for name, gates in GATES.items():
    states = 2 if name == "lstm" else 1

    def state(*sizes, n=states):
        return [value(*sizes)] * n

    row(name, network(name), value(4, 2, 3), *state(1, 2, 5), *weights(gates, 3, 5), orders=3)
    row(name, network(name, biases=False, batch_first=True), value(2, 4, 3), *state(1, 2, 5),
        *weights(gates, 3, 5, biases=False))  # fmt: skip
    row(name, network(name, layers=2, bidirectional=True), value(3, 2, 3), *state(4, 2, 2),
        *weights(gates, 3, 2, [3, 3, 4, 4]))  # fmt: skip
    row(name, network(name), value(1, 2, 3), *state(1, 2, 5), *weights(gates, 3, 5))
    row(name, network(name), value(3, 0, 3), *state(1, 0, 5), *weights(gates, 3, 5))
    # Not all gradients are wanted.
    row(name, network(name), fixed(3, 2, 3), *[fixed(1, 2, 5)] * states, *weights(gates, 3, 5))
    row(name, network(name), value(3, 2, 3), *state(1, 2, 5),
        *(fixed(*w.sizes) for w in weights(gates, 3, 5)))  # fmt: skip

row("lstm", network("lstm", layers=2, bidirectional=True), value(3, 2, 3), value(4, 2, 2),
    value(4, 2, 5), *weights(4, 3, 5, [3, 3, 4, 4], projected=2))  # fmt: skip


def packed(name, sizes, bidirectional=False):
    states = 2 if name == "lstm" else 1

    def call(t, x, *rest):
        first, params = rest[:states], list(rest[states:])
        with plain(t):
            return getattr(t, name)(x, t.tensor(sizes, device="cpu"), first if states == 2 else first[0], params, True, 1, 0.0, True, bidirectional)  # fmt: skip

    return call


for op in ("lstm_packed", "gru_packed", "rnn_tanh_packed", "rnn_relu_packed"):
    name = op.removesuffix("_packed")
    gates = GATES[name]
    first = [value(1, 3, 5)] * (2 if name == "lstm" else 1)
    both = [value(2, 3, 5)] * (2 if name == "lstm" else 1)
    row(op, packed(name, [3, 3, 2, 1, 1]), value(10, 4), *first, *weights(gates, 4, 5))
    row(op, packed(name, [3, 1], True), value(4, 4), *both, *weights(gates, 4, 5, 2))
    row(op, packed(name, [3]), value(3, 4), *first, *weights(gates, 4, 5))


def cell(name):
    states = 2 if name == "lstm_cell" else 1

    def call(t, x, *rest):
        return getattr(t, name)(x, rest[:2] if states == 2 else rest[0], *rest[states:])

    return call


for op in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"):
    gates = GATES[op.removesuffix("_cell")]
    first = [value(2, 5)] * (2 if op == "lstm_cell" else 1)
    row(op, cell(op), value(2, 3), *first, *weights(gates, 3, 5), orders=3)
    row(op, cell(op), value(2, 3), *first, *weights(gates, 3, 5, biases=False))
    row(op, cell(op), value(0, 3), *[value(0, 5)] * len(first), *weights(gates, 3, 5))
