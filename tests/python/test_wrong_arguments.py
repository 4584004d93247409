"""Arguments that PyTorch refuses, or takes, where a function sorts its arguments out by itself: None where a value is
required, words for numbers, numbers for bools, too many, two that exclude each other."""

import numpy as np
import pytest

CALLS = [
    "t.arange()", "t.arange(5, step=2)", "t.arange(start=3)", "t.arange(end=3)", "t.arange(1, end=3)",
    "t.arange(end=3, start=1)", "t.arange(3, None)", "t.arange(None)", "t.arange(0, 3, None)",
    "t.arange(1, 5, 2, dtype=t.float32)", "t.arange(1, 5, step=2)", "t.arange(1, 5, 2, 3)", "t.arange(3, bogus=1)",
    "t.zeros(2, pin_memory=None)", "t.zeros(2, pin_memory=0)", "t.zeros(2, pin_memory='a')",
    "t.hann_window(3, None)", "t.hann_window(3, 1)", "t.hann_window(3.5)", "t.hann_window(True)",
    "t.hann_window(None)", "t.hamming_window(3, True, None)", "t.hamming_window(3, True, 0.5, None)",
    "t.kaiser_window(3, True, None)", "t.kaiser_window(3, beta='a')", "t.blackman_window(3, requires_grad=None)",
    "t.bartlett_window(t.tensor(3))", "t.bartlett_window([3])", "t.signal.windows.hann(3.5)",
    "t.signal.windows.hann(None)", "t.signal.windows.hann(3, requires_grad=None)",
    "t.pinverse(m, None)", "t.pinverse(m, 1e-3)", "t.qr(m, None)", "t.qr(m, 1)", "t.qr(m, False)",
    "t.nonzero(x, as_tuple=None)", "t.nonzero(x, as_tuple=1)", "x.nonzero(as_tuple='a')",
    "t.var(x, True, None)", "t.var(x, 0, None)", "t.var(x, 0, True, correction=1)", "t.var(x, keepdim=True)",
    "t.var(x, None)", "t.var(x, None, True, True)", "t.var(x, 0, True, None)", "t.var(x, unbiased=None)",
    "t.var(x, True, keepdim=True)", "t.var(x, False)", "t.var(x, correction=None)", "t.var(x, unbiased=True, dim=0)",
    "t.std(x, unbiased=True, keepdim=True)", "x.std(0, 1)", "t.var_mean(x, 0, True)", "t.std_mean(x, True, True)",
    "t.max(x, None)", "t.max(x, other=None)", "t.max(x, dim=None)", "t.max(x, keepdim=False)", "t.max(x, 0, None)",
    "t.max(x, t.tensor(0), True)", "t.min(x, t.tensor(0), keepdim=True)", "t.max(x, dim=t.tensor(0))",
    "t.max(x, x, False)", "t.max(x, 0, dim=0)", "t.max(x, x, dim=0)", "t.max(x, axis=0)", "x.min(0, keepdim=True)",
    "t.median(x, None)", "t.median(x, keepdim=False)", "t.median(x, 0, None)", "t.nanmedian(x, 0, True)",
    "t.norm(c, 'nuc')", "t.norm(c, 'nuc', None)", "t.norm(m, 'nuc')",
    "t.normal(x, x, bogus=1)", "t.normal(x, x, dtype=t.float64)", "t.normal(0.0, 1.0)", "t.normal(0.0, 1.0, 3)",
    "t.normal(0.0, 1.0, (3,), bogus=1)", "t.normal(0.0, 1.0, (3,), dtype=t.float64)", "t.normal(x, 0, 5)",
    "t.normal(x, 1.0, (4,))", "t.normal(x, size=(4,))", "t.normal(x)", "t.normal(0.0, x)", "t.normal(0.0)",
    "t.normal(0.0, size=(3,))", "t.normal(None)", "t.normal(x, None)", "t.normal('a', 1.0, (3,))",
    "t.normal(0.0, float('nan'), (3,))", "t.normal(x, float('nan'))", "t.normal(t.tensor(0.0), 1.0, (3,))",
    "t.add(x, x, None)", "x.add(x, None)", "x.sub_(x, None)",
    "x.half(t.contiguous_format)", "x.half(memory_format=t.contiguous_format)", "x.long(None)",
    "t.scatter(x, 0, i, 1.0, reduce=None)", "x.scatter_(0, i, x.clone(), reduce=None)",
    "x.scatter_(0, i, value=2.0, reduce='add')", "t.scatter(x, 0, i, None)", "t.scatter(x, 0, i, None, value=2.0)",
    "t.scatter(x, 0, i, x, value=2.0)", "t.scatter(x, 0, i, value=2.0)", "t.scatter(x, 0, i)",
    "t.repeat_interleave(x, None)", "t.repeat_interleave(x, dim=0)", "t.repeat_interleave(i, dim=0)",
    "t.repeat_interleave(i)", "t.repeat_interleave(repeats=i)", "i.repeat_interleave(2, 0)",
    "t.repeat_interleave(i, 1.5)", "t.cartesian_prod([x, x])", "t.block_diag([m, m])",
    "t.broadcast_tensors([m, m])", "t.meshgrid([x, x])", "t.bernoulli(x / 5, None)", "t.bernoulli(x / 5, p=0.5)",
    "t.unsafe_split(5, 2)", "t.unsafe_split(x, [2, 2])", "t.unsafe_chunk(x, 1.5)", "t.linalg.norm(5)",
    "t.linalg.norm(5, 'fro')", "t.linalg.matrix_norm(5)", "t.gradient(5)", "t.chunk(x, t.tensor(2.0))",
    "t.chunk(x, t.tensor([2, 2]))", "t.topk(x, t.tensor([1]))", "x.view(t.tensor([4]))",
    "t.linalg.ldl_factor(m, hermitian=1)", "t.linalg.ldl_factor(5)", "t.linalg.ldl_solve(m, x[:2], m)",
    "t.zeros((2, t.tensor(3.7)))", "t.zeros(2, t.tensor(3.7))", "t.zeros((2, np.float32(2.5)))", "t.zeros((2, True))",
    "t.zeros((True, 2))", "t.zeros((2, np.int64(3)))", "t.zeros(2, t.tensor(3))", "m.view((2, t.tensor(2.0)))",
    "m.sum((0, np.float32(1)))", "t.nn.functional.max_pool2d(c, (1, t.tensor(1.0)))",
    "t.nn.functional.pad(m, (1, t.tensor(1.5)))", "t.nn.Linear(t.tensor(4.0), 3).weight",
    "t.nn.GRU(2, 2, 1, False, False, False).weight_hh_l0", "t.nn.Hardtanh(1, 1)(x)", "t.nn.Hardtanh(min_value=3)(x)",
    "t.nn.Hardtanh(0, max_value=2.5)(x)",
    "t.multinomial(t.zeros(3, 0), 2, True)", "t.multinomial(t.zeros(0), 2, True)",
    "t.multinomial(t.zeros(0, 0), 2, True)",
    "t.tensor([1.0], requires_grad=None)", "t.tensor([1.0], requires_grad=0)", "t.tensor([1.0], pin_memory=0)",
    "x.new_tensor([1.0], dtype=0)", "x.new_tensor([1.0], requires_grad='a')", "t.as_tensor([1.0], t.float64)",
    "t.as_tensor([1.0], dtype=t.float64)", "t.where(x > 1, None)", "t.where(x > 1, x)", "t.where(x > 1)",
    "t.round(x, decimals=None)", "x.round_(decimals=1)", "m.fill_diagonal_(1.0, 1)", "m.fill_diagonal_(1.0, True)",
    "m.set_(m, 1)", "m.set_(m, storage_offset=0)", "m.set_(m.storage(), 0, (2, 2))", "m.set_(x, 1, (2,), (1,))",
    "m.set_()", "m.set_(x)", "x.uniform_(0.0, 1.0, to=2.0)", "x.uniform_(0.0, to=2.0)", "t.is_same_size(x, 5)",
    "t.hann_window(3, dtype=0)", "t.hann_window(3, requires_grad=0)", "x.to(t.result_type('a', 1))",
    "x.to(t.result_type([1.0], 1))", "x.to(t.result_type(True, 1))",
    "t.histogramdd(m, [1, 1], density=None)", "t.histogramdd(5, [1, 1])",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_taken_or_refused(both, text):
    def run(t):
        values = {
            "x": t.tensor([1.0, 2, 3, 5]),
            "m": t.tensor([[2.0, 1], [1, 3]]),
            "i": t.tensor([0, 1]),
        }
        try:
            out = eval(text, {"t": t, "np": np, "c": t.arange(8.0).reshape(1, 2, 4)} | values)
        except Exception as error:
            return type(error)
        return [
            (y.shape, str(y.dtype).removeprefix("dumb"))
            for y in (out if isinstance(out, tuple) else (out,))
        ]

    ours, theirs = both(run)
    assert ours == theirs


REPEATED = [
    "squeeze(x, (0, 0))", "squeeze(x, (1, -2))", "squeeze_copy(x, [0, 0])", "sum(n, (0, 0))", "amax(n, (0, -1))",
    "any(n, (0, 0))", "var(n, (0, 0))", "logsumexp(n, (-1, 0))", "count_nonzero(n, (0, 0))", "nanmean(n, (0, 0))",
    "mean(x, (0, 1, -3))", "flip(x, (0, 0))", "gradient(x, dim=(1, 1))", "linalg.vector_norm(n, 2, (0, 0))",
]  # fmt: skip


@pytest.mark.parametrize("text", REPEATED)
def test_dimensions_that_are_named_twice(refusals, text):
    def run(t):
        eval(f"t.{text}", {"t": t, "x": t.ones(1, 2, 1), "n": t.tensor(1.0)})

    ours, theirs = refusals(run, RuntimeError)
    assert ours[1].endswith(theirs[1])


@pytest.mark.parametrize("sizes", [((2, 3), (3,)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (2,)), ((2, 3, 2, 2), (3, 2, 2)),
                                   ((2, 3), (2, 2)), ((2, 3, 4), (2, 3))])  # fmt: skip
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_targets_of_other_sizes(refusals, name, sizes):
    def run(t):
        x, target = sizes
        getattr(t.nn.functional, name)(t.zeros(x), t.zeros(target, dtype=t.int64))

    ours, theirs = refusals(run, RuntimeError, ValueError)
    assert ours[0] is theirs[0]
