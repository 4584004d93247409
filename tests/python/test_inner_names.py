"""Names inside PyTorch that programs call all the same."""

import warnings

import dumbtorch as dt
import pytest


def weights(t, gates, bias=True):
    shapes = [(gates * 3, 2), (gates * 3, 3)] + [(gates * 3,)] * (2 if bias else 0)
    return [(t.arange(float(t.zeros(s).numel())).reshape(s) - 5) / 16 for s in shapes]


def step(t):
    return t.arange(8.0).reshape(4, 1, 2) / 8


FUNCTIONS = {
    "lstm": lambda t: t._VF.lstm(
        step(t), (t.zeros(1, 1, 3), t.ones(1, 1, 3)), weights(t, 4), True, 1, 0.0, False, False, False
    ),
    "gru": lambda t: t._VF.gru(
        step(t), t.ones(1, 1, 3), weights(t, 3, False), False, 1, 0.0, True, False, False
    ),
    "rnn_tanh": lambda t: t._VF.rnn_tanh(
        step(t), t.ones(1, 4, 3), weights(t, 1), True, 1, 0.0, False, False, True
    ),
    "rnn_relu": lambda t: t._VF.rnn_relu(
        step(t)[:, 0], t.tensor([2, 1, 1]), t.ones(1, 2, 3), weights(t, 1), True, 1, 0.0, False, False
    ),
    "lstm_cell": lambda t: t._VF.lstm_cell(
        step(t)[0], (t.zeros(1, 3), t.ones(1, 3)), *weights(t, 4)
    ),
    "gru_cell": lambda t: t._VF.gru_cell(step(t)[0], t.ones(1, 3), *weights(t, 3)),
    "rnn_tanh_cell": lambda t: t._VF.rnn_tanh_cell(step(t)[0], t.ones(1, 3), *weights(t, 1)),
    "rnn_relu_cell": lambda t: t._VF.rnn_relu_cell(step(t)[0], t.ones(1, 3), *weights(t, 1)),
    "split": lambda t: t._VF.split(t.arange(5), 2),
    "addmm": lambda t: t._VF.addmm(t.ones(2), t.ones(3, 2), t.ones(2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, both, same):
    same(*both(FUNCTIONS[name]))


def test_the_module_of_functions():
    from dumbtorch import _VF

    assert _VF.lstm is dt.lstm
    with pytest.raises(AttributeError):
        _VF.Tensor  # noqa: B018


def test_initial_values(both, same):
    def run(t):
        x = t.zeros(2, 2, requires_grad=True)
        init = t.nn.init
        filled = init._no_grad_fill_(x, 3.0) is x, x.tolist()
        drawn = [
            init._no_grad_uniform_(t.empty(100), -1.0, 1.0),
            init._no_grad_normal_(t.empty(100), 5.0, 0.5),
            init._no_grad_trunc_normal_(t.empty(100), 0.0, 1.0, -0.5, 0.5),
        ]
        between = [(-1, 1), (0, 10), (-0.5, 0.5)]
        inside = [
            bool(((y >= a) & (y <= b)).all()) for y, (a, b) in zip(drawn, between, strict=True)
        ]
        return *filled, inside, init._no_grad_zero_(x)

    same(*both(run))


def test_older_names_of_initial_values(both):
    def run(t):
        def mine_(x, y=1):
            return x + y

        older = t.nn.init._make_deprecate(mine_)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            result = older(1, y=2)
        said = [(w.category, str(w.message)) for w in given]
        return older.__name__, result, said, t.nn.init.xavier_uniform.__name__

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.skipif(dt.cuda.is_available(), reason="there is a GPU")
def test_states_of_generators_without_a_gpu(both):
    def run(t):
        state = t.zeros(16, dtype=t.uint8)
        nothing = t.cuda.set_rng_state(state), t.cuda.set_rng_state(state, 1)
        return *nothing, t.cuda.set_rng_state_all([state]), t.cuda.get_rng_state_all()

    ours, theirs = both(run)
    assert ours == theirs
    with pytest.raises(RuntimeError, match="'cuda:0' is not available"):
        dt.cuda.get_rng_state()


@pytest.mark.parametrize("kind", ["self", "memory", "each"])
@pytest.mark.parametrize("has_bias", [True, False])
def test_projections(kind, has_bias, both, same):
    def run(t):
        F = t.nn.functional
        x = (t.arange(24.0).reshape(3, 2, 4) / 24).requires_grad_()
        y, z = x * 2, x.cos()
        q, k, v = {"self": (x, x, x), "memory": (x, y, y), "each": (x, y, z)}[kind]
        w, b = t.arange(48.0).reshape(12, 4).sin(), t.arange(12.0) if has_bias else None
        packed = F._in_projection_packed(q, k, v, w, b)
        biases = b.chunk(3) if has_bias else ()
        apart = F._in_projection(q, k, v, *w.chunk(3), *biases)
        (packed[0] * packed[1] + packed[2] + sum(apart)).sum().backward()
        return packed, apart, [p.is_contiguous() for p in packed], x.grad

    same(*both(run))


def test_projections_that_do_not_fit(refusals):
    def run(t):
        x, w = t.ones(2, 3), t.ones(3, 3)
        t.nn.functional._in_projection(x, x, x, w, t.ones(3, 4), w)

    mine, theirs = refusals(run, AssertionError)
    assert mine == theirs


@pytest.mark.parametrize(
    "text",
    [
        "F._canonical_mask(None, 'a', None, 'b', t.float32)",
        "F._canonical_mask(m, 'a', None, 'b', t.float32)",
        "F._canonical_mask(m, 'a', F._none_or_dtype(m), '', t.float64)",
        "F._canonical_mask(m, 'a', t.float32, 'b', t.float64)",
        "F._canonical_mask(m, 'a', t.float32, 'b', t.float64, False)",
        "F._canonical_mask(m.float(), 'a', t.float32, 'b', t.float64)",
        "F._canonical_mask(m.long(), 'a', None, 'b', t.float64)",
        "F._none_or_dtype(None)",
        "F._none_or_dtype(3)",
    ],
)
def test_masks_that_are_added(text, both, same):
    def run(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                given = {"t": t, "F": t.nn.functional, "m": t.tensor([True, False])}
                made = eval(text, given)
            except (AssertionError, RuntimeError) as error:
                made = type(error), str(error)
        return made, [str(s.message) for s in seen]

    same(*both(run))
