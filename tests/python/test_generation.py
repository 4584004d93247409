"""Text that language models write: caches against whole passes through PyTorch's functions, draws against
probabilities."""

import dumbtorch as dt
import pytest
from dumbtorch import models

torch = pytest.importorskip("torch")
nets = pytest.importorskip("architectures")
F = dt.nn.functional

SIZES = dict(vocabulary=50, context=24, width=32, layers=3, heads=4)


@pytest.fixture(scope="module")
def model():
    dt.manual_seed(1)
    model = models.gpt2(**SIZES).eval()
    for p in model.parameters():
        if p.ndim > 1:
            p.data.normal_(std=0.3)  # so that what comes next depends on what was before
    return model


def scores_of_torch(model, tokens):
    """By the architecture in PyTorch's functions, from the whole text."""
    weights = {name: torch.tensor(value.tolist()) for name, value in model.state_dict().items()}
    with torch.no_grad():
        return nets.gpt2(weights, torch.tensor(tokens), SIZES["layers"], SIZES["heads"])


def test_generation_goes_on_as_without_a_cache(model):
    """Also beyond the context, where the first tokens fall out."""
    tokens = [[3, 1, 4], [1, 5, 9]]
    found = model.generate(dt.tensor(tokens), 40, temperature=0).tolist()
    for _ in range(40):
        scores = scores_of_torch(model, [row[-SIZES["context"] :] for row in tokens])
        likeliest = scores[:, -1].argmax(-1).tolist()
        tokens = [[*row, new] for row, new in zip(tokens, likeliest, strict=True)]
    assert found == tokens
    assert len({tuple(row) for row in tokens}) == 2 and len(set(tokens[0])) > 5


@pytest.mark.parametrize("pieces", [(1,) * 9, (4, 1, 4), (2, 7), (9,)])
def test_a_text_in_pieces(model, pieces):
    text = dt.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5], [2, 7, 1, 8, 2, 8, 1, 8, 2]])
    caches, place, found = [dt.nn.KVCache() for _ in model.h], 0, []
    with dt.no_grad():
        for n in pieces:
            found.append(model(text[:, place : place + n], caches))
            place += n
        assert len(caches[0]) == caches[0].length == 9
        for cache in caches:
            cache.truncate(5)
        again = model(text[:, 5:], caches)
    expected = scores_of_torch(model, text.tolist())
    torch.testing.assert_close(
        torch.from_numpy(dt.cat(found, 1).numpy()), expected, rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(
        torch.from_numpy(again.numpy()), expected[:, 5:], rtol=1e-4, atol=1e-4
    )


def test_draws_have_the_probabilities_of_the_scores():
    logits = torch.tensor([2.0, 0.0, 1.0, -1.0, 0.5])
    many = 20_000
    for options in ({}, {"temperature": 0.5}, {"top_k": 3}, {"temperature": 2.0, "top_p": 0.7}):
        scores = logits.double() / options.get("temperature", 1.0)
        order = scores.argsort(descending=True)
        chances = torch.zeros(5, dtype=torch.float64)
        kept = order[: options.get("top_k", 5)]
        chances[kept] = torch.softmax(scores[kept], 0)
        if "top_p" in options:
            enough = int((chances[order].cumsum(0) < options["top_p"]).sum()) + 1
            kept = order[:enough]
            chances = torch.zeros_like(chances).index_copy(0, kept, torch.softmax(scores[kept], 0))
        dt.manual_seed(0)
        drawn = F.sample_logits(dt.tensor(logits.tolist()).expand(many, 5), **options)
        counts = torch.tensor(drawn.tolist()).bincount(minlength=5)
        assert not counts[chances == 0].any()
        # Five standard deviations of a binomial distribution.
        assert (
            (counts - many * chances).abs() <= 5 * (many * chances * (1 - chances)).sqrt()
        ).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_low_temperatures_take_the_likeliest(dtype):
    """However far apart the scores lie: softmax of scores / t tends to the likeliest token, and never overflows."""
    logits = dt.tensor([[1.0, 3.0, 2.0], [6e4, 1.0, -6e4]], dtype=getattr(dt, dtype))
    for temperature in (0.05, 1e-6, 1e-37, 1e-45, 1e-300, 0.0):
        assert F.sample_logits(logits, temperature).tolist() == [1, 0]


def test_draws_come_from_the_generator():
    logits = dt.zeros(2, 3, 1000)
    first = F.sample_logits(logits, generator=dt.Generator().manual_seed(5))
    again = F.sample_logits(logits, generator=dt.Generator().manual_seed(5))
    assert first.shape == (2, 3) and first.dtype is dt.int64
    assert first.equal(again) and not first.equal(F.sample_logits(logits))


def test_far_positions_keep_their_digits():
    """Neighbours around position ten million: float32's angles would be off by half a turn."""
    places = dt.tensor([10_000_000, 10_000_001])
    q, k = dt.ones(2, 8), dt.ones(2, 8)
    far = (F.rotary_embedding(q, places) * F.rotary_embedding(k, places.flip(0))).sum(-1)
    near = (
        F.rotary_embedding(q, places - 10_000_000) * F.rotary_embedding(k, dt.tensor([1, 0]))
    ).sum(-1)
    assert far.tolist() == pytest.approx(near.tolist(), abs=1e-5)


def refused(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_the_likeliest_stays_however_small_top_p_is():
    for dtype in (dt.float32, dt.float64, dt.float16):
        x = dt.tensor([[0.5, 2.0, 1.0], [3.0, 0.0, -1.0]], dtype=dtype)
        for p in (1e-300, 1e-46, 1e-40):
            assert F.sample_logits(x, top_p=p).tolist() == [1, 0]
            kept = F.top_k_top_p_filtering(x, top_p=p)
            assert kept.isfinite().sum(1).tolist() == [1, 1]


def test_bad_arguments_are_refused():
    x = dt.zeros(2, 3, 4)
    refused(RuntimeError, "even number of features", lambda: F.rotary_embedding(dt.zeros(2, 3)))
    refused(RuntimeError, "do not broadcast", lambda: F.rotary_embedding(x, dt.arange(4)))
    refused(RuntimeError, "floating point", lambda: F.rotary_embedding(x.long()))
    refused(ValueError, "positive and even", lambda: F.sinusoidal_embedding(dt.arange(3), 5))
    refused(ValueError, "base must be positive", lambda: F.rotary_embedding(x, base=0.0))
    refused(
        ValueError, "base must be positive", lambda: F.sinusoidal_embedding(dt.arange(3), 4, -1.0)
    )
    refused(RuntimeError, "floating point logits", lambda: F.sample_logits(x.long()))
    refused(ValueError, "top_k must be", lambda: F.sample_logits(x, top_k=0))
    refused(ValueError, "top_p must be", lambda: F.top_k_top_p_filtering(x, top_p=1.5))
    refused(ValueError, "top_p must be", lambda: F.sample_logits(x, top_p=float("nan")))
    refused(ValueError, "temperature must not", lambda: F.sample_logits(x, -1.0))
    refused(RuntimeError, "vocabulary", lambda: F.sample_logits(dt.zeros(3, 0)))


def test_a_cache_refuses_what_does_not_fit():
    refused(ValueError, "capacity", lambda: dt.nn.KVCache(-1))
    cache, x = dt.nn.KVCache(), dt.zeros(2, 3, 4)
    with pytest.raises(RuntimeError, match="key requires grad"):
        cache.update(x.clone().requires_grad_(), x)
    refused(RuntimeError, "key has 3 tokens, value 2", lambda: cache.update(x, x[:, :2]))
    refused(RuntimeError, "expected key of", lambda: cache.update(x[0, 0], x))
    assert cache.length == 0
    cache.update(x, dt.zeros(2, 3, 5))
    for key, value in ((x, x), (x[:1], dt.zeros(1, 3, 5)), (x.double(), dt.zeros(2, 3, 5))):
        refused(RuntimeError, "has size .* the cache", lambda k=key, v=value: cache.update(k, v))
    assert cache.length == 3
    refused(IndexError, "from 0 to 3, got 4", lambda: cache.truncate(4))


def test_a_cache_settles_on_what_it_holds():
    cache, k = dt.nn.KVCache(5), dt.ones(1, 1, 2, 4)
    with pytest.raises(IndexError, match="expected a length from 0 to 0, got 3"):
        cache.settle(3)
    cache.update(k, k)
    with pytest.raises(IndexError, match="expected a length from 0 to 2, got 5"):
        cache.settle(5)
    cache.settle(1)
    assert cache.update(k, k)[0].shape == (1, 1, 3, 4)


class Block:
    """A decoder's block with random weights, ours and in PyTorch's functions in double precision."""

    def __init__(self, width, hidden, heads, dtype, device, biased=True):
        def weight(*sizes, scale=1.0):
            return (dt.randn(*sizes) * scale).to(dtype).to(device)

        def linear(inputs, outputs):  # side by side in memory, as GPT-2 has them
            w = weight(inputs, outputs, scale=inputs**-0.5).t()
            return w, weight(outputs) if biased else None

        def norm():
            return weight(width), weight(width) if biased else None

        self.heads, self.dtype, self.device = heads, dtype, device
        self.state = [
            *norm(), *linear(width, 3 * width), *linear(width, width),
            *norm(), *linear(width, hidden), *linear(hidden, width),
        ]  # fmt: skip

    def expected(self, x, seen):
        """Of all tokens at once, each of which sees what `seen` says and what was before it."""
        T = torch.nn.functional
        theirs = [None if s is None else in_torch(s) for s in self.state]
        n1w, n1b, qw, qb, ow, ob, n2w, n2b, uw, ub, dw, db = theirs
        x = in_torch(x)
        width = (x.shape[-1],)
        parts = T.linear(T.layer_norm(x, width, n1w, n1b), qw, qb)
        q, k, v = parts.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        time = x.shape[1]
        mask = torch.tensor(seen).expand(time, time).tril()
        y = T.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)
        x = x + T.linear(y, ow, ob)
        hidden = T.linear(T.layer_norm(x, width, n2w, n2b), uw, ub)
        return x + T.linear(T.gelu(hidden, approximate="tanh"), dw, db)


def in_torch(x):
    return torch.from_numpy(x.double().cpu().numpy())


DEVICES = ["cpu", *(["cuda"] if dt.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [dt.float32, dt.bfloat16, dt.float16, dt.float64], ids=str)
@pytest.mark.parametrize(
    "width, hidden, heads, biased",
    [(64, 256, 4, True), (768, 3072, 12, True), (96, 40, 1, False), (70, 30, 2, True)],
)
def test_a_block_token_by_token(device, dtype, width, hidden, heads, biased):
    """First by places that the cache counts, then by one that it follows, with a token that nobody sees."""
    dt.manual_seed(0)
    block = Block(width, hidden, heads, dtype, device, biased)
    time, known = 7, 4
    x = dt.randn(1, time, width).to(dtype).to(device)
    cache = dt.nn.KVCache(300)
    found = [cache.decoder_block(x[:, :known], heads, *block.state)]
    place = dt.tensor([known], device=device)
    seen = (dt.arange(300, device=device) <= place).unsqueeze(0)
    seen[0, 1] = False
    cache.follow(place, seen)
    for i in range(known, time):
        found.append(cache.decoder_block(x[:, i : i + 1], heads, *block.state))
        place.add_(1)
        seen[0, i + 1] = True
    sees_all = [True] * time
    expected = block.expected(x, sees_all)[:, :known]
    sees_all[1] = False
    expected = torch.cat([expected, block.expected(x, sees_all)[:, known:]], 1)
    narrow = {dt.bfloat16: 2.0**-5, dt.float16: 2.0**-8, dt.float32: 1e-4, dt.float64: 1e-12}[dtype]
    error = (in_torch(dt.cat(found, 1)) - expected).abs().max()
    assert error <= narrow * expected.abs().max()


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_refuses_what_does_not_fit(device):
    block = Block(64, 128, 4, dt.float32, device)
    cache, x = dt.nn.KVCache(8), dt.randn(1, 1, 64, device=device)
    refused(RuntimeError, "no multiple of heads 3", lambda: cache.decoder_block(x, 3, *block.state))
    refused(RuntimeError, "width", lambda: cache.decoder_block(x[0], 4, *block.state))
    wrong = [*block.state[:2], block.state[4], *block.state[3:]]
    refused(RuntimeError, "qkv_weight", lambda: cache.decoder_block(x, 4, *wrong))
    learned = [*block.state]
    learned[2] = learned[2].detach().requires_grad_()
    refused(RuntimeError, "grad", lambda: cache.decoder_block(x, 4, *learned))
    cache.decoder_block(x, 4, *block.state)
    place = dt.tensor([8], device=device)
    cache.follow(place, dt.ones(1, 8, dtype=dt.bool, device=device))

    def beyond():
        cache.decoder_block(x, 4, *block.state)
        if device == "cuda":
            dt.cuda.synchronize()

    refused(IndexError, "index 8 is out of bounds for dimension .*with size 8", beyond)


def follow(caches, place: int):
    """Makes all caches follow a place, with all that is before it to be seen."""
    at, seen = dt.tensor([place]), (dt.arange(24) <= place).unsqueeze(0)
    for cache in caches:
        cache.follow(at, seen)


class Twice(dt.nn.Module):
    """What is wrapped, doubled, with its state in sight."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.weight, self.bias = inner, inner.weight, inner.bias

    def forward(self, x):
        return 2 * self.inner(x)


class Shifted(models.networks.Block):
    def forward(self, x, caches=None):
        return super().forward(x, caches) + 1


def other_class(block):
    block.__class__ = Shifted


@pytest.mark.parametrize(
    "change",
    [
        lambda block: setattr(block.mlp, "c_fc", Twice(block.mlp.c_fc)),
        lambda block: setattr(block, "mlp", dt.nn.Identity()),
        lambda block: setattr(block.ln_1, "eps", 0.5),
        lambda block: block.attn.resid_dropout.train(),
        other_class,
    ],
    ids=["wrapped", "replaced", "eps", "child in training", "class"],
)
def test_a_changed_block_goes_through_its_forward(change):
    """Where a place is followed, too: what is given by a text at once and by its last token alone is the same."""
    dt.manual_seed(2)
    model = models.gpt2(**SIZES, dropout=0.5).eval()
    change(model.h[1])
    text = dt.tensor([[1, 2, 3, 4]])

    def scores(follows):
        caches = [dt.nn.KVCache(24) for _ in model.h]
        dt.manual_seed(3)
        model(text[:, :3], caches)
        if follows:
            follow(caches, 3)
        return torch.from_numpy(model(text[:, 3:], caches).numpy())

    with dt.no_grad():
        found, expected = scores(True), scores(False)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def hook_one(model, hook):
    return model.h[0].mlp.register_forward_hook(hook)


def hook_all(_, hook):
    return dt.nn.modules.module.register_module_forward_hook(hook)


@pytest.mark.parametrize("hook", [None, hook_one, hook_all])
def test_hooks_run_where_a_place_is_followed(model, hook):
    seen = []
    handle = hook(model, lambda m, *_: seen.append(m)) if hook else None
    caches = [dt.nn.KVCache(24) for _ in model.h]
    with dt.no_grad():
        model(dt.tensor([[1, 2, 3]]), caches)
        seen.clear()
        follow(caches, 3)
        found = model(dt.tensor([[4]]), caches)
    if handle:
        handle.remove()
    assert seen.count(model.h[0].mlp) == (1 if hook else 0)
    expected = scores_of_torch(model, [[1, 2, 3, 4]])[:, -1:]
    torch.testing.assert_close(torch.from_numpy(found.numpy()), expected, rtol=1e-4, atol=1e-4)
