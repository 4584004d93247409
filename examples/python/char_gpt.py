"""A GPT that writes one character at a time: two layers, four heads, 64 wide, 120,000 parameters.

python char_gpt.py TEXT [steps] [cpu or cuda]

TEXT is any plain text, such as tiny Shakespeare (a million characters of his plays). One sees the
loss fall from about 4.4, a little more than the ln(characters) of guessing, to about 1.7, and then 200
characters that look like the text: 2000 steps are some minutes on a CPU. examples/c/char_gpt.c is the same
program.
"""

import sys

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.nn import functional as F

LAYERS, HEADS, WIDTH, CONTEXT, BATCH = 2, 4, 64, 128, 32


class Block(nn.Module):
    """Attention, in which each place looks back, and a small network at each place."""

    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def attend(self, x, cache):
        batch, time, width = x.shape
        parts = self.qkv(x).reshape(batch, time, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        if cache is not None:
            key, value = cache.update(key, value)  # with those of the places before
        # All places at once, each looking back; or the last one alone, which sees everything.
        y = F.scaled_dot_product_attention(query, key, value, is_causal=time > 1)
        return self.proj(y.transpose(1, 2).reshape(batch, time, width))

    def forward(self, x, cache=None):
        x = x + self.attend(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class CharGPT(nn.Module):
    def __init__(self, vocabulary: int):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, WIDTH)
        self.wpe = nn.Embedding(CONTEXT, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, tokens, caches=None):
        """The scores of each next token. With `caches` the tokens come after those of the last call."""
        past = len(caches[0]) if caches else 0
        x = self.wte(tokens) + self.wpe(torch.arange(past, past + tokens.shape[1]))
        for i, block in enumerate(self.h):
            x = block(x, caches[i] if caches else None)
        return self.head(self.ln_f(x))


def loss_of(model, tokens):
    """How badly each token is foretold from those before it: the cross-entropy."""
    scores = model(tokens[:, :-1])
    return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())


def draw_batch(text):
    starts = torch.randint(0, len(text) - CONTEXT, (BATCH, 1))
    return text[starts + torch.arange(CONTEXT + 1)]


def train(model, text, steps: int) -> None:
    from progress import ProgressBar

    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    bar = ProgressBar(steps)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = loss_of(model, draw_batch(text))
        loss.backward()
        optimizer.step()
        schedule.step()
        bar.update(step, f"loss {loss.item():.4f}")
        if step == 1 or step % max(steps // 10, 1) == 0:
            bar.write(f"step {step} loss {loss.item():.4f}")


@torch.no_grad()
def sample(model, tokens, count: int, temperature: float = 0.8):
    """The tokens [1, time] and `count` more, each drawn with the probability that the model gives it. Keys and values
    of the tokens before are kept, until there are more than CONTEXT: then each has another place than before."""
    caches = [nn.KVCache(CONTEXT) for _ in range(LAYERS)]
    for _ in range(count):
        if tokens.shape[1] > CONTEXT:
            for cache in caches:
                cache.truncate(0)
        new = tokens[:, -CONTEXT:][:, len(caches[0]) :]
        following = F.sample_logits(model(new, caches)[:, -1], temperature)
        tokens = torch.cat([tokens, following.unsqueeze(1)], dim=1)
    return tokens


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    torch.set_default_device(sys.argv[3] if len(sys.argv) > 3 else "cpu")
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    characters = sorted(set(data))
    if len(data) < 10 * (CONTEXT + 1):
        sys.exit(f"{sys.argv[1]}: {len(data)} characters are too few")
    text = torch.tensor([characters.index(c) for c in data])
    split = len(text) * 9 // 10
    print(f"{len(text)} characters, {len(characters)} different ones")

    torch.manual_seed(0)
    model = CharGPT(len(characters))
    train(model, text[:split], steps)
    torch.manual_seed(1)
    with torch.no_grad():
        losses = [loss_of(model, draw_batch(text[split:])).item() for _ in range(10)]
    print(f"loss on text it has not seen {sum(losses) / 10:.4f}")
    tokens = sample(model, text[:1].reshape(1, 1), 200)
    print(bytes(characters[i] for i in tokens[0].tolist()).decode(errors="replace"))


if __name__ == "__main__":
    main()
