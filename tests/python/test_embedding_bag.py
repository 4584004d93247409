"""functional.embedding_bag and nn.EmbeddingBag: arguments and refusals, against PyTorch."""

import random

import dumbtorch
import pytest

torch = pytest.importorskip("torch")


def table(t, rows=5, size=3):
    x = t.arange(float(rows * size)).reshape(rows, size)
    return (x * 7 % 11 - 5).requires_grad_()


def test_many_bags():
    draw = random.Random(3)
    for _ in range(60):
        entries, rows = draw.randint(0, 400), draw.randint(1, 50)
        bags = sorted([0, *(draw.randint(0, entries) for _ in range(draw.randint(0, 40)))])
        ids = [draw.randrange(rows) for _ in range(entries)]
        mode = draw.choice(("sum", "mean", "max"))
        how = {"mode": mode, "include_last_offset": draw.random() < 0.3}
        if how["include_last_offset"]:
            bags.append(
                entries
            )  # what lies behind is in no bag, or, of PyTorch's maxima, in the last
        how["padding_idx"] = draw.choice((None, 0, -1))
        how["max_norm"] = draw.choice((None, 3.0))
        found = []
        for t in (torch, dumbtorch):
            w = table(t, rows, draw.choice((1, 16)) if t is torch else found[0][1].shape[1])
            f = None
            if mode == "sum" and how["padding_idx"] is None:
                f = (t.arange(float(entries)) % 5).requires_grad_()
            given = t.tensor(ids, dtype=t.int64), w, t.tensor(bags)
            y = t.nn.functional.embedding_bag(*given, per_sample_weights=f, **how)
            (y * (t.arange(float(y.numel())).reshape(y.shape) % 7)).sum().backward()
            results = [y.detach(), w.grad] + ([] if f is None else [f.grad])
            found.append([torch.tensor(v.tolist()).reshape(tuple(v.shape)) for v in results])
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(b, a, msg=f"{how}")


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("ends", [[0, 2, 3], [0, 2], [0, 0, 3], [0]])
@pytest.mark.parametrize("create_graph", [False, True])
def test_entries_behind_the_last_offset_are_in_no_bag(mode, ends, create_graph):
    """PyTorch has them in the last one, but for sums, and their gradient is memory that nobody wrote."""
    w = table(torch, 4, 3)
    reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[mode]
    bags = [w[a:b] for a, b in zip(ends, ends[1:])]
    wanted = [reduce(x, 0) if len(x) else torch.zeros(3) for x in bags]
    (sum(wanted, torch.zeros(3)) + w.sum() * 0).sum().backward()
    ours = table(dumbtorch, 4, 3)
    ids, offsets = dumbtorch.arange(4), dumbtorch.tensor(ends)
    y = dumbtorch.nn.functional.embedding_bag(
        ids, ours, offsets, mode=mode, include_last_offset=True
    )
    y.sum().backward(create_graph=create_graph)
    assert y.tolist() == [x.tolist() for x in wanted]
    assert ours.grad.tolist() == w.grad.tolist()


def test_frequencies():
    """PyTorch divides by the frequency of another row; its embedding does not."""
    ids = [0, 1, 1, 4, 1, 0]
    w = table(torch)
    torch.nn.functional.embedding(torch.tensor(ids), w, scale_grad_by_freq=True).sum().backward()
    ours = table(dumbtorch)
    given = dumbtorch.tensor(ids), ours, dumbtorch.tensor([0, 2])
    y = dumbtorch.nn.functional.embedding_bag(*given, mode="sum", scale_grad_by_freq=True)
    y.sum().backward()
    assert ours.grad.tolist() == w.grad.tolist()


def test_max_norm_writes_the_table():
    tables = []
    for t in (torch, dumbtorch):
        w = table(t)
        t.nn.functional.embedding_bag(
            t.tensor([0, 4, 4]), w, t.tensor([0, 1]), max_norm=2.0, norm_type=1.0
        )
        tables.append(torch.tensor(w.tolist()))
    torch.testing.assert_close(*tables)


@pytest.mark.parametrize(
    "make",
    [
        lambda t, f: f(t.tensor([0, 1]), table(t), t.tensor([1, 2])),
        lambda t, f: f(t.tensor([0, 1]), table(t), t.tensor([0, 3])),
        lambda t, f: f(t.tensor([0, 1]), table(t)),
        lambda t, f: f(t.tensor([0, 1]), table(t), t.tensor([[0]])),
        lambda t, f: f(t.tensor([[[0, 1]]]), table(t)),
        lambda t, f: f(t.tensor([0.0, 1.0]), table(t), t.tensor([0])),
        lambda t, f: f(t.tensor([0, 1]), table(t)[0], t.tensor([0])),
        lambda t, f: f(t.tensor([0, 1]), table(t).long(), t.tensor([0])),
        lambda t, f: f(t.tensor([0, 1]), table(t), t.tensor([0]), mode="foo"),
        lambda t, f: f(t.tensor([0, 1]), table(t), t.tensor([0]), padding_idx=5),
        lambda t, f: f(t.tensor([0]), table(t), t.tensor([0]), per_sample_weights=t.ones(1)),
        lambda t, f: f(t.tensor([0]), table(t), t.tensor([0]), mode="max", scale_grad_by_freq=True),
        lambda t, f: f(
            t.tensor([0]), table(t), t.zeros(0, dtype=t.int64), include_last_offset=True
        ),
    ],
)
def test_refusals(make, refusals):
    errors = ValueError, RuntimeError, NotImplementedError
    said = refusals(lambda t: make(t, t.nn.functional.embedding_bag), *errors)
    ours, theirs = ((kind, text.removeprefix("embedding_bag: ")) for kind, text in said)
    assert ours == theirs


@pytest.mark.parametrize("index", [-1, 5])
def test_rows_out_of_range(index):
    """PyTorch's sentence in every mode; where its fast kernels have another one, it is of this kind too."""

    def look(t, mode):
        rows, w = t.tensor([[1, index]]), t.zeros(5, 3)
        with pytest.raises(Exception) as raised:
            t.nn.functional.embedding_bag(rows, w, mode=mode)
        return raised.type, str(raised.value)

    said = look(torch, "max")
    for mode in ("sum", "mean", "max"):
        assert look(torch, mode)[0] is RuntimeError
        assert look(dumbtorch, mode) == said


def test_what_is_missing_is_refused():
    F = dumbtorch.nn.functional  # noqa: N806
    ids, w = dumbtorch.tensor([0, 1]), table(dumbtorch)
    with pytest.raises(NotImplementedError, match="there are no sparse gradients"):
        F.embedding_bag(ids, w, dumbtorch.tensor([0]), sparse=True)
    with pytest.raises(RuntimeError, match="offsets must not decrease"):
        F.embedding_bag(ids, w, dumbtorch.tensor([0, 2, 1]))


def test_layers_take_offsets_and_weights():
    rows = []
    for t in (torch, dumbtorch):
        bag = t.nn.EmbeddingBag.from_pretrained(table(t).detach(), mode="sum", freeze=False)
        assert bag.weight.requires_grad
        ids, offsets = t.tensor([1, 2, 4]), t.tensor([0, 2])
        rows.append(bag(ids, offsets, per_sample_weights=t.tensor([1.0, 2.0, 3.0])).tolist())
    assert rows[0] == rows[1]


def test_unpooling_takes_a_size():
    found = []
    for t in (torch, dumbtorch):
        x = t.arange(20.0).reshape(1, 1, 4, 5)
        y, places = t.nn.MaxPool2d(2, return_indices=True)(x)
        layer = t.nn.MaxUnpool2d(2)
        sized = layer(y, places, output_size=x.size())
        found.append((sized.tolist(), repr(layer)))
    assert found[0] == found[1]
