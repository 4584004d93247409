"""Recurrent networks as functions of their weights."""

from contextlib import nullcontext

from table import ALL, FLOATS, Row, fixed, value

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


def moved(op, call, *inputs):
    """Elements change places, and none is rounded."""
    ROWS.append(Row(op, lambda t, *tensors: call(t.nn.utils.rnn, t, *tensors), inputs, ALL))


def padded(**options):
    return lambda rnn, t, *sequences: rnn.pad_sequence(sequences, **options)


moved("pad_sequence", padded(), value(2, 3), value(4, 3), value(1, 3))
moved("pad_sequence", padded(batch_first=True, padding_value=1.0), value(3), value(0), value(5))
moved("pad_sequence", padded(padding_side="left"), value(2, 2, 3), value(3, 1, 3))
moved(
    "unpad_sequence",
    lambda rnn, t, x: rnn.unpad_sequence(x.mul(1), t.tensor([2, 5, 0, -1])),
    value(4, 4, 2),
)
moved(
    "unpad_sequence", lambda rnn, t, x: rnn.unpad_sequence(x, t.tensor([1, 3]), True), value(2, 3)
)


def given(results) -> list:
    return [x for x in results if x is not None]


for lengths, options in (
    ([3, 2, 2], {}),
    ([1, 4, 2], {"enforce_sorted": False}),
    ([2, 3, 3, 1], {"batch_first": True, "enforce_sorted": False}),
):
    sizes = (4, 3, 2) if "batch_first" in options else (4, 3)
    moved(
        "pack_padded_sequence",
        lambda rnn, t, x, n=lengths, o=options: given(
            rnn.pack_padded_sequence(x, t.tensor(n, device="cpu"), **o)
        ),
        value(*sizes),
    )
moved(
    "pack_sequence",
    lambda rnn, t, *x: given(rnn.pack_sequence(x)),
    value(4, 2),
    value(4, 2),
    value(1, 2),
)
moved(
    "pack_sequence",
    lambda rnn, t, *x: given(rnn.pack_sequence(x, False)),
    value(1),
    value(3),
    value(2),
)


def of_packed(name, *order, **options):
    """Of packed sequences of 4, 2 and 1 elements."""

    def call(rnn, t, x):
        order_in_batch = t.tensor(order, device=x.device) if order else None
        packed = rnn.PackedSequence(x, t.tensor([3, 2, 1, 1], device="cpu"), None, order_in_batch)
        return getattr(rnn, name)(packed, **options)

    return call


moved("pad_packed_sequence", of_packed("pad_packed_sequence"), value(7, 2))
moved(
    "pad_packed_sequence",
    of_packed("pad_packed_sequence", 2, 0, 1, batch_first=True, padding_value=1.0),
    value(7),
)
moved("pad_packed_sequence", of_packed("pad_packed_sequence", 1, 1, total_length=6), value(7, 2))
moved("unpack_sequence", of_packed("unpack_sequence"), value(7, 2))
moved("unpack_sequence", of_packed("unpack_sequence", 1, 2, 0), value(7))
