"""How results lie in memory: as PyTorch's do."""

import copy

import pytest

SHAPES = [
    ((2, 2, 1), (1, 2, 0)),
    ((1, 2, 2), (2, 0, 1)),
    ((2, 1, 3, 1), (3, 2, 0, 1)),
    ((2, 3, 4), (2, 0, 1)),
    ((3, 1, 1), (1, 0, 2)),
]

ELEMENTWISE = {
    "tanh": lambda t, x: x.tanh(),
    "number": lambda t, x: 2 - x,
    "eq": lambda t, x: x == 0,
    "pow": lambda t, x: x**2.5,
    "self": lambda t, x: x * x,
    "column": lambda t, x: x + t.ones(x.shape[-1]),
    "rows": lambda t, x: t.ones(x.shape[0], *[1] * (x.ndim - 1)) * x,
    "where": lambda t, x: t.where(x > 1, x, t.ones(1)),
    "to": lambda t, x: x.to(t.int32),
    "clone": lambda t, x: x.clone(),
    "ones_like": lambda t, x: t.ones_like(x),
}

IRREGULAR = {
    "index_add": lambda t, x: x.index_add(0, t.tensor([0]), x[:1]),
    "scatter": lambda t, x: x.scatter(0, t.zeros(1, *[1] * (x.ndim - 1), dtype=t.int64), 1.0),
    "scatter_add": lambda t, x: x.scatter_add(0, t.zeros(x.shape, dtype=t.int64), x),
    "masked_fill": lambda t, x: x.masked_fill(x > 1, 0),
    "masked_fill of fewer dimensions": lambda t, x: x[0].masked_fill(x > 1, 0),
    "powers": lambda t, x: 2**x,
    "flip": lambda t, x: x.flip(0),
    "bernoulli": lambda t, x: t.bernoulli((x > 1).float()),
    "deepcopy": lambda t, x: copy.deepcopy(x),
}


def walk(x):
    """Strides of the dimensions in which one can step."""
    return [s for s, n in zip(x.stride(), x.shape) if n > 1]


@pytest.mark.parametrize("name", [*ELEMENTWISE, *IRREGULAR])
@pytest.mark.parametrize("sizes, order", SHAPES)
def test_the_order_of_the_input(name, sizes, order, both, same):
    def run(t):
        x = t.arange(24.0)[: t.zeros(sizes).numel()].reshape(sizes).permute(order)
        y = (ELEMENTWISE | IRREGULAR)[name](t, x)
        return y, walk(y)

    same(*both(run))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_order_behind_a_broadcast_dimension(name, both, same):
    def run(t):
        x = t.arange(4.0).reshape(2, 1, 2).permute(2, 1, 0).expand(2, 3, 2)
        y = ELEMENTWISE[name](t, x)
        return y, walk(y)

    same(*both(run))


MIXED = {
    "one operand": lambda t, x, y: t.sin(x),
    "one operand twice": lambda t, x, y: t.atan2(x, x),
    "sum": lambda t, x, y: x + y,
    "product": lambda t, x, y: y * x,
    "three": lambda t, x, y: t.addcmul(x, x, y),
    "where": lambda t, x, y: t.where(y > 1, x, y),
    "comparison": lambda t, x, y: x == y,
    "logic": lambda t, x, y: t.logical_and(x, y),
    "clamp": lambda t, x, y: x.clamp(0, 1),
    "clamp_min": lambda t, x, y: x.clamp(min=0),
    "lerp": lambda t, x, y: y.lerp(y, 0.5),
    "hardtanh": lambda t, x, y: t.nn.functional.hardtanh(x.to(y.dtype)),
    "relu6": lambda t, x, y: t.nn.functional.relu6(x.to(y.dtype)),
    "prelu": lambda t, x, y: t.nn.functional.prelu(x.to(y.dtype), t.ones(1, dtype=y.dtype)),
    "nan_to_num": lambda t, x, y: x.to(y.dtype).nan_to_num(),
}


# Also in dimensions of size 1, of memory with gaps and of what is expanded, beside another dtype.
@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize(
    "dtype, other", [("float32", "float32"), ("int64", "float32"), ("bool", "float64")]
)
def test_the_strides_of_elementwise_results(name, dtype, other, both):
    def run(t):
        x = t.ones(200, dtype=getattr(t, dtype))
        shapes = [
            ((1, 1), (2, 2)), ((2, 1), (1, 7)), ((2, 1), (3, 7)), ((3, 1, 2), (1, 9, 3)),
            ((1, 3, 2), (0, 1, 3)), ((2, 3, 3), (9, 1, 0)), ((2, 1, 3, 3), (0, 7, 3, 9)),
            ((1, 2, 1, 1), (6, 9, 2, 6)),
        ]  # fmt: skip
        found = {}
        for sizes, strides in shapes:
            y = t.ones(sizes[::-1], dtype=getattr(t, other)).permute(*range(len(sizes) - 1, -1, -1))
            found[sizes] = MIXED[name](t, x.as_strided(sizes, strides), y).stride()
        return found

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("index", [(slice(None, None, 2),), (slice(None), slice(1, 3)), (0,)])
def test_a_deep_copy_has_the_strides_of_a_view(index, both, same):
    def run(t):
        x = t.arange(12.0).reshape(3, 4)[index].requires_grad_()
        expanded = t.ones(2, 1).expand(2, 3)
        y, z = copy.deepcopy(x), copy.deepcopy(expanded)
        y.data.add_(1)
        return x, y, y.stride(), y.requires_grad, z, z.stride()

    same(*both(run))


def test_contiguous_of_what_is(both, same):
    def run(t):
        x = t.arange(6.0).reshape(2, 3)
        same_memory = x.contiguous(memory_format=t.preserve_format).data_ptr() == x.data_ptr()
        with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
            x.t().contiguous(memory_format=t.preserve_format)
        for call in (x.is_contiguous, x.contiguous):
            with pytest.raises(TypeError):
                call(t.contiguous_format)
        return same_memory, x.t().contiguous()

    same(*both(run))


@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: x.t(), lambda x: x.t()[:1], lambda x: x[:, :1]]
)
def test_retained_gradients_are_row_major(make, both, same):
    def run(t):
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        y = make(x * 1)
        y.retain_grad()
        (y.exp() + y.t().exp().t()).sum().backward()
        return y.grad, y.grad.stride()

    same(*both(run))


@pytest.mark.parametrize("format", ["contiguous_format", "channels_last", "preserve_format"])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x[..., ::2],
        lambda x: x.permute(0, 3, 1, 2),
        lambda x: x[0],
        lambda x: x[:, :1],
    ],
)
def test_what_to_takes_for_the_right_memory_format(view, format, both, same):
    """Strides that are those of no format count as row-major, and to() gives the tensor itself."""

    def run(t):
        x = view(t.arange(48.0).reshape(2, 2, 3, 4))
        if format == "channels_last" and x.ndim != 4:
            return None
        y = x.to(memory_format=getattr(t, format))
        return y, walk(y), y.data_ptr() == x.data_ptr()

    same(*both(run))


@pytest.mark.parametrize("p", [0.3, 1.0])
@pytest.mark.parametrize("way", ["functional", "module", "in place"])
@pytest.mark.parametrize("order", ["channels last", "turned", "every second"])
def test_dropout_keeps_the_order_in_memory(p, way, order, both):
    def run(t):
        x = t.ones(2, 6, 4, 5)
        x = {
            "channels last": x.contiguous(memory_format=t.channels_last), "turned": x.transpose(0, 3),
            "every second": x[:, ::2],
        }[order].requires_grad_(way != "in place")  # fmt: skip
        if way == "functional":
            y = t.nn.functional.dropout(x, p)
        elif way == "module":
            y = t.nn.Dropout(p)(x)
        else:
            y = t.nn.functional.dropout(x, p, inplace=True)
        if y.requires_grad:
            y.sum().backward()
            assert y.tolist() == x.grad.tolist()  # the same elements are dropped
        return y.shape, y.stride(), sorted(set(y.flatten().tolist()))

    mine, theirs = both(run)
    assert mine == theirs
