"""Matrix products and convolutions of sizes that reach every way of computing them, against the same in float64; and
the same bits at any number of threads."""

import dumbtorch as dt
import numpy as np
import processors
import pytest

THREADS = 3
EPSILON = 2.0**-23


@pytest.fixture(autouse=True)
def threads():
    before = dt.get_num_threads()
    yield
    dt.set_num_threads(before)


def at_any_number_of_threads(run):
    """run()'s arrays, computed by one thread and by several."""
    dt.set_num_threads(1)
    alone = run()
    dt.set_num_threads(THREADS)
    for one, many in zip(alone, run(), strict=True):
        assert np.array_equal(one, many, equal_nan=True)
    return alone


def numbers(*sizes):
    return np.random.default_rng(len(sizes) + sum(sizes)).standard_normal(sizes).astype(np.float32)


def assert_product(y, truth, magnitude, length):
    """`magnitude` is the same product of absolute values: what rounding errors are measured by."""
    assert np.all(np.abs(y - truth) <= EPSILON * (4 + length**0.5) * magnitude)


# Thin, from memory too, of one term, and square, panels that are not full, blocks along k, packed and in place; the
# last, cut for three threads, has a smaller part that packs more at a time than the larger ones.
SHAPES = (
    (1, 300, 200),
    (1, 1501, 799),
    (3, 70, 1000),
    (7, 33, 300),
    (50, 30, 1),
    (3001, 7, 1),
    (64, 64, 64),
    (13, 33, 700),
    (15, 41, 530),
    (6, 109, 1320),
    (150, 11, 900),
    (9, 1101, 401),
    (20, 1500, 300),
    (70, 600, 600),
    (300, 45, 520),
    (130, 1000, 530),
    (500, 300, 257),
    (744, 160, 512),
)


ORDERS = ("NN", "NT", "TN", "TT")


def operand(x, letter):
    return dt.tensor(x) if letter == "N" else dt.tensor(np.ascontiguousarray(x.T)).t()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ORDERS)
def test_matmul(shape, order):
    m, n, k = shape
    a, b = numbers(m, k), numbers(k, n)
    (y,) = at_any_number_of_threads(
        lambda: ((operand(a, order[0]) @ operand(b, order[1])).numpy(),)
    )
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert_product(y, a @ b, np.abs(a) @ np.abs(b), k)


# Products of bfloat16 are exact in float32, and their sum is rounded once. Vectors, one step along k more or less than
# tiles and blocks have, and blocks of rows and of k.
BRAIN_SHAPES = (
    (1, 1, 300),
    (1, 1501, 799),
    (1, 1031, 1024),
    (3, 300, 70),
    (5, 1, 31),
    (31, 33, 32),
    (32, 32, 33),
    (33, 31, 1),
    (65, 70, 511),
    (13, 40, 513),
    (300, 45, 1100),
    (1200, 90, 800),
)


@pytest.mark.parametrize("shape", BRAIN_SHAPES)
@pytest.mark.parametrize("order", ORDERS)
def test_matmul_of_bfloat16(shape, order):
    m, n, k = shape
    a, b = (
        operand(x, o).bfloat16() for x, o in zip((numbers(m, k), numbers(k, n)), order, strict=True)
    )
    (y,) = at_any_number_of_threads(lambda: ((a @ b).float().numpy(),))
    a, b = (t.float().numpy().astype(np.float64) for t in (a, b))
    truth, magnitude = a @ b, np.abs(a) @ np.abs(b)
    rounding = 2.0**-8 * np.abs(truth) + EPSILON * (4 + k**0.5) * magnitude
    assert np.all(np.abs(y - truth) <= rounding)


def test_matmul_of_bfloat16_in_any_order_of_memory():
    a = dt.tensor(numbers(70, 90, 2)).bfloat16()
    x, y = a[..., 0], a[..., 1].t()
    truth = x.contiguous().double() @ y.contiguous().double()
    assert np.allclose((x @ y).double().numpy(), truth.numpy(), rtol=2.0**-8, atol=1e-4)


@processors.others("v3", "v4-no-amx")
def test_matmul_of_bfloat16_with_other_instructions(isa):
    """The tests above, where other processors' ways are taken: without tiles, and as floats."""
    printed = processors.run_tests(isa, __file__, "of_bfloat16 and not other")
    assert f"{len(BRAIN_SHAPES) * len(ORDERS) + 1} passed" in printed


def test_matmul_spreads_what_is_not_finite():
    a, b = numbers(130, 300), numbers(300, 200)
    a[60, 100], b[40, 150] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        truth = a @ b
    (y,) = at_any_number_of_threads(lambda: ((dt.tensor(a) @ dt.tensor(b)).numpy(),))
    assert np.array_equal(np.isnan(y), np.isnan(truth))
    assert np.array_equal(np.isinf(y), np.isinf(truth))


# Images, channels in, channels out, size, kernel, further arguments.
CONVOLUTIONS = (
    (3, 1, 8, 15, 3, {"padding": 1}),
    (9, 8, 16, 7, 3, {"padding": 1}),
    (3, 13, 33, 14, 3, {"padding": 1}),
    (2, 24, 17, 19, 3, {"padding": 2, "stride": 2}),
    (2, 16, 40, 11, (2, 3), {"padding": (0, 2), "dilation": (1, 2)}),
    (2, 12, 16, 5, 3, {"padding": 3}),
    (2, 32, 48, 9, 1, {}),
    (3, 128, 131, 6, 1, {}),
    (2, 80, 130, 7, 3, {"padding": 1}),
    (2, 26, 34, 9, 3, {"padding": 1, "groups": 2}),
    (3, 70, 70, 9, 3, {"padding": 1, "groups": 70}),
    (2, 70, 70, 10, (3, 2), {"padding": (2, 1), "stride": 2, "groups": 70}),
    (2, 9, 9, 10, 3, {"dilation": 2, "padding": 1, "groups": 9}),
    (2, 3, 3, 12, (1, 7), {"padding": (0, 3), "groups": 3}),
    (2, 24, 24, 13, 3, {"padding": 1, "groups": 24}),
    (1, 100, 100, 15, (3, 2), {"stride": 2, "dilation": (1, 2), "groups": 100}),
    (2, 3, 32, 15, 3, {"padding": 1, "stride": 2}),
    (3, 4, 64, 11, (3, 5), {"padding": (2, 0), "stride": (1, 3), "dilation": (2, 1)}),
    (2, 8, 32, 6, 5, {"padding": 4}),
    (5, 40, 70, 9, 3, {"padding": 1, "stride": 2}),
    (2, 300, 33, 7, (3, 2), {"padding": (1, 0)}),
    (2, 48, 64, 31, 1, {"stride": 2}),
    (2, 33, 62, 20, (2, 4), {"stride": (2, 3)}),
    (1, 64, 160, 24, 3, {"padding": 2}),
)


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("channels_last", (False, True))
@pytest.mark.parametrize("biased", (False, True))
def test_conv2d_and_its_gradients(torch, case, channels_last, biased):
    n, c_in, c_out, size, kernel, arguments = case
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    weight_sizes = (c_out, c_in // arguments.get("groups", 1), *kernel)
    operands = numbers(n, c_in, size, size), numbers(*weight_sizes), numbers(c_out)

    def results(t, make):
        leaves = [make(v).requires_grad_() for v in operands[: 2 + biased]]
        y = t.nn.functional.conv2d(*leaves, **arguments)
        y.backward(make(numbers(*y.shape)))
        return [v.detach().numpy() for v in (y, *(leaf.grad for leaf in leaves))]

    def ours(v):
        v = dt.tensor(v)
        return v.contiguous(memory_format=dt.channels_last) if channels_last and v.ndim == 4 else v

    mine = at_any_number_of_threads(lambda: results(dt, ours))
    truth = results(torch, lambda v: torch.tensor(v, dtype=torch.float64))
    for got, right in zip(mine, truth, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())
