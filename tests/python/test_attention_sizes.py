"""scaled_dot_product_attention of sizes that reach every way of computing it, against PyTorch in float64; and the same
bits at any number of threads."""

import math
import os
import subprocess
import sys

import dumbtorch as dt
import numpy as np
import processors
import pytest

DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")
# Relative to the largest number of a result, as in tests/python/ops/harness.py.
TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 2e-3, "bfloat16": 1.6e-2}
LENGTHS = (1, 17, 127, 129, 1000)
FEATURES = (32, 40, 64, 80, 128)


@pytest.fixture(autouse=True)
def threads():
    before = dt.get_num_threads()
    yield
    dt.set_num_threads(before)


def numbers(dtype, *operands):
    """For each tuple of sizes, numbers that the dtype holds exactly."""
    random = np.random.default_rng(0)
    found = [random.standard_normal(sizes) for sizes in operands]
    return [dt.tensor(x).to(getattr(dt, dtype)).double().numpy() for x in found]


def results(library, arrays, dtype, mask=None, layout=lambda x: x, **options):
    """The result and the gradients of query, key and value, in float64."""
    device = DEVICE if library is dt else "cpu"
    leaves = [
        library.tensor(x).to(getattr(library, dtype)).to(device).requires_grad_()
        for x in arrays[:3]
    ]
    if mask is not None:
        mask = library.tensor(mask).to(device)
        mask = mask.to(getattr(library, dtype)) if mask.is_floating_point() else mask
    y = library.nn.functional.scaled_dot_product_attention(*map(layout, leaves), mask, **options)
    y.backward(library.tensor(arrays[3]).to(y.dtype).to(device))
    return [x.detach().double().cpu().numpy() for x in (y, *(x.grad for x in leaves))]


def check(torch, sizes, dtype, mask=None, layout=lambda x: x, **options):
    """Sizes of query, key, value and result."""
    arrays = numbers(dtype, *sizes)
    if mask is not None and mask.dtype != bool:
        mask = dt.tensor(mask).to(getattr(dt, dtype)).double().numpy()
    ours = results(dt, arrays, dtype, mask, layout, **options)
    theirs = results(torch, arrays, "float64", mask, layout, **options)
    for name, a, b in zip(("y", "query", "key", "value"), ours, theirs, strict=True):
        tolerance = TOLERANCE[dtype]
        scale = max(1.0, np.abs(b).max(initial=0))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale, err_msg=name)


def heads(batch, count, queries, keys, features, shared=None, of_values=None):
    shared, of_values = shared or count, of_values or features
    return (
        (batch, count, queries, features),
        (batch, shared, keys, features),
        (batch, shared, keys, of_values),
        (batch, count, queries, of_values),
    )


DTYPES = ("float32", "float64", "bfloat16", "float16")


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("features", FEATURES)
def test_sizes(torch, features, length, dtype, is_causal):
    check(torch, heads(1, 2, length, length, features), dtype, is_causal=is_causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", ((1, 400), (5, 300), (300, 5), (200, 333), (333, 200)))
@pytest.mark.parametrize("is_causal", (False, True))
def test_queries_and_keys_differ(torch, lengths, dtype, is_causal):
    check(torch, heads(2, 1, *lengths, 24, of_values=36), dtype, is_causal=is_causal)


@pytest.mark.parametrize("lengths", ((5, 7), (37, 61), (200, 193)))
@pytest.mark.parametrize("features", (1, 33, 301))
@pytest.mark.parametrize("is_causal", (False, True))
def test_odd_features_of_bfloat16(torch, lengths, features, is_causal):
    """Instructions multiply pairs: of an odd number the last has no neighbour."""
    check(torch, heads(1, 3, *lengths, features), "bfloat16", is_causal=is_causal)


@pytest.mark.skipif(DEVICE != "cpu", reason="of processors")
@processors.others("v3", "v4-no-amx")
def test_bfloat16_with_other_instructions(isa):
    """As floats, and in vectors where this processor has tiles."""
    assert " passed" in processors.run_tests(isa, __file__, "bfloat16 and not other")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shared", (1, 2, 3))
def test_shared_heads(torch, dtype, shared):
    check(torch, heads(2, 6, 150, 210, 64, shared), dtype, enable_gqa=True)


def masks(queries, keys):
    seen = np.random.default_rng(0).random((2, 3, queries, keys)) < 0.7
    seen[0, 1, 4] = False  # a query that may look nowhere
    seen[:, :, :, 200:] = False  # keys that nobody sees
    yield seen
    yield from (seen[:1, :1], seen[0, 1], seen[:, :, :1], seen[:, :1, :, :1])
    added = np.where(seen, np.random.default_rng(1).standard_normal(seen.shape), -math.inf)
    yield from (added, added[0, 2], added[1, :, 5:6], added[:, :1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", range(9))
def test_masks(torch, dtype, number):
    check(torch, heads(2, 3, 130, 260, 32), dtype, list(masks(130, 260))[number])


def cut_from_a_cache(x):
    """As much as is known so far, of memory that has room for more."""
    room = x.new_zeros((*x.shape[:2], x.shape[2] + 7, x.shape[3] + 9))
    room[:, :, : x.shape[2], : x.shape[3]] = x
    return room[:, :, : x.shape[2], : x.shape[3]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", (1, 2, 4))
@pytest.mark.parametrize("features", (8, 40, 64))
def test_few_queries(torch, features, queries, dtype):
    """As a decoder has them: keys and values are read where they lie."""
    shared = heads(2, 6, queries, 401, features, 2, features + 3)
    seen = np.random.default_rng(0).random((2, 1, queries, 401)) < 0.6
    check(torch, shared, dtype, seen, enable_gqa=True)
    check(torch, shared, dtype, np.where(seen, 0.5, -math.inf), cut_from_a_cache, enable_gqa=True)
    turned = [(b, h, d, t) for b, h, t, d in shared[:3]]
    check(
        torch, (*turned, shared[3]), dtype, layout=lambda x: x.mT, is_causal=True, enable_gqa=True
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ((0, 2, 1, 3), (2, 0, 1, 3), (3, 2, 1, 0)))
def test_strides(torch, dtype, order):
    """Heads that are cut out of rows of projections, and features that lie apart."""
    sizes = heads(2, 4, 140, 140, 64)
    back = [order.index(d) for d in range(4)]
    inputs = [tuple(s[d] for d in order) for s in sizes[:3]]
    check(torch, (*inputs, sizes[3]), dtype, layout=lambda x: x.permute(*back), is_causal=True)


@pytest.mark.skipif(DEVICE != "cpu", reason="of threads")
@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
@pytest.mark.parametrize("count", (1, 3, 20))
def test_threads(count, dtype):
    """However many heads there are: few are cut into parts."""
    arrays = numbers(dtype, *heads(1, count, 500, 700, 32))
    dt.set_num_threads(1)
    alone = results(dt, arrays, dtype, is_causal=True)
    dt.set_num_threads(3)
    for one, many in zip(alone, results(dt, arrays, dtype, is_causal=True), strict=True):
        assert np.array_equal(one, many)


def test_large_scores():
    """Exponentials are relative to the largest score, wherever it stands."""
    key = dt.arange(300.0, device=DEVICE).reshape(1, 1, 300, 1)
    for sign in (1.0, -1.0):
        query = dt.full((1, 1, 2, 1), sign * 1000, device=DEVICE)
        y = dt.nn.functional.scaled_dot_product_attention(query, key, key)
        assert y.tolist() == [[[[299.0 if sign > 0 else 0.0]] * 2]]


def test_choice_is_traced():
    """What is composed says why."""
    program = f"""
import dumbtorch as dt
x = dt.ones(1, 1, 8, 32, device={DEVICE!r})
dt.nn.functional.scaled_dot_product_attention(x, x, x)
dt.nn.functional.scaled_dot_product_attention(x, x, x[0])
"""
    found = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"DT_TRACE": "1"}, capture_output=True, text=True, check=True
    )  # fmt: skip
    assert "run attention " in found.stderr
    assert "scaled_dot_product_attention composed: query, key and value broadcast" in found.stderr
