"""Datasets: things with a length and items."""

from __future__ import annotations

import bisect
import itertools
import warnings
from types import GenericAlias

from ... import _ops


class Dataset:
    """Base class: write __getitem__ and __len__."""

    __class_getitem__ = classmethod(GenericAlias)

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base class for datasets that can only be gone through: write __iter__."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """Datasets that can only be gone through, one after another."""

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self):
        return sum(map(len, self.datasets))


class TensorDataset(Dataset):
    """Item i is row i of each tensor."""

    def __init__(self, *tensors):
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class Subset(Dataset):
    """The items of another dataset at given indices."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        """Items by a list of indices: all at once, if the dataset can do that."""
        return _items(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


class StackDataset(Dataset):
    """Item i is item i of each dataset: a tuple, or a dictionary if the datasets have names."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input, "
                "but both types are given."
                if args
                else "At least one dataset should be passed"
            )
        self.datasets = args or kwargs
        sizes = {len(d) for d in (args or kwargs.values())}
        if len(sizes) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = sizes.pop()

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices):
        """Items by a list of indices."""
        names = self.datasets if isinstance(self.datasets, dict) else None
        columns = [_items(d, indices) for d in (self.datasets.values() if names else self.datasets)]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
                )
        rows = zip(*columns, strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows] if names else list(rows)

    def __len__(self):
        return self._length


def _items(dataset, indices) -> list:
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[i] for i in indices]


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    @property
    def cummulative_sizes(self) -> list:
        """The old name of cumulative_sizes."""
        warnings.warn(
            "cummulative_sizes attribute is renamed to cumulative_sizes",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.cumulative_sizes

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        if idx >= len(self):
            raise IndexError("index out of range")
        idx += len(self) * (idx < 0)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - start]


def random_split(dataset, lengths, generator=None) -> list[Subset]:
    """Splits a dataset at random into parts of given lengths, or shares that add up to 1."""
    n = len(dataset)
    if abs(sum(lengths) - 1) < 1e-9 and all(0 <= share <= 1 for share in lengths):
        shares = lengths
        lengths = [int(n * share) for share in shares]
        for i in range(n - sum(lengths)):  # what rounding down left over
            lengths[i % len(lengths)] += 1
    if sum(lengths) != n:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = _ops.randperm(n, generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [
        Subset(dataset, order[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]
