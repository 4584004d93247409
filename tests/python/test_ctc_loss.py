"""functional.ctc_loss and nn.CTCLoss: lengths, refusals, infinite losses, against PyTorch and against all paths."""

import itertools
import math

import dumbtorch
import pytest

torch = pytest.importorskip("torch")


def steps(t, sizes=(5, 2, 4)):
    count = math.prod(sizes)
    x = t.tensor([math.sin(12.9898 * i) for i in range(count)], dtype=t.float64).reshape(sizes)
    return t.nn.functional.log_softmax(x, -1)


def collapsed(path, blank):
    """What is left of a path without repetitions and blanks."""
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


@pytest.mark.parametrize("target", [(), (1,), (1, 1), (2, 1), (3, 0, 3)])
def test_all_paths(target):
    blank = 2 if 2 not in target else 1 if 1 not in target else 0
    x = steps(dumbtorch, (5, 1, 4))
    p = torch.from_numpy(x.numpy()).exp()[:, 0].tolist()
    total = sum(
        math.prod(p[t][label] for t, label in enumerate(path))
        for path in itertools.product(range(4), repeat=5)
        if collapsed(path, blank) == target
    )
    classes = dumbtorch.tensor([target], dtype=dumbtorch.int64).reshape(1, len(target))
    loss = dumbtorch.nn.functional.ctc_loss(
        x, classes, [5], [len(target)], blank=blank, reduction="sum"
    )
    assert loss.item() == pytest.approx(-math.log(total), rel=1e-12)


@pytest.mark.parametrize("zero_infinity", (False, True))
@pytest.mark.parametrize("reduction", ("none", "mean", "sum"))
def test_targets_that_do_not_fit(zero_infinity, reduction):
    found = []
    for t in (torch, dumbtorch):
        x = steps(t, (3, 3, 4)).requires_grad_()
        y = t.tensor([[1, 1, 2], [1, 2, 3], [3, 3, 3]])
        how = {"reduction": reduction, "zero_infinity": zero_infinity}
        loss = t.nn.functional.ctc_loss(
            x, y, t.tensor([3, 2, 0]), t.tensor([3, 2, 0], dtype=t.int32), **how
        )
        loss.sum().backward()
        found.append([torch.tensor(v.tolist()) for v in (loss.detach(), x.grad)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True)


def test_lengths_of_any_kind():
    for y, lengths in (([[1, 2, 3], [3, 1, 0]], (3, 2)), ([1, 2, 3, 3, 1], [3, 2])):
        values = []
        for t in (torch, dumbtorch):
            for make in (list, tuple, t.tensor):
                loss = t.nn.functional.ctc_loss(steps(t), t.tensor(y), make([5, 4]), make(lengths))
                values.append(loss.item())
        assert values == pytest.approx([values[0]] * 6)
    values = []
    for t in (torch, dumbtorch):
        given = steps(t)[:, 0], t.tensor([1, 2]), t.tensor(5), t.tensor(2)
        loss = t.nn.functional.ctc_loss(*given, reduction="none")
        assert loss.shape == ()
        values.append(loss.item())
    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize(
    "y, lengths, of_targets, how",
    [
        ([[1, 2, 3], [1, 2, 3]], [6, 5], [3, 2], {}),
        ([[1, 2, 3], [1, 2, 3]], [-1, 5], [3, 2], {}),
        ([[1, 2, 3], [1, 2, 3]], [5, 5], [4, 2], {}),
        ([[1, 2, 3], [1, 2, 3]], [5, 5], [-1, 2], {}),
        ([[1, 2, 3], [1, 2, 3]], [5], [3, 2], {}),
        ([[1, 2, 3], [1, 2, 3]], [5, 5], [3], {}),
        ([[1, 2, 3], [1, 2, 3]], [5, 5], [3, 2], {"blank": 4}),
        ([[1, 2, 3], [1, 2, 3]], [5, 5], [3, 2], {"blank": -1}),
        ([[1, 2, 3]], [5, 5], [3, 2], {}),
        ([1, 2, 3, 1], [5, 5], [3, 2], {}),
        ([1, 2, 3, 1, 2, 3], [5, 5], [3, 2], {}),
        ([[[1, 2, 3]]], [5, 5], [3, 2], {}),
        ([[1, 2, 3], [1, 2, 3]], [5.0, 5.0], [3, 2], {}),
    ],
)
def test_refusals(y, lengths, of_targets, how, refusals):
    def loss(t):
        sizes = t.tensor(lengths), t.tensor(of_targets)
        t.nn.functional.ctc_loss(steps(t), t.tensor(y), *sizes, **how)

    (_, ours), (_, theirs) = refusals(loss, RuntimeError)
    assert ours == f"ctc_loss: {theirs}"


def test_classes_out_of_range_and_dtypes():
    F = dumbtorch.nn.functional  # noqa: N806
    x = steps(dumbtorch)
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        F.ctc_loss(x, dumbtorch.tensor([[1, 4], [1, 2]]), [5, 5], [2, 2])
    # What lies behind a target's end is not looked at.
    F.ctc_loss(x, dumbtorch.tensor([[1, 99], [1, 2]]), [5, 5], [1, 2])
    with pytest.raises(NotImplementedError, match="ctc_loss_cpu.*'Long'"):
        F.ctc_loss(x.long(), dumbtorch.tensor([[1, 2], [1, 2]]), [5, 5], [2, 2])
    with pytest.raises(RuntimeError, match="log_probs tensor must not be empty"):
        F.ctc_loss(x[:0], dumbtorch.tensor([[1, 2], [1, 2]]), [0, 0], [2, 2])


def test_the_gradient_is_the_end():
    for t in (torch, dumbtorch):
        x = steps(t).requires_grad_()
        loss = t.nn.functional.ctc_loss(x, t.tensor([[1, 2], [3, 1]]), [5, 5], [2, 2])
        (g,) = t.autograd.grad(loss, x, create_graph=True)
        with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward"):
            t.autograd.grad(g.sum(), x)
