"""Recurrent layers and packed sequences against PyTorch's: what the rows of layers do not say."""

import copy
import math
from contextlib import nullcontext

import dumbtorch as dt
import pytest

LENGTHS = [2, 5, 1, 5]


def sequences(t):
    return [t.arange(float(n * 3)).view(n, 3).sin() + n for n in LENGTHS]


def copied(t, layer, torch):
    """PyTorch's weights in a layer of either library."""
    state = {k: t.tensor(v.tolist()) for k, v in torch.items()}
    layer.load_state_dict(state)
    return layer


def packed_fields(packed):
    return [x for x in packed if x is not None]


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_packed_input(kind, bidirectional, given, torch, same):
    model = getattr(torch.nn, kind)(3, 4, 2, bidirectional=bidirectional)
    weights = model.state_dict()

    def run(t):
        layer = getattr(t.nn, kind)(3, 4, 2, bidirectional=bidirectional)
        layer = copied(t, layer, weights)
        packed = t.nn.utils.rnn.pack_sequence(sequences(t), enforce_sorted=False)
        state = t.arange(float(4 * 4 * (4 if bidirectional else 2))).view(-1, 4, 4).cos()
        state = (state, state / 2) if kind == "LSTM" else state
        output, last = layer(packed, state if given else None)
        assert isinstance(output, t.nn.utils.rnn.PackedSequence)
        found = [*packed_fields(output), *(last if kind == "LSTM" else [last])]
        sum(x.square().sum() for x in found if x.requires_grad).backward()
        return found + [p.grad for p in layer.parameters()]

    same(*(run(t) for t in (dt, torch)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("rows, sizes", [(3, [2, 1, 0]), (3, [3, 0, 0]), (0, [0, 0])])
def test_packed_steps_of_nothing(kind, rows, sizes, torch, same):
    model = getattr(torch.nn, kind)(2, 3, 2, bidirectional=True)
    weights = model.state_dict()

    def run(t):
        layer = copied(t, getattr(t.nn, kind)(2, 3, 2, bidirectional=True), weights)
        data = t.arange(2.0 * rows).view(rows, 2).requires_grad_()
        packed = t.nn.utils.rnn.PackedSequence(data, t.tensor(sizes))
        output, last = layer(packed)
        found = [*packed_fields(output), *(last if kind == "LSTM" else [last])]
        sum(x.square().sum() for x in found if x.requires_grad).backward()
        return [*found, data.grad]

    same(*(run(t) for t in (dt, torch)), rtol=1e-4, atol=1e-5)


def test_one_state_of_two(torch):
    """PyTorch's LSTM looks for the second before it counts them: an IndexError."""
    for t in (dt, torch):
        with pytest.raises(RuntimeError, match="lstm_cell expects two hidden states"):
            t.nn.LSTMCell(2, 3)(t.ones(1, 2), (t.zeros(1, 3),))
        packed = t.nn.utils.rnn.pack_sequence([t.ones(2, 2)])
        with pytest.raises(RuntimeError, match="lstm expects two hidden states"):
            t.nn.LSTM(2, 3)(packed, (t.zeros(1, 1, 3),))
    with pytest.raises(RuntimeError, match="lstm expects two hidden states"):
        dt.nn.LSTM(2, 3)(dt.ones(4, 1, 2), (dt.zeros(1, 1, 3),))


def test_dropout_between_layers(torch):
    """All or nothing: PyTorch draws other numbers."""
    for t in (dt, torch):
        layer = t.nn.GRU(3, 4, 2, dropout=1.0)
        with t.no_grad():
            for name in ("weight_ih_l1", "weight_hh_l1"):
                getattr(layer, name).fill_(1.0)
        x = t.arange(18.0).view(3, 2, 3)
        outputs = layer(x)[0]
        assert (outputs - layer(x * 100)[0]).abs().max().item() == 0
        layer.eval()
        assert (layer(x)[0] - layer(x * 100)[0]).abs().max().item() > 0


def refusals(t):
    """Calls that are refused, by name."""
    nn, zeros = t.nn, t.zeros
    x = zeros(5, 3, 4)
    for kind in ("RNN", "LSTM", "GRU"):
        make = getattr(nn, kind)
        layer = make(4, 6, 2)

        def state(*sizes, kind=kind):
            return (zeros(*sizes), zeros(*sizes)) if kind == "LSTM" else zeros(*sizes)

        inputs = [(zeros(4),), (zeros(1, 2, 3, 4),), (zeros(5, 3, 3),), (x.double(),), (x.long(),), (x[:0],),
                  (x, state(2, 6)), (x[:, 0], state(2, 1, 6)), (x, state(2, 4, 6)), (x, state(3, 3, 6)),
                  (x, state(2, 3, 5))]  # fmt: skip
        for i, args in enumerate(inputs):
            yield f"{kind} of {i}", lambda layer=layer, args=args: layer(*args)
        for options in ({"dropout": 1.5}, {"bias": 1}, {"num_layers": 0}, {"proj_size": -1}, {"proj_size": 6},
                        {"hidden_size": 0}, {"input_size": 0}, {"batch_first": 1}, {"input_size": 4.0}):  # fmt: skip
            options = {"input_size": 4, "hidden_size": 6} | options
            yield f"{kind} {options}", lambda make=make, options=options: make(**options)
        cell = getattr(nn, kind + "Cell")(4, 6)
        rows = zeros(3, 4)
        cells = [(zeros(2, 3, 4),), (zeros(3, 5),), (rows, state(6)), (rows, state(2, 6)), (rows, state(3, 5)),
                 (rows, state(3, 3, 5)), (rows[0], state(3, 6))]  # fmt: skip
        for i, args in enumerate(cells):
            yield f"{kind}Cell of {i}", lambda cell=cell, args=args: cell(*args)
    yield "pair", lambda: nn.LSTM(4, 6)(x, (zeros(1, 3, 6), zeros(1, 3, 5)))
    yield "nonlinearity", lambda: nn.RNN(4, 6, nonlinearity="gelu")
    yield "cell's nonlinearity", lambda: nn.RNNCell(4, 6, nonlinearity="gelu")(zeros(3, 4))
    rnn = nn.utils.rnn
    for i, lengths in enumerate(([2, 4, 1], [4, 2, 0], [4, 2])):
        yield f"lengths {i}", lambda lengths=lengths: rnn.pack_padded_sequence(x, lengths)
    packed = rnn.pack_padded_sequence(zeros(5, 3, 4), [5, 2, 1])
    yield "total_length", lambda: rnn.pad_packed_sequence(packed, total_length=3)
    yield "padding_side", lambda: rnn.pad_sequence([x], padding_side="top")
    yield "nothing", lambda: rnn.pad_sequence([])
    yield "a number", lambda: rnn.pad_sequence(3)


@pytest.mark.parametrize(
    "sizes", [[3, 2], [3, 2, 2], [2, 3, 1], [3, 2, 0], [6, 0, -1], [2**62, 2**62, 6]]
)
def test_batch_sizes_that_lie(sizes):
    """They say where rows are: nothing else may be read."""
    weights = [dt.zeros(4, 2), dt.zeros(4, 1), dt.zeros(4), dt.zeros(4)]
    first = (dt.zeros(1, 3, 1), dt.zeros(1, 3, 1))
    with pytest.raises(RuntimeError, match="batch_sizes"):
        dt.lstm(dt.zeros(6, 2), dt.tensor(sizes), first, weights, True, 1, 0.0, False, False)


def sentence(call) -> tuple[type, str]:
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value), str(caught.value)


def test_refusals(torch):
    for (name, ours), (_, theirs) in zip(refusals(dt), refusals(torch), strict=True):
        (error, text), (wanted, words) = sentence(ours), sentence(theirs)
        assert (error, text.split(": ", 1)[-1] if words not in text else words) == (
            wanted,
            words,
        ), name


KINDS = ["RNN", "LSTM", "GRU"]


def twins(torch, kind, *args, dtype="float64", **options):
    """PyTorch's layer, and ours with the same weights."""
    theirs = getattr(torch.nn, kind)(*args, dtype=getattr(torch, dtype), **options)
    ours = getattr(dt.nn, kind)(*args, dtype=getattr(dt, dtype), **options)
    ours.load_state_dict({k: dt.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    return (dt, ours), (torch, theirs)


def in_steps(t):
    """PyTorch's fast LSTM keeps its results, and has no second derivative."""
    return t.backends.mkldnn.flags(enabled=False) if t.__name__ == "torch" else nullcontext()


def first_states(t, kind, *sizes, dtype="float64"):
    dtype = getattr(t, dtype)
    h = t.linspace(-1, 1, math.prod(sizes), dtype=dtype).view(sizes).requires_grad_()
    c = h.detach().cos().requires_grad_()
    return (h, c) if kind == "LSTM" else (h,)


def run(t, kind, layer, x, states):
    """The results: hidden states, the last of them and the last cells."""
    with in_steps(t):
        y, last = layer(x, states if kind == "LSTM" else states[0])
    return [y, *(last if kind == "LSTM" else [last])]


WRITTEN = ["input", "h", "c", "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "output", "last"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("frozen", ["", "weight_ih_l0", "weight_hh_l0", "input", "weight"])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("steps", [1, 3])
def test_changed_in_place(kind, written, frozen, create_graph, steps, torch):
    """What the backward reads must not have been written since, and only that."""
    outcomes = []
    for t, layer in twins(torch, kind, 3, 4):
        x = t.ones(steps, 2, 3, dtype=t.float64, requires_grad=frozen != "input")
        states = [s.detach() for s in first_states(t, kind, 1, 2, 4)]
        for name, p in layer.named_parameters():
            p.requires_grad_(not frozen or not name.startswith(frozen))
        results = run(t, kind, layer, x, states)
        total = sum((r * r.detach().cos()).sum() for r in results)
        named = {"input": x, "h": states[0], "c": states[-1]}
        named |= {"output": results[0], "last": results[1]}
        with t.no_grad():
            (named | dict(layer.named_parameters()))[written].mul_(2)
        try:
            total.backward(create_graph=create_graph)
        except RuntimeError as error:
            outcomes.append("modified by an inplace operation" in str(error) or str(error))
        else:
            outcomes.append(False)
    # What a graph of the backward is made of: docs/differences.md.
    asks_more = {
        "input": frozen in ("weight", "weight_ih_l0"),
        "weight_ih_l0": frozen == "input",
    }
    is_more = create_graph and steps > 1 and asks_more.get(written)
    assert outcomes == ([True, False] if is_more else outcomes[1:] * 2)


def test_gradient_by_cells(both, same):
    """lstm_cell makes the hidden state of the cells that it returns."""

    def run(t):
        x, h, w = t.ones(2, 3), t.ones(2, 4), t.ones(16, 7).cumsum(0).cos().requires_grad_()
        h_next, c_next = t.lstm_cell(x, (h, h), w[:, :3], w[:, 3:])
        return t.autograd.grad(h_next.sum(), [c_next, w])

    same(*both(run), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layers", [0, -1, 2**62])
@pytest.mark.parametrize("kind", ["rnn_relu", "gru", "lstm"])
def test_no_layers(kind, layers, torch):
    """There is nothing among which weights could be divided."""
    for t in (dt, torch):
        x, h = t.ones(2, 1, 3), t.ones(0, 1, 3)
        with pytest.raises(RuntimeError):
            state = (h, h) if kind == "lstm" else h
            getattr(t, kind)(x, state, [], False, layers, 0.0, False, True, False)


def test_what_layers_remember(torch):
    for t in (dt, torch):
        layer = t.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
        layer.flatten_parameters()
        assert [len(w) for w in layer.all_weights] == [5] * 4
        assert layer.all_weights[3][0] is layer.weight_ih_l1_reverse
        again = copy.deepcopy(layer)
        assert again.all_weights[0][0] is again.weight_ih_l0
        assert isinstance(layer, t.nn.RNNBase) and layer.mode == "LSTM"
        assert all(p.abs().max().item() <= 0.5 for p in layer.parameters())
        with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
            t.nn.GRU(3, 4, dropout=0.5)


def test_backward_twice(both, same):
    def run(t):
        layer = t.nn.LSTM(2, 2)
        with t.no_grad():
            for p in layer.parameters():
                p.copy_(t.arange(float(p.numel())).view(p.shape).sin())
        y = layer(t.ones(3, 1, 2))[0].sum()
        y.backward(retain_graph=True)
        y.backward()
        (g,) = t.autograd.grad(layer(t.ones(3, 1, 2))[0].sum(), [layer.weight_hh_l0])
        return [p.grad for p in layer.parameters()] + [g]

    same(*both(run), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_steps_of_wide_layers(kind, dtype, torch):
    """Of sequences that end one after the other."""
    theirs = getattr(torch.nn, kind)(10, 64, 2, bidirectional=True, dtype=getattr(torch, dtype))
    ours = getattr(dt.nn, kind)(10, 64, 2, bidirectional=True, dtype=getattr(dt, dtype))
    ours.load_state_dict({k: dt.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    values = torch.randn(7, 9, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = []
    for t, layer in ((dt, ours), (torch, theirs)):
        x = t.tensor(values.tolist(), dtype=getattr(t, dtype), requires_grad=True)
        lengths = [7, 7, 6, 6, 5, 4, 3, 3, 1]
        y, _ = layer(t.nn.utils.rnn.pack_padded_sequence(x, lengths))
        y.data.square().sum().backward()
        found.append([y.data.detach(), x.grad, *(p.grad for p in layer.parameters())])
    rtol, atol = (1e-4, 1e-4) if dtype == "float32" else (1e-10, 1e-11)
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(torch.from_numpy(a.numpy()), b, rtol=rtol, atol=atol)


def compared(ours, theirs, torch):
    for a, b in zip(ours, theirs, strict=True):
        a = a if a is None else torch.from_numpy(a.detach().numpy())
        torch.testing.assert_close(a, b if b is None else b.detach(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("used", [[0], [1], [-1], [0, 1, -1]])
def test_gradients_of_each_result(kind, create_graph, used, torch):
    """Of the hidden states, of the last of them, of the last cells: the others have none."""
    found = []
    for t, layer in twins(torch, kind, 3, 20):
        x = t.linspace(-1, 1, 5 * 4 * 3, dtype=t.float64).view(5, 4, 3).requires_grad_()
        states = first_states(t, kind, 1, 4, 20)
        results = run(t, kind, layer, x, states)
        leaves = [x, *states, *layer.parameters()]
        total = sum((results[i] * results[i].detach().cos()).sum() for i in used)
        found.append(t.autograd.grad(total, leaves, create_graph=create_graph, allow_unused=True))
    compared(*found, torch)
    ours, theirs = ([g is not None and g.requires_grad for g in grads] for grads in found)
    assert ours == theirs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [False, True])
def test_second_order(kind, bias, torch):
    """Gradients of gradients, of sequences of several lengths in both directions."""
    found = []
    options = {"bidirectional": True, "bias": bias}
    for t, layer in twins(torch, kind, 3, 17, 2, **options):
        x = t.linspace(-1, 1, 6 * 5 * 3, dtype=t.float64).view(6, 5, 3).requires_grad_()
        states = first_states(t, kind, 4, 5, 17)
        packed = t.nn.utils.rnn.pack_padded_sequence(x, [6, 6, 4, 2, 1])
        with in_steps(t):
            y, _ = layer(packed, states if kind == "LSTM" else states[0])
        leaves = [x, *states, *layer.parameters()]
        first = t.autograd.grad(y.data.square().sum(), leaves, create_graph=True)
        second = t.autograd.grad(sum(g.square().sum() for g in first), leaves)
        found.append([y.data, *first, *second])
    compared(*found, torch)


# Each thread has sequences of its own, but all threads share a step of few sequences and a large weight.
SHARES = [
    ("LSTM", 40, [4] * 30),
    ("GRU", 40, [4] * 15),
    ("LSTM", 320, [5, 4, 3, 3, 2, 1]),
    ("GRU", 420, [6, 4, 2, 1, 1]),
    ("RNN", 1000, [3, 2, 2]),
]


@pytest.mark.parametrize("kind, hidden, lengths", SHARES)
def test_any_number_of_threads(kind, hidden, lengths, torch):
    """The same bits, and PyTorch's results."""
    (_, ours), (_, theirs) = twins(torch, kind, 9, hidden, dtype="float32")
    values = torch.randn(lengths[0], len(lengths), 9, generator=torch.Generator().manual_seed(0))
    before, found = dt.get_num_threads(), []
    try:
        for t, layer, threads in ((dt, ours, 1), (dt, ours, 2), (dt, ours, 7), (torch, theirs, 1)):
            t.set_num_threads(threads)
            x = t.tensor(values.tolist(), requires_grad=True)
            y, _ = layer(t.nn.utils.rnn.pack_padded_sequence(x, lengths))
            grads = t.autograd.grad(y.data.square().sum(), [x, *layer.parameters()])
            found.append([torch.from_numpy(v.detach().numpy()) for v in (y.data, *grads)])
    finally:
        dt.set_num_threads(before)
    for one, two, seven, wanted in zip(*found, strict=True):
        assert torch.equal(one, two) and torch.equal(one, seven)
        torch.testing.assert_close(one, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_see_what_is_kept(kind):
    """What a hook packed is unpacked, and the gradients are the same."""
    layer, x = getattr(dt.nn, kind)(3, 4, 2), dt.ones(5, 2, 3)
    plain = dt.autograd.grad(layer(x)[0].sum(), list(layer.parameters()))
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor.clone())
        return len(packed) - 1

    def unpack(index):
        unpacked.append(index)
        return packed[index]

    with dt.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = layer(x)[0].sum()
    hooked = dt.autograd.grad(y, list(layer.parameters()))
    assert set(unpacked) <= set(range(len(packed))) and unpacked
    for a, b in zip(plain, hooked, strict=True):
        assert dt.equal(a, b)


def test_graph_is_freed(torch):
    """A second backward needs what the first one let go of."""
    for t, layer in twins(torch, "GRU", 3, 4):
        y = layer(t.ones(3, 2, 3, dtype=t.float64))[0].sum()
        y.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()


def test_weights_that_are_put_in_place(torch):
    """A call computes with them, until a weight of the same name is assigned or the layer is converted."""
    results = []
    for t, layer in twins(torch, "LSTM", 3, 4):
        x, names = t.ones(2, 1, 3, dtype=t.float64), layer._flat_weights_names
        layer._flat_weights = [getattr(layer, name) for name in names]
        outs = [layer(x)[0]]
        layer._flat_weights = [weight.detach() * 2 for weight in layer._flat_weights]
        outs.append(layer(x)[0])
        layer.weight_ih_l0 = t.nn.Parameter(t.ones_like(layer.weight_ih_l0))
        outs.append(layer(x)[0])
        outs.append(layer.double()(x)[0])
        results.append([out.flatten().tolist() for out in outs])
    assert results[0] == [pytest.approx(out, rel=1e-12) for out in results[1]]


# ---- the checks of a class of one's own


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_checks_of_forward(both, kind, batch_first):
    def run(t):
        layer = getattr(t.nn, kind)(
            3,
            4,
            2,
            batch_first=batch_first,
            bidirectional=True,
            **({"proj_size": 2} if kind == "LSTM" else {}),
        )
        x, sizes = t.ones(5, 2, 3), t.tensor([2, 1])
        found = [
            tuple(layer.get_expected_hidden_size(x, None)),
            tuple(layer.get_expected_hidden_size(x[0], sizes)),
        ]
        if kind == "LSTM":
            found.append(tuple(layer.get_expected_cell_size(x, None)))
        states = [t.zeros(size) for size in (found[0], found[-1])]
        good, bad = (
            (states, states[:1] + [t.zeros(1, 1, 1)])
            if kind == "LSTM"
            else (states[0], t.zeros(1, 1, 1))
        )
        layer.check_forward_args(x, good, None)
        for call in (
            lambda: layer.check_forward_args(x, bad, None),
            lambda: layer.check_forward_args(x[0], good, None),
            lambda: layer.check_input(x, sizes),
            lambda: layer.check_input(t.ones(5, 2, 2), None),
            lambda: layer.check_input(x.double(), None),
            lambda: layer.check_hidden_size(states[0], (1, 2, 3), "{} and {}"),
        ):
            with pytest.raises((RuntimeError, ValueError)) as error:
                call()
            found.append((error.type, str(error.value)))
        order = t.tensor([1, 0])
        state = t.arange(8.0).reshape(1, 2, 4)
        hidden = (state, state * 2) if kind == "LSTM" else state
        moved = layer.permute_hidden(hidden, order)
        parts = moved if kind == "LSTM" else [moved]
        return (
            found,
            [part.tolist() for part in parts],
            layer.permute_hidden(hidden, None) is hidden,
        )

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_checks_that_are_overridden(both, kind):
    """forward calls them, of a class or of one layer, with a batch and a state."""

    def run(t):
        seen, base = [], getattr(t.nn, kind)

        class Layer(base):
            def check_forward_args(self, input, hidden, batch_sizes):
                states = hidden if isinstance(hidden, tuple) else [hidden]
                seen.append(
                    (tuple(input.shape), [tuple(h.shape) for h in states], batch_sizes is None)
                )

            def permute_hidden(self, hx, permutation):
                seen.append(permutation is None or permutation.tolist())
                return super().permute_hidden(hx, permutation)

        one = base(3, 4)
        one.check_input = lambda input, batch_sizes: seen.append("asked")
        pack = t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2, 3), [2, 3], enforce_sorted=False)
        state = t.zeros(1, 2, 4)
        with t.no_grad():
            one(t.ones(2, 1, 3))
            layer = Layer(3, 4)
            layer(t.ones(5, 2, 3))
            at = len(seen)
            layer(pack, (state, state) if kind == "LSTM" else state)
            packed = [each for each in seen[at:] if isinstance(each, list)]
            del seen[at:]
            layer(t.ones(5, 3))
        return (
            [each for each in seen[:at] if each is not True],
            packed,
            [each for each in seen if isinstance(each, tuple)],
        )

    mine, theirs = both(run)
    assert mine == theirs
