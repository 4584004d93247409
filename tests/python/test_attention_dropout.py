"""Dropout of scaled_dot_product_attention's weights, by every way of computing it: the numbers are those that dropout
draws for a matrix of all weights, so that PyTorch, in float64, is given what they are multiplied by."""

import math
import os

import dumbtorch as dt
import numpy as np
import processors
import pytest

F = dt.nn.functional
DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")
# Relative to the largest number of a result, as in tests/python/ops/harness.py.
TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 2e-3, "bfloat16": 1.6e-2}
DTYPES = tuple(TOLERANCE)
P = 0.3

# batch, heads of queries, heads of keys, queries, keys, features, features of values
SHAPES = (
    (2, 3, 3, 130, 132, 32, 32),
    (1, 6, 2, 65, 67, 40, 24),
    (1, 2, 2, 200, 333, 64, 64),
    (2, 2, 1, 130, 258, 128, 128),
    (1, 2, 2, 129, 129, 33, 33),
    (2, 3, 3, 1, 101, 64, 64),
    (2, 1, 1, 90, 2, 16, 16),
    (2, 6, 2, 4, 403, 24, 40),
    (1, 1, 1, 401, 195, 33, 48),
)


def factors(sizes, seed, p=P):
    """What weights of these sizes are multiplied by."""
    dt.manual_seed(seed)
    kept = F.dropout(dt.ones(*sizes, device=DEVICE), p) != 0
    return kept.double().cpu().numpy() / (1 - p)


def exact(dtype, *sizes):
    """For each tuple of sizes, numbers that the dtype holds exactly."""
    random = np.random.default_rng(0)
    found = [dt.tensor(random.standard_normal(s)).to(getattr(dt, dtype)) for s in sizes]
    return [x.double().numpy() for x in found]


def operands(shape, dtype):
    """Query, key, value and the result's gradient."""
    batch, heads, shared, queries, keys, features, of_values = shape
    return exact(
        dtype,
        (batch, heads, queries, features),
        (batch, shared, keys, features),
        (batch, shared, keys, of_values),
        (batch, heads, queries, of_values),
    )


def composed(torch, q, k, v, multiplied, mask=None, is_causal=False):
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if is_causal:
        mask = torch.ones(scores.shape[2:], dtype=torch.bool).tril()
    if mask is not None and mask.dtype != torch.bool:
        scores, mask = scores + mask, mask.detach() != -math.inf
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1).nan_to_num() * torch.tensor(multiplied) @ v


def leaves(library, arrays, dtype):
    device = DEVICE if library is dt else "cpu"
    made = [library.tensor(x).to(getattr(library, dtype)).to(device) for x in arrays]
    return [x.requires_grad_() for x in made[:3]], made[3]


def attend(x, seed=3, **options):
    dt.manual_seed(seed)
    return F.scaled_dot_product_attention(*x, dropout_p=P, enable_gqa=True, **options)


def compare(ours, theirs, dtype):
    names = "y", "query", "key", "value", "mask"
    for name, a, b in zip(names, ours, theirs):
        b = b.detach().numpy()
        atol = TOLERANCE[dtype] * max(1.0, np.abs(b).max())
        a = a.detach().double().cpu().numpy()
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=atol, err_msg=name)


def check(torch, shape, dtype, mask=None, is_causal=False):
    arrays = operands(shape, dtype)
    multiplied = factors((*shape[:2], *shape[3:5]), 3)
    x, g = leaves(dt, arrays, dtype)
    given = None if mask is None else dt.tensor(mask, device=DEVICE)
    if mask is not None and mask.dtype != bool:
        given = given.to(x[0].dtype)
        mask = given.double().cpu().numpy()
    y = attend(x, attn_mask=given, is_causal=is_causal)
    ours = y, *dt.autograd.grad(y, x, g)
    x, g = leaves(torch, arrays, "float64")
    y = composed(torch, *x, multiplied, None if mask is None else torch.tensor(mask), is_causal)
    compare(ours, (y, *torch.autograd.grad(y, x, g)), dtype)


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weights_are_dropped_as_by_dropout(torch, shape, dtype, is_causal):
    check(torch, shape, dtype, is_causal=is_causal)


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(torch, dtype):
    seen = np.random.default_rng(0).random((2, 1, 130, 260)) < 0.7
    seen[0, :, 4] = False  # a query that may look nowhere
    check(torch, (2, 3, 3, 130, 260, 32, 32), dtype, seen)
    added = np.where(seen, np.random.default_rng(1).standard_normal(seen.shape), -math.inf)
    check(torch, (2, 3, 1, 130, 259, 32, 24), dtype, added[..., :259])
    check(torch, (2, 3, 3, 3, 260, 32, 32), dtype, added[1, :, 5:6])


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_gradient_of_a_mask(torch, dtype):
    """It has all weights, and is composed of other ops."""
    arrays = operands((2, 3, 3, 37, 41, 16, 16), dtype)
    (added,) = exact(dtype, (37, 41))
    multiplied = factors((2, 3, 37, 41), 3)
    x, g = leaves(dt, arrays, dtype)
    x.append(dt.tensor(added).to(g.dtype).to(DEVICE).requires_grad_())
    y = attend(x)
    ours = y, *dt.autograd.grad(y, x, g)
    x, g = leaves(torch, arrays, "float64")
    x.append(torch.tensor(added).requires_grad_())
    y = composed(torch, *x[:3], multiplied, x[3])
    compare(ours, (y, *torch.autograd.grad(y, x, g)), dtype)


@pytest.fixture
def threads():
    before = dt.get_num_threads()
    yield
    dt.set_num_threads(before)


@pytest.mark.skipif(DEVICE != "cpu", reason="of threads")
@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
@pytest.mark.parametrize("count", (1, 3, 20))
def test_threads(threads, count, dtype):
    """The same bits, however many heads there are: few are cut into parts."""
    x, g = leaves(dt, operands((1, count, count, 500, 701, 32, 32), dtype), dtype)

    def run(threads):
        dt.set_num_threads(threads)
        y = attend(x, is_causal=True)
        return y.detach(), *dt.autograd.grad(y, x, g)

    alone = run(1)
    for threads in (2, 3):
        assert all(a.equal(b) for a, b in zip(alone, run(threads), strict=True))


@pytest.mark.skipif(DEVICE != "cpu", reason="of processors")
@processors.others("v2", "v3", "v4-no-amx")
def test_other_instructions(isa):
    """The same weights are dropped, by kernels and, with the oldest, by what they are composed of."""
    chosen = "by_itself or (are_dropped and bfloat16)"
    assert " passed" in processors.run_tests(isa, __file__, chosen)


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU's tests have it")
@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "bfloat16"))
def test_no_matrix_is_kept(dtype):
    x, g = leaves(dt, operands((1, 4, 2, 2048, 2048, 32, 32), dtype), dtype)
    dt.reset_peak_memory_stats()
    before = dt.memory_stats().peak
    dt.autograd.grad(attend(x, is_causal=True), x, g)
    assert dt.memory_stats().peak - before < 4 * 2048 * 2048 * x[0].element_size() / 2


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
@pytest.mark.parametrize("keys", (128, 127, 126, 125, 64, 3))
def test_each_weight_by_itself(keys, dtype):
    """Values that are the unit matrix show the weights, which are all alike."""
    sizes = 3, 5, 75, keys
    q = dt.zeros(3, 5, 75, 8, device=DEVICE, dtype=getattr(dt, dtype))
    k = q.new_zeros(3, 5, keys, 8)
    v = dt.eye(keys, device=DEVICE, dtype=q.dtype).expand(3, 5, keys, keys)
    found = attend((q, k, v)).double().cpu().numpy() * keys * (1 - P)
    np.testing.assert_array_equal(found.round(), factors(sizes, 3) * (1 - P))


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", SHAPES[:2], ids=str)
def test_gradients_of_gradients(torch, shape, dtype):
    """They are of the weights that were dropped once."""

    def twice(library, x, g, y):
        first = library.autograd.grad(y, x, g, create_graph=True)
        total = sum((d * d * w).sum() for d, w in zip(first, x))
        return (first[0], *library.autograd.grad(total, x))

    arrays = operands(shape, dtype)
    multiplied = factors((*shape[:2], *shape[3:5]), 3)
    x, g = leaves(dt, arrays, dtype)
    ours = twice(dt, x, g, attend(x, is_causal=True))
    x, g = leaves(torch, arrays, "float64")
    theirs = twice(torch, x, g, composed(torch, *x, multiplied, is_causal=True))
    compare(ours, theirs, dtype)


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_repeats_by_the_seed(dtype):
    def run(seed):
        x, g = leaves(dt, operands(SHAPES[0], dtype), dtype)
        y = attend(x, seed)
        return y.detach(), *dt.autograd.grad(y, x, g)

    first, again, other = run(3), run(3), run(4)
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))
    assert not any(a.equal(b) for a, b in zip(first, other, strict=True))


def test_the_generator_goes_on_as_after_dropout():
    x = dt.ones(2, 3, 37, 16, device=DEVICE)
    factors((2, 3, 37, 37), 3)
    expected = dt.rand(8, device=DEVICE)
    attend((x, x, x))
    assert dt.rand(8, device=DEVICE).equal(expected)


@pytest.mark.parametrize("reentrant", (False, True))
def test_checkpoint_draws_the_same(reentrant):
    def run(way):
        x, g = leaves(dt, operands(SHAPES[0], "float32"), "float32")
        y = way(lambda *x: F.scaled_dot_product_attention(*x, dropout_p=P), *x)
        y.backward(g)
        return [y.detach(), *(t.grad for t in x)]

    def kept(f, *x):
        return dt.utils.checkpoint.checkpoint(f, *x, use_reentrant=reentrant)

    dt.manual_seed(3)
    plain = run(lambda f, *x: f(*x))
    dt.manual_seed(3)
    assert all(a.equal(b) for a, b in zip(plain, run(kept), strict=True))


def test_all_or_nothing():
    x = [
        t.detach().requires_grad_()
        for t in leaves(dt, operands(SHAPES[0], "float32"), "float32")[0]
    ]
    y = F.scaled_dot_product_attention(*x, dropout_p=1.0)
    assert not y.any() and not any(g.any() for g in dt.autograd.grad(y.sum(), x))
    nearly = F.scaled_dot_product_attention(*x, dropout_p=1e-30)
    assert dt.allclose(nearly, F.scaled_dot_product_attention(*x), atol=1e-6)


@pytest.mark.parametrize("lengths", ((0, 3), (3, 0), (0, 0)))
def test_of_nothing(torch, lengths):
    def run(library, device):
        q, k = (library.ones(2, n, 4, device=device, requires_grad=True) for n in lengths)
        y = library.nn.functional.scaled_dot_product_attention(q, k, k, dropout_p=P)
        return [x.detach().cpu().numpy() for x in (y, *library.autograd.grad(y.sum(), (q, k)))]

    for ours, theirs in zip(run(dt, DEVICE), run(torch, "cpu"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
