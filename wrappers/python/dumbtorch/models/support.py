"""What the generated networks call: the core has the same in core/nn/network.cpp and generate.cpp."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from .. import (
    arange,
    bool,
    capture,
    cat,
    cuda,
    empty,
    full,
    int64,
    is_autocast_enabled,
    nn,
    no_grad,
    ones,
)
from ..nn.modules.calls import is_hooked
from ..nn.modules.container import norm_relu as norm_relu

# Of a LayerNorm that is told none.
EPS = 1e-5
# Recording costs as much as some tokens, and pays from so many on.
WORTH_RECORDING = 16


def past(caches) -> int:
    """How many tokens were there before."""
    return len(caches[0]) if caches else 0


def places(caches, count: int, device):
    """The places of `count` tokens behind them: [count], or where the caches follow one, that."""
    place = getattr(caches[0], "place", None) if caches else None
    before = past(caches)
    return arange(before, before + count, device=device) if place is None else place


def attend(query, key, value, dropout: float, caches):
    """Attention of each token to itself and to those before it, in heads: [batch, heads, time, features]."""
    before, time = past(caches), query.shape[-2]
    if caches:
        key, value = caches[0].update(key, value)
    mask = getattr(caches[0], "seen", None) if caches else None
    # Of several tokens after others, each sees what was there before it.
    if mask is None and before and time > 1:
        mask = ones(time, before + time, dtype=bool, device=query.device).tril(before)
    return nn.functional.scaled_dot_product_attention(
        query, key, value, mask, dropout, is_causal=before == 0
    )


def decoder_block(caches, *state):
    """A token through a block, as KVCache.decoder_block has it; the first cache is its own."""
    return caches[0].decoder_block(*state)


def _may_step(module, x, caches) -> bool:
    """Whether a block's `step` stands for its forward: for one token, where caches follow its place, outside of
    autocast, and where all that is inside is as it was made and does nothing but compute."""
    if not (caches and isinstance(caches[0], nn.KVCache) and caches[0].place is not None):
        return False
    if "step" not in vars(type(module)) or is_autocast_enabled(x.device.type):
        return False
    inside = list(module.modules())
    return [type(m) for m in inside] == module._made_of and not any(
        m.training or is_hooked(m) or getattr(m, "eps", EPS) != EPS for m in inside
    )


def chain(modules, x, caches):
    """Modules one after another, each with a cache of its own."""
    if caches and len(caches) != len(modules):
        raise ValueError(
            f"expected {len(modules)} caches, one for each block, but got {len(caches)}"
        )
    for i, module in enumerate(modules):
        own = caches[i : i + 1] if caches else caches
        if _may_step(module, x, own):
            x = module.step(x, own)
        else:
            x = module(x, own) if own else module(x)
    return x


def own_names(state_dict, prefix: str, ignored: tuple[str, ...]) -> dict:
    """A published state dict without a prefix of its names, and without names that have one of these ends."""
    if not isinstance(state_dict, Mapping):
        return state_dict  # which load_state_dict refuses
    own = OrderedDict(
        (name.removeprefix(prefix), x)
        for name, x in state_dict.items()
        if not name.endswith(ignored)
    )
    if hasattr(state_dict, "_metadata"):
        own._metadata = state_dict._metadata
    return own


class Generates:
    """A language model whose class says how it writes."""

    def _writes_with(self) -> tuple[int, nn.ModuleList]:
        """How many tokens it looks at, and the blocks, each of which takes a cache."""
        raise NotImplementedError

    @no_grad()
    def generate(
        self, tokens, count: int, temperature: float = 1.0, top_k: int | None = None,
        top_p: float | None = None, *, generator=None,
    ):  # fmt: skip
        """`tokens` [N, time] and `count` more, drawn one by one as functional.sample_logits does."""
        if tokens.dim() != 2 or not tokens.shape[1]:
            given = list(tokens.shape)
            raise ValueError(
                f"tokens must be [batch, time] with a token to go on from, but got {given}"
            )
        if count < 0:
            raise ValueError(f"count must not be negative, but got {count}")
        context, blocks = self._writes_with()
        recordable = tokens.is_cuda and generator is None and not cuda.is_current_stream_capturing()
        caches = [nn.KVCache(context) for _ in blocks]

        def following(new):
            scores = self(new, caches)[:, -1]
            drawn = nn.functional.sample_logits(
                scores, temperature, top_k, top_p, generator=generator
            )
            return drawn.unsqueeze(1)

        wanted = tokens.shape[1] + count
        while (time := tokens.shape[1]) < wanted:
            new, known = min(wanted - time, context - past(caches)), past(caches)
            if recordable and known == time - 1 and known and new >= WORTH_RECORDING:
                more = _write_recorded(following, caches, context, tokens[:, known:], new)
                tokens = cat([tokens, more], 1)
                continue
            if time > context:  # each token has another place than before
                for cache in caches:
                    cache.truncate(0)
            tokens = cat([tokens, following(tokens[:, -context:][:, past(caches) :])], 1)
        return tokens


def _write_recorded(following, caches, capacity: int, last, count: int):
    """`count` tokens behind the last [batch, 1]: the same step again and again, with its place in memory on the device,
    the first one for real, the others as one launch each."""
    known, device = past(caches), last.device
    token, columns = last.clone(), arange(capacity, device=device)
    place = full((1,), known, dtype=int64, device=device)
    written = empty(last.shape[0], capacity, dtype=last.dtype, device=device)

    def step():
        seen = (columns <= place).unsqueeze(0)
        for cache in caches:
            cache.follow(place, seen)
        token.copy_(following(token))
        written.index_copy_(1, place, token)
        place.add_(1)

    graph = capture(step, device=device).graph
    for _ in range(count - 1):
        graph.replay()
    for cache in caches:
        cache.settle(known + count)
    return written[:, known : known + count]
