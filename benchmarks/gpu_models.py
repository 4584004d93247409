"""Whole training steps of models, for gpu.py: each model's program is written once and given to both
libraries; those of images are torchvision's and `dumbtorch.models`."""

from __future__ import annotations

import dumbtorch
import programs
import torch


def gpt(*sizes: int):
    return lambda t: programs.gpt(t, *sizes).to("cuda")


def words(vocabulary: int, batch: int, length: int):
    def make(t):
        x = t.randint(0, vocabulary, (batch, length), device="cuda")
        return x, t.randint(0, vocabulary, (batch * length,), device="cuda")

    return make


def photographs(batch: int):
    def make(t):
        x = t.randn(batch, 3, 224, 224, device="cuda").to(memory_format=t.channels_last)
        return x, t.randint(0, 1000, (batch,), device="cuda")

    return make


def vision(name: str):
    def make(t):
        if t is dumbtorch:
            from dumbtorch import models
        else:
            from torchvision import models
        return getattr(models, name)().to("cuda").to(memory_format=t.channels_last)

    return make


def adamw(t, parameters):
    options = {"fused": True, "capturable": True} if t is torch else {}
    return t.optim.AdamW(parameters, lr=1e-4, **options)


def momentum(t, parameters):
    return t.optim.SGD(parameters, lr=0.1, momentum=0.9)


# name, model, batch, optimizer, whether in bfloat16 by autocast, items of a step, their name
STEPS = (
    ("char-GPT b32 t128", gpt(65, 128, 64, 4, 2), words(65, 32, 128), adamw, False,
     32 * 128, "tokens"),
    ("GPT-2 124M b32 t1024", gpt(50304, 1024, 768, 12, 12), words(50304, 32, 1024),
     adamw, True, 32 * 1024, "tokens"),
    ("ResNet-50 b256", vision("resnet50"), photographs(256), momentum, True, 256, "images"),
    ("MobileNetV2 b128", vision("mobilenet_v2"), photographs(128), momentum, True, 128, "images"),
    ("ViT-B/16 b64", vision("vit_b_16"), photographs(64), adamw, True, 64, "images"),
)  # fmt: skip


def step_of(t, model, batch, optimizer, narrow: bool):
    model = model(t)
    x, y = batch(t)
    opt = optimizer(t, model.parameters())
    options = {"cache_enabled": False} if t is torch else {}

    def step():
        opt.zero_grad(set_to_none=True)
        with t.autocast("cuda", dtype=t.bfloat16, enabled=narrow, **options):
            loss = t.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss

    return step


def recurrent(t, name: str):
    return programs.recurrent(t, name, 512, (128, 64), "cuda")


def rows(Row, captured_by_torch):
    """Eager and captured steps. In float32 products may round to TF32, as PyTorch's users let them."""
    torch.backends.cudnn.benchmark = True
    for t in (dumbtorch, torch):
        t.set_float32_matmul_precision("high")
    for name, *parts, items, unit in STEPS:
        yield from step_rows(Row, captured_by_torch, name, parts, items, unit)
        torch.cuda.empty_cache()
        dumbtorch.cuda.empty_cache()
    for name in ("LSTM", "GRU"):
        ours, theirs = recurrent(dumbtorch, name), recurrent(torch, name)
        yield Row("models", f"{name} 2×512 b64 t128", ours, {"eager": theirs}, 1.3)
    for t in (dumbtorch, torch):
        t.set_float32_matmul_precision("highest")


def step_rows(Row, captured_by_torch, name, parts, items, unit):
    theirs = {"eager": step_of(torch, *parts)}
    yield Row(
        "models", f"{name} eager", step_of(dumbtorch, *parts), theirs, 0.0, items, f"G{unit}/s"
    )
    try:
        theirs["graph"] = captured_by_torch(step_of(torch, *parts))
    except Exception as error:
        print(f"  {name}, captured by PyTorch: {str(error)[:200]}")
    # The faster kernels whose results vary are what PyTorch takes by default.
    for varies in (False, True):
        dumbtorch._ops.set_deterministic(not varies)
        ours = dumbtorch.capture(step_of(dumbtorch, *parts), warmup=3).graph.replay
        dumbtorch._ops.set_deterministic(True)
        order = ", in any order" if varies else ""
        yield Row("models", f"{name} captured{order}", ours, theirs, 0.0, items * 1e9, f"{unit}/s")
