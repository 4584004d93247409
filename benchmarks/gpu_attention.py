"""Rows of gpu.py: attention beside PyTorch's, by what it chooses and by cuDNN."""

import functools

import dumbtorch
import torch


def rows(Row, backward_of, varying):
    """scaled_dot_product_attention of 16384 positions in all, 16 heads of 64 features or 8 of 128."""
    for dtype, lengths in (("bfloat16", (1024, 2048, 4096, 16384)), ("float32", (1024, 4096))):
        for features in (64, 128):
            for length in lengths:
                for is_causal in (False, True):
                    yield from _pair(Row, backward_of, varying, dtype, features, length, is_causal)


def _by_cudnn(call):
    """It, where PyTorch's attention is cuDNN's."""

    def run(*x):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
            return call(*x)

    return run


def _pair(Row, backward_of, varying, dtype, features, length, is_causal):
    sizes = (16384 // length, 1024 // features, length, features)
    operands = [
        {t: t.randn(*sizes, device="cuda").to(getattr(t, dtype)) for t in (dumbtorch, torch)}
        for _ in range(3)
    ]
    attend = lambda t, *x: t.nn.functional.scaled_dot_product_attention(*x, is_causal=is_causal)  # noqa: E731
    ways = {"eager": attend} | ({"cuDNN": _by_cudnn(attend)} if dtype != "float32" else {})
    amount = 4.0 * 16384 * 1024 * length * (0.5 if is_causal else 1.0)
    name = f"{dtype} D{features} T{length}{' causal' if is_causal else ''}"
    calls = {way: lambda t, f=f: f(t, *(x[t] for x in operands)) for way, f in ways.items()}
    backwards = {way: backward_of(f, *operands) for way, f in ways.items()}
    for part, by, work in (("forward", calls, amount), ("backward", backwards, 2.5 * amount)):
        theirs = {way: functools.partial(f, torch) for way, f in by.items()}
        ours = functools.partial(by["eager"], dumbtorch)
        yield Row(
            "attention",
            f"{name} {part}",
            ours,
            theirs,
            1.3 if dtype == "float32" else 0.98,
            work,
            "GFLOP/s",
        )
    if dtype == "float32":
        return
    name = f"{name} backward, in any order"
    yield Row("attention", name, varying(ours), theirs, 0.98, 2.5 * amount, "GFLOP/s")
