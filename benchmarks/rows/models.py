"""Models of words and of images, and the layers that they spend their time in."""

from __future__ import annotations

from collections.abc import Callable

import programs
from measure import Row, Target

from rows.compare import compare
from rows.training import step_of


def fused_adamw(torch, parameters):
    options = {"fused": True} if torch.__name__ == "torch" else {}
    return torch.optim.AdamW(parameters, lr=1e-3, **options)


def char_gpt(torch, compiled: bool = False):
    model = programs.gpt(torch, vocabulary=65, length=128, width=64, heads=4, layers=2)
    x, target = torch.randint(0, 65, (32, 128)), torch.randint(0, 65, (32 * 128,))
    optimizer = fused_adamw(torch, model.parameters())
    return step_of(
        torch, lambda: torch.nn.functional.cross_entropy(model(x), target), optimizer, compiled
    )


def attention(batch: int, heads: int, tokens: int, causal: bool, dtype: str):
    def make(torch):
        def operand():
            return torch.randn(batch, heads, tokens, 64).to(getattr(torch, dtype))

        inputs, grad = [operand().requires_grad_() for _ in range(3)], operand()
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: torch.autograd.grad(attend(*inputs, is_causal=causal), inputs, grad)

    return make


FIRST, TOKENS = 64, 8  # tokens that the cache has, and that are written in a call


def decode(dtype: str):
    def make(torch):
        model = programs.gpt(torch, vocabulary=50257, length=256, width=768, heads=12, layers=12)
        model = model.to(getattr(torch, dtype))
        shape = 2, 12, 256, 64
        caches = [torch.zeros(*shape, dtype=getattr(torch, dtype)) for _ in range(12)]
        start = torch.zeros(1, dtype=torch.int64)

        def run():
            token = start
            with torch.no_grad():
                for place in range(FIRST, FIRST + TOKENS):
                    token = model.decode(token, caches, place)

        return run

    return make


def images(model, batch: int):
    """Ours runs with channels last too: it is the layout that images are trained in."""

    def make(torch, channels_last: bool = True, compiled: bool = False):
        network, x = model(torch), torch.randn(batch, 3, 224, 224)
        if channels_last:
            network = network.to(memory_format=torch.channels_last)
            x = x.contiguous(memory_format=torch.channels_last)
        target = torch.randint(0, 1000, (batch,))
        optimizer = fused_adamw(torch, network.parameters())
        return step_of(
            torch,
            lambda: torch.nn.functional.cross_entropy(network(x), target),
            optimizer,
            compiled,
        )

    return make


def recurrent(name: str):
    return lambda torch: programs.recurrent(torch, name, 128, (32, 64), "cpu", True)


def attention_cases():
    """Name, program, the ratio, floating-point operations."""
    for dtype, ratios in (("float32", (1.8, 3.6)), ("bfloat16", (8, 8))):
        for batch, heads, tokens in ((2, 8, 512), (1, 12, 2048)):
            for causal, ratio in zip((False, True), ratios, strict=True):
                name = f"attention {dtype} {tokens} {'causal' if causal else 'full'}, fwd+bwd"
                flops = 14 * batch * heads * tokens**2 * 64 / (2 if causal else 1)
                yield name, attention(batch, heads, tokens, causal, dtype), ratio, flops


def rows(dumbtorch, torch, *, full: bool) -> list[Row]:
    result = []

    def add(name: str, make: Callable, ratio: float, rivals=None, calls: int = 1, **limits):
        ours, theirs = compare(make, dumbtorch, torch, calls=calls, rivals=rivals)
        result.append(Row("models", name, Target(ratio=ratio), ours, theirs, **limits))

    compiled = {"compile": {"compiled": True}} if full else {}
    add("char-GPT step, 32×128", char_gpt, 1.6, {"eager": {}} | compiled)
    for name, make, ratio, flops in attention_cases():
        add(name, make, ratio, flops=flops)
    add("LSTM 2×128 b32 t64, fwd+bwd", recurrent("LSTM"), 1.8)
    add("GRU 2×128 b32 t64, fwd+bwd", recurrent("GRU"), 4)
    for dtype, ratio, size in (("float32", 3.2, 4), ("bfloat16", 2.7, 2)):
        name, weights = f"GPT-2 124M decoding, {dtype}, a token", 124e6 * size
        add(name, decode(dtype), ratio, calls=TOKENS, bytes=weights)
    layouts = {"eager": {"channels_last": False}, "channels-last": {}} | compiled
    add("MobileNetV2 step, batch 8", images(programs.mobilenet_v2, 8), 2.5, layouts)
    add("ResNet-18 step, batch 16", images(programs.resnet18, 16), 1.05, layouts)
    return result
