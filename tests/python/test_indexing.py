"""x[...] and x[...] = value against PyTorch."""

import collections
import math
import warnings

import dumbtorch as dt
import numpy as np
import pytest

INDICES = {
    "int": lambda t: 1,
    "negative": lambda t: -1,
    "ints": lambda t: (1, 2),
    "all ints": lambda t: (1, 2, 3),
    "slice": lambda t: slice(1, None),
    "step": lambda t: slice(None, None, 2),
    "beyond": lambda t: slice(-100, 100),
    "empty": lambda t: slice(2, 1),
    "mixed": lambda t: (slice(None), 1, slice(1, 3)),
    "ellipsis": lambda t: (..., 1),
    "only ellipsis": lambda t: ...,
    "ellipsis middle": lambda t: (0, ..., slice(0, 2)),
    "ellipsis of nothing": lambda t: (0, 1, ..., 2),
    "none": lambda t: None,
    "nones": lambda t: (None, 1, None, ..., None),
    "list": lambda t: [0, 1, 0],
    "list in tuple": lambda t: (slice(None), [0, 2]),
    "list of parts": lambda t: [slice(None), [0, 2]],
    "list with none": lambda t: [None, 1],
    "list with an ellipsis": lambda t: [..., [0, 1]],
    "two lists": lambda t: ([0, 1], [1, 2]),
    "apart": lambda t: ([0, 1], slice(None), [1, 2]),
    "list and int": lambda t: (1, [0, 2]),
    "list then slice": lambda t: ([1, 0], slice(0, 2)),
    "tensor": lambda t: t.tensor([1, 0, 1]),
    "tensor 2d": lambda t: t.tensor([[0, 1], [1, 0]]),
    "broadcast": lambda t: (t.tensor([[0], [1]]), t.tensor([0, 2])),
    "negative tensor": lambda t: t.tensor([-1, -2]),
    "0-d tensor": lambda t: t.tensor(1),
    "empty list": lambda t: [],
    "mask": lambda t: t.arange(24).view(2, 3, 4) % 3 == 0,
    "mask rows": lambda t: t.tensor([True, False]),
    "mask 2d": lambda t: t.tensor([[True, False, True], [False, False, True]]),
    "mask then int": lambda t: (t.tensor([[True, False, True], [False, False, True]]), 1),
    "mask then slice": lambda t: (t.tensor([True, False]), slice(1, 3)),
    "mask of a middle": lambda t: (slice(None), t.tensor([True, False, True])),
    "mask and list": lambda t: (t.tensor([True, True]), [0, 2]),
    "bool list": lambda t: [True, False],
    "true": lambda t: True,
    "false": lambda t: False,
    "none and list": lambda t: (None, [0, 1], slice(1, 2)),
    "range": lambda t: range(2),
}


def base(t, dtype="float32"):
    return t.arange(24, dtype=getattr(t, dtype)).view(2, 3, 4)


@pytest.mark.parametrize("name", INDICES)
def test_read(name, both, same):
    same(*both(lambda t: base(t)[INDICES[name](t)]))


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("value", ["number", "tensor", "row"])
def test_write(name, value, both, same):
    def run(t):
        x, index = base(t), INDICES[name](t)
        if value == "number":
            x[index] = -5
        elif value == "tensor":
            x[index] = -base(t)[index]
        else:
            last = base(t)[index].shape[-1:]
            x[index] = t.full(tuple(last), -7.0)
        return x

    same(*both(run))


@pytest.mark.parametrize("name", ["int", "mixed", "list", "mask", "mask rows", "step", "apart"])
def test_gradient(name, both, same):
    def run(t):
        x = base(t).requires_grad_()
        y = x[INDICES[name](t)]
        (y * y).sum().backward()
        return x.grad

    same(*both(run))


def test_gradient_of_writing(both, same):
    def run(t):
        x, v = base(t).requires_grad_(), t.ones(4, requires_grad=True)
        y = x * 2
        y[0, 1] = v * 3
        y[1, [0, 2]] = 0
        (y * y).sum().backward()
        return x.grad, v.grad

    same(*both(run))


def test_slices_are_views():
    x = base(dt)
    x[0][:, 1] = 9
    assert x[0, :, 1].tolist() == [9.0, 9.0, 9.0]
    assert x[...].data_ptr() == x.data_ptr() and x[...] is not x
    assert x[[0]].data_ptr() != x.data_ptr()


def test_values_are_converted(both, same):
    def run(t):
        x = base(t, "int64")
        x[0] = t.tensor(2.9)
        x[1, 0] = t.ones(1, 1, 4)
        x[1, 1] = 3.7
        x[1, 2, :2] = t.tensor([1.5, 2.5])
        return x

    same(*both(run))


def test_leading_ones_of_values(both, same):
    """A value may have more dimensions than its place, whichever kind of index names it."""

    def run(t):
        x = base(t)
        x[x > 20] = -t.arange(3.0).view(1, 3)
        x[:, [1, 0]] = -t.ones(1, 1, 2, 2, 1)
        x[:, 1] = t.zeros(1, 1, 2, 4)
        return x

    same(*both(run))


def test_numpy_indices():
    numpy = pytest.importorskip("numpy")
    x = base(dt)
    assert x[numpy.int64(1)].tolist() == x[1].tolist()
    assert x[:, numpy.array([0, 2])].tolist() == x[:, [0, 2]].tolist()
    assert x[numpy.array([True, False])].tolist() == x[:1].tolist()
    x[0] = numpy.ones((3, 4), dtype=numpy.float32)
    assert x[0].sum().item() == 12


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        ("a", TypeError, "invalid data type 'str'"),
        (1.5, IndexError, "only integers, slices"),
        ([0, 2], IndexError, "out of (bounds|range)"),
    ],
)
def test_refuses(index, error, text):
    with pytest.raises(error, match=text):
        base(dt)[index]
    with pytest.raises(error, match=text):
        base(dt)[index] = 0


def test_refuses_masks_that_do_not_fit():
    for put in (lambda x, m: x[m], lambda x, m: x.__setitem__(m, 0)):
        with pytest.raises(IndexError, match="mask"):
            put(base(dt), dt.tensor([True, False, True]))
    with pytest.raises(IndexError, match="0-dim"):
        dt.tensor(1.0)[0]


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", [1.5, 1j, {}, (0, 1.5), "a", slice(1.0, 2), slice(None, "b")])
def test_objects_that_are_no_index(torch, index):
    with pytest.raises((IndexError, TypeError)) as theirs:
        base(torch)[index]
    with pytest.raises(theirs.type):
        base(dt)[index]


@pytest.mark.parametrize("value", [None, "a", {}])
def test_values_that_are_no_numbers(torch, value):
    for t in (dt, torch):
        with pytest.raises(TypeError):
            base(t)[0] = value


def test_a_truth_value_as_an_index(both, same):
    """False chooses nothing, and PyTorch does not look at what is assigned; True chooses everything."""

    def run(t):
        leaf = t.ones(2, requires_grad=True)
        leaf[False] = t.zeros(7)
        x = t.ones(2)
        before = x._version
        x[False] = leaf
        x[True] = t.tensor([3, 4], dtype=t.uint8)
        return leaf, x, x._version - before, x.requires_grad, x[True], x[False]

    same(*both(run))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize(
    "value", ["[1]", "()", "(1,)", "np.ones(1)", "np.array(3.0)", "np.float32(1)", "{}", "iter('')", "object()",
              "object", "collections.deque()", "np.float64(1)", "2 + 0j", "True"]
)  # fmt: skip
@pytest.mark.parametrize("index", [False, True])
def test_values_where_the_index_is_a_truth_value(index, value, dtype, both):
    def run(t):
        x = t.zeros(2, dtype=getattr(t, dtype))
        try:
            x[index] = eval(value, {"np": np, "collections": collections})
        except TypeError as error:
            return str(error).replace("dumbtorch", "torch")
        return x.tolist()

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("index", [False, True])
def test_complex_numbers_that_do_not_fit(index, refusals):
    mine, theirs = refusals(lambda t: t.zeros(2).__setitem__(index, 2 + 1j), RuntimeError)
    assert mine[0] is theirs[0] and mine[1].endswith("without overflow")
    assert theirs[1].endswith("without overflow")


@pytest.mark.parametrize("name", ["scatter_", "scatter_add_"])
def test_scatter_of_nothing_is_a_write(name, both, same):
    def run(t):
        nothing = t.zeros((0,), dtype=t.int64)
        leaf = t.ones(2, 2, requires_grad=True)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            getattr(leaf, name)(0, nothing, t.zeros(()))
        x, src = t.ones(2, 2), t.tensor(2.0, requires_grad=True)
        before = x._version
        getattr(x, name)(0, nothing, src)
        x.sum().backward()
        return x, x.requires_grad, x._version - before, src.grad

    same(*both(run))


def test_adding_truth_values(both, same):
    def run(t):
        x, source = t.tensor([False, True, False]), t.tensor([True, True])
        return [x.index_add(0, t.tensor([0, 1]), source, alpha=a) for a in (0, 1, 2)]

    same(*both(run))


@pytest.mark.parametrize("wrong", [-1, 5, 2**62, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("place", [0, 255, 256, 700, 999])
@pytest.mark.parametrize("turned", [False, True])
def test_a_wrong_index_anywhere_writes_nothing(turned, place, wrong):
    values = [i % 5 for i in range(1000)]
    values[place] = wrong
    index = dt.tensor(values).view(500, 2)
    index = index.t().contiguous().t() if turned else index
    x, y = dt.ones(500, 2), dt.zeros(500, 5)
    for work in (
        lambda: y.scatter_(1, index, x),
        lambda: y.scatter_reduce_(1, index, x, "amax"),
        lambda: y.gather(1, index),
    ):
        with pytest.raises((IndexError, RuntimeError), match=f"{wrong} is out of bounds"):
            work()
    assert not y.any()


@pytest.mark.parametrize("index", [0, 3, -1, slice(None), (0, 0), [0]])
@pytest.mark.parametrize("write", [False, True])
def test_parts_of_a_number(index, write, refusals):
    def work(t):
        x = t.tensor(1.0)
        return x.__setitem__(index, 2) if write else x[index]

    ours, theirs = refusals(work, IndexError)
    assert ours == theirs


class Row:
    """A sequence that is no list."""

    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]


LISTS = [
    lambda t: [[0, 1], [2, 1]],
    lambda t: [[0, 1]],
    lambda t: [[[0, 1], [2, 2]]],
    lambda t: [[0, 1], [1, 2], [2, 3]],
    lambda t: [(0, 1), (2, 1)],
    lambda t: [t.tensor([0, 1]), t.tensor([2, 1])],
    lambda t: [t.tensor(1), t.tensor(2)],
    lambda t: [np.array([0, 1]), np.array([2, 1])],
    lambda t: [0, [1, 2]],
    lambda t: [0, t.tensor([1, 2])],
    lambda t: [True, [0, 1]],
    lambda t: [[True, False, True]],
    lambda t: [slice(0, 2), slice(1, 3)],
    lambda t: [slice(0, 2), [2, 1]],
    lambda t: [None, 0],
    lambda t: [..., 0],
    lambda t: [range(2), range(2)],
    lambda t: [[0], [1], [2], [3]],
    lambda t: [[0, 1]] * 31,
    lambda t: [[0, 1]] * 32,
    lambda t: [0, 1],
    lambda t: [True, False, True],
    lambda t: np.array([[0, 1], [2, 1]]),
    lambda t: ([[0, 1], [2, 1]],),
    lambda t: (0, [[0, 1], [2, 1]]),
    lambda t: range(2),
    lambda t: Row(0, 1),
    lambda t: Row([0, 1], [2, 1]),
    lambda t: [Row(0, 1), Row(2, 1)],
    lambda t: [],
    lambda t: [[]],
    lambda t: [[], []],
    lambda t: [[[]]],
    lambda t: ([[]], 0),
    lambda t: ([[]], [[]]),
    lambda t: [()],
    lambda t: "ab",
    lambda t: ["a"],
    lambda t: [1.5, [0]],
    lambda t: [{1: 2}],
]


@pytest.mark.parametrize("make", LISTS)
def test_a_list_of_more_than_numbers_is_a_tuple(make, torch):
    assert read_and_written(dt, make) == read_and_written(torch, make)


def read_and_written(t, make):
    x = t.arange(36).reshape(3, 3, 4)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            read = x[make(t)]
            x[make(t)] = -1
        except (IndexError, TypeError, RuntimeError) as error:
            return type(error), str(error).split(": ")[-1].split(" (got")[0], len(given)
    said = [(str(w.message).partition(" (Trig")[0], w.filename) for w in given]
    return read.tolist(), read.shape, x.tolist(), said


WRITES = (
    "x.scatter_(0, index, source)",
    *(f"x.scatter_reduce_(0, index, source, '{how}', include_self={own})"
      for how in ("amax", "amin", "prod", "sum") for own in (True, False)),
    *(f"x.index_reduce_(0, index[:, 0], source, '{how}', include_self={own})"
      for how in ("amax", "amin", "prod") for own in (True, False)),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16"])
@pytest.mark.parametrize("write", WRITES)
def test_what_no_index_reaches_is_not_touched(both, same, write, dtype):
    """PyTorch's numbers in a part of a tensor with gaps, and nothing is copied."""

    def run(t):
        kind = getattr(t, dtype)
        whole = t.arange(-40, 40).reshape(10, 8).to(kind)
        x = whole[:, 1::2]
        source = t.tensor([[3, -50, 7, 1], [2, 60, -7, 4]]).to(kind)
        names = {"x": x, "source": source, "index": t.tensor([[3, 0, 3, 9], [3, 1, 3, 0]])}
        version = x._version
        with dt.profiler.profile() as p:
            eval(write, names)
        written.extend(e.name for e in p.events())
        return whole, x._version - version

    written = []
    same(*both(run))
    is_widened = dtype == "bfloat16" and "reduce" in write
    assert is_widened or "copy" not in written


@pytest.mark.parametrize(
    "text", ["x[:, 1] = t.ones(2)", "x[:] = t.ones(2, 3)", "x[...] = t.ones(4)", "x[1:, 0] = t.ones(3)", "x[0] = 'a'",
             "x[False] = 'a'", "x[False] = None"]
)  # fmt: skip
def test_values_that_do_not_fit(text, refusals):
    mine, theirs = refusals(
        lambda t: exec(text, {"t": t, "x": t.zeros(3, 3)}), RuntimeError, TypeError
    )
    assert (mine[0], mine[1].removeprefix("expand: ")) == theirs


@pytest.mark.parametrize("value", [math.nan, -math.inf, 1e20, 2**40, -(2**31) - 1])
@pytest.mark.parametrize("index", ["False", "True", "t.tensor(False)", "False, 0", "0:0", "[]"])
def test_numbers_that_do_not_fit(index, value, refusals):
    """They are refused also where nothing is written."""

    def write(t):
        exec(f"x[{index}] = value", {"t": t, "x": t.zeros(3, dtype=t.int32), "value": value})

    mine, theirs = refusals(write, RuntimeError)
    assert mine[1].endswith(theirs[1])


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.parametrize("first", [2.0, 0.0])
@pytest.mark.parametrize("values", [(0, 0, 3), (0, 5, 3), (0, 0, 0), (4, 0, 0), (1, 2, 3)])
def test_second_derivatives_of_products_with_zeros(name, first, values):
    """Two zeros of one product have no first derivative but a second one. PyTorch refuses it."""
    index = dt.tensor([0, 0, 1])
    x = dt.tensor([first, 2.0], dtype=dt.float64, requires_grad=True)
    source = dt.tensor(values, dtype=dt.float64, requires_grad=True)

    def run(x, source):
        return getattr(x, name)(0, index, source, "prod")

    assert dt.autograd.gradcheck(run, (x, source))
    assert dt.autograd.gradgradcheck(run, (x, source))
