"""Attention."""

import math
from contextlib import nullcontext

from table import FLOATS, Row, fixed, mask, value

ROWS: list[Row] = []


def row(op, call, *inputs, dtypes=FLOATS, orders=3, **more):
    ROWS.append(Row(op, call, inputs, dtypes, orders, **more))


def plain(t):
    """PyTorch's fast attention has no second derivative."""
    if t.__name__ != "torch":
        return nullcontext()
    from torch.nn import attention  # not there where the tests run without PyTorch

    return attention.sdpa_kernel(attention.SDPBackend.MATH)


def sdpa(t, *args, **options):
    with plain(t):
        return t.nn.functional.scaled_dot_product_attention(*args, **options)


QKV = value(2, 3, 5, 4), value(2, 3, 6, 4), value(2, 3, 6, 7)
row("scaled_dot_product_attention", lambda t, q, k, v: sdpa(t, q, k, v), *QKV)
row("scaled_dot_product_attention", lambda t, q, k, v: sdpa(t, q, k, v, scale=0.3), *QKV, orders=2)
row("scaled_dot_product_attention", lambda t, q, k, v: sdpa(t, q, k, v, is_causal=True), *QKV)
row("scaled_dot_product_attention", lambda t, q, k, v: sdpa(t, q, k, v, is_causal=True),
    value(6, 4), value(3, 4), value(3, 2), orders=2)  # fmt: skip
row(
    "scaled_dot_product_attention",
    lambda t, q, k, v: sdpa(t, q, k, v),
    value(1, 1, 5, 4),
    *QKV[1:],
    orders=2,
)
row("scaled_dot_product_attention", lambda t, q, k, v: sdpa(t, q, k, v, enable_gqa=True),
    value(2, 4, 5, 4), value(2, 2, 6, 4), value(2, 1, 6, 3), orders=2)  # fmt: skip
# No queries, no keys, no features.
for q, k, v in (((2, 0, 4), (2, 6, 4), (2, 6, 3)), ((2, 5, 4), (2, 0, 4), (2, 0, 3)), ((2, 5, 0), (2, 6, 0), (2, 6, 3))):  # fmt: skip
    row("scaled_dot_product_attention", lambda t, q, k, v: sdpa(t, q, k, v), value(*q), value(*k), value(*v),
        orders=1)  # fmt: skip
for sizes in ((5, 6), (2, 1, 5, 6), (2, 3, 5, 6), (1, 1, 1, 6), (5, 1)):
    row(
        "scaled_dot_product_attention",
        lambda t, q, k, v, m: sdpa(t, q, k, v, m),
        *QKV,
        mask(*sizes),
        orders=2,
    )
    row(
        "scaled_dot_product_attention",
        lambda t, q, k, v, m: sdpa(t, q, k, v, m),
        *QKV,
        value(*sizes),
        orders=2,
    )


def blinded(t, q, k, v, m):
    """A query that may look nowhere, by bools and by numbers."""
    m = m.clone()
    m[1] = -math.inf
    m[2, :3] = -math.inf
    return sdpa(t, q, k, v, m) + sdpa(t, q, k, v, m > -math.inf)


row("scaled_dot_product_attention", blinded, *QKV, fixed(5, 6), orders=2)


def heads(t, *args, **options):
    with plain(t):
        output, weights = t.nn.functional.multi_head_attention_forward(*args, **options)
    return (output,) if weights is None else (output, weights)


WEIGHTS = value(18, 6, low=-0.5, high=0.5), value(18), value(6, 6, low=-0.5, high=0.5), value(6)
for options in (
    {}, {"need_weights": False}, {"average_attn_weights": False}, {"dropout_p": 0.5, "training": False},
    {"add_zero_attn": True}, {"add_zero_attn": True, "need_weights": False},
):  # fmt: skip

    def call(t, q, k, v, w, b, w_out, b_out, o=options):
        o = {"add_zero_attn": False, "dropout_p": 0.0} | o
        return heads(
            t,
            q,
            k,
            v,
            6,
            2,
            w,
            b,
            None,
            None,
            o.pop("add_zero_attn"),
            o.pop("dropout_p"),
            w_out,
            b_out,
            **o,
        )

    row(
        "multi_head_attention_forward",
        call,
        value(4, 2, 6),
        value(5, 2, 6),
        value(5, 2, 6),
        *WEIGHTS,
        orders=2,
        # Of equal keys: zero, as a sum of terms up to 1e5.
        rtol={"float64": 1e-10},
    )


def of_itself(t, x, w, w_out, *masks):
    """Without biases; the first mask is of pairs, the second of keys."""
    m, padding = masks if len(masks) == 2 else (masks[0], None)
    found = [
        heads(t, x, x, x, 6, 2, w, None, None, None, False, 0.0, w_out, None, attn_mask=m, key_padding_mask=padding,
              need_weights=n)
        for n in (True, False)
    ]  # fmt: skip
    return [y for pair in found for y in pair]


MATRICES = WEIGHTS[0], WEIGHTS[2]
for x, m, padding in (((4, 2, 6), (4, 4), (2, 4)), ((4, 2, 6), (4, 4, 4), (2, 4)), ((4, 6), (2, 4, 4), (4,)),
                      ((4, 6), (4, 4), None)):  # fmt: skip
    added = [value(*m)] + ([value(*padding)] if padding else [])
    row("multi_head_attention_forward", of_itself, value(*x), *MATRICES, *added, orders=2)


def hidden(t, x, w, w_out, m, padding):
    """Bools; each query sees itself, so that no row is without keys."""
    n = x.shape[0]
    m = m & ~t.eye(n).to(t.bool)
    padding = (padding * 0).to(t.bool) | (t.arange(n) == n - 1)
    m[..., 0] = False
    return of_itself(t, x, w, w_out, m, padding)


row(
    "multi_head_attention_forward",
    hidden,
    value(4, 2, 6),
    *MATRICES,
    mask(4, 4),
    fixed(2, 4),
    orders=2,
)


def with_further_keys(t, q, k, v, wq, wk, wv, b, w_out, bk, bv):
    found = [
        heads(t, q, k, v, 6, 3, None, b, bk, bv, False, 0.0, w_out, None, use_separate_proj_weight=True,
              q_proj_weight=wq, k_proj_weight=wk, v_proj_weight=wv, need_weights=n)
        for n in (True, False)
    ]  # fmt: skip
    return [y for pair in found for y in pair]


row("multi_head_attention_forward", with_further_keys, value(4, 2, 6), value(5, 2, 3), value(5, 2, 4),
    value(6, 6, low=-0.5, high=0.5), value(6, 3, low=-0.5, high=0.5), value(6, 4, low=-0.5, high=0.5), value(18),
    value(6, 6, low=-0.5, high=0.5), value(1, 1, 6), value(1, 1, 6), orders=2)  # fmt: skip


def with_static(t, q, k, v, w, w_out, sk, sv):
    return heads(
        t, q, k, v, 6, 2, w, None, None, None, False, 0.0, w_out, None, static_k=sk, static_v=sv
    )


row("multi_head_attention_forward", with_static, value(4, 2, 6), value(5, 2, 6), value(5, 2, 6), *MATRICES,
    value(4, 3, 3), value(4, 3, 3), orders=2)  # fmt: skip
