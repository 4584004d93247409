"""What is refused because of its sizes, windows or indices, and asserted of arguments: PyTorch's errors and words."""

import dumbtorch as dt
import pytest

HALF = 2**62

OVERFLOWS = (
    "empty(HALF, HALF, 0)", "zeros((HALF, HALF, 0))", "ones(HALF, 4, 0)", "full((HALF, HALF, 0), 1.0)",
    "rand(HALF, HALF, 0)", "empty(HALF, HALF, 0, dtype=uint8)", "ones(1).new_empty((HALF, HALF, 0))",
    "empty(HALF, 0, HALF)", "empty(2**61, 0, 8)", "empty(0, HALF)", "empty(HALF, 4)",
)  # fmt: skip
# PyTorch says that an integer overflows, and we of what.
COUNTS = (
    "empty(1, 1, 0).expand(HALF, HALF, 0)", "empty(0).resize_(HALF, HALF, 0)", "empty(0).reshape(HALF, HALF, 0)",
    "empty_strided((HALF, HALF, 0), (1, 1, 1))",
)  # fmt: skip
SELECTIONS = (
    "index_select(zeros(0, 3), 0, tensor([0, 1]))", "index_select(zeros(2, 0), 1, tensor([0]))",
    "index_select(zeros(0, 3), 0, tensor([0], dtype=int32))", "index_select(zeros(0, 3), 0, tensor([]).long())",
    "index_select(zeros(2, 0), 0, tensor([1, 1]))", "zeros(0, 3).index_select(1, tensor([2]))",
)  # fmt: skip


def outcome(t, call):
    f = t.nn.functional
    names = {
        **vars(t),
        "t": t,
        "f": f,
        "HALF": HALF,
        "x": t.ones(1, 2, 8, 8),
        "z": t.ones(1, 2, 4, 4, 4),
    }
    try:
        made = eval(call, names)
    except Exception as error:
        return type(error), str(error)
    return tuple(made.shape)


def check(torch, call):
    ours, theirs = outcome(dt, call), outcome(torch, call)
    if isinstance(theirs[0], int) or not theirs:
        assert ours == theirs
        return
    assert ours[0] is theirs[0], (ours, theirs)
    name, _, said = ours[1].partition(": ")
    said = said.replace(" with sizes=[0, 4611686018427387904]", "")
    assert theirs[1].startswith((said, f"{name}: {said}", f"{name}() {said}", ours[1])), (
        ours,
        theirs,
    )


@pytest.mark.parametrize("call", OVERFLOWS + SELECTIONS)
def test_sizes(torch, call):
    check(torch, call)


@pytest.mark.parametrize("call", COUNTS)
def test_more_elements_than_can_be_counted(torch, call):
    ours, theirs = outcome(dt, call), outcome(torch, call)
    assert ours[0] is theirs[0] is RuntimeError
    assert "overflow" in theirs[1] and ("overflowed" in ours[1] or "too many elements" in ours[1])


WINDOWS = [
    *(
        f"f.{name}(x[:, 0], {numbers})"
        for name in ("max_pool1d",)
        for numbers in ("[2, 2]", "[]", "2, [2, 2]", "2, 2, [1, 1]", "2, 2, 0, [1, 1]")
    ),
    *(
        f"f.{name}({x}, {numbers})"
        for x, names in (("x", ("max_pool2d", "avg_pool2d")), ("z", ("max_pool3d", "avg_pool3d")))
        for name in names
        for numbers in ("[2, 2, 2, 2]", "[]", "2, [1, 1, 1, 1]", "2, 2, [1, 1, 1, 1]", "2, 2, []")
    ),
    "f.max_pool2d(x, 2, 2, 0, [1, 1, 1])", "f.max_pool3d(z, 2, 2, 0, [1, 1])", "f.avg_pool2d(x, 2, [])",
    "f.fractional_max_pool2d(x, [2, 2, 2], output_size=3)", "f.fractional_max_pool2d(x, 2, output_size=[2, 2, 2])",
    "f.fractional_max_pool3d(z, [2, 2], output_size=2)", "f.fractional_max_pool3d(z, 2, output_size=[2, 2])",
    "f.unfold(x, [2, 2, 2])", "f.unfold(x, 2, [1, 1, 1])", "f.unfold(x, 2, 1, [])", "f.unfold(x, 2, 1, 0, [1, 1, 1])",
    "f.fold(ones(1, 4, 4), [3, 3, 3], 2)", "f.avg_pool3d(z, 9)", "f.avg_pool3d(z, 2, padding=2)",
    "f.avg_pool3d(z[..., :3], [2, 2, 5], 1, [0, 0, 2])", "f.avg_pool3d(z[..., :3], 4, 4, 0, True)",
]  # fmt: skip


@pytest.mark.parametrize("call", WINDOWS)
def test_numbers_of_windows(torch, call):
    check(torch, call)


@pytest.mark.parametrize(
    ("dims", "index"), [(1, 99), (1, -1), (2, 64), (2, -1), (3, 512), (3, -1), (2, 63)]
)
def test_indices_of_max_unpool(torch, dims, index):
    x = f"ones(2, 1, {', '.join('4' * dims)})"
    places = f"{x}.long().mul(0).index_fill(0, tensor([1]), {index})"
    check(torch, f"f.max_unpool{dims}d({x}, {places}, 2)")


@pytest.mark.parametrize("grad", [3, 1.5, True, "a", [1.0], (2,)])
def test_what_is_no_gradient(refusals, grad):
    def assign(t):
        t.ones(2, requires_grad=True).grad = grad

    ours, theirs = refusals(assign, TypeError)
    assert ours == theirs


def test_a_gradient_of_another_size(refusals):
    def assign(t):
        t.ones(2, requires_grad=True).grad = t.ones(3)

    ours, theirs = refusals(assign, RuntimeError)
    assert ours[1].partition(": ")[2] == theirs[1]


ATTENTION = (
    "m(q[0, 0], q, q)", "m(q, q[0], q)", "m(q[0], q, q[0])", "m(q, q, q, key_padding_mask=q[0, 0])",
    "m(q, q, q, key_padding_mask=ones(3, 3).bool())", "m(q, q, q, key_padding_mask=ones(2, 4).bool())",
    "m(q, q, q, key_padding_mask=ones(2, 3).long())", "m(q, q, q, attn_mask=q[0, 0])",
    "m(q, q, q, attn_mask=ones(2, 2))",
    "m(q[0], q[0], q[0], attn_mask=ones(1, 3, 3))", "m(q, q, q, attn_mask=ones(3, 3).long())", "m(q, q[:, :2], q)",
    "m(ones(2, 3, 6), q, q)", "m(q, q, q, is_causal=True)", "n(q, q, q[:, :2])",
)  # fmt: skip


@pytest.mark.parametrize("call", ATTENTION)
def test_what_attention_asserts(torch, call):
    def run(t):
        layer = t.nn.MultiheadAttention
        m, n = layer(4, 2, batch_first=True), layer(4, 2, kdim=4, vdim=4, batch_first=True)
        n._qkv_same_embed_dim = True
        names = {**vars(t), "q": t.ones(2, 3, 4), "m": m.train(), "n": n.train()}
        with pytest.raises((AssertionError, RuntimeError)) as raised:
            eval(call, names)
        return raised.type, str(raised.value)

    (ours, said), (theirs, expected) = run(dt), run(torch)
    assert ours is theirs
    assert said.partition(": ")[2] == expected


def test_outputs_of_another_shape_in_gradcheck(torch):
    def run(t):
        def doubled(x):
            return t.cat([x, x]) if bool((x >= 1).all()) else x

        with pytest.raises(AssertionError, match="return outputs with the same shape"):
            t.autograd.gradcheck(doubled, (t.ones(1, dtype=t.float64, requires_grad=True),))

    run(dt)
    run(torch)
