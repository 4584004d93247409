"""nn.attention.flex_attention and bias: masks beside PyTorch's, attention beside what it means."""

import dumbtorch as dt
import pytest
from dumbtorch.nn.attention import bias as our_bias
from dumbtorch.nn.attention import flex_attention as ours

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.nn.attention.flex_attention")

BOTH = ((dt, ours), (torch, theirs))
FIELDS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
          "full_q_num_blocks", "full_q_indices")  # fmt: skip


def masks(t, flex):
    documents = t.arange(70) // 11

    def causal(b, h, q, k):
        return q >= k

    def same_document(b, h, q, k):
        return documents[q] == documents[k]

    def window(b, h, q, k):
        return q - k < 9 + 5 * h

    return {
        "causal": causal,
        "document": same_document,
        "window": window,
        "both": flex.and_masks(causal, same_document),
        "either": flex.or_masks(same_document, lambda b, h, q, k: k < 4 + b),
        "all": flex.noop_mask,
        "none": lambda b, h, q, k: q < 0 * b,
    }


@pytest.mark.parametrize("name", masks(dt, ours))
def test_masks(name, same):
    found = []
    for t, flex in BOTH:
        mod = masks(t, flex)[name]
        mask = flex.create_mask(mod, 2, 3, 40, 70, device="cpu")
        block = flex.create_block_mask(mod, 2, 3, 40, 70, device="cpu", BLOCK_SIZE=(16, 8))
        part = block[1, :, -1]
        tensors = [getattr(m, n) for m in (block, part) for n in FIELDS]
        lines = [str(block), repr(part), block.to_string((2, 3), limit=2)]
        found.append(
            (mask, block.to_dense(), tensors, lines, block.shape, block.sparsity(), block.numel())
        )
        assert (block.mask_mod is mod) and block.to(
            "cpu"
        ).to_dense().tolist() == block.to_dense().tolist()
    ours_, theirs_ = found
    lines = [[line.replace("dumbtorch", "torch") for line in ours_[3]]]
    same((*ours_[:3], *lines, *ours_[4:]), theirs_)


@pytest.mark.parametrize("batches", [(2, 1, None), (1, 2, None), (2, 1, 1), (1, 2, 2)])
def test_batches_that_differ_are_refused(batches):
    of_query, of_key, of_mask = batches
    sentences = []
    for t, flex in BOTH:
        q, k = t.ones(of_query, 1, 4, 2), t.ones(of_key, 1, 4, 2)
        mask = None
        if of_mask is not None:
            mask = flex.create_block_mask(flex.noop_mask, of_mask, 1, 4, 4, device="cpu")
        with pytest.raises(ValueError, match="the same batch size") as caught:
            flex.flex_attention(q, k, k, block_mask=mask)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


def test_corners_of_masks():
    """PyTorch's are right of causal masks alone."""
    for mod in masks(dt, ours).values():
        block = ours.create_block_mask(mod, 2, 3, 40, 70, device="cpu", BLOCK_SIZE=(16, 8))
        corner = block._adjust(33, 17)
        assert corner.to_dense().tolist() == block.to_dense()[..., :3, :3].tolist()
        assert corner.shape == (2, 3, 33, 17) and corner.mask_mod is mod
        elements = ours.create_mask(mod, 2, 3, 33, 17, device="cpu")
        assert corner.elements((2, 3, 33, 17), "cpu").tolist() == elements.tolist()


def test_masks_of_blocks(same):
    found = []
    for t, flex in BOTH:
        counts, order = t.tensor([[[2, 1]]]).int(), t.tensor([[[[1, 0], [1, 0]]]]).int()
        block = flex.BlockMask.from_kv_blocks(counts, order, BLOCK_SIZE=2)
        scores = flex.create_mask(
            lambda s, b, h, q, k, t=t: t.where(q > k, s, -float("inf")),
            None,
            None,
            3,
            4,
            device="cpu",
        )
        found.append((block.to_dense(), block.q_indices, block.q_num_blocks, block.shape, scores))
    same(*found)
    elements = ours.BlockMask.from_kv_blocks(
        dt.tensor([[[1, 1]]]).int(), dt.tensor([[[[1, 0], [0, 1]]]]).int(), BLOCK_SIZE=2
    ).elements((1, 1, 4, 4), "cpu")
    assert elements[0, 0].int().tolist() == [[0, 0, 1, 1]] * 2 + [[1, 1, 0, 0]] * 2


def changes(t, names):
    """Of scores by their positions: functions of one, and of all [batch, head, query, key]."""
    bias, slopes = names
    b, h, q, k = (t.arange(n).view(-1, *(1,) * d) for n, d in ((2, 3), (4, 2), (6, 1), (7, 0)))
    return {
        "none": (None, lambda s: s),
        "bias": (lambda s, b, h, q, k: s + bias[h, q, k], lambda s: s + bias),
        "alibi": (
            lambda s, b, h, q, k: s + slopes[h] * (q - k),
            lambda s: s + slopes.view(4, 1, 1) * (q - k),
        ),
        "cap": (lambda s, b, h, q, k: 2 * t.tanh(s / 2), lambda s: 2 * t.tanh(s / 2)),
        "causal": (
            lambda s, b, h, q, k: t.where(q >= k, s, -float("inf")),
            lambda s: t.where(q >= k, s, -float("inf")),
        ),
        "batch": (lambda s, b, h, q, k: s * (b + 1), lambda s: s * (b + 1)),
    }


@pytest.mark.parametrize("name", changes(dt, (None, None)))
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_attention(name, hidden, dtype, same):
    def leaves(t):
        torch.manual_seed(5)
        drawn = [
            torch.randn(s, dtype=torch.float64)
            for s in ((2, 4, 6, 8), (2, 2, 7, 8), (2, 2, 7, 5), (4, 6, 7), (4,))
        ]
        made = [t.tensor(x.tolist(), dtype=getattr(t, dtype)) for x in drawn]
        return [x.requires_grad_() for x in made]

    def run_ours(t):
        q, k, v, *names = given = leaves(t)
        mask = (
            ours.create_block_mask(lambda b, h, q, k: q > k, None, None, 6, 7, device="cpu")
            if hidden
            else None
        )
        y, aux = ours.flex_attention(
            q,
            k,
            v,
            changes(t, names)[name][0],
            mask,
            0.4,
            True,
            return_aux=ours.AuxRequest(True, True),
        )
        alone = ours.flex_attention(q, k, v, changes(t, names)[name][0], mask, 0.4, True)
        assert t.allclose(alone.float(), y.float(), atol=3e-2)
        return y, aux.lse, aux.max_scores, *t.autograd.grad(y.sum(), given, allow_unused=True)

    def run_meaning(t):
        q, k, v, *names = given = leaves(t)
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))
        scores = (q @ k.mT).to(t.float64 if dtype == "float64" else t.float32) * 0.4
        scores = changes(t, names)[name][1](scores).to(scores.dtype)
        if hidden:
            scores = scores.masked_fill(t.arange(6)[:, None] <= t.arange(7), -float("inf"))
        empty = scores.isneginf().all(-1, True)
        weights = scores.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
        y = weights.to(v.dtype) @ v
        return (
            y,
            scores.logsumexp(-1),
            scores.amax(-1),
            *t.autograd.grad(y.sum(), given, allow_unused=True),
        )

    digits = {"rtol": 3e-2, "atol": 3e-2} if dtype == "bfloat16" else {}
    for found, wanted in zip(run_ours(dt), run_meaning(torch), strict=True):
        assert (found is None) == (wanted is None)
        if found is not None:
            same(found, wanted, **digits)


@pytest.mark.parametrize(
    "call",
    [
        lambda flex, q: flex.flex_attention(q, q[..., :3], q),
        lambda flex, q: flex.flex_attention(q, q[:, :1], q[:, :1]),
        lambda flex, q: flex.flex_attention(q[:, :1], q, q, enable_gqa=True),
        lambda flex, q: flex.flex_attention(q[0], q[0], q[0]),
        lambda flex, q: flex.flex_attention(q, q, q, block_mask=of_size(flex, 16)),
        lambda flex, q: flex.flex_attention(q, q, q, block_mask=of_size(flex, 4)),
        lambda flex, q: flex.flex_attention(q, q, q, block_mask=of_size(flex, 8)[0, 0, 0]),
        lambda flex, q: flex.create_block_mask(lambda s, b, h, q, k: s, 1, 1, 4, 4, device="cpu"),
        lambda flex, q: flex.create_mask(lambda s: s, 1, 1, 4, 4, device="cpu"),
        lambda flex, q: flex.or_masks(3),
        lambda flex, q: flex.BlockMask.from_kv_blocks(q[0, 0, 0], q[0, 0, 0]),
    ],
)
def test_what_is_refused(call):
    said = []
    for t, flex in BOTH:
        with pytest.raises(
            (ValueError, RuntimeError, AssertionError, NotImplementedError)
        ) as caught:
            call(flex, t.zeros(1, 2, 8, 4))
        said.append(
            (caught.type, str(caught.value).partition(" 1. create")[0].partition(" at 0x")[0])
        )
    assert said[0] == said[1]


def of_size(flex, n):
    return flex.create_block_mask(flex.noop_mask, 1, 1, n, n, device="cpu")


@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
def test_causal_biases(name, same):
    from torch.nn.attention import bias as their_bias

    found = []
    for t, place in ((dt, our_bias), (torch, their_bias)):
        q, k = t.linspace(-1, 1, 24).view(1, 2, 3, 4), t.linspace(-2, 1, 40).view(1, 2, 5, 4)
        mask = getattr(place, name)(3, 5)
        y = t.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=mask)
        found.append((y, mask.variant, mask.seq_len_q, mask.seq_len_kv, isinstance(mask, t.Tensor)))
        with pytest.raises(AssertionError, match=f"{name} only supports 2D tensors"):
            getattr(place, name)(3)
        with pytest.raises(AssertionError, match="variant must be a CausalVariant, got int"):
            place.CausalBias(1, 2, 2)
        with pytest.warns(UserWarning, match="Lower right causal bias will produce NaNs"):
            place.causal_lower_right(3, 2)
    same(*found)
