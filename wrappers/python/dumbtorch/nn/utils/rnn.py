"""Sequences of several lengths: padded to one length, or packed, where nothing is padding."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable

from ... import _ops, _types
from ..._creation import as_tensor

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


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs [time, batch, ...], or [batch, time, ...] with batch_first.

    Args:
        input: The padded sequences.
        lengths: How long each is.
        batch_first: Whether dimension 0 is the batch.
        enforce_sorted: Refuse sequences that are not sorted from the longest to the shortest.
    """
    packed = _ops.pack_padded_sequence(input, as_tensor(lengths), batch_first, enforce_sorted)
    return PackedSequence(*packed)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The reverse of pack_padded_sequence: the padded sequences, and how long each is.

    Args:
        sequence: The packed sequences.
        batch_first: Whether dimension 0 of the result is the batch.
        padding_value: What stands behind their ends.
        total_length: How long the result is; None means as the longest sequence.
    """
    data, batch_sizes, _, order = sequence
    padded, lengths = _ops.pad_packed_sequence(
        data, batch_sizes, order, batch_first, padding_value, total_length
    )
    return padded, lengths


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
    return _ops.pad_sequence(list(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The reverse of pad_sequence: copies of the first lengths[i] elements of each sequence."""
    return list(_ops.unpad_sequence(padded_sequences, as_tensor(lengths), batch_first))


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences [length, ...]."""
    return PackedSequence(*_ops.pack_sequence(list(sequences), enforce_sorted))


def unpack_sequence(packed_sequences):
    """The reverse of pack_sequence."""
    data, batch_sizes, _, order = packed_sequences
    return list(_ops.unpack_sequence(data, batch_sizes, order))
