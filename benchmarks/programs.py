"""Models that both machines measure. Each is written once; `t` is the library that runs it."""

from __future__ import annotations


def gpt(t, vocabulary: int, length: int, width: int, heads: int, layers: int):
    """A GPT whose embedding is its last layer too."""
    nn, F = t.nn, t.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, tokens, _ = x.shape
            parts = self.qkv(self.norm1(x)).view(batch, tokens, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.projection(y.transpose(1, 2).reshape(batch, tokens, width))
            return x + self.outer(F.gelu(self.inner(self.norm2(x)), approximate="tanh"))

        def decode(self, x, keys, values, place):
            """One token at `place`, whose keys and values join those of the tokens before it."""
            q, k, v = self.qkv(self.norm1(x)).view(3, heads, width // heads)
            keys[:, place], values[:, place] = k, v
            past = (c[None, :, : place + 1] for c in (keys, values))
            y = F.scaled_dot_product_attention(q[None, :, None], *past)
            x = x + self.projection(y.reshape(1, width))
            return x + self.outer(F.gelu(self.inner(self.norm2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.words.weight
            self.register_buffer("at", t.arange(length))

        def forward(self, x):
            x = self.words(x) + self.places(self.at[: x.shape[1]])
            return self.head(self.norm(self.blocks(x))).flatten(0, 1)

        def decode(self, token, caches, place):
            """The most likely token behind `token` [1]."""
            x = self.words(token) + self.places(self.at[place : place + 1])
            for block, (keys, values) in zip(self.blocks, caches, strict=True):
                x = block.decode(x, keys, values, place)
            return self.head(self.norm(x)).argmax(-1)

    return GPT()


def recurrent(t, name: str, width: int, shape: tuple[int, int], device: str, batch_first=False):
    """Forward and backward of two layers; `shape` is batch and time in the order of the input."""
    layers = getattr(t.nn, name)(width, width, 2, batch_first=batch_first).to(device)
    x = t.randn(*shape, width, device=device).requires_grad_()
    grad = t.randn(*shape, width, device=device)
    inputs = [x, *layers.parameters()]
    return lambda: t.autograd.grad(layers(x)[0], inputs, grad)


def conv_norm(t, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1):
    nn = t.nn
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return conv, nn.BatchNorm2d(outputs)


def sum_of(t, body, shortcut, last):
    """last(body(x) + shortcut(x))."""

    class Sum(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.shortcut, self.last = t.nn.Sequential(*body), shortcut, last

        def forward(self, x):
            return self.last(self.body(x) + self.shortcut(x))

    return Sum()


def classifier(t, layers: list, features: int):
    nn = t.nn
    end = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, 1000)
    return nn.Sequential(*layers, *end)


def resnet18(t):
    nn = t.nn
    layers = [*conv_norm(t, 3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, stride in (
        (64, 1),
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        (512, 1),
    ):
        body = *conv_norm(t, inputs, width, 3, stride), nn.ReLU(), *conv_norm(t, width, width, 3)
        same = stride == 1 and inputs == width
        way = nn.Identity() if same else nn.Sequential(*conv_norm(t, inputs, width, 1, stride))
        layers.append(sum_of(t, body, way, nn.ReLU()))
        inputs = width
    return classifier(t, layers, 512)


# Of MobileNetV2 (arXiv 1801.04381, table 2): expansion, channels, blocks, stride of the first.
BOTTLENECKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
               (6, 320, 1, 1))  # fmt: skip


def mobilenet_v2(t):
    nn = t.nn
    layers = [*conv_norm(t, 3, 32, 3, 2), nn.ReLU6()]
    inputs = 32
    for expansion, outputs, blocks, first_stride in BOTTLENECKS:
        for i in range(blocks):
            width, stride = inputs * expansion, first_stride if i == 0 else 1
            wider = [*conv_norm(t, inputs, width, 1), nn.ReLU6()] if expansion > 1 else []
            depthwise = *conv_norm(t, width, width, 3, stride, groups=width), nn.ReLU6()
            body = *wider, *depthwise, *conv_norm(t, width, outputs, 1)
            adds = stride == 1 and inputs == outputs
            layers += [sum_of(t, body, nn.Identity(), nn.Identity())] if adds else body
            inputs = outputs
    return classifier(t, [*layers, *conv_norm(t, 320, 1280, 1), nn.ReLU6()], 1280)
