"""Attention on a GPU, by cuDNN or by the own kernel, against NumPy in float64."""

import os
import struct
import subprocess
import sys

import dumbtorch as dt
import numpy as np
import pytest

F = dt.nn.functional
pytestmark = pytest.mark.skipif(
    not dt.cuda.is_available(), reason=f"CUDA: {dt.cuda.why_unavailable()}"
)

# batch, heads of queries, heads of keys, queries, keys, features, features of values
SHAPES = (
    (2, 4, 4, 256, 256, 64, 64),
    (1, 3, 3, 77, 130, 64, 64),
    (1, 3, 3, 130, 77, 64, 64),
    (2, 8, 2, 128, 128, 64, 64),
    (1, 2, 2, 300, 300, 128, 128),
    (1, 2, 2, 65, 65, 40, 40),
    (1, 2, 2, 65, 65, 33, 33),  # rows that are no whole packets
    (1, 2, 2, 64, 64, 64, 32),
    (2, 4, 2, 320, 333, 72, 72),  # blocks of rows and of columns that are not full
    (1, 2, 1, 513, 200, 128, 96),
    (1, 2, 2, 192, 260, 96, 40),
    (1, 6, 2, 700, 900, 64, 64),
    (2, 8, 1, 400, 170, 128, 128),
    (1, 1, 1, 2000, 2100, 64, 64),
    (2, 4, 4, 1, 200, 64, 64),
    (2, 4, 4, 200, 1, 64, 64),
    (2, 4, 4, 1, 1, 64, 64),
    (2, 8, 2, 1, 3000, 64, 64),
    (1, 1, 1, 1, 70001, 128, 128),  # keys of one head for many blocks
    (40, 8, 8, 1, 33, 24, 48),
    (3, 2, 2, 3, 5, 8, 8),
)


@pytest.fixture(params=[True, False], ids=["in order", "in any order"])
def repeats(request):
    dt._ops.set_deterministic(request.param)
    yield request.param
    dt._ops.set_deterministic(True)


def reference(q, k, v, g, is_causal, scale=None, added=0.0, factors=1.0):
    """The result and the gradients of sum(result * g), and what terms of each add up to without their signs, counted as
    often as an error of the exponents makes itself felt. `added` is to scores, `factors` are of weights."""
    group = q.shape[1] // k.shape[1]
    keys, values = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * q @ keys.swapaxes(2, 3) + added
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[2:], bool)), scores, -np.inf)
    p = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e30))
    p /= np.maximum(p.sum(-1, keepdims=True), 1e-30)
    kept = p * factors
    y = kept @ values
    slope = factors * (g @ values.swapaxes(2, 3))
    s = scale * p * (slope - (y * g).sum(-1, keepdims=True))

    def shared(x):
        return x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)

    def products(s, q, keys, values, g):
        of_keys, of_values = s.swapaxes(2, 3) @ q, kept.swapaxes(2, 3) @ g
        return kept @ values, s @ keys, shared(of_keys), shared(of_values)

    sizes = [np.abs(x) for x in (q, keys, values, g)]
    exponents = 1 + (scale * sizes[0] @ sizes[1].swapaxes(2, 3)).max()
    slopes = factors * (sizes[3] @ sizes[2].swapaxes(2, 3))
    terms = scale * p * (slopes + (p * slopes).sum(-1, keepdims=True))
    bounds = [exponents * x for x in products(terms, *sizes)]
    return products(s, q, keys, values, g), bounds


def operands(shape, dtype, seed=0):
    batch, heads, groups, queries, keys, features, of_values = shape
    random = np.random.default_rng(seed)
    sizes = (
        (batch, heads, queries, features),
        (batch, groups, keys, features),
        (batch, groups, keys, of_values),
        (batch, heads, queries, of_values),
    )
    return [dt.tensor(random.standard_normal(s), device="cuda").to(dtype) for s in sizes]


def attend(q, k, v, g, is_causal, scale=None, wanted="qkv", **options):
    x = [t.detach().requires_grad_(name in wanted) for name, t in zip("qkv", (q, k, v))]
    gqa = q.shape[1] != k.shape[1]
    y = F.scaled_dot_product_attention(
        *x, is_causal=is_causal, enable_gqa=gqa, scale=scale, **options
    )
    return y.detach(), *dt.autograd.grad(y, [t for t in x if t.requires_grad], g)


def check(found, truths, dtype="bfloat16", names="yqkv"):
    bits = 8 if dtype == "bfloat16" else 11
    for name, ours, truth in zip(names, found, truths):
        # Weights and their slopes are rounded to the dtype before they are multiplied.
        tolerance = 4 * 2.0**-bits * max(np.abs(truth).max(), 0.1)
        error = np.abs(ours.double().cpu().numpy() - truth).max()
        assert error <= tolerance, (name, error, tolerance)


def wide(tensors):
    return [t.double().cpu().numpy() for t in tensors]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention(shape, is_causal, dtype, repeats):
    x = operands(shape, getattr(dt, dtype))
    check(attend(*x, is_causal), reference(*wide(x), is_causal)[0], dtype)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scale", [-0.3, 0.0])
def test_scales(scale, is_causal, repeats):
    x = operands((1, 2, 2, 200, 190, 64, 64), dt.bfloat16)
    check(attend(*x, is_causal, scale), reference(*wide(x), is_causal, scale)[0])


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    "shape",
    (
        # Of one head more blocks of keys than an H200 has multiprocessors; blocks may have 128.
        (1, 1, 1, 128, 17000, 64, 64),
        (1, 1, 1, 260, 17001, 128, 128),
        # Of several heads, whose blocks are dealt out together.
        (1, 6, 2, 130, 3000, 64, 64),
        (2, 5, 5, 128, 1500, 128, 128),
    ),
    ids=str,
)
def test_few_queries_beside_many_keys(shape, is_causal, repeats):
    x = operands(shape, dt.bfloat16)
    found = attend(*x, is_causal)
    check(found, reference(*wide(x), is_causal)[0])
    assert not repeats or all(a.equal(b) for a, b in zip(found, attend(*x, is_causal)))


def dropout_factors(shape, p):
    """What attention with dropout multiplies weights by after manual_seed(1)."""
    dt.manual_seed(1)
    batch, heads, _, queries, keys = shape[:5]
    kept = F.dropout(dt.ones(batch, heads, queries, keys, device="cuda"), p) != 0
    dt.manual_seed(1)
    return kept.double().cpu().numpy() / (1 - p)


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("features", [64, 128])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("wanted", ["q", "k", "v", "qk", "qv", "kv"])
def test_some_gradients(wanted, is_causal, features, p):
    shape = (2, 4, 2, 300, 333, features, features)
    x = operands(shape, dt.bfloat16)
    factors = dropout_factors(shape, p)
    found = attend(*x, is_causal, wanted=wanted, dropout_p=p)
    truths = dict(zip("yqkv", reference(*wide(x), is_causal, factors=factors)[0]))
    check(found, [truths[name] for name in "y" + wanted], names="y" + wanted)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("features", [64, 128])
@pytest.mark.parametrize("kind", ["truth values", "floats", "the query's type"])
def test_masks(kind, features, p, dtype):
    shape = (2, 4, 2, 200, 261, features, features)
    x = operands(shape, getattr(dt, dtype))
    random = np.random.default_rng(5)
    seen = random.random((2, 1, 200, 261)) < 0.7
    seen[0, :, 7] = False  # a query that may look nowhere
    seen[1, :, :, 128:192] = False  # keys at which nobody looks
    added = np.where(
        seen, 0.0 if kind == "truth values" else random.standard_normal((4, 200, 261)), -np.inf
    )
    mask = dt.tensor(seen if kind == "truth values" else added, device="cuda")
    if kind != "truth values":
        mask = mask.to(dt.float32 if kind == "floats" else x[0].dtype)
        added = mask.double().cpu().numpy()
    factors = dropout_factors(shape, p)
    found = attend(*x, False, attn_mask=mask, dropout_p=p)
    check(found, reference(*wide(x), False, added=added, factors=factors)[0], dtype)


def test_own_kernels():
    """Where there is no cuDNN, which is asked before them."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", __file__]
    found = subprocess.run(
        [*command, "-k", "not float32 and not own_kernels and not text"],
        env={**os.environ, "DT_CUDA_LIBRARIES": "none"},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout[-3000:]


@pytest.fixture(params=["highest", "high"])
def digits(request):
    """Binary ones that are right of a product of float32; TF32 would have eleven."""
    before = dt.get_float32_matmul_precision()
    dt.set_float32_matmul_precision(request.param)
    yield {"highest": 20, "high": 15}[request.param]
    dt.set_float32_matmul_precision(before)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention_of_float32(shape, is_causal, digits):
    x = operands(shape, dt.float32)
    found = attend(*x, is_causal)
    truths, bounds = reference(*wide(x), is_causal)
    for name, ours, truth, bound in zip(("y", "q", "k", "v"), found, truths, bounds):
        error = np.abs(ours.double().cpu().numpy() - truth) - 2.0**-digits * bound
        assert error.max() <= 0, (name, error.max())


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e30])
def test_float32_of_any_size(size):
    """Values, and slopes of the result, of which some are that much larger or smaller."""
    q, k, v, g = operands((1, 2, 2, 70, 70, 64, 64), dt.float32)
    v[:, 0] *= size
    v[:, 1, :, 5] *= size
    g[:, 1] /= size
    found = attend(q, k, v, g, False)
    truths, bounds = reference(*wide((q, k, v, g)), False)
    for ours, truth, bound in zip(found, truths, bounds):
        assert (np.abs(ours.double().cpu().numpy() - truth) <= 2.0**-20 * bound).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("keys", [1, 31, 500, 5000])
def test_a_single_query_with_a_mask(keys, dtype):
    """Hidden keys and values may be anything, as in a cache that is not full."""
    q, k, v, _ = operands((2, 6, 3, 1, keys, 64, 64), getattr(dt, dtype))
    random = np.random.default_rng(keys)
    seen = random.random((2, 1, 1, keys)) < 0.5
    seen[0, ..., 0], seen[1] = True, seen[1] & (keys % 2 == 0)  # of an odd count: all are hidden
    mask = dt.tensor(seen, device="cuda")
    added = dt.tensor(random.standard_normal((6, 1, keys)), device="cuda").to(q.dtype)
    of_q, of_k, of_v, of_added = wide((q, k, v, added))
    scores = of_q @ np.repeat(of_k, 2, 1).swapaxes(2, 3) / 8
    values = np.repeat(of_v, 2, 1)
    for given, shown in ((mask, np.where(seen, scores, -np.inf)), (added, scores + of_added)):
        weights = np.exp(shown - np.maximum(shown.max(-1, keepdims=True), -1e30))
        truth = weights @ values / np.maximum(weights.sum(-1, keepdims=True), 1e-30)
        if given is mask:
            hidden = dt.logical_not(mask).transpose(2, 3)
            k, v = (x.masked_fill(hidden, float("nan")) for x in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, given, enable_gqa=True)
        tolerance = (2.0**-8 if dtype == "bfloat16" else 1e-5) * max(np.abs(truth).max(), 0.1)
        assert np.abs(y.double().cpu().numpy() - truth).max() <= tolerance
        q, k, v, _ = operands((2, 6, 3, 1, keys, 64, 64), getattr(dt, dtype))


@pytest.mark.parametrize("features", [64, 128])
@pytest.mark.parametrize("is_causal", [False, True])
def test_it_repeats(is_causal, features):
    x = operands((2, 12, 4, 2048, 2000, features, features), dt.bfloat16)
    first = [t.clone() for t in attend(*x, is_causal)]
    for _ in range(10):
        assert all(dt.equal(a, b) for a, b in zip(first, attend(*x, is_causal)))


def test_side_by_side():
    """Blocks that wait for each other, of calls on several streams that share the device."""
    sizes = ((3, 4, 2, 1500, 1700, 64, 64), (1, 9, 3, 3000, 1000, 128, 128))
    calls = [(operands(shape, dt.bfloat16), is_causal) for shape in sizes for is_causal in (0, 1)]
    alone = [attend(*x, bool(is_causal)) for x, is_causal in calls]
    dt.cuda.synchronize()
    streams = [dt.cuda.Stream() for _ in calls]
    found = []
    for _ in range(5):
        for stream, (x, is_causal) in zip(streams, calls):
            with dt.cuda.stream(stream):
                found.append(attend(*x, bool(is_causal)))
    dt.cuda.synchronize()
    for i, results in enumerate(found):
        assert all(dt.equal(a, b) for a, b in zip(results, alone[i % len(calls)]))


def test_packed_projections(repeats):
    """Queries, keys and values that lie in one tensor [batch, length, 3, heads, features]."""
    random = np.random.default_rng(1)
    packed = dt.tensor(random.standard_normal((2, 100, 3, 4, 64)), device="cuda").bfloat16()
    views = [packed[:, :, i].transpose(1, 2) for i in range(3)]
    g = operands((2, 4, 4, 100, 100, 64, 64), dt.bfloat16)[3]
    with_views = attend(*views, g, True)
    with_copies = attend(*(v.contiguous() for v in views), g, True)
    for ours, truth in zip(with_views, with_copies):
        assert dt.allclose(ours.float(), truth.float(), rtol=0.02, atol=0.02)


def test_rows_with_gaps(repeats):
    """Rows of 33 elements, which are no whole packets, at multiples of 16 bytes."""
    wide = operands((1, 2, 2, 200, 210, 40, 40), dt.bfloat16)
    with_gaps = attend(*(x[..., :33] for x in wide), False)
    with_copies = attend(*(x[..., :33].contiguous() for x in wide), False)
    for ours, truth in zip(with_gaps, with_copies):
        assert dt.allclose(ours.float(), truth.float(), rtol=0.02, atol=0.02)


def test_heads_in_one_place(repeats):
    """Keys and values of all heads that are those of one, in memory too."""
    q, k, v, g = operands((2, 4, 4, 130, 130, 64, 64), dt.bfloat16)
    k, v = (x[:, :1].expand(2, 4, 130, 64) for x in (k, v))
    with_views = attend(q, k, v, g, False)
    with_copies = attend(q, k.contiguous(), v.contiguous(), g, False)
    for ours, truth in zip(with_views, with_copies):
        assert dt.allclose(ours.float(), truth.float(), rtol=0.02, atol=0.02)


def test_nan_and_infinity(repeats):
    for what, at in ((np.nan, 0), (np.nan, 1), (np.nan, 2), (np.inf, 0), (-np.inf, 1)):
        for is_causal in (False, True):
            x = operands((1, 2, 2, 100, 100, 64, 64), dt.bfloat16)
            x[at][0, 1, 50, 3] = what
            y = F.scaled_dot_product_attention(*x[:3], is_causal=is_causal)
            with np.errstate(invalid="ignore"):
                truth = reference(*wide(x), is_causal)[0][0]
            assert np.array_equal(np.isnan(y.float().cpu().numpy()), np.isnan(truth)), (what, at)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("size", [200.0, 20000.0, 30000.0])
def test_huge_equal_scores(size, dtype):
    """Of which the rounding of one would be a large exponent."""
    if os.environ.get("DT_CUDA_LIBRARIES") != "none":
        pytest.skip("what cuDNN makes of them is its own; test_own_kernels comes here")
    q = dt.full((1, 2, 192, 64), size, device="cuda", dtype=getattr(dt, dtype))
    v = dt.ones_like(q)
    y = F.scaled_dot_product_attention(q, q, v, is_causal=True)
    assert (y.float() - 1).abs().max().item() < 0.01


def test_captured(repeats):
    """Of a shape that is met for the first time while a graph is captured, and of one that is not."""
    for length in (96, 112, 320):
        x = operands((2, 2, 2, length, length, 64, 64), dt.bfloat16)
        if length > 96:
            attend(*x, True)
        graph = dt.cuda.CUDAGraph()
        with dt.cuda.graph(graph):
            results = attend(*x, True)
        graph.replay()
        check(results, reference(*wide(x), True)[0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dropout_keeps_no_matrix(dtype):
    x = operands((1, 1, 1, 8192, 8192, 64, 64), getattr(dt, dtype))
    before = dt.cuda.memory_allocated()
    dt.cuda.reset_peak_memory_stats()
    attend(*x, True, dropout_p=0.1)
    assert dt.cuda.max_memory_allocated() - before < 8192 * 8192 // 4


def test_dropout_is_that_of_the_cpu():
    """Of weights behind the first 2^32 of a matrix: the last 64 of 70000 x 65539."""
    q = dt.zeros(1, 1, 70000, 8, device="cuda", dtype=dt.bfloat16)
    k, v = q.new_zeros(1, 1, 65539, 8), q.new_zeros(1, 1, 65539, 64)
    v[0, 0, -64:] = dt.eye(64, device="cuda")
    dt.manual_seed(6)
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    block, place = divmod(70000 * 65539 - 64, 4)
    dt.set_rng_state(dt.tensor(list(struct.pack("<qq", 6, block)), dtype=dt.uint8))
    kept = F.dropout(dt.ones(68), 0.5) != 0
    assert (y[0, 0, -1] != 0).cpu().equal(kept[place : place + 64])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_captured_dropout(dtype):
    """Each replay draws its own numbers, those of eager calls; the backward the forward's."""
    x = operands((2, 2, 2, 96, 97, 64, 64), getattr(dt, dtype))
    attend(*x, True, dropout_p=0.1)
    dt.manual_seed(5)
    eager = [attend(*x, True, dropout_p=0.1) for _ in range(3)]
    dt.manual_seed(5)
    graph = dt.cuda.CUDAGraph()
    with dt.cuda.graph(graph):
        results = attend(*x, True, dropout_p=0.1)
    for expected in eager:
        graph.replay()
        assert all(a.equal(b) for a, b in zip(results, expected))
    assert not any(a.equal(b) for a, b in zip(*eager[:2]))


@pytest.mark.parametrize("options", [{"temperature": 0}, {}, {"top_k": 5}, {"top_p": 0.7}], ids=str)
@pytest.mark.parametrize("batch", [1, 3])
def test_text_is_that_of_single_steps(options, batch):
    """What is written by recorded steps, through the end of the context, is what whole passes give."""
    from dumbtorch import models

    dt.manual_seed(3)
    model = models.gpt2(vocabulary=100, context=64, width=64, layers=2, heads=4).to("cuda").eval()
    start = dt.randint(0, 100, (batch, 5), device="cuda")
    dt.manual_seed(4)
    text = start
    with dt.no_grad():
        for _ in range(70):
            scores = model(text[:, -64:])[:, -1]
            text = dt.cat([text, F.sample_logits(scores, **options)[:, None]], 1)
    dt.manual_seed(4)
    assert model.generate(start, 70, **options).equal(text)
    core = dt._ops.models_gpt2(
        vocabulary=100, context=64, width=64, layers=2, heads=4, device="cuda"
    )
    core.train(False)
    core.load_state_dict(list(model.state_dict()), list(model.state_dict().values()))
    dt.manual_seed(4)
    assert core.generate(start, 70, **options).equal(text)
