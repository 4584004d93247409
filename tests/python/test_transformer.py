"""Attention and transformers against PyTorch's: what the rows of layers do not say."""

import re
import warnings

import dumbtorch as dt
import pytest


def like(layer, theirs):
    """Our layer with PyTorch's weights."""
    layer.load_state_dict({k: dt.tensor(v.tolist()) for k, v in theirs.state_dict().items()})
    return layer


def made(torch, make):
    """The same layer in both libraries, with the same weights."""
    with warnings.catch_warnings():  # about nested tensors
        warnings.simplefilter("ignore")
        theirs = make(torch)
    with torch.no_grad():
        for p in theirs.parameters():
            p.copy_(torch.arange(p.numel()).view(p.shape).add(p.dim()).sin() / 2)
    return (dt, like(make(dt), theirs)), (torch, theirs)


def numbers(t, *shape):
    n = 1
    for size in shape:
        n *= size
    return t.arange(float(n)).mul(1.7).sin().view(shape)


def causal(t, n):
    return t.nn.Transformer.generate_square_subsequent_mask(n)


def without(results):
    return [x for x in results if x is not None]


ATTENTION = {
    "weights": lambda t, x, m: m(x, x, x),
    "no weights": lambda t, x, m: m(x, x, x, need_weights=False),
    "heads": lambda t, x, m: m(x, x, x, average_attn_weights=False),
    "causal": lambda t, x, m: m(x, x, x, attn_mask=causal(t, 5), is_causal=True, need_weights=False),
    "causal, weights": lambda t, x, m: m(x, x, x, attn_mask=causal(t, 5), is_causal=True),
    "bools": lambda t, x, m: m(x, x, x, attn_mask=t.arange(25).view(5, 5) % 3 == 1),
    "each head": lambda t, x, m: m(x, x, x, attn_mask=numbers(t, 4, 5, 5), need_weights=False),
    "padding": lambda t, x, m: m(x, x, x, key_padding_mask=t.arange(10).view(2, 5) % 4 == 2),
    "both": lambda t, x, m: m(
        x, x, x, key_padding_mask=t.arange(10).view(2, 5) % 4 == 2, attn_mask=t.arange(25).view(5, 5) % 3 == 1,
        need_weights=False,
    ),
    "other keys": lambda t, x, m: m(x, x[:3] * 2, x[2:]),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name, torch, same):
    found = []
    for t, layer in made(torch, lambda t: t.nn.MultiheadAttention(6, 2)):
        x = numbers(t, 5, 2, 6).requires_grad_()
        results = without(ATTENTION[name](t, x, layer))
        sum(y.square().sum() for y in results).backward()
        found.append([*results, x.grad, *(p.grad for p in layer.parameters())])
    same(*found, rtol=1e-4, atol=1e-5)


def encoder(t, **options):
    layer = t.nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, **options)
    return t.nn.TransformerEncoder(layer, 2, t.nn.LayerNorm(6))


def decoder(t, **options):
    layer = t.nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0, **options)
    return t.nn.TransformerDecoder(layer, 2)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder(batch_first, norm_first, torch, same):
    def make(t):
        return encoder(t, batch_first=batch_first, norm_first=norm_first, activation="gelu")

    found = []
    for t, layer in made(torch, make):
        x = numbers(t, 4, 4, 6)
        padding = t.arange(16).view(4, 4) % 4 == 3
        results = [
            layer(x),
            layer(x, causal(t, 4)),
            layer(x, causal(t, 4), is_causal=True),
            layer(x, numbers(t, 4, 4), padding * -1e3),
            layer(x, src_key_padding_mask=padding),
        ]
        sum(y.square().sum() for y in results).backward()
        found.append(results + [p.grad for p in layer.parameters()])
    same(*found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder(norm_first, torch, same):
    found = []
    for t, layer in made(torch, lambda t: decoder(t, norm_first=norm_first, activation=t.sigmoid)):
        x, memory = numbers(t, 4, 3, 6), numbers(t, 5, 3, 6).cos()
        padding = t.arange(15).view(3, 5) % 5 == 3
        results = [
            layer(x, memory),
            layer(x, memory, causal(t, 4)),
            layer(x, memory, numbers(t, 4, 4), numbers(t, 4, 5), None, padding * -1e3),
            layer(x, memory, memory_key_padding_mask=padding, tgt_key_padding_mask=padding[:, :4]),
        ]
        sum(y.square().sum() for y in results).backward()
        found.append(results + [p.grad for p in layer.parameters()])
    same(*found, rtol=1e-4, atol=1e-4)


def test_transformer(torch, same):
    def make(t):
        return t.nn.Transformer(6, 3, 1, 2, 8, dropout=0.0, batch_first=True)

    found = []
    for t, layer in made(torch, make):
        src, tgt = numbers(t, 2, 5, 6), numbers(t, 2, 4, 6).cos()
        results = [
            layer(src, tgt),
            layer(src, tgt, tgt_mask=causal(t, 4), tgt_is_causal=True),
            layer(src, tgt, causal(t, 5), causal(t, 4), numbers(t, 4, 5)),
            layer(src[0], tgt[0]),
        ]
        sum(y.square().sum() for y in results).backward()
        found.append(results + [p.grad for p in layer.parameters()])
    same(*found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("of", ["Encoder", "Decoder"])
def test_layers_are_copies(of, both, torch):
    """They share nothing with the layer, and are in its mode; the norm is the one given."""

    def run(t):
        layer = getattr(t.nn, f"Transformer{of}Layer")(4, 2, 8, dropout=0.0)
        layer.linear1.requires_grad_(False)
        layer.eval()
        norm = t.nn.LayerNorm(4)
        stack = getattr(t.nn, f"Transformer{of}")(layer, 2, norm)
        with t.no_grad():
            for p in stack.layers[1].parameters():
                p.zero_()
        apart = [bool(p.any()) for p in stack.layers[0].parameters()]
        wants = [(name, p.requires_grad) for name, p in stack.named_parameters()]
        modes = [(name, m.training) for name, m in stack.named_modules()]
        empty = getattr(t.nn, f"Transformer{of}")(layer, 0)
        with pytest.raises(IndexError):
            empty(*[t.ones(3, 1, 4)] * (1 if of == "Encoder" else 2))
        return apart, wants, modes, stack.norm is norm

    with warnings.catch_warnings():  # about nested tensors
        warnings.simplefilter("ignore")
        ours, theirs = both(run)
    assert ours == theirs


def test_layers_of_a_transformer_begin_alike(both):
    """They are copies of one layer, of which matrices are drawn again."""

    def run(t):
        layers = t.nn.Transformer(4, 2, 2, 2, 8).decoder.layers
        pairs = zip(layers[0].parameters(), layers[1].parameters(), strict=True)
        return [bool((a == b).all()) for a, b in pairs]

    ours, theirs = both(run)
    assert ours == theirs


def test_custom_parts(both):
    def run(t):
        model = t.nn.Transformer(4, 2, 1, 1, 8, custom_encoder=t.nn.Identity())
        return sorted(name.split(".")[0] for name, _ in model.named_parameters())

    ours, theirs = both(run)
    assert ours == theirs


def test_causal_mask(both, same):
    same(
        *both(
            lambda t: (
                causal(t, 4),
                t.nn.Transformer.generate_square_subsequent_mask(3, dtype=t.float64),
            )
        )
    )


def test_initial_values():
    """Glorot's bounds, and biases of 0."""
    layer = dt.nn.MultiheadAttention(8, 2, add_bias_kv=True)
    bound = (6 / 32) ** 0.5
    assert bound * 0.8 < layer.in_proj_weight.abs().max().item() <= bound
    assert layer.in_proj_bias.abs().max().item() == layer.out_proj.bias.abs().max().item() == 0
    assert 0 < layer.bias_k.abs().max().item() < 2


def test_dropout_of_weights(torch, same):
    """All or nothing: PyTorch draws other numbers."""

    def run(t):
        f = t.nn.functional.scaled_dot_product_attention
        x = numbers(t, 2, 3, 4)
        return f(x, x, x, dropout_p=1.0)

    same(run(dt), run(torch))
    x = dt.ones(1, 200, 4)
    y = dt.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
    assert 0.9 < y.mean().item() < 1.1 and y.std().item() > 0


def refusals(t):
    f = t.nn.functional.scaled_dot_product_attention
    q, k, v = t.ones(2, 4, 5, 8), t.ones(2, 4, 6, 8), t.ones(2, 4, 6, 7)
    yield lambda: f(q, k, v, t.zeros(5, 6), is_causal=True)
    yield lambda: f(q, k, k, dropout_p=1.5)
    yield lambda: f(q, k[:, :3], k[:, :3], enable_gqa=True)
    yield lambda: f(q, k.double(), v)
    yield lambda: f(q[0, 0, 0], k, v)
    yield lambda: f(q, k, v, t.zeros(5, 6).double())
    yield lambda: f(q, k, v, t.zeros(5, 6).int())
    yield lambda: f(q.long(), k.long(), v.long())
    yield lambda: f(q, k, v, t.zeros(5, 7))
    attention = t.nn.MultiheadAttention(8, 2)
    x = t.ones(5, 2, 8)
    yield lambda: attention(x, x, x, is_causal=True)
    yield lambda: attention(x, x, x, attn_mask=t.zeros(5, 4))
    yield lambda: attention(x, x, x, attn_mask=t.zeros(2, 5, 5))
    yield lambda: t.nn.MultiheadAttention(0, 2)
    yield lambda: t.nn.MultiheadAttention(8, 3)
    yield lambda: t.nn.TransformerEncoderLayer(8, 2, activation="tanh")
    model = t.nn.Transformer(8, 2, 1, 1, 8)
    yield lambda: model(x, t.ones(5, 3, 8))
    yield lambda: model(x, t.ones(5, 2, 7))


def sentence(call) -> tuple[type, str]:
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value), str(caught.value)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_refusals(torch):
    for ours, theirs in zip(refusals(dt), refusals(torch), strict=True):
        (error, text), (wanted, words) = sentence(ours), sentence(theirs)
        assert error is wanted and words.removeprefix("_scaled_dot_product_attention: ") in text


def test_a_mask_beside_a_causal_one():
    """PyTorch's fast way on the CPU takes both; the rest of PyTorch refuses them."""
    x = dt.ones(1, 2, 5, 8)
    with pytest.raises(RuntimeError, match="^scaled_dot_product_attention: Explicit attn_mask"):
        dt.nn.functional.scaled_dot_product_attention(x, x, x, dt.zeros(5, 5), is_causal=True)


def test_groups_without_heads(torch, same):
    def run(t):
        x = t.ones(2, 0, 5, 8, requires_grad=True)
        y = t.nn.functional.scaled_dot_product_attention(x, x, x, enable_gqa=True)
        y.sum().backward()
        return y, x.grad

    def of_no_keys(t):
        q, none = t.ones(1, 2, 5, 8, requires_grad=True), t.ones(1, 0, 5, 8)
        y = t.nn.functional.scaled_dot_product_attention(q, none, none, enable_gqa=True)
        y.sum().backward()
        return y, q.grad

    same(run(dt), run(torch))
    same(of_no_keys(dt), of_no_keys(torch))


def test_assertions_of_heads(torch):
    for t in (dt, torch):
        attention, x = t.nn.MultiheadAttention(8, 2), t.ones(5, 2, 8)
        for args, words in (
            ((x[..., :6], x, x), "was expecting embedding dimension of 8, but got 6"),
            ((x, x[0], x), "expected `key` and `value` to be 3-D but found 2-D and 3-D"),
            (
                (x, x, x, t.zeros(5)),
                "expected `key_padding_mask` to be `None` or 2-D but found 1-D",
            ),
            ((x, x, x[:4]), "does not match value shape"),
            ((x, x, x, t.zeros(2, 6)), r"Expected key_padded_mask.shape\[1\] to be 5, but got 6"),
            ((x, x, x, t.zeros(3, 5)), r"Expected key_padded_mask.shape\[0\] to be 2, but got 3"),
            ((x, x, x, t.zeros(1, 5)), r"Expected key_padded_mask.shape\[0\] to be 2, but got 1"),
            ((x, x, x, t.zeros(2, 4), False), r"Expected key_padded_mask.shape\[1\] to be 5"),
            ((x[:, 0], x[:, 0], x[:, 0], t.zeros(4)), r"Expected key_padded_mask.shape\[1\]"),
        ):
            with pytest.raises(AssertionError, match=words):
                attention(*args)


def test_a_batch_that_comes_first_is_not_copied(torch, same):
    """Heads and projections are looks at what is there, forward and backward."""
    found = []
    for t, layer in made(torch, lambda t: t.nn.MultiheadAttention(6, 2, batch_first=True)):
        x = numbers(t, 3, 5, 6).requires_grad_()
        with dt.profiler.profile(record_shapes=True) as p:
            y = layer(x, x, x, need_weights=False)[0]
        y.square().sum().backward()
        found.append([y, x.grad, *(w.grad for w in layer.parameters())])
        if t is dt:
            assert not [e for e in p.events() if e.name == "copy"]
    same(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("need_weights", [False, True])
def test_positions_that_come_first_do_so_in_memory(need_weights, torch):
    """Wherever the batch is in the input's."""
    for t, layer in made(torch, lambda t: t.nn.MultiheadAttention(6, 2)):
        for x in (numbers(t, 5, 3, 6), numbers(t, 3, 5, 6).transpose(0, 1)):
            y = layer(x, x, x, need_weights=need_weights)[0]
            assert y.stride() == (18, 6, 1)


# What is missing, or of another size than the projections need, in PyTorch's words where it has some.
WRONG_WEIGHTS = {
    "bias_v is None": {"bias_k": (1, 1, 4)},
    "bias_k is None": {"bias_v": (1, 1, 4)},
    "in_proj_weight is None": {"in_proj_weight": None},
    "use_separate_proj_weight is True but q_proj_weight is None": {"use_separate_proj_weight": True},
    "use_separate_proj_weight is True but k_proj_weight is None": {
        "use_separate_proj_weight": True, "q_proj_weight": (4, 4)
    },
    "split_sizes to sum exactly to 2": {"in_proj_weight": (2, 4)},
    "split_sizes to sum exactly to 1": {"in_proj_bias": (1,)},
    "out_proj_weight must have 2 dimensions": {"out_proj_weight": (4,)},
    "bias cannot be added to static key.": {
        "bias_k": (1, 1, 4), "bias_v": (1, 1, 4), "static_k": (2, 3, 2)
    },
    "bias cannot be added to static value.": {
        "bias_k": (1, 1, 4), "bias_v": (1, 1, 4), "static_v": (2, 2, 2)
    },
    "static_v.size(0) of 2, but got 1": {"static_k": (2, 3, 2), "static_v": (1, 3, 2)},
}  # fmt: skip


@pytest.mark.parametrize("sentence", WRONG_WEIGHTS)
def test_weights_that_are_missing_or_do_not_fit(sentence):
    given = {
        "in_proj_weight": (12, 4), "in_proj_bias": None, "bias_k": None, "bias_v": None, "add_zero_attn": False,
        "dropout_p": 0.0, "out_proj_weight": (4, 4), "out_proj_bias": None, **WRONG_WEIGHTS[sentence],
    }  # fmt: skip
    given = {k: dt.ones(*v) if isinstance(v, tuple) else v for k, v in given.items()}
    q, k = dt.ones(1, 1, 4), dt.ones(2, 1, 4)
    with pytest.raises((AssertionError, RuntimeError), match=re.escape(sentence)):
        dt.nn.functional.multi_head_attention_forward(q, k, k, 4, 2, **given)


@pytest.mark.parametrize("norm_first", [False, True])
def test_blocks_that_are_overridden(both, same, norm_first):
    """Of a class, or of one layer; and what else programs take from where they stand."""

    def run(t):
        nn = t.nn

        class Encoder(nn.TransformerEncoderLayer):
            def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
                return x * 2 + attn_mask.sum() + key_padding_mask.sum() + is_causal

            def _ff_block(self, x):
                return x.flip(-1)

        class Decoder(nn.TransformerDecoderLayer):
            def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
                return x + mem + attn_mask.sum() + key_padding_mask.sum() + is_causal

        settings = {"dim_feedforward": 8, "dropout": 0.0, "norm_first": norm_first}
        x, memory = t.arange(12.0).reshape(3, 1, 4) / 5, t.ones(3, 1, 4)
        mask, padding = t.zeros(3, 3), t.zeros(1, 3, dtype=t.bool)
        encoder, decoder = Encoder(4, 2, **settings), Decoder(4, 2, **settings)
        decoder._sa_block = lambda x, attn_mask, key_padding_mask, is_causal: x + attn_mask.sum()
        decoder._ff_block = lambda x: x * x
        out = [encoder(x, mask, padding), nn.TransformerEncoder(encoder, 2)(x, mask, padding)]
        out.append(decoder(x, memory, mask, mask, padding, padding))
        place = nn.modules.transformer
        clones = place._get_clones(nn.Linear(2, 2), 3)
        out += [type(clones).__name__, len(clones), clones[0].weight is clones[1].weight]
        out += [place._get_activation_fn(name)(x) for name in ("relu", "gelu")]
        with pytest.raises(RuntimeError) as error:
            place._get_activation_fn("tanh")
        return [*out, str(error.value), nn.modules.module._addindent("a\nb\n c", 3)]

    same(*both(run))


def test_blocks(both, same):
    """They are what forward is made of."""

    def run(t):
        x, memory = t.arange(12.0).reshape(1, 3, 4) / 5, t.ones(1, 3, 4)
        mask = t.nn.Transformer.generate_square_subsequent_mask(3)
        out = []
        for name in ("Encoder", "Decoder"):
            layer = getattr(t.nn, f"Transformer{name}Layer")(4, 2, 8, 0.5, batch_first=True).eval()
            with t.no_grad():
                for i, p in enumerate(layer.parameters()):
                    p.copy_(t.linspace(-1, 1 + i, p.numel()).reshape(p.shape))
            out += [layer._sa_block(x, mask, None, is_causal=True), layer._ff_block(x)]
            if name == "Decoder":
                out.append(layer._mha_block(x, memory, None, None))
        return out

    same(*both(run), rtol=1e-4)


def test_merged_masks(both, same):
    def run(t):
        layer, query = t.nn.MultiheadAttention(4, 2), t.zeros(2, 3, 4)
        positions = t.ones(3, 3, dtype=t.bool).triu(1)
        padding = t.tensor([[False, True, False], [False, False, True]])
        masks = [(None, None), (None, padding), (positions, None), (positions, padding)]
        masks += [(positions.expand(4, 3, 3), padding), (positions.float(), padding.float())]
        return [layer.merge_masks(*pair, query) for pair in masks]

    same(*both(run))


@pytest.mark.parametrize("mask", ["float", "bool", "other", None])
def test_layers_are_called_by_name(mask, both):
    """A layer of one's own may have its arguments in another order; a causal mask is told to it."""

    def run(t):
        seen = []

        class Layer(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.self_attn = t.nn.MultiheadAttention(4, 2)

            def forward(self, x, *others, **named):
                seen.append(
                    (len(others), sorted((k, type(v) is bool and v) for k, v in named.items()))
                )
                return x

        causal_mask = causal(t, 3)
        masks = {"float": causal_mask, "bool": causal_mask < 0, "other": causal_mask * 0}
        given = masks.get(mask)
        x = t.zeros(3, 1, 4)
        for layers, arguments in (
            (t.nn.TransformerEncoder(Layer(), 2), (x, given)),
            (t.nn.TransformerDecoder(Layer(), 1), (x, x, given)),
        ):
            layers(*arguments)
        whole = t.nn.Transformer(4, 2, custom_encoder=Layer(), custom_decoder=Layer())
        whole(x, x, src_is_causal=True, memory_is_causal=True)
        return seen

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, theirs = both(run)
    assert mine == theirs
