"""Samplers: orders in which a loader goes through a dataset."""

from __future__ import annotations

import bisect
import itertools
import math
from types import GenericAlias

from ... import _ops
from ..._creation import as_tensor
from ..._types import float64
from ...random import Generator


class Sampler:
    """Base class: write __iter__, which yields indices."""

    __class_getitem__ = classmethod(GenericAlias)

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """A random order; with replacement, every index is drawn on its own."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._count = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._count is None else self._count

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        if self.replacement:
            yield from _ops.randint(0, n, (left,), generator=self.generator).tolist()
            return
        while left > 0:
            order = _ops.randperm(n, generator=self.generator).tolist()[:left]
            left -= len(order)
            yield from order

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given indices in a random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in _ops.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with given weights, which need not add up to 1."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if type(num_samples) is not int or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        weights = as_tensor(weights, dtype=float64)
        if weights.ndim != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(weights.shape)}"
            )
        self.weights, self.num_samples = weights, num_samples
        self.replacement, self.generator = replacement, generator

    def __iter__(self):
        weights = self.weights.tolist()
        draw = self._with_replacement if self.replacement else self._without_replacement
        yield from draw(weights)

    def _with_replacement(self, weights) -> list[int]:
        ends = list(itertools.accumulate(weights))
        places = _ops.rand(self.num_samples, dtype=float64, generator=self.generator) * ends[-1]
        last = max(i for i, w in enumerate(weights) if w > 0)
        return [min(bisect.bisect_right(ends, place), last) for place in places.tolist()]

    def _without_replacement(self, weights) -> list[int]:
        """Each index waits for a time drawn at the rate of its weight: the first ones win."""
        possible = [i for i, w in enumerate(weights) if w > 0]
        if len(possible) < self.num_samples:
            raise RuntimeError(
                "invalid multinomial distribution (with replacement=False, not enough non-negative "
                "category to sample)"
            )
        u = _ops.rand(len(weights), dtype=float64, generator=self.generator).tolist()
        possible.sort(key=lambda i: -math.log1p(-u[i]) / weights[i])
        return possible[: self.num_samples]

    def __len__(self):
        return self.num_samples


class DistributedSampler(Sampler):
    """The share of one of several processes: every num_replicas-th index, of an order that set_epoch shuffles. There is
    no torch.distributed to ask, so num_replicas and rank are needed."""

    def __init__(
        self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False
    ):
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else -(-n // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        order = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = _ops.randperm(len(order), generator=generator).tolist()
        whole = itertools.islice(itertools.cycle(order), self.total_size)
        return itertools.islice(whole, self.rank, None, self.num_replicas)

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Another order for another epoch, the same in all processes."""
        self.epoch = epoch


class BatchSampler(Sampler):
    """Another sampler's indices in lists of batch_size."""

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
