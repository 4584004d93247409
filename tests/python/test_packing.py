"""Sequences of several lengths, padded and packed, against PyTorch's: what the rows of ops do not say."""

import itertools
import math

import dumbtorch as dt
import pytest

LENGTHS = [2, 5, 1, 5]


def sequences(t):
    return [t.arange(float(n * 3)).view(n, 3).sin() + n for n in LENGTHS]


def packed_fields(packed):
    return [x for x in packed if x is not None]


def sentence(call) -> tuple[type, str]:
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value), str(caught.value)


def test_packing(both, same):
    def run(t):
        rnn, padded = t.nn.utils.rnn, t.arange(60.0).view(5, 4, 3)
        found = []
        for packed in (
            rnn.pack_padded_sequence(padded, [5, 5, 2, 1]),
            rnn.pack_padded_sequence(padded, t.tensor(LENGTHS), enforce_sorted=False),
            rnn.pack_padded_sequence(padded.transpose(0, 1), [4, 4, 2, 1], batch_first=True),
            rnn.pack_padded_sequence(padded[:, :, 0], [4, 3, 2, 1]),
            rnn.pack_sequence(sequences(t), enforce_sorted=False),
        ):
            found += packed_fields(packed)
            for options in ({}, {"batch_first": True, "padding_value": -1.0}, {"total_length": 7}):
                found += rnn.pad_packed_sequence(packed, **options)
        found += rnn.unpack_sequence(rnn.pack_sequence(sequences(t), enforce_sorted=False))
        for first, side in itertools.product((False, True), ("left", "right")):
            found.append(rnn.pad_sequence(sequences(t), first, 0.5, side))
        lengths = t.tensor(LENGTHS)
        found += rnn.unpad_sequence(rnn.pad_sequence(sequences(t)), lengths)
        return found

    same(*both(run))


def test_unpadded_sequences_have_memory_of_their_own(both, same):
    def run(t):
        padded = t.arange(24.0).view(3, 4, 2)
        parts = t.nn.utils.rnn.unpad_sequence(padded, t.tensor([3, 1, 2, 3]))
        for part in parts:
            part.add_(100)
        return padded.sum(), [x.stride() for x in parts]  # PyTorch turns `padded` itself

    same(*both(run))


def test_kinds_of_results(both):
    def run(t):
        rnn = t.nn.utils.rnn
        packed = rnn.pack_sequence([t.ones(2), t.ones(1)])
        padded = rnn.pad_packed_sequence(packed)
        lists = rnn.unpack_sequence(packed), rnn.unpad_sequence(t.ones(2, 3), t.tensor([1, 1, 2]))
        return [type(x).__name__ for x in (packed, padded, *lists)]

    ours, theirs = both(run)
    assert ours == theirs


def test_gradients_of_packing(both, same):
    def run(t):
        x = t.arange(60.0).view(5, 4, 3).requires_grad_()
        rnn = t.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False)
        y, _ = rnn.pad_packed_sequence(packed, total_length=6)
        (y * y.detach() + packed.data.sum()).sum().backward()
        return x.grad

    same(*both(run))


@pytest.mark.parametrize("lengths", [[4, 2], [2, 4]])
def test_lengths_beyond_the_input(lengths):
    with pytest.raises(RuntimeError, match="at most the 3 time steps of the input.* that is 4"):
        dt.nn.utils.rnn.pack_padded_sequence(dt.ones(3, 2, 1), lengths, enforce_sorted=False)


def test_fewer_lengths_than_sequences(torch):
    """PyTorch packs some of the batch, but only where it sorts them."""
    for sorts in (False, True):
        with pytest.raises(RuntimeError, match=r"but got 1 \(batch_size=2\)"):
            dt.nn.utils.rnn.pack_padded_sequence(dt.ones(3, 2), [3], enforce_sorted=not sorts)


def packed_parts(rnn, t):
    """What is given by somebody who lies, where PyTorch says so."""
    x, ones = t.arange(24.0).view(4, 3, 2), t.ones
    for lengths in ([4, 0, 1], [4, 2, -1], [4, 2], [4, 2, 1, 1], [1, 4, 2], [], [[4, 2, 1]], 4):
        yield lambda n=lengths: rnn.pack_padded_sequence(x, t.tensor(n, dtype=t.int64))
    for empty in (ones(0, 3), ones(4, 0), ones(4, 2, 0)):
        yield lambda x=empty: rnn.pack_padded_sequence(x, [1] * x.shape[1])
    yield lambda: rnn.pack_padded_sequence(ones(4), [4])
    yield lambda: rnn.pack_padded_sequence(ones(4), [4], True)
    yield lambda: rnn.pad_sequence([ones(2, 1), ones(3, 3)])
    yield lambda: rnn.pad_sequence([ones(2, 2), ones(3, 3)])
    yield lambda: rnn.pad_sequence([ones(2), ones(3, 3)])
    yield lambda: rnn.pad_sequence([ones(2), ones(())])
    yield lambda: rnn.pad_sequence([ones(2).long(), ones(3).long()], padding_value=math.inf)
    yield lambda: rnn.pack_sequence([])
    yield lambda: rnn.pack_sequence([ones(2), ones(0)])
    yield lambda: rnn.pack_sequence([ones(1), ones(2)])
    yield lambda: rnn.pack_sequence([ones(2, 0)])
    yield lambda: rnn.pack_sequence([ones(3, 3), ones(2, 2)])
    yield lambda: rnn.unpad_sequence(ones(4), t.tensor([1]))
    for total in (1, -3, 0):
        yield lambda n=total: rnn.pad_packed_sequence(rnn.pack_sequence([ones(2)]), total_length=n)
    sizes = t.tensor([2, 1], dtype=t.int32)
    yield lambda: rnn.pad_packed_sequence(rnn.PackedSequence(ones(3, 2), sizes))
    for order in ([[0, 1]], [0.0, 1.0]):
        packed = rnn.PackedSequence(ones(3, 2), t.tensor([2, 1]), None, t.tensor(order))
        yield lambda p=packed: rnn.unpack_sequence(p)


def test_packing_refuses_what_pytorch_does(torch):
    both = (packed_parts(t.nn.utils.rnn, t) for t in (dt, torch))
    for ours, theirs in zip(*both, strict=True):
        (error, text), (wanted, words) = sentence(ours), sentence(theirs)
        assert error is wanted and words in text


@pytest.mark.parametrize(
    "rows, sizes, order",
    [(5, [2, 2], None), (3, [2, 2], None), (3, [1, 2], None), (3, [2, -1, 2], None), (3, [2**62, 3], None),
     (3, [], None), (3, [[2, 1]], None), (3, [2, 1], [0, 2]), (3, [2, 1], [-1, 0])],
)  # fmt: skip
@pytest.mark.parametrize("function", ["pad_packed_sequence", "unpack_sequence"])
def test_packed_sequences_that_lie(function, rows, sizes, order):
    """Some of them end the process in PyTorch."""
    order = None if order is None else dt.tensor(order)
    sizes = dt.tensor(sizes, dtype=dt.int64)
    packed = dt.nn.utils.rnn.PackedSequence(dt.ones(rows, 2), sizes, None, order)
    with pytest.raises((RuntimeError, IndexError), match="batch_sizes|lengths|out of"):
        getattr(dt.nn.utils.rnn, function)(packed)


def test_total_length_that_no_memory_holds():
    packed = dt.nn.utils.rnn.pack_sequence([dt.ones(2), dt.ones(2)])
    for total in (2**62, 2**63 - 1):
        with pytest.raises(RuntimeError):
            dt.nn.utils.rnn.pad_packed_sequence(packed, total_length=total)


def test_lengths_of_any_dtype(both, same):
    """As PyTorch, which compares them with the time steps."""

    def run(t):
        rnn, x = t.nn.utils.rnn, t.arange(24.0).view(3, 4, 2)
        found = []
        for lengths in (
            t.tensor([2.5, 9, -1]),
            t.tensor([True, False, True]),
            t.tensor([1, 4, 0], dtype=t.uint8),
        ):
            found += rnn.unpad_sequence(x, lengths, batch_first=True)
        for lengths in (
            [4.7, 2.2, 1.9],
            t.tensor([4.7, 2.2, 1.9]),
            t.tensor([3, 2, 2], dtype=t.int16),
        ):
            found += packed_fields(rnn.pack_padded_sequence(x, lengths, batch_first=True))
        return found

    same(*both(run))  # fmt: skip


def test_sequences_that_are_not_alike(both, same):
    """The first has the dtype and the sizes."""

    def run(t):
        rnn = t.nn.utils.rnn
        whole, real = t.arange(1, 4), t.arange(4.0) + 0.5
        found = [
            rnn.pad_sequence([whole, real], padding_value=2.7),
            rnn.pad_sequence([real, whole]),
        ]
        wide, narrow = t.arange(6.0).view(2, 3).requires_grad_(), t.ones(4, 1, requires_grad=True)
        padded = rnn.pad_sequence([wide, narrow], True)
        packed = rnn.pack_sequence([wide, narrow[:1], narrow[0]])
        (padded.square().sum() + packed.data.square().sum()).backward()
        found += [padded, *packed_fields(packed), wide.grad, narrow.grad]
        found += [rnn.pad_sequence([t.ones(0), t.ones(0)]), rnn.pad_sequence(t.ones(2, 3))]
        return found, [x.stride() for x in found]

    same(*both(run))
