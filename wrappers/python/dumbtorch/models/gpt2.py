"""GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019)."""

from __future__ import annotations

from .. import arange, bool, cat, empty, nn, no_grad, ones, zeros


class Conv1D(nn.Module):
    """A linear layer whose weight is [inputs, outputs], as the published one's."""

    def __init__(self, inputs: int, outputs: int, std: float):
        super().__init__()
        self.weight = nn.Parameter(empty(inputs, outputs).normal_(std=std))
        self.bias = nn.Parameter(zeros(outputs))

    def forward(self, x):
        return nn.functional.linear(x, self.weight.t(), self.bias)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float, out_std: float):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.c_attn = Conv1D(width, 3 * width, 0.02)
        self.c_proj = Conv1D(width, width, out_std)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x, cache: nn.KVCache | None = None):
        batch, time, width = x.shape
        parts = self.c_attn(x).reshape(batch, time, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        dropout = self.dropout if self.training else 0.0
        past = 0
        if cache is not None:
            past = len(cache)
            key, value = cache.update(key, value)
        mask = None  # of several queries after others, each sees what was there before it
        if past and time > 1:
            mask = ones(time, past + time, dtype=bool, device=x.device).tril(past)
        y = nn.functional.scaled_dot_product_attention(
            query, key, value, mask, dropout, is_causal=past == 0
        )
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(batch, time, width)))


class MLP(nn.Module):
    def __init__(self, width: int, dropout: float, out_std: float):
        super().__init__()
        self.c_fc = Conv1D(width, 4 * width, 0.02)
        self.act = nn.GELU(approximate="tanh")
        self.c_proj = Conv1D(4 * width, width, out_std)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float, out_std: float):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, dropout, out_std)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = MLP(width, dropout, out_std)

    def forward(self, x, cache: nn.KVCache | None = None):
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """Takes tokens [N, time] and gives scores [N, time, vocabulary]. The last layer is `wte` again.

    `load_state_dict` takes the published checkpoint's names, those with "transformer." in front, and
    ignores the masks and the copy of `wte` that files have.
    """

    def __init__(
        self, vocabulary: int = 50257, context: int = 1024, width: int = 768, layers: int = 12,
        heads: int = 12, dropout: float = 0.1,
    ):  # fmt: skip
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} is no multiple of heads {heads}")
        self.context = context
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.drop = nn.Dropout(dropout)
        out_std = 0.02 * (2 * layers) ** -0.5
        self.h = nn.ModuleList(Block(width, heads, dropout, out_std) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens, caches: list[nn.KVCache] | None = None):
        """With `caches`, one for each block, the tokens come after those that were given before."""
        past = len(caches[0]) if caches else 0
        time = past + tokens.shape[1]
        if time > self.context:
            raise ValueError(f"{time} tokens are more than the context of {self.context}")
        x = self.drop(self.wte(tokens) + self.wpe(arange(past, time, device=tokens.device)))
        for block, cache in zip(self.h, caches or [None] * len(self.h), strict=True):
            x = block(x, cache)
        return nn.functional.linear(self.ln_f(x), self.wte.weight)

    def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False):
        state = {}
        for name, value in state_dict.items():
            name = name.removeprefix("transformer.")
            if name != "lm_head.weight" and not name.endswith((".attn.bias", ".attn.masked_bias")):
                state[name] = value
        return super().load_state_dict(state, strict, assign)

    @no_grad()
    def generate(
        self, tokens, count: int, temperature: float = 1.0, top_k: int | None = None,
        top_p: float | None = None,
    ):  # fmt: skip
        """`tokens` [N, time] and `count` more, drawn one by one as functional.sample_logits does."""
        caches = [nn.KVCache(self.context) for _ in self.h]
        for _ in range(count):
            if tokens.shape[1] > self.context:  # each token has another place than before
                for cache in caches:
                    cache.truncate(0)
            new = tokens[:, -self.context :][:, len(caches[0]) :]
            scores = self(new, caches)[:, -1]
            following = nn.functional.sample_logits(scores, temperature, top_k, top_p)
            tokens = cat([tokens, following.unsqueeze(1)], 1)
        return tokens


def gpt2(**options) -> GPT2:
    return GPT2(**options)
