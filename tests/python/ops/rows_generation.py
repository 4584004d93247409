"""Positions and sampling of language models. PyTorch has no such functions: their papers' formulas stand here."""

from table import FLOATS, Row, fixed, value

ROWS: list[Row] = []


def row(op, formula, *inputs, orders=3, **more):
    """`formula` is (t, *tensors, **more), the same in the op's words and in PyTorch's."""

    def call(t, *tensors):
        function = getattr(t.nn.functional, op, None)
        return function(*tensors, **more) if function else formula(t, *tensors, **more)

    ROWS.append(Row(op, call, inputs, FLOATS, orders))


def rotated(t, x, positions=None, base=10000.0, interleaved=False):
    """Multiplied by a complex number of size 1, as in the paper's section 3.2.2."""
    if not x.is_floating_point():
        raise RuntimeError("there is no half of a whole number to turn")
    time, features = x.shape[-2:]
    positions = t.arange(time) if positions is None else positions
    speeds = base ** (-t.arange(0, features, 2, dtype=t.float64) / features)
    turns = t.exp(1j * positions.double()[..., None] * speeds)
    pairs = (features // 2, 2) if interleaved else (2, features // 2)
    a, b = (
        x.to(t.float64 if x.dtype == t.float64 else t.float32)
        .unflatten(-1, pairs)
        .unbind(-1 if interleaved else -2)
    )
    y = (a + 1j * b) * turns
    return t.stack([y.real, y.imag], -1 if interleaved else -2).flatten(-2).to(x.dtype).clone()


for interleaved in (False, True):
    row("rotary_embedding", rotated, value(2, 3, 5, 8), interleaved=interleaved)
row("rotary_embedding", rotated, value(5, 6), fixed(5, low=0, high=3000), base=500.0, orders=1)
row("rotary_embedding", rotated, value(2, 3, 5, 4), fixed(2, 1, 5, low=0, high=50), orders=1)
row("rotary_embedding", rotated, value(3, 5, 4), fixed(1, low=0, high=50), orders=1)
row("rotary_embedding", rotated, value(2, 0, 4), orders=1)
row("rotary_embedding", rotated, value(2, 3, 0), orders=1)


def waves(t, positions, embedding_dim, base=10000.0):
    """The formula of "Attention is all you need", section 3.5, feature by feature."""
    features = []
    for i in range(embedding_dim):
        angle = positions.double() / base ** ((i - i % 2) / embedding_dim)
        features.append(t.cos(angle) if i % 2 else t.sin(angle))
    return t.stack(features, -1).to(t.get_default_dtype())


row("sinusoidal_embedding", waves, fixed(5, low=0, high=300), embedding_dim=8, orders=0)
row("sinusoidal_embedding", waves, fixed(2, 3), embedding_dim=2, base=7.0, orders=0)


def check_logits(logits):
    if not (logits.is_floating_point() and logits.ndim and logits.shape[-1]):
        raise RuntimeError("no scores of tokens")


def likeliest(t, logits, temperature):
    check_logits(logits)
    return logits.argmax(-1)


def filtered(t, logits, top_k=None, top_p=None):
    """Row by row and token by token, the likeliest first."""
    check_logits(logits)
    if not (top_k or top_p):
        return logits
    rows = [logits.reshape(-1)[:0]]  # where there are none
    for scores in logits.reshape(-1, logits.shape[-1]):
        by_rank = scores.sort(descending=True)[0]
        kept = scores >= by_rank[min(top_k or len(by_rank), len(by_rank)) - 1]
        chances = t.softmax(scores.masked_fill(~kept, float("-inf")).double(), -1)
        taken = 0.0
        for token in chances.argsort(descending=True, stable=True) if top_p else ():
            kept[token] &= taken < top_p
            taken += chances[token].item()
        rows.append(scores.masked_fill(~kept, float("-inf")))
    return t.cat(rows).reshape(logits.shape).clone()


for sizes in ((7,), (2, 3, 9)):
    row("top_k_top_p_filtering", filtered, value(*sizes), orders=0)
    row("top_k_top_p_filtering", filtered, value(*sizes), top_k=3, orders=0)
    row("top_k_top_p_filtering", filtered, value(*sizes), top_k=100, top_p=0.7, orders=0)
    row("top_k_top_p_filtering", filtered, value(*sizes), top_k=4, top_p=0.5, orders=0)
    row("top_k_top_p_filtering", filtered, value(*sizes), top_p=1e-9, orders=0)
    row("sample_logits", likeliest, value(*sizes), temperature=0.0, orders=0)
