"""at() and set_at(): Python's brackets as text, for the other languages. PyTorch reads the same text
as Python does."""

import dumbtorch as dt
import pytest
from dumbtorch import _ops

torch = pytest.importorskip("torch")

# What stands for ? in the texts below, in each library's words.
CHOICES = {
    "places": lambda m: m.tensor([1, 0, 1]),
    "table": lambda m: m.tensor([[0, 2], [1, 1]]),
    "two": lambda m: m.tensor([2, 0], dtype=m.int32),
    "place": lambda m: m.tensor(1),
    "mask": lambda m: m.arange(24).reshape(2, 3, 4) > 20,
    "rows": lambda m: m.tensor([False, True]),
    "columns": lambda m: m.tensor([True, False, True]),
    "bytes": lambda m: m.tensor([1, 0, 1], dtype=m.uint8),
    "yes": lambda m: m.tensor(True),
    "no": lambda m: m.tensor(False),
}

INDICES = [
    "1", "-1", "1, 2", "1,-1,3", "", ":", "1:", "::2", "-1:", ":-1", "5:9", " 0 : 2 : 2 ", "...",
    "None", ":, 1:3", ":, :, ::3", "1:, :-1, -3:-1", "0, 2:2", "..., 0", "0, ..., 1",
    "None, 0, None, ...", "1, None, 0:2, None, 1:", ":, None", "-1:, 0:9, -9:2",
    ("?", "places"), ("?, ?", "rows", "two"), ("1:, ?", "table"), ("?, ..., ?", "rows", "two"),
    ("None, ?, 2", "place"), ("?", "mask"), ("1, ?", "columns"), ("?, 0", "rows"),
    (":, ?, 1:3", "columns"), ("?", "place"), ("0, ?", "place"), ("0, ?", "bytes"),
    ("?, :2", "yes"), ("?", "no"), (":, ?, None, ?", "columns", "two"), ("..., ?", "two"),
]  # fmt: skip

WRONG = [
    "2", "0, -4", "0, 0, 0, 0", "9, None", ("?, 0", "mask"), ("?", "columns"),
    ("0, 0, 0, ?", "place"), "None, 0, 5",
]  # fmt: skip


def parts(index):
    text, *names = (index,) if isinstance(index, str) else index
    return text, names


def of_torch(index):
    """PyTorch's index: Python reads the text."""
    text, names = parts(index)
    for name in names:
        text = text.replace("?", f"choices['{name}'](torch)", 1)
    program = f"dict(items=take[{text}])['items']" if text else "()"

    class Take:
        def __getitem__(self, items):
            return items

    return eval(program, {"take": Take(), "choices": CHOICES, "torch": torch})


def tensors(index):
    return [CHOICES[name](dt) for name in parts(index)[1]]


def values(m):
    return m.arange(24, dtype=m.float32).reshape(2, 3, 4)


def same(ours, theirs):
    assert ours.shape == tuple(theirs.shape)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("index", INDICES)
def test_at(index):
    ours, theirs = values(dt), values(torch)
    got, expected = _ops.at(ours, parts(index)[0], tensors(index)), theirs[of_torch(index)]
    same(got, expected)
    # A view where PyTorch's is one, never the tensor itself.
    shares = theirs.untyped_storage().data_ptr() == expected.untyped_storage().data_ptr()
    first = ours.data_ptr()
    assert (first <= got.data_ptr() < first + 24 * 4) == shares or not got.numel()
    assert got is not ours


@pytest.mark.parametrize("index", INDICES)
def test_set_at(index):
    for value in () if "bytes" in index else (-1, 0.5, True):  # PyTorch wants bools here
        ours, theirs = values(dt), values(torch)
        _ops.set_at(ours, parts(index)[0], value, tensors(index))
        theirs[of_torch(index)] = value
        same(ours, theirs)
    ours, theirs = values(dt), values(torch)
    new = theirs[of_torch(index)] * 2 + 1
    _ops.set_at(ours, parts(index)[0], dt.tensor(new.tolist()).reshape(new.shape), tensors(index))
    theirs[of_torch(index)] = new
    same(ours, theirs)


@pytest.mark.parametrize("index", WRONG)
def test_errors_are_pytorchs(index):
    with pytest.raises(IndexError) as expected:
        values(torch)[of_torch(index)]
    with pytest.raises(IndexError) as got:
        _ops.at(values(dt), parts(index)[0], tensors(index))
    assert str(expected.value).splitlines()[0] in str(got.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("::-1", "step must be greater than zero"),
        ("0:2:0", "step must be greater than zero"),
        ("1:2:3:4", "'1:2:3:4' is no index"),
        ("a:", "'a:' is no index"),
        ("1 2:", "'1 2:' is no index"),
        (":::", "':::' is no index"),
        ("1,", "'' is no index"),
        (",", "'' is no index"),
        ("0.5", "'0.5' is no index"),
        ("99999999999999999999", "is no index"),
        ("?", "asks for more tensors than the 0 given"),
        ("none", "expected a number, start:stop:step, ..., None, or ? for a tensor"),
    ],
)
def test_text_that_is_no_index(text, message):
    with pytest.raises(ValueError) as caught:
        _ops.at(values(dt), text)
    assert message in str(caught.value)


def test_one_ellipsis():
    with pytest.raises(IndexError, match="can only have a single ellipsis"):
        _ops.at(values(dt), "..., 0, ...")


def test_every_tensor_is_used():
    with pytest.raises(ValueError, match="asks for 1 of the 2 tensors"):
        _ops.at(values(dt), "?", [dt.tensor(0), dt.tensor(1)])


def test_gradients_and_what_may_not_be_written():
    x = values(dt).requires_grad_()
    (_ops.at(x, "1, ?, ::2", [dt.tensor([0, 0])]) * 3).sum().backward()
    theirs = values(torch).requires_grad_()
    (theirs[1, torch.tensor([0, 0]), ::2] * 3).sum().backward()
    same(x.grad, theirs.grad)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        _ops.set_at(x, "0", 1)
    y = x * 1
    _ops.set_at(y, "0, 1", _ops.at(y, "1, 2"))
    y.sum().backward()
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        _ops.at(dt.tensor(1), "0")


def test_values_that_broadcast():
    ours, theirs = values(dt), values(torch)
    _ops.set_at(ours, "0", dt.ones(1, 1, 4))  # ones in front may be too many
    theirs[0] = torch.ones(1, 1, 4)
    _ops.set_at(ours, "1, :, 1:3", dt.tensor([-1.0, -2.0]))
    theirs[1, :, 1:3] = torch.tensor([-1.0, -2.0])
    same(ours, theirs)
    with pytest.raises(RuntimeError, match=r"must match the size of tensor b \(3\)"):
        _ops.set_at(ours, "0, 0", dt.ones(3))
