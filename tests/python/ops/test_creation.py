"""Tensors from nothing, with every argument, against PyTorch: values, dtype, strides, grad flag,
and the same refusals."""

from __future__ import annotations

import itertools
import math

import dumbtorch as dt
import numpy as np
import pytest
from table import ALL

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


def outcome(t, call):
    """What a call gives, in words that do not depend on the library."""
    try:
        x = call(t)
    except (RuntimeError, TypeError, ValueError, IndexError, OverflowError) as error:
        return type(error).__name__
    return (str(x.dtype), tuple(x.shape), x.stride(), x.requires_grad, x.is_leaf, x.tolist())


def flat(x) -> list:
    return [v for part in x for v in flat(part)] if isinstance(x, list) else [x]


def check(call, rtol=0.0):
    ours, theirs = outcome(dt, call), outcome(torch, call)
    if rtol and not isinstance(theirs, str):
        assert ours[:-1] == theirs[:-1]
        for x, y in zip(flat(ours[-1]), flat(theirs[-1]), strict=True):
            assert x == pytest.approx(y, rel=rtol, abs=rtol)
    else:
        assert ours == theirs


SIZES = [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1, 1)]


@pytest.mark.parametrize("dtype", [None, *ALL])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_filled(size, dtype):
    for name in ("zeros", "ones"):
        check(lambda t, n=name: getattr(t, n)(size, dtype=dtype and getattr(t, dtype)))
    for value in (0, 1, 2.5, True, -3, 255, 300, math.inf, math.nan, 2**40, 1e300):
        if isinstance(value, float) and math.isnan(value) and dtype in (None, "float32", "float64"):
            assert dt.full(size, value).isnan().all().item()
            continue
        check(lambda t, v=value: t.full(size, v, dtype=dtype and getattr(t, dtype)))


def test_sizes_are_given_in_many_ways():
    for call in (
        lambda t: t.zeros(2, 3), lambda t: t.zeros([2, 3]), lambda t: t.zeros(size=(2, 3)),
        lambda t: t.ones(t.Size([2])), lambda t: t.zeros(-1),
        lambda t: t.ones(2, -3), lambda t: t.zeros(2.5), lambda t: t.zeros("2"), lambda t: t.zeros(()),
        lambda t: t.full(3, 1), lambda t: t.full((2,), "a"), lambda t: t.zeros(t.tensor(2)),
        lambda t: t.zeros(2**62, 4), lambda t: t.zeros(0, 2**40), lambda t: t.ones((2, None)),
    ):  # fmt: skip
        ours, theirs = outcome(dt, call), outcome(torch, call)
        assert ours == theirs or (isinstance(ours, str) and isinstance(theirs, str))


ARANGES = [
    (5,), (0,), (2, 7), (7, 2, -1), (0, 1, 0.1), (1, 2.5), (0, 10, 3), (0.5, 3), (-3, 3, 2), (5.0,),
    (3, 3), (0, -5, -2), (1, 2, 0.25), (0, 1, 1 / 3), (1e10, 1e10 + 3), (2**53, 2**53 + 3), (True,),
    (0, 5, 0), (5, 0), (0, 5, -1), (0, math.inf), (math.nan, 1), (0, 1, 1e-300), (2**62, 2**63 - 1, 2**61),
    (0, 5, 1.5), (0, 5, 2.5), (0.9, 5.9), (-0.5, 3), (0, 1, 0.99), (1e30, 2e30, 1e29),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [None, *ALL])
@pytest.mark.parametrize("arguments", ARANGES, ids=str)
def test_arange(arguments, dtype):
    if dtype == "uint8" and any(not 0 <= float(a) < 256 for a in arguments):
        return  # C++ says of such conversions what it likes
    if dtype == "int32" and any(abs(float(a)) >= 2**31 for a in arguments if a == a):
        return
    check(lambda t: t.arange(*arguments, dtype=dtype and getattr(t, dtype)), rtol=1e-6)


def test_arange_beyond_memory():
    for arguments in ((0, -(2**63), -1), (-(2**63), 2**63 - 1), (0, 2**62), (0.0, 1e18)):
        with pytest.raises(
            RuntimeError,
            match="arange: (invalid size|can't allocate|Storage size calculation overflowed|CUDA out of memory)",
        ):
            dt.arange(*arguments)


@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int64", "int32", "uint8"])
@pytest.mark.parametrize(
    "arguments",
    [(0, 1, 5), (0, 1, 1), (0, 1, 0), (3, -3, 7), (2, 2, 3), (0, 10, 4), (0.1, 0.9, 50), (0, 1, -1),
     (-5, 100, 1001), (1, 2, 2), (0, math.inf, 3)],
    ids=str,
)  # fmt: skip
def test_linspace(arguments, dtype):
    if dtype == "uint8" and min(arguments[:2]) < 0:
        return
    if dtype not in (None, "float32", "float64") and arguments[1] == math.inf:
        return
    if arguments[1] == math.inf:
        ours, theirs = (t.linspace(*arguments).tolist() for t in (dt, torch))
        assert str(ours) == str(theirs)
        return
    check(lambda t: t.linspace(*arguments, dtype=dtype and getattr(t, dtype)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [None, *ALL])
def test_eye(dtype):
    for arguments in ((0,), (1,), (3,), (2, 4), (4, 2), (0, 3), (3, 0), (-1,), (2, -1)):
        check(lambda t, a=arguments: t.eye(*a, dtype=dtype and getattr(t, dtype)))


@pytest.mark.parametrize("dtype", [None, *ALL])
def test_logspace(dtype):
    for arguments in (
        *((0, 2, 3), (0, 3, 4, 2), (-2, 2, 5), (0.0, 1, 7), (0, 5, 3, 3), (0.5, 2.9, 3)),
        *((1, 2, 1), (0, 4, 5, -2.0), (0, 1, 0), (0, 1, -1)),
    ):
        if dtype == "uint8" and (arguments[0] < 0 or arguments[-1] == -2):
            continue  # negative numbers
        check(lambda t, a=arguments: t.logspace(*a, dtype=dtype and getattr(t, dtype)), rtol=1e-6)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangle_indices(name):
    for sizes in ((3, 3), (2, 4), (4, 2), (0, 3), (3, 0), (-1, 2), (2, -1)):
        for offset in (0, 1, -1, 3, -3, 2**62, -(2**62)):
            check(lambda t, s=sizes, k=offset: getattr(t, name)(*s, offset=k))
    for dtype in ("int32", "float32", "int8"):
        check(lambda t, d=dtype: getattr(t, name)(3, 3, dtype=getattr(t, d)))
    for rows, columns, offset in itertools.product(range(6), range(6), range(-7, 7)):
        check(lambda t, a=(rows, columns, offset): getattr(t, name)(*a))


N = 2**31


@pytest.mark.parametrize(
    ("name", "rows", "columns", "offset"),
    [
        *(("triu_indices", N, 1, 0), ("triu_indices", N, 1, 1), ("triu_indices", 1, N, N - 2)),
        *(("triu_indices", N, N, N - 3), ("triu_indices", 2**33, 2**33, 2**33 - 2)),
        *(("triu_indices", 2**40, 3, 1), ("triu_indices", N, N, 0), ("tril_indices", N, N, 0)),
        *(("tril_indices", N, 1, 2 - N), ("tril_indices", N, 1, -N), ("tril_indices", N, N, 3 - N)),
        *(("tril_indices", 2**40, 1, 5 - 2**40), ("tril_indices", 1, 2**40, 2)),
    ],
)
def test_few_triangle_indices_of_many(name, rows, columns, offset):
    """No row is looked at that has none: there are more of them than there is time for."""

    def run(t):
        try:
            return getattr(t, name)(rows, columns, offset).tolist()
        except RuntimeError as error:
            return str(error).partition("overflowed")[1]

    assert run(dt) == run(torch)


def test_empty_strided():
    for sizes, strides in (
        ((2, 3), (1, 2)),
        ((), ()),
        ((0, 2), (5, 1)),
        ((3,), (0,)),
        ((2,), (1, 1)),
        ((2,), (-1,)),
    ):
        for make in (
            lambda t, *a: t.empty_strided(*a, dtype=t.int32),
            lambda t, *a: t.zeros(1, dtype=t.float64).new_empty_strided(*a),
        ):
            outcomes = []
            for t in (dt, torch):
                try:
                    y = make(t, sizes, strides)
                    outcomes.append(
                        (tuple(y.shape), y.stride(), str(y.dtype).removeprefix("torch."))
                    )
                except RuntimeError:
                    outcomes.append("RuntimeError")
            assert outcomes[0] == outcomes[1]


def test_scalar_tensor():
    for value in (1, 2.5, True, -7):
        for dtype in ("float32", "int64", "bool"):
            check(lambda t, v=value, d=dtype: t.scalar_tensor(v, dtype=getattr(t, d)))
        check(lambda t, v=value: t.scalar_tensor(v))


@pytest.mark.parametrize(
    "make",
    [
        lambda t, **k: t.zeros(2, **k), lambda t, **k: t.ones((), **k),
        lambda t, **k: t.full((2,), 1.5, **k), lambda t, **k: t.arange(3.0, **k),
        lambda t, **k: t.linspace(0, 1, 3, **k), lambda t, **k: t.eye(2, **k),
        lambda t, **k: t.tensor([1.0, 2.0], **k), lambda t, **k: t.scalar_tensor(1.0, **k),
        lambda t, **k: t.zeros_like(t.ones(2, 3), **k), lambda t, **k: t.full_like(t.ones(2), 3, **k),
        lambda t, **k: t.ones(2).new_zeros(3, **k), lambda t, **k: t.ones(2).new_full((3,), 2, **k),
        lambda t, **k: t.ones(2).new_ones((3, 1), **k), lambda t, **k: t.empty(0, 3, **k),
        lambda t, **k: t.empty_like(t.ones(0, 3), **k), lambda t, **k: t.ones(2).new_empty(0, **k),
        lambda t, **k: t.ones(2).new_tensor([1, 2], **k), lambda t, **k: t.asarray([1.0, 2.0], **k),
    ],
)  # fmt: skip
def test_options(make):
    """dtype, device and requires_grad, of every function that makes a tensor."""
    for dtype in ALL:
        for grad in (False, True):
            check(lambda t, d=dtype, g=grad: make(t, dtype=getattr(t, d), requires_grad=g))
    check(lambda t: make(t, device="cpu"))
    check(lambda t: make(t, device=t.device("cpu")))
    check(make)
    for wrong in ({"dtype": "float32"}, {"device": "mars"}, {"shape": 3}):
        ours, theirs = (
            outcome(dt, lambda t, w=wrong: make(t, **w)),
            outcome(torch, lambda t, w=wrong: make(t, **w)),
        )
        assert isinstance(ours, str) == isinstance(theirs, str)


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_default_dtype(default):
    before = dt.get_default_dtype()
    try:
        for t in (dt, torch):
            t.set_default_dtype(getattr(t, default))
        for call in (
            lambda t: t.zeros(1), lambda t: t.tensor([1.0]), lambda t: t.tensor([1]), lambda t: t.tensor([]),
            lambda t: t.arange(3), lambda t: t.arange(3.0), lambda t: t.linspace(0, 1, 2),
            lambda t: t.full((1,), 2), lambda t: t.full((1,), 2.0), lambda t: t.full((1,), True),
            lambda t: t.ones(1, dtype=t.int64) / 2, lambda t: t.scalar_tensor(1), lambda t: t.eye(1),
            lambda t: t.ones(1, dtype=t.int64) * 2.5, lambda t: t.ones(1, dtype=t.uint8).exp(),
        ):  # fmt: skip
            check(call, rtol=1e-6)
    finally:
        for t in (dt, torch):
            t.set_default_dtype(getattr(t, str(before).removeprefix("torch.")))
    for t in (dt, torch):
        with pytest.raises(TypeError):
            t.set_default_dtype(t.int64)


LIKE = {
    "contiguous": lambda t: t.ones(2, 3, 4, 5),
    "permuted": lambda t: t.ones(2, 3, 4, 5).permute(3, 1, 0, 2),
    "channels last": lambda t: t.ones(2, 3, 4, 5).to(memory_format=t.channels_last),
    "sliced": lambda t: t.ones(4, 6, 8, 5)[::2, ::2, ::2],
    "expanded": lambda t: t.ones(3, 1, 1).expand(2, 3, 4, 5),
    "0-d": lambda t: t.ones(()),
}


@pytest.mark.parametrize("layout", LIKE)
def test_like_keeps_the_order_of_memory(layout):
    for name, more in (("zeros_like", ()), ("ones_like", ()), ("full_like", (7,))):
        check(lambda t, n=name, m=more: getattr(t, n)(LIKE[layout](t), *m))
        for form in ("preserve_format", "contiguous_format", "channels_last"):
            if layout == "0-d" and form == "channels_last":
                continue
            check(
                lambda t, n=name, m=more, f=form: getattr(t, n)(
                    LIKE[layout](t), *m, memory_format=getattr(t, f)
                )
            )
    for t in (dt, torch):
        assert t.empty_like(LIKE[layout](t)).shape == LIKE[layout](t).shape
    assert (
        dt.empty_like(LIKE[layout](dt)).stride() == torch.empty_like(LIKE[layout](torch)).stride()
    )
    assert dt.rand_like(LIKE[layout](dt)).stride() == torch.rand_like(LIKE[layout](torch)).stride()


def test_memory_formats_of_empty():
    for form in ("contiguous_format", "channels_last"):
        strides = [
            t.empty(2, 3, 4, 5, memory_format=getattr(t, form)).stride() for t in (dt, torch)
        ]
        assert strides[0] == strides[1]
    for t in (dt, torch):
        with pytest.raises(RuntimeError):
            t.empty(2, 3, memory_format=t.channels_last)


@pytest.mark.parametrize(
    "data",
    [
        5, 2.5, True, [], [[]], [[], []], [1, 2], [1, 2.5], [True, 2], [True, False], [[1], [2]], (1, (2)),
        [[1, 2], [3]], [1, [2]], [[1], 2], "abc", ["a"], None, [None], {}, [1, "a"], range(4), [range(2), range(2)],
        [[[1, 2], [3, 4]]], (), 2**62, -(2**63), 1e308, [math.inf, -math.inf],
        pytest.param(object(), id="object"), [[[]], [[]]], {1, 2},
    ],
    ids=str,
)  # fmt: skip
def test_tensor(data):
    for dtype in (None, "float64", "int32", "bool", "uint8"):
        if dtype in ("int32", "uint8", "bool") and (
            data in (2**62, -(2**63), 1e308) or "inf" in str(data)
        ):
            continue
        ours, theirs = (
            outcome(t, lambda t, d=dtype: t.tensor(data, dtype=d and getattr(t, d)))
            for t in (dt, torch)
        )
        assert ours == theirs or (isinstance(ours, str) and isinstance(theirs, str))


def test_tensor_of_tensors():
    for call in (
        lambda t: t.tensor(t.arange(3)), lambda t: t.tensor([t.tensor(1), t.tensor(2)]),
        lambda t: t.tensor([t.tensor(1.5), 2]), lambda t: t.as_tensor(t.arange(3), dtype=t.float32),
        lambda t: t.tensor([[t.tensor(1), 2]]), lambda t: t.asarray(t.arange(3.0), copy=True),
        lambda t: t.tensor(t.ones(2, requires_grad=True).detach(), requires_grad=True),
    ):  # fmt: skip
        check(call)


def test_from_numbers_is_for_other_languages():
    """Python has no use for it; C, C++ and Lua make tensors of literals by it."""
    from dumbtorch import _ops

    x = _ops.from_numbers([1.0, 2.0, 3.0, 4.0], [2, 2], dtype=dt.int64)
    assert x.tolist() == [[1, 2], [3, 4]] and x.dtype is dt.int64
    assert _ops.from_numbers([1.5]).tolist() == [1.5]
    big = 2**62 + 1  # no float64
    assert _ops.from_ints([big, -big]).tolist() == [big, -big]
    with pytest.raises(RuntimeError):
        _ops.from_numbers([1.0, 2.0, 3.0], [2, 2])


def test_lists_that_share_their_entries(torch):
    """Sixteen lists are enough for more numbers than any memory has."""
    shared = [0.5, 1.0]
    for _ in range(15):
        shared = [shared] * 2
    assert dt.tensor(shared).sum() == 1.5 * 2**15
    for entry in (0, True, np.float32(1)):
        shared = entry
        for _ in range(16):
            shared = [shared] * 10
        with pytest.raises(RuntimeError, match="allocate"):
            dt.tensor(shared)
