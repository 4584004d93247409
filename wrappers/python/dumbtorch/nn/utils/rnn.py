"""Sequences of several lengths: padded to one length, or packed, where nothing is padding."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from functools import reduce

from ... import _ops, _types
from ..._tensor_type import TensorBase
from ..._type_info import promote_types

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]

_Fields = namedtuple("_Fields", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])
_Fields.__name__ = "PackedSequence"


class PackedSequence(_Fields):
    """The elements of all sequences, from the longest to the shortest: those of the first time step,
    then those of the second, and so on. pack_padded_sequence and pack_sequence make it.

    Attributes:
        data: The elements, [sum of lengths, ...].
        batch_sizes: How many sequences have an element at each time step: int64 on the CPU.
        sorted_indices: Where in the batch the longest sequence was, and so on; None if they were sorted.
        unsorted_indices: The inverse of that.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **options):
        """With data as data.to(*args, **options); the order goes to the same device."""
        data = self.data.to(*args, **options)
        same = data.dtype is self.data.dtype and data.data_ptr() == self.data.data_ptr()
        if same and data.numel() > 0:
            return self
        order = None if self.sorted_indices is None else self.sorted_indices.to(data.device)
        return PackedSequence(data, self.batch_sizes, order)

    def cuda(self, *args, **options):
        """On a GPU, as Tensor.cuda."""
        return self.to(self.data.cuda(*args, **options).device)

    def cpu(self):
        """On the CPU."""
        return self.to("cpu")

    def pin_memory(self):
        """With data in memory that a GPU can read."""
        return self._replace(data=self.data.pin_memory())

    def is_pinned(self):
        """Whether data is in memory that a GPU can read."""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Whether data is on a GPU."""
        return self.data.is_cuda


def _converting(name: str):
    def convert(self):
        return self.to(getattr(_types, name))

    convert.__doc__ = f"With data of dtype {name}."
    return convert


for _method, _dtype in {
    "double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16", "char": "int8", "byte": "uint8",
}.items():  # fmt: skip
    setattr(PackedSequence, _method, _converting(_dtype))


def invert_permutation(permutation):
    """Where each index stands in a permutation; None stays None."""
    return None if permutation is None else permutation.argsort()


def _is_running(lengths, steps: int):
    """[steps, batch]: whether a sequence has an element at a time step."""
    return _ops.arange(0, steps).unsqueeze(1) < lengths


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs [time, batch, ...], or [batch, time, ...] with batch_first.

    Args:
        input: The padded sequences.
        lengths: How long each is.
        batch_first: Whether dimension 0 is the batch.
        enforce_sorted: Refuse sequences that are not sorted from the longest to the shortest.
    """
    lengths = _lengths_of(lengths)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    x = input.transpose(0, 1) if batch_first else input
    _refuse_lengths(lengths.tolist(), x)
    running = _is_running(lengths, int(lengths[0]))
    data = x[: len(running)][running.to(x.device)]
    return PackedSequence(data, running.sum(1), order)


def _lengths_of(lengths):
    if not isinstance(lengths, TensorBase):
        return _ops.from_ints(list(lengths), (len(lengths),))
    if lengths.dim() != 1 or lengths.is_cuda:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D "
            f"{lengths.device.type} tensor"
        )
    return lengths.to(_types.int64)


def _refuse_lengths(lengths: list, x) -> None:
    batch = x.shape[1]
    if x.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
            f"(batch_size={batch})"
        )
    if min(lengths) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that "
            "is <= 0"
        )
    if max(lengths) > len(x):
        raise RuntimeError(
            f"Length of all samples has to be at most the {len(x)} time steps of the input, but found an element in "
            f"'lengths' that is {max(lengths)}"
        )
    if lengths != sorted(lengths, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep "
            "this requirement if you do not need ONNX exportability."
        )


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The reverse of pack_padded_sequence: the padded sequences, and how long each is.

    Args:
        sequence: The packed sequences.
        batch_first: Whether dimension 0 of the result is the batch.
        padding_value: What stands behind their ends.
        total_length: How long the result is; None means as the longest sequence.
    """
    data, batch_sizes, _, order = sequence
    batch, longest = int(batch_sizes[0]), len(batch_sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {longest}"
        )
    lengths = (batch_sizes.unsqueeze(1) > _ops.arange(0, batch)).sum(0)
    steps = longest if total_length is None else total_length
    x = data.new_full((steps, batch, *data.shape[1:]), padding_value)
    x = x.index_put((_is_running(lengths, steps).to(data.device),), data)
    if order is not None:
        x, lengths = x.index_select(1, order), lengths[order.cpu()]
    return x.transpose(0, 1) if batch_first else x, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences [length, ...] side by side: [longest, batch, ...], or [batch, longest, ...].

    Args:
        sequences: A list of tensors, or a tensor of them.
        batch_first: Whether dimension 0 of the result is the batch.
        padding_value: What shorter ones are filled up with.
        padding_side: Where: right or left.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(len(x) for x in sequences)
    dtype = reduce(promote_types, (x.dtype for x in sequences))
    padded = [_padded(x.to(dtype), longest, padding_value, padding_side) for x in sequences]
    return _ops.stack(padded, 0 if batch_first else 1)


def _padded(x, length, value, side):
    more = length - len(x)
    if more == 0:
        return x
    margin = (0, 0) * (x.dim() - 1) + ((0, more) if side == "right" else (more, 0))
    return _ops.pad(x, margin, "constant", value)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The reverse of pad_sequence: copies of the first lengths[i] elements of each sequence."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [
        row[: int(n)].clone(memory_format=_types.contiguous_format)
        for row, n in zip(x, lengths, strict=True)
    ]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences [length, ...]."""
    lengths = [len(x) for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The reverse of pack_sequence."""
    x, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(x, lengths, batch_first=True)
