"""GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019)."""

from __future__ import annotations

from .. import arange, cat, empty, nn, no_grad, zeros


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

    def forward(self, x):
        batch, time, width = x.shape
        parts = self.c_attn(x).reshape(batch, time, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        dropout = self.dropout if self.training else 0.0
        y = nn.functional.scaled_dot_product_attention(
            query, key, value, dropout_p=dropout, is_causal=True
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

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
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

    def forward(self, tokens):
        time = tokens.shape[1]
        if time > self.context:
            raise ValueError(f"{time} tokens are more than the context of {self.context}")
        x = self.drop(self.wte(tokens) + self.wpe(arange(time, device=tokens.device)))
        for block in self.h:
            x = block(x)
        return nn.functional.linear(self.ln_f(x), self.wte.weight)

    def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False):
        state = {}
        for name, value in state_dict.items():
            name = name.removeprefix("transformer.")
            if name != "lm_head.weight" and not name.endswith((".attn.bias", ".attn.masked_bias")):
                state[name] = value
        return super().load_state_dict(state, strict, assign)

    @no_grad()
    def generate(self, tokens, count: int, temperature: float = 1.0, top_k: int | None = None):
        """`tokens` [N, time] and `count` more, drawn one by one; the most likely with temperature 0."""
        for _ in range(count):
            scores = self(tokens[:, -self.context :])[:, -1]
            if temperature == 0:
                following = scores.argmax(-1, keepdim=True)
            else:
                scores = scores / temperature
                if top_k is not None:
                    least = scores.topk(top_k)[0][:, -1:]
                    scores = scores.masked_fill(scores < least, float("-inf"))
                following = nn.functional.softmax(scores, dim=-1).multinomial(1)
            tokens = cat([tokens, following], 1)
        return tokens


def gpt2(**options) -> GPT2:
    return GPT2(**options)
